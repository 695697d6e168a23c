"""Containers are confined as the manifests require, and images hold only what they may. Run by tests/images/run."""

import json
import os
import pathlib
import re
import stat
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
from cluster import memory_of
from manifestlib import tree
from manifestlib.description import bytes_of
from namespace import talk

MEGABYTE = 1000 * 1000
IMAGES = subprocess.run([ROOT / "deploy/images/assemble", "--list"], capture_output=True, text=True, check=True).stdout.split()
NO_RIGHTS = {
    "Uid": ["65532"] * 4, "Gid": ["65532"] * 4, "CapInh": ["0" * 16], "CapPrm": ["0" * 16], "CapEff": ["0" * 16], "CapBnd": ["0" * 16],
    "CapAmb": ["0" * 16], "NoNewPrivs": ["1"], "Seccomp": ["2"],
}  # fmt: skip


def facts():
    return json.loads(pathlib.Path(os.environ["CONTAINERS"]).read_text())


@pytest.fixture(scope="module", params=[each["name"] for each in facts()["services"]] if "CONTAINERS" in os.environ else [])
def service(request):
    return next(each for each in facts()["services"] if each["name"] == request.param)


def test_services_have_the_replicas_of_the_manifests():
    assert sorted(each["name"] for each in facts()["services"]) == [
        "consumer-1", "consumer-2", "janitor-1", "janitor-2", "links-api-1", "links-api-2", "redirector-1", "redirector-2",
    ]  # fmt: skip


def status_of(pid):
    lines = (line.split(":", 1) for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines())
    return {name: value.split() for name, value in lines}


def test_a_process_has_no_rights(service):
    status = status_of(service["pid"])
    assert {name: status[name] for name in NO_RIGHTS} == NO_RIGHTS
    assert set(status.get("Groups", [])) <= {"65532"}


def mounts_of(pid):
    """{place: (options, kind)} of all mounts."""
    lines = (line.split() for line in pathlib.Path(f"/proc/{pid}/mountinfo").read_text().splitlines())
    return {words[4]: (words[5].split(","), words[words.index("-") + 1]) for words in lines}


def test_only_its_volumes_are_writable(service):
    mounts = mounts_of(service["pid"])
    assert "ro" in mounts["/"][0]
    own = {"/var/lib/waymark"} if service["workload"] == "redirector" else set()
    # Every container has these: file systems of the kernel, and files that podman writes and root owns.
    given = {"proc", "sysfs", "devpts", "mqueue", "cgroup", "cgroup2", "tmpfs"}
    writable = {place for place, (options, kind) in mounts.items() if "rw" in options and (kind not in given or place in own)}
    assert writable - {"/etc/hosts", "/etc/hostname", "/etc/resolv.conf", "/run/.containerenv"} == own
    for place in ("/", "/tmp", "/run", "/etc", "/etc/hosts", "/bin", "/run/secrets/waymark"):
        assert not may_write(service["pid"], place), place


def may_write(pid, place):
    """Returns whether the owner and mode let user 65532 write."""
    path = pathlib.Path(f"/proc/{pid}/root{place}")
    if not path.exists():
        return False
    facts = path.stat()
    return bool(facts.st_mode & stat.S_IWOTH or facts.st_uid == 65532 and facts.st_mode & stat.S_IWUSR)


def test_its_memory_limit_is_that_of_the_manifest(service):
    _, limit = memory_of(service["pid"])
    assert limit == bytes_of(service["spec"]["resources"]["limits"]["memory"])


def test_secrets_are_files_that_only_the_service_can_read(service):
    folder = pathlib.Path(f"/proc/{service['pid']}/root/run/secrets/waymark")
    files = list(folder.iterdir())
    assert files
    for path in files:
        assert (path.stat().st_uid, path.stat().st_gid, stat.S_IMODE(path.stat().st_mode)) == (0, 65532, 0o440), path.name
    environment = pathlib.Path(f"/proc/{service['pid']}/environ").read_bytes()
    assert not [path.name for path in files if path.read_bytes().strip() in environment]


def test_names_of_stores_come_from_dns_alone(service):
    root = pathlib.Path(f"/proc/{service['pid']}/root")
    hosts = (root / "etc/hosts").read_text()
    assert not re.search(r"\b(postgres|redis|kafka)\b", hosts)
    assert "nameserver" in (root / "etc/resolv.conf").read_text()


@pytest.mark.parametrize("image", IMAGES)
class TestImage:
    def inspect(self, image):
        name = f"localhost/waymark/{image}:{tree.version()}"
        run = subprocess.run(["podman", "image", "inspect", name], capture_output=True, text=True, check=True)
        return json.loads(run.stdout)[0]

    def test_is_small(self, image):
        """links-api contains the Unicode data of ICU."""
        assert self.inspect(image)["Size"] <= (70 if image == "links-api" else 40) * MEGABYTE

    def test_has_labels(self, image):
        found = self.inspect(image)
        labels = {name.removeprefix("org.opencontainers.image."): value for name, value in found["Labels"].items()}
        assert (labels["title"], labels["version"], labels["licenses"]) == (f"waymark/{image}", tree.version(), "Apache-2.0")
        assert labels["revision"] in self.list_of(image)["packages"][0]["sourceInfo"] and labels["description"] and labels["vendor"]
        assert "dev.waymark.round" not in found["Labels"]
        assert (found["User"], found["Config"]["Entrypoint"], found["Created"]) == ("65532:65532", ["/service"], "1970-01-01T00:00:00Z")

    def list_of(self, image):
        return json.loads((ROOT / f"build/images/{image}.spdx.json").read_text())

    def test_has_an_sbom(self, image):
        parts = self.list_of(image)
        assert parts["name"] == f"waymark-{image}-{tree.version()}" and len(parts["packages"]) > 3


PING = b"PING\r\n"


def test_the_sidecar_of_production_reaches_redis_by_tls():
    assert talk(facts()["sidecar"], 6379, PING) == b"+PONG\r\n"


def test_redis_behind_tls_ignores_plain_connections():
    assert talk(facts()["stores"], 6380, PING) == b""


def test_the_sidecar_is_confined_as_well():
    status = status_of(facts()["sidecar"])
    assert {name: status[name] for name in NO_RIGHTS} == NO_RIGHTS
