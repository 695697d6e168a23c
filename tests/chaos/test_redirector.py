"""Visitors and their clicks while the redirector is killed, Kafka is away, or slow clients hold connections.

CHAOS_FULL=1 takes the full sizes; CHAOS_REDIRECTOR_KILLS, CHAOS_OUTAGE_S and CHAOS_RATE change single ones.
"""

import os
import time

import pytest
from harness import FULL, SEED, assert_answers, long_form, observe, size, wait_until
from redirector_harness import MB, Events, deciding_kinds, is_rightly_named

RATE = int(os.environ.get("CHAOS_RATE", size(500, 2000)))
KILLS = int(os.environ.get("CHAOS_REDIRECTOR_KILLS", size(6, 1000)))
KILLS_WITHOUT_KAFKA = size(2, 50)
FAULTS = int(os.environ.get("CHAOS_FAULTS", size(2, 100)))
FREEZE_MAX_S = 5
BEFORE_S = 60
OUTAGE_S = int(os.environ.get("CHAOS_OUTAGE_S", size(2, 900)))
DRIPPERS = size(200, 2000)
CONNECTIONS = 64
SLUGS = 400
P99_MS = 50
P99_GROWTH = 1.2


def check_clicks(stack, log, batch_type, record):
    """Compares the visitors' answers with the events in Kafka; returns the events and how many are missing."""
    events = Events(stack.env["KAFKA_BROKERS"], batch_type)
    lost = events.lost(log)
    record("answered", len(log.redirected()))
    record("lost", lost)
    record("repeats", events.repeats(log.run))
    record("unanswered", log.counts()[0])
    assert events.doubles == 0, "one request has two events: it would be counted twice"
    assert events.disorder == 0, "an event came for the first time after a later one of its instance"
    return events, lost


class TestKills:
    @pytest.fixture(scope="class")
    def stack(self, redirectors, batch_type):
        redirectors.make_links("kill", SLUGS, deciding_kinds())
        redirectors.warm("kill", SLUGS)
        return redirectors

    def test_loses_no_click_to_kill_9(self, stack, batch_type, record_property, promise):
        record_property("did", f"{KILLS} × kill -9 of the redirector at {RATE:,} req/s, seed {SEED}")
        visitors = stack.visitors("kill", connections=CONNECTIONS, rate=RATE, slug="kill", slugs=SLUGS)
        for _ in range(KILLS):
            # Soon after the start, while the journal is still being recovered, or later.
            visitors.wait_for_rows(stack.random.choice([1, 50, 500, RATE]))
            stack.kill_and_start()
        log = visitors.stop()
        stack.wait_until_shipped()
        recovered, torn = stack.recovered_records()
        record_property("from journals", recovered)
        record_property("torn tails", torn)
        events, lost = check_clicks(stack, log, batch_type, record_property)
        decisions = {decision: count for decision, count in events.decisions.items() if decision[0].startswith("kill-")}
        wrong = {decision: count for decision, count in decisions.items() if not is_rightly_named(*decision)}
        record_property("by a rule or a variant", sum(count for decision, count in decisions.items() if any(decision[1:3])))
        assert wrong == {}, "an event does not name the rule or the variant that has decided"
        assert len({decision[2] for decision in decisions}) == 3, "not each variant has got visitors"
        assert lost == 0
        assert set(log.counts()) <= {0, 302, 503}
        assert recovered > 0, "each kill came when nothing was in the journal: this proves nothing"
        promise("503 from processes that start again and again", log.counts()[503] / len(log), 0.02)

    @long_form
    def test_loses_no_click_to_kill_9_while_kafka_is_away(self, stack, batch_type, record_property):
        record_property("did", f"{KILLS_WITHOUT_KAFKA} × kill -9 at {RATE:,} req/s, Kafka stopped meanwhile")
        visitors = stack.visitors("away", connections=CONNECTIONS, rate=RATE, slug="kill", slugs=SLUGS)
        visitors.wait_for_rows(RATE)
        stack.run("stop", "kafka")
        for _ in range(KILLS_WITHOUT_KAFKA):
            visitors.wait_for_rows(RATE)
            stack.kill_and_start()
        visitors.wait_for_rows(RATE)
        log = visitors.stop()
        queued = stack.metrics()["waymark_events_queued"]
        stack.run("start", "kafka")
        stack.wait_until_shipped()
        record_property("waited in the journal", int(queued))
        _, lost = check_clicks(stack, log, batch_type, record_property)
        assert lost == 0
        # Each process has answered at least half of the requests for which its turn waited.
        assert queued > KILLS_WITHOUT_KAFKA * RATE / 2, "a journal has forgotten what an earlier process left in it"

    @long_form
    def test_loses_no_click_while_redirector_and_kafka_are_killed_or_frozen(self, stack, batch_type, record_property):
        record_property("did", f"{FAULTS} × kill -9 or a freeze of the redirector or Kafka at {RATE:,} req/s, seed {SEED}")
        visitors = stack.visitors("faults", connections=CONNECTIONS, rate=RATE, slug="kill", slugs=SLUGS)
        for _ in range(FAULTS):
            visitors.wait_for_rows(stack.random.choice([50, RATE]))
            name = stack.random.choice(["redirector-1", "kafka"])
            if stack.random.random() < 0.5:
                stack.kill_and_start(name)
            else:
                stack.run("kill", "-STOP", name)
                time.sleep(stack.random.uniform(0, FREEZE_MAX_S))
                stack.run("kill", "-CONT", name)
        log = visitors.stop()
        stack.wait_until_shipped()
        _, lost = check_clicks(stack, log, batch_type, record_property)
        assert lost == 0
        assert set(log.counts()) <= {0, 302, 503}


