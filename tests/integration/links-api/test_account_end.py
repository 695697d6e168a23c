"""New passwords, blocks and the end of an account: what they take away, and when."""

import concurrent.futures
import subprocess
import time

import psycopg2
import pytest
from clients import Api, unique_email
from people import Person, insert_key, token_of
from service import BUILD, SECRET, is_active
from waiting import wait_until

PASSWORD = "correct horse battery"
OTHER = "staple correct horse"
# A Redis that is slow limits nobody. What is tried here is one that answers, however busy the machine is.
VARIABLES = {"REDIS_TIMEOUT_MS": 5000}
BELIEVED_S = 4  # lib/links/link_cache_trust.h


@pytest.fixture(scope="module")
def service(start):
    return start(LOGIN_FAILURES=3, PG_STATEMENT_TIMEOUT_MS=20000)  # what waits here for a lock is not to give up


@pytest.fixture
def admin(service, database):
    return Person(service, database, "admin")


def login(api, email, password):
    return api.call("POST", "/api/auth/login", {"email": email, "password": password})


def test_a_new_password_ends_every_token_of_before_and_no_key(new_user, database, expect):
    user = new_user()
    user_id = user.call("GET", "/api/auth/me").json["user"]["id"]
    key = insert_key(database, user_id, ["links:read"])
    twin = Api(user.base)
    twin.token = login(twin, user.email, PASSWORD).json["access_token"]
    body = {"current_password": PASSWORD, "new_password": OTHER}
    assert user.call("POST", "/api/auth/password", body).status == 204
    for old in (user, twin):
        expect(old.call("GET", "/api/auth/me"), 401)
        expect(old.call("GET", "/api/links"), 401)
    expect(login(twin, user.email, PASSWORD), 401)
    twin.token = login(twin, user.email, OTHER).json["access_token"]
    assert twin.call("GET", "/api/auth/me").status == 200, "the very second after"
    assert twin.call("GET", "/api/links", headers={"Authorization": f"Bearer {key}"}).status == 200
    assert database.ask("SELECT count(*) FROM audit_log WHERE action = 'user.password' AND subject_id = %s", user_id) == 1


def test_a_new_password_wants_the_old_one_and_guesses_are_counted(new_user, expect):
    user = new_user()
    body = {"current_password": "short", "new_password": "x" * 73, "more": 1}
    expect(user.call("POST", "/api/auth/password", body), 400, "/current_password", "/new_password", "/more")
    wrong = {"current_password": "not this one", "new_password": OTHER}
    for _ in range(2):
        assert expect(user.call("POST", "/api/auth/password", wrong), 403)["type"] == "/problems/wrong-password"
    expect(user.call("DELETE", "/api/auth/me", {"password": "not this one"}), 403)
    expect(user.call("POST", "/api/auth/password", wrong), 429)
    expect(login(user, user.email, PASSWORD), 429)
    assert user.call("GET", "/api/auth/me").status == 200


def test_of_two_new_passwords_at_once_one_wins(new_user):
    user = new_user()
    bodies = [{"current_password": PASSWORD, "new_password": OTHER + str(i)} for i in range(2)]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda body: user.call("POST", "/api/auth/password", body).status, bodies))
    assert sorted(answers) in ([204, 403], [204, 401]), answers
    won = bodies[answers.index(204)]["new_password"]
    assert login(Api(user.base), user.email, won).status == 200


