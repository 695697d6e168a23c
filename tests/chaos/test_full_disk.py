"""Visitors while the disk of the journal is full or read-only.

The journal lies on a file system of its own, which only this stack's processes see and which a file can fill.
CHAOS_RATE changes the load.
"""

import errno
import os
import subprocess
import time

import pytest
from harness import BUILD, assert_answers, size, wait_until
from redirector_harness import MB, Events, redirector_stack
from test_redirector import check_clicks

DISK_BYTES = 16 * MB
# Four shards. Once the disk is filled, each has the segment in use and one in hand.
JOURNAL_BYTES = size(2, 8) * MB
RATE = int(os.environ.get("CHAOS_RATE", size(1000, 2000)))
CONNECTIONS = 64
SLUGS = 400
# Together they are more than the journal has room for; one fills about half a segment of each shard.
ROUNDS, ROUND = 12, size(400, 1500)


@pytest.fixture(scope="module")
def stack(request):
    folder = BUILD / "stacks" / f"chaos-{os.getpid()}-disk" / "journal"
    private = ["unshare", "--mount", "--propagation", "private"]
    mount = ["sh", "-c", f'mount -t tmpfs -o size={DISK_BYTES} tmpfs "$0" && exec "$@"', str(folder)]
    folder.mkdir(parents=True)
    tried = subprocess.run([*private, *mount, "true"], capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        pytest.skip(f"no file system can be mounted here: {tried.stderr.strip()}")
    with redirector_stack("disk", request.session, [*private, *mount], JOURNAL_MAX_BYTES=JOURNAL_BYTES) as stack:
        stack.make_links("disk", SLUGS)
        stack.warm("disk", SLUGS)
        yield stack


def test_a_full_disk_alone_costs_nothing(stack, batch_type, record_property):
    """The journal uses its segments again. Kafka catches up between the rounds."""
    record_property("did", f"{ROUNDS} rounds of {ROUND} clicks on a full disk, Kafka caught up after each")
    ballast = stack.journal_folder() / "ballast"
    logs = []
    try:
        for turn in range(ROUNDS):
            options = {"connections": CONNECTIONS, "rate": 2 * RATE, "requests": ROUND}
            logs.append(stack.visitors(f"round-{turn}", slug="disk", slugs=SLUGS, **options).wait())
            assert_answers(logs[-1].counts(), 302)
            stack.wait_until_shipped()
            # By the first round's end each shard has a segment in use and one in hand.
            assert fill(ballast)
    finally:
        ballast.unlink(missing_ok=True)
    dropped, room = drops_of(stack), stack.metrics()["waymark_journal_bytes"]
    events = Events(stack.env["KAFKA_BROKERS"], batch_type)
    lost = sum(events.lost(log) for log in logs)
    record_property("answered", sum(map(len, logs)))
    record_property("dropped", int(dropped))
    record_property("went through the journal", f"{events.value_bytes / room:.1f} times its size")
    assert (dropped, lost) == (0, 0)
    assert events.value_bytes > 1.5 * room, "what the shards had in hand was enough: this proves nothing"


def test_a_full_disk_costs_counted_clicks_only_and_heals(stack, batch_type, record_property):
    record_property("did", f"journal's disk full and Kafka away at {RATE:,} req/s; then neither")
    visitors = stack.visitors("full", connections=CONNECTIONS, rate=RATE, slug="disk", slugs=SLUGS)
    visitors.wait_for_rows(RATE)
    ballast = stack.journal_folder() / "ballast"
    try:
        assert fill(ballast)
        stack.run("stop", "kafka")
        wait_until(lambda: fill(ballast) and drops_of(stack) > size(100, RATE), "events to be dropped")
        wait_until(lambda: fill(ballast) and stack.readiness()[0] == 503, "/readyz to report the journal")
        reported = stack.readiness()[1]
    finally:
        ballast.unlink()
    healed_after = wait_until_healed(stack)
    stack.run("start", "kafka")
    visitors.wait_for_rows(RATE)
    compare_with_drops(stack, visitors.stop(), batch_type, record_property)
    record_property("healed after", f"{healed_after:.1f} s")
    assert "journal" in reported


def test_a_read_only_disk_costs_counted_clicks_only_and_heals(stack, batch_type, record_property):
    record_property("did", f"redirector started on a read-only disk at {RATE:,} req/s, then writable")
    stack.run("stop", "redirector-1")
    stack.remount("ro")
    stack.run("start", "redirector-1")
    visitors = stack.visitors("readonly", connections=CONNECTIONS, rate=RATE, slug="disk", slugs=SLUGS)
    visitors.wait_for_rows(RATE)
    status, reported = stack.readiness()
    stack.remount("rw")
    healed_after = wait_until_healed(stack)
    visitors.wait_for_rows(RATE)
    compare_with_drops(stack, visitors.stop(), batch_type, record_property)
    record_property("healed after", f"{healed_after:.1f} s")
    assert status == 503 and "journal" in reported


def fill(path):
    """Takes all room on the disk, also that of segments which were released meanwhile."""
    with open(path, "ab", buffering=0) as file:
        try:
            while file.write(bytes(64 * 1024)):
                pass
        except OSError as error:
            return error.errno == errno.ENOSPC


def drops_of(stack):
    return stack.metrics()["waymark_events_dropped_total"]


def wait_until_healed(stack):
    """Returns the seconds until the redirector is ready again."""
    since = time.monotonic()
    wait_until(lambda: stack.readiness()[0] == 200, "/readyz to be 200 again")
    return time.monotonic() - since


def compare_with_drops(stack, log, batch_type, record):
    stack.wait_until_shipped()
    dropped = drops_of(stack)
    _, lost = check_clicks(stack, log, batch_type, record)
    record("dropped by its own count", int(dropped))
    assert_answers(log.counts(), 302)
    assert lost == dropped > 0, "every lost click must be counted as dropped, and no other"
