"""overlays/production gives each pod the resources that the model of docs/scaling.md requires."""

import copy
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
from capacitylib import limits, model
from capacitylib.figures import MiB, of
from manifestlib import description, rendering, tree

if not tree.kustomize().exists():
    pytest.skip("kustomize is missing: tools/setup test", allow_module_level=True)

# The program itself; an estimate.
PROGRAM_BYTES = 16 * MiB
# Room for fragmentation: beyond its limit a pod is killed.
SLACK = 1.2
BULK_BYTES = 30_000_000  # docs/decisions/0027-link-writes-and-idempotency.md


@pytest.fixture(scope="module")
def production():
    return rendering.render(tree.MANIFESTS / "overlays/production")


def cores_of(quantity):
    text = str(quantity)
    return int(text[:-1]) / 1000 if text.endswith("m") else float(text)


class Pod:
    """A service's container, its environment and its autoscaler."""

    def __init__(self, rendered, name):
        self.container, self.program, self.values = next(
            (container, program, values) for _, container, program, values in description.containers(rendered) if container["name"] == name
        )
        self.scaler = next(
            (each["spec"] for kind in ("HorizontalPodAutoscaler", "ScaledObject") for each in rendered.all(kind) if each["spec"]["scaleTargetRef"]["name"] == name), {}
        )

    def number(self, name):
        return int(description.value_of(self.program, self.values, name))

    def bytes(self, kind):
        return description.bytes_of(self.container["resources"][kind]["memory"])

    @property
    def cores(self):
        return cores_of(self.container["resources"]["requests"]["cpu"])

    @property
    def busy(self):
        """The share of a core at which the autoscaler starts another pod."""
        return self.cores * self.scaler["metrics"][0]["resource"]["target"]["averageUtilization"] / 100


def redirector_memory(pod):
    return (
        pod.number("MEMORY_CACHE_BYTES") + pod.number("SLUG_BLOOM_FILTER_SLUGS") * of.filter_bytes + of.producer_bytes
        + pod.number("HTTP_CONNECTIONS") * of.connection_bytes + PROGRAM_BYTES
    )  # fmt: skip


def consumer_memory(pod):
    """The measured memory per worker, times the workers."""
    return of.consumer_memory * pod.number("WORKERS") / of.workers


def api_memory(pod):
    return (
        pod.number("HTTP_BODIES_MAX_BYTES") + pod.number("HTTP_HEAVY_WORKERS") * BULK_BYTES
        + pod.number("HTTP_CONNECTIONS") * of.connection_bytes + PROGRAM_BYTES
    )  # fmt: skip


def outage_s(pod):
    """How long a redirector's journal lasts at the load at which the autoscaler starts another pod."""
    rate = pod.busy * 1e6 / model.Needs(model.Demand(1, 1_000_000)).redirect_us
    return pod.number("JOURNAL_MAX_BYTES") / of.journal_bytes / rate


def problems(rendered):
    redirector, consumer, api = (Pod(rendered, name) for name in ("redirector", "analytics-consumer", "links-api"))
    if redirector_memory(redirector) * SLACK > redirector.bytes("limits"):
        yield "redirector: memory"
    if consumer_memory(consumer) > consumer.bytes("requests"):
        yield "analytics-consumer: memory"
    if api_memory(api) * SLACK > api.bytes("limits"):
        yield "links-api: memory"
    if outage_s(redirector) < 900:
        yield "redirector: journal"
    if redirector.busy > redirector.number("HTTP_LOOPS"):
        yield "redirector: loops"
    if redirector.number("JOURNAL_MAX_BYTES") != limits.JOURNAL_BYTES or redirector.scaler["maxReplicas"] != of.pods_max or redirector.cores != 1:
        yield "redirector: the model assumes another pod"


def test_production_gives_each_pod_what_the_model_requires(production):
    assert list(problems(production)) == []


