"""API keys: what they open, what they do not, and when they end."""

import concurrent.futures
import datetime

import psycopg2
import pytest
from clients import Api
from people import Person, insert_key
from waiting import wait_until

SCOPES = ("links:read", "links:write", "stats:read")


@pytest.fixture(scope="module")
def service(start):
    return start(PG_STATEMENT_TIMEOUT_MS=20000)  # what waits here for a lock is not to give up


@pytest.fixture(scope="module")
def person(service, database):
    return Person(service, database)


def test_a_key_is_shown_once_and_known_by_its_hint(person, database):
    answer = person.call("POST", "/api/keys", {"name": "Büro", "scopes": ["stats:read", "links:read"]})
    assert answer.status == 201 and answer.headers["cache-control"] == "no-store"
    key, secret = answer.json["key"], answer.json["secret"]
    assert set(key) == {"id", "name", "scopes", "hint", "expires_at", "last_used_at", "created_at"}
    assert (key["name"], key["scopes"]) == ("Büro", ["links:read", "stats:read"])
    assert (key["expires_at"], key["last_used_at"]) == (None, None)
    assert len(secret) == 46 and key["hint"] == secret[:7] + "…"
    listed = person.call("GET", "/api/keys")
    assert secret not in listed.body.decode() and listed.json["keys"][0] == key
    assert database.ask("SELECT secret_hash = sha256(convert_to(%s, 'UTF8')) FROM api_keys WHERE id = %s", secret, key["id"])
    assert database.ask("SELECT count(*) FROM audit_log WHERE action = 'key.create' AND subject_id = %s", key["id"]) == 1
    assert database.ask("SELECT count(*) FROM audit_log WHERE details::text LIKE %s", f"%{secret[3:]}%") == 0


def test_a_key_comes_as_bearer_or_in_a_header_of_its_own(person):
    api, key = person.with_key("links:read")
    assert api.call("GET", "/api/links").status == 200
    other = Api(api.base)
    assert other.call("GET", "/api/links", headers={"X-Api-Key": api.token}).status == 200
    assert other.call("GET", "/api/links", headers={"X-Api-Key": api.token, "Authorization": "Basic eA=="}).status == 200
    assert other.call("GET", "/api/links", headers={"X-Api-Key": person.token}).status == 401
    used = [each for each in person.call("GET", "/api/keys").json["keys"] if each["id"] == key["id"]]
    assert used[0]["last_used_at"] is not None


def test_a_key_opens_what_its_scopes_say(person, expect):
    link = person.create()
    of_scope = {
        "links:read": [("GET", "/api/links", None, 200), ("GET", f"/api/links/{link['id']}", None, 200)],
        "links:write": [
            ("POST", "/api/links", {"original_url": "https://example.com/"}, 201),
            ("PATCH", f"/api/links/{link['id']}", {"title": "x"}, 200),
        ],
        "stats:read": [("GET", f"/api/links/{link['id']}/stats", None, 200), ("GET", "/api/stats/top", None, 200)],
    }
    for scope in SCOPES:
        api, _ = person.with_key(scope)
        for asked, requests in of_scope.items():
            for method, path, body, status in requests:
                answer = api.call(method, path, body)
                if asked == scope:
                    assert answer.status == status, answer
                else:
                    assert expect(answer, 403)["type"] == "/problems/scope"


def test_no_key_manages_keys_or_the_account(person, expect):
    api, key = person.with_key(*SCOPES)
    for method, path, body in (
        ("POST", "/api/keys", {"name": "more", "scopes": ["links:read"]}),
        ("GET", "/api/keys", None),
        ("DELETE", f"/api/keys/{key['id']}", None),
        ("GET", "/api/auth/me", None),
        ("POST", "/api/auth/password", {"current_password": "x" * 8, "new_password": "y" * 8}),
        ("DELETE", "/api/auth/me", {"password": "x" * 8}),
    ):
        assert expect(api.call(method, path, body), 403)["type"] == "/problems/scope"


def test_a_revoked_key_is_worth_nothing_from_the_next_request_on(person, expect):
    api, key = person.with_key("links:read")
    assert api.call("GET", "/api/links").status == 200
    assert person.call("DELETE", f"/api/keys/{key['id']}").status == 204
    expect(api.call("GET", "/api/links"), 401)
    expect(person.call("DELETE", f"/api/keys/{key['id']}"), 404)


def test_an_expired_key_is_worth_nothing(person, database, expect):
    api = Api(person.base)
    api.token = insert_key(database, person.id, SCOPES)
    assert api.call("GET", "/api/links").status == 200
    api.token = insert_key(database, person.id, SCOPES, "-1 second")
    expect(api.call("GET", "/api/links"), 401)


