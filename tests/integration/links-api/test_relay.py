"""The outbox relay: each committed change reaches the topic, in order, whoever is killed or frozen."""

import collections
import concurrent.futures
import signal
import socket
import subprocess
import time

import pytest
import redis
from doors import Api, murmur2, unique_email
from service import is_active, metric, wait_until


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
    begin = time.monotonic()
    link = user.create()
    topic.wait_for(lambda m: m.key() == link["slug"].encode())
    assert time.monotonic() - begin < 1


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


class PrivateRedis:
    """A Redis of the test's own, to be frozen."""

    def __init__(self):
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.url = f"redis://127.0.0.1:{self.port}"
        self.process = subprocess.Popen(
            ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"],
            stdout=subprocess.DEVNULL,
        )
        self.client = redis.Redis.from_url(self.url)
        wait_until(self.answers, 20, "Redis to answer")

    def answers(self):
        try:
            return self.client.ping()
        except redis.ConnectionError:
            return False

    def freeze(self):
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self):
        self.process.send_signal(signal.SIGCONT)

    def entry(self, slug):
        """(version, state), b"?" or None."""
        value = self.client.get(f"link:{slug}")
        return (int(value.split()[1]), int(value.split()[3])) if value and value != b"?" else value

    def stop(self):
        self.client.close()
        self.thaw()
        self.process.kill()
        self.process.wait()


@pytest.fixture
def cache():
    cache = PrivateRedis()
    yield cache
    cache.stop()


ACTIVE, DISABLED = 1, 2


def change_while_redis_is_frozen(cache, user):
    """The slugs of a link of version 3, which is disabled, and of one that Redis thinks does not exist."""
    link = user.create()
    assert cache.entry(link["slug"]) == (1, ACTIVE)
    asked_before = "early-" + unique_email()[5:17]
    cache.client.set(f"link:{asked_before}", "?", ex=60)
    cache.freeze()
    for change in ({"original_url": "https://example.com/new"}, {"state": "DISABLED"}):
        assert user.call("PATCH", f"/api/links/{link['id']}", change).status == 200
    user.create(slug=asked_before)
    return link["slug"], asked_before


def assert_redis_learns(cache, disabled, created):
    wait_until(lambda: cache.entry(disabled) == (3, DISABLED), 3, "the newest version in Redis")
    wait_until(lambda: cache.entry(created) == (1, ACTIVE), 3, "the link in Redis, which had no such slug")


def test_what_a_frozen_redis_missed_is_in_redis_soon_after_it_is_back(spawn, topic, LinkEvent, database, cache):
    service = spawn(REDIS_URL=cache.url)
    disabled, created = change_while_redis_is_frozen(cache, user_of(service))
    wanted = {disabled: 3, created: 1}
    assert_complete_and_in_order(read_versions(topic, LinkEvent, wanted, seconds=10), wanted)
    wait_until(lambda: metric(service, "waymark_outbox_waiting_rows") == 0, 10, "Kafka not to wait for Redis")
    wait_until(lambda: metric(service, "waymark_outbox_uncached_rows") >= 3, 10, "three rows to wait for Redis")
    assert cache.process.poll() is None
    cache.thaw()
    assert_redis_learns(cache, disabled, created)
    wait_until(lambda: database.ask("SELECT count(*) FROM outbox") == 0, 10, "an empty outbox")


def test_redis_learns_without_kafka_what_it_missed(spawn, cache, database):
    service = spawn(REDIS_URL=cache.url, KAFKA_BROKERS="127.0.0.1:1")
    disabled, created = change_while_redis_is_frozen(cache, user_of(service))
    cache.thaw()
    wait_until(lambda: cache.entry(disabled) == (3, DISABLED), 10, "the newest version in Redis")
    wait_until(lambda: cache.entry(created) == (1, ACTIVE), 10, "the link in Redis, which had no such slug")
    wait_until(lambda: database.ask("SELECT count(*) FROM outbox WHERE NOT cached") == 0, 10, "Redis to have all")
    wait_until(lambda: metric(service, "waymark_outbox_waiting_rows") == 4, 10, "four rows to wait for Kafka")
    assert metric(service, "waymark_outbox_uncached_rows") == 0
    database.run("TRUNCATE outbox")


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


def test_no_change_is_lost_and_none_goes_back_when_relays_are_killed(spawn, topic, LinkEvent):
    """The writers' service lives; relays beside it are killed while they work."""
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
    assert_complete_and_in_order(read_versions(topic, LinkEvent, wanted), wanted)


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
