"""The rig of test_counting.py can tell a consumer that counts exactly from one that does not."""

import pathlib

from counting_rig import (
    BROKER_KILLS,
    CLICKS,
    COUNT_S,
    FREEZES,
    KILLS,
    POSTGRES_STOPS,
    RATE,
    SEED,
    Hands,
    counting_rig,
)
from rig import wait_until
from topics import REDIRECTS, committed, ends

NAIVE = ["/usr/bin/python3", "-B", str(pathlib.Path(__file__).with_name("naive_consumer.py"))]
GROUP = "waymark-analytics"
PER_LINK = (
    "SELECT coalesce(sum(greatest(p.n - s.n, 0)), 0)::bigint, coalesce(sum(greatest(s.n - p.n, 0)), 0)::bigint"
    " FROM (SELECT link_id, count(*) AS n FROM produced GROUP BY link_id) p"
    " JOIN (SELECT link_id, visit_count AS n FROM link_statistics) s USING (link_id)"
)


def has_read_all(rig):
    done = committed(rig.brokers, REDIRECTS, GROUP)
    return all(done[partition] == end for partition, end in ends(rig.brokers, REDIRECTS).items() if end > 0)


def test_the_same_rig_catches_a_naive_consumer(request, record_property):
    """Nothing is sent twice here: what it counts wrong is its own doing."""
    with counting_rig("naive-counting", request.node, NAIVE) as rig:
        producer = rig.produce(CLICKS // 2, RATE)
        rig.start_consumers()
        kills, freezes = (KILLS + 1) // 2, (FREEZES + 1) // 2
        Hands(rig).disturb(kills, freezes, (POSTGRES_STOPS + 1) // 2, (BROKER_KILLS + 1) // 2)
        producer.finish(COUNT_S)
        wait_until(lambda: has_read_all(rig), 120, "all to be read")
        for consumer in rig.consumers:
            consumer.stop()
        clicks = rig.books.take_truth(producer.truth)
        lost, double = rig.books.rows(PER_LINK)[0]
        did = f"seed {SEED}: the same with half of everything and a consumer that commits its offsets to Kafka"
        print(f"\n{did}: {clicks} clicks, lost at least {lost}, double at least {double}")
        record_property("did", did)
        for name, value in {"produced": clicks, "lost": lost, "double": double}.items():
            record_property(name, value)
        assert lost + double > 0, "the rig did not catch it: it proves nothing"
