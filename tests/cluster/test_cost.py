"""What the cluster and Waymark use while nobody asks, by the kernel's counts of their control groups (docs/scaling.md)."""

import time

from cluster_under_test import SERVICES

STORES = ("postgres", "redis", "kafka")
SECONDS = 120


def group(node, controller):
    return next(folder for folder in node.groups if folder.parent.name == controller)


def groups_of_pods(cluster):
    """By part: Waymark's own, the stores, or Kubernetes, to which DNS, metrics-server and the edge belong."""
    found = {"Waymark": [], "stores": []}
    for pod in cluster.get("pods")["items"]:
        app = pod["metadata"]["labels"].get("app.kubernetes.io/name")
        part = "Waymark" if app in SERVICES else "stores" if app in STORES else None
        if part:
            found[part].append(pod["metadata"]["uid"])
    return found


def folders(node, controller, uid):
    return [folder for folder in group(node, controller).glob("kubepods/**/pod*") if folder.name == f"pod{uid}"]


def cpu_s(folder):
    return int((folder / "cpuacct.usage").read_text()) / 1e9


def memory_bytes(folder):
    """Without the page cache, which the kernel takes back when it needs memory."""
    values = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
    return int(values["total_rss"])


def measure(cluster, controller, read):
    """By part, and the whole node."""
    pods = groups_of_pods(cluster)
    found = {part: sum(read(folder) for uid in uids for folder in folders(cluster.node, controller, uid)) for part, uids in pods.items()}
    return found | {"Kubernetes": read(group(cluster.node, controller)) - sum(found.values())}


def test_an_idle_cluster_uses_less_than_its_pods_request(cluster):
    before, began = measure(cluster, "cpuacct", cpu_s), time.monotonic()
    time.sleep(SECONDS)
    after, seconds = measure(cluster, "cpuacct", cpu_s), time.monotonic() - began
    memory = measure(cluster, "memory", memory_bytes)
    print()
    for part in before:
        print(f"idle: {part}: {(after[part] - before[part]) / seconds:.3f} cores, {memory[part] / 2**20:.0f} MiB")
    assert after["Waymark"] - before["Waymark"] < seconds * requested(cluster)


def requested(cluster):
    """Cores that the pods of Waymark's services request."""
    pods = [pod for service in SERVICES for pod in cluster.pods(service)]
    return sum(int(container["resources"]["requests"]["cpu"].removesuffix("m")) / 1000 for pod in pods for container in pod["spec"]["containers"])
