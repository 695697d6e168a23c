"""Measures how fast links-api returns statistics when the roll-ups hold very many visits.

The roll-ups are generated in the order of time, as the consumer writes them, with each link's visits spread over quarters
of an hour and over values. The janitor's own SQL finishes the days. There are no single visits, because ranges that end
with whole hours need none.
"""

import dataclasses
import datetime
import http.client
import json
import random
import statistics
import time
import urllib.parse

from .bounds import judge
from .report import table

LINKS = 1000
DAYS = 31
ASKED = 1000
DEFAULT_VISITS = 100_000_000
# Different values; the n-th has 1/n of the visits of the first. A tenth of the visits has no value and no row.
VALUES = {
    "country": 60, "city": 150, "region": 60, "referrer": 60, "browser": 15, "os": 10, "device": 4, "language": 25, "utm_source": 8,
    "utm_medium": 4, "utm_campaign": 20,
}  # fmt: skip
BATCH = 10_000
STEP_MS = 200  # as in services/janitor/retention/daily_rollups.h
P50_MS_MAX, P99_MS_MAX = 20, 100


@dataclasses.dataclass(frozen=True)
class Question:
    name: str
    path: str  # "{id}": a link, by Zipf; "{dimension}": any
    is_promised: bool = True
    asked: int = ASKED


QUESTIONS = [
    Question("30 days by day", "/api/links/{id}/stats/timeseries?tz=Europe/Berlin"),
    Question("30 days by hour", "/api/links/{id}/stats/timeseries?interval=hour&from={from}", False),
    Question("top 10 of a dimension, 30 days", "/api/links/{id}/stats/{dimension}?tz=Europe/Berlin"),
    Question("total of 30 days", "/api/links/{id}/stats?tz=Europe/Berlin&from={from}", False),
    Question(f"top 10 of {LINKS:,} links, 24 hours", "/api/stats/top", False, 100),
    Question(f"top 10 of {LINKS:,} links, 30 days", "/api/stats/top?from={from}", False, 100),
]


class Client:
    """One connection of an account that owns all links."""

    def __init__(self, url):
        self.url = urllib.parse.urlsplit(url)
        self.connect()
        self.headers = {"Content-Type": "application/json"}

    def connect(self):
        self.connection = http.client.HTTPConnection(self.url.hostname, self.url.port, timeout=60)

    def ask(self, method, path, body=None):
        begun = time.perf_counter()
        self.connection.request(method, path, json.dumps(body) if body else None, self.headers)
        answer = self.connection.getresponse()
        content = answer.read()
        took_ms = (time.perf_counter() - begun) * 1000
        if answer.status >= 300:
            raise SystemExit(f"bench: {method} {path} answers {answer.status}: {content[:200]}")
        return json.loads(content), took_ms

    def log_in(self):
        account = {"email": "statistics@example.com", "password": "correct horse battery"}
        self.ask("POST", "/api/auth/register", account)
        self.headers["Authorization"] = "Bearer " + self.ask("POST", "/api/auth/login", account)[0]["access_token"]


def weights():
    shares = [1 / rank for rank in range(1, LINKS + 1)]
    return [share / sum(shares) for share in shares]


