"""Statistics of several links together equal plain SQL over the visit log, also those of an earlier period."""

import datetime
import os
import random
import urllib.parse
import zoneinfo

import psycopg2
import pytest
from visit_fixture import VALUES, add_visits, filters_sql, finish, roll_up

UTC = datetime.timezone.utc
BEGIN, END = datetime.datetime(2026, 3, 1, tzinfo=UTC), datetime.datetime(2026, 4, 12, tzinfo=UTC)
SUMS = """count(*) FILTER (WHERE NOT is_bot), count(*) FILTER (WHERE is_bot), count(*) FILTER (WHERE is_unique)"""
QUERIES = int(os.environ.get("STATISTICS_QUESTIONS", "150"))
ZONES = ["UTC", "Europe/Berlin", "America/Havana", "Australia/Lord_Howe", "Asia/Kathmandu"]
# The parameters of a scope, and the links that it means as a condition on links. None: what was counted for the account.
SCOPES = [
    ({}, None), ({"tag": "mail"}, "tags @> '{mail}'"), ({"tag": "nothing"}, "false"), ({"filter": "title:~'2'"}, "title LIKE '%%2%%'"),
    ({"filter": "tags:[mail,web]"}, "tags && '{mail,web}'"), ({"tag": "web", "filter": "state:disabled"}, "tags @> '{web}' AND state = 'DISABLED'"),
]  # fmt: skip


def text(moment):
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def moment_of(value):
    return datetime.datetime.fromisoformat(value)


def path(below, scope=(), filters=(), **parameters):
    pairs = [("from" if name == "start" else name, value) for name, value in parameters.items() if value is not None]
    pairs += [*dict(scope).items(), *(("not_" * (operator == "!=") + name, value) for name, operator, value in filters)]
    return f"/api/stats/{below}?{urllib.parse.urlencode(pairs)}"


@pytest.fixture(scope="module")
def owner(new_user, database):
    """Four links with visits, one of them disabled and one claimed after ten days; a deleted link; and another account's."""
    for i in range(10):
        database.run("SELECT visit_log_make_partition(%s)", (BEGIN + datetime.timedelta(days=i)).date())
    owner, other = new_user(), new_user()
    tags = (["mail"], ["mail", "web"], ["web"], [])
    links = [owner.create(title=f"link {i}", tags=tags[i]) for i in range(4)]
    owner.call("PATCH", f"/api/links/{links[2]['id']}", {"state": "disabled"})
    deleted = owner.create(tags=["mail"])
    for i, link in enumerate([*links, deleted, other.create(tags=["mail"])]):
        add_visits(database, link["id"], 500, BEGIN, END, seed=i / 8)
    assert owner.call("DELETE", f"/api/links/{deleted['id']}").status == 204
    database.run("UPDATE visit_log SET workspace_id = 0 WHERE link_id = %s AND occurred_at < %s", links[0]["id"], BEGIN + datetime.timedelta(days=10))
    roll_up(database)
    owner.links = links
    return owner


def plain(database, owner, columns, condition, start, to, filters=()):
    where, values = filters_sql(list(filters))
    group = " GROUP BY " + ", ".join(str(i + 1) for i in range(columns.count(" AS "))) if columns else ""
    account = "(SELECT id FROM users WHERE email = %s)"
    links = f"link_id IN (SELECT id FROM links WHERE workspace_id = {account} AND state <> 'DELETED' AND {condition})"
    return database.run(
        f"SELECT {columns}{SUMS} FROM visit_log WHERE {f'workspace_id = {account}' if condition is None else links}"
        f" AND occurred_at >= %s AND occurred_at < %s{where}{group}",
        owner.email, start, to, *values,
    )  # fmt: skip


def sums_of(item):
    return (item["humans"], item["bots"], item["unique_visitors"])


# --- the calendar, in Python ---


def local_start(naive, zone):
    """The first instant at which clocks show this time or a later one. Offsets change at quarter hours."""
    step = datetime.timedelta(minutes=15)
    moment = naive.replace(tzinfo=zone).astimezone(UTC).replace(second=0, microsecond=0)
    moment -= datetime.timedelta(minutes=moment.minute % 15) + 12 * step
    while True:
        shown = moment.astimezone(zone).replace(tzinfo=None)
        following = (moment + step).astimezone(zone).replace(tzinfo=None)
        if shown <= naive < shown + step and (following == shown + step or following < naive):
            return moment + (naive - shown)
        if following >= naive:
            return moment + step if following > shown + step or naive >= shown + step else moment + (naive - shown)
        moment += step


