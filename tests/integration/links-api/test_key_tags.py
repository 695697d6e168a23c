"""API keys that are limited to tags: links without one of these do not exist for them, on any route."""

import datetime
import json

import pytest
from clients import Api
from users import User
from visit_fixture import add_visits, roll_up

MISSING = 999_999_999_999
SCOPES = ("links:read", "links:write", "stats:read", "visits:read", "shares:read", "shares:write", "keys:read", "keys:write")
NOW = datetime.datetime.now(datetime.timezone.utc)
VISITS = 40


def kind_of(answer):
    return answer.status, answer.json["type"].removeprefix("/problems/")


class World:
    """A user's links by name, and a key that is limited to the tags "a" and "b/c"."""

    def __init__(self, service, database):
        self.database = database
        self.user = User(service, database)
        self.links = {
            "in": self.user.create("https://example.com/in", tags=["a"], title="found"),
            "in two": self.user.create("https://example.com/two", tags=["x", "b/c", "a"]),
            "out": self.user.create("https://example.com/out", tags=["x", "ab", "A"], title="found"),
            "bare": self.user.create("https://example.com/bare", slug=f"bare-{self.user.id}"),
            "gone in": self.user.create("https://example.com/gone", tags=["a"]),
            "gone out": self.user.create("https://example.com/gone", tags=["x"], slug=f"gone-{self.user.id}"),
        }
        for link in self.links.values():
            add_visits(database, link["id"], VISITS, NOW - datetime.timedelta(days=3), NOW - datetime.timedelta(hours=3))
        for name in ("gone in", "gone out"):
            assert self.user.call("DELETE", self.path(name)).status == 204
        self.key, _ = self.user.with_key(*SCOPES, tags=["a", "b/c"])

    def path(self, name, rest=""):
        return f"/api/links/{self.links[name]['id']}{rest}"

    def of_list(self, query=""):
        answer = self.key.call("GET", f"/api/links?limit=100{query}")
        assert answer.status == 200, answer
        ids = {link["id"]: name for name, link in self.links.items()}
        assert answer.json["pagination"]["total"] == len(answer.json["links"])
        return {ids.get(link["id"], link["id"]) for link in answer.json["links"]}


@pytest.fixture(scope="module")
def world(service, database):
    world = World(service, database)
    roll_up(database)
    database.run("INSERT INTO consumer_offsets (topic, partition, next_offset, as_of) VALUES ('waymark.redirects.v1', 0, 9, now())")
    return world


@pytest.fixture
def fresh(service, database):
    return World(service, database)


# --- one link ---

ROUTES = [
    ("GET", "", None), ("PATCH", "", {"title": "caught"}), ("PATCH", "", {"tags": ["a"]}), ("DELETE", "", None), ("DELETE", "?hard=true", None),
    ("POST", "/restore", {}), ("GET", "/history", None), ("GET", "/stats", None), ("GET", "/stats/timeseries", None), ("GET", "/stats/country", None),
    ("GET", "/qr", None), ("GET", "/visits", None), ("GET", "/visits?format=csv", None),
]  # fmt: skip


@pytest.mark.parametrize("method,rest,body", ROUTES)
@pytest.mark.parametrize("name", ["out", "bare", "gone out"])
def test_a_link_without_the_tags_looks_like_none(world, name, method, rest, body):
    before = world.database.run("SELECT * FROM links WHERE workspace_id = %s ORDER BY id", world.user.id)
    asked, missing = (world.key.call(method, path, body, {"Accept": "*/*"}) for path in (world.path(name, rest), f"/api/links/{MISSING}{rest}"))
    assert asked.status == missing.status == 404
    assert {**asked.json, "instance": ""} == {**missing.json, "instance": ""}
    assert world.database.run("SELECT * FROM links WHERE workspace_id = %s ORDER BY id", world.user.id) == before


@pytest.mark.parametrize("method,rest,body", [route for route in ROUTES if route[0] == "GET"])
@pytest.mark.parametrize("name", ["in", "in two"])
def test_a_link_with_one_of_the_tags_is_there(world, name, method, rest, body):
    assert world.key.call(method, world.path(name, rest), body, {"Accept": "*/*"}).status == 200


def test_a_deleted_link_with_the_tags_can_be_restored(fresh):
    assert "restore" in fresh.key.call("GET", fresh.path("gone in")).json["detail"]
    assert fresh.key.call("POST", fresh.path("gone in", "/restore"), {}).status == 200


