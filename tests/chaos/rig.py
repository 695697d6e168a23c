"""A stack of its own, visitors who click all the time, and hands that kill and freeze consumers.

CHAOS_CLICKS, CHAOS_KILLS, CHAOS_FREEZES change the size, CHAOS_SEED repeats a run.
"""

import collections
import http.client
import os
import pathlib
import random
import subprocess
import threading
import time
import urllib.parse

import confluent_kafka
import psycopg2

ROOT = pathlib.Path(__file__).resolve().parents[2]
STACK = str(ROOT / "tools/stack")
BUILD = pathlib.Path(os.environ.get("WAYMARK_BUILD_DIR", ROOT / "build/dev"))

CLICKS = int(os.environ.get("CHAOS_CLICKS", "20000"))
KILLS = int(os.environ.get("CHAOS_KILLS", "10"))
FREEZES = int(os.environ.get("CHAOS_FREEZES", "5"))
SEED = int(os.environ.get("CHAOS_SEED", time.time_ns() % 1_000_000))

# The shortest that brokers allow by default (group.min.session.timeout.ms).
SESSION_TIMEOUT_S = 6
FREEZE_S = SESSION_TIMEOUT_S + 2
CONSUMERS = 3
LINKS = 50
VISITORS = 4
CLICKS_PER_S = 400
AGENTS = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36",
    "Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0",
    "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
)


def wait_until(condition, seconds, what):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.05)


class Stack:
    def __init__(self, state, build):
        self.state = str(state)
        self.build = str(build)

    def run(self, *words):
        command = [STACK, words[0], "--state", self.state, *map(str, words[1:])]
        done = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def up(self):
        variables = {
            "SESSION_TIMEOUT_MS": SESSION_TIMEOUT_S * 1000,
            "BATCH_MS": 20,  # many small transactions: whenever a process dies, it is in the middle of one
            "PG_STATEMENT_TIMEOUT_MS": 2000,
            "UNKNOWN_SLUGS_PER_MINUTE": 0,
        }
        settings = [word for name, value in variables.items() for word in ("--set", f"{name}={value}")]
        self.run("up", "--build", self.build, "--consumers", CONSUMERS, "--tied-to", os.getpid(), *settings)

    def addresses(self):
        script = 'set -a; eval "$("$0" env --state "$1")"; env -0'
        shown = subprocess.run(["bash", "-c", script, STACK, self.state], capture_output=True, text=True, check=True)
        return dict(pair.split("=", 1) for pair in shown.stdout.split("\0") if "=" in pair)

    def log_lines(self, event):
        lines = 0
        for n in range(1, CONSUMERS + 1):
            path = pathlib.Path(self.state, "logs", f"consumer-{n}.log")
            if path.exists():
                lines += path.read_text(errors="replace").count(f'"event":"{event}"')
        return lines


class Store:
    """What stands in PostgreSQL, read by a client that shares nothing with the consumer."""

    def __init__(self, url):
        self.connection = psycopg2.connect(url)
        self.connection.autocommit = True

    def ask(self, sql):
        with self.connection.cursor() as cursor:
            cursor.execute(sql)
            return cursor.fetchone()[0] or 0

    def make_links(self):
        slugs = [f"chaos-{n}" for n in range(LINKS)]
        with self.connection.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO links (slug, link_type, original_url, expires_at)"
                " VALUES (%s, 'TEMPORARY', 'https://example.com/', now() + interval '8 hours')",
                [(slug,) for slug in slugs],
            )
        return slugs

    def counted(self):
        return self.ask("SELECT sum(visit_count + bot_count)::bigint FROM link_statistics WHERE link_id > 0")

    def books(self):
        """The same sum from each place that keeps one."""
        return {
            "statistics": self.counted(),
            "platform": self.ask("SELECT sum(visit_count + bot_count)::bigint FROM link_statistics WHERE link_id = 0"),
            "latencies": self.ask("SELECT sum(latency_count)::bigint FROM link_statistics WHERE link_id > 0"),
            "roll-ups": self.ask("SELECT sum(humans + bots)::bigint FROM visit_rollup_hour WHERE dimension = 'total'"),
            "countries": self.ask("SELECT sum(humans + bots)::bigint FROM visit_rollup_hour WHERE dimension = 'country'"),
            "visit log": self.ask("SELECT count(*) FROM visit_log"),
        }

    def links_that_differ(self):
        return self.ask(
            "SELECT count(*) FROM (SELECT link_id, count(*) FILTER (WHERE NOT is_bot) AS humans,"
            " count(*) FILTER (WHERE is_bot) AS bots, count(*) FILTER (WHERE is_unique) AS uniques"
            " FROM visit_log GROUP BY link_id) log FULL JOIN link_statistics s USING (link_id)"
            " WHERE link_id > 0 AND (humans, bots, uniques)"
            " IS DISTINCT FROM (s.visit_count, s.bot_count, s.unique_visitors)"
        )

    def event_ids(self):
        with self.connection.cursor() as cursor:
            cursor.execute("SELECT event_id::text FROM visit_log")
            return {row[0] for row in cursor}


