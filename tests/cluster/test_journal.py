"""The journal outlives its pod: whatever ends redirectors while Kafka is away, each answered click is counted exactly once.

CLUSTER_ROUNDS repeats each way of ending them (default 1)."""

import json
import os

import pytest

from clusterlib.certificates import NODE
from clusterlib.waymark import OVERLAY
from cluster_under_test import REDIRECTOR
from manifestlib import tree
from memory import exhaust_memory, occupied
from overlays import changed
from visitors import Visitors
from waiting import wait_until

ROUNDS = int(os.environ.get("CLUSTER_ROUNDS", "1"))
CLICKS = 40
REPLICAS = 2
# With it a redirector exceeds its request (256 MiB), but not its limit (512 MiB).
TAKEN_MIB = 400


def delete(cluster, pods):
    cluster.kubectl("delete", "pod", "--wait=false", *(pod["metadata"]["name"] for pod in pods))
    cluster.wait_until_replaced(pods)


def delete_now(cluster, pods):
    """With a grace period of a second, as long as an eviction leaves."""
    cluster.kubectl("delete", "pod", "--wait=false", "--grace-period=1", *(pod["metadata"]["name"] for pod in pods))
    cluster.wait_until_replaced(pods)


def evict(cluster, pods):
    for pod in pods:
        wait_until(lambda: cluster.evict(pod), f"the eviction of {pod['metadata']['name']}")
        cluster.wait_until_replaced([pod])


def drain(cluster, pods):
    """Returns the pods that ended: their successors are Pending meanwhile, so the budget may refuse to evict the other one."""
    cluster.kubectl("drain", NODE, f"--pod-selector=app.kubernetes.io/name={REDIRECTOR}", "--timeout=20s", "--ignore-daemonsets", check=False)
    cluster.kubectl("uncordon", NODE)
    ended = [pod for pod in pods if is_ending_or_gone(cluster, pod)]
    assert ended
    cluster.wait_until_replaced(ended)
    return ended


def is_ending_or_gone(cluster, pod):
    return pod["metadata"]["uid"] not in {each["metadata"]["uid"] for each in cluster.pods(REDIRECTOR)}


def kill(cluster, pods):
    for pod in pods:
        cluster.kill(pod)
    cluster.wait_until_restarted(pods)


def exhaust(cluster, pods):
    for pod in pods:
        exhaust_memory(cluster.process(pod))
    cluster.wait_until_restarted(pods)


def evict_for_memory(cluster, pods):
    """By the kubelet itself, at once. It chooses the pod that exceeds its request the most."""
    pod = pods[0]
    with occupied(cluster.process(pod), TAKEN_MIB), cluster.memory_pressure():
        wait_until(lambda: was_evicted(cluster, pod), f"the eviction of {pod['metadata']['name']}")
    cluster.wait_until_replaced([pod])
    return [pod]


def was_evicted(cluster, pod):
    found = cluster.get("pods", f"--field-selector=metadata.name={pod['metadata']['name']}")["items"]
    return not found or found[0]["metadata"]["uid"] != pod["metadata"]["uid"] or found[0]["status"].get("reason") == "Evicted"


def roll_out(cluster, pods):
    cluster.kubectl("rollout", "restart", f"statefulset/{REDIRECTOR}")
    cluster.wait_until_replaced(pods)


# New pods come between the two ways that restart containers, because the kubelet waits longer before each restart of the same one.
WAYS = [kill, delete, delete_now, evict, exhaust, evict_for_memory, drain, roll_out]


@pytest.mark.parametrize("end", WAYS, ids=[way.__name__ for way in WAYS])
def test_no_click_is_lost_when_redirectors_end_while_kafka_is_away(cluster, link, end, request):
    ends = 0
    with Visitors(cluster, link) as visitors:
        visitors.wait_for_clicks(CLICKS)
        cluster.stop_kafka()
        for _ in range(ROUNDS):
            visitors.wait_for_clicks(CLICKS)
            pods = cluster.ready_pods(REDIRECTOR)
            assert len(pods) == REPLICAS
            ends += len(end(cluster, pods) or pods)
            visitors.wait_for_clicks(CLICKS)
        held = sum(value or 0 for value in cluster.queued())
        cluster.start_kafka()
        visitors.wait_for_clicks(CLICKS)
    assert held >= 2 * CLICKS * ROUNDS
    cluster.wait_until_shipped()
    print(f"\n{request.node.name}: {ends} pods ended, {held:.0f} clicks waited; {visitors.expect_each_counted_once()}")


