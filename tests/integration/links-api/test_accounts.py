"""Registration, login and limits on guessing passwords."""

import base64
import concurrent.futures
import hashlib
import json
import types

import psycopg2
import pytest
from clients import Api, unique_email
from service import metric
from waiting import wait_until

PASSWORD = "correct horse battery"
# A slow Redis moves the limits into the process. These tests need it to respond even on a busy machine.
VARIABLES = {"REDIS_TIMEOUT_MS": 5000}


def login(api, email, password=PASSWORD):
    return api.call("POST", "/api/auth/login", {"email": email, "password": password})


def register(api, email, password=PASSWORD, **fields):
    return api.call("POST", "/api/auth/register", {"email": email, "password": password, **fields})


def without_instance(answer):
    return {name: value for name, value in answer.json.items() if name != "instance"}


def test_an_account_can_be_registered_and_used(anonymous):
    email = unique_email()
    made = register(anonymous, email, name="Änn")
    assert made.status == 201
    user = made.json["user"]
    assert set(user) == {"id", "email", "email_confirmed_at", "second_factor", "name", "role", "links_per_day", "tz", "locale", "theme", "workspace_id", "mail_dead_links", "mail_monthly_report", "created_at"}
    assert (user["email"], user["name"], user["role"]) == (email, "Änn", "user")

    answer = login(anonymous, email.upper())
    assert answer.status == 200
    assert set(answer.json) == {"access_token", "token_type", "expires_in"}
    assert (answer.json["token_type"], answer.json["expires_in"]) == ("Bearer", 86400)
    assert answer.headers["cache-control"] == "no-store"

    claims = answer.json["access_token"].split(".")[1]
    claims = json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))
    assert set(claims) == {"sub", "iat", "exp", "jti"}
    assert claims["sub"] == str(user["id"]) and claims["exp"] - claims["iat"] == 86400

    anonymous.token = answer.json["access_token"]
    assert anonymous.call("GET", "/api/auth/me").json == {"user": user}


def test_passwords_are_stored_as_bcrypt_of_the_configured_cost(anonymous, database):
    email = unique_email()
    register(anonymous, email)
    assert database.value("SELECT password_hash FROM users WHERE email = %s", email).startswith("$2b$04$")


def test_one_of_many_concurrent_registrations_wins(service):
    email = unique_email()
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        statuses = list(pool.map(lambda _: register(Api(service.url), email).status, range(8)))
    assert sorted(statuses) == [201] + [409] * 7


def test_unknown_user_and_wrong_password_get_the_same_response_after_the_same_work(anonymous):
    email = unique_email()
    register(anonymous, email)
    answers = [login(anonymous, tried, "not this one") for tried in (email, unique_email())]
    assert [answer.status for answer in answers] == [401, 401]
    assert without_instance(answers[0]) == without_instance(answers[1])
    assert answers[0].headers["www-authenticate"] == answers[1].headers["www-authenticate"]


def test_concurrent_guesses_are_counted(service, anonymous):
    email = unique_email()
    register(anonymous, email)
    with concurrent.futures.ThreadPoolExecutor(24) as pool:
        statuses = list(pool.map(lambda n: login(Api(service.url), (email, email.upper())[n % 2], "not this one").status, range(24)))
    assert sorted(statuses) == [401] * 10 + [429] * 14


@pytest.fixture
def blocked_logins(start, database):
    """Logins reserve a place in the limit and wait until release() for the only password thread; at most two may fail."""
    service = start(LOGIN_FAILURES=2, PASSWORD_THREADS=1, PASSWORD_QUEUE=16, PG_STATEMENT_TIMEOUT_MS=60000)
    blocker = psycopg2.connect(database.url())

    def block():
        blocker.cursor().execute("LOCK TABLE users IN SHARE MODE")
        pool.submit(register, Api(service.url), unique_email())
        database.await_statements_waiting(1)

    with concurrent.futures.ThreadPoolExecutor(5) as pool:
        logins = types.SimpleNamespace(service=service, release=blocker.rollback, block=block)
        logins.begin = lambda email, password=PASSWORD: pool.submit(login, Api(service.url), email, password)
        logins.reservations = lambda: [key for key in database.redis.client.keys("limit:login:*:held")]
        yield logins
        blocker.rollback()
    blocker.close()


