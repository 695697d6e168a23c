"""Measures how soon a click is on the screen: listeners of GET /api/live, and the dashboard's page Live in Chromium, beside a
steady load of clicks. links-api is killed and started again meanwhile; nothing may be missing or come twice.
"""

import asyncio
import datetime
import itertools
import json
import os
import signal
import statistics
import subprocess
import time
import urllib.parse

from . import answers
from .bounds import judge
from .report import table
from .stage import TREE

LISTENERS, PER_ACCOUNT = 500, 8
CLICKS_PER_S, SECONDS = 500, 60
KILLED_AT_S, AWAY_S = 30, 2
P99_MS_MAX = 2000
CONNECTIONS = 16
AGENT = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36"


class Account:
    def __init__(self, env, number):
        self.client = answers.Client(env["LINKS_API_URL"], f"live-{number}")
        self.client.log_in()
        self.email, self.token = self.client.email, self.client.token
        link = self.client.ask("POST", "/api/links", {"original_url": "https://example.com/"})[0]["link"]
        self.link_id, self.slug = link["id"], link["slug"]
        self.client.connection.close()


class Listener:
    """Follows the visits of an account as a browser does: connects again with the id of the last event."""

    def __init__(self, url, account):
        self.url, self.account = urllib.parse.urlsplit(url), account
        self.last_id, self.seen, self.latencies, self.resets = None, [], [], 0
        self.is_open = asyncio.Event()

    async def run(self):
        while True:
            try:
                await self.follow()
            except (OSError, asyncio.IncompleteReadError):
                await asyncio.sleep(0.2)

    async def follow(self):
        reader, writer = await asyncio.open_connection(self.url.hostname, self.url.port)
        try:
            last = f"Last-Event-ID: {self.last_id}\r\n" if self.last_id else ""
            writer.write(
                f"GET /api/live HTTP/1.1\r\nHost: {self.url.netloc}\r\nAccept: text/event-stream\r\n"
                f"Authorization: Bearer {self.account.token}\r\n{last}\r\n".encode()
            )
            if b" 200 " not in await reader.readline():
                await asyncio.sleep(1)
                return
            await reader.readuntil(b"\r\n\r\n")
            text = b""
            while size := int(await reader.readline() or b"0", 16):  # chunked
                text += (await reader.readexactly(size + 2))[:size]
                *events, text = text.split(b"\n\n")
                for event in events:
                    self.take(dict(line.split(": ", 1) for line in event.decode().split("\n") if ": " in line))
        finally:
            writer.close()

    def take(self, event):
        if "id" in event:
            self.last_id = event["id"]
            self.is_open.set()
        self.resets += event.get("event") == "reset"
        if event.get("event") == "visit":
            visit = json.loads(event["data"])
            occurred = datetime.datetime.fromisoformat(visit["occurred_at"].replace("Z", "+00:00")).timestamp()
            self.seen.append(visit["event_id"])
            self.latencies.append((occurred, (time.time() - occurred) * 1000))


