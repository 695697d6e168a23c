"""The outbox relay: every committed change reaches the topic in order, even if relays are killed or frozen."""

import collections
import concurrent.futures
import os
import signal
import statistics
import subprocess
import time

import pytest
import speed
from clients import Api, murmur2, unique_email
from processes import popen
from service import BUILD, PrivateRedis, is_active, metric
from waiting import wait_until

def register_user(service):
    api = Api(service.url)
    api.register_and_login(unique_email())
    return api


def read_versions(topic, LinkEvent, wanted, seconds=300):
    """slug → versions in topic order, once every wanted slug has reached its wanted version."""
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


def assert_complete_and_in_order_ignoring_repeats(seen, wanted):
    """Ignores repeats: a relay frozen while sending may repeat versions that its successor has already passed."""
    for slug, versions in seen.items():
        seen[slug] = [version for i, version in enumerate(versions) if version not in versions[:i]]
    assert_complete_and_in_order(seen, wanted)


def test_each_change_is_published_with_its_headers_and_key(spawn, topic, LinkEvent, database):
    service = spawn()
    user = register_user(service)
    link = user.create(title="t", tags=["a"])
    message = topic.wait_for(lambda m: m.key() == link["slug"].encode())[0]
    event = LinkEvent.FromString(message.value())
    headers = {name: value.decode() for name, value in message.headers()}
    assert headers == {
        "ce_specversion": "1.0", "ce_type": "waymark.link.v1", "ce_source": "/waymark/links-api",
        "ce_subject": link["slug"], "content-type": "application/protobuf",
        "ce_dataschema": f"urn:waymark:proto:{LinkEvent.DESCRIPTOR.full_name}",
        "ce_id": headers["ce_id"], "ce_time": headers["ce_time"],
    }  # fmt: skip
    assert headers["ce_id"].replace("-", "") == event.event_id.hex()
    assert message.partition() == (murmur2(message.key()) & 0x7FFFFFFF) % topic.partition_count
    assert (event.link.id, event.link.slug, event.link.version) == (link["id"], link["slug"], 1)
    assert (event.link.original_url, event.link.title, list(event.link.tags)) == (link["original_url"], "t", ["a"])
    wait_until(lambda: database.value("SELECT count(*) FROM outbox") == 0, "an empty outbox")


def test_each_change_reaches_the_topic(spawn, topic):
    service = spawn()
    user = register_user(service)
    warm = user.create()
    topic.wait_for(lambda m: m.key() == warm["slug"].encode())
    seconds = []
    for _ in range(5):
        begin = time.monotonic()
        link = user.create()
        topic.wait_for(lambda m: m.key() == link["slug"].encode())
        seconds.append(time.monotonic() - begin)
    speed.at_most("a change reaches the topic (median)", statistics.median(seconds), 1, "s")


def test_many_changes_of_many_links_arrive_complete_and_in_order(spawn, topic, LinkEvent):
    user = register_user(spawn())
    links = [user.create() for _ in range(8)]

    def change(link):
        for i in range(24):
            assert user.call("PATCH", f"/api/links/{link['id']}", {"title": str(i)}).status == 200
        return link["slug"]

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        wanted = {slug: 25 for slug in pool.map(change, links)}
    seen = read_versions(topic, LinkEvent, wanted)
    assert_complete_and_in_order(seen, wanted)
    assert all(len(versions) == 25 for versions in seen.values()), "nothing is repeated unless a relay dies"


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


