"""Two replicas of each service behind HAProxy, visitors and writers who keep books of every request, and hands that restart."""

import collections
import concurrent.futures
import http.client
import itertools
import json
import os
import pathlib
import shutil
import subprocess
import threading
import time
import urllib.parse

from books import Books
from proxy import MODES, Proxy
from redirector_rig import Clicker, size
from rig import BUILD, ROOT, STACK, Stack, wait_until

from clients import CHROME, Api, unique_email
from stacklib.ports import Ports

NOTICE_MS = 2000
# The share of 503 that a machine with much else to do may cause while a redirector remembers nothing yet.
POSTPONED = 0.001
VARIABLES = {"DRAIN_NOTICE_MS": NOTICE_MS, "LINKS_PER_DAY": 0, "UNKNOWN_SLUGS_PER_MINUTE": 0}
REPLICAS = 2
KINDS = ("redirector", "links-api", "consumer", "janitor")
SLUGS = 200
RATE = int(os.environ.get("CHAOS_RATE", size(100, 200)))  # of each crowd
WRITES = 20  # a second, of each writer
ANSWERS = {"visitors": 302, "newcomers": 302, "links made": 201, "links read": 200, "links followed": 302}


class Fleet(Stack):
    """The stack, HAProxy before it, and everybody who asks."""

    def __init__(self, name, build=BUILD):
        super().__init__(BUILD / "stacks" / f"{name}-{os.getpid()}", build)
        self.folder = pathlib.Path(self.state)
        self.ports = Ports()
        self.proxy = None
        self.books = None
        self.askers = []
        self.crowds = {}
        self.logs = []  # of the crowds that have gone
        self.warmed = 0  # clicks before them

    def start(self):
        """Again as well: with the same ports and data."""
        words = [f"--set={name}={value}" for name, value in VARIABLES.items()]
        words += [f"--{noun}={REPLICAS}" for noun in ("redirectors", "links-apis", "consumers", "janitors")]
        self.run("up", "--build", self.build, "--tied-to", os.getpid(), *words)
        self.doors = self.addresses()

    def up(self):
        self.start()
        self.books = Books(self.doors["ADMIN_PG_URL"])
        self.proxy = Proxy(self.folder, {f"{kind}s": self.replicas(kind) for kind in ("redirector", "links-api")}, self.ports)
        self.books.do(
            "INSERT INTO links (slug, link_type, original_url, expires_at)"
            " SELECT 'roll-' || n, 'TEMPORARY', 'https://shop.example.com/items/' || n, now() + interval '8 hours'"
            f" FROM generate_series(0, {SLUGS} - 1) n"
        )
        self.warm()

    def warm(self):
        """Until each redirector has found each link: on a busy machine the first who asks may be told to come back."""
        for name, port, _ in self.replicas("redirector"):
            found = collections.Counter()
            deadline = time.monotonic() + 120
            while found != {302: SLUGS}:
                assert time.monotonic() < deadline, f"{name} does not find its links: {found}"
                options = {"connections": 4, "rate": SLUGS, "slug": "roll", "slugs": SLUGS, "requests": SLUGS}
                found = Clicker(self.folder, port, f"warm-{name}", "follow", **options).wait().counts()
                self.warmed += found[302]

    def replicas(self, kind):
        """[(name, port, operations port)]"""
        rows = [line.split() for line in self.run("ps").splitlines()]
        return [(row[0], row[2], row[3]) for row in rows if row[0].startswith(kind + "-")]

    def ask_everywhere(self, modes=MODES):
        """Visitors that stay on their connections and some that do not, writers of both kinds; from now on."""
        for mode in modes:
            door = self.proxy.url("redirectors", mode)
            port = door.rpartition(":")[2]
            options = {"connections": 16, "rate": RATE, "slug": "roll", "slugs": SLUGS}
            run = f"{mode}-{len(self.logs)}"
            self.crowds[f"visitors by {mode}"] = Clicker(self.folder, port, run, "follow", **options)
            self.askers.append(Newcomer(door))
            self.askers.append(Writer(self.proxy.url("links-apis", mode), door))
        for asker in self.askers:
            asker.start()

    def answers(self):
        """How many have come so far."""
        return sum(crowd.rows() for crowd in self.crowds.values()) + sum(len(asker.asked) for asker in self.askers)

    def wait_for_answers(self, more, seconds=120):
        wanted = self.answers() + more
        wait_until(lambda: self.answers() >= wanted, seconds, f"{more} more answers")

    def stop_asking(self):
        """All that was asked since ask_everywhere, when every answer is there."""
        for asker in self.askers:
            asker.stop()
        outcome = Outcome()
        for what, crowd in self.crowds.items():
            self.logs.append(crowd.stop())
            outcome[what] = self.logs[-1].counts()
        for what, status in (each for asker in self.askers for each in asker.asked):
            outcome.setdefault(what, collections.Counter())[status] += 1
        outcome.links = [link for asker in self.askers for link in asker.links]
        self.askers, self.crowds = [], {}
        return outcome

    def restart(self, name, build=None):
        """As a pod is replaced: SIGTERM, its end, and another one that gets work when it is ready."""
        self.run("stop", name)
        self.run("start", name, *(("--build", build) if build else ()))

    def restart_together(self, names, build=None):
        with concurrent.futures.ThreadPoolExecutor(len(names)) as hands:
            list(hands.map(lambda name: self.restart(name, build), names))
        self.wait_until_whole()

    def wait_until_whole(self):
        wait_until(self.is_ready, 120, "all replicas to be ready")
        wait_until(self.proxy.is_whole, 60, "HAProxy to see that all replicas are ready")

    def is_ready(self):
        command = [STACK, "status", "--state", self.state]
        return subprocess.run(command, capture_output=True, timeout=60, check=False).returncode == 0

    def assert_counted(self, clicks, seconds=120):
        """Until each is stored, in every book; and then there is not one more."""
        clicks += self.warmed
        wait_until(lambda: self.books.counted() >= clicks, seconds, f"{clicks} clicks to be counted")
        sums = self.books.sums()
        assert set(sums.values()) == {clicks}, sums

    def down(self, passed):
        for asker in self.askers:
            asker.stop()
        for crowd in self.crowds.values():
            crowd.process.kill()
            crowd.process.wait()
        if self.proxy:
            self.proxy.stop()
        self.run("down")
        if passed:
            shutil.rmtree(self.state)


