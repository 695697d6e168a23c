"""The journal outlives its pod: whatever ends redirectors while Kafka is away, each answered click is counted exactly once.

CLUSTER_ROUNDS repeats each way of ending them (default 1)."""

import json
import os

import pytest

from clusterlib.certificates import NODE
from clusterlib.waymark import OVERLAY
from cluster_under_test import REDIRECTOR, TIMEOUT_S
from manifestlib import tree
from memory import exhaust_memory
from visitors import Visitors
from waiting import wait_until

ROUNDS = int(os.environ.get("CLUSTER_ROUNDS", "1"))
CLICKS = 40
REPLICAS = 2


def replaced(cluster, old):
    """Waits until pods of the same names, but not these, are ready."""
    uids = {pod["metadata"]["uid"] for pod in old}
    names = {pod["metadata"]["name"] for pod in old}

    def is_done():
        ready = {pod["metadata"]["name"] for pod in cluster.ready_pods(REDIRECTOR) if pod["metadata"]["uid"] not in uids}
        return names <= ready

    wait_until(is_done, TIMEOUT_S, f"new pods {sorted(names)}")


def restarted(cluster, old):
    """Waits until the containers of these pods have been started again and are ready."""
    before = {pod["metadata"]["name"]: pod["status"]["containerStatuses"][0]["restartCount"] for pod in old}

    def is_done():
        ready = {pod["metadata"]["name"]: pod["status"]["containerStatuses"][0]["restartCount"] for pod in cluster.ready_pods(REDIRECTOR)}
        return all(ready.get(name, -1) > count for name, count in before.items())

    wait_until(is_done, TIMEOUT_S, f"restarted containers of {sorted(before)}")


def delete(cluster, pods):
    cluster.kubectl("delete", "pod", "--wait=false", *(pod["metadata"]["name"] for pod in pods))
    replaced(cluster, pods)


def delete_now(cluster, pods):
    """With a grace period of a second, as long as an eviction leaves."""
    cluster.kubectl("delete", "pod", "--wait=false", "--grace-period=1", *(pod["metadata"]["name"] for pod in pods))
    replaced(cluster, pods)


def evict(cluster, pods):
    for pod in pods:
        wait_until(lambda: cluster.evict(pod), TIMEOUT_S, f"the eviction of {pod['metadata']['name']}")
        replaced(cluster, [pod])


def drain(cluster, pods):
    """Returns the pods that ended: their successors are Pending meanwhile, so the budget may refuse to evict the other one."""
    cluster.kubectl("drain", NODE, f"--pod-selector=app.kubernetes.io/name={REDIRECTOR}", "--timeout=20s", "--ignore-daemonsets", check=False)
    cluster.kubectl("uncordon", NODE)
    ended = [pod for pod in pods if is_ending_or_gone(cluster, pod)]
    assert ended
    replaced(cluster, ended)
    return ended


def is_ending_or_gone(cluster, pod):
    return pod["metadata"]["uid"] not in {each["metadata"]["uid"] for each in cluster.pods(REDIRECTOR)}


def kill(cluster, pods):
    for pod in pods:
        cluster.kill(pod)
    restarted(cluster, pods)


def exhaust(cluster, pods):
    for pod in pods:
        exhaust_memory(cluster.process(pod))
    restarted(cluster, pods)


def roll_out(cluster, pods):
    cluster.kubectl("rollout", "restart", f"statefulset/{REDIRECTOR}")
    replaced(cluster, pods)


WAYS = [delete, delete_now, evict, drain, kill, exhaust, roll_out]


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
    wait_until(lambda: len(cluster.pods(REDIRECTOR)) == len(cluster.ready_pods(REDIRECTOR)) == replicas, TIMEOUT_S, f"{replicas} redirectors")


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
        visitors.wait_for_clicks(CLICKS)
        cluster.start_kafka()
        visitors.wait_for_clicks(CLICKS)
    cluster.wait_until_shipped()
    claims = {claim["metadata"]["name"] for claim in cluster.get("pvc", f"--selector=app.kubernetes.io/name={REDIRECTOR}")["items"]}
    assert claims >= {f"journal-{REDIRECTOR}-{number}" for number in range(4)}
    # The way of docs/operations.md to bring them back.
    missing = len(visitors.answered - set(visitors.counted()))
    set_least(cluster, 4)
    wait_until(lambda: len(cluster.ready_pods(REDIRECTOR)) == 4, TIMEOUT_S, "four redirectors again")
    cluster.wait_until_shipped()
    print(f"\nscaled from 4 to 1 and back: {missing} clicks waited on claims; {visitors.expect_each_counted_once()}")
    assert missing > 0


@pytest.fixture
def ephemeral_journals(cluster, tmp_path):
    """Overlay local with components/ephemeral-journal."""
    resources = os.path.relpath(OVERLAY, tmp_path)
    component = os.path.relpath(tree.MANIFESTS / "components/ephemeral-journal", tmp_path)
    (tmp_path / "kustomization.yaml").write_text(json.dumps({"resources": [resources], "components": [component]}))
    replace(cluster, tmp_path)
    yield
    replace(cluster, OVERLAY)


def replace(cluster, overlay):
    """The claims of a StatefulSet cannot be changed in place."""
    cluster.kubectl("delete", "statefulset", REDIRECTOR)
    cluster.kubectl("delete", "job", "--selector=app.kubernetes.io/part-of=waymark", "--ignore-not-found")
    cluster.node.kubectl("apply", "-k", overlay)
    wait_until(lambda: len(cluster.ready_pods(REDIRECTOR)) == REPLICAS, TIMEOUT_S, "two redirectors")


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
