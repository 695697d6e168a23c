"""API keys: scopes, roles, expiry, rotation, handing over and revocation. What a limit to tags means: test_key_tags.py."""

import concurrent.futures
import datetime

import psycopg2
import pytest
from clients import Api
from users import User, insert_api_key, join, leave
from waiting import wait_until

SCOPES = ("links:read", "links:write", "stats:read")
ALL = SCOPES + ("visits:read", "shares:read", "shares:write", "keys:read", "keys:write", "workspace:read", "workspace:write")
MISSING = 999_999_999_999


def kind_of(answer):
    return answer.status, answer.json["type"].removeprefix("/problems/")


def listed(user, key, prefix="/api"):
    return next(each for each in user.call("GET", f"{prefix}/keys").json["keys"] if each["id"] == key["id"])


def works(api):
    return {200: True, 401: False}[api.call("GET", "/api/links").status]


def again(api, secret):
    other = Api(api.base)
    other.token = secret
    return other



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
    assert set(key) == {
        "id", "name", "scopes", "tags", "hint", "state", "unusable_scopes", "created_by", "created_by_email", "made_by_key",
        "expires_at", "old_secret_until", "last_used_at", "created_at",
    }  # fmt: skip
    assert (key["tags"], key["state"], key["unusable_scopes"], key["made_by_key"]) == ([], "active", [], None)
    assert (key["created_by"], key["created_by_email"]) == (user.id, user.email)
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


def test_keys_cannot_manage_the_account(user, expect):
    api, key = user.with_key(*ALL)
    for method, path, body in (
        ("GET", "/api/auth/me", None),
        ("POST", "/api/auth/password", {"current_password": "x" * 8, "new_password": "y" * 8}),
        ("DELETE", "/api/auth/me", {"password": "x" * 8}),
        ("GET", "/api/auth/sessions", None),
    ):
        problem = expect(api.call(method, path, body), 403)
        assert problem["type"] == "/problems/forbidden" and "access token" in problem["detail"]


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
    assert expect(api.call("GET", "/api/links"), 401)["detail"] == "The API key has expired."


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
        wait_until(lambda: database.value(waiting) == 4, "four requests to wait")
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
    wait_until(lambda: user.call("POST", "/api/keys", body).status == 201, "the key to be created")


# --- what it may do ---


def test_a_key_has_the_rights_of_an_administrator_only_by_its_scopes(service, database, user, expect):
    admin = User(service, database, "admin")
    link = user.create()
    assert admin.call("GET", f"/api/links/{link['id']}").status == 200
    api, _ = admin.with_key(*ALL)
    expect(api.call("GET", f"/api/links/{link['id']}"), 404)
    assert kind_of(api.call("GET", "/api/admin/users")) == (403, "scope")
    api, key = admin.with_key("admin:read", "links:read")
    assert api.call("GET", "/api/admin/users").status == 200
    expect(api.call("GET", f"/api/links/{link['id']}"), 404)
    assert kind_of(api.call("PATCH", f"/api/admin/users/{user.id}", {})) == (403, "scope")
    database.run("UPDATE users SET role = 'user' WHERE id = %s", admin.id)
    assert kind_of(api.call("GET", "/api/admin/users")) == (403, "forbidden"), "its maker is none any more"
    assert api.call("GET", "/api/links").status == 200
    assert listed(admin, key)["unusable_scopes"] == ["admin:read"]


@pytest.mark.parametrize("scope", ["admin:read", "admin:write"])
def test_only_an_administrator_makes_keys_for_the_instance(user, expect, scope):
    problem = expect(user.call("POST", "/api/keys", {"name": "x", "scopes": [scope]}), 400, "/scopes")
    assert problem["errors"][0]["code"] == "role" and scope in problem["detail"]


