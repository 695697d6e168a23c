"""What the redirector's chaos tests share: a stack, visitors that log every request, and the events in Kafka."""

import array
import collections
import contextlib
import itertools
import os
import pathlib
import random
import re
import select
import shutil
import statistics
import subprocess
import sys
import time
import urllib.error
import urllib.request

import confluent_kafka
from harness import BUILD, ROOT, SEED, STACK, Stack, Store, wait_until
from processes import popen

VISITORS_PROGRAM = BUILD / "tests/chaos/click_visitors"
MB = 1 << 20
HOUR_MS = 3_600_000


class RedirectorStack(Stack):
    """Redirectors, their backends and links-api, whose relay keeps Redis valid. The other services are stopped."""

    def __init__(self, state, build):
        super().__init__(state, build)
        self.random = random.Random(SEED)
        self.env = {}
        self.store = None
        self.visitor_processes = []

    def up(self, launch=(), redirectors=1, idle=("consumer-1", "janitor-1"), **variables):
        variables = {"UNKNOWN_SLUGS_PER_MINUTE": "unlimited", **variables}
        settings = [word for name, value in variables.items() for word in ("--set", f"{name}={value}")]
        command = [*launch, STACK, "up", "--state", self.state, "--build", self.build, "--tied-to", str(os.getpid())]
        command += ["--redirectors", str(redirectors)]
        done = subprocess.run([*command, *settings], capture_output=True, text=True, timeout=600, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        for name in idle:
            self.run("stop", name)
        self.env = self.addresses()
        self.store = Store(self.env["ADMIN_PG_URL"])

    def make_links(self, word, count, kinds=((0, b""),)):
        """The links come past the API, so the Bloom filter learns of them a moment later: warm() waits for that.

        kinds: the features and extras of every link in turn.
        """
        features, extras = ([kind[i] or None for kind in kinds] for i in (0, 1))
        with self.store.connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO links (slug, link_type, original_url, expires_at, features, extras)"
                " SELECT %s || '-' || n, 'TEMPORARY', 'https://shop.example.com/items/' || n, now() + interval '8 hours',"
                " coalesce((%s::smallint[])[1 + n %% %s], 0), (%s::bytea[])[1 + n %% %s] FROM generate_series(0, %s - 1) n",
                (word, features, len(kinds), extras, len(kinds), count),
            )

    def warm(self, word, count):
        """Follows each link until the redirector has found all. Before, it may answer 404, or 503 on a busy machine."""

        def all_are_found():
            run = f"warm-{word}-{len(self.visitor_processes)}"
            log = self.visitors(run, connections=16, rate=count, slug=word, slugs=count, requests=count).wait()
            return log.counts() == {302: count}

        wait_until(all_are_found, f"the links {word} to be found")

    def visitors(self, run, mode="follow", **options):
        port = self.env["REDIRECTOR_URL"].rpartition(":")[2]
        self.visitor_processes.append(Visitors(pathlib.Path(self.state), port, run, mode, **options))
        return self.visitor_processes[-1]

    def down(self):
        for visitors in self.visitor_processes:
            visitors.process.kill()
            visitors.process.wait()
        self.run("down")

    def kill_and_start(self, name="redirector-1"):
        self.run("kill", "-KILL", name)
        self.run("start", name)

    def metrics(self):
        """All series of the redirector's /metrics by their name with labels."""
        with urllib.request.urlopen(self.env["REDIRECTOR_OPS_URL"] + "/metrics", timeout=300) as answer:
            lines = answer.read().decode().splitlines()
        pairs = (line.rsplit(" ", 1) for line in lines if line and not line.startswith("#"))
        return {name: float(value) for name, value in pairs}

    def readiness(self):
        """Status and text of /readyz."""
        try:
            with urllib.request.urlopen(self.env["REDIRECTOR_OPS_URL"] + "/readyz", timeout=300) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as answer:
            return answer.code, answer.read().decode()

    def wait_until_shipped(self, seconds=300):
        wait_until(lambda: self.metrics()["waymark_events_queued"] == 0, "all events to be acked by Kafka", seconds=seconds)

    def wait_until_redis_is_trusted(self, seconds=300):
        """It is, except for the moments after an outage."""
        wait_until(lambda: self.metrics()["waymark_link_cache_valid"] == 1, "the redirector to trust Redis", seconds=seconds)

    def reconnect(self):
        """After an outage of PostgreSQL."""
        self.store = Store(self.env["ADMIN_PG_URL"])

    def log_statements(self):
        """PostgreSQL logs each statement of each client from now on."""
        with self.store.connection.cursor() as cursor:
            cursor.execute("ALTER SYSTEM SET log_statement = 'all'")
            cursor.execute("SELECT pg_reload_conf()")

    def queries_of_redirectors(self):
        """How many statements redirectors have sent so far, by PostgreSQL's log."""
        log = pathlib.Path(self.state, "logs/postgres.log")
        lines = log.read_text(errors="replace").splitlines()
        return sum("redirector@waymark" in line and (" execute " in line or " statement: " in line) for line in lines)

    def lookups_of_redirectors(self):
        """How many of these statements look up a slug."""
        log = pathlib.Path(self.state, "logs/postgres.log")
        lines = log.read_text(errors="replace").splitlines()
        return sum("redirector@waymark" in line and line.endswith("LEFT JOIN links ON slug_key = wanted") for line in lines)

    def queries_for(self, slug):
        """How often redirectors have looked up this slug, by PostgreSQL's log."""
        log = pathlib.Path(self.state, "logs/postgres.log")
        return log.read_text(errors="replace").count(f"redirector@waymark DETAIL:  parameters: $1 = '{slug}'")

    def journal_folder(self):
        """The folder in the redirector's mount namespace."""
        return pathlib.Path(f"/proc/{self.pid('redirector-1')}/root", self.state.lstrip("/"), "journal")

    def remount(self, how):
        namespace = f"--mount=/proc/{self.pid('kafka')}/ns/mnt"
        folder = pathlib.Path(self.state, "journal")
        subprocess.run(["nsenter", namespace, "mount", "-o", f"remount,{how}", folder], check=True)

    def pid(self, name):
        lines = (line.split() for line in self.run("ps").splitlines())
        return next(words[1] for words in lines if words[0] == name)

    def recovered_records(self):
        """How many records and torn tails restarted redirectors have found in their journals."""
        log = pathlib.Path(self.state, "logs/redirector-1.log").read_text(errors="replace")
        found = re.findall(r'"event":"journal_segment_recovered".*?"records":(\d+),"is_torn":(\d+)', log)
        return sum(int(records) for records, _ in found), sum(int(torn) for _, torn in found)


