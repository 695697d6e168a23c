"""Lists of links cached in Redis: never older than the last acknowledged change, and correct without Redis."""

import concurrent.futures
import datetime
import time

import psycopg2
import pytest
from clients import Api, unique_email
from service import PrivateRedis, is_active, metric
from waiting import wait_until

HIT, MISS, BYPASS = "hit", "miss", "bypass"


def register_user(service):
    api = Api(service.url)
    api.register_and_login(unique_email())
    api.id = api.call("GET", "/api/auth/me").json["user"]["id"]
    return api


@pytest.fixture
def cache():
    cache = PrivateRedis()
    yield cache
    cache.stop()


@pytest.fixture
def start_with_valid_cache(spawn, cache, database):
    def start(**variables):
        service = spawn(REDIS_URL=cache.url, **variables)
        service.database = database
        wait_until_cache_is_valid(service)
        return service

    return start


@pytest.fixture
def service(start_with_valid_cache):
    return start_with_valid_cache()


@pytest.fixture
def user(service):
    return register_user(service)


def wait_until_cache_is_valid(service):
    wait_until(lambda: metric(service, "waymark_link_cache_valid") == 1, 60, "the cache to be valid")


def wait_until_cached(database):
    """The relay repeats the writer's update and deletes the list generation a second time."""
    waiting = "SELECT count(*) FROM outbox WHERE NOT cached"
    wait_until(lambda: database.value(waiting) == 0, 60, "Redis to have all changes")


def cache_results(service):
    return {r: metric(service, f'waymark_list_cache_total{{result="{r}"}}') for r in (HIT, MISS, BYPASS)}


class List:
    """A user's list, with the cache result of each request."""

    def __init__(self, service, user, query=""):
        self.service, self.user, self.path = service, user, f"/api/links{query}"

    def get(self):
        """(response, cache result)."""
        before = cache_results(self.service)
        answer = self.user.call("GET", self.path)
        assert answer.status == 200, answer
        after = cache_results(self.service)
        return answer, next(name for name in after if after[name] > before[name])

    def shown(self):
        return self.get()[0].json

    def warm(self):
        """Waits for a response from Redis: on a busy machine the cache may be invalid for a moment."""
        wait_until_cached(self.service.database)
        return wait_until(lambda: (seen := self.get())[1] == HIT and seen[0], 60, "a list from Redis")

    def await_hit(self, links, seconds):
        """Waits for a response from Redis; every response meanwhile must show these links."""
        deadline = time.monotonic() + seconds
        result = None
        while result != HIT:
            assert time.monotonic() < deadline, "a list from Redis again"
            answer, result = self.get()
            assert answer.json["links"] == links, result


def page_keys(cache):
    return cache.client.keys("list:*")


def list_generation(cache, user):
    return cache.client.get(f"list_generation:{user.id}")


# --- from Redis ---


def test_a_list_from_redis_is_byte_identical(service, user, cache):
    user.create(title="Ü", tags=["a", "b c"], expired_url="https://example.com/over")
    user.create(redirect_status=308)
    page = List(service, user)
    wait_until_cached(service.database)
    first, result = page.get()
    assert result == MISS
    second, result = page.get()
    assert (result, second.body) == (HIT, first.body)
    (key,) = page_keys(cache)
    assert key.decode() == f"list:{cache.announced_generation()[0]}:{user.id}:{list_generation(cache, user).decode()}:1:20"
    assert 0 < cache.client.ttl(key) <= 300
    assert 0 < cache.client.ttl(f"list_generation:{user.id}") <= 86400


def test_pages_and_limits_are_cached_separately(service, user):
    links = [user.create() for _ in range(5)][::-1]
    for _ in range(2):
        for limit in (2, 3, 100):
            pages = [List(service, user, f"?page={page}&limit={limit}").shown() for page in (1, 2, 3)]
            assert [link for page in pages for link in page["links"]] == links
            assert {page["pagination"]["total"] for page in pages} == {5}


def test_a_page_beyond_the_last_one_is_not_cached(service, user, cache):
    user.create()
    assert List(service, user, "?page=9").shown()["links"] == []
    assert page_keys(cache) == []


