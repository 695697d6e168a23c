"""No redirector's answer is older than promised, whatever happens to Redis, Kafka, the relay or the clocks.

Editors and readers work on one stack while one fault after the other happens. A checker that shares nothing with the
services then judges each answer. CHAOS_FULL=1 takes the full size and judges by the promised bounds; CHAOS_OPERATIONS,
CHAOS_FAULT_S and CHAOS_FAULTS (names with commas between) change single sizes.
"""

import itertools
import os

import pytest
from freshness_harness import Faults, made_history
from harness import SEED, size

OPERATIONS = int(os.environ.get("CHAOS_OPERATIONS", size(3_000, 10_000_000)))
FAULT_S = float(os.environ.get("CHAOS_FAULT_S", size(0.8, 10)))
NAMES = os.environ.get("CHAOS_FAULTS", ",".join(Faults.NAMES)).split(",")
LOAD = {"editors": 4, "write_rate": size(20, 160), "visitors": size(4, 16), "read_rate": size(25, 0), "seed": SEED}
SHOWN = ("operations", "changes", "unknown", "unavailable", "worst_ms", "p50_ms", "p99_ms", "overdue_ms")


@pytest.fixture(scope="module")
def figures(freshness):
    """The checker's figures by fault, of one history with all faults in it."""
    with made_history(freshness, **LOAD) as history:
        faults = Faults(history, FAULT_S)
        history.wait_until_begun()
        for done, name in enumerate(itertools.cycle(NAMES)):
            if done >= len(NAMES) and history.operations() >= OPERATIONS:
                break
            faults.inflict(name)
        faults.settle()
        history.stop()
        report, found = history.verdict()
    print(f"\nseed {SEED}\n{report}")
    return found


@pytest.mark.parametrize("fault", [*NAMES, "settled"])
def test_answers_are_fresh(figures, fault, record_property, promise):
    """In the long form the checker's bounds are the promised ones, so that a late answer is a violation."""
    found = figures[fault]
    record_property("did", fault)
    for name in SHOWN:
        record_property(name, found[name])
    assert found["violations"] == "0", " ".join(f"{name}={value}" for name, value in found.items())
    assert int(found["reads"]) > 0, "nothing was tried"
    if fault != "settled":
        assert int(found["changes"]) > 0, "nothing was tried"
        away = fault in ("kafka-stopped", "feed-cut")
        promise(f"an answer is out of date, {fault}", float(found["worst_ms"]), 5000 if away else 1000, "ms")


def test_the_history_is_long_enough(figures):
    assert int(figures["all"]["operations"]) >= OPERATIONS