def moved_back(moment, zone, interval, count):
    if interval == "hour":
        return moment - datetime.timedelta(hours=count)
    local = moment.astimezone(zone).replace(tzinfo=None)
    if interval == "month":
        months = local.year * 12 + local.month - 1 - count
        year, month = divmod(months, 12)
        last = (datetime.datetime(year + (month == 11), (month + 1) % 12 + 1, 1) - datetime.timedelta(days=1)).day
        return local_start(local.replace(year=year, month=month + 1, day=min(local.day, last)), zone)
    return local_start(local - datetime.timedelta(days=count * {"day": 1, "week": 7}[interval]), zone)


def both_moved_back(start, to, zone, interval, count):
    """As long as before if the month has no such days or the day no such hours."""
    first, last = moved_back(start, zone, interval, count), moved_back(to, zone, interval, count)
    return first, last if last > first else first + (to - start)


def earlier(start, to, zone, interval, compare):
    """The period that compare= means: moved back by the smallest number of intervals after which the two do not overlap."""
    if compare in ("month", "year"):
        return both_moved_back(start, to, zone, "month", {"month": 1, "year": 12}[compare])
    interval = interval or ("hour" if to - start < datetime.timedelta(days=1) else "day")
    count = 1
    while (moved := both_moved_back(start, to, zone, interval, count))[1] > start:
        count += 1
    return moved


# --- random questions ---


def restore(owner, link):
    if link.pop("is_deleted", False):
        assert owner.call("POST", f"/api/links/{link['id']}/restore").status == 200


def delete_or_restore(owner, dice):
    """Changes which links there are, now and then. At most one is deleted at a time."""
    for link in owner.links:
        if link.get("is_deleted") and dice.random() < 0.5:
            restore(owner, link)
    if dice.random() < 0.15 and not any(link.get("is_deleted") for link in owner.links):
        link = dice.choice(owner.links)
        assert owner.call("DELETE", f"/api/links/{link['id']}").status == 204
        link["is_deleted"] = True


def check_span(compared, span):
    assert (moment_of(compared["from"]), moment_of(compared["to"])) == span


def check_summary(ask, count, start, to, span):
    answer = ask("summary")
    assert [sums_of(answer)] == count("", start, to)
    if span:
        check_span(answer["compared"], span)
        assert [sums_of(answer["compared"])] == count("", *span)
    return answer["links"]


def check_values(ask, count, start, to, span, dimension):
    answer = ask(dimension, limit=5)
    rows = [(value, tuple(sums)) for value, *sums in count(f"{dimension} AS value, ", start, to)]
    wanted = sorted((row for row in rows if row[1][0] > 0), key=lambda row: (-row[1][0], row[0].encode()))[:5]
    assert [(item["value"], sums_of(item)) for item in answer["items"]] == wanted
    assert sums_of(answer["totals"]) == tuple(sum(sums[i] for _, sums in rows) for i in range(3))
    if span:
        check_span(answer["compared"], span)
        before = {value: tuple(sums) for value, *sums in count(f"{dimension} AS value, ", *span)}
        assert [sums_of(item["compared"]) for item in answer["items"]] == [before.get(value, (0, 0, 0)) for value, _ in wanted]
        assert sums_of(answer["compared"]["totals"]) == tuple(sum(sums[i] for sums in before.values()) for i in range(3))


def check_points(points, start, to, count):
    """A point counts from its start to that of the next one."""
    starts = [moment_of(point["start"]).isoformat() for point in points]
    assert moment_of(starts[0]) <= start and moment_of(starts[-1]) < to
    numbered = f"width_bucket(occurred_at, ARRAY{starts}::timestamptz[]) AS number, "
    wanted = {number: tuple(sums) for number, *sums in count(numbered, start, to)}
    assert [sums_of(point) for point in points] == [wanted.get(number, (0, 0, 0)) for number in range(1, len(points) + 1)]


def check_series(ask, count, start, to, span, interval):
    answer = ask("timeseries", interval=interval)
    check_points(answer["points"], start, to, count)
    if span:
        check_span(answer["compared"], span)
        check_points(answer["compared"]["points"], *span, count)