def republish(database, start=subprocess.run, **options):
    environment = {"PG_URL": database.url("waymark_links_api"), "KAFKA_BROKERS": os.environ["KAFKA_BROKERS"]}
    return start([BUILD / "bin/links-api", "--republish-links"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def test_an_operator_has_every_link_published_again(spawn, topic, LinkEvent, database):
    user = register_user(spawn())
    kept, deleted = user.create(title="t", tags=["a"]), user.create()
    assert user.call("PATCH", f"/api/links/{kept['id']}", {"title": "u"}).status == 200
    assert user.call("DELETE", f"/api/links/{deleted['id']}").status == 204
    before = read_versions(topic, LinkEvent, {kept["slug"]: 2, deleted["slug"]: 2})
    assert before == {kept["slug"]: [1, 2], deleted["slug"]: [1, 2]}
    links = database.value("SELECT count(*) FROM links")
    done = republish(database, timeout=300)
    assert done.stdout == f"links-api: Kafka has all {links} links again\n" and done.returncode == 0, done
    slugs = {kept["slug"]: "LINK_STATE_ACTIVE", deleted["slug"]: "LINK_STATE_DELETED"}
    for message in topic.wait_for(lambda m: m.key().decode() in slugs, count=2):
        event = LinkEvent.FromString(message.value())
        expected = LinkEvent(change="LINK_CHANGE_REPUBLISHED", link={"state": slugs[event.link.slug]})
        assert (event.change, event.link.state, event.link.version) == (expected.change, expected.link.state, 2)
    assert database.value("SELECT count(*) FROM outbox") == 0
    assert database.value("SELECT version FROM links WHERE id = %s", kept["id"]) == 2


def test_republishing_waits_for_kafka_and_ends_with_postgresql(spawn, topic, database):
    isolated = spawn(KAFKA_BROKERS="127.0.0.1:1")
    link = register_user(isolated).create()
    running = republish(database, popen)
    wait_until(lambda: database.value("SELECT count(*) FROM outbox WHERE slug = %s AND priority = 1", link["slug"]) == 1, "its event")
    assert running.poll() is None
    waiting = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE query LIKE %s AND pid <> pg_backend_pid()"
    wait_until(lambda: database.value(waiting, "%FROM outbox WHERE NOT published AND priority = 0 AND id <=%") == 1, "its question")
    out, err = running.communicate(timeout=300)
    assert running.returncode == 1 and out == "" and "Kafka has 0 links. Run it again: it begins anew" in err, err
    isolated.stop()
    spawn()
    assert republish(database, timeout=300).returncode == 0


def test_low_priority_events_are_published_at_their_rate(spawn, topic, database):
    prefix = "low-" + unique_email()[5:17]
    database.run("INSERT INTO outbox (slug, payload, priority) SELECT %s || n, 'x', 1 FROM generate_series(1, 60) AS n", prefix)
    begin = time.monotonic()
    spawn(OUTBOX_LOW_PRIORITY_PER_SECOND=20)
    topic.wait_for(lambda m: m.key().decode().startswith(prefix), count=60)
    seconds = time.monotonic() - begin
    assert seconds >= 3
    speed.at_most("60 low-priority events at 20 a second", seconds, 6, "s")


def test_an_undecodable_event_is_published_anyway(spawn, topic, database):
    service = spawn()
    slug = "odd-" + unique_email()[5:17]
    database.run("INSERT INTO outbox (slug, payload) VALUES (%s, %s)", slug, b"\xff\xff")
    assert topic.wait_for(lambda m: m.key() == slug.encode())[0].value() == b"\xff\xff"
    assert service.events("outbox_event_undecodable")
    wait_until(lambda: database.value("SELECT count(*) FROM outbox") == 0, "an empty outbox")


def test_without_kafka_changes_wait_and_metrics_show_it(spawn, topic, LinkEvent):
    isolated = spawn(KAFKA_BROKERS="127.0.0.1:1")
    user = register_user(isolated)
    link = user.create()
    user.call("PATCH", f"/api/links/{link['id']}", {"title": "x"})
    wait_until(lambda: metric(isolated, "waymark_outbox_waiting_rows") == 2, "two waiting events")
    wait_until(lambda: metric(isolated, "waymark_outbox_oldest_seconds") > 1, "their age")
    wait_until(lambda: metric(isolated, "waymark_outbox_publish_failures_total") > 0, "a failure")
    isolated.stop()
    spawn()
    assert_complete_and_in_order(read_versions(topic, LinkEvent, {link["slug"]: 2}), {link["slug"]: 2})


ACTIVE, DISABLED = 1, 2


@pytest.fixture
def cache():
    cache = PrivateRedis()
    yield cache
    cache.stop()


def generation(database):
    return database.value("SELECT generation FROM link_cache_generation")


def wait_until_announced(cache, database, seconds=300):
    """Redis announces the newest generation for this server."""
    wait_until(
        lambda: cache.announced_generation() == (generation(database), cache.run_id()), "the generation in Redis", seconds=seconds
    )


def wait_until_cache_is_valid(service):
    wait_until(lambda: metric(service, "waymark_link_cache_valid") == 1, "the cache to be valid")


def make_cached_link(cache, user, service):
    """A new link is cached only while the cache is valid; on a busy machine it may not be."""
    links = []

    def is_one_cached():
        wait_until_cache_is_valid(service)
        links.append(user.create())
        return cache.valid_entry(links[-1]["slug"]) == (1, ACTIVE)

    wait_until(is_one_cached, "a new link to be cached")
    return links[-1]


def change_while_redis_is_frozen(cache, service):
    """The slugs of a disabled link of version 3 and of a link that Redis still reports as missing, and the raises before."""
    user = register_user(service)
    link = make_cached_link(cache, user, service)
    looked_up_before = "early-" + unique_email()[5:17]

    def is_reported_missing():
        """By an entry of a generation that is over, nothing is."""
        cache.client.set(f"link:{looked_up_before.lower()}", f"? {cache.announced_generation()[0]}", ex=60)
        return cache.valid_entry(looked_up_before) == "?"

    wait_until(is_reported_missing, "Redis to report the slug as missing")
    before = raises(service, "update_timeout")
    cache.freeze()
    for change in ({"original_url": "https://example.com/new"}, {"state": "disabled"}):
        assert user.call("PATCH", f"/api/links/{link['id']}", change).status == 200
    user.create(slug=looked_up_before)
    return link["slug"], looked_up_before, before


def assert_no_old_entry_is_valid(cache, database, disabled, created):
    wait_until_announced(cache, database)
    assert cache.valid_entry(disabled) in (None, (3, DISABLED))
    assert cache.valid_entry(created) in (None, (1, ACTIVE))


def test_a_thawed_redis_has_no_valid_entry_that_missed_a_change(spawn, topic, LinkEvent, database, cache):
    service = spawn(REDIS_URL=cache.url)
    disabled, created, before = change_while_redis_is_frozen(cache, service)
    wanted = {disabled: 3, created: 1}
    assert_complete_and_in_order(read_versions(topic, LinkEvent, wanted), wanted)
    wait_until(lambda: metric(service, "waymark_outbox_waiting_rows") == 0, "Kafka not to wait for Redis")
    assert cache.process.poll() is None
    wait_until(lambda: raises(service, "update_timeout") == before + 1, "the generation to be raised")
    cache.thaw()
    assert_no_old_entry_is_valid(cache, database, disabled, created)
    wait_until(lambda: database.value("SELECT count(*) FROM outbox") == 0, "an empty outbox")
    assert raises(service, "update_timeout") == before + 1
    wait_until_cache_is_valid(service)


def test_redis_catches_up_without_kafka(spawn, cache, database):
    service = spawn(REDIS_URL=cache.url, KAFKA_BROKERS="127.0.0.1:1")
    disabled, created, before = change_while_redis_is_frozen(cache, service)
    wait_until(lambda: raises(service, "update_timeout") == before + 1, "the generation to be raised")
    cache.thaw()
    assert_no_old_entry_is_valid(cache, database, disabled, created)
    wait_until(lambda: database.value("SELECT count(*) FROM outbox WHERE NOT cached") == 0, "Redis to have all changes")
    waiting = database.value("SELECT count(*) FROM outbox WHERE NOT published")
    assert waiting >= 4
    wait_until(lambda: metric(service, "waymark_outbox_waiting_rows") == waiting, "the rows to wait for Kafka")
    wait_until_cache_is_valid(service)
    database.run("TRUNCATE outbox")


def raises(service, reason):
    return metric(service, f'waymark_link_cache_raises_total{{reason="{reason}"}}')


def parts_of(message):
    """Everything of a record that a subscriber can read."""
    return [message.key(), message.value() or b"", *(part for header in message.headers() or [] for part in (header[0].encode(), header[1]))]


def test_extras_of_a_link_go_to_redis_and_never_to_kafka(spawn, cache, topic, LinkEvent, database):
    """If a busy machine is so slow that the relay raises the generation instead, the next link shows it."""
    service = spawn(REDIS_URL=cache.url)
    user = register_user(service)
    extras = bytes(range(128, 256)) * 32
    windows = [extras[i : i + 4] for i in range(128)]
    slugs = []

    def is_in_redis():
        link = make_cached_link(cache, user, service)
        slugs.append(link["slug"])
        event = LinkEvent.FromString(expiry_event(LinkEvent, link))
        event.link.has_extras = True
        database.run("INSERT INTO outbox (slug, payload, extras) VALUES (%s, %s, %s)", link["slug"], event.SerializeToString(), extras)
        wait_until(lambda: database.value("SELECT count(*) FROM outbox") == 0, "an empty outbox")
        wait_until_announced(cache, database)
        value = cache.client.get(f"link:{link['slug'].lower()}")
        return value is not None and value.endswith(extras) and cache.valid_entry(link["slug"]) == (2, DISABLED)

    wait_until(is_in_redis, "the extras in Redis")
    for slug in slugs:
        created, changed = topic.wait_for(lambda m, key=slug.encode(): m.key() == key, count=2)
        event = LinkEvent.FromString(changed.value())
        assert event.link.has_extras and event.link.version == 2
        for message in (created, changed):
            assert not [window for part in parts_of(message) for window in windows if window in part]


def expiry_event(LinkEvent, link):
    event = LinkEvent(event_id=bytes(range(16)), occurred_at_us=1, change="LINK_CHANGE_EXPIRED")
    event.link.id, event.link.slug, event.link.version = link["id"], link["slug"], 2
    event.link.state, event.link.link_type, event.link.redirect_status = DISABLED, 2, 302
    event.link.original_url = link["original_url"]
    event.link.created_at_us = event.link.updated_at_us = 1
    return event.SerializeToString()


def test_a_change_through_the_outbox_alone_is_in_redis(spawn, cache, database, LinkEvent):
    """If a busy machine is so slow that the relay raises the generation instead, the next link shows it."""
    service = spawn(REDIS_URL=cache.url)
    user = register_user(service)

    def is_in_redis():
        link = make_cached_link(cache, user, service)
        event = expiry_event(LinkEvent, link)
        database.run("INSERT INTO outbox (slug, payload) VALUES (%s, %s)", link["slug"], event)
        wait_until(lambda: database.value("SELECT count(*) FROM outbox") == 0, "an empty outbox")
        wait_until_announced(cache, database)
        entry = cache.valid_entry(link["slug"])
        assert entry in (None, (2, DISABLED))
        return entry

    wait_until(is_in_redis, "the change in Redis")


def test_a_raised_generation_survives_a_relay_killed_before_announcing_it(spawn, cache, database):
    service = spawn(REDIS_URL=cache.url)
    user = register_user(service)
    link = make_cached_link(cache, user, service)
    before = generation(database)
    cache.freeze()
    assert user.call("PATCH", f"/api/links/{link['id']}", {"state": "disabled"}).status == 200
    wait_until(lambda: generation(database) > before, "the generation to be raised")
    service.kill()
    cache.thaw()
    assert cache.valid_entry(link["slug"]) == (1, ACTIVE), "it has not been invalidated yet"
    successor = spawn(REDIS_URL=cache.url)
    wait_until_announced(cache, database)
    assert cache.valid_entry(link["slug"]) in (None, (2, DISABLED))
    wait_until_cache_is_valid(successor)


def block_relays(database, interval):
    database.run(
        "UPDATE shedlock SET lock_until = clock_timestamp() + %s::interval, fence = fence + 1 WHERE name LIKE '%%relay%%'",
        interval,
    )


def test_a_change_is_not_acknowledged_while_an_old_cache_entry_is_valid(spawn, cache, database):
    service = spawn(REDIS_URL=cache.url)
    user = register_user(service)
    link = make_cached_link(cache, user, service)
    service.kill()
    block_relays(database, "1 hour")
    cache.freeze()
    successor = spawn(REDIS_URL=cache.url)
    user.base = successor.url
    with concurrent.futures.ThreadPoolExecutor(1) as clients:
        patch = clients.submit(user.call, "PATCH", f"/api/links/{link['id']}", {"state": "disabled"})
        wait_until(lambda: database.value("SELECT state FROM links WHERE id = %s", link["id"]) == "DISABLED", "the change to be committed")
        with pytest.raises(concurrent.futures.TimeoutError):
            patch.result(timeout=1)
        cache.thaw()
        assert patch.result(timeout=300).status == 200
    assert cache.valid_entry(link["slug"]) == (2, DISABLED)
    block_relays(database, "0")


def commit_without_cache_update(database, LinkEvent, link):
    """Commits a change like a writer that is killed before it updates the cache."""
    with database.connection.cursor() as cursor:
        cursor.execute(
            "WITH change AS (UPDATE links SET state = 'DISABLED', version = 2 WHERE id = %s) "
            "INSERT INTO outbox (slug, payload) VALUES (%s, %s)",
            (link["id"], link["slug"], expiry_event(LinkEvent, link)),
        )


def test_a_change_is_shown_only_after_it_is_in_redis(spawn, cache, database, LinkEvent):
    service = spawn(REDIS_URL=cache.url)
    user = register_user(service)
    link = make_cached_link(cache, user, service)
    wait_until(lambda: database.value("SELECT count(*) FROM outbox") == 0, "an empty outbox")
    block_relays(database, "1 hour")
    wait_until(lambda: not is_active(service), "the relay to stop")
    commit_without_cache_update(database, LinkEvent, link)
    assert cache.valid_entry(link["slug"]) == (1, ACTIVE)
    shown = user.call("GET", f"/api/links/{link['id']}").json["link"]
    assert (shown["version"], shown["state"]) == (2, "disabled")
    assert cache.valid_entry(link["slug"]) == (2, DISABLED)
    block_relays(database, "0")


def test_a_redis_restored_from_an_old_snapshot_gets_a_new_generation(spawn, cache, database):
    service = spawn(REDIS_URL=cache.url)
    user = register_user(service)
    link = make_cached_link(cache, user, service)
    cache.client.save()
    assert user.call("PATCH", f"/api/links/{link['id']}", {"state": "disabled"}).status == 200
    assert cache.valid_entry(link["slug"]) in ((2, DISABLED), None)
    wait_until(lambda: database.value("SELECT count(*) FROM outbox") == 0, "an empty outbox")
    cache.restart()
    assert cache.client.exists(f"link:{link['slug'].lower()}")
    wait_until_announced(cache, database)
    assert cache.valid_entry(link["slug"]) is None
    assert raises(service, "new_server") >= 1
    wait_until_cache_is_valid(service)


def test_a_flushed_redis_is_used_again_in_the_same_generation(spawn, cache, database):
    service = spawn(REDIS_URL=cache.url)
    user = register_user(service)
    make_cached_link(cache, user, service)

    def raises_for_the_server():
        """The other reason, update_timeout, may be a busy machine."""
        return raises(service, "new_server"), raises(service, "behind")

    before = raises_for_the_server()
    cache.client.flushall()
    wait_until_announced(cache, database)
    wait_until_cache_is_valid(service)
    make_cached_link(cache, user, service)
    assert raises_for_the_server() == before


def test_a_full_redis_keeps_no_old_entry_and_accepts_announcements(spawn, cache, database):
    """A busy machine may raise the generation because Redis is slow. Then the next link shows that a full one does not."""
    service = spawn(REDIS_URL=cache.url)
    user = register_user(service)

    def keeps_its_generation():
        cache.client.config_set("maxmemory", "0")
        link = make_cached_link(cache, user, service)
        before = generation(database)
        cache.client.config_set("maxmemory", "1mb")
        assert user.call("PATCH", f"/api/links/{link['id']}", {"state": "disabled"}).status == 200
        assert cache.valid_entry(link["slug"]) is None
        wait_until(lambda: database.value("SELECT count(*) FROM outbox") == 0, "an empty outbox")
        heartbeat = cache.client.get("link_cache:generation")
        wait_until(lambda: cache.client.get("link_cache:generation") != heartbeat, "another announcement")
        return generation(database) == before

    wait_until(keeps_its_generation, "a full Redis to keep its generation")


def test_a_redis_outage_costs_one_raise_and_no_backlog(spawn, cache, database, LinkEvent):
    service = spawn(REDIS_URL=cache.url, KAFKA_BROKERS="127.0.0.1:1")
    wait_until_cache_is_valid(service)
    before = generation(database)
    event = expiry_event(LinkEvent, {"id": 1, "slug": "x", "original_url": "https://example.com/"})
    add = "INSERT INTO outbox (slug, payload, published) SELECT 'x', %s, true FROM generate_series(1, %s)"
    cache.freeze()
    database.run(add, event, 50000)
    wait_until(lambda: database.value("SELECT count(*) FROM outbox") == 0, "the rows to be skipped")
    for _ in range(3):
        database.run(add, event, 1)
        wait_until(lambda: database.value("SELECT count(*) FROM outbox") == 0, "the row to be skipped")
    assert generation(database) == before + 1
    cache.thaw()
    wait_until_announced(cache, database)
    wait_until_cache_is_valid(service)
    assert generation(database) == before + 1


def test_a_higher_generation_in_redis_is_exceeded(spawn, cache, database):
    """As after PostgreSQL was restored from a backup."""
    service = spawn(REDIS_URL=cache.url)
    wait_until_cache_is_valid(service)
    cache.client.set("link_cache:generation", f"{generation(database) + 1000} {cache.run_id()} 1")
    wait_until(lambda: raises(service, "behind") == 1, "the generation to be raised")
    wait_until_announced(cache, database)
    wait_until_cache_is_valid(service)


class Writers:
    """Change links through a service until stop(). Some changes fail (503) while it is frozen."""

    def __init__(self, service, count=4):
        self.user = register_user(service)
        self.links = [self.user.create() for _ in range(count)]
        self.running = True
        self.pool = concurrent.futures.ThreadPoolExecutor(count)
        self.jobs = [self.pool.submit(self.write, link) for link in self.links]

    def write(self, link):
        """Returns the highest acknowledged version."""
        version, i = 1, 0
        while self.running:
            i += 1
            answer = self.user.call("PATCH", f"/api/links/{link['id']}", {"title": str(i)})
            assert answer.status in (200, 503), answer
            if answer.status == 200:
                version = answer.json["link"]["version"]
            time.sleep(0.02)
        return version

    def stop(self):
        """slug → last version."""
        self.running = False
        acknowledged = [job.result() for job in self.jobs]
        last = [self.user.call("GET", f"/api/links/{link['id']}").json["link"] for link in self.links]
        assert all(link["version"] >= version for link, version in zip(last, acknowledged))
        return {link["slug"]: link["version"] for link in last}


def test_no_change_is_lost_or_reordered_when_relays_are_killed_and_frozen(spawn, topic, LinkEvent):
    """The writers' service is only frozen for a while; other relays are killed while active."""
    writers = Writers(keeper := spawn())
    for _ in range(2):
        victim = spawn()
        keeper.signal(signal.SIGSTOP)  # its lock expires and the other one takes over
        wait_until(lambda: is_active(victim), "the other relay to take over")
        keeper.signal(signal.SIGCONT)
        before = metric(victim, "waymark_outbox_published_total")
        wait_until(lambda: metric(victim, "waymark_outbox_published_total") > before + 5, "it to publish")
        victim.kill()
        wait_until(lambda: is_active(keeper), "the first relay to take over again")
    wanted = writers.stop()
    assert_complete_and_in_order_ignoring_repeats(read_versions(topic, LinkEvent, wanted), wanted)


def test_two_relays_are_never_active_at_the_same_time(spawn):
    services = [spawn(), spawn()]
    wait_until(lambda: any(map(is_active, services)), "one relay to become active")

    def other(service):
        return services[1 - services.index(service)]

    def assert_only_one_until(condition, seconds):
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline
            states = [is_active(service) for service in services]
            assert states != [True, True] or not all(map(is_active, services)), "two relays are active"
            time.sleep(0.05)

    end = time.monotonic() + 3
    assert_only_one_until(lambda: time.monotonic() > end, 300)
    active = next(filter(is_active, services))
    active.signal(signal.SIGSTOP)
    wait_until(lambda: is_active(other(active)), "the other one to take over")
    active.signal(signal.SIGCONT)
    end = time.monotonic() + 3
    assert_only_one_until(lambda: time.monotonic() > end, 300)


def test_a_relay_that_stops_cleanly_hands_over_at_once(spawn, database):
    services = [spawn(), spawn()]
    first = wait_until(lambda: next(filter(is_active, services), None), "one relay to become active")
    second = services[1 - services.index(first)]
    lock = "FROM shedlock WHERE name = 'waymark_outbox_relay'"
    holder = database.value(f"SELECT locked_by {lock}")
    first.stop()
    begin = time.monotonic()
    # The second would also take over when the lock expires by itself, 5 s after its last extension.
    held = f"SELECT count(*) {lock} AND locked_by = %s AND lock_until > timezone('UTC', clock_timestamp())"
    assert database.value(held, holder) == 0, "the lock is still held"
    wait_until(lambda: is_active(second), "the second to take over")
    speed.at_most("a relay that stops hands over before its lock expires", time.monotonic() - begin, 3, "s")
