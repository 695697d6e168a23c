"""Process 1 of the node: makes its mounts and its network, runs its programs and starts them again when they end. Everything that
it makes is in namespaces of its own and ends with it.

node_init.py DESCRIPTION runs what the description (JSON, written by node.py) lists. A program whose name is a file in the folder
"stopped" is ended, and started again when the file is gone."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

POLL_S = 0.1
RESTART_PAUSE_S = 1
# What the kubelet would set for the whole machine. It reads here that it is set already.
KERNEL = {
    "vm/overcommit_memory": 1,
    "kernel/panic": 10,
    "kernel/panic_on_oops": 1,
    "kernel/keys/root_maxkeys": 1000000,
    "kernel/keys/root_maxbytes": 25000000,
}


def run(*command):
    subprocess.run(command, check=True)


def mount_groups(controllers):
    """The control groups as seen from the node's own."""
    run("mount", "-t", "tmpfs", "-o", "mode=755", "cgroup", "/sys/fs/cgroup")
    for name in controllers:
        folder = f"/sys/fs/cgroup/{name}"
        os.mkdir(folder)
        run("mount", "-t", "cgroup", "-o", "none,name=systemd" if name == "systemd" else name, "cgroup", folder)


def make_mounts(description):
    run("mount", "--make-rprivate", "/")
    run("mount", "-t", "sysfs", "sysfs", "/sys")
    mount_groups(description["controllers"])
    run("mount", "-t", "tmpfs", "-o", "mode=755", "run", "/run")
    os.makedirs("/run/netns")
    os.makedirs("/run/lock")
    for name, value in KERNEL.items():
        path = pathlib.Path("/run/kernel", name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{value}\n")
        run("mount", "--bind", path, f"/proc/sys/{name}")
    run("mount", "--make-rshared", "/")


def make_network(name):
    """Addresses and routes come from outside (Node.connect)."""
    run("hostname", name)
    run("ip", "link", "set", "lo", "up")
    pathlib.Path("/proc/sys/net/ipv4/ip_forward").write_text("1")


class Program:
    def __init__(self, name, command, folder):
        self.name = name
        self.command = command
        self.log = folder / "logs" / f"{name}.log"
        self.stop_file = folder / "stopped" / name
        self.process = None
        self.start_at = 0.0

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)

    def supervise(self):
        if self.process and self.process.poll() is not None:
            self.process = None
            self.start_at = time.monotonic() + RESTART_PAUSE_S
        if self.stop_file.exists():
            if self.process:
                self.process.kill()
        elif not self.process and time.monotonic() >= self.start_at:
            self.start()


def bury_orphans(programs):
    """Reaps processes that have lost their parents, but leaves the node's own programs to their Popen."""
    own = {program.process.pid for program in programs if program.process}
    while True:
        try:
            found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return
        if found is None or found.si_pid in own:
            return
        os.waitpid(found.si_pid, 0)


def main(path):
    description = json.loads(pathlib.Path(path).read_text())
    folder = pathlib.Path(path).parent
    os.environ["PATH"] = description["path"]
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    make_mounts(description)
    make_network(description["name"])
    programs = [Program(name, command, folder) for name, command in description["programs"].items()]
    (folder / "ready").touch()
    while not (folder / "connected").exists():
        time.sleep(POLL_S)
    while True:
        for program in programs:
            program.supervise()
        bury_orphans(programs)
        time.sleep(POLL_S)


if __name__ == "__main__":
    main(sys.argv[1])
