"""NetworkPolicies: from each pod, each port of each other pod is tried. What is listed here passes, everything else is dropped."""

import concurrent.futures
import json
import socket

import pytest

from clusterlib.certificates import ADDRESS
from clusterlib.images import STORES
from clusterlib.waymark import NAMESPACE
from cluster_under_test import TIMEOUT_S
from network_namespace import connect
from waiting import wait_until

# A connection that is not refused or made within this time is dropped.
DROPPED_S = 3
SERVICES = ("redirector", "links-api", "analytics-consumer", "janitor")
PORTS = {
    "redirector": (8080, 9090), "links-api": (8081, 9090), "analytics-consumer": (9090,), "janitor": (9090,),
    "postgres": (5432,), "redis": (6379,), "kafka": (9092,),
    "names": (53,), "api-server": (6443,),
}  # fmt: skip
# Pods of the test: by name, the namespace and the labels of that namespace.
STRANGERS = {
    "stranger": (NAMESPACE, None),
    "monitoring": ("monitoring", {"waymark.dev/role": "monitoring"}),
    "elsewhere": ("elsewhere", {}),
}
ALLOWED = {
    ("edge", "redirector", 8080), ("edge", "links-api", 8081),
    *(("monitoring", name, 9090) for name in SERVICES),
    *(("links-api", name, 9090) for name in SERVICES),
    *((name, "postgres", 5432) for name in SERVICES),
    ("redirector", "redis", 6379), ("links-api", "redis", 6379),
    ("redirector", "kafka", 9092), ("links-api", "kafka", 9092), ("analytics-consumer", "kafka", 9092), ("kafka", "kafka", 9092),
    *((name, "names", 53) for name in (*SERVICES, "kafka")),
    # No policy of Waymark isolates pods of other namespaces.
    *((name, target, port) for name in ("edge", "monitoring", "elsewhere") for target, port in (("names", 53), ("api-server", 6443))),
}  # fmt: skip
# Policies without which no way of this table changes: their pods are Jobs, which have ended.
POLICIES_OF_JOBS = set()


@pytest.fixture(scope="module")
def strangers(cluster):
    names = {namespace: labels for namespace, labels in STRANGERS.values() if namespace != NAMESPACE}
    items = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}} for name, labels in names.items()]
    items += [stranger(name, namespace) for name, (namespace, _) in STRANGERS.items()]
    listed = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    cluster.node.kubectl("apply", "-f", "-", input=listed)
    for name, (namespace, _) in STRANGERS.items():
        cluster.node.kubectl("-n", namespace, "wait", "--for=condition=Ready", f"pod/{name}", f"--timeout={TIMEOUT_S}s")
    yield
    cluster.node.kubectl("delete", f"--timeout={TIMEOUT_S}s", "--ignore-not-found", "-f", "-", input=listed)


def stranger(name, namespace):
    """A pod that meets "restricted" and has no label of Waymark."""
    container = {
        "name": "tools", "image": STORES["tools"], "imagePullPolicy": "Never",
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }  # fmt: skip
    spec = {"terminationGracePeriodSeconds": 0, "automountServiceAccountToken": False, "containers": [container]}
    spec["securityContext"] = {"runAsNonRoot": True, "runAsUser": 65532, "seccompProfile": {"type": "RuntimeDefault"}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace}, "spec": spec}


class Ways:
    """Who can connect to whom."""

    def __init__(self, cluster):
        # An autoscaler may just have asked for one more.
        running = {name: cluster.ready_pods(name) for name in (*SERVICES, "postgres", "redis", "kafka")}
        pods = {name: found[0] for name, found in running.items()}
        pods["edge"] = cluster.edge_pod()
        for name, (namespace, _) in STRANGERS.items():
            pods[name] = cluster.get("pod", name, namespace=namespace)
        self.processes = {name: next(iter(cluster.processes(pod))) for name, pod in pods.items()}
        # The second pod of a service, because nothing keeps a pod from reaching itself.
        targets = {name: found[-1]["status"]["podIP"] for name, found in running.items()}
        targets["names"] = cluster.get("pods", "--selector=k8s-app=kube-dns", namespace="kube-system")["items"][0]["status"]["podIP"]
        targets["api-server"] = ADDRESS
        self.tries = [(source, target, port) for source in self.processes for target, numbers in PORTS.items() for port in numbers]
        self.addresses = targets

    def passes(self, way):
        source, target, port = way
        try:
            connect(self.processes[source], self.addresses[target], port, DROPPED_S).close()
            return True
        except (socket.timeout, OSError):
            return False

    def open_ways(self, tries=None):
        tries = self.tries if tries is None else tries
        with concurrent.futures.ThreadPoolExecutor(128) as pool:
            return {way for way, passes in zip(tries, pool.map(self.passes, tries)) if passes}


def own(way):
    """A single pod of a service reaches itself by any policy."""
    return way[0] == way[1] and way not in ALLOWED


@pytest.fixture
def ways(cluster, strangers):
    return Ways(cluster)


def expect_as_listed(ways):
    """A way that is allowed may take time to open on a busy machine; one that is not must stay closed."""
    allowed = [way for way in ways.tries if way in ALLOWED]
    wait_until(lambda: ways.open_ways(allowed) == set(allowed), "all allowed ways open")
    assert changes(ways) - ALLOWED == set()
    return len(allowed), len(ways.tries) - len(allowed)


def test_what_is_named_passes_and_everything_else_is_dropped(ways):
    passed, dropped = expect_as_listed(ways)
    print(f"\n{passed} ways open, {dropped} closed, as listed")


def test_nothing_leaves_the_namespace(ways, cluster):
    """The way out: an address that no pod has. The node answers with a reset if the packet reaches it."""
    outside = [(name, "outside", 443) for name in (*SERVICES, "postgres", "redis", "kafka", "stranger")]
    ways.addresses["outside"] = ADDRESS
    assert ways.open_ways(outside) == set()
    dropped = [way for way in outside if not is_reset(ways, way)]
    assert dropped == outside
    assert is_reset(ways, ("elsewhere", "outside", 443))


def is_reset(ways, way):
    source, target, port = way
    try:
        connect(ways.processes[source], ways.addresses[target], port, DROPPED_S).close()
    except ConnectionRefusedError:
        return True
    except OSError:
        pass
    return False


def test_each_policy_is_needed(ways, cluster):
    """Broken once: without each policy in turn, the same table shows which ways are open or closed."""
    expect_as_listed(ways)
    needless = set()
    for policy in cluster.get("networkpolicy")["items"]:
        name = policy["metadata"]["name"]
        cluster.kubectl("delete", "networkpolicy", name)
        try:
            changed = wait_until_changed(ways)
        finally:
            for field in ("uid", "resourceVersion", "creationTimestamp", "generation"):
                policy["metadata"].pop(field, None)
            cluster.kubectl("create", "-f", "-", input=json.dumps(policy))
        opened, closed = sorted(changed - ALLOWED), sorted(ALLOWED & changed)
        print(f"\nwithout {name}: {len(opened)} ways open {opened[:2]}, {len(closed)} closed {closed[:2]}")
        if not changed:
            needless.add(name)
        wait_until(lambda: not changes(ways), f"all ways as listed, with {name} again")
    assert needless == POLICIES_OF_JOBS


def changes(ways):
    """The ways that differ from the table."""
    return {way for way in ways.open_ways() ^ {way for way in ways.tries if way in ALLOWED} if not own(way)}


def wait_until_changed(ways):
    """The ways that differ from the table; empty: none does."""
    for _ in range(5):
        changed = changes(ways)
        if changed:
            return changed
    return set()
