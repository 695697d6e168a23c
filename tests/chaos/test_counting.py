"""Every answered redirect is counted exactly once, whatever happens to the consumers.

CHAOS_CLICKS, CHAOS_KILLS, CHAOS_FREEZES change the size, CHAOS_SEED repeats a run.
"""

import os
import time

from rig import BUILD, CONSUMERS, Hands, Store, Visitors, published_ids, wait_until

CLICKS = int(os.environ.get("CHAOS_CLICKS", "20000"))
KILLS = int(os.environ.get("CHAOS_KILLS", "10"))
FREEZES = int(os.environ.get("CHAOS_FREEZES", "5"))
SEED = int(os.environ.get("CHAOS_SEED", time.time_ns() % 1_000_000))
RATE = 400


def click_through_trouble(stack, clicks, kills, freezes):
    """The store after everything was answered, and Kafka's address."""
    addresses = stack.addresses()
    store = Store(addresses["ADMIN_PG_URL"])
    visitors = Visitors(addresses["REDIRECTOR_URLS"].split(), store.make_links(), clicks, RATE)
    visitors.start()
    Hands(stack, store, visitors, SEED).disturb(kills, freezes)
    visitors.join()
    assert visitors.answered == {302: clicks}
    return store, addresses["KAFKA_BROKERS"]


def test_counts_each_click_once_while_consumers_are_killed_and_frozen(run_stack):
    stack = run_stack(BUILD)
    store, brokers = click_through_trouble(stack, CLICKS, KILLS, FREEZES)
    wait_until(lambda: store.counted() >= CLICKS, 120, f"{CLICKS} clicks to be counted; {store.counted()} are")
    ids = store.event_ids()
    seen, messages = published_ids(brokers, ids, 60)
    for n in range(1, CONSUMERS + 1):
        stack.run("stop", f"consumer-{n}")
    books = store.books()
    print(
        f"\nseed {SEED}: {CLICKS} clicks, {KILLS} kills, {FREEZES} freezes: counted {store.counted()},"
        f" lost {max(0, CLICKS - store.counted())}, double {max(0, store.counted() - CLICKS)};"
        f" batches fenced {stack.log_lines('batch_fenced')}, in doubt {stack.log_lines('batch_in_doubt_was_stored')};"
        f" visits published {len(seen)}, again {messages - len(seen)}"
    )
    assert books == dict.fromkeys(books, CLICKS)
    assert store.links_that_differ() == 0
    assert ids <= seen


def test_the_same_rig_catches_a_naive_consumer(run_stack, naive_build):
    stack = run_stack(naive_build)
    clicks, kills, freezes = CLICKS // 2, (KILLS + 1) // 2, (FREEZES + 1) // 2
    store, _ = click_through_trouble(stack, clicks, kills, freezes)
    wait_until_still(store)
    counted = store.counted()
    print(f"\nseed {SEED}: {clicks} clicks, {kills} kills, {freezes} freezes: a naive consumer counts {counted}")
    assert counted != clicks, "the rig did not catch it: it proves nothing"


def wait_until_still(store):
    """Nothing has been counted for longer than a rebalance takes."""
    last, since = store.counted(), time.monotonic()
    while time.monotonic() - since < 15:
        time.sleep(0.2)
        now = store.counted()
        if now != last:
            last, since = now, time.monotonic()
