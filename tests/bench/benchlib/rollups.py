"""Measures how roll-ups are folded and that an account's past stays, on an account with very many rows by hour.

Visits and their deltas are loaded by SQL, as batches of the consumer would add them: 10,000 visits each in a backlog. They are
folded by fold_rollups, which is the janitor's code; its steps are the transactions of which the longest is shown. At the end
rebuild-stats compares everything with the visit log.
"""

import json
import os
import subprocess
import time

from .answers import Client
from .bounds import judge
from .report import table

LINKS, DAYS, POPULAR = 1000, 60, 100
BACKLOG_DAYS, BATCH = 70, 10_000
AWAY_BATCHES, AWAY_LINKS = 720, 200  # of the hour without a janitor: one every five seconds
STEP_MS_MAX, ROW_US_MAX, ENTRY_US_MAX = 100, 50, 1

# The n-th value has 1/n of the visits of the first.
FACTS = {"country": 60, "city": 150, "region": 60, "referrer_host": 60, "browser": 15, "os": 10, "device": 4, "language": 25}
VISITS = """
INSERT INTO visit_log (day, event_id, occurred_at, link_id, workspace_id, slug, status, latency_us, is_bot, is_unique, {names})
SELECT (at AT TIME ZONE 'UTC')::date, gen_random_uuid(), at, id, coalesce(workspace_id, 0), slug, 302, 1000, n %% 12 = 0, n %% 12 > 0 AND n %% 2 = 0, {values}
FROM ({chosen}) AS visit (n, link, at) JOIN links ON slug = 'rollups-' || link
RETURNING *"""
DELTAS = """
INSERT INTO rollup_delta (link_id, workspace_id, hour, entries, humans, bots, uniques, quarters, {names})
SELECT link_id, workspace_id, hour, count(*), {totals}, {lists} FROM (
  SELECT link_id, workspace_id, date_trunc('hour', occurred_at, 'UTC') AS hour, dimension, value, count(*) FILTER (WHERE NOT is_bot) AS humans,
    count(*) FILTER (WHERE is_bot) AS bots, count(*) FILTER (WHERE is_unique) AS uniques
  FROM made CROSS JOIN LATERAL (VALUES ('quarters', (floor(extract(epoch FROM occurred_at))::bigint / 900 %% 96)::text), {facts}) AS fact (dimension, value)
  GROUP BY 1, 2, 3, 4, 5) AS sums GROUP BY 1, 2, 3"""
TOTALS = """
INSERT INTO link_statistics AS old (link_id, visit_count, bot_count, unique_visitors, last_visited_at, latency_count, latency_mean_ms)
SELECT id, count(*) FILTER (WHERE NOT is_bot), count(*) FILTER (WHERE is_bot), count(*) FILTER (WHERE is_unique), max(occurred_at), count(*), 1
FROM made CROSS JOIN LATERAL (VALUES (link_id), (0)) AS of (id) GROUP BY 1 ORDER BY 1
ON CONFLICT (link_id) DO UPDATE SET visit_count = old.visit_count + EXCLUDED.visit_count, bot_count = old.bot_count + EXCLUDED.bot_count,
unique_visitors = old.unique_visitors + EXCLUDED.unique_visitors, last_visited_at = greatest(old.last_visited_at, EXCLUDED.last_visited_at),
latency_count = old.latency_count + EXCLUDED.latency_count, latency_mean_ms = 1"""


def count_sql(chosen):
    """One transaction that counts visits: rows of n, the number of a link, and a time."""
    value = "'{0} ' || floor(power({1} + 1, random()))"
    lists = ", ".join(f"string_agg(concat_ws(E'\\x1f', humans, bots, uniques, value), E'\\x1e') FILTER (WHERE dimension = '{name}')" for name in ("quarters", *FACTS))
    parts = {
        "names": ", ".join(FACTS), "values": ", ".join(value.format(*fact) for fact in FACTS.items()), "chosen": chosen, "lists": lists,
        "totals": ", ".join(f"sum({name}) FILTER (WHERE dimension = 'quarters')" for name in ("humans", "bots", "uniques")),
        "facts": ", ".join(f"('{name}', {name})" for name in FACTS),
    }  # fmt: skip
    return f"WITH made AS ({VISITS}), deltas AS ({DELTAS}) {TOTALS}".format(**parts)


