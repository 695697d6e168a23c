"""The end-to-end tests from the network of the node: through the edge, Services and NetworkPolicies, by the hosts of the Ingresses."""

import sys

import pytest

from cluster_under_test import SERVICES
from manifestlib import tree

TESTS = tree.ROOT / "tests"
# What visitors, users and subscribers do. The other tests of that folder look into the stack or start programs of it.
JOURNEYS = ("test_click.py", "test_links.py", "test_tutorial.py", "test_generated_clients.py", "test_metrics.py")
# Without the limits that tests of one machine would reach, and with a janitor that works every second.
VARIANT = TESTS / "deploy/variants/e2e"
SHORT = {"analytics-consumer": "CONSUMER"}


@pytest.fixture(scope="module")
def variant(cluster):
    cluster.apply(VARIANT)
    # A janitor of overlay local keeps a task's lock for ten minutes after the task, also from the janitors of this variant.
    cluster.sql("UPDATE shedlock SET lock_until = timezone('utc', now())")
    yield
    cluster.apply()


def environment(cluster, folder):
    """The same variables as tools/stack env. curl would look for *.localhost on this machine."""
    hosts = {"redirector": cluster.redirect_host, "links-api": cluster.api_host}
    (folder / ".curlrc").write_text("".join(f"resolve = {host}:80:{cluster.edge}\n" for host in hosts.values()))
    values = {"REDIRECTOR_URL": f"http://{cluster.redirect_host}", "LINKS_API_URL": f"http://{cluster.api_host}", "KAFKA_BROKERS": "kafka:9092"}
    for service in SERVICES:
        urls = [f"http://{pod['status']['podIP']}:9090" for pod in cluster.ready_pods(service)]
        name = SHORT.get(service, service.upper().replace("-", "_"))
        values |= {f"{name}_OPS_URL": urls[0], f"{name}_OPS_URLS": " ".join(urls)}
    return values | {"CURL_HOME": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}


def names(cluster):
    """Lines of a hosts file: the edge, and Kafka as it calls itself."""
    kafka = cluster.get("service", "kafka")["spec"]["clusterIP"]
    return f"127.0.0.1 localhost\n{cluster.edge} {cluster.redirect_host} {cluster.api_host}\n{kafka} kafka\n"


@pytest.mark.parametrize("journey", JOURNEYS)
def test_the_end_to_end_tests_pass_through_the_edge(cluster, variant, journey, tmp_path):
    (tmp_path / "hosts").write_text(names(cluster))
    variables = [f"{name}={value}" for name, value in environment(cluster, tmp_path).items()]
    inside = 'mount --bind "$0" /etc/hosts && exec "$@"'
    pytest_ = [sys.executable, "-B", "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", "--rootdir", TESTS, TESTS / "e2e" / journey]
    done = cluster.node.run("env", *variables, "unshare", "--mount", "bash", "-c", inside, tmp_path / "hosts", *pytest_, check=False, cwd=tree.ROOT)
    print(f"\n{journey}: {done.stdout.strip().splitlines()[-1] if done.stdout.strip() else ''}")
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    assert "skipped" not in done.stdout, done.stdout[-3000:]
