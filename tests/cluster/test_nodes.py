"""A second node: pods spread over both, one is drained, one is lost."""


import pytest

from api_clients import ApiClients
from cluster_under_test import NAME, REDIRECTOR, SERVICES, TIMEOUT_S, WORKLOADS
from clusterlib import images
from test_network import Ways, expect_as_listed, strangers  # noqa: F401
from visitors import Visitors
from waiting import wait_until

CLICKS = 100


@pytest.fixture(scope="module")
def second_node(cluster):
    worker = cluster.node.worker()
    try:
        worker.join(images.prepare(print))
        yield worker
    finally:
        remove(cluster, worker)


def remove(cluster, worker):
    """Brings all pods back to the first node."""
    worker.stop()
    cluster.node.kubectl("delete", "node", worker.name, "--ignore-not-found")
    for pod in pods_on(cluster, worker.name):
        cluster.kubectl("delete", "pod", "--force", "--grace-period=0", "--ignore-not-found", pod["metadata"]["name"])
    cluster.repair()
    cluster.wait_until_ready()
    worker.remove()


@pytest.fixture
def spread(cluster, second_node):
    """Pods on both nodes, as after a rolling update."""
    crowded = [workload for service, workload in zip(SERVICES, WORKLOADS) if len(set(nodes_of(cluster, service))) < 2]
    for workload in crowded:
        cluster.kubectl("rollout", "restart", workload)
    cluster.wait_until_ready()
    return second_node


def pods_on(cluster, node):
    return cluster.get("pods", f"--field-selector=spec.nodeName={node}")["items"]


def nodes_of(cluster, service):
    return sorted(pod["spec"]["nodeName"] for pod in cluster.ready_pods(service))


def test_the_pods_of_each_service_are_spread_over_the_nodes(cluster, spread):
    """However many pods the autoscalers have made."""
    found = {service: set(nodes_of(cluster, service)) for service in SERVICES}
    assert found == {service: {cluster.node.name, spread.name} for service in SERVICES}


def test_policies_hold_between_nodes(cluster, spread, strangers):  # noqa: F811
    passed, dropped = expect_as_listed(Ways(cluster))
    print(f"\nbetween two nodes: {passed} ways open, {dropped} closed, as listed")


def test_no_request_fails_when_a_node_is_drained(cluster, user, link, spread):
    with Visitors(cluster, link) as visitors, ApiClients(user) as clients:
        visitors.wait_for_clicks(CLICKS)
        drained = {pod["metadata"].get("labels", {}).get(NAME) for pod in pods_on(cluster, spread.name)}
        try:
            cluster.node.kubectl("drain", spread.name, "--ignore-daemonsets", "--force", f"--timeout={TIMEOUT_S}s")
            cluster.wait_until_ready()
            assert {pod["metadata"]["name"] for pod in pods_on(cluster, spread.name)} == set()
        finally:
            cluster.node.kubectl("uncordon", spread.name)
        visitors.wait_for_clicks(CLICKS)
    assert drained >= set(SERVICES)
    print(f"\n{spread.name} drained: {clients}; clicks {visitors.expect_each_counted_once()}")
    assert (clients.failed, dict(visitors.unclear)) == ([], {})


def is_ready(cluster, node):
    return any(each["type"] == "Ready" and each["status"] == "True" for each in cluster.get("node", node)["status"]["conditions"])


def test_a_lost_node_loses_no_click(cluster, link, spread):
    """All its processes end at once, while Kafka is away. Its redirectors' volumes go to the other node, with their clicks."""
    with Visitors(cluster, link) as visitors:
        visitors.wait_for_clicks(CLICKS)
        cluster.stop_kafka()
        visitors.wait_for_clicks(CLICKS)
        lost = [pod for pod in cluster.pods(REDIRECTOR) if pod["spec"]["nodeName"] == spread.name]
        waiting = sum(cluster.metric(pod, "waymark_events_queued") for pod in lost)
        spread.stop()
        wait_until(lambda: not is_ready(cluster, spread.name), "a node that is not ready")
        failed = sum(visitors.unclear.values())
        # Kubernetes does not start a StatefulSet's pods elsewhere before somebody says that the node is off.
        cluster.node.kubectl("taint", "node", spread.name, "node.kubernetes.io/out-of-service=nodeshutdown:NoExecute")
        cluster.wait_until_replaced(lost)
        cluster.start_kafka()
        visitors.wait_for_clicks(CLICKS)
    assert lost and waiting > 0
    assert nodes_of(cluster, REDIRECTOR) == [cluster.node.name] * 2
    cluster.wait_until_shipped()
    print(f"\n{spread.name} lost with {waiting:.0f} clicks of {len(lost)} redirectors, {failed} requests failed until Kubernetes noticed; {visitors.expect_each_counted_once()}")
