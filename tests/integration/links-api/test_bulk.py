"""Many links in one request: created, claimed or reused, each with its own status."""

import contextlib
import json
import secrets
import socket
import urllib.parse

import pytest
from clients import Api
from users import User, invent_secret
from service import is_active
from waiting import wait_until

URL = "https://example.com/"
# A slow Redis invalidates the cache. These tests need it to respond even on a busy machine.
VARIABLES = {"REDIS_TIMEOUT_MS": 5000}


def unique(prefix="bulk"):
    return f"{prefix}-{secrets.token_hex(6)}"


def statuses(answer):
    assert answer.status == 200, answer
    return [result["status"] for result in answer.json["results"]]


def bulk(api, *links, headers=None):
    return api.call("POST", "/api/links/bulk", {"links": list(links)}, headers)


def sync(api, *links):
    return api.call("POST", "/api/links/sync", {"links": list(links)})


def make_anonymous(service, **fields):
    answer = Api(service.url).call("POST", "/api/links/public", {"original_url": URL, **fields})
    assert answer.status == 201, answer
    return {"slug": answer.json["link"]["slug"], "claim_token": answer.json["claim_token"]}


@contextlib.contextmanager
def blocked_relay(service, database):
    database.run("UPDATE shedlock SET lock_until = clock_timestamp() + interval '1 hour', fence = fence + 1")
    try:
        wait_until(lambda: not is_active(service), "the relay to stop")
        yield
    finally:
        database.run("UPDATE shedlock SET lock_until = clock_timestamp()")


# --- bulk ---


def test_each_item_has_a_status_in_request_order(ann):
    taken, chosen = ann.create(slug=unique())["slug"], unique()
    answer = bulk(
        ann,
        {"original_url": URL, "slug": chosen, "title": "a", "tags": ["x"], "redirect_status": 301},
        {"original_url": URL, "slug": taken},
        {"original_url": "nonsense", "slug": "no slug"},
        {"original_url": URL},
        {"original_url": URL, "slug": chosen},
        7,
    )
    assert statuses(answer) == [201, 409, 400, 201, 409, 400]
    results = answer.json["results"]
    link = results[0]["link"]
    assert (link["slug"], link["title"], link["tags"], link["redirect_status"], link["version"]) == (chosen, "a", ["x"], 301, 1)
    assert ann.call("GET", f"/api/links/{link['id']}").json["link"] == link
    problem = results[1]["problem"]
    assert problem["status"] == 409 and problem["type"].endswith("/slug-taken") and problem["instance"] == answer.headers["x-request-id"]
    assert [error["pointer"] for error in problem["errors"]] == ["/slug"]
    assert {error["pointer"] for error in results[2]["problem"]["errors"]} == {"/original_url", "/slug"}


def test_a_thousand_links_of_two_megabytes_are_one_request(ann, database):
    links = [{"original_url": URL + "x" * 1900, "title": unique("m")} for _ in range(1000)]
    answer = bulk(ann, *links)
    assert statuses(answer) == [201] * 1000
    slugs = [result["link"]["slug"] for result in answer.json["results"]]
    assert len(set(slugs)) == 1000 and [r["link"]["title"] for r in answer.json["results"]] == [link["title"] for link in links]
    assert database.value("SELECT count(*) FROM links WHERE slug = ANY (%s)", slugs) == 1000
    entries = "SELECT action, subject_type, details FROM audit_log WHERE request_id = %s"
    assert database.run(entries, answer.headers["x-request-id"]) == [
        ("link.create", "workspace", {"links": 1000, "link_ids": [result["link"]["id"] for result in answer.json["results"]][:100]})
    ]


@pytest.mark.parametrize(
    "body,pointer",
    [
        ({}, "/links"),
        ({"links": []}, "/links"),
        ({"links": {}}, "/links"),
        ({"links": [{"original_url": URL}] * 1001}, "/links"),
        ({"links": [{"original_url": URL}], "more": 1}, "/more"),
    ],
)
def test_an_invalid_list_is_refused_as_a_whole(ann, expect, body, pointer):
    expect(ann.call("POST", "/api/links/bulk", body), 400, pointer)


