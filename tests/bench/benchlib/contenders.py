"""Programs that the benchmarks start: nginx, the redirector, and others. Each is a process tree of its own."""

import os
import shutil
import signal
import socket
import time
import urllib.error
import urllib.request

from processes import popen

STOP_S = 600  # under callgrind; all others end at once
DESTINATION = "https://shop.example.com/catalogue/spring/items/000001?from=mail"
NGINX = """
{top}
pid {folder}/nginx.pid;
error_log {folder}/nginx.log;
daemon off;
events {{ worker_connections 4096; }}
http {{
	{http}
	keepalive_requests 1000000000;
	client_body_temp_path {folder};
	proxy_temp_path {folder};
	fastcgi_temp_path {folder};
	uwsgi_temp_path {folder};
	scgi_temp_path {folder};
	server {{
		listen 127.0.0.1:{port};
		location / {{ {location} }}
	}}
}}
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until_answers(url, contender, seconds=60):
    deadline = time.monotonic() + seconds
    while True:
        if contender.process.poll() is not None:
            raise SystemExit(f"bench: {contender.name} ended with status {contender.process.returncode}")
        try:
            with urllib.request.urlopen(url, timeout=1):
                return
        except urllib.error.HTTPError as answer:
            if answer.code != 503:
                return
        except OSError:
            pass
        if time.monotonic() > deadline:
            raise SystemExit(f"bench: {url} did not answer within {seconds} s")
        time.sleep(0.05)


def cpu_seconds_of(pid):
    """User and system time of a process and its children, with all threads."""
    return sum(charged(each) for each in [pid, *children(pid)])


class Neighbour:
    """A process of the stack that a contender uses."""

    def __init__(self, name, pid):
        self.name = name
        self.pid = pid

    def cpu_seconds(self):
        return cpu_seconds_of(self.pid)


class Program:
    def __init__(self, folder, name, command, port=None, environment=None):
        self.name, self.command, self.port, self.environment = name, command, port, environment
        self.log, self.process = os.path.join(folder, f"{name}.log"), None

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self):
        return self.process.pid

    def cpu_seconds(self):
        return cpu_seconds_of(self.pid)

    def resident_bytes(self):
        with open(f"/proc/{self.pid}/status", encoding="ascii") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("RssAnon")) * 1024

    def start(self):
        with open(self.log, "ab") as log:
            self.process = popen(self.command, env=self.environment, stdout=log, stderr=log)
        if self.port:
            wait_for_port(self)

    def kill(self):
        for pid in (self.pid, *children(self.pid)):
            os.kill(pid, signal.SIGKILL)
        self.process.wait(timeout=STOP_S)

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            self.process.wait(timeout=STOP_S)


def charged(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
            fields = stat.read().rpartition(")")[2].split()
    except FileNotFoundError:  # a child of PostgreSQL that has ended meanwhile
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as listed:
        return [int(child) for child in listed.read().split()]


class Nginx(Program):
    def __init__(self, folder, location=f"return 302 {DESTINATION};", http="access_log off;", top="worker_processes auto;"):
        os.makedirs(folder, exist_ok=True)
        path, port = os.path.join(folder, "nginx.conf"), free_port()
        with open(path, "w", encoding="utf-8") as config:
            config.write(NGINX.format(folder=folder, port=port, top=top, http=http, location=location))
        super().__init__(folder, "nginx", ["nginx", "-p", folder, "-c", path, "-e", os.path.join(folder, "error.log")], port)


def wait_for_port(contender, seconds=60):
    deadline = time.monotonic() + seconds
    while True:
        try:
            socket.create_connection(("127.0.0.1", contender.port), timeout=1).close()
            return
        except OSError:
            if contender.process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit(f"bench: {contender.name} does not listen on port {contender.port}, see {contender.log}") from None
            time.sleep(0.05)


class Redirector(Program):
    """Runs from the beginning."""

    def __init__(self, folder, build, stores, under=(), **variables):
        """under: the command of a program that runs the redirector."""
        shutil.rmtree(os.path.join(folder, "journal"), ignore_errors=True)
        port, self.ops_port = free_port(), free_port()
        environment = {
            **{name: stores[name] for name in ("PG_URL", "REDIS_URL", "KAFKA_BROKERS")},
            "PATH": os.environ["PATH"],
            "HTTP_PORT": str(port),
            "OPS_PORT": str(self.ops_port),
            "PUBLIC_BASE_URL": f"http://127.0.0.1:{port}",
            "JOURNAL_DIR": os.path.join(folder, "journal"),
            "HTTP_LOOPS": "1",
            "JOURNAL_MAX_BYTES": str(1 << 30),
            "UNKNOWN_SLUGS_PER_MINUTE": "unlimited",
            **{name: str(value) for name, value in variables.items()},
        }
        super().__init__(folder, "redirector", [*under, os.path.join(build, "bin/redirector")], port, environment)
        self.start()
        wait_until_answers(f"http://127.0.0.1:{self.ops_port}/readyz", self)

    def metrics(self):
        """All series of /metrics by their name with labels."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.ops_port}/metrics", timeout=60) as answer:
            lines = answer.read().decode().splitlines()
        pairs = (line.rsplit(" ", 1) for line in lines if line and not line.startswith("#"))
        return {name: float(value) for name, value in pairs}

    def wait_until_acked(self, seconds=120):
        """Waits until Kafka has all events; returns the metrics."""
        deadline = time.monotonic() + seconds
        while True:
            metrics = self.metrics()
            if metrics["waymark_events_queued"] == 0:
                return metrics
            if time.monotonic() > deadline:
                raise SystemExit(f"bench: {metrics['waymark_events_queued']:.0f} events still wait for Kafka")
            time.sleep(0.1)


class Consumer(Program):
    def __init__(self, folder, build, stage, group, under=(), **variables):
        """Does not start it. under: the command of a program that runs it."""
        environment = {
            **stage.consumer_environment,
            "OPS_PORT": str(free_port()),
            "CONSUMER_GROUP": group,
            **{name: str(value) for name, value in variables.items()},
        }
        super().__init__(folder, group, [*under, os.path.join(build, "bin/analytics-consumer")], environment=environment)

    def logged(self):
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return log.read()
