"""Measures Waymark beside what an engineer would use to count redirects, each set up as its documents say for production.

  Waymark        all four services with PostgreSQL, Redis and Kafka
  nginx, Redis   a Lua script finds and counts a slug in Redis, which appends each count to its log
  nginx, Kafka   nginx has a map of slugs; rsyslog sends its access log to Kafka; access_log_consumer.py counts it in PostgreSQL
  nginx          a fixed answer, which nobody counts

Each in turn gets as many requests as it takes, then a steady load in which processes are killed. There, each request has a link
of its own. So a link with 0 visits shows a lost click, and one with 2 shows a click that was counted twice.
"""

import dataclasses
import os
import pathlib
import statistics
import subprocess
import sys
import time

from . import load
from .bounds import judge
from .contenders import DESTINATION, Nginx, Program, cpu_seconds_of, free_port
from .ingest import Database
from .report import table

HOT = 10_000
OUTAGE_S = 1
SETTLED_S, GIVE_UP_S = 4, 90  # without a further count, when all or when too few are counted
POLL_S = 0.5
KILLS = {"counter": "what counts killed", "programs": "all but the stores killed", "stores": "all stores killed"}
SERVICES = ("redirector-1", "links-api-1", "consumer-1", "janitor-1")
STORES = ("postgres", "redis", "kafka")
# As in deploy/k8s/overlays/production.
PRODUCTION = (f"HTTP_LOOPS={os.cpu_count()}", "JOURNAL_MAX_BYTES=17179869184", "JOURNAL_FSYNC_MS=1000")
TOPIC = "access-log"
PACKAGES = ("nginx", "libnginx-mod-http-lua", "lua-nginx-redis", "redis-server", "rsyslog-kafka", "postgresql")
DURABILITY = (
    "To disk: PostgreSQL each commit; Redis and Waymark's journal each second; Kafka, one broker, and nginx's log when the kernel does."
)
LUA_MODULES = "worker_processes auto;" + "".join(
    f"\nload_module /usr/lib/nginx/modules/{name}_module.so;" for name in ("ndk_http", "ngx_http_lua")
)
# One round trip, and an unknown slug is not counted.
COUNT = "local url = redis.call('GET', KEYS[1]) if url then redis.call('INCR', KEYS[2]) end return url"
LUA = """content_by_lua_block {
	local redis = require("nginx.redis"):new()
	local slug = string.sub(ngx.var.uri, 2)
	redis:set_timeouts(1000, 1000, 1000)
	local url, problem = redis:connect("127.0.0.1", %d)
	if url then
		url, problem = redis:eval("%s", 2, "link:" .. slug, "visits:" .. slug)
	end
	if not url then
		ngx.log(ngx.ERR, problem)
		return ngx.exit(503)
	end
	redis:set_keepalive(10000, 100)
	if url == ngx.null then
		return ngx.exit(404)
	end
	return ngx.redirect(url, 302)
}"""
MAP = "access_log %s combined;\n\tmap_hash_max_size 262144;\n\tmap $uri $target {\n%s\t}"
MAPPED = 'if ($target = "") { return 404; } return 302 $target;'
REDIS = "bind 127.0.0.1\nport %d\ndir %s\nappendonly yes\nappendfsync everysec\n"
RSYSLOG = """
global(workDirectory="%(folder)s")
module(load="imfile")
module(load="omkafka")
template(name="line" type="string" string="%%msg%%")
input(type="imfile" file="%(folder)s/access.log" tag="nginx" ruleset="ship" persistStateInterval="1000")
ruleset(name="ship") {
	action(type="omkafka" broker="%(brokers)s" topic="%(topic)s" partitions.auto="on" template="line"
		confParam=["compression.codec=lz4", "enable.idempotence=true"]
		action.resumeRetryCount="-1" action.resumeInterval="1" resubmitOnFailure="on" keepFailedMessages="on" failedMsgFile="%(folder)s/failed"
		queue.type="LinkedList" queue.filename="kafka" queue.size="100000" queue.maxDiskSpace="10g" queue.saveOnShutdown="on")
}
"""


class Member:
    """A process of the stack."""

    def __init__(self, stage, name, *settings):
        self.stage, self.name, self.settings = stage, name, settings

    @property
    def pid(self):
        return self.stage.pid_of(self.name)

    def start(self):
        self.stage.run("start", self.name, *self.settings)

    def kill(self):
        self.stage.run("kill", "-KILL", self.name)

    def stop(self):
        self.stage.run("stop", self.name)


@dataclasses.dataclass
class Peer:
    name: str
    url: str
    programs: list  # the first answers visitors
    counter: list  # those of them that count
    stores: list  # these run all the time
    counts: object = dict  # returns {slug: visits}
    races: list = dataclasses.field(default_factory=list)
    outages: dict = dataclasses.field(default_factory=lambda: {each: [] for each in KILLS})
    pids: dict = dataclasses.field(default_factory=dict)

    def start(self):
        for each in self.programs:
            each.start()
        self.pids = {each.name: each.pid for each in (*self.programs, *self.stores)}

    def stop(self):
        for each in self.programs:
            each.stop()

    def kill(self, what):
        victims = getattr(self, what)
        for each in victims:
            each.kill()
        time.sleep(OUTAGE_S)
        for each in victims:
            each.start()

    def cpu(self):
        return {name: cpu_seconds_of(pid) + of_ended_children(pid) for name, pid in self.pids.items()}

    def cpu_seconds(self):
        return sum(self.cpu().values())


