"""What the redirector's chaos tests share: a stack, thousands of visitors with their books, and Kafka's side of them."""

import array
import collections
import os
import pathlib
import random
import re
import select
import statistics
import subprocess
import sys
import time
import urllib.error
import urllib.request

import confluent_kafka
from rig import BUILD, ROOT, STACK, Stack, Store, wait_until

CLICKER = BUILD / "tests/chaos/clicker"
FULL = bool(os.environ.get("CHAOS_FULL"))
SEED = int(os.environ.get("CHAOS_SEED", time.time_ns() % 1_000_000))
MB = 1 << 20


def size(short, full):
    return full if FULL else short


class RedirectorStack(Stack):
    """
    One redirector, its backends and links-api, without whose relay Redis is not believed; the services that have nothing
    to do with it are stopped, they only take CPU.
    """

    def __init__(self, state, build):
        super().__init__(state, build)
        self.random = random.Random(SEED)
        self.doors = {}
        self.store = None
        self.clickers = []

    def up(self, launch=(), redirectors=1, idle=("consumer-1", "janitor-1"), **variables):
        variables = {"UNKNOWN_SLUGS_PER_MINUTE": 0, **variables}
        settings = [word for name, value in variables.items() for word in ("--set", f"{name}={value}")]
        command = [*launch, STACK, "up", "--state", self.state, "--build", self.build, "--tied-to", str(os.getpid())]
        command += ["--redirectors", str(redirectors)]
        done = subprocess.run([*command, *settings], capture_output=True, text=True, timeout=180, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        for name in idle:
            self.run("stop", name)
        self.doors = self.addresses()
        self.store = Store(self.doors["ADMIN_PG_URL"])

    def make_links(self, word, count):
        with self.store.connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO links (slug, link_type, original_url, expires_at)"
                " SELECT %s || '-' || n, 'TEMPORARY', 'https://shop.example.com/items/' || n, now() + interval '8 hours'"
                " FROM generate_series(0, %s - 1) n",
                (word, count),
            )

    def warm(self, word, count):
        """Until the redirector has found each link: on a busy machine the first who asks may be told to come back."""

        def all_are_found():
            run = f"warm-{word}-{len(self.clickers)}"
            log = self.clicker(run, connections=16, rate=count, slug=word, slugs=count, requests=count).wait()
            return log.counts() == {302: count}

        wait_until(all_are_found, 60, f"the links {word} to be found")

    def clicker(self, run, mode="follow", **options):
        port = self.doors["REDIRECTOR_URL"].rpartition(":")[2]
        self.clickers.append(Clicker(pathlib.Path(self.state), port, run, mode, **options))
        return self.clickers[-1]

    def down(self):
        """Also after a test that failed half-way."""
        for clicker in self.clickers:
            clicker.process.kill()
            clicker.process.wait()
        self.run("down")

    def kill_and_start(self, name="redirector-1"):
        self.run("kill", "-KILL", name)
        self.run("start", name)

    def metrics(self):
        """All series of the redirector's /metrics by their name with labels."""
        with urllib.request.urlopen(self.doors["REDIRECTOR_OPS_URL"] + "/metrics", timeout=10) as answer:
            lines = answer.read().decode().splitlines()
        pairs = (line.rsplit(" ", 1) for line in lines if line and not line.startswith("#"))
        return {name: float(value) for name, value in pairs}

    def readiness(self):
        """Status and text of /readyz."""
        try:
            with urllib.request.urlopen(self.doors["REDIRECTOR_OPS_URL"] + "/readyz", timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as answer:
            return answer.code, answer.read().decode()

    def wait_until_shipped(self, seconds=120):
        wait_until(lambda: self.metrics()["waymark_events_queued"] == 0, seconds, "all events to be acked by Kafka")

    def wait_until_redis_is_trusted(self, seconds=60):
        """As always but for the moments after an outage."""
        wait_until(lambda: self.metrics()["waymark_link_cache_valid"] == 1, seconds, "the redirector to believe Redis")

    def reconnect(self):
        """After PostgreSQL was away."""
        self.store = Store(self.doors["ADMIN_PG_URL"])

    def log_statements(self):
        """From now on PostgreSQL writes each statement of each client into its log."""
        with self.store.connection.cursor() as cursor:
            cursor.execute("ALTER SYSTEM SET log_statement = 'all'")
            cursor.execute("SELECT pg_reload_conf()")

    def queries_of_redirectors(self):
        """How many statements they have sent so far, by PostgreSQL's own log."""
        log = pathlib.Path(self.state, "logs/postgres.log")
        lines = log.read_text(errors="replace").splitlines()
        return sum("redirector@waymark" in line and (" execute " in line or " statement: " in line) for line in lines)

    def look_ups_of_redirectors(self):
        """How many of these ask for a slug."""
        log = pathlib.Path(self.state, "logs/postgres.log")
        lines = log.read_text(errors="replace").splitlines()
        return sum("redirector@waymark" in line and line.endswith("FROM links WHERE slug = $1") for line in lines)

    def queries_for(self, slug):
        """How often PostgreSQL was asked for a slug, by its own log."""
        log = pathlib.Path(self.state, "logs/postgres.log")
        return log.read_text(errors="replace").count(f"redirector@waymark DETAIL:  parameters: $1 = '{slug}'")

    def journal_folder(self):
        """As the redirector sees it."""
        return pathlib.Path(f"/proc/{self.pid('redirector-1')}/root", self.state.lstrip("/"), "journal")

    def remount(self, how):
        namespace = f"--mount=/proc/{self.pid('kafka')}/ns/mnt"
        folder = pathlib.Path(self.state, "journal")
        subprocess.run(["nsenter", namespace, "mount", "-o", f"remount,{how}", folder], check=True)

    def pid(self, name):
        lines = (line.split() for line in self.run("ps").splitlines())
        return next(words[1] for words in lines if words[0] == name)

    def recovered_records(self):
        """How many records restarted redirectors have found in their journals, and how many torn tails."""
        log = pathlib.Path(self.state, "logs/redirector-1.log").read_text(errors="replace")
        found = re.findall(r'"event":"journal_segment_recovered".*?"records":(\d+),"is_torn":(\d+)', log)
        return sum(int(records) for records, _ in found), sum(int(torn) for _, torn in found)


class Clicker:
    """The program clicker, from the outside."""

    def __init__(self, folder, port, run, mode, **options):
        self.run = run
        self.path = folder / f"clicks-{run}"
        words = [word for name, value in options.items() for word in (f"--{name.replace('_', '-')}", str(value))]
        command = [CLICKER, "--port", port, "--run", run, "--log", self.path, *words, mode]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def rows(self):
        """How many requests have come to an end so far."""
        return os.path.getsize(self.path) // ClickLog.ROW if self.path.exists() else 0

    def wait_for_rows(self, more, seconds=60):
        wanted = self.rows() + more
        wait_until(lambda: self.rows() >= wanted, seconds, f"{more} more clicks of {self.run}")

    def wait_until_open(self, seconds=60):
        can_be_read, _, _ = select.select([self.process.stdout], [], [], seconds)
        assert can_be_read and self.process.stdout.readline() == "open\n", "not all connections could be opened"

    def fire(self):
        self.process.stdin.write("now\n")
        self.process.stdin.flush()

    def wait(self, seconds=60):
        """Until it ends by itself."""
        self.process.wait(timeout=seconds)
        return self.log()

    def stop(self):
        self.process.stdin.close()
        return self.wait()

    def log(self):
        return ClickLog(self.run, self.path.read_bytes())


class ClickLog:
    """The visitors' own books (click_log.h)."""

    ROW = 32

    def __init__(self, run, data):
        rows = array.array("Q")
        rows.frombytes(data[: len(data) // self.ROW * self.ROW])
        self.run = run
        self.numbers, self.ended_us, self.latencies_us, self.statuses = (rows[i::4] for i in range(4))

    def __len__(self):
        return len(self.numbers)

    def counts(self, begin=0.0, end=float("inf")):
        """Requests by status (0: no answer) that ended between two times of time.monotonic()."""
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
        """The median of each second's p99: what one hiccup of a busy machine does not move."""
        seconds = [begin + i for i in range(int(end - begin))]
        return statistics.median(self.p99_ms(second, second + 1) for second in seconds)


def percentile(values, percent):
    assert values, "no request was answered in that time"
    return sorted(values)[(len(values) - 1) * percent // 100]


class Events:
    """All of waymark.redirects.v1 as an independent client reads it, up to its present end."""

    TOPIC = "waymark.redirects.v1"
    CLICK = re.compile("click=([^.&]+)\\.(\\d+)")

    def __init__(self, brokers, message_type):
        self.message_type = message_type
        self.ids = collections.defaultdict(dict)  # run → number of the request → event_id
        self.messages = collections.Counter()  # by run
        self.doubles = 0  # a second event for the same request: a visit that would be counted twice
        self.disorder = 0  # an event that comes for the first time after a later one of its instance and partition
        self.value_bytes = 0
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
                low, high = consumer.get_watermark_offsets(part, timeout=20)
                assert low == 0, "the broker has thrown events away"
                left[part.partition] = high
            consumer.assign(parts)
            self._consume(consumer, {p: high for p, high in left.items() if high > 0})
        finally:
            consumer.close()

    def _partitions(self, consumer):
        return len(consumer.list_topics(self.TOPIC, timeout=20).topics[self.TOPIC].partitions)

    def _consume(self, consumer, ends):
        heard_at = time.monotonic()
        while ends:
            assert time.monotonic() - heard_at < 30, f"Kafka gives no more events; still to come: {ends}"
            for message in consumer.consume(5000, timeout=1.0):
                assert message.error() is None, message.error()
                self._take(message)
                if message.offset() + 1 >= ends.get(message.partition(), 0):
                    ends.pop(message.partition(), None)
                heard_at = time.monotonic()

    def _take(self, message):
        event = self.message_type.FromString(message.value())
        click = self.CLICK.fullmatch(event.query)
        run, number = click.groups() if click else ("somebody else", self._count_others())
        known = self.ids[run].setdefault(int(number), event.event_id)
        self.doubles += known != event.event_id
        self.messages[run] += 1
        self.value_bytes += len(message.value())
        if event.event_id not in self._seen:
            self._seen.add(event.event_id)
            place = (event.instance, message.partition())
            self.disorder += event.sequence <= self._last.get(place, 0)
            self._last[place] = max(event.sequence, self._last.get(place, 0))

    def _count_others(self):
        return len(self.ids["somebody else"])

    def lost(self, log):
        """Answered redirects without an event."""
        return len(log.redirected() - self.ids[log.run].keys())

    def repeats(self, run):
        return self.messages[run] - len(self.ids[run])


def load_messages(folder):
    """RedirectEvent as any other language sees it: made by protoc from the published .proto file."""
    protos = sorted(str(path) for path in (ROOT / "proto/waymark/v1").glob("*.proto"))
    subprocess.run(["protoc", "-I", str(ROOT / "proto"), f"--python_out={folder}", *protos], check=True)
    sys.path.insert(0, str(folder))
    from waymark.v1 import redirect_event_pb2

    return redirect_event_pb2.RedirectEvent
