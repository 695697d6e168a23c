"""The ledger check: compares each table of statistics, row by row, with what the producer sent.

The SQL here shares nothing with the consumers or with tools/rebuild-stats.
"""

import time

import psycopg2

DAY = "(occurred_at AT TIME ZONE 'UTC')::date"
DIMENSIONS = """country city region referrer_host browser os device language utm_source utm_medium utm_campaign
  rule variant alias scan""".split()
FACTS = ", ".join(
    ["('quarters', (floor(extract(epoch FROM occurred_at))::bigint / 900 % 96)::text)"]
    + [f"('{name}', {name})" for name in DIMENSIONS]
)
SUMS = (
    "count(*) FILTER (WHERE NOT is_bot) AS humans, count(*) FILTER (WHERE is_bot) AS bots,"
    " count(*) FILTER (WHERE is_unique) AS uniques"
)


def clicks_of(link):
    """SQL that adds up what the producer sent: by link, or for the whole platform under link 0."""
    return (
        f"SELECT {link} AS link_id, count(*) FILTER (WHERE NOT is_bot) AS humans, count(*) FILTER (WHERE is_bot) AS bots,"
        " max(occurred_at) AS last, count(*) AS n, avg(ms) AS mean, var_pop(ms) * count(*) AS m2"
        " FROM (SELECT *, latency_us / 1000.0::float8 AS ms FROM produced) p GROUP BY 1"
    )


def differs(wanted, stored, key, columns):
    """SQL that counts the rows which differ or which only one side has."""
    left = ", ".join(f"w.{column}" for column in columns)
    right = ", ".join(f"s.{column}" for column in columns)
    return (
        f"SELECT count(*) FROM ({wanted}) w FULL JOIN ({stored}) s USING ({key})"
        f" WHERE ({left}) IS DISTINCT FROM ({right})"
    )


def rollup(view, key, bucket, owner="link_id", scope="link_id", where="true"):
    """Compares the entries of all lists. The list of quarters has the totals."""
    wanted = (
        f"SELECT {owner} AS {scope}, {bucket} AS {key}, dimension, value COLLATE \"C\" AS value, {SUMS} FROM visit_log"
        f" CROSS JOIN LATERAL (VALUES {FACTS}) AS fact (dimension, value) WHERE value <> '' AND {where} GROUP BY 1, 2, 3, 4"
    )
    sums = ", ".join(f"sum({name})::bigint AS {name}" for name in ("humans", "bots", "uniques"))
    stored = f"SELECT {scope}, {key}, dimension, value, {sums} FROM {view} GROUP BY 1, 2, 3, 4"
    return differs(wanted, stored, f"{scope}, {key}, dimension, value", ("humans", "bots", "uniques"))


def totals(rows, key, bucket):
    """Compares the totals that the rows have beside their lists."""
    sums = ", ".join(f"sum({name})::bigint AS {name}" for name in ("humans", "bots", "uniques"))
    return differs(
        f"SELECT link_id, {bucket} AS {key}, {SUMS} FROM visit_log GROUP BY 1, 2",
        f"SELECT link_id, {key}, {sums} FROM ({rows}) t GROUP BY 1, 2",
        f"link_id, {key}",
        ("humans", "bots", "uniques"),
    )


HOUR = "date_trunc('hour', occurred_at, 'UTC')"
HOURS = (
    "SELECT link_id, hour, humans, bots, uniques FROM rollup_hour"
    " UNION ALL SELECT link_id, hour, humans, bots, uniques FROM rollup_delta"
)
DAYS = (
    "SELECT link_id, day, humans, bots, uniques FROM rollup_day"
    " UNION ALL SELECT link_id, (hour AT TIME ZONE 'UTC')::date, humans, bots, uniques FROM rollup_delta"
)
CLOSE = "abs(w.{0} - s.{0}) > 1e-9 * greatest(1, abs(w.{0}))"


def statistics(clicks, uniques, where):
    """SQL that compares statistics: counts exactly, means and variances as closely as rounding allows."""
    stored = (
        "SELECT link_id, visit_count AS humans, bot_count AS bots, unique_visitors AS uniques, last_visited_at AS last,"
        " latency_count AS n, latency_mean_ms AS mean, latency_m2 AS m2 FROM link_statistics"
    )
    return (
        f"SELECT count(*) FROM (SELECT * FROM ({clicks}) t JOIN ({uniques}) u USING (link_id)) w"
        f" FULL JOIN ({stored} WHERE {where}) s USING (link_id)"
        " WHERE (w.humans, w.bots, w.uniques, w.last, w.n) IS DISTINCT FROM (s.humans, s.bots, s.uniques, s.last, s.n)"
        f" OR {CLOSE.format('mean')} OR {CLOSE.format('m2')}"
    )


