"""New passwords, blocks and account deletion: what they revoke, and when."""

import concurrent.futures
import contextlib
import datetime
import hashlib

import psycopg2
import pytest
from clients import Api, unique_email
from users import Browser, User, insert_api_key, insert_session, make_token
from service import SECRET, is_active
from waiting import wait_until

PASSWORD = "correct horse battery"
OTHER = "staple correct horse"
# A slow Redis disables the limits. These tests need it to respond even on a busy machine.
VARIABLES = {"REDIS_TIMEOUT_MS": 5000}
CACHE_VALID_S = 4  # lib/links/link_cache_validity.h


@pytest.fixture(scope="module")
def service(start):
    return start(LOGIN_FAILURES=3, PG_STATEMENT_TIMEOUT_MS=20000)  # requests must wait for locks without a timeout


@pytest.fixture
def admin(service, database):
    return User(service, database, "admin")


def login(api, email, password):
    return api.call("POST", "/api/auth/login", {"email": email, "password": password})


def test_a_new_password_revokes_all_tokens_but_no_keys(new_user, database, expect):
    user = new_user()
    user_id = user.call("GET", "/api/auth/me").json["user"]["id"]
    key = insert_api_key(database, user_id, ["links:read"])
    twin = Api(user.base)
    twin.token = login(twin, user.email, PASSWORD).json["access_token"]
    body = {"current_password": PASSWORD, "new_password": OTHER}
    assert user.call("POST", "/api/auth/password", body).status == 204
    for old in (user, twin):
        expect(old.call("GET", "/api/auth/me"), 401)
        expect(old.call("GET", "/api/links"), 401)
    expect(login(twin, user.email, PASSWORD), 401)
    twin.token = login(twin, user.email, OTHER).json["access_token"]
    assert twin.call("GET", "/api/auth/me").status == 200, "within the same second"
    assert twin.call("GET", "/api/links", headers={"Authorization": f"Bearer {key}"}).status == 200
    assert database.value("SELECT count(*) FROM audit_log WHERE action = 'user.password' AND subject_id = %s", user_id) == 1


def test_a_new_password_requires_the_old_one_and_guesses_are_counted(new_user, expect):
    user = new_user()
    body = {"current_password": "short", "new_password": "x" * 73, "more": 1}
    expect(user.call("POST", "/api/auth/password", body), 400, "/current_password", "/new_password", "/more")
    wrong = {"current_password": "not this one", "new_password": OTHER}
    for _ in range(2):
        assert expect(user.call("POST", "/api/auth/password", wrong), 403)["type"] == "/problems/wrong-password"
    expect(user.call("DELETE", "/api/auth/me", {"password": "not this one"}), 403)
    answer = user.call("POST", "/api/auth/password", wrong)
    expect(answer, 429)
    assert answer.headers["ratelimit-policy"] == '"password";q=3;w=900'
    assert login(user, user.email, PASSWORD).status == 200, "guesses with a token do not limit logins"
    assert user.call("GET", "/api/auth/me").status == 200


def audited(database, action, user_id):
    query = "SELECT actor_id FROM audit_log WHERE action = %s AND subject_id = %s"
    return [actor for (actor,) in database.run(query, action, user_id)]


def test_a_token_of_an_administrator_resets_the_password_once(new_user, admin, anonymous, database, expect):
    user = new_user()
    user_id = user.call("GET", "/api/auth/me").json["user"]["id"]
    in_a_day = "SELECT date_trunc('milliseconds', clock_timestamp()) + interval '24 hours'"
    earliest = database.value(in_a_day)
    made = admin.call("POST", f"/api/admin/users/{user_id}/password-reset")
    assert made.status == 201 and set(made.json) == {"token", "expires_at"}
    assert earliest <= datetime.datetime.fromisoformat(made.json["expires_at"]) <= database.value(in_a_day)
    body = {"token": made.json["token"], "new_password": OTHER}
    dump = database.value("SELECT password_resets::text FROM password_resets WHERE user_id = %s", user_id)
    assert hashlib.sha256(body["token"].encode()).hexdigest() in dump and body["token"] not in dump
    assert anonymous.call("POST", "/api/auth/password-reset", body).status == 204
    expect(user.call("GET", "/api/auth/me"), 401)
    expect(login(anonymous, user.email, PASSWORD), 401)
    assert login(anonymous, user.email, OTHER).status == 200
    assert expect(anonymous.call("POST", "/api/auth/password-reset", body), 403)["type"] == "/problems/wrong-token"
    assert audited(database, "user.password_reset_create", user_id) == [admin.id]
    assert audited(database, "user.password_reset", user_id) == [user_id]