def set_least(cluster, replicas):
    cluster.kubectl("patch", "hpa", REDIRECTOR, "--type=merge", "--patch", json.dumps({"spec": {"minReplicas": replicas}}))


def scale(cluster, replicas):
    cluster.kubectl("scale", "statefulset", REDIRECTOR, f"--replicas={replicas}")
    wait_until(lambda: len(cluster.pods(REDIRECTOR)) == len(cluster.ready_pods(REDIRECTOR)) == replicas, f"{replicas} redirectors")


@pytest.fixture
def four_redirectors(cluster):
    set_least(cluster, 4)
    scale(cluster, 4)
    yield
    set_least(cluster, REPLICAS)
    scale(cluster, REPLICAS)


def test_redirectors_that_were_scaled_away_ship_their_clicks_when_they_come_back(cluster, link, four_redirectors):
    with Visitors(cluster, link) as visitors:
        visitors.wait_for_clicks(CLICKS)
        cluster.stop_kafka()
        visitors.wait_for_clicks(4 * CLICKS)
        set_least(cluster, 1)
        scale(cluster, 1)
        # What is ending ships its clicks if Kafka is back before its end.
        wait_until(lambda: len(cluster.get("pods", f"--selector=app.kubernetes.io/name={REDIRECTOR}")["items"]) == 1, "the end of three redirectors")
        visitors.wait_for_clicks(CLICKS)
        cluster.start_kafka()
        visitors.wait_for_clicks(CLICKS)
    cluster.wait_until_shipped()
    claims = {claim["metadata"]["name"] for claim in cluster.get("pvc", f"--selector=app.kubernetes.io/name={REDIRECTOR}")["items"]}
    assert claims >= {f"journal-{REDIRECTOR}-{number}" for number in range(4)}
    # The way of docs/operations.md to bring them back.
    missing = len(visitors.answered - set(visitors.counted()))
    set_least(cluster, 4)
    wait_until(lambda: len(cluster.ready_pods(REDIRECTOR)) == 4, "four redirectors again")
    cluster.wait_until_shipped()
    print(f"\nscaled from 4 to 1 and back: {missing} clicks waited on claims; {visitors.expect_each_counted_once()}")
    assert missing > 0


@pytest.fixture
def ephemeral_journals(cluster, tmp_path):
    """Overlay local with components/ephemeral-journal."""
    replace(cluster, changed(tmp_path, components=[tree.MANIFESTS / "components/ephemeral-journal"]))
    yield
    replace(cluster, OVERLAY)


def replace(cluster, overlay):
    """The claims of a StatefulSet cannot be changed in place."""
    cluster.kubectl("delete", "statefulset", REDIRECTOR)
    cluster.apply(overlay)


def test_control_clicks_are_lost_with_a_journal_that_ends_with_its_pod(cluster, link, ephemeral_journals):
    with Visitors(cluster, link) as visitors:
        visitors.wait_for_clicks(CLICKS)
        cluster.stop_kafka()
        visitors.wait_for_clicks(CLICKS)
        delete_now(cluster, cluster.ready_pods(REDIRECTOR))
        cluster.start_kafka()
        visitors.wait_for_clicks(CLICKS)
    cluster.wait_until_shipped()
    with Visitors(cluster, link) as later:
        later.wait_for_clicks(CLICKS)
    later.expect_each_counted_once()
    lost = visitors.answered - set(visitors.counted())
    print(f"\ncontrol: {len(lost)} of {len(visitors.answered)} answered clicks lost")
    assert lost
