"""Statistics over time ranges equal plain SQL over the visit log, for every time zone, range and filter."""

import datetime
import os
import random
import urllib.parse
import zoneinfo

import psycopg2
import pytest
from visit_fixture import VALUES, VISITORS, add_visits, filters_sql, finish, roll_up

UTC = datetime.timezone.utc
# Offsets with half and quarter hours, clock changes by half an hour, at midnight and in both directions, and none.
ZONES = [
    "UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Asia/Kathmandu", "Australia/Lord_Howe", "Australia/Eucla",
    "America/St_Johns", "America/Havana", "America/Santiago", "Pacific/Chatham", "Africa/Casablanca", "Europe/Dublin",
]  # fmt: skip
SPRING = (datetime.datetime(2026, 3, 1, tzinfo=UTC), datetime.datetime(2026, 4, 12, tzinfo=UTC))
AUTUMN = (datetime.datetime(2026, 10, 1, tzinfo=UTC), datetime.datetime(2026, 11, 8, tzinfo=UTC))
SUMS = """count(*) FILTER (WHERE NOT is_bot), count(*) FILTER (WHERE is_bot), count(*) FILTER (WHERE is_unique)"""
QUERIES = int(os.environ.get("STATISTICS_QUESTIONS", "200"))


def text(moment):
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def moment_of(value):
    return datetime.datetime.fromisoformat(value)


def path(link, below="", **parameters):
    """filters: [(dimension, "=" or "!=", value)]"""
    filters = parameters.pop("filters", [])
    pairs = [("from" if name == "start" else name, value) for name, value in parameters.items()]
    pairs += [("not_" * (operator == "!=") + name, value) for name, operator, value in filters]
    return f"/api/links/{link['id']}/stats{below}?{urllib.parse.urlencode(pairs)}"


@pytest.fixture(scope="module")
def visited_links(ann, database):
    """Ann's links with visits around the clock changes: [(link, (start, end))]."""
    links = {}
    for i in range(8):
        database.run("SELECT visit_log_make_partition(%s)", (SPRING[0] + datetime.timedelta(days=i)).date())
    for when, seed in ((SPRING, 0.25), (AUTUMN, 0.75)):
        link = ann.create()
        add_visits(database, link["id"], 4000, *when, seed=seed)
        links[link["id"]] = (link, when)
    add_visits(database, ann.create()["id"], 3000, *SPRING, seed=0.1)
    roll_up(database)
    database.run(
        "INSERT INTO consumer_offsets (topic, partition, next_offset, as_of) VALUES ('waymark.redirects.v1', 0, 9, now() - interval '2 s')"
    )
    return list(links.values())


def plain(database, columns, link, start, to, filters=(), group=True):
    where, values = filters_sql(list(filters))
    return database.run(
        f"SELECT {columns}{SUMS} FROM visit_log WHERE link_id = %s AND occurred_at >= %s AND occurred_at < %s{where}"
        + (" GROUP BY " + ", ".join(str(i + 1) for i in range(columns.count(" AS "))) if group else ""),
        link["id"], start, to, *values,
    )  # fmt: skip


def sums_of(item):
    return (item["humans"], item["bots"], item["unique_visitors"])


def sorted_values(rows):
    return sorted(rows, key=lambda row: (-row[1][0], row[0].encode()))


# --- random queries against plain SQL over the visit log ---


def random_range(dice, when):
    span = (when[1] - when[0]).total_seconds()
    first, last = sorted(dice.uniform(-0.05, 1.05) * span for _ in range(2))
    grain = dice.choice([0.001, 1, 60, 900, 3600, 86400])  # boundaries of every kind
    first, last = round(first / grain) * grain, round(last / grain) * grain
    start = when[0] + datetime.timedelta(milliseconds=round(first * 1000))
    return start, max(when[0] + datetime.timedelta(milliseconds=round(last * 1000)), start + datetime.timedelta(seconds=1))