class Clicks:
    """Follows the links in turn, at a steady rate. Each click of the first account names its number as the referring host."""

    def __init__(self, url, accounts):
        self.url, self.accounts, self.sent, self.wrong = urllib.parse.urlsplit(url), accounts, {}, 0
        self.numbers = itertools.count()

    async def run(self, seconds):
        begun = time.monotonic()
        await asyncio.gather(*(self.follow(begun, place, seconds) for place in range(CONNECTIONS)))

    async def follow(self, begun, place, seconds):
        reader, writer = await asyncio.open_connection(self.url.hostname, self.url.port)
        for turn in itertools.count():
            due = begun + (turn * CONNECTIONS + place) / CLICKS_PER_S
            if due > begun + seconds:
                writer.close()
                return
            await asyncio.sleep(max(0, due - time.monotonic()))
            number = next(self.numbers)
            account = self.accounts[number % len(self.accounts)]
            if account is self.accounts[0]:
                self.sent[number] = time.time() * 1000
            writer.write(
                f"GET /{account.slug} HTTP/1.1\r\nHost: {self.url.netloc}\r\nUser-Agent: {AGENT}\r\n"
                f"Referer: https://n{number}.example.org/\r\n\r\n".encode()
            )
            head = await reader.readuntil(b"\r\n\r\n")
            self.wrong += b" 302 " not in head.split(b"\r\n")[0]
            length = next((int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0)
            await reader.readexactly(length)


class Screen:
    """The page Live of the first account, in a Chromium of its own process. Says when each referring host appeared."""

    def __init__(self, url, account):
        command = [os.path.join(TREE, "tests/support/needs-browser"), "/usr/bin/python3", "-B", os.path.join(TREE, "tests/bench/benchlib/screen.py")]
        self.process = subprocess.Popen([*command, url, account.email], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        ready = self.process.stdout.readline()
        if "ready" not in ready:
            raise SystemExit("bench: " + ready)

    def close(self):
        """{number of the click: [milliseconds since 1970 at which a row with it appeared]}"""
        shown, _ = self.process.communicate("end\n", timeout=120)
        return {int(number): times for number, times in json.loads(shown).items()}


async def restart_links_api(stack):
    await asyncio.sleep(KILLED_AT_S)
    killed = time.time()
    await asyncio.to_thread(stack.run, "kill", f"-{signal.SIGKILL.value}", "links-api-1")
    await asyncio.sleep(AWAY_S)
    await asyncio.to_thread(stack.run, "start", "links-api-1")
    return killed, time.time()


async def listen(stack, accounts, screen):
    listeners = [Listener(stack.env["LINKS_API_URL"], accounts[1 + i // PER_ACCOUNT]) for i in range(LISTENERS)]
    tasks = [asyncio.create_task(each.run()) for each in listeners]
    clicks = Clicks(stack.env["REDIRECTOR_URL"], accounts)
    await clicks.run(2)  # each partition has a record, so that streams have a position
    await asyncio.wait_for(asyncio.gather(*(each.is_open.wait() for each in listeners)), 120)
    await asyncio.sleep(3)
    for each in listeners:
        each.seen, each.latencies = [], []
    clicks.sent = {}
    begun = time.time()
    killer = asyncio.create_task(restart_links_api(stack))
    await clicks.run(SECONDS)
    away = await killer
    await asyncio.sleep(10)
    for task in tasks:
        task.cancel()
    return listeners, clicks, begun, away, await asyncio.to_thread(screen.close)


def visits_since(env, begun):
    """{link id: the event ids of its visits}"""
    import psycopg2

    with psycopg2.connect(env["PG_URL"]) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT link_id, array_agg(event_id::text) FROM visit_log WHERE occurred_at >= to_timestamp(%s) GROUP BY 1", (begun,))
        return {link: set(ids) for link, ids in cursor.fetchall()}


def compare(listeners, counted):
    """(visits that a listener has missed, visits that came twice), over all listeners."""
    lost = sum(len(counted[each.account.link_id] - set(each.seen)) for each in listeners)
    return lost, sum(len(each.seen) - len(set(each.seen)) for each in listeners)


def percentiles(times):
    ordered = sorted(times)
    return statistics.median(ordered), ordered[int(len(ordered) * 0.99)], ordered[-1]


def measure(stack):
    # The first account has only the screen.
    accounts = [Account(stack.env, number) for number in range(1 + (LISTENERS + PER_ACCOUNT - 1) // PER_ACCOUNT)]
    screen = Screen(stack.env["LINKS_API_URL"], accounts[0])
    listeners, clicks, begun, away, shown = asyncio.run(listen(stack, accounts, screen))
    if clicks.wrong:
        raise SystemExit(f"bench: {clicks.wrong} clicks were not redirected")
    counted = visits_since(stack.env, begun)
    lost, double = compare(listeners, counted)
    absent = [number for number in clicks.sent if number not in shown]
    twice = [number for number, times in shown.items() if len(times) > 1]
    print(f"  {sum(map(len, counted.values())):,} clicks, {sum(len(each.seen) for each in listeners):,} visits heard", flush=True)
    return {
        "heard": [late for each in listeners for at, late in each.latencies if not away[0] - 3 < at < away[1] + 3],
        "shown": [shown[n][0] - sent for n, sent in clicks.sent.items() if n in shown and not away[0] - 3 < sent / 1000 < away[1] + 3],
        "away": [late for each in listeners for at, late in each.latencies if away[0] - 3 < at < away[1] + 3],
        "accounts": len(accounts), "lost": lost, "double": double, "absent": len(absent), "twice": len(twice), "resets": sum(each.resets for each in listeners),
    }  # fmt: skip


def report(found):
    rows = [["click to", "p50", "p99", "longest", "missing", "twice"]]
    p50, p99, longest = percentiles(found["heard"])
    verdict = judge("live: click to listener, p99", p99, P99_MS_MAX, "ms")
    rows.append([f"one of {LISTENERS} listeners", f"{p50:.0f} ms", f"{p99:.0f} ms{verdict}", f"{longest:.0f} ms", str(found["lost"]), str(found["double"])])
    p50, p99, longest = percentiles(found["shown"])
    verdict = judge("live: click to screen, p99", p99, P99_MS_MAX, "ms")
    rows.append(["the screen", f"{p50:.0f} ms", f"{p99:.0f} ms{verdict}", f"{longest:.0f} ms", str(found["absent"]), str(found["twice"])])
    for name, wrong in (("lost", found["lost"] + found["absent"]), ("double", found["double"] + found["twice"])):
        judge(f"live: visits {name} while links-api is killed", wrong, 0)
    return (
        f"{CLICKS_PER_S} clicks a second for {SECONDS} s, spread over the links of {found['accounts']} accounts. One account has the dashboard's"
        f" page Live in Chromium, each other {PER_ACCOUNT} listeners.\n\n{table(rows[0], rows[1:])}\n\nAfter {KILLED_AT_S} s, links-api was killed and started again {AWAY_S} s later. Visits within 3 s of that are not in the times; the"
        f" longest of them took {max(found['away']):.0f} ms."
    )