def test_a_deleted_account_leaves_no_person_and_no_link_behind(new_user, database, expect):
    user = new_user()
    user_id = user.call("GET", "/api/auth/me").json["user"]["id"]
    database.run("UPDATE users SET name = 'Ann' WHERE id = %s", user_id)
    links = [user.create() for _ in range(3)]
    assert user.call("PATCH", f"/api/links/{links[1]['id']}", {"state": "DISABLED"}).status == 200
    assert user.call("DELETE", f"/api/links/{links[2]['id']}").status == 204
    key = Api(user.base)
    key.token = insert_key(database, user_id, ["links:read"])
    expect(user.call("DELETE", "/api/auth/me", {"password": OTHER}), 403)
    assert user.call("DELETE", "/api/auth/me", {"password": PASSWORD}).status == 204

    for api in (user, key):
        expect(api.call("GET", "/api/links"), 401)
    assert database.ask("SELECT count(*) FROM api_keys WHERE user_id = %s", user_id) == 0
    key.token = insert_key(database, user_id, ["links:read"])
    expect(key.call("GET", "/api/links"), 401)
    expect(login(Api(user.base), user.email, PASSWORD), 401)
    row = database.run("SELECT email, password_hash, name FROM users WHERE id = %s", user_id)[0]
    assert row == (None, None, "")
    states = dict(database.run("SELECT id, state FROM links WHERE owner_id = %s", user_id))
    assert set(states.values()) == {"DELETED"} and len(states) == 3
    versions = dict(database.run("SELECT id, version FROM links WHERE owner_id = %s", user_id))
    assert [versions[link["id"]] for link in links] == [2, 3, 2], "what was deleted already is left alone"
    actions = database.run(
        "SELECT action, count(*) FROM audit_log WHERE actor_id = %s AND action IN ('link.delete', 'user.delete', "
        "'key.delete') GROUP BY action ORDER BY action", user_id)  # fmt: skip
    assert actions == [("link.delete", 3), ("user.delete", 1)]
    whole = str(database.run("SELECT * FROM audit_log WHERE actor_id = %s", user_id))
    assert user.email not in whole

    again = Api(user.base)
    again.register_and_login(user.email)
    assert again.call("GET", "/api/auth/me").json["user"]["id"] != user_id, "the address is free again"
    assert again.call("GET", "/api/links").json["links"] == []


WAITING = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"


def both_at_once(database, ids, calls):
    """The answers to two requests that have both come as far as these accounts before either can go on."""
    blocker = psycopg2.connect(database.url())
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        blocker.cursor().execute("SELECT id FROM users WHERE id = ANY(%s) FOR UPDATE", (ids,))
        answers = [pool.submit(*call) for call in calls]
        wait_until(lambda: database.ask(WAITING) == 2, 60, "both to wait")
        blocker.rollback()
        blocker.close()
        return [answer.result() for answer in answers]


@pytest.fixture
def only_admins(new_user, database):
    """only_admins(n): people with passwords; whoever was an admin before them is none for as long as the test goes on."""
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


@pytest.mark.parametrize("change", [{"role": "user"}, {"blocked": True}], ids=["demote", "block"])
def test_of_two_admins_who_take_each_others_rights_one_keeps_his(only_admins, database, change):
    a, b = only_admins(2)
    answers = both_at_once(
        database, [a.id, b.id],
        [(one.call, "PATCH", f"/api/admin/users/{other.id}", change) for one, other in ((a, b), (b, a))],
    )  # fmt: skip
    assert sorted(answer.status for answer in answers) == [200, 403]
    assert next(answer.json["type"] for answer in answers if answer.status == 403) == "/problems/forbidden"
    assert database.ask(ACTING_ADMINS) == 1


def test_the_only_admin_cannot_give_his_account_up(only_admins, database, expect):
    a, b = only_admins(2)
    database.run("UPDATE users SET blocked = true WHERE id = %s", b.id)
    body = {"password": PASSWORD}
    for _ in range(4):  # more often than passwords may be wrong
        assert expect(a.call("DELETE", "/api/auth/me", body), 409, "")["type"] == "/problems/last-admin"
    assert a.call("GET", "/api/admin/users").status == 200
    database.run("UPDATE users SET blocked = false WHERE id = %s", b.id)
    assert a.call("DELETE", "/api/auth/me", body).status == 204
    assert database.ask(ACTING_ADMINS) == 1


def test_of_two_admins_who_give_their_accounts_up_one_stays(only_admins, database):
    both = only_admins(2)
    answers = both_at_once(
        database, [one.id for one in both], [(one.call, "DELETE", "/api/auth/me", {"password": PASSWORD}) for one in both]
    )
    assert sorted(answer.status for answer in answers) == [204, 409]
    assert database.ask(ACTING_ADMINS) == 1


