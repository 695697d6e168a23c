"""The roll-ups of an account are the sums of its links', while links come and go and the janitor works in small steps."""

import datetime
import random

import pytest

DAY = datetime.date(2026, 3, 2)  # the first one
STEPS, STEPS_PER_CHECK = 240, 12
LISTS = ["quarters", "country", "city"]

# Rows of accounts against the rows of the links that are assigned to them. A link that is not
# finished yet adds its hours to a day that its account has finished.
DIFFERENCES = """
    WITH p AS (SELECT * FROM rollup_progress),
    links_hours AS ({hours}), links_days AS ({days}),
    wanted AS (
        SELECT 'hour' AS kind, -a.owner_id AS id, hour::text AS key, dimension, value, humans, bots, uniques
        FROM links_hours JOIN rollup_account AS a USING (link_id) WHERE a.owner_id <> 0
        UNION ALL
        SELECT 'day', -a.owner_id, day::text, dimension, value, humans, bots, uniques
        FROM links_days JOIN rollup_account AS a USING (link_id) WHERE a.owner_id <> 0
        UNION ALL
        SELECT 'day', -a.owner_id, next_day::text, dimension, value, humans, bots, uniques
        FROM links_hours JOIN rollup_account AS a USING (link_id), p WHERE a.owner_id <> 0 AND (hour AT TIME ZONE 'UTC')::date = next_day
        AND rollup_has_day(p, -a.owner_id, next_day) AND NOT rollup_has_day(p, link_id, next_day)),
    stored AS (
        SELECT 'hour' AS kind, link_id AS id, hour::text AS key, dimension, value, humans, bots, uniques FROM links_hours WHERE link_id < 0
        UNION ALL SELECT 'day', link_id, day::text, dimension, value, humans, bots, uniques FROM links_days WHERE link_id < 0),
    sums AS (
        SELECT kind, id, key, dimension, {value} AS value, sum(sign * humans) AS humans, sum(sign * bots) AS bots, sum(sign * uniques) AS uniques
        FROM (SELECT *, 1 AS sign FROM wanted UNION ALL SELECT *, -1 FROM stored) AS entry GROUP BY 1, 2, 3, 4, 5)
    SELECT * FROM sums WHERE humans <> 0 OR bots <> 0 OR uniques <> 0"""
TOTALS = """
    SELECT link_id FROM rollup_{table} AS t WHERE ROW(humans::numeric, bots::numeric, uniques::numeric) IS DISTINCT FROM (
        SELECT ROW(coalesce(sum(split_part(entry, E'\\x1f', 1)::bigint), 0), coalesce(sum(split_part(entry, E'\\x1f', 2)::bigint), 0),
                coalesce(sum(split_part(entry, E'\\x1f', 3)::bigint), 0)) FROM string_to_table(t.quarters, E'\\x1e') AS entry)"""


