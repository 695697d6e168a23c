#!/usr/bin/env python3
"""Counts the visits of each link in a SQLite database, each once, by processes that share the topic.

    pip install --require-hashes -r requirements.txt  # in a venv
    protoc -I ../../proto --python_out=. ../../proto/waymark/v1/visit_event.proto
    KAFKA_INSTANCE=a ./counts.py counts.db & KAFKA_INSTANCE=b ./counts.py counts.db

One transaction stores the event_ids of a batch and what it adds to the counts, and its offsets are committed after it. So
a batch that is read again changes nothing, whoever reads it. A process keeps its KAFKA_INSTANCE (static membership): if it
is back before its session ends, it gets its partitions again at once, and nobody else's move.
"""

import os
import signal
import sqlite3
import sys

from confluent_kafka import Consumer, KafkaException
from topics import Topics, reason
from visits import TOPIC, connection, decoded, settings

SCHEMA = """
CREATE TABLE IF NOT EXISTS seen (event_id BLOB PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS counts (link_id INTEGER PRIMARY KEY, humans INTEGER NOT NULL, bots INTEGER NOT NULL);
"""
SEE = "INSERT INTO seen VALUES (?) ON CONFLICT DO NOTHING"
COUNT = """INSERT INTO counts VALUES (?, ?, ?) ON CONFLICT (link_id) DO UPDATE
  SET humans = humans + excluded.humans, bots = bots + excluded.bots"""


def store(db, records):
    with db:  # one transaction
        for visit in filter(None, map(decoded, records)):
            if db.execute(SEE, (visit.event_id,)).rowcount == 1:
                db.execute(COUNT, (visit.link_id, not visit.is_bot, visit.is_bot))


def main():
    stopping = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.append(True))
    db = sqlite3.connect(sys.argv[1], timeout=60)
    db.executescript(SCHEMA)
    try:
        topics = Topics(connection(), [TOPIC])
    except KafkaException as error:
        sys.exit(f"kafka: {reason(error)}")
    consumer = Consumer(settings() | {"group.id": os.environ.get("KAFKA_GROUP", "subscriber-counts")})
    consumer.subscribe([TOPIC])
    while not stopping:
        if difference := topics.difference():
            print(difference, file=sys.stderr, flush=True)
            os._exit(1)  # without a commit: its offset would be one of the old topic
        records = consumer.consume(1000, timeout=0.2)
        store(db, [record for record in records if not record.error()])
        for record in records:
            if record.error():
                print(f"kafka: {record.error()}", file=sys.stderr)  # the client recovers by itself
            else:
                consumer.store_offsets(message=record)
    consumer.close()


if __name__ == "__main__":
    main()
