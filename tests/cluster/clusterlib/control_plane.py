"""The first node of a cluster, which has its control plane; other nodes join it."""

import json
import pathlib
import time

from . import programs
from .certificates import NODE, SERVICES, Certificates
from .errors import ClusterError
from .node import HERE, PODS, POLL_S, TIMEOUT_S, Node, wait_for

# Volumes for claims, each a folder.
VOLUMES = 40
VOLUME_SIZE = "20Gi"
# Errors of kubectl with which the API server has not seen a request.
NOT_SENT = ("Unable to connect to the server", "TLS handshake timeout", "connection refused")


class ControlPlane(Node):
    def __init__(self, folder, say=lambda text: None):
        folder = pathlib.Path(folder).absolute()
        super().__init__(folder, NODE, 0, Certificates(folder / "certificates"), say)

    def start(self):
        for number in range(VOLUMES):
            (self.folder / "volumes" / str(number)).mkdir(parents=True, exist_ok=True)
        self.certificates.make()
        super().start()
        wait_for("the API server", lambda: self.kubectl("get", "--raw=/readyz", check=False).returncode == 0)
        self.say("the API server answers")

    def connect(self):
        # An interface that leads nowhere: its address is the node's.
        self.ip("link", "add", "node0", "type", "veth", "peer", "name", "nowhere")
        self.ip("address", "add", f"{self.address}/24", "dev", "node0")
        self.ip("link", "set", "nowhere", "up")
        self.ip("link", "set", "node0", "up")
        self.ip("route", "add", "default", "dev", "node0")

    def programs(self):
        certificate = self.certificates.path

        def with_kubeconfig(name):
            return [f"--{each}={certificate(f'{name}.kubeconfig')}" for each in ("kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig")]

        return {
            "etcd": [
                "--name=node", f"--data-dir={self.path('etcd')}", "--unsafe-no-fsync", "--log-level=warn",
                "--listen-client-urls=http://127.0.0.1:2379", "--advertise-client-urls=http://127.0.0.1:2379",
                "--listen-peer-urls=http://127.0.0.1:2380", "--initial-advertise-peer-urls=http://127.0.0.1:2380", "--initial-cluster=node=http://127.0.0.1:2380",
            ],
            "kube-apiserver": [
                "--etcd-servers=http://127.0.0.1:2379", f"--service-cluster-ip-range={SERVICES}", "--secure-port=6443", f"--advertise-address={self.address}",
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
                *with_kubeconfig("controller-manager"), "--leader-elect=false", "--use-service-account-credentials",
                f"--service-account-private-key-file={certificate('sa.key')}", f"--root-ca-file={certificate('ca.crt')}",
                "--allocate-node-cidrs", f"--cluster-cidr={PODS}", f"--service-cluster-ip-range={SERVICES}", "--bind-address=127.0.0.1",
            ],
            "kube-scheduler": [*with_kubeconfig("scheduler"), "--leader-elect=false", "--bind-address=127.0.0.1"],
            **super().programs(),
        }  # fmt: skip

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

    def wait_until_ready(self, node):
        wait_for(node, lambda: self.kubectl("wait", "--for=condition=Ready", f"node/{node}", "--timeout=1s", check=False).returncode == 0)

    def apply_system(self):
        """DNS, metrics-server, and the volumes; returns when the node and these pods are ready."""
        self.kubectl("apply", "-f", HERE / "manifests")
        self.kubectl("apply", "-f", "-", input=json.dumps({"apiVersion": "v1", "kind": "List", "items": [self._volume(n) for n in range(VOLUMES)]}))
        self.wait_until_ready(self.name)
        self.say("the node is ready")
        self.kubectl("-n", "kube-system", "wait", "--for=condition=Available", "deployment", "--all", f"--timeout={TIMEOUT_S}s")

    def _volume(self, number):
        """A folder that every node has, as a disk in a network."""
        anywhere = {"key": "kubernetes.io/hostname", "operator": "Exists"}
        return {
            "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": f"volume-{number}"},
            "spec": {
                "capacity": {"storage": VOLUME_SIZE}, "accessModes": ["ReadWriteOnce"], "storageClassName": "standard", "persistentVolumeReclaimPolicy": "Retain",
                "local": {"path": self.path("volumes", str(number))}, "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [anywhere]}]}},
            },
        }  # fmt: skip

    # --- other nodes ---

    def worker(self, number=1):
        return Worker(self, number)

    def stop(self):
        for folder in self.folder.glob("nodes/*"):
            self.worker(int(folder.name)).stop()
        super().stop()

    def remove(self):
        for folder in self.folder.glob("nodes/*"):
            self.worker(int(folder.name)).remove()
        super().remove()


class Worker(Node):
    """A node without a control plane."""

    def __init__(self, control_plane, number):
        super().__init__(control_plane.folder / "nodes" / str(number), f"{NODE}-{number + 1}", number, control_plane.certificates, control_plane.say)
        self.control_plane = control_plane
        self.number = number

    def connect(self):
        """By a cable to the first node."""
        first, there = self.control_plane, f"172.30.{self.number}.254"
        first.ip("link", "add", self.name, "type", "veth", "peer", "name", "node0", "netns", self.pid)
        first.ip("address", "add", f"{there}/24", "dev", self.name)
        self.ip("address", "add", f"{self.address}/24", "dev", "node0")
        for node, interface in ((first, self.name), (self, "node0")):
            node.ip("link", "set", interface, "up")
        first.ip("route", "add", self.pods, "via", self.address)
        self.ip("route", "add", "default", "via", there)

    def join(self, archives):
        """Returns when the node is ready for pods."""
        self.start()
        self.load_images(archives)
        self.control_plane.wait_until_ready(self.name)