def fill(cursor, visits):
    """Links and their roll-ups, up to the end of the present hour."""
    cursor.execute(
        "INSERT INTO links (slug, link_type, original_url, owner_id)"
        " SELECT 'stat' || i, 'PERMANENT', 'https://example.com/', (SELECT max(id) FROM users) FROM generate_series(1, %s) AS i RETURNING id",
        (LINKS,),
    )
    ids = [row[0] for row in cursor.fetchall()]
    cursor.execute("CREATE TEMP TABLE share AS SELECT * FROM unnest(%s::bigint[], %s::float8[]) AS share (link_id, weight)", (ids, weights()))
    # The last day is today, and only its past has visits.
    cursor.execute(
        """INSERT INTO visit_rollup_quarter (link_id, bucket, humans, bots, uniques)
           SELECT link_id, bucket, total, total / 5, total / 2 FROM (
               SELECT link_id, bucket, floor(%s * weight / (%s * 96) * (0.5 + random()) + random())::bigint AS total
               FROM generate_series(date_trunc('day', now(), 'UTC') - make_interval(days => %s), now(), '15 minutes') AS bucket, share
           ) AS made WHERE total > 0""",
        (visits, DAYS - 0.5, DAYS - 1),
    )
    cursor.execute(
        "CREATE TEMP TABLE facts AS SELECT dimension::visit_dimension, n, dimension || '-' || n AS value, 1 / n::float8 / sum(1 / n::float8) OVER"
        " (PARTITION BY dimension) * 0.9 AS share FROM unnest(%s::text[], %s::int[]) AS d (dimension, count), generate_series(1, count) AS n",
        (list(VALUES), list(VALUES.values())),
    )
    cursor.execute("ANALYZE share; ANALYZE facts")
    first = "date_trunc('day', now(), 'UTC') - make_interval(days => %d)"
    daily = visits / (DAYS - 0.5)
    # One hour of a finished day holds the visits of all its hours: the roll-up of the day is the same.
    add_values(cursor, f"generate_series({first % (DAYS - 1)}, {first % 1}, '1 day')", daily)
    # Ranges of 30 days begin before the first whole day and end after the last, so those hours have rows of their own.
    add_values(cursor, f"generate_series({first % 29} - interval '2 hours', {first % 29} - interval '1 hour', '1 hour')", daily / 24)
    add_values(cursor, f"generate_series({first % 0}, now(), '1 hour')", daily / 24)
    cursor.execute(
        "INSERT INTO link_statistics (link_id, visit_count, last_visited_at) SELECT link_id, sum(humans), now() FROM visit_rollup_quarter GROUP BY 1"
    )
    cursor.execute(
        "INSERT INTO consumer_offsets (topic, partition, next_offset, as_of) VALUES ('waymark.redirects.v1', 99, 0, now())"
        " ON CONFLICT DO NOTHING"
    )
    return ids


def finish_days(cursor):
    """Finishes the days as the janitor does; returns the durations of the steps in milliseconds, sorted."""
    cursor.execute(
        "UPDATE daily_rollup_progress SET totals_since = first, next_day = first, next_link = 0"
        " FROM (SELECT (min(bucket) AT TIME ZONE 'UTC')::date AS first FROM visit_rollup_quarter) AS quarters"
    )
    steps, done = [], 1
    while done > 0:
        begun = time.perf_counter()
        cursor.execute("SELECT daily_rollup_advance((now() AT TIME ZONE 'UTC')::date - 1, %s)", (STEP_MS,))
        done = cursor.fetchone()[0]
        steps.append((time.perf_counter() - begun) * 1000)
    return sorted(steps)