def test_an_admin_who_gives_his_account_up_while_the_other_takes_his_role_is_gone_and_the_other_stays(only_admins, database):
    a, b = only_admins(2)
    answers = both_at_once(
        database, [a.id, b.id],
        [(a.call, "DELETE", "/api/auth/me", {"password": PASSWORD}), (b.call, "PATCH", f"/api/admin/users/{a.id}", {"role": "user"})],
    )  # fmt: skip
    assert answers[0].status == 204 and answers[1].status in (200, 404), answers
    assert database.run("SELECT id FROM users WHERE role = 'admin' AND NOT blocked AND deleted_at IS NULL") == [(b.id,)]


def test_who_ends_an_account_with_a_password_that_is_replaced_meanwhile_does_not(new_user, database, expect):
    """The request has compared the old password already, and waits for the account."""
    user = new_user()
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    blocker = psycopg2.connect(database.url())
    with blocker, concurrent.futures.ThreadPoolExecutor(2) as pool:
        blocker.cursor().execute("UPDATE users SET password_hash = 'another' WHERE email = %s", (user.email,))
        answers = [
            pool.submit(user.call, "DELETE", "/api/auth/me", {"password": PASSWORD}),
            pool.submit(user.call, "POST", "/api/auth/password", {"current_password": PASSWORD, "new_password": OTHER}),
        ]
        wait_until(lambda: database.ask(waiting) == 2, 20, "both to wait")
        blocker.commit()
        for answer in answers:
            assert expect(answer.result(), 403)["type"] == "/problems/wrong-password"
    blocker.close()
    assert database.run("SELECT password_hash, deleted_at FROM users WHERE email = %s", user.email) == [("another", None)]


def test_the_end_of_an_account_is_answered_when_redirectors_know(new_user, service, database):
    """They hear of it from the relay. While that rests, the answer waits until redirectors stop believing Redis."""
    user = new_user()
    user_id = user.call("GET", "/api/auth/me").json["user"]["id"]
    link = user.create()
    database.run("UPDATE shedlock SET lock_until = clock_timestamp() + interval '1 hour', fence = fence + 1")
    try:
        # It goes on for half a second with what it holds.
        wait_until(lambda: not is_active(service), 20, "the relay to rest")
        assert user.call("DELETE", "/api/auth/me", {"password": PASSWORD}).status == 204
        assert database.ask("SELECT state FROM links WHERE id = %s", link["id"]) == "DELETED"
        since_s = "SELECT extract(epoch FROM clock_timestamp() - deleted_at)::float8 FROM users WHERE id = %s"
        assert database.ask(since_s, user_id) >= BELIEVED_S
    finally:
        database.run("UPDATE shedlock SET lock_until = clock_timestamp()")


def test_links_of_a_great_account_and_such_as_come_late_are_deleted_in_the_background(new_user, database):
    user = new_user()
    user_id = user.call("GET", "/api/auth/me").json["user"]["id"]
    insert = (
        "INSERT INTO links (slug, link_type, original_url, owner_id, created_at) "
        "SELECT %s || n, 'PERMANENT', 'https://example.com/', %s, clock_timestamp() - interval '1 day' "
        "FROM generate_series(1, %s) AS n"
    )
    database.run(insert, f"g{user_id}-", user_id, 1700)
    assert user.call("DELETE", "/api/auth/me", {"password": PASSWORD}).status == 204
    left = "SELECT count(*) FROM links WHERE owner_id = %s AND state <> 'DELETED'"
    assert database.ask(left, user_id) <= 700
    wait_until(lambda: database.ask(left, user_id) == 0, 20, "the end of the rest")
    database.run(insert, f"late{user_id}-", user_id, 1)
    wait_until(lambda: database.ask(left, user_id) == 0, 20, "the end of the late one")
    assert database.ask("SELECT is_closing FROM users WHERE id = %s", user_id)
    database.run("UPDATE users SET deleted_at = deleted_at - interval '1 hour' WHERE id = %s", user_id)
    wait_until(lambda: not database.ask("SELECT is_closing FROM users WHERE id = %s", user_id), 20, "the account's end")
    assert database.ask("SELECT count(DISTINCT subject_id) FROM audit_log WHERE actor_id = %s AND action = 'link.delete'", user_id) == 1701  # fmt: skip