class Bench:
    def __init__(self, stage, build):
        import psycopg2

        self.stage, self.build, self.rows = stage, build, []
        self.connection = psycopg2.connect(stage.stores["ADMIN_PG_URL"])
        self.connection.autocommit = True
        self.cursor = self.connection.cursor()
        self.client = Client(stage.stores["LINKS_API_URL"], "rollups")

    def ask(self, sql, *values):
        self.cursor.execute(sql, values)
        return self.cursor.fetchone()[0]

    def prepare(self):
        self.client.log_in()
        self.cursor.execute("SELECT visit_log_make_partition(current_date - n) FROM generate_series(-1, %s) AS n", (BACKLOG_DAYS + 1,))
        self.cursor.execute(
            "INSERT INTO links (slug, link_type, original_url, workspace_id, expires_at) SELECT 'rollups-' || n,"
            " CASE WHEN n %% 10 = 0 THEN 'TEMPORARY' ELSE 'PERMANENT' END, 'https://example.com/', CASE WHEN n %% 10 > 0 THEN %s END,"
            " CASE WHEN n %% 10 = 0 THEN now() + interval '8 hours' END FROM generate_series(1, %s) AS n",
            (self.client.user_id, LINKS),
        )
        self.cursor.execute("VACUUM ANALYZE links")

    def count(self, chosen, *values):
        self.cursor.execute(count_sql(chosen), values)

    def fold(self, *bounds):
        environment = {**os.environ, "PG_URL": self.stage.stores["ADMIN_PG_URL"]}
        command = [os.path.join(self.build, "bin/fold_rollups"), *map(str, bounds)]
        done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
        return json.loads(done.stdout)

    def folded(self, name):
        """Folds what waits, alone on the machine."""
        self.cursor.execute("CHECKPOINT")
        folded = self.fold()
        cpu_us = (folded["cpu_ms"] + folded["postgres_ms"]) * 1e3
        rows = folded["deltas"] + folded["rows"]
        allowed = rows * ROW_US_MAX + folded["entries"] * ENTRY_US_MAX
        self.rows.append([
            name, f"{folded['deltas']:,}", f"{folded['rows']:,}", f"{folded['entries']:,}", f"{folded['took_ms'] / 1000:.1f} s",
            f"{folded['longest_ms']:.0f} ms" + judge(f"roll-ups, {name}: longest transaction", folded["longest_ms"], STEP_MS_MAX, "ms"),
            f"{folded['most_cpu_ms']:.0f} ms",
            f"{cpu_us / 1e6:.1f} s, {cpu_us / folded['deltas']:.0f} µs a delta, {cpu_us / rows:.1f} µs a row, {cpu_us / folded['entries']:.2f} µs an entry",
            f"{cpu_us / allowed:.2f}" + judge(f"roll-ups, {name}: CPU of what {ROW_US_MAX} µs a row and {ENTRY_US_MAX} µs an entry allow", cpu_us / allowed, 1),
        ])  # fmt: skip
        print("  " + ", ".join(self.rows[-1]), flush=True)

    def figures(self):
        """What the account saw until the day before yesterday."""
        span = self.ask("SELECT format('from=%%sT00:00:00Z&to=%%sT00:00:00Z', current_date - %s, current_date - 1)", BACKLOG_DAYS + 1)
        self.client.connect()  # the service has closed the idle connection
        answers = [self.client.ask("GET", f"/api/stats/{below}?{span}")[0] for below in ("summary", "timeseries", "country", "city")]
        for answer in answers:
            for name in ("as_of", "lag_ms", "links"):
                answer.pop(name, None)
        return answers


def history(bench):
    """One visit of each link in each hour of 60 days, folded."""
    for day in range(DAYS, 0, -1):
        bench.count(
            "SELECT link * 7 + hour, link, (current_date - %s)::timestamp AT TIME ZONE 'UTC' + (hour + random()) * interval '1 hour'"
            " FROM generate_series(1, %s) AS link, generate_series(0, 23) AS hour",
            day, LINKS,
        )  # fmt: skip
    bench.folded(f"{LINKS * DAYS * 24:,} hours of {LINKS:,} links")
    bench.cursor.execute("VACUUM ANALYZE")


