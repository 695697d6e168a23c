"""A Kubernetes node with its control plane, in namespaces and control groups of its own. Everything ends with its process 1."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

from . import images, programs
from .certificates import ADDRESS, NODE, SERVICE, Certificates
from .errors import ClusterError

HERE = pathlib.Path(__file__).parent
GROUPS = pathlib.Path("/sys/fs/cgroup")
GROUP = "waymark-cluster"
CONTROLLERS = ("cpu", "cpuacct", "cpuset", "memory", "devices", "freezer", "blkio", "pids", "systemd")
PODS = "10.244.0.0/16"
SERVICES = "10.96.0.0/16"
# Volumes for claims, each a folder.
VOLUMES = 24
VOLUME_SIZE = "20Gi"
TIMEOUT_S = 600
# Errors of kubectl with which the API server has not seen a request.
NOT_SENT = ("Unable to connect to the server", "TLS handshake timeout", "connection refused")
POLL_S = 0.2


def own_groups():
    return [GROUPS / name / GROUP for name in CONTROLLERS]


def enter_groups():
    """Moves this process into the node's groups."""
    for folder in own_groups():
        folder.mkdir(exist_ok=True)
        if folder.parent.name == "cpuset":
            for name in ("cpuset.cpus", "cpuset.mems"):
                (folder / name).write_text((folder.parent / name).read_text())
        (folder / "cgroup.procs").write_text("0")


def wait_for(what, condition, seconds=TIMEOUT_S):
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise ClusterError(f"not within {seconds} s: {what}")
        time.sleep(POLL_S)
    return value