def test_only_bulk_endpoints_accept_large_bodies(ann, anonymous):
    large = json.dumps({"links": [{"original_url": URL}], "x": "y" * (2 << 20)})
    assert ann.call("POST", "/api/links/bulk", large).status == 413
    answer = ann.call("POST", "/api/links", json.dumps({"original_url": URL, "x": "y" * (32 << 10)}))
    assert (answer.status, answer.json["detail"]) == (413, "The request's body is too large. It may have at most 32768 bytes.")
    fits = json.dumps({"links": [{"original_url": URL}]}) + " " * (2 << 20 - 1)
    assert ann.call("POST", "/api/links/bulk", fits[: 2 << 20]).status == 200
    assert anonymous.call("POST", "/api/links/bulk", {"links": [{"original_url": URL}]}).status == 401


def send_partial_body(service, authorization, length, sent):
    """A connection with an incomplete request: length bytes of body are announced, sent of them are sent."""
    url = urllib.parse.urlsplit(service.url)
    connection = socket.create_connection((url.hostname, url.port), timeout=300)
    head = [
        "POST /api/links/bulk HTTP/1.1", "Host: wm", "Content-Type: application/json",
        f"Content-Length: {length}" if length else "Transfer-Encoding: chunked", *authorization,
    ]  # fmt: skip
    connection.sendall("\r\n".join([*head, "", ""]).encode())
    if not length:
        connection.sendall(f"{sent + 1:x}\r\n".encode())
    with contextlib.suppress(ConnectionError):
        connection.sendall(b" " * sent)
    return connection


def status_line(connection):
    return connection.makefile("rb").readline().decode()


def test_a_large_body_needs_credentials(service, database):
    """The request is refused as soon as more than 32 KiB are announced or received."""
    user = User(service, database)
    login = [f"Authorization: Bearer {user.token}"]
    for headers in ([], ["Authorization: Bearer x"], ["X-Api-Key: wm_x"], [*login, *login]):
        for length, sent in ((1 << 20, 0), (None, 40 << 10)):
            with send_partial_body(service, headers, length, sent) as connection:
                assert status_line(connection) == "HTTP/1.1 401 Unauthorized\r\n", (headers, length)
    with send_partial_body(service, [], 3 << 20, 0) as connection:
        assert status_line(connection) == "HTTP/1.1 401 Unauthorized\r\n"
    with send_partial_body(service, login, 3 << 20, 0) as connection:
        assert status_line(connection) == "HTTP/1.1 413 Content Too Large\r\n"


def test_large_bodies_share_a_fixed_memory_budget(spawn, database):
    service = spawn(HTTP_BODIES_MAX_BYTES=4 << 20)
    user = User(service, database)
    login = [f"Authorization: Bearer {user.token}"]
    large = json.dumps({"links": [{"original_url": URL}]}).ljust(100 << 10)

    def answer():
        return user.call("POST", "/api/links/bulk", large)

    assert answer().status == 200
    incomplete = []

    def is_full():
        """Returns the 503 response if there is one; otherwise leaves one more body incomplete by a byte."""
        last = answer()
        if last.status == 503:
            return last
        incomplete.append(send_partial_body(service, login, len(large), len(large) - 1))

    busy = wait_until(is_full, "the memory to be full")
    assert 4 <= len(incomplete) <= 60, "about as many as fit, and no more"
    assert busy.headers["retry-after"] == "1" and busy.headers["content-type"] == "application/problem+json"
    assert user.call("POST", "/api/links", {"original_url": URL}).status == 201, "small bodies do not use the budget"
    assert User(service, database).call("POST", "/api/links/bulk", large).status == 200, "an account has a quarter of the budget"
    for connection in incomplete:
        connection.close()
    wait_until(lambda: answer().status == 200, "the memory to be free again")


