"""The NetworkPolicies allow the traffic that the services need, and no other."""

import re

from .rendering import does_match, name_of

# The stores that each program connects to.
NEEDS = {
    "redirector": {"postgres", "redis", "kafka"},
    "links-api": {"postgres", "redis", "kafka"},
    "analytics-consumer": {"postgres", "kafka"},
    "janitor": {"postgres"},
    "migrate": {"postgres"},
    "topics": {"kafka"},
}
# Usual ports, without and with TLS. The policy to-STORE may have others.
STORES = {5432: "postgres", 6379: "redis", 6380: "redis", 9092: "kafka", 9093: "kafka"}
OPEN_TO_THE_WORLD = {80, 443}


def ports_of(rules):
    return {port.get("port") for rule in rules for port in rule.get("ports", [])}


def stores_of(policy):
    name = policy["metadata"]["name"].removeprefix("to-")
    usual = {STORES[port] for port in ports_of(policy["spec"].get("egress", [])) if port in STORES}
    return usual | ({name} & set(STORES.values()))


def applying(rendering, workload, direction):
    return [
        policy for policy in rendering.all("NetworkPolicy")
        if direction in policy["spec"]["policyTypes"] and does_match(policy["spec"]["podSelector"], workload.labels)
    ]  # fmt: skip


def check_default(rendering):
    for policy in rendering.all("NetworkPolicy"):
        spec = policy["spec"]
        if spec["podSelector"] == {} and set(spec["policyTypes"]) == {"Ingress", "Egress"} and not spec.get("ingress") and not spec.get("egress"):
            return
    yield "NetworkPolicy: no policy denies by default"


def check_egress(rendering, workload):
    reached, stores = set(), set()
    for policy in applying(rendering, workload, "Egress"):
        reached |= ports_of(policy["spec"].get("egress", []))
        stores |= stores_of(policy)
    for store in NEEDS.get(workload.app, stores) - stores:
        yield f"{workload.where}: no egress to {store}"
    for store in stores - NEEDS.get(workload.app, stores):
        yield f"{workload.where}: egress to {store}, which it does not need"
    if workload.app == "links-api" and 9090 not in reached:
        yield f"{workload.where}: no egress to the ops ports of HEALTH_URLS"
    if workload.app in NEEDS and 53 not in reached:
        yield f"{workload.where}: no egress to DNS"
    if reached & OPEN_TO_THE_WORLD and workload.app != "janitor":
        yield f"{workload.where}: egress to the internet"


def check_ingress(rendering, workload):
    open_to = set()
    for policy in applying(rendering, workload, "Ingress"):
        open_to |= ports_of(policy["spec"].get("ingress", []))
    names = {port.get("name") for container in workload.containers for port in container.get("ports", [])}
    for name in names - open_to:
        yield f"{workload.where}: no ingress to its port {name}"
    for name in open_to - names:
        yield f"{workload.where}: port {name} is open, but it has no port of that name"


def addresses(rendering):
    """(store, variable or option, port) of each address of a store in a ConfigMap."""
    for config in rendering.all("ConfigMap"):
        data = config.get("data", {})
        yield from (("kafka", "KAFKA_BROKERS", port) for port in re.findall(r":(\d+)(?:,|$)", data.get("KAFKA_BROKERS", "")))
        yield from (("redis", "stunnel.conf", port) for port in re.findall(r"^connect = .*:(\d+)$", data.get("stunnel.conf", ""), re.M))


def check_addresses(rendering):
    for store, source, port in sorted(set(addresses(rendering))):
        policy = rendering.find("NetworkPolicy", f"to-{store}")
        if policy and int(port) not in ports_of(policy["spec"]["egress"]):
            yield f"{name_of(policy)}: does not allow port {port} of {source}"


def check_each_rule(rendering):
    for policy in rendering.all("NetworkPolicy"):
        for direction, peers in (("ingress", "from"), ("egress", "to")):
            for rule in policy["spec"].get(direction, []):
                if not rule.get(peers):
                    yield f"{name_of(policy)}: {direction} has no peers, which allows all"
                if not rule.get("ports"):
                    yield f"{name_of(policy)}: {direction} has no ports, which allows all"


def check(rendering):
    yield from check_default(rendering)
    yield from check_each_rule(rendering)
    yield from check_addresses(rendering)
    for workload in rendering.workloads:
        yield from check_egress(rendering, workload)
        yield from check_ingress(rendering, workload)
