"""Every click is counted exactly once, whatever happens to the consumers, PostgreSQL and Kafka."""

from counting_harness import (
    BROKER_KILLS,
    CLICKS,
    COUNT_S,
    CUTS,
    FREEZES,
    KILLS,
    POSTGRES_STOPS,
    RATE,
    RESEND_EVERY,
    FaultInjector,
)
from harness import SEED, wait_until
from topics import VISITS, headers, read_all


def published_ids(harness):
    """The event ids on waymark.visits.v1, and the number of its messages."""
    ids = [headers(message)["ce_id"] for message in read_all(harness.brokers, VISITS)]
    return set(ids), len(ids)


def test_counts_each_click_once_whatever_is_killed_frozen_or_cut(counting, record_property):
    harness = counting
    producer = harness.produce(CLICKS, RATE, resend_every=RESEND_EVERY)
    harness.start_consumers()
    FaultInjector(harness).disturb(KILLS, FREEZES, POSTGRES_STOPS, BROKER_KILLS)
    wait_until(lambda: harness.cutter.lost_back >= CUTS, f"{CUTS} answers to COMMIT to be lost", seconds=COUNT_S)
    sent = producer.finish(COUNT_S)
    clicks = harness.ledger.take_truth(producer.truth)
    harness.await_counted(clicks, COUNT_S)
    harness.stop_consumers()
    seen, messages = published_ids(harness)
    mistakes = harness.ledger.mistakes()
    did = (
        f"seed {SEED}: {KILLS} kill -9, {FREEZES} freezes, {POSTGRES_STOPS} immediate stops of PostgreSQL,"
        f" {BROKER_KILLS} kill -9 of Kafka, connections cut {harness.cutter.lost_back} times between a COMMIT and its"
        f" answer and {harness.cutter.lost_there} times before it"
    )
    figures = {
        "produced": clicks,
        "sent again": sent["repeats"],
        "lost": mistakes["lost"],
        "double": mistakes["double"],
        "tables that differ": sum(map(bool, mistakes.values())),
        "batches fenced": harness.log_lines("batch_fenced"),
        "in doubt and stored": harness.log_lines("batch_in_doubt_was_stored"),
        "published again": messages - len(seen),
    }
    print(f"\n{did}: {figures}")
    record_property("did", did)
    for name, value in figures.items():
        record_property(name, value)
    harness.ledger.assert_right(clicks, mistakes)
    assert harness.ledger.event_ids() <= seen
