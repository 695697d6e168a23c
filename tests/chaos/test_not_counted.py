"""What must not count: messages that are no clicks, batches of processes that have lost their partitions, and manual edits."""

import collections
import hashlib
import itertools
import signal
import threading
import time

import pytest
from counting_harness import COUNT_S, FULL, size_of
from harness import wait_until
from ledger import Ledger
from topics import DEAD_LETTERS, REDIRECTS, ends, headers, read_all, reader, spans

POISON_CLICKS = size_of("POISON_CLICKS", 2_000, 1_000_000)
POISON_EVERY = 100 if FULL else 50  # clicks
POISON_RATE = 4000 if FULL else 1000
KILLED_CLICKS = size_of("KILLED_CLICKS", 1_000, 100_000)
KILLED_RATE = 300  # while consumers are killed
POISON_KILLS = size_of("POISON_KILLS", 2, 50)
STALL_MAX_S = 1
LOOK_EVERY_S = 0.05
# Consumers keep offsets of the topic of links as well.
PLACES = "SELECT partition, next_offset, next_index FROM consumer_offsets WHERE topic = 'waymark.redirects.v1'"
LETTER_BYTES_MAX = 900_000  # publish.h
REASONS = {
    "nul": "user_agent",
    "utf8": "user_agent",
    "empty": "empty message",
    "short": "batch",
    "large": "batch",
    "type": "ce_type: waymark.link.v1",
    "version": "ce_type: waymark.redirect-batch.v2",
    "content": "content-type: application/json",
}
BETWEEN_CLICKS = ("nul", "utf8")  # the others are records of their own
ZOMBIES = 3
ZOMBIE_BATCH_S = 60  # far longer than zombies need to read their clicks; the test does not wait for it
ZOMBIE_CLICKS = 5000 if FULL else 500
REBUILD_CLICKS = 2_000 if FULL else 500
REBUILD_RATE = 200  # until the rebuild is over
SPOILERS = (
    "DELETE FROM rollup_delta WHERE link_id % 2 = 0",
    "UPDATE rollup_delta SET browser = NULL WHERE link_id % 3 = 0",
    "UPDATE rollup_hour SET humans = humans + 3, os = NULL",
    "UPDATE link_statistics SET visit_count = visit_count + 1, latency_mean_ms = 0 WHERE link_id > 0",
)


@pytest.fixture(scope="module")
def harness(counting):
    counting.partitions = len(ends(counting.brokers, REDIRECTS))
    return counting


class StallWatch(threading.Thread):
    """Measures the longest time for which a partition with clicks to be counted made no progress."""

    def __init__(self, harness):
        super().__init__(daemon=True)
        self.ledger, self.brokers = Ledger(harness.ledger.url), harness.brokers
        self.moved = {}  # partition → its next event, and since when it stands there with clicks to count
        self.worst_s = 0
        self.is_over = False

    def run(self):
        with reader(self.brokers) as kafka:
            while not self.is_over:
                ends_before = {partition: span[1] for partition, span in spans(kafka, REDIRECTS).items()}
                for partition, *place in self.ledger.rows(PLACES):
                    self.look(partition, place, ends_before[partition], time.monotonic())
                time.sleep(LOOK_EVERY_S)

    def look(self, partition, place, end, now):
        was, since = self.moved.get(partition, (None, now))
        self.worst_s = max(self.worst_s, now - since)
        if place != was or place[0] >= end:
            self.moved[partition] = (place, now)

    def finish(self):
        self.is_over = True
        self.join()
        return self.worst_s


def records_left(harness):
    """How many records no consumer has passed yet."""
    reached = ends(harness.brokers, REDIRECTS)
    return sum(reached[partition] - offset for partition, offset, _ in harness.ledger.rows(PLACES))


def place_of(letter):
    said = headers(letter)
    return int(said["partition"]), int(said["offset"]), said.get("index")


def letters_by_place(harness, since=0):
    """Place of what is no click → its dead letters, without the first `since` letters of the topic."""
    found = collections.defaultdict(list)
    for letter in itertools.islice(read_all(harness.brokers, DEAD_LETTERS), since, None):
        found[place_of(letter)].append(letter)
    return found