@long_form
class TestKafkaOutage:
    def test_serves_and_keeps_all_while_kafka_is_stopped(self, redirectors, batch_type, record_property, promise):
        record_property("did", f"Kafka stopped for {OUTAGE_S} s at {RATE:,} req/s, all hits")
        stack = redirectors
        stack.make_links("kafka", SLUGS)
        stack.warm("kafka", SLUGS)
        visitors = stack.visitors("outage", connections=CONNECTIONS, rate=RATE, slug="kafka", slugs=SLUGS)
        visitors.wait_for_rows(2 * SLUGS)
        before = observe(BEFORE_S) if FULL else None
        stack.run("stop", "kafka")
        without = observe(OUTAGE_S)
        visitors.wait_for_rows(RATE)
        queued, journal_bytes = (stack.metrics()[n] for n in ("waymark_events_queued", "waymark_journal_bytes"))
        back_at = time.monotonic()
        stack.run("start", "kafka")
        visitors.wait_for_rows(RATE)
        wait_until(lambda: stack.metrics()["waymark_events_queued"] < RATE, "the journal to be shipped", seconds=600)
        shipped_at = time.monotonic()
        after = observe(BEFORE_S) if FULL else None
        log = visitors.stop()
        stack.wait_until_shipped()
        record_property("queued", int(queued))
        record_property("journal", f"{journal_bytes / MB:.0f} MiB")
        record_property("shipped after", f"{shipped_at - back_at:.0f} s")
        _, lost = check_clicks(stack, log, batch_type, record_property)
        assert_answers(log.counts(), 302)
        assert lost == 0
        assert stack.metrics()["waymark_events_dropped_total"] == 0
        assert queued >= RATE, "the events went elsewhere: Kafka was not away"
        if FULL:
            record_property("p99 on return", f"{log.typical_p99_ms(back_at, shipped_at):.1f} ms")
            typical = [log.typical_p99_ms(*span) for span in (before, without, after)]
            record_property("p99 before, without, after", " → ".join(f"{ms:.2f}" for ms in typical) + " ms")
            promise("p99 of hits without Kafka, against the slower time with it", typical[1] / max(typical[0], typical[2]), P99_GROWTH)
            promise("p99 of all hits without Kafka", log.p99_ms(*without), P99_MS, "ms")


@long_form
class TestSlowClients:
    def test_slow_clients_do_not_hold_up_others(self, redirectors, record_property, promise):
        record_property("did", f"{DRIPPERS:,} connections that send a byte every 2 s, beside a normal client")
        stack, rate = redirectors, RATE // 8
        stack.make_links("normal", SLUGS)
        stack.warm("normal", SLUGS)
        visitors = stack.visitors("normal", connections=16, rate=rate, slug="normal", slugs=SLUGS)
        visitors.wait_for_rows(2 * SLUGS)
        before = observe(5) if FULL else None
        begin = time.monotonic()
        closed = stack.visitors("drip", "drip", connections=DRIPPERS).wait()
        meanwhile = begin, time.monotonic()
        log = visitors.stop()
        lifetimes_s = [us / 1e6 for us in closed.latencies_us]
        record_property("closed", f"{len(closed)} after {min(lifetimes_s):.1f}–{max(lifetimes_s):.1f} s")
        assert_answers(log.counts(), 302)
        assert log.counts(*meanwhile)[302] > rate, "the normal client was not served meanwhile"
        assert len(closed) == DRIPPERS
        assert min(lifetimes_s) >= 5, "they were refused at once: this proves nothing"
        promise("a slow connection is closed after", max(lifetimes_s), 11, "s")
        if FULL:
            p99 = [log.p99_ms(*span) for span in (before, meanwhile)]
            record_property("p99 before, meanwhile", " → ".join(f"{ms:.1f}" for ms in p99) + " ms")
            promise("p99 of others beside slow clients", p99[1], P99_MS, "ms")