# A unique visit is the first one of a human visitor to a link on a UTC day.
UNIQUES = (
    f"SELECT link_id, count(DISTINCT ({DAY}, visitor)) FILTER (WHERE NOT is_bot) AS uniques FROM produced GROUP BY link_id"
)
MISTAKES = {
    "lost": "SELECT count(*) FROM produced p WHERE NOT EXISTS"
    " (SELECT FROM visit_log v WHERE v.event_id = p.event_id AND v.occurred_at = p.occurred_at)",
    "double": "SELECT count(*) - count(DISTINCT event_id) FROM visit_log",
    "invented": "SELECT count(*) FROM visit_log v WHERE NOT EXISTS (SELECT FROM produced p WHERE p.event_id = v.event_id)",
    "misread": "SELECT count(*) FROM produced p JOIN visit_log v USING (event_id)"
    " WHERE (p.link_id, p.is_bot, p.latency_us, p.rule, p.variant, p.alias, p.scan)"
    " IS DISTINCT FROM (v.link_id, v.is_bot, v.latency_us, v.rule, v.variant, v.alias, v.scan)",
    "statistics": statistics(clicks_of("link_id"), UNIQUES, "link_id > 0"),
    "platform": statistics(
        clicks_of("0::bigint"),
        f"SELECT 0::bigint AS link_id, sum(uniques)::bigint AS uniques FROM ({UNIQUES}) u",
        "link_id = 0",
    ),
    "hours": rollup("rollup_hour_entries", "hour", HOUR),
    "totals of hours": totals(HOURS, "hour", HOUR),
    "days": rollup("rollup_day_entries", "day", DAY),
    "totals of days": totals(DAYS, "day", DAY),
    "hours of accounts": rollup("rollup_workspace_hour_entries", "hour", HOUR, "workspace_id", "workspace_id", "workspace_id <> 0"),
    "days of accounts": rollup("rollup_workspace_day_entries", "day", DAY, "workspace_id", "workspace_id", "workspace_id <> 0"),
}
COUNTED = "SELECT coalesce(sum(visit_count + bot_count), 0)::bigint FROM link_statistics WHERE link_id > 0"
# Everything that a batch may change. as_of and the published offset may move without a batch.
FINGERPRINT = "SELECT hashtextextended(concat_ws('|', {}), 0)".format(
    ", ".join(
        f"(SELECT string_agg(t::text, ';' ORDER BY t::text) FROM ({rows}) t)"
        for rows in (
            "SELECT * FROM visit_log",
            "SELECT * FROM link_statistics",
            "SELECT * FROM rollup_delta",
            "SELECT * FROM rollup_hour",
            "SELECT * FROM rollup_day",
            "SELECT * FROM rollup_workspace_hour",
            "SELECT * FROM rollup_workspace_day",
            "SELECT partition, next_offset, next_index FROM consumer_offsets WHERE topic = 'waymark.redirects.v1'",
        )
    )
)


class Ledger:
    """The statistics in PostgreSQL. Repeats a question that an outage of the server interrupts."""

    def __init__(self, url):
        self.url = url
        self.connection = None

    def run(self, job):
        deadline = time.monotonic() + 300
        while True:
            try:
                if self.connection is None:
                    self.connection = psycopg2.connect(self.url)
                    self.connection.autocommit = True
                with self.connection.cursor() as cursor:
                    return job(cursor)
            except (psycopg2.OperationalError, psycopg2.InterfaceError):
                self.connection = None
                assert time.monotonic() < deadline, "PostgreSQL has been away for three minutes"
                time.sleep(0.05)

    def ask(self, sql):
        def job(cursor):
            cursor.execute(sql)
            return cursor.fetchone()[0]

        return self.run(job)

    def rows(self, sql):
        def job(cursor):
            cursor.execute(sql)
            return cursor.fetchall()

        return self.run(job)

    def do(self, sql, *values):
        self.run(lambda cursor: cursor.execute(sql, values or None))

    def counted(self):
        return self.ask(COUNTED)

    def make_truth(self):
        self.do(
            "CREATE UNLOGGED TABLE IF NOT EXISTS produced (event_id uuid PRIMARY KEY, link_id bigint,"
            " occurred_at timestamptz, is_bot boolean, latency_us integer, visitor bigint,"
            " rule text, variant text, alias text, scan text)"
        )

    def take_truth(self, path):
        """Adds what a producer sent; returns the total of all producers."""
        self.make_truth()
        with open(path, encoding="utf-8") as lines:
            self.run(lambda cursor: cursor.copy_expert("COPY produced FROM STDIN", lines))
        self.do("ANALYZE produced")
        return self.ask("SELECT count(*) FROM produced")

    def mistakes(self):
        """Returns the number of wrong rows per table; all are 0 if the consumers are right."""
        self.do("ANALYZE visit_log")
        return {name: self.ask(sql) for name, sql in MISTAKES.items()}

    def sums(self):
        return {
            "statistics": self.counted(),
            "platform": self.ask("SELECT visit_count + bot_count FROM link_statistics WHERE link_id = 0"),
            "hours": self.ask(f"SELECT sum(humans + bots)::bigint FROM ({HOURS}) h"),
            "visit log": self.ask("SELECT count(*) FROM visit_log"),
        }

    def assert_right(self, clicks, mistakes=None):
        """Statistics, roll-ups and visit log agree with what was produced."""
        mistakes = mistakes or self.mistakes()
        assert not any(mistakes.values()), mistakes
        sums = self.sums()
        assert set(sums.values()) == {clicks}, sums

    def event_ids(self):
        return {row[0] for row in self.rows("SELECT event_id::text FROM produced")}

    def fingerprint(self):
        return self.ask(FINGERPRINT)
