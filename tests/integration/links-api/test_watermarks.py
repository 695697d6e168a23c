"""Watermarks: each one is true, whichever relay sends it, and the topic of links has none."""

import datetime
import os
import random
import signal
import statistics
import threading
import time

import psycopg2
import pytest
import speed
from clients import Topic, kafka_settings, unique_email
from service import is_active, metric
from waiting import wait_until

LINKS = "waymark.links.v1"
WRITERS = 16
CHANGES = 2000
PARTITIONS = 4


@pytest.fixture
def watermarks():
    topic = Topic(os.environ, "waymark.link-watermarks.v1")
    yield topic
    topic.close()


@pytest.fixture(scope="module")
def read(compile_proto):
    """read(message) → a LinkWatermark."""
    return compile_proto("watermark").LinkWatermark.FromString


def as_of(watermark):
    return datetime.datetime.fromtimestamp(watermark.as_of_us // 1_000_000, datetime.timezone.utc) + datetime.timedelta(
        microseconds=watermark.as_of_us % 1_000_000
    )


def anything(_):
    return True


class Writer(threading.Thread):
    """Writes outbox rows like link changes do, in transactions of 0 to 20 ms."""

    def __init__(self, number, database, event_bytes, is_enough):
        super().__init__(daemon=True)
        self.slugs = f"w{number}-{unique_email()[5:15]}-"
        self.connection = psycopg2.connect(database.url())
        self.event_bytes, self.is_enough = event_bytes, is_enough
        self.committed = {}  # slug → PostgreSQL's time after the commit

    def run(self):
        draw = random.Random(self.slugs)
        cursor = self.connection.cursor()
        while not self.is_enough.is_set():
            slug = f"{self.slugs}{len(self.committed)}"
            cursor.execute("INSERT INTO outbox (slug, payload) VALUES (%s, %s)", (slug, self.event_bytes(slug)))
            cursor.execute("SELECT pg_sleep(%s), pg_notify('waymark_outbox', '')", (draw.uniform(0, 0.02),))
            self.connection.commit()
            cursor.execute("SELECT clock_timestamp()")
            self.committed[slug] = cursor.fetchone()[0]
            self.connection.rollback()
        self.connection.close()


def event_bytes_of(LinkEvent):
    def event_bytes(slug):
        event = LinkEvent(event_id=bytes(range(16)), occurred_at_us=1, change="LINK_CHANGE_CREATED")
        event.link.id, event.link.slug, event.link.version = 7, slug, 1
        event.link.state, event.link.link_type, event.link.redirect_status = 1, 2, 302
        event.link.original_url = "https://example.com/"
        event.link.created_at_us = event.link.updated_at_us = 1
        return event.SerializeToString()

    return event_bytes


def first_offsets(topic, found, committed):
    """Reads until every committed slug was found; the first offset of each counts."""
    deadline = time.monotonic() + 300
    while missing := set(committed) - set(found):
        assert time.monotonic() < deadline, f"missing: {len(missing)} of {len(committed)}"
        for message in topic.consumer.consume(500, 0.2):
            assert message.error() is None
            found.setdefault(message.key().decode(), (message.partition(), message.offset()))


def test_every_change_committed_before_a_watermark_stands_below_its_ends(spawn, topic, watermarks, read, LinkEvent, database):
    """Also while the relay freezes in the middle, another one takes over, and the first one comes back."""
    relays = [spawn()]
    wait_until(lambda: is_active(relays[0]), "the relay to become active")
    relays.append(spawn())
    watermarks.wait_for(anything)
    is_enough, found = threading.Event(), {}
    writers = [Writer(i, database, event_bytes_of(LinkEvent), is_enough) for i in range(WRITERS)]
    for writer in writers:
        writer.start()

    def changes():
        return sum(len(writer.committed) for writer in writers)

    wait_until(lambda: changes() > CHANGES / 2, "half of the changes")
    relays[0].signal(signal.SIGSTOP)
    wait_until(lambda: is_active(relays[1]), "the second relay to take over")
    relays[0].signal(signal.SIGCONT)
    enough = changes() + CHANGES / 2
    wait_until(lambda: changes() > enough, "the other half")
    is_enough.set()
    for writer in writers:
        writer.join()
    committed = {slug: at for writer in writers for slug, at in writer.committed.items()}
    first_offsets(topic, found, committed)
    last = database.value("SELECT clock_timestamp()")
    seen = []
    while not seen or as_of(seen[-1]) < last:
        seen += [read(watermarks.wait_for(anything)[0].value())]
    late = [
        (slug, watermark)
        for watermark in seen
        for slug, at in committed.items()
        if at < as_of(watermark) and found[slug][1] >= watermark.partitions[found[slug][0]].end
    ]
    print(f"{len(committed)} changes of {WRITERS} writers, {len(seen)} watermarks")
    assert not late, f"{len(late)} changes stand beyond a newer watermark: {late[:3]}"


