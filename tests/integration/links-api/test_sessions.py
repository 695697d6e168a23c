"""Sessions of browsers: login, expiry, revocation, and requests that other sites or thieves send."""

import concurrent.futures
import hashlib
import http.client
import itertools
import json
import urllib.parse

import psycopg2
import pytest
from clients import Api, ask, unique_email
from service import metric
from users import COOKIE, Browser, User, insert_api_key, insert_session
from waiting import wait_until

PASSWORD, OTHER = "correct horse battery", "staple of another horse"
VARIABLES = {"LOGIN_FAILURES": "unlimited", "LOGIN_FAILURES_PER_NETWORK": "unlimited", "REDIS_TIMEOUT_MS": 5000}


@pytest.fixture(scope="module")
def second(start):
    """Another instance on the same database."""
    return start()


@pytest.fixture(scope="module")
def admin(service, database):
    return User(service, database, "admin")


@pytest.fixture
def register(service):
    """register(): the address of a new account with PASSWORD."""

    def make():
        email = unique_email()
        answer = Api(service.url).call("POST", "/api/auth/register", {"email": email, "password": PASSWORD})
        assert answer.status == 201, answer
        return email

    return make


@pytest.fixture
def browser(service, register):
    """A browser that has logged in."""
    browser = Browser(service.url)
    browser.email = register()
    browser.id = browser.log_in(browser.email).json["user"]["id"]
    return browser


def sessions_of(browser):
    answer = browser.call("GET", "/api/auth/sessions")
    assert answer.status == 200, answer
    return answer.json["sessions"]


# --- what a session is ---


def test_a_login_sets_a_cookie_that_scripts_and_other_sites_cannot_use(service, register, database):
    email, browser = register(), Browser(service.url)
    answer = browser.log_in(email)
    pair, *attributes = answer.headers["set-cookie"].split("; ")
    assert set(attributes) == {"Path=/", "Max-Age=2592000", "HttpOnly", "SameSite=Strict", "Secure"}
    assert pair.startswith(f"{COOKIE}=wms_") and len(pair) == len(COOKIE) + 1 + 47
    assert answer.headers["cache-control"] == "no-store"
    assert answer.json["user"]["email"] == email and browser.secret not in answer.body.decode()
    digest = hashlib.sha256(browser.secret.encode()).digest()
    assert database.value("SELECT count(*) FROM sessions WHERE secret_hash = %s", digest) == 1
    assert database.value("SELECT count(*) FROM sessions s WHERE s::text LIKE %s", f"%{browser.secret[4:]}%") == 0
    assert browser.secret not in service.text()
    assert browser.call("GET", "/api/auth/me").json == answer.json


def test_on_plain_http_the_cookie_has_a_plain_name(start, register):
    browser = Browser(start(PUBLIC_BASE_URL="http://127.0.0.1:8080").url, cookie="waymark")
    answer = browser.log_in(register())
    assert answer.headers["set-cookie"].startswith("waymark=wms_") and "Secure" not in answer.headers["set-cookie"]
    assert browser.call("GET", "/api/auth/me").status == 200
    host = urllib.parse.urlsplit(browser.base).netloc
    for origin, status in ((f"http://{host}", 404), (f"https://{host}", 404), ("http://127.0.0.1:1", 403), ("http://localhost", 403)):
        sent = {"Cookie": f"waymark={browser.secret}", "Origin": origin}
        assert ask(browser.base, "DELETE", "/api/links/999999999", sent).status == status, origin


def test_a_session_permits_what_its_account_may(browser, admin, database, service):
    link = browser.create()
    assert browser.call("PATCH", f"/api/links/{link['id']}", {"title": "x"}).status == 200
    assert browser.call("DELETE", f"/api/links/{link['id']}").status == 204
    assert browser.call("POST", f"/api/links/{link['id']}/restore").status == 200
    assert browser.call("POST", "/api/links/bulk", {"links": [{"original_url": "https://example.com/"}] * 600}).status == 200
    assert browser.call("GET", "/api/admin/users").status == 403
    assert Browser(service.url, insert_session(database, admin.id)).call("GET", "/api/admin/users").status == 200


