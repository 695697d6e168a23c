"""What the manifests say agrees with the programs, with deploy/topics.conf and with one another."""

import ipaddress
import re
import urllib.parse

from . import programs, tree
from .references import backends, given, ports_of
from .rendering import name_of

# Time of a service to stop after its drain: it closes connections and joins threads.
STOP_S = 5
# A network of pods is at most this large. A larger one also holds who is no proxy.
PROXIES_MAX = {4: 2**16, 6: 2**64}
# What a file system of this size needs for itself, and keeps for root.
FILE_SYSTEM = 1.15
# What a program needs in any case, and for each unit of a variable, in bytes.
MEMORY = {
    "redirector": (90 * 2**20, {"MEMORY_CACHE_BYTES": 1, "SLUG_BLOOM_FILTER_SLUGS": 1.2, "HTTP_CONNECTIONS": 31000}),
    "links-api": (160 * 2**20, {"HTTP_BODIES_MAX_BYTES": 1}),
}
# Where the manifests mount volumes of their own, and where the images have files.
OWN_MOUNTS = ("/run/", "/var/lib/waymark/")
OF_IMAGES = "/usr/share/waymark/"
UNITS = {"": 1, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}


def containers(rendering):
    """(workload, container, program, environment) of each Waymark program."""
    for workload in rendering.workloads:
        for container in workload.containers:
            program = programs.PROGRAMS.get(container["name"])
            if program:
                yield workload, container, program, programs.environment(rendering, container)[0]


def environments(rendering):
    """(workload, container, environment) of each container that runs one of our programs or scripts."""
    for workload in rendering.workloads:
        for container in workload.containers:
            if container["name"] in programs.PROGRAMS | programs.DAY_TWO:
                yield workload, container, programs.environment(rendering, container)[0]


def value_of(program, values, name):
    return values.get(name, programs.table(program).get(name))


def check_variables(rendering):
    for workload, container, program, values in containers(rendering):
        _, problems = programs.environment(rendering, container)
        yield from (f"{workload.where}: {problem}" for problem in problems)
        for name in values:
            if not programs.is_known(program, name):
                yield f"{workload.where}: {program} --help does not list {name}"
        known = {name: value for name, value in values.items() if not (rendering.is_own and is_of_site(container, value))}
        yield from (f"{workload.where}: {program} --check-config: {line}" for line in programs.check_config(program, known))


def files_of(rendering, volume):
    """The files of a volume with keys of Secrets or a ConfigMap. None: only the cluster knows."""
    found = set()
    for source in volume.get("projected", {}).get("sources", [volume]):
        kind = "Secret" if "secret" in source else "ConfigMap"
        named = source.get("secret") or source.get("configMap") or {}
        name = named.get("secretName") or named.get("name")
        thing = rendering.find(kind, name)
        if "items" in named:
            found |= {item["path"] for item in named["items"]}
        elif thing or (kind, name) in given():
            found |= set(thing.get("data", {})) if thing else given()[kind, name]
        else:
            return None
    return found


def mount_of(container, path):
    """The mount of the container that holds the file, or None."""
    return next((each for each in container.get("volumeMounts", []) if f"{path}/".startswith(each["mountPath"].rstrip("/") + "/")), None)


def is_of_site(container, path):
    """True for a file of a volume that a site's values add: this machine does not have it."""
    return not path.startswith(OWN_MOUNTS) and mount_of(container, path) is not None


def check_files(rendering):
    """Each variable with the path of a file names one that a volume or the image provides."""
    for workload, container, values in environments(rendering):
        volumes = {volume["name"]: volume for volume in workload.pod.get("volumes", [])}
        for name, path in values.items():
            if not path.startswith("/") or path.startswith(OF_IMAGES):
                continue
            mount = mount_of(container, path)
            files = files_of(rendering, volumes[mount["name"]]) if mount and mount["name"] in volumes else None
            if not mount or (files is not None and path.removeprefix(mount["mountPath"].rstrip("/") + "/") not in files):
                yield f"{workload.where}: {name}: no volume provides {path}"


def check_plain_secrets(rendering):
    """No secret is a value in a pod or in a ConfigMap."""
    for workload, _, values in environments(rendering):
        for name in ("PG_URL", "REDIS_URL", "JWT_SECRET", "KAFKA_SASL_PASSWORD", "SMTP_URL"):
            if name in values:
                yield f"{workload.where}: {name} is a secret: use {name}_FILE"


