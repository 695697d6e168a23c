"""Parts of the cluster are away: redirects go on, and every click is counted."""

import contextlib
import time

import pytest

from cluster_under_test import REDIRECTOR, TIMEOUT_S
from visitors import Visitors
from waiting import wait_until

AWAY_S = 60
# After 40 s without word of a kubelet Kubernetes takes its node for lost, and withdraws its pods from their Services.
WITHOUT_WORD_S = 30
CLICKS = 100


@contextlib.contextmanager
def without_program(cluster, name):
    stop = cluster.node.folder / "stopped" / name
    stop.touch()
    try:
        yield
    finally:
        stop.unlink()
        wait_until(lambda: cluster.node.kubectl("get", "--raw=/readyz", check=False).returncode == 0, "the API server")


@contextlib.contextmanager
def without_names(cluster):
    cluster.node.kubectl("-n", "kube-system", "scale", "deployment", "coredns", "--replicas=0")
    try:
        wait_until(lambda: not cluster.get("pods", "--selector=k8s-app=kube-dns", namespace="kube-system")["items"], "no DNS")
        yield
    finally:
        cluster.node.kubectl("-n", "kube-system", "scale", "deployment", "coredns", "--replicas=1")
        cluster.node.kubectl("-n", "kube-system", "rollout", "status", "deployment/coredns", f"--timeout={TIMEOUT_S}s")


OUTAGES = {
    "DNS": (without_names, AWAY_S),
    "the API server": (lambda cluster: without_program(cluster, "kube-apiserver"), AWAY_S),
    "etcd": (lambda cluster: without_program(cluster, "etcd"), WITHOUT_WORD_S),
    "the kubelet": (lambda cluster: without_program(cluster, "kubelet"), WITHOUT_WORD_S),
}


@pytest.mark.parametrize(("outage", "away_s"), OUTAGES.values(), ids=OUTAGES)
def test_no_redirect_fails_while_a_part_of_the_cluster_is_away(cluster, link, outage, away_s):
    with Visitors(cluster, link) as visitors:
        visitors.wait_for_clicks(CLICKS)
        with outage(cluster):
            time.sleep(away_s)
        visitors.wait_for_clicks(CLICKS)
    print(f"\n{visitors.expect_each_counted_once()}")
    assert dict(visitors.unclear) == {}


def test_redirectors_stay_in_the_service_while_postgresql_and_redis_are_away(cluster, link):
    """Readiness: links in memory are answered, and the kubelet does not withdraw all pods at once."""
    with Visitors(cluster, link) as visitors:
        visitors.wait_for_clicks(CLICKS)
        stores = ("statefulset/postgres", "statefulset/redis")
        try:
            cluster.kubectl("scale", *stores, "--replicas=0")
            wait_until(lambda: not cluster.pods("postgres") and not cluster.pods("redis"), "no stores")
            wait_until(lambda: all(cluster.metric(pod, "waymark_degraded") == 1 for pod in cluster.pods(REDIRECTOR)), "degraded redirectors")
            visitors.wait_for_clicks(CLICKS)
            assert len(cluster.ready_pods(REDIRECTOR)) == len(cluster.pods(REDIRECTOR))
        finally:
            cluster.kubectl("scale", *stores, "--replicas=1")
        cluster.wait_until_ready()
    print(f"\n{visitors.expect_each_counted_once()}")


def test_a_node_that_loses_power_loses_no_click(cluster, link):
    """All processes of the node end at once, while Kafka is away. What the kernel holds of the files survives, as with kill -9."""
    with Visitors(cluster, link) as visitors:
        visitors.wait_for_clicks(CLICKS)
        cluster.stop_kafka()
        visitors.wait_for_clicks(CLICKS)
    cluster.node.stop()
    cluster.node.start()
    cluster.start_kafka()
    cluster.wait_until_ready()
    cluster.wait_until_shipped()
    print(f"\n{visitors.expect_each_counted_once()}")
