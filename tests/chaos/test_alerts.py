"""Debian's Prometheus watches a stack: each fault raises its alerts and no others, and they end when it is repaired.

Objectives have windows of days. After the first fault their alerts may fire at any time, so only one test judges them.
"""

import concurrent.futures
import http.client
import os
import pathlib
import shutil
import time
import urllib.parse

import pytest
from alert_harness import Load, Prometheus, seconds_since
from harness import BUILD, Stack, Store, wait_until

from clients import Api
from stacklib import paths
from stacklib.ports import Ports

OBJECTIVES = {f"Waymark{name}Burn{pace}" for name in ("Redirects", "Clicks") for pace in ("Fast", "Slow")}
FIRES_S, ENDS_S = 300, 300
# How long no alert may fire without a fault.
QUIET_S = 20
# What a flood fills, and no other fault does: each click takes some 400 bytes.
JOURNAL_BYTES, CLICKS = 4 << 20, 16_000
HOSTS, RULES = "blocked-hosts", "user-agents.yaml"

pytestmark = pytest.mark.skipif(not shutil.which("prometheus"), reason="there is no prometheus: tools/setup test")


def wait_for(condition, seconds, what):
    """As wait_until, but what() is called at the end and names what is missing."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what()}"
        time.sleep(0.2)


class Watched:
    def __init__(self, folder):
        self.folder = folder
        self.stack = Stack(folder / "stack", BUILD)
        self.files = {HOSTS: "blocked.example\n", RULES: pathlib.Path(paths.UA_REGEXES).read_text()}
        for name in self.files:
            self.write(name)
        variables = {
            "ANONYMOUS_LINKS_PER_HOUR": 0,
            "JOURNAL_MAX_BYTES": JOURNAL_BYTES,
            "BLOCKED_HOSTS_FILE": folder / HOSTS,
            "HOSTS_CHECK_MS": 1000,
            "UA_REGEXES": folder / RULES,
            "FACTS_CHECK_MS": 1000,
        }
        self.stack.run("up", "--build", BUILD, "--tied-to", os.getpid(), *(f"--set={name}={value}" for name, value in variables.items()))
        self.addresses = self.stack.addresses()
        self.ask(
            "INSERT INTO links (slug, link_type, original_url, expires_at)"
            " VALUES ('watched', 'TEMPORARY', 'https://example.com/', now() + interval '8 hours') RETURNING id"
        )
        self.load = Load(self.addresses, "watched")
        self.load.start()
        self.ports = Ports()
        self.prometheus = Prometheus(folder, self.addresses, self.ports.take())

    def write(self, name, text=None):
        """Writes a file of facts or hosts; without a text, its original one."""
        (self.folder / name).write_text(self.files[name] if text is None else text)

    def ask(self, sql):
        """Takes a new connection each time, because faults stop PostgreSQL."""
        store = Store(self.addresses["ADMIN_PG_URL"])
        found = store.ask(sql)
        store.connection.close()
        return found

    def down(self):
        self.load.stop()
        self.prometheus.stop()
        self.stack.run("down")

    def poison(self):
        import confluent_kafka

        producer = confluent_kafka.Producer({"bootstrap.servers": self.addresses["KAFKA_BROKERS"]})
        producer.produce("waymark.redirects.v1", b"no click", key=b"abc")
        assert producer.flush(20) == 0

    def flood(self):
        """Stops Kafka and clicks until the journal is full."""
        self.stack.run("stop", "kafka")
        with concurrent.futures.ThreadPoolExecutor(4) as visitors:
            list(visitors.map(self.follow, [CLICKS // 4] * 4))

    def follow(self, times):
        url = urllib.parse.urlsplit(self.addresses["REDIRECTOR_URL"])
        connection = http.client.HTTPConnection(url.hostname, url.port, timeout=60)
        for _ in range(times):
            connection.request("GET", "/watched", headers={"X-Forwarded-For": "198.51.100.8"})
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 302, "a full journal must not fail a redirect"
        connection.close()

    def stop_kafka(self):
        """Stops Kafka and makes a link, whose event cannot be published."""
        self.stack.run("stop", "kafka")
        made = Api(self.addresses["LINKS_API_URL"]).call("POST", "/api/links/public", {"original_url": "https://example.com/unpublished"})
        assert made.status == 201, made

    def restart(self, name, times):
        """Restarts a process so often, each time until Prometheus has scraped it."""
        began = f'process_start_time_seconds{{job="{name}"}}'
        for _ in range(times):
            before = self.prometheus.value(began)
            self.stack.run("kill", "-9", f"{name}-1")
            self.stack.run("start", f"{name}-1")
            wait_until(lambda: self.prometheus.value(began) not in (None, before), 60, f"Prometheus to see the next {name}")

    def skip_offsets(self):
        """As if Kafka's retention had been faster than the consumers."""
        self.change_offsets("next_offset = next_offset + 1000000, published_offset = next_offset + 999990")

    def restore_offsets(self):
        self.change_offsets("next_offset = next_offset - 1000000, published_offset = NULL, halted_at = NULL")

    def change_offsets(self, change):
        self.stack.run("stop", "consumer-1")
        assert self.ask(f"UPDATE consumer_offsets SET {change} WHERE topic = 'waymark.redirects.v1' RETURNING 1") == 1
        self.stack.run("start", "consumer-1")


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    made = Watched(tmp_path_factory.mktemp("watched"))
    yield made
    made.down()


def test_nothing_fires_while_all_is_well(watched, record_property):
    firing = watched.prometheus.firing
    wait_until(lambda: not firing(), ENDS_S, "the alerts of starting to end")
    began = time.monotonic()
    while time.monotonic() - began < QUIET_S:
        assert firing() - OBJECTIVES == set()
        time.sleep(0.5)
    record_property("did", f"{QUIET_S} s without a fault")
    record_property("alerts", 0)


