"""Control: the harness of test_janitors.py detects janitors that do not check their lock."""

import time

from harness import BUILD, SEED
from janitor_harness import JANITORS, OVERLAPPING, FaultInjector, janitors_at_work, not_the_holders

FREEZES_MAX = 10
WAIT_S = 3


def is_detected(database, janitors):
    """Within a moment: a janitor that has just been resumed may still be in its batch."""
    deadline = time.monotonic() + WAIT_S
    while (wrong := not_the_holders(database, janitors)) == 0 and time.monotonic() < deadline:
        time.sleep(0.1)
    return wrong > 0


def test_detects_a_janitor_that_does_not_check_its_lock(tmp_path, record_property):
    with janitors_at_work(tmp_path, BUILD / "tests/chaos/control_janitor") as (janitors, _):
        faults = FaultInjector(janitors, SEED)
        database = janitors.database
        # A janitor that is frozen in its last batch has nothing left to do wrong.
        while not is_detected(database, janitors) and faults.frozen < FREEZES_MAX:
            faults.disturb(0, 1)
        assert not_the_holders(database, janitors) > 0, "the harness does not detect it"
        wrong, overlapping = not_the_holders(database, janitors), database.row(OVERLAPPING)[0]
    record_property("did", f"{JANITORS} janitors that do not check their lock, {faults.frozen} freezes, seed {SEED}")
    record_property("overlapping", overlapping)
    record_property("by a non-holder", wrong)
    print(f"\noverlapping {overlapping}, by a non-holder {wrong}")