def test_an_editor_makes_no_key_beyond_the_role(service, database, user, expect):
    editor = User(service, database)
    join(database, editor, user.id, "editor")
    at = f"/api/workspaces/{user.id}"
    expect(editor.call("POST", f"{at}/keys", {"name": "x", "scopes": ["links:read", "workspace:write"]}), 400, "/scopes")
    made = editor.call("POST", f"{at}/keys", {"name": "x", "scopes": ["links:write", "links:read", "workspace:read"]})
    assert made.status == 201
    expect(editor.call("PATCH", f"{at}/keys/{made.json['key']['id']}", {"scopes": ["workspace:write"]}), 400, "/scopes")
    api = again(editor, made.json["secret"])
    database.run("UPDATE members SET role = 'viewer' WHERE user_id = %s AND workspace_id = %s", editor.id, user.id)
    assert api.call("GET", "/api/links").status == 200
    assert kind_of(api.call("POST", "/api/links", {"original_url": "https://example.com/"})) == (403, "role")
    seen = listed(user, made.json["key"])
    assert (seen["state"], seen["unusable_scopes"]) == ("active", ["links:write"])
    assert kind_of(editor.call("GET", f"{at}/keys")) == (403, "role")


def test_an_administrator_who_is_no_member_makes_no_key(service, database, user):
    admin = User(service, database, "admin")
    answer = admin.call("POST", f"/api/workspaces/{user.id}/keys", {"name": "x", "scopes": ["links:read"]})
    assert kind_of(answer) == (403, "not-a-member")
    assert database.value("SELECT count(*) FROM api_keys WHERE workspace_id = %s AND created_by = %s", user.id, admin.id) == 0


# --- whether it works ---


def test_a_list_says_whether_a_key_works_and_why_not(service, database):
    user, maker = User(service, database), User(service, database)
    join(database, maker, user.id, "editor")
    made = maker.call("POST", f"/api/workspaces/{user.id}/keys", {"name": "x", "scopes": ["links:write"]})
    key, api = made.json["key"], again(maker, made.json["secret"])
    old = insert_api_key(database, user.id, ["links:read"], "-1 second")
    assert [each["state"] for each in user.call("GET", "/api/keys").json["keys"]] == ["expired", "active"] and not works(again(user, old))
    database.run("UPDATE members SET role = 'viewer' WHERE user_id = %s AND workspace_id = %s", maker.id, user.id)
    assert listed(user, key)["state"] == "role" and api.call("GET", "/api/links").status == 403
    database.run("UPDATE users SET blocked = true WHERE id = %s", maker.id)
    assert listed(user, key)["state"] == "maker-blocked" and api.call("GET", "/api/links").status == 403
    database.run("UPDATE users SET blocked = false WHERE id = %s", maker.id)
    leave(database, maker, user.id)
    assert listed(user, key)["state"] == "maker-left" and api.call("GET", "/api/links").status == 401


# --- changes ---


def test_a_change_of_a_key_counts_at_once(user, database, expect):
    api, key = user.with_key("links:read")
    at = f"/api/keys/{key['id']}"
    changed = user.call("PATCH", at, {"name": "other", "scopes": ["stats:read"], "expires_at": "2099-01-02T03:04:05.678Z"})
    assert changed.status == 200 and "secret" not in changed.json
    assert changed.json["key"] == listed(user, key)
    assert {k: changed.json["key"][k] for k in ("name", "scopes", "expires_at")} == {
        "name": "other", "scopes": ["stats:read"], "expires_at": "2099-01-02T03:04:05.678Z"}  # fmt: skip
    assert api.call("GET", "/api/links").status == 403 and api.call("GET", "/api/stats/top").status == 200
    assert user.call("PATCH", at, {"expires_at": None}).json["key"]["expires_at"] is None
    same = user.call("PATCH", at, {})
    assert same.status == 200 and same.json["key"]["name"] == "other"
    assert database.value("SELECT count(*) FROM audit_log WHERE action = 'key.update' AND subject_id = %s AND actor_id = %s", key["id"], user.id) == 3
    for body, *pointers in (
        ({"scopes": []}, "/scopes"), ({"name": ""}, "/name"), ({"expires_at": "2001-01-01T00:00:00Z"}, "/expires_at"), ({"tags": "x"}, "/tags"),
        ({"tags": ["a", "a"]}, "/tags/1"), ({"created_by": "me"}, "/created_by"), ({"secret": "x"}, "/secret"), ({"tags": ["."]}, "/tags/0"),
    ):  # fmt: skip
        expect(user.call("PATCH", at, body), 400, *pointers)
    expect(user.call("PATCH", f"/api/keys/{MISSING}", {"name": "x"}), 404)


