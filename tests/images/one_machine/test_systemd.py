"""The units of deploy/systemd under a systemd of Debian, installed with the commands of docs/deploy-without-kubernetes.md."""

import os
import pathlib
import re
import subprocess
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
HERE = pathlib.Path(__file__).parent
SERVICES = ("redirector", "links-api", "analytics-consumer", "janitor")
USERS = {"redirector": "redirector", "links-api": "links_api", "analytics-consumer": "consumer", "janitor": "janitor"}
# The same bound as tests/deploy/test_units.py has for the files; here it is the figure of the running service.
EXPOSURE_MAX = 1.5
DOCUMENT = (ROOT / "docs/deploy-without-kubernetes.md").read_text().partition("\n## systemd\n")[2]
BLOCKS = re.findall(r"^```\n(.*?)^```", DOCUMENT, re.M | re.S)
CACHE = pathlib.Path(os.environ["PODMAN_COMPOSE"]).parents[2]
KAFKA = {
    "CLUSTER_ID": "waymark-local-cluster1",
    "KAFKA_NODE_ID": "1",
    "KAFKA_PROCESS_ROLES": "broker,controller",
    "KAFKA_LISTENERS": "PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093",
    "KAFKA_CONTROLLER_LISTENER_NAMES": "CONTROLLER",
    "KAFKA_CONTROLLER_QUORUM_VOTERS": "1@127.0.0.1:9093",
    "KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR": "1",
    "KAFKA_LOG_DIRS": "/var/lib/kafka",
}


def block(beginning):
    (found,) = [text for text in BLOCKS if text.startswith(beginning)]
    return found


# Mounts in a container are private; systemd passes credentials to services through shared ones.
INIT = "mount --make-rshared / && exec /sbin/init"


class Machine:
    """A container whose first process is systemd. It has no network but its own loopback."""

    def __init__(self):
        self.name = f"waymark-systemd-{os.getpid()}"
        options = ["--privileged", "--systemd=always", "--network=none", "--label", f"dev.waymark.run={os.getpid()}"]
        options += ["--volume", f"{ROOT}:/waymark:ro", "--volume", f"{CACHE}/kafka:/kafka:ro"]
        # make build leaves the country database there.
        options += ["--volume", f"{CACHE}/geoip:/root/.cache/waymark/geoip:ro"]
        podman("run", "--detach", "--pull=never", "--name", self.name, *options, os.environ["MACHINE_IMAGE"], "sh", "-c", INIT)

    def run(self, script, check=True):
        done = subprocess.run(["podman", "exec", "--workdir=/waymark", self.name, "bash", "-euc", script], capture_output=True, text=True, check=False)
        assert not check or done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"
        return done.stdout.strip()

    def until(self, script, wanted):
        deadline = time.monotonic() + 300
        while (last := self.run(script, check=False)) not in wanted:
            assert time.monotonic() < deadline, f"{script}: {last}"
            time.sleep(0.2)

    def start_stores(self):
        self.until("systemctl is-system-running", ("running", "degraded"))
        variables = " ".join(f"--setenv={name}={value}" for name, value in KAFKA.items())
        self.run(f"systemd-run --unit=kafka {variables} /waymark/tests/images/one_machine/stores/kafka")
        self.run("systemctl start postgresql@$(ls /etc/postgresql)-main redis-server")
        # /waymark may be in a folder that only root reads.
        self.run("setpriv --reuid=postgres --regid=postgres --init-groups createdb waymark")
        self.run("setpriv --reuid=postgres --regid=postgres --init-groups psql -q waymark <deploy/k8s/overlays/local/stores/logins.sql")
        self.run("setpriv --reuid=postgres --regid=postgres --init-groups psql -q <<<\"ALTER ROLE postgres PASSWORD 'local'\"")

    def install(self):
        """What the document says, in its order."""
        self.run(block("install -m 755"))
        for service, text in re.findall(r"^# ([\w-]+)\.env\n(.*?)(?=^# |\Z)", block("# redirector.env"), re.M | re.S):
            self.run(f"cat >/etc/waymark/{service}.env <<'END'\n{text}END")
        for service, user in USERS.items():
            self.secret(service, "pg-url", f"postgresql://{user}:local@127.0.0.1/waymark")
        for service in ("redirector", "links-api"):
            self.secret(service, "redis-url", "redis://127.0.0.1:6379")
        self.secret("links-api", "jwt-secret", "a key that is good for nothing but a test")
        owner = "PG_URL=postgresql://postgres:local@127.0.0.1/waymark"
        commands = block("PG_URL=… migrate").replace("PG_URL=…", owner).replace("KAFKA_BROKERS=…", "KAFKA_BROKERS=127.0.0.1:9092")
        self.run("\n".join(line for line in commands.splitlines() if not line.startswith("journalctl")))

    def secret(self, service, name, value):
        self.run(f"printf %s '{value}' >/etc/waymark/secrets/{service}/{name}")

    def show(self, service, name):
        return self.run(f"systemctl show --value -p {name} waymark-{service}")

    def logs(self):
        return self.run("journalctl --no-pager -n 200 -o cat -u 'waymark-*' -u kafka", check=False)