class Node:
    def __init__(self, folder, say=lambda text: None):
        self.folder = pathlib.Path(folder).absolute()
        self.say = say
        self.certificates = Certificates(self.folder / "certificates")

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

    # --- start ---

    def start(self):
        if self.pid:
            raise ClusterError(f"the cluster in {self.folder} runs already")
        if os.geteuid() != 0:
            raise ClusterError("a cluster needs root")
        missing = [name for name in CONTROLLERS if not (GROUPS / name / "cgroup.procs").exists()]
        if missing:
            raise ClusterError(f"a cluster needs control groups of version 1; {GROUPS} has no {', '.join(missing)}")
        for name in ("logs", "stopped", "pods", "kubelet"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        for number in range(VOLUMES):
            (self.folder / "volumes" / str(number)).mkdir(parents=True, exist_ok=True)
        self.certificates.make()
        self._write_settings()
        (self.folder / "ready").unlink(missing_ok=True)
        self._start_init()
        wait_for("the API server", lambda: self.kubectl("get", "--raw=/readyz", check=False).returncode == 0)
        self.say("the API server answers")

    def _start_init(self):
        unshare = ["unshare", "--cgroup", "--mount", "--net", "--uts", "--ipc", "--pid", "--fork", "--kill-child", "--mount-proc"]
        with open(self.path("logs", "node.log"), "ab") as log:
            keeper = subprocess.Popen(
                [*unshare, sys.executable, "-B", HERE / "node_init.py", self.path("node.json")],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, preexec_fn=enter_groups,
            )  # fmt: skip

        def started():
            if keeper.poll() is not None:
                raise ClusterError(f"the node does not start; see {self.folder}/logs/node.log")
            return (self.folder / "ready").exists()

        wait_for("the node", started)
        children = pathlib.Path(f"/proc/{keeper.pid}/task/{keeper.pid}/children").read_text().split()
        (self.folder / "pid").write_text(children[0])

    def _write_settings(self):
        values = {"folder": self.folder, "plugins": programs.NETWORK_PLUGINS, "bin": programs.BIN, "runc": shutil.which("runc"), "pods": PODS}
        (self.folder / "settings").mkdir(exist_ok=True)
        for source in (HERE / "settings").iterdir():
            text = source.read_text()
            for name, value in values.items():
                text = text.replace(f"@{name}@", str(value))
            (self.folder / "settings" / source.name).write_text(text)
        description = {"controllers": CONTROLLERS, "path": f"{programs.BIN}:{os.environ['PATH']}", "programs": self._programs()}
        (self.folder / "node.json").write_text(json.dumps(description, indent=1, default=str))

    def _programs(self):
        """The command of each program. They are started together; one that needs another one waits or is started again."""
        kubernetes, certificate = str(programs.BIN / "kubernetes"), self.certificates.path
        found = {
            "etcd": [
                "etcd", "--name=node", f"--data-dir={self.path('etcd')}", "--unsafe-no-fsync", "--log-level=warn",
                "--listen-client-urls=http://127.0.0.1:2379", "--advertise-client-urls=http://127.0.0.1:2379",
                "--listen-peer-urls=http://127.0.0.1:2380", "--initial-advertise-peer-urls=http://127.0.0.1:2380", "--initial-cluster=node=http://127.0.0.1:2380",
            ],
            "containerd": ["containerd", f"--config={self.path('settings/containerd.toml')}"],
            "kube-apiserver": [
                "--etcd-servers=http://127.0.0.1:2379", f"--service-cluster-ip-range={SERVICES}", "--secure-port=6443", f"--advertise-address={ADDRESS}",
                f"--client-ca-file={certificate('ca.crt')}", f"--tls-cert-file={certificate('apiserver.crt')}", f"--tls-private-key-file={certificate('apiserver.key')}",
                "--service-account-issuer=https://kubernetes.default.svc", f"--service-account-signing-key-file={certificate('sa.key')}",
                f"--service-account-key-file={certificate('sa.pub')}", "--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction", "--allow-privileged",
                f"--kubelet-client-certificate={certificate('apiserver-to-kubelet.crt')}", f"--kubelet-client-key={certificate('apiserver-to-kubelet.key')}",
                f"--kubelet-certificate-authority={certificate('ca.crt')}", "--kubelet-preferred-address-types=InternalIP",
                f"--requestheader-client-ca-file={certificate('front-proxy-ca.crt')}", "--requestheader-allowed-names=front-proxy",
                "--requestheader-extra-headers-prefix=X-Remote-Extra-", "--requestheader-group-headers=X-Remote-Group", "--requestheader-username-headers=X-Remote-User",
                f"--proxy-client-cert-file={certificate('front-proxy.crt')}", f"--proxy-client-key-file={certificate('front-proxy.key')}", "--enable-aggregator-routing",
            ],
            "kube-controller-manager": [
                *(f"--{name}={certificate('controller-manager.kubeconfig')}" for name in ("kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig")),
                "--leader-elect=false", "--use-service-account-credentials", f"--service-account-private-key-file={certificate('sa.key')}",
                f"--root-ca-file={certificate('ca.crt')}", "--allocate-node-cidrs", f"--cluster-cidr={PODS}", f"--service-cluster-ip-range={SERVICES}", "--bind-address=127.0.0.1",
            ],
            "kube-scheduler": [
                *(f"--{name}={certificate('scheduler.kubeconfig')}" for name in ("kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig")),
                "--leader-elect=false", "--bind-address=127.0.0.1",
            ],
            "kubelet": [
                f"--config={self.path('settings/kubelet.yaml')}", f"--kubeconfig={certificate('kubelet.kubeconfig')}", f"--root-dir={self.path('kubelet')}",
                f"--hostname-override={NODE}", f"--node-ip={ADDRESS}",
            ],
            "kube-proxy": [f"--config={self.path('settings/kube-proxy.yaml')}", f"--hostname-override={NODE}"],
            "netpol": ["netpol", f"--kubeconfig={certificate('admin.kubeconfig')}"],
        }  # fmt: skip
        return {name: [kubernetes, name, *rest] if name.startswith("kube") else rest for name, rest in found.items()}

    # --- run ---

    def command(self, *command):
        """A command line that runs command in the node's namespaces."""
        if not self.pid:
            raise ClusterError(f"no cluster runs in {self.folder}: tools/cluster up")
        variables = [f"PATH={programs.BIN}:{os.environ['PATH']}", f"KUBECONFIG={self.certificates.path('admin.kubeconfig')}", "CONTAINERD_ADDRESS=/run/containerd/containerd.sock"]
        return ["nsenter", f"--target={self.pid}", "--mount", "--net", "--uts", "--pid", "--ipc", "--cgroup", "--", "env", "-C", os.getcwd(), *variables, *map(str, command)]

    def run(self, *command, check=True, **options):
        run = subprocess.run(self.command(*command), capture_output=True, text=True, **options)
        if check and run.returncode:
            raise ClusterError(f"{' '.join(map(str, command))}: {run.stderr.strip() or run.stdout.strip()}")
        return run

    def kubectl(self, *arguments, check=True, **options):
        """Repeats a command that did not reach the API server, as happens on a busy machine."""
        deadline = time.monotonic() + TIMEOUT_S
        while True:
            run = self.run(programs.BIN / "kubernetes", "kubectl", *arguments, check=False, **options)
            if not run.returncode or not check:
                return run
            if not any(text in run.stderr for text in NOT_SENT) or time.monotonic() > deadline:
                raise ClusterError(f"kubectl {' '.join(map(str, arguments))}: {run.stderr.strip() or run.stdout.strip()}")
            time.sleep(POLL_S)

    def load_images(self, archives):
        wait_for("containerd", lambda: self.run("ctr", "version", check=False).returncode == 0)
        for path in archives:
            stamp = self.folder / "loaded" / path.name
            if not stamp.exists():
                self.run("ctr", "--namespace=k8s.io", "images", "import", path)
                stamp.parent.mkdir(exist_ok=True)
                stamp.touch()

    def apply_system(self):
        """DNS, metrics-server, and the volumes; returns when the node and these pods are ready."""
        self.kubectl("apply", "-f", HERE / "manifests")
        self.kubectl("apply", "-f", "-", input=json.dumps({"apiVersion": "v1", "kind": "List", "items": [self._volume(n) for n in range(VOLUMES)]}))
        wait_for("the node", lambda: self.kubectl("wait", "--for=condition=Ready", f"node/{NODE}", "--timeout=1s", check=False).returncode == 0)
        self.say("the node is ready")
        self.kubectl("-n", "kube-system", "wait", "--for=condition=Available", "deployment", "--all", f"--timeout={TIMEOUT_S}s")

    def _volume(self, number):
        here = {"key": "kubernetes.io/hostname", "operator": "In", "values": [NODE]}
        return {
            "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": f"volume-{number}"},
            "spec": {
                "capacity": {"storage": VOLUME_SIZE}, "accessModes": ["ReadWriteOnce"], "storageClassName": "standard", "persistentVolumeReclaimPolicy": "Retain",
                "local": {"path": self.path("volumes", str(number))}, "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [here]}]}},
            },
        }  # fmt: skip

    # --- stop ---

    def stop(self):
        """Ends all processes of the node, with process 1 of their namespace, and removes its control groups."""
        pid = self.pid
        if pid:
            os.kill(pid, signal.SIGKILL)
            wait_for("the end of the node", lambda: not os.path.exists(f"/proc/{pid}"))
        for folder in own_groups():
            wait_for(f"the end of the control group {folder}", lambda folder=folder: remove_group(folder), 60)
        (self.folder / "pid").unlink(missing_ok=True)

    def remove(self, with_images):
        """Removes the data of a stopped node."""
        for path in self.folder.iterdir() if self.folder.exists() else []:
            if with_images or path.name not in ("containerd", "loaded"):
                shutil.rmtree(path) if path.is_dir() else path.unlink()


def remove_group(folder):
    for inner, _, _ in os.walk(folder, topdown=False):
        try:
            os.rmdir(inner)
        except OSError:
            pass
    return not folder.exists()