def test_invented_keys_take_no_memory(spawn, database):
    """The key is looked up before its body is read."""
    service, length = spawn(HTTP_BODIES_MAX_BYTES=4 << 20), 100 << 10
    user = User(service, database)
    invented = [
        send_partial_body(service, [f"X-Api-Key: {invent_secret('wm_')}"], length, sent)
        for sent in [0, *[length - 1] * 40]
    ]
    large = json.dumps({"links": [{"original_url": URL}]}).ljust(length)
    assert [user.call("POST", "/api/links/bulk", large).status for _ in range(5)] == [200] * 5
    for connection in invented:
        with connection:
            assert status_line(connection) == "HTTP/1.1 401 Unauthorized\r\n"


def test_items_are_counted_before_they_take_memory(ann, expect):
    many = '{"links":[' + ",".join(["{}"] * 600_000) + "]}"
    problem = expect(ann.call("POST", "/api/links/bulk", many), 400)
    assert problem["type"] == "/problems/json" and "more than 32768 values" in problem["detail"]
    full = {"original_url": URL, "redirect_status": 302, "expires_at": None, "expired_url": None, "title": None, "reuse": False}
    links = [{**full, "slug": unique(), "tags": [f"{n}" for n in range(20)]} for _ in range(1000)]
    assert statuses(bulk(ann, *links)) == [201] * 1000, "an honest bulk has fewer"


def test_redirectors_see_each_link_without_a_relay(ann, service, database):
    slugs = [unique() for _ in range(3)]
    with blocked_relay(service, database):
        generation = database.redis.announced_generation()[0]
        for slug in slugs:
            database.redis.client.set(f"link:{slug.lower()}", f"? {generation}")
        assert statuses(bulk(ann, *({"original_url": URL, "slug": slug} for slug in slugs))) == [201] * 3
        assert [database.redis.valid_entry(slug) for slug in slugs].count("?") == 0


# --- reuse ---


def test_reuse_returns_the_callers_own_active_link(ann, bob, expect):
    url = f"https://example.com/{unique()}"
    body = {"original_url": url, "reuse": True}
    made = ann.call("POST", "/api/links", body)
    assert made.status == 201
    found = ann.call("POST", "/api/links", {**body, "original_url": url.replace("https://example", "HTTPS://EXAMPLE")})
    assert found.status == 200 and found.json == made.json and found.headers["etag"] == made.headers["etag"]
    assert bob.call("POST", "/api/links", body).status == 201, "links of others are not reused"
    assert ann.call("POST", "/api/links", {"original_url": url}).status == 201, "only on request"
    assert ann.call("POST", "/api/links", {**body, "slug": unique()}).status == 201, "another slug is another link"
    expect(ann.call("POST", "/api/links", {**body, "reuse": 1}), 400, "/reuse")
    expect(ann.call("POST", "/api/links/public", body), 400, "/reuse")


def test_reuse_ignores_disabled_expired_and_deleted_links(ann, database):
    body = {"original_url": f"https://example.com/{unique()}", "reuse": True}
    expired = ann.create(**{**body, "reuse": False})
    database.run("UPDATE links SET expires_at = clock_timestamp() WHERE id = %s", expired["id"])
    for end in (("PATCH", {"state": "disabled"}), ("DELETE", None)):
        link = ann.call("POST", "/api/links", body)
        assert link.status == 201
        assert ann.call(end[0], f"/api/links/{link.json['link']['id']}", end[1]).status in (200, 204)
    assert ann.call("POST", "/api/links", body).status == 201


def test_reuse_in_a_bulk_finds_links_of_the_same_bulk(ann):
    body = {"original_url": f"https://example.com/{unique()}", "reuse": True}
    answer = bulk(ann, body, body, {**body, "reuse": False}, body)
    assert statuses(answer) == [201, 200, 201, 200]
    ids = [result["link"]["id"] for result in answer.json["results"]]
    assert ids[1] in (ids[0], ids[2]) and ids[3] in (ids[0], ids[2])


