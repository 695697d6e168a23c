"""Links: created, read, changed, deleted, restored and listed, by their owners only."""

import concurrent.futures
import datetime
import hashlib
import secrets

import psycopg2
import pytest
from clients import Api, ask
from service import BASE
from waiting import wait_until

# A slow Redis invalidates the cache. These tests need it to respond even on a busy machine.
VARIABLES = {"REDIS_TIMEOUT_MS": 5000}
FIELDS = [
    "id", "workspace_id", "created_by", "slug", "short_url", "aliases", "external_id", "original_url", "destination_host_display", "destination_blocked", "blocked_reason", "link_type", "state",
    "redirect_status", "starts_at", "expires_at", "expired_url",
    "title", "tags", "notes", "utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content", "rules", "split", "forward_query", "forward_path",
    "max_visits", "has_password", "preview", "effective_redirect_status", "visits_left", "version", "humans", "bots", "total", "last_visited_at", "destination_status", "last_checked_at",
    "created_at", "updated_at", "deleted_at", "purge_at",
]  # fmt: skip


def in_seconds(seconds):
    moment = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=seconds)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def unique_slug(prefix="s"):
    return f"{prefix}-{secrets.token_hex(6)}"


def test_a_new_link_is_returned_with_all_fields(ann):
    answer = ann.call("POST", "/api/links", {"original_url": "HTTPS://Example.com/%7euser/../a"})
    assert answer.status == 201
    assert list(answer.json) == ["link"]
    link = answer.json["link"]
    assert list(link) == FIELDS
    assert answer.headers["location"] == f"/api/links/{link['id']}"
    assert answer.headers["etag"] == '"v1"'
    assert len(link["slug"]) == 7 and link["slug"].isalnum()
    assert link["short_url"] == f"{BASE}/{link['slug']}"
    assert link["original_url"] == "https://example.com/a"
    assert (link["link_type"], link["state"], link["redirect_status"]) == ("permanent", "active", 302)
    assert (link["expires_at"], link["expired_url"], link["title"], link["tags"]) == (None, None, "", [])
    assert (link["notes"], link["version"], link["humans"], link["bots"]) == ("", 1, 0, 0)

    again = ann.call("GET", f"/api/links/{link['id']}")
    assert (again.status, again.json, again.headers["etag"]) == (200, answer.json, '"v1"')
    assert ann.call("GET", f"/api/urls/{link['id']}").json == answer.json
    head = ann.call("HEAD", f"/api/links/{link['id']}")
    assert (head.status, head.body, head.headers["etag"]) == (200, b"", '"v1"')
    known = ann.call("GET", f"/api/links/{link['id']}", headers={"If-None-Match": '"v1"'})
    assert known.status == 200, "its counts may have changed without the version"


def test_requested_values_are_stored(ann):
    body = {
        "original_url": "http://0x7f.1/", "slug": unique_slug("Wish_1"), "redirect_status": 308,
        "expires_at": in_seconds(3600), "expired_url": "https://münchen.example/", "title": "Ünï <b>", "tags": ["a", "b c"],
        "notes": "first line\n\tsecond line, ü",
    }  # fmt: skip
    link = ann.create(**body)
    body |= {"original_url": "http://127.0.0.1/", "expired_url": "https://xn--mnchen-3ya.example/"}
    assert {name: link[name] for name in body} == body


def test_the_destination_status_is_shown_and_changes_no_version(new_user, database):
    ann = new_user()
    link = ann.create(original_url="https://example.com/old")
    path = f"/api/links/{link['id']}"
    listed = ann.call("GET", "/api/links").json["links"]
    assert (listed[0]["destination_status"], listed[0]["last_checked_at"]) == (None, None)
    checked = "UPDATE links SET destination_status = %s, last_checked_at = '2026-11-20T08:00:00.123Z' WHERE id = %s"
    for status in (404, 0):
        database.run(checked, status, link["id"])
        answer = ann.call("GET", path)
        assert answer.headers["etag"] == '"v1"'
        assert answer.json["link"] == link | {"destination_status": status, "last_checked_at": "2026-11-20T08:00:00.123Z"}
        # Lists show it, too.
        assert ann.call("GET", "/api/links").json["links"] == [answer.json["link"]]
    changed = ann.call("PATCH", path, {"title": "new"}).json["link"]
    assert (changed["destination_status"], changed["version"]) == (0, 2)
    changed = ann.call("PATCH", path, {"original_url": "https://example.com/new"}).json["link"]
    assert (changed["destination_status"], changed["last_checked_at"]) == (None, None)


