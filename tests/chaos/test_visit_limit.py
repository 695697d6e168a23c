"""A link with max_visits lets in as many people and never one more, over four redirectors, whatever is killed.

CHAOS_FULL=1 takes the full sizes; CHAOS_LIMIT_RUNS and CHAOS_LIMIT_REQUESTS change single ones.
"""

import asyncio
import collections
import os
import random
import urllib.request

import psycopg2
import pytest
from clients import CHROME, GOOGLEBOT, Visitor
from harness import SEED, size, wait_until

LIMIT = 100
RUNS = int(os.environ.get("CHAOS_LIMIT_RUNS", size(1, 10)))
REQUESTS = int(os.environ.get("CHAOS_LIMIT_REQUESTS", size(1500, 10_000)))
CONNECTIONS = 64  # of each redirector
KILLS = size(2, 6)
TAKEN, USED_UP, UNKNOWN, NO_ANSWER = 302, 410, 503, 0


class Crowd:
    """People and bots, as many of each, who ask for one link at all redirectors at once."""

    def __init__(self, urls, slug, requests):
        self.ports = [int(url.rpartition(":")[2]) for url in urls]
        self.slug = slug
        chosen = random.Random(f"{SEED}-{slug}")
        self.waiting = ["people"] * (requests // 2) + ["bots"] * (requests - requests // 2)
        chosen.shuffle(self.waiting)
        self.requests = requests
        self.answers = {"people": collections.Counter(), "bots": collections.Counter()}

    def ended(self):
        return sum(sum(counts.values()) for counts in self.answers.values())

    async def _ask(self, reader, writer, who):
        agent = CHROME if who == "people" else GOOGLEBOT
        writer.write(f"GET /{self.slug} HTTP/1.1\r\nHost: sho.rt\r\nAccept: text/html\r\nUser-Agent: {agent}\r\n\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        lines = head.decode("latin-1").lower().split("\r\n")
        length = next((int(line.split(":")[1]) for line in lines if line.startswith("content-length:")), 0)
        await reader.readexactly(length)
        return int(lines[0].split()[1]), "connection: close" in lines

    async def _visitor(self, port):
        """Asks for one after the other, on a new connection where the last one ended. Nobody asks twice."""
        reader = writer = None
        while self.waiting:
            who = self.waiting.pop()
            status, must_close = NO_ANSWER, True
            try:
                if writer is None:
                    reader, writer = await asyncio.open_connection("127.0.0.1", port)
                status, must_close = await self._ask(reader, writer, who)
            except (OSError, asyncio.IncompleteReadError):
                # The redirector was killed, and starts again.
                await asyncio.sleep(0.05)
            self.answers[who][status] += 1
            if must_close and writer is not None:
                writer.close()
                writer = None
        if writer is not None:
            writer.close()

    async def _come(self, fault):
        visitors = [self._visitor(port) for port in self.ports for _ in range(CONNECTIONS)]
        await asyncio.wait_for(asyncio.gather(*visitors, *([fault(self)] if fault else [])), 600)

    def come(self, fault=None):
        asyncio.run(self._come(fault))
        print(f"{self.slug}: {self.answers}")
        return self.answers["people"], self.answers["bots"]

    async def until_ended(self, part):
        """Until such a part of all requests has ended."""
        while self.waiting and self.ended() < part * self.requests:
            await asyncio.sleep(0.001)


def varint(number):
    return bytes([number]) if number < 128 else bytes([number % 128 + 128]) + varint(number // 128)


@pytest.fixture
def new_link(gates):
    """Makes a link with max_visits past the API, and waits until each redirector leads bots on."""

    def make(slug, max_visits=LIMIT):
        # waymark.v1.LinkExtras: field 6 is max_visits.
        extras = psycopg2.Binary(b"\x30" + varint(max_visits))
        with gates.store.connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO links (slug, link_type, original_url, expires_at, extras, features)"
                " VALUES (%s, 'TEMPORARY', 'https://shop.example.com/', now() + interval '8 hours', %s, 4) RETURNING id",
                (slug, extras),
            )
            link_id = cursor.fetchone()[0]
            cursor.execute("INSERT INTO link_visit_limits (link_id, max_visits) VALUES (%s, %s)", (link_id, max_visits))
        for url in urls(gates):
            wait_until(lambda u=url: Visitor(u).follow(slug, agent=GOOGLEBOT).status == TAKEN, f"{slug} to be found")
        return link_id

    return make


def urls(stack):
    return stack.env["REDIRECTOR_URLS"].split()


def taken(stack, link_id):
    return stack.store.ask(f"SELECT taken FROM link_visit_limits WHERE link_id = {link_id}")


def counted(stack, link_id):
    """People and bots of the link in the statistics, when everything that was answered has been counted."""

    def is_idle():
        for url in stack.env["REDIRECTOR_OPS_URLS"].split():
            with urllib.request.urlopen(url + "/metrics", timeout=300) as answer:
                if b"\nwaymark_events_queued 0\n" not in answer.read():
                    return False
        with urllib.request.urlopen(stack.env["CONSUMER_OPS_URL"] + "/metrics", timeout=300) as answer:
            lag = [line for line in answer.read().decode().splitlines() if line.startswith("waymark_consumer_lag ")]
        return lag == ["waymark_consumer_lag 0"]

    wait_until(is_idle, "all visits to be counted")
    row = f"FROM link_statistics WHERE link_id = {link_id}"
    return stack.store.ask(f"SELECT sum(visit_count)::bigint {row}"), stack.store.ask(f"SELECT sum(bot_count)::bigint {row}")


@pytest.mark.parametrize("run", range(RUNS))
def test_exactly_as_many_people_come_as_the_limit_says(gates, new_link, run):
    link_id = new_link(f"exact-{run}")
    people, bots = Crowd(urls(gates), f"exact-{run}", REQUESTS).come()
    assert people == {TAKEN: LIMIT, USED_UP: REQUESTS // 2 - LIMIT}
    assert set(bots) <= {TAKEN, USED_UP}
    assert taken(gates, link_id) == LIMIT
    wait_until(lambda: counted(gates, link_id)[0] == LIMIT, "100 people in the statistics")


@pytest.mark.parametrize("run", range(RUNS))
def test_never_more_come_while_redirectors_are_killed(gates, new_link, run):
    link_id = new_link(f"killed-{run}", 10 * LIMIT)

    async def kill(crowd):
        for i in range(KILLS):
            # Early, while the limit is not used up.
            await crowd.until_ended((i + 1) * 0.1 / KILLS)
            name = f"redirector-{1 + (run + i) % 4}"
            await asyncio.to_thread(gates.kill_and_start, name)

    people, bots = Crowd(urls(gates), f"killed-{run}", REQUESTS * 3).come(kill)
    assert people[TAKEN] <= taken(gates, link_id) <= 10 * LIMIT
    # What was taken and not answered is what killed redirectors were answering.
    assert taken(gates, link_id) - people[TAKEN] <= people[NO_ANSWER]
    assert set(people) <= {TAKEN, USED_UP, UNKNOWN, NO_ANSWER} and set(bots) <= {TAKEN, USED_UP, UNKNOWN, NO_ANSWER}
    visits, _ = counted(gates, link_id)
    assert people[TAKEN] <= visits <= taken(gates, link_id)


@pytest.mark.parametrize("run", range(RUNS))
def test_a_redis_that_is_killed_and_emptied_costs_no_visit(gates, new_link, run):
    link_id = new_link(f"emptied-{run}")

    async def empty(crowd):
        await crowd.until_ended(0.01)
        await asyncio.to_thread(gates.run, "kill", "-KILL", "redis")
        await asyncio.to_thread(gates.run, "start", "redis")

    people, _ = Crowd(urls(gates), f"emptied-{run}", REQUESTS).come(empty)
    # 503: the lookup of the link, not the limit.
    assert people[TAKEN] == LIMIT == taken(gates, link_id), people
    assert set(people) <= {TAKEN, USED_UP, UNKNOWN}


@pytest.mark.parametrize("run", range(RUNS))
def test_never_more_come_while_postgresql_is_killed(gates, new_link, run):
    link_id = new_link(f"crashed-{run}", 10 * LIMIT)

    async def crash(crowd):
        await crowd.until_ended(0.05)
        await asyncio.to_thread(gates.run, "kill", "-KILL", "postgres")
        await asyncio.to_thread(gates.run, "start", "postgres")

    people, bots = Crowd(urls(gates), f"crashed-{run}", REQUESTS * 3).come(crash)
    gates.reconnect()
    assert people[TAKEN] <= taken(gates, link_id) <= 10 * LIMIT
    # What was taken and not let in is what waited for an answer.
    assert taken(gates, link_id) - people[TAKEN] <= people[UNKNOWN]
    assert set(people) <= {TAKEN, USED_UP, UNKNOWN} and set(bots) <= {TAKEN, USED_UP, UNKNOWN}


def test_without_postgresql_nobody_is_let_in_on_credit(gates, new_link):
    link_id = new_link("away")
    people, _ = Crowd(urls(gates), "away", 40).come()
    before = taken(gates, link_id)
    assert people[TAKEN] == before == 20
    gates.run("stop", "postgres")
    people, bots = Crowd(urls(gates), "away", REQUESTS // 4).come()
    gates.run("start", "postgres")
    gates.reconnect()
    assert set(people) <= {UNKNOWN} and set(bots) <= {TAKEN, UNKNOWN}
    wait_until(lambda: Visitor(urls(gates)[0]).follow("away").status == TAKEN, "PostgreSQL to be used again")
    assert taken(gates, link_id) == before + 1


@pytest.mark.parametrize("run", range(RUNS))
def test_a_limit_that_is_raised_and_lowered_beside_a_crowd_is_kept(gates, new_link, run):
    link_id = new_link(f"changed-{run}")

    async def change(crowd):
        for max_visits in (50, 150, 120, 300, 10, 250):
            await crowd.until_ended(crowd.ended() / crowd.requests + 0.05)
            sql = f"UPDATE link_visit_limits SET max_visits = {max_visits} WHERE link_id = {link_id} RETURNING 1"
            await asyncio.to_thread(gates.store.ask, sql)

    people, bots = Crowd(urls(gates), f"changed-{run}", REQUESTS).come(change)
    assert people[TAKEN] == taken(gates, link_id) <= 300
    assert set(people) == {TAKEN, USED_UP} and set(bots) <= {TAKEN, USED_UP}
