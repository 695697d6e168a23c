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
from redirector_rig import BUILD, SEED, RedirectorStack, size, wait_until

REQUESTS = int(os.environ.get("CHAOS_EXPIRY_REQUESTS", size(50_000, 1_000_000)))
RATE = 5000
EVERY_US = 10_000
WINDOW_S = 1
GRACE_S = 5
LONGEST_MS = 1000 * (GRACE_S - WINDOW_S)
LOCK_S = 2
AFTER_S = 10  # by then a link is gone: marked after at most a period and a lock, purged a grace, a period and a lock later
JANITORS = 3
UNAVAILABLE_MAX = size(REQUESTS // 1000, 0)  # the sanitizers' build on a busy machine may not find the time to ask
START_S = 30  # from the making of the links to the first visitor, at most
WRONG = ("denied_early", "redirected_late", "gone_early", "came_back", "unanswered")  # expiry_visitors.c


class ExpiryStack(RedirectorStack):
    def up(self):
        variables = {
            "EXPIRY_PERIOD_S": 1,
            "EXPIRY_FIRST_DELAY_S": 0,
            "EXPIRED_GRACE_S": GRACE_S,
            "LOCK_AT_LEAST_S": 0,
            "LOCK_AT_MOST_S": LOCK_S,
            "UNKNOWN_SLUGS_PER_MINUTE": 0,
        }
        settings = [word for name, value in variables.items() for word in ("--set", f"{name}={value}")]
        self.run("up", "--build", self.build, "--tied-to", os.getpid(), "--redirectors", 2, "--janitors", JANITORS, *settings)
        self.run("stop", "consumer-1")
        self.doors = self.addresses()
        super().reconnect()
        self.cache = redis.Redis.from_url(self.doors["REDIS_URL"])

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
        """They hear of links that came past the API only when they fill their filters: at each start."""
        for name in ("redirector-1", "redirector-2"):
            self.kill_and_start(name)
        for url in self.doors["REDIRECTOR_OPS_URLS"].replace(",", " ").split():
            wait_until(lambda url=url: "waymark_slug_bloom_filter_is_complete 1" in page(f"{url}/metrics"), 30, "a complete filter")

    def visit(self, requests, rate):
        """Begins at once; links have been expiring for as long as they are asked for."""
        first_us = time.time_ns() // 1000 - (WINDOW_S + AFTER_S) * 1_000_000
        links = (span_us(requests, rate) + (START_S + WINDOW_S + AFTER_S) * 1_000_000) // EVERY_US
        self.make_links(first_us, links)
        doors = self.doors["REDIRECTOR_URLS"].replace(",", " ").split()
        words = {
            "ports": ",".join(url.rpartition(":")[2] for url in doors),
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
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def janitor_with(self, **variables):
        """One more, configured as the others are but for these."""
        read = pathlib.Path(f"/proc/{self.pid('janitor-1')}/environ").read_bytes().decode().split("\0")
        environment = dict(pair.split("=", 1) for pair in read if "=" in pair) | {"OPS_PORT": "0", **variables}
        return subprocess.Popen([BUILD / "bin/janitor"], env=environment, stderr=subprocess.DEVNULL)


def page(url):
    with urllib.request.urlopen(url, timeout=10) as answer:
        return answer.read().decode()


def span_us(requests, rate):
    """As long as it takes, and half as long again: a busy machine is slower than that."""
    return requests * 1_500_000 // rate


def disturb(stack, visitors):
    """Until the visitors have ended: kills and freezes janitors, empties Redis. Gives how often it did each."""
    kills = freezes = 0
    while visitors.poll() is None:
        name = f"janitor-{stack.random.randint(1, JANITORS)}"
        if stack.random.random() < 0.85:
            stack.run("kill", "-KILL", name)
            stack.run("start", name)
            kills += 1
        else:
            stack.run("kill", "-STOP", name)
            time.sleep(LOCK_S + 0.5)  # the act itself: beyond the time of its lock
            stack.run("kill", "-CONT", name)
            freezes += 1
        stack.cache.flushall()  # PostgreSQL is asked again, also for what is going to be gone
    return kills, freezes


def result_of(visitors):
    """Its standard input stays open until then: it ends when that ends."""
    assert visitors.wait(60) == 0
    return json.loads(visitors.stdout.read())


@pytest.fixture(scope="module")
def stack():
    stack = ExpiryStack(BUILD / "stacks" / f"chaos-{os.getpid()}-expiry", BUILD)
    try:
        stack.up()
        yield stack
    finally:
        stack.down()


def test_a_link_is_gone_before_it_is_unknown(stack, record_property):
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
    assert seen["longest_ms"] <= LONGEST_MS, "the grace was too short for requests as long as these: nothing is proven"
    assert kills > 0
    assert min(seen["redirected"], seen["gone"], seen["denied"]) > REQUESTS / 50, "some of the answers hardly came up"
    assert {name: seen[name] for name in WRONG} == dict.fromkeys(WRONG, 0)
    assert seen["unavailable"] <= UNAVAILABLE_MAX
    wait_until_nothing_expired_is_left(stack)


def wait_until_nothing_expired_is_left(stack):
    due = f"SELECT count(*) FROM links WHERE expires_at < clock_timestamp() - interval '{WINDOW_S + AFTER_S + 2} s'"
    wait_until(lambda: stack.store.ask(due) == 0, 30, "all that has expired to be purged")


def test_a_grace_shorter_than_the_window_is_noticed(stack, record_property):
    """The same with a janitor that purges at once: the visitors must see it, or they see nothing."""
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