@pytest.fixture(scope="module")
def insert_count(database):
    """insert_count(): how many INSERT statements have created links so far."""
    database.run("CREATE SEQUENCE made_links MINVALUE 0")
    database.run(
        "CREATE FUNCTION count_made_links() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS"
        " $$ BEGIN PERFORM nextval('made_links'); RETURN NULL; END $$"
    )
    database.run("CREATE TRIGGER count_made_links AFTER INSERT ON links FOR EACH STATEMENT EXECUTE FUNCTION count_made_links()")
    yield lambda: database.value("SELECT last_value FROM made_links")
    database.run("DROP TRIGGER count_made_links ON links")


def test_a_thousand_equal_items_need_few_statements(ann, insert_count):
    """Each item gets the result it would get alone, without one statement per item."""
    same, slug = f"https://example.com/{unique()}", unique()
    before = insert_count()
    distinct_slugs = bulk(ann, *({"original_url": same, "slug": f"{slug}-{i}", "reuse": True} for i in range(1000)))
    assert statuses(distinct_slugs) == [201] * 1000, "another slug is another link"
    same_slug = bulk(ann, *({"original_url": f"{same}/{i}", "slug": slug, "reuse": True} for i in range(1000)))
    assert statuses(same_slug) == [201] + [409] * 999
    no_slug = bulk(ann, *({"original_url": f"{same}/{i % 2}", "reuse": True} for i in range(1000)))
    made = no_slug.json["results"][1]["link"]["id"]
    assert statuses(no_slug) == [200, 201] + [200] * 998
    assert {r["link"]["id"] for r in no_slug.json["results"]} == {same_slug.json["results"][0]["link"]["id"], made}
    assert insert_count() - before <= 6


def test_an_item_waiting_for_a_failed_item_still_gets_a_link(ann, bob, insert_count):
    """The first item with this URL is not created, because its slug is already used."""
    taken, url = bob.create(slug=unique())["slug"], f"https://example.com/{unique()}"
    before, reuse = insert_count(), {"original_url": url, "reuse": True}
    answer = bulk(ann, {**reuse, "slug": taken}, reuse, {**reuse, "slug": taken}, {"original_url": url, "slug": taken}, reuse)
    assert statuses(answer) == [409, 201, 409, 409, 200]
    assert answer.json["results"][4]["link"]["id"] == answer.json["results"][1]["link"]["id"]
    assert insert_count() - before <= 3
    link = ann.create(slug=unique(), original_url=url)
    again = bulk(ann, {**reuse, "slug": link["slug"]}, {**reuse, "slug": link["slug"]}, {"original_url": url, "slug": link["slug"]})
    assert statuses(again) == [200, 200, 409]


def test_a_transaction_that_takes_too_long_is_aborted(start, ann, service, database):
    """Others wait for the account no longer than that, even if each statement is short."""
    links = [make_anonymous(service) for _ in range(100)]
    hasty = Api(start(PG_STATEMENT_TIMEOUT_MS=3000, PG_HEAVY_STATEMENT_TIMEOUT_MS=3000).url)
    hasty.token = ann.token
    database.run("CREATE FUNCTION be_slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.15); RETURN NEW; END $$")
    database.run("CREATE TRIGGER be_slow BEFORE UPDATE OF workspace_id ON links FOR EACH ROW EXECUTE FUNCTION be_slow()")
    try:
        answer = sync(hasty, *links)
    finally:
        database.run("DROP TRIGGER be_slow ON links")
    assert answer.status == 503 and answer.headers["retry-after"] == "1"
    assert statuses(sync(ann, *links)) == [200] * 100, "the first attempt changed nothing"


# --- sync ---


def test_the_claim_token_transfers_an_anonymous_link_to_the_caller(ann, bob, service, database):
    mine = make_anonymous(service, title="kept")
    answer = sync(ann, mine, {"original_url": URL})
    assert statuses(answer) == [200, 201]
    link = answer.json["results"][0]["link"]
    assert (link["slug"], link["link_type"], link["expires_at"], link["title"], link["version"]) == (mine["slug"], "permanent", None, "kept", 2)
    assert ann.call("GET", f"/api/links/{link['id']}").json["link"] == link
    again = sync(ann, mine)
    assert statuses(again) == [200] and again.json["results"][0]["link"]["version"] == 2, "a repeated claim returns the caller's link"
    assert statuses(sync(bob, mine)) == [404], "another user cannot claim it"
    assert database.value("SELECT count(*) FROM audit_log WHERE action = 'link.claim' AND subject_id = %s", link["id"]) == 1


