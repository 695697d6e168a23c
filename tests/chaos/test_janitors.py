"""One janitor at a time, whichever of eight is killed or frozen, and however wrong their clocks are.

CHAOS_FULL=1 takes the full sizes; CHAOS_SEED repeats a run.
"""

from harness import SEED, size, wait_until
from janitor_harness import AT_MOST_S, JANITORS, OVERLAPPING, FaultInjector, janitors_at_work, not_the_holders

ROUNDS = size(3, 1000)
KILLS = size(2, 200)
FREEZES = size(1, 100)
TAKEOVER_S = AT_MOST_S + 1


def test_one_janitor_at_a_time_whichever_is_killed_or_frozen(tmp_path, record_property, promise):
    with janitors_at_work(tmp_path) as (janitors, due_links):
        database = janitors.database
        faults = FaultInjector(janitors, SEED)
        faults.disturb(KILLS, FREEZES)
        wait_until(lambda: min(janitors.rounds()) >= ROUNDS, f"{ROUNDS} rounds of each janitor", seconds=60 + 10 * ROUNDS)
        due_links.stop()
        wait_until(lambda: database.row("SELECT count(*) FROM links") == (0,), "all links purged")
        batches, wrong = database.row("SELECT count(*) FROM batch")[0], not_the_holders(database, janitors)
        overlapping = database.row(OVERLAPPING)[0]
        events, tombstones = database.row("SELECT (SELECT count(*) FROM outbox), (SELECT count(*) FROM link_tombstones)")
        takeovers = sorted(faults.takeovers_s)
        figures = {
            "rounds": sum(janitors.rounds()),
            "fewest of one janitor": min(janitors.rounds()),
            "batches": batches,
            "overlapping": overlapping,
            "by a non-holder": wrong,
            "runs": janitors.lines('"task_done"'),
            "runs ended by the fence": janitors.lines('"task_failed"', "conflict"),
            "takeover p50 s": round(takeovers[len(takeovers) // 2], 2),
            "links": due_links.links,
        }
    did = f"{JANITORS} janitors, clocks ±1 h, {len(takeovers)} kill -9, {faults.frozen} freezes, seed {SEED}"
    record_property("did", did)
    for name, value in figures.items():
        record_property(name, value)
    print(f"\n{did}: {figures}")
    assert batches > KILLS + FREEZES
    assert (overlapping, wrong) == (0, 0)
    assert (events, tombstones) == (2 * due_links.links, due_links.links), "each link is marked once and purged once"
    promise("another janitor takes over from a dead one after", takeovers[-1], TAKEOVER_S, "s")
