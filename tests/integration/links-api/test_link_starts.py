"""starts_at: the state of links before their start, in every place that shows or uses it."""

import datetime
import secrets

import pytest
from users import User
from waiting import wait_until

URL = "https://example.com/"
LATER = "2099-06-01T08:00:00.123Z"
LAST = "2099-12-31T00:00:00.000Z"
PAST = "2001-01-01T00:00:00.000Z"


def in_seconds(seconds):
    moment = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=seconds)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def change(api, link, body):
    return api.call("PATCH", f"/api/links/{link['id']}", body)


def listed(api, query):
    answer = api.call("GET", f"/api/links?{query}")
    assert answer.status == 200, answer
    return [link["id"] for link in answer.json["links"]]


@pytest.fixture
def user(service, database):
    return User(service, database)


def test_a_link_is_scheduled_until_its_start(user):
    link = user.create(starts_at=LATER, expires_at=LAST)
    assert (link["starts_at"], link["expires_at"], link["state"]) == (LATER, LAST, "scheduled")
    assert user.call("GET", f"/api/links/{link['id']}").json["link"] == link
    assert user.create()["starts_at"] is None


def test_a_link_becomes_active_by_the_clock_alone(user, database):
    link = user.create(starts_at=LATER)
    database.run("UPDATE links SET starts_at = clock_timestamp() + interval '1 s' WHERE id = %s", link["id"])
    state = lambda: user.call("GET", f"/api/links/{link['id']}").json["link"]  # noqa: E731
    wait_until(lambda: state()["state"] == "active", "the link to start")
    assert state()["version"] == 1


def test_a_start_is_moved_and_removed(user):
    link = user.create()
    for version, (start, state) in enumerate([(LATER, "scheduled"), (PAST, "active"), (LAST, "scheduled"), (None, "active")], start=2):
        changed = change(user, link, {"starts_at": start}).json["link"]
        assert (changed["starts_at"], changed["state"], changed["version"]) == (start, state, version)
    assert change(user, link, {"starts_at": None}).json["link"] == changed


def test_the_history_of_a_link_shows_its_start(user):
    link = user.create()
    change(user, link, {"starts_at": LATER})
    change(user, link, {"starts_at": None})
    entries = user.call("GET", f"/api/links/{link['id']}/history").json["changes"]
    assert [entry["fields"] for entry in entries] == [
        [{"name": "starts_at", "from": LATER, "to": None}],
        [{"name": "starts_at", "from": None, "to": LATER}],
        [],
    ]


@pytest.mark.parametrize("end", [LATER, "2099-06-01T08:00:00.122Z"])
def test_a_start_is_before_the_end(user, expect, end):
    expect(user.call("POST", "/api/links", {"original_url": URL, "starts_at": LATER, "expires_at": end}), 400, "/starts_at")
    ends = user.create(expires_at=end)
    expect(change(user, ends, {"starts_at": LATER}), 409, "/starts_at")
    starts = user.create(starts_at=LATER)
    expect(change(user, starts, {"expires_at": end}), 409, "/expires_at")
    expect(change(user, starts, {"starts_at": LATER, "expires_at": end}), 400, "/starts_at")
    assert change(user, ends, {"starts_at": LATER, "expires_at": LAST}).json["link"]["state"] == "scheduled"


def test_other_states_come_before_scheduled(user, database):
    link = user.create(starts_at=LATER)
    assert change(user, link, {"state": "disabled"}).json["link"]["state"] == "disabled"
    assert change(user, link, {"state": "active"}).json["link"]["state"] == "scheduled"
    assert user.call("DELETE", f"/api/links/{link['id']}").status == 204
    assert user.call("POST", f"/api/links/{link['id']}/restore").json["link"]["state"] == "scheduled"
    database.run("UPDATE links SET expires_at = now() - interval '1 s' WHERE id = %s", link["id"])
    assert user.call("GET", f"/api/links/{link['id']}").json["link"]["state"] == "expired"


def test_lists_and_filters_know_scheduled_links(user, expect):
    scheduled, started, plain = (user.create(**fields) for fields in ({"starts_at": LATER}, {"starts_at": PAST}, {}))
    disabled = user.create(starts_at=LATER)
    change(user, disabled, {"state": "disabled"})
    ids = {link["id"]: name for name, link in {"scheduled": scheduled, "started": started, "plain": plain, "disabled": disabled}.items()}
    for query, expected in (
        ("state=scheduled", ["scheduled"]),
        ("state=active", ["plain", "started"]),
        ("state=disabled", ["disabled"]),
        ("filter=state:scheduled", ["scheduled"]),
        ("filter=state:-scheduled", ["disabled", "plain", "started"]),
        ("filter=state:active", ["plain", "started"]),
        ("filter=starts_at:null", ["plain"]),
        ("filter=starts_at:>2050-01-01", ["disabled", "scheduled"]),
        (f"filter=starts_at:{LATER}", ["disabled", "scheduled"]),
        ("q=example&state=scheduled", ["scheduled"]),
    ):
        assert [ids[each] for each in listed(user, query)] == expected, query
    expect(user.call("GET", "/api/links?state=waiting"), 400, "/state")


