"""Each committed change reaches the topic, no rolled-back one does, and each link's changes keep their order.

CHAOS_FULL=1 takes the full sizes and measures how late the changes are; CHAOS_RELAY_KILLS changes one size.
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
from harness import BUILD, FULL, ROOT, SEED, Stack, Store, size, wait_until
from processes import popen
from redirector_harness import percentile

KILLS = int(os.environ.get("CHAOS_RELAY_KILLS", size(2, 100)))
WRITERS = 16
LINKS = 200
KILLS_RATE = 200  # changes a second
LAG_RATE = 500
LAG_S = 60
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
    """links-api and its backends. The other services are stopped."""

    def up(self):
        self.run("up", "--build", self.build, "--tied-to", os.getpid())
        for name in ("redirector-1", "consumer-1", "janitor-1"):
            self.run("stop", name)
        self.env = self.addresses()
        self.store = Store(self.env["ADMIN_PG_URL"])

    def make_links(self):
        """Returns the owner's id and the first link's; the other ids follow it."""
        owner = self.store.ask("INSERT INTO users (email, password_hash) VALUES ('o@example.com', 'x') RETURNING id")
        with self.store.connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO links (slug, link_type, workspace_id, original_url)"
                " SELECT 'outbox-' || n, 'PERMANENT', %s, 'https://example.com/' FROM generate_series(1, %s) n"
                " RETURNING id",
                (owner, LINKS),
            )
            ids = [row[0] for row in cursor]
        assert ids == list(range(ids[0], ids[0] + LINKS))
        return owner, ids[0]


class LinkWriters:
    """A process of the program link_writers (link_writers.c)."""

    def __init__(self, stack, rate):
        owner, first = stack.make_links()
        self.log = pathlib.Path(stack.state, "changes")
        words = {"pg": stack.env["ADMIN_PG_URL"], "log": self.log, "first-id": first, "links": LINKS, "owner": owner}
        words["rate"] = rate
        command = [BUILD / "tests/chaos/link_writers", *(f"--{name}={value}" for name, value in words.items())]
        self.process = popen(command, stdin=subprocess.PIPE)

    def stop(self):
        """Returns all attempts in two lists, committed and rolled back."""
        self.process.stdin.close()
        assert self.process.wait(300) == 0
        lines = (line.split() for line in self.log.read_text().splitlines())
        attempts = [Attempt(int(link), name, int(version), int(acked)) for link, name, version, acked in lines]
        return [a for a in attempts if a.acked_us], [a for a in attempts if not a.acked_us]

    def end(self):
        self.process.kill()
        self.process.wait()


Event = collections.namedtuple("Event", "name link version arrived_us")


class Topic(threading.Thread):
    """An independent subscriber that records each event of the topic, in order, with its time of arrival."""

    def __init__(self, brokers, event_type):
        super().__init__(daemon=True)
        self.event_type = event_type
        self.events = []
        self.names = set()
        self.is_running = True
        self.consumer = confluent_kafka.Consumer(
            {"bootstrap.servers": brokers, "group.id": f"chaos-outbox-{os.getpid()}", "enable.auto.commit": False}
        )
        name = "waymark.links.v1"
        parts = self.consumer.list_topics(name, timeout=300).topics[name].partitions
        self.consumer.assign([confluent_kafka.TopicPartition(name, p, confluent_kafka.OFFSET_BEGINNING) for p in parts])
        self.start()

    def run(self):
        while self.is_running:
            message = self.consumer.poll(0.2)
            if message is not None and message.error() is None and message.value():
                self.take(message.value(), time.time_ns() // 1000)

    def take(self, value, arrived_us):
        link = self.event_type.FromString(value).link
        name = link.original_url.rpartition("/")[2]
        self.events.append(Event(name, link.id, link.version, arrived_us))
        self.names.add(name)

    def wait_for_more(self, count, seconds):
        wanted = len(self.events) + count
        wait_until(lambda: len(self.events) >= wanted, f"{count} more events on the topic", seconds=seconds)

    def stop(self):
        if self.is_running:
            self.is_running = False
            self.join()
            self.consumer.close()


@pytest.fixture
def harness(request, event_type):
    """harness(rate) starts a stack, a subscriber of its topic and writers, and returns the three."""
    ends = []

    def start(rate):
        stack = RelayStack(BUILD / "stacks" / f"chaos-{os.getpid()}-{request.node.name[:12]}", BUILD)
        ends.append(lambda: stack.run("down"))
        stack.up()
        topic = Topic(stack.env["KAFKA_BROKERS"], event_type)
        ends.append(topic.stop)
        writers = LinkWriters(stack, rate)
        ends.append(writers.end)
        ends.insert(0, lambda: request.node.passed and shutil.rmtree(stack.state))
        return stack, topic, writers

    yield start
    for end in reversed(ends):
        end()


def check_events(topic, committed, rolled_back, record):
    """Compares the events with the writers' attempts; returns the first arrival of each attempt."""
    first, last, inversions, repeats = {}, {}, 0, 0
    for name, link, version, arrived_us in topic.events:
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


def stop_when_all_has_come(stack, topic, committed):
    """Waits for every committed change, and then a second for anything that should not come: a phantom, a repeat."""
    wait_until(lambda: stack.store.ask("SELECT count(*) FROM outbox") == 0, "an empty outbox")
    names = {attempt.name for attempt in committed}
    wait_until(lambda: names <= topic.names, "every committed change on the topic")
    time.sleep(1)
    topic.stop()


def test_outbox_keeps_every_change_and_its_order_while_its_relay_is_killed(harness, record_property):
    dice = random.Random(SEED)
    stack, topic, writers = harness(KILLS_RATE)
    for _ in range(KILLS):
        topic.wait_for_more(20, 120)
        time.sleep(dice.uniform(0, 0.2))
        stack.run("kill", "-KILL", "links-api-1")
        stack.run("start", "links-api-1")
    topic.wait_for_more(20, 120)
    committed, rolled_back = writers.stop()
    stop_when_all_has_come(stack, topic, committed)
    record_property("did", f"{WRITERS} writers, {KILLS_RATE} changes/s, relay killed with -9 {KILLS} times, seed {SEED}")
    check_events(topic, committed, rolled_back, record_property)


@pytest.mark.skipif(not FULL, reason="CHAOS_FULL=1: it measures time and nothing else")
def test_outbox_is_on_the_topic_soon_after_the_commit(harness, record_property, promise):
    stack, topic, writers = harness(LAG_RATE * 8 // 7)  # an eighth is rolled back
    topic.wait_for_more(LAG_RATE, 60)  # the relay has its lock, the producer its connections
    begin_us = time.time_ns() // 1000
    time.sleep(LAG_S)
    end_us = time.time_ns() // 1000
    committed, rolled_back = writers.stop()
    stop_when_all_has_come(stack, topic, committed)
    record_property("did", f"{WRITERS} writers, {LAG_RATE} changes/s for {LAG_S} s, nothing killed")
    first = check_events(topic, committed, rolled_back, record_property)
    counted = [attempt for attempt in committed if begin_us <= attempt.acked_us < end_us]
    lags_ms = [max(0, first[attempt.name] - attempt.acked_us) / 1000 for attempt in counted]
    record_property("longest ms", round(max(lags_ms), 1))
    promise("changes that the writers commit", len(counted) * 1e6 / (end_us - begin_us), LAG_RATE * 0.9, "/s", at_most=False)
    promise("p50 from commit to topic", percentile(lags_ms, 50), P50_MS, "ms")
    promise("p99 from commit to topic", percentile(lags_ms, 99), P99_MS, "ms")
