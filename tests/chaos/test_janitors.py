"""One janitor at a time, whichever of eight is killed or frozen, and however wrong their clocks are.

CHAOS_FULL=1 takes the full sizes; CHAOS_SEED repeats a run.
"""

import time

from janitor_rig import AT_MOST_S, JANITORS, OVERLAPPING, Trouble, janitors_at_work, not_the_holders
from redirector_rig import SEED, size
from rig import BUILD, wait_until

ROUNDS = size(10, 1000)
KILLS = size(3, 200)
FREEZES = size(2, 100)
NAIVE_FREEZES_MAX = 10
NAIVE_PATIENCE_S = 3
TAKEOVER_S = AT_MOST_S + 1


def test_one_janitor_at_a_time_whoever_is_killed_or_frozen(tmp_path, record_property):
    with janitors_at_work(tmp_path) as (janitors, feed):
        database = janitors.database
        trouble = Trouble(janitors, SEED)
        trouble.disturb(KILLS, FREEZES)
        wait_until(lambda: min(janitors.rounds()) >= ROUNDS, 3 * ROUNDS, f"{ROUNDS} rounds of each janitor")
        feed.stop()
        wait_until(lambda: database.row("SELECT count(*) FROM links") == (0,), 60, "all links purged")
        batches, wrong = database.row("SELECT count(*) FROM batch")[0], not_the_holders(database, janitors)
        overlapping = database.row(OVERLAPPING)[0]
        events, tombstones = database.row("SELECT (SELECT count(*) FROM outbox), (SELECT count(*) FROM link_tombstones)")
        takeovers = sorted(trouble.takeovers_s)
        figures = {
            "rounds": sum(janitors.rounds()),
            "fewest of one janitor": min(janitors.rounds()),
            "batches": batches,
            "overlapping": overlapping,
            "by a non-holder": wrong,
            "runs": janitors.lines('"task_done"'),
            "runs ended by the fence": janitors.lines('"task_failed"', "conflict"),
            "takeover p50 s": round(takeovers[len(takeovers) // 2], 2),
            "longest s": round(takeovers[-1], 2),
            "links": feed.links,
        }
    did = f"{JANITORS} janitors, clocks ±1 h, {len(takeovers)} kill -9, {trouble.frozen} freezes, seed {SEED}"
    record_property("did", did)
    for name, value in figures.items():
        record_property(name, value)
    print(f"\n{did}: {figures}")
    assert batches > KILLS + FREEZES
    assert (overlapping, wrong) == (0, 0)
    assert takeovers[-1] <= TAKEOVER_S, f"not within {TAKEOVER_S} s"
    # Each link was marked once and purged once.
    assert (events, tombstones) == (2 * feed.links, feed.links)


def is_caught(database, janitors):
    """Within a moment: who has just gone on may still be in its batch."""
    deadline = time.monotonic() + NAIVE_PATIENCE_S
    while (wrong := not_the_holders(database, janitors)) == 0 and time.monotonic() < deadline:
        time.sleep(0.1)
    return wrong > 0


def test_the_same_rig_catches_a_janitor_that_does_not_check_its_lock(tmp_path, record_property):
    with janitors_at_work(tmp_path, BUILD / "tests/chaos/naive_janitor") as (janitors, _):
        trouble = Trouble(janitors, SEED)
        database = janitors.database
        # One that is frozen in its last batch has nothing left to do wrong.
        while not is_caught(database, janitors) and trouble.frozen < NAIVE_FREEZES_MAX:
            trouble.disturb(0, 1)
        assert not_the_holders(database, janitors) > 0, "the rig does not find it"
        wrong, overlapping = not_the_holders(database, janitors), database.row(OVERLAPPING)[0]
    record_property("did", f"{JANITORS} janitors that do not check their lock, {trouble.frozen} freezes, seed {SEED}")
    record_property("overlapping", overlapping)
    record_property("by a non-holder", wrong)
    print(f"\noverlapping {overlapping}, by a non-holder {wrong}")
