"""The members of one stack, and the order in which they start and stop."""

import asyncio
import os
import re
import signal

from . import kafka
from .authority import Authority
from .errors import StackError
from .kafka_security import ADMIN
from .member import TIMEOUT_S
from .ports import Ports
from .postgres import Postgres
from .redis import Redis
from .services import Consumer, Janitor, LinksApi, Redirector, refuse_unknown

SANITIZER_FINDING = re.compile(r"ERROR: \w+Sanitizer|WARNING: ThreadSanitizer|: runtime error: ")


class Stack:
    def __init__(self, state, options, report):
        """report is called with a line of progress."""
        self.report = report
        self.state = state
        self.build = options["build"]
        self.variables = options["variables"]
        state.require_same_security(options["secure"])
        self.authority = Authority(state.path("authority")) if options["secure"] else None
        self.postgres = Postgres(state, self.build, self.authority)
        self.redis = Redis(state, self.authority)
        self.kafka = kafka.choose(options["broker"], state, self.build, self.authority, report)
        self.backends = [self.postgres, self.redis, self.kafka]
        self.redirectors = [Redirector(f"redirector-{n}", self) for n in range(1, options["redirectors"] + 1)]
        self.links_apis = [LinksApi(f"links-api-{n}", self) for n in range(1, options["links_apis"] + 1)]
        self.consumers = [Consumer(f"consumer-{n}", self) for n in range(1, options["consumers"] + 1)]
        self.janitors = [Janitor(f"janitor-{n}", self) for n in range(1, options["janitors"] + 1)]
        self.services = self.redirectors + self.links_apis + self.consumers + self.janitors
        self.tunnels = [service.tunnel for service in self.services if service.tunnel]
        self.members = self.backends + self.tunnels + self.services
        self._locks = {member.name: asyncio.Lock() for member in self.members}

    async def up(self):
        ports = Ports()
        self._ports = ports  # the reservations of the ports live as long as this object
        for member in self.members:
            member.take_ports(ports)
        if self.authority:
            await self.authority.make()
        if self.services and self.variables:
            refuse_unknown(self.variables, self.services, self.build)
        await self._together([self._start_backend(member) for member in self.backends])
        await self._together([member.start() for member in self.tunnels])
        if self.variables:
            await self._together([service.check() for service in {each.program: each for each in self.services}.values()])
        await self._together([self._start_service(member) for member in self.services])
        self.state.replace("environment", self.environment())

    @staticmethod
    async def _together(jobs):
        """Runs the jobs concurrently. The first failure cancels the others."""
        try:
            async with asyncio.TaskGroup() as group:
                for job in jobs:
                    group.create_task(job)
        except ExceptionGroup as failures:
            raise failures.exceptions[0] from None

    async def _start_backend(self, member):
        await member.start()
        await member.initialize()
        self.report(f"{member.name} is ready")

    async def _start_service(self, member):
        await member.start()
        await member.wait_until(member.probe)
        self.report(f"{member.name} is ready")

    async def down(self):
        """Stops services before backends, so that they can flush. Returns problems, one line each."""
        problems = []
        for group in (self.services, self.tunnels + self.backends):
            ended = await asyncio.gather(*(member.stop() for member in group), return_exceptions=True)
            for member, result in zip(group, ended):
                if result is False:
                    problems.append(f"{member.name} did not stop in time and was killed")
                elif isinstance(result, Exception):
                    problems.append(f"{member.name}: {result}")
        return problems + self.sanitizer_findings()

    def kill(self):
        """Sends SIGKILL to every process."""
        for member in self.members:
            member.kill()

    def sanitizer_findings(self):
        findings = []
        for member in self.services:
            path = self.state.log(member.name)
            if os.path.exists(path):
                with open(path, encoding="utf-8", errors="replace") as log:
                    findings += [f"{path}: {line.strip()}" for line in log if SANITIZER_FINDING.search(line)]
        return findings

    def member(self, name):
        for member in self.members:
            if member.name == name:
                return member
        raise StackError(f"there is no process {name}; there are {', '.join(m.name for m in self.members)}")

    async def start(self, name, build=None, variables=None):
        """build is the build folder of the service from now on, and variables are added to its environment."""
        member = self.member(name)
        if (build or variables) and member not in self.services:
            raise StackError(f"{name} is not a service: only services have a build folder and variables")
        async with self._locks[name]:
            if build or variables:
                await member.change(build or member.build, variables or {})
            await member.start()

    async def stop(self, name):
        member = self.member(name)
        async with self._locks[name]:
            if not await member.stop():
                raise StackError(f"{name} did not stop in time and was killed")

    async def signal(self, name, number):
        member = self.member(name)
        member.signal(number)
        if number == signal.SIGKILL:
            await member.wait_for_exit(TIMEOUT_S)

    async def make_admin(self, email):
        """Makes an account an administrator, or a new one. Returns what links-api prints."""
        if not self.links_apis:
            raise StackError("this stack has no links-api")
        process = await asyncio.create_subprocess_exec(
            *self.links_apis[0].command(),
            "--create-admin",
            email,
            self.links_apis[0].url,
            env=self.links_apis[0].environment(),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        output, _ = await process.communicate()
        if process.returncode != 0:
            raise StackError(output.decode(errors="replace").strip())
        return output.decode().splitlines()

    def listing(self):
        """name, pid or "-", ports (for services with two: HTTP, then operations)."""
        return [[member.name, str(member.pid or "-"), *map(str, member.ports)] for member in self.members]

    async def status(self):
        async def one(member):
            if not member.is_running():
                return [member.name, "ended with " + member.exit_reason() if member.process else "not started", False]
            problem = await member.probe()
            return [member.name, problem or "ready", problem is None]

        return await asyncio.gather(*map(one, self.members))

    def environment(self, kafka_user=None):
        values = {
            "PG_URL": self.postgres.url(),
            "ADMIN_PG_URL": self.postgres.url(),
            "REDIS_URL": self.redis.url(),
            "BROKER": self.kafka.kind,
        }
        values |= self.kafka.variables(kafka_user or ADMIN)
        for name, members in (
            ("REDIRECTOR", self.redirectors),
            ("LINKS_API", self.links_apis),
            ("CONSUMER", self.consumers),
            ("JANITOR", self.janitors),
        ):
            if members:
                values[f"{name}_OPS_URL"] = members[0].ops_url
                values[f"{name}_OPS_URLS"] = " ".join(member.ops_url for member in members)
        if self.redirectors:
            values["REDIRECTOR_URL"] = self.redirectors[0].url
            values["REDIRECTOR_URLS"] = " ".join(member.url for member in self.redirectors)
        if self.links_apis:
            values["LINKS_API_URL"] = self.links_apis[0].url
            values["LINKS_API_URLS"] = " ".join(member.url for member in self.links_apis)
        return values