def random_filters(dice):
    names = dice.sample(sorted(VALUES), dice.choice([0, 0, 1, 2]))
    return [(name, dice.choice(["=", "!="]), dice.choice(VALUES[name])) for name in names for _ in range(dice.choice([1, 2]))]


def check_total(ann, database, link, start, to, filters):
    answer = ann.call("GET", path(link, start=text(start), to=text(to), filters=filters)).json
    found = (answer["humans"], answer["bots"], answer["unique_visitors"])
    assert [found] == plain(database, "", link, start, to, filters, group=False)


def check_dimension(ann, database, link, start, to, filters, dimension):
    answer = ann.call("GET", path(link, f"/{dimension}", start=text(start), to=text(to), limit=1000, filters=filters)).json
    rows = plain(database, f"{dimension} AS value, ", link, start, to, filters)
    wanted = sorted_values((value, tuple(sums)) for value, *sums in rows if sums[0] > 0)
    assert [(item["value"], sums_of(item)) for item in answer["items"]] == wanted, answer
    assert sums_of(answer["totals"]) == tuple(sum(row[i] for row in rows) for i in (1, 2, 3))


def check_series(ann, database, link, start, to, filters, interval, zone):
    answer = ann.call("GET", path(link, "/timeseries", start=text(start), to=text(to), tz=zone, interval=interval, filters=filters)).json
    # A repeated hour is distinguished by its offset.
    local = f"occurred_at AT TIME ZONE '{zone}'"
    offset = f"{local} - (occurred_at AT TIME ZONE 'UTC')" if interval == "hour" else "interval '0'"
    rows = plain(database, f"date_trunc('{interval}', {local}) AS local, {offset} AS utcoffset, ", link, start, to, filters)
    wanted = {(row[0], row[1]): tuple(row[2:]) for row in rows}
    found = {}
    for point in answer["points"]:
        begins = moment_of(point["start"]).astimezone(zoneinfo.ZoneInfo(zone))
        named = begins.replace(tzinfo=None)
        key = (named.replace(minute=0, second=0), begins.utcoffset()) if interval == "hour" else (
            datetime.datetime.combine(named.date(), datetime.time()), datetime.timedelta())  # fmt: skip
        assert key not in found
        found[key] = sums_of(point)
    assert {key: sums for key, sums in found.items() if any(sums)} == wanted, answer