def test_nobody_gets_the_list_of_another_user(service, user, cache):
    other = register_user(service)
    user.create()
    theirs = other.create()
    List(service, user).warm()
    before = List(service, other).warm()
    user.create()
    answer, result = List(service, other).get()
    assert (result, answer.body) == (HIT, before.body), "a change by another user does not invalidate it"
    assert [link["id"] for link in answer.json["links"]] == [theirs["id"]]
    mine = next(key for key in page_keys(cache) if f":{user.id}:".encode() in key)
    foreign = next(key for key in page_keys(cache) if f":{other.id}:".encode() in key)
    cache.client.set(foreign, cache.client.get(mine))
    assert List(service, other).shown() == before.json, "even if a foreign page is stored under the user's key"


def test_a_page_from_redis_shows_current_counts(service, user, database):
    link = user.create()
    page = List(service, user)
    assert page.warm().json["links"][0]["visit_count"] == 0
    database.run(
        """INSERT INTO link_statistics (link_id, visit_count, bot_count, unique_visitors, last_visited_at)
           VALUES (%s, 41, 7, 1, now())""",
        link["id"],
    )
    answer, result = page.get()
    shown = answer.json["links"][0]
    assert (result, shown["visit_count"], shown["bot_count"]) == (HIT, 41, 7)
    assert shown["last_visited_at"]


def test_a_link_on_a_page_from_redis_expires_on_time(service, user):
    end = time.time() + 1.5
    moment = datetime.datetime.fromtimestamp(end, datetime.timezone.utc).isoformat(timespec="milliseconds")
    user.create(expires_at=moment.replace("+00:00", "Z"))
    page = List(service, user)
    page.warm()
    while True:
        begun = time.time()
        answer, result = page.get()
        state = answer.json["links"][0]["state"]
        assert result == HIT
        if begun > end + 0.01:
            break
        assert state == "ACTIVE" or time.time() >= end
    assert state == "EXPIRED"


def test_a_page_that_is_too_large_is_not_cached(service, user, cache, database):
    database.run(
        """INSERT INTO links (slug, link_type, original_url, expired_url, owner_id)
           SELECT 'big-' || %s || '-' || i, 'PERMANENT', 'https://e.example/' || repeat('u', 2030),
                  'https://e.example/' || repeat('v', 2030), %s FROM generate_series(1, 100) AS i""",
        user.id,
        user.id,
    )
    large = List(service, user, "?limit=100")
    wait_until_cached(database)
    assert [large.get()[1], large.get()[1]] == [MISS, MISS]
    assert len(large.shown()["links"]) == 100 and page_keys(cache) == []
    assert len(List(service, user, "?limit=20").warm().json["links"]) == 20


# --- changes ---


def test_each_change_is_listed_at_once(service, user):
    page = List(service, user)
    page.warm()
    for i in range(5):
        link = user.create()
        assert page.shown()["links"][0] == link
        page.warm()
        path = f"/api/links/{link['id']}"
        changed = user.call("PATCH", path, {"title": str(i)}).json["link"]
        assert page.shown()["links"][0] == changed
        page.warm()
        assert user.call("DELETE", path).status == 204
        assert page.shown()["pagination"]["total"] == i
        page.warm()
        restored = user.call("POST", f"{path}/restore").json["link"]
        assert page.shown()["links"][0] == restored
        page.warm()


def test_a_change_is_listed_at_once_without_a_relay(service, user, database):
    link = user.create()
    page = List(service, user)
    page.warm()
    database.run("UPDATE shedlock SET lock_until = clock_timestamp() + interval '1 hour', fence = fence + 1")
    try:
        wait_until(lambda: not is_active(service), 60, "the relay to stop")
        assert page.get()[1] == HIT, "the cache is still valid"
        changed = user.call("PATCH", f"/api/links/{link['id']}", {"title": "new"}).json["link"]
        assert page.shown()["links"] == [changed]
    finally:
        database.run("UPDATE shedlock SET lock_until = clock_timestamp()")