def test_a_reset_token_ends_with_its_time_a_later_token_and_a_new_password(new_user, admin, anonymous, database, expect):
    user = new_user()
    user_id = user.call("GET", "/api/auth/me").json["user"]["id"]

    def create():
        return admin.call("POST", f"/api/admin/users/{user_id}/password-reset").json["token"]

    def use(token):
        return anonymous.call("POST", "/api/auth/password-reset", {"token": token, "new_password": OTHER})

    first, second = create(), create()
    expect(use(first), 403)
    database.run("UPDATE password_resets SET expires_at = now() WHERE user_id = %s", user_id)
    expect(use(second), 403)
    third = create()
    change = {"current_password": PASSWORD, "new_password": PASSWORD + "2"}
    assert user.call("POST", "/api/auth/password", change).status == 204
    expect(use(third), 403)
    expect(use("wmr_" + "x" * 43), 403)
    wrong = {"token": 7, "new_password": "short", "more": 1}
    expect(anonymous.call("POST", "/api/auth/password-reset", wrong), 400, "/token", "/new_password", "/more")
    expect(admin.call("POST", "/api/admin/users/999999999999/password-reset"), 404)
    expect(login(anonymous, user.email, OTHER), 401)


def test_users_change_their_own_name(new_user, database, expect):
    user = new_user()
    before = user.call("GET", "/api/auth/me").json["user"]
    changed = user.call("PATCH", "/api/auth/me", {"name": "Änn"})
    assert changed.status == 200 and changed.json == {"user": before | {"name": "Änn"}}
    assert user.call("PATCH", "/api/auth/me", {"name": "Änn"}).status == 200
    assert user.call("GET", "/api/auth/me").json == changed.json
    expect(user.call("PATCH", "/api/auth/me", {"name": "x" * 101, "email": "a@example.com"}), 400, "/name", "/email")
    assert user.call("PATCH", "/api/auth/me", {}).json == changed.json
    assert audited(database, "user.settings", before["id"]) == [before["id"]], "only the change has an entry"


def test_users_keep_settings_for_all_their_browsers(new_user, expect):
    user = new_user()
    before = user.call("GET", "/api/auth/me").json["user"]
    assert (before["tz"], before["locale"], before["theme"]) == (None, None, "system")
    changes = {"tz": "Europe/Berlin"}, {"locale": "pt-BR", "theme": "dark"}, {"tz": "CET"}, {"locale": None}, {"tz": None, "theme": "light"}
    for change in (*changes, {"workspace_id": None}, {"workspace_id": before["id"]}):
        before |= change
        assert user.call("PATCH", "/api/auth/me", change).json == {"user": before}, change
    assert user.call("GET", "/api/auth/me").json == {"user": before}
    for locale in ("de", "fil", "zh-Hans", "zh-Hans-CN", "kok-Deva-356", "es-419"):
        assert user.call("PATCH", "/api/auth/me", {"locale": locale}).json["user"]["locale"] == locale
    for locale in ("", "d", "DE", "de_DE", "de-de", "de-D", "de-DEU", "german", "de-", "de-Latn-", "zh-hans", "de-DE-DE", "es-41", "../de", 7):
        expect(user.call("PATCH", "/api/auth/me", {"locale": locale}), 400, "/locale")
    for workspace in (0, -1, 1.5, "7", True):
        expect(user.call("PATCH", "/api/auth/me", {"workspace_id": workspace}), 400, "/workspace_id")
    for tz in ("", "Europe/Nowhere", "europe/berlin", "+01:00", "x" * 48, "'; --", 1):
        expect(user.call("PATCH", "/api/auth/me", {"tz": tz, "theme": "dark"}), 400, "/tz")
    expect(user.call("PATCH", "/api/auth/me", {"theme": "blue", "tz": 1, "locale": 2}), 400, "/theme", "/tz", "/locale")
    expect(user.call("PATCH", "/api/auth/me", {"theme": None}), 400, "/theme")
    assert user.call("GET", "/api/auth/me").json == {"user": before | {"locale": "es-419"}}