@contextlib.contextmanager
def redirector_stack(name, session, launch=(), **variables):
    """A stack that is up. Its folder with the logs is kept if a test of the session has failed meanwhile."""
    failed_before = session.testsfailed
    stack = RedirectorStack(BUILD / "stacks" / f"chaos-{os.getpid()}-{name}", BUILD)
    try:
        stack.up(launch, **variables)
        yield stack
    finally:
        stack.down()
    if session.testsfailed == failed_before:
        shutil.rmtree(stack.state)


class Visitors:
    """A process of click_visitors (visitors.c)."""

    def __init__(self, folder, port, run, mode, **options):
        self.run = run
        self.path = folder / f"clicks-{run}"
        words = [word for name, value in options.items() for word in (f"--{name.replace('_', '-')}", str(value))]
        command = [VISITORS_PROGRAM, "--port", port, "--run", run, "--log", self.path, *words, mode]
        self.process = popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def rows(self):
        """How many requests have ended so far."""
        return os.path.getsize(self.path) // ClickLog.ROW if self.path.exists() else 0

    def wait_for_rows(self, more, seconds=300):
        wanted = self.rows() + more
        wait_until(lambda: self.rows() >= wanted, f"{more} more clicks of {self.run}", seconds=seconds)

    def wait_until_open(self, seconds=300):
        can_be_read, _, _ = select.select([self.process.stdout], [], [], seconds)
        assert can_be_read and self.process.stdout.readline() == "open\n", "not all connections could be opened"

    def fire(self):
        self.process.stdin.write("now\n")
        self.process.stdin.flush()

    def wait(self, seconds=180):
        """Waits until the process ends by itself."""
        self.process.wait(timeout=seconds)
        return self.log()

    def stop(self):
        self.process.stdin.close()
        return self.wait()

    def log(self):
        return ClickLog(self.run, self.path.read_bytes())


