"""The outbox relay: each committed change reaches the topic, in order, whoever is killed or frozen."""

import collections
import concurrent.futures
import signal
import statistics
import time

import pytest
from clients import Api, ask, murmur2, unique_email
from service import PrivateRedis, is_active, metric
from waiting import wait_until

def user_of(service):
    api = Api(service.url)
    api.register_and_login(unique_email())
    return api


def read_versions(topic, LinkEvent, wanted, seconds=60):
    """slug → versions in the order of the topic, once each wanted slug has come to its wanted version."""
    seen = collections.defaultdict(list)
    deadline = time.monotonic() + seconds
    while any(not seen[slug] or seen[slug][-1] < version for slug, version in wanted.items()):
        assert time.monotonic() < deadline, {s: seen[s] for s, v in wanted.items() if not seen[s] or seen[s][-1] < v}
        message = topic.consumer.poll(0.2)
        if message is not None and message.error() is None and message.value():
            event = LinkEvent.FromString(message.value())
            assert message.key().decode() == event.link.slug
            if event.link.slug in wanted:
                seen[event.link.slug].append(event.link.version)
    return seen


def assert_complete_and_in_order(seen, wanted):
    for slug, last in wanted.items():
        assert seen[slug] == sorted(seen[slug]), f"{slug} went back: {seen[slug]}"
        assert set(seen[slug]) == set(range(1, last + 1)), f"{slug} has gaps: {seen[slug]}"


def assert_complete_and_news_in_order(seen, wanted):
    """As above, but for repeats: one that was frozen in the middle of sending may repeat what its successor has gone past."""
    for slug, versions in seen.items():
        seen[slug] = [version for i, version in enumerate(versions) if version not in versions[:i]]
    assert_complete_and_in_order(seen, wanted)


def test_each_change_is_published_with_its_headers_and_key(spawn, topic, LinkEvent, database):
    service = spawn()
    user = user_of(service)
    link = user.create(title="t", tags=["a"])
    message = topic.wait_for(lambda m: m.key() == link["slug"].encode())[0]
    event = LinkEvent.FromString(message.value())
    headers = {name: value.decode() for name, value in message.headers()}
    assert headers == {
        "ce_specversion": "1.0", "ce_type": "waymark.link.v1", "ce_source": "/waymark/links-api",
        "ce_subject": link["slug"], "content-type": "application/protobuf",
        "ce_id": headers["ce_id"], "ce_time": headers["ce_time"],
    }  # fmt: skip
    assert headers["ce_id"].replace("-", "") == event.event_id.hex()
    assert message.partition() == (murmur2(message.key()) & 0x7FFFFFFF) % topic.partition_count
    assert (event.link.id, event.link.slug, event.link.version) == (link["id"], link["slug"], 1)
    assert (event.link.original_url, event.link.title, list(event.link.tags)) == (link["original_url"], "t", ["a"])
    wait_until(lambda: database.ask("SELECT count(*) FROM outbox") == 0, 10, "an empty outbox")


def test_a_change_is_on_the_topic_within_a_second(spawn, topic):
    service = spawn()
    user = user_of(service)
    warm = user.create()
    topic.wait_for(lambda m: m.key() == warm["slug"].encode())
    seconds = []
    for _ in range(5):
        begin = time.monotonic()
        link = user.create()
        topic.wait_for(lambda m: m.key() == link["slug"].encode())
        seconds.append(time.monotonic() - begin)
    assert statistics.median(seconds) < 1, seconds


def test_many_changes_of_many_links_come_whole_and_in_order(spawn, topic, LinkEvent):
    user = user_of(spawn())
    links = [user.create() for _ in range(8)]

    def change(link):
        for i in range(24):
            assert user.call("PATCH", f"/api/links/{link['id']}", {"title": str(i)}).status == 200
        return link["slug"]

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        wanted = {slug: 25 for slug in pool.map(change, links)}
    seen = read_versions(topic, LinkEvent, wanted)
    assert_complete_and_in_order(seen, wanted)
    assert all(len(versions) == 25 for versions in seen.values()), "nothing is repeated when nobody dies"


