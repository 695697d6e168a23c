"""Users notice nothing of a rolling restart, an upgrade of the configuration, or the loss of a process: no request fails."""

import signal

import pytest

from api_clients import ApiClients
from cluster_under_test import REDIRECTOR, TIMEOUT_S, WORKLOADS, restarts
from overlays import changed, merged
from visitors import Visitors
from waiting import wait_until

CLICKS = 100


@pytest.mark.parametrize("workload", WORKLOADS)
def test_no_request_fails_during_a_rolling_restart(cluster, user, link, workload):
    with Visitors(cluster, link) as visitors, ApiClients(user) as clients:
        visitors.wait_for_clicks(CLICKS)
        cluster.kubectl("rollout", "restart", workload)
        cluster.wait_until_ready()
        visitors.wait_for_clicks(CLICKS)
    print(f"\n{workload}: {clients}; clicks {visitors.expect_each_counted_once()}")
    assert (clients.failed, dict(visitors.unclear)) == ([], {})


def test_a_changed_variable_reaches_the_pods_without_a_failed_request(cluster, user, link, tmp_path):
    """The Jobs run again, and pods that read the variable are replaced."""
    try:
        with Visitors(cluster, link) as visitors, ApiClients(user) as clients:
            visitors.wait_for_clicks(CLICKS)
            cluster.apply(changed(tmp_path, configMapGenerator=[merged(REDIRECTOR, REGION="changed-1")]))
            visitors.wait_for_clicks(CLICKS)
        visitors.expect_each_counted_once()
        regions = cluster.sql(f"SELECT DISTINCT served_from FROM visit_log WHERE link_id = {link['id']}")
        assert ["changed-1"] in regions
        assert (clients.failed, dict(visitors.unclear)) == ([], {})
    finally:
        cluster.apply()


def test_the_budget_refuses_a_second_eviction(cluster):
    first, second = cluster.ready_pods(REDIRECTOR)
    assert cluster.evict(first)
    assert not cluster.evict(second)


def test_the_kubelet_restarts_a_process_that_does_not_respond(cluster, link):
    """Liveness. The other pod answers meanwhile, and the frozen one's clicks are not lost."""
    frozen = cluster.ready_pods(REDIRECTOR)[0]
    name = frozen["metadata"]["name"]
    with Visitors(cluster, link) as visitors:
        visitors.wait_for_clicks(CLICKS)
        cluster.kill(frozen, signal.SIGSTOP)
        wait_until(lambda: restarts(cluster.get("pod", name)) > restarts(frozen), f"a restart of {name}")
        visitors.wait_for_clicks(CLICKS)
    print(f"\n{name} frozen: {visitors.expect_each_counted_once()}")


def test_the_autoscalers_see_the_load_of_their_pods(cluster):
    def is_active(scaler):
        return any(each["type"] == "ScalingActive" and each["status"] == "True" for each in scaler["status"].get("conditions", []))

    wait_until(lambda: all(map(is_active, cluster.get("hpa")["items"])), "autoscalers with metrics")
    assert {scaler["metadata"]["name"] for scaler in cluster.get("hpa")["items"]} == {"redirector", "links-api", "analytics-consumer"}
