"""All visits of a workspace, oldest first: pages, streams that go on where they broke off, and programs that follow."""

import csv
import datetime
import http.client
import io
import json
import os
import subprocess
import time
import urllib.parse

import pytest
from clients import DECOMPRESS, Api
from service import ROOT
from users import User
from visit_fixture import add_visits, fold, roll_up
from waiting import wait_until

UTC = datetime.timezone.utc
NOW = datetime.datetime.now(UTC) - datetime.timedelta(hours=1)  # what is complete never lies in the future
LAST = NOW.replace(minute=0, second=0, microsecond=0) - datetime.timedelta(hours=2)
FIRST = LAST - datetime.timedelta(days=40)
BUSY = LAST - datetime.timedelta(days=5)
CSV, NDJSON = "text/csv", "application/x-ndjson"
NO_ID = "00000000-0000-0000-0000-000000000000"


@pytest.fixture(scope="module")
def as_of(database):
    """as_of(time): up to when everything is counted."""

    def set_to(moment):
        database.run(
            "INSERT INTO consumer_offsets (topic, partition, next_offset, as_of) VALUES ('waymark.redirects.v1', 0, 9, %s) "
            "ON CONFLICT (topic, partition) DO UPDATE SET as_of = EXCLUDED.as_of", moment)  # fmt: skip

    set_to(NOW)
    return set_to


@pytest.fixture(scope="module")
def ann(service, database, as_of):
    """A user with visits of three links, one of which is deleted; others have visits at the same times."""
    ann, bob = User(service, database), User(service, database)
    ann.links = [ann.create(tags=tags) for tags in (["a"], ["b"], ["a", "b"])]
    for index, link in enumerate(ann.links + [bob.create()]):
        add_visits(database, link["id"], 400, FIRST, LAST, seed=index / 10)
        # Many at the same time: only ids distinguish them.
        add_visits(database, link["id"], 100, BUSY, BUSY + datetime.timedelta(milliseconds=1), seed=index / 10)
    roll_up(database, dimensions=False)
    assert ann.call("DELETE", f"/api/links/{ann.links[2]['id']}").status == 204
    return ann


def path(**parameters):
    return f"/api/visits?{urllib.parse.urlencode(parameters)}"


def get(api, **parameters):
    answer = api.call("GET", path(**parameters))
    assert answer.status == 200, answer
    return answer.json


def all_pages(api, **parameters):
    visits, pages, page = [], 0, {"pagination": {"next_cursor": None}}
    while pages == 0 or page["pagination"]["next_cursor"]:
        page = get(api, **parameters, **({"cursor": page["pagination"]["next_cursor"]} if pages else {}))
        visits += page["visits"]
        pages += 1
    return visits


def stream(api, form=NDJSON, **parameters):
    answer = api.call("GET", path(**parameters), headers={"Accept": form})
    assert answer.status == 200, answer
    return answer


def ids_of(visits):
    return [visit["event_id"] for visit in visits]


def counted(database, ann, where="true"):
    return [row[0] for row in database.run(
        f"SELECT event_id::text FROM visit_log WHERE workspace_id = %s AND {where} ORDER BY occurred_at, event_id", ann.id)]  # fmt: skip


def fresh(service, database):
    """A user with a link."""
    user = User(service, database)
    user.link = user.create()
    return user


def add_visit(database, user, moment, country="DE"):
    database.run(
        "INSERT INTO rollup_delta (link_id, workspace_id, hour, humans, bots, uniques) VALUES (%s, %s, date_trunc('hour', %s), 1, 0, 0)",
        user.link["id"], user.id, moment)  # fmt: skip
    database.run(
        "INSERT INTO visit_log (day, event_id, occurred_at, link_id, workspace_id, slug, status, latency_us, is_bot, country) "
        "VALUES ((%s AT TIME ZONE 'UTC')::date, gen_random_uuid(), %s, %s, %s, 's', 302, 1, false, %s)",
        moment, moment, user.link["id"], user.id, country)  # fmt: skip


# --- pages ---


