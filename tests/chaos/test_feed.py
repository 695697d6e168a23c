"""Redirectors that follow the topic of link events: how soon a change is seen, and what a flood of invented slugs costs."""

import concurrent.futures
import http.client
import os
import time
import urllib.parse

import pytest
import redis
from redirector_rig import BUILD, RedirectorStack, percentile, size, wait_until

from clients import Api, ask, unique_email

CHANGES = size(100, 200)
HITS_RATE = 500
HOT_SLUGS = 200
FLOOD_RATE = int(os.environ.get("CHAOS_FLOOD_RATE", "5000"))
FLOOD_S = size(4, 30)
# Each invented slug waits for the feed, about a third of a second.
FLOOD_CONNECTIONS = 4000
QUERIES_PER_S = 50
# The sanitizers' build beside two clickers and a Kafka on two cores tells little of a millisecond.
SLACK_MS = size(25, 1)


@pytest.fixture(scope="module")
def stack(request):
    stack = RedirectorStack(BUILD / "stacks" / f"chaos-{os.getpid()}-feed", BUILD)
    try:
        stack.up(redirectors=2, idle=("consumer-1", "janitor-1"), LINKS_PER_DAY=0)
        yield stack
    finally:
        stack.down()


@pytest.fixture(scope="module")
def user(stack):
    user = Api(stack.doors["LINKS_API_URL"])
    user.register_and_login(unique_email())
    return user


class Follower:
    """Follows one slug over one connection."""

    def __init__(self, base):
        url = urllib.parse.urlsplit(base)
        self.connection = http.client.HTTPConnection(url.hostname, url.port, timeout=15)

    def follow(self, slug):
        self.connection.request("GET", f"/{slug}")
        response = self.connection.getresponse()
        response.read()
        return response.status, response.getheader("Location")

    def seconds_until(self, slug, target, since):
        while True:
            answer = self.follow(slug)
            now = time.monotonic()
            if answer == (302, target):
                return now - since
            assert now - since < 10, f"{slug} still leads to {answer}"


def test_a_change_is_followed_within_a_second(stack, user, record_property):
    followers = [Follower(url) for url in stack.doors["REDIRECTOR_URLS"].replace(",", " ").split()]
    assert len(followers) == 2
    wait_until(lambda: stack.metrics()["waymark_feed_is_fresh"] == 1, 30, "a fresh feed")
    link = user.create("https://example.com/0")
    seconds = []
    with concurrent.futures.ThreadPoolExecutor(len(followers)) as pool:
        for i in range(1, CHANGES + 1):
            for follower in followers:
                assert follower.follow(link["slug"])[0] == 302
            target = f"https://example.com/{i}"
            assert user.call("PATCH", f"/api/links/{link['id']}", {"original_url": target}).status == 200
            acknowledged = time.monotonic()
            waits = [pool.submit(f.seconds_until, link["slug"], target, acknowledged) for f in followers]
            seconds += [wait.result() for wait in waits]
    p50, p99 = (percentile(seconds, percent) * 1000 for percent in (50, 99))
    print(f"{CHANGES} changes, 2 redirectors: seen after p50 {p50:.1f} ms, p99 {p99:.1f} ms, "
          f"at most {max(seconds) * 1000:.1f} ms")  # fmt: skip
    record_property("did", f"{CHANGES} changes followed over two redirectors, nothing broken")
    record_property("seen after", f"p50 {p50:.1f} ms, p99 {p99:.1f} ms, at most {max(seconds) * 1000:.1f} ms")
    assert max(seconds) <= 1


def create_and_follow(stack, user, until):
    """Links that are followed right after their 201; every other one is forgotten by Redis first. Gives their number."""
    cache = redis.Redis.from_url(stack.doors["REDIS_URL"])
    created = 0
    while time.monotonic() < until:
        slug = user.create(f"https://example.com/{created}")["slug"]
        if created % 2:
            cache.delete(f"link:{slug}")
        status = ask(stack.doors["REDIRECTOR_URL"], "GET", f"/{slug}").status
        assert status == 302, f"{slug} was created and is answered {status}"
        created += 1
    return created


