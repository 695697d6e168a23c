"""410 before 404: links expire every 10 ms and are purged, while the janitors that do it are killed and frozen.

CHAOS_FULL=1 takes the full size; CHAOS_EXPIRY_REQUESTS changes it.
"""

import json
import os
import pathlib
import subprocess
import time
import urllib.request

import pytest
import redis
from harness import BUILD, SEED, size, wait_until
from processes import popen
from promises import FULL
from redirector_harness import RedirectorStack

REQUESTS = int(os.environ.get("CHAOS_EXPIRY_REQUESTS", size(6_000, 1_000_000)))
RATE = size(750, 5000)
EVERY_US = 10_000
WINDOW_S = 1
GRACE_S = 5
LOCK_S = 2
# By then a link is gone: it is marked within a period and a lock, and purged within a grace, a period and a lock more.
AFTER_S = 10
JANITORS = 3
START_S = 120  # longest time between the making of the links and the first visitor
WRONG = ("denied_early", "redirected_late", "gone_early", "came_back", "unanswered")  # expiry_visitors.c


class ExpiryStack(RedirectorStack):
    def up(self):
        variables = {
            "EXPIRY_PERIOD_S": 1,
            "EXPIRY_FIRST_DELAY_S": 0,
            "EXPIRED_GRACE_S": GRACE_S,
            "LOCK_AT_LEAST_S": 0,
            "LOCK_AT_MOST_S": LOCK_S,
            "UNKNOWN_SLUGS_PER_MINUTE": "unlimited",
        }
        settings = [word for name, value in variables.items() for word in ("--set", f"{name}={value}")]
        self.run("up", "--build", self.build, "--tied-to", os.getpid(), "--redirectors", 2, "--janitors", JANITORS, *settings)
        self.run("stop", "consumer-1")
        self.env = self.addresses()
        super().reconnect()
        self.cache = redis.Redis.from_url(self.env["REDIS_URL"])

    def make_links(self, first_us, count):
        with self.store.connection.cursor() as cursor:
            cursor.execute("DELETE FROM links")
            cursor.execute("TRUNCATE link_tombstones, outbox")
            cursor.execute(
                "INSERT INTO links (slug, link_type, original_url, expires_at)"
                " SELECT 'expiring-' || i, 'TEMPORARY', 'https://example.com/' || i,"
                " to_timestamp(0) + (%s + i * %s) * interval '1 us' FROM generate_series(0, %s - 1) i",
                (first_us, EVERY_US, count),
            )
        self.cache.flushall()
        self.restart_redirectors()

    def restart_redirectors(self):
        """They learn of links that did not come through the API only when they fill their filters, at each start."""
        for name in ("redirector-1", "redirector-2"):
            self.kill_and_start(name)
        for url in self.env["REDIRECTOR_OPS_URLS"].replace(",", " ").split():
            wait_until(lambda url=url: "waymark_slug_bloom_filter_is_complete 1" in page(f"{url}/metrics"), "a complete filter")

    def visit(self, requests, rate):
        """Starts visitors of links that have been expiring for as long as visitors ask for them."""
        first_us = time.time_ns() // 1000 - (WINDOW_S + AFTER_S) * 1_000_000
        links = (span_us(requests, rate) + (START_S + WINDOW_S + AFTER_S) * 1_000_000) // EVERY_US
        self.make_links(first_us, links)
        urls = self.env["REDIRECTOR_URLS"].replace(",", " ").split()
        words = {
            "ports": ",".join(url.rpartition(":")[2] for url in urls),
            "connections": 8,
            "first-us": first_us,
            "every-us": EVERY_US,
            "links": links,
            "window-us": WINDOW_S * 1_000_000,
            "after-us": AFTER_S * 1_000_000,
            "requests": requests,
            "rate": rate,
        }
        command = [BUILD / "tests/chaos/expiry_visitors", *(f"--{name}={value}" for name, value in words.items())]
        return popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def janitor_with(self, **variables):
        """One more janitor, with other values of these variables."""
        read = pathlib.Path(f"/proc/{self.pid('janitor-1')}/environ").read_bytes().decode().split("\0")
        environment = dict(pair.split("=", 1) for pair in read if "=" in pair) | {"OPS_PORT": "0", **variables}
        return popen([BUILD / "bin/janitor"], env=environment, stderr=subprocess.DEVNULL)


