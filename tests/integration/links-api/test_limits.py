"""Quotas per user, limits per network, and shares of the workers."""

import concurrent.futures
import itertools
import json
import re
import secrets
import socket
import urllib.parse

import psycopg2
import pytest
from clients import Api, unique_email
from service import metric
from users import User
from waiting import wait_until

# A slow Redis moves the limits into the process. These tests need it to respond even on a busy machine.
VARIABLES = {"REDIS_TIMEOUT_MS": 5000}
LINK = {"original_url": "https://example.com/"}
NETWORKS = itertools.count()


@pytest.fixture(scope="module")
def service(start):
    return start(LINKS_PER_DAY=3, ANONYMOUS_LINKS_PER_HOUR=2, HTTP_WORKERS=12)  # half of them for one account


def create(api):
    return api.call("POST", "/api/links", LINK)


def create_from(service, address):
    return Api(service.url).call("POST", "/api/links/public", LINK, {"X-Forwarded-For": address})


def unique_network():
    """The first three numbers of an address in a network that no other test uses."""
    number = next(NETWORKS)
    return f"100.{64 + number // 256}.{number % 256}"


def test_a_user_may_create_a_limited_number_of_links_in_24_hours(new_user, database, expect):
    user = new_user()
    links = [create(user).json["link"] for _ in range(3)]
    user.call("DELETE", f"/api/links/{links[0]['id']}")
    answer = create(user)
    expect(answer, 429)
    said = answer.json["detail"].removeprefix("Your account has reached its limit of new links, which an administrator can raise. Limit: links, 3 in 24 hours. Try again in ")
    assert re.fullmatch(r"(23 hours and 5\d minutes|24 hours( and [1-5] minutes?)?)\.", said), answer
    assert answer.headers["ratelimit-policy"] == '"links";q=3;w=86700'
    assert 86300 < int(answer.headers["retry-after"]) <= 86700, "at most w, because links are counted in steps of five minutes"
    assert answer.headers["ratelimit"] == f'"links";r=0;t={answer.headers["retry-after"]}'
    assert create(new_user()).status == 201, "other users are not limited"
    assert user.call("PATCH", f"/api/links/{links[1]['id']}", {"title": "x"}).status == 200, "changes do not count"
    assert user.call("DELETE", f"/api/links/{links[1]['id']}?hard=true").status == 204
    expect(create(user), 429)
    owner = "user_id = (SELECT id FROM users WHERE email = %s)"
    database.run(f"UPDATE link_quota_uses SET since = since - interval '23 h 50 min' WHERE {owner}", user.email)
    expect(create(user), 429)
    # Two links of now and one of yesterday. The links above may be in two rows, of two steps.
    database.run(f"DELETE FROM link_quota_uses WHERE {owner}", user.email)
    database.run("""INSERT INTO link_quota_uses SELECT id, date_bin('5 min', now(), 'epoch') - age, links
                    FROM users, (VALUES (interval '0', 2), ('24 h 5 min', 1)) AS row (age, links) WHERE email = %s""", user.email)
    assert create(user).status == 201
    assert create(user).status == 429


def test_responses_show_the_remaining_quota(new_user, database):
    user = new_user()
    answers = [create(user), user.call("POST", "/api/links/bulk", {"links": [LINK, {}]}), create(user)]
    assert [answer.headers["ratelimit"].split(";")[1] for answer in answers] == ["r=2", "r=1", "r=0"]
    assert {answer.headers["ratelimit-policy"] for answer in answers} == {'"links";q=3;w=86700'}
    assert "retry-after" not in answers[2].headers
    seconds = [int(answer.headers["ratelimit"].split("t=")[1]) for answer in answers]
    assert 86400 < seconds[0] <= 86700 and seconds == sorted(seconds, reverse=True), "the first link counts down"