def test_concurrent_right_passwords_do_not_count_as_wrong(blocked_logins, anonymous, database, expect):
    email, redis = unique_email(), database.redis.client
    register(anonymous, email)
    blocked_logins.block()
    answers = [blocked_logins.begin(email) for _ in range(2)]
    wait_until(lambda: any(redis.zcard(key) == 2 for key in blocked_logins.reservations()), "both to be running")
    busy = login(Api(blocked_logins.service.url), email)
    assert expect(busy, 429)["type"] == "/problems/busy"
    assert busy.headers["retry-after"] == "1" and "ratelimit" not in busy.headers
    blocked_logins.release()
    assert [answer.result().status for answer in answers] == [200, 200]
    assert not blocked_logins.reservations()
    api = Api(blocked_logins.service.url)
    assert [login(api, email).status for _ in range(3)] == [200] * 3, "nothing was counted"
    assert [login(api, email, "not this one").status for _ in range(3)] == [401, 401, 429]


def test_a_running_attempt_reserves_the_last_place_until_its_result_is_known(blocked_logins, anonymous, database, expect):
    email, redis = unique_email(), database.redis.client
    register(anonymous, email)
    api = Api(blocked_logins.service.url)
    expect(login(api, email, "not this one"), 401)
    blocked_logins.block()
    answer = blocked_logins.begin(email)
    wait_until(blocked_logins.reservations, "the login to be running")
    assert expect(login(api, email), 429)["type"] == "/problems/busy"
    (reserved,) = blocked_logins.reservations()
    assert 0 < redis.ttl(reserved) <= 60, "an abandoned reservation expires"
    redis.zadd(reserved, dict.fromkeys(redis.zrange(reserved, 0, -1), 1))  # as if it had expired
    other = blocked_logins.begin(email)
    wait_until(lambda: [score for _, score in redis.zrange(reserved, 0, -1, withscores=True) if score > 1], "its reservation")
    blocked_logins.release()
    assert (answer.result().status, other.result().status) == (200, 200)


def test_a_failure_counter_that_redis_loses_continues(start, anonymous, database):
    service, email = start(LOGIN_FAILURES=3), unique_email()
    register(anonymous, email)
    api = Api(service.url)
    assert [login(api, email, "not this one").status for _ in range(2)] == [401] * 2
    database.redis.client.delete(*database.redis.client.keys("limit:login*"))
    assert [login(api, email, "not this one").status for _ in range(3)] == [401, 429, 429]
    assert metric(service, "waymark_rate_limit_lost_counters_total") >= 1


@pytest.fixture(params=["no server", "no rights to reserve"])
def weak_redis(request, database):
    """The URL of a Redis that does not count failures: it is down, or its user lacks rights."""
    if request.param == "no server":
        return "redis://127.0.0.1:1"
    database.redis.client.execute_command(
        *"ACL SETUSER weak reset on >pw ~link:* ~limit:* +get +set +eval +ping +info +select".split())  # fmt: skip
    return database.redis.url.replace("//", "//weak:pw@")


def test_the_process_limits_guesses_that_redis_does_not_count(start, anonymous, weak_redis, expect):
    service = start(REDIS_URL=weak_redis, LOGIN_FAILURES=3)
    email, other = unique_email(), unique_email()
    register(anonymous, email)
    register(anonymous, other)
    api = Api(service.url)
    statuses = [login(api, email, "not this one").status for _ in range(6)]
    # The first failure needs fewer rights than the others, so Redis may count it.
    assert statuses[:3] == [401] * 3 and statuses[4:] == [429] * 2
    answer = login(api, email)
    expect(answer, 429)
    assert answer.headers["ratelimit-policy"] == '"login";q=3;w=900' and 0 < int(answer.headers["retry-after"]) <= 900
    assert login(api, other).status == 200, "other accounts are not limited"
    assert metric(service, "waymark_rate_limit_fallbacks_total") >= 3