def add_values(cursor, buckets, visits):
    """
    Inserts rows in the order in which their values are first seen in the hour. That decides which rows are neighbours on
    disk, and so what it costs to read many of them.
    """
    cursor.execute(
        f"""INSERT INTO visit_rollup_hour (link_id, bucket, humans, bots, uniques, dimension, value)
            SELECT link_id, bucket, total, total / 5, total / 2, dimension, value FROM (
                SELECT link_id, bucket, dimension, value, floor(%s * weight * share * (0.5 + random()) + random())::bigint AS total
                FROM {buckets} AS times (bucket), share, facts) AS made
            WHERE total > 0 ORDER BY bucket, floor(least(1, -ln(1 - random()) / total) * %s), link_id, dimension, value""",
        (visits, max(1, visits // BATCH)),
    )


def concrete(question, ids, dice):
    since = datetime.datetime.now(datetime.timezone.utc).date() - datetime.timedelta(days=29)
    chosen = {"{id}": dice.choices(ids, weights())[0], "{dimension}": dice.choice(sorted(VALUES)).replace("referrer", "referrer_host"), "{from}": since}
    path = question.path
    for hole, value in chosen.items():
        path = path.replace(hole, str(value))
    return path


def check(client, cursor, ids, dice):
    """Checks answers against the roll-ups. The speed of a wrong answer means nothing."""
    for link in dice.choices(ids, weights(), k=20):
        answer, _ = client.ask("GET", f"/api/links/{link}/stats/timeseries?tz=Europe/Berlin")
        cursor.execute(
            "SELECT coalesce(sum(humans), 0) FROM visit_rollup_quarter WHERE link_id = %s AND bucket >= %s AND bucket < %s",
            (link, answer["from"], answer["to"]),
        )
        if len(answer["points"]) != 30 or sum(point["humans"] for point in answer["points"]) != cursor.fetchone()[0]:
            raise SystemExit(f"bench: link {link} answers {answer}")


def measure(stage, visits):
    import psycopg2

    client = Client(stage.stores["LINKS_API_URL"])
    client.log_in()
    connection = psycopg2.connect(stage.stores["PG_URL"])
    connection.autocommit = True
    cursor = connection.cursor()
    begun = time.monotonic()
    ids = fill(cursor, visits)
    cursor.execute("VACUUM ANALYZE")
    print(f"  filled in {time.monotonic() - begun:.0f} s", flush=True)
    begun = time.monotonic()
    steps = finish_days(cursor)
    print(f"  {DAYS - 1} days finished in {time.monotonic() - begun:.0f} s, {len(steps)} steps, the longest {steps[-1]:.0f} ms", flush=True)
    cursor.execute("VACUUM ANALYZE visit_rollup_day, visit_total_day, daily_rollup_progress")
    client.connect()  # the service has closed the idle connection
    dice = random.Random(1)
    check(client, cursor, ids, dice)
    times = {}
    for question in QUESTIONS:
        for _ in range(question.asked // 50):
            client.ask("GET", concrete(question, ids, dice))
        times[question] = sorted(client.ask("GET", concrete(question, ids, dice))[1] for _ in range(question.asked))
        print(f"  {question.name}: {in_short(times[question])}", flush=True)
    return times, held(cursor), steps


def in_short(times):
    return f"p50 {statistics.median(times):.1f} ms, p99 {times[int(len(times) * 0.99)]:.1f} ms"


def held(cursor):
    cursor.execute("SELECT sum(humans) FROM visit_rollup_quarter")
    found = [f"{cursor.fetchone()[0]:,} visits"]
    for each in ("quarter", "hour", "day"):
        cursor.execute(f"SELECT count(*), pg_total_relation_size('visit_rollup_{each}') >> 20 FROM visit_rollup_{each}")
        count, size = cursor.fetchone()
        found.append(f"{count:,} rows by {each} ({size:,} MiB)")
    return ", ".join(found)


def cell(question, name, value, most):
    text = f"{value:.1f} ms"
    return text + judge(f"statistics, {question.name}: {name}", value, most, "ms") if question.is_promised else text


def report(seen):
    times, rows_held, steps = seen
    rows = []
    for question, all_ms in times.items():
        p50, p99 = statistics.median(all_ms), all_ms[int(len(all_ms) * 0.99)]
        rows.append(
            [question.name, f"{question.asked:,}", cell(question, "p50", p50, P50_MS_MAX), cell(question, "p99", p99, P99_MS_MAX), f"{all_ms[-1]:.1f} ms"]
        )
    head = ["question", "asked", "p50", "p99", "slowest"]
    finished = f"The janitor finished {DAYS - 1} days in {len(steps)} steps, {sum(steps) / 1000:.0f} s in all, the longest {steps[-1]:.0f} ms."
    return f"{rows_held}; {LINKS:,} links by Zipf 1.0, {DAYS} days, one client, over HTTP. {finished}\n\n" + table(head, rows)
