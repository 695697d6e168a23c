"""Measures how fast clicks are counted, against a COPY of the same rows into the same table and indexes, in alternation.

The clicks come from flood.c. Each run of the consumer begins with empty tables and reads the topic from its beginning; its time
is that from the assignment of the partitions to the commit of the last click. COPY gets the rows that the consumer stored, as
text, over one connection, in one transaction. A third way, a transaction per click
(a row, its link's statistics, the offset), runs in pgbench.
"""

import dataclasses
import glob
import json
import os
import statistics
import subprocess
import tempfile
import time

from . import report
from .bounds import judge
from .contenders import Consumer, Neighbour

COPY_SHARE_MIN = 0.82
TRANSACTION_PER_CLICK_FACTOR_MIN = 15
COUNT_TIMEOUT_S = 1800
TRANSACTION_PER_CLICK_CLICKS = 20_000
TOPIC, VISITS = "waymark.redirects.v1", "waymark.visits.v1"
ROLLUPS = ("rollup_delta", "rollup_hour", "rollup_day", "rollup_workspace_hour", "rollup_workspace_day")
TABLES = ("visit_log", "link_statistics", *ROLLUPS, "consumer_offsets")
COUNTED = "SELECT coalesce(sum(visit_count + bot_count), 0) FROM link_statistics WHERE link_id = 0"
TRANSACTION_PER_CLICK = """
\\set n :n + 1
BEGIN;
INSERT INTO visit_log ({columns}) SELECT {columns} FROM bench_rows WHERE n = :n;
INSERT INTO link_statistics AS old (link_id, visit_count, last_visited_at)
 SELECT link_id, 1, occurred_at FROM bench_rows WHERE n = :n ON CONFLICT (link_id) DO UPDATE
 SET visit_count = old.visit_count + 1, last_visited_at = greatest(old.last_visited_at, EXCLUDED.last_visited_at);
UPDATE consumer_offsets SET next_offset = :n WHERE topic = 'single' AND partition = 0;
COMMIT;
"""
# A day of visits: each country has three in each hour of each link.
HISTORY = """
WITH lists AS (SELECT string_agg(concat_ws(E'\\x1f', 3, 0, 2, 'value ' || v), E'\\x1e') AS hour,
 string_agg(concat_ws(E'\\x1f', 72, 0, 48, 'value ' || v), E'\\x1e') AS day FROM generate_series(1, {values}) v),
quarters AS (SELECT q / 4 AS hour, string_agg(concat_ws(E'\\x1f', 9, 0, 6, q), E'\\x1e') AS list FROM generate_series(0, 95) q GROUP BY 1),
hours AS (INSERT INTO rollup_hour (link_id, hour, humans, bots, uniques, quarters, country)
 SELECT link, ({day}) + quarters.hour * interval '1 hour', 36, 0, 24, list, lists.hour FROM generate_series(1, {links}) link, quarters, lists)
INSERT INTO rollup_day (link_id, day, humans, bots, uniques, quarters, country)
 SELECT link, ({day}), 864, 0, 576, (SELECT string_agg(list, E'\\x1e') FROM quarters), lists.day FROM generate_series(1, {links}) link, lists;
"""


@dataclasses.dataclass
class Run:
    events: int
    seconds: float
    cpu: dict  # seconds, by process
    resident: list = dataclasses.field(default_factory=list)  # bytes of each consumer, sampled in turn

    @property
    def per_second(self):
        return self.events / self.seconds

    def cpu_us(self, name=None):
        spent = self.cpu[name] if name else sum(self.cpu.values())
        return spent / self.events * 1e6


class Database:
    """An administrator's connection in autocommit."""

    def __init__(self, stage):
        import psycopg2

        self.url = stage.stores["ADMIN_PG_URL"]
        self.connection = psycopg2.connect(self.url)
        self.connection.autocommit = True

    def run(self, sql):
        with self.connection.cursor() as cursor:
            cursor.execute(sql)
            return cursor.fetchone() if cursor.description else None

    def ask(self, sql):
        return self.run(sql)[0]

    def empty(self, *tables):
        self.run(f"TRUNCATE {', '.join(tables or TABLES)}")
        self.run("CHECKPOINT")

    def export(self, path):
        with open(path, "w", encoding="utf-8") as file, self.connection.cursor() as cursor:
            cursor.copy_expert("COPY (SELECT * FROM visit_log) TO STDOUT", file)

    def size(self, table):
        """Bytes with indexes, of all partitions."""
        return self.ask(
            f"SELECT coalesce(sum(pg_total_relation_size(inhrelid)), 0) + pg_total_relation_size('{table}')"
            f" FROM pg_inherits WHERE inhparent = '{table}'::regclass"
        )

    def columns(self):
        return self.ask(
            "SELECT string_agg(attname, ', ' ORDER BY attnum) FROM pg_attribute"
            " WHERE attrelid = 'visit_log'::regclass AND attnum > 0 AND NOT attisdropped"
        )


