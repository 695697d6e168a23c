"""wrk, and what it says."""

import dataclasses
import os
import re
import subprocess

SCRIPT = os.path.join(os.path.dirname(__file__), "..", "follow.lua")
UNITS_MS = {"us": 0.001, "ms": 1.0, "s": 1000.0, "m": 60000.0}


@dataclasses.dataclass
class Measured:
    """One run against one contender."""

    requests: int
    per_second: float
    p50_ms: float
    p99_ms: float
    cpu_us: float  # of the contender, per request
    not_redirects: int
    failures: int  # of sockets


def milliseconds(text):
    number, unit = re.fullmatch(r"([0-9.]+)([a-z]+)", text).groups()
    return float(number) * UNITS_MS[unit]


def read(output):
    def number(pattern, fallback=None):
        found = re.search(pattern, output)
        if not found and fallback is None:
            raise SystemExit(f"bench: wrk said something unexpected:\n{output}")
        return found.group(1) if found else fallback

    sockets = re.search(r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)", output)
    return {
        "requests": int(number(r"(\d+) requests in")),
        "per_second": float(number(r"Requests/sec:\s+([0-9.]+)")),
        "p50_ms": milliseconds(number(r"(?m)^\s+50%\s+(\S+)")),
        "p99_ms": milliseconds(number(r"(?m)^\s+99%\s+(\S+)")),
        "not_redirects": int(number(r"Non-2xx or 3xx responses: (\d+)", "0")),
        "failures": sum(map(int, sockets.groups())) if sockets else 0,
    }


def run(contender, word, slugs, connections, seconds):
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", "-s", SCRIPT, contender.url, "--", word, str(slugs)]
    before = contender.cpu_seconds()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    spent = contender.cpu_seconds() - before
    if done.returncode != 0:
        raise SystemExit(f"bench: wrk failed:\n{done.stdout}{done.stderr}")
    said = read(done.stdout)
    return Measured(cpu_us=spent / max(said["requests"], 1) * 1e6, **said)
