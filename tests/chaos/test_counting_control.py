"""Control: the harness of test_counting.py detects a consumer that does not count exactly."""

import pathlib

from counting_harness import (
    BROKER_KILLS,
    CLICKS,
    CONSUMERS,
    COUNT_S,
    CUTS,
    FREEZES,
    KILLS,
    POSTGRES_STOPS,
    RATE,
    FaultInjector,
)
from harness import FULL, SEED, wait_until
from topics import REDIRECTS, commit_ends, committed, ends

CONTROL = ["/usr/bin/python3", "-B", str(pathlib.Path(__file__).with_name("control_consumer.py"))]
GROUP = "control"
# Bots are visits of their own column; the control counts all clicks as visits.
PER_LINK = (
    "SELECT coalesce(sum(greatest(p.n - s.n, 0)), 0)::bigint, coalesce(sum(greatest(s.n - p.n, 0)), 0)::bigint"
    " FROM (SELECT link_id, count(*) AS n FROM produced GROUP BY link_id) p"
    " JOIN (SELECT link_id, visit_count + bot_count AS n FROM link_statistics) s USING (link_id)"
)


def has_read_all(harness):
    done = committed(harness.brokers, REDIRECTS, GROUP)
    return all(done[partition] == end for partition, end in ends(harness.brokers, REDIRECTS).items() if end > 0)


def half(count):
    return (count + 1) // 2 if FULL else 0


def test_detects_a_consumer_that_commits_its_offsets_to_kafka(counting, record_property):
    """Nothing is sent twice here, so every wrong count is the consumer's own."""
    counting.ledger.make_truth()
    assert counting.ledger.rows(PER_LINK)[0] == (0, 0), "an earlier test has left wrong counts"
    commit_ends(counting.brokers, REDIRECTS, GROUP)
    # The control finds links by their slug, which the analytics-consumer has no right to read.
    counting.ledger.do("GRANT SELECT (slug) ON links TO waymark_consumer")
    consumers = [counting.consumer(f"control-{n}", CONTROL, CONSUMER_GROUP=GROUP) for n in range(1, CONSUMERS + 1)]
    for consumer in consumers:
        consumer.start()
    cuts = counting.cutter.lost_back + CUTS
    producer = counting.produce(CLICKS // 2, RATE, pack=1)  # the control knows one click per record, by its key
    FaultInjector(counting, consumers).disturb((KILLS + 1) // 2, half(FREEZES), half(POSTGRES_STOPS), half(BROKER_KILLS))
    wait_until(lambda: counting.cutter.lost_back >= cuts, f"{CUTS} answers to COMMIT to be lost", seconds=COUNT_S)
    producer.finish(COUNT_S)
    wait_until(lambda: has_read_all(counting), "all to be read", seconds=COUNT_S)
    for consumer in consumers:
        consumer.stop()
    clicks = counting.ledger.take_truth(producer.truth)
    lost, double = counting.ledger.rows(PER_LINK)[0]
    did = f"seed {SEED}: the same with a consumer that commits its offsets to Kafka"
    print(f"\n{did}: {clicks} clicks in all, lost at least {lost}, double at least {double}")
    record_property("did", did)
    for name, value in {"produced": clicks, "lost": lost, "double": double}.items():
        record_property(name, value)
    assert lost + double > 0, "the harness did not detect it: it proves nothing"