def podman(*arguments):
    done = subprocess.run(["podman", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture(scope="module")
def machine():
    started = Machine()
    try:
        started.start_stores()
        started.install()
        yield started
    finally:
        print(started.logs())
        podman("rm", "--force", "--time=0", "--volumes", started.name)


@pytest.mark.parametrize("service", SERVICES)
def test_the_unit_is_active(machine, service):
    machine.until(f"systemctl is-active waymark-{service}", ("active",))


def test_a_link_is_created_followed_and_counted(machine):
    pid = podman("inspect", "--format", "{{.State.Pid}}", machine.name)
    printed = machine.run(block("PG_URL_FILE=/etc/waymark/secrets/links-api/pg-url")).split()
    done = subprocess.run(
        ["nsenter", f"--net=/proc/{pid}/ns/net", "/usr/bin/python3", HERE / "journey.py", "http://127.0.0.1:8081", "http://127.0.0.1:8080", "you@example.com", printed[-1]],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr + machine.logs()
    assert done.stdout.startswith("https://sho.rt/")


@pytest.mark.parametrize("service", SERVICES)
def test_the_running_unit_gives_the_service_little(machine, service):
    answer = machine.run(f"systemd-analyze --no-pager security waymark-{service}")
    exposure = re.search(r"exposure level for \S+: ([0-9.]+)", answer)
    assert exposure and float(exposure[1]) <= EXPOSURE_MAX, answer
    pid = machine.show(service, "MainPID")
    status = dict(line.split(":\t", 1) for line in machine.run(f"cat /proc/{pid}/status").splitlines() if ":\t" in line)
    assert (status["CapEff"], status["CapBnd"], status["NoNewPrivs"]) == ("0" * 16, "0" * 16, "1")
    assert int(status["Uid"].split()[0]) > 60000


def test_the_services_listen_on_this_machine_only(machine):
    rows = [line.split() for line in machine.run("cat /proc/net/tcp /proc/net/tcp6").splitlines()]
    listening = {tuple(row[1].split(":")) for row in rows if row[3] == "0A"}
    ours = {f"{port:04X}" for port in (8080, 8081, 9090, 9091, 9095, 9096)}
    assert {(address, port) for address, port in listening if port in ours} == {("0100007F", port) for port in ours}


def test_the_journal_of_clicks_is_in_the_state_folder(machine):
    assert machine.run("ls /var/lib/waymark-redirector/journal")


def test_a_wrong_variable_ends_the_start_for_good(machine):
    machine.run("cp /etc/waymark/janitor.env /tmp && echo OPS_PORT=many >>/etc/waymark/janitor.env && systemctl restart waymark-janitor")
    # A unit that systemd restarts goes from deactivating to activating, and is never failed.
    machine.until("systemctl show --value -p ActiveState waymark-janitor", ("failed",))
    assert (machine.show("janitor", "ExecMainStatus"), machine.show("janitor", "NRestarts")) == ("64", "0")
    assert "OPS_PORT" in machine.run("journalctl --no-pager -o cat -u waymark-janitor")
    machine.run("cp /tmp/janitor.env /etc/waymark && systemctl reset-failed waymark-janitor && systemctl start waymark-janitor")
    machine.until("systemctl is-active waymark-janitor", ("active",))


def test_every_unit_stops_cleanly(machine):
    machine.run("systemctl stop " + " ".join(f"waymark-{service}" for service in SERVICES))
    found = {service: (machine.show(service, "Result"), machine.show(service, "ExecMainStatus")) for service in SERVICES}
    assert found == {service: ("success", "0") for service in SERVICES}
