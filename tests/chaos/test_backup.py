"""The database is restored from a dump that was made under load, and counting goes on from the dump's offsets.

Then Kafka is lost as well, which the services report. The steps are the operator's (docs/recovery.md).
"""

import json
import os
import shutil
import subprocess
import urllib.error
import urllib.request

import psycopg2
import pytest
from harness import ROOT, size, wait_until
from rolling_harness import REPLICAS, Fleet
from stacklib import paths
from stacklib.postgres import LOGINS
from topics import REDIRECTS, ends, read_all

ANSWERS = size(1500, 20_000)  # before the copy, between copy and loss, and after


@pytest.fixture
def fleet(request):
    made = Fleet("backup")
    try:
        made.up()
        yield made
    finally:
        made.down(getattr(request.node, "passed", False))


def backup(fleet, *words):
    command = [ROOT / "tools/backup", *words]
    environment = {**os.environ, "PG_URL": fleet.env["ADMIN_PG_URL"]}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def counted_clicks(fleet, answers):
    """Runs the load for so many answers; none may fail."""
    fleet.ask_everywhere()
    fleet.wait_for_answers(answers)
    return end_of_load(fleet)


def end_of_load(fleet):
    outcome = fleet.stop_asking()
    outcome.assert_none_failed()
    return outcome


def lose_postgres(fleet):
    """Starts a new PostgreSQL in its place, without the database and its roles."""
    fleet.run("down")
    shutil.rmtree(fleet.folder / "postgres")
    fleet.run("up", "--services", "none", "--build", fleet.build, "--tied-to", os.getpid())
    fleet.env = fleet.addresses()
    server = psycopg2.connect(fleet.env["ADMIN_PG_URL"].rpartition("/")[0] + "/postgres")
    server.autocommit = True
    with server.cursor() as cursor:
        cursor.execute("DROP DATABASE waymark WITH (FORCE)")
        for role in (*LOGINS, *LOGINS.values()):
            cursor.execute(f"DROP ROLE {role}")
    server.close()


def assert_has_no_salts(copy):
    assert copy.stat().st_mode & 0o077 == 0, "others may read the copy"
    rows = ["pg_restore", "--data-only", "--table", "visitor_salts", "--file", "-", copy]
    assert "COPY" not in subprocess.run(rows, capture_output=True, text=True, check=True).stdout
    links = ["pg_restore", "--data-only", "--table", "links", "--file", "-", copy]
    assert "COPY public.links" in subprocess.run(links, capture_output=True, text=True, check=True).stdout


def test_counts_go_on_exactly_from_the_offsets_of_a_copy(fleet, record_property):
    copy = fleet.folder / "copy"
    fleet.ask_everywhere()
    fleet.wait_for_answers(ANSWERS)
    backup(fleet, "dump", copy)
    fleet.wait_for_answers(ANSWERS)
    before = end_of_load(fleet)
    fleet.assert_counted(before.redirects())
    assert_has_no_salts(copy)
    stored_after_the_copy = sum(ends(fleet.env["KAFKA_BROKERS"], REDIRECTS).values())

    lose_postgres(fleet)
    printed = backup(fleet, "restore", copy)
    restored = fleet.ledger.counted()
    assert 0 < restored < before.redirects() + fleet.warmed, "the copy was not made under load"
    assert printed.count(f"{REDIRECTS} ") == len(ends(fleet.env["KAFKA_BROKERS"], REDIRECTS)), printed
    fleet.run("down")
    fleet.start()
    fleet.assert_counted(before.redirects())

    after = counted_clicks(fleet, ANSWERS)
    fleet.assert_counted(before.redirects() + after.redirects())
    given = max(link["id"] for link in before.links)
    assert min(link["id"] for link in after.links) > given, "ids that events name are given again"
    ids = ",".join(str(link["id"]) for link in after.links)
    visits = fleet.ledger.rows(f"SELECT DISTINCT visit_count + bot_count FROM link_statistics WHERE link_id IN ({ids})")
    assert visits == [(1,)], "each new link was followed once"

    record_property("did", "pg_dump under load, PostgreSQL lost, restored on a new server; Kafka goes on")
    record_property("clicks in the copy", restored)
    record_property("counted again from Kafka", stored_after_the_copy - restored)
    record_property("clicks after it", after.redirects())
    record_property("lost", 0)
    record_property("counted twice", 0)


def readiness(url):
    try:
        with urllib.request.urlopen(url + "/readyz", timeout=300) as answer:
            return answer.status, json.load(answer)["failing"]
    except urllib.error.HTTPError as answer:
        return answer.code, json.load(answer)["failing"]
    except OSError:
        return 0, []


def lose_kafka(fleet):
    """Loses all topics as well, which are made again."""
    fleet.run("stop", "kafka")
    shutil.rmtree(fleet.folder / "kafka/data")
    fleet.run("start", "kafka")
    environment = {**os.environ, "KAFKA_BROKERS": fleet.env["KAFKA_BROKERS"], "TOPICS_FILE": paths.TOPICS}
    command = [paths.program(fleet.build, "waymark-topics")]
    wait_until(lambda: subprocess.run(command, env=environment, capture_output=True, check=False).returncode == 0, "the topics")


def republish_links(fleet):
    environment = {**os.environ, **fleet.env, "PG_URL": fleet.env["ADMIN_PG_URL"]}
    command = [paths.program(fleet.build, "links-api"), "--republish-links"]
    return subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, timeout=300, check=True).stdout


def published_links(fleet):
    """The slugs of all records on the topic of links."""
    return {record.key().decode() for record in read_all(fleet.env["KAFKA_BROKERS"], "waymark.links.v1")}


def test_a_lost_kafka_is_reported_and_counting_goes_on_with_the_new_one(fleet, record_property):
    consumers = [f"consumer-{n}" for n in range(1, REPLICAS + 1)]
    before = counted_clicks(fleet, ANSWERS).redirects()
    fleet.assert_counted(before)

    lose_kafka(fleet)
    urls = fleet.env["CONSUMER_OPS_URLS"].split()
    wait_until(lambda: any("partitions" in readiness(url)[1] for url in urls), "a consumer to report that partitions are halted")
    logs = "".join((fleet.folder / f"logs/{name}.log").read_text(errors="replace") for name in consumers)
    assert "partition_halted" in logs

    for name in consumers:  # Kafka has lost their group, so not each ends by itself (docs/recovery.md)
        fleet.run("kill", "-KILL", name)
    assert "partitions are counted from their beginning" in backup(fleet, "kafka-lost")
    after = counted_clicks(fleet, ANSWERS).redirects()
    for name in consumers:
        fleet.run("start", name)
    fleet.wait_until_whole()
    fleet.assert_counted(before + after)
    links = fleet.ledger.rows("SELECT slug FROM links")
    assert len(published_links(fleet)) < len(links), "the new topic has only links that changed since"
    assert republish_links(fleet) == f"links-api: Kafka has all {len(links)} links again\n"
    assert published_links(fleet) == {slug for (slug,) in links}

    record_property("did", "Kafka lost with all topics after everything was counted; kafka-lost while the consumers were stopped")
    record_property("clicks before", before)
    record_property("clicks after", after)
    record_property("lost", 0)
    record_property("counted twice", 0)
