"""What a redirector answers is never older than promised, whatever happens to Redis, Kafka, the relay or the clocks.

Writers and readers work on one stack while one fault after the other happens; a checker that shares nothing with the
services then judges each answer. CHAOS_FULL=1 takes the full size; CHAOS_OPERATIONS, CHAOS_FAULT_S and CHAOS_FAULTS
(names with commas between) change single ones.
"""

import itertools
import os
import shutil

import pytest
from freshness_rig import Faults, freshness_stack, made_history
from redirector_rig import BUILD, SEED, size

OPERATIONS = int(os.environ.get("CHAOS_OPERATIONS", size(100_000, 10_000_000)))
FAULT_S = float(os.environ.get("CHAOS_FAULT_S", size(2.5, 10)))
NAMES = os.environ.get("CHAOS_FAULTS", ",".join(Faults.NAMES)).split(",")
LOAD = {"editors": 4, "write_rate": 160, "visitors": size(8, 16), "read_rate": size(2500, 0), "seed": SEED}
SHOWN = ("operations", "changes", "unknown", "unavailable", "worst_ms", "p50_ms", "p99_ms", "overdue_ms")


@pytest.fixture(scope="session")
def sums():
    """What the checker says of a history with all faults in it, by fault."""
    state = BUILD / "stacks" / f"freshness-{os.getpid()}"
    with freshness_stack(BUILD, state) as stack, made_history(stack, **LOAD) as history:
        faults = Faults(history, FAULT_S)
        for done, name in enumerate(itertools.cycle(NAMES)):
            if done >= len(NAMES) and history.operations() >= OPERATIONS:
                break
            faults.inflict(name)
        history.stop()
        report, found = history.verdict()
    print(f"\nseed {SEED}\n{report}")
    if found["all"]["violations"] == "0":
        shutil.rmtree(state)
    return found


@pytest.mark.parametrize("fault", NAMES)
def test_answers_are_fresh(sums, fault, record_property):
    found = sums[fault]
    record_property("did", fault)
    for name in SHOWN:
        record_property(name, found[name])
    assert found["violations"] == "0", " ".join(f"{name}={value}" for name, value in found.items())
    assert int(found["reads"]) > 0 and int(found["changes"]) > 0, "nothing was tried"


def test_the_history_is_long_enough(sums):
    assert int(sums["all"]["operations"]) >= OPERATIONS