def check_ports(rendering):
    for workload, container, program, values in containers(rendering):
        ports = {port["name"]: str(port["containerPort"]) for port in container.get("ports", [])}
        for name, port in (("http", "HTTP_PORT"), ("ops", "OPS_PORT")):
            if ports.get(name) != value_of(program, values, port):
                yield f"{workload.where}: port {name} is {ports.get(name)}, but {port} is {value_of(program, values, port)}"
        scraped = workload.thing["spec"]["template"]["metadata"].get("annotations", {}).get("prometheus.io/port")
        if scraped != ports.get("ops"):
            yield f"{workload.where}: prometheus.io/port is {scraped}, but port ops is {ports.get('ops')}"
        for monitor in [] if workload.is_job else rendering.all("PodMonitor"):
            if {each["port"] for each in monitor["spec"]["podMetricsEndpoints"]} - ports_of(workload).keys():
                yield f"{name_of(monitor)}: {workload.where} has no such port"
            if workload.labels.get(monitor["spec"].get("jobLabel")) != program:
                yield f"{name_of(monitor)}: the rules know {workload.where} as job {program} alone"


def has_other_topics(rendering):
    """True if the Job topics is left out, or has another file than deploy/topics.conf."""
    return not any(program == "waymark-topics" and "TOPICS_FILE" not in values for _, _, program, values in containers(rendering))


def check_topics(rendering):
    """KEDA, in another namespace, asks the consumers for their lag. They have no more workers than partitions: one without is idle."""
    topic = "waymark.redirects.v1"
    for scaler in rendering.all("ScaledObject"):
        host = f"{scaler['spec']['scaleTargetRef']['name']}.{scaler['metadata'].get('namespace')}.svc"
        for trigger in scaler["spec"]["triggers"]:
            if trigger["metadata"].get("url") != f"http://{host}:9090/metrics":
                yield f"{name_of(scaler)}: url must be http://{host}:9090/metrics"
    for workload, _, program, values in containers(rendering):
        for scaler in rendering.all("HorizontalPodAutoscaler") + rendering.all("ScaledObject"):
            if program == "analytics-consumer" and scaler["spec"]["scaleTargetRef"]["name"] == workload.name:
                workers = int(value_of(program, values, "WORKERS")) * (scaler["spec"].get("maxReplicas") or scaler["spec"].get("maxReplicaCount"))
                if workers > tree.topics()[topic] and not has_other_topics(rendering):
                    yield f"{name_of(scaler)}: {workers} workers are more than the {tree.topics()[topic]} partitions of {topic}"


def bytes_of(quantity):
    number, unit = re.fullmatch(r"([0-9.]+)([a-zA-Z]*)", str(quantity)).groups()
    return float(number) * UNITS[unit]


def check_journal(rendering):
    """The journal outlives its pod, or the overlay says that it does not (components/ephemeral-journal), and fits its volume."""
    for workload, container, program, values in containers(rendering):
        folder = values.get("JOURNAL_DIR")
        if not folder:
            continue
        most = int(value_of(program, values, "JOURNAL_MAX_BYTES"))
        mount = next((each["name"] for each in container["volumeMounts"] if folder.startswith(each["mountPath"] + "/")), None)
        claim = workload.claims.get(mount)
        limit = next((each.get("emptyDir", {}).get("sizeLimit") for each in workload.pod.get("volumes", []) if each["name"] == mount), None)
        room = claim["resources"]["requests"]["storage"] if claim else limit
        if not room:
            yield f"{workload.where}: JOURNAL_DIR {folder} must be on a claim, or on an emptyDir with a sizeLimit"
        elif bytes_of(room) < most * (FILE_SYSTEM if claim else 1.05):
            yield f"{workload.where}: a full journal ({most} bytes) does not fit into {room}"
        if claim and set(workload.thing["spec"].get("persistentVolumeClaimRetentionPolicy", {}).values()) - {"Retain"}:
            yield f"{workload.where}: a claim that is deleted with its pod takes the clicks in its journal with it"


def check_memory(rendering):
    """What the program may take by its variables fits into the limit of its container (docs/scaling.md)."""
    for workload, container, program, values in containers(rendering):
        limit = container.get("resources", {}).get("limits", {}).get("memory")
        needed, names = MEMORY.get(program, (0, {}))
        needed += sum(each * int(value_of(program, values, name)) for name, each in names.items())
        if limit and bytes_of(limit) < needed:
            yield f"{workload.where}: {', '.join(names)} need {needed / 2**20:.0f} MiB of memory, but the limit is {limit}"


def check_health(rendering):
    """links-api asks every pod of every service, also those that are not ready."""
    for workload, _, program, values in containers(rendering):
        if program != "links-api":
            continue
        entries = dict(each.split("=", 1) for each in re.split(r"[,\s]+", values.get("HEALTH_URLS", "")) if each)
        services = {each for _, _, each, _ in containers(rendering) if "OPS_PORT" in programs.table(each)}
        for missing in services - set(entries):
            yield f"{workload.where}: HEALTH_URLS lacks {missing}"
        for name, url in entries.items():
            target = urllib.parse.urlsplit(url)
            service = rendering.find("Service", (target.hostname or "").split(".")[0])
            if not service or service["spec"].get("clusterIP") != "None" or not service["spec"].get("publishNotReadyAddresses"):
                yield f"{workload.where}: HEALTH_URLS: {target.hostname} must be a headless Service with publishNotReadyAddresses"
            elif target.port not in {port["port"] for port in service["spec"]["ports"] if port["targetPort"] == "ops"}:
                yield f"{workload.where}: HEALTH_URLS: {target.hostname} has no port {target.port} for ops"
            elif {each.app for each in rendering.selected(service["spec"]["selector"])} != {name}:
                yield f"{workload.where}: HEALTH_URLS: {target.hostname} does not select the pods of {name}"


