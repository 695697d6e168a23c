"""The contenders: nginx with a fixed answer, and the redirector. Each is a process tree of its own."""

import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request

from processes import popen

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


class Contender:
    name = None

    def __init__(self):
        self.port = free_port()
        self.process = None

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def cpu_seconds(self):
        return cpu_seconds_of(self.process.pid)

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            self.process.wait(timeout=60)


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


class Nginx(Contender):
    name = "nginx"

    def __init__(self, folder):
        super().__init__()
        path = os.path.join(folder, "nginx.conf")
        with open(path, "w", encoding="utf-8") as config:
            answer = f"return 302 {DESTINATION};"
            config.write(NGINX.format(folder=folder, port=self.port, top="worker_processes 1;", http="access_log off;", location=answer))
        self.process = popen(
            ["nginx", "-p", folder, "-c", path, "-e", os.path.join(folder, "nginx.log")], stderr=subprocess.DEVNULL
        )
        wait_for_port(self)


def wait_for_port(contender, seconds=60):
    deadline = time.monotonic() + seconds
    while True:
        try:
            socket.create_connection(("127.0.0.1", contender.port), timeout=1).close()
            return
        except OSError:
            if contender.process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit(f"bench: {contender.name} does not listen on port {contender.port}") from None
            time.sleep(0.05)


class Redirector(Contender):
    name = "redirector"

    def __init__(self, folder, build, stores, under=(), **variables):
        """under: the command of a program that runs the redirector."""
        super().__init__()
        shutil.rmtree(os.path.join(folder, "journal"), ignore_errors=True)
        self.ops_port = free_port()
        environment = {
            **{name: stores[name] for name in ("PG_URL", "REDIS_URL", "KAFKA_BROKERS")},
            "PATH": os.environ["PATH"],
            "HTTP_PORT": str(self.port),
            "OPS_PORT": str(self.ops_port),
            "PUBLIC_BASE_URL": self.url,
            "JOURNAL_DIR": os.path.join(folder, "journal"),
            "HTTP_LOOPS": "1",
            "JOURNAL_MAX_BYTES": str(1 << 30),
            "UNKNOWN_SLUGS_PER_MINUTE": "0",
            **{name: str(value) for name, value in variables.items()},
        }
        with open(os.path.join(folder, "redirector.log"), "ab") as log:
            self.process = popen([*under, os.path.join(build, "bin/redirector")], env=environment, stderr=log)
        wait_until_answers(f"http://127.0.0.1:{self.ops_port}/readyz", self)

    def metrics(self):
        """All series of /metrics by their name with labels."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.ops_port}/metrics", timeout=60) as answer:
            lines = answer.read().decode().splitlines()
        pairs = (line.rsplit(" ", 1) for line in lines if line and not line.startswith("#"))
        return {name: float(value) for name, value in pairs}

    def resident_bytes(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as status:
            line = next(line for line in status if line.startswith("RssAnon"))
        return int(line.split()[1]) * 1024

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
