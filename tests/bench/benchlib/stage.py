"""The private stack of the benchmarks: its stores, their links, and the events in its topic."""

import os
import shlex
import subprocess
import time

from . import load
from .contenders import DESTINATION, Neighbour

TREE = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
LINKS = 1_000_000
TOPIC = "waymark.redirects.v1"


def events_of(batch):
    """The number of events in a RedirectBatch, of which each field has a length."""
    at = count = 0
    while at < len(batch):
        count += batch[at] >> 3 == 3
        at, length, shift = at + 1, 0, 0
        while batch[at] >= 128:
            at, length, shift = at + 1, length | (batch[at] & 127) << shift, shift + 7
        at += 1 + (length | batch[at] << shift)
    return count


class Stack:
    """A whole stack."""

    def __init__(self, folder, build):
        self.state, self.build = os.path.join(folder, "stack"), build
        self.run("up", "--build", build, "--tied-to", str(os.getpid()))
        self.env = dict(shlex.split(line)[-1].split("=", 1) for line in self.run("env").splitlines())

    def run(self, *arguments):
        command = [os.path.join(TREE, "tools/stack"), arguments[0], "--state", self.state, *arguments[1:]]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"bench: tools/stack {arguments[0]} failed")
        return done.stdout

    def pid_of(self, name):
        return next(int(line.split()[1]) for line in self.run("ps").splitlines() if line.split()[0] == name)

    def environment_of(self, name):
        with open(f"/proc/{self.pid_of(name)}/environ", encoding="utf-8") as environ:
            return dict(pair.split("=", 1) for pair in environ.read().split("\0") if "=" in pair)

    def variable_of(self, name, variable):
        return self.environment_of(name)[variable]

    def run_program(self, name, *arguments):
        """One of the programs for operators, on the database of the stack."""
        command = [os.path.join(self.build, "bin", name), *arguments]
        subprocess.run(command, env={**os.environ, "PG_URL": self.env["PG_URL"]}, stdout=subprocess.DEVNULL, check=True)

    def end(self):
        subprocess.run(
            [os.path.join(TREE, "tools/stack"), "down", "--state", self.state], stdout=subprocess.DEVNULL, check=False
        )


class Stage(Stack):
    """A stack without a redirector, a consumer and a janitor. The benchmarks start their own."""

    def __init__(self, folder, build):
        super().__init__(folder, build)
        self.janitor_url = self.variable_of("janitor-1", "PG_URL")
        self.consumer_environment = self.environment_of("consumer-1")
        for name in ("redirector-1", "consumer-1", "janitor-1"):
            self.run("stop", name)
        self.stores = self.env
        self.events_read, self.bytes_read, self.read_to = 0, 0, {}  # partition → next offset
        self.neighbours = [Neighbour(name, self.pid_of(name)) for name in ("kafka", "redis", "postgres")]

    def add_links(self, count=LINKS):
        import psycopg2

        with psycopg2.connect(self.stores["PG_URL"]) as connection, connection.cursor() as cursor:
            cursor.execute("INSERT INTO users (email, password_hash) VALUES ('bench@example.com', 'x') RETURNING id")
            (owner,) = cursor.fetchone()
            cursor.execute(
                "INSERT INTO links (slug, link_type, original_url, workspace_id)"
                " SELECT 'hot' || lpad(to_hex(i), 6, '0'), 'PERMANENT', %s, %s FROM generate_series(1, %s) i",
                (DESTINATION, owner, count),
            )
        connection = psycopg2.connect(self.stores["PG_URL"])
        connection.autocommit = True
        connection.cursor().execute("VACUUM ANALYZE links")
        connection.close()

    def links_in_redis(self):
        import redis

        return redis.Redis.from_url(self.stores["REDIS_URL"]).dbsize()

    def fill_redis(self, redirector, count=LINKS, most_seconds=900):
        """Follows each link once, so that the redirector fills Redis."""
        deadline = time.monotonic() + most_seconds
        visitors = load.start(redirector, load.Load("hot", count, connections=256), most_seconds)
        try:
            while self.links_in_redis() < count * 0.99:
                if time.monotonic() > deadline or visitors.poll() is not None:
                    raise SystemExit(f"bench: Redis holds {self.links_in_redis():,} of {count:,} links after {most_seconds} s")
                time.sleep(1)
        finally:
            visitors.kill()
            visitors.wait()

    def events_in_kafka(self):
        """How many events the topic has taken in all. Reads what came since the last call."""
        from confluent_kafka import Consumer, TopicPartition

        reader = Consumer({"bootstrap.servers": self.stores["KAFKA_BROKERS"], "group.id": "bench", "enable.auto.commit": False})
        deadline = time.monotonic() + 600
        try:
            partitions = reader.list_topics(TOPIC, timeout=120).topics[TOPIC].partitions
            ends = {each: reader.get_watermark_offsets(TopicPartition(TOPIC, each), timeout=120)[1] for each in partitions}
            reader.assign([TopicPartition(TOPIC, each, self.read_to.get(each, 0)) for each in partitions])
            while any(self.read_to.get(each, 0) < end for each, end in ends.items()):
                if time.monotonic() > deadline:
                    raise SystemExit(f"bench: {TOPIC} cannot be read")
                for message in reader.consume(1000, 1):
                    if message.error() is None:
                        self.events_read += events_of(message.value())
                        self.bytes_read += len(message.value())
                        self.read_to[message.partition()] = message.offset() + 1
            return self.events_read
        finally:
            reader.close()

    def make_topic_anew(self):
        from confluent_kafka.admin import AdminClient, NewTopic

        admin = AdminClient({"bootstrap.servers": self.stores["KAFKA_BROKERS"]})
        partitions = len(admin.list_topics(TOPIC, timeout=120).topics[TOPIC].partitions)
        admin.delete_topics([TOPIC])[TOPIC].result()
        deadline = time.monotonic() + 60
        while TOPIC in admin.list_topics(timeout=120).topics:
            if time.monotonic() > deadline:
                raise SystemExit(f"bench: {TOPIC} does not go away")
            time.sleep(0.2)
        admin.create_topics([NewTopic(TOPIC, partitions, 1)])[TOPIC].result()
        self.events_read, self.bytes_read, self.read_to = 0, 0, {}