def test_sessions_are_listed_without_secrets_and_revoked_by_id(browser, service, database, expect):
    phone = Browser(service.url)
    answer = phone.call("POST", "/api/auth/session", {"email": browser.email, "password": PASSWORD}, {"User-Agent": "Phone/1 \xe4 " + "x" * 999})
    assert answer.status == 201
    listed = sessions_of(browser)
    assert [set(each) for each in listed] == [{"id", "user_agent", "current", "created_at", "last_used_at", "expires_at"}] * 2
    assert [each["current"] for each in listed] == [False, True]
    assert listed[0]["user_agent"].startswith("Phone/1 ? xx") and len(listed[0]["user_agent"]) <= 200
    assert browser.call("DELETE", f"/api/auth/sessions/{listed[0]['id']}").status == 204
    expect(phone.call("GET", "/api/auth/me"), 401)
    expect(browser.call("DELETE", f"/api/auth/sessions/{listed[0]['id']}"), 404)
    assert len(sessions_of(browser)) == 1
    audit = "SELECT count(*) FROM audit_log WHERE action = 'session.delete' AND subject_id = %s AND actor_id = %s"
    assert database.value(audit, listed[0]["id"], browser.id) == 1


def test_an_account_keeps_the_50_sessions_used_last(browser, database):
    for _ in range(60):
        insert_session(database, browser.id)
    database.run("UPDATE sessions SET last_used_at = last_used_at - interval '1 hour' WHERE user_id = %s", browser.id)
    browser.secret = None
    browser.log_in(browser.email)
    assert len(sessions_of(browser)) == 50
    assert database.value("SELECT count(*) FROM sessions WHERE user_id = %s", browser.id) == 50


def test_use_is_recorded_once_a_minute(browser, database):
    used = "SELECT last_used_at FROM sessions WHERE user_id = %s"
    before = database.value(used, browser.id)
    assert browser.call("GET", "/api/auth/me").status == 200
    assert database.value(used, browser.id) == before
    database.run("UPDATE sessions SET last_used_at = last_used_at - interval '61 seconds' WHERE user_id = %s", browser.id)
    assert browser.call("GET", "/api/auth/me").status == 200
    assert database.value(used, browser.id) > before


def test_wrong_passwords_with_a_session_are_limited(start, register, expect):
    browser = Browser(start(LOGIN_FAILURES=2).url)
    browser.log_in(register())
    change = {"current_password": "not this one", "new_password": OTHER}
    assert [browser.call("POST", "/api/auth/password", change).status for _ in range(3)] == [403, 403, 429]


def test_a_page_asks_who_is_logged_in_without_an_error(service, browser, database):
    answer = browser.call("GET", "/api/auth/session")
    assert answer.status == 200 and answer.json == browser.call("GET", "/api/auth/me").json
    anonymous = Api(service.url)
    for cookie in ("", f"{COOKIE}=", f"{COOKIE}=x", f"{COOKIE}={'A' * 43}"):
        answer = anonymous.call("GET", "/api/auth/session", None, {"Cookie": cookie} if cookie else {})
        assert (answer.status, answer.json) == (200, {"user": None}), cookie
    key = Api(service.url)
    key.token = insert_api_key(database, browser.id, ["links:read"])
    assert key.call("GET", "/api/auth/session").json == {"user": None}
    assert browser.call("GET", "/api/auth/session", None, {"Sec-Fetch-Site": "cross-site"}).status == 403
    browser.call("DELETE", "/api/auth/session")
    assert browser.call("GET", "/api/auth/session").json == {"user": None}


# --- the end of a session ---


def log_out(browser, _admin, _database):
    answer = browser.call("DELETE", "/api/auth/session")
    assert answer.status == 204 and "Max-Age=0" in answer.headers["set-cookie"]


def revoke_by_id(browser, _admin, _database):
    assert browser.call("DELETE", f"/api/auth/sessions/{sessions_of(browser)[0]['id']}").status == 204


def change_password(browser, _admin, _database):
    answer = browser.call("POST", "/api/auth/password", {"current_password": PASSWORD, "new_password": OTHER})
    assert answer.status == 204 and "Max-Age=0" in answer.headers["set-cookie"]


