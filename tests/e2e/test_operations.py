"""The operator's view: probes, metrics, configuration errors and logs."""

import json
import os
import pathlib
import re
import subprocess

import pytest
from clients import ask
from waiting import wait_until

OPS = ["REDIRECTOR_OPS_URL", "LINKS_API_OPS_URL", "CONSUMER_OPS_URL", "JANITOR_OPS_URL"]
PROGRAMS = ["redirector", "links-api", "analytics-consumer", "janitor"]
BIN = pathlib.Path(os.environ.get("WAYMARK_BUILD_DIR", "build/dev")) / "bin"


@pytest.mark.parametrize("server", OPS)
def test_every_service_is_alive_and_ready(env, server):
    assert ask(env[server], "GET", "/livez").status == 200
    wait_until(lambda: ask(env[server], "GET", "/readyz").status == 200, 120, "readiness")


def listening_sockets():
    """{inode: (address, port)}, addresses as in /proc/net/tcp and tcp6."""
    found = {}
    for table in ("tcp", "tcp6"):
        for line in pathlib.Path("/proc/net", table).read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A":
                address, _, port = words[1].partition(":")
                found[words[9]] = address, str(int(port, 16))
    return found


def sockets_of(pid):
    """The inodes of the sockets of a process."""
    targets = []
    for descriptor in pathlib.Path("/proc", pid, "fd").iterdir():
        try:
            targets.append(os.readlink(descriptor))
        except OSError:  # closed meanwhile
            continue
    return {target[len("socket:[") : -1] for target in targets if target.startswith("socket:[")}


def test_a_stack_listens_on_loopback_only(env):
    loopback = {"0100007F", "0000000000000000FFFF00000100007F"}
    stack = pathlib.Path(__file__).resolve().parents[2] / "tools/stack"
    done = subprocess.run([stack, "ps", "--state", env["STACK_STATE"]], capture_output=True, text=True, check=True)
    rows = [line.split() for line in done.stdout.splitlines()]
    listening = listening_sockets()
    own = [listening[inode] for row in rows for inode in sockets_of(row[1]) if inode in listening]
    urls = [env[name] for name in [*OPS, "REDIRECTOR_URL", "LINKS_API_URL"]]
    assert {url.rpartition(":")[2] for url in urls} <= {port for _, port in own}
    assert [each for each in own if each[0] not in loopback] == []


@pytest.mark.parametrize("program", PROGRAMS)
def test_version_is_printed(program):
    done = subprocess.run([BIN / program, "--version"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and re.search(r"\d+\.\d+\.\d+", done.stdout)


def test_logs_are_one_json_object_per_line_and_contain_no_visitor(env, user, visitor):
    """Clicks from an address that occurs nowhere else, and reads the logs of the stack."""
    link = user.create()
    visitor.follow(link["slug"], address="192.0.2.213")
    visitor.follow("no-such-slug-2", address="192.0.2.213")
    user.wait_for_visits(link["id"], 1)
    state = pathlib.Path(env["STACK_STATE"])
    logs = [p for p in (state / "logs").iterdir() if re.match(r"(redirector|links-api|consumer|janitor)-\d+\.log", p.name)]
    assert len(logs) >= 4
    for log in logs:
        text = log.read_text()
        assert "192.0.2.213" not in text and user.token not in text
        for line in text.splitlines():
            assert json.loads(line)["event"], line
