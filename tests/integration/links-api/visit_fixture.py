"""Inserts visits into the visit log by SQL, with the matching roll-ups."""

import itertools

DIMENSIONS = {
    "country": "country", "city": "city", "region": "region", "referrer_host": "referrer_host", "browser": "browser", "os": "os",
    "device": "device", "language": "language", "utm_source": "utm_source", "utm_medium": "utm_medium",
    "utm_campaign": "utm_campaign", "referrer_source": "referrer_source", "bot_reason": "bot_reason",
}  # fmt: skip


def stored_as(dimension):
    """The value of the database's type visit_dimension."""
    return "referrer" if dimension == "referrer_host" else dimension


NOT_ROLLED_UP = ["referrer_source", "bot_reason"]

# A few values per dimension, some far more frequent; "" = unknown.
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
}  # fmt: skip


# Few enough that most of them visit several times on busy days.
VISITORS = 150


def add_visits(database, link_id, count, first, last, seed=0.5, bots=0.2):
    """Adds count visits at random times in [first, last), every tenth one at a full quarter of an hour. Visitor hashes change daily."""
    columns, choices = [], []
    for column, values in VALUES.items():
        columns.append(column)
        listed = ", ".join("'" + value.replace("'", "''") + "'" for value in values)
        chosen = f"(ARRAY[{listed}])[1 + floor(random() * {len(values)})::int]"
        choices.append(f"CASE WHEN bot THEN {chosen} ELSE '' END" if column == "bot_reason" else chosen)
    database.run("SELECT setseed(%s)", seed)
    database.run(
        f"""INSERT INTO visit_log (day, event_id, occurred_at, link_id, slug, status, latency_us, is_bot, visitor_hash,
                                   {", ".join(columns)})
            SELECT (t AT TIME ZONE 'UTC')::date, gen_random_uuid(), t, %s, 'slug', 302, 1500, bot,
                   decode(md5(concat((t AT TIME ZONE 'UTC')::date, bot, floor(random() * {VISITORS}))), 'hex'), {", ".join(choices)}
            FROM (SELECT CASE WHEN n %% 10 = 0 THEN greatest(date_bin('15 minutes', moment, 'epoch'), %s) ELSE moment END AS t, bot
                  FROM (SELECT n, %s::timestamptz + random() * (%s::timestamptz - %s::timestamptz) AS moment, random() < %s AS bot
                        FROM generate_series(1, %s) AS n) AS drawn
                 ) AS made""",
        link_id, first, first, last, first, bots, count,
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


# Days from before the daily totals existed: they have values, but no totals.
OLD_DAYS = 3


def roll_up(database, dimensions=True):
    """Stores the roll-ups that the consumer would store. Only the oldest days are finished; finish() does the others."""
    sums = "count(*) FILTER (WHERE NOT is_bot), count(*) FILTER (WHERE is_bot), count(*) FILTER (WHERE is_unique)"
    database.run("TRUNCATE visit_rollup_quarter, visit_rollup_hour, visit_rollup_day, visit_total_day")
    database.run(
        """UPDATE daily_rollup_progress SET totals_since = first, next_day = first, next_link = 0, done_dimension = NULL, done_value = NULL
           FROM (SELECT min(day) + %s AS first FROM visit_log) AS log""",
        OLD_DAYS,
    )
    database.run(
        f"""INSERT INTO visit_rollup_quarter (link_id, bucket, humans, bots, uniques)
            SELECT link_id, date_bin('15 minutes', occurred_at, 'epoch'), {sums} FROM visit_log GROUP BY 1, 2"""
    )
    for dimension, column in DIMENSIONS.items() if dimensions else ():
        if dimension in NOT_ROLLED_UP:
            continue
        for table, bucket, days in (
            ("hour", "date_trunc('hour', occurred_at, 'UTC')", "true"),
            ("day", "day", "day < (SELECT next_day FROM daily_rollup_progress)"),
        ):
            name = "bucket" if table == "hour" else "day"
            database.run(
                f"""INSERT INTO visit_rollup_{table} (link_id, dimension, {name}, value, humans, bots, uniques)
                    SELECT link_id, '{stored_as(dimension)}'::visit_dimension, {bucket}, {column}, {sums} FROM visit_log WHERE {column} <> '' AND {days}
                    GROUP BY 1, 2, 3, 4"""
            )
    database.run("TRUNCATE link_statistics")
    database.run(
        """INSERT INTO link_statistics (link_id, visit_count, bot_count, unique_visitors, last_visited_at)
           SELECT link_id, count(*) FILTER (WHERE NOT is_bot), count(*) FILTER (WHERE is_bot), count(*) FILTER (WHERE is_unique),
                  max(occurred_at) FROM visit_log GROUP BY 1"""
    )


def finish(database, before):
    """Finishes all days before that one, and runs three minimal steps of the janitor on it."""
    database.run("SET synchronous_commit = off")
    while database.value("SELECT next_day FROM daily_rollup_progress") < before:
        database.value("SELECT daily_rollup_advance(%s::date - 1, 1000)", before)
    for _ in range(3):
        database.value("SELECT daily_rollup_advance(%s, 0, 100, 3)", before)


def filters_sql(filters):
    """SQL for [("country", "=", "DE"), …] with the API's semantics: several values of one dimension are alternatives."""
    terms, values = [], []
    for dimension, group in itertools.groupby(sorted(filters), key=lambda term: term[:2]):
        operator, column = dimension[1], DIMENSIONS[dimension[0]]
        chosen = [value for _, _, value in group]
        terms.append(f"{column} {'= ANY' if operator == '=' else '<> ALL'} (%s)")
        values.append(chosen)
    return "".join(f" AND {term}" for term in terms), values