def check_top(ask, count, start, to, traffic):
    """Each link by itself, in the order of what is listed."""
    rank = {None: lambda sums: sums[0], "include": lambda sums: sums[0] + sums[1], "only": lambda sums: sums[1]}[traffic]
    rows = [(link, tuple(sums)) for link, *sums in count("link_id AS value, ", start, to)]
    wanted = sorted((row for row in rows if rank(row[1]) > 0), key=lambda row: (-rank(row[1]), row[0]))
    answer = ask("top", compare=None, bots=traffic)
    assert [(link["id"], sums_of(link)) for link in answer["links"]] == wanted
    limited = ask("top", compare=None, bots=traffic, limit=1)
    assert limited["links"] == answer["links"][:1]
    return len(wanted)


def random_span(dice):
    length = dice.choice([datetime.timedelta(hours=dice.randrange(1, 30)), datetime.timedelta(days=dice.randrange(1, 12))])
    start = BEGIN + datetime.timedelta(hours=dice.randrange(24 * 12, 24 * 30))
    return start, start + length


def test_random_answers_equal_plain_sql_over_the_visit_log(owner, database):
    dice = random.Random(20261123)
    days = (END - BEGIN).days
    seen_links, seen_top = set(), set()
    for n in range(QUERIES):
        finish(database, (BEGIN + datetime.timedelta(days=days * n // QUERIES)).date())
        delete_or_restore(owner, dice)
        scope, condition = dice.choice(SCOPES)
        start, to = random_span(dice)
        compare, zone, interval = dice.choice([None, "previous", "month", "year"]), dice.choice(ZONES), dice.choice(["hour", "day", "week"])
        kind = dice.choice(["summary", "values", "series", "top"])
        names = dice.sample(sorted(VALUES), dice.choice([0, 0, 1]))
        if kind == "top":
            condition = condition or "true"  # of the account's links
        filters = [(name, dice.choice(["=", "!="]), dice.choice(VALUES[name])) for name in names]
        span = compare and earlier(start, to, zoneinfo.ZoneInfo(zone), interval if kind == "series" else None, compare)

        def ask(below, scope=scope, filters=filters, **more):
            where = path(below, scope, filters, start=text(start), to=text(to), tz=zone, **{"compare": compare, **more})
            answer = owner.call("GET", where)
            assert answer.status == 200, (where, answer)
            return answer.json

        def count(columns, first, last, condition=condition, filters=filters):
            return plain(database, owner, columns, condition, first, last, filters)

        if kind == "summary":
            seen_links.add(check_summary(ask, count, start, to, span))
        elif kind == "values":
            check_values(ask, count, start, to, span, dice.choice(sorted(VALUES)))
        elif kind == "series":
            check_series(ask, count, start, to, span, interval)
        else:
            seen_top.add(check_top(ask, count, start, to, dice.choice([None, "include", "only"])))
    assert ({0, 3, 4} <= seen_links and {0, 1, 2, 4} <= seen_top) or QUERIES < 100
    for link in owner.links:
        restore(owner, link)
    print(f"{QUERIES} questions, 0 differences")


def test_an_account_reads_its_own_roll_ups(new_user, database):
    """If the roll-ups of the links were read, these would be missed."""
    owner = new_user()
    links = [owner.create(), owner.create()]
    for link in links:
        add_visits(database, link["id"], 200, BEGIN, END, bots=0.0)
    roll_up(database)
    finish(database, END.date())
    assert humans(owner) == 400
    database.run("DELETE FROM rollup_hour")
    database.run("DELETE FROM rollup_day WHERE link_id = %s", links[0]["id"])
    assert humans(owner) == 400


# --- what belongs to a scope ---


def humans(owner, **scope):
    return owner.call("GET", path("summary", scope, start=text(BEGIN), to=text(END))).json["humans"]


def test_a_changed_tag_moves_the_whole_history_and_a_deletion_or_a_claim_none_of_the_account(new_user, database):
    owner, other = new_user(), new_user()
    link, claimed = owner.create(tags=["old"]), other.create()
    for each in (link, claimed):
        add_visits(database, each["id"], 300, BEGIN, END, bots=0.0)
    roll_up(database)
    assert (humans(owner), humans(owner, tag="old"), humans(owner, tag="new")) == (300, 300, 0)
    owner.call("PATCH", f"/api/links/{link['id']}", {"tags": ["new"]})
    assert (humans(owner, tag="old"), humans(owner, tag="new")) == (0, 300)
    database.run("UPDATE links SET workspace_id = (SELECT id FROM users WHERE email = %s) WHERE id = %s", owner.email, claimed["id"])
    assert (humans(owner), humans(other)) == (300, 300)
    owner.call("DELETE", f"/api/links/{link['id']}")
    assert (humans(owner), humans(owner, tag="new")) == (300, 0)
    owner.call("POST", f"/api/links/{link['id']}/restore")
    assert (humans(owner), humans(owner, tag="new")) == (300, 300)
    database.run("DELETE FROM links WHERE id = %s", link["id"])  # purged
    while database.value("SELECT statistics_delete_links(ARRAY[%s::bigint], 3)", link["id"]):
        pass
    assert humans(owner) == 300


def test_a_visitor_of_two_links_counts_for_both(new_user, database):
    owner = new_user()
    links = [owner.create(), owner.create()]
    for each in links:  # with one seed the same visitors come to both
        add_visits(database, each["id"], 200, BEGIN, BEGIN + datetime.timedelta(days=1), seed=0.2, bots=0.0)
    roll_up(database)
    span = {"start": text(BEGIN), "to": text(BEGIN + datetime.timedelta(days=1))}
    together = owner.call("GET", path("summary", **span)).json["unique_visitors"]
    single = database.run("SELECT count(DISTINCT visitor_hash) FROM visit_log WHERE link_id = ANY (%s)", [link["id"] for link in links])[0][0]
    assert together == 2 * single


@pytest.mark.parametrize("compare", ["previous", "month", "year"])
def test_a_range_that_has_not_begun_is_compared_with_nothing(new_user, database, compare):
    """As in a browser whose clock is ahead, just after midnight."""
    owner = new_user()
    link = owner.create()
    now = datetime.datetime.now(UTC).replace(microsecond=0)
    add_visits(database, link["id"], 200, now - datetime.timedelta(days=3), now)
    roll_up(database)
    start = now + datetime.timedelta(hours=1)
    span = {"start": text(start), "to": text(start + datetime.timedelta(days=1)), "compare": compare}
    for filters in ([], [("country", "!=", "XX")]):
        for below in ("summary", "timeseries", "country"):
            answer = owner.call("GET", path(below, filters=filters, **span))
            assert answer.status == 200, answer
            compared = answer.json["compared"]
            assert compared["from"] == compared["to"] < text(now)
            assert sum(sums.get("total", 0) for sums in (compared, *compared.get("points", []))) == 0


def test_before_the_log_the_earlier_period_of_a_filter_is_null(new_user, database):
    owner = new_user()
    owner.create()
    database.run("UPDATE visit_log_reach SET since = %s", BEGIN.date())
    try:
        span = {"start": text(BEGIN), "to": text(BEGIN + datetime.timedelta(days=2)), "compare": "previous"}
        for below in ("summary", "timeseries", "os"):
            answer = owner.call("GET", path(below, filters=[("country", "=", "DE")], **span))
            assert answer.status == 200 and answer.json["compared"] is None, answer
            assert owner.call("GET", path(below, **span)).json["compared"]["from"] == text(BEGIN - datetime.timedelta(days=2))
    finally:
        database.run("UPDATE visit_log_reach SET since = NULL")


# --- errors ---


def test_a_query_that_takes_too_long_is_refused(new_user, database, start, expect):
    """A lock on the roll-ups makes every query time out, as too many links would."""
    eve = new_user(start(PG_HEAVY_STATEMENT_TIMEOUT_MS=2000))
    eve.create()
    span = {"start": text(BEGIN), "to": text(END)}
    with psycopg2.connect(database.url()) as blocker:
        blocker.cursor().execute("LOCK TABLE rollup_workspace_day, rollup_workspace_hour IN ACCESS EXCLUSIVE MODE")
        for below in ("summary", "timeseries", "country"):
            problem = expect(eve.call("GET", path(below, **span)), 422)
            assert problem["type"] == "/problems/too-many-visits", problem
        blocker.rollback()
    assert eve.call("GET", path("summary", **span)).status == 200


@pytest.mark.parametrize(("column", "below"), [("quarters", "timeseries"), ("country", "country")])
def test_a_broken_list_is_an_error_and_the_service_goes_on(new_user, database, expect, column, below):
    owner = new_user()
    link = owner.create()
    span = {"start": text(BEGIN + datetime.timedelta(minutes=15)), "to": text(END)}
    database.run(
        "INSERT INTO rollup_delta (link_id, workspace_id, hour, entries, humans, bots, uniques) SELECT id, workspace_id, %s, 1, 3, 0, 0 FROM links WHERE id = %s",
        BEGIN, link["id"],
    )  # fmt: skip
    for broken in ("3\x1f0\x1f0", "3\x1f0\x1f0\x1f1\x1e", "x", "3\x1f0\x1f0\x1f1\x1f"):
        database.run(f"UPDATE rollup_delta SET {column} = %s WHERE link_id = %s", broken, link["id"])
        start_of_hour = {**span, "start": text(BEGIN)} if below == "country" else span
        expect(owner.call("GET", path(below, **start_of_hour)), 500)
        assert owner.call("GET", path("os", start=text(BEGIN), to=text(END))).status == 200
    database.run("DELETE FROM rollup_delta WHERE link_id = %s", link["id"])


def test_one_link_can_be_compared_too(owner, database):
    link = owner.links[0]["id"]
    start, to = BEGIN + datetime.timedelta(days=20), BEGIN + datetime.timedelta(days=25)
    answer = owner.call("GET", f"/api/links/{link}/stats?from={text(start)}&to={text(to)}&compare=previous").json
    assert answer["link_id"] == link
    before = plain(database, owner, "", f"id = {link}", start - (to - start), start)
    assert [sums_of(answer["compared"])] == before and before[0][0] > 0


@pytest.mark.parametrize(
    "asked, compared",
    [
        (("2026-03-30T00:00:00Z", "2026-03-31T00:00:00Z"), ("2026-02-28T00:00:00Z", "2026-03-01T00:00:00Z")),
        (("2026-03-29T04:00:00Z", "2026-03-30T01:00:00Z"), ("2026-02-28T04:00:00Z", "2026-03-01T01:00:00Z")),
        (("2026-03-28T04:00:00Z", "2026-03-30T05:00:00Z"), ("2026-02-28T04:00:00Z", "2026-02-28T05:00:00Z")),
    ],
)
def test_days_that_the_earlier_month_lacks_are_compared_with_as_long_a_range(owner, database, asked, compared):
    span = tuple(map(moment_of, compared))
    for below in ("summary", "timeseries", "country"):
        answer = owner.call("GET", path(below, start=asked[0], to=asked[1], compare="month"))
        assert answer.status == 200, answer
        check_span(answer.json["compared"], span)
    answer = owner.call("GET", path("summary", start=asked[0], to=asked[1], compare="month")).json
    assert [sums_of(answer["compared"])] == plain(database, owner, "", None, *span)


@pytest.mark.parametrize("compare", ["previous", "month", "year"])
def test_as_much_is_compared_as_has_passed_of_a_range(owner, compare):
    """Four days, of which the last one has not ended."""
    now = lambda: datetime.datetime.now(UTC)  # noqa: E731
    begun = now()
    midnight = begun.replace(hour=0, minute=0, second=0, microsecond=0)
    start, to = midnight - datetime.timedelta(days=3), midnight + datetime.timedelta(days=1)
    moved = {
        "previous": lambda moment: moment - datetime.timedelta(days=4),
        "month": lambda moment: moved_back(moment, zoneinfo.ZoneInfo("UTC"), "month", 1),
        "year": lambda moment: moved_back(moment, zoneinfo.ZoneInfo("UTC"), "month", 12),
    }[compare]
    for below in ("summary", "timeseries", "country"):
        compared = owner.call("GET", path(below, start=text(start), to=text(to), compare=compare)).json["compared"]
        assert moment_of(compared["from"]) == moved(start)
        assert moved(begun) - datetime.timedelta(seconds=1) <= moment_of(compared["to"]) <= moved(now()), below
    ended = owner.call("GET", path("summary", start=text(start), to=text(midnight), compare="previous")).json["compared"]
    assert moment_of(ended["to"]) == start


def test_an_unknown_dimension_is_404(ann, expect):
    expect(ann.call("GET", "/api/stats/colour"), 404)


# --- tags ---


def test_tags_are_listed_with_their_links_and_visits(owner, database, new_user):
    answer = owner.call("GET", "/api/tags").json
    assert [(tag["name"], tag["links"]) for tag in answer["tags"]] == [("mail", 2), ("web", 2)]
    for tag in answer["tags"]:
        humans, bots, _ = plain(database, owner, "", f"tags @> '{{{tag['name']}}}'", BEGIN, END)[0]
        assert (tag["humans"], tag["bots"], tag["total"]) == (humans, bots, humans + bots) and humans > 0
    assert list(answer) == ["tags", "as_of", "lag_ms"]
    assert new_user().call("GET", "/api/tags").json["tags"] == []