class ClickLog:
    """What became of each request (click_log.h)."""

    ROW = 32

    def __init__(self, run, data):
        rows = array.array("Q")
        rows.frombytes(data[: len(data) // self.ROW * self.ROW])
        self.run = run
        self.numbers, self.ended_us, self.latencies_us, self.statuses = (rows[i::4] for i in range(4))

    def __len__(self):
        return len(self.numbers)

    def counts(self, begin=0.0, end=float("inf")):
        """Requests that ended between two times of time.monotonic(), by status; 0 is no answer."""
        ended = zip(self.ended_us, self.statuses)
        return collections.Counter(status for at_us, status in ended if begin <= at_us / 1e6 < end)

    def redirected(self):
        return {number for number, status in zip(self.numbers, self.statuses) if 300 <= status < 400}

    def _latencies_ms(self, begin, end):
        rows = zip(self.ended_us, self.latencies_us, self.statuses)
        return [us / 1e3 for at_us, us, status in rows if status and begin <= at_us / 1e6 < end]

    def p99_ms(self, begin=0.0, end=float("inf")):
        return percentile(self._latencies_ms(begin, end), 99)

    def typical_p99_ms(self, begin, end):
        """The median of each second's p99, which one pause of the machine does not change."""
        seconds = [begin + i for i in range(int(end - begin))]
        return statistics.median(self.p99_ms(second, second + 1) for second in seconds)


def percentile(values, percent):
    assert values, "no request was answered in that time"
    return sorted(values)[(len(values) - 1) * percent // 100]


class Events:
    """All of waymark.redirects.v1 up to its present end, read by an independent client."""

    TOPIC = "waymark.redirects.v1"
    CLICK = re.compile("utm_campaign=([^.&]+)\\.(\\d+)")

    def __init__(self, brokers, batch_type):
        self.batch_type = batch_type
        self.ids = collections.defaultdict(dict)  # run → number of the request → event_id
        self.events = collections.Counter()  # by run
        self.records = 0
        self.doubles = 0  # requests with a second event: visits that would be counted twice
        self.disorder = 0  # events first seen after a later one of their instance and partition
        self.value_bytes = 0
        self.decisions = collections.Counter()  # by slug, rule, variant and host of the destination
        self._seen = set()
        self._last = {}
        self._read(brokers)

    def _read(self, brokers):
        consumer = confluent_kafka.Consumer(
            {"bootstrap.servers": brokers, "group.id": f"chaos-{os.getpid()}", "enable.auto.commit": False}
        )
        try:
            parts = [confluent_kafka.TopicPartition(self.TOPIC, p, 0) for p in range(self._partitions(consumer))]
            left = {}
            for part in parts:
                low, high = consumer.get_watermark_offsets(part, timeout=300)
                assert low == 0, "the broker has deleted events"
                left[part.partition] = high
            consumer.assign(parts)
            self._consume(consumer, {p: high for p, high in left.items() if high > 0})
        finally:
            consumer.close()

    def _partitions(self, consumer):
        return len(consumer.list_topics(self.TOPIC, timeout=300).topics[self.TOPIC].partitions)

    def _consume(self, consumer, ends):
        last_seen_at = time.monotonic()
        while ends:
            assert time.monotonic() - last_seen_at < 60, f"Kafka returns no more events; still to come: {ends}"
            for message in consumer.consume(5000, timeout=1.0):
                assert message.error() is None, message.error()
                self._take(message)
                if message.offset() + 1 >= ends.get(message.partition(), 0):
                    ends.pop(message.partition(), None)
                last_seen_at = time.monotonic()

    def _take(self, message):
        batch = self.batch_type.FromString(message.value())
        assert len(batch.sequence_steps) == len(batch.events)
        self.records += 1
        self.value_bytes += len(message.value())
        for sequence, event in zip(itertools.accumulate(batch.sequence_steps), batch.events):
            self._take_event(event, sequence, (batch.instance, message.partition()))

    def _take_event(self, event, sequence, place):
        click = self.CLICK.fullmatch(event.query)
        run, number = click.groups() if click else ("other", self._count_others())
        known = self.ids[run].setdefault(int(number), event.event_id)
        self.doubles += known != event.event_id
        self.events[run] += 1
        self.decisions[event.slug, event.rule, event.variant, event.destination_host] += 1
        if event.event_id not in self._seen:
            self._seen.add(event.event_id)
            self.disorder += sequence <= self._last.get(place, 0)
            self._last[place] = max(sequence, self._last.get(place, 0))

    def _count_others(self):
        return len(self.ids["other"])

    def lost(self, log):
        """Answered redirects without an event."""
        return len(log.redirected() - self.ids[log.run].keys())

    def repeats(self, run):
        return self.events[run] - len(self.ids[run])


def deciding_kinds():
    """For make_links: a plain link, one with a rule and one with a split. Each host says what must have decided."""
    from waymark.v1 import link_extras_pb2 as pb

    german = pb.LinkCondition(subject=pb.LINK_SUBJECT_LANGUAGE, values=["de"])
    rule = pb.LinkRule(name="Germans", conditions=[german], action=pb.LINK_ACTION_REDIRECT, url="https://germans.example.com/")
    variants = [pb.LinkVariant(name=name, url=f"https://{name.lower()}.example.com/", weight=1) for name in "AB"]
    return (0, b""), (1, pb.LinkExtras(rules=[rule]).SerializeToString()), (2, pb.LinkExtras(variants=variants).SerializeToString())


def is_rightly_named(slug, rule, variant, host):
    """Whether an event of a link of deciding_kinds names what has led its visitor to the host."""
    kind = int(slug.rpartition("-")[2]) % 3
    wanted = [("", "", "shop"), ("Germans", "", "germans"), ("", variant, variant.lower())][kind]
    return (rule, variant, host) == (*wanted[:2], wanted[2] + ".example.com") and (kind != 2 or variant in ("A", "B"))


def load_messages(folder):
    """RedirectBatch, generated by protoc from the published .proto file."""
    protos = sorted(str(path) for path in (ROOT / "proto/waymark/v1").glob("*.proto"))
    subprocess.run(["protoc", "-I", str(ROOT / "proto"), f"--python_out={folder}", *protos], check=True)
    sys.path.insert(0, str(folder))
    from waymark.v1 import redirect_event_pb2

    return redirect_event_pb2.RedirectBatch
