#!/usr/bin/env python3
"""Keeps a copy of all links from waymark.links.v1, and prints each change of it as one line of JSON.

    pip install -r requirements.txt        # in a venv; or Debian's python3-confluent-kafka, python3-protobuf
    protoc -I ../../proto --python_out=. ../../proto/waymark/v1/link_event.proto
    KAFKA_BROKERS=127.0.0.1:9092 ./links.py

The topic is compacted: its records are the current state of every link, so the program reads them from the beginning at
each start and commits nothing. A record without a value means that its key is gone: the link was purged.
docs/integrations.md has the guarantees that it relies on.
"""

import json
import signal
import sys

import confluent_kafka
from google.protobuf.message import DecodeError
from visits import settings
from waymark.v1.link_event_pb2 import LinkChange, LinkEvent, LinkState

TOPIC = "waymark.links.v1"
TYPE = b"waymark.link.v1"


def as_dict(link):
    """What this program shows of a link; the .proto has all fields."""
    return {
        "slug": link.slug,
        "version": link.version,
        "state": LinkState.Name(link.state).removeprefix("LINK_STATE_"),
        "original_url": link.original_url,
        "owner_id": link.owner_id,
        "tags": list(link.tags),
    }


def remove(links, slug):
    if links.pop(slug, None):
        print(json.dumps({"slug": slug, "purged": True}), flush=True)


def take(record, links):
    slug = record.key().decode()
    if record.value() is None:
        remove(links, slug)
        return
    # Skip records of other types, which later versions may add to the topic.
    if dict(record.headers() or []).get("ce_type") != TYPE:
        return
    try:
        event = LinkEvent.FromString(record.value())
    except DecodeError as error:
        print(f"not a link: partition {record.partition()}, offset {record.offset()}: {error}", file=sys.stderr)
        return
    if event.change == LinkChange.LINK_CHANGE_PURGED:
        remove(links, slug)
    # A repeated or late record has a version that is not newer.
    elif slug not in links or event.link.version > links[slug]["version"]:
        links[slug] = as_dict(event.link)
        print(json.dumps(links[slug], ensure_ascii=False), flush=True)


def main():
    stopping = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.append(True))
    consumer = confluent_kafka.Consumer(settings() | {"enable.auto.commit": False})
    consumer.subscribe([TOPIC])
    links = {}  # by slug
    while not stopping:
        record = consumer.poll(0.2)
        if record is None:
            continue
        if record.error():
            print(f"kafka: {record.error()}", file=sys.stderr)  # the client recovers by itself
            continue
        take(record, links)
    consumer.close()


if __name__ == "__main__":
    main()