def test_random_answers_equal_plain_sql_over_the_visit_log(ann, database, visited_links):
    dice = random.Random(20261121)
    kinds = {"total": 0, "dimension": 0, "series": 0}
    # Days are finished meanwhile: few for the first queries, all for the last ones.
    days = (AUTUMN[1] - SPRING[0]).days
    for n in range(QUERIES):
        finish(database, (SPRING[0] + datetime.timedelta(days=days * n // QUERIES)).date())
        link, when = dice.choice(visited_links)
        kind = dice.choice(["total", "dimension", "dimension", "series", "series"])
        start, to = random_range(dice, when)
        filters = random_filters(dice)
        if kind == "total":
            check_total(ann, database, link, start, to, filters)
        elif kind == "dimension":
            check_dimension(ann, database, link, start, to, filters, dice.choice(sorted(VALUES)))
        else:
            check_series(ann, database, link, start, to, filters, dice.choice(["hour", "day", "week", "month"]), dice.choice(ZONES))
        kinds[kind] += 1
    print(f"{QUERIES} questions, 0 differences: {kinds}")
    assert min(kinds.values()) > QUERIES / 10


# --- unique visitors ---


def visitors_by_day(database, columns, link, start, to):
    """Counts distinct visitors per UTC day, without using is_unique, and sums them."""
    grouped = " GROUP BY " + ", ".join(str(i + 1) for i in range(columns.count(" AS "))) if columns else ""
    return database.run(
        f"""SELECT {columns}count(DISTINCT (day, visitor_hash)) FROM visit_log
            WHERE link_id = %s AND NOT is_bot AND occurred_at >= %s AND occurred_at < %s{grouped}""",
        link["id"], start, to,
    )  # fmt: skip


def uniques(ann, link, start, to, **parameters):
    return ann.call("GET", path(link, start=text(start), to=text(to), **parameters)).json["unique_visitors"]


def test_unique_visitors_of_a_range_starting_at_a_utc_day_are_all_its_visitors(ann, database, visited_links):
    dice = random.Random(20261122)
    for _ in range(12):
        link, when = dice.choice(visited_links)
        start = when[0] + datetime.timedelta(days=dice.randrange(30))
        to = start + datetime.timedelta(seconds=dice.randrange(1, 12 * 86400))
        assert [(uniques(ann, link, start, to),)] == visitors_by_day(database, "", link, start, to), (start, to)
    days = points(ann, link, start=text(when[0]), to=text(when[1]))
    wanted = dict(visitors_by_day(database, "day AS day, ", link, *when))
    assert {moment_of(point["start"]).date(): point["unique_visitors"] for point in days} == wanted and max(wanted.values()) < VISITORS
    visits = sum(point["humans"] for point in days)
    assert visits > 1.2 * sum(wanted.values()), "too few repeated visits for a meaningful test"


def test_a_visitor_is_unique_once_per_utc_day(ann, database, visited_links):
    """Within a range that begins during the day, in another hour or another country: the parts add up to the whole."""
    link, (start, _) = visited_links[0]
    to = start + datetime.timedelta(days=2)
    noon = start + datetime.timedelta(hours=12)
    all_visitors = visitors_by_day(database, "", link, start, to)[0][0]
    assert uniques(ann, link, start, noon) + uniques(ann, link, noon, to) == uniques(ann, link, start, to) == all_visitors
    assert uniques(ann, link, noon, to) < visitors_by_day(database, "", link, noon, to)[0][0]
    for zone in ("UTC", "Europe/Berlin"):
        by_hour = points(ann, link, start=text(start), to=text(to), interval="hour", tz=zone)
        assert sum(point["unique_visitors"] for point in by_hour) == all_visitors
    countries = ann.call("GET", path(link, "/country", start=text(start), to=text(to))).json["items"]
    assert sum(item["unique_visitors"] for item in countries) == all_visitors
    assert uniques(ann, link, start, to, filters=[("country", "=", "DE")]) == next(
        item["unique_visitors"] for item in countries if item["value"] == "DE")  # fmt: skip
    germans = dict(visitors_by_day(database, "country AS country, ", link, start, to))["DE"]
    assert uniques(ann, link, start, to, filters=[("country", "=", "DE")]) < germans


# --- clocks ---


def points(ann, link, **parameters):
    answer = ann.call("GET", path(link, "/timeseries", **parameters))
    assert answer.status == 200, answer
    return answer.json["points"]


@pytest.mark.parametrize(
    "zone, day, hours",
    [
        ("Europe/Berlin", "2026-03-29", 23), ("Europe/Berlin", "2026-10-25", 25), ("America/Havana", "2025-11-02", 25),
        ("America/Havana", "2026-03-08", 23), ("America/Santiago", "2026-09-06", 23), ("America/Santiago", "2026-04-04", 25),
        ("Australia/Lord_Howe", "2026-04-05", 24.5), ("Australia/Lord_Howe", "2026-10-04", 23.5), ("Asia/Kathmandu", "2026-03-29", 24),
        ("Africa/Casablanca", "2026-02-15", 25), ("America/Nuuk", "2026-10-24", 25), ("UTC", "2026-03-29", 24),
        # SQL would read these as abbreviations without daylight saving time.
        ("CET", "2026-03-29", 23), ("EET", "2026-10-25", 25), ("MET", "2026-03-29", 23), ("WET", "2026-10-25", 25),
        ("EST", "2026-03-08", 24), ("MST", "2026-03-08", 24), ("HST", "2026-03-08", 24), ("UCT", "2026-03-29", 24), ("Zulu", "2026-03-29", 24),
    ],
)  # fmt: skip
def test_days_have_the_length_of_the_local_day(ann, visited_links, zone, day, hours):
    date = datetime.date.fromisoformat(day)
    link = visited_links[0][0]
    days = points(ann, link, start=date - datetime.timedelta(days=1), to=date + datetime.timedelta(days=3), tz=zone)
    starts = [moment_of(point["start"]) for point in days]
    assert [start.astimezone(zoneinfo.ZoneInfo(zone)).date() for start in starts] == [date + datetime.timedelta(days=i) for i in range(-1, 3)]
    assert (starts[2] - starts[1]).total_seconds() == hours * 3600
    # None of them starts a quarter of an hour too late.
    before = [(start - datetime.timedelta(minutes=15)).astimezone(zoneinfo.ZoneInfo(zone)).date() for start in starts]
    assert before == [date + datetime.timedelta(days=i) for i in range(-2, 2)]
    by_hour = points(ann, link, start=date, to=date + datetime.timedelta(days=1), tz=zone, interval="hour")
    assert len(by_hour) == -(-hours // 1)
    edges = [moment_of(point["start"]) for point in by_hour] + [starts[2]]
    assert edges[0] == starts[1] and all(0 < (b - a).total_seconds() <= 3600 for a, b in zip(edges, edges[1:]))


def test_a_day_that_a_zone_skips_has_no_point(ann, visited_links):
    """Samoa crossed the date line and had no 30 December 2011."""
    days = points(ann, visited_links[0][0], start="2011-12-28", to="2012-01-02", tz="Pacific/Apia")
    dates = [str(moment_of(point["start"]).astimezone(zoneinfo.ZoneInfo("Pacific/Apia")).date()) for point in days]
    assert dates == ["2011-12-28", "2011-12-29", "2011-12-31", "2012-01-01"]


def test_weeks_begin_on_monday_and_months_on_the_first(ann, visited_links):
    zone = zoneinfo.ZoneInfo("Asia/Kolkata")
    weeks = points(ann, visited_links[0][0], start="2026-03-04", to="2026-03-18", tz="Asia/Kolkata", interval="week")
    assert [str(moment_of(point["start"]).astimezone(zone)) for point in weeks] == [
        f"2026-03-{day} 00:00:00+05:30" for day in ("02", "09", "16")
    ]
    months = points(ann, visited_links[0][0], start="2026-02-10", to="2026-04-01", tz="Asia/Kolkata", interval="month")
    assert [str(moment_of(point["start"]).astimezone(zone).date()) for point in months] == ["2026-02-01", "2026-03-01"]


# --- response format ---


def test_a_range_without_visits_has_zero_counts(ann, visited_links):
    answer = ann.call("GET", path(visited_links[0][0], "/timeseries", start="2025-01-01", to="2025-01-04", tz="Europe/Berlin")).json
    zero = {"humans": 0, "bots": 0, "total": 0, "unique_visitors": 0}
    as_of, lag_ms = answer.pop("as_of"), answer.pop("lag_ms")
    assert answer == {
        "interval": "day", "tz": "Europe/Berlin", "from": "2024-12-31T23:00:00.000Z", "to": "2025-01-03T23:00:00.000Z",
        "points": [{"start": f"{day}T23:00:00.000Z", **zero} for day in ("2024-12-31", "2025-01-01", "2025-01-02")],
    }  # fmt: skip
    assert 1000 < lag_ms < (datetime.datetime.now(UTC) - moment_of(as_of)) / datetime.timedelta(milliseconds=1)
    values = ann.call("GET", path(visited_links[0][0], "/country", start="2025-01-01", to="2025-01-04")).json
    assert (values["dimension"], values["items"], values["totals"]) == ("country", [], zero)


def test_ranges_have_sensible_defaults(ann):
    link = ann.create()
    for interval, count in (("hour", 24), ("day", 30), ("week", 12), ("month", 12)):
        found = points(ann, link, interval=interval, tz="Europe/Berlin")
        assert len(found) == count, interval
        now = datetime.datetime.now(UTC)
        assert moment_of(found[-1]["start"]) <= now < moment_of(found[-1]["start"]) + datetime.timedelta(days=32)
    answer = ann.call("GET", path(link, "/browser")).json
    assert moment_of(answer["from"]) <= now - datetime.timedelta(days=29) and moment_of(answer["to"]) > now
    whole_life = ann.call("GET", path(link)).json
    assert list(whole_life) == [
        "link_id", "humans", "bots", "total", "unique_visitors", "last_visited_at", "latency", "as_of", "lag_ms",
    ]  # fmt: skip


def test_bots_parameter_orders_lists_and_changes_no_count(ann, database, visited_links, expect):
    link, (start, to) = visited_links[0]
    span = {"start": text(start), "to": text(to)}
    (humans, bots, _), *_ = plain(database, "", link, start, to, group=False)
    total = ann.call("GET", path(link, **span)).json
    assert (total["humans"], total["bots"], total["total"]) == (humans, bots, humans + bots)
    assert sum(point["total"] for point in points(ann, link, **span)) == humans + bots
    for chosen, ordered_by in (({}, "humans"), ({"bots": "include"}, "total"), ({"bots": "only"}, "bots")):
        devices = ann.call("GET", path(link, "/device", **span, **chosen)).json
        assert (devices["totals"]["humans"], devices["totals"]["bots"]) == (humans, bots)
        counts = [item[ordered_by] for item in devices["items"]]
        assert counts == sorted(counts, reverse=True) and min(counts) > 0
        assert all(item["total"] == item["humans"] + item["bots"] for item in devices["items"])
    for below in ("", "/timeseries"):
        expect(ann.call("GET", path(link, below, **span, bots="only")), 400, "/bots")


def test_a_dimension_shows_its_most_frequent_values(ann, visited_links):
    link, (start, to) = visited_links[0]
    span = {"start": text(start), "to": text(to)}
    whole = ann.call("GET", path(link, "/browser", **span)).json["items"]
    assert len(whole) == 4 and whole[0]["value"] == "Chrome"
    assert ann.call("GET", path(link, "/browser", limit=2, **span)).json["items"] == whole[:2]
    assert {item["value"] for item in ann.call("GET", path(link, "/utm_source", **span)).json["items"]} == {"news", ""}


def test_referrer_sources_and_bot_reasons_are_read_from_the_log(ann, database, visited_links):
    link, (start, to) = visited_links[0]
    span = {"start": text(start), "to": text(to)}
    sources = ann.call("GET", path(link, "/referrer_source", **span)).json
    assert sources["dimension"] == "referrer_source" and {item["value"] for item in sources["items"]} == {"Google", "Twitter", ""}
    reasons = ann.call("GET", path(link, "/bot_reason", bots="only", **span)).json
    bots = database.run("SELECT bot_reason, count(*) FROM visit_log WHERE link_id = %s AND is_bot GROUP BY 1", link["id"])
    assert {item["value"]: item["bots"] for item in reasons["items"]} == dict(bots) and len(bots) == 3
    google = ann.call("GET", path(link, **span, filters=[("referrer_source", "=", "Google")])).json
    assert google["humans"] == next(item["humans"] for item in sources["items"] if item["value"] == "Google") > 1000


# --- errors ---


def test_unknown_dimensions_and_foreign_links_are_404(ann, bob, visited_links, expect):
    link = visited_links[0][0]
    for below in ("/total", "/referrer", "/timeseries/x"):
        expect(ann.call("GET", f"/api/links/{link['id']}/stats{below}"), 404)
    for below in ("", "/timeseries", "/country"):
        expect(bob.call("GET", path(link, below)), 404)
        expect(ann.call("GET", path({"id": 999999}, below)), 404)


def test_a_series_has_at_most_2000_points(ann, visited_links, expect):
    link, start = visited_links[0][0], datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
    span = {"start": text(start), "to": text(start + datetime.timedelta(hours=2001)), "tz": "UTC"}
    expect(ann.call("GET", path(link, "/timeseries", interval="hour", **span)), 400, "/interval")
    assert len(ann.call("GET", path(link, "/timeseries", interval="day", **span)).json["points"]) == 84


# --- before the visit log begins ---


def test_before_the_log_ranges_are_whole_buckets_and_filters_are_refused(ann, database, visited_links, expect):
    link, (start, _) = visited_links[0]
    finish(database, AUTUMN[1].date())  # and so long after these visits that their roll-ups by hour are gone
    kept_since = start + datetime.timedelta(days=3)
    inside, outside = kept_since + datetime.timedelta(minutes=7), start + datetime.timedelta(hours=5, minutes=7)
    to = start + datetime.timedelta(days=9)
    before = plain(database, "browser AS value, ", link, start, to)
    while database.value("SELECT visit_log_drop_partition(%s)", kept_since.date()):
        pass
    try:
        assert database.value("SELECT since FROM visit_log_reach") == kept_since.date()
        answer = ann.call("GET", path(link, "/browser", start=text(outside), to=text(to))).json
        assert answer["from"] == text(start)
        assert [(item["value"], sums_of(item)) for item in answer["items"]] == sorted_values((v, tuple(s)) for v, *s in before)
        series = ann.call("GET", path(link, "/timeseries", start=text(outside), to=text(to))).json
        assert series["from"] == text(start + datetime.timedelta(hours=5))
        problem = expect(ann.call("GET", path(link, start=text(outside), to=text(to), filters=[("os", "=", "iOS")])), 422, "/from")
        assert problem["type"] == "/problems/beyond-log" and text(kept_since) in problem["errors"][0]["detail"]
        # Both ends in one bucket: the range is empty.
        for below, minutes in (("", 1), ("/timeseries", 1), ("/browser", 1), ("/browser", 37)):
            answer = ann.call("GET", path(link, below, start=text(outside), to=text(outside + datetime.timedelta(minutes=minutes))))
            assert answer.status == 200, answer
            bucket = start if below == "/browser" else start + datetime.timedelta(hours=5)
            assert answer.json["from"] == answer.json["to"] == text(bucket), answer
            counted = answer.json.get("humans", answer.json.get("totals", {}).get("humans", 0))
            assert counted == sum(point["humans"] for point in answer.json.get("points", [])) == 0, answer
        # Without from, the start of the log is used instead of an error.
        began = ann.call("GET", path(link, to=text(to), filters=[("country", "=", "DE")])).json
        assert began["from"] == text(kept_since)
        assert [(began["humans"], began["bots"])] == [
            row[:2] for row in plain(database, "", link, kept_since, to, [("country", "=", "DE")], group=False)]  # fmt: skip
        assert ann.call("GET", path(link, to=text(to))).json["from"] < text(kept_since)
        expect(ann.call("GET", path(link, "/os", to=text(outside), filters=[("os", "=", "iOS")])), 422, "/to")
        # The same holds for dimensions that exist only in the log.
        expect(ann.call("GET", path(link, "/referrer_source", start=text(outside), to=text(to))), 422, "/from")
        assert ann.call("GET", path(link, "/referrer_source", to=text(to))).json["from"] == text(kept_since)
        # Within the log, results are exact.
        check_total(ann, database, link, inside, to, [("os", "=", "iOS")])
        check_dimension(ann, database, link, inside, to, [], "browser")
        listed = ann.call("GET", f"/api/links/{link['id']}/visits?limit=1").json
        assert listed["log_since"] == text(kept_since)
    finally:
        database.run("UPDATE visit_log_reach SET since = NULL")


# --- too many visits ---


def test_a_filter_over_too_many_visits_is_refused_and_other_queries_work(new_user, database, start, expect):
    """A lock on the log makes every query on it time out, as too many visits would."""
    eve = new_user(start(PG_HEAVY_STATEMENT_TIMEOUT_MS=2000))
    link = eve.create()
    last = datetime.datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    whole_hours = {"start": text(last - datetime.timedelta(days=3)), "to": text(last)}
    blocker = psycopg2.connect(database.url())
    try:
        blocker.cursor().execute("LOCK TABLE visit_log IN ACCESS EXCLUSIVE MODE")
        for below in ("", "/timeseries", "/country"):
            problem = expect(eve.call("GET", path(link, below, **whole_hours, filters=[("os", "=", "iOS")])), 422)
            assert problem["type"] == "/problems/too-many-visits", problem
            # Queries without a filter do not need the log.
            assert eve.call("GET", path(link, below, **whole_hours)).status == 200
        problem = expect(eve.call("GET", path(link, "/bot_reason", **whole_hours)), 422)
        assert problem["type"] == "/problems/too-many-visits", problem
    finally:
        blocker.close()
    assert eve.call("GET", path(link, "/country", **whole_hours, filters=[("os", "=", "iOS")])).status == 200


# --- most visited links ---


def test_top_lists_the_callers_most_visited_links_of_the_last_day(new_user, database):
    carol, dave = new_user(), new_user()
    now = datetime.datetime.now(UTC)
    links = [carol.create(title=f"link {i}") for i in range(4)]
    counts = (30, 70, 50, 0)
    for link, count in zip(links, counts):
        if count:
            add_visits(database, link["id"], count, now - datetime.timedelta(hours=20), now, seed=0.3, bots=0.0)
    add_visits(database, links[0]["id"], 500, now - datetime.timedelta(days=3), now - datetime.timedelta(days=2), bots=0.0)
    add_visits(database, dave.create()["id"], 90, now - datetime.timedelta(hours=20), now, bots=1.0)
    deleted = carol.create()
    add_visits(database, deleted["id"], 99, now - datetime.timedelta(hours=20), now, bots=0.0)
    carol.call("DELETE", f"/api/links/{deleted['id']}")
    roll_up(database, dimensions=False)
    answer = carol.call("GET", "/api/stats/top").json
    assert [link["id"] for link in answer["links"]] == [links[i]["id"] for i in (1, 2, 0)]
    for link in answer["links"]:
        assert (link["humans"], link["bots"]) == plain(database, "", link, answer["from"], answer["to"], group=False)[0][:2]
    assert answer["links"][0]["short_url"] == links[1]["short_url"] and answer["links"][0]["title"] == "link 1"
    assert list(answer) == ["from", "to", "links", "as_of", "lag_ms"]
    assert len(carol.call("GET", "/api/stats/top?limit=2").json["links"]) == 2
    week = carol.call("GET", f"/api/stats/top?from={text(now - datetime.timedelta(days=7))}").json["links"]
    assert [link["id"] for link in week] == [links[i]["id"] for i in (0, 1, 2)]
    assert week[0]["humans"] == counts[0] + 500
    assert dave.call("GET", "/api/stats/top").json["links"] == []
    assert dave.call("GET", "/api/stats/top?bots=only").json["links"][0]["bots"] == 90


def test_every_response_shows_its_freshness(ann, visited_links, anonymous):
    link = visited_links[0][0]
    for where in (path(link), path(link, "/timeseries"), path(link, "/os"), path(link, to="2026-03-05"), f"/api/links/{link['id']}/visits", "/api/stats/top"):
        answer = ann.call("GET", where).json
        assert answer["as_of"].endswith("Z") and answer["lag_ms"] >= 1000, where
    assert anonymous.call("GET", "/api/stats").json["lag_ms"] >= 1000
