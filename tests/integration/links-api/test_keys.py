"""API keys: scopes, expiry and revocation."""

import concurrent.futures
import datetime

import psycopg2
import pytest
from clients import Api
from users import User, insert_api_key
from waiting import wait_until

SCOPES = ("links:read", "links:write", "stats:read")


@pytest.fixture(scope="module")
def service(start):
    return start(PG_STATEMENT_TIMEOUT_MS=20000)  # requests must wait for locks without a timeout


@pytest.fixture(scope="module")
def user(service, database):
    return User(service, database)


def test_a_secret_is_shown_once_and_recognized_by_its_hint(user, database):
    answer = user.call("POST", "/api/keys", {"name": "Büro", "scopes": ["stats:read", "links:read"]})
    assert answer.status == 201 and answer.headers["cache-control"] == "no-store"
    key, secret = answer.json["key"], answer.json["secret"]
    assert set(key) == {"id", "name", "scopes", "hint", "expires_at", "last_used_at", "created_at", "created_by"}
    assert (key["name"], key["scopes"]) == ("Büro", ["links:read", "stats:read"])
    assert (key["expires_at"], key["last_used_at"]) == (None, None)
    assert len(secret) == 46 and key["hint"] == secret[:7] + "…"
    listed = user.call("GET", "/api/keys")
    assert secret not in listed.body.decode() and listed.json["keys"][0] == key
    assert database.value("SELECT secret_hash = sha256(convert_to(%s, 'UTF8')) FROM api_keys WHERE id = %s", secret, key["id"])
    assert database.value("SELECT count(*) FROM audit_log WHERE action = 'key.create' AND subject_id = %s", key["id"]) == 1
    assert database.value("SELECT count(*) FROM audit_log WHERE details::text LIKE %s", f"%{secret[3:]}%") == 0


def test_a_key_is_accepted_as_bearer_or_in_x_api_key(user):
    api, key = user.with_key("links:read")
    assert api.call("GET", "/api/links").status == 200
    other = Api(api.base)
    assert other.call("GET", "/api/links", headers={"X-Api-Key": api.token}).status == 200
    assert other.call("GET", "/api/links", headers={"X-Api-Key": api.token, "Authorization": "Basic eA=="}).status == 200
    refused = other.call("GET", "/api/links", headers={"X-Api-Key": user.token})
    assert refused.status == 401 and "X-Api-Key takes API keys only" in refused.json["detail"]
    assert "X-Api-Key: <API key>" in other.call("GET", "/api/links").json["detail"]
    assert user.call("GET", "/api/links", headers={"X-Api-Key": "wm_x"}).status == 200, "the token counts"
    used = [each for each in user.call("GET", "/api/keys").json["keys"] if each["id"] == key["id"]]
    assert used[0]["last_used_at"] is not None


def test_a_key_permits_what_its_scopes_say(user, expect):
    link = user.create()
    of_scope = {
        "links:read": [("GET", "/api/links", None, 200), ("GET", f"/api/links/{link['id']}", None, 200)],
        "links:write": [
            ("POST", "/api/links", {"original_url": "https://example.com/"}, 201),
            ("PATCH", f"/api/links/{link['id']}", {"title": "x"}, 200),
        ],
        "stats:read": [("GET", f"/api/links/{link['id']}/stats", None, 200), ("GET", "/api/stats/top", None, 200)],
    }
    for scope in SCOPES:
        api, _ = user.with_key(scope)
        for asked, requests in of_scope.items():
            for method, path, body, status in requests:
                answer = api.call(method, path, body)
                if asked == scope:
                    assert answer.status == status, answer
                else:
                    problem = expect(answer, 403)
                    assert problem["type"] == "/problems/scope" and asked in problem["detail"]


def test_keys_cannot_manage_keys_without_the_scope_or_the_account(user, expect):
    api, key = user.with_key(*SCOPES)
    for method, path, body, kind in (
        ("POST", "/api/keys", {"name": "more", "scopes": ["links:read"]}, "scope"),
        ("GET", "/api/keys", None, "scope"),
        ("DELETE", f"/api/keys/{key['id']}", None, "scope"),
        ("GET", "/api/auth/me", None, "forbidden"),
        ("POST", "/api/auth/password", {"current_password": "x" * 8, "new_password": "y" * 8}, "forbidden"),
        ("DELETE", "/api/auth/me", {"password": "x" * 8}, "forbidden"),
    ):
        assert expect(api.call(method, path, body), 403)["type"] == f"/problems/{kind}"


def test_a_revoked_key_is_refused_at_once(user, expect):
    api, key = user.with_key("links:read")
    assert api.call("GET", "/api/links").status == 200
    assert user.call("DELETE", f"/api/keys/{key['id']}").status == 204
    expect(api.call("GET", "/api/links"), 401)
    expect(user.call("DELETE", f"/api/keys/{key['id']}"), 404)