def reset_password(browser, admin, _database):
    token = admin.call("POST", f"/api/admin/users/{browser.id}/password-reset").json["token"]
    assert admin.call("POST", "/api/auth/password-reset", {"token": token, "new_password": OTHER}).status == 204


def block_and_unblock(browser, admin, _database):
    for blocked in (True, False):
        assert admin.call("PATCH", f"/api/admin/users/{browser.id}", {"blocked": blocked}).status == 200


def delete_account(browser, _admin, _database):
    assert browser.call("DELETE", "/api/auth/me", {"password": PASSWORD}).status == 204


def log_in_again(browser, _admin, _database):
    browser.log_in(browser.email)


def leave_for_a_day(browser, _admin, database):
    database.run("UPDATE sessions SET last_used_at = clock_timestamp() - interval '24 hours' WHERE user_id = %s", browser.id)


def keep_for_30_days(browser, _admin, database):
    database.run("UPDATE sessions SET created_at = clock_timestamp() - interval '30 days' WHERE user_id = %s", browser.id)


ENDS = [log_out, revoke_by_id, change_password, reset_password, block_and_unblock, delete_account, log_in_again, leave_for_a_day, keep_for_30_days]
REPLAYS = [
    ("GET", "/api/auth/me", None), ("GET", "/api/auth/sessions", None), ("GET", "/api/links", None), ("GET", "/api/stats/top", None),
    ("POST", "/api/links", {"original_url": "https://example.com/replayed"}), ("POST", "/api/keys", {"name": "k", "scopes": ["links:read"]}),
    ("PATCH", "/api/auth/me", {"name": "replayed"}), ("DELETE", "/api/auth/session", None),
    ("POST", "/api/links/bulk", {"links": [{"original_url": "https://example.com/replayed"}] * 500}),
]  # fmt: skip


@pytest.mark.parametrize("end", ENDS, ids=[end.__name__ for end in ENDS])
def test_an_ended_session_is_refused_at_once_on_every_instance(browser, service, second, admin, database, end):
    secret = browser.secret
    for of in (service, second):
        assert Browser(of.url, secret).call("GET", "/api/auth/me").status == 200
    end(browser, admin, database)
    for of, (method, path, body) in itertools.product((service, second), REPLAYS):
        thief = Browser(of.url, secret)
        answer = thief.call(method, path, body)
        assert answer.status == 401, (method, path, answer)
        assert answer.headers["set-cookie"].startswith(f"{COOKIE}=; ") and "Max-Age=0" in answer.headers["set-cookie"]
    assert database.value("SELECT count(*) FROM links WHERE workspace_id = %s", browser.id) == 0


def test_sessions_of_others_go_on(browser, service, register, admin, database):
    other = Browser(service.url)
    other.log_in(register())
    for end in (change_password, log_out):
        end(browser, admin, database)
        assert other.call("GET", "/api/auth/me").status == 200
        browser.log_in(browser.email, OTHER)


@pytest.mark.parametrize("change", ["token_generation = token_generation + 1", "blocked = true"])
def test_a_login_that_runs_during_a_new_password_or_a_block_starts_no_session(service, register, database, expect, change):
    email = register()
    blocker = psycopg2.connect(database.url())
    blocker.cursor().execute(f"UPDATE users SET {change} WHERE email = %s", (email,))
    body = {"email": email, "password": PASSWORD}
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        login = pool.submit(Browser(service.url).call, "POST", "/api/auth/session", body)
        waits = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        wait_until(lambda: login.done() or database.value(waits), "the login to wait for the account")
        blocker.commit()
        expect(login.result(), 401)
    blocker.close()
    assert database.value("SELECT count(*) FROM sessions s JOIN users u ON u.id = s.user_id WHERE email = %s", email) == 0


# --- requests of other sites ---