# --- slugs ---


def test_a_slug_is_never_reused(ann, bob, database, expect):
    slug = unique_slug()
    body = {"original_url": "https://example.com/", "slug": slug}
    link = ann.create(slug=slug)
    expect(bob.call("POST", "/api/links", body), 409, "/slug")
    ann.call("DELETE", f"/api/links/{link['id']}")
    expect(ann.call("POST", "/api/links", body), 409, "/slug")
    database.run("INSERT INTO link_tombstones SELECT slug, id, state, version FROM links WHERE slug = %s", slug)
    database.run("DELETE FROM links WHERE slug = %s", slug)
    expect(ann.call("POST", "/api/links", body), 409, "/slug")
    expect(ann.call("POST", "/api/links", body | {"slug": slug.upper()}), 409, "/slug")


def test_the_slug_of_ones_own_deleted_link_names_the_restore(ann, bob, expect):
    link = ann.create(slug=unique_slug("gone"))
    body = {"original_url": "https://example.com/", "slug": link["slug"]}
    path = f"/api/links/{link['id']}"

    def code(api, answer=None):
        answer = answer or api.call("POST", "/api/links", body)
        problem = expect(answer, 409, "/slug")
        assert problem["type"].endswith("/slug-taken")
        assert (path in problem["detail"]) == (problem["errors"][0]["code"] == "slug-deleted")
        return problem["errors"][0]["code"]

    assert code(ann) == "slug-taken", "it is not deleted"
    ann.call("PATCH", path, {"state": "disabled"})
    assert code(ann) == "slug-taken", "nor is it when it is disabled"
    ann.call("DELETE", path)
    assert code(ann) == "slug-deleted"
    assert code(ann, ann.call("POST", "/api/links", {**body, "reuse": True})) == "slug-deleted"
    assert code(bob) == "slug-taken", "others learn nothing of it"
    assert code(Api(ann.base), Api(ann.base).call("POST", "/api/links/public", body)) == "slug-taken"
    for endpoint in ("bulk", "sync"):
        other = ann.create(slug=unique_slug("kept"))
        results = ann.call("POST", f"/api/links/{endpoint}", {"links": [{**body, "slug": other["slug"]}, body, {"original_url": body["original_url"]}, body]}).json["results"]
        assert [result["status"] for result in results] == [409, 409, 201, 409]
        assert [result["problem"]["errors"][0]["code"] for result in results if "problem" in result] == ["slug-taken", "slug-deleted", "slug-deleted"]
        assert path in results[1]["problem"]["detail"]
    assert ann.call("POST", f"{path}/restore").status == 200
    assert code(ann) == "slug-taken"
    ann.call("DELETE", f"{path}?hard=true")
    assert code(ann) == "slug-taken", "a purged link cannot be restored"


def test_every_way_to_a_deleted_slug_names_the_restore(ann, expect):
    link, other = ann.create(slug=unique_slug("Gone")), ann.create(slug=unique_slug("other"))
    alias, slug = link["slug"], unique_slug("Renamed")
    assert ann.call("PATCH", f"/api/links/{link['id']}", {"slug": slug}).status == 200
    ann.call("DELETE", f"/api/links/{link['id']}")
    new = {"original_url": "https://example.com/"}
    for name in (slug, slug.upper(), slug.lower(), alias, alias.upper()):
        for answer in (
            ann.call("POST", "/api/links", {**new, "slug": name}),
            ann.call("PATCH", f"/api/links/{other['id']}", {"slug": name}),
            ann.call("PUT", f"/api/links/by-external-id/{unique_slug('x')}", {**new, "slug": name}),
        ):
            problem = expect(answer, 409, "/slug")
            assert problem["errors"][0]["code"] == "slug-deleted", (name, problem)
            assert f"/api/links/{link['id']}" in problem["detail"], name
        assert ann.call("GET", f"/api/slugs/{name}").json["link_id"] == link["id"], name