def test_an_idle_topic_of_links_stays_empty_while_watermarks_advance(spawn, topic, watermarks, read, database):
    began = database.value("SELECT clock_timestamp()")
    spawn()
    first = read(watermarks.wait_for(anything)[0].value())
    seen = [first] + [read(message.value()) for message in watermarks.wait_for(anything, count=20)]
    times = [as_of(watermark) for watermark in seen]
    assert began - datetime.timedelta(seconds=5) < times[0] and times[-1] < database.value("SELECT clock_timestamp()")
    assert times == sorted(times)
    ends = [topic.consumer.get_watermark_offsets(each, timeout=300)[1] for each in topic.consumer.assignment()]
    for watermark in seen:
        assert sorted(each.end for each in watermark.partitions) == sorted(ends)
        assert all(each.lowest_end == each.end for each in watermark.partitions)
    assert seen[-1].version_base == 0
    assert seen[-1].generation == database.value("SELECT generation FROM link_cache_generation")
    assert topic.consumer.poll(0.5) is None, "the topic of links has a record although no link has changed"
    gaps = [after - before for before, after in zip(times, times[1:])]
    speed.at_most("time between two watermarks (median)", statistics.median(gaps).total_seconds() * 1000, 300, "ms")


def test_an_open_transaction_does_not_delay_watermarks(spawn, watermarks, read, database):
    spawn()
    open_one = psycopg2.connect(database.url())
    open_one.cursor().execute("INSERT INTO outbox (slug, payload) VALUES ('held', '')")
    began = database.value("SELECT clock_timestamp()")
    watermarks.wait_for(lambda m: as_of(read(m.value())) > began + datetime.timedelta(seconds=1))
    open_one.close()


def test_only_the_active_relay_sends_watermarks(spawn, watermarks, read, database):
    """The relay still believes that it holds the lock. Each watermark confirms it (fenced_lock_confirm): in 3 of 3 rounds."""
    spawn()
    watermarks.wait_for(anything)
    for _ in range(3):
        free = database.value("UPDATE shedlock SET lock_until = timezone('utc', clock_timestamp()) + interval '2 s', fence = fence + 1, locked_by = 'somebody else' "
                              "WHERE name = 'waymark_outbox_relay' RETURNING lock_until AT TIME ZONE 'utc'")  # fmt: skip
        taken = database.value("SELECT clock_timestamp()")
        first = watermarks.wait_for(lambda m: as_of(read(m.value())) > taken)[0]
        assert as_of(read(first.value())) >= free, "a watermark was sent while another relay held the lock"


def test_a_topic_of_links_that_is_created_again_shows_in_the_next_watermarks(spawn, watermarks, read, LinkEvent, database):
    from confluent_kafka import admin

    spawn()
    for number in range(40):
        database.run("INSERT INTO outbox (slug, payload) VALUES (%s, %s)", f"again-{number}", event_bytes_of(LinkEvent)(f"again-{number}"))
    wait_until(lambda: database.value("SELECT count(*) FROM outbox WHERE NOT published") == 0, "an empty outbox")
    before = read(watermarks.wait_for(anything, count=5)[-1].value())
    assert all(each.end > 0 for each in before.partitions)
    kafka = admin.AdminClient(kafka_settings(os.environ))
    kafka.delete_topics([LINKS], operation_timeout=60)[LINKS].result()
    wait_until(lambda: LINKS not in kafka.list_topics(timeout=300).topics, "the topic to be deleted")
    kafka.create_topics([admin.NewTopic(LINKS, PARTITIONS, config={"cleanup.policy": "compact"})])[LINKS].result()
    watermarks.wait_for(lambda m: all(each.lowest_end == each.end == 0 for each in read(m.value()).partitions))


def test_without_waiting_events_an_unreachable_kafka_is_no_failure(spawn, database):
    service = spawn(KAFKA_BROKERS="127.0.0.1:1")
    wait_until(lambda: is_active(service), "the relay to become active")
    assert metric(service, "waymark_outbox_watermarks_total") == 0
    assert metric(service, "waymark_outbox_publish_failures_total") == 0