def test_a_purged_link_is_followed_by_a_tombstone(spawn, topic, LinkEvent, database):
    spawn()
    event = LinkEvent(event_id=bytes(range(16)), occurred_at_us=1, change="LINK_CHANGE_PURGED")
    event.link.id, event.link.slug, event.link.version = 7, "purged-" + unique_email()[5:17], 3
    event.link.state, event.link.link_type, event.link.redirect_status = 4, 2, 302
    event.link.original_url = "https://example.com/"
    event.link.created_at_us = event.link.updated_at_us = 1
    database.run(
        "INSERT INTO outbox (slug, payload) VALUES (%s, %s)", event.link.slug, event.SerializeToString()
    )
    purged, tombstone = topic.wait_for(lambda m: m.key() == event.link.slug.encode(), count=2)
    assert purged.value() == event.SerializeToString()
    assert tombstone.value() is None


def test_an_event_that_nobody_here_understands_is_published_all_the_same(spawn, topic, database):
    service = spawn()
    slug = "odd-" + unique_email()[5:17]
    database.run("INSERT INTO outbox (slug, payload) VALUES (%s, %s)", slug, b"\xff\xff")
    assert topic.wait_for(lambda m: m.key() == slug.encode())[0].value() == b"\xff\xff"
    assert service.events("outbox_event_not_understood")
    wait_until(lambda: database.ask("SELECT count(*) FROM outbox") == 0, 10, "an empty outbox")


def test_without_kafka_changes_wait_and_are_seen_waiting(spawn, topic, LinkEvent):
    lonely = spawn(KAFKA_BROKERS="127.0.0.1:1")
    user = user_of(lonely)
    link = user.create()
    user.call("PATCH", f"/api/links/{link['id']}", {"title": "x"})
    wait_until(lambda: metric(lonely, "waymark_outbox_waiting_rows") == 2, 20, "two waiting events")
    wait_until(lambda: metric(lonely, "waymark_outbox_oldest_seconds") > 1, 20, "their age")
    wait_until(lambda: metric(lonely, "waymark_outbox_publish_failures_total") > 0, 20, "a failure")
    lonely.stop()
    spawn()
    assert_complete_and_in_order(read_versions(topic, LinkEvent, {link["slug"]: 2}), {link["slug"]: 2})


ACTIVE, DISABLED = 1, 2


@pytest.fixture
def cache():
    cache = PrivateRedis()
    yield cache
    cache.stop()


def generation(database):
    return database.ask("SELECT generation FROM link_cache_generation")


def wait_until_announced(cache, database, seconds=10):
    """Redis' readers have been told of the newest generation, for this very server."""
    wait_until(
        lambda: cache.announced() == (generation(database), cache.server()), seconds, "the generation in Redis"
    )


def wait_until_trusted(service):
    wait_until(lambda: metric(service, "waymark_link_cache_trusted") == 1, 10, "Redis to be trusted")


def make_cached_link(cache, user, service):
    """Redis gets a link at its creation if it is trusted at that moment; on a busy machine it may not be."""
    links = []

    def is_one_cached():
        wait_until_trusted(service)
        links.append(user.create())
        return cache.believable(links[-1]["slug"]) == (1, ACTIVE)

    wait_until(is_one_cached, 10, "a link to be in Redis from its creation")
    return links[-1]


def change_while_redis_is_frozen(cache, service):
    """The slugs of a link of version 3, which is disabled, and of one that Redis thinks does not exist."""
    user = user_of(service)
    link = make_cached_link(cache, user, service)
    asked_before = "early-" + unique_email()[5:17]
    cache.client.set(f"link:{asked_before}", f"? {cache.announced()[0]}", ex=60)
    assert cache.believable(asked_before) == "?"
    cache.freeze()
    for change in ({"original_url": "https://example.com/new"}, {"state": "DISABLED"}):
        assert user.call("PATCH", f"/api/links/{link['id']}", change).status == 200
    user.create(slug=asked_before)
    return link["slug"], asked_before


def assert_nothing_old_is_believable(cache, database, disabled, created):
    wait_until_announced(cache, database)
    assert cache.believable(disabled) in (None, (3, DISABLED))
    assert cache.believable(created) in (None, (1, ACTIVE))