def test_a_change_through_another_instance_is_listed_at_once(service, user, start_with_valid_cache):
    other = start_with_valid_cache()
    page = List(service, user)
    link = user.create()
    for title in "abcde":
        page.warm()
        there = Api(other.url)
        there.token = user.token
        assert there.call("PATCH", f"/api/links/{link['id']}", {"title": title}).status == 200
        assert page.shown()["links"][0]["title"] == title


def expiry_event(LinkEvent, link, owner_id):
    event = LinkEvent(event_id=bytes(range(16)), occurred_at_us=1, change="LINK_CHANGE_EXPIRED")
    event.link.id, event.link.slug, event.link.version = link["id"], link["slug"], 2
    event.link.state, event.link.link_type, event.link.redirect_status = 3, 2, 302
    event.link.original_url, event.link.owner_id = link["original_url"], owner_id
    event.link.created_at_us = event.link.updated_at_us = 1
    return event.SerializeToString()


def expire_through_outbox(database, LinkEvent, links_of):
    """Expires links in one transaction without updating Redis, as the janitor does."""
    with database.connection.cursor() as cursor:
        cursor.execute("BEGIN")
        for user, links in links_of.items():
            for link in links:
                cursor.execute("UPDATE links SET state = 'EXPIRED', version = 2 WHERE id = %s", (link["id"],))
                event = expiry_event(LinkEvent, link, user.id)
                cursor.execute("INSERT INTO outbox (slug, payload) VALUES (%s, %s)", (link["slug"], event))
        cursor.execute("SELECT pg_notify('waymark_outbox', '')")
        cursor.execute("COMMIT")


@pytest.mark.parametrize("brokers", [{}, {"KAFKA_BROKERS": "127.0.0.1:1"}], ids=["with-kafka", "without-kafka"])
def test_a_change_through_the_outbox_alone_is_listed_within_a_second(
    start_with_valid_cache, database, LinkEvent, brokers
):
    service = start_with_valid_cache(**brokers)
    users = [register_user(service) for _ in range(3)]
    links = {user: [user.create() for _ in range(3)] for user in users}
    pages = {user: List(service, user) for user in users}
    before = database.value("SELECT generation FROM link_cache_generation")
    for page in pages.values():
        page.warm()
    expire_through_outbox(database, LinkEvent, {user: links[user] for user in users[:2]})

    def states(user):
        return {link["state"] for link in pages[user].shown()["links"]}

    wait_until(lambda: states(users[0]) == states(users[1]) == {"EXPIRED"}, 60, "the change on both lists")
    assert pages[users[2]].get()[1] == HIT and states(users[2]) == {"ACTIVE"}
    assert database.value("SELECT generation FROM link_cache_generation") == before
    database.run("TRUNCATE outbox")


def is_table_waited_for(database, table):
    return database.value(
        "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND relation = %s::regclass "
        "AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))",
        table,
    )


def test_a_page_read_before_a_change_and_stored_after_it_is_never_shown(
    service, user, cache, database, LinkEvent
):
    link = user.create()
    page = List(service, user)
    page.warm()
    cache.client.delete(f"list_generation:{user.id}")
    with concurrent.futures.ThreadPoolExecutor(1) as pool, psycopg2.connect(database.url()) as lock:
        lock.cursor().execute("LOCK TABLE link_statistics")
        slow = pool.submit(user.call, "GET", page.path)
        wait_until(lambda: is_table_waited_for(database, "link_statistics"), 60, "the list to wait for its counts")
        expire_through_outbox(database, LinkEvent, {user: [link]})
        wait_until(lambda: list_generation(cache, user) is None, 60, "the list generation to be deleted")
        lock.rollback()
        assert slow.result().json["links"][0]["state"] == "ACTIVE", "it was read before the change"
    assert page.warm().json["links"][0]["state"] == "EXPIRED"
    database.run("TRUNCATE outbox")


# --- when Redis loses data or is down ---


def change_without_invalidation(database, link, title):
    """Changes the row but leaves Redis unchanged, which the service never does."""
    database.run("UPDATE links SET title = %s WHERE id = %s", title, link["id"])


