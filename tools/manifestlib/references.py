"""References between the objects of a rendering: each referenced object exists, and each object is referenced."""

from . import given
from .rendering import does_match, name_of
from .services import zone_terms

OWNER = "app.kubernetes.io/part-of"


def check_targets(rendering):
    for scaler in rendering.all("HorizontalPodAutoscaler") + rendering.all("ScaledObject"):
        target = scaler["spec"]["scaleTargetRef"]
        if not rendering.find(target.get("kind", "Deployment"), target["name"]):
            yield f"{name_of(scaler)}: there is no {target.get('kind', 'Deployment')} {target['name']}"
    scaled = [scaler["spec"]["scaleTargetRef"]["name"] for scaler in rendering.all("HorizontalPodAutoscaler") + rendering.all("ScaledObject")]
    for name in {name for name in scaled if scaled.count(name) > 1}:
        yield f"{name}: has two autoscalers"
    for workload in rendering.workloads:
        if workload.name in scaled and "replicas" in workload.thing["spec"]:
            yield f"{workload.where}: replicas must be left to its autoscaler"


def check_governing_services(rendering):
    """A StatefulSet names a headless Service of its pods, which gives each pod a name in DNS."""
    for workload in rendering.workloads:
        if workload.thing["kind"] != "StatefulSet" or "waymark.dev/store" in workload.labels:
            continue
        service = rendering.find("Service", workload.thing["spec"].get("serviceName"))
        if not service or service["spec"].get("clusterIP") != "None" or workload not in rendering.selected(service["spec"]["selector"]):
            yield f"{workload.where}: serviceName must be a headless Service of its pods"


def check_selectors(rendering):
    for service in rendering.all("Service"):
        if not rendering.selected(service["spec"].get("selector", {})):
            yield f"{name_of(service)}: selects no pod"
    for budget in rendering.all("PodDisruptionBudget"):
        if not rendering.selected(budget["spec"]["selector"].get("matchLabels", {})):
            yield f"{name_of(budget)}: selects no pod"
    for workload in rendering.workloads:
        selector = workload.thing["spec"].get("selector")
        if selector and not does_match(selector, workload.labels):
            yield f"{workload.where}: its selector does not match its own pods"
        for spread in workload.pod.get("topologySpreadConstraints", []) + zone_terms(workload):
            if not does_match(spread["labelSelector"], workload.labels):
                yield f"{workload.where}: is spread by labels that its pods do not have"


def check_owners(rendering):
    """No pod of another product in the namespace is counted, disrupted or served as one of ours."""
    ours = [workload.thing for workload in rendering.workloads if not workload.is_job and "waymark.dev/store" not in workload.labels]
    for thing in ours + rendering.all("PodDisruptionBudget"):
        if thing["spec"]["selector"].get("matchLabels", {}).get(OWNER) != "waymark":
            yield f"{name_of(thing)}: its selector lacks {OWNER}: waymark, so it selects pods of others"


def ports_of(workload):
    return {port.get("name"): port["containerPort"] for container in workload.containers for port in container.get("ports", [])}


def check_ports(rendering):
    for service in rendering.all("Service"):
        for workload in rendering.selected(service["spec"].get("selector", {})):
            ports = ports_of(workload)
            for port in service["spec"]["ports"]:
                if port["targetPort"] not in {*ports.keys(), *ports.values()}:
                    yield f"{name_of(service)}: {workload.where} has no port {port['targetPort']}"
    for workload in rendering.workloads:
        names = ports_of(workload)
        for container in workload.containers:
            for kind in ("startupProbe", "livenessProbe", "readinessProbe"):
                probe = container.get(kind, {})
                port = (probe.get("httpGet") or probe.get("tcpSocket") or {}).get("port")
                if port is not None and port not in {*names.keys(), *names.values()}:
                    yield f"{workload.where}: {kind} uses port {port}, which it does not have"


def backends(route):
    """(host, service, port) of an Ingress or an HTTPRoute."""
    if route["kind"] == "Ingress":
        for rule in route["spec"]["rules"]:
            for path in rule["http"]["paths"]:
                service = path["backend"]["service"]
                yield rule.get("host"), service["name"], service["port"].get("name") or service["port"].get("number")
    else:
        for rule in route["spec"]["rules"]:
            for backend in rule["backendRefs"]:
                for host in route["spec"]["hostnames"]:
                    yield host, backend["name"], backend["port"]


def check_routes(rendering):
    for route in rendering.all("Ingress") + rendering.all("HTTPRoute"):
        for _, name, port in backends(route):
            service = rendering.find("Service", name)
            if not service:
                yield f"{name_of(route)}: there is no Service {name}"
            elif port not in [part for each in service["spec"]["ports"] for part in (each["name"], each["port"])]:
                yield f"{name_of(route)}: Service {name} has no port {port}"


def named_of(workload):
    """("ConfigMap" or "Secret", name) of each object that a workload reads."""
    for volume in workload.pod.get("volumes", []):
        if "configMap" in volume:
            yield "ConfigMap", volume["configMap"]["name"]
        if "secret" in volume:
            yield "Secret", volume["secret"]["secretName"]
    for container in workload.containers:
        for source in container.get("envFrom") or []:
            if "configMapRef" in source:
                yield "ConfigMap", source["configMapRef"]["name"]
            if "secretRef" in source:
                yield "Secret", source["secretRef"]["name"]


def check_named(rendering):
    """ConfigMaps and Secrets exist, or docs/operations.md asks operators for them."""
    named = set()
    for workload in rendering.workloads:
        for kind, name in named_of(workload):
            named.add((kind, name))
            if not rendering.find(kind, name) and name not in given.names():
                yield f"{workload.where}: there is no {kind} {name}, and {given.DOCUMENT} does not list it"
        mounts = {volume["name"] for volume in workload.pod.get("volumes", [])}
        mounts |= set(workload.claims)
        for container in workload.containers:
            for mount in container.get("volumeMounts", []):
                if mount["name"] not in mounts:
                    yield f"{workload.where}: there is no volume {mount['name']}"
        account = workload.pod.get("serviceAccountName")
        if account and not rendering.find("ServiceAccount", account):
            yield f"{workload.where}: there is no ServiceAccount {account}"
    for thing in rendering.all("ConfigMap") + rendering.all("Secret"):
        if (thing["kind"], thing["metadata"]["name"]) not in named:
            yield f"{name_of(thing)}: no workload reads it"


def check(rendering):
    for part in (check_targets, check_governing_services, check_selectors, check_owners, check_ports, check_routes, check_named):
        yield from part(rendering)
