"""systemd units and compose.yaml name programs, variables, images and ports that exist, and confine each service."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
from manifestlib import programs, tree

SERVICES = ("redirector", "links-api", "analytics-consumer", "janitor")
BUILD = pathlib.Path(os.environ["WAYMARK_BUILD_DIR"]).resolve()
EXPOSURE_MAX = 1.5
COMPOSE = yaml.safe_load((ROOT / "deploy/compose/compose.yaml").read_text())
NEEDS_SYSTEMD = pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="no systemd-analyze")


def unit(service):
    return (ROOT / f"deploy/systemd/waymark-{service}.service").read_text()


@pytest.fixture
def installed(tmp_path):
    """The path of a unit whose program is the one that was built."""

    def write(service):
        path = tmp_path / f"waymark-{service}.service"
        path.write_text(unit(service).replace("/usr/local/bin/", f"{BUILD}/bin/"))
        return path

    return write


@NEEDS_SYSTEMD
@pytest.mark.parametrize("service", SERVICES)
def test_systemd_accepts_the_unit(service, installed):
    run = subprocess.run(["systemd-analyze", "verify", "--man=no", installed(service)], capture_output=True, text=True, check=False)
    assert (run.returncode, [line for line in run.stderr.splitlines() if "waymark-" in line]) == (0, []), run.stderr


@NEEDS_SYSTEMD
def test_systemd_accepts_the_timer_of_backups(tmp_path):
    """docs/recovery.md. Its tools/backup is that of this repository."""
    text = (ROOT / "docs/recovery.md").read_text().replace("/opt/waymark", str(ROOT))
    units = re.findall(r"^# /etc/systemd/system/(waymark-backup\.\w+)\n(.*?)(?=^#|^```)", text, re.M | re.S)
    assert [name for name, _ in units] == ["waymark-backup.service", "waymark-backup.timer"]
    for name, unit in units:
        (tmp_path / name).write_text(unit)
    run = subprocess.run(["systemd-analyze", "verify", "--man=no", tmp_path / "waymark-backup.timer", tmp_path / "waymark-backup.service"], capture_output=True, text=True, check=False)
    assert (run.returncode, [line for line in run.stderr.splitlines() if "waymark-" in line]) == (0, []), run.stderr


@NEEDS_SYSTEMD
@pytest.mark.parametrize("service", SERVICES)
def test_a_unit_gives_a_service_little(service, installed):
    run = subprocess.run(["systemd-analyze", "security", "--offline=true", installed(service)], capture_output=True, text=True, check=False)
    exposure = re.search(r"exposure level for \S+: ([0-9.]+)", run.stdout)
    assert exposure and float(exposure[1]) <= EXPOSURE_MAX, run.stdout + run.stderr


@pytest.mark.parametrize("service", SERVICES)
def test_a_unit_sets_variables_of_its_program(service):
    names = re.findall(r"^Environment=([A-Z_]+)=", unit(service), re.M)
    assert names and all(programs.is_known(service, name) for name in names), names
    required = {name for name, default in programs.table(service).items() if default is None}
    documented = set(re.findall(rf"^# {service}\.env\n(.*?)\n\n", document(), re.M | re.S)[:1] or re.findall(rf"^# {service}\.env\n(.*?)```", document(), re.M | re.S))
    named = {programs.variable_of(name) for name in names} | set(re.findall(r"^([A-Z_]+)=", "\n".join(documented), re.M))
    assert required <= named, f"{service}.env in the document lacks {required - named}"


@pytest.mark.parametrize("service", SERVICES)
def test_a_unit_listens_on_this_machine_only(service):
    addresses = [name for name in programs.table(service) if name.endswith("_ADDRESS")]
    assert addresses and dict(re.findall(r"^Environment=(\w+_ADDRESS)=(.*)$", unit(service), re.M)) == dict.fromkeys(addresses, "127.0.0.1")


def document():
    return (ROOT / "docs/deploy-without-kubernetes.md").read_text()


@pytest.mark.parametrize("service", SERVICES)
def test_a_unit_waits_for_the_drain(service):
    stop_s = int(re.search(r"^TimeoutStopSec=(\d+)$", unit(service), re.M)[1])
    drain_s = float(programs.table(service).get("DRAIN_S") or 0) or int(programs.table(service).get("DRAIN_MS") or 0) / 1000
    statement_s = int(programs.table(service).get("PG_STATEMENT_TIMEOUT_MS") or 0) / 1000
    assert stop_s >= max(drain_s, statement_s) + 5


def defaults(environment):
    """The values where no variable of the shell is set: ${NAME:-8080} is 8080."""
    return {name: re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", value) for name, value in environment.items()}


@pytest.mark.parametrize("name", ("redirector", "links-api", "analytics-consumer", "janitor", "migrate", "topics"))
def test_compose_sets_variables_that_the_program_accepts(name):
    values, program = defaults(COMPOSE["services"][name]["environment"]), programs.PROGRAMS[name]
    assert [each for each in values if not programs.is_known(program, each)] == []
    assert programs.check_config(program, {key: value for key, value in values.items() if key != "GEOIP_DB"}) == []


def test_compose_uses_the_images_of_this_version():
    ours = {name: each["image"] for name, each in COMPOSE["services"].items() if "waymark/" in each["image"]}
    expected = {name: f"localhost/waymark/{'tools' if name in ('migrate', 'topics') else name}:{tree.version()}" for name in (*SERVICES, "migrate", "topics")}
    assert ours == expected


def test_compose_publishes_the_ports_that_the_services_listen_on():
    for name, variable in (("redirector", "REDIRECTOR_PORT"), ("links-api", "LINKS_API_PORT")):
        port = programs.table(name)["HTTP_PORT"]
        assert COMPOSE["services"][name]["ports"] == [f"127.0.0.1:${{{variable}:-{port}}}:{port}"]


def test_compose_uses_the_stores_of_the_local_overlay():
    for name in ("postgres", "redis", "kafka"):
        manifest = (ROOT / f"deploy/k8s/overlays/local/stores/{name}.yaml").read_text()
        assert f"image: {COMPOSE['services'][name]['image']}\n" in manifest


def test_what_compose_mounts_exists():
    for each in COMPOSE["services"].values():
        for volume in each.get("volumes", []):
            source = volume.split(":")[0]
            assert (ROOT / "deploy/compose" / source).exists() if "/" in source else source in COMPOSE["volumes"], source
