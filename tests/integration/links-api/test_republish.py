"""After a restore, --republish-links ends the links on the topic that the database has lost, and no other."""

import collections
import contextlib
import os
import subprocess

import confluent_kafka
import psycopg2
import pytest
from clients import kafka_settings, unique_email
from processes import popen
from service import BUILD
from waiting import wait_until

TOPIC = "waymark.links.v1"
BASE = 1_000_000  # of the versions that the restored database issues
PURGED, REPUBLISHED = 9, 10


@pytest.fixture
def restored(database):
    """A database in its second epoch."""
    if database.value("SELECT link_version_base FROM database_epoch") == 0:
        database.run("SELECT database_epoch_raise(%s)", BASE)
    return database


@pytest.fixture
def api(spawn, restored):
    from test_relay import register_user

    return register_user(spawn())


@pytest.fixture
def put(LinkEvent):
    """put(slug, version, …): a record of the link as an earlier relay sent it. version None: a tombstone."""
    producer = confluent_kafka.Producer(kafka_settings(os.environ) | {"partitioner": "murmur2_random"})

    def put_one(slug, version, change=1, link_id=77, alias_of="", is_exact=False):
        value = None
        if version is not None:
            event = LinkEvent(event_id=bytes(range(16)), occurred_at_us=1, change=change)
            link = event.link
            link.id, link.slug, link.version, link.alias_of, link.slug_is_exact = link_id, slug, version, alias_of, is_exact
            link.state, link.link_type, link.redirect_status, link.workspace_id = 1, 2, 302, 5
            link.original_url = "https://example.com/secret"
            link.created_at_us = link.updated_at_us = 1
            value = event.SerializeToString()
        producer.produce(TOPIC, key=slug.encode(), value=value)
        assert producer.flush(60) == 0

    return put_one


@pytest.fixture
def records(LinkEvent):
    """records(): slug → what the topic has of it, in order: (version, change, alias_of), or None for a tombstone."""

    def read():
        consumer = confluent_kafka.Consumer(kafka_settings(os.environ) | {"group.id": "records", "enable.partition.eof": True, "enable.auto.commit": False})
        with contextlib.closing(consumer):
            partitions = consumer.list_topics(TOPIC, timeout=300).topics[TOPIC].partitions
            consumer.assign([confluent_kafka.TopicPartition(TOPIC, p, confluent_kafka.OFFSET_BEGINNING) for p in partitions])
            found, ends = collections.defaultdict(list), 0
            while ends < len(partitions):
                message = consumer.poll(60)
                assert message is not None, "the end of the topic"
                if message.error():
                    assert message.error().code() == confluent_kafka.KafkaError._PARTITION_EOF, message.error()
                    ends += 1
                    continue
                event = LinkEvent.FromString(message.value()) if message.value() else None
                found[message.key().decode()].append(event and (event.link.version, event.change, event.link.alias_of))
            return found

    return read