def test_account_deletion_erases_personal_data_and_deletes_links(new_user, database, expect):
    user = new_user()
    user_id = user.call("GET", "/api/auth/me").json["user"]["id"]
    database.run("UPDATE users SET name = 'Ann', tz = 'CET', locale = 'de', theme = 'dark' WHERE id = %s", user_id)
    links = [user.create() for _ in range(3)]
    assert user.call("PATCH", f"/api/links/{links[1]['id']}", {"state": "disabled"}).status == 200
    assert user.call("DELETE", f"/api/links/{links[2]['id']}").status == 204
    key = Api(user.base)
    key.token = insert_api_key(database, user_id, ["links:read"])
    expect(user.call("DELETE", "/api/auth/me", {"password": OTHER}), 403)
    assert user.call("DELETE", "/api/auth/me", {"password": PASSWORD}).status == 204

    for api in (user, key):
        expect(api.call("GET", "/api/links"), 401)
    assert database.value("SELECT count(*) FROM api_keys WHERE created_by = %s", user_id) == 0
    key.token = insert_api_key(database, user_id, ["links:read"])
    expect(key.call("GET", "/api/links"), 401)
    expect(login(Api(user.base), user.email, PASSWORD), 401)
    row = database.run("SELECT email, password_hash, name, tz, locale, theme FROM users WHERE id = %s", user_id)[0]
    assert row == (None, None, "", None, None, "system")
    states = dict(database.run("SELECT id, state FROM links WHERE workspace_id = %s", user_id))
    assert set(states.values()) == {"DELETED"} and len(states) == 3
    versions = dict(database.run("SELECT id, version FROM links WHERE workspace_id = %s", user_id))
    assert [versions[link["id"]] for link in links] == [2, 3, 2], "links that were already deleted stay as they are"
    actions = database.run(
        "SELECT action, count(*) FROM audit_log WHERE actor_id = %s AND action IN ('link.delete', 'user.delete', "
        "'key.delete') GROUP BY action ORDER BY action", user_id)  # fmt: skip
    assert actions == [("link.delete", 2), ("user.delete", 1)], "one of the user, one for all links of the deletion"
    whole = str(database.run("SELECT * FROM audit_log WHERE actor_id = %s", user_id))
    assert user.email not in whole

    again = Api(user.base)
    again.register_and_login(user.email)
    assert again.call("GET", "/api/auth/me").json["user"]["id"] != user_id, "the address can be registered again"
    assert again.call("GET", "/api/links").json["links"] == []


def test_an_administrator_deletes_the_account_of_a_person_without_password(admin, service, database, expect):
    """As single sign-on makes them."""
    user = User(service, database)
    database.run("UPDATE users SET password_hash = NULL, name = 'Ann' WHERE id = %s", user.id)
    database.run("INSERT INTO identities (user_id, issuer, subject, provider) VALUES (%s, 'https://id.example', %s, 'company')", user.id, str(user.id))
    link, (key, _), browser = user.create(), user.with_key("links:read"), Browser(service.url, insert_session(database, user.id))
    by_key, made = admin.with_key("admin:write")
    path = f"/api/admin/users/{user.id}"
    assert expect(admin.call("DELETE", f"/api/admin/users/{admin.id}"), 409, "")["type"] == "/problems/own-account"
    expect(admin.call("DELETE", "/api/admin/users/999999999"), 404)
    assert by_key.call("DELETE", path).status == 204

    for api in (user, key, browser):
        expect(api.call("GET", "/api/links"), 401)
    assert database.run("SELECT email, name FROM users WHERE id = %s", user.id) == [(None, "")]
    assert database.value("SELECT count(*) FROM identities WHERE user_id = %s", user.id) == 0
    assert database.value("SELECT state FROM links WHERE id = %s", link["id"]) == "DELETED"
    entry = "SELECT actor_id, key_id FROM audit_log WHERE action = 'user.delete' AND subject_id = %s"
    assert database.run(entry, user.id) == [(admin.id, made["id"])]
    wait_until(lambda: user.id in [line["user_id"] for line in service.events("account_deleted")], "what repeats it after a restore")
    for method in ("DELETE", "GET"):
        expect(admin.call(method, path), 404)


WAITING = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"


