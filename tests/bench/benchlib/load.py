"""Runs wrk and reads its output."""

import dataclasses
import os
import re
import subprocess

from processes import popen

SCRIPT = os.path.join(os.path.dirname(__file__), "..", "follow.lua")
UNITS_MS = {"us": 0.001, "ms": 1.0, "s": 1000.0, "m": 60000.0}


@dataclasses.dataclass(frozen=True)
class Load:
    """The requests of a run (follow.lua)."""

    word: str
    slugs: int
    order: str = "turn"
    first: int = 0
    connections: int = 64
    referrer_bytes: int = 0


@dataclasses.dataclass
class Measured:
    """One run against one contender."""

    requests: int
    per_second: float
    p50_ms: float
    p99_ms: float
    not_redirects: int
    failures: int  # of sockets
    cpu_us: float = 0.0  # of the contender, per request
    beside_us: dict = dataclasses.field(default_factory=dict)  # of the stores that it uses, per request


def milliseconds(text):
    number, unit = re.fullmatch(r"([0-9.]+)([a-z]+)", text).groups()
    return float(number) * UNITS_MS[unit]


def read(output):
    def number(pattern, fallback=None):
        found = re.search(pattern, output)
        if not found and fallback is None:
            raise SystemExit(f"bench: unexpected output of wrk:\n{output}")
        return found.group(1) if found else fallback

    sockets = re.search(r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)", output)
    return Measured(
        requests=int(number(r"(\d+) requests in")),
        per_second=float(number(r"Requests/sec:\s+([0-9.]+)")),
        p50_ms=milliseconds(number(r"(?m)^\s+50%\s+(\S+)")),
        p99_ms=milliseconds(number(r"(?m)^\s+99%\s+(\S+)")),
        not_redirects=int(number(r"Non-2xx or 3xx responses: (\d+)", "0")),
        failures=sum(map(int, sockets.groups())) if sockets else 0,
    )


def command_of(contender, load, seconds):
    command = ["wrk", "-t1", f"-c{load.connections}", f"-d{seconds}s", "--latency", "--timeout", "10s", "-s", SCRIPT, contender.url]
    command += ["--", load.word, str(load.slugs), load.order, str(load.first)]
    return command + ([str(load.referrer_bytes)] if load.referrer_bytes else [])


def start(contender, load, seconds):
    return popen(command_of(contender, load, seconds), stdout=subprocess.DEVNULL)


def run(contender, load, seconds, beside=()):
    """Runs wrk once. beside: processes whose CPU time is measured as well."""
    before = [process.cpu_seconds() for process in (contender, *beside)]
    done = subprocess.run(command_of(contender, load, seconds), capture_output=True, text=True, check=False)
    spent = [process.cpu_seconds() - then for process, then in zip((contender, *beside), before)]
    if done.returncode != 0:
        raise SystemExit(f"bench: wrk failed:\n{done.stdout}{done.stderr}")
    measured = read(done.stdout)
    per_request = [seconds / max(measured.requests, 1) * 1e6 for seconds in spent]
    measured.cpu_us = per_request[0]
    measured.beside_us = {process.name: each for process, each in zip(beside, per_request[1:])}
    return measured