def backlog(bench, visits):
    for _ in range(visits // BATCH):
        bench.count(
            "SELECT n, 1 + floor(power(random(), 2) * %s)::int, (current_date - 1)::timestamp AT TIME ZONE 'UTC' - random() * %s * interval '1 day'"
            " FROM generate_series(1, %s) AS n",
            LINKS, BACKLOG_DAYS, BATCH,
        )  # fmt: skip
    bench.folded(f"backlog of {visits:,} clicks over {BACKLOG_DAYS} days")


def away(bench):
    for batch in range(AWAY_BATCHES):
        bench.count(
            "SELECT n, 1 + (%s * 37 + n * n) %% %s, date_trunc('hour', now()) - interval '1 hour' + (%s + random()) * interval '5 seconds'"
            " FROM generate_series(1, %s) AS n",
            batch, LINKS, batch, AWAY_LINKS,
        )  # fmt: skip
    bench.folded("an hour without a janitor")


CHANGES = {
    "deleted": "UPDATE links SET state = 'DELETED', state_before_deletion = state, state_since = now(), version = version + 1 WHERE slug = ANY (%s)",
    "restored": "UPDATE links SET state = state_before_deletion, state_before_deletion = NULL, version = version + 1 WHERE slug = ANY (%s)",
    "claimed": "UPDATE links SET link_type = 'PERMANENT', workspace_id = %s, expires_at = NULL, version = version + 1 WHERE slug = ANY (%s) AND workspace_id IS NULL",
    "purged": "DELETE FROM links WHERE slug = ANY (%s)",
}


def changes(bench):
    """What happens to the most popular links while clicks come in. Returns a sentence."""
    wanted, slugs = bench.figures(), [f"rollups-{n}" for n in range(1, POPULAR + 1)]
    cpu_ms, longest_ms, purge_ms, moved = 0.0, 0.0, 0.0, 0
    began = time.monotonic()
    for name, sql in CHANGES.items():
        ids = ids_of(bench, slugs)
        bench.cursor.execute(sql, ([bench.client.user_id] if name == "claimed" else []) + [slugs])
        deleted = 1
        while name == "purged" and deleted:
            step = time.monotonic()
            deleted = bench.ask("SELECT statistics_delete_links(%s, 1000)", ids)
            purge_ms = max(purge_ms, (time.monotonic() - step) * 1000)
        for _ in range(20):
            bench.count("SELECT n, 1 + floor(power(random(), 2) * %s)::int, now() - random() * interval '2 hours' FROM generate_series(1, 200) AS n", LINKS)
            folded = bench.fold(int(time.time()))
            longest_ms, cpu_ms = max(longest_ms, folded["longest_ms"]), cpu_ms + folded["cpu_ms"] + folded["postgres_ms"]
            moved += bench.figures() != wanted
    seconds = time.monotonic() - began
    return (
        f"{POPULAR} popular links were deleted, restored, claimed and purged in {seconds:.0f} s while clicks came in: the account's figures moved"
        f" {moved} times{judge('roll-ups: figures of the account moved', moved, 0, '')}; longest fold"
        f" {longest_ms:.0f} ms{judge('roll-ups, beside changes: longest transaction', longest_ms, STEP_MS_MAX, 'ms')}, longest step of the purge"
        f" {purge_ms:.0f} ms{judge('roll-ups: longest step of a purge', purge_ms, STEP_MS_MAX, 'ms')}; folding took {cpu_ms / 1000:.1f} s of CPU."
    )


def ids_of(bench, slugs):
    bench.cursor.execute("SELECT id FROM links WHERE slug = ANY (%s)", (slugs,))
    return [row[0] for row in bench.cursor.fetchall()]


def proved(bench):
    began = time.monotonic()
    environment = {**os.environ, "PG_URL": bench.stage.stores["ADMIN_PG_URL"]}
    done = subprocess.run([os.path.join(bench.build, "bin/rebuild-stats"), "--check", "--all"], env=environment, capture_output=True, text=True, check=False)
    print(done.stdout, done.stderr, flush=True)
    judge("roll-ups: exit status of rebuild-stats --check --all", done.returncode, 0, "")
    return f"`rebuild-stats --check --all` over {bench.ask('SELECT count(*) FROM visit_log'):,} visits: {done.returncode}, in {time.monotonic() - began:.0f} s."


def measure(stage, options):
    bench = Bench(stage, options.build)
    bench.prepare()
    history(bench)
    backlog(bench, options.events)
    away(bench)
    sentences = [changes(bench), proved(bench)]
    head = ["folded", "deltas", "rows written", "their entries", "time", "longest transaction", "most CPU of one", "CPU of janitor and PostgreSQL", "share of what is allowed"]
    return f"an account of {LINKS:,} links.\n\n" + table(head, bench.rows) + "\n\n" + "\n".join(sentences)
