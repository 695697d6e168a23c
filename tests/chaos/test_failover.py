"""PostgreSQL fails over to an asynchronous standby that lacks the last commits.

Redirectors, Redis and Kafka have seen these commits. The memory of the redirectors is valid for an hour, so only the
feed can tell them.
"""

import re
import signal

import psycopg2
import pytest
from clients import Api, ask, unique_email
from harness import wait_until
from standby import Standby

KEPT = "https://example.com/kept"
LOST = "https://example.com/lost"
AGAIN = "https://example.com/again"


@pytest.fixture(scope="module")
def stack(redirectors):
    return redirectors


def new_user(stack):
    user = Api(stack.env["LINKS_API_URL"])
    user.register_and_login(unique_email())
    user.id = user.call("GET", "/api/auth/me").json["user"]["id"]
    return user


def location(url, link):
    """Where the link leads. A redirector whose stores are slow answers 503, and is asked again."""

    def answered():
        answer = ask(url, "GET", f"/{link['slug']}")
        return answer if answer.status != 503 else None

    return wait_until(answered, f"an answer for {link['slug']}").headers.get("location")


def change(user, link, destination):
    """Also by a links-api whose connections to the last primary are just breaking, which answers 503."""

    def answered():
        answer = user.call("PATCH", f"/api/links/{link['id']}", {"original_url": destination})
        return answer if answer.status != 503 else None

    answer = wait_until(answered, f"a change of {link['slug']}")
    assert answer.status == 200, answer
    return answer.json["link"], answer.headers["etag"]


def lose_commits(stack, user, links):
    """Changes the links, creates one and registers a user, all of which the standby never gets."""
    first, _ = stack.env["REDIRECTOR_URLS"].replace(",", " ").split()
    changed = [change(user, link, LOST) for link in links]
    created, other = user.create(LOST), new_user(stack)
    for link in (*links, created):  # in Redis, and in the memory of one redirector
        wait_until(lambda link=link: location(first, link) == LOST, f"{link['slug']} to lead to {LOST}")
    return changed, created, other


def test_commits_that_a_failover_loses_leave_no_trace(stack, record_property):
    first, second = stack.env["REDIRECTOR_URLS"].replace(",", " ").split()
    user = new_user(stack)
    links = [user.create(KEPT) for _ in range(3)]
    assert {location(first, link) for link in links} == {KEPT}
    with Standby(stack) as standby:
        standby.cut_off()
        changed, created, other = lose_commits(stack, user, links)
        standby.replace_primary()
    stack.reconnect()

    wait_until(lambda: user.call("GET", f"/api/links/{links[0]['id']}").status == 200, "links-api to read again")
    for url in (first, second):  # the second one has not seen the links: Redis must not have them either
        wait_until(lambda url=url: location(url, links[0]) == KEPT, "the redirector to forget the lost change")
        assert [location(url, link) for link in links] == [KEPT] * 3
        wait_until(lambda url=url: ask(url, "GET", f"/{created['slug']}").status == 404, "404 for the lost link")

    lost_etag = {"If-Match": changed[0][1]}
    assert user.call("PATCH", f"/api/links/{links[0]['id']}", {"title": "?"}, lost_etag).status == 412
    now, _ = change(user, links[0], AGAIN)
    assert now["version"] > changed[0][0]["version"], "a version repeats"
    for url in (first, second):
        wait_until(lambda url=url: location(url, links[0]) == AGAIN, "the next change")
    assert user.create(KEPT)["id"] > created["id"], "the id of a link repeats"
    assert new_user(stack).id > other.id, "the id of a user repeats: the token of the other opens this account"
    record_property("did", "PostgreSQL replaced by an asynchronous standby that lacks the last commits")
    record_property("commits lost", len(changed) + 2)
    record_property("redirects to a lost destination afterwards", 0)


def test_nothing_is_issued_before_the_new_history_is_adopted(stack):
    """What links-api adopts within moments is undone here, in one transaction."""
    with psycopg2.connect(stack.env["ADMIN_PG_URL"]) as connection, connection.cursor() as cursor:
        cursor.execute("UPDATE database_epoch SET timeline = timeline - 1")
        cursor.execute("SAVEPOINT before")
        for sql in (
            "INSERT INTO links (slug, link_type, original_url, expires_at) VALUES ('early', 'TEMPORARY', 'https://a.example/', now())",
            "UPDATE links SET title = ''",
            "INSERT INTO users (email, password_hash) VALUES ('early@example.com', '')",
            "INSERT INTO shares (workspace_id, tag, token_hash) SELECT id, 'early', sha256('') FROM users LIMIT 1",
        ):
            with pytest.raises(psycopg2.errors.CannotConnectNow, match="another history"):
                cursor.execute(sql)
            cursor.execute("ROLLBACK TO before")
        connection.rollback()


def is_feed_fresh(ops_url):
    return re.search(r"^waymark_feed_is_fresh 1$", ask(ops_url, "GET", "/metrics").body.decode(), re.M) is not None


def test_a_primary_whose_clock_is_an_hour_behind_the_last_one_is_followed_at_once(stack):
    """The last test on this stack, whose own PostgreSQL is dead afterwards."""
    redirectors, ops = (stack.env[name].replace(",", " ").split() for name in ("REDIRECTOR_URLS", "REDIRECTOR_OPS_URLS"))
    user = new_user(stack)
    link = user.create(KEPT)
    with Standby(stack, clock="+1h") as ahead:
        ahead.cut_off()
        stack.run("kill", "-KILL", "postgres")
        ahead.take_over()
        wait_until(lambda: all(map(is_feed_fresh, ops)), "the feed to follow the clock that is ahead")
        assert {location(url, link) for url in redirectors} == {KEPT}
        now = "SELECT extract(epoch FROM clock_timestamp())::float8"
        with Standby(stack) as standby:
            assert 3500 < ahead.ask(now) - standby.ask(now) < 3700
            standby.cut_off()
            ahead.stop(signal.SIGKILL)
            wait_until(lambda: not any(map(is_feed_fresh, ops)), "the feed to be old")
            standby.take_over()
            wait_until(lambda: all(map(is_feed_fresh, ops)), "the feed to be fresh again")
            assert standby.ask("SELECT max(lock_until) < timezone('utc', clock_timestamp()) + interval '30 min' FROM shedlock")
            change(user, link, AGAIN)
            for url in redirectors:
                wait_until(lambda url=url: location(url, link) == AGAIN, "the change")