def poison_by_place(harness):
    """(partition, offset, index or None) → key and value of each record that is no batch, or has an event that is no click."""
    found = {}
    for message in read_all(harness.brokers, REDIRECTS):
        key = message.key().decode()
        if key.startswith("poison-"):
            index = "1" if key.split("-")[1] in BETWEEN_CLICKS else None
            found[message.partition(), message.offset(), index] = key, message.value() or b""
    return found


def assert_is_letter_of(letter, key, value):
    said = headers(letter)
    reason = REASONS[key.split("-")[1]]
    kept = letter.value() or b""
    assert said["topic"] == REDIRECTS and said["reason"] == reason, (key, said["reason"])
    if "index" in said:
        assert letter.key() is None and said["bytes"] == str(len(kept)) and kept in value
        return
    assert letter.key().decode() == key and said["bytes"] == str(len(value))
    assert hashlib.sha256(kept).digest() == hashlib.sha256(value[:LETTER_BYTES_MAX]).digest()


def stall_of(harness, clicks, **options):
    """Sends clicks; returns the longest stall of a partition meanwhile, the producer's totals, and the total sent so far."""
    before = harness.ledger.counted()
    watch = StallWatch(harness)
    watch.start()
    producer = harness.produce(clicks, POISON_RATE, **options)
    wait_until(lambda: harness.ledger.counted() - before > clicks * 0.9, "most to be counted", seconds=COUNT_S)
    stall_s = watch.finish()
    sent = producer.finish(COUNT_S)
    total = harness.ledger.take_truth(producer.truth)
    harness.await_counted(total, COUNT_S)
    return stall_s, sent, total


