"""The four services: program, environment and probes of each."""

import asyncio
import difflib
import os
import re
import subprocess

from . import paths, probe
from .errors import StackError
from .member import Member
from .redis import RedisTunnel

# The variables that services inherit from the caller. All others come from the stack.
INHERITED = ("PATH", "HOME", "LANG", "TMPDIR", "ASAN_OPTIONS", "LSAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS")


def refuse_unknown(names, services, build):
    """Raises StackError for a name that no program of these services reads."""
    known = set()
    for program in {service.program for service in services}:
        text = subprocess.run([paths.program(build, program), "--help"], capture_output=True, text=True, check=True).stdout
        known |= set(re.findall("^  ([A-Z][A-Z0-9_]*) ", text, re.M))
    for name in names:
        if known.isdisjoint((name, name.removesuffix("_FILE"))):
            nearest = difflib.get_close_matches(name, sorted(known), 1, 0)[0]
            raise StackError(f"{' or '.join(sorted({service.program for service in services}))} has no variable {name}; the nearest is {nearest}")


class Service(Member):
    program = None
    login = None
    uses_redis = False
    uses_kafka = True
    port_names = ("http", "ops")

    def __init__(self, name, stack):
        super().__init__(name, stack.state)
        self.stack = stack
        self.build = stack.build
        self.variables = dict(stack.variables)
        self.tunnel = RedisTunnel(f"stunnel-{name}", stack) if self.uses_redis and stack.authority else None

    def command(self):
        return [paths.program(self.build, self.program)]

    def launch(self):
        """ThreadSanitizer fails with address-space randomization."""
        return super().launch() + (["setarch", "-R"] if paths.has_thread_sanitizer(self.build) else [])

    @property
    def url(self):
        return f"http://127.0.0.1:{self.ports[0]}"

    @property
    def ops_url(self):
        return f"http://127.0.0.1:{self.ports[-1]}"

    def environment(self):
        values = {name: os.environ[name] for name in INHERITED if name in os.environ}
        values |= {
            "PG_URL": self.stack.postgres.url(self.login),
            "REDIS_URL": self.tunnel.url if self.tunnel else self.stack.redis.url(),
            "HTTP_ADDRESS": "127.0.0.1",
            "OPS_ADDRESS": "127.0.0.1",
            "OPS_PORT": self.ports[-1],
            "PUBLIC_BASE_URL": self.stack.redirectors[0].url,
            "REGION": "local",
            "LOG_LEVEL": "info",
        }
        if self.uses_kafka:
            values |= self.stack.kafka.variables(self.program)
        values |= self.own_environment() | self.variables
        return {name: str(value) for name, value in values.items()}

    def own_environment(self):
        return {}

    async def check(self):
        """Raises StackError if the program refuses its variables."""
        await self.prepare()
        process = await asyncio.create_subprocess_exec(
            *self.launch(), *self.command(), "--check-config",
            env=self.environment(), cwd=self.state.folder, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        _, errors = await process.communicate()
        if process.returncode != 0:
            raise StackError(errors.decode(errors="replace").strip())

    async def change(self, build, variables):
        """For the next start. Keeps what it has if it would not start with these."""
        if self.is_running():
            raise StackError(f"{self.name} is already running (pid {self.pid})")
        refuse_unknown(variables, [self], build)
        before = self.build, self.variables
        self.build, self.variables = build, self.variables | variables
        try:
            await self.check()
        except StackError:
            self.build, self.variables = before
            raise

    async def probe(self):
        """Readiness: the service takes requests."""
        status = await probe.http_status(self.ports[-1], "/readyz")
        return None if status == 200 else f"/readyz returns {status or 'no response'}"

    async def probe_alive(self):
        status = await probe.http_status(self.ports[-1], "/livez")
        return None if status == 200 else f"/livez returns {status or 'no response'}"


class Redirector(Service):
    program = "redirector"
    login = "redirector"
    uses_redis = True

    async def prepare(self):
        os.makedirs(self.state.path("journal", self.name), exist_ok=True)

    def own_environment(self):
        dashboard = {"DASHBOARD_URL": f"{self.stack.links_apis[0].url}/app/"} if self.stack.links_apis else {}
        return dashboard | {
            "HTTP_PORT": self.ports[0],
            "GEOIP_DB": paths.geoip_database(),
            "JOURNAL_DIR": self.state.path("journal", self.name),
            "TRUSTED_PROXIES": "127.0.0.0/8",
        }


class LinksApi(Service):
    program = "links-api"
    login = "links_api"
    uses_redis = True

    def own_environment(self):
        return {
            "HTTP_PORT": self.ports[0],
            "DASHBOARD_URL": f"{self.url}/app/",
            "JWT_SECRET": self.state.secret("jwt"),
            "TRUSTED_PROXIES": "127.0.0.0/8",
            # No limits: all clients on this machine share one network, and tests load one account.
            "ACCOUNTS_PER_HOUR": "unlimited",
            "REQUESTS_PER_MINUTE": "unlimited",
            "BULK_LINKS_PER_MINUTE": "unlimited",
            "HEALTH_URLS": " ".join(f"{each.program}={each.ops_url}" for each in self.stack.services),
        }


class Consumer(Service):
    program = "analytics-consumer"
    login = "consumer"
    port_names = ("ops",)

    def own_environment(self):
        return {"GEOIP_DB": paths.geoip_database()}


class Janitor(Service):
    program = "janitor"
    login = "janitor"
    uses_kafka = False
    port_names = ("ops",)
