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


@pytest.mark.parametrize("server", OPS)
def test_metrics_are_prometheus_text(env, server):
    answer = ask(env[server], "GET", "/metrics")
    assert answer.status == 200 and answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    sample = re.compile(r'^[a-z_:][a-z0-9_:]*(\{[a-z_]+="[^"]*"(,[a-z_]+="[^"]*")*\})? [-+0-9.e]+(Inf|NaN)?$')
    lines = answer.body.decode().splitlines()
    samples = [line for line in lines if line and not line.startswith("#")]
    assert len(samples) > 5
    assert [line for line in samples if not sample.match(line)] == []
    names = [line.split()[2] for line in lines if line.startswith("# TYPE")]
    assert len(names) == len(set(names)) and all(name.startswith(("waymark_", "process_")) for name in names)


def metric(env, server, name):
    text = ask(env[server], "GET", "/metrics").body.decode()
    found = [float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if re.match(name + r"(\{| )", line)]
    assert found, f"no metric {name}"
    return sum(found)


def test_accepted_is_acked_plus_queued_plus_dropped(env, user, visitor):
    link = user.create()
    for _ in range(50):
        visitor.follow(link["slug"])
        text = ask(env["REDIRECTOR_OPS_URL"], "GET", "/metrics").body.decode()
        values = {line.split()[0]: float(line.split()[1]) for line in text.splitlines() if line.startswith("waymark_ev")}
        assert values["waymark_events_accepted_total"] == (
            values["waymark_events_acked_total"] + values["waymark_events_queued"] + values["waymark_events_dropped_total"]
        )
    wait_until(lambda: metric(env, "REDIRECTOR_OPS_URL", "waymark_events_queued") == 0, 120, "the queue to drain")


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
    if "CONTAINERS" in env:
        pytest.skip("containers listen on all addresses of their own network")
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
def test_help_lists_the_environment(program):
    done = subprocess.run([BIN / program, "--help"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0
    for heading in ["HTTP", "PostgreSQL", "Logging"]:
        assert f"\n{heading}:\n" in done.stdout
    for name in ["OPS_PORT", "PG_URL", "LOG_LEVEL"]:
        assert name in done.stdout


@pytest.mark.parametrize("program", PROGRAMS)
def test_version_is_printed(program):
    done = subprocess.run([BIN / program, "--version"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and re.search(r"\d+\.\d+\.\d+", done.stdout)


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_wrong_variable_is_listed_and_the_exit_status_is_64(program):
    wrong = {"PATH": os.environ["PATH"], "OPS_PORT": "70000", "LOG_LEVEL": "loud", "JWT_SECRET": "short-secret-text"}
    done = subprocess.run([BIN / program], capture_output=True, text=True, timeout=120, env=wrong)
    assert done.returncode == 64, done
    assert "OPS_PORT" in done.stderr and "LOG_LEVEL" in done.stderr and "PG_URL" in done.stderr
    assert "short-secret-text" not in done.stderr + done.stdout
    if program == "links-api":
        assert "JWT_SECRET" in done.stderr


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
