"""deploy/compose/compose.yaml under podman-compose, with our images. Its stores come from Debian packages (stores.yaml)."""

import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
HERE = pathlib.Path(__file__).parent
COMPOSE = os.environ["PODMAN_COMPOSE"]
if not pathlib.Path(COMPOSE).exists():
    pytest.skip("podman-compose is missing: tools/setup images", allow_module_level=True)
SERVICES = ("redirector", "links-api", "analytics-consumer", "janitor")
JOBS = ("migrate", "topics")


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


class Project:
    def __init__(self):
        self.name = f"waymark-compose-{os.getpid()}"
        self.ports = {name: str(free_port()) for name in ("REDIRECTOR_PORT", "LINKS_API_PORT")}
        jars = pathlib.Path(COMPOSE).parents[2] / "kafka"
        self.environment = os.environ | self.ports | {"STORES": str(HERE), "KAFKA_JARS": str(jars)}

    def compose(self, *arguments):
        files = ["-f", ROOT / "deploy/compose/compose.yaml", "-f", HERE / "stores.yaml"]
        command = [COMPOSE, "-p", self.name, *files, *arguments]
        done = subprocess.run([*map(str, command)], env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600, check=False)
        return done.returncode, done.stdout

    def containers(self):
        """Service → what podman says about its container."""
        label = "com.docker.compose.service"
        listed = json.loads(podman("ps", "--all", "--format=json", f"--filter=label=io.podman.compose.project={self.name}"))
        return {each["Labels"][label]: json.loads(podman("inspect", each["Id"]))[0] for each in listed}

    def logs(self):
        return "".join(f"--- {name}\n{tail(each['Id'])}" for name, each in self.containers().items())

    def leftovers(self):
        kinds = {"container": ["--all"], "volume": [], "network": []}
        return [name for kind, more in kinds.items() for name in podman(kind, "ls", *more, "--format={{.Name}}" if kind != "container" else "--format={{.Names}}").split() if self.name in name]


def podman(*arguments):
    return subprocess.run(["podman", *arguments], capture_output=True, text=True, check=True).stdout


def tail(container):
    done = subprocess.run(["podman", "logs", "--tail=15", container], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.stdout


@pytest.fixture(scope="module")
def project():
    started = Project()
    try:
        status, said = started.compose("up", "--detach")
        assert status == 0, said
        yield started
    finally:
        print(started.logs())
        started.compose("down", "--volumes")
        assert started.leftovers() == []


def test_a_link_is_created_followed_and_counted(project):
    urls = [f"http://127.0.0.1:{project.ports[name]}" for name in ("LINKS_API_PORT", "REDIRECTOR_PORT")]
    deadline, status = time.monotonic() + 300, 1
    while status != 0 and time.monotonic() < deadline:  # until the schema is there
        status, said = project.compose("exec", "-T", "links-api", "/service", "--create-admin", "you@example.com", urls[0])
        time.sleep(0.2)
    assert status == 0, said
    done = subprocess.run([sys.executable, HERE / "journey.py", *urls, "you@example.com", said.split()[-1]], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith(urls[1] + "/")


def test_the_services_run_and_the_jobs_have_ended(project):
    found = {name: (each["State"]["Status"], each["State"]["ExitCode"]) for name, each in project.containers().items()}
    assert {name: found[name] for name in SERVICES} == {name: ("running", 0) for name in SERVICES}
    assert {name: found[name] for name in JOBS} == {name: ("exited", 0) for name in JOBS}


def test_a_service_has_a_read_only_root_and_no_capabilities(project):
    found = project.containers()
    for name in SERVICES:
        assert found[name]["HostConfig"]["ReadonlyRootfs"], name
        status = pathlib.Path(f"/proc/{found[name]['State']['Pid']}/status").read_text()
        assert re.search(r"^CapBnd:\t0{16}$", status, re.M) and re.search(r"^NoNewPrivs:\t1$", status, re.M), name


def test_what_it_publishes_is_on_this_machine_only(project):
    published = [binding for each in project.containers().values() for found in (each["HostConfig"]["PortBindings"] or {}).values() for binding in found]
    assert sorted(each["HostPort"] for each in published) == sorted(project.ports.values())
    assert {each["HostIp"] for each in published} == {"127.0.0.1"}


def test_clicks_survive_a_new_container_of_the_redirector(project):
    (mount,) = project.containers()["redirector"]["Mounts"]
    assert (mount["Type"], mount["Destination"]) == ("volume", "/var/lib/waymark")
    assert any(pathlib.Path(mount["Source"]).glob("journal/*"))


def test_every_service_stops_cleanly(project):
    status, said = project.compose("stop", *SERVICES)
    assert status == 0, said
    found = project.containers()
    assert {name: found[name]["State"]["ExitCode"] for name in SERVICES} == dict.fromkeys(SERVICES, 0)
