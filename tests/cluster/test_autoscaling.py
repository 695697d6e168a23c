"""Autoscalers by the metrics of metrics-server: more pods under load, fewer afterwards, and every click counted once."""

import json

import pytest

from cluster_under_test import TIMEOUT_S
from flood import Flood
from waiting import wait_until

# Percent of what a pod requests. So low that a busy machine reaches it; the rules are those of the overlay.
TARGETS = {"redirector": 10, "analytics-consumer": 5}
LEAST, MOST = 2, 3


def patch(cluster, name, **spec):
    cluster.kubectl("patch", "hpa", name, "--type=merge", "--patch", json.dumps({"spec": spec}))


@pytest.fixture
def sensitive(cluster):
    """Autoscalers that act at a low load, and at once."""
    for name, percent in TARGETS.items():
        target = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": percent}}}
        patch(cluster, name, maxReplicas=MOST, metrics=[target], behavior={"scaleDown": {"stabilizationWindowSeconds": 15}})
    yield
    cluster.apply()


def used(cluster, name):
    """Percent of the request that the autoscaler has seen last."""
    metrics = cluster.get("hpa", name)["status"].get("currentMetrics") or []
    return next((metric["resource"]["current"].get("averageUtilization") for metric in metrics if "resource" in metric), None)


def wait_for_replicas(cluster, replicas):
    def is_done():
        return all(cluster.replicas(name) == len(cluster.ready_pods(name)) == replicas for name in TARGETS)

    wait_until(is_done, f"{replicas} pods each of {', '.join(TARGETS)}")


def counted(cluster, link):
    return int(cluster.sql(f"SELECT count(*) FROM visit_log WHERE link_id = {link['id']}")[0][0])


def test_pods_come_with_the_load_and_go_with_it(cluster, link, sensitive):
    wait_for_replicas(cluster, LEAST)
    with Flood(cluster, link) as flood:
        wait_for_replicas(cluster, MOST)
        seen = {name: used(cluster, name) for name in TARGETS}
    wait_for_replicas(cluster, LEAST)
    cluster.wait_until_shipped()
    wait_until(lambda: counted(cluster, link) >= flood.answered, "all clicks counted")
    found = counted(cluster, link)
    print(f"\n{LEAST} pods to {MOST} and back at {seen} percent; {flood.answered} clicks answered, {flood.unclear} unclear, {found} counted")
    assert flood.answered <= found <= flood.answered + flood.unclear