def command(database):
    environment = {name: value for name, value in os.environ.items() if name.startswith("KAFKA_") or name.endswith("SAN_OPTIONS")}
    return popen(
        [BUILD / "bin/links-api", "--republish-links"], env=environment | {"PG_URL": database.url("waymark_links_api")},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def republish(database):
    running = command(database)
    out, err = running.communicate(timeout=300)
    assert running.returncode == 0, err
    return out.splitlines()[-1]


def ended(count):
    return f"links-api: Kafka has the ends of {count} lost names of links"


def unique(word):
    return f"{word}-{unique_email()[5:17]}"


def test_what_the_database_lost_ends_once_and_what_lives_stays(api, put, records, restored):
    living, renamed = api.create(slug=unique("living")), api.create(slug=unique("old"))
    new = unique("new")
    assert api.call("PATCH", f"/api/links/{renamed['id']}", {"slug": new}).status == 200
    purged = api.create(slug=unique("purged"))
    assert api.call("DELETE", f"/api/links/{purged['id']}?hard=true").status in (200, 204)
    for slug in (living["slug"], renamed["slug"], new, purged["slug"]):
        put(slug, 2)  # of the first epoch
    ghost, alias, lost_name = unique("ghost"), unique("alias"), unique("lost")
    put(ghost, 3, link_id=901)
    put(alias, 4, link_id=901, alias_of=ghost)
    put(lost_name, 5, link_id=living["id"])  # the link lives under another name
    republished = republish(restored)
    assert republished == ended(3)
    after = records()
    assert after[ghost] == [(3, 1, ""), (BASE, PURGED, ""), None]
    assert after[alias] == [(4, 1, ghost), (BASE, PURGED, ghost), None]
    assert after[lost_name] == [(5, 1, ""), (BASE, PURGED, living["slug"]), None]
    for slug in (living["slug"], renamed["slug"], new):
        assert after[slug][-1][1] == REPUBLISHED and None not in after[slug], after[slug]
    assert after[purged["slug"]].count(None) == 1

    assert republish(restored) == ended(0)
    again = records()
    assert again[ghost] == after[ghost] and again[alias] == after[alias]


def test_what_a_newer_epoch_made_is_not_touched(api, put, records, restored):
    newer, lost_and_newer, late = unique("newer"), unique("both"), unique("late")
    put(newer, 2 * BASE + 1)
    put(lost_and_newer, 3)
    put(lost_and_newer, 2 * BASE + 1)
    put(late, 2 * BASE + 1)
    put(late, 3)  # a late repeat of a paused sender
    assert republish(restored) == ended(0)
    after = records()
    for slug in (newer, lost_and_newer, late):
        assert {record and record[1] for record in after[slug]} == {1}, after[slug]


def test_a_slug_that_is_only_written_otherwise_gets_no_tombstone(api, put, records, restored):
    living = api.create(slug=unique("spelling"))
    other = living["slug"].capitalize()
    put(other, 3, link_id=living["id"])
    assert republish(restored) == ended(1)
    assert records()[other] == [(3, 1, ""), (BASE, PURGED, living["slug"])]
    assert republish(restored) == ended(0)


def test_a_late_repeat_after_the_tombstone_is_ended_again(api, put, records, restored):
    ghost = unique("ghost")
    put(ghost, 3)
    put(ghost, None)
    assert republish(restored) == ended(0)
    put(ghost, 3)
    assert republish(restored) == ended(1)
    assert records()[ghost][-2:] == [(BASE, PURGED, ""), None]


def test_names_that_are_given_again_during_the_run_live(api, put, records, restored):
    taken, alias, purged, ghost = (unique(word) for word in ("taken", "alias", "purged", "ghost"))
    for slug in (taken, alias, purged, ghost):
        put(slug, 3)
    with contextlib.closing(psycopg2.connect(restored.url())) as writer, writer.cursor() as cursor:
        cursor.execute("INSERT INTO links (slug, link_type, original_url, expires_at) VALUES (%s, 'TEMPORARY', 'https://example.com/', now()) RETURNING id", (taken,))
        link_id = cursor.fetchone()[0]
        cursor.execute("INSERT INTO link_aliases (slug, slug_chosen, slug_exact, link_id) VALUES (%s, true, false, %s)", (alias, link_id))
        cursor.execute("INSERT INTO link_tombstones (slug, link_id, last_state, version) VALUES (%s, %s, 'ACTIVE', 1)", (purged, link_id))
        running = command(restored)
        # It has read the topic, and all names are free.
        restored.await_statements_waiting(1)
        writer.commit()
    out, err = running.communicate(timeout=300)
    assert out.splitlines()[-1] == ended(1) and running.returncode == 0, err
    after = records()
    assert after[ghost][-1] is None and after[taken] == after[alias] == after[purged] == [(3, 1, "")]


def test_a_link_made_after_the_tombstone_was_queued_is_published_after_it(spawn, put, records, restored):
    from test_relay import register_user

    isolated = spawn(KAFKA_BROKERS="127.0.0.1:1")
    user = register_user(isolated)
    restored.run("DELETE FROM link_aliases; DELETE FROM links")  # nothing waits to be published before
    slug = unique("again")
    put(slug, 3)
    running = command(restored)
    wait_until(lambda: restored.value("SELECT count(*) FROM outbox WHERE slug = %s", slug) == 1, "the end of the ghost")
    user.create(slug=slug)
    isolated.stop()
    spawn()
    out, err = running.communicate(timeout=300)
    assert running.returncode == 0, (out, err)
    wait_until(lambda: restored.value("SELECT count(*) FROM outbox") == 0, "an empty outbox")
    assert records()[slug] == [(3, 1, ""), (BASE, PURGED, ""), None, (BASE + 1, 1, "")]


def test_it_ends_with_an_error_if_kafka_cannot_be_read(api, restored):
    out = subprocess.run(
        [BUILD / "bin/links-api", "--republish-links"], env={"PG_URL": restored.url("waymark_links_api"), "KAFKA_BROKERS": "127.0.0.1:1"},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert out.returncode == 1 and "stopped (unavailable); Kafka has the ends of 0 lost names of links. Run it again" in out.stderr, out
    without = subprocess.run([BUILD / "bin/links-api", "--republish-links"], env={"PG_URL": restored.url()}, capture_output=True, text=True, check=False)
    assert without.returncode == 64 and "KAFKA_BROKERS" in without.stderr
