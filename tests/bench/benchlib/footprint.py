"""Measures how many bytes a visit takes in PostgreSQL, and what random values do to it and to answers.

The consumer counts the clicks of flood.c, which PostgreSQL folds into hours and a day as the janitor does. Then as many clicks
with random referrers, languages and UTM parameters go to one link of another account. Both accounts ask before and after.

Sizes are those of whole tables with their indexes; roll-ups are without the room that changed rows leave. No checkpoint
happens meanwhile, so the write-ahead log has no full pages. Therefore the bytes are the same on a busy machine.
"""

import dataclasses
import os
import statistics
import subprocess
import time

from . import answers, ingest, report
from .bounds import judge

LINKS = 1000
FLOODED = 1  # the link that gets the random values
ASKED = 100
ROLLUP_BYTES_MAX, RANDOM_ROLLUP_BYTES_MAX = 60, 100
SLOWER_FOR_OTHERS_MAX = 1.5
NO_CHECKPOINTS = {"checkpoint_timeout": "1h", "max_wal_size": "64GB"}


@dataclasses.dataclass
class Bytes:
    """Per visit."""

    log: float
    delta: float
    hour: float
    day: float
    wal_of_counting: float
    wal_of_folding: float

    @property
    def rollups(self):
        return self.hour + self.day


class Footprint:
    def __init__(self, folder, stage, build):
        self.bench, self.stage, self.counted = ingest.Bench(folder, stage, build), stage, 0
        self.database = self.bench.database
        for name, value in NO_CHECKPOINTS.items():
            self.database.run(f"ALTER SYSTEM SET {name} = '{value}'")
        self.database.run("SELECT pg_reload_conf()")

    def add_links(self, email, links):
        self.database.run(
            "INSERT INTO links (slug, link_type, original_url, owner_id) SELECT 'foot' || id || '-' || i, 'PERMANENT', 'https://example.com/', id"
            f" FROM users, generate_series(1, {links}) AS i WHERE email = '{email}'"
        )

    def written(self):
        """The position in the write-ahead log."""
        return int(self.database.ask("SELECT pg_current_wal_insert_lsn() - '0/0'"))

    def rollup_sizes(self):
        for table in ingest.ROLLUPS:
            self.database.run(f"VACUUM FULL {table}")
        return {table: self.database.size(table) for table in ingest.ROLLUPS}

    def flood(self, events, *arguments):
        brokers = self.stage.stores["KAFKA_BROKERS"]
        subprocess.run([os.path.join(self.bench.build, "tests/bench/bench_flood"), brokers, str(events), *arguments], check=True)

    def count(self, events):
        """Counts so many more clicks, which are in the topic; returns their bytes."""
        sizes, log, wal = self.rollup_sizes(), self.database.size("visit_log"), self.written()
        self.counted += events
        consumer = ingest.Consumer(self.bench, f"footprint-{os.getpid()}-{self.counted}", 1, {})
        try:
            self.bench.watch([consumer], self.counted)
        finally:
            consumer.stop()
        wal_of_counting = self.written() - wal
        log, delta = self.database.size("visit_log") - log, self.database.size("rollup_delta") - sizes["rollup_delta"]
        wal = self.written()
        self.fold()
        wal_of_folding = self.written() - wal
        self.check()
        after = self.rollup_sizes()
        self.database.run("VACUUM ANALYZE")
        hour, day = (after[table] - sizes[table] for table in ("rollup_hour", "rollup_day"))
        return Bytes(*(float(each) / events for each in (log, delta, hour, day, wal_of_counting, wal_of_folding)))

    def fold(self):
        """Folds all deltas, and finishes all days so that later clicks go to days, too."""
        is_left = 1
        while is_left:
            self.database.ask("SELECT rollup_fold('infinity', 1000)")
            is_left = self.database.ask("SELECT fold_link FROM rollup_progress")
        while self.database.ask("SELECT rollup_finish_day((now() AT TIME ZONE 'UTC')::date, 90, 1000)"):
            pass

    def check(self):
        """Checks that every visit was counted once. The bytes of a wrong count mean nothing."""
        sums = {"visit log": "SELECT count(*) FROM visit_log"}
        for table in ("rollup_hour", "rollup_day"):
            sums[table] = f"SELECT sum(humans + bots) FROM {table} WHERE link_id > 0"
            sums[f"accounts of {table}"] = f"SELECT sum(humans + bots) FROM {table} WHERE link_id < 0"
        for name, sql in sums.items():
            found = self.database.ask(sql)
            if found != self.counted:
                raise SystemExit(f"bench: {found:,} visits in {name}, not {self.counted:,}")


