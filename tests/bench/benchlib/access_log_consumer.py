"""Counts the redirects in nginx's access log, as an engineer would: access_log_consumer.py BROKERS TOPIC PG_URL.

Adds up what Kafka has, stores the sums, then commits the offsets, so that a crash in between counts a second time. After an
error it starts anew, as its service manager would have it.
"""

import collections
import os
import sys
import time

import confluent_kafka
import psycopg2
import psycopg2.extras

STORE = "INSERT INTO access_log_counts VALUES %s ON CONFLICT (slug) DO UPDATE SET visits = access_log_counts.visits + EXCLUDED.visits"


def slug_of(line):
    """The combined format: ADDRESS - USER [TIME ZONE] "METHOD PATH VERSION" STATUS …"""
    words = line.split(b" ", 9)
    return words[6].partition(b"?")[0][1:].decode() if len(words) > 9 and words[8] == b"302" else None


def main(brokers, topic, url):
    settings = {"bootstrap.servers": brokers, "group.id": "access-log", "group.instance.id": "1"}
    consumer = confluent_kafka.Consumer({**settings, "enable.auto.commit": False, "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    database = psycopg2.connect(url)
    while True:
        messages = [message for message in consumer.consume(100_000, timeout=1) if not message.error()]
        visits = collections.Counter(filter(None, (slug_of(message.value()) for message in messages)))
        if not visits:
            continue
        with database, database.cursor() as cursor:
            psycopg2.extras.execute_values(cursor, STORE, sorted(visits.items()), page_size=1000)
        consumer.commit(asynchronous=False)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except (psycopg2.Error, confluent_kafka.KafkaException) as error:
        print(error, file=sys.stderr, flush=True)
        time.sleep(1)
        os.execv(sys.executable, [sys.executable, *sys.argv])
