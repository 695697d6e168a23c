"""Each committed change is on the topic, none that was rolled back, and no link's order turns round; and how late they are.

CHAOS_FULL=1 takes the full sizes; CHAOS_RELAY_KILLS changes one.
"""

import collections
import os
import pathlib
import random
import shutil
import subprocess
import sys
import threading
import time

import confluent_kafka
import pytest
from redirector_rig import percentile, size
from rig import BUILD, ROOT, SEED, Stack, Store, wait_until

KILLS = int(os.environ.get("CHAOS_RELAY_KILLS", size(5, 100)))
WRITERS = 16
LINKS = 200
KILLS_RATE = 200  # changes a second
LAG_RATE = 500
LAG_S = size(6, 60)
P50_MS, P99_MS = 100, 1000

Attempt = collections.namedtuple("Attempt", "link name version acked_us")


@pytest.fixture(scope="session")
def event_type(tmp_path_factory):
    out = tmp_path_factory.mktemp("link-protos")
    proto = "waymark/v1/link_event.proto"
    subprocess.run(["protoc", "-I", ROOT / "proto", f"--python_out={out}", ROOT / "proto" / proto], check=True)
    sys.path.insert(0, str(out))
    # One process cannot import two folders as the same package.
    sys.modules.pop("waymark.v1", None)
    sys.modules.pop("waymark", None)
    from waymark.v1 import link_event_pb2

    return link_event_pb2.LinkEvent


class RelayStack(Stack):
    """links-api and its backends; the other services are stopped, they only take CPU."""

    def up(self):
        self.run("up", "--build", self.build, "--tied-to", os.getpid())
        for name in ("redirector-1", "consumer-1", "janitor-1"):
            self.run("stop", name)
        self.doors = self.addresses()
        self.store = Store(self.doors["ADMIN_PG_URL"])

    def make_links(self):
        """The owner's id and that of the first link; the others follow it."""
        owner = self.store.ask("INSERT INTO users (email, password_hash) VALUES ('o@example.com', 'x') RETURNING id")
        with self.store.connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO links (slug, link_type, owner_id, original_url)"
                " SELECT 'outbox-' || n, 'PERMANENT', %s, 'https://example.com/' FROM generate_series(1, %s) n"
                " RETURNING id",
                (owner, LINKS),
            )
            ids = [row[0] for row in cursor]
        assert ids == list(range(ids[0], ids[0] + LINKS))
        return owner, ids[0]


class Changer:
    """The program changer, from the outside."""

    def __init__(self, stack, rate):
        owner, first = stack.make_links()
        self.log = pathlib.Path(stack.state, "changes")
        words = {"pg": stack.doors["ADMIN_PG_URL"], "log": self.log, "first-id": first, "links": LINKS, "owner": owner}
        words["rate"] = rate
        command = [BUILD / "tests/chaos/changer", *(f"--{name}={value}" for name, value in words.items())]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE)

    def stop(self):
        """What was attempted: two lists, committed and rolled back."""
        self.process.stdin.close()
        assert self.process.wait(60) == 0
        lines = (line.split() for line in self.log.read_text().splitlines())
        attempts = [Attempt(int(link), name, int(version), int(acked)) for link, name, version, acked in lines]
        return [a for a in attempts if a.acked_us], [a for a in attempts if not a.acked_us]

    def end(self):
        self.process.kill()
        self.process.wait()