def test_stores_adds_up_the_connections_of_all_pods():
    base = rendering.render(tree.MANIFESTS / "base")
    pods = {each.name: each.thing["spec"].get("replicas") for each in base.workloads}
    pods |= {each["spec"]["scaleTargetRef"]["name"]: each["spec"]["maxReplicas"] for each in base.all("HorizontalPodAutoscaler")}
    connections = {
        "redirector": of.redirector_connections, "links-api": of.api_connections,
        "analytics-consumer": of.consumer_connections, "janitor": of.janitor_connections,
    }  # fmt: skip
    (total,) = re.findall(r"maximum number of pods of the base's autoscalers that is (\d+)", (ROOT / "docs/stores.md").read_text())
    assert int(total) == sum(pods[name] * each for name, each in connections.items())


def test_scaling_lists_what_production_requests(production):
    text = (ROOT / "docs/scaling.md").read_text()
    services = [each for each in production.workloads if not each.is_job]
    pods = {each.name: each.thing["spec"].get("replicas") for each in services}
    for kind, least in (("HorizontalPodAutoscaler", "minReplicas"), ("ScaledObject", "minReplicaCount")):
        pods |= {each["spec"]["scaleTargetRef"]["name"]: each["spec"][least] for each in production.all(kind)}
    listed = {}
    for workload in services:
        for container in workload.containers:
            count = pods[workload.name] + listed.get(container["name"], [0])[0]
            requests, most = container["resources"]["requests"], container["resources"]["limits"]["memory"]
            listed[container["name"]] = [count, cores_of(requests["cpu"]), description.bytes_of(requests["memory"]) // MiB, description.bytes_of(most)]
    rows = re.findall(r"^\| ([\w-]+)(?:, [^|]*)? \| (\d+) \| ([\d.]+) \| ([\d,]+) MiB \| (?:(\d+) (M|G)iB )?\|$", text, re.M)
    found = {
        name: [int(count), float(cores), int(memory.replace(",", "")), int(most or 0) * {"G": 1024 * MiB}.get(unit, MiB)] for name, count, cores, memory, most, unit in rows
    }
    total = found.pop("together")
    assert found == listed
    cores, memory = (sum(count * each[n] for count, *each in listed.values()) for n in (0, 1))
    assert total == [sum(pods.values()), round(cores, 2), memory, 0]
    assert f"The pods request {cores:g} cores" in " ".join(text.split())


def problems_after(original, change):
    rendered = rendering.Rendering(original.name, copy.deepcopy(original.things))
    change(rendered)
    return list(problems(rendered))


def config(rendered, name):
    return next(each for each in rendered.all("ConfigMap") if each["metadata"]["name"].startswith(f"{name}-") and "api" not in each["metadata"]["name"])["data"]


def resources(rendered, name):
    return next(container for _, container, _, _ in description.containers(rendered) if container["name"] == name)["resources"]


@pytest.mark.parametrize(
    ("problem", "change"),
    [
        ("redirector: memory", lambda r: resources(r, "redirector")["limits"].update(memory="256Mi")),
        ("redirector: memory", lambda r: config(r, "redirector").update(SLUG_BLOOM_FILTER_SLUGS="200000000")),
        ("redirector: memory", lambda r: config(r, "redirector").update(MEMORY_CACHE_BYTES="1073741824")),
        ("analytics-consumer: memory", lambda r: resources(r, "analytics-consumer")["requests"].update(memory="512Mi")),
        ("links-api: memory", lambda r: resources(r, "links-api")["limits"].update(memory="192Mi")),
        ("redirector: journal", lambda r: config(r, "redirector").update(JOURNAL_MAX_BYTES="2147483648")),
        ("redirector: loops", lambda r: resources(r, "redirector")["requests"].update(cpu="4")),
        ("redirector: the model assumes another pod", lambda r: resources(r, "redirector")["requests"].update(cpu="900m")),
    ],
)
def test_too_little_is_detected(production, problem, change):
    assert problem in problems_after(production, change)
