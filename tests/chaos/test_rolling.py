"""Every service is restarted in turn while visitors follow links and writers make them.

HAProxy stands in front of the replicas. It follows /readyz, repeats no request, and runs in two modes: each request of a
connection may go to another replica, or a connection stays with one, as behind a Service of Kubernetes. CHAOS_ROUNDS
changes the number of rounds.
"""

import os

import pytest
from harness import size
from redirector_harness import Events
from rolling_harness import KINDS, NOTICE_MS, REPLICAS, Fleet

ROUNDS = int(os.environ.get("CHAOS_ROUNDS", size(1, 20)))
BETWEEN = size(150, 1500)  # answers


@pytest.fixture
def fleet(request):
    made = Fleet("rolling")
    try:
        made.up()
        yield made
    finally:
        made.down(getattr(request.node, "passed", False))


def test_no_client_notices_a_rolling_restart(fleet, batch_type, record_property, promise):
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
    events = Events(fleet.env["KAFKA_BROKERS"], batch_type)
    lost = sum(events.lost(log) for log in fleet.logs)
    assert (lost, events.doubles) == (0, 0)
    assert fleet.ledger.ask("SELECT count(*) FROM links WHERE workspace_id IS NOT NULL") == len(outcome.links)

    record_property("did", f"each of {REPLICAS} × {len(KINDS)} services restarted {ROUNDS} times under load, notice {NOTICE_MS} ms")
    record_property("requests", outcome.requests())
    record_property("failed", outcome.failed())
    record_property("redirects", clicks)
    record_property("lost", lost)
    record_property("counted twice", 0)
    record_property("links made", len(outcome.links))
    promise("503 during rolling restarts", sum(map(outcome.postponed, outcome)) / outcome.requests(), 0.001)