def login_from(service, address, email, password=PASSWORD):
    body = {"email": email, "password": password}
    return Api(service.url).call("POST", "/api/auth/login", body, {"X-Forwarded-For": address})


def test_failures_of_one_network_do_not_limit_the_account_elsewhere(start, anonymous):
    service, email = start(LOGIN_FAILURES=2), unique_email()
    register(anonymous, email)
    assert [login_from(service, "203.0.113.1", email, "not this one").status for _ in range(4)] == [401, 401, 429, 429]
    assert login_from(service, "203.0.113.1", email).status == 429, "the network of the failures is limited"
    answer = login_from(service, "198.51.100.1", email)
    assert answer.status == 200, "the account is not limited in a network where it has never logged in"
    change = {"current_password": PASSWORD, "new_password": "another horse battery"}
    headers = {"X-Forwarded-For": "203.0.113.1", "Authorization": "Bearer " + answer.json["access_token"]}
    # Generated clients ask for nothing but problems where a success has no body.
    headers["Accept"] = "application/problem+json"
    assert anonymous.call("POST", "/api/auth/password", change, headers).status == 204, "a token is not limited by failures of others"


def test_known_networks_are_not_limited_by_failures_in_many_networks(start, anonymous, expect):
    service, email = start(LOGIN_FAILURES=1, LOGIN_FAILURES_PER_ACCOUNT=2), unique_email()
    register(anonymous, email)
    assert login_from(service, "198.51.100.1", email).status == 200
    assert [login_from(service, f"203.0.{i}.1", email, "not this one").status for i in range(2)] == [401, 401]
    answer = login_from(service, "203.0.9.1", email)
    expect(answer, 429)
    assert answer.headers["ratelimit-policy"] == '"login-account";q=2;w=900'
    assert login_from(service, "198.51.100.77", email).status == 200, "the account has logged in from there"


def test_known_accounts_are_not_limited_by_failures_in_their_network(start, anonymous):
    service, email = start(LOGIN_FAILURES_PER_NETWORK=1), unique_email()
    register(anonymous, email)
    assert login_from(service, "198.51.101.1", email).status == 200
    statuses = [login_from(service, "198.51.101.2", unique_email(), "not this one").status for _ in range(3)]
    assert statuses == [401, 429, 429]
    assert login_from(service, "198.51.101.1", email).status == 200


def test_redis_learns_neither_the_known_networks_nor_their_accounts(start, anonymous, database):
    service, email = start(), unique_email()
    register(anonymous, email)
    assert login_from(service, "198.51.102.1", email).status == 200
    client = database.redis.client
    known = client.keys("limit:known:*")
    assert known and all(0 < client.ttl(key) <= 2592000 for key in known)
    digest = hashlib.sha256(email.encode()).hexdigest()
    assert not any(b"198.51.102" in key or digest.encode() in key for key in known)


def test_the_log_contains_no_secrets(service, anonymous):
    email = unique_email()
    register(anonymous, email, "a-password-that-nobody-logs")
    token = login(anonymous, email, "a-password-that-nobody-logs").json["access_token"]
    anonymous.token = token
    anonymous.call("GET", "/api/links?page=1", headers={"X-Forwarded-For": "203.0.113.77"})
    text = service.text()
    for secret in (email, "a-password-that-nobody-logs", token, token.split(".")[2], "203.0.113.77", "page=1"):
        assert secret not in text
    request = service.events("request")[-1]
    assert set(request) >= {"request_id", "method", "route", "status", "duration_ms"} and "key_id" not in request
    assert request["workspace_id"] == anonymous.call("GET", "/api/workspace").json["workspace"]["id"]