def test_a_deleted_link_with_an_external_id_is_named_by_its_number(ann, bob, expect):
    external_id = unique_slug("order")
    link = ann.create(external_id=external_id)
    new = {"original_url": "https://example.com/", "external_id": external_id}
    ann.call("DELETE", f"/api/links/{link['id']}")
    restore = f"POST /api/links/{link['id']}/restore"
    for answer in (ann.call("POST", "/api/links", new), ann.call("POST", "/api/links/bulk", {"links": [new]})):
        problem = expect(answer, 409, "/external_id") if answer.status == 409 else answer.json["results"][0]["problem"]
        assert problem["errors"][0]["code"] == "external-id-deleted" and restore in problem["detail"], problem
    path = f"/api/links/by-external-id/{external_id}"
    for answer in (ann.call("GET", path), ann.call("PUT", path, {"original_url": new["original_url"]}), ann.call("GET", f"/api/links/by-slug/{link['slug']}"), ann.call("GET", f"/api/links/{link['id']}")):
        assert answer.status == 404 and restore in answer.json["detail"], answer.json
    assert bob.call("POST", "/api/links", new).status == 201


def test_exactly_one_of_many_concurrent_requests_gets_a_slug(ann, bob, database):
    for _ in range(5):
        body = {"original_url": "https://example.com/", "slug": unique_slug("race")}
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda i: (ann, bob)[i % 2].call("POST", "/api/links", body), range(16)))
        winners = [answer for answer in answers if answer.status == 201]
        assert len(winners) == 1 and {answer.status for answer in answers} == {201, 409}
        assert database.value("SELECT count(*) FROM links WHERE slug = %s", body["slug"]) == 1
        assert database.value("SELECT id FROM links WHERE slug = %s", body["slug"]) == winners[0].json["link"]["id"]


# --- owners ---


def test_only_the_owner_learns_that_a_link_is_deleted(ann, bob):
    path = f"/api/links/{ann.create()['id']}"
    assert ann.call("DELETE", path).status == 204
    for method, body in (("GET", None), ("PATCH", {"title": "new"}), ("DELETE", None)):
        answer = ann.call(method, path, body)
        assert answer.status == 404 and "/restore restores it" in answer.json["detail"], method
        assert bob.call(method, path, body).json["detail"] == "Resource not found.", method
    parts = ("/history", "/stats", "/stats/timeseries", "/stats/country", "/visits", "/visits?format=csv", "/qr?format=svg")
    for part in parts:
        answer = ann.call("GET", path + part)
        assert answer.status == 404 and "/restore restores it" in answer.json["detail"], part
        assert bob.call("GET", path + part).json["detail"] == "Resource not found.", part
    assert ann.call("DELETE", f"{path}?hard=true").status == 204
    assert {ann.call("GET", path + part).json["detail"] for part in ("", *parts)} == {"Resource not found."}


# --- changes ---


def patch(api, link, changes, **headers):
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    return api.call("PATCH", f"/api/links/{link['id']}", changes, headers)


def codes(answer):
    return {error["pointer"]: error["code"] for error in answer.json["errors"]}


def test_codes_say_what_is_wrong_with_a_field(ann):
    wrong = {"original_url": "ftp://example.com", "slug": "a b", "title": "x" * 201, "tags": ["a", "a"], "redirect_status": 300, "expires_at": "2020-01-01T00:00:00Z", "colour": 1}
    assert codes(ann.call("POST", "/api/links", wrong)) == {
        "/original_url": "url-scheme", "/slug": "slug", "/title": "too-long", "/tags/1": "duplicate", "/redirect_status": "choice", "/expires_at": "past", "/colour": "unknown",
    }  # fmt: skip
    assert codes(ann.call("POST", "/api/links", {"title": 5, "expires_at": "soon"})) == {"/original_url": "required", "/title": "type", "/expires_at": "time"}
    assert codes(ann.call("GET", "/api/links?limit=0&filter=colour:red")) == {"/limit": "number", "/filter": "filter"}
    for tags, code in (("a", "type"), ({}, "type"), (["a"] * 21, "too-many")):
        assert codes(ann.call("POST", "/api/links", {"original_url": "https://example.com", "tags": tags})) == {"/tags": code}
    assert codes(ann.call("GET", f"/api/links/{ann.create()['id']}/history?cursor=x")) == {"/cursor": "cursor"}
    assert codes(ann.call("POST", "/api/shares", {"link_id": 1, "tag": "x"})) == {"/link_id": "exclusive"}
    assert codes(ann.call("POST", "/api/shares", {})) == {"/link_id": "required"}


