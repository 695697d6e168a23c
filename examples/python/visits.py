#!/usr/bin/env python3
"""Prints each visit on waymark.visits.v1 once, as one line of JSON.

    pip install --require-hashes -r requirements.txt  # in a venv
    protoc -I ../../proto --python_out=. ../../proto/waymark/v1/visit_event.proto
    KAFKA_BROKERS=127.0.0.1:9092 ./visits.py

It commits an offset only after it has printed the visit, so a crash loses no visit. It recognises repeated visits by
their event_id. docs/integrations.md has the guarantees that it relies on.
"""

import collections
import json
import os
import signal
import sys
import uuid

from confluent_kafka import Consumer, KafkaException
from google.protobuf.message import DecodeError
from topics import Topics, reason
from waymark.v1.visit_event_pb2 import VisitEvent

TOPIC = "waymark.visits.v1"
TYPE = b"waymark.visit.v1"
# The number of latest visits among which a repeat is recognised. If you store visits in a table, make
# event_id its key instead.
REMEMBERED = 100_000


def connection():
    """How to reach Kafka; the other examples in Python use it, too."""
    chosen = {
        "bootstrap.servers": os.environ.get("KAFKA_BROKERS", "127.0.0.1:9092"),
        # The client logs each attempt to connect. By default it makes 20 a second while Kafka is away.
        "reconnect.backoff.ms": 4000,
    }
    optional = {
        "security.protocol": "KAFKA_SECURITY_PROTOCOL",
        "sasl.mechanism": "KAFKA_SASL_MECHANISM",
        "sasl.username": "KAFKA_SASL_USERNAME",
        "sasl.password": "KAFKA_SASL_PASSWORD",
        "ssl.ca.location": "KAFKA_SSL_CA_FILE",
    }
    chosen.update({name: os.environ[variable] for name, variable in optional.items() if os.environ.get(variable)})
    return chosen


def settings():
    return connection() | {
        "group.id": os.environ.get("KAFKA_GROUP", "subscriber-python"),
        # A new group begins at the oldest visit that Kafka still has.
        "auto.offset.reset": "earliest",
        # The client commits, every few seconds, only the offsets passed to store_offsets.
        "enable.auto.offset.store": False,
        # Static membership, which counts.py explains.
        **({"group.instance.id": os.environ["KAFKA_INSTANCE"]} if os.environ.get("KAFKA_INSTANCE") else {}),
    }


class Seen:
    """The latest event_ids, at most REMEMBERED."""

    def __init__(self):
        self.ids = collections.OrderedDict()

    def add(self, event_id):
        """Returns False if the ID is already there."""
        if event_id in self.ids:
            return False
        self.ids[event_id] = True
        if len(self.ids) > REMEMBERED:
            self.ids.popitem(last=False)
        return True


def as_dict(visit):
    """All fields of the .proto version that the module was generated from."""
    fields = {field.name: getattr(visit, field.name) for field in VisitEvent.DESCRIPTOR.fields}
    fields["event_id"] = str(uuid.UUID(bytes=visit.event_id))
    fields["tags"] = list(visit.tags)
    return fields


def decoded(record):
    """The visit; None if the record has another type, which later versions may add to the topic, or cannot be decoded."""
    if dict(record.headers() or []).get("ce_type") != TYPE:
        return None
    try:
        visit = VisitEvent.FromString(record.value() or b"")
        uuid.UUID(bytes=visit.event_id)  # it has 16 bytes
        return visit
    except (DecodeError, ValueError) as error:
        print(f"not a visit: partition {record.partition()}, offset {record.offset()}: {error}", file=sys.stderr)
        return None


def take(record, seen):
    visit = decoded(record)
    if visit and seen.add(visit.event_id):
        print(json.dumps(as_dict(visit), ensure_ascii=False), flush=True)


def main():
    stopping = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.append(True))
    try:
        topics = Topics(connection(), [TOPIC])
    except KafkaException as error:
        sys.exit(f"kafka: {reason(error)}")
    consumer = Consumer(settings())
    consumer.subscribe([TOPIC])
    seen = Seen()
    while not stopping:
        if difference := topics.difference():
            print(difference, file=sys.stderr, flush=True)
            os._exit(1)  # without a commit: its offset would be one of the old topic
        record = consumer.poll(0.2)
        if record is None:
            continue
        if record.error():
            print(f"kafka: {record.error()}", file=sys.stderr)  # the client recovers by itself
            continue
        take(record, seen)
        consumer.store_offsets(message=record)
    consumer.close()  # commits and leaves the group


if __name__ == "__main__":
    main()