def test_keys_of_others_are_seen_and_ended_by_admins_only(service, database, user, expect):
    editor, other = User(service, database), User(service, database)
    at = f"/api/workspaces/{user.id}/keys"
    for each in (editor, other):
        join(database, each, user.id, "editor")
    key = editor.call("POST", at, {"name": "mine", "scopes": ["links:read"]}).json["key"]
    assert [each["id"] for each in editor.call("GET", at).json["keys"]] == [key["id"]]
    assert other.call("GET", at).json["keys"] == []
    for method, path, body in (("DELETE", "", None), ("PATCH", "", {"name": "x"}), ("POST", "/rotate", {})):
        expect(other.call(method, f"{at}/{key['id']}{path}", body), 404)
    assert kind_of(user.call("PATCH", f"{at}/{key['id']}", {"name": "x"})) == (403, "not-your-key")
    assert kind_of(user.call("POST", f"{at}/{key['id']}/rotate", {})) == (403, "not-your-key")
    assert listed(user, key)["created_by_email"] == editor.email
    assert user.call("DELETE", f"{at}/{key['id']}").status == 204


def test_an_admin_takes_over_the_key_of_somebody_who_leaves(service, database, user, expect):
    maker, admin = User(service, database), User(service, database)
    join(database, maker, user.id, "editor")
    join(database, admin, user.id, "admin")
    at = f"/api/workspaces/{user.id}/keys"
    made = maker.call("POST", at, {"name": "job", "scopes": ["links:read"]})
    key, api = made.json["key"], again(maker, made.json["secret"])
    assert kind_of(maker.call("PATCH", f"{at}/{key['id']}", {"created_by": maker.id})) == (403, "role")
    expect(admin.call("PATCH", f"{at}/{key['id']}", {"created_by": user.id}), 400, "/created_by")
    leave(database, maker, user.id)
    assert not works(api)
    taken = admin.call("PATCH", f"{at}/{key['id']}", {"created_by": admin.id, "name": "taken"})
    assert taken.status == 200 and (taken.json["key"]["created_by"], taken.json["key"]["name"], taken.json["key"]["state"]) == (admin.id, "taken", "active")
    assert works(api), "the secret is the same"
    assert admin.call("POST", f"{at}/{key['id']}/rotate", {}).status == 200
    assert database.value("SELECT details ->> 'created_by' FROM audit_log WHERE action = 'key.update' AND subject_id = %s", key["id"]) == str(admin.id)


# --- rotation ---


def test_a_rotation_gives_a_new_secret_and_ends_the_old_one(user, database):
    api, key = user.with_key("links:read")
    answer = user.call("POST", f"/api/keys/{key['id']}/rotate", {})
    new = again(api, answer.json["secret"])
    assert answer.status == 200 and answer.headers["cache-control"] == "no-store" and works(new) and not works(api)
    assert answer.json["key"]["hint"] == new.token[:7] + "…" and answer.json["key"]["old_secret_until"] is None
    assert database.value("SELECT count(*) FROM audit_log WHERE action = 'key.rotate' AND subject_id = %s", key["id"]) == 1
    assert new.token not in user.call("GET", "/api/keys").body.decode()