def test_what_a_frozen_redis_missed_is_nothing_to_believe_once_it_is_back(spawn, topic, LinkEvent, database, cache):
    service = spawn(REDIS_URL=cache.url)
    disabled, created = change_while_redis_is_frozen(cache, service)
    wanted = {disabled: 3, created: 1}
    assert_complete_and_in_order(read_versions(topic, LinkEvent, wanted, seconds=10), wanted)
    wait_until(lambda: metric(service, "waymark_outbox_waiting_rows") == 0, 10, "Kafka not to wait for Redis")
    assert cache.process.poll() is None
    wait_until(lambda: raises(service, "untold") == 1, 10, "the generation to be raised")
    cache.thaw()
    assert_nothing_old_is_believable(cache, database, disabled, created)
    wait_until(lambda: database.ask("SELECT count(*) FROM outbox") == 0, 10, "an empty outbox")
    assert raises(service, "untold") == 1
    wait_until_trusted(service)


def test_redis_learns_without_kafka_what_it_missed(spawn, cache, database):
    service = spawn(REDIS_URL=cache.url, KAFKA_BROKERS="127.0.0.1:1")
    disabled, created = change_while_redis_is_frozen(cache, service)
    wait_until(lambda: raises(service, "untold") == 1, 20, "the generation to be raised")
    cache.thaw()
    assert_nothing_old_is_believable(cache, database, disabled, created)
    wait_until(lambda: database.ask("SELECT count(*) FROM outbox WHERE NOT cached") == 0, 10, "Redis to have all")
    waiting = database.ask("SELECT count(*) FROM outbox WHERE NOT published")
    assert waiting >= 4
    wait_until(lambda: metric(service, "waymark_outbox_waiting_rows") == waiting, 10, "the rows to wait for Kafka")
    wait_until_trusted(service)
    database.run("TRUNCATE outbox")


def raises(service, reason):
    return metric(service, f'waymark_link_cache_raises_total{{reason="{reason}"}}')


def event_of_the_janitor(LinkEvent, link):
    event = LinkEvent(event_id=bytes(range(16)), occurred_at_us=1, change="LINK_CHANGE_EXPIRED")
    event.link.id, event.link.slug, event.link.version = link["id"], link["slug"], 2
    event.link.state, event.link.link_type, event.link.redirect_status = DISABLED, 2, 302
    event.link.original_url = link["original_url"]
    event.link.created_at_us = event.link.updated_at_us = 1
    return event.SerializeToString()


def test_a_change_that_comes_by_the_outbox_alone_is_in_redis_within_a_second(spawn, cache, database, LinkEvent):
    service = spawn(REDIS_URL=cache.url)
    link = make_cached_link(cache, user_of(service), service)
    before = generation(database)
    event = event_of_the_janitor(LinkEvent, link)
    database.run("INSERT INTO outbox (slug, payload) VALUES (%s, %s)", link["slug"], event)
    wait_until(lambda: cache.believable(link["slug"]) == (2, DISABLED), 1, "the change in Redis")
    assert generation(database) == before


def test_the_generation_outlives_a_relay_that_was_killed_before_it_could_announce_it(spawn, cache, database):
    service = spawn(REDIS_URL=cache.url)
    user = user_of(service)
    link = make_cached_link(cache, user, service)
    before = generation(database)
    cache.freeze()
    assert user.call("PATCH", f"/api/links/{link['id']}", {"state": "DISABLED"}).status == 200
    wait_until(lambda: generation(database) > before, 10, "the generation to be raised")
    service.kill()
    cache.thaw()
    assert cache.believable(link["slug"]) == (1, ACTIVE), "nobody has said yet that it is old"
    successor = spawn(REDIS_URL=cache.url)
    wait_until_announced(cache, database, 15)
    assert cache.believable(link["slug"]) in (None, (2, DISABLED))
    wait_until_trusted(successor)


def hold_relays_off(database, interval):
    database.run(
        "UPDATE shedlock SET lock_until = clock_timestamp() + %s::interval, fence = fence + 1 WHERE name LIKE '%%relay%%'",
        interval,
    )


