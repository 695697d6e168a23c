"""
What must not count: messages that are no clicks, the batches of processes that are not the owner any more, and what
somebody wrote into the books by hand.
"""

import collections
import hashlib
import itertools
import signal
import threading
import time

import pytest
from books import Books
from counting_rig import COUNT_S, FULL, counting_rig, size
from rig import wait_until
from topics import DEAD_LETTERS, REDIRECTS, ends, headers, read_all, reader, spans

POISON_CLICKS = size("POISON_CLICKS", 20_000, 1_000_000)
POISON_EVERY = 100  # clicks
POISON_RATE = 4000
KILLED_CLICKS = size("KILLED_CLICKS", 5_000, 100_000)
KILLED_RATE = 300  # so that there are clicks until the last kill
POISON_KILLS = size("POISON_KILLS", 3, 50)
STALL_MAX_S = 1
# The consumer keeps a place in the topic of links as well.
PLACES = "SELECT partition, next_offset FROM consumer_offsets WHERE topic = 'waymark.redirects.v1'"
LETTER_BYTES_MAX = 900_000  # dead_letter.h
REASONS = {
    "nul": "user_agent",
    "utf8": "user_agent",
    "empty": "empty message",
    "short": "",
    "large": "message: 999000 bytes",
    "type": "ce_type: waymark.link.v1",
    "version": "ce_type: waymark.redirect.v2",
    "content": "content-type: application/json",
}
ZOMBIES = 3
ZOMBIE_CLICKS = 5000
ZOMBIE_BATCH_S = 8
REBUILD_CLICKS = 2_000
REBUILD_RATE = 400
SPOILERS = (
    "UPDATE visit_rollup_quarter SET humans = humans + 3 WHERE link_id % 2 = 0",
    "DELETE FROM visit_rollup_hour WHERE dimension = 'browser' AND link_id % 3 = 0",
    "UPDATE visit_rollup_day SET uniques = 0",
    "UPDATE link_statistics SET visit_count = visit_count + 1, latency_mean_ms = 0 WHERE link_id > 0",
)


@pytest.fixture(scope="module")
def rig(request):
    with counting_rig("not-counted", request.session) as made:
        made.partitions = len(ends(made.brokers, REDIRECTS))
        yield made


class StallWatch(threading.Thread):
    """Looks how long a partition stood still although there was something in it to be counted."""

    def __init__(self, rig):
        super().__init__(daemon=True)
        self.books, self.brokers = Books(rig.books.url), rig.brokers
        self.moved = {}  # partition → its next offset, and when it came there or had nothing to do
        self.worst_s = 0
        self.is_over = False

    def run(self):
        with reader(self.brokers) as kafka:
            while not self.is_over:
                ends_before = {partition: span[1] for partition, span in spans(kafka, REDIRECTS).items()}
                for partition, offset in self.books.rows(PLACES):
                    self.look(partition, offset, ends_before[partition], time.monotonic())

    def look(self, partition, offset, end, now):
        was, since = self.moved.get(partition, (None, now))
        self.worst_s = max(self.worst_s, now - since)
        if offset != was or offset >= end:
            self.moved[partition] = (offset, now)

    def finish(self):
        self.is_over = True
        self.join()
        return self.worst_s


def places_left(rig):
    """Records that nobody has passed yet."""
    reached = ends(rig.brokers, REDIRECTS)
    return sum(reached[partition] - offset for partition, offset in rig.books.rows(PLACES))


def letters_by_place(rig, since=0):
    """(partition, offset) → the dead letters of the message that stood there; since: so many were there before."""
    found = collections.defaultdict(list)
    for letter in itertools.islice(read_all(rig.brokers, DEAD_LETTERS), since, None):
        found[int(headers(letter)["partition"]), int(headers(letter)["offset"])].append(letter)
    return found


def poison_by_place(rig):
    """(partition, offset) → key and value of each message that is no click."""
    return {
        (message.partition(), message.offset()): (message.key().decode(), message.value() or b"")
        for message in read_all(rig.brokers, REDIRECTS)
        if message.key().startswith(b"poison-")
    }