class Bench:
    def __init__(self, folder, stage, build):
        self.folder, self.stage, self.build = folder, stage, build
        self.database = Database(stage)
        self.neighbours = [each for each in stage.neighbours if each.name != "redis"]
        self.groups = 0

    def flood(self, events, links):
        """Recreates the topic and fills it with clicks."""
        self.stage.make_topic_anew()
        command = [os.path.join(self.build, "tests/bench/bench_flood"), self.stage.stores["KAFKA_BROKERS"], str(events), str(links), "1"]
        subprocess.run(command, check=True)
        if self.stage.events_in_kafka() != events:
            raise SystemExit(f"bench: Kafka has {self.stage.events_in_kafka():,} clicks, not {events:,}")

    def spent(self, processes):
        return {each.name: each.cpu_seconds() for each in processes}

    def count(self, events, consumers=1, keeps=(), **variables):
        """Counts all clicks of the topic; returns the figures of the run."""
        self.groups += 1
        self.database.empty(*[each for each in TABLES if each not in keeps])
        group = f"bench-{os.getpid()}-{self.groups}"
        members = [Consumer(self.folder, self.build, self.stage, group, **variables) for _ in range(consumers)]
        try:
            for number, member in enumerate(members, 1):
                member.log += f".{number}"
                member.start()
            run = self.watch(members, events)
            self.check(events, keeps)
            return run
        finally:
            for member in members:
                member.stop()

    def watch(self, members, events):
        deadline = time.monotonic() + COUNT_TIMEOUT_S
        wait_until(lambda: any("kafka_partitions_assigned" in each.logged() for each in members), deadline, members)
        processes = self.neighbours + [Neighbour(f"consumer {i}", each.pid) for i, each in enumerate(members, 1)]
        before, began, samples = self.spent(processes), time.monotonic(), []

        def is_counted():
            samples.append(sum(each.resident_bytes() for each in members))
            return self.database.ask(COUNTED) >= events

        wait_until(is_counted, deadline, members)
        seconds = time.monotonic() - began
        after = self.spent(processes)
        return Run(events, seconds, {name: after[name] - before[name] for name in before}, samples)

    def check(self, events, keeps):
        """Checks that every click was counted once. The speed of a wrong count means nothing."""
        sums = {
            "visit log": "SELECT count(*) FROM visit_log",
            "statistics": COUNTED,
        }
        if not keeps:
            sums["totals"] = "SELECT sum(humans + bots) FROM rollup_delta"
            sums["roll-ups"] = "SELECT sum(humans + bots) FROM rollup_hour_entries WHERE dimension = 'browser'"
        for name, sql in sums.items():
            found = self.database.ask(sql)
            if found != events:
                raise SystemExit(f"bench: {found:,} clicks in the {name}, not {events:,}")

    def copy(self, path, events):
        self.database.empty("visit_log")
        postgres = [each for each in self.neighbours if each.name == "postgres"]
        before, began = self.spent(postgres), time.monotonic()
        with open(path, encoding="utf-8") as rows, self.database.connection.cursor() as cursor:
            cursor.copy_expert("COPY visit_log FROM STDIN", rows)
        seconds = time.monotonic() - began
        after = self.spent(postgres)
        return Run(events, seconds, {"postgres": after["postgres"] - before["postgres"]})

    def copy_without_visitors(self, path, events):
        """COPY without the index of unique visitors, which it does not need."""
        definition = self.database.ask("SELECT pg_get_indexdef('visit_log_visitor_idx'::regclass)").replace(" ONLY ", " ")
        self.database.run("DROP INDEX visit_log_visitor_idx")
        try:
            return self.copy(path, events)
        finally:
            self.database.empty("visit_log")
            self.database.run(definition)

    def transaction_per_click(self):
        columns = self.database.columns()
        self.database.run("DROP TABLE IF EXISTS bench_rows")
        self.database.run(
            f"CREATE TABLE bench_rows AS SELECT row_number() OVER () AS n, {columns} FROM visit_log LIMIT {TRANSACTION_PER_CLICK_CLICKS}"
        )
        self.database.run("ALTER TABLE bench_rows ADD PRIMARY KEY (n)")
        self.database.empty()
        self.database.run("INSERT INTO consumer_offsets (topic, partition, next_offset) VALUES ('single', 0, 0)")
        with tempfile.NamedTemporaryFile("w", suffix=".sql", dir=self.folder) as script:
            script.write(TRANSACTION_PER_CLICK.format(columns=columns).replace("\n SELECT", " SELECT").replace("\n SET", " SET"))
            script.flush()
            command = ["pgbench", "-n", "-M", "prepared", "-c", "1", "-t", str(TRANSACTION_PER_CLICK_CLICKS)]
            command += ["-D", "n=0", "-f", script.name, self.database.url]
            began = time.monotonic()
            subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
            seconds = time.monotonic() - began
        if self.database.ask("SELECT count(*) FROM visit_log") != TRANSACTION_PER_CLICK_CLICKS:
            raise SystemExit("bench: a transaction per click has not counted every click")
        return Run(TRANSACTION_PER_CLICK_CLICKS, seconds, {})

    def log_size(self, topic):
        """Bytes on the broker's disk."""
        return sum(os.path.getsize(path) for path in glob.glob(os.path.join(self.stage.state, f"**/{topic}-*[0-9]/*.log"), recursive=True))

    def add_history(self, visits, links):
        """Inserts the roll-ups that so many visits of earlier days leave."""
        values = 12
        for day in range(max(1, round(visits / (links * 24 * values * 3)))):
            self.database.run(HISTORY.format(day=f"date '2025-01-01' + {day}", links=links, values=values))
        for table in ROLLUPS:
            self.database.run(f"VACUUM ANALYZE {table}")

    def fold(self, events):
        """Folds what the consumer has added, as the janitor does. Returns a sentence."""
        postgres = [each for each in self.neighbours if each.name == "postgres"]
        sizes = [self.database.size("visit_log") / events, self.database.size("rollup_delta") / events]
        before = self.spent(postgres)
        environment = {**os.environ, "PG_URL": self.database.url}
        fold = subprocess.run([os.path.join(self.build, "bin/fold_rollups")], env=environment, check=True, capture_output=True, text=True)
        folded = json.loads(fold.stdout)
        spent = (self.spent(postgres)["postgres"] - before["postgres"]) / events * 1e6
        sizes.append(sum(self.database.size(table) for table in ROLLUPS[1:]) / events)
        return (
            f"Bytes per click: record of Kafka {self.stage.bytes_read / events:.0f}, {self.log_size(TOPIC) / events:.0f} after lz4,"
            f" of visits {self.log_size(VISITS) / events / self.groups:.0f}; visit log {sizes[0]:.0f}, deltas {sizes[1]:.1f} until they are folded, roll-ups {sizes[2]:.1f}."
            f" Folding costs PostgreSQL {spent:.1f} µs and the janitor {folded['cpu_ms'] / events * 1000:.1f} µs of CPU per click."
        )


