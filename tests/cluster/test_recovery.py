"""A store is lost with all its data, and Waymark recovers as docs/recovery.md says, by the Jobs of components/day-two."""

import pathlib
import shutil

import pytest

from cluster_under_test import REDIRECTOR, SERVICES, TIMEOUT_S
from manifestlib import tree
from visitors import Visitors
from waiting import wait_until

CLICKS = 100
CONSUMER = "analytics-consumer"


def scale(cluster, replicas):
    """replicas: how many pods each service shall have."""
    for app, count in replicas.items():
        kind = "statefulset" if app == REDIRECTOR else "deployment"
        cluster.kubectl("scale", f"{kind}/{app}", f"--replicas={count}")
        if count == 0:
            wait_until(lambda app=app: not cluster.pods(app), f"the end of {app}")


@pytest.fixture
def stop(cluster):
    """stop(apps): stops services; returns what starts them again, as the test does in the end."""
    before = {app: cluster.replicas(app) for app in SERVICES}

    def stop_some(apps):
        scale(cluster, dict.fromkeys(apps, 0))
        return lambda: scale(cluster, {app: before[app] for app in apps})

    yield stop_some
    scale(cluster, before)


def on_server(cluster, statement):
    cluster.kubectl("exec", "postgres-0", "--", "psql", "-h", "/tmp", "-U", "postgres", "-v", "ON_ERROR_STOP=1", "-d", "postgres", "-c", statement)


def figures(stats):
    """Without what says how current they are."""
    return {name: value for name, value in stats.items() if name not in ("as_of", "lag_ms")}


def wait_until_counted(user, visitors, link):
    """Returns the figures of the link."""
    print(f"\n{visitors.expect_each_counted_once()}")
    return figures(user.wait_for_visits(link["id"], len(visitors.answered)))


def test_a_lost_database_comes_back_from_a_copy_with_equal_figures(cluster, user, link, stop):
    with Visitors(cluster, link) as visitors:
        visitors.wait_for_clicks(CLICKS)
        cluster.kubectl("apply", "-f", tree.MANIFESTS / "components/nightly-backup/claim.yaml")
        assert "wrote /backup/" in cluster.run_job("backup")
        visitors.wait_for_clicks(CLICKS)
    assert dict(visitors.unclear) == {}
    before = wait_until_counted(user, visitors, link)
    lost = user.create()
    cluster.wait_until_shipped()
    wait_until(lambda: cluster.sql("SELECT count(*) FROM outbox WHERE NOT published") == [["0"]], "the lost link in Kafka")

    start = stop(SERVICES)
    on_server(cluster, "DROP DATABASE waymark WITH (FORCE)")
    assert "restored" in cluster.run_job("restore")
    start()
    cluster.wait_until_ready()
    assert wait_until_counted(user, visitors, link) == before
    assert user.call("GET", f"/api/links/{lost['id']}").status == 404
    assert "Kafka has the ends of 1 lost names of links" in cluster.run_job("republish-links")
    cluster.run_job("rebuild-stats")
    assert figures(user.stats(link["id"])) == before


def empty_volume(cluster, claim):
    volume = cluster.get("pvc", claim)["spec"]["volumeName"]
    for path in pathlib.Path(cluster.get("pv", volume)["spec"]["local"]["path"]).iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def test_clicks_are_counted_after_kafka_was_lost_with_all_topics(cluster, user, link, stop):
    with Visitors(cluster, link) as visitors:
        visitors.wait_for_clicks(CLICKS)
    wait_until_counted(user, visitors, link)

    start = stop([CONSUMER])
    cluster.stop_kafka()
    (claim,) = (each["metadata"]["name"] for each in cluster.get("pvc")["items"] if each["metadata"]["name"].endswith("-kafka-0"))
    empty_volume(cluster, claim)
    cluster.start_kafka()
    cluster.kubectl("rollout", "status", "statefulset/kafka", f"--timeout={TIMEOUT_S}s")
    cluster.kubectl("delete", "job", "--selector=app.kubernetes.io/name=topics")
    cluster.waymark.apply()
    cluster.kubectl("wait", "--for=condition=Complete", "job", "--selector=app.kubernetes.io/name=topics", f"--timeout={TIMEOUT_S}s")
    assert "are counted from their beginning" in cluster.run_job("kafka-lost")
    start()
    cluster.wait_until_ready()
    with Visitors(cluster, link) as later:
        later.wait_for_clicks(CLICKS)
    print(f"\n{later.expect_each_counted_once()}")
    user.wait_for_visits(link["id"], len(visitors.answered) + len(later.answered))
    assert "links again" in cluster.run_job("republish-links")
