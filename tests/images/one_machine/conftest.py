"""Nothing is left behind: neither by a run that is interrupted nor by an earlier one that was killed."""

import os
import re
import signal
import subprocess

NAME = re.compile(r"waymark-(?:compose|systemd)-(\d+)")


def names_of(kind):
    form = "{{.Names}}" if kind == "container" else "{{.Name}}"
    more = ["--all"] if kind == "container" else []
    return subprocess.run(["podman", kind, "ls", *more, f"--format={form}"], capture_output=True, text=True, check=True).stdout.split()


def is_abandoned(name):
    found = NAME.match(name)
    return found and not os.path.exists(f"/proc/{found[1]}")


def sweep():
    containers = [name for name in names_of("container") if is_abandoned(name)]
    if containers:
        subprocess.run(["podman", "rm", "--force", "--time=0", "--volumes", *containers], capture_output=True, check=False)
    for kind in ("volume", "network"):
        for name in filter(is_abandoned, names_of(kind)):
            subprocess.run(["podman", kind, "rm", "--force", name], capture_output=True, check=False)


def pytest_sessionstart():
    # The end of a fixture runs after KeyboardInterrupt.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sweep()