def test_a_change_that_nobody_can_tell_is_not_acknowledged_while_redis_is_believed(spawn, cache, database):
    service = spawn(REDIS_URL=cache.url)
    user = user_of(service)
    link = make_cached_link(cache, user, service)
    service.kill()
    hold_relays_off(database, "1 hour")
    cache.freeze()
    successor = spawn(REDIS_URL=cache.url)
    user.base = successor.url
    with concurrent.futures.ThreadPoolExecutor(1) as clients:
        patch = clients.submit(user.call, "PATCH", f"/api/links/{link['id']}", {"state": "DISABLED"})
        with pytest.raises(concurrent.futures.TimeoutError):
            patch.result(timeout=1.5)
        assert database.ask("SELECT state FROM links WHERE id = %s", link["id"]) == "DISABLED"
        cache.thaw()
        assert patch.result(timeout=2).status == 200
    assert cache.believable(link["slug"]) == (2, DISABLED)
    hold_relays_off(database, "0")


def leave_a_change_untold(database, LinkEvent, link):
    """As a writer leaves it who is killed between its commit and its telling."""
    with database.connection.cursor() as cursor:
        cursor.execute(
            "WITH change AS (UPDATE links SET state = 'DISABLED', version = 2 WHERE id = %s) "
            "INSERT INTO outbox (slug, payload) VALUES (%s, %s)",
            (link["id"], link["slug"], event_of_the_janitor(LinkEvent, link)),
        )


def test_a_change_is_shown_when_redis_has_heard_of_it_whoever_made_it(spawn, cache, database, LinkEvent):
    service = spawn(REDIS_URL=cache.url)
    user = user_of(service)
    link = make_cached_link(cache, user, service)
    wait_until(lambda: database.ask("SELECT count(*) FROM outbox") == 0, 10, "an empty outbox")
    hold_relays_off(database, "1 hour")
    wait_until(lambda: not is_active(service), 10, "the relay to notice")
    leave_a_change_untold(database, LinkEvent, link)
    assert cache.believable(link["slug"]) == (1, ACTIVE)
    shown = user.call("GET", f"/api/links/{link['id']}").json["link"]
    assert (shown["version"], shown["state"]) == (2, "DISABLED")
    assert cache.believable(link["slug"]) == (2, DISABLED)
    hold_relays_off(database, "0")


def test_a_redis_that_comes_back_with_an_old_snapshot_gets_a_new_generation(spawn, cache, database):
    service = spawn(REDIS_URL=cache.url)
    user = user_of(service)
    link = make_cached_link(cache, user, service)
    cache.client.save()
    assert user.call("PATCH", f"/api/links/{link['id']}", {"state": "DISABLED"}).status == 200
    assert cache.believable(link["slug"]) == (2, DISABLED)
    wait_until(lambda: database.ask("SELECT count(*) FROM outbox") == 0, 10, "an empty outbox")
    cache.restart()
    assert cache.client.exists(f"link:{link['slug']}")
    wait_until_announced(cache, database, 5)
    assert cache.believable(link["slug"]) is None
    assert raises(service, "new_server") >= 1
    wait_until_trusted(service)


def test_a_flushed_redis_is_used_again_without_a_new_generation(spawn, cache, database):
    service = spawn(REDIS_URL=cache.url)
    user = user_of(service)
    make_cached_link(cache, user, service)
    before = generation(database)
    cache.client.flushall()
    wait_until_announced(cache, database, 2)
    wait_until_trusted(service)
    make_cached_link(cache, user, service)
    assert generation(database) == before


def test_a_full_redis_keeps_nothing_old_and_its_relay_is_heard(spawn, cache, database):
    service = spawn(REDIS_URL=cache.url)
    user = user_of(service)
    link = make_cached_link(cache, user, service)
    before = generation(database)
    cache.client.config_set("maxmemory", "1mb")
    assert user.call("PATCH", f"/api/links/{link['id']}", {"state": "DISABLED"}).status == 200
    assert cache.believable(link["slug"]) is None
    wait_until(lambda: database.ask("SELECT count(*) FROM outbox") == 0, 10, "an empty outbox")
    beat = cache.client.get("link_cache:generation")
    wait_until(lambda: cache.client.get("link_cache:generation") != beat, 2, "another announcement")
    assert generation(database) == before


