"""N, N+1, back to N: everything is replaced under load, with the database first."""

import pytest

import next_tree
import next_version
from api_clients import ApiClients
from cluster_under_test import SERVICES
from clusterlib.waymark import OVERLAY
from manifestlib import tree
from visitors import Visitors

CLICKS = 100
NEXT = tree.ROOT / "build/next-version"


@pytest.fixture
def next_overlay(cluster):
    cluster.node.load_images([next_version.make(NEXT)])
    yield NEXT / OVERLAY.relative_to(tree.ROOT)
    cluster.apply()


def versions(cluster):
    return {pod["spec"]["containers"][0]["image"].rpartition(":")[2] for service in SERVICES for pod in cluster.pods(service)}


def schema(cluster):
    ((newest,),) = cluster.sql("SELECT max(version) FROM schema_migrations")
    return int(newest)


def test_no_request_fails_during_an_upgrade_and_on_the_way_back(cluster, user, link, next_overlay):
    seen = []
    with Visitors(cluster, link) as visitors, ApiClients(user) as clients:
        visitors.wait_for_clicks(CLICKS)
        seen.append((versions(cluster), schema(cluster)))
        cluster.apply(next_overlay)
        visitors.wait_for_clicks(CLICKS)
        seen.append((versions(cluster), schema(cluster)))
        # As docs/operations.md says, first the pods, then everything.
        cluster.kubectl("rollout", "undo", "deployment", "--selector=app.kubernetes.io/part-of=waymark")
        cluster.kubectl("rollout", "undo", "statefulset", "redirector")
        cluster.wait_until_ready()
        visitors.wait_for_clicks(CLICKS)
        seen.append((versions(cluster), schema(cluster)))
        cluster.apply()
        visitors.wait_for_clicks(CLICKS)
    old = next_tree.newest_migration()
    assert seen == [({next_version.VERSION}, old), ({next_version.NEXT}, old + 1), ({next_version.VERSION}, old + 1)]
    print(f"\n{next_version.VERSION} to {next_version.NEXT} and back: {clients}; clicks {visitors.expect_each_counted_once()}")
    assert (clients.failed, dict(visitors.unclear)) == ([], {})
