"""The NetworkPolicies allow the traffic that the services need, and no other."""

import re

from . import programs, tree
from .rendering import does_match, name_of

# The stores that each program connects to.
NEEDS = {
    "redirector": {"postgres", "redis", "kafka"},
    "links-api": {"postgres", "redis", "kafka"},
    "analytics-consumer": {"postgres", "kafka"},
    "janitor": {"postgres"},
    "migrate": {"postgres"},
    "topics": {"kafka"},
    **{name: {"postgres"} for name in ("backup", "restore", "kafka-lost", "rebuild-stats")},
    "republish-links": {"postgres", "kafka"},
}
STORES = {"postgres", "redis", "kafka"}
# Of the addresses that the janitor and links-api request for strangers.
INTERNET = set(map(int, re.findall(r"read\.port != (\d+)", (tree.ROOT / "lib/fetch/fetch.c").read_text())))
FETCHING = ("janitor-destinations", "links-api-titles")


def ports_of(rules):
    return {port.get("port") for rule in rules for port in rule.get("ports", [])}


def applying(rendering, workload, direction):
    return [
        policy for policy in rendering.all("NetworkPolicy")
        if direction in policy["spec"]["policyTypes"] and does_match(policy["spec"]["podSelector"], workload.labels)
    ]  # fmt: skip


def check_egress(rendering, workload):
    policies = applying(rendering, workload, "Egress")
    reached = ports_of(rule for policy in policies for rule in policy["spec"].get("egress", []))
    stores = STORES & {policy["metadata"]["name"].removeprefix("to-") for policy in policies}
    for store in sorted(NEEDS[workload.app] ^ stores):
        yield f"{workload.where}: {'no egress to' if store not in stores else 'needs no egress to'} {store}"
    if workload.app == "links-api" and 9090 not in reached:
        yield f"{workload.where}: no egress to the ops ports of HEALTH_URLS"
    names = {policy["metadata"]["name"] for policy in policies}
    if "names" not in names:
        yield f"{workload.where}: no egress to DNS"
    goes_out = "to-kafka-tokens" in names or workload.app == "links-api" and names & {"to-openid-providers", "links-api-titles"}
    if reached & INTERNET and workload.app != "janitor" and not goes_out:
        yield f"{workload.where}: egress to the internet"


def check_ingress(rendering, workload):
    allowed = ports_of(rule for policy in applying(rendering, workload, "Ingress") for rule in policy["spec"].get("ingress", []))
    names = {port.get("name") for container in workload.containers for port in container.get("ports", [])}
    for name in sorted(names ^ allowed, key=str):
        yield f"{workload.where}: {'no ingress to its' if name in names else 'open without need:'} port {name}"


def check_addresses(rendering):
    """The policies open the ports that addresses name."""
    brokers = {programs.environment(rendering, container)[0].get("KAFKA_BROKERS", "") for workload in rendering.workloads for container in workload.containers}
    stunnels = {config.get("data", {}).get("stunnel.conf", "") for config in rendering.all("ConfigMap")}
    named = {"kafka": re.findall(r":(\d+)(?:,|$)", "\n".join(brokers), re.M), "redis": re.findall(r"^connect = .*:(\d+)$", "\n".join(stunnels), re.M)}
    for store, ports in named.items():
        policy = rendering.find("NetworkPolicy", f"to-{store}")
        for port in sorted(set(map(int, ports)) - ports_of(policy["spec"]["egress"] if policy else [])):
            yield f"NetworkPolicy/to-{store}: does not allow port {port}"


def check_internet(rendering):
    for policy in rendering.all("NetworkPolicy"):
        if policy["metadata"]["name"] in FETCHING and ports_of(policy["spec"]["egress"]) != INTERNET:
            yield f"{name_of(policy)}: the ports must be those of lib/fetch: {', '.join(map(str, sorted(INTERNET)))}"


def check_each_rule(rendering):
    policies = rendering.all("NetworkPolicy")
    if not any(each["spec"]["podSelector"] == {} and len(each["spec"]["policyTypes"]) == 2 and not {"ingress", "egress"} & set(each["spec"]) for each in policies):
        yield "NetworkPolicy: no policy denies by default"
    for policy in policies:
        for direction, peers in (("ingress", "from"), ("egress", "to")):
            if not all(rule.get(peers) and rule.get("ports") for rule in policy["spec"].get(direction, [])):
                yield f"{name_of(policy)}: {direction} without peers or without ports allows all"


def check(rendering):
    yield from check_each_rule(rendering)
    yield from check_addresses(rendering)
    yield from check_internet(rendering)
    for workload in rendering.workloads:
        if workload.app in NEEDS:
            yield from check_egress(rendering, workload)
            yield from check_ingress(rendering, workload)