def test_codes_of_conflicts_are_their_kinds_or_narrower(ann, database):
    link = ann.create()
    assert codes(ann.call("POST", "/api/links", {"original_url": "https://example.com", "slug": link["slug"]})) == {"/slug": "slug-taken"}
    bulk = ann.call("POST", "/api/links/bulk", {"links": [{"original_url": "https://example.com", "slug": link["slug"]}]})
    assert bulk.json["results"][0]["problem"]["errors"][0]["code"] == "slug-taken"
    database.run("UPDATE links SET state = 'EXPIRED', expires_at = now() - interval '1 minute' WHERE id = %s", link["id"])
    assert codes(ann.call("PATCH", f"/api/links/{link['id']}", {"state": "active"})) == {"/state": "expired"}


def test_a_change_increments_the_version_and_keeps_other_fields(ann):
    link = ann.create(title="old", tags=["a"], expires_at=in_seconds(3600))
    answer = patch(ann, link, {"title": "new", "redirect_status": 301})
    assert (answer.status, answer.headers["etag"]) == (200, '"v2"')
    changed = answer.json["link"]
    assert changed["updated_at"] > link["updated_at"]
    assert {**changed, "updated_at": 0} == {**link, "title": "new", "redirect_status": 301, "effective_redirect_status": 301, "version": 2, "updated_at": 0}


def test_if_match_accepts_one_of_many_concurrent_changes(ann, expect):
    link = ann.create()
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda i: patch(ann, link, {"title": f"t{i}"}, If_Match='"v1"'), range(8)))
    assert sorted(answer.status for answer in answers) == [200] + [412] * 7
    for answer in answers:
        if answer.status == 412:
            expect(answer, 412)
            assert answer.headers["etag"] == '"v2"'
    for tag in ('W/"v2"', '"v1"', '"nonsense"'):
        assert patch(ann, link, {"title": "x"}, If_Match=tag).status == 412, tag
    assert "without W/" in patch(ann, link, {"title": "x"}, If_Match='W/"v2"').json["detail"]
    for tag in ("v2", '"v2', ""):
        expect(patch(ann, link, {"title": "x"}, If_Match=tag), 400, "/If-Match")
        expect(ann.call("DELETE", f"/api/links/{link['id']}", headers={"If-Match": tag}), 400, "/If-Match")
        expect(ann.call("POST", f"/api/links/{link['id']}/restore", headers={"If-Match": tag}), 400, "/If-Match")
    assert ann.call("DELETE", f"/api/links/{link['id']}", headers={"If-Match": '"v1"'}).status == 412
    assert patch(ann, link, {"title": "x"}, If_Match='"v7", "v2"').status == 200
    assert patch(ann, link, {"title": "y"}, If_Match="*").status == 200


def test_a_refused_restore_shows_the_version_to_retry_with(ann, expect):
    path = f"/api/links/{ann.create()['id']}"
    assert ann.call("DELETE", path).status == 204
    refused = ann.call("POST", path + "/restore", headers={"If-Match": '"v9"'})
    expect(refused, 412)
    assert ann.call("POST", path + "/restore", headers={"If-Match": refused.headers["etag"]}).status == 200


def test_deleting_can_be_undone_until_the_purge(ann, database, expect):
    link = ann.create(title="kept")
    path = f"/api/links/{link['id']}"
    deleted = ann.call("DELETE", path)
    assert (deleted.status, deleted.body) == (204, b"")
    for answer in (ann.call("GET", path), ann.call("DELETE", path), patch(ann, link, {}), ann.call("GET", f"{path}/stats")):
        expect(answer, 404)
    listed = ann.call("GET", "/api/links?state=deleted").json["links"][0]
    assert listed["id"] == link["id"] and listed["created_at"] <= listed["deleted_at"] < in_seconds(60)
    restored = ann.call("POST", f"{path}/restore")
    assert restored.status == 200 and restored.json["link"]["deleted_at"] is None
    assert (restored.json["link"]["state"], restored.json["link"]["title"]) == ("active", "kept")
    assert restored.headers["etag"] == '"v3"'
    expect(ann.call("POST", f"{path}/restore"), 409, "")
    ann.call("DELETE", path)
    database.run("DELETE FROM links WHERE id = %s", link["id"])
    expect(ann.call("POST", f"{path}/restore"), 404)


