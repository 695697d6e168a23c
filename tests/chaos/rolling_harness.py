"""Two replicas of each service behind HAProxy, and visitors and writers that record every answer during restarts."""

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

from harness import BUILD, FULL, STACK, Stack, size, wait_until
from haproxy import MODES, HAProxy
from ledger import Ledger
from redirector_harness import Visitors

from clients import CHROME, Api, unique_email
from stacklib.ports import Ports

# HAProxy asks /readyz every 500 ms and acts on the second answer. In the short form it has six times as long as it needs.
NOTICE_MS = size(6000, 3000)
VARIABLES = {"DRAIN_NOTICE_MS": NOTICE_MS, "LINKS_PER_DAY": "unlimited", "UNKNOWN_SLUGS_PER_MINUTE": "unlimited"}
if not FULL:  # links-api may answer no writer with 503, however busy the machine is
    VARIABLES |= {"PG_WAIT_MS": 60_000, "PG_STATEMENT_TIMEOUT_MS": 60_000, "HTTP_WORKER_WAIT_MS": 60_000}
REPLICAS = 2
KINDS = ("redirector", "links-api", "consumer", "janitor")
SLUGS = 200
RATE = int(os.environ.get("CHAOS_RATE", size(50, 200)))  # of the visitors in each mode
WRITES = 20  # a second, of each writer
ANSWERS = {"visitors": 302, "newcomers": 302, "links made": 201, "links read": 200, "links followed": 302}


class Fleet(Stack):
    """A stack, HAProxy in front of it, and all its clients."""

    def __init__(self, name, build=BUILD):
        super().__init__(BUILD / "stacks" / f"{name}-{os.getpid()}", build)
        self.folder = pathlib.Path(self.state)
        self.ports = Ports()
        self.proxy = None
        self.ledger = None
        self.askers = []
        self.visitors = {}
        self.logs = []  # of the visitors that have ended
        self.warmed = 0  # clicks before them

    def start(self):
        """Starts the stack; after an end, with the same ports and data."""
        words = [f"--set={name}={value}" for name, value in VARIABLES.items()]
        words += [f"--{noun}={REPLICAS}" for noun in ("redirectors", "links-apis", "consumers", "janitors")]
        self.run("up", "--build", self.build, "--tied-to", os.getpid(), *words)
        self.env = self.addresses()

    def up(self):
        self.start()
        self.ledger = Ledger(self.env["ADMIN_PG_URL"])
        self.proxy = HAProxy(self.folder, {f"{kind}s": self.replicas(kind) for kind in ("redirector", "links-api")}, self.ports)
        self.ledger.do(
            "INSERT INTO links (slug, link_type, original_url, expires_at)"
            " SELECT 'roll-' || n, 'TEMPORARY', 'https://shop.example.com/items/' || n, now() + interval '8 hours'"
            f" FROM generate_series(0, {SLUGS} - 1) n"
        )
        self.warm()

    def warm(self):
        """Follows each link until each redirector has found all. On a busy machine the first request may get 503."""
        for name, port, _ in self.replicas("redirector"):
            found = collections.Counter()
            deadline = time.monotonic() + 300
            for attempt in itertools.count():  # each has numbers of its own: a click is one request
                if found == {302: SLUGS}:
                    break
                assert time.monotonic() < deadline, f"{name} does not find its links: {found}"
                options = {"connections": 4, "rate": SLUGS, "slug": "roll", "slugs": SLUGS, "requests": SLUGS}
                found = Visitors(self.folder, port, f"warm-{name}-{attempt}", "follow", **options).wait().counts()
                self.warmed += found[302]

    def replicas(self, kind):
        """[(name, port, operations port)]"""
        rows = [line.split() for line in self.run("ps").splitlines()]
        return [(row[0], row[2], row[3]) for row in rows if row[0].startswith(kind + "-")]

    def ask_everywhere(self, modes=MODES):
        """Starts visitors that keep their connections, visitors that do not, and writers."""
        for mode in modes:
            url = self.proxy.url("redirectors", mode)
            port = url.rpartition(":")[2]
            options = {"connections": 16, "rate": RATE, "slug": "roll", "slugs": SLUGS}
            run = f"{mode}-{len(self.logs)}"
            self.visitors[f"visitors by {mode}"] = Visitors(self.folder, port, run, "follow", **options)
            self.askers.append(Newcomer(url))
            self.askers.append(Writer(self.proxy.url("links-apis", mode), url))
        for asker in self.askers:
            asker.start()

    def answers(self):
        """How many answers have come so far."""
        return sum(each.rows() for each in self.visitors.values()) + sum(len(asker.asked) for asker in self.askers)

    def wait_for_answers(self, more, seconds=300):
        wanted = self.answers() + more
        wait_until(lambda: self.answers() >= wanted, f"{more} more answers", seconds=seconds)

    def stop_asking(self):
        """Ends the load; returns all answers since ask_everywhere."""
        for asker in self.askers:
            asker.stop()
        outcome = Outcome()
        for what, each in self.visitors.items():
            self.logs.append(each.stop())
            outcome[what] = self.logs[-1].counts()
        for what, status in (each for asker in self.askers for each in asker.asked):
            outcome.setdefault(what, collections.Counter())[status] += 1
        outcome.links = [link for asker in self.askers for link in asker.links]
        self.askers, self.visitors = [], {}
        return outcome

    def restart(self, name, build=None):
        """Replaces a process as a pod is replaced: SIGTERM, its end, and a new one that gets work once it is ready."""
        self.run("stop", name)
        self.run("start", name, *(("--build", build) if build else ()))

    def restart_together(self, names, build=None):
        with concurrent.futures.ThreadPoolExecutor(len(names)) as threads:
            list(threads.map(lambda name: self.restart(name, build), names))
        self.wait_until_whole()

    def wait_until_whole(self):
        wait_until(self.is_ready, "all replicas to be ready")
        wait_until(self.proxy.is_whole, "HAProxy to see that all replicas are ready")

    def is_ready(self):
        command = [STACK, "status", "--state", self.state]
        return subprocess.run(command, capture_output=True, timeout=300, check=False).returncode == 0

    def assert_counted(self, clicks, seconds=300):
        """Waits until so many clicks are counted; then every table must have exactly so many."""
        clicks += self.warmed
        wait_until(lambda: self.ledger.counted() >= clicks, f"{clicks} clicks to be counted", seconds=seconds)
        sums = self.ledger.sums()
        assert set(sums.values()) == {clicks}, sums

    def down(self, passed):
        for asker in self.askers:
            asker.stop()
        for each in self.visitors.values():
            each.process.kill()
            each.process.wait()
        if self.proxy:
            self.proxy.stop()
        self.run("down")
        if passed:
            shutil.rmtree(self.state)