def test_what_is_left_of_the_quota_is_said_before_a_bulk(new_user, database, expect):
    user = new_user()
    left = lambda: user.call("GET", "/api/links/quota").json  # noqa: E731
    at_first = left()
    assert (at_first["limit"], at_first["left"]) == (3, 3) and 86_400 < at_first["reset_s"] <= 86_700
    create(user)
    link = create(user).json["link"]
    user.call("DELETE", f"/api/links/{link['id']}")
    assert left()["left"] == 1 and 86400 < left()["reset_s"] <= 86700, "deleted links still count"
    user.call("POST", "/api/links/bulk", {"links": [LINK, LINK]})
    assert (left()["limit"], left()["left"]) == (3, 0)
    database.run("UPDATE users SET links_per_day = 5 WHERE email = %s", user.email)
    assert (left()["limit"], left()["left"]) == (5, 2)
    database.run("UPDATE users SET links_per_day = 9223372036854775807 WHERE email = %s", user.email)
    assert left() == {"limit": None, "left": None, "reset_s": None}
    database.run("UPDATE users SET links_per_day = 0 WHERE email = %s", user.email)
    assert (left()["limit"], left()["left"]) == (0, 0)
    expect(user.call("GET", "/api/links/quota?x=1"), 400, "/x")
    expect(Api(user.base).call("GET", "/api/links/quota"), 401)


def test_a_bulk_creates_what_the_quota_allows_and_failures_do_not_count(new_user):
    user = new_user()
    taken = create(new_user()).json["link"]["slug"]
    answer = user.call("POST", "/api/links/bulk", {"links": [{**LINK, "slug": taken}, {}, LINK, LINK, LINK, LINK]})
    assert [result["status"] for result in answer.json["results"]] == [409, 400, 201, 201, 201, 429]
    assert answer.json["results"][5]["problem"]["type"].endswith("/rate-limit")
    assert answer.headers["ratelimit"] == f'"links";r=0;t={answer.headers["retry-after"]}'
    assert create(user).status == 429
    reused = user.call("POST", "/api/links", {**LINK, "reuse": True})
    assert reused.status == 200, "reusing a link does not count"


def test_a_users_own_quota_overrides_the_default(service, new_user, database, start):
    user, admin = new_user(), User(service, database, "admin")
    limit = lambda value: admin.call("PATCH", f"/api/admin/users/{user_id}", {"links_per_day": value}).json["user"]["links_per_day"]  # noqa: E731
    user_id = user.call("GET", "/api/auth/me").json["user"]["id"]
    assert limit(1) == 1
    assert [create(user).status for _ in range(2)] == [201, 429]
    assert limit("unlimited") == "unlimited" == user.call("GET", "/api/auth/me").json["user"]["links_per_day"]
    answers = [create(user) for _ in range(4)]
    assert [answer.status for answer in answers] == [201] * 4 and "ratelimit" not in answers[0].headers
    assert limit(0) == 0
    bulk = user.call("POST", "/api/links/bulk", {"links": [LINK, LINK]}).json["results"]
    assert [create(user).status, *(each["status"] for each in bulk)] == [429] * 3, "0 is none"
    unlimited = Api(start(LINKS_PER_DAY="unlimited").url)
    unlimited.register_and_login(unique_email())
    assert create(unlimited).status == 201
    database.run("UPDATE users SET links_per_day = 1 WHERE email = %s", unlimited.email)
    assert [create(unlimited).status for _ in range(2)] == [201, 429]
    none = Api(start(LINKS_PER_DAY=0).url)
    none.register_and_login(unique_email())
    assert create(none).status == 429
    database.run("UPDATE users SET links_per_day = 1 WHERE email = %s", none.email)
    assert [create(none).status for _ in range(2)] == [201, 429]