def page(url):
    with urllib.request.urlopen(url, timeout=300) as answer:
        return answer.read().decode()


def span_us(requests, rate):
    """How long the visitors may take: ten times as long as on an idle machine."""
    return requests * 10_000_000 // rate


def disturb(stack, visitors):
    """Kills and freezes janitors and empties Redis until the visitors end; returns how often it killed and froze.

    The first fault is a kill, so that even a slow machine sees one.
    """
    kills = freezes = 0
    while visitors.poll() is None:
        name = f"janitor-{stack.random.randint(1, JANITORS)}"
        if kills == 0 or stack.random.random() < 0.85:
            stack.run("kill", "-KILL", name)
            stack.run("start", name)
            kills += 1
        else:
            stack.run("kill", "-STOP", name)
            time.sleep(LOCK_S + 0.5)  # longer than its lock is valid
            stack.run("kill", "-CONT", name)
            freezes += 1
        stack.cache.flushall()  # so that PostgreSQL is asked again, also for links that are about to be purged
    return kills, freezes


def result_of(visitors):
    assert visitors.wait(300) == 0
    return json.loads(visitors.stdout.read())


@pytest.fixture(scope="module")
def stack():
    stack = ExpiryStack(BUILD / "stacks" / f"chaos-{os.getpid()}-expiry", BUILD)
    try:
        stack.up()
        yield stack
    finally:
        stack.down()


def test_a_link_is_gone_before_it_is_unknown(stack, record_property, promise):
    visitors = stack.visit(REQUESTS, RATE)
    began = time.monotonic()
    kills, freezes = disturb(stack, visitors)
    took = time.monotonic() - began
    seen = result_of(visitors)
    tombstones = stack.store.ask("SELECT count(*) FROM link_tombstones")
    record_property(
        "did",
        f"{REQUESTS:,} requests over 2 redirectors, a link expires every 10 ms, {JANITORS} janitors killed {kills} times and"
        f" frozen {freezes} times, Redis emptied as often, seed {SEED}",
    )
    for name, count in seen.items():
        record_property(name.replace("_", " "), count)
    record_property("purged", tombstones)
    print(f"\n{seen}; {kills} kills, {freezes} freezes, {tombstones:,} purged, {REQUESTS / took:,.0f} requests/s")
    assert seen["requests"] == REQUESTS
    assert kills > 0
    assert min(seen["redirected"], seen["gone"], seen["denied"]) > 0, "an answer never came up"
    assert {name: seen[name] for name in WRONG} == dict.fromkeys(WRONG, 0)
    promise("503 of requests around the expiry of links", seen["unavailable"], 0)
    wait_until_nothing_expired_is_left(stack)


def wait_until_nothing_expired_is_left(stack):
    due = f"SELECT count(*) FROM links WHERE expires_at < clock_timestamp() - interval '{WINDOW_S + AFTER_S + 2} s'"
    wait_until(lambda: stack.store.ask(due) == 0, "all that has expired to be purged")


@pytest.mark.skipif(not FULL, reason="a control build: make chaos")
def test_control_detects_a_grace_shorter_than_the_window(stack, record_property):
    """Control: a janitor without a grace purges at once, and the visitors detect it."""
    for n in range(1, JANITORS + 1):
        stack.run("stop", f"janitor-{n}")
    stack.run("start", "janitor-1")
    hasty = stack.janitor_with(EXPIRED_GRACE_S="0")
    stack.run("stop", "janitor-1")
    try:
        seen = result_of(stack.visit(5000, 2500))
    finally:
        hasty.kill()
        hasty.wait()
    record_property("did", "the same with a grace of 0 s, nothing killed")
    record_property("denied early", seen["denied_early"])
    print(f"\n{seen}")
    assert seen["denied_early"] > 0