def test_a_blocked_user_is_refused_at_every_door_until_he_is_not(new_user, admin, database, expect):
    user = new_user()
    user_id = user.call("GET", "/api/auth/me").json["user"]["id"]
    key = Api(user.base)
    key.token = insert_key(database, user_id, ["links:read"])
    assert admin.call("PATCH", f"/api/admin/users/{user_id}", {"blocked": True}).json["user"]["blocked"] is True
    for answer in (user.call("GET", "/api/links"), key.call("GET", "/api/links"), login(user, user.email, PASSWORD)):
        assert expect(answer, 403)["type"] == "/problems/blocked"
    expect(login(user, user.email, "not this one"), 401)
    assert admin.call("PATCH", f"/api/admin/users/{user_id}", {"blocked": False}).status == 200
    assert user.call("GET", "/api/links").status == 200 and key.call("GET", "/api/links").status == 200


def test_a_network_rests_after_its_share_of_wrong_passwords(start, database, expect):
    service = start(LOGIN_FAILURES_PER_NETWORK=3, LOGIN_FAILURES=0)
    api = Api(service.url)

    def guess(address):
        return api.call("POST", "/api/auth/login", {"email": unique_email(), "password": "not this one"},
                        {"X-Forwarded-For": address})  # fmt: skip

    for host in (1, 2, 3):
        expect(guess(f"203.0.113.{host}"), 401)
    answer = guess("203.0.113.99")
    expect(answer, 429)
    assert answer.headers["ratelimit-policy"] == '"login-network";q=3;w=3600'
    assert 0 < int(answer.headers["retry-after"]) <= 3600
    expect(guess("203.0.114.1"), 401)


def test_right_passwords_and_refused_ones_take_nothing_from_the_share_of_a_network(start, new_user, expect):
    user = new_user()
    service = start(LOGIN_FAILURES_PER_NETWORK=2, LOGIN_FAILURES=1)
    network = {"X-Forwarded-For": "203.0.115.1"}

    def log_in(email, password):
        return Api(service.url).call("POST", "/api/auth/login", {"email": email, "password": password}, network)

    assert [log_in(user.email, PASSWORD).status for _ in range(3)] == [200] * 3
    expect(log_in(user.email, OTHER), 401)
    for _ in range(3):
        assert log_in(user.email, OTHER).headers["ratelimit-policy"] == '"login";q=1;w=900'
    expect(log_in(unique_email(), OTHER), 401)
    assert log_in(unique_email(), OTHER).headers["ratelimit-policy"] == '"login-network";q=2;w=3600'


def test_the_first_of_several_secrets_signs_and_all_verify(start, database, expect):
    old, new = "o" * 32, "n" * 40
    service = start(JWT_SECRET=f"{new},{old}\n{SECRET}")
    person = Person(service, database)
    for secret in (old, new, SECRET):
        person.token = token_of(person.id, secret)
        assert person.call("GET", "/api/auth/me").status == 200
    person.token = token_of(person.id, "x" * 32)
    expect(person.call("GET", "/api/auth/me"), 401)
    user = Api(service.url)
    user.register_and_login(unique_email())
    only_new = start(JWT_SECRET=new)
    user.base = only_new.url
    assert user.call("GET", "/api/auth/me").status == 200