def test_a_replayed_response_does_not_count(service, new_user):
    user, key = new_user(), {"Idempotency-Key": secrets.token_hex(8)}
    assert {user.call("POST", "/api/links", LINK, key).status for _ in range(5)} == {201}
    assert [create(user).status for _ in range(3)] == [201, 201, 429]
    network = unique_network()
    headers = {**key, "X-Forwarded-For": f"{network}.1"}
    assert {Api(service.url).call("POST", "/api/links/public", LINK, headers).status for _ in range(5)} == {201}
    answer = create_from(service, f"{network}.1")
    assert answer.status == 201 and answer.headers["ratelimit"].startswith('"anonymous-links";r=0;t=')
    assert create_from(service, f"{network}.1").status == 429


def test_refused_links_do_not_count(new_user):
    user = new_user()
    for _ in range(5):
        assert user.call("POST", "/api/links", {"original_url": "nonsense"}).status == 400
    assert [create(user).status for _ in range(4)] == [201, 201, 201, 429]


def test_concurrent_requests_do_not_exceed_the_quota(new_user, database):
    """All requests have counted, or wait to count, before the first link can be created."""
    user = new_user()
    blocker = psycopg2.connect(database.url())
    blocker.cursor().execute("LOCK TABLE links IN SHARE MODE")
    waiting = """SELECT count(*) FROM pg_stat_activity
                 WHERE datname = current_database() AND wait_event_type = 'Lock'"""
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        answers = [pool.submit(create, user) for _ in range(6)]
        wait_until(lambda: database.value(waiting) == 6, "six requests to wait")
        blocker.rollback()
    assert sorted(answer.result().status for answer in answers) == [201] * 3 + [429] * 3
    blocker.close()


def test_refused_anonymous_links_do_not_count(service):
    network = unique_network()
    taken = "taken-" + secrets.token_hex(6)
    with_slug = {**LINK, "slug": taken}
    api, headers = Api(service.url), {"X-Forwarded-For": f"{network}.1"}
    assert api.call("POST", "/api/links/public", with_slug, headers).status == 201
    for _ in range(3):
        assert api.call("POST", "/api/links/public", with_slug, headers).status == 409
        assert api.call("POST", "/api/links/public", {}, headers).status == 400
    assert create_from(service, f"{network}.1").status == 201
    assert create_from(service, f"{network}.1").status == 429


def test_without_redis_the_process_limits_anonymous_links(start):
    service = start(REDIS_URL="redis://127.0.0.1:1", ANONYMOUS_LINKS_PER_HOUR=2)
    network = unique_network()
    assert [create_from(service, f"{network}.1").status for _ in range(4)] == [201, 201, 429, 429]
    assert create_from(service, f"{unique_network()}.1").status == 201, "other networks are not limited"


def register_from(service, address, email=None, password="correct horse battery"):
    body = {"email": email or unique_email(), "password": password}
    return Api(service.url).call("POST", "/api/auth/register", body, {"X-Forwarded-For": address})


def test_a_network_may_register_a_limited_number_of_accounts_in_an_hour(start, expect):
    service = start(ACCOUNTS_PER_HOUR=2)
    network, email = unique_network(), unique_email()
    for _ in range(3):
        expect(register_from(service, f"{network}.1", password="short"), 400, "/password")
    assert register_from(service, f"{network}.1", email).status == 201
    expect(register_from(service, f"{network}.2", email), 409, "/email")
    answer = register_from(service, f"{network}.3")
    expect(answer, 429)
    assert answer.headers["ratelimit-policy"] == '"accounts";q=2;w=3600'
    assert 0 < int(answer.headers["retry-after"]) <= 3600
    assert register_from(service, f"{unique_network()}.1").status == 201, "other networks are not limited"


