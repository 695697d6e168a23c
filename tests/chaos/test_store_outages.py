"""Visitors while Redis or PostgreSQL is stopped, frozen or cold. Without the feed, links are looked up every second.

CHAOS_FULL=1 takes the full sizes; CHAOS_RATE changes the load.
"""

import json
import os
import pathlib
import time

import psycopg2
import pytest
import redis
from clients import ask
from haproxy import HAProxy
from harness import FULL, assert_answers, observe, size, wait_until
from redirector_harness import Events, Visitors, redirector_stack
from stacklib.ports import Ports

RATE = int(os.environ.get("CHAOS_RATE", size(400, 2000)))
OUTAGE_S = size(2, 60)
STAMPEDE = size(1000, 10_000)
CONNECTIONS = 64
SLUGS = 400
HOT_SLUGS = size(500, 5000)
P99_MS = 50
BY_POSTGRES = 'waymark_link_lookups_total{level="postgres"}'


@pytest.fixture(scope="module")
def stack(request):
    with redirector_stack("stores", request.session, HTTP_CONNECTIONS=STAMPEDE + 2000, LINK_FEED_TOPIC="none") as stack:
        yield stack


def test_redis_may_stop_freeze_and_return(stack, record_property, promise):
    record_property("did", f"Redis stopped for {OUTAGE_S} s, back, frozen for as long, at {RATE // 2:,} req/s")
    stack.make_links("redis", SLUGS)
    visitors = stack.visitors("redis", connections=CONNECTIONS, rate=RATE // 2, slug="redis", slugs=SLUGS)
    visitors.wait_for_rows(2 * SLUGS)
    spans = {"before": observe(OUTAGE_S)} if FULL else {}
    asked = stack.metrics()[BY_POSTGRES]
    stopping_at = time.monotonic()
    stack.run("stop", "redis")
    spans["stopped"] = stopping_at, observe(OUTAGE_S)[1]
    wait_until(lambda: stack.metrics()[BY_POSTGRES] > asked, "a lookup that goes to PostgreSQL instead")
    stack.run("start", "redis")
    spans["back"] = observe(OUTAGE_S / 2)
    freezing_at = time.monotonic()
    stack.run("kill", "-STOP", "redis")
    spans["frozen"] = freezing_at, observe(OUTAGE_S)[1]
    stack.run("kill", "-CONT", "redis")
    spans["thawed"] = observe(OUTAGE_S / 2)
    log = visitors.stop()
    record_property("answered", len(log))
    record_property("errors", len(log) - log.counts()[302])
    for name in ("stopped", "frozen"):
        assert_answers(log.counts(*spans[name]), 302)
    assert_answers(log.counts(), 302)
    if FULL:
        p99 = {name: log.p99_ms(*span) for name, span in spans.items()}
        record_property("p99", ", ".join(f"{phase} {ms:.1f}" for phase, ms in p99.items()) + " ms")
        promise("p99 while Redis is stopped", p99["stopped"], P99_MS, "ms")
        promise("p99 while Redis is frozen", p99["frozen"], P99_MS, "ms")


def answers_from_redis(stack, visitors):
    """Redis holds the links. On a busy machine it is late for a few answers, which PostgreSQL gives then."""
    before = stack.metrics()[BY_POSTGRES]
    visitors.wait_for_rows(RATE // 2)
    return stack.metrics()[BY_POSTGRES] - before < RATE // 20


def test_a_cache_that_is_all_old_at_once_costs_a_query_per_link(stack, record_property, promise):
    record_property("did", f"everything in Redis declared old at {RATE:,} req/s on {HOT_SLUGS:,} links")
    stack.make_links("hot", HOT_SLUGS)
    visitors = stack.visitors("hot", connections=CONNECTIONS, rate=RATE, slug="hot", slugs=HOT_SLUGS)
    generation = "waymark_link_cache_generation"
    wait_until(lambda: answers_from_redis(stack, visitors), "Redis to hold the links")
    warm = observe(OUTAGE_S / 2) if FULL else None
    asked, before = stack.metrics()[BY_POSTGRES], stack.metrics()[generation]
    raising_at = time.monotonic()
    with redis.Redis.from_url(stack.env["REDIS_URL"]) as cache:
        # The relay raises the generation above the one that it finds there.
        _, server, heartbeat = cache.get("link_cache:generation").split()
        cache.set("link_cache:generation", b"%d %s %s" % (before + 1, server, heartbeat))
    wait_until(lambda: stack.metrics()[generation] > before + 1, "another generation")
    wait_until(lambda: stack.metrics()[BY_POSTGRES] > asked + HOT_SLUGS / 2, "links to be looked up in PostgreSQL")
    wait_until(lambda: answers_from_redis(stack, visitors), "Redis to hold the links again")
    cold = raising_at, time.monotonic()
    queries = stack.metrics()[BY_POSTGRES] - asked
    log = visitors.stop()
    record_property("answered", len(log))
    record_property("errors", len(log) - log.counts()[302])
    record_property("cold for", f"{cold[1] - cold[0]:.1f} s")
    record_property("lookups in PostgreSQL", int(queries))
    assert_answers(log.counts(), 302)
    # Twice: Redis is neither read nor filled until the new generation has been announced twice.
    promise("lookups in PostgreSQL per link", queries / HOT_SLUGS, 2)
    if FULL:
        p99 = [log.p99_ms(*span) for span in (warm, cold)]
        record_property("p99", f"warm {p99[0]:.1f}, cold {p99[1]:.1f} ms")
        promise("p99 while all of Redis is old", p99[1], P99_MS, "ms")


def test_without_postgres_cached_links_redirect_and_the_others_are_503(stack, record_property):
    record_property("did", f"PostgreSQL stopped for {OUTAGE_S} s at {RATE // 4:,} req/s")
    stack.make_links("cached", SLUGS)
    stack.make_links("cold", 20)
    stack.warm("cached", SLUGS)
    url = stack.env["REDIRECTOR_URL"]
    visitors = stack.visitors("postgres", connections=CONNECTIONS, rate=RATE // 4, slug="cached", slugs=SLUGS)
    visitors.wait_for_rows(2 * SLUGS)
    begin = time.monotonic()
    stack.run("stop", "postgres")
    stack.store.connection.close()
    others = [ask(url, "GET", f"/{slug}") for slug in (*(f"cold-{n}" for n in range(20)), "never-issued")]
    without = begin, observe(OUTAGE_S)[1]
    stack.run("start", "postgres")
    wait_until(lambda: ask(url, "GET", "/cold-0").status == 302, "a cold link to redirect again")
    log = visitors.stop()
    stack.reconnect()
    record_property("answered", len(log))
    record_property("errors", len(log) - log.counts()[302])
    record_property("p99", f"{log.typical_p99_ms(*without):.1f} ms")
    record_property("cold", f"{sum(answer.status == 503 for answer in others)} of {len(others)} × 503")
    assert_answers(log.counts(), 302)
    assert_answers(log.counts(*without), 302)
    assert {answer.status for answer in others} == {503}
    assert all(int(answer.headers["retry-after"]) >= 1 for answer in others)
    wait_until(lambda: ask(url, "GET", "/never-issued").status == 404, "404 for an unknown slug")


def test_without_postgres_and_redis_cached_links_redirect_through_a_proxy_that_follows_readyz(stack, record_property):
    record_property("did", f"PostgreSQL and Redis stopped for {OUTAGE_S} s at {RATE // 4:,} req/s behind HAProxy")
    stack.make_links("memory", SLUGS)
    stack.warm("memory", SLUGS)
    folder = pathlib.Path(stack.state)
    ports = [int(stack.env[name].rpartition(":")[2]) for name in ("REDIRECTOR_URL", "REDIRECTOR_OPS_URL")]
    proxy = HAProxy(folder, {"redirectors": [("redirector-1", *ports)]}, Ports())
    try:
        options = {"connections": CONNECTIONS, "rate": RATE // 4, "slug": "memory", "slugs": SLUGS}
        visitors = Visitors(folder, proxy.url("redirectors", "http").rpartition(":")[2], "memory", "follow", **options)
        stack.visitor_processes.append(visitors)
        visitors.wait_for_rows(2 * SLUGS)
        begin = time.monotonic()
        stack.run("stop", "redis")
        stack.run("stop", "postgres")
        stack.store.connection.close()
        wait_until(lambda: "degraded" in stack.readiness()[1], "/readyz to say degraded")
        status, body = stack.readiness()
        degraded = stack.metrics()["waymark_degraded"]
        without = begin, observe(OUTAGE_S)[1]
        visitors.wait_for_rows(2 * SLUGS)
        assert proxy.is_whole(), "HAProxy withdrew the redirector"
        stack.run("start", "postgres")
        stack.run("start", "redis")
        wait_until(lambda: json.loads(stack.readiness()[1])["status"] == "ready", "the redirector to be ready")
        log = visitors.stop()
    finally:
        proxy.stop()
    stack.reconnect()
    record_property("answered", len(log))
    record_property("errors", len(log) - log.counts()[302])
    said = json.loads(body)
    assert (status, said["status"], said["failing"]) == (200, "degraded", ["postgres_or_redis"])
    assert degraded == 1
    assert_answers(log.counts(*without), 302)
    assert_answers(log.counts(), 302)


def test_a_stampede_on_a_cold_link_costs_one_query(stack, batch_type, record_property):
    record_property("did", f"{STAMPEDE:,} visitors at once on a link in no cache, PostgreSQL slow")
    stack.make_links("stampede", 1)
    stack.wait_until_redis_is_trusted()
    stack.log_statements()
    visitors = stack.visitors("stampede", "burst", connections=STAMPEDE, slug="stampede-0")
    visitors.wait_until_open()
    with psycopg2.connect(stack.env["ADMIN_PG_URL"]) as blocker, blocker.cursor() as cursor:
        cursor.execute("LOCK TABLE links IN ACCESS EXCLUSIVE MODE")
        visitors.fire()
        wait_until(lambda: lookups_that_wait(stack) > 0, "a lookup that waits for the lock")
        looked_until = time.monotonic() + 0.3  # less than the timeout of a lookup
        most_at_once = lookups_that_wait(stack)
        while time.monotonic() < looked_until:
            most_at_once = max(most_at_once, lookups_that_wait(stack))
    log = visitors.wait()
    queries = stack.queries_for("stampede-0")
    record_property("answered", len(log.redirected()))
    record_property("queries", queries)
    record_property("at once", most_at_once)
    stack.wait_until_shipped()
    events = Events(stack.env["KAFKA_BROKERS"], batch_type)
    assert_answers(log.counts(), 302)
    assert most_at_once == 1
    assert queries <= size(STAMPEDE / 100, 1)
    assert len(events.ids["stampede"]) == len(log.redirected())


def lookups_that_wait(stack):
    """Lookups of redirectors that wait for a lock right now."""
    return stack.store.ask(
        "SELECT count(*) FROM pg_stat_activity"
        " WHERE usename = 'redirector' AND wait_event_type = 'Lock' AND query LIKE '%%ON slug_key = wanted'"
    )
