"""The contents of a topic, read by a client that shares nothing with the services."""

import contextlib
import os
import time

import confluent_kafka
from waiting import wait_until

REDIRECTS = "waymark.redirects.v1"
VISITS = "waymark.visits.v1"
DEAD_LETTERS = "waymark.redirects.dlq.v1"


@contextlib.contextmanager
def reader(brokers, group=None):
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": brokers, "group.id": group or f"chaos-{os.getpid()}", "enable.auto.commit": False}
    )
    try:
        yield consumer
    finally:
        consumer.close()


def partitions_of(consumer, topic):
    return [confluent_kafka.TopicPartition(topic, p) for p in consumer.list_topics(topic, timeout=300).topics[topic].partitions]


def span_of(consumer, place):
    """The first offset of a partition and its next one; None as long as the broker has not learned that it leads it."""
    try:
        return consumer.get_watermark_offsets(place, timeout=300)
    except confluent_kafka.KafkaException as error:
        if error.args[0].code() != confluent_kafka.KafkaError.NOT_LEADER_FOR_PARTITION:
            raise
        return None


def spans(consumer, topic):
    """Partition → its first offset and its next one."""
    return {
        p.partition: wait_until(lambda p=p: span_of(consumer, p), f"a leader of {topic}/{p.partition}")
        for p in partitions_of(consumer, topic)
    }


def ends(brokers, topic):
    with reader(brokers) as consumer:
        return {partition: span[1] for partition, span in spans(consumer, topic).items()}


def committed(brokers, topic, group):
    """Partition → the offset that a group has committed to Kafka."""
    with reader(brokers, group) as consumer:
        return {p.partition: p.offset for p in consumer.committed(partitions_of(consumer, topic), timeout=300)}


def commit_ends(brokers, topic, group):
    """The group begins behind everything that the topic has now."""
    with reader(brokers, group) as consumer:
        places = [confluent_kafka.TopicPartition(topic, p, span[1]) for p, span in spans(consumer, topic).items()]
        consumer.commit(offsets=places, asynchronous=False)


def read_all(brokers, topic):
    """Yields each record that the topic has now."""
    with reader(brokers) as consumer:
        wanted = {partition: span for partition, span in spans(consumer, topic).items() if span[1] > span[0]}
        consumer.assign([confluent_kafka.TopicPartition(topic, p, span[0]) for p, span in wanted.items()])
        deadline = time.monotonic() + 600
        while wanted:
            assert time.monotonic() < deadline, f"{topic} could not be read"
            for message in consumer.consume(1000, 0.2):
                if message.error() is not None:
                    continue
                yield message
                if message.offset() + 1 >= wanted.get(message.partition(), (0, 0))[1]:
                    wanted.pop(message.partition(), None)


def headers(message):
    return {name: value.decode(errors="replace") for name, value in message.headers() or ()}