@pytest.mark.parametrize("limit", [7, 100, 1000])
def test_pages_show_each_visit_once_the_oldest_first(ann, database, limit):
    span = {"from": (BUSY - datetime.timedelta(minutes=1)).isoformat(), "to": (BUSY + datetime.timedelta(minutes=1)).isoformat()} if limit == 7 else {}
    where = f"occurred_at >= '{span['from']}' AND occurred_at < '{span['to']}'" if span else "true"
    wanted = counted(database, ann, f"NOT is_bot AND {where}")
    assert len(wanted) > 200 and ids_of(all_pages(ann, limit=limit, **span)) == wanted


def test_visits_of_deleted_links_count_and_those_of_others_do_not(ann, database):
    links = {visit["link_id"] for visit in all_pages(ann, limit=1000, bots="include")}
    assert links == {link["id"] for link in ann.links}


@pytest.mark.parametrize("parameters,where", [
    ({"bots": "include"}, "true"), ({"bots": "only"}, "is_bot"), ({"country": "DE", "not_browser": "Chrome"}, "NOT is_bot AND country = 'DE' AND browser <> 'Chrome'"),
    ({"country": ["DE", "US"]}, "NOT is_bot AND country IN ('DE', 'US')"), ({"bots": "only", "bot_reason": "head"}, "is_bot AND bot_reason = 'head'"),
])  # fmt: skip
def test_filters_select_visits(ann, database, parameters, where):
    pairs = [(name, each) for name, value in parameters.items() for each in (value if isinstance(value, list) else [value])]
    cursor, visits = None, []
    while cursor is not None or not visits:
        query = urllib.parse.urlencode(pairs + [("limit", 1000)] + ([("cursor", cursor)] if cursor else []))
        page = ann.call("GET", f"/api/visits?{query}").json
        visits += page["visits"]
        cursor = page["pagination"]["next_cursor"]
        if cursor is None:
            break
    assert ids_of(visits) == counted(database, ann, where)


@pytest.mark.parametrize("parameters,index", [({"tag": "a"}, 0), ({"filter": "tag:b"}, 1)])
def test_links_select_visits(ann, parameters, index):
    visits = all_pages(ann, limit=1000, bots="include", **parameters)
    assert len(visits) == 500 and {visit["link_id"] for visit in visits} == {ann.links[index]["id"]}, "the deleted link has the tags as well"