class Topic(threading.Thread):
    """An independent subscriber, from the beginning on: when each event came, in which order."""

    def __init__(self, brokers, event_type):
        super().__init__(daemon=True)
        self.event_type = event_type
        self.records = []  # arrival in µs since 1970, value
        self.going = True
        self.consumer = confluent_kafka.Consumer(
            {"bootstrap.servers": brokers, "group.id": f"chaos-outbox-{os.getpid()}", "enable.auto.commit": False}
        )
        name = "waymark.links.v1"
        parts = self.consumer.list_topics(name, timeout=20).topics[name].partitions
        self.consumer.assign([confluent_kafka.TopicPartition(name, p, confluent_kafka.OFFSET_BEGINNING) for p in parts])
        self.start()

    def run(self):
        while self.going:
            message = self.consumer.poll(0.2)
            if message is not None and message.error() is None and message.value():
                self.records.append((time.time_ns() // 1000, message.value()))

    def wait_for_more(self, count, seconds):
        wanted = len(self.records) + count
        wait_until(lambda: len(self.records) >= wanted, seconds, f"{count} more events on the topic")

    def stop(self):
        if self.going:
            self.going = False
            self.join()
            self.consumer.close()

    def arrivals(self):
        """(attempt, link, version, arrival) of each event, in the topic's order."""
        for arrived_us, value in self.records:
            event = self.event_type.FromString(value)
            yield event.link.original_url.rpartition("/")[2], event.link.id, event.link.version, arrived_us


@pytest.fixture
def rig(request, event_type):
    """rig(rate) gives a stack, its topic's subscriber and its writers, at work."""
    ends = []

    def start(rate):
        stack = RelayStack(BUILD / "stacks" / f"chaos-{os.getpid()}-{request.node.name[:12]}", BUILD)
        ends.append(lambda: stack.run("down"))
        stack.up()
        topic = Topic(stack.doors["KAFKA_BROKERS"], event_type)
        ends.append(topic.stop)
        changer = Changer(stack, rate)
        ends.append(changer.end)
        ends.insert(0, lambda: request.node.passed and shutil.rmtree(stack.state))
        return stack, topic, changer

    yield start
    for end in reversed(ends):
        end()


def books(topic, committed, rolled_back, record):
    """The writers' books against the topic; gives the first arrival of each attempt."""
    first, last, inversions, repeats = {}, {}, 0, 0
    for name, link, version, arrived_us in topic.arrivals():
        inversions += version < last.get(link, 0)
        last[link] = max(version, last.get(link, 0))
        repeats += name in first
        first.setdefault(name, arrived_us)
    names = {attempt.name for attempt in committed}
    missing, phantom = len(names - first.keys()), len(first.keys() - names)
    record("committed", len(committed))
    record("rolled back", len(rolled_back))
    record("missing", missing)
    record("phantom", phantom)
    record("order inversions", inversions)
    record("repeats", repeats)
    assert committed and rolled_back
    assert (missing, phantom, inversions) == (0, 0, 0)
    return first


def wait_until_empty(stack, topic, seconds):
    wait_until(lambda: stack.store.ask("SELECT count(*) FROM outbox") == 0, seconds, "an empty outbox")
    topic.wait_for_more(0, 1)
    time.sleep(1)  # an act of its own: whatever else were to come, a phantom or a repeat, would be here by now
    topic.stop()


class TestKills:
    def test_outbox_loses_nothing_and_turns_nothing_round_while_its_relay_is_killed(self, rig, record_property):
        dice = random.Random(SEED)
        stack, topic, changer = rig(KILLS_RATE)
        for _ in range(KILLS):
            topic.wait_for_more(20, 60)
            time.sleep(dice.uniform(0, 0.2))
            stack.run("kill", "-KILL", "links-api-1")
            stack.run("start", "links-api-1")
        topic.wait_for_more(20, 60)
        committed, rolled_back = changer.stop()
        wait_until_empty(stack, topic, 120)
        record_property("did", f"{WRITERS} writers, {KILLS_RATE} changes/s, relay killed with -9 {KILLS} times, seed {SEED}")
        books(topic, committed, rolled_back, record_property)


class TestLag:
    def test_outbox_is_on_the_topic_soon_after_the_commit(self, rig, record_property):
        stack, topic, changer = rig(LAG_RATE * 8 // 7)  # an eighth is rolled back
        topic.wait_for_more(LAG_RATE, 60)  # the relay has its lock, the producer its connections
        begin_us = time.time_ns() // 1000
        time.sleep(LAG_S)  # the load itself
        end_us = time.time_ns() // 1000
        committed, rolled_back = changer.stop()
        wait_until_empty(stack, topic, 60)
        record_property("did", f"{WRITERS} writers, {LAG_RATE} changes/s for {LAG_S} s, nothing killed")
        first = books(topic, committed, rolled_back, record_property)
        counted = [attempt for attempt in committed if begin_us <= attempt.acked_us < end_us]
        lags_ms = [max(0, first[attempt.name] - attempt.acked_us) / 1000 for attempt in counted]
        rate = round(len(counted) * 1e6 / (end_us - begin_us))
        p50, p99 = percentile(lags_ms, 50), percentile(lags_ms, 99)
        record_property("changes/s", rate)
        record_property("p50 ms", round(p50, 1))
        record_property("p99 ms", round(p99, 1))
        record_property("longest ms", round(max(lags_ms), 1))
        print(f"\n{rate} changes/s: lag p50 {p50:.1f} ms, p99 {p99:.1f} ms, longest {max(lags_ms):.1f} ms")
        assert rate > LAG_RATE * 0.9, "the load was not what it should have been"
        assert p50 <= P50_MS
        assert p99 <= P99_MS
