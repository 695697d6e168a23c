"""examples/python/warehouse.py: visits and links in a database of its own, each once, whatever happens to it."""

import os
import signal
import sqlite3
import subprocess

import confluent_kafka
import pytest
import python_example
from clients import CHROME, FIREFOX, GOOGLEBOT, kafka_settings
from processes import popen
from waiting import wait_until

SECONDS = 180
COMPLETE = "the copy of the links is complete"


class Warehouse:
    """One database, and the process that fills it."""

    def __init__(self, env, folder):
        kafka = {name: value for name, value in env.items() if name.startswith("KAFKA_")}
        self.env = {**kafka, "PATH": os.environ["PATH"], **python_example.environment(folder)}
        self.file, self.log = folder / "copy.db", folder / "log"
        self.process = None

    def start(self, *options):
        with open(self.log, "w") as log:
            self.process = popen([*python_example.command("warehouse.py"), self.file, *options], env=self.env, stderr=log)
        wait_until(lambda: self.rows("SELECT count(*) FROM sqlite_master WHERE name = 'links'") == [(1,)], "its tables")

    def wait_until_complete(self):
        wait_until(lambda: COMPLETE in self.log.read_text(), "all links")

    def kill(self):
        if self.process:
            self.process.kill()
            self.process.wait()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(timeout=SECONDS) == 0, self.log.read_text()

    def failure(self):
        """What it says when it ends by itself."""
        assert self.process.wait(timeout=SECONDS) == 1
        return self.log.read_text()

    def rows(self, statement, *values):
        with sqlite3.connect(self.file, timeout=SECONDS) as db:
            return db.execute(statement, values).fetchall()

    def change(self, statement, *values):
        """While it does not run."""
        with sqlite3.connect(self.file) as db:
            db.execute(statement, values)

    def counts(self, link):
        """(of people, of bots)"""
        return self.rows("SELECT count(*) - total(is_bot), total(is_bot) FROM visits WHERE link_id = ?", link["id"])[0]

    def link(self, slug):
        """(state, title, whether it was purged), or None"""
        return next(iter(self.rows("SELECT state, title, purged FROM links WHERE slug = ?", slug)), None)


@pytest.fixture
def warehouse(env, tmp_path):
    made = Warehouse(env, tmp_path)
    yield made
    made.kill()


def test_kills_and_repeats_change_no_count(env, user, visitor, topic, messages, warehouse):
    visits = topic("waymark.visits.v1")
    links = [user.create() for _ in range(3)]
    for turn in range(4):
        for link in links[: turn + 1]:
            for agent in (CHROME, FIREFOX, GOOGLEBOT):
                assert visitor.follow(link["slug"], agent=agent).status == 302
        warehouse.start()
        wait_until(lambda turn=turn: sum(warehouse.counts(links[0])) > 3 * turn, "visits of this turn")
        warehouse.kill()
    slugs = {link["slug"].encode() for link in links}
    records = visits.wait_for(lambda record: record.key() in slugs, count=27)
    producer = confluent_kafka.Producer(kafka_settings(env) | {"partitioner": "murmur2_random"})
    for record in records:
        producer.produce(record.topic(), key=record.key(), value=record.value(), headers=record.headers())
        for undecodable in (b"\xff\xff", None):
            producer.produce(record.topic(), key=record.key(), value=undecodable, headers=record.headers())
    assert producer.flush(30) == 0
    last = user.create(tags=["späti"])
    assert visitor.follow(last["slug"]).status == 302
    warehouse.start()
    wait_until(lambda: warehouse.counts(last) == (1, 0), "the visit after the repeats")
    wait_until(lambda: sum(sum(warehouse.counts(link)) for link in links) == 27, "all visits")
    warehouse.stop()
    for link in links:
        stats = user.stats(link["id"])
        assert warehouse.counts(link) == (stats["humans"], stats["bots"])
    columns = {name for _, name, *_ in warehouse.rows("PRAGMA table_info(visits)")}
    assert columns == {field.name for field in messages.VisitEvent.DESCRIPTOR.fields}
    assert warehouse.rows("SELECT tags, status FROM visits WHERE link_id = ?", last["id"]) == [('["späti"]', 302)]


def test_links_are_those_of_the_api(env, user, topic, messages, warehouse):
    records = topic("waymark.links.v1")
    kept, deleted, gone = user.create(title="old"), user.create(), user.create()
    warehouse.start()
    warehouse.wait_until_complete()
    assert user.call("PATCH", f"/api/links/{kept['id']}", {"title": "new"}).status == 200
    assert user.call("DELETE", f"/api/links/{deleted['id']}").status == 204
    assert user.call("DELETE", f"/api/links/{gone['id']}?hard=true").status == 204
    wait_until(lambda: warehouse.link(gone["slug"]) == (None, None, 1), "the purge")
    wait_until(lambda: warehouse.link(kept["slug"]) == ("ACTIVE", "new", 0), "the title")
    wait_until(lambda: warehouse.link(deleted["slug"]) == ("DELETED", "", 0), "the deletion")

    created = records.wait_for(lambda record: record.key() == gone["slug"].encode())[0]
    producer = confluent_kafka.Producer(kafka_settings(env) | {"partitioner": "murmur2_random"})
    producer.produce(created.topic(), key=created.key(), value=created.value(), headers=created.headers())
    producer.produce(created.topic(), key=b"only-a-tombstone")
    assert producer.flush(30) == 0
    wait_until(lambda: warehouse.link("only-a-tombstone") == (None, None, 1), "the tombstone")
    after = user.create()
    wait_until(lambda: warehouse.link(after["slug"]), "a later link")
    warehouse.stop()
    assert warehouse.link(gone["slug"]) == (None, None, 1), "a late record revives no link"

    # Its tombstone came and went while the program was away.
    warehouse.change("INSERT INTO links (slug, seen, version, purged) VALUES ('was-purged-meanwhile', 1, 5, 0)")
    warehouse.start()
    warehouse.wait_until_complete()
    warehouse.stop()
    assert warehouse.link("was-purged-meanwhile") is None
    assert [warehouse.link(link["slug"]) is None for link in (kept, deleted, gone, after)] == [False] * 4


def test_topics_that_were_created_anew_are_noticed(user, visitor, warehouse):
    link = user.create()
    assert visitor.follow(link["slug"]).status == 302
    warehouse.start()
    warehouse.wait_until_complete()
    wait_until(lambda: warehouse.counts(link) == (1, 0), "the visit")
    warehouse.stop()
    warehouse.change("UPDATE topics SET id = 'of-another' WHERE topic = 'waymark.links.v1'")
    warehouse.change("UPDATE offsets SET next = 1000000000")
    warehouse.start()
    assert "waymark.links.v1 was created anew" in warehouse.failure()
    assert warehouse.link(link["slug"]) == ("ACTIVE", "", 0), "nothing is deleted"
    warehouse.start("--new-topics")
    assert visitor.follow(link["slug"]).status == 302
    wait_until(lambda: warehouse.counts(link) == (2, 0), "the next visit")
    warehouse.stop()

    warehouse.change("UPDATE offsets SET next = 1000000000")
    warehouse.start()
    assert "visits are gone before they were read" in warehouse.failure()


def test_without_kafka_it_says_so(tmp_path, warehouse):
    warehouse.env["KAFKA_BROKERS"] = "127.0.0.1:1"
    warehouse.start()
    assert "are KAFKA_BROKERS, user and password right?" in warehouse.failure()
    done = subprocess.run([*python_example.command("warehouse.py")], env=warehouse.env, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "database" in done.stderr
