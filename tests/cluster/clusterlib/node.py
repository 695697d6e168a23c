"""A Kubernetes node in namespaces and control groups of its own. Everything ends with its process 1."""

import hashlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

from . import programs
from .errors import ClusterError

HERE = pathlib.Path(__file__).parent
GROUPS = pathlib.Path("/sys/fs/cgroup")
CONTROLLERS = ("cpu", "cpuacct", "cpuset", "memory", "devices", "freezer", "blkio", "pids", "systemd")
PODS = "10.244.0.0/16"
TIMEOUT_S = 600
POLL_S = 0.2


def wait_for(what, condition, seconds=TIMEOUT_S):
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise ClusterError(f"not within {seconds} s: {what}")
        time.sleep(POLL_S)
    return value


class Node:
    """Each node has a number, which is a part of its addresses: its own, and those of its pods."""

    def __init__(self, folder, name, number, certificates, say):
        self.folder = pathlib.Path(folder).absolute()
        self.name = name
        self.pods = f"10.244.{number}.0/24"
        self.address = f"172.30.{number}.1"
        self.certificates = certificates
        self.say = say

    def path(self, *parts):
        return str(self.folder.joinpath(*parts))

    @property
    def pid(self):
        """Process 1 of the node, seen from here; None: it does not run."""
        try:
            pid = int((self.folder / "pid").read_text())
            command = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
        except (OSError, ValueError):
            return None
        return pid if self.path("node.json").encode() in command else None

    @property
    def groups(self):
        """Its control groups."""
        name = f"waymark-{hashlib.sha256(str(self.folder).encode()).hexdigest()[:12]}"
        return [GROUPS / controller / name for controller in CONTROLLERS]

    # --- start ---

    def start(self):
        if self.pid:
            raise ClusterError(f"the node in {self.folder} runs already")
        if os.geteuid() != 0:
            raise ClusterError("a cluster needs root")
        missing = [name for name in CONTROLLERS if not (GROUPS / name / "cgroup.procs").exists()]
        if missing:
            raise ClusterError(f"a cluster needs control groups of version 1; {GROUPS} has no {', '.join(missing)}")
        for name in ("logs", "stopped", "pods", "kubelet"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        self.certificates.make_kubelet(self.name, self.address)
        self._write_settings()
        for name in ("ready", "connected"):
            (self.folder / name).unlink(missing_ok=True)
        self._start_init()
        self.connect()
        (self.folder / "connected").touch()

    def connect(self):
        """Gives the node its address and its way to others. Its programs start afterwards."""
        raise NotImplementedError

    def ip(self, *arguments):
        """Changes the node's network."""
        subprocess.run(["nsenter", f"--net=/proc/{self.pid}/ns/net", "ip", *map(str, arguments)], check=True)

    def _enter_groups(self):
        """Moves this process into the node's groups."""
        for folder in self.groups:
            folder.mkdir(exist_ok=True)
            if folder.parent.name == "cpuset":
                for name in ("cpuset.cpus", "cpuset.mems"):
                    (folder / name).write_text((folder.parent / name).read_text())
            (folder / "cgroup.procs").write_text("0")

    def _start_init(self):
        unshare = ["unshare", "--cgroup", "--mount", "--net", "--uts", "--ipc", "--pid", "--fork", "--kill-child", "--mount-proc"]
        with open(self.path("logs", "node.log"), "ab") as log:
            keeper = subprocess.Popen(
                [*unshare, sys.executable, "-B", HERE / "node_init.py", self.path("node.json")],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, preexec_fn=self._enter_groups,
            )  # fmt: skip

        def started():
            if keeper.poll() is not None:
                raise ClusterError(f"the node does not start; see {self.folder}/logs/node.log")
            return (self.folder / "ready").exists()

        wait_for("the node", started)
        children = pathlib.Path(f"/proc/{keeper.pid}/task/{keeper.pid}/children").read_text().split()
        (self.folder / "pid").write_text(children[0])

    def _write_settings(self):
        values = {
            "folder": self.folder, "certificates": self.certificates.folder, "name": self.name, "plugins": programs.NETWORK_PLUGINS,
            "bin": programs.BIN, "runc": shutil.which("runc"), "pods": PODS, "own-pods": self.pods,
        }  # fmt: skip
        (self.folder / "settings").mkdir(exist_ok=True)
        for source in (HERE / "settings").iterdir():
            text = source.read_text()
            for name, value in values.items():
                text = text.replace(f"@{name}@", str(value))
            (self.folder / "settings" / source.name).write_text(text)
        description = {
            "name": self.name, "controllers": CONTROLLERS, "path": f"{programs.BIN}:{os.environ['PATH']}",
            "programs": {name: [programs.BIN / "kubernetes", name, *rest] if name.startswith("kube") else [name, *rest] for name, rest in self.programs().items()},
        }  # fmt: skip
        (self.folder / "node.json").write_text(json.dumps(description, indent=1, default=str))

    def programs(self):
        """The arguments of each program. They are started together; one that needs another one waits or is started again."""
        certificate = self.certificates.path
        return {
            "containerd": [f"--config={self.path('settings/containerd.toml')}"],
            "kubelet": [
                f"--config={self.path('settings/kubelet.yaml')}", f"--kubeconfig={certificate(f'{self.name}.kubeconfig')}", f"--root-dir={self.path('kubelet')}",
                f"--hostname-override={self.name}", f"--node-ip={self.address}",
            ],
            "kube-proxy": [f"--config={self.path('settings/kube-proxy.yaml')}", f"--hostname-override={self.name}"],
            "netpol": [f"--kubeconfig={certificate('admin.kubeconfig')}"],
        }  # fmt: skip

    # --- run ---

    def command(self, *command):
        """A command line that runs command in the node's namespaces."""
        if not self.pid:
            raise ClusterError(f"no cluster runs in {self.folder}: tests/cluster/cluster up")
        variables = [f"PATH={programs.BIN}:{os.environ['PATH']}", f"KUBECONFIG={self.certificates.path('admin.kubeconfig')}", "CONTAINERD_ADDRESS=/run/containerd/containerd.sock"]
        return ["nsenter", f"--target={self.pid}", "--mount", "--net", "--uts", "--pid", "--ipc", "--cgroup", "--", "env", "-C", os.getcwd(), *variables, *map(str, command)]

    def run(self, *command, check=True, **options):
        run = subprocess.run(self.command(*command), capture_output=True, text=True, **options)
        if check and run.returncode:
            raise ClusterError(f"{' '.join(map(str, command))}: {run.stderr.strip() or run.stdout.strip()}")
        return run

    def load_images(self, archives):
        wait_for("containerd", lambda: self.run("ctr", "version", check=False).returncode == 0)
        for path in archives:
            stamp = self.folder / "loaded" / path.name
            if not stamp.exists():
                self.run("ctr", "--namespace=k8s.io", "images", "import", path)
                stamp.parent.mkdir(exist_ok=True)
                stamp.touch()

    # --- stop ---

    def stop(self):
        """Ends all processes of the node, with process 1 of their namespace, and removes its control groups."""
        pid = self.pid
        if pid:
            os.kill(pid, signal.SIGKILL)
            wait_for("the end of the node", lambda: not os.path.exists(f"/proc/{pid}"))
        for folder in self.groups:
            wait_for(f"the end of the control group {folder}", lambda folder=folder: remove_group(folder), 60)
        (self.folder / "pid").unlink(missing_ok=True)

    def remove(self):
        """Removes the data of a stopped node but its loaded images."""
        for path in self.folder.iterdir() if self.folder.exists() else []:
            if path.name not in ("containerd", "loaded", "nodes"):
                shutil.rmtree(path) if path.is_dir() else path.unlink()


def remove_group(folder):
    for inner, _, _ in os.walk(folder, topdown=False):
        try:
            os.rmdir(inner)
        except OSError:
            pass
    return not folder.exists()
