"""Every click is counted exactly once, whatever happens to the consumers and to what they need."""

from counting_rig import (
    BROKER_KILLS,
    CLICKS,
    COUNT_S,
    CUTS,
    FREEZES,
    KILLS,
    POSTGRES_STOPS,
    RATE,
    RESEND_EVERY,
    SEED,
    Hands,
    counting_rig,
)
from topics import VISITS, headers, read_all


def published_ids(rig):
    """The ids on waymark.visits.v1, and on how many messages."""
    ids = [headers(message)["ce_id"] for message in read_all(rig.brokers, VISITS)]
    return set(ids), len(ids)


def test_counts_each_click_once_whatever_is_killed_frozen_or_cut(request, record_property):
    with counting_rig("counting", request.node) as rig:
        producer = rig.produce(CLICKS, RATE, resend_every=RESEND_EVERY)
        rig.start_consumers()
        Hands(rig).disturb(KILLS, FREEZES, POSTGRES_STOPS, BROKER_KILLS)
        sent = producer.finish(COUNT_S)
        clicks = rig.books.take_truth(producer.truth)
        rig.await_counted(clicks, COUNT_S)
        rig.stop_consumers()
        seen, messages = published_ids(rig)
        mistakes = rig.books.mistakes()
        did = (
            f"seed {SEED}: {KILLS} kill -9, {FREEZES} freezes, {POSTGRES_STOPS} immediate stops of PostgreSQL,"
            f" {BROKER_KILLS} kill -9 of Kafka, connections cut {rig.cutter.lost_back} times between a COMMIT and its"
            f" answer and {rig.cutter.lost_there} times before it"
        )
        figures = {
            "produced": clicks,
            "sent again": sent["repeats"],
            "lost": mistakes["lost"],
            "double": mistakes["double"],
            "books that differ": sum(map(bool, mistakes.values())),
            "batches fenced": rig.log_lines("batch_fenced"),
            "in doubt and stored": rig.log_lines("batch_in_doubt_was_stored"),
            "published again": messages - len(seen),
        }
        print(f"\n{did}: {figures}")
        record_property("did", did)
        for name, value in figures.items():
            record_property(name, value)
        rig.books.assert_right(clicks, mistakes)
        assert rig.books.event_ids() <= seen
        assert rig.cutter.lost_back >= CUTS