class Outcome(dict):
    """Kind of request → how many answers of each status; 0 is no answer. links: the links that were made."""

    links = ()

    def failed(self):
        """Counts every wrong answer, but not the 503 of a new redirector whose stores are slow."""
        return sum(sum(counts.values()) - counts[ANSWERS[what.partition(" by ")[0]]] - self.postponed(what) for what, counts in self.items())

    def postponed(self, what):
        return self[what][503] if ANSWERS[what.partition(" by ")[0]] == 302 else 0

    def assert_none_failed(self):
        assert self.failed() == 0, self
        postponed = sum(map(self.postponed, self))
        assert postponed <= (0.001 if FULL else 0.5) * self.requests(), self

    def requests(self):
        return sum(sum(counts.values()) for counts in self.values())

    def redirects(self):
        return sum(counts[302] for counts in self.values())


class Asker(threading.Thread):
    """Sends one request after the other; asked holds (kind, status) of each, with status 0 for no answer."""

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
        """Returns the answer's body, or None without an answer."""
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
    return http.client.HTTPConnection(url.hostname, url.port, timeout=300)


class Newcomer(Asker):
    """A visitor that opens a new connection for each request."""

    def __init__(self, url):
        super().__init__(1 / 40)
        self.url = url
        self.numbers = itertools.count()

    def ask(self):
        connection = connection_to(self.url)
        slug = f"roll-{next(self.numbers) % SLUGS}"
        self.call("newcomers", connection, "GET", f"/{slug}", **{"User-Agent": CHROME})
        connection.close()


class Writer(Asker):
    """Makes links on one connection, reads each, and follows each at once."""

    def __init__(self, api, redirector):
        super().__init__(1 / WRITES)
        self.account = Api(api)
        self.account.register_and_login(unique_email())
        self.api, self.redirector = connection_to(api), connection_to(redirector)

    def ask(self):
        headers = {"Authorization": f"Bearer {self.account.token}", "Content-Type": "application/json"}
        body = json.dumps({"original_url": f"https://shop.example.com/{len(self.links)}"})
        made = self.call("links made", self.api, "POST", "/api/links", body, **headers)
        if self.asked[-1][1] != 201:
            return
        link = json.loads(made)["link"]
        self.links.append(link)
        self.call("links read", self.api, "GET", f"/api/links/{link['id']}", **headers)
        self.call("links followed", self.redirector, "GET", f"/{link['slug']}", **{"User-Agent": CHROME})
