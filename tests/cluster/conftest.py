"""Fixtures of the tests on a cluster. tests/cluster/run starts it; ./cluster up and CLUSTER_STATE lend one that runs."""

import os
import pathlib

import pytest

from clusterlib.control_plane import ControlPlane
from clusterlib.waymark import Waymark
from cluster_under_test import TIMEOUT_S, Cluster
from network_namespace import Api
from clients import unique_email
from waiting import wait_until

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def cluster():
    node = ControlPlane(os.environ.get("CLUSTER_STATE", ROOT / "build/cluster"))
    if not node.pid:
        pytest.fail(f"no cluster runs in {node.folder}: run tests/cluster/run, or tests/cluster/cluster up")
    return Cluster(node, Waymark(node))


@pytest.fixture(autouse=True)
def healthy(cluster):
    """Each test begins with all pods ready, an empty journal and no way to a lost pod, whatever the one before it did."""
    cluster.repair()
    cluster.wait_until_ready()
    cluster.wait_until_shipped()
    cluster.forget_lost_pods()


def answers(api):
    """The edge has no pods for a moment after the control plane was away, because Kubernetes takes the node for lost."""
    try:
        return api.call("GET", "/api/stats").status == 200
    except OSError:
        return False


@pytest.fixture
def user(cluster):
    """A registered user of its own for each test."""
    api = Api(cluster.node, cluster.edge, cluster.api_host)
    wait_until(lambda: answers(api), "the API through the edge")
    api.register_and_login(unique_email())
    return api


@pytest.fixture
def link(user):
    return user.create()
