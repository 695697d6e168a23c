"""The certificates of a stack that is secure: an authority of its own, made at the first `up`, and what it signs."""

import os
import ssl

from . import tool

DAYS = "3650"
KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc"]
# Everything listens on 127.0.0.1; whoever looks names up finds it there as well.
NAMES = "IP:127.0.0.1,DNS:localhost"


class Authority:
    """
    FOLDER/ca.pem     for everybody who has to believe us
    FOLDER/ca.key
    FOLDER/NAME.pem   a server's certificate
    FOLDER/NAME.key   its key, which its owner alone may read
    """

    def __init__(self, folder):
        self.folder = folder
        self.certificate = self.path("ca.pem")

    def path(self, name):
        return os.path.join(self.folder, name)

    def context(self):
        """For who asks our servers from here."""
        return ssl.create_default_context(cafile=self.certificate)

    async def make(self):
        if os.path.exists(self.certificate):
            return
        os.makedirs(self.folder, exist_ok=True)
        os.chmod(self.folder, 0o711)  # the user postgres reaches its own key
        limits = ["-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign,cRLSign"]
        await self._request("ca", ["-subj", "/CN=Authority of a Waymark stack", *limits])

    async def sign(self, name, names=NAMES):
        """The paths of its certificate and key, which stay the same once they are made."""
        if not os.path.exists(self.path(f"{name}.pem")):
            signer = ["-CA", self.certificate, "-CAkey", self.path("ca.key"), "-subj", f"/CN={name}"]
            limits = ["-addext", "basicConstraints=critical,CA:FALSE", "-addext", f"subjectAltName={names}"]
            await self._request(name, [*signer, *limits])
        return self.path(f"{name}.pem"), self.path(f"{name}.key")

    async def _request(self, name, rest):
        """The certificate comes last to its place: where it is, its key is too."""
        key, new = self.path(f"{name}.key"), self.path(f"{name}.pem.new")
        await tool.run(["openssl", "req", "-x509", *KEY, "-days", DAYS, "-keyout", key, "-out", new, *rest])
        os.chmod(key, 0o600)
        os.replace(new, self.path(f"{name}.pem"))