def test_a_restored_link_keeps_its_state_and_counts(ann, database):
    link = ann.create()
    path = f"/api/links/{link['id']}"
    assert patch(ann, link, {"state": "disabled"}).json["link"]["state"] == "disabled"
    database.run("INSERT INTO link_statistics (link_id, visit_count, bot_count) VALUES (%s, 7, 2)", link["id"])
    assert ann.call("DELETE", path).status == 204
    restored = ann.call("POST", f"{path}/restore").json["link"]
    assert (restored["state"], restored["humans"], restored["bots"]) == ("disabled", 7, 2)
    assert ann.call("GET", path).json["link"] == restored
    stats = ann.call("GET", f"{path}/stats").json
    assert (stats["humans"], stats["bots"]) == (7, 2)


def test_each_change_is_in_redis_before_the_response(ann, database, service):
    cache = database.redis.client
    valid = "waymark_link_cache_valid 1"
    links = []

    def is_one_cached():
        """A new link is cached only while the cache is valid; on a busy machine it may not be."""
        wait_until(lambda: valid in ask(service.ops_url, "GET", "/metrics").body.decode(), "the cache to be valid")
        links.append(ann.create())
        return cache.exists(f"link:{links[-1]['slug'].lower()}")

    wait_until(is_one_cached, "a new link to be cached")
    link = links[-1]
    key = f"link:{link['slug'].lower()}"
    values = [cache.dump(key)]
    patch(ann, link, {"original_url": "https://example.com/other"})
    values.append(cache.dump(key))
    ann.call("DELETE", f"/api/links/{link['id']}")
    values.append(cache.dump(key))
    assert None not in values and len(set(values)) == 3
    assert cache.ttl(key) > 20 * 3600


# --- lists ---


# --- anonymous links ---


def test_an_anonymous_link_lives_eight_hours_and_has_a_claim_token(anonymous, database, expect):
    answer = anonymous.call("POST", "/api/links/public", {"original_url": "https://example.com/", "title": "t"})
    assert answer.status == 201
    assert set(answer.json) == {"link", "claim_token"}
    link = answer.json["link"]
    assert "location" not in answer.headers
    assert (link["link_type"], link["title"]) == ("temporary", "t")
    lifetime = datetime.datetime.fromisoformat(link["expires_at"][:-1]) - datetime.datetime.fromisoformat(link["created_at"][:-1])
    assert abs(lifetime - datetime.timedelta(hours=8)) < datetime.timedelta(seconds=5)
    stored = database.value("SELECT claim_token_hash FROM links WHERE id = %s", link["id"])
    assert bytes(stored) == hashlib.sha256(answer.json["claim_token"].encode()).digest()
    body = {"original_url": "https://example.com/", "expires_at": in_seconds(60)}
    expect(anonymous.call("POST", "/api/links/public", body), 400, "/expires_at")


def test_an_anonymous_link_has_no_owner(ann, anonymous):
    ann_link = ann.call("POST", "/api/links/public", {"original_url": "https://example.com/"}).json["link"]
    assert ann_link["link_type"] == "temporary", "even if an access token is sent"
    assert ann.call("GET", f"/api/links/{ann_link['id']}").status == 404


# --- statistics ---


