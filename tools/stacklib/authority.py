"""The certificate authority of a secure stack, created at the first `up`, and the certificates that it signs."""

import os
import ssl

from . import tool

DAYS = "3650"
KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc"]
# All servers listen on 127.0.0.1. Some clients connect by name.
NAMES = "IP:127.0.0.1,DNS:localhost"


class Authority:
    """
    FOLDER/ca.pem     the certificate that every client trusts
    FOLDER/ca.key     its key
    FOLDER/NAME.pem   the certificate of a server
    FOLDER/NAME.key   its key, readable by the owner only
    """

    def __init__(self, folder):
        self.folder = folder
        self.certificate = self.path("ca.pem")

    def path(self, name):
        return os.path.join(self.folder, name)

    def context(self):
        """The TLS context of clients on this machine."""
        return ssl.create_default_context(cafile=self.certificate)

    async def make(self):
        if os.path.exists(self.certificate):
            return
        os.makedirs(self.folder, exist_ok=True)
        os.chmod(self.folder, 0o711)  # the user postgres must reach its own key
        limits = ["-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign,cRLSign"]
        await self._request("ca", ["-subj", "/CN=Authority of a Waymark stack", *limits])

    async def sign(self, name, names=NAMES):
        """Returns the paths of certificate and key. Creates both at the first call and keeps them."""
        if not os.path.exists(self.path(f"{name}.pem")):
            signer = ["-CA", self.certificate, "-CAkey", self.path("ca.key"), "-subj", f"/CN={name}"]
            limits = ["-addext", "basicConstraints=critical,CA:FALSE", "-addext", f"subjectAltName={names}"]
            await self._request(name, [*signer, *limits])
        return self.path(f"{name}.pem"), self.path(f"{name}.key")

    async def _request(self, name, rest):
        """Renames the certificate last, so that a certificate never exists without its key."""
        key, new = self.path(f"{name}.key"), self.path(f"{name}.pem.new")
        await tool.run(["openssl", "req", "-x509", *KEY, "-days", DAYS, "-keyout", key, "-out", new, *rest])
        os.chmod(key, 0o600)
        os.replace(new, self.path(f"{name}.pem"))
