"""Redis without persistence, as in production, where its loss loses no data. A secure one accepts TLS only."""

import hashlib
import os
import shutil

from . import paths, probe
from .errors import StackError
from .member import Member

ADMIN = "admin"
SERVICE = "waymark"
STUNNEL = "stunnel4"
# The same ACL as in docs/stores.md.
SERVICE_ACL = (
    "~link:* ~link_cache:generation ~limit:* resetchannels"
    " +get +set +del +pexpire +pttl +zadd +zcard +zrem +zremrangebyscore"
    " +time +eval +ping +select +info"
)


class Redis(Member):
    def __init__(self, state, authority):
        super().__init__("redis", state)
        self.authority = authority

    def url(self):
        """The URL of the administrator, for clients on this machine."""
        if not self.authority:
            return f"redis://127.0.0.1:{self.ports[0]}"
        login = f"{ADMIN}:{self.password(ADMIN)}"
        return f"rediss://{login}@127.0.0.1:{self.ports[0]}?ssl_ca_certs={self.authority.certificate}"

    def password(self, user):
        return self.state.secret(f"redis {user}")

    async def prepare(self):
        os.makedirs(self.state.path("redis"), exist_ok=True)
        settings = {
            "bind": "127.0.0.1",
            "port": self.ports[0],
            "dir": f'"{self.state.path("redis")}"',
            "save": '""',
            "appendonly": "no",
            "daemonize": "no",
        }
        if self.authority:
            settings |= await self._tls()
        lines = [f"{name} {value}\n" for name, value in settings.items()] + self._users()
        self.state.write_secret(self.state.path("redis", "redis.conf"), "".join(lines))

    async def _tls(self):
        certificate, key = await self.authority.sign("redis")
        files = {"tls-cert-file": f'"{certificate}"', "tls-key-file": f'"{key}"'}
        return {"port": 0, "tls-port": self.ports[0], "tls-auth-clients": "no", **files}

    def _users(self):
        if not self.authority:
            return []
        acls = {ADMIN: "~* &* +@all", SERVICE: SERVICE_ACL}
        digests = {user: hashlib.sha256(self.password(user).encode()).hexdigest() for user in acls}
        return ["user default off\n"] + [f"user {user} on #{digests[user]} {acl}\n" for user, acl in acls.items()]

    def command(self):
        return ["redis-server", self.state.path("redis", "redis.conf")]

    async def probe(self):
        tls = self.authority.context() if self.authority else None
        return None if await probe.redis_answers(self.ports[0], tls) else "no response to PING"


class RedisTunnel(Member):
    """
    A stunnel for each service that uses Redis. It is the sidecar of the pods in production
    and reads the stunnel.conf of that overlay.
    """

    def __init__(self, name, stack):
        super().__init__(name, stack.state)
        self.redis = stack.redis
        self.authority = stack.authority
        self.file = stack.state.path("redis", f"{name}.conf")

    @property
    def url(self):
        return f"redis://{SERVICE}:{self.redis.password(SERVICE)}@127.0.0.1:{self.ports[0]}"

    async def prepare(self):
        if shutil.which(STUNNEL) is None:
            raise StackError(f"{STUNNEL} is missing: run tools/setup")
        here = {
            "accept": f"127.0.0.1:{self.ports[0]}",
            "connect": f"127.0.0.1:{self.redis.ports[0]}",
            "CAfile": self.authority.certificate,
            "checkHost": "localhost",
        }
        with open(paths.STUNNEL_CONF, encoding="utf-8") as file:
            lines = file.readlines()
        names = [line.partition("=")[0].strip() for line in lines]
        if not set(here) <= set(names):
            raise StackError(f"{paths.STUNNEL_CONF} lacks one of {', '.join(here)}")
        own = (f"{name} = {here[name]}\n" if name in here else line for name, line in zip(names, lines))
        self.state.write_secret(self.file, "".join(own))

    def command(self):
        return [STUNNEL, self.file]

    async def probe_alive(self):
        return None if await probe.is_open(self.ports[0]) else "it is not listening"

    async def probe(self):
        return None if await probe.redis_answers(self.ports[0]) else "no response from Redis through the tunnel"