def test_the_old_secret_works_as_long_as_the_overlap(user, database):
    first, key = user.with_key("links:read")
    answer = user.call("POST", f"/api/keys/{key['id']}/rotate", {"overlap_s": 3600})
    second = again(first, answer.json["secret"])
    until = datetime.datetime.fromisoformat(answer.json["key"]["old_secret_until"].replace("Z", "+00:00"))
    assert abs((until - datetime.datetime.now(datetime.timezone.utc)).total_seconds() - 3600) < 60
    assert works(first) and works(second)
    third = again(first, user.call("POST", f"/api/keys/{key['id']}/rotate", {"overlap_s": 60}).json["secret"])
    assert not works(first) and works(second) and works(third), "there are at most two"
    database.run("UPDATE api_keys SET old_secret_until = clock_timestamp() - interval '1 s' WHERE id = %s", key["id"])
    assert not works(second) and works(third)
    assert listed(user, key)["old_secret_until"] is None
    database.run("UPDATE api_keys SET old_secret_until = clock_timestamp() + interval '1 h', expires_at = clock_timestamp() WHERE id = %s", key["id"])
    assert not works(second) and not works(third), "both end with the key"


def test_an_overlap_has_a_bound(user, expect):
    _, key = user.with_key("links:read")
    for overlap in (-1, 30 * 86400 + 1, 1.5, "60", None, True):
        expect(user.call("POST", f"/api/keys/{key['id']}/rotate", {"overlap_s": overlap}), 400, "/overlap_s")
    expect(user.call("POST", f"/api/keys/{key['id']}/rotate", {"overlap": 1}), 400, "/overlap")
    assert user.call("POST", f"/api/keys/{key['id']}/rotate", {"overlap_s": 30 * 86400}).status == 200


# --- keys that manage keys ---


@pytest.fixture
def manager(user):
    """A key that manages keys, until 2090: (Api, key)."""
    return user.with_key("keys:read", "keys:write", "links:read", expires_at="2090-01-01T00:00:00Z")


def make(api, **fields):
    return api.call("POST", "/api/keys", {"name": "made", "scopes": ["links:read"], "expires_at": "2080-01-01T00:00:00Z", **fields})


def test_a_key_makes_keys_that_end_with_it(user, database, manager):
    api, key = manager
    answer = make(api, scopes=["links:read", "keys:write"])
    child, made = again(api, answer.json["secret"]), answer.json["key"]
    assert answer.status == 201 and (made["made_by_key"], made["created_by"]) == (key["id"], user.id) and works(child)
    grandchild = again(api, make(child, scopes=["links:read"]).json["secret"])
    assert works(grandchild)
    assert database.value("SELECT key_id FROM audit_log WHERE action = 'key.create' AND subject_id = %s", made["id"]) == key["id"]
    assert user.call("DELETE", f"/api/keys/{key['id']}").status == 204
    assert not works(child) and not works(grandchild)


@pytest.mark.parametrize("fields,pointer", [
    ({"scopes": ["links:write"]}, "/scopes"), ({"scopes": ["links:read", "admin:read"]}, "/scopes"), ({"expires_at": None}, "/expires_at"),
    ({"expires_at": "2090-01-01T00:00:00.001Z"}, "/expires_at"),
])  # fmt: skip
def test_a_key_makes_no_key_that_has_more(manager, expect, fields, pointer):
    expect(make(manager[0], **fields), 400, pointer)


def test_a_key_that_is_limited_to_tags_makes_only_such_keys(user, expect):
    api, _ = user.with_key("keys:read", "keys:write", "links:read", tags=["a", "b"])
    for tags in ([], ["c"], ["a", "c"], None):
        expect(make(api, tags=tags), 400, "/tags")
    made = make(api, tags=["b"])
    assert made.status == 201 and made.json["key"]["tags"] == ["b"]
    assert [each["id"] for each in api.call("GET", "/api/keys").json["keys"]][0] == made.json["key"]["id"]
    _, whole = user.with_key("links:read")
    assert whole["id"] not in [each["id"] for each in api.call("GET", "/api/keys").json["keys"]]
    for method, path, body in (("PATCH", "", {"name": "x"}), ("DELETE", "", None), ("POST", "/rotate", {})):
        expect(api.call(method, f"/api/keys/{whole['id']}{path}", body), 404)