class Outcome(dict):
    """What was asked → how many answers of each status, 0 for none; links: those that were made."""

    links = ()

    def failed(self):
        """Everything but what was asked for; a redirector that is new and waits too long for its stores says so itself (503)."""
        return sum(sum(counts.values()) - counts[ANSWERS[what.partition(" by ")[0]]] - self.postponed(what) for what, counts in self.items())

    def postponed(self, what):
        return self[what][503] if ANSWERS[what.partition(" by ")[0]] == 302 else 0

    def assert_none_failed(self):
        assert self.failed() == 0, self
        assert sum(map(self.postponed, self)) <= POSTPONED * self.requests(), self

    def requests(self):
        return sum(sum(counts.values()) for counts in self.values())

    def redirects(self):
        return sum(counts[302] for counts in self.values())


class Asker(threading.Thread):
    """Asks one thing after the other; asked has (what, status) of each, status 0 if no answer came."""

    def __init__(self, pace):
        super().__init__(daemon=True)
        self.pace = pace
        self.asked = []
        self.links = []
        self.is_ending = threading.Event()

    def run(self):
        while not self.is_ending.wait(self.pace):
            self.ask()

    def stop(self):
        self.is_ending.set()
        if self.is_alive():
            self.join(60)

    def call(self, what, connection, method, path, body=None, **headers):
        """The answer's body; None if there is none."""
        try:
            connection.request(method, path, body=body, headers=headers)
            answer = connection.getresponse()
            content = answer.read()
        except (OSError, http.client.HTTPException) as error:
            print(f"{what}: {method} {path}: {error!r}", flush=True)
            connection.close()
            self.asked.append((what, 0))
            return None
        if answer.status >= 400:
            print(f"{what}: {method} {path}: {answer.status} {content[:300]!r}", flush=True)
        self.asked.append((what, answer.status))
        return content


def connection_to(base):
    url = urllib.parse.urlsplit(base)
    return http.client.HTTPConnection(url.hostname, url.port, timeout=30)


class Newcomer(Asker):
    """A visitor who comes on a connection of its own each time."""

    def __init__(self, door):
        super().__init__(1 / 40)
        self.door = door
        self.numbers = itertools.count()

    def ask(self):
        connection = connection_to(self.door)
        slug = f"roll-{next(self.numbers) % SLUGS}"
        self.call("newcomers", connection, "GET", f"/{slug}", **{"User-Agent": CHROME})
        connection.close()


class Writer(Asker):
    """Makes links on a connection that stays, reads each, and follows each at once."""

    def __init__(self, api, door):
        super().__init__(1 / WRITES)
        self.account = Api(api)
        self.account.register_and_login(unique_email())
        self.api, self.door = connection_to(api), connection_to(door)

    def ask(self):
        headers = {"Authorization": f"Bearer {self.account.token}", "Content-Type": "application/json"}
        body = json.dumps({"original_url": f"https://shop.example.com/{len(self.links)}"})
        made = self.call("links made", self.api, "POST", "/api/links", body, **headers)
        if self.asked[-1][1] != 201:
            return
        link = json.loads(made)["link"]
        self.links.append(link)
        self.call("links read", self.api, "GET", f"/api/links/{link['id']}", **headers)
        self.call("links followed", self.door, "GET", f"/{link['slug']}", **{"User-Agent": CHROME})