def test_registrations_leave_room_for_logins(start, new_user, database, expect):
    """One registration blocks the only password thread, so the others queue. Half of the four places are reserved for logins,
    and a login of one more account replaces the newest registration of the network that has several."""
    users, network = [new_user() for _ in range(4)], unique_network()
    service = start(PASSWORD_THREADS=1, PASSWORD_QUEUE=4, PG_STATEMENT_TIMEOUT_MS=60000, ACCOUNTS_PER_HOUR=4)
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    blocker = psycopg2.connect(database.url())
    blocker.cursor().execute("LOCK TABLE users IN SHARE MODE")

    def queue_is(jobs):
        wait_until(lambda: metric(service, "waymark_password_jobs_queued") == jobs, f"{jobs} to wait")

    def log_in(user):
        return Api(service.url).call("POST", "/api/auth/login", {"email": user.email, "password": "correct horse battery"})

    with concurrent.futures.ThreadPoolExecutor(7) as pool:
        registrations = [pool.submit(register_from, service, f"{network}.1")]
        wait_until(lambda: database.value(waiting) == 1, "the thread to be busy")
        registrations += [pool.submit(register_from, service, f"{network}.1") for _ in range(2)]
        queue_is(2)
        assert expect(register_from(service, f"{network}.1"), 429)["type"] == "/problems/busy"
        logins = [pool.submit(log_in, user) for user in users[:2]]
        queue_is(4)
        logins.append(pool.submit(log_in, users[2]))
        wait_until(lambda: sum(each.done() for each in registrations) == 1, "a registration to lose its place")
        logins.append(pool.submit(log_in, users[3]))
        wait_until(lambda: sum(each.done() for each in registrations) == 2, "the other registration to lose its place")
        blocker.rollback()
    blocker.close()
    assert sorted(answer.result().status for answer in registrations) == [201, 429, 429]
    assert [answer.result().status for answer in logins] == [200] * 4
    assert [register_from(service, f"{network}.1").status for _ in range(4)] == [201] * 3 + [429], "a refused registration does not count"


def test_known_networks_log_in_while_unknown_ones_fill_the_queue(start, new_user, database, expect):
    """A registration blocks the only password thread. Clients in as many networks then send logins of unknown accounts."""
    user = new_user()
    service = start(PASSWORD_THREADS=1, PASSWORD_QUEUE=8, PG_STATEMENT_TIMEOUT_MS=60000)
    blocker = psycopg2.connect(database.url())
    blocker.cursor().execute("LOCK TABLE users IN SHARE MODE")
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"

    def log_in(email, headers):
        return Api(service.url).call("POST", "/api/auth/login", {"email": email, "password": "correct horse battery"}, headers)

    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        registration = pool.submit(register_from, service, f"{unique_network()}.1")
        wait_until(lambda: database.value(waiting) == 1, "the thread to be busy")
        flood = [pool.submit(log_in, unique_email(), {"X-Forwarded-For": f"{unique_network()}.1"}) for _ in range(10)]
        wait_until(lambda: sum(each.done() for each in flood) >= 4, "the queue to be full for unknown networks")
        known = pool.submit(log_in, user.email, {})
        queued = wait_until(lambda: known.done() or metric(service, "waymark_password_jobs_queued") == 7, "the login to wait")
        blocker.rollback()
    blocker.close()
    assert queued and known.result().status == 200
    assert registration.result().status == 201
    assert sorted(each.result().status for each in flood) == [401] * 6 + [429] * 4


PASSWORD, WRONG = "correct horse battery", "wrong horse battery"


def password_doors(service, account):
    """The ways in which one account, or who knows its shares, sends passwords: lists of requests that may be sent at once."""
    networks = [f"{unique_network()}.1" for _ in range(6)]
    tokens, shares = [account.token], []
    for network in networks:
        known = log_in_from(service, network, account.email)
        assert known.status == 200
        tokens.append(known.json["access_token"])
    for _ in range(6):
        shares.append(account.call("POST", "/api/shares", {"tag": "x", "password": PASSWORD}).json["token"])
        assert open_share(service, networks[0], shares[-1]).status == 200

    def change(token):
        api = Api(service.url)
        api.token = token
        return api.call("POST", "/api/auth/password", {"current_password": WRONG, "new_password": PASSWORD})

    return {
        "known networks": [lambda network=network: log_in_from(service, network, account.email) for network in networks],
        "new networks": [lambda: log_in_from(service, f"{unique_network()}.1", account.email)] * 6,
        "wrong passwords": [lambda: log_in_from(service, f"{unique_network()}.1", account.email, WRONG)] * 6,
        "access tokens": [lambda token=token: change(token) for token in tokens],
        "shares": [lambda token=token: open_share(service, networks[0], token) for token in shares],
        "shares from many networks": [lambda token=token: open_share(service, f"{unique_network()}.1", token) for token in shares],
        "new shares": [lambda: account.call("POST", "/api/shares", {"tag": "x", "password": PASSWORD})] * 6,
    }


