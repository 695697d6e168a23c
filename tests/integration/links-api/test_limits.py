"""How much anybody may do: quotas of users, limits of networks."""

import concurrent.futures
import secrets

import psycopg2
import pytest
from doors import Api, unique_email
from service import wait_until

WISH = {"original_url": "https://example.com/"}


@pytest.fixture(scope="module")
def service(start):
    return start(LINKS_PER_DAY=3, ANONYMOUS_LINKS_PER_HOUR=2)


def create(api):
    return api.call("POST", "/api/links", WISH)


def create_from(service, address):
    return Api(service.url).call("POST", "/api/links/public", WISH, {"X-Forwarded-For": address})


def unique_network():
    """The first three numbers of an address of a documentation network that no other test has."""
    return f"100.{64 + secrets.randbelow(64)}.{secrets.randbelow(256)}"


def test_a_user_creates_so_many_links_in_24_hours(new_user, database, expect):
    user = new_user()
    links = [create(user).json["link"] for _ in range(3)]
    user.call("DELETE", f"/api/links/{links[0]['id']}")
    answer = create(user)
    expect(answer, 429)
    assert answer.headers["ratelimit-policy"] == '"links";q=3;w=86400'
    assert 86000 < int(answer.headers["retry-after"]) <= 86400
    assert answer.headers["ratelimit"] == f'"links";r=0;t={answer.headers["retry-after"]}'
    assert create(new_user()).status == 201, "others may"
    assert user.call("PATCH", f"/api/links/{links[1]['id']}", {"title": "x"}).status == 200, "changes are not counted"
    database.run("UPDATE links SET created_at = created_at - interval '24 h' WHERE id = %s", links[0]["id"])
    assert create(user).status == 201
    assert create(user).status == 429


def test_refused_links_are_not_counted(new_user):
    user = new_user()
    for _ in range(5):
        assert user.call("POST", "/api/links", {"original_url": "nonsense"}).status == 400
    assert [create(user).status for _ in range(4)] == [201, 201, 201, 429]


def test_links_made_at_once_do_not_pass_the_quota(new_user, database):
    """All requests have come past the counting, or wait for their turn to count, before the first link can be made."""
    user = new_user()
    blocker = psycopg2.connect(database.url())
    blocker.cursor().execute("LOCK TABLE links IN SHARE MODE")
    waiting = """SELECT count(*) FROM pg_stat_activity
                 WHERE datname = current_database() AND wait_event_type = 'Lock'"""
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        answers = [pool.submit(create, user) for _ in range(6)]
        wait_until(lambda: database.ask(waiting) == 6, 10, "six requests to wait")
        blocker.rollback()
    assert sorted(answer.result().status for answer in answers) == [201] * 3 + [429] * 3
    blocker.close()


def test_a_network_makes_so_many_links_without_a_login(service, expect):
    network = unique_network()
    assert create_from(service, f"{network}.1").status == 201
    assert create_from(service, f"{network}.2").status == 201
    answer = create_from(service, f"{network}.3")
    expect(answer, 429)
    assert answer.headers["ratelimit-policy"] == '"anonymous-links";q=2;w=3600'
    assert 0 < int(answer.headers["retry-after"]) <= 3600
    assert create_from(service, f"{unique_network()}.1").status == 201, "other networks may"


def test_refused_anonymous_links_are_not_counted(service):
    network = unique_network()
    taken = "taken-" + secrets.token_hex(6)
    with_slug = {**WISH, "slug": taken}
    api, headers = Api(service.url), {"X-Forwarded-For": f"{network}.1"}
    assert api.call("POST", "/api/links/public", with_slug, headers).status == 201
    for _ in range(3):
        assert api.call("POST", "/api/links/public", with_slug, headers).status == 409
        assert api.call("POST", "/api/links/public", {}, headers).status == 400
    assert create_from(service, f"{network}.1").status == 201
    assert create_from(service, f"{network}.1").status == 429


def test_without_redis_anonymous_links_are_not_limited(start):
    service = start(REDIS_URL="redis://127.0.0.1:1", ANONYMOUS_LINKS_PER_HOUR=1)
    network = unique_network()
    assert [create_from(service, f"{network}.1").status for _ in range(3)] == [201] * 3


def test_zero_is_no_limit(start):
    service = start(LINKS_PER_DAY=0, ANONYMOUS_LINKS_PER_HOUR=0, LOGIN_FAILURES=0)
    network = unique_network()
    assert [create_from(service, f"{network}.1").status for _ in range(25)] == [201] * 25
    user = Api(service.url)
    user.register_and_login(unique_email())
    assert [create(user).status for _ in range(10)] == [201] * 10
    wrong = {"email": user.email, "password": "not this one"}
    assert [user.call("POST", "/api/auth/login", wrong).status for _ in range(11)] == [401] * 11