def test_a_flood_of_invented_slugs_reaches_nobody(stack, user, record_property):
    stack.make_links("hot", HOT_SLUGS)
    hits = stack.clicker("hits", connections=16, rate=HITS_RATE, slug="hot", slugs=HOT_SLUGS)
    hits.wait_for_rows(4 * HOT_SLUGS)
    # The links above came past the API, so the filter hears of them only when it is filled: as at each start.
    stack.run("kill", "-KILL", "redirector-1")
    stack.run("start", "redirector-1")
    wait_until(lambda: stack.metrics()["waymark_slug_bloom_filter_is_complete"] == 1, 30, "a complete filter")
    create_and_follow(stack, user, time.monotonic() + 1)
    hits.wait_for_rows(2 * HITS_RATE)
    before = time.monotonic(), time.monotonic() + FLOOD_S
    wait_until(lambda: time.monotonic() >= before[1], FLOOD_S + 5, "the quiet time to pass")

    stack.log_statements()
    queries, look_ups = stack.queries_of_redirectors(), stack.look_ups_of_redirectors()
    asked = stack.metrics()
    flood = stack.clicker("flood", connections=FLOOD_CONNECTIONS, rate=FLOOD_RATE, slug="invented", slugs=1_000_000_000)
    flood.wait_for_rows(FLOOD_RATE)
    began = time.monotonic()
    created = create_and_follow(stack, user, began + FLOOD_S)
    ended = time.monotonic()
    log, hit_log = flood.stop(), hits.stop()
    answered = stack.metrics()
    queries = stack.queries_of_redirectors() - queries
    look_ups = stack.look_ups_of_redirectors() - look_ups
    by_metric = sum(
        answered[f'waymark_link_lookups_total{{level="{level}"}}'] - asked[f'waymark_link_lookups_total{{level="{level}"}}']
        for level in ("postgres",)
    )
    flooding_s = (max(log.ended_us) - min(log.ended_us)) / 1e6
    denied = answered["waymark_unknown_slugs_denied_total"] - asked["waymark_unknown_slugs_denied_total"]
    p99 = [hit_log.typical_p99_ms(*span) for span in (before, (began, ended))]
    record_property("did", f"{len(log) / flooding_s:,.0f} invented slugs/s for {flooding_s:.0f} s beside hits")
    record_property("queries", f"{queries / flooding_s:.1f}/s in PostgreSQL's log, {by_metric / flooding_s:.1f}/s by metric")
    record_property("hit p99 before, meanwhile", " → ".join(f"{ms:.2f}" for ms in p99) + " ms")
    record_property("created and followed", f"{created}")
    print(f"{len(log)} invented slugs in {flooding_s:.1f} s ({len(log) / flooding_s:.0f}/s): {dict(log.counts())}, "
          f"{denied:.0f} by the filter; queries {queries} ({queries / flooding_s:.1f}/s), by metric {by_metric:.0f}; "
          f"hit p99 {p99[0]:.2f} → {p99[1]:.2f} ms; flood p50/p99 {percentile(log._latencies_ms(0, 9e9), 50):.0f}/"
          f"{percentile(log._latencies_ms(0, 9e9), 99):.0f} ms; {created} links created and followed")  # fmt: skip
    assert set(hit_log.counts(began, ended)) == {302}
    assert set(log.counts()) == {404}
    assert created > 10
    assert queries <= QUERIES_PER_S * flooding_s
    assert look_ups <= queries and abs(look_ups - by_metric) <= 0.2 * look_ups + 20, "the metric and PostgreSQL's log differ"
    assert p99[1] <= max(1.2 * p99[0], p99[0] + SLACK_MS)