def run_both_concurrently(database, ids, calls):
    """Runs two requests that both reach the locked accounts before either can continue."""
    blocker = psycopg2.connect(database.url())
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        blocker.cursor().execute("SELECT id FROM users WHERE id = ANY(%s) FOR UPDATE", (ids,))
        answers = [pool.submit(*call) for call in calls]
        wait_until(lambda: database.value(WAITING) == 2, "both to wait")
        blocker.rollback()
        blocker.close()
        return [answer.result() for answer in answers]


@pytest.fixture
def only_admins(new_user, database):
    """only_admins(n): creates n administrators with passwords; the other administrators are users during the test."""
    others = [id for (id,) in database.run("UPDATE users SET role = 'user' WHERE role = 'admin' RETURNING id")]

    def make(count):
        made = [new_user() for _ in range(count)]
        for one in made:
            one.id = one.call("GET", "/api/auth/me").json["user"]["id"]
            database.run("UPDATE users SET role = 'admin' WHERE id = %s", one.id)
        return made

    yield make
    database.run("UPDATE users SET role = 'user' WHERE role = 'admin'")
    database.run("UPDATE users SET role = 'admin' WHERE id = ANY(%s)", others)


ACTING_ADMINS = "SELECT count(*) FROM users WHERE role = 'admin' AND NOT blocked AND deleted_at IS NULL"


@pytest.mark.parametrize("method, change, done", [("PATCH", {"role": "user"}, 200), ("PATCH", {"blocked": True}, 200), ("DELETE", None, 204)], ids=["demote", "block", "delete"])
def test_one_of_two_admins_who_demote_each_other_stays_admin(only_admins, database, method, change, done):
    a, b = only_admins(2)
    answers = run_both_concurrently(
        database, [a.id, b.id],
        [(one.call, method, f"/api/admin/users/{other.id}", change) for one, other in ((a, b), (b, a))],
    )  # fmt: skip
    assert sorted(answer.status for answer in answers) == [done, 403]
    assert next(answer.json["type"] for answer in answers if answer.status == 403) == "/problems/forbidden"
    assert database.value(ACTING_ADMINS) == 1


def test_the_last_admin_cannot_delete_the_own_account(only_admins, database, expect):
    a, b = only_admins(2)
    database.run("UPDATE users SET blocked = true WHERE id = %s", b.id)
    body = {"password": PASSWORD}
    for _ in range(4):  # more often than the limit of wrong passwords
        assert expect(a.call("DELETE", "/api/auth/me", body), 409, "")["type"] == "/problems/last-admin"
    assert a.call("GET", "/api/admin/users").status == 200
    database.run("UPDATE users SET blocked = false WHERE id = %s", b.id)
    assert a.call("DELETE", "/api/auth/me", body).status == 204
    assert database.value(ACTING_ADMINS) == 1


def test_one_of_two_admins_who_delete_their_accounts_stays(only_admins, database):
    both = only_admins(2)
    answers = run_both_concurrently(
        database, [one.id for one in both], [(one.call, "DELETE", "/api/auth/me", {"password": PASSWORD}) for one in both]
    )
    assert sorted(answer.status for answer in answers) == [204, 409]
    assert database.value(ACTING_ADMINS) == 1


def test_an_admin_deleting_the_account_while_being_demoted_leaves_the_other_admin(only_admins, database):
    a, b = only_admins(2)
    answers = run_both_concurrently(
        database, [a.id, b.id],
        [(a.call, "DELETE", "/api/auth/me", {"password": PASSWORD}), (b.call, "PATCH", f"/api/admin/users/{a.id}", {"role": "user"})],
    )  # fmt: skip
    assert answers[0].status == 204 and answers[1].status in (200, 404), answers
    assert database.run("SELECT id FROM users WHERE role = 'admin' AND NOT blocked AND deleted_at IS NULL") == [(b.id,)]


def test_account_deletion_fails_if_the_password_is_replaced_meanwhile(new_user, database, expect):
    """The request has already verified the old password and waits for the lock on the account."""
    user = new_user()
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    blocker = psycopg2.connect(database.url())
    with blocker, concurrent.futures.ThreadPoolExecutor(2) as pool:
        blocker.cursor().execute("UPDATE users SET password_hash = 'another' WHERE email = %s", (user.email,))
        answers = [
            pool.submit(user.call, "DELETE", "/api/auth/me", {"password": PASSWORD}),
            pool.submit(user.call, "POST", "/api/auth/password", {"current_password": PASSWORD, "new_password": OTHER}),
        ]
        wait_until(lambda: database.value(waiting) == 2, "both to wait")
        blocker.commit()
        for answer in answers:
            assert expect(answer.result(), 403)["type"] == "/problems/wrong-password"
    blocker.close()
    assert database.run("SELECT password_hash, deleted_at FROM users WHERE email = %s", user.email) == [("another", None)]


