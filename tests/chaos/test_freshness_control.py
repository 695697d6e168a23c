"""Control: the harness of test_freshness.py detects caches that take whatever comes last, however old."""

from freshness_harness import Faults, made_history
from harness import BUILD, SEED

CONTROL = BUILD / "tests/chaos/freshness/control"
HISTORIES_MAX = 5
LOAD = {"editors": 4, "write_rate": 160, "visitors": 4, "read_rate": 1000, "seed": SEED}


def control_build(folder):
    """The build under test with the control's programs in place of its own."""
    (folder / "bin").mkdir()
    for program in (BUILD / "bin").iterdir():
        own = CONTROL / program.name
        (folder / "bin" / program.name).symlink_to(own if own.exists() else program)
    return folder


def history_of(stack):
    """The checker's figures of a short load that ends while fills come late."""
    with made_history(stack, **LOAD) as history:
        faults = Faults(history, 1)
        faults.inflict("nothing-broken")
        faults.settle()
        history.stop()
        report, figures = history.verdict()
    print(f"\nseed {SEED}\n{report}")
    return figures["settled"]


def test_detects_a_cache_that_takes_what_is_older(freshness, tmp_path, record_property):
    freshness.use_build(control_build(tmp_path))
    histories, stale = 0, 0
    while stale == 0 and histories < HISTORIES_MAX:
        figures = history_of(freshness)
        stale = int(figures["stale"])
        histories += 1
    record_property("did", "a cache that takes whatever comes last, fills late")
    record_property("histories", histories)
    for name in ("operations", "stale", "worst_ms"):
        record_property(name, figures[name])
    assert stale > 0, "the checker did not find it: it proves nothing"
