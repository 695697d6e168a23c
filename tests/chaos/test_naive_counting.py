"""The rig of test_counting.py can tell a consumer that counts exactly from one that does not."""

import time

from rig import CLICKS, FREEZES, KILLS, SEED, click_through_trouble


def wait_until_still(store):
    """Nothing has been counted for longer than a rebalance takes."""
    last, since = store.counted(), time.monotonic()
    while time.monotonic() - since < 15:
        time.sleep(0.2)
        now = store.counted()
        if now != last:
            last, since = now, time.monotonic()


def test_the_same_rig_catches_a_naive_consumer(run_stack, naive_build):
    stack = run_stack(naive_build)
    clicks, kills, freezes = CLICKS // 2, (KILLS + 1) // 2, (FREEZES + 1) // 2
    store, _ = click_through_trouble(stack, clicks, kills, freezes)
    wait_until_still(store)
    counted = store.counted()
    print(f"\nseed {SEED}: {clicks} clicks, {kills} kills, {freezes} freezes: a naive consumer counts {counted}")
    assert counted != clicks, "the rig did not catch it: it proves nothing"
