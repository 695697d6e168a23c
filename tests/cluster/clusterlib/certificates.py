"""The authorities and certificates of a cluster, and a kubeconfig for each of its clients."""

import pathlib
import subprocess

NODE = "node"
ADDRESS = "172.30.0.1"
API = f"https://{ADDRESS}:6443"
SERVICES = "10.96.0.0/16"
SERVICE = "10.96.0.1"
DAYS = "30"
KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc"]
API_NAMES = ",".join(
    [f"DNS:{name}" for name in ("kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local", "localhost")]
    + [f"IP:{address}" for address in (SERVICE, ADDRESS, "127.0.0.1")]
)
# Subjects of clients with a kubeconfig, by name.
CLIENTS = {
    "admin": "/O=system:masters/CN=admin",
    "controller-manager": "/CN=system:kube-controller-manager",
    "scheduler": "/CN=system:kube-scheduler",
    "proxy": "/CN=system:kube-proxy",
}
KUBECONFIG = """\
apiVersion: v1
kind: Config
current-context: cluster
contexts: [{{name: cluster, context: {{cluster: cluster, user: user}}}}]
clusters: [{{name: cluster, cluster: {{server: "{api}", certificate-authority: {folder}/ca.crt}}}}]
users: [{{name: user, user: {{client-certificate: {folder}/{name}.crt, client-key: {folder}/{name}.key}}}}]
"""


def openssl(*arguments):
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)


class Certificates:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)

    def path(self, name):
        return str(self.folder / name)

    def make(self):
        if (self.folder / "sa.pub").exists():
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        self.folder.chmod(0o700)
        for name in ("ca", "front-proxy-ca"):
            usage = ["-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign,digitalSignature"]
            openssl("req", "-x509", *KEY, "-days", DAYS, "-subj", f"/CN={name}", "-keyout", self.path(f"{name}.key"), "-out", self.path(f"{name}.crt"), *usage)
        for name, subject in CLIENTS.items():
            self._sign_client(name, subject)
        self._sign("apiserver", "/CN=kube-apiserver", names=API_NAMES)
        self._sign("apiserver-to-kubelet", "/O=system:masters/CN=apiserver-to-kubelet")
        self._sign("front-proxy", "/CN=front-proxy", authority="front-proxy-ca")
        openssl("genrsa", "-out", self.path("sa.key"), "2048")
        openssl("rsa", "-in", self.path("sa.key"), "-pubout", "-out", self.path("sa.pub"))

    def make_kubelet(self, node, address):
        """The certificate of a node's kubelet, which is a server too."""
        if not (self.folder / f"{node}.kubeconfig").exists():
            self._sign_client(node, f"/O=system:nodes/CN=system:node:{node}", names=f"DNS:{node},IP:{address},IP:127.0.0.1")

    def _sign_client(self, name, subject, names=None):
        self._sign(name, subject, names)
        (self.folder / f"{name}.kubeconfig").write_text(KUBECONFIG.format(api=API, folder=self.folder, name=name))

    def _sign(self, name, subject, names=None, authority="ca"):
        signer = ["-CA", self.path(f"{authority}.crt"), "-CAkey", self.path(f"{authority}.key")]
        limits = ["-addext", "basicConstraints=critical,CA:FALSE", "-addext", "extendedKeyUsage=clientAuth,serverAuth"]
        limits += ["-addext", f"subjectAltName={names}"] if names else []
        openssl("req", "-x509", *KEY, "-days", DAYS, "-subj", subject, "-keyout", self.path(f"{name}.key"), "-out", self.path(f"{name}.crt"), *signer, *limits)