def test_the_operator_makes_an_admin(service, database, expect):
    person = Person(service, database)
    assert expect(person.call("GET", "/api/admin/users"), 403)["type"] == "/problems/forbidden"
    environment = {
        "PG_URL": database.url("waymark_links_api"), "REDIS_URL": database.redis.url, "KAFKA_BROKERS": "127.0.0.1:1",
        "PUBLIC_BASE_URL": "https://wm.example", "JWT_SECRET": SECRET,
    }  # fmt: skip

    def make(email):
        return subprocess.run([BUILD / "bin/links-api", "--make-admin", email], env=environment, capture_output=True, text=True)  # fmt: skip

    assert make(unique_email()).returncode == 1
    done = make(person.email.upper())
    assert done.returncode == 0 and f"account {person.id} is an administrator" in done.stdout, done
    assert person.call("GET", "/api/admin/users").status == 200, "with the very token of before"
    assert database.ask(
        "SELECT count(*) FROM audit_log WHERE action = 'user.update' AND subject_id = %s AND actor_id IS NULL", person.id
    ) == 1  # fmt: skip
    assert make("nobody").returncode == 1


def test_admins_find_accounts(admin, service, database, expect):
    found = [Person(service, database) for _ in range(3)]
    part = found[0].email[5:15].upper()
    users = admin.call("GET", f"/api/admin/users?q={part}").json
    assert [user["id"] for user in users["users"]] == [found[0].id]
    assert set(users["users"][0]) == {"id", "email", "name", "role", "blocked", "links_per_day", "created_at"}
    assert users["pagination"] == {"page": 1, "limit": 20, "total": 1, "total_pages": 1}
    assert admin.call("GET", "/api/admin/users?q=%25").json["users"] == [], "no pattern"
    page = admin.call("GET", "/api/admin/users?page=2&limit=2").json
    assert len(page["users"]) == 2 and page["pagination"]["page"] == 2
    expect(admin.call("GET", "/api/admin/users?page=0&limit=101&x=1&q=a&q=b"), 400, "/page", "/limit", "/x", "/q")


def test_admins_change_accounts_but_not_their_own_rights(admin, service, database, expect):
    person = Person(service, database)
    path = f"/api/admin/users/{person.id}"
    changed = admin.call("PATCH", path, {"links_per_day": 7, "role": "admin"}).json["user"]
    assert (changed["links_per_day"], changed["role"]) == (7, "admin")
    assert person.call("GET", "/api/auth/me").json["user"]["links_per_day"] == 7
    assert admin.call("PATCH", path, {"links_per_day": None}).json["user"]["links_per_day"] is None
    assert admin.call("PATCH", path, {}).status == 200
    wrong = {"blocked": "yes", "role": "king", "links_per_day": -1, "email": "x"}
    expect(admin.call("PATCH", path, wrong), 400, "/blocked", "/role", "/links_per_day", "/email")
    expect(admin.call("PATCH", "/api/admin/users/999999999", {"blocked": True}), 404)
    for lockout in ({"role": "user"}, {"blocked": True}):
        problem = expect(admin.call("PATCH", f"/api/admin/users/{admin.id}", lockout), 409, "")
        assert problem["type"] == "/problems/own-account"
    assert admin.call("PATCH", path, {"role": "user"}).json["user"]["role"] == "user"
    assert expect(person.call("GET", "/api/admin/users"), 403)["type"] == "/problems/forbidden"


def test_links_of_a_deleted_account_stay_deleted(admin, new_user, database, expect):
    user = new_user()
    link, before = user.create(), user.create()
    assert user.call("DELETE", f"/api/links/{before['id']}").status == 204
    assert user.call("DELETE", "/api/auth/me", {"password": PASSWORD}).status == 204
    wait_until(lambda: database.ask("SELECT state FROM links WHERE id = %s", link["id"]) == "DELETED", 20, "its links to be deleted")
    for one in (link, before):
        expect(admin.call("POST", f"/api/links/{one['id']}/restore"), 409, "")
        assert database.ask("SELECT state FROM links WHERE id = %s", one["id"]) == "DELETED"