def test_the_end_of_a_key_is_the_one_that_was_wished(person, database):
    wished = "2099-01-02T03:04:05.678Z"
    _, key = person.with_key("links:read", expires_at=wished)
    assert key["expires_at"] == wished
    assert [each for each in person.call("GET", "/api/keys").json["keys"] if each["id"] == key["id"]] == [key]
    assert database.ask("SELECT expires_at = %s::timestamptz FROM api_keys WHERE id = %s", wished, key["id"])


def test_the_last_use_is_told_to_the_minute(person, database):
    api, key = person.with_key("links:read")

    def last_use():
        assert api.call("GET", "/api/links").status == 200
        return database.ask("SELECT last_used_at FROM api_keys WHERE id = %s", key["id"])

    first = last_use()
    database.run("UPDATE api_keys SET last_used_at = last_used_at - interval '20 s' WHERE id = %s", key["id"])
    assert last_use() == first - datetime.timedelta(seconds=20), "a key in heavy use costs one write a minute"
    database.run("UPDATE api_keys SET last_used_at = last_used_at - interval '1 h' WHERE id = %s", key["id"])
    assert last_use() >= first


def test_what_only_looks_like_a_key_is_refused(person, expect):
    api, _ = person.with_key("links:read")
    secret = api.token
    for wrong in (secret[:-1], secret + "A", secret[:-1] + "=", secret.upper(), "wm_", "WM_" + secret[3:], secret[3:]):
        api.token = wrong
        expect(api.call("GET", "/api/links"), 401)


def test_wrong_fields_of_a_key_are_all_named(person, expect):
    expect(person.call("POST", "/api/keys", {}), 400, "/name", "/scopes")
    body = {"name": "", "scopes": ["links:read", "admin", "links:read"], "expires_at": "2001-01-01T00:00:00Z", "id": 7}
    expect(person.call("POST", "/api/keys", body), 400, "/name", "/scopes/1", "/scopes/2", "/expires_at", "/id")
    expect(person.call("POST", "/api/keys", {"name": "x" * 101, "scopes": []}), 400, "/name", "/scopes")
    body = {"name": "x", "scopes": "links:read", "expires_at": "tomorrow"}
    expect(person.call("POST", "/api/keys", body), 400, "/scopes", "/expires_at")


def test_nobody_has_more_than_a_hundred_keys(service, database, expect):
    person = Person(service, database)
    for _ in range(99):
        insert_key(database, person.id, ["links:read"])
    person.with_key("links:read")
    problem = expect(person.call("POST", "/api/keys", {"name": "x", "scopes": ["links:read"]}), 409, "")
    assert problem["type"] == "/problems/too-many-keys"
    assert len(person.call("GET", "/api/keys").json["keys"]) == 100


def test_of_many_who_want_the_last_key_one_gets_it(service, database):
    """All have counted, or wait for their turn to count, before the first key can be made."""
    person = Person(service, database)
    for _ in range(99):
        insert_key(database, person.id, ["links:read"])
    blocker = psycopg2.connect(database.url())
    blocker.cursor().execute("LOCK TABLE api_keys IN SHARE MODE")
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        wish = {"name": "x", "scopes": ["links:read"]}
        answers = [pool.submit(person.call, "POST", "/api/keys", wish) for _ in range(4)]
        wait_until(lambda: database.ask(waiting) == 4, 10, "four requests to wait")
        blocker.rollback()
        assert sorted(answer.result().status for answer in answers) == [201] + [409] * 3
    blocker.close()


def test_a_key_that_cannot_be_made_in_time_is_not_one_too_many(start, database, expect):
    person = Person(start(PG_STATEMENT_TIMEOUT_MS=500), database)
    blocker = psycopg2.connect(database.url())
    blocker.cursor().execute("SELECT FROM users WHERE id = %s FOR UPDATE", (person.id,))
    wish = {"name": "x", "scopes": ["links:read"]}
    answer = person.call("POST", "/api/keys", wish)
    blocker.close()
    expect(answer, 503)
    assert answer.headers["retry-after"] == "1"
    wait_until(lambda: person.call("POST", "/api/keys", wish).status == 201, 20, "it to be made")


def test_a_key_of_an_admin_is_no_admin(service, database, person, expect):
    admin = Person(service, database, "admin")
    link = person.create()
    assert admin.call("GET", f"/api/links/{link['id']}").status == 200
    api, _ = admin.with_key(*SCOPES)
    expect(api.call("GET", f"/api/links/{link['id']}"), 404)
    assert expect(api.call("GET", "/api/admin/users"), 403)["type"] == "/problems/forbidden"
