"""Control: a consumer that ignores failures. It counts, and then commits the offset to Kafka.

It takes the place of the analytics-consumer in the chaos harness, with the same environment. A harness that cannot tell
the two apart proves nothing.
"""

import collections
import http.server
import os
import sys
import threading
import time

import confluent_kafka
import psycopg2


class AlwaysReady(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def gather(consumer, seconds):
    """Returns clicks per slug. The only offsets are those in Kafka."""
    clicks = collections.Counter()
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        message = consumer.poll(max(0.0, deadline - time.monotonic()))
        if message is not None and message.error() is None:
            clicks[message.key().decode()] += 1
    return clicks


def count(connection, clicks):
    with connection, connection.cursor() as cursor:
        for slug, visits in sorted(clicks.items()):
            cursor.execute(
                "INSERT INTO link_statistics AS old (link_id, visit_count) SELECT id, %s FROM links WHERE slug = %s"
                " ON CONFLICT (link_id) DO UPDATE SET visit_count = old.visit_count + EXCLUDED.visit_count",
                (visits, slug),
            )


def count_until_it_works(connection, clicks):
    """Takes every error for a sign that nothing was stored."""
    while True:
        try:
            connection = connection or psycopg2.connect(os.environ["PG_URL"])
            count(connection, clicks)
            return connection
        except (psycopg2.OperationalError, psycopg2.InterfaceError):
            connection = None
            time.sleep(0.1)


def main():
    print('{"event":"started"}', file=sys.stderr, flush=True)  # the harness waits for it
    server = http.server.ThreadingHTTPServer(("127.0.0.1", int(os.environ["OPS_PORT"])), AlwaysReady)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    connection = None
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": os.environ["KAFKA_BROKERS"],
            "group.id": os.environ["CONSUMER_GROUP"],
            "session.timeout.ms": int(os.environ["SESSION_TIMEOUT_MS"]),
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe(["waymark.redirects.v1"])
    while True:
        clicks = gather(consumer, int(os.environ["BATCH_MS"]) / 1000)
        if clicks:
            connection = count_until_it_works(connection, clicks)
            try:
                consumer.commit(asynchronous=False)
            except confluent_kafka.KafkaException:
                pass  # another consumer owns the partitions now and counts the same clicks again


if __name__ == "__main__":
    main()
