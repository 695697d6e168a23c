"""Inserts visits into the visit log by SQL, with the matching roll-ups."""

import datetime
import itertools
import os
import subprocess

NOT_ROLLED_UP = ["referrer_source", "bot_reason"]

# The dimensions and a few values of each, some far more frequent; "" = unknown.
VALUES = {
    "country": ["DE", "DE", "DE", "US", "US", "IN", "AU", ""],
    "city": ["Berlin", "Zürich", "Mumbai", "Adelaide", ""],
    "region": ["DE-BY", "DE-BE", "US-NY", "", ""],
    "referrer_host": ["www.google.com", "t.co", "news.ycombinator.com", "", "", ""],
    "browser": ["Chrome", "Chrome", "Firefox", "Mobile Safari", "Edge"],
    "os": ["Windows", "Linux", "iOS", "Android", ""],
    "device": ["desktop", "desktop", "phone", "tablet"],
    "language": ["de", "en", "en", "hi", ""],
    "utm_source": ["news", "", "", ""],
    "utm_medium": ["mail", "", "", ""],
    "utm_campaign": ["spring, \"2026\"", "=cmd()", "", "", ""],
    "referrer_source": ["Google", "Google", "Twitter", ""],
    "bot_reason": ["", "crawler", "head"],
    "rule": ["", "", "Germans", "phones, \"new\""],
    "variant": ["", "A", "A", "B"],
    "alias": ["", "", "old", "older"],
    "scan": ["", "", "scan"],
}  # fmt: skip


# Few enough that most of them visit several times on busy days.
VISITORS = 150


def add_visits(database, link_id, count, first, last, seed=0.5, bots=0.2):
    """Adds count visits at random times in [first, last), every tenth one at a full quarter of an hour. Visitor hashes change daily.

    They count for the account that owns the link now.
    """
    columns, choices = [], []
    for column, values in VALUES.items():
        columns.append(column)
        listed = ", ".join("'" + value.replace("'", "''") + "'" for value in values)
        chosen = f"(ARRAY[{listed}])[1 + floor(random() * {len(values)})::int]"
        choices.append(f"CASE WHEN bot THEN {chosen} ELSE '' END" if column == "bot_reason" else chosen)
    database.run("SELECT setseed(%s)", seed)
    database.run(
        f"""INSERT INTO visit_log (day, event_id, occurred_at, link_id, workspace_id, slug, status, latency_us, is_bot, visitor_hash,
                                   {", ".join(columns)})
            SELECT (t AT TIME ZONE 'UTC')::date, gen_random_uuid(), t, %s, coalesce((SELECT workspace_id FROM links WHERE id = %s), 0), 'slug', 302, 1500, bot,
                   decode(md5(concat((t AT TIME ZONE 'UTC')::date, bot, floor(random() * {VISITORS}))), 'hex'), {", ".join(choices)}
            FROM (SELECT CASE WHEN n %% 10 = 0 THEN greatest(date_bin('15 minutes', moment, 'epoch'), %s) ELSE moment END AS t, bot
                  FROM (SELECT n, %s::timestamptz + random() * (%s::timestamptz - %s::timestamptz) AS moment, random() < %s AS bot
                        FROM generate_series(1, %s) AS n) AS drawn
                 ) AS made""",
        link_id, link_id, first, first, last, first, bots, count,
    )  # fmt: skip
    mark_uniques(database, link_id)


def mark_uniques(database, link_id):
    """Marks the first visit of each visitor per UTC day, as the consumer does when clicks arrive in order."""
    database.run("UPDATE visit_log SET is_unique = false WHERE link_id = %s AND is_unique", link_id)
    database.run(
        """UPDATE visit_log SET is_unique = true FROM (
               SELECT DISTINCT ON (day, visitor_hash) day, event_id FROM visit_log WHERE link_id = %s AND NOT is_bot
               ORDER BY day, visitor_hash, occurred_at, event_id) AS earliest
           WHERE visit_log.day = earliest.day AND visit_log.event_id = earliest.event_id""",
        link_id,
    )


# Roll-ups by hour are kept for this long.
HOURS_KEEP_DAYS = 30