def test_a_link_cannot_be_claimed_without_its_token(ann, service):
    theirs, other = make_anonymous(service), make_anonymous(service)
    wrong = [
        {"slug": theirs["slug"], "claim_token": other["claim_token"]},
        {"slug": theirs["slug"], "claim_token": ""},
        {"slug": unique(), "claim_token": theirs["claim_token"]},
        {"slug": ann.create(slug=unique())["slug"], "claim_token": theirs["claim_token"]},
    ]
    answer = sync(ann, *wrong)
    assert statuses(answer) == [404] * 4
    assert len({json.dumps(result) for result in answer.json["results"]}) == 1
    knows_the_url = sync(ann, {"original_url": URL, "slug": theirs["slug"]})
    assert statuses(knows_the_url) == [409]


def test_an_expired_or_deleted_link_cannot_be_claimed(ann, service, database):
    late, gone = make_anonymous(service), make_anonymous(service)
    database.run("UPDATE links SET expires_at = clock_timestamp() WHERE slug = %s", late["slug"])
    database.run("UPDATE links SET state = 'DELETED' WHERE slug = %s", gone["slug"])
    assert statuses(sync(ann, late, gone)) == [409, 404]


def test_sync_accepts_at_most_a_hundred_items(ann, expect):
    expect(sync(ann, *[{"original_url": URL}] * 101), 400, "/links")
    answer = sync(ann, {"slug": "a", "claim_token": "b", "title": "c"}, {"slug": "no slug", "claim_token": "b"}, {"slug": "a"})
    assert statuses(answer) == [400, 400, 400]
    assert [[e["pointer"] for e in result["problem"]["errors"]] for result in answer.json["results"]] == [["/title"], ["/slug"], ["/claim_token"]]


# --- hard delete ---


def test_a_hard_delete_purges_at_once(ann, bob, database, expect):
    link = ann.create(slug=unique())
    path = f"/api/links/{link['id']}"
    expect(bob.call("DELETE", path + "?hard=true"), 404)
    expect(ann.call("DELETE", path + "?hard=true", None, {"If-Match": '"v9"'}), 412)
    for query, wrong in (("hard=1", "/hard"), ("hard", "/hard"), ("soft=true", "/soft"), ("hard=true&hard=true", "/hard"), ("hard=true&x=1", "/x")):
        expect(ann.call("DELETE", f"{path}?{query}"), 400, wrong)
    assert ann.call("DELETE", path + "?hard=true").status == 204
    expect(ann.call("GET", path), 404)
    expect(ann.call("POST", path + "/restore"), 404)
    expect(ann.call("DELETE", path + "?hard=true"), 404)
    expect(ann.call("POST", "/api/links", {"original_url": URL, "slug": link["slug"]}), 409, "/slug")
    assert statuses(bulk(ann, {"original_url": URL, "slug": link["slug"]})) == [409]
    assert database.run("SELECT link_id, last_state, version FROM link_tombstones WHERE slug = %s", link["slug"]) == [(link["id"], "ACTIVE", 2)]
    # None: on a busy machine the cache may have been invalid for a moment.
    assert database.redis.valid_entry(link["slug"]) in ((2, 4), None)
    assert database.value("SELECT count(*) FROM audit_log WHERE action = 'link.purge' AND subject_id = %s", link["id"]) == 1


def test_a_deleted_link_can_be_purged_and_hard_false_is_a_soft_delete(ann):
    link = ann.create()
    path = f"/api/links/{link['id']}"
    assert ann.call("DELETE", path + "?hard=false").status == 204
    assert ann.call("POST", path + "/restore").status == 200
    assert ann.call("DELETE", path).status == 204
    assert ann.call("DELETE", path + "?hard=true").status == 204
    assert ann.call("POST", path + "/restore").status == 404