def test_account_deletion_responds_once_redirectors_know(new_user, service, database):
    """Redirectors learn of it from the relay. While the relay is blocked, the response waits until they stop trusting Redis."""
    user = new_user()
    user_id = user.call("GET", "/api/auth/me").json["user"]["id"]
    link = user.create()
    with blocked_relay(service, database):
        assert user.call("DELETE", "/api/auth/me", {"password": PASSWORD}).status == 204
        assert database.value("SELECT state FROM links WHERE id = %s", link["id"]) == "DELETED"
        assert seconds_since_deletion(database, user_id) >= CACHE_VALID_S


@contextlib.contextmanager
def blocked_relay(service, database):
    database.run("UPDATE shedlock SET lock_until = clock_timestamp() + interval '1 hour', fence = fence + 1")
    try:
        # It continues for half a second under the lock that it holds.
        wait_until(lambda: not is_active(service), "the relay to stop")
        yield
    finally:
        database.run("UPDATE shedlock SET lock_until = clock_timestamp()")


def seconds_since_deletion(database, user_id):
    return database.value("SELECT extract(epoch FROM clock_timestamp() - deleted_at)::float8 FROM users WHERE id = %s", user_id)


def test_links_of_a_large_account_and_late_links_are_deleted_in_the_background(new_user, service, database):
    user = new_user()
    user_id = user.call("GET", "/api/auth/me").json["user"]["id"]
    insert = (
        "INSERT INTO links (slug, link_type, original_url, workspace_id, created_at) "
        "SELECT %s || n, 'PERMANENT', 'https://example.com/', %s, clock_timestamp() - interval '1 day' "
        "FROM generate_series(1, %s) AS n"
    )
    database.run(insert, f"g{user_id}-", user_id, 1700)
    left = "SELECT count(*) FROM links WHERE workspace_id = %s AND state <> 'DELETED'"
    # So long that the thread in the background looks for accounts meanwhile. It leaves this one to the request.
    with blocked_relay(service, database):
        assert user.call("DELETE", "/api/auth/me", {"password": PASSWORD}).status == 204
        assert seconds_since_deletion(database, user_id) >= 2 * CACHE_VALID_S
    assert database.value(left, user_id) <= 700
    database.run("UPDATE workspaces SET deleted_at = deleted_at - interval '30 s' WHERE id = %s", user_id)
    wait_until(lambda: database.value(left, user_id) == 0, "the remaining links to be deleted")
    database.run(insert, f"late{user_id}-", user_id, 1)
    wait_until(lambda: database.value(left, user_id) == 0, "the late link to be deleted")
    closing = "SELECT closing FROM workspaces WHERE id = %s"
    assert database.value(closing, user_id) == "deleting"
    database.run("INSERT INTO rollup_workspace_day (workspace_id, day, humans, bots, uniques) SELECT %s, current_date - n, 1, 0, 0 FROM generate_series(1, 1200) AS n", user_id)
    database.run("UPDATE workspaces SET deleted_at = deleted_at - interval '1 hour' WHERE id = %s", user_id)
    wait_until(lambda: database.value(closing, user_id) is None, "the deletion to finish, at once and not after a week")
    assert database.value("SELECT count(*) FROM rollup_workspace_day WHERE workspace_id = %s", user_id) == 0
    entries = database.run("SELECT subject_id, (details->>'links')::int FROM audit_log WHERE workspace_id = %s AND action = 'link.delete'", user_id)  # fmt: skip
    assert {subject for subject, _ in entries} == {user_id} and sum(count for _, count in entries) == 1701
    assert len(entries) <= 6, "one entry for each step of 500"