class Visitors(threading.Thread):
    """Click clicks times, at most rate a second, as far as they are allowed to; each answer is noted."""

    def __init__(self, urls, slugs, clicks, rate):
        super().__init__(daemon=True)
        self.urls, self.slugs, self.clicks, self.rate = urls, slugs, clicks, rate
        self.answered = collections.Counter()
        self.allowed = 0
        self.more = threading.Condition()

    def allow(self, clicks):
        with self.more:
            self.allowed = min(self.clicks, self.allowed + clicks)
            self.more.notify_all()

    def _wait_for_leave(self, i):
        with self.more:
            self.more.wait_for(lambda: i < self.allowed)

    def run(self):
        threads = [threading.Thread(target=self._click, args=(n,)) for n in range(VISITORS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _click(self, n):
        url = urllib.parse.urlsplit(self.urls[n % len(self.urls)])
        connection = http.client.HTTPConnection(url.hostname, url.port, timeout=30)
        pause_s = VISITORS / self.rate
        for i in range(n, self.clicks, VISITORS):
            self._wait_for_leave(i)
            time.sleep(pause_s)
            headers = {"User-Agent": AGENTS[i % len(AGENTS)], "X-Forwarded-For": f"198.51.{i % 64}.{i % 200}"}
            connection.request("GET", f"/{self.slugs[i % len(self.slugs)]}", headers=headers)
            answer = connection.getresponse()
            answer.read()
            self.answered[answer.status] += 1
        connection.close()


class Hands:
    """Kill and freeze consumers, one after the other; each act has its share of the clicks, and happens among them."""

    def __init__(self, stack, store, visitors, seed):
        self.stack, self.store, self.visitors = stack, store, visitors
        self.random = random.Random(seed)

    def disturb(self, kills, freezes):
        acts = [self.kill] * kills + [self.freeze] * freezes
        self.random.shuffle(acts)
        for act in acts:
            before = self.store.counted()
            self.visitors.allow(self.visitors.clicks // len(acts))
            wait_until(lambda before=before: self.store.counted() > before, 90, "counting to go on")
            time.sleep(self.random.uniform(0, 0.2))
            act(f"consumer-{self.random.randint(1, CONSUMERS)}")
        self.visitors.allow(self.visitors.clicks)

    def kill(self, name):
        self.stack.run("kill", "-KILL", name)
        self.stack.run("start", name)

    def freeze(self, name):
        self.stack.run("kill", "-STOP", name)
        time.sleep(FREEZE_S)  # the act itself: the group must have given its partitions away
        self.stack.run("kill", "-CONT", name)


def click_through_trouble(stack, clicks, kills, freezes):
    """The store after everything was answered, and Kafka's address."""
    addresses = stack.addresses()
    store = Store(addresses["ADMIN_PG_URL"])
    visitors = Visitors(addresses["REDIRECTOR_URLS"].split(), store.make_links(), clicks, CLICKS_PER_S)
    visitors.start()
    Hands(stack, store, visitors, SEED).disturb(kills, freezes)
    visitors.join()
    assert visitors.answered == {302: clicks}
    return store, addresses["KAFKA_BROKERS"]


def published_ids(brokers, wanted, seconds):
    """The ids on waymark.visits.v1 from its beginning, until wanted are there, and how many messages that took."""
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": brokers, "group.id": f"chaos-{os.getpid()}", "enable.auto.commit": False}
    )
    name = "waymark.visits.v1"
    partitions = consumer.list_topics(name, timeout=10).topics[name].partitions
    consumer.assign([confluent_kafka.TopicPartition(name, p, confluent_kafka.OFFSET_BEGINNING) for p in partitions])
    seen, messages = set(), 0
    deadline = time.monotonic() + seconds
    while not wanted <= seen and time.monotonic() < deadline:
        message = consumer.poll(0.2)
        if message is not None and message.error() is None:
            seen.add(dict(message.headers())["ce_id"].decode())
            messages += 1
    consumer.close()
    return seen, messages