# --- lists and searches ---


@pytest.mark.parametrize("query,names", [
    ("", {"in", "in two"}), ("&q=example", {"in", "in two"}), ("&q=found", {"in"}), ("&tag=x", {"in two"}), ("&tag=A", set()), ("&state=active", {"in", "in two"}),
    ("&state=deleted", {"gone in"}), ("&filter=tag:x", {"in two"}), ("&filter=tag:x,tag:a", {"in", "in two"}), ("&filter=title:found", {"in"}),
    ("&sort=humans", {"in", "in two"}), ("&sort=last_visited_at&order=asc", {"in", "in two"}), ("&filter=id:>0,state:active", {"in", "in two"}),
])  # fmt: skip
def test_lists_have_only_links_with_the_tags(world, query, names):
    assert world.of_list(query) == names


def test_pages_of_a_list_have_only_links_with_the_tags(world):
    first = world.key.call("GET", "/api/links?limit=1").json
    second = world.key.call("GET", f"/api/links?limit=1&cursor={first['pagination']['next_cursor']}").json
    assert second["pagination"]["next_cursor"] is None
    assert {page["links"][0]["id"] for page in (first, second)} == {world.links[name]["id"] for name in ("in", "in two")}


def test_tags_are_those_of_the_links_that_the_key_sees(world):
    tags = {tag["name"]: tag["links"] for tag in world.key.call("GET", "/api/tags").json["tags"]}
    assert tags == {"a": 2, "b/c": 1, "x": 1}


# --- statistics ---


@pytest.mark.parametrize("rest,count", [("", 2), ("?tag=x", 1), ("?filter=slug:bare,tag:A", 0), ("?country=DE", 2)])
def test_sums_are_those_of_the_links_that_the_key_sees(world, rest, count):
    answer = world.key.call("GET", f"/api/stats/summary{rest}{'&' if rest else '?'}from=2026-01-01")
    assert answer.status == 200 and answer.json["links"] == count
    if "country" not in rest:
        assert answer.json["total"] == count * VISITS


@pytest.mark.parametrize("path", ["/api/stats/timeseries", "/api/stats/country", "/api/stats/referrer_source"])
def test_values_and_points_are_those_of_the_links_that_the_key_sees(world, path):
    answer = world.key.call("GET", f"{path}?from={(NOW - datetime.timedelta(days=5)).date()}")
    sums = answer.json["points"] if "points" in answer.json else [answer.json["totals"]]
    assert answer.status == 200 and sum(each["total"] for each in sums) == 2 * VISITS


def test_top_links_are_those_that_the_key_sees(world):
    answer = world.key.call("GET", "/api/stats/top?from=2026-01-01&bots=include")
    assert {link["id"] for link in answer.json["links"]} == {world.links[name]["id"] for name in ("in", "in two")}


# --- new links ---


@pytest.mark.parametrize("tags", [None, [], ["x"], ["A"], ["ab"], ["b"], ["b/c/d"]])
def test_a_new_link_needs_one_of_the_tags(world, tags):
    body = {"original_url": "https://example.com/new", "title": "new", **({"tags": tags} if tags is not None else {})}
    answer = world.key.call("POST", "/api/links", body)
    assert kind_of(answer) == (403, "key-limited") and "a, b/c" in answer.json["detail"]
    assert kind_of(world.key.call("POST", "/api/links", {**body, "reuse": True})) == (403, "key-limited")


def test_a_bulk_creates_what_has_one_of_the_tags(fresh):
    body = {"original_url": "https://example.com/bulk"}
    links = [{**body, "tags": ["a"]}, body, {**body, "tags": ["x", "b/c"]}, {**body, "tags": ["x"], "reuse": True}, {**body, "tags": 7}]
    for route in ("bulk", "sync"):
        answer = fresh.key.call("POST", f"/api/links/{route}", {"links": links})
        assert [result["status"] for result in answer.json["results"]] == [201, 403, 201, 403, 400]
        assert answer.json["results"][1]["problem"]["type"] == "/problems/key-limited"


def test_reuse_finds_only_links_that_the_key_sees(fresh):
    body = {"original_url": "https://example.com/out", "tags": ["a"], "reuse": True}
    created = fresh.key.call("POST", "/api/links", body)
    assert created.status == 201 and fresh.key.call("POST", "/api/links", body).status == 200
    body["original_url"] = "https://example.com/bare"
    results = fresh.key.call("POST", "/api/links/bulk", {"links": [body, body]}).json["results"]
    assert [result["status"] for result in results] == [201, 200]
    assert results[0]["link"]["id"] not in (fresh.links["bare"]["id"], fresh.links["out"]["id"])


