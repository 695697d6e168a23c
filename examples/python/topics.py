"""Notices that a topic was created anew or has got more partitions.

After a loss of Kafka the operator creates its topics again. They have the old names but new IDs, and offsets of the old
ones mean nothing on them. The client may then skip records, or read nothing more, without an error.
"""

import time

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient

PERIOD_S = 60
TIMEOUT_S = 10


def reason(error):
    """What a KafkaException of this file says on stderr."""
    cause = error.args[0]
    is_away = cause.code() in (KafkaError._TIMED_OUT, KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN)
    return f"{cause.str()}; are KAFKA_BROKERS, user and password right?" if is_away else cause.str()


def result(name, future):
    try:
        return future.result()
    except KafkaException as error:
        raise KafkaException(KafkaError(error.args[0].code(), f"{name}: {error.args[0].str()}")) from error


class Topics:
    """known: name → (ID, number of partitions), as they were at the start. asked_at: the last answer, by time.monotonic."""

    def __init__(self, connection, names):
        """KafkaException: Kafka cannot be reached, a topic does not exist, or this user may not read it."""
        self.admin = AdminClient(connection)
        self.names = names
        self.known = self.describe()

    def describe(self):
        futures = self.admin.describe_topics(TopicCollection(self.names), request_timeout=TIMEOUT_S)
        found = {name: result(name, future) for name, future in futures.items()}
        self.asked_at = time.monotonic()
        self.due = self.asked_at + PERIOD_S
        return {name: (str(topic.topic_id), len(topic.partitions)) for name, topic in found.items()}

    def difference(self, at_once=False):
        """What has changed since the start, as a sentence; None: nothing. It asks Kafka once a minute, or at once."""
        if time.monotonic() < self.due and not at_once:
            return None
        try:
            now = self.describe()
        except KafkaException:
            self.due = time.monotonic() + PERIOD_S  # Kafka is away, or the topic is just being created
            return None
        for name in self.names:
            if now[name][0] != self.known[name][0]:
                return f"{name} was created anew: its ID was {self.known[name][0]} and is {now[name][0]}"
            if now[name] != self.known[name]:
                return f"{name} has {now[name][1]} partitions now, and had {self.known[name][1]}: start again to read all"
        return None
