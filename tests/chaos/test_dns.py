"""DNS does not answer while a service stops. glibc's lookup of a name cannot be interrupted.

The services run in namespaces of their own, where a socket takes all questions and answers none.
"""

import json
import os
import pathlib
import socket
import subprocess
import sys

import pytest
from harness import BUILD
from processes import popen
from stacklib import paths
from waiting import wait_until

SERVICES = ("redirector", "links-api", "analytics-consumer", "janitor")
STORES = ("postgres", "redis", "kafka")
RESOLVER = ("127.0.0.53", 53)
# The longest that glibc accepts: much longer than a service may take to stop.
RESOLV_CONF = f"nameserver {RESOLVER[0]}\noptions timeout:30 attempts:5\n"
SECONDS = 120


def test_a_service_stops_in_time_while_dns_does_not_answer(tmp_path):
    for user in ([], ["--user", "--map-root-user"]):
        namespaces = ["unshare", *user, "--net", "--mount", "--propagation", "private"]
        tried = subprocess.run([*namespaces, "ip", "link", "set", "lo", "up"], capture_output=True, text=True, check=False)
        if tried.returncode == 0:
            break
    else:
        pytest.skip(f"no namespaces here: {tried.stderr.strip()}")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    inside = popen([*namespaces, sys.executable, "-B", __file__, tmp_path], env=environment)
    assert inside.wait() == 0
    ended = json.loads((tmp_path / "ended").read_text())
    for name in SERVICES:
        log = (tmp_path / f"{name}.log").read_text()
        assert ended[name] == 1 and '"event":"stop_timed_out"' in log, (name, ended[name], log[-2000:])


def environment(folder, ports):
    """Of every service. Its own variables are among those of the others."""
    values = {"PG_URL": "postgresql://user:password@postgres/waymark", "REDIS_URL": "redis://redis", "KAFKA_BROKERS": "kafka:9092"}
    values |= {"JWT_SECRET": "0" * 64, "PUBLIC_BASE_URL": "https://example.com", "JOURNAL_DIR": folder / "journal"}
    values |= {"GEOIP_DB": paths.geoip_database(), "UA_REGEXES": paths.UA_REGEXES, "DRAIN_MS": 5000}
    values |= {"HTTP_ADDRESS": "127.0.0.1", "OPS_ADDRESS": "127.0.0.1", "HTTP_PORT": ports[0], "OPS_PORT": ports[1]}
    return {"PATH": os.environ["PATH"]} | {name: str(value) for name, value in values.items()}


def in_namespaces(folder):
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    (folder / "resolv.conf").write_text(RESOLV_CONF)
    subprocess.run(["mount", "--bind", folder / "resolv.conf", "/etc/resolv.conf"], check=True)
    running = {}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as resolver:
        resolver.bind(RESOLVER)
        resolver.settimeout(SECONDS)
        for number, name in enumerate(SERVICES):
            with open(folder / f"{name}.log", "w") as log:
                values = environment(folder, (8000 + number, 9000 + number))
                running[name] = popen([BUILD / "bin" / name], env=values, stdout=log, stderr=log)
        for name in SERVICES:
            wait_until(lambda name=name: '"event":"started"' in (folder / f"{name}.log").read_text(), SECONDS, f"{name} to start")
        asked = b""
        while not all(store.encode() in asked for store in STORES):
            asked += resolver.recv(512)
        for process in running.values():
            process.terminate()
        wait_until(lambda: all(process.poll() is not None for process in running.values()), SECONDS, "all to end")
    (folder / "ended").write_text(json.dumps({name: process.returncode for name, process in running.items()}))


if __name__ == "__main__":
    in_namespaces(pathlib.Path(sys.argv[1]))