def log_in_from(service, network, email, password=PASSWORD):
    """network None: that of this machine, which is known for all accounts."""
    headers = {"X-Forwarded-For": network} if network else {}
    return Api(service.url).call("POST", "/api/auth/login", {"email": email, "password": password}, headers)


def open_share(service, network, token):
    return Api(service.url).call("POST", "/api/shared/access", {"token": token, "password": PASSWORD}, {"X-Forwarded-For": network})


@pytest.fixture(scope="module")
def one_thread(start):
    return start(PASSWORD_THREADS=1, PASSWORD_QUEUE=8, PG_STATEMENT_TIMEOUT_MS=60000, LOGIN_FAILURES="unlimited")


@pytest.mark.parametrize(
    "doors",
    [
        ["known networks", "access tokens", "shares"],  # at once
        ["known networks"], ["new networks"], ["wrong passwords"], ["access tokens"], ["shares"], ["shares from many networks"], ["new shares"],
        ["new networks", "wrong passwords", "shares from many networks", "new shares", "access tokens"],
    ],
    ids="+".join,
)  # fmt: skip
def test_whatever_one_account_does_with_passwords_refuses_nobody_else(one_thread, new_user, database, doors):
    """A registration blocks the only password thread, and the account fills the queue. What others send then waits in it."""
    service, attacker, known, new, owner = one_thread, *[new_user(one_thread) for _ in range(4)]
    foreign = owner.call("POST", "/api/shares", {"tag": "x", "password": PASSWORD}).json["token"]
    ways = password_doors(service, attacker)
    attack = [request for door in doors for request in ways[door]]
    with concurrent.futures.ThreadPoolExecutor(len(attack) + 6) as pool:
        with database.locked("users", "SHARE"):
            blocker = pool.submit(register_from, service, f"{unique_network()}.1")
            database.await_statements_waiting(1)
            sent = [pool.submit(request) for request in attack]

            def are_waiting():
                return sum(each.done() for each in sent) + metric(service, "waymark_password_jobs_queued") == len(sent)

            wait_until(are_waiting, "the queue to be full")
            others = [
                pool.submit(log_in_from, service, None, known.email),
                pool.submit(log_in_from, service, f"{unique_network()}.1", new.email),
                pool.submit(open_share, service, f"{unique_network()}.1", foreign),
                pool.submit(register_from, service, f"{unique_network()}.1"),
            ]

            def have_arrived():
                done = sum(each.done() for each in sent + others)
                return done + metric(service, "waymark_password_jobs_queued") == len(sent) + len(others)

            wait_until(have_arrived, "the others to wait in the queue")
        assert blocker.result().status == 201
    statuses = [each.result().status for each in others]
    assert statuses == [200, 200, 200, 201], [each.result().json for each in others if each.result().status == 429]
    assert {each.result().status for each in sent} <= {200, 201, 401, 403, 429}


def limits_of(answer, name):
    """(q, w, r) of a limit in the RateLimit headers, of which the last is shown."""
    policy = re.search(rf'"{name}";q=(\d+);w=(\d+)', answer.headers["ratelimit-policy"])
    left = re.search(rf'"{name}";r=(\d+);t=(\d+)', answer.headers["ratelimit"])
    return int(policy[1]), int(policy[2]), int(left[1])


