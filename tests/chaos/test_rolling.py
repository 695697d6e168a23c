"""Every service is restarted in turn, again and again, while visitors follow links and writers make them.

Behind HAProxy, which follows /readyz and tries nothing twice; in its two modes: each request of a connection may go to another
replica, or a connection stays with one (as behind a Service of Kubernetes). CHAOS_ROUNDS changes how often.
"""

import os

import pytest
from redirector_rig import Events, load_messages, size
from rolling_rig import KINDS, NOTICE_MS, REPLICAS, Fleet

ROUNDS = int(os.environ.get("CHAOS_ROUNDS", size(1, 20)))
BETWEEN = size(300, 1500)  # answers


@pytest.fixture
def fleet(request):
    made = Fleet("rolling")
    try:
        made.up()
        yield made
    finally:
        made.down(getattr(request.node, "passed", False))


def test_a_rolling_restart_is_seen_by_nobody(fleet, tmp_path, record_property):
    fleet.ask_everywhere()
    fleet.wait_for_answers(BETWEEN)
    for _ in range(ROUNDS):
        for n in range(1, REPLICAS + 1):
            fleet.restart_together([f"{kind}-{n}" for kind in KINDS])
            fleet.wait_for_answers(BETWEEN)
    outcome = fleet.stop_asking()
    outcome.assert_none_failed()

    clicks = outcome.redirects()
    fleet.assert_counted(clicks)
    events = Events(fleet.doors["KAFKA_BROKERS"], load_messages(tmp_path))
    lost = sum(events.lost(log) for log in fleet.logs)
    assert (lost, events.doubles) == (0, 0)
    assert fleet.books.ask("SELECT count(*) FROM links WHERE owner_id IS NOT NULL") == len(outcome.links)

    record_property("did", f"each of {REPLICAS} × {len(KINDS)} services restarted {ROUNDS} times under load, notice {NOTICE_MS} ms")
    record_property("requests", outcome.requests())
    record_property("failed", outcome.failed())
    record_property("told to come back", sum(map(outcome.postponed, outcome)))
    record_property("redirects", clicks)
    record_property("lost", lost)
    record_property("counted twice", 0)
    record_property("links made", len(outcome.links))