def test_a_used_slug_says_nothing_of_a_link_that_the_key_does_not_see(fresh):
    slug = f"gone-{fresh.user.id}"
    body = {"original_url": "https://example.com/", "slug": slug, "tags": ["a"]}
    for problem in (fresh.key.call("POST", "/api/links", body).json, fresh.key.call("POST", "/api/links/bulk", {"links": [body]}).json["results"][0]["problem"]):
        assert problem["status"] == 409 and problem["errors"][0]["code"] == "slug-taken" and "deleted" not in problem["detail"]
    assert fresh.user.call("POST", "/api/links", body).json["errors"][0]["code"] == "slug-deleted", "the user sees it"


def test_a_claim_needs_one_of_the_tags(fresh):
    public = [Api(fresh.user.base).call("POST", "/api/links/public", {"original_url": "https://example.com/p", "tags": tags}).json for tags in (["a"], ["x"], ["x"])]
    claims = [{"slug": each["link"]["slug"], "claim_token": each["claim_token"]} for each in public]
    assert fresh.user.call("POST", "/api/links/sync", {"links": claims[2:]}).json["results"][0]["status"] == 200
    answer = fresh.key.call("POST", "/api/links/sync", {"links": claims})
    assert [result["status"] for result in answer.json["results"]] == [200, 403, 404], "the last one is the workspace's, without the tags"
    assert fresh.user.call("POST", "/api/links/sync", {"links": claims[1:2]}).json["results"][0]["status"] == 200, "nothing was claimed"


@pytest.mark.parametrize("path", ["/api/links", "/api/links/bulk"])
def test_a_repeat_shows_no_answer_that_the_key_could_not_get(fresh, path):
    link = {"original_url": "https://example.com/out", "tags": ["a"], "reuse": True}
    body = {"links": [link, {"original_url": "https://example.com/n", "tags": ["a"]}]} if path.endswith("bulk") else link
    headers = {"Idempotency-Key": f"k-{path}"}
    first = fresh.user.call("POST", path, body, headers)
    other = fresh.key.call("POST", path, body, headers)
    assert other.status in (200, 201) and "idempotency-replayed" not in other.headers
    shown = other.body.decode()
    assert f'"id":{fresh.links["out"]["id"]},' not in shown and first.status in (200, 201)
    assert fresh.key.call("POST", path, body, headers).headers.get("idempotency-replayed") == ("true" if other.status == 201 or path.endswith("bulk") else None)


# --- changes ---


@pytest.mark.parametrize("name,body", [
    ("in", {"tags": []}), ("in", {"tags": ["x"]}), ("in", {"remove_tags": ["a"]}), ("in two", {"remove_tags": ["a", "b/c"]}), ("in two", {"tags": ["x"], "title": "t"}),
    ("in", {"remove_tags": ["a"], "add_tags": ["x"]}),
])  # fmt: skip
def test_a_link_keeps_one_of_the_tags(world, name, body):
    assert kind_of(world.key.call("PATCH", world.path(name), body)) == (403, "key-limited")
    assert world.user.call("GET", world.path(name)).json["link"]["tags"] == world.links[name]["tags"]


@pytest.mark.parametrize("name,body", [
    ("in", {"title": "t"}), ("in two", {"remove_tags": ["a"]}), ("in two", {"tags": ["b/c"]}), ("in", {"remove_tags": ["a"], "add_tags": ["b/c"]}), ("in", {"add_tags": ["x"]}),
])  # fmt: skip
def test_a_link_that_keeps_one_of_the_tags_can_be_changed(fresh, name, body):
    assert fresh.key.call("PATCH", fresh.path(name), body).status == 200


