"""What the tests of a secure stack share: the stack, strangers' certificates, and programs that are started beside its own."""

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
from rig import BUILD, ROOT, Stack, wait_until

from stacklib.authority import Authority
from stacklib.ports import Ports

SHARED = ROOT / "tests/support/shared-stack"
PROGRAMS = {"redirector": "redirector-1", "links-api": "links-api-1", "analytics-consumer": "consumer-1", "janitor": "janitor-1"}


class SecureStack(Stack):
    """The stack of the kind secure, as tests/support/in-stack finds it too."""

    def __init__(self):
        super().__init__(BUILD / "stacks/secure", BUILD)
        self.shared("up")
        self.doors = self.addresses()

    def shared(self, verb):
        environment = {**os.environ, "WAYMARK_BUILD_DIR": str(BUILD)}
        done = subprocess.run([SHARED, verb, "secure"], env=environment, capture_output=True, text=True, timeout=240, check=False)
        assert done.returncode == 0, done.stdout + done.stderr

    def down(self):
        self.shared("down")

    def path(self, *parts):
        return pathlib.Path(self.state, *parts)

    def pids(self):
        """name → pid of all that runs."""
        words = map(str.split, self.run("ps").splitlines())
        return {name: int(pid) for name, pid, *_ in words if pid != "-"}

    def ports(self, name):
        line = next(line.split() for line in self.run("ps").splitlines() if line.split()[0] == name)
        return [int(port) for port in line[2:]]

    def environment_of(self, program):
        """What the stack gave its own."""
        pairs = pathlib.Path(f"/proc/{self.pids()[PROGRAMS[program]]}/environ").read_text().split("\0")
        return dict(pair.split("=", 1) for pair in pairs if pair)

    def secrets(self):
        """Every password and key that `up` has made."""
        return json.loads(self.path("state.json").read_text())["secrets"]

    def log(self, name):
        return self.path("logs", f"{name}.log")


def stranger(folder):
    """The certificate of an authority that nobody here has heard of."""
    authority = Authority(str(folder))
    asyncio.run(authority.make())
    return authority.certificate


def changed_url(url, host=None, password=None, **parameters):
    """As url, but for what is named; a parameter that is None is taken away."""
    parts = urllib.parse.urlsplit(url)
    query = dict(urllib.parse.parse_qsl(parts.query)) | parameters
    login = f"{parts.username}:{password or parts.password}"
    place = f"{login}@{host or parts.hostname}:{parts.port}"
    query = urllib.parse.urlencode({name: value for name, value in query.items() if value is not None})
    return urllib.parse.urlunsplit((parts.scheme, place, parts.path, query, ""))


class Beside:
    """A service beside the stack's own, with other settings."""

    def __init__(self, stack, program, folder, **changes):
        self.log = folder / f"{program}.log"
        self.ports = Ports()
        self.http_port, self.ops_port = self.ports.take(), self.ports.take()
        own = {"HTTP_PORT": str(self.http_port), "OPS_PORT": str(self.ops_port), "JOURNAL_DIR": str(folder / "journal")}
        environment = {**stack.environment_of(program), **own, **changes}
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen([BUILD / "bin" / program], env=environment, stdout=log, stderr=log, cwd=folder)

    def lines(self, event):
        text = self.log.read_text(errors="replace")
        return [line for line in map(json.loads, re.findall(r"^\{.*\}$", text, re.M)) if line["event"] == event]

    def wait_for(self, event, words):
        """The first line of that event in whose fields the words stand."""

        def told():
            return [line for line in self.lines(event) if re.search(words, " ".join(map(str, line.values())))]

        try:
            wait_until(lambda: told() or self.process.poll() is not None, 60, f"{event} about {words}")
            return told()[0]
        except (AssertionError, IndexError):
            raise AssertionError(f"no {event} about {words} in:\n{self.log.read_text(errors='replace')}") from None

    def failing(self):
        """The checks that /readyz names; none when it is ready."""
        self.wait_for("started", ".")
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{self.ops_port}/readyz", timeout=10).close()
            return set()
        except urllib.error.HTTPError as answer:
            return set(json.loads(answer.read())["failing"])

    def end(self):
        self.process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(60)
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