def test_no_link_is_restored_while_its_account_ends(admin, service, database, expect):
    """Who restores waits for who deletes the account: the walk through its links may be past this one."""
    person = Person(service, database)
    link = person.create()
    assert person.call("DELETE", f"/api/links/{link['id']}").status == 204
    ending = psycopg2.connect(database.url())
    end = "UPDATE users SET email = NULL, password_hash = NULL, name = '', deleted_at = clock_timestamp() WHERE id = %s"
    ending.cursor().execute(end, (person.id,))
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        restores = [pool.submit(api.call, "POST", f"/api/links/{link['id']}/restore") for api in (admin, person)]
        wait_until(lambda: database.ask(waiting) == 2, 20, "both to wait")
        ending.commit()
        assert [restore.result().status for restore in restores] == [409, 409]
    ending.close()
    assert database.ask("SELECT state FROM links WHERE id = %s", link["id"]) == "DELETED"


def test_an_admin_restores_what_nobody_owns(admin, service, database):
    link = Api(service.url).call("POST", "/api/links/public", {"original_url": "https://example.com/"}).json["link"]
    assert admin.call("DELETE", f"/api/links/{link['id']}").status == 204
    assert admin.call("POST", f"/api/links/{link['id']}/restore").status == 200


def test_the_audit_log_tells_admins_who_did_what(admin, service, database, expect):
    person = Person(service, database)
    key, shown = person.with_key("links:write")
    link = key.call("POST", "/api/links", {"original_url": "https://example.com/?token=hidden"}).json["link"]
    path = f"/api/links/{link['id']}"
    assert person.call("PATCH", path, {"title": "t"}, {"X-Request-Id": "the-request"}).status == 200
    assert person.call("PATCH", path, {"title": "t"}).status == 200, "which changes nothing"
    assert admin.call("DELETE", path).status == 204
    assert admin.call("POST", f"{path}/restore").status == 200

    log = admin.call("GET", f"/api/admin/audit?subject_type=link&subject_id={link['id']}").json
    told = [(entry["action"], entry["actor_id"], entry["key_id"]) for entry in log["entries"]]
    assert told == [
        ("link.restore", admin.id, None), ("link.delete", admin.id, None),
        ("link.update", person.id, None), ("link.create", person.id, shown["id"]),
    ]  # fmt: skip
    assert log["next_cursor"] is None and log["entries"][2]["request_id"] == "the-request"
    assert log["entries"][0]["details"] == {"slug": link["slug"], "version": 4, "owner_id": person.id}
    assert "hidden" not in str(database.run("SELECT * FROM audit_log"))

    mine = admin.call("GET", f"/api/admin/audit?actor_id={person.id}&limit=2").json
    assert [entry["action"] for entry in mine["entries"]] == ["link.update", "link.create"]
    rest = admin.call("GET", f"/api/admin/audit?actor_id={person.id}&limit=2&cursor={mine['next_cursor']}").json
    assert [entry["action"] for entry in rest["entries"]] == ["key.create"] and rest["next_cursor"] is None
    only = admin.call("GET", f"/api/admin/audit?action=key.create&actor_id={person.id}").json
    assert [entry["subject_id"] for entry in only["entries"]] == [shown["id"]]
    expect(admin.call("GET", "/api/admin/audit?cursor=x&action=a&action=b&who=1"), 400, "/cursor", "/action", "/who")


def test_each_change_leaves_one_entry(service, database):
    """By hand, one of each kind; what many links at once and an account's end leave is told elsewhere."""
    admin, user = Person(service, database, "admin"), Api(service.url)
    user.register_and_login(unique_email())
    user_id = user.call("GET", "/api/auth/me").json["user"]["id"]
    key = user.call("POST", "/api/keys", {"name": "k", "scopes": ["links:read"]}).json["key"]
    path = f"/api/links/{user.create()['id']}"
    host = admin.call("POST", "/api/admin/hosts", {"host": "audited.example"}).json["host"]
    steps = [
        (user, "PATCH", path, {"title": "t"}),
        (user, "PATCH", path, {"state": "DISABLED"}),
        (user, "PATCH", path, {"state": "ACTIVE"}),
        (user, "DELETE", path, None),
        (user, "POST", f"{path}/restore", None),
        (user, "DELETE", f"{path}?hard=true", None),
        (user, "DELETE", f"/api/keys/{key['id']}", None),
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