@pytest.mark.parametrize("method,query,body,result", [
    ("PATCH", "filter=id:>0", {"state": "disabled"}, (2, 2)), ("PATCH", "filter=tag:x", {"state": "disabled"}, (1, 1)), ("PATCH", "filter=id:>0", {"tags": ["x"]}, (2, 0)),
    ("PATCH", "filter=id:>0", {"remove_tags": ["a"]}, (2, 1)), ("PATCH", "filter=id:>0", {"add_tags": ["y"]}, (2, 2)), ("DELETE", "filter=id:>0", None, (2, 2)),
    ("DELETE", "filter=tag:A", None, (0, 0)),
])  # fmt: skip
def test_a_filter_changes_only_links_that_the_key_sees(fresh, method, query, body, result):
    def others():
        return fresh.database.run(
            "SELECT * FROM links WHERE workspace_id = %s AND NOT tags && ARRAY['a', 'b/c'] ORDER BY id", fresh.user.id)  # fmt: skip

    before = others()
    answer = fresh.key.call(method, f"/api/links?{query}", body)
    assert answer.status == 200 and (answer.json["matched"], answer.json["changed"]) == result
    assert others() == before


def test_a_link_that_loses_the_tags_is_gone_for_the_key(fresh):
    assert fresh.user.call("PATCH", fresh.path("in"), {"tags": ["x"]}).status == 200
    assert fresh.key.call("GET", fresh.path("in")).status == 404
    assert fresh.of_list() == {"in two"}
    assert fresh.user.call("PATCH", fresh.path("out"), {"add_tags": ["a"]}).status == 200
    assert fresh.key.call("GET", fresh.path("out")).status == 200


# --- what is about all links ---


@pytest.mark.parametrize("method,path,body", [
    ("PATCH", "/api/tags/a", {"name": "z"}), ("PATCH", "/api/tags/x", {"color": "#123456"}), ("DELETE", "/api/tags/a", None), ("DELETE", "/api/tags/x", None),
])  # fmt: skip
def test_what_is_about_all_links_is_refused(world, method, path, body):
    answer = world.key.call(method, path, body, {"Accept": "*/*"})
    assert kind_of(answer) == (403, "key-limited") and "a, b/c" in answer.json["detail"]


def test_the_quota_is_what_the_key_may_still_create(world):
    assert world.key.call("GET", "/api/links/quota").status == 200


# --- shares ---


@pytest.mark.parametrize("name,status", [("in", 201), ("in two", 201), ("out", 400), ("bare", 400), ("gone in", 400), ("gone out", 400)])
def test_only_links_that_the_key_sees_are_shared(fresh, name, status):
    for password in ({}, {"password": "correct horse battery"}):
        assert fresh.key.call("POST", "/api/shares", {"link_id": fresh.links[name]["id"], **password}).status == status


@pytest.mark.parametrize("tag,status", [("a", 201), ("b/c", 201), ("x", 403), ("A", 403), ("b", 403)])
def test_only_the_tags_of_the_key_are_shared(world, tag, status):
    assert world.key.call("POST", "/api/shares", {"tag": tag}).status == status


def test_shares_beyond_the_tags_do_not_exist(fresh):
    shares = {}
    for name, body in (("in", {"link_id": fresh.links["in"]["id"]}), ("out", {"link_id": fresh.links["out"]["id"]}), ("a", {"tag": "a"}), ("x", {"tag": "x"})):
        shares[name] = fresh.user.call("POST", "/api/shares", body).json["share"]["id"]
    assert {share["id"] for share in fresh.key.call("GET", "/api/shares").json["shares"]} == {shares["in"], shares["a"]}
    assert [fresh.key.call("DELETE", f"/api/shares/{shares[name]}").status for name in ("in", "out", "a", "x")] == [204, 404, 204, 404]
    assert {share["id"] for share in fresh.user.call("GET", "/api/shares").json["shares"]} == {shares["out"], shares["x"]}


def test_new_tags_of_a_key_count_at_once(fresh):
    key_id = next(key["id"] for key in fresh.user.call("GET", "/api/keys").json["keys"])
    assert fresh.user.call("PATCH", f"/api/keys/{key_id}", {"tags": ["x"]}).json["key"]["tags"] == ["x"]
    assert fresh.of_list() == {"in two", "out"}
    assert fresh.user.call("PATCH", f"/api/keys/{key_id}", {"tags": []}).status == 200
    assert fresh.of_list() == {"in", "in two", "out", "bare"}
    many = [f"Straße {index:02d} " + "ß" * 40 for index in range(20)]
    assert fresh.user.call("PATCH", f"/api/keys/{key_id}", {"tags": many}).json["key"]["tags"] == many
    answer = fresh.key.call("POST", "/api/links", {"original_url": "https://example.com/"})
    assert kind_of(answer) == (403, "key-limited") and json.loads(answer.body)["detail"].endswith("….")
