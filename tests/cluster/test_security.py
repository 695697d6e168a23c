"""Pod Security "restricted": the API server admits Waymark's pods without a warning and refuses others."""

import json

import pytest

from clusterlib.errors import ClusterError
from clusterlib.images import STORES
from clusterlib.waymark import NAMESPACE, OVERLAY

ALLOWED = {"runAsNonRoot": True, "runAsUser": 65532, "seccompProfile": {"type": "RuntimeDefault"}}
CONTAINER = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}


def pod(of_pod=None, of_container=None, **more):
    container = {"name": "tools", "image": STORES["tools"], "securityContext": CONTAINER | (of_container or {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "tried"}, "spec": {"securityContext": ALLOWED | (of_pod or {}), "containers": [container], **more}}


REFUSED = {
    "root": pod(of_pod={"runAsNonRoot": False, "runAsUser": 0}),
    "privileged": pod(of_container={"privileged": True, "allowPrivilegeEscalation": True}),
    "a capability": pod(of_container={"capabilities": {"drop": ["ALL"], "add": ["NET_RAW"]}}),
    "the node's network": pod(hostNetwork=True),
    "the node's files": pod(volumes=[{"name": "root", "hostPath": {"path": "/"}}]),
    "no seccomp profile": pod(of_pod={"seccompProfile": {"type": "Unconfined"}}),
}


def test_the_overlay_is_admitted_without_a_warning(cluster):
    cluster.kubectl("delete", "job", "--selector=app.kubernetes.io/part-of=waymark", "--ignore-not-found")
    assert "Warning" not in cluster.node.kubectl("apply", "-k", OVERLAY).stderr


def test_a_restricted_pod_is_admitted(cluster):
    run = cluster.node.kubectl("-n", NAMESPACE, "create", "--dry-run=server", "-f", "-", input=json.dumps(pod()))
    assert "Warning" not in run.stderr


@pytest.mark.parametrize("asked", REFUSED.values(), ids=REFUSED)
def test_a_pod_that_asks_for_more_is_refused(cluster, asked):
    with pytest.raises(ClusterError, match='violates PodSecurity "restricted'):
        cluster.node.kubectl("-n", NAMESPACE, "create", "--dry-run=server", "-f", "-", input=json.dumps(asked))