def wait_until(holds, deadline, members):
    while not holds():
        if time.monotonic() > deadline or any(each.process.poll() is not None for each in members):
            raise SystemExit("bench: the consumers do not count; see their logs")
        time.sleep(0.01)


def pairs_of(bench, events, rounds, bare=None, **how):
    """
    Runs COPY and the consumer in turn. A first run of the consumer, which does not count, makes the rows for COPY. bare
    gets as many runs of COPY without the index of visitors.
    """
    path = os.path.join(bench.folder, "rows")
    bench.count(events, **how)
    bench.database.export(path)
    pairs = []
    for _ in range(rounds):
        copied = bench.copy(path, events)
        if bare is not None:
            bare.append(bench.copy_without_visitors(path, events))
        counted = bench.count(events, **how)
        pairs.append((copied, counted))
        shares = ", ".join(f"{name} {counted.cpu_us(name):.1f}" for name in counted.cpu)
        print(
            f"  {counted.per_second:,.0f} of {copied.per_second:,.0f} clicks/s = {counted.per_second / copied.per_second:.2f};"
            f" µs of CPU per click: COPY {copied.cpu_us():.1f}, {shares}",
            flush=True,
        )
    os.remove(path)
    return pairs


def memory(runs):
    """The peak of resident bytes early and late: in the second and in the last quarter of the samples."""
    samples = max((run.resident for run in runs), key=len)
    quarter = len(samples) // 4
    return f"{max(samples[quarter : 2 * quarter]) >> 20} → {max(samples[3 * quarter :]) >> 20} MB"


