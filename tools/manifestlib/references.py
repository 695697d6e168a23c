"""What kube-score does not know of the objects of a rendering: ConfigMaps, Secrets, ports, routes and autoscalers exist and fit, and
each service is there, runs its own program, and stays available during an update."""

import functools
import re

from . import programs, tree
from .rendering import name_of

DOCUMENT = "docs/operations.md"
# Waymark images without a Waymark program.
SIDECARS = {"stunnel"}
OWNER = "app.kubernetes.io/part-of"
PROBES = {"startupProbe": "/livez", "livenessProbe": "/livez", "readinessProbe": "/readyz"}


@functools.cache
def given():
    """The Secrets and ConfigMaps that operators provide by docs/operations.md: {(kind, name): keys}."""
    rows = re.findall(r"^\| (Secret|ConfigMap) `([a-z0-9-]+)` \| ([^|]+) \|", (tree.ROOT / DOCUMENT).read_text(), re.M)
    found = {(kind, name): set(re.findall(r"`([a-z0-9.-]+)`", keys)) for kind, name, keys in rows}
    # Who logs in to Kafka by a certificate has it in place of the password.
    return {each: keys | ({"kafka.crt", "kafka.key"} if "kafka-password" in keys else set()) for each, keys in found.items()}


def ports_of(workload):
    return {port.get("name"): port["containerPort"] for container in workload.containers for port in container.get("ports", [])}


def check_ports(rendering):
    for service in rendering.all("Service"):
        for workload in rendering.selected(service["spec"].get("selector", {})):
            for port in service["spec"]["ports"]:
                if port["targetPort"] not in {*ports_of(workload), *ports_of(workload).values()}:
                    yield f"{name_of(service)}: {workload.where} has no port {port['targetPort']}"
    for workload in rendering.workloads:
        for container in workload.containers:
            for kind, path in PROBES.items() if container["name"] in programs.SERVICES else ():
                probe = container.get(kind, {}).get("httpGet", {})
                if (probe.get("path"), probe.get("port")) != (path, "ops"):
                    yield f"{workload.where}: {kind} does not request {path} from port ops"


def backends(route):
    """(host, service, port) of an Ingress or an HTTPRoute."""
    for rule in route["spec"]["rules"]:
        if route["kind"] == "Ingress":
            for path in rule["http"]["paths"]:
                service = path["backend"]["service"]
                yield rule.get("host"), service["name"], service["port"].get("name") or service["port"].get("number")
        else:
            for backend in rule["backendRefs"]:
                yield from ((host, backend["name"], backend["port"]) for host in route["spec"]["hostnames"])


def check_routes(rendering):
    for route in rendering.all("HTTPRoute"):
        for _, name, port in backends(route):
            service = rendering.find("Service", name)
            if not service or port not in [each["port"] for each in service["spec"]["ports"]]:
                yield f"{name_of(route)}: there is no Service {name} with port {port}"


def unreached(rendering):
    """The services that no route leads to, as a site may want it."""
    reached = {name for route in rendering.all("Ingress") + rendering.all("HTTPRoute") for _, name, _ in backends(route)}
    return [name for name in ("redirector", "links-api") if name not in reached]


def check_scalers(rendering):
    scalers = rendering.all("HorizontalPodAutoscaler") + rendering.all("ScaledObject")
    scaled = [scaler["spec"]["scaleTargetRef"]["name"] for scaler in scalers]
    for workload in rendering.workloads:
        count, is_fixed = scaled.count(workload.name), "replicas" in workload.thing["spec"]
        if workload.app in programs.SERVICES and not is_fixed and count != 1:
            yield f"{workload.where}: has {count} autoscalers and no number of replicas"
        if count and is_fixed:
            yield f"{workload.where}: replicas must be left to its autoscaler"
    for scaler, name in zip(scalers, scaled, strict=True):
        if not rendering.find(scaler["spec"]["scaleTargetRef"].get("kind", "Deployment"), name):
            yield f"{name_of(scaler)}: there is no such {name}"


def named_of(workload):
    """("ConfigMap" or "Secret", name) of each object that a workload reads."""
    for volume in workload.pod.get("volumes", []):
        if "configMap" in volume:
            yield "ConfigMap", volume["configMap"]["name"]
        if "secret" in volume:
            yield "Secret", volume["secret"]["secretName"]
    for container in workload.containers:
        yield from (("ConfigMap", each["configMapRef"]["name"]) for each in container.get("envFrom") or [] if "configMapRef" in each and not each["configMapRef"].get("optional"))


def check_named(rendering):
    """ConfigMaps and Secrets exist, or docs/operations.md asks operators for them, or a site's values name them."""
    named = {(*each, workload.where) for workload in rendering.workloads for each in named_of(workload)}
    for kind, name, where in sorted(named):
        if not rendering.find(kind, name) and (kind, name) not in given() and name not in rendering.named:
            yield f"{where}: there is no {kind} {name}, and {DOCUMENT} does not list it"
    for thing in rendering.all("ConfigMap") + rendering.all("Secret"):
        if (thing["kind"], thing["metadata"]["name"]) not in {each[:2] for each in named}:
            yield f"{name_of(thing)}: no workload reads it"


def image_of(container):
    """The name of the Waymark image of the container, or None."""
    image = re.search(r"waymark/([a-z-]+)", container["image"])
    return image and image.group(1)


def images(rendering):
    return {image_of(container) for workload in rendering.workloads for container in workload.containers}


def check_programs(rendering):
    apps = {workload.app for workload in rendering.workloads}
    needed = programs.SERVICES if rendering.is_own else programs.PROGRAMS  # a site may run the Jobs by other means
    yield from (f"{name} is missing" for name in needed if name not in apps)
    for workload in rendering.workloads:
        for container in workload.containers:
            image, program = image_of(container), programs.PROGRAMS.get(container["name"])
            wanted = "tools" if workload.is_job else program
            wanted, program = programs.DAY_TWO.get(container["name"], (wanted, program))
            if image and image not in tree.images():
                yield f"{workload.where}: no such image is built: {container['image']}"
            if image and image not in SIDECARS and (container["name"] != workload.app or image != wanted):
                yield f"{workload.where}: container {container['name']} runs the image of {image}"
            elif program and container.get("command", [f"/bin/{program}"]) != [f"/bin/{program}"]:
                yield f"{workload.where}: container {container['name']} runs {' '.join(container['command'])}"


def check_updates(rendering):
    """A rolling update keeps the service available, and no pod of another product counts as one of ours."""
    for workload in (each for each in rendering.workloads if each.app in programs.SERVICES):
        spec = workload.thing["spec"]
        if spec["selector"].get("matchLabels", {}).get(OWNER) != "waymark":
            yield f"{workload.where}: its selector lacks {OWNER}: waymark, so it selects pods of others"
        if workload.thing["kind"] == "Deployment" and spec.get("strategy", {}).get("rollingUpdate", {}).get("maxUnavailable") != 0:
            yield f"{workload.where}: a rolling update stops old pods before new ones are ready"
        if workload.thing["kind"] == "StatefulSet" and spec.get("podManagementPolicy") != "Parallel":
            yield f"{workload.where}: a pod that does not become ready keeps the others from starting"
        if not rendering.is_own and "kubernetes.io/hostname" not in [each["topologyKey"] for each in workload.pod.get("topologySpreadConstraints", [])]:
            yield f"{workload.where}: all its pods may be on one node"


def check(rendering):
    for part in (check_ports, check_routes, check_scalers, check_named, check_programs, check_updates):
        yield from part(rendering)