def check_drain(rendering):
    for workload, container, program, values in containers(rendering):
        drain = int(value_of(program, values, "DRAIN_MS") or 0) / 1000
        statement = int(value_of(program, values, "PG_STATEMENT_TIMEOUT_MS") or 0) / 1000
        sleep = container.get("lifecycle", {}).get("preStop", {}).get("sleep", {}).get("seconds", 0)
        notice = int(value_of(program, values, "DRAIN_NOTICE_MS") or 0) / 1000
        needed = sleep + notice + max(drain, statement) + STOP_S
        grace = workload.pod.get("terminationGracePeriodSeconds", 30)
        if not workload.is_job and grace < needed:
            yield f"{workload.where}: stopping may take {needed:g} s, but terminationGracePeriodSeconds is {grace}"
        if "HTTP_PORT" in programs.table(program) and not sleep:
            yield f"{workload.where}: no preStop: proxies still send requests while it stops"
        if "DRAIN_NOTICE_MS" in programs.table(program) and not notice:
            yield f"{workload.where}: no DRAIN_NOTICE_MS: keep-alive connections are closed while clients send requests"


def check_proxies(where, text):
    if not text:
        yield f"{where}: TRUSTED_PROXIES names no proxy: all visitors would have the address of the proxy"
    for each in re.split(r"[,\s]+", text or ""):
        network = each and ipaddress.ip_network(each, strict=False)
        if network and network.num_addresses > PROXIES_MAX[network.version]:
            yield f"{where}: TRUSTED_PROXIES trusts all of {each}: name the addresses of the Ingress controller"


def check_certificates(ingress):
    """Otherwise the controller would answer with a certificate of its own."""
    certified = {host for each in ingress["spec"].get("tls", []) for host in each.get("hosts", [])}
    served = {host for host, _, _ in backends(ingress)}
    if certified and certified != served:
        yield f"{name_of(ingress)}: tls has the hosts {', '.join(sorted(certified))}, but the rules have {', '.join(sorted(served))}"


def check_hosts(rendering):
    routes = {}
    for route in rendering.all("Ingress") + rendering.all("HTTPRoute"):
        for host, service, _ in backends(route):
            routes.setdefault(service, set()).add(host)
    for ingress in rendering.all("Ingress"):
        yield from check_certificates(ingress)
    for workload, _, program, values in containers(rendering):
        hosts = routes.get(workload.name, set())
        if not hosts:
            continue
        yield from check_proxies(workload.where, values.get("TRUSTED_PROXIES"))
        base = urllib.parse.urlsplit(values.get("PUBLIC_BASE_URL", "")).hostname
        dashboard = urllib.parse.urlsplit(values.get("DASHBOARD_URL", "")).hostname
        # A URL without a host is what check_variables reports.
        if program == "redirector" and base and hosts != {base}:
            yield f"{workload.where}: PUBLIC_BASE_URL is at {base}, but the route has the host {', '.join(sorted(hosts))}"
        if program in ("redirector", "links-api") and dashboard and dashboard not in routes.get("links-api", {dashboard}):
            yield f"{workload.where}: DASHBOARD_URL is at {dashboard}, but the route of links-api has the host {', '.join(sorted(routes['links-api']))}"
        if program == "links-api" and not hosts <= {base, *values.get("OWN_HOSTS", "").split(",")}:
            yield f"{workload.where}: OWN_HOSTS lacks one of {', '.join(sorted(hosts))}"


def check_versions(rendering):
    version = tree.version()
    for workload in rendering.workloads:
        for container in workload.containers:
            name = container["image"].partition("@")[0]  # a digest may follow
            if "waymark/" in name and not name.endswith(f":{version}"):
                yield f"{workload.where}: image {container['image']} does not have the current version {version}"
            if not re.search(r":[0-9][^/]*$", name):
                yield f"{workload.where}: image {container['image']} has no version"
        if workload.thing["kind"] == "Job" and not workload.name.endswith("-" + version.replace(".", "-")):
            yield f"{workload.where}: the name must end in the version, because a Job cannot be changed"


CHECKS = (check_variables, check_files, check_plain_secrets, check_ports, check_topics, check_journal, check_memory, check_health, check_drain, check_hosts, check_versions)


def check(rendering):
    for part in CHECKS:
        yield from part(rendering)