def test_a_key_changes_itself_and_what_it_made_alone(user, manager, expect):
    api, key = manager
    made = make(api).json["key"]
    _, sibling = user.with_key("links:read", expires_at="2050-01-01T00:00:00Z")
    for method, path, body in (("PATCH", "", {"name": "x"}), ("POST", "/rotate", {}), ("DELETE", "", None)):
        assert kind_of(api.call(method, f"/api/keys/{sibling['id']}{path}", body)) == (403, "key-limited")
    assert api.call("PATCH", f"/api/keys/{made['id']}", {"name": "y"}).status == 200
    expect(api.call("PATCH", f"/api/keys/{made['id']}", {"scopes": ["stats:read"]}), 400, "/scopes")
    expect(api.call("PATCH", f"/api/keys/{key['id']}", {"expires_at": None}), 400, "/expires_at")
    expect(api.call("PATCH", f"/api/keys/{key['id']}", {"scopes": ["stats:read"]}), 400, "/scopes")
    assert kind_of(api.call("PATCH", f"/api/keys/{made['id']}", {"created_by": user.id})) == (403, "forbidden")
    assert user.call("PATCH", f"/api/keys/{made['id']}", {"scopes": ["stats:read"]}).status == 200, "a person may give it more"
    assert kind_of(api.call("POST", f"/api/keys/{made['id']}/rotate", {})) == (403, "key-limited"), "which the key does not get that way"
    rotated = api.call("POST", f"/api/keys/{key['id']}/rotate", {})
    assert rotated.status == 200 and works(again(api, rotated.json["secret"])), "a job rotates its own key"


def test_what_a_key_made_shrinks_with_it(user, manager):
    api, key = manager
    reader = make(api).json
    writer = make(api, scopes=["keys:write", "links:read"]).json
    below = make(again(api, writer["secret"]), scopes=["keys:write"]).json
    assert user.call("PATCH", f"/api/keys/{key['id']}", {"scopes": ["links:read", "keys:read"], "expires_at": "2070-01-01T00:00:00Z"}).status == 200
    left = {each["id"]: each for each in user.call("GET", "/api/keys").json["keys"]}
    assert writer["key"]["id"] not in left and below["key"]["id"] not in left
    assert left[reader["key"]["id"]]["expires_at"] == "2070-01-01T00:00:00.000Z"
    assert user.call("PATCH", f"/api/keys/{key['id']}", {"tags": ["a"]}).status == 200
    assert reader["key"]["id"] not in [each["id"] for each in user.call("GET", "/api/keys").json["keys"]], "it saw all links"


def test_no_key_outlives_the_one_through_which_it_was_made(user, manager):
    api, key = manager
    child = make(api, scopes=["keys:write", "links:read"]).json
    grandchild = make(again(api, child["secret"])).json["key"]
    assert user.call("PATCH", f"/api/keys/{key['id']}", {"expires_at": "2070-01-01T00:00:00Z"}).status == 200
    assert [listed(user, each)["expires_at"] for each in (child["key"], grandchild)] == ["2070-01-01T00:00:00.000Z"] * 2


def test_tags_limit_only_what_is_about_links(user, expect):
    expect(user.call("POST", "/api/keys", {"name": "x", "scopes": ["workspace:read", "links:read"], "tags": ["a"]}), 400, "/tags")
    _, key = user.with_key("workspace:read")
    expect(user.call("PATCH", f"/api/keys/{key['id']}", {"tags": ["a"]}), 400, "/tags")
