"""Lets a container use its memory up: until the kernel ends it, or until the kubelet evicts its pod."""

import contextlib
import pathlib
import subprocess
import sys
import time

STEP = 1 << 20
# A process of the group that takes so many steps of memory, or until the kernel kills somebody. The kubelet gives containers of a
# pod with requests a higher score than this one has, so it is the container's own program.
HOG = f"""
import pathlib, signal, sys
pathlib.Path(sys.argv[1], "cgroup.procs").write_text("0")
taken = []
while len(taken) < int(sys.argv[2]):
    taken.append(bytearray(b"x" * {STEP}))
signal.pause()
"""
ENDLESS = 1 << 40
POLL_S = 0.05


def memory_group(pid):
    """The memory control group (version 1) of a process, seen from this machine."""
    for line in pathlib.Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "memory":
            return pathlib.Path("/sys/fs/cgroup/memory", path.lstrip("/"))
    raise AssertionError(f"process {pid} has no memory control group")


@contextlib.contextmanager
def occupied(pid, steps):
    """Takes so many MiB of the container of process pid, within the context."""
    hog = subprocess.Popen([sys.executable, "-c", HOG, memory_group(pid), str(steps)], stderr=subprocess.DEVNULL)
    try:
        yield hog
    finally:
        hog.kill()
        hog.wait()


def exhaust_memory(pid):
    """Fills the memory of the container of process pid until the kernel has killed that process."""
    with occupied(pid, ENDLESS) as hog:
        while pathlib.Path(f"/proc/{pid}").exists() and "Z" not in state(pid):
            if hog.poll() is not None:
                raise AssertionError(f"the kernel has killed another process than {pid}")
            time.sleep(POLL_S)


def state(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return "Z"
