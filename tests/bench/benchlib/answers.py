"""Measures how fast links-api returns statistics when the roll-ups hold very many visits.

The roll-ups of a day and of an hour are generated, with each link's visits spread over quarters of an hour and over values,
and those of the account as their sums. The other days and hours are copies. There are no single visits, because ranges that
end with whole hours need none.
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
MANY_LINKS = 100_000  # of a second account, with as many visits
TAGGED = 100  # every tenth of LINKS
DAYS = 31
ASKED = 1000
DEFAULT_VISITS = 100_000_000
# Different values; the n-th has 1/n of the visits of the first. A tenth of the visits has no value and no row.
VALUES = {
    "country": 60, "city": 150, "region": 60, "referrer_host": 60, "browser": 15, "os": 10, "device": 4, "language": 25, "utm_source": 8,
    "utm_medium": 4, "utm_campaign": 20,
}  # fmt: skip
P50_MS_MAX, P99_MS_MAX, P99_MS_MAX_OF_MANY = 20, 100, 200


@dataclasses.dataclass(frozen=True)
class Question:
    name: str
    path: str  # "{id}": a link, by Zipf; "{dimension}": any
    is_promised: bool = True
    asked: int = ASKED
    p50_max: float | None = P50_MS_MAX
    p99_max: float = P99_MS_MAX


QUESTIONS = [
    Question("30 days by day", "/api/links/{id}/stats/timeseries?tz=Europe/Berlin"),
    Question("30 days by hour", "/api/links/{id}/stats/timeseries?interval=hour&from={from}", False),
    Question("top 10 of a dimension, 30 days", "/api/links/{id}/stats/{dimension}?tz=Europe/Berlin"),
    Question("total of 30 days", "/api/links/{id}/stats?tz=Europe/Berlin&from={from}", False),
    Question(f"top 10 of {LINKS:,} links, 24 hours", "/api/stats/top", False, 100),
    Question(f"top 10 of {LINKS:,} links, 30 days", "/api/stats/top?from={from}", False, 100),
    Question(f"total of {TAGGED} links with a tag, 30 days", "/api/stats/summary?tz=Europe/Berlin&tag=some", True, 100),
    Question(f"30 days by day, {TAGGED} links with a tag", "/api/stats/timeseries?tz=Europe/Berlin&tag=some", True, 100),
    Question(f"top 10 of a dimension, 30 days, {TAGGED} links with a tag", "/api/stats/{dimension}?tz=Europe/Berlin&tag=some", True, 100),
]
QUESTIONS_OF_AN_ACCOUNT = [
    Question("total of all {links} links, 30 days", "/api/stats/summary?tz=Europe/Berlin"),
    Question("30 days by day, all {links} links", "/api/stats/timeseries?tz=Europe/Berlin"),
    Question("top 10 of a dimension, 30 days, all {links} links", "/api/stats/{dimension}?tz=Europe/Berlin"),
]


class Client:
    """One connection of an account."""

    def __init__(self, url, name):
        self.name = name
        self.email = f"{name}@example.com"
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
        account = {"email": self.email, "password": "correct horse battery"}
        self.user_id = self.ask("POST", "/api/auth/register", account)[0]["user"]["id"]
        self.token = self.ask("POST", "/api/auth/login", account)[0]["access_token"]
        self.headers["Authorization"] = "Bearer " + self.token

    def another(self):
        """Another connection of the same account."""
        client = Client(self.url.geturl(), self.name)
        client.headers = self.headers
        return client


def weights(links):
    shares = [1 / rank for rank in range(1, links + 1)]
    return [share / sum(shares) for share in shares]


def fill_facts(cursor):
    cursor.execute(
        "CREATE TEMP TABLE facts AS SELECT dimension, n, dimension || '-' || n AS value, 1 / n::float8 / sum(1 / n::float8) OVER"
        " (PARTITION BY dimension) * 0.9 AS share FROM unnest(%s::text[], %s::int[]) AS d (dimension, count), generate_series(1, count) AS n",
        (list(VALUES), list(VALUES.values())),
    )
    cursor.execute("ANALYZE facts")


def fill(cursor, email, links, visits):
    """The links of an account, with a day and an hour of their roll-ups."""
    cursor.execute(
        "INSERT INTO links (slug, link_type, original_url, workspace_id, tags) SELECT 'stat' || id || '-' || i, 'PERMANENT', 'https://example.com/', id,"
        " CASE WHEN i %% %s = 0 THEN '{some}'::text[] ELSE '{}' END FROM users, generate_series(1, %s) AS i WHERE email = %s RETURNING id",
        (links // TAGGED, links, email),
    )
    ids = [row[0] for row in cursor.fetchall()]
    cursor.execute("DROP TABLE IF EXISTS share")
    cursor.execute("CREATE TEMP TABLE share AS SELECT * FROM unnest(%s::bigint[], %s::float8[]) AS share (link_id, weight)", (ids, weights(links)))
    cursor.execute("ANALYZE share")
    daily = visits / (DAYS - 0.5)  # the last day is today, and only its past has visits
    add(cursor, "rollup_day", "day", "current_date - 2", 96, daily)
    add(cursor, "rollup_hour", "hour", "date_trunc('hour', now())", 4, daily / 24)
    return ids


LISTS = ", ".join(VALUES)


def copy(cursor):
    """All other days and hours, up to the end of the present hour, as copies. All visits of an hour are in one of its quarters."""
    for name, scope in (("rollup", "link_id"), ("rollup_workspace", "workspace_id")):
        for day in (1, *range(3, DAYS)):
            cursor.execute(
                f"INSERT INTO {name}_day ({scope}, day, humans, bots, uniques, quarters, {LISTS})"
                f" SELECT {scope}, current_date - {day}, humans, bots, uniques, quarters, {LISTS} FROM {name}_day WHERE day = current_date - 2 ORDER BY 1"
            )
        # Today, and the hours in which ranges of 30 days in other zones begin.
        for back in [*range(24 * 29, 24 * 30), *range(1, 48)]:
            cursor.execute(
                f"INSERT INTO {name}_hour ({scope}, hour, humans, bots, uniques, quarters, {LISTS})"
                f" SELECT {scope}, at, humans, bots, uniques,"
                " concat_ws(E'\\x1f', humans, bots, uniques, (extract(hour FROM at AT TIME ZONE 'UTC') * 4)::integer),"
                f" {LISTS} FROM {name}_hour, (SELECT date_trunc('hour', now()) - interval '{back} hours' AS at) AS copied"
                " WHERE hour = date_trunc('hour', now()) ORDER BY 1"
            )
        # Today is the sum of its hours.
        cursor.execute(
            f"INSERT INTO {name}_day ({scope}, day, humans, bots, uniques, quarters)"
            f" SELECT {scope}, current_date, sum(humans), sum(bots), sum(uniques), string_agg(quarters, E'\\x1e') FROM {name}_hour"
            " WHERE hour >= current_date GROUP BY 1"
        )
    cursor.execute("INSERT INTO link_statistics (link_id, visit_count, last_visited_at) SELECT link_id, sum(humans), now() FROM rollup_day GROUP BY 1")
    cursor.execute(
        "INSERT INTO consumer_offsets (topic, partition, next_offset, as_of) VALUES ('waymark.redirects.v1', 99, 0, now())"
        " ON CONFLICT DO NOTHING"
    )


def add(cursor, table, key, bucket, quarters, visits):
    """Adds the visits of a day or of an hour of all links, and of their account."""
    drawn = "floor(%f * weight * {share} * (0.5 + random()) + random())::bigint" % visits
    first = "0" if quarters == 96 else f"(extract(hour FROM ({bucket}) AT TIME ZONE 'UTC') * 4)::integer"
    cursor.execute("DROP TABLE IF EXISTS made")
    cursor.execute(
        f"""CREATE TEMP TABLE made AS SELECT link_id, dimension, value, total AS humans, total / 5 AS bots, total / 2 AS uniques FROM (
            SELECT link_id, dimension, value, {drawn.format(share="facts.share")} AS total FROM share, facts
            UNION ALL SELECT link_id, 'quarters', q::text, {drawn.format(share=1 / quarters)} FROM share,
            generate_series({first}, {first} + {quarters} - 1) AS q) AS drawn WHERE total > 0"""
    )
    columns = ["quarters", *VALUES]
    totals = ", ".join(f"coalesce(sum({name}) FILTER (WHERE dimension = 'quarters'), 0)" for name in ("humans", "bots", "uniques"))
    lists = ", ".join(f"string_agg(concat_ws(E'\\x1f', humans, bots, uniques, value), E'\\x1e') FILTER (WHERE dimension = '{name}')" for name in columns)
    for of, scope, rows in (
        (table, "link_id", "made"),
        (table.replace("rollup_", "rollup_workspace_"), "workspace_id",
         "(SELECT workspace_id AS workspace_id, dimension, value, sum(humans) AS humans, sum(bots) AS bots, sum(uniques) AS uniques"
         " FROM made JOIN links ON id = link_id GROUP BY 1, 2, 3) AS sums"),
    ):  # fmt: skip
        cursor.execute(
            f"INSERT INTO {of} ({scope}, {key}, entries, humans, bots, uniques, {', '.join(columns)})"
            f" SELECT {scope}, {bucket}, count(*), {totals}, {lists} FROM {rows} GROUP BY 1"
        )


def concrete(question, ids, dice):
    since = datetime.datetime.now(datetime.timezone.utc).date() - datetime.timedelta(days=29)
    chosen = {"{id}": dice.choices(ids, weights(len(ids)))[0] if "{id}" in question.path else "", "{dimension}": dice.choice(sorted(VALUES)), "{from}": since}
    path = question.path
    for hole, value in chosen.items():
        path = path.replace(hole, str(value))
    return path


def check(client, cursor, ids, dice):
    """Checks answers against the roll-ups. The speed of a wrong answer means nothing."""
    for link in dice.choices(ids, weights(len(ids)), k=20):
        answer, _ = client.ask("GET", f"/api/links/{link}/stats/timeseries?tz=Europe/Berlin")
        cursor.execute(
            "SELECT coalesce(sum(humans), 0) FROM rollup_day_entries WHERE link_id = %s AND dimension = 'quarters'"
            " AND day + value::integer * interval '15 minutes' >= %s AND day + value::integer * interval '15 minutes' < %s",
            (link, answer["from"], answer["to"]),
        )
        if len(answer["points"]) != 30 or sum(point["humans"] for point in answer["points"]) != cursor.fetchone()[0]:
            raise SystemExit(f"bench: link {link} answers {answer}")


def ask_all(client, questions, ids, dice):
    times = {}
    client.connect()  # the service has closed the idle connection
    for question in questions:
        for _ in range(question.asked // 50):
            client.ask("GET", concrete(question, ids, dice))
        times[question] = sorted(client.ask("GET", concrete(question, ids, dice))[1] for _ in range(question.asked))
        print(f"  {question.name}: {in_short(times[question])}", flush=True)
    return times


def of_account(links, p50_max, p99_max):
    return [dataclasses.replace(each, name=each.name.format(links=f"{links:,}"), asked=200, p50_max=p50_max, p99_max=p99_max) for each in QUESTIONS_OF_AN_ACCOUNT]


def measure(stage, visits):
    import psycopg2

    few, many = Client(stage.stores["LINKS_API_URL"], "few"), Client(stage.stores["LINKS_API_URL"], "many")
    connection = psycopg2.connect(stage.stores["PG_URL"])
    connection.autocommit = True
    cursor = connection.cursor()
    fill_facts(cursor)
    ids = {}
    for client, links in ((few, LINKS), (many, MANY_LINKS)):
        begun = time.monotonic()
        client.log_in()
        ids[client] = fill(cursor, client.email, links, visits)
        print(f"  {links:,} links in {time.monotonic() - begun:.0f} s", flush=True)
    begun = time.monotonic()
    copy(cursor)
    print(f"  copied in {time.monotonic() - begun:.0f} s", flush=True)
    cursor.execute("VACUUM ANALYZE")
    dice = random.Random(1)
    for client in (few, many):
        client.connect()
        check(client, cursor, ids[client], dice)
    times = ask_all(few, QUESTIONS + of_account(LINKS, P50_MS_MAX, P99_MS_MAX), ids[few], dice)
    times |= ask_all(many, of_account(MANY_LINKS, None, P99_MS_MAX_OF_MANY), ids[many], dice)
    return times, held(cursor)


def in_short(times):
    return f"p50 {statistics.median(times):.1f} ms, p99 {times[int(len(times) * 0.99)]:.1f} ms"


def held(cursor):
    cursor.execute("SELECT sum(humans) FROM rollup_day")
    found = [f"{cursor.fetchone()[0]:,} visits"]
    for each in ("hour", "day"):
        cursor.execute(f"SELECT count(*), pg_total_relation_size('rollup_{each}') >> 20 FROM rollup_{each}")
        count, size = cursor.fetchone()
        found.append(f"{count:,} rows by {each} ({size:,} MiB)")
    return ", ".join(found)


def cell(question, name, value, most):
    text = f"{value:.1f} ms"
    return text + judge(f"statistics, {question.name}: {name}", value, most, "ms") if question.is_promised and most else text


def report(seen):
    times, rows_held = seen
    rows = []
    for question, all_ms in times.items():
        p50, p99 = statistics.median(all_ms), all_ms[int(len(all_ms) * 0.99)]
        p50_cell, p99_cell = cell(question, "p50", p50, question.p50_max), cell(question, "p99", p99, question.p99_max)
        rows.append([question.name, f"{question.asked:,}", p50_cell, p99_cell, f"{all_ms[-1]:.1f} ms"])
    head = ["question", "asked", "p50", "p99", "slowest"]
    accounts = f"two accounts, of {LINKS:,} and {MANY_LINKS:,} links by Zipf 1.0, {DAYS} days, one client, over HTTP"
    return f"{rows_held}; {accounts}.\n\n" + table(head, rows)