def test_a_blocked_user_is_refused_everywhere_until_unblocked(new_user, admin, database, expect):
    user = new_user()
    user_id = user.call("GET", "/api/auth/me").json["user"]["id"]
    key = Api(user.base)
    key.token = insert_api_key(database, user_id, ["links:read"])
    assert admin.call("PATCH", f"/api/admin/users/{user_id}", {"blocked": True}).json["user"]["blocked"] is True
    for answer in (user.call("GET", "/api/links"), key.call("GET", "/api/links"), login(user, user.email, PASSWORD)):
        assert expect(answer, 403)["type"] == "/problems/blocked"
    expect(login(user, user.email, "not this one"), 401)
    assert admin.call("PATCH", f"/api/admin/users/{user_id}", {"blocked": False}).status == 200
    assert user.call("GET", "/api/links").status == 200 and key.call("GET", "/api/links").status == 200


def test_right_and_refused_passwords_do_not_count_against_the_network(start, new_user, expect):
    user = new_user()
    service = start(LOGIN_FAILURES_PER_NETWORK=2, LOGIN_FAILURES=1)
    network = {"X-Forwarded-For": "203.0.115.1"}

    def log_in(email, password):
        return Api(service.url).call("POST", "/api/auth/login", {"email": email, "password": password}, network)

    assert [log_in(user.email, PASSWORD).status for _ in range(3)] == [200] * 3
    expect(log_in(user.email, OTHER), 401)
    for _ in range(3):
        assert log_in(user.email, OTHER).headers["ratelimit-policy"] == '"login";q=1;w=900'
    for _ in range(2):
        expect(log_in(unique_email(), OTHER), 401)
    assert log_in(unique_email(), OTHER).headers["ratelimit-policy"] == '"login-network";q=2;w=3600'


def test_the_first_of_several_secrets_signs_and_all_verify(start, database, expect):
    old, new = "o" * 32, "n" * 40
    service = start(JWT_SECRET=f"{new},{old}\n{SECRET}")
    user = User(service, database)
    for secret in (old, new, SECRET):
        user.token = make_token(user.id, secret)
        assert user.call("GET", "/api/auth/me").status == 200
    user.token = make_token(user.id, "x" * 32)
    expect(user.call("GET", "/api/auth/me"), 401)
    registered = Api(service.url)
    registered.register_and_login(unique_email())
    only_new = start(JWT_SECRET=new)
    registered.base = only_new.url
    assert registered.call("GET", "/api/auth/me").status == 200


def test_admins_find_accounts(admin, service, database, expect):
    found = [User(service, database) for _ in range(3)]
    part = found[0].email[5:15].upper()
    users = admin.call("GET", f"/api/admin/users?q={part}").json
    assert [user["id"] for user in users["users"]] == [found[0].id]
    assert set(users["users"][0]) == {"id", "email", "email_confirmed_at", "second_factor", "name", "role", "blocked", "links_per_day", "created_at"}
    assert users["pagination"] == {"page": 1, "limit": 20, "total": 1, "total_is_capped": False, "total_pages": 1, "next_cursor": None}
    assert admin.call("GET", "/api/admin/users?q=%25").json["users"] == [], "q is not a pattern"
    page = admin.call("GET", "/api/admin/users?page=2&limit=2").json
    assert len(page["users"]) == 2 and page["pagination"]["page"] == 2
    by_page = [user["id"] for n in (1, 2, 3) for user in admin.call("GET", f"/api/admin/users?page={n}&limit=2").json["users"]]
    by_cursor, cursor = [], ""
    for _ in range(3):
        page = admin.call("GET", f"/api/admin/users?limit=2{cursor}").json
        by_cursor += [user["id"] for user in page["users"]]
        cursor = f"&cursor={page['pagination']['next_cursor']}"
    assert by_cursor == by_page and page["pagination"]["page"] is None
    expect(admin.call("GET", f"/api/admin/users?page=1{cursor}"), 400, "/cursor")
    expect(admin.call("GET", "/api/admin/users?page=0&limit=101&x=1&q=a&q=b"), 400, "/page", "/limit", "/x", "/q")


