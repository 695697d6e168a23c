"""Every answered redirect is counted exactly once, whatever happens to the consumers."""

from rig import (
    BUILD,
    CLICKS,
    CONSUMERS,
    FREEZES,
    KILLS,
    SEED,
    click_through_trouble,
    published_ids,
    wait_until,
)


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