def test_reuse_gives_no_link_that_has_not_started(user):
    body = {"original_url": f"{URL}{secrets.token_hex(6)}", "reuse": True}
    scheduled = user.call("POST", "/api/links", {**body, "starts_at": LATER})
    made = user.call("POST", "/api/links", body)
    assert (scheduled.status, made.status) == (201, 201)
    for answer in (user.call("POST", "/api/links", body), user.call("POST", "/api/links", {**body, "starts_at": LATER})):
        assert (answer.status, answer.json["link"]["id"]) == (200, made.json["link"]["id"])


def test_reuse_in_a_bulk_gives_no_link_that_has_not_started(user):
    body = {"original_url": f"{URL}{secrets.token_hex(6)}", "reuse": True}
    slug = secrets.token_hex(6)
    named = {"original_url": f"{URL}{secrets.token_hex(6)}", "reuse": True, "slug": slug}
    items = [{**body, "starts_at": LATER}, body, {**body, "starts_at": LATER}, body, {**named, "starts_at": LATER}, named]
    results = user.call("POST", "/api/links/bulk", {"links": items}).json["results"]
    assert [result["status"] for result in results] == [201, 201, 200, 200, 201, 409]
    ids = [result["link"]["id"] for result in results[:5]]
    assert ids[1] == ids[2] == ids[3] != ids[0]
    assert [result["link"]["state"] for result in results[:5]] == ["scheduled", "active", "active", "active", "scheduled"]


def test_many_scheduled_links_to_one_url_cost_no_more_rounds(user):
    items = [{"original_url": URL, "reuse": True, "starts_at": LATER}] * 1000
    results = user.call("POST", "/api/links/bulk", {"links": items}).json["results"]
    assert {result["status"] for result in results} == {201}
    assert len({result["link"]["id"] for result in results}) == 1000


def test_links_without_an_account_have_no_start(anonymous, service, database, expect):
    expect(anonymous.call("POST", "/api/links/public", {"original_url": URL, "starts_at": LATER}), 400, "/starts_at")
    admin = User(service, database, "admin")
    link = anonymous.call("POST", "/api/links/public", {"original_url": URL}).json["link"]
    expect(change(admin, link, {"starts_at": in_seconds(60)}), 409, "/starts_at")
    assert change(admin, link, {"title": "x", "starts_at": None}).status == 200


def test_a_bulk_change_cannot_set_a_start(user, expect):
    expect(user.call("PATCH", "/api/links?filter=tag:none", {"starts_at": LATER}), 400, "/starts_at")


def test_a_bulk_change_and_a_tag_keep_the_start(user):
    link = user.create(starts_at=LATER, tags=["a"])
    assert user.call("PATCH", "/api/links?filter=tag:a", {"state": "disabled"}).json["changed"] == 1
    assert user.call("PATCH", "/api/links?filter=tag:a", {"state": "active"}).json["changed"] == 1
    assert user.call("PATCH", "/api/tags/a", {"name": "b"}).status == 200
    shown = user.call("GET", f"/api/links/{link['id']}").json["link"]
    assert (shown["starts_at"], shown["state"], shown["tags"]) == (LATER, "scheduled", ["b"])


def test_an_event_has_the_start(user, topic, LinkEvent):
    link = user.create(starts_at=LATER)
    assert change(user, link, {"starts_at": None}).status == 200
    messages = topic.wait_for(lambda m: m.key() == link["slug"].encode(), count=2)
    events = [LinkEvent.FromString(message.value()) for message in messages]
    later_us = int(datetime.datetime.fromisoformat(LATER.replace("Z", "+00:00")).timestamp() * 1000) * 1000
    assert [event.link.starts_at_us for event in events] == [later_us, 0]
    assert {event.link.state for event in events} == {1}, "an event has the stored state"


def test_a_list_of_used_up_links_has_those_whose_limit_is_reached(user, database):
    full, half, plain = user.create(max_visits=2), user.create(max_visits=2), user.create()
    disabled = user.create(max_visits=1)
    change(user, disabled, {"state": "disabled"})
    for link, taken in ((full, 2), (half, 1), (disabled, 1)):
        database.run("UPDATE link_visit_limits SET taken = %s WHERE link_id = %s", taken, link["id"])
    assert listed(user, "state=used_up") == [full["id"]]
    assert listed(user, "state=active") == [plain["id"], half["id"], full["id"]]
    answer = user.call("GET", "/api/links?state=used_up")
    assert [(link["state"], link["visits_left"]) for link in answer.json["links"]] == [("used_up", 0)] and answer.json["pagination"]["total"] == 1