def test_admins_change_accounts_but_not_their_own_role(admin, service, database, expect):
    user = User(service, database)
    path = f"/api/admin/users/{user.id}"
    changed = admin.call("PATCH", path, {"links_per_day": 7, "role": "admin"}).json["user"]
    assert (changed["links_per_day"], changed["role"]) == (7, "admin")
    assert user.call("GET", "/api/auth/me").json["user"]["links_per_day"] == 7
    assert admin.call("PATCH", path, {"links_per_day": None}).json["user"]["links_per_day"] is None
    assert admin.call("PATCH", path, {}).status == 200
    wrong = {"blocked": "yes", "role": "king", "links_per_day": -1, "email": "x"}
    expect(admin.call("PATCH", path, wrong), 400, "/blocked", "/role", "/links_per_day", "/email")
    for limit in ("none", "Unlimited", "", 1.5, True, 10**9 + 1, 2**63 - 1, [1]):
        expect(admin.call("PATCH", path, {"links_per_day": limit}), 400, "/links_per_day")
    expect(admin.call("PATCH", "/api/admin/users/999999999", {"blocked": True}), 404)
    for lockout in ({"role": "user"}, {"blocked": True}):
        problem = expect(admin.call("PATCH", f"/api/admin/users/{admin.id}", lockout), 409, "")
        assert problem["type"] == "/problems/own-account"
    assert admin.call("PATCH", path, {"role": "user"}).json["user"]["role"] == "user"
    assert expect(user.call("GET", "/api/admin/users"), 403)["type"] == "/problems/forbidden"


def test_links_of_a_deleted_account_stay_deleted(admin, new_user, database, expect):
    user = new_user()
    link, before = user.create(), user.create()
    assert user.call("DELETE", f"/api/links/{before['id']}").status == 204
    assert user.call("DELETE", "/api/auth/me", {"password": PASSWORD}).status == 204
    wait_until(lambda: database.value("SELECT state FROM links WHERE id = %s", link["id"]) == "DELETED", "its links to be deleted")
    for one in (link, before):
        expect(admin.call("POST", f"/api/links/{one['id']}/restore"), 409, "")
        assert database.value("SELECT state FROM links WHERE id = %s", one["id"]) == "DELETED"


def test_no_link_is_restored_while_its_account_is_deleted(admin, service, database, expect):
    """A restore waits for the deletion of the account, which may already have passed this link."""
    user = User(service, database)
    link = user.create()
    assert user.call("DELETE", f"/api/links/{link['id']}").status == 204
    deletion = psycopg2.connect(database.url())
    end = "UPDATE users SET email = NULL, password_hash = NULL, name = '', deleted_at = clock_timestamp() WHERE id = %s"
    deletion.cursor().execute(end, (user.id,))
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        restores = [pool.submit(api.call, "POST", f"/api/links/{link['id']}/restore") for api in (admin, user)]
        wait_until(lambda: database.value(waiting) == 2, "both to wait")
        deletion.commit()
        assert [restore.result().status for restore in restores] == [409, 409]
    deletion.close()
    assert database.value("SELECT state FROM links WHERE id = %s", link["id"]) == "DELETED"


def test_an_admin_restores_a_link_without_owner(admin, service, database):
    link = Api(service.url).call("POST", "/api/links/public", {"original_url": "https://example.com/"}).json["link"]
    assert admin.call("DELETE", f"/api/links/{link['id']}").status == 204
    assert admin.call("POST", f"/api/links/{link['id']}/restore").status == 200


def test_the_audit_log_shows_admins_who_did_what(admin, service, database, expect):
    user = User(service, database)
    key, shown = user.with_key("links:write")
    link = key.call("POST", "/api/links", {"original_url": "https://example.com/?token=hidden"}).json["link"]
    path = f"/api/links/{link['id']}"
    assert user.call("PATCH", path, {"title": "t"}, {"X-Request-Id": "the-request"}).status == 200
    assert user.call("PATCH", path, {"title": "t"}).json["link"]["version"] == 2, "a change without effect has no version"
    assert admin.call("DELETE", path).status == 204
    assert admin.call("POST", f"{path}/restore").status == 200

    log = admin.call("GET", f"/api/admin/audit?subject_type=link&subject_id={link['id']}").json
    entries = [(entry["action"], entry["actor_id"], entry["key_id"]) for entry in log["entries"]]
    assert entries == [
        ("link.restore", admin.id, None), ("link.delete", admin.id, None),
        ("link.update", user.id, None), ("link.create", user.id, shown["id"]),
    ]  # fmt: skip
    assert log["pagination"]["next_cursor"] is None and log["entries"][2]["request_id"] == "the-request"
    assert log["entries"][0]["details"] == {"slug": link["slug"], "version": 4, "workspace_id": user.id}
    assert "hidden" not in str(database.run("SELECT * FROM audit_log"))

    mine = admin.call("GET", f"/api/admin/audit?actor_id={user.id}&limit=2").json
    assert [entry["action"] for entry in mine["entries"]] == ["link.update", "link.create"]
    rest = admin.call("GET", f"/api/admin/audit?actor_id={user.id}&limit=2&cursor={mine['pagination']['next_cursor']}").json
    assert [entry["action"] for entry in rest["entries"]] == ["key.create"] and rest["pagination"]["next_cursor"] is None
    only = admin.call("GET", f"/api/admin/audit?action=key.create&actor_id={user.id}").json
    assert [entry["subject_id"] for entry in only["entries"]] == [shown["id"]]
    expect(admin.call("GET", "/api/admin/audit?cursor=x&action=a&action=b&who=1"), 400, "/cursor", "/action", "/who")


