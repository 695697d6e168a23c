"""Watermarks: each one is true for its partition, and only the active relay sends them."""

import datetime
import random
import statistics
import threading
import time

import psycopg2
import speed
from clients import unique_email
from service import is_active, metric
from waiting import wait_until

WATERMARK_KEY = b"~"
WRITERS = 16
CHANGES, WATERMARKS_EACH = 2000, 20  # per partition


def headers_of(message):
    return {name: value.decode() for name, value in message.headers()}


def as_of(message):
    return datetime.datetime.fromisoformat(headers_of(message)["ce_time"].replace("Z", "+00:00"))


def is_watermark(message):
    return message.key() == WATERMARK_KEY


def next_watermarks(topic, count):
    return topic.wait_for(is_watermark, count=count)


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


def test_no_event_committed_before_a_watermark_follows_it(spawn, topic, LinkEvent, database):
    spawn()
    next_watermarks(topic, topic.partition_count)

    def event_bytes(slug):
        event = LinkEvent(event_id=bytes(range(16)), occurred_at_us=1, change="LINK_CHANGE_CREATED")
        event.link.id, event.link.slug, event.link.version = 7, slug, 1
        event.link.state, event.link.link_type, event.link.redirect_status = 1, 2, 302
        event.link.original_url = "https://example.com/"
        event.link.created_at_us = event.link.updated_at_us = 1
        return event.SerializeToString()

    deadline, is_enough = time.monotonic() + 120, threading.Event()
    writers = [Writer(i, database, event_bytes, is_enough) for i in range(WRITERS)]
    for writer in writers:
        writer.start()
    missing, newest_watermark, seen, watermarks = None, {}, [], 0
    while missing is None or missing:
        assert time.monotonic() < deadline, f"{len(seen)} events, {watermarks} watermarks, missing: {missing}"
        message = topic.consumer.poll(0.2)
        if message is not None and message.error() is None:
            if is_watermark(message):
                newest_watermark[message.partition()] = max(as_of(message), newest_watermark.get(message.partition(), as_of(message)))
                watermarks += 1
            else:
                slug = message.key().decode()
                seen.append((slug, newest_watermark.get(message.partition())))
                if missing:
                    missing.discard(slug)
        if len(seen) > CHANGES and watermarks > WATERMARKS_EACH * topic.partition_count:
            is_enough.set()
        if missing is None and not any(writer.is_alive() for writer in writers):
            committed = {slug: at for writer in writers for slug, at in writer.committed.items()}
            missing = set(committed) - {slug for slug, _ in seen}
    ahead = [(slug, watermark - committed[slug]) for slug, watermark in seen if watermark and committed[slug] < watermark]
    print(f"{len(committed)} changes of {WRITERS} writers, {watermarks} watermarks on {topic.partition_count} partitions")
    assert not ahead, f"{len(ahead)} events followed a newer watermark: {ahead[:3]}"


def test_each_partition_gets_several_watermarks_a_second(spawn, topic, database):
    spawn()
    began = database.value("SELECT clock_timestamp()")
    next_watermarks(topic, topic.partition_count)
    watermarks = next_watermarks(topic, 10 * topic.partition_count)
    assert {m.partition() for m in watermarks} == set(range(topic.partition_count))
    assert all(m.value() is None for m in watermarks)
    headers = headers_of(watermarks[-1])
    assert headers == {
        "ce_specversion": "1.0", "ce_type": "waymark.v1.LinkWatermark", "ce_source": "/waymark/links-api",
        "ce_subject": "~", "content-type": "application/protobuf", "waymark_generation": str(database.value("SELECT generation FROM link_cache_generation")),
        "waymark_version_base": "0",
        "waymark_partitions": str(topic.partition_count),
        "ce_id": headers["ce_id"], "ce_time": headers["ce_time"],
    }  # fmt: skip
    of_one = [as_of(m) for m in watermarks if m.partition() == 0]
    assert began - datetime.timedelta(seconds=5) < of_one[0] < database.value("SELECT clock_timestamp()")
    assert of_one == sorted(of_one)
    gaps = [after - before for before, after in zip(of_one, of_one[1:])]
    speed.at_most("time between two watermarks of a partition (median)", statistics.median(gaps).total_seconds() * 1000, 300, "ms")


def test_an_open_transaction_does_not_delay_watermarks(spawn, topic, database):
    spawn()
    open_one = psycopg2.connect(database.url())
    open_one.cursor().execute("INSERT INTO outbox (slug, payload) VALUES ('held', '')")
    began = database.value("SELECT clock_timestamp()")
    topic.wait_for(lambda m: is_watermark(m) and as_of(m) > began + datetime.timedelta(seconds=1), seconds=60)
    open_one.close()


def test_only_the_active_relay_sends_watermarks(spawn, topic, database):
    spawn()
    next_watermarks(topic, topic.partition_count)
    database.run("UPDATE shedlock SET lock_until = clock_timestamp() + interval '4 s', fence = fence + 1, "
                 "locked_by = 'somebody else' WHERE name = 'waymark_outbox_relay'")  # fmt: skip
    taken = database.value("SELECT clock_timestamp()")
    late = datetime.timedelta(seconds=1)
    first = topic.wait_for(lambda m: is_watermark(m) and as_of(m) > taken + late, seconds=60)[0]
    assert as_of(first) > taken + datetime.timedelta(seconds=3.5), "a watermark was sent while another relay held the lock"


def test_without_waiting_events_an_unreachable_kafka_is_no_failure(spawn, database):
    service = spawn(KAFKA_BROKERS="127.0.0.1:1")
    wait_until(lambda: is_active(service), 60, "the relay to become active")
    assert metric(service, "waymark_outbox_watermarks_total") == 0
    assert metric(service, "waymark_outbox_publish_failures_total") == 0
