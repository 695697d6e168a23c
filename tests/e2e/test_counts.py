"""examples/python/counts.py: counts that are exact although its processes are killed, and keep their partitions."""

import json
import os
import secrets
import sqlite3
import subprocess

import confluent_kafka
import pytest
import python_example
from clients import CHROME, GOOGLEBOT, kafka_settings
from processes import popen
from waiting import wait_until

SECONDS = 180
GROUP = f"subscriber-counts-{secrets.token_hex(4)}"


@pytest.fixture
def start(env, tmp_path):
    kafka = {name: value for name, value in env.items() if name.startswith("KAFKA_")}
    own = {**kafka, "KAFKA_GROUP": GROUP, "PATH": os.environ["PATH"], **python_example.environment(tmp_path)}
    started = []

    def start_one(instance):
        started.append(popen([*python_example.command("counts.py"), tmp_path / "counts.db"], env={**own, "KAFKA_INSTANCE": instance}))
        return started[-1]

    yield start_one
    for process in started:
        process.kill()
        process.wait()


# For the client of the examples: Debian's cannot ask for it.
DESCRIBE = """
import json, sys
from confluent_kafka.admin import AdminClient
admin = AdminClient(json.loads(sys.argv[1]))
members = admin.describe_consumer_groups([sys.argv[2]], request_timeout=60)[sys.argv[2]].result().members
print(json.dumps({member.group_instance_id: sorted(each.partition for each in member.assignment.topic_partitions) for member in members}))
"""


def partitions(env):
    """Instance → the partitions that the group has given it."""
    argv = [python_example.interpreter(), "-c", DESCRIBE, json.dumps(kafka_settings(env)), GROUP]
    return json.loads(subprocess.run(argv, stdout=subprocess.PIPE, check=True).stdout)


def test_counts_are_exact_and_a_killed_process_gets_its_partitions_again(env, user, visitor, topic, start, tmp_path):
    visits = topic("waymark.visits.v1")
    links = [user.create() for _ in range(4)]
    running = {name: start(name) for name in "ab"}
    wait_until(lambda: {name for name, each in partitions(env).items() if each} == {"a", "b"}, "a share for both")
    before = partitions(env)
    for _ in range(3):
        for link in links:
            for agent in (CHROME, GOOGLEBOT):
                assert visitor.follow(link["slug"], agent=agent).status == 302
        running["a"].kill()
        running["a"].wait()
        running["a"] = start("a")
    slugs = {link["slug"].encode() for link in links}
    records = visits.wait_for(lambda record: record.key() in slugs, count=24)
    producer = confluent_kafka.Producer(kafka_settings(env) | {"partitioner": "murmur2_random"})
    for record in records:
        producer.produce(record.topic(), key=record.key(), value=record.value(), headers=record.headers())
    assert producer.flush(30) == 0
    for link in links:  # behind the repeats, in the same partition
        assert visitor.follow(link["slug"]).status == 302

    def counts():
        with sqlite3.connect(tmp_path / "counts.db", timeout=SECONDS) as db:
            return {link_id: (humans, bots) for link_id, humans, bots in db.execute("SELECT * FROM counts")}

    wanted = {link["id"]: (4, 3) for link in links}
    wait_until(lambda: {link_id: count for link_id, count in counts().items() if link_id in wanted} == wanted, "all visits")
    assert partitions(env) == before, "nobody else has them"
    for process in running.values():
        process.terminate()
    assert [process.wait(timeout=SECONDS) for process in running.values()] == [0, 0]
    assert {link_id: counts()[link_id] for link_id in wanted} == wanted