def test_a_lost_list_generation_brings_no_old_page_back(service, user, cache, database):
    link = user.create(title="old")
    page = List(service, user)
    page.warm()
    old = list_generation(cache, user)
    change_without_invalidation(database, link, "new")
    assert page.shown()["links"][0]["title"] == "old", "it comes from Redis"
    for _ in range(5):
        cache.client.delete(f"list_generation:{user.id}")
        answer, result = page.get()
        assert (answer.json["links"][0]["title"], result) == ("new", MISS)
        assert list_generation(cache, user) not in (None, old)
    assert any(old in key for key in page_keys(cache)), "the old page is still there"


def test_a_malformed_list_generation_is_ignored(service, user, cache):
    link = user.create()
    wait_until_cached(service.database)
    for value in (b"", b"1", b"x" * 16, b"0123456789abcdef0"):
        cache.client.set(f"list_generation:{user.id}", value)
        answer, result = List(service, user).get()
        assert (answer.json["links"], result) == ([link], BYPASS)
    assert user.call("DELETE", f"/api/links/{link['id']}").status == 204
    assert List(service, user).warm().json["links"] == []


def test_an_unreadable_page_is_a_miss(service, user, cache):
    link = user.create(title="t" * 50)
    page = List(service, user)
    good = page.warm().body
    (key,) = page_keys(cache)
    value = cache.client.get(key)
    cut = [value[:n] for n in (0, 1, 12, 13, 17, len(value) - 1)]
    for bad in [*cut, value + b"\0", b"garbage" * 9, b"\x02" + value[1:], value.replace(b"https", b"\xff" * 5)]:
        cache.client.set(key, bad, ex=60)
        answer, result = page.get()
        assert (answer.body, result) == (good, MISS), bad
        assert cache.client.get(key) == value, "the page is replaced"
    assert link["title"] in good.decode()


def test_a_flushed_redis_costs_a_query_and_no_correctness(service, user, cache):
    link = user.create()
    page = List(service, user)
    page.warm()
    cache.client.flushall()
    assert page.shown()["links"] == [link]
    wait_until_cache_is_valid(service)
    changed = user.call("PATCH", f"/api/links/{link['id']}", {"title": "new"}).json["link"]
    assert page.shown()["links"] == [changed]
    assert page.warm().json["links"] == [changed]


def test_a_frozen_redis_never_shows_old_lists(service, user, cache, database):
    link = user.create()
    page = List(service, user)
    page.warm()
    cache.freeze()
    for title in "abc":
        changed = user.call("PATCH", f"/api/links/{link['id']}", {"title": title}).json["link"]
        answer, result = page.get()
        assert (answer.json["links"], result) == ([changed], BYPASS)
    cache.thaw()
    page.await_hit([changed], 10)


def test_a_redis_restored_from_an_old_snapshot_shows_no_old_list(service, user, cache):
    link = user.create()
    page = List(service, user)
    page.warm()
    cache.client.save()
    changed = user.call("PATCH", f"/api/links/{link['id']}", {"title": "new"}).json["link"]
    cache.restart()
    assert page_keys(cache), "the old page came back"
    page.await_hit([changed], 15)


def test_a_full_redis_shows_no_old_list(service, user, cache):
    link = user.create()
    page = List(service, user)
    page.warm()
    cache.client.config_set("maxmemory", "1mb")
    for title in "abc":
        changed = user.call("PATCH", f"/api/links/{link['id']}", {"title": title}).json["link"]
        assert page.shown()["links"] == [changed]
    cache.client.config_set("maxmemory", "0")
    assert page.warm().json["links"] == [changed]


def test_lists_read_during_changes_are_never_old(service, user):
    """A read that begins after an acknowledged change shows it, whatever is written to Redis meanwhile."""
    link = user.create(title="0")
    page = List(service, user)
    acknowledged = 0
    running = True

    def read():
        seen = 0
        while running:
            least = acknowledged
            shown = int(user.call("GET", page.path).json["links"][0]["title"])
            assert shown >= least
            seen += 1
        return seen

    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        readers = [pool.submit(read) for _ in range(3)]
        try:
            for i in range(1, 101):
                assert user.call("PATCH", f"/api/links/{link['id']}", {"title": str(i)}).status == 200
                acknowledged = i
        finally:
            running = False
        assert all(reader.result() > 0 for reader in readers)