def row(name, pairs):
    ours = [counted for _, counted in pairs]
    cpu = ours[0].cpu
    return [
        name,
        report.cell(pairs, report.speed, "ingest: clicks/s of the consumer vs COPY", COPY_SHARE_MIN if name.startswith("**") else None, at_most=False),
        f"{statistics.median(copied.per_second for copied, _ in pairs):,.0f}",
        f"{statistics.median(run.per_second for run in ours):,.0f}",
        f"{statistics.median(copied.cpu_us() for copied, _ in pairs):.1f}",
        ", ".join(f"{each} {statistics.median(run.cpu_us(each) for run in ours):.1f}" for each in cpu),
        memory(ours),
    ]


HEAD = ["clicks, links, consumers", "consumer / COPY", "COPY, clicks/s", "consumer, clicks/s", "COPY, µs CPU", "µs CPU per click", "resident"]


def measure(folder, stage, options):
    bench = Bench(folder, stage, options.build)
    rows = []
    bench.flood(options.events, 1000)
    bare = []
    main = pairs_of(bench, options.events, options.rounds, bare)
    folded = bench.fold(options.events)
    print(f"  {folded}", flush=True)
    rows.append(row(f"**{options.events:,}, 1,000, 1**", main))
    single = bench.transaction_per_click()
    factor = statistics.median(counted.per_second for _, counted in main) / single.per_second
    against_bare = statistics.median(counted.per_second / copied.per_second for copied, (_, counted) in zip(bare, main))
    bare_speed = statistics.median(run.per_second for run in bare)
    print(f"  without the index of visitors: COPY {bare_speed:,.0f} clicks/s, {against_bare:.2f}", flush=True)
    print(f"  a transaction per click: {single.per_second:,.0f} clicks/s, {factor:.1f} times slower", flush=True)
    if options.grow:
        rows += growth(bench, options)
    note = (
        f"{options.rounds} pairs of COPY and consumer, medians, in brackets the least and the greatest.\n"
        f"A transaction per click: {single.per_second:,.0f} clicks/s; the consumer is {factor:.0f} times as fast"
        + judge("ingest: clicks/s vs a transaction per click", factor, TRANSACTION_PER_CLICK_FACTOR_MIN, at_most=False)
        + f".\nWithout the index that proves who is unique, COPY takes {bare_speed:,.0f} clicks/s, and the consumer, with it, is at {against_bare:.2f} of that"
        + f". Produced = visit log = statistics = roll-ups, checked after each run. {folded}"
    )
    return note + "\n\n" + report.table(HEAD, rows)


def growth(bench, options):
    rows = []
    rounds = max(1, options.rounds // 2)
    for consumers in (2, 3):
        rows.append(row(f"{options.events:,}, 1,000, {consumers}", pairs_of(bench, options.events, rounds, consumers=consumers)))
    for links in (100, 10_000):
        bench.flood(options.events, links)
        rows.append(row(f"{options.events:,}, {links:,}, 1", pairs_of(bench, options.events, rounds)))
    if options.history:
        bench.flood(options.events, 1000)
        bench.database.empty()
        bench.add_history(options.history, 1000)
        rows.append(row(f"{options.events:,}, 1,000, 1, behind {options.history:,} in the roll-ups", pairs_of(bench, options.events, rounds, keeps=ROLLUPS[1:])))
        bench.database.empty()
    if options.grow > 1:
        bench.flood(options.events * options.grow, 1000)
        rows.append(row(f"{options.events * options.grow:,}, 1,000, 1", pairs_of(bench, options.events * options.grow, 1)))
    return rows