def test_an_account_has_a_request_rate_that_its_keys_share(start, expect):
    service = start(REQUESTS_PER_MINUTE=5)
    user, other = Api(service.url), Api(service.url)
    user.register_and_login(unique_email())
    other.register_and_login(unique_email())
    key = Api(service.url)
    key.token = user.call("POST", "/api/keys", {"name": "k", "scopes": ["links:read"]}).json["secret"]
    answers = [api.call("GET", "/api/links") for api in (user, key, user, key)]
    assert [limits_of(answer, "requests") for answer in answers] == [(5, 60, left) for left in (3, 2, 1, 0)]
    for api in (user, key):
        answer = api.call("GET", "/api/auth/me" if api is user else "/api/links")
        problem = expect(answer, 429)
        assert problem["type"] == "/problems/rate-limit" and "Limit: requests, " in problem["detail"]
        assert limits_of(answer, "requests") == (5, 60, 0) and 0 < int(answer.headers["retry-after"]) <= 60
    assert other.call("GET", "/api/links").status == 200, "other accounts are not limited"


def test_a_rate_continues_when_redis_loses_its_counter(start, database, expect):
    service = start(REQUESTS_PER_MINUTE=5)
    user = Api(service.url)
    user.register_and_login(unique_email())
    assert [limits_of(user.call("GET", "/api/links"), "requests")[2] for _ in range(3)] == [4, 3, 2]
    database.redis.client.flushdb()
    assert [limits_of(user.call("GET", "/api/links"), "requests")[2] for _ in range(2)] == [1, 0]
    expect(user.call("GET", "/api/links"), 429)
    assert metric(service, "waymark_rate_limit_lost_counters_total") == 1
    assert metric(service, "waymark_rate_limit_fallbacks_total") == 0


def spend_requests(service, user, network):
    return user.call("GET", "/api/links").status


def spend_bulk_links(service, user, network):
    return user.call("POST", "/api/links/bulk", {"links": [LINK]}).status


def spend_anonymous_links(service, user, network):
    return create_from(service, network).status


def spend_registrations(service, user, network):
    return register_from(service, network).status


def spend_wrong_passwords(service, user, network):
    return log_in_from(service, network, user.email, WRONG).status


def spend_wrong_passwords_with_a_token(service, user, network):
    return user.call("DELETE", "/api/auth/me", {"password": WRONG}).status


def spend_wrong_passwords_of_a_share(service, user, network):
    body = {"token": user.share, "password": WRONG}
    return Api(service.url).call("POST", "/api/shared/access", body, {"X-Forwarded-For": network}).status