def test_keeps_each_poisoned_message_once_and_stalls_for_none(harness, record_property, promise):
    for consumer in harness.consumers:
        consumer.environment |= {"BATCH_MS": "200", "BATCH_EVENTS": "10000"}  # as they are by default
    harness.start_consumers()
    wait_until(lambda: all(c.metric("waymark_partitions_assigned") for c in harness.consumers), "all to have partitions")
    usual_s = stall_of(harness, POISON_CLICKS // 4)[0] if FULL else 0
    stall_s, sent, clicks = stall_of(harness, POISON_CLICKS, poison_every=POISON_EVERY)
    harness.stop_consumers()
    poison = poison_by_place(harness)
    places = []
    for letter in read_all(harness.brokers, DEAD_LETTERS):
        places.append(place_of(letter))
        assert_is_letter_of(letter, *poison[places[-1]])
    figures = {
        "poison": len(poison),
        "kinds": len({key.split("-")[1] for key, _ in poison.values()}),
        "dead letters": len(places),
        "kept twice": len(places) - len(set(places)),
        "not kept": len(set(poison) - set(places)),
        "longest stall without poison (ms)": round(1000 * usual_s),
    }
    did = f"{sent['clicks']} clicks at {POISON_RATE}/s, one malformed message among {POISON_EVERY}"
    print(f"\n{did}: {figures}")
    record_property("did", did)
    for name, value in figures.items():
        record_property(name, value)
    assert len(poison) == sent["poisoned"] and figures["kinds"] == len(REASONS)
    assert collections.Counter(places) == collections.Counter(list(poison))
    harness.ledger.assert_right(clicks)
    promise("a partition with poison stalls for", stall_s, STALL_MAX_S, "s")


def test_loses_no_poisoned_message_to_a_kill_and_repeats_it_with_its_place(harness, record_property):
    """Consumers die at any moment, also between a dead letter and its commit: then the next owner sends it again."""
    known = set(poison_by_place(harness))
    letters_before = sum(1 for _ in read_all(harness.brokers, DEAD_LETTERS))
    harness.start_consumers()
    producer = harness.produce(KILLED_CLICKS, KILLED_RATE, poison_every=5)
    for n in range(POISON_KILLS):
        counted = harness.ledger.counted()
        wait_until(lambda c=counted: harness.ledger.counted() > c, "some to be counted", seconds=COUNT_S)
        consumer = harness.consumers[n % len(harness.consumers)]
        consumer.kill()
        consumer.start()
    sent = producer.finish(COUNT_S)
    total = harness.ledger.take_truth(producer.truth)
    harness.await_counted(total, COUNT_S)
    wait_until(lambda: records_left(harness) == 0, "the rest to be passed", seconds=COUNT_S)
    harness.stop_consumers()
    poison = {place: message for place, message in poison_by_place(harness).items() if place not in known}
    letters = letters_by_place(harness, letters_before)
    for place, repeats in letters.items():
        for letter in repeats:
            assert_is_letter_of(letter, *poison[place])
    twice = sum(len(repeats) - 1 for repeats in letters.values())
    did = f"{sent['clicks']} clicks and {sent['poisoned']} malformed messages, {POISON_KILLS} times kill -9"
    print(f"\n{did}: {len(letters)} kept, {twice} repeated")
    record_property("did", did)
    record_property("repeated", twice)
    assert set(letters) == set(poison) and len(poison) == sent["poisoned"]
    harness.ledger.assert_right(total)


def zombies_with_everything(harness):
    """Starts consumers that each own all partitions, in a group of their own, and hold a batch for ZOMBIE_BATCH_S.

    Each has one worker: a second one that joins late would make it begin anew.
    """
    variables = {"WORKERS": 1, "SESSION_TIMEOUT_MS": 600_000, "BATCH_MS": 1000 * ZOMBIE_BATCH_S, "BATCH_EVENTS": 100_000}
    zombies = [harness.consumer(f"zombie-{n}", CONSUMER_GROUP=f"zombie-{n}", **variables) for n in range(ZOMBIES)]
    for zombie in zombies:
        zombie.start()
    for zombie in zombies:
        wait_until(lambda z=zombie: z.metric("waymark_partitions_assigned") == harness.partitions, "a zombie to have all")
    return zombies


def test_a_zombie_on_all_partitions_changes_nothing(harness, record_property):
    before = harness.ledger.counted()
    zombies = zombies_with_everything(harness)
    producer = harness.produce(ZOMBIE_CLICKS, 0)
    sent = producer.finish(60)["clicks"]
    for zombie in zombies:
        wait_until(lambda z=zombie: z.metric("waymark_events_read_total") >= sent, "a zombie to have read")
        zombie.signal(signal.SIGSTOP)
    assert harness.ledger.counted() == before, "a zombie stored its batch too early"
    harness.ledger.take_truth(producer.truth)
    harness.start_consumers()
    harness.await_counted(before + sent, COUNT_S)
    harness.stop_consumers()
    harness.ledger.assert_right(before + sent)
    fingerprint = harness.ledger.fingerprint()
    # At its end a consumer first tries to store the batch that it holds.
    assert [zombie.stop() for zombie in zombies] == [0] * ZOMBIES
    fenced = [event["events"] for zombie in zombies for event in zombie.events("batch_fenced")]
    did = f"{ZOMBIES} zombies, each on all {harness.partitions} partitions with a batch of {sent} clicks that others have counted meanwhile"
    print(f"\n{did}: fenced {fenced}")
    record_property("did", did)
    record_property("batches fenced", len(fenced))
    assert len(fenced) >= ZOMBIES, "a zombie did not try to store its batch"
    assert harness.ledger.fingerprint() == fingerprint, "rows changed"


def test_rebuild_stats_repairs_statistics_while_consumers_count(harness, record_property):
    harness.start_consumers()
    before = harness.ledger.counted()
    producer = harness.produce(REBUILD_CLICKS, REBUILD_RATE)
    wait_until(lambda: harness.ledger.counted() > before, "counting to begin", seconds=COUNT_S)
    for spoiler in SPOILERS:
        harness.ledger.do(spoiler)
    assert harness.rebuild_stats("--check", "--all").returncode == 1
    done = harness.rebuild_stats("--all")
    counted = harness.ledger.ask("SELECT count(*) FROM visit_log")
    assert done.returncode == 0, done.stdout + done.stderr
    # The producer goes on, so the statistics were rebuilt while clicks were counted.
    wait_until(lambda: harness.ledger.ask("SELECT count(*) FROM visit_log") > counted, "counting to go on", seconds=COUNT_S)
    producer.finish(COUNT_S)
    clicks = harness.ledger.take_truth(producer.truth)
    wait_until(lambda: harness.ledger.ask("SELECT count(*) FROM visit_log") >= clicks, "all to be counted", seconds=COUNT_S)
    harness.stop_consumers()
    print(f"\n{done.stdout}")
    record_property("did", f"statistics changed by hand and rebuilt while {clicks - before} clicks were counted")
    harness.ledger.assert_right(clicks)
    assert harness.rebuild_stats("--check", "--all").returncode == 0