QUESTIONS = [
    ("others: top 10 of campaigns of one link", "others", "/api/links/{other}/stats/utm_campaign"),
    ("others: total of one link", "others", "/api/links/{other}/stats"),
    ("others: top 10 of campaigns of all links", "others", "/api/stats/utm_campaign"),
    ("others: 30 days by day of all links", "others", "/api/stats/timeseries"),
    ("top 10 of campaigns of the link", "flooded", f"/api/links/{FLOODED}/stats/utm_campaign"),
    ("top 10 of campaigns of all its account's links", "flooded", "/api/stats/utm_campaign"),
    ("30 days by day of the link", "flooded", f"/api/links/{FLOODED}/stats/timeseries"),
]


def ask(clients):
    """The sorted milliseconds of the answers to each question."""
    times = {}
    for name, account, path in QUESTIONS:
        clients[account].connect()
        path = path.format(other=FLOODED + 1)
        clients[account].ask("GET", path)
        times[name] = sorted(clients[account].ask("GET", path)[1] for _ in range(ASKED))
    return times


def measure(folder, stage, options):
    footprint = Footprint(folder, stage, options.build)
    clients = {name: answers.Client(stage.stores["LINKS_API_URL"], name) for name in ("flooded", "others")}
    for name, client in clients.items():
        client.log_in()
        footprint.add_links(client.email, LINKS - 1 if name == "others" else 1)
    footprint.flood(options.events, str(LINKS), "1")
    usual = footprint.count(options.events)
    print(f"  clicks of {LINKS:,} links: {usual}", flush=True)
    before = ask(clients)
    began = time.monotonic()
    footprint.flood(options.events, "1", "2", "random")
    random = footprint.count(options.events)
    print(f"  random values of one link: {random}, {time.monotonic() - began:.0f} s", flush=True)
    return usual, random, before, ask(clients)


def bytes_row(name, found, most):
    rollups = f"{found.rollups:.2f}" + judge(f"footprint: bytes per visit in roll-ups, {name}", found.rollups, most)
    parts = [found.log, found.delta, found.hour, found.day, found.wal_of_counting, found.wal_of_folding]
    return [name, *(f"{each:.1f}" if each < 100 else f"{each:.0f}" for each in parts), rollups]


def table_of_bytes(seen, events):
    usual, random, _, _ = seen
    rows = [
        bytes_row(f"{events:,} clicks of {LINKS:,} links", usual, ROLLUP_BYTES_MAX),
        bytes_row(f"{events:,} clicks with random values of one link", random, RANDOM_ROLLUP_BYTES_MAX),
    ]
    head = ["bytes per visit", "visit log", "deltas, until they are folded", "by hour", "by day", "WAL of counting", "WAL of folding", "kept in roll-ups"]
    return "clicks of one hour; roll-ups are those of links and of accounts.\n\n" + report.table(head, rows)


def table_of_answers(seen, events):
    _, _, before, after = seen
    rows = []
    for name, account, _ in QUESTIONS:
        ratio = statistics.median(after[name]) / statistics.median(before[name])
        verdict = judge(f"footprint: p50 after / before, {name}", round(ratio, 2), SLOWER_FOR_OTHERS_MAX) if account == "others" else ""
        rows.append([name, *(f"{statistics.median(each[name]):.1f} ms" for each in (before, after)), f"{ratio:.2f}{verdict}"])
    head = [f"question, {ASKED} times", "p50 before", "p50 after", "after / before"]
    return f"before and after {events:,} clicks with random values of one link.\n\n" + report.table(head, rows)