def assert_is_letter_of(letter, key, value):
    said = headers(letter)
    reason = REASONS[key.split("-")[1]]
    kept = letter.value() or b""
    assert letter.key().decode() == key
    assert said["topic"] == REDIRECTS and said["bytes"] == str(len(value))
    assert said["reason"].startswith(reason) and said["reason"], (key, said["reason"])
    assert hashlib.sha256(kept).digest() == hashlib.sha256(value[:LETTER_BYTES_MAX]).digest()


def stall_of(rig, clicks, **options):
    """How long a partition stood still while so many were sent, and what was sent."""
    before = rig.books.counted()
    watch = StallWatch(rig)
    watch.start()
    producer = rig.produce(clicks, POISON_RATE, **options)
    wait_until(lambda: rig.books.counted() - before > clicks * 0.9, COUNT_S, "most to be counted")
    stall_s = watch.finish()
    sent = producer.finish(COUNT_S)
    total = rig.books.take_truth(producer.truth)
    rig.await_counted(total, COUNT_S)
    return stall_s, sent, total


def test_keeps_each_poisoned_message_once_and_stalls_for_none(rig, record_property):
    for consumer in rig.consumers:
        consumer.environment |= {"BATCH_MS": "200", "BATCH_EVENTS": "10000"}  # as they are by default
    rig.start_consumers()
    wait_until(lambda: all(c.metric("waymark_partitions_assigned") for c in rig.consumers), 60, "all to have partitions")
    usual_s, _, _ = stall_of(rig, POISON_CLICKS // 4)
    stall_s, sent, clicks = stall_of(rig, POISON_CLICKS, poison_every=POISON_EVERY)
    rig.stop_consumers()
    poison = poison_by_place(rig)
    places = []
    for letter in read_all(rig.brokers, DEAD_LETTERS):
        places.append((int(headers(letter)["partition"]), int(headers(letter)["offset"])))
        assert_is_letter_of(letter, *poison[places[-1]])
    figures = {
        "poison": len(poison),
        "kinds": len({key.split("-")[1] for key, _ in poison.values()}),
        "dead letters": len(places),
        "kept twice": len(places) - len(set(places)),
        "not kept": len(set(poison) - set(places)),
        "longest stall of a partition (ms)": round(1000 * stall_s),
        "without poison (ms)": round(1000 * usual_s),
    }
    did = f"{sent['clicks']} clicks at {POISON_RATE}/s with a message among {POISON_EVERY} that is none"
    print(f"\n{did}: {figures}")
    record_property("did", did)
    for name, value in figures.items():
        record_property(name, value)
    assert len(poison) == sent["poisoned"] and figures["kinds"] == len(REASONS)
    assert sorted(places) == sorted(poison)
    rig.books.assert_right(clicks)
    assert stall_s <= (STALL_MAX_S if FULL else STALL_MAX_S + 3 * usual_s)  # others may take the machine's time


def test_loses_no_poisoned_message_to_a_kill_and_repeats_it_with_its_place(rig, record_property):
    """Consumers die at any moment, also between a dead letter and its commit: then the next owner sends it again."""
    known = set(poison_by_place(rig))
    letters_before = sum(1 for _ in read_all(rig.brokers, DEAD_LETTERS))
    rig.start_consumers()
    producer = rig.produce(KILLED_CLICKS, KILLED_RATE, poison_every=5)
    for n in range(POISON_KILLS):
        counted = rig.books.counted()
        wait_until(lambda c=counted: rig.books.counted() > c, COUNT_S, "some to be counted")
        consumer = rig.consumers[n % len(rig.consumers)]
        consumer.kill()
        consumer.start()
    sent = producer.finish(COUNT_S)
    total = rig.books.take_truth(producer.truth)
    rig.await_counted(total, COUNT_S)
    wait_until(lambda: places_left(rig) == 0, COUNT_S, "the rest to be passed")
    rig.stop_consumers()
    poison = {place: message for place, message in poison_by_place(rig).items() if place not in known}
    letters = letters_by_place(rig, letters_before)
    for place, repeats in letters.items():
        for letter in repeats:
            assert_is_letter_of(letter, *poison[place])
    twice = sum(len(repeats) - 1 for repeats in letters.values())
    did = f"{sent['clicks']} clicks and {sent['poisoned']} messages that are none, {POISON_KILLS} kill -9 among them"
    print(f"\n{did}: {len(letters)} kept, {twice} repeated")
    record_property("did", did)
    record_property("repeated", twice)
    assert set(letters) == set(poison) and len(poison) == sent["poisoned"]
    rig.books.assert_right(total)


def zombies_with_everything(rig):
    """
    Each is in a group of its own, so that it believes for ever that all partitions are its own; and has one lane, for a
    second one that joins late would make it begin anew.
    """
    variables = {"WORKERS": 1, "SESSION_TIMEOUT_MS": 60000, "BATCH_MS": 1000 * ZOMBIE_BATCH_S, "BATCH_EVENTS": 100000}
    zombies = [rig.consumer(f"zombie-{n}", CONSUMER_GROUP=f"zombie-{n}", **variables) for n in range(ZOMBIES)]
    for zombie in zombies:
        zombie.start()
    for zombie in zombies:
        wait_until(lambda z=zombie: z.metric("waymark_partitions_assigned") == rig.partitions, 60, "a zombie to have all")
    return zombies


def test_a_zombie_on_all_partitions_changes_nothing(rig, record_property):
    before = rig.books.counted()
    zombies = zombies_with_everything(rig)
    producer = rig.produce(ZOMBIE_CLICKS, 0)
    sent = producer.finish(60)["clicks"]
    for zombie in zombies:
        wait_until(lambda z=zombie: z.metric("waymark_events_read_total") >= sent, 60, "a zombie to have read")
        zombie.signal(signal.SIGSTOP)
    assert rig.books.counted() == before, "a zombie stored its batch before it was one"
    rig.books.take_truth(producer.truth)
    rig.start_consumers()
    rig.await_counted(before + sent, 60)
    rig.stop_consumers()
    rig.books.assert_right(before + sent)
    fingerprint = rig.books.fingerprint()
    for zombie in zombies:
        zombie.signal(signal.SIGCONT)
    for zombie in zombies:
        wait_until(lambda z=zombie: z.events("batch_fenced"), 60 + ZOMBIE_BATCH_S, "a zombie to be fenced")
    assert [zombie.stop() for zombie in zombies] == [0] * ZOMBIES
    fenced = [event["records"] for zombie in zombies for event in zombie.events("batch_fenced")]
    did = f"{ZOMBIES} zombies, each on all {rig.partitions} partitions with a batch of {sent} clicks that others have counted meanwhile"
    print(f"\n{did}: fenced {fenced}")
    record_property("did", did)
    record_property("batches fenced", len(fenced))
    assert rig.books.fingerprint() == fingerprint, "rows changed"


def test_rebuild_stats_puts_spoilt_books_right_while_consumers_count(rig, record_property):
    rig.start_consumers()
    before = rig.books.counted()
    producer = rig.produce(REBUILD_CLICKS, REBUILD_RATE)
    wait_until(lambda: rig.books.counted() > before, 60, "counting to begin")
    for spoiler in SPOILERS:
        rig.books.do(spoiler)
    assert rig.rebuild_stats("--check", "--all").returncode == 1
    done = rig.rebuild_stats("--all")
    counted_meanwhile = rig.books.ask("SELECT count(*) FROM visit_log") - before
    assert done.returncode == 0, done.stdout + done.stderr
    producer.finish(COUNT_S)
    clicks = rig.books.take_truth(producer.truth)
    assert counted_meanwhile < clicks - before, "nothing was left to be counted"
    wait_until(lambda: rig.books.ask("SELECT count(*) FROM visit_log") >= clicks, COUNT_S, "all to be counted")
    rig.stop_consumers()
    print(f"\n{done.stdout}")
    record_property("did", f"books spoilt by hand and rebuilt while {clicks - before} clicks were counted")
    rig.books.assert_right(clicks)
    assert rig.rebuild_stats("--check", "--all").returncode == 0
