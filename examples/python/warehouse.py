#!/usr/bin/env python3
"""Copies visits and links into a SQLite database, as a feed into a warehouse would.

    pip install --require-hashes -r requirements.txt  # in a venv
    protoc -I ../../proto --python_out=. ../../proto/waymark/v1/*.proto
    KAFKA_BROKERS=127.0.0.1:9092 ./warehouse.py copy.db

One transaction stores a batch of records and the offsets after it, so the program may be killed at any moment. It
belongs to no consumer group: one process fills one database, and Kafka stores no offsets for it.

Visits are read on from the stored offsets; a repeated one has an event_id that is in the table already. Links are read
from the beginning at each start, and those that the topic no longer has are deleted when its end is reached. So it does
not matter how long the program was away. Visits of a purged link stay. docs/integrations.md has the guarantees that it relies on.
"""

import argparse
import json
import os
import signal
import sqlite3
import sys
import time
import uuid

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, TopicPartition
from google.protobuf.message import DecodeError
from topics import Topics, reason
from visits import connection
from waymark.v1.link_event_pb2 import LinkChange, LinkEvent, LinkState
from waymark.v1.visit_event_pb2 import VisitEvent

VISITS = "waymark.visits.v1"
LINKS = "waymark.links.v1"
BATCH = 1000
# Kafka removes tombstones after a day. A program that could not read for half of it has to begin again.
AWAY_S = 43_200
ABOVE_ALL = 2**63 - 1  # a version

SCHEMA = """
CREATE TABLE IF NOT EXISTS topics (topic TEXT PRIMARY KEY, id TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS offsets (partition INTEGER PRIMARY KEY, next INTEGER NOT NULL); -- of visits
CREATE TABLE IF NOT EXISTS visits (
  event_id TEXT PRIMARY KEY, occurred_at_us INTEGER, link_id INTEGER, slug TEXT, workspace_id INTEGER, tags TEXT,
  is_bot INTEGER, bot_reason TEXT, is_unique INTEGER, country TEXT, region TEXT, city TEXT, language TEXT, browser TEXT,
  browser_version TEXT, os TEXT, os_version TEXT, device TEXT, referrer_host TEXT, referrer_source TEXT, utm_source TEXT,
  utm_medium TEXT, utm_campaign TEXT, destination_host TEXT, status INTEGER, latency_us INTEGER, rule TEXT, variant TEXT,
  alias TEXT, is_scan INTEGER);
-- seen: the last start that found the slug on the topic. Purged links keep their row, so that no late record revives them.
CREATE TABLE IF NOT EXISTS links (
  slug TEXT PRIMARY KEY, seen INTEGER NOT NULL, version INTEGER NOT NULL, purged INTEGER NOT NULL, id INTEGER, alias_of TEXT,
  state TEXT, original_url TEXT, title TEXT, workspace_id INTEGER, tags TEXT, starts_at_us INTEGER, expires_at_us INTEGER);
"""
VISIT = """event_id occurred_at_us link_id slug workspace_id tags is_bot bot_reason is_unique country region city language
  browser browser_version os os_version device referrer_host referrer_source utm_source utm_medium utm_campaign
  destination_host status latency_us rule variant alias is_scan""".split()
LINK = "slug seen version purged id alias_of state original_url title workspace_id tags starts_at_us expires_at_us".split()


def insert(table, columns):
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join(':' + name for name in columns)}) "


ADD_VISIT = insert("visits", VISIT) + "ON CONFLICT (event_id) DO NOTHING"
REPLACE = "ON CONFLICT (slug) DO UPDATE SET " + ", ".join(f"{name} = excluded.{name}" for name in LINK)
# Repeated and late records have a version that is not higher.
PUT_LINK = insert("links", LINK) + REPLACE + " WHERE version < excluded.version"
# A tombstone has no version. If its purge is not known either, every version that comes is a late one.
PUT_TOMBSTONE = insert("links", LINK) + REPLACE + " WHERE NOT purged"


def decoded(record, kind, message):
    """The event; None if the record has another type, which later versions may add, or cannot be decoded."""
    if dict(record.headers() or []).get("ce_type") != kind:
        return None
    try:
        event = message.FromString(record.value() or b"")
        uuid.UUID(bytes=event.event_id)  # it has 16 bytes
        return event
    except (DecodeError, ValueError) as error:
        print(f"no {message.DESCRIPTOR.name}: {record.topic()} {record.partition()}, offset {record.offset()}: {error}", file=sys.stderr)
        return None


def as_json(texts):
    return json.dumps(list(texts), ensure_ascii=False)


