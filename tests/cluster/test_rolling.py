"""Users notice nothing of a rolling restart, an upgrade of the configuration, or the loss of a process: no request fails."""

import json
import os
import signal
import threading
import time

import pytest

from clusterlib.waymark import OVERLAY
from cluster_under_test import REDIRECTOR, TIMEOUT_S
from visitors import Visitors
from waiting import wait_until

WORKLOADS = ("statefulset/redirector", "deployment/links-api", "deployment/analytics-consumer", "deployment/janitor")
CLICKS = 100
PAUSE_S = 0.1


class ApiClients:
    """Clients that read and create links through the edge within the context."""

    def __init__(self, user):
        self.user = user
        self.succeeded = 0
        self.failed = []
        self.is_ending = threading.Event()
        self.thread = threading.Thread(target=self._work)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *error):
        self.is_ending.set()
        self.thread.join()

    def _work(self):
        while not self.is_ending.is_set():
            self._expect(200, "GET", "/api/links?limit=1")
            self._expect(201, "POST", "/api/links", {"original_url": "https://example.com/rolling"})
            time.sleep(PAUSE_S)

    def _expect(self, status, *request):
        try:
            found = self.user.call(*request).status
        except OSError as error:
            found = type(error).__name__
        # A limit of the account is no failure.
        if found in (status, 429):
            self.succeeded += 1
        else:
            self.failed.append((found, request[0]))


@pytest.mark.parametrize("workload", WORKLOADS)
def test_no_request_fails_during_a_rolling_restart(cluster, user, link, workload):
    with Visitors(cluster, link) as visitors, ApiClients(user) as clients:
        visitors.wait_for_clicks(CLICKS)
        cluster.kubectl("rollout", "restart", workload)
        cluster.wait_until_ready()
        visitors.wait_for_clicks(CLICKS)
    print(f"\n{workload}: {clients.succeeded} API requests, failed {len(clients.failed)}; clicks {visitors.expect_each_counted_once()}")
    assert (clients.failed, dict(visitors.unclear)) == ([], {})


def test_a_changed_variable_reaches_the_pods_without_a_failed_request(cluster, user, link, tmp_path):
    """As docs/operations.md says: delete the Jobs, apply the overlay."""
    changed = tmp_path / "kustomization.yaml"
    generator = {"name": REDIRECTOR, "behavior": "merge", "literals": ["REGION=changed-1"]}
    changed.write_text(json.dumps({"resources": [os.path.relpath(OVERLAY, tmp_path)], "configMapGenerator": [generator], "namespace": "waymark"}))
    try:
        with Visitors(cluster, link) as visitors, ApiClients(user) as clients:
            visitors.wait_for_clicks(CLICKS)
            apply(cluster, tmp_path)
            visitors.wait_for_clicks(CLICKS)
        visitors.expect_each_counted_once()
        regions = cluster.sql(f"SELECT DISTINCT served_from FROM visit_log WHERE link_id = {link['id']}")
        assert ["changed-1"] in regions
        assert (clients.failed, dict(visitors.unclear)) == ([], {})
    finally:
        apply(cluster, OVERLAY)


def apply(cluster, overlay):
    cluster.kubectl("delete", "job", "--selector=app.kubernetes.io/part-of=waymark", "--ignore-not-found")
    cluster.node.kubectl("apply", "-k", overlay)
    cluster.wait_until_ready()
    cluster.kubectl("wait", "--for=condition=Complete", "job", "--all", f"--timeout={TIMEOUT_S}s")


def test_the_budget_refuses_a_second_eviction(cluster):
    first, second = cluster.ready_pods(REDIRECTOR)
    assert cluster.evict(first)
    assert not cluster.evict(second)


def test_the_kubelet_restarts_a_process_that_does_not_respond(cluster, link):
    """Liveness. The other pod answers meanwhile, and the frozen one's clicks are not lost."""
    frozen = cluster.ready_pods(REDIRECTOR)[0]
    name = frozen["metadata"]["name"]
    restarts = frozen["status"]["containerStatuses"][0]["restartCount"]
    with Visitors(cluster, link) as visitors:
        visitors.wait_for_clicks(CLICKS)
        cluster.kill(frozen, signal.SIGSTOP)
        wait_until(lambda: cluster.get("pod", name)["status"]["containerStatuses"][0]["restartCount"] > restarts, TIMEOUT_S, f"a restart of {name}")
        visitors.wait_for_clicks(CLICKS)
    print(f"\n{name} frozen: {visitors.expect_each_counted_once()}")


def test_the_autoscalers_see_the_load_of_their_pods(cluster):
    def is_active(scaler):
        return any(each["type"] == "ScalingActive" and each["status"] == "True" for each in scaler["status"].get("conditions", []))

    wait_until(lambda: all(map(is_active, cluster.get("hpa")["items"])), TIMEOUT_S, "autoscalers with metrics")
    assert {scaler["metadata"]["name"] for scaler in cluster.get("hpa")["items"]} == {"redirector", "links-api", "analytics-consumer"}