def of_ended_children(pid):
    """PostgreSQL's autovacuum comes and goes."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")


# --- the four ---


def waymark(stage, slugs):
    database = Database(stage)
    with database.connection.cursor() as cursor:
        cursor.execute(
            "WITH owner AS (INSERT INTO users (email, password_hash) VALUES ('bench@example.com', 'x') RETURNING id)"
            " INSERT INTO links (slug, link_type, original_url, workspace_id) SELECT unnest(%s), 'PERMANENT', %s, id FROM owner",
            (slugs, DESTINATION),
        )
    settings = [part for each in PRODUCTION for part in ("--set", each)]
    services = {name: Member(stage, name, *(settings if name == "redirector-1" else ())) for name in SERVICES}
    stage.run("stop", "links-api-1")
    return Peer(
        "Waymark",
        stage.env["REDIRECTOR_URL"],
        list(services.values()),
        [services["consumer-1"]],
        [Member(stage, name) for name in STORES],
        counts_in_postgres(stage, "SELECT slug, visit_count + bot_count FROM link_statistics JOIN links ON id = link_id"),
    )


def counts_in_postgres(stage, sql):
    from ledger import Ledger

    ledger = Ledger(stage.stores["ADMIN_PG_URL"])
    return lambda: dict(ledger.rows(sql))


def lua(folder, slugs):
    import redis

    own, store_port = os.path.join(folder, "lua"), free_port()
    server = Nginx(own, LUA % (store_port, COUNT), top=LUA_MODULES)
    config = os.path.join(own, "redis.conf")
    with open(config, "w", encoding="utf-8") as file:
        file.write(REDIS % (store_port, own))
    store = Program(own, "redis", ["redis-server", config], store_port)
    store.start()
    client = redis.Redis(port=store_port, decode_responses=True)
    client.mset({f"link:{slug}": DESTINATION for slug in slugs})

    def counts():
        found = client.mget([f"visits:{slug}" for slug in slugs])
        return {slug: int(count) for slug, count in zip(slugs, found) if count}

    return Peer("nginx, Lua, Redis", server.url, [server], [server], [store], counts)


def access_log(folder, stage, slugs):
    from confluent_kafka.admin import AdminClient, NewTopic

    brokers, own = stage.stores["KAFKA_BROKERS"], os.path.join(folder, "log")
    Database(stage).run("CREATE TABLE access_log_counts (slug text PRIMARY KEY, visits bigint NOT NULL)")
    admin = AdminClient({"bootstrap.servers": brokers})
    admin.create_topics([NewTopic(TOPIC, 12, 1)])[TOPIC].result()
    lines = "".join(f"\t\t/{slug} {DESTINATION};\n" for slug in slugs)
    server = Nginx(own, MAPPED, MAP % (os.path.join(own, "access.log"), lines))
    config = os.path.join(own, "rsyslog.conf")
    with open(config, "w", encoding="utf-8") as file:
        file.write(RSYSLOG % {"folder": own, "brokers": brokers, "topic": TOPIC})
    shipper = Program(own, "rsyslog", ["rsyslogd", "-n", "-i", "NONE", "-f", config])
    script = os.path.join(os.path.dirname(__file__), "access_log_consumer.py")
    consumer = Program(own, "consumer", [sys.executable, script, brokers, TOPIC, stage.stores["ADMIN_PG_URL"]])
    stores = [Member(stage, name) for name in STORES if name != "redis"]
    return Peer(
        "nginx, rsyslog, Kafka",
        server.url,
        [server, shipper, consumer],
        [consumer],
        stores,
        counts_in_postgres(stage, "SELECT slug, visits FROM access_log_counts"),
    )


def fixed(folder):
    server = Nginx(os.path.join(folder, "fixed"))
    return Peer("nginx alone", server.url, [server], [], [])


# --- the runs ---


def settle(peer, has_all, meter=dict):
    """Waits until the counts stand still, longer while they have not all. Returns them, and the time and the meter of their last change."""
    counts, changed_at, reading = None, 0.0, None
    while True:
        now, shown, latest = time.monotonic(), meter(), peer.counts()
        if latest != counts:
            counts, changed_at, reading = latest, now, shown
        if now - changed_at > (SETTLED_S if has_all(counts) else GIVE_UP_S):
            return counts, changed_at, reading
        time.sleep(POLL_S)


@dataclasses.dataclass
class Race:
    """As many requests as the peer takes."""

    per_second: float
    p99_ms: float
    cpu_us: dict  # of a redirect, until it is counted
    counted: tuple = ()  # answered, lost, double
    counted_after_s: float = 0.0


def race(peer, seconds):
    hot, before = load.Load("hot", HOT), total(peer.counts())
    warmed = [0]
    while warmed[-1] < 2 * HOT:  # each slug is in the caches then
        warmed.append(load.run(peer, hot, seconds).requests)
    before = total(settle(peer, lambda counts: total(counts) >= before + sum(warmed))[0]) if peer.stores else 0
    began = peer.cpu()
    run = load.run(peer, hot, seconds)
    ended_at, spent = time.monotonic(), peer.cpu()
    if run.not_redirects or run.failures:
        raise SystemExit(f"bench: {peer.name}: {run.not_redirects} wrong answers, {run.failures} failed connections")
    counted = ((), 0.0)
    if peer.stores:
        counts, at, spent = settle(peer, lambda counts: total(counts) >= before + run.requests, peer.cpu)
        more = total(counts) - before - run.requests
        # wrk leaves up to a request on each connection without waiting for its answer.
        counted = (run.requests, max(0, -more), max(0, more - hot.connections)), max(0.0, at - ended_at)
    return Race(run.per_second, run.p99_ms, {name: (spent[name] - began[name]) / run.requests * 1e6 for name in spent}, *counted)


def total(counts):
    return sum(counts.values())


def outage(peer, what, folder, rate, requests):
    """A steady load on a link per request; returns how many were answered, lost and counted twice."""
    from redirector_harness import Visitors

    before = peer.counts()
    options = {"connections": 32, "rate": rate, "slug": "peer", "slugs": requests, "requests": requests}
    visitors = Visitors(pathlib.Path(folder), peer.url.rpartition(":")[2], "peers", "follow", **options)
    try:
        visitors.wait_for_rows(requests // 4)
        peer.kill(what)
        answered = visitors.wait().redirected()
    finally:
        visitors.process.kill()
        visitors.path.unlink()

    def rise(counts, number):
        return counts.get(f"peer-{number}", 0) - before.get(f"peer-{number}", 0)

    after, *_ = settle(peer, lambda counts: all(rise(counts, number) for number in answered))
    more = [rise(after, number) for number in range(requests)]
    return len(answered), sum(more[number] == 0 for number in answered), sum(max(0, count - 1) for count in more)


def measure(folder, stage, options):
    requests = 3 * options.seconds * options.rate
    slugs = [f"hot{number:06x}" for number in range(1, HOT + 1)] + [f"peer-{number}" for number in range(requests)]
    peers = [waymark(stage, slugs), lua(folder, slugs), access_log(folder, stage, slugs), fixed(folder)]
    for _ in range(options.rounds):
        for peer in peers:
            peer.start()
            try:
                peer.races.append(race(peer, options.seconds))
                print(f"  {peer.name}: {peer.races[-1]}", flush=True)
                for what in KILLS if peer.stores else ():
                    peer.outages[what].append(outage(peer, what, folder, options.rate, requests))
                    print(f"  {peer.name}, {KILLS[what]}: answered, lost, double {peer.outages[what][-1]}", flush=True)
            finally:
                peer.stop()
    return peers


def exactness(runs):
    answered, *wrong = map(sum, zip(*runs))
    return f"{answered:,}: " + (", ".join(f"{count:,} {word}" for count, word in zip(wrong, ("lost", "double")) if count) or "exact")


def row(peer):
    def median(value):
        return statistics.median(map(value, peer.races))

    cpu = {name: median(lambda run, name=name: run.cpu_us[name]) for name in peer.pids}
    cells = [
        peer.name,
        f"{median(lambda run: run.per_second):,.0f}",
        f"{sum(cpu.values()):.1f}: " + ", ".join(f"{name} {us:.1f}" for name, us in cpu.items()),
        f"{median(lambda run: run.p99_ms):.1f} ms",
    ]
    if not peer.stores:
        return cells + ["none"] * (1 + len(KILLS))
    cells.append(f"{exactness([run.counted for run in peer.races])}, after {median(lambda run: run.counted_after_s):.1f} s")
    return cells + [exactness(peer.outages[what]) for what in KILLS]


def report(peers, options):
    ours = peers[0]
    wrong = [lost + double for runs in ([run.counted for run in ours.races], *ours.outages.values()) for _, lost, double in runs]
    judge("peers: clicks that Waymark lost or counted twice", sum(wrong), 0)
    head = ["", "answered/s", "µs of CPU a redirect", "p99", "answered: counted", *KILLS.values()]
    command = ["dpkg-query", "-W", "-f", "${Package} ${Version}, ", *PACKAGES]
    versions = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    seconds = 3 * options.seconds
    return (
        f"64 connections, {options.rounds} rounds of {options.seconds} s in alternation: medians, and sums of counts. While processes are"
        f" killed, {options.rate:,} requests a second for {seconds} s, {seconds * options.rate * options.rounds:,} in all.\n\n"
        f"{table(head, map(row, peers))}\n\n{versions}Apache Kafka of tools/kafka. {DURABILITY}"
    )