class Rollups:
    """Links of two accounts, their deltas, and a janitor that is called by hand."""

    def __init__(self, database, owners, seed):
        self.database, self.owners, self.random = database, owners, random.Random(seed)
        self.links, self.visits_of_hours = [], 4 * 24
        database.run("SET jit = off")  # compiling the comparison takes longer than running it
        database.run("TRUNCATE rollup_delta, rollup_hour, rollup_day, rollup_account, rollup_move, link_statistics")
        database.run("UPDATE rollup_progress SET next_day = %s, next_link = DEFAULT, hours_since = '-infinity', fold_link = 0", DAY)
        hours = database.value("SELECT rollup_entries_sql('rollup_hour', 't.hour')")
        days = database.value("SELECT rollup_entries_sql('rollup_day', 't.day')")
        self.differences = lambda value: DIFFERENCES.format(hours=hours, days=days, value=value)

    def create(self):
        owner = self.random.choice([*self.owners, None])
        self.links.append(
            self.database.value(
                "INSERT INTO links (slug, link_type, original_url, owner_id, expires_at) VALUES (%s, %s, 'https://example.com/', %s, now()) RETURNING id",
                f"rollup-{self.random.getrandbits(60):x}", "PERMANENT" if owner else "TEMPORARY", owner,
            )  # fmt: skip
        )

    def visit(self, cities=3):
        """One delta of a link, in an hour of the days around the first one that is not finished."""
        link = self.random.choice(self.links)
        hour = self.random.randrange(self.visits_of_hours)
        self.database.run(
            """INSERT INTO rollup_delta (link_id, hour, entries, humans, bots, uniques, quarters, country, city)
               SELECT %s, %s::timestamp AT TIME ZONE 'UTC' + %s * interval '1 hour', 2 + n, n, 1, 1, concat_ws(E'\\x1f', n, 1, 1, %s::int),
                      concat_ws(E'\\x1f', n, 1, 1, 'DE'), list
               FROM (SELECT count(*) AS n, string_agg(concat_ws(E'\\x1f', 1, 0, 0, 'city ' || %s::int + i), E'\\x1e') AS list
                     FROM generate_series(1, %s) AS i) AS made""",
            link, DAY, hour, hour % 24 * 4 + self.random.randrange(4), self.random.choice([0, 0, 0, 900]), cities,
        )  # fmt: skip
        self.database.run(
            "INSERT INTO link_statistics (link_id, last_visited_at) VALUES (%s, %s::timestamp AT TIME ZONE 'UTC' + interval '4 days') ON CONFLICT DO NOTHING",
            link, DAY,
        )  # fmt: skip

    def change(self):
        """Deletes, restores or claims a link."""
        self.database.run(
            """UPDATE links SET link_type = 'PERMANENT', owner_id = coalesce(owner_id, %s),
                   state = CASE WHEN owner_id IS NULL OR state = 'DELETED' THEN 'ACTIVE' ELSE 'DELETED' END,
                   state_before_deletion = CASE WHEN owner_id IS NULL OR state = 'DELETED' THEN NULL ELSE 'ACTIVE' END WHERE id = %s""",
            self.random.choice(self.owners), self.random.choice(self.links),
        )  # fmt: skip

    def purge(self):
        link = self.links.pop(self.random.randrange(len(self.links)))
        self.database.run("DELETE FROM links WHERE id = %s", link)
        while self.database.value("SELECT statistics_delete_links(ARRAY[%s::bigint], 3)", link):
            pass
        for table in ("rollup_delta", "rollup_hour", "rollup_day", "rollup_account", "link_statistics"):
            assert self.database.run(f"SELECT 1 FROM {table} WHERE link_id = %s", link) == []

    def fold(self):
        before = DAY + datetime.timedelta(days=self.random.randrange(5))
        self.database.value("SELECT rollup_fold(%s::date::timestamp AT TIME ZONE 'UTC', %s)", before, self.random.choice([2, 5, 1000]))

    def finish(self):
        self.database.value("SELECT rollup_finish_day(%s, 90, 1)", DAY + datetime.timedelta(days=3))

    def move(self):
        self.database.value("SELECT rollup_move_some(%s)", self.random.choice([1, 2, 1000]))

    def settle(self):
        while self.database.value("SELECT rollup_move_some(1000)"):
            pass
        while True:
            folded = self.database.value("SELECT rollup_fold('infinity', 1000)")
            if not folded and self.database.value("SELECT fold_link FROM rollup_progress") == 0:
                return

    def check(self, value="value"):
        assert self.database.run(self.differences(value)) == []
        for table in ("hour", "day"):
            assert self.database.run(TOTALS.format(table=table)) == []


@pytest.mark.parametrize("seed", range(3))
def test_an_account_has_the_sums_of_its_links(new_user, database, seed):
    owners = [database.value("SELECT id FROM users WHERE email = %s", new_user().email) for _ in range(2)]
    rollups = Rollups(database, owners, seed)
    for _ in range(6):
        rollups.create()
    steps = [rollups.visit] * 6 + [rollups.fold] * 4 + [rollups.finish] * 3 + [rollups.change] * 2 + [rollups.move] * 2 + [rollups.create, rollups.purge]
    for done in range(STEPS):
        step = rollups.random.choice(steps)
        if rollups.links or step == rollups.create:
            step()
        if done % STEPS_PER_CHECK == 0:
            rollups.check()
    rollups.settle()
    rollups.check()
    assert database.run("SELECT link_id FROM rollup_account WHERE owner_id <> rollup_owner(link_id)") == []
    for link in list(rollups.links):
        database.run("UPDATE links SET state = 'DELETED', state_before_deletion = 'ACTIVE' WHERE id = %s AND state <> 'DELETED'", link)
    rollups.settle()
    assert database.run("SELECT 1 FROM rollup_hour WHERE link_id < 0 UNION ALL SELECT 1 FROM rollup_day WHERE link_id < 0") == []


def test_an_account_with_more_values_than_are_kept_stays_consistent(new_user, database):
    """What is beyond 1,000 values counts as (other). Taking a link out again leaves no named value below zero."""
    owner = database.value("SELECT id FROM users WHERE email = %s", new_user().email)
    rollups = Rollups(database, [owner], 7)
    while len(rollups.links) < 4 or not database.value("SELECT bool_and(owner_id = %s) FROM links WHERE id = ANY (%s)", owner, rollups.links):
        rollups.links = rollups.links[:3]
        rollups.create()
        if database.value("SELECT owner_id IS NULL FROM links WHERE id = %s", rollups.links[-1]):
            rollups.links.pop()
    rollups.visits_of_hours = 4
    for _ in range(20):
        rollups.visit(cities=800)
    rollups.settle()
    one_value = "CASE WHEN dimension = 'city' THEN '' ELSE value END"
    rollups.check(one_value)
    cut = "SELECT count(*) FROM rollup_hour WHERE link_id < 0 AND city LIKE '%%(other)%%'"
    assert database.value(cut) > 0
    for _ in range(4):
        rollups.change()
        rollups.settle()
        rollups.check(one_value)
        cities = "SELECT 1 FROM rollup_hour, string_to_table(city, E'\\x1e') AS entry WHERE entry LIKE '%%-%%' AND NOT entry LIKE '%%(other)'"
        assert database.run(cities) == []