HOST = "app.example:8443"
HOSTILE = {
    "a link or form of another site": {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"},
    "another site without Origin": {"Sec-Fetch-Site": "cross-site"},
    "another site with our Origin": {"Sec-Fetch-Site": "cross-site", "Origin": f"https://{HOST}"},
    "a sibling host": {"Sec-Fetch-Site": "same-site", "Origin": "https://blog.app.example"},
    "a sibling host with our Origin": {"Sec-Fetch-Site": "same-site", "Origin": f"https://{HOST}"},
    "a typed address": {"Sec-Fetch-Site": "none"},
    "an empty sender": {"Sec-Fetch-Site": ""},
    "another case": {"Sec-Fetch-Site": "Same-Origin"},
    "a prefix": {"Sec-Fetch-Site": "same-origin-ish"},
    "a list": {"Sec-Fetch-Site": "same-origin, cross-site"},
    "a long list": {"Sec-Fetch-Site": "same-origin" + ", same-origin" * 9},
    "quotes": {"Sec-Fetch-Site": '"same-origin"'},
    "no sender at all": {},
    "a sandboxed frame": {"Origin": "null"},
    "an old browser on another site": {"Origin": "https://evil.example"},
    "a host that begins with ours": {"Origin": f"https://{HOST}.evil.example"},
    "a host that ends with ours": {"Origin": f"https://evil.{HOST}"},
    "a port of ours": {"Origin": "https://app.example"},
    "another port": {"Origin": "https://app.example:8444"},
    "plain HTTP of another host": {"Origin": "http://evil.example"},
    "plain HTTP of ours in a newer browser": {"Sec-Fetch-Site": "same-site", "Origin": f"http://{HOST}"},
    "a user name": {"Origin": f"https://{HOST}@evil.example"},
    "a path": {"Origin": f"https://{HOST}/"},
    "two origins": {"Origin": f"https://{HOST}, https://evil.example"},
    "no scheme": {"Origin": HOST},
    "only a scheme": {"Origin": "https://"},
    "an extension": {"Origin": f"chrome-extension://{HOST}"},
    "an empty origin": {"Origin": ""},
    "a referrer": {"Referer": f"https://{HOST}/app/"},
    "a proxy's header": {"X-Forwarded-Host": "evil.example", "Origin": "https://evil.example"},
}
WRITES = [
    ("POST", "/api/auth/session", {"email": "evil@example.com", "password": PASSWORD}),
    ("DELETE", "/api/auth/session", None),
    ("DELETE", "/api/auth/sessions/{session}", None),
    ("PATCH", "/api/auth/me", {"name": "evil"}),
    ("DELETE", "/api/auth/me", {"password": PASSWORD}),
    ("POST", "/api/auth/password", {"current_password": PASSWORD, "new_password": OTHER}),
    ("POST", "/api/keys", {"name": "evil", "scopes": ["links:read"]}),
    ("POST", "/api/links", {"original_url": "https://evil.example/"}),
    ("PATCH", "/api/links?filter=id:>0", {"title": "evil"}),
    ("DELETE", "/api/links?filter=id:>0", None),
    ("PATCH", "/api/links/{link}", {"title": "evil"}),
    ("DELETE", "/api/links/{link}", None),
    ("POST", "/api/links/{gone}/restore", None),
    ("POST", "/api/links/bulk", {"links": [{"original_url": "https://evil.example/"}]}),
]


class Victim:
    """An account with a session, and what another site could change of it."""

    def __init__(self, service, database, email):
        self.database, self.url = database, urllib.parse.urlsplit(service.url)
        self.browser = Browser(service.url)
        self.id = self.browser.log_in(email).json["user"]["id"]
        self.link, self.gone = self.browser.create()["id"], self.browser.create()["id"]
        assert self.browser.call("DELETE", f"/api/links/{self.gone}").status == 204
        self.session = sessions_of(self.browser)[0]["id"]

    def send(self, method, path, body, headers):
        """(status, problem kind); headers are sent as they are, to the host app.example."""
        path = path.format(link=self.link, gone=self.gone, session=self.session)
        sent = {"Host": HOST, "Cookie": f"theme=dark; {COOKIE}={self.browser.secret}; a=b", **headers}
        if body is not None:
            sent.setdefault("Content-Type", "application/json")
        connection = http.client.HTTPConnection(self.url.hostname, self.url.port, timeout=300)
        connection.request(method, path, body=body if isinstance(body, str) else body and json.dumps(body), headers=sent)
        response = connection.getresponse()
        data = response.read()
        connection.close()
        kind = json.loads(data).get("type", "").removeprefix("/problems/") if response.status >= 400 else None
        return response.status, kind

    def state(self):
        tables = {
            "users": "email, name, password_hash, token_generation, deleted_at FROM users WHERE id",
            "links": "id, version, state, title FROM links WHERE workspace_id",
            "api_keys": "id FROM api_keys WHERE created_by",
            "sessions": "id, secret_hash FROM sessions WHERE user_id",
        }
        return {table: self.database.run(f"SELECT {rest} = %s ORDER BY 1", self.id) for table, rest in tables.items()}


@pytest.fixture
def victim(service, database, register):
    return Victim(service, database, register())


def test_no_write_of_another_site_is_accepted(service, victim):
    before, refused = victim.state(), metric(service, "waymark_cross_site_requests_total")
    cases = list(itertools.product(WRITES, HOSTILE.items()))
    through = [(method, path, name, answer) for (method, path, body), (name, headers) in cases if (answer := victim.send(method, path, body, headers)) != (403, "cross-site")]
    print(f"sessions: {len(cases)} writes of other sites, {len(through)} accepted")
    assert not through and len(cases) >= 200, through
    assert victim.state() == before
    assert metric(service, "waymark_cross_site_requests_total") == refused + len(cases)


def test_a_page_over_plain_http_is_told_that_https_is_needed(victim):
    """Before it has an account without a session: browsers keep no cookie of __Host- there."""
    before, refused = victim.state(), (403, "https-required")
    account = {"email": unique_email(), "password": PASSWORD}
    for origin in (f"http://{HOST}", f"http://{HOST.upper()}"):
        for method, path, body in (*WRITES, ("POST", "/api/auth/register", account)):
            assert victim.send(method, path, body, {"Origin": origin}) == refused, (method, path)
    assert victim.state() == before
    for headers in ({"Origin": f"http://{HOST}", "Sec-Fetch-Site": "same-origin"}, {"Origin": "http://evil.example"}, {"Origin": f"https://{HOST}"}, {"Origin": "null"}, {}):
        assert victim.send("POST", "/api/auth/register", {**account, "email": unique_email()}, headers) == (201, None), headers


OWN = {
    "Sec-Fetch-Site": {"Sec-Fetch-Site": "same-origin"},
    "both": {"Sec-Fetch-Site": "same-origin", "Origin": f"https://{HOST}"},
    "both, behind a proxy that changes Host": {"Sec-Fetch-Site": "same-origin", "Origin": "https://public.example"},
    "Origin": {"Origin": f"https://{HOST}"},
}


@pytest.mark.parametrize("name", OWN)
def test_writes_of_our_own_page_are_accepted(victim, name):
    """Control: the cases above would also pass for a service that refuses every session."""
    assert victim.send("PATCH", "/api/auth/me", {"name": "mine"}, OWN[name]) == (200, None)
    assert victim.send("POST", "/api/links/{gone}/restore", None, OWN[name]) == (200, None)
    assert victim.send("DELETE", "/api/auth/session", None, OWN[name]) == (204, None)


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/jsonx", "", "*/*"])
def test_a_body_must_be_json(victim, content_type):
    before = victim.state()
    for method, path, _ in WRITES:
        headers = {"Content-Type": content_type, "Sec-Fetch-Site": "same-origin"}
        assert victim.send(method, path, '{"name": "evil"}', headers)[0] == 415, (method, path)
    assert victim.state() == before


def test_other_sites_cannot_read_with_a_session(victim):
    for path in ("/api/auth/me", "/api/auth/session", "/api/links", "/api/auth/sessions", "/api/links/{link}/visits"):
        for site, status in (("cross-site", 403), ("same-site", 403), ("same-origin", 200), ("none", 200)):
            assert victim.send("GET", path, None, {"Sec-Fetch-Site": site})[0] == status, (path, site)
        assert victim.send("GET", path, None, {"Origin": "https://evil.example"})[0] == 403
        assert victim.send("GET", path, None, {})[0] == 200


def test_tokens_and_keys_work_from_anywhere_and_come_before_a_session(service, database, victim):
    user = User(service, database)
    key = insert_api_key(database, user.id, ["links:read"])
    for headers in HOSTILE.values():
        assert victim.send("GET", "/api/links", None, {**headers, "Authorization": f"Bearer {user.token}"}) == (200, None)
        assert victim.send("GET", "/api/links", None, {**headers, "X-Api-Key": key}) == (200, None)
    for wrong in ({"Authorization": "Bearer x"}, {"X-Api-Key": "x"}, {"Authorization": f"Bearer {victim.browser.secret}"}, {"X-Api-Key": victim.browser.secret}):
        assert victim.send("GET", "/api/links", None, {"Sec-Fetch-Site": "same-origin", **wrong})[0] == 401, wrong
    assert user.call("DELETE", "/api/auth/session").status == 404


# --- secrets that somebody guesses, plants or steals ---


def hostile_cookies(secret, token, key):
    """Cookie headers that must not authenticate."""
    digest = hashlib.sha256(secret.encode())
    values = [
        "", "wms_", "wms_" + "A" * 42, "wms_" + "A" * 43, "wms_" + "A" * 44, "wms_" + "A" * 4000, secret[:-1], secret + "A", secret[4:],
        secret.swapcase(), secret.upper(), f'"{secret}"', f"{secret} x", f"{secret},{secret}", f"%77{secret[1:]}", secret.replace("wms_", "wm_"),
        "wms_" + "-" * 43, "wms_" + "é" * 43, "wms_" + "'" * 43, "wms_' OR true --" + "A" * 32, digest.hexdigest(), "\\x" + digest.hexdigest(),
        token, key, "null", "undefined", "0", "1", "true", "*", "wms_" + "\t" * 43,
    ]  # fmt: skip
    yield from (f"{COOKIE}={value}" for value in values)
    names = ["waymark", "__Secure-waymark", "__host-waymark", "__HOST-WAYMARK", "__Host-Waymark", "__Host-waymark2", "x__Host-waymark", "$__Host-waymark", "session"]
    yield from (f"{name}={secret}" for name in names)
    yield from (f"{COOKIE} ={secret}", f"{COOKIE}:{secret}", secret, f"a={COOKIE}={secret}", f"{COOKIE}", f"a=\"; b\", {COOKIE}={secret}")
    other = "wms_" + "B" * 43
    yield from (f"{COOKIE}={first}; {COOKIE}={then}" for first, then in ((secret, other), (other, secret), (secret, secret), ("", secret), (secret, "")))


def test_no_forged_cookie_is_accepted(service, database, victim):
    user = User(service, database)
    secret = victim.browser.secret
    headers = list(hostile_cookies(secret, user.token, insert_api_key(database, user.id, ["links:read"])))
    through = []
    for header in headers:
        status, _ = victim.send("GET", "/api/auth/me", None, {"Cookie": header.encode(), "Sec-Fetch-Site": "same-origin"})
        through += [] if status in (400, 401) else [(header, status)]
    print(f"sessions: {len(headers)} forged cookies, {len(through)} accepted")
    assert not through and len(headers) >= 50, through
    for good in (f"{COOKIE}={secret}", f"a=b;{COOKIE}={secret};c=d", f"a; {COOKIE}={secret}", f";; {COOKIE}={secret}"):
        assert victim.send("GET", "/api/auth/me", None, {"Cookie": good}) == (200, None), good


@pytest.mark.parametrize("planted", ["unknown", "of the attacker", "of the victim", "malformed"])
def test_a_login_never_keeps_a_planted_cookie(service, database, register, planted):
    attacker, email = User(service, database), register()
    before = Browser(service.url)
    before.log_in(email)
    secret = {
        "unknown": "wms_" + "A" * 43,
        "of the attacker": insert_session(database, attacker.id),
        "of the victim": before.secret,
        "malformed": "wms_x",
    }[planted]
    browser = Browser(service.url, secret)
    browser.log_in(email)
    assert browser.secret != secret and browser.call("GET", "/api/auth/me").json["user"]["email"] == email
    assert Browser(service.url, secret).call("GET", "/api/auth/me").status == 401
    assert browser.call("GET", "/api/auth/me").status == 200


def test_a_failed_login_changes_no_session(browser, expect):
    secret = browser.secret
    expect(browser.call("POST", "/api/auth/session", {"email": browser.email, "password": "not this one"}), 401)
    assert browser.secret == secret and browser.call("GET", "/api/auth/me").status == 200