def roll_up(database, dimensions=True):
    """Stores what the consumer would store in three batches. Nothing is folded yet; finish() does that."""
    database.run("TRUNCATE rollup_delta, rollup_hour, rollup_day, rollup_workspace_hour, rollup_workspace_day")
    database.run("UPDATE rollup_progress SET hours_since = '-infinity'")
    rolled_up = [name for name in VALUES if dimensions and name not in NOT_ROLLED_UP]
    facts = ", ".join(["('quarters', (floor(extract(epoch FROM occurred_at))::bigint / 900 %% 96)::text)"] + [f"('{name}', {name})" for name in rolled_up])
    columns = ["quarters", *rolled_up]
    lists = ", ".join(
        f"string_agg(concat_ws(E'\\x1f', humans, bots, uniques, value), E'\\x1e') FILTER (WHERE dimension = '{name}')" for name in columns
    )
    totals = ", ".join(f"sum({name}) FILTER (WHERE dimension = 'quarters')" for name in ("humans", "bots", "uniques"))
    database.run(
        f"""INSERT INTO rollup_delta (link_id, workspace_id, hour, entries, humans, bots, uniques, {", ".join(columns)})
            SELECT link_id, workspace_id, hour, count(*), {totals}, {lists} FROM (
                SELECT link_id, workspace_id, date_trunc('hour', occurred_at, 'UTC') AS hour, get_byte(uuid_send(event_id), 0) %% 3 AS batch, dimension, value,
                       count(*) FILTER (WHERE NOT is_bot) AS humans, count(*) FILTER (WHERE is_bot) AS bots,
                       count(*) FILTER (WHERE is_unique) AS uniques
                FROM visit_log CROSS JOIN LATERAL (VALUES {facts}) AS fact (dimension, value) WHERE value <> '' GROUP BY 1, 2, 3, 4, 5, 6) AS sums
            GROUP BY link_id, workspace_id, hour, batch"""
    )
    database.run("TRUNCATE link_statistics")
    database.run(
        """INSERT INTO link_statistics (link_id, visit_count, bot_count, unique_visitors, last_visited_at)
           SELECT link_id, count(*) FILTER (WHERE NOT is_bot), count(*) FILTER (WHERE is_bot), count(*) FILTER (WHERE is_unique),
                  max(occurred_at) FROM visit_log GROUP BY 1"""
    )


FOLD = os.path.join(os.environ["WAYMARK_BUILD_DIR"], "bin/fold_rollups")


def fold(database, before, *bounds):
    """Folds what was counted before that day, as the janitor does. bounds: the most deltas of a step, the most steps."""
    seconds = int(datetime.datetime.combine(before, datetime.time(), datetime.timezone.utc).timestamp())
    subprocess.run([FOLD, str(seconds), *map(str, bounds)], env={**os.environ, "PG_URL": database.url()}, check=True, capture_output=True)


def finish(database, before):
    """Folds all days before that one and a few rows of it, and deletes the hours that are too old then, as the janitor does."""
    if database.value("SELECT hours_since = %s::date - %s FROM rollup_progress", before, HOURS_KEEP_DAYS):
        return
    fold(database, before)
    fold(database, before + datetime.timedelta(days=1), 7, 3)
    database.run("UPDATE rollup_progress SET hours_since = %s::date - %s", before, HOURS_KEEP_DAYS)
    for table in ("rollup_hour", "rollup_workspace_hour"):
        database.run(f"DELETE FROM {table} WHERE hour < (SELECT (hours_since - 1)::timestamp AT TIME ZONE 'UTC' FROM rollup_progress)")


def filters_sql(filters):
    """SQL for [("country", "=", "DE"), …] with the API's semantics: several values of one dimension are alternatives."""
    terms, values = [], []
    for dimension, group in itertools.groupby(sorted(filters), key=lambda term: term[:2]):
        column, operator = dimension
        chosen = [value for _, _, value in group]
        terms.append(f"{column} {'= ANY' if operator == '=' else '<> ALL'} (%s)")
        values.append(chosen)
    return "".join(f" AND {term}" for term in terms), values
