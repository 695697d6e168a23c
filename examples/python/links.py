#!/usr/bin/env python3
"""Keeps a copy of all links from waymark.links.v1, and prints each change of it as one line of JSON.

    pip install --require-hashes -r requirements.txt  # in a venv
    protoc -I ../../proto --python_out=. ../../proto/waymark/v1/link_event.proto
    KAFKA_BROKERS=127.0.0.1:9092 ./links.py

The topic is compacted: its records are the current state of every link. The program reads all partitions from the
beginning at each start and commits nothing. It belongs to no consumer group, so each process has a complete copy. A
record without a value means that its key is gone: the link was purged. docs/integrations.md has the guarantees that it
relies on; warehouse.py keeps the copy in a database.
"""

import json
import math
import os
import signal
import sys

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, TopicPartition
from google.protobuf.message import DecodeError
from topics import Topics, reason
from visits import connection
from waymark.v1.link_event_pb2 import LinkChange, LinkEvent, LinkState

TOPIC = "waymark.links.v1"
TYPE = b"waymark.link.v1"


def as_dict(link):
    """What this program shows of a link; the .proto has all fields."""
    return {
        "slug": link.slug,
        "alias_of": link.alias_of,  # an earlier name of the link that has this slug now; "": it is the link's own
        "version": link.version,
        # A later version may send a state that this program does not know.
        "state": LinkState.Name(link.state).removeprefix("LINK_STATE_") if link.state in LinkState.values() else "OTHER",
        "original_url": link.original_url,
        "starts_at_us": link.starts_at_us,  # an ACTIVE link is not followed before; 0: at once
        "expires_at_us": link.expires_at_us,  # a link is over from then on, even if its state is still ACTIVE; 0: never
        "workspace_id": link.workspace_id,
        "tags": list(link.tags),
    }


def remove(links, slug):
    """Forgets the link but not its version: a late record must not bring it back."""
    if links.pop(slug, None):
        print(json.dumps({"slug": slug, "purged": True}), flush=True)


def take(record, links, versions):
    slug = record.key().decode()
    if record.value() is None:
        # Without the purge before it its version is unknown, and no other can be right: a purged slug is not used again.
        if slug in links or slug not in versions:
            versions[slug] = math.inf
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
    # A repeated or late record has a version that is not newer.
    if event.link.version <= versions.get(slug, 0):
        return
    versions[slug] = event.link.version
    if event.change == LinkChange.LINK_CHANGE_PURGED:
        remove(links, slug)
    else:
        links[slug] = as_dict(event.link)
        print(json.dumps(links[slug], ensure_ascii=False), flush=True)


def main():
    stopping = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.append(True))
    try:
        topics = Topics(connection(), [TOPIC])
    except KafkaException as error:
        sys.exit(f"kafka: {reason(error)}")
    # The client wants a name of a group, but assign joins none.
    own = {"group.id": os.environ.get("KAFKA_GROUP", "subscriber-links"), "enable.auto.commit": False, "enable.partition.eof": True}
    consumer = Consumer(connection() | own)
    unread = set(range(topics.known[TOPIC][1]))  # partitions whose end was not reached yet
    consumer.assign([TopicPartition(TOPIC, partition, OFFSET_BEGINNING) for partition in unread])
    links = {}  # by slug
    versions = {}  # the highest version seen, by slug, also of purged links
    while not stopping:
        if difference := topics.difference():
            sys.exit(difference)
        record = consumer.poll(0.2)
        if record is None:
            continue
        if record.error() is None:
            take(record, links, versions)
        elif record.error().code() != KafkaError._PARTITION_EOF:
            print(f"kafka: {record.error()}", file=sys.stderr)  # the client recovers by itself
        elif record.partition() in unread:
            unread.remove(record.partition())
            if not unread:
                # Deleted links, which the API lists only with state=deleted, are in it until they are purged.
                print(f"the copy is complete: {len(links)} links", file=sys.stderr)
    consumer.close()


if __name__ == "__main__":
    main()