def stop(name):
    return lambda w: w.stack.run("stop", name), lambda w: w.stack.run("start", name)


def freeze(name):
    return lambda w: w.stack.run("kill", "-STOP", name), lambda w: w.stack.run("kill", "-CONT", name)


def overwrite(name, text):
    return lambda w: w.write(name, text), lambda w: w.write(name)


# What is done, what must fire, and what may, because it follows from the fault.
FAULTS = {
    "redis is stopped": (stop("redis"), {"WaymarkRedisUnreachable"}, {"WaymarkLinkCacheInvalid"}),
    "postgres is stopped": (
        stop("postgres"),
        {"WaymarkPostgresUnreachable", "WaymarkNotReady", "WaymarkCountingStalled", "WaymarkBatchesFailing"},
        {
            "WaymarkApiErrors",
            "WaymarkApiSlow",
            "WaymarkJanitorTaskFailing",
            "WaymarkPoolExhausted",
            "WaymarkOutboxRelayMissing",
            "WaymarkOutboxStale",
            "WaymarkFeedStale",
            "WaymarkLinkCacheInvalid",
            "WaymarkCountingLagging",
            "WaymarkBloomFilterIncomplete",
        },
    ),
    "kafka is stopped": (
        (Watched.stop_kafka, stop("kafka")[1]),
        {"WaymarkKafkaUnreachable", "WaymarkEventsNotShipped", "WaymarkFeedStale", "WaymarkNotReady", "WaymarkOutboxStale"},
        {"WaymarkCountingStalled", "WaymarkCountingLagging", "WaymarkLinkCacheInvalid"},
    ),
    "the consumer is stopped": (
        stop("consumer-1"),
        {"WaymarkTargetDown", "WaymarkCountingStalled"},
        {"WaymarkNotReady", "WaymarkCountingLagging"},
    ),
    "the redirector is frozen": (freeze("redirector-1"), {"WaymarkTargetDown"}, {"WaymarkFeedStale", "WaymarkLinkCacheInvalid"}),
    "the links-api is stopped": (
        stop("links-api-1"),
        {"WaymarkTargetDown", "WaymarkOutboxRelayMissing", "WaymarkFeedStale"},
        {"WaymarkLinkCacheInvalid", "WaymarkNotReady"},
    ),
    "the janitor is stopped": (stop("janitor-1"), {"WaymarkTargetDown"}, {"WaymarkNotReady"}),
    "a message is no click": ((Watched.poison, lambda w: None), {"WaymarkMessagesPoisoned"}, set()),
    "the offset to read does not exist": (
        (Watched.skip_offsets, Watched.restore_offsets),
        {"WaymarkPartitionsHalted", "WaymarkNotReady"},
        {"WaymarkTargetDown", "WaymarkCountingStalled", "WaymarkCountingLagging"},
    ),
    "kafka is stopped and visitors are many": (
        (Watched.flood, stop("kafka")[1]),
        {"WaymarkEventsDropped", "WaymarkJournalFilling", "WaymarkKafkaUnreachable", "WaymarkEventsNotShipped"},
        {
            "WaymarkCountingLagging",
            "WaymarkCountingStalled",
            "WaymarkFeedStale",
            "WaymarkLinkCacheInvalid",
            "WaymarkNotReady",
            "WaymarkOutboxStale",
        },
    ),
    "a list of hosts is broken": (overwrite(HOSTS, "no host, by no rule\n"), {"WaymarkHostFilesBroken"}, set()),
    "rules of user agents are broken": (overwrite(RULES, "user_agent_parsers: [\n"), {"WaymarkFactFilesBroken"}, set()),
    "a janitor begins again and again": (
        (lambda w: w.restart("janitor", 3), lambda w: None),
        {"WaymarkRestarts"},
        {"WaymarkNotReady", "WaymarkTargetDown"},
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_raises_its_alerts_and_no_other(watched, fault, record_property):
    (break_it, mend), must, may = FAULTS[fault]
    firing, active = watched.prometheus.firing, watched.prometheus.active
    wait_for(lambda: not active() - OBJECTIVES, ENDS_S, lambda: f"what fired before to end: {active()}")
    seen = set()

    def all_fire():
        seen.update(firing() - OBJECTIVES)
        assert seen <= must | may, f"{seen - must - may} have nothing to do with it"
        return must <= seen

    began = time.monotonic()
    break_it(watched)
    try:
        wait_for(all_fire, FIRES_S, lambda: f"{must - seen} to fire, beside {seen}")
        record_property("did", fault)
        record_property("fired", ", ".join(sorted(seen)))
        record_property("after_s", seconds_since(began))
    finally:
        mend(watched)
    mended = time.monotonic()
    wait_for(lambda: not firing() - OBJECTIVES, ENDS_S, lambda: f"the alerts to end: {firing()}")
    record_property("ended_s", seconds_since(mended))


def test_clicks_that_wait_for_more_than_a_minute_burn_their_budget(watched, record_property):
    """The bound of this objective is a value, which is not shortened."""
    watched.stack.run("stop", "consumer-1")
    stopped = time.monotonic()
    wait_until(lambda: time.monotonic() - stopped > 75, 90, "clicks to be late")
    watched.stack.run("start", "consumer-1")
    wait_until(lambda: "WaymarkClicksBurnFast" in watched.prometheus.firing(), FIRES_S, "WaymarkClicksBurnFast to fire")
    record_property("did", "no consumer for 75 s")
    record_property("fired", "WaymarkClicksBurnFast")
