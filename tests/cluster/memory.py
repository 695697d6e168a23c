"""Lets the kernel end a container for want of memory."""

import pathlib
import subprocess
import sys

STEP = 1 << 20
# A process of the group that takes memory until the kernel kills somebody. The kubelet gives containers of a pod with requests a
# higher score than this one has, so it is the container's own program.
HOG = f"""
import pathlib, sys
pathlib.Path(sys.argv[1], "cgroup.procs").write_text("0")
taken = []
while True:
    taken.append(bytearray(b"x" * {STEP}))
"""


def memory_group(pid):
    """The memory control group (version 1) of a process, seen from this machine."""
    for line in pathlib.Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "memory":
            return pathlib.Path("/sys/fs/cgroup/memory", path.lstrip("/"))
    raise AssertionError(f"process {pid} has no memory control group")


def exhaust_memory(pid):
    """Fills the memory of the container of process pid until the kernel has killed that process."""
    hog = subprocess.Popen([sys.executable, "-c", HOG, memory_group(pid)], stderr=subprocess.DEVNULL)
    try:
        while pathlib.Path(f"/proc/{pid}").exists() and "Z" not in state(pid):
            if hog.poll() is not None:
                raise AssertionError(f"the kernel has killed another process than {pid}")
    finally:
        hog.kill()
        hog.wait()


def state(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return "Z"
