"""Consumers that count the clicks of a producer, and a fault injector that kills, freezes and cuts what they need.

PostgreSQL, Redis and Kafka belong to a stack. The consumers are children of the test and reach PostgreSQL through a
CommitCutter. CHAOS_CLICKS, CHAOS_KILLS, CHAOS_FREEZES, CHAOS_POSTGRES_STOPS, CHAOS_BROKER_KILLS and CHAOS_CUTS change
the sizes.
"""

import contextlib
import itertools
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import threading
import time
import urllib.parse
import urllib.request

from harness import BUILD, FULL, SEED, Stack, wait_until
from ledger import Ledger
from processes import popen
from tcp_proxy import TcpProxy

from stacklib import paths
from stacklib.stack import SANITIZER_FINDING

PRODUCER = BUILD / "tests/chaos/click_producer"
CONSUMERS = 3
LINKS = 50
VISITORS = 20000
RATE = 1000 if FULL else 400  # while faults are injected; the producer goes on until finish()
SESSION_TIMEOUT_S = 2
FREEZE_S = SESSION_TIMEOUT_S + 1.5
PROGRESS = 1000 if FULL else 300  # clicks that are counted between two faults, at least
CUT_EVERY = 10 if FULL else 4  # commits
RESEND_EVERY = 5000 if FULL else 1000
PACK = 250  # clicks of a record
CONSUMER_VARIABLES = {
    "SESSION_TIMEOUT_MS": SESSION_TIMEOUT_S * 1000,
    "BATCH_MS": 20,  # many small transactions, so that a process dies in the middle of one
    "BATCH_EVENTS": 60,  # a record takes several
    "PG_STATEMENT_TIMEOUT_MS": 2000,
    "OPS_PORT": 0,
    "LOG_LEVEL": "info",
}


def size_of(name, short, full):
    """A size that an environment variable can change."""
    return int(os.environ.get(f"CHAOS_{name}", full if FULL else short))


CLICKS = size_of("CLICKS", 6_000, 1_000_000)
KILLS = size_of("KILLS", 3, 100)
FREEZES = size_of("FREEZES", 1, 50)
POSTGRES_STOPS = size_of("POSTGRES_STOPS", 1, 20)
BROKER_KILLS = size_of("BROKER_KILLS", 1, 20)
CUTS = size_of("CUTS", 3, 100)
COUNT_S = 3600 if FULL else 1500


class CommitCutter(TcpProxy):
    """A proxy to PostgreSQL that cuts connections when the outcome of a transaction is in doubt.

    Of CUT_EVERY COMMITs it loses one on its way to the server, and the answer to another on its way back.
    """

    REQUEST = b"COMMIT"
    ANSWER = b"C\0\0\0\x0bCOMMIT\0"  # CommandComplete

    def __init__(self, port):
        self.lock = threading.Lock()
        self.requests = self.answers = 0
        self.lost_there = self.lost_back = 0
        self.is_cutting = False
        super().__init__(port)

    def lets_pass(self, part, is_answer):
        return not (self.loses_answer(part) if is_answer else self.loses_request(part))

    def loses_request(self, part):
        if self.REQUEST not in part:
            return False
        with self.lock:
            self.requests += 1
            lost = self.is_cutting and self.requests % CUT_EVERY == 0
            self.lost_there += lost
        return lost

    def loses_answer(self, part):
        if self.ANSWER not in part:
            return False
        with self.lock:
            self.answers += 1
            lost = self.is_cutting and self.answers % CUT_EVERY == CUT_EVERY // 2
            self.lost_back += lost
        return lost