def test_an_expired_key_is_refused(user, database, expect):
    api = Api(user.base)
    api.token = insert_api_key(database, user.id, SCOPES)
    assert api.call("GET", "/api/links").status == 200
    api.token = insert_api_key(database, user.id, SCOPES, "-1 second")
    expect(api.call("GET", "/api/links"), 401)


def test_a_key_keeps_the_requested_expiry(user, database):
    requested = "2099-01-02T03:04:05.678Z"
    _, key = user.with_key("links:read", expires_at=requested)
    assert key["expires_at"] == requested
    assert [each for each in user.call("GET", "/api/keys").json["keys"] if each["id"] == key["id"]] == [key]
    assert database.value("SELECT expires_at = %s::timestamptz FROM api_keys WHERE id = %s", requested, key["id"])


def test_the_last_use_is_recorded_to_the_minute(user, database):
    api, key = user.with_key("links:read")

    def last_use():
        assert api.call("GET", "/api/links").status == 200
        return database.value("SELECT last_used_at FROM api_keys WHERE id = %s", key["id"])

    first = last_use()
    database.run("UPDATE api_keys SET last_used_at = last_used_at - interval '20 s' WHERE id = %s", key["id"])
    assert last_use() == first - datetime.timedelta(seconds=20), "a busy key costs one write a minute"
    database.run("UPDATE api_keys SET last_used_at = last_used_at - interval '1 h' WHERE id = %s", key["id"])
    assert last_use() >= first


def test_malformed_keys_are_refused(user, expect):
    api, _ = user.with_key("links:read")
    secret = api.token
    for wrong in (secret[:-1], secret + "A", secret[:-1] + "=", secret.upper(), "wm_", "WM_" + secret[3:], secret[3:]):
        api.token = wrong
        expect(api.call("GET", "/api/links"), 401)


def test_all_invalid_fields_of_a_key_are_reported(user, expect):
    expect(user.call("POST", "/api/keys", {}), 400, "/name", "/scopes")
    body = {"name": "", "scopes": ["links:read", "admin", "links:read"], "expires_at": "2001-01-01T00:00:00Z", "id": 7}
    expect(user.call("POST", "/api/keys", body), 400, "/name", "/scopes/1", "/scopes/2", "/expires_at", "/id")
    expect(user.call("POST", "/api/keys", {"name": "x" * 101, "scopes": []}), 400, "/name", "/scopes")
    body = {"name": "x", "scopes": "links:read", "expires_at": "tomorrow"}
    expect(user.call("POST", "/api/keys", body), 400, "/scopes", "/expires_at")


def test_a_user_has_at_most_a_hundred_keys(service, database, expect):
    user = User(service, database)
    for _ in range(99):
        insert_api_key(database, user.id, ["links:read"])
    user.with_key("links:read")
    problem = expect(user.call("POST", "/api/keys", {"name": "x", "scopes": ["links:read"]}), 409, "")
    assert problem["type"] == "/problems/too-many-keys"
    assert len(user.call("GET", "/api/keys").json["keys"]) == 100


def test_one_of_many_concurrent_requests_gets_the_last_key(service, database):
    """All requests have counted, or wait to count, before the first key can be created."""
    user = User(service, database)
    for _ in range(99):
        insert_api_key(database, user.id, ["links:read"])
    blocker = psycopg2.connect(database.url())
    blocker.cursor().execute("LOCK TABLE api_keys IN SHARE MODE")
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        body = {"name": "x", "scopes": ["links:read"]}
        answers = [pool.submit(user.call, "POST", "/api/keys", body) for _ in range(4)]
        wait_until(lambda: database.value(waiting) == 4, 60, "four requests to wait")
        blocker.rollback()
        assert sorted(answer.result().status for answer in answers) == [201] + [409] * 3
    blocker.close()


def test_a_key_that_cannot_be_created_in_time_gets_503(start, database, expect):
    user = User(start(PG_STATEMENT_TIMEOUT_MS=500), database)
    blocker = psycopg2.connect(database.url())
    blocker.cursor().execute("SELECT FROM users WHERE id = %s FOR UPDATE", (user.id,))
    body = {"name": "x", "scopes": ["links:read"]}
    answer = user.call("POST", "/api/keys", body)
    blocker.close()
    expect(answer, 503)
    assert answer.headers["retry-after"] == "1"
    wait_until(lambda: user.call("POST", "/api/keys", body).status == 201, 60, "the key to be created")


def test_a_key_of_an_admin_has_no_admin_rights(service, database, user, expect):
    admin = User(service, database, "admin")
    link = user.create()
    assert admin.call("GET", f"/api/links/{link['id']}").status == 200
    api, _ = admin.with_key(*SCOPES)
    expect(api.call("GET", f"/api/links/{link['id']}"), 404)
    assert expect(api.call("GET", "/api/admin/users"), 403)["type"] == "/problems/scope"
