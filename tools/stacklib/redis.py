"""Redis without persistence, as in production: losing all of it loses nothing."""

import os

from . import probe
from .member import Member


class Redis(Member):
    def __init__(self, state):
        super().__init__("redis", state)

    @property
    def url(self):
        return f"redis://127.0.0.1:{self.ports[0]}"

    async def prepare(self):
        os.makedirs(self.state.path("redis"), exist_ok=True)

    def command(self):
        settings = {
            "bind": "127.0.0.1",
            "port": self.ports[0],
            "dir": self.state.path("redis"),
            "save": "",
            "appendonly": "no",
            "daemonize": "no",
        }
        return ["redis-server"] + [word for name, value in settings.items() for word in (f"--{name}", str(value))]

    async def probe(self):
        return None if await probe.redis_answers(self.ports[0]) else "no answer to PING"
