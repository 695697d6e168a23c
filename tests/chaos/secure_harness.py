"""What the tests of a secure stack share: the stack, certificates of another authority, and services with other settings."""

import asyncio
import contextlib
import json
import os
import pathlib
import re
import subprocess
import urllib.error
import urllib.parse
import urllib.request

import psycopg2
from harness import BUILD, ROOT, Stack, wait_until
from processes import popen

from stacklib.authority import Authority
from stacklib.ports import Ports

SHARED = ROOT / "tests/support/shared-stack"
PROGRAMS = {"redirector": "redirector-1", "links-api": "links-api-1", "analytics-consumer": "consumer-1", "janitor": "janitor-1"}


class SecureStack(Stack):
    """The stack of the kind secure, which tests/support/in-stack finds as well."""

    def __init__(self):
        super().__init__(BUILD / "stacks/secure", BUILD)
        self.shared("up")
        self.env = self.addresses()

    def shared(self, verb):
        environment = {**os.environ, "WAYMARK_BUILD_DIR": str(BUILD)}
        done = subprocess.run([SHARED, verb, "secure"], env=environment, capture_output=True, text=True, timeout=600, check=False)
        assert done.returncode == 0, done.stdout + done.stderr

    def down(self):
        self.shared("down")

    def path(self, *parts):
        return pathlib.Path(self.state, *parts)

    def pids(self):
        """Name → pid of every running process."""
        words = map(str.split, self.run("ps").splitlines())
        return {name: int(pid) for name, pid, *_ in words if pid != "-"}

    def ports(self, name):
        line = next(line.split() for line in self.run("ps").splitlines() if line.split()[0] == name)
        return [int(port) for port in line[2:]]

    def environment_of(self, program):
        """The environment of the stack's own process of this program."""
        pairs = pathlib.Path(f"/proc/{self.pids()[PROGRAMS[program]]}/environ").read_text().split("\0")
        return dict(pair.split("=", 1) for pair in pairs if pair)

    def secrets(self):
        """Every password and key that `up` has generated."""
        return json.loads(self.path("state.json").read_text())["secrets"]

    def log(self, name):
        return self.path("logs", f"{name}.log")


def other_authority_in(folder):
    """The certificate of an authority that the stack does not trust."""
    authority = Authority(str(folder))
    asyncio.run(authority.make())
    return authority.certificate


def changed_url(url, host=None, password=None, **parameters):
    """The URL with these parts changed. A parameter of None is removed."""
    parts = urllib.parse.urlsplit(url)
    query = dict(urllib.parse.parse_qsl(parts.query)) | parameters
    login = f"{parts.username}:{password or parts.password}"
    place = f"{login}@{host or parts.hostname}:{parts.port}"
    query = urllib.parse.urlencode({name: value for name, value in query.items() if value is not None})
    return urllib.parse.urlunsplit((parts.scheme, place, parts.path, query, ""))


class OtherService:
    """A service beside the stack's own, with other settings."""

    def __init__(self, stack, program, folder, **changes):
        self.log = folder / f"{program}.log"
        self.ports = Ports()
        self.http_port, self.ops_port = self.ports.take(), self.ports.take()
        own = {"HTTP_PORT": str(self.http_port), "OPS_PORT": str(self.ops_port), "JOURNAL_DIR": str(folder / "journal")}
        environment = {**stack.environment_of(program), **own, **changes}
        with open(self.log, "wb") as log:
            self.process = popen([BUILD / "bin" / program], env=environment, stdout=log, stderr=log, cwd=folder)

    def lines(self, event):
        text = self.log.read_text(errors="replace")
        return [line for line in map(json.loads, re.findall(r"^\{.*\}$", text, re.M)) if line["event"] == event]

    def wait_for(self, event, words):
        """The first log line of that event whose fields match the words."""

        def found():
            return [line for line in self.lines(event) if re.search(words, " ".join(map(str, line.values())))]

        try:
            wait_until(lambda: found() or self.process.poll() is not None, f"{event} about {words}")
            return found()[0]
        except (AssertionError, IndexError):
            raise AssertionError(f"no {event} about {words} in:\n{self.log.read_text(errors='replace')}") from None

    def failing(self):
        """The checks that /readyz names; an empty set when it is ready."""
        self.wait_for("started", ".")
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{self.ops_port}/readyz", timeout=300).close()
            return set()
        except urllib.error.HTTPError as answer:
            return set(json.loads(answer.read())["failing"])

    def end(self):
        self.process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(300)
        self.process.kill()
        self.process.wait()


def sql(url, text):
    connection = psycopg2.connect(url)
    try:
        connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute(text)
            return cursor.fetchone()
    finally:
        connection.close()
