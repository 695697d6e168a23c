"""The operator's view: probes, and what a stack listens on."""

import os
import pathlib
import subprocess

import pytest
from clients import ask
from waiting import wait_until

OPS = ["REDIRECTOR_OPS_URL", "LINKS_API_OPS_URL", "CONSUMER_OPS_URL", "JANITOR_OPS_URL"]


@pytest.mark.parametrize("server", OPS)
def test_every_service_is_alive_and_ready(env, server):
    assert ask(env[server], "GET", "/livez").status == 200
    wait_until(lambda: ask(env[server], "GET", "/readyz").status == 200, "readiness")


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