def test_the_audit_log_names_users_and_links_that_exist(admin, new_user):
    user = new_user()
    user_id = user.call("GET", "/api/auth/me").json["user"]["id"]
    link = user.create()
    assert admin.call("PATCH", f"/api/admin/users/{user_id}", {"links_per_day": 5}).status == 200

    def names(query):
        (entry, *_) = admin.call("GET", f"/api/admin/audit?{query}").json["entries"]
        return entry["actor_email"], entry["subject_name"]

    of_user, of_link = f"subject_type=user&subject_id={user_id}", f"subject_type=link&subject_id={link['id']}"
    assert names(of_user) == (admin.email, user.email)
    assert names(of_link) == (user.email, link["slug"])
    # A share has the name of what it shows; that of a link also after it is revoked.
    for subject, name, later in (({"link_id": link["id"]}, link["slug"], link["slug"]), ({"tag": "spring"}, "spring", None)):
        share = user.call("POST", "/api/shares", subject).json["share"]
        of_share = f"subject_type=share&subject_id={share['id']}"
        assert names(of_share) == (user.email, name)
        assert user.call("DELETE", f"/api/shares/{share['id']}").status == 204
        assert names(f"{of_share}&action=share.delete") == (user.email, later)
    assert user.call("DELETE", f"/api/links/{link['id']}?hard=true").status == 204
    assert names(of_link) == (user.email, None)
    assert user.call("DELETE", "/api/auth/me", {"password": PASSWORD}).status == 204
    assert names(of_link) == (None, None)
    assert names(of_user)[1] is None


def test_each_change_adds_one_audit_entry(service, database):
    """One change of each kind; other tests cover bulk changes and account deletion."""
    admin, user = User(service, database, "admin"), Api(service.url)
    user.register_and_login(unique_email())
    user_id = user.call("GET", "/api/auth/me").json["user"]["id"]
    key = user.call("POST", "/api/keys", {"name": "k", "scopes": ["links:read"]}).json["key"]
    path = f"/api/links/{user.create()['id']}"
    host = admin.call("POST", "/api/admin/hosts", {"host": "audited.example"}).json["host"]
    steps = [
        (user, "PATCH", path, {"title": "t"}),
        (user, "PATCH", path, {"state": "disabled"}),
        (user, "PATCH", path, {"state": "active"}),
        (user, "DELETE", path, None),
        (user, "POST", f"{path}/restore", None),
        (user, "DELETE", f"{path}?hard=true", None),
        (user, "DELETE", f"/api/keys/{key['id']}", None),
        (admin, "PATCH", f"/api/admin/users/{user_id}", {"links_per_day": 7}),
        (admin, "PATCH", f"/api/admin/users/{user_id}", {"links_per_day": 7}),
        (admin, "DELETE", f"/api/admin/hosts/{host['id']}", None),
        (user, "POST", "/api/auth/password", {"current_password": PASSWORD, "new_password": OTHER}),
    ]
    for who, method, where, body in steps:
        answer = who.call(method, where, body)
        assert answer.status in (200, 204), (method, where, answer)
    query = "SELECT action FROM audit_log WHERE actor_id = %s ORDER BY id"
    assert [action for (action,) in database.run(query, user_id)] == [
        "user.create", "key.create", "link.create", "link.update", "link.disable", "link.enable", "link.delete",
        "link.restore", "link.purge", "key.delete", "user.password",
    ]  # fmt: skip
    assert [action for (action,) in database.run(query, admin.id)] == ["host.block", "user.update", "host.unblock"]
