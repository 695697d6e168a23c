"""Each service exists, runs its own program, and has a Service, a PodDisruptionBudget, probes and an autoscaler."""

import re

from . import programs, tree
from .rendering import does_match

SERVICES = ("redirector", "links-api", "analytics-consumer", "janitor")
JOBS = ("migrate", "topics")
# A lock lets one instance work at a time, so that more are useless.
NOT_SCALED = {"janitor"}
# Waymark images without a Waymark program.
SIDECARS = {"stunnel"}
HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
PROBES = {"startupProbe": "/livez", "livenessProbe": "/livez", "readinessProbe": "/readyz"}


def image_of(container):
    """The name of the Waymark image of the container, or None."""
    image = re.search(r"waymark/([a-z-]+)", container["image"])
    return image and image.group(1)


def images(rendering):
    return {image_of(container) for workload in rendering.workloads for container in workload.containers}


def check_presence(rendering):
    apps = {workload.app for workload in rendering.workloads}
    for name in (*SERVICES, *JOBS):
        if name not in apps:
            yield f"{name} is missing"


def check_programs(rendering):
    for workload in rendering.workloads:
        for container in workload.containers:
            image = image_of(container)
            if image and image not in tree.images():
                yield f"{workload.where}: no such image is built: {container['image']}"
            if not image or image in SIDECARS:
                continue
            program = programs.PROGRAMS.get(container["name"])
            if container["name"] != workload.app or not program:
                yield f"{workload.where}: container {container['name']} is not named after its program"
            elif image != ("migrate" if workload.app in JOBS else program):
                yield f"{workload.where}: container {container['name']} runs the image of {image}"
            elif container.get("command", [f"/bin/{program}"]) != [f"/bin/{program}"]:
                yield f"{workload.where}: container {container['name']} runs {' '.join(container['command'])}"


def check_companions(rendering):
    for workload in rendering.workloads:
        if workload.app not in SERVICES:
            continue
        if not any(workload in rendering.selected(each["spec"].get("selector", {})) for each in rendering.all("Service")):
            yield f"{workload.where}: has no Service"
        if not any(does_match(each["spec"]["selector"], workload.labels) for each in rendering.all("PodDisruptionBudget")):
            yield f"{workload.where}: has no PodDisruptionBudget"
        scalers = rendering.all("HorizontalPodAutoscaler") + rendering.all("ScaledObject")
        is_scaled = any(each["spec"]["scaleTargetRef"]["name"] == workload.name for each in scalers)
        if is_scaled == (workload.app in NOT_SCALED):
            yield f"{workload.where}: {'is scaled, but only one instance can work' if is_scaled else 'has no autoscaler'}"


def check_probes(rendering):
    for workload in rendering.workloads:
        for container in workload.containers:
            if workload.app not in SERVICES or container["name"] != workload.app:
                continue
            for kind, path in PROBES.items():
                probe = container.get(kind, {}).get("httpGet", {})
                if (probe.get("path"), probe.get("port")) != (path, "ops"):
                    yield f"{workload.where}: {kind} does not request {path} from port ops"


def check_strategy(rendering):
    """A rolling update keeps the service available, and pods are spread over nodes."""
    for workload in rendering.workloads:
        if workload.app not in SERVICES:
            continue
        spread, zones = workload.pod.get("topologySpreadConstraints", []), zone_terms(workload)
        keys = [each["topologyKey"] for each in spread]
        if HOSTNAME not in keys:
            yield f"{workload.where}: all its pods may be on one node"
        if len(keys) > 1:
            yield f"{workload.where}: spread constraints by {' and '.join(keys)} ignore nodes that lack one of these labels"
        if not zones:
            yield f"{workload.where}: all its pods may be in one zone"
        yield from (check_numbered if workload.thing["kind"] == "StatefulSet" else check_surge)(workload, spread + zones)


def zone_terms(workload):
    """The terms by which pods avoid zones that have pods of the same service."""
    found = workload.pod.get("affinity", {}).get("podAntiAffinity", {}).get("preferredDuringSchedulingIgnoredDuringExecution", [])
    return [each["podAffinityTerm"] for each in found if each["podAffinityTerm"]["topologyKey"] == ZONE]


def check_surge(workload, spread):
    """A Deployment starts new pods before it stops old ones."""
    rolling = workload.thing["spec"].get("strategy", {}).get("rollingUpdate", {})
    if rolling.get("maxUnavailable") != 0:
        yield f"{workload.where}: a rolling update stops old pods before new ones are ready"
    if not all("pod-template-hash" in each.get("matchLabelKeys", []) for each in spread):
        yield f"{workload.where}: a rolling update counts the old pods when it spreads the new ones"


def check_numbered(workload, spread):
    """A StatefulSet replaces one pod at a time, and no pod waits for another one."""
    spec = workload.thing["spec"]
    if spec.get("updateStrategy", {}).get("type", "RollingUpdate") != "RollingUpdate":
        yield f"{workload.where}: a new version reaches no pod by itself"
    if spec.get("podManagementPolicy") != "Parallel":
        yield f"{workload.where}: a pod that does not become ready keeps the others from starting"
    if any(each.get("matchLabelKeys") for each in spread):
        yield f"{workload.where}: pods of one version alone are spread, although a new pod replaces the old one of its number"


def check(rendering):
    for part in (check_presence, check_programs, check_companions, check_probes, check_strategy):
        yield from part(rendering)