def test_statistics_show_the_stored_counts(ann, bob, database):
    link = ann.create()
    path = f"/api/links/{link['id']}/stats"
    empty = ann.call("GET", path).json
    assert empty == {
        "link_id": link["id"], "humans": 0, "bots": 0, "total": 0, "unique_visitors": 0, "last_visited_at": None,
        "latency": {"count": 0, "mean_ms": 0.0, "stddev_ms": 0.0}, "as_of": empty["as_of"], "lag_ms": empty["lag_ms"],
    }  # fmt: skip
    before = ann.call("GET", "/api/stats").json
    for id_ in (link["id"], 0):
        database.run(
            """INSERT INTO link_statistics (link_id, visit_count, bot_count, unique_visitors, last_visited_at,
                   latency_count, latency_mean_ms, latency_m2)
               VALUES (%s, 5, 2, 3, '2026-11-20T08:00:00.123Z', 7, 1.5, 6)""",
            id_,
        )
    database.run(
        """INSERT INTO consumer_offsets (topic, partition, next_offset, as_of)
           VALUES ('waymark.redirects.v1', 0, 7, clock_timestamp() - interval '2 s')"""
    )
    stats = ann.call("GET", path).json
    assert (stats["humans"], stats["bots"], stats["unique_visitors"]) == (5, 2, 3)
    assert stats["last_visited_at"] == "2026-11-20T08:00:00.123Z"
    assert stats["latency"] == {"count": 7, "mean_ms": 1.5, "stddev_ms": 1.0}
    assert stats["as_of"] and stats["lag_ms"] >= 0

    shown = ann.call("GET", f"/api/links/{link['id']}").json["link"]
    assert (shown["humans"], shown["bots"], shown["last_visited_at"]) == (5, 2, "2026-11-20T08:00:00.123Z")
    assert ann.call("GET", "/api/links?limit=1").json["links"] == [shown]

    after = Api(bob.base).call("GET", "/api/stats").json
    assert after == {
        "total_links": before["total_links"], "humans": 5, "bots": 2, "total": 7, "avg_latency_ms": 1.5, "as_of": stats["as_of"], "lag_ms": after["lag_ms"],
    }  # fmt: skip


def test_a_wrong_path_differs_from_a_missing_link(ann, bob, expect):
    def detail(path, api=ann):
        return expect(api.call("GET", path), 404)["detail"]

    link = ann.create()
    for path in ("/api/link", "/api/links/1/2/3", "/nothing"):
        assert detail(path).startswith("No endpoint has this path."), path
    assert "do not end with /" in detail("/api/links/")
    assert "/by-slug/" in detail("/api/links/my-slug")
    assert detail("/api/links/99999999999999999999") == detail("/api/links/my-slug/stats")
    assert "country" in detail(f"/api/links/{link['id']}/stats/countries")
    assert detail(f"/api/links/{link['id']}", bob) == detail("/api/links/999999999") == "Resource not found."


@pytest.mark.parametrize("spelling", ["0{}", "00{}", "+{}", "{}.0", "%3{}", "0x{}", "-{}", "{}%20"])
def test_an_id_has_a_single_spelling(ann, expect, spelling):
    link = ann.create()
    variant = spelling.format(link["id"])
    for method, path, body in (("GET", "", None), ("PATCH", "", {"title": "x"}), ("GET", "/stats", None), ("DELETE", "", None)):
        expect(ann.call(method, f"/api/links/{variant}{path}", body), 404)
    assert ann.call("GET", f"/api/links/{link['id']}").json["link"]["version"] == 1


def test_platform_statistics_do_not_read_the_links_table(ann, database):
    """The endpoint is public and not limited, so it must be cheap."""
    total = ann.call("GET", "/api/stats").json["total_links"]
    holder = psycopg2.connect(database.url())
    try:
        holder.cursor().execute("LOCK TABLE links IN ACCESS EXCLUSIVE MODE")
        answer = Api(ann.base).call("GET", "/api/stats")
    finally:
        holder.close()
    assert answer.status == 200 and answer.json["total_links"] == total


def test_platform_statistics_stay_exact_through_all_changes(ann, database):
    anonymous = ann.call("POST", "/api/links/public", {"original_url": "https://example.com/"}).json
    many = ann.call("POST", "/api/links/bulk", {"links": [{"original_url": "https://example.com/"}] * 5}).json["results"]
    path = f"/api/links/{many[0]['link']['id']}"
    claim = {"links": [{"slug": anonymous["link"]["slug"], "claim_token": anonymous["claim_token"]}]}
    for step in (
        lambda: ann.call("POST", "/api/links/sync", claim), lambda: ann.call("DELETE", path), lambda: ann.call("POST", f"{path}/restore"),
        lambda: ann.call("DELETE", f"{path}?hard=true"), lambda: ann.call("DELETE", f"/api/links/{many[1]['link']['id']}"),
        lambda: ann.call("DELETE", f"/api/links/{many[1]['link']['id']}?hard=true"),
    ):  # fmt: skip
        assert step().status in (200, 204)
        links = database.value("SELECT count(*) FROM links WHERE state <> 'DELETED'")
        assert ann.call("GET", "/api/stats").json["total_links"] == links
    assert database.value("SELECT sum(links) FROM link_counts WHERE workspace_id >= 0") == links
