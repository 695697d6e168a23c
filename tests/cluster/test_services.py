"""The loss of a pod of each service under load: evictions that nobody notices, and containers that run out of memory."""

import pytest

from api_clients import ApiClients
from cluster_under_test import SERVICES, TIMEOUT_S
from memory import exhaust_memory
from visitors import Visitors
from waiting import wait_until

CLICKS = 100


@pytest.mark.parametrize("service", SERVICES)
def test_no_request_fails_when_a_pod_is_evicted(cluster, user, link, service):
    with Visitors(cluster, link) as visitors, ApiClients(user) as clients:
        visitors.wait_for_clicks(CLICKS)
        pod = cluster.ready_pods(service)[0]
        wait_until(lambda: cluster.evict(pod), f"the eviction of {pod['metadata']['name']}")
        cluster.wait_until_replaced([pod])
        visitors.wait_for_clicks(CLICKS)
    print(f"\n{service} evicted: {clients}; clicks {visitors.expect_each_counted_once()}")
    assert (clients.failed, dict(visitors.unclear)) == ([], {})


@pytest.mark.parametrize("service", SERVICES)
def test_each_click_is_counted_once_when_a_container_runs_out_of_memory(cluster, user, link, service):
    """Requests that the process was answering fail. A redirect that has not been answered may be counted."""
    with Visitors(cluster, link) as visitors, ApiClients(user) as clients:
        visitors.wait_for_clicks(CLICKS)
        pod = cluster.ready_pods(service)[0]
        exhaust_memory(cluster.process(pod))
        (restarted,) = cluster.wait_until_restarted([pod])
        visitors.wait_for_clicks(CLICKS)
    assert restarted["status"]["containerStatuses"][0]["lastState"]["terminated"]["reason"] == "OOMKilled"
    print(f"\n{service} out of memory: {clients}; clicks {visitors.expect_each_counted_once()}")
    if service not in ("redirector", "links-api"):
        assert (clients.failed, dict(visitors.unclear)) == ([], {})