class Copy:
    """The database. start: the number of this start of the program."""

    def __init__(self, path):
        self.db = sqlite3.connect(path)
        self.db.executescript(SCHEMA)
        self.start = self.db.execute("SELECT coalesce(max(seen), 0) + 1 FROM links").fetchone()[0]

    def expect(self, topics):
        """Ends the program if the database was filled from other topics. topics: name → (ID, partitions)."""
        for name, (topic_id, _) in topics.items():
            self.db.execute("INSERT INTO topics VALUES (?, ?) ON CONFLICT DO NOTHING", (name, topic_id))
            (stored,) = self.db.execute("SELECT id FROM topics WHERE topic = ?", (name,)).fetchone()
            if stored != topic_id:
                sys.exit(f"{name} was created anew. When its operator has published all links again, start with --new-topics")
        self.db.commit()

    def forget_topics(self):
        """For topics that were created anew. Links that are not on them are deleted when they are read."""
        with self.db:
            self.db.execute("DELETE FROM topics")
            self.db.execute("DELETE FROM offsets")

    def offsets(self):
        """Partition of visits → the next offset."""
        return dict(self.db.execute("SELECT partition, next FROM offsets"))

    def store(self, records):
        with self.db:  # one transaction
            for record in records:
                if record.topic() == VISITS:
                    self.add_visit(record)
                    self.db.execute("REPLACE INTO offsets VALUES (?, ?)", (record.partition(), record.offset() + 1))
                else:
                    self.put_link(record)

    def add_visit(self, record):
        visit = decoded(record, b"waymark.visit.v1", VisitEvent)
        if visit:
            row = {name: getattr(visit, name) for name in VISIT}
            row |= {"event_id": str(uuid.UUID(bytes=visit.event_id)), "tags": as_json(visit.tags)}
            self.db.execute(ADD_VISIT, row)

    def put_link(self, record):
        row = dict.fromkeys(LINK) | {"slug": record.key().decode(), "seen": self.start}
        self.db.execute("UPDATE links SET seen = :seen WHERE slug = :slug", row)
        if record.value() is None:
            self.db.execute(PUT_TOMBSTONE, row | {"version": ABOVE_ALL, "purged": True})
            return
        event = decoded(record, b"waymark.link.v1", LinkEvent)
        if not event:
            return
        row |= {"version": event.link.version, "purged": event.change == LinkChange.LINK_CHANGE_PURGED}
        if not row["purged"]:
            row |= {name: getattr(event.link, name) for name in LINK[4:]}
            # A later version may send a state that this program does not know.
            row["state"] = LinkState.Name(row["state"]).removeprefix("LINK_STATE_") if row["state"] in LinkState.values() else "OTHER"
            row["tags"] = as_json(row["tags"])
        self.db.execute(PUT_LINK, row)

    def delete_unseen(self):
        """Once this start has read all links: the others were purged, and Kafka has removed their tombstones."""
        with self.db:
            self.db.execute("DELETE FROM links WHERE seen < ? AND NOT purged", (self.start,))
        return self.db.execute("SELECT count(*) FROM links WHERE NOT purged").fetchone()[0]


def places(consumer, topics, offsets):
    """Where each partition is read from."""
    found = [TopicPartition(LINKS, number, OFFSET_BEGINNING) for number in range(topics[LINKS][1])]
    for number in range(topics[VISITS][1]):
        place = TopicPartition(VISITS, number, offsets.get(number, OFFSET_BEGINNING))
        first, _ = consumer.get_watermark_offsets(place, timeout=30)
        if 0 <= place.offset < first:
            print(f"{first - place.offset} visits of partition {number} were on the topic and are gone: get them from the API", file=sys.stderr)
            place.offset = first
        found.append(place)
    return found


def run(copy, consumer, topics):
    stopping = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.append(True))
    consumer.assign(places(consumer, topics.known, copy.offsets()))
    unread = set(range(topics.known[LINKS][1]))  # partitions of links whose end was not reached yet
    while not stopping:
        records = consumer.consume(BATCH, timeout=1)
        copy.store([record for record in records if not record.error()])
        for record in records:
            if not record.error():
                continue
            if record.error().code() == KafkaError._AUTO_OFFSET_RESET:
                gone = f"kafka: {record.error()}: visits are gone before they were read; start again"
                # Or the offset is one of the old topic.
                sys.exit(topics.difference(at_once=True) or gone)
            if record.error().code() != KafkaError._PARTITION_EOF:
                print(f"kafka: {record.error()}", file=sys.stderr)  # the client recovers by itself
            elif record.topic() == LINKS and record.partition() in unread:
                unread.remove(record.partition())
                if not unread:
                    print(f"the copy of the links is complete: {copy.delete_unseen()}", file=sys.stderr)
        if difference := topics.difference():
            sys.exit(difference)
        if time.monotonic() - topics.asked_at > AWAY_S:
            sys.exit("Kafka was away for too long: start again, to read all links")


def main():
    parser = argparse.ArgumentParser(description="Copies visits and links into a SQLite database.")
    parser.add_argument("database")
    parser.add_argument("--new-topics", action="store_true", help="go on with topics that were created anew")
    options = parser.parse_args()
    copy = Copy(options.database)
    if options.new_topics:
        copy.forget_topics()
    # The client wants a name of a group, but assign joins none. It must not skip visits that are gone without a word.
    own = {"group.id": os.environ.get("KAFKA_GROUP", "subscriber-warehouse"), "enable.auto.commit": False}
    consumer = Consumer(connection() | own | {"enable.partition.eof": True, "auto.offset.reset": "error"})
    try:
        topics = Topics(connection(), [VISITS, LINKS])
        copy.expect(topics.known)
        run(copy, consumer, topics)
    except KafkaException as error:
        sys.exit(f"kafka: {reason(error)}")
    finally:
        consumer.close()


if __name__ == "__main__":
    main()
