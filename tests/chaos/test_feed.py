"""Redirectors that follow the topic of link events: how soon a change is seen, and the cost of a flood of unknown slugs."""

import concurrent.futures
import http.client
import os
import time
import urllib.parse

import pytest
import redis
from clients import Api, ask, unique_email
from harness import FULL, assert_answers, observe, size, wait_until
from redirector_harness import percentile

CHANGES = size(20, 200)
HITS_RATE = size(200, 500)
HOT_SLUGS = 200
FLOOD_RATE = int(os.environ.get("CHAOS_FLOOD_RATE", size(1500, 5000)))
FLOOD_S = size(1, 30)
CREATED_MIN = 10  # links that are created and followed beside the flood
# Each unknown slug waits for the feed, about a third of a second.
FLOOD_CONNECTIONS = size(1000, 4000)
SEEN_S = 1
QUERIES_PER_S = 50
LOOKUP_SHARE = 0.1  # About one unknown slug in a hundred passes the filter.
DENIED = "waymark_unknown_slugs_denied_total"


@pytest.fixture(scope="module")
def stack(redirectors):
    return redirectors


@pytest.fixture(scope="module")
def user(stack):
    user = Api(stack.env["LINKS_API_URL"])
    user.register_and_login(unique_email())
    return user


class Follower:
    """Follows one slug over one connection."""

    def __init__(self, base):
        url = urllib.parse.urlsplit(base)
        self.connection = http.client.HTTPConnection(url.hostname, url.port, timeout=300)

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
            assert now - since < 300, f"{slug} still leads to {answer}"


def test_every_change_reaches_every_redirector(stack, user, record_property, promise):
    """Their memory is valid for an hour: only the feed informs them of a change."""
    followers = [Follower(url) for url in stack.env["REDIRECTOR_URLS"].replace(",", " ").split()]
    assert len(followers) == 2
    wait_until(lambda: stack.metrics()["waymark_feed_is_fresh"] == 1, "a fresh feed")
    link = user.create("https://example.com/0")
    seconds = []
    with concurrent.futures.ThreadPoolExecutor(len(followers)) as pool:
        for i in range(1, CHANGES + 1):
            for follower in followers:
                assert follower.follow(link["slug"])[0] in size((302, 503), (302,))
            target = f"https://example.com/{i}"
            assert user.call("PATCH", f"/api/links/{link['id']}", {"original_url": target}).status == 200
            acknowledged = time.monotonic()
            waits = [pool.submit(f.seconds_until, link["slug"], target, acknowledged) for f in followers]
            seconds += [wait.result() for wait in waits]
    p50, p99 = (percentile(seconds, percent) * 1000 for percent in (50, 99))
    record_property("did", f"{CHANGES} changes followed over two redirectors, nothing broken")
    record_property("seen after", f"p50 {p50:.1f} ms, p99 {p99:.1f} ms, at most {max(seconds) * 1000:.1f} ms")
    promise("a change is seen by every redirector after", max(seconds), SEEN_S, "s")


def create_and_follow(stack, user, until):
    """Creates links and follows each at once, until until(count) is true. Every other link is first removed from Redis."""
    cache = redis.Redis.from_url(stack.env["REDIS_URL"])
    created = 0
    while not until(created):
        slug = user.create(f"https://example.com/{created}")["slug"]
        if created % 2:
            cache.delete(f"link:{slug.lower()}")
        status = first_answer(stack, slug)
        assert status == 302, f"{slug} was created and is answered {status}"
        created += 1
    return created


def first_answer(stack, slug):
    """The status of a new slug. In the short form 503, a timeout of the stores, is asked again."""
    deadline = time.monotonic() + 300
    while True:
        status = ask(stack.env["REDIRECTOR_URL"], "GET", f"/{slug}").status
        if FULL or status != 503 or time.monotonic() > deadline:
            return status


def test_a_flood_of_unknown_slugs_reaches_no_store(stack, user, record_property, promise):
    stack.make_links("hot", HOT_SLUGS)
    hits = stack.visitors("hits", connections=16, rate=HITS_RATE, slug="hot", slugs=HOT_SLUGS)
    hits.wait_for_rows(2 * HOT_SLUGS)
    # The links above did not come through the API: the filter learns of them only when it is filled, at a start.
    stack.kill_and_start("redirector-1")
    wait_until(lambda: stack.metrics()["waymark_slug_bloom_filter_is_complete"] == 1, "a complete filter")
    create_and_follow(stack, user, lambda created: created >= 4)
    hits.wait_for_rows(2 * HOT_SLUGS)
    before = observe(FLOOD_S) if FULL else None

    stack.log_statements()
    queries, lookups = stack.queries_of_redirectors(), stack.lookups_of_redirectors()
    asked = stack.metrics()
    flood = stack.visitors("flood", connections=FLOOD_CONNECTIONS, rate=FLOOD_RATE, slug="invented", slugs=1_000_000_000)
    flood.wait_for_rows(FLOOD_RATE)
    began = time.monotonic()

    def is_long_enough(created):
        """The filter denies nothing while its feed is late, so on a busy machine a number that it denies may take longer."""
        seconds = time.monotonic() - began
        if created < CREATED_MIN or seconds < FLOOD_S:
            return False
        denied = stack.metrics()[DENIED] - asked[DENIED]
        assert denied >= FLOOD_RATE or seconds < FLOOD_S + 60, f"only {denied:.0f} denied by the filter in {seconds:.0f} s"
        return denied >= FLOOD_RATE

    created = create_and_follow(stack, user, is_long_enough)
    ended = time.monotonic()
    log, hit_log = flood.stop(), hits.stop()
    answered = stack.metrics()
    queries = stack.queries_of_redirectors() - queries
    lookups = stack.lookups_of_redirectors() - lookups
    by_postgres = 'waymark_link_lookups_total{level="postgres"}'
    by_metric = answered[by_postgres] - asked[by_postgres]
    flooding_s = (max(log.ended_us) - min(log.ended_us)) / 1e6
    denied = answered[DENIED] - asked[DENIED]
    record_property("did", f"{len(log) / flooding_s:,.0f} unknown slugs/s for {flooding_s:.0f} s beside hits")
    record_property("queries", f"{queries / flooding_s:.1f}/s in PostgreSQL's log, {by_metric / flooding_s:.1f}/s by metric")
    record_property("denied by the filter", int(denied))
    record_property("created and followed", created)
    print(f"{len(log)} unknown slugs in {flooding_s:.1f} s: {dict(log.counts())}, {denied:.0f} denied by the filter; "
          f"queries {queries}, lookups {lookups}, by metric {by_metric:.0f}; {created} created and followed")  # fmt: skip
    assert_answers(hit_log.counts(began, ended), 302)
    assert_answers(log.counts(), 404)
    assert lookups <= queries
    assert lookups <= created + len(log) - denied + FLOOD_CONNECTIONS, "denied slugs were looked up"
    promise("queries during a flood of unknown slugs", queries / flooding_s, QUERIES_PER_S, "/s")
    if FULL:
        assert lookups <= created + LOOKUP_SHARE * len(log)
        assert abs(lookups - by_metric) <= 0.2 * lookups + 20, "the metric and PostgreSQL's log differ"
        p99 = [hit_log.typical_p99_ms(*span) for span in (before, (began, ended))]
        record_property("hit p99 before, meanwhile", " → ".join(f"{ms:.2f}" for ms in p99) + " ms")
        promise("p99 of hits during a flood of unknown slugs", p99[1], max(1.2 * p99[0], p99[0] + 1), "ms")