@pytest.mark.parametrize(
    "variable, spend, status",
    [
        ("REQUESTS_PER_MINUTE", spend_requests, 200), ("BULK_LINKS_PER_MINUTE", spend_bulk_links, 200),
        ("ANONYMOUS_LINKS_PER_HOUR", spend_anonymous_links, 201), ("ACCOUNTS_PER_HOUR", spend_registrations, 201),
        ("LOGIN_FAILURES", spend_wrong_passwords, 401), ("LOGIN_FAILURES", spend_wrong_passwords_with_a_token, 403),
        ("LOGIN_FAILURES", spend_wrong_passwords_of_a_share, 401),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)  # fmt: skip
def test_without_redis_a_limit_goes_on_from_what_the_process_saw(start, database, new_user, variable, spend, status):
    service = start(**{variable: 5})
    user, network = new_user(), f"{unique_network()}.1"
    user.base = service.url
    user.share = user.call("POST", "/api/shares", {"tag": "x", "password": PASSWORD}).json["token"]
    before = 2 if variable == "REQUESTS_PER_MINUTE" else 3  # the share was a request
    assert [spend(service, user, network) for _ in range(before)] == [status] * before
    database.redis.process.kill()
    database.redis.process.wait()
    try:
        assert [spend(service, user, network) for _ in range(3)] == [status] * 2 + [429]
    finally:
        database.redis.start()
    assert spend(service, user, network) == 429, "what it counted alone still counts"


def test_bulk_requests_count_by_links(start, expect):
    service = start(BULK_LINKS_PER_MINUTE=10)
    user = Api(service.url)
    user.register_and_login(unique_email())
    bulk = {"links": [LINK] * 8}
    answers = [user.call("POST", "/api/links/bulk", bulk) for _ in range(3)]
    assert [answer.status for answer in answers] == [200, 200, 429], "a bulk passes while anything is left"
    assert expect(answers[2], 429)["detail"].find("Limit: bulk-links, ") > 0
    assert limits_of(answers[0], "bulk-links") == (10, 60, 2)
    assert user.call("GET", "/api/links?limit=1").json["pagination"]["total"] == 16
    expect(user.call("POST", "/api/links/sync", {"links": [LINK]}), 429)
    expect(user.call("PATCH", "/api/links?filter=id:>0", {"state": "disabled"}), 429)
    expect(user.call("DELETE", "/api/links?filter=id:>0"), 429)
    states = {link["state"] for link in user.call("GET", "/api/links").json["links"]}
    assert states == {"active"}, "a refused bulk changes nothing"
    assert create(user).status == 201, "single requests have a limit of their own"


def test_a_repeated_bulk_costs_nothing(start):
    service = start(BULK_LINKS_PER_MINUTE=10)
    user = Api(service.url)
    user.register_and_login(unique_email())
    headers, bulk = {"Idempotency-Key": secrets.token_hex(8)}, {"links": [LINK] * 8}
    first, again, other = (user.call("POST", "/api/links/bulk", bulk, each) for each in (headers, headers, {}))
    assert [answer.status for answer in (first, again, other)] == [200] * 3 and again.body == first.body
    assert limits_of(other, "bulk-links")[2] == 0
    assert user.call("POST", "/api/links/bulk", bulk, headers).headers["idempotency-replayed"] == "true", "even if none is left"
    found = user.call("POST", "/api/links/bulk", {"links": [{**LINK, "reuse": True}] * 8})
    assert [each["status"] for each in found.json["results"]] == [200] * 8, "links that exist already"
    assert user.call("POST", "/api/links/bulk", bulk).status == 429


def test_zero_is_no_limit(start):
    service = start(LINKS_PER_DAY="unlimited", ANONYMOUS_LINKS_PER_HOUR="unlimited", LOGIN_FAILURES="unlimited")
    network = unique_network()
    assert [create_from(service, f"{network}.1").status for _ in range(25)] == [201] * 25
    user = Api(service.url)
    user.register_and_login(unique_email())
    assert [create(user).status for _ in range(10)] == [201] * 10
    wrong = {"email": user.email, "password": "not this one"}
    assert [user.call("POST", "/api/auth/login", wrong).status for _ in range(11)] == [401] * 11


# --- shares of the workers ---

QUEUE, FLOOD = 16, 40  # more than the workers and their queue


def send(api, method, path, body=None):
    """Sends one request and returns its connection."""
    url = urllib.parse.urlsplit(api.base)
    text = json.dumps(body) if body else ""
    connection = socket.create_connection((url.hostname, url.port), timeout=300)
    connection.sendall(
        f"{method} {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: Bearer {api.token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n{text}".encode()
    )
    return connection


def status_of(connection):
    with connection, connection.makefile("rb") as answer:
        return int(answer.readline().split()[1])


def test_statistics_of_one_account_never_keep_another_waiting(start, database):
    """All heavy workers wait for a lock, and one account fills their queue. No other account is refused."""
    service = start(HTTP_WORKER_QUEUE=QUEUE, HTTP_HEAVY_WORKERS=4, PG_STATEMENT_TIMEOUT_MS=60000, PG_HEAVY_STATEMENT_TIMEOUT_MS=60000)
    users = greedy, second, other = [User(service, database) for _ in range(3)]
    paths = {user: f"/api/links/{user.create()['id']}/stats?country=DE" for user in users}
    with database.locked("visit_log", "ACCESS EXCLUSIVE"):
        flood = [send(greedy, "GET", paths[greedy]) for _ in range(FLOOD)]
        database.await_statements_waiting(2)
        flood += [send(second, "GET", paths[second]) for _ in range(2)]
        database.await_statements_waiting(4)
        statistics = send(other, "GET", paths[other])
        assert [other.call("GET", "/api/auth/me").status for _ in range(20)] == [200] * 20
    assert status_of(statistics) == 200
    statuses = [status_of(connection) for connection in flood]
    assert statuses[-2:] == [200, 200] and set(statuses) == {200, 503}


def test_readers_of_a_share_never_keep_its_owner_waiting(start, database):
    service = start(HTTP_WORKER_QUEUE=QUEUE, HTTP_HEAVY_WORKERS=4, PG_STATEMENT_TIMEOUT_MS=60000, PG_HEAVY_STATEMENT_TIMEOUT_MS=60000)
    owner, readers = User(service, database), []
    path = f"/api/links/{owner.create()['id']}/stats?country=DE"
    for _ in range(2):
        token = owner.call("POST", "/api/shares", {"tag": "x"}).json["token"]
        readers.append(Api(service.url))
        readers[-1].token = readers[-1].call("POST", "/api/shared/access", {"token": token}).json["access_token"]
    with database.locked("visit_log", "ACCESS EXCLUSIVE"):
        flood = [send(reader, "GET", "/api/shared/stats/summary?country=DE") for reader in readers for _ in range(FLOOD)]
        database.await_statements_waiting(2)
        statistics = send(owner, "GET", path)
        database.await_statements_waiting(3)
    assert status_of(statistics) == 200
    assert {status_of(connection) for connection in flood} == {200, 503}


def test_changes_of_one_account_never_keep_another_waiting(start, database):
    service = start(HTTP_WORKER_QUEUE=QUEUE, HTTP_WORKERS=8, PG_STATEMENT_TIMEOUT_MS=60000)
    greedy, other = User(service, database), User(service, database)
    with database.locked("links", "SHARE"):
        flood = [send(greedy, "POST", "/api/links", LINK) for _ in range(FLOOD)]
        database.await_statements_waiting(4)
        link = send(other, "POST", "/api/links", LINK)
        assert [other.call("GET", "/api/auth/me").status for _ in range(20)] == [200] * 20
        database.await_statements_waiting(5)
    assert status_of(link) == 201
    assert {status_of(connection) for connection in flood} == {201, 503}


def test_many_keys_of_one_account_share_its_workers(start, database):
    service = start(HTTP_WORKERS=4, PG_STATEMENT_TIMEOUT_MS=60000)
    greedy = User(service, database)
    keys = [greedy.with_key("links:write")[0] for _ in range(4)]
    with database.locked("links", "SHARE"):
        flood = [send(key, "POST", "/api/links", LINK) for key in keys]
        database.await_statements_waiting(2)
        assert [User(service, database).call("GET", "/api/auth/me").status for _ in range(3)] == [200] * 3
        assert database.statements_waiting() == 2
    assert [status_of(connection) for connection in flood] == [201] * 4


def test_the_header_that_the_configuration_names_says_who_the_client_is(start, expect):
    service = start(ANONYMOUS_LINKS_PER_HOUR=1, CLIENT_IP_HEADER="CF-Connecting-IP")
    first, second, forwarded = (f"{unique_network()}.1" for _ in range(3))

    def create_as(client, forwarded_for):
        return Api(service.url).call("POST", "/api/links/public", LINK, {"CF-Connecting-IP": client, "X-Forwarded-For": forwarded_for})

    assert [create_as(client, forwarded).status for client in (first, second)] == [201, 201]
    expect(create_as(first, second), 429)