class Consumer:
    """A consumer process that can be started again; all runs share one log."""

    def __init__(self, command, environment, log):
        self.command, self.environment, self.log = command, environment, pathlib.Path(log)
        self.process = None
        self.runs_before = 0  # that have logged "started" before the present one

    def start(self):
        self.runs_before = len(self.events("started"))
        with open(self.log, "ab") as log:
            self.process = popen(self.command, env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        """Ends the process, also a frozen one, and returns its exit status.

        A process that is not ready for SIGTERM yet would die of it, so that a start that is under way is waited for.
        """
        wait_until(self.has_started_or_ended, f"{self.log.stem} to have started")
        self.process.terminate()
        self.process.send_signal(signal.SIGCONT)
        return self.process.wait(timeout=300)

    def has_started_or_ended(self):
        return len(self.events("started")) > self.runs_before or self.process.poll() is not None

    def events(self, name):
        """The lines of its log with this event."""
        lines = self.log.read_text(errors="replace").splitlines() if self.log.exists() else []
        return [json.loads(line) for line in lines if f'"event":"{name}"' in line]

    def metric(self, name):
        """The sum over all labels; 0 while the process does not answer."""
        started = self.events("started")
        if not started:
            return 0
        with contextlib.suppress(OSError):
            url = f"http://127.0.0.1:{started[-1]['ops_port']}/metrics"
            text = urllib.request.urlopen(url, timeout=60).read().decode()
            return sum(float(number) for number in re.findall(rf"^{name}(?:{{.*}})? (\S+)$", text, re.MULTILINE))
        return 0


class Producer:
    """A process of click_producer, and the file in which it lists what it sent."""

    numbers = itertools.count()

    def __init__(self, harness, clicks, rate, **options):
        self.truth = pathlib.Path(harness.stack.state, f"truth-{next(self.numbers)}")
        words = {"brokers": harness.brokers, "truth": self.truth, "first-link": harness.first_link, "links": LINKS}
        words |= {"clicks": clicks, "rate": rate, "visitors": VISITORS, "seed": SEED, "pack": PACK}
        words |= {name.replace("_", "-"): value for name, value in options.items()}
        command = [PRODUCER, *(f"--{name}={value}" for name, value in words.items())]
        self.process = popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def finish(self, timeout_s):
        """Lets it send the rest at full speed; returns its totals once Kafka has everything."""
        out, _ = self.process.communicate(timeout=timeout_s)
        assert self.process.returncode == 0, out
        return json.loads(out)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()


class CountingHarness:
    def __init__(self, name):
        self.stack = Stack(BUILD / "stacks" / f"{name}-{os.getpid()}", BUILD)
        self.children = []  # consumers and producers, which end with the harness
        self.cutter = None

    def up(self):
        self.stack.run("up", "--build", self.stack.build, "--services", "none", "--tied-to", os.getpid())
        addresses = self.stack.addresses()
        self.brokers = addresses["KAFKA_BROKERS"]
        self.ledger = Ledger(addresses["ADMIN_PG_URL"])
        self.ledger.do("CREATE ROLE chaos_consumer LOGIN PASSWORD 'chaos' IN ROLE waymark_consumer")
        self.postgres = urllib.parse.urlsplit(addresses["ADMIN_PG_URL"])
        self.cutter = CommitCutter(self.postgres.port)
        self.first_link = self.make_links()
        self.consumers = [self.consumer(f"consumer-{n}") for n in range(1, CONSUMERS + 1)]

    def down(self, passed):
        for child in self.children:
            if child.process and child.process.poll() is None:
                child.kill()
        if self.cutter:
            self.cutter.close()
        self.stack.run("down")
        if passed:
            shutil.rmtree(self.stack.state)

    def make_links(self):
        """Returns the first link's id; the other ids follow it."""
        rows = self.ledger.rows(
            "INSERT INTO links (slug, link_type, original_url, expires_at)"
            " SELECT 'chaos-' || n, 'TEMPORARY', 'https://example.com/', now() + interval '8 hours'"
            f" FROM generate_series(0, {LINKS} - 1) n RETURNING id"
        )
        ids = [row[0] for row in rows]
        assert ids == list(range(ids[0], ids[0] + LINKS))
        return ids[0]

    def consumer(self, name, program=(BUILD / "bin/analytics-consumer",), **variables):
        environment = {key: os.environ[key] for key in ("PATH", "HOME", "ASAN_OPTIONS") if key in os.environ}
        user = f"chaos_consumer:chaos@127.0.0.1:{self.cutter.port}"
        environment |= {"PG_URL": f"postgresql://{user}{self.postgres.path}", "KAFKA_BROKERS": self.brokers}
        if os.path.exists(paths.geoip_database()):
            environment["GEOIP_DB"] = paths.geoip_database()
        environment |= {key: str(value) for key, value in {**CONSUMER_VARIABLES, **variables}.items()}
        self.children.append(Consumer(program, environment, f"{self.stack.state}/logs/{name}.log"))
        return self.children[-1]

    def produce(self, clicks, rate, **options):
        self.children.append(Producer(self, clicks, rate, **options))
        return self.children[-1]

    def restart(self, name, number):
        self.stack.run("kill", f"-{number}", name)
        wait_until(lambda: f"{name} -" in re.sub(" +", " ", self.stack.run("ps")), f"{name} to have ended")
        self.stack.run("start", name)

    def await_counted(self, clicks, seconds):
        """Waits until so many clicks are counted; fails when none is counted for so many seconds."""
        counted, deadline = -1, 0
        while counted < clicks:
            if (now := self.ledger.counted()) > counted:
                counted, deadline = now, time.monotonic() + seconds
            assert time.monotonic() < deadline, f"nothing was counted within {seconds} s after {counted} of {clicks}"
            time.sleep(0.05)

    def rebuild_stats(self, *words):
        command = [BUILD / "bin/rebuild-stats", *words]
        return subprocess.run(
            command, env={**os.environ, "PG_URL": self.ledger.url}, capture_output=True, text=True, timeout=COUNT_S, check=False
        )

    def start_consumers(self):
        for consumer in self.consumers:
            consumer.start()

    def stop_consumers(self):
        self.cutter.is_cutting = False
        assert [consumer.stop() for consumer in self.consumers] == [0] * CONSUMERS

    def log_lines(self, event):
        return sum(len(consumer.events(event)) for consumer in self.consumers)

    def sanitizer_findings(self):
        logs = pathlib.Path(self.stack.state, "logs").glob("*.log")
        return [line for log in logs for line in log.read_text(errors="replace").splitlines() if SANITIZER_FINDING.search(line)]


class FaultInjector:
    """Injects one fault after the other. Before each, counting must have gone on."""

    def __init__(self, harness, consumers=None):
        self.harness = harness
        self.consumers = consumers or harness.consumers
        self.random = random.Random(SEED)

    def disturb(self, kills, freezes, postgres_stops, broker_kills):
        """Kills and freezes hit one or two consumers at a time."""
        acts = [(self.kill, n) for n in self.in_ones_and_twos(kills)]
        acts += [(self.freeze, n) for n in self.in_ones_and_twos(freezes)]
        acts += [(self.stop_postgres, 0)] * postgres_stops + [(self.kill_broker, 0)] * broker_kills
        self.random.shuffle(acts)
        self.harness.cutter.is_cutting = True
        while acts:
            self.wait_for_progress()
            time.sleep(self.random.uniform(0, 0.3))  # so that it hits any moment of a batch
            self.do(acts)
        self.wait_for_progress()

    def do(self, acts):
        """The next fault. After a freeze, the fault that follows happens while the consumers are frozen."""
        act, n = acts.pop()
        chosen = self.random.sample(self.consumers, n)
        if act == self.freeze and acts and acts[-1][0] != self.freeze:
            act(chosen, lambda: self.do(acts))
        else:
            act(chosen)

    @staticmethod
    def in_ones_and_twos(count):
        return [2] * (count // 2) + [1] * (count % 2)

    def wait_for_progress(self):
        wanted = self.harness.ledger.counted() + PROGRESS
        wait_until(lambda: self.harness.ledger.counted() >= wanted, "counting to go on", seconds=COUNT_S)

    def kill(self, consumers):
        for consumer in consumers:
            consumer.kill()
        for consumer in consumers:
            consumer.start()

    def freeze(self, consumers, meanwhile=lambda: None):
        thaw_at = time.monotonic() + FREEZE_S  # by then their group has assigned their partitions to others
        for consumer in consumers:
            consumer.signal(signal.SIGSTOP)
        meanwhile()
        time.sleep(max(0, thaw_at - time.monotonic()))
        for consumer in consumers:
            consumer.signal(signal.SIGCONT)

    def stop_postgres(self, _):
        self.harness.restart("postgres", "QUIT")  # what pg_ctl calls immediate

    def kill_broker(self, _):
        self.harness.restart("kafka", "KILL")


@contextlib.contextmanager
def counting_harness(name, session):
    """A stack with consumers that have not been started. The logs are kept if a test of the session fails."""
    harness = CountingHarness(name)
    passed = False
    try:
        harness.up()
        yield harness
        assert harness.sanitizer_findings() == []
        passed = getattr(session, "all_passed", True)
    finally:
        harness.down(passed)