def test_a_workspace_without_visits_can_be_followed(service, database, as_of):
    user = fresh(service, database)
    page = get(user)
    assert page["visits"] == [] and page["pagination"]["next_cursor"] is None and page["resume_cursor"].endswith(NO_ID)
    moment = datetime.datetime.fromisoformat(page["complete_until"].replace("Z", "+00:00"))
    assert moment == NOW.replace(microsecond=NOW.microsecond // 1000 * 1000) - datetime.timedelta(minutes=1)
    add_visit(database, user, NOW - datetime.timedelta(seconds=59))
    as_of(NOW + datetime.timedelta(seconds=120))
    assert len(get(user, cursor=page["resume_cursor"])["visits"]) == 1
    as_of(NOW)


def test_a_few_visits_in_a_long_time_are_one_page(service, database):
    """Whether their days are folded or not."""
    user = fresh(service, database)
    for days in (300, 200, 3):
        add_visit(database, user, NOW - datetime.timedelta(days=days))
    for _ in range(2):
        page = get(user)
        assert len(page["visits"]) == 3 and page["pagination"]["next_cursor"] is None
        fold(database, (NOW - datetime.timedelta(days=100)).date())
    assert database.value("SELECT count(*) FROM rollup_workspace_day WHERE workspace_id = %s", user.id) == 2


def test_a_filter_that_matches_few_of_many_visits_goes_on_in_bounded_steps(service, database):
    """More than one statement looks at: a page may be empty, although it is not the last."""
    user = fresh(service, database)
    add_visits(database, user.link["id"], 21000, LAST - datetime.timedelta(hours=5), LAST - datetime.timedelta(hours=1), bots=0.0)
    roll_up(database, dimensions=False)
    last = LAST - datetime.timedelta(minutes=30)
    add_visit(database, user, last, country="AQ")
    assert len(all_pages(user, country="AQ")) == 1
    assert all_pages(user, country="NZ") == []
    assert len(stream(user, country="AQ").body.splitlines()) == 1


def test_the_wrong_cursor_range_or_limit_is_refused(ann, expect):
    for parameters, pointer in (
        ({"cursor": "x"}, "/cursor"), ({"cursor": f"-1_{NO_ID}"}, "/cursor"), ({"limit": 1001}, "/limit"), ({"limit": 0}, "/limit"), ({"order": "desc"}, "/order"),
        ({"from": "2026-01-02", "to": "2026-01-01"}, "/to"), ({"format": "xml"}, "/format"), ({"filter": "x"}, "/filter"), ({"page": 2}, "/page"),
    ):  # fmt: skip
        expect(ann.call("GET", path(**parameters)), 400, pointer)
    expect(ann.call("GET", path(), headers={"Accept": "text/html"}), 406)


# --- streams ---


@pytest.mark.parametrize("form", [CSV, NDJSON])
def test_streams_contain_the_same_visits_as_pages(ann, form):
    visits = all_pages(ann, limit=1000)
    answer = stream(ann, form)
    if form == CSV:
        rows = list(csv.DictReader(io.StringIO(answer.body.decode(), newline="")))
        assert [row["event_id"] for row in rows] == ids_of(visits) and [row["cursor"] for row in rows] == [v["cursor"] for v in visits]
    else:
        assert [json.loads(line) for line in answer.body.decode().splitlines()] == visits
    assert answer.headers["content-disposition"] == f'attachment; filename="visits.{"csv" if form == CSV else "ndjson"}"'
    assert answer.headers["x-complete-until"] == get(ann, limit=1)["complete_until"]


@pytest.mark.parametrize("form", [CSV, NDJSON])
def test_streams_are_compressed(ann, form):
    """In several chunks."""
    plain = stream(ann, form)
    assert len(plain.body) > 200_000 and "content-encoding" not in plain.headers
    for coding, decompress in DECOMPRESS.items():
        answer = ann.call("GET", path(), headers={"Accept": form, "Accept-Encoding": coding})
        assert answer.headers["content-encoding"] == coding and len(answer.body) < len(plain.body) / 2
        assert decompress(answer.body) == plain.body
        short = ann.call("GET", path(limit=1), headers={"Accept": form, "Accept-Encoding": coding})
        assert short.status == 200 and "content-encoding" not in short.headers


@pytest.mark.parametrize("at", [0, 1, 499, 500, 777, -1])
def test_a_stream_goes_on_after_any_of_its_lines(ann, at):
    visits = [json.loads(line) for line in stream(ann).body.splitlines()]
    rest = [json.loads(line) for line in stream(ann, cursor=visits[at]["cursor"]).body.splitlines()]
    assert rest == (visits[at + 1 :] if at >= 0 else [])
    assert ids_of(get(ann, cursor=visits[at]["cursor"], limit=5)["visits"]) == ids_of(rest[:5])


def test_a_broken_stream_loses_and_repeats_nothing(service, database, as_of):
    user = fresh(service, database)
    add_visits(database, user.link["id"], 20000, FIRST, LAST, bots=0.0)
    roll_up(database, dimensions=False)
    url, lines, cursor, cuts = urllib.parse.urlsplit(service.url), [], None, 0
    while True:
        connection = http.client.HTTPConnection(url.hostname, url.port, timeout=300)
        connection.request("GET", path(**({"cursor": cursor} if cursor else {})), headers={"Accept": NDJSON, "Authorization": f"Bearer {user.token}"})
        answer = connection.getresponse()
        if answer.status == 429:  # the server has not noticed yet that the last ones were closed
            time.sleep(0.1)
            continue
        part = answer.read(1_500_000)  # a line is cut in the middle
        is_whole = not answer.read(1)
        connection.close()
        whole = part.split(b"\n")[:-1]
        lines += [json.loads(line) for line in whole]
        if is_whole:
            break
        cursor, cuts = lines[-1]["cursor"], cuts + 1
    assert cuts >= 3 and ids_of(lines) == counted(database, user)


# --- following ---


def test_a_follower_misses_no_visit_that_is_counted_a_little_late(service, database, as_of):
    user = fresh(service, database)
    second = datetime.timedelta(seconds=1)
    add_visit(database, user, NOW - 90 * second)
    add_visit(database, user, NOW - 30 * second)
    page = get(user)
    assert len(page["visits"]) == 1, "the second one is newer than what is complete"
    add_visit(database, user, NOW - 55 * second)
    as_of(NOW + 45 * second)
    page = get(user, cursor=page["resume_cursor"])
    assert len(page["visits"]) == 2 and page["visits"][0]["occurred_at"] < page["visits"][1]["occurred_at"]
    assert get(user, cursor=page["resume_cursor"])["visits"] == []
    as_of(NOW)
    assert get(user, cursor=page["resume_cursor"])["resume_cursor"] == page["resume_cursor"], "it never goes back"


def test_the_example_follows_and_goes_on_where_it_was(service, database, as_of, tmp_path):
    user = fresh(service, database)
    key, _ = user.with_key("visits:read")
    add_visits(database, user.link["id"], 1500, FIRST, LAST)
    roll_up(database, dimensions=False)
    env = {**os.environ, "API_URL": service.url, "API_KEY": key.token, "POLL_S": "0.1"}
    printed = []
    for more, complete in ((0, NOW - datetime.timedelta(minutes=10)), (40, NOW)):
        as_of(complete)
        for second in range(more):
            add_visit(database, user, NOW - datetime.timedelta(seconds=100 + second))
        wanted = counted(database, user)
        with subprocess.Popen([ROOT / "examples/python/follow.py", tmp_path / "place"], env=env, stdout=subprocess.PIPE, text=True) as example:
            while len(printed) < len(wanted):
                printed.append(json.loads(example.stdout.readline())["event_id"])
            wait_until(lambda: (tmp_path / "place").read_text().endswith(NO_ID), "the place after the last page")
            example.kill()
        assert printed == wanted
    refused = subprocess.run([ROOT / "examples/python/follow.py", tmp_path / "place"], env={**env, "API_KEY": "wm_x"}, capture_output=True, text=True, check=False)
    assert refused.returncode == 1 and refused.stderr.startswith("401: ")


def test_to_shows_visits_that_may_not_be_complete(service, database, as_of):
    user = fresh(service, database)
    add_visit(database, user, NOW - datetime.timedelta(seconds=10))
    assert get(user)["visits"] == []
    page = get(user, to=(NOW + datetime.timedelta(hours=1)).isoformat())
    assert len(page["visits"]) == 1 and page["resume_cursor"] == page["visits"][0]["cursor"]


def test_before_anything_is_counted_nothing_is_complete(service, database, as_of):
    user = fresh(service, database)
    add_visit(database, user, NOW - datetime.timedelta(days=1))
    as_of(None)
    page = get(user)
    as_of(NOW)
    assert (page["visits"], page["as_of"], page["complete_until"]) == ([], None, None)
    assert len(get(user, cursor=page["resume_cursor"])["visits"]) == 1


# --- keys ---


def test_visits_need_their_own_scope(ann, expect):
    reader, _ = ann.with_key("visits:read")
    other, _ = ann.with_key("stats:read", "links:read", "links:write", "shares:read")
    for each in ("/api/visits?limit=1", f"/api/links/{ann.links[0]['id']}/visits?limit=1"):
        assert reader.call("GET", each).status == 200
        assert expect(other.call("GET", each), 403)["type"] == "/problems/scope"
    expect(Api(ann.base).call("GET", "/api/visits"), 401)


def test_a_key_that_is_limited_to_tags_sees_visits_of_their_links(ann):
    reader, _ = ann.with_key("visits:read", tags=["a", "nobody"])
    for visits in (all_pages(reader, limit=1000, bots="include"), [json.loads(line) for line in stream(reader, bots="include").body.splitlines()]):
        assert len(visits) == 500 and {visit["link_id"] for visit in visits} == {ann.links[0]["id"]}
    assert get(reader, tag="b")["visits"] == []
    nothing, _ = ann.with_key("visits:read", tags=["nobody"])
    assert get(nothing)["visits"] == [] and get(nothing)["resume_cursor"]