def test_an_outage_of_redis_costs_one_raising_and_no_backlog(spawn, cache, database, LinkEvent):
    service = spawn(REDIS_URL=cache.url, KAFKA_BROKERS="127.0.0.1:1")
    wait_until_trusted(service)
    before = generation(database)
    event = event_of_the_janitor(LinkEvent, {"id": 1, "slug": "x", "original_url": "https://example.com/"})
    add = "INSERT INTO outbox (slug, payload, published) SELECT 'x', %s, true FROM generate_series(1, %s)"
    cache.freeze()
    database.run(add, event, 50000)
    wait_until(lambda: database.ask("SELECT count(*) FROM outbox") == 0, 20, "the rows to be forgotten")
    for _ in range(3):
        database.run(add, event, 1)
        wait_until(lambda: database.ask("SELECT count(*) FROM outbox") == 0, 20, "the row to be forgotten")
    assert generation(database) == before + 1
    cache.thaw()
    wait_until_announced(cache, database)
    wait_until_trusted(service)
    assert generation(database) == before + 1


def test_a_generation_that_redis_has_heard_of_is_surpassed(spawn, cache, database):
    """As after PostgreSQL came back from a backup."""
    service = spawn(REDIS_URL=cache.url)
    wait_until_trusted(service)
    cache.client.set("link_cache:generation", f"{generation(database) + 1000} {cache.server()} 1")
    wait_until(lambda: raises(service, "behind") == 1, 10, "the generation to be raised")
    wait_until_announced(cache, database)
    wait_until_trusted(service)


class Writers:
    """Change links through a service until they are told to stop. While it is frozen some changes fail (503)."""

    def __init__(self, service, count=4):
        self.user = user_of(service)
        self.links = [self.user.create() for _ in range(count)]
        self.going = True
        self.pool = concurrent.futures.ThreadPoolExecutor(count)
        self.jobs = [self.pool.submit(self.write, link) for link in self.links]

    def write(self, link):
        """The highest version that was acknowledged."""
        version, i = 1, 0
        while self.going:
            i += 1
            answer = self.user.call("PATCH", f"/api/links/{link['id']}", {"title": str(i)})
            assert answer.status in (200, 503), answer
            if answer.status == 200:
                version = answer.json["link"]["version"]
        return version

    def stop(self):
        """slug → last version."""
        self.going = False
        acknowledged = [job.result() for job in self.jobs]
        last = [self.user.call("GET", f"/api/links/{link['id']}").json["link"] for link in self.links]
        assert all(link["version"] >= version for link, version in zip(last, acknowledged))
        return {link["slug"]: link["version"] for link in last}


def test_no_change_is_lost_and_no_news_goes_back_when_relays_are_killed_and_frozen(spawn, topic, LinkEvent):
    """The writers' service lives, but is frozen for a while; relays beside it are killed while they work."""
    writers = Writers(keeper := spawn())
    for _ in range(2):
        victim = spawn()
        keeper.signal(signal.SIGSTOP)  # its lock runs out, the other one takes over
        wait_until(lambda: is_active(victim), 15, "the other relay to take over")
        keeper.signal(signal.SIGCONT)
        before = metric(victim, "waymark_outbox_published_total")
        wait_until(lambda: metric(victim, "waymark_outbox_published_total") > before + 5, 15, "it to publish")
        victim.kill()
        wait_until(lambda: is_active(keeper), 15, "the first relay to take over again")
    wanted = writers.stop()
    assert_complete_and_news_in_order(read_versions(topic, LinkEvent, wanted), wanted)


def test_two_relays_never_work_at_the_same_time(spawn):
    services = [spawn(), spawn()]
    wait_until(lambda: any(map(is_active, services)), 15, "one to work")

    def other(service):
        return services[1 - services.index(service)]

    def assert_only_one_until(condition, seconds):
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline
            states = [is_active(service) for service in services]
            assert states != [True, True] or not all(map(is_active, services)), "two relays work"

    end = time.monotonic() + 3
    assert_only_one_until(lambda: time.monotonic() > end, 10)
    active = next(filter(is_active, services))
    active.signal(signal.SIGSTOP)
    wait_until(lambda: is_active(other(active)), 15, "the other one to take over")
    active.signal(signal.SIGCONT)
    end = time.monotonic() + 3
    assert_only_one_until(lambda: time.monotonic() > end, 10)


def test_a_relay_that_ends_in_order_hands_over_at_once(spawn):
    first = spawn()
    wait_until(lambda: is_active(first), 15, "the first to work")
    second = spawn()
    assert not is_active(second)
    first.stop()
    begin = time.monotonic()
    wait_until(lambda: is_active(second), 5, "the second to take over")
    assert time.monotonic() - begin < 3, "well before the lock would have run out"
