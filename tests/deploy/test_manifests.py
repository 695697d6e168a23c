"""deploy/k8s is valid, and each check detects the mistake that it is for."""

import copy
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
from manifestlib import description, monitoring, networks, references, rendering, restricted, samples, schema, services, tree

if not tree.kustomize().exists():
    pytest.skip("kustomize is missing: tools/setup test", allow_module_level=True)


def test_every_overlay_is_valid():
    run = subprocess.run([ROOT / "tools/lint/manifests"], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.fixture(scope="module")
def renderings():
    return {overlay.name: rendering.render(overlay) for overlay in tree.OVERLAYS}


class Broken:
    """A copy of a rendering, which a test breaks."""

    def __init__(self, original):
        self.things = copy.deepcopy(original.things)

    def get(self, kind, name):
        """Finds an object by the beginning of its name, because kustomize adds a hash or a version."""
        found = [thing for thing in self.things if thing["kind"] == kind]
        exact = [thing for thing in found if thing["metadata"]["name"] == name]
        suffixed = re.compile(f"{name}-([a-z0-9]{{10}}|[0-9-]+)")
        return (exact or [thing for thing in found if suffixed.fullmatch(thing["metadata"]["name"])])[0]

    def workload(self, name):
        return next(self.get(kind, name) for kind in ("Deployment", "StatefulSet", "Job") if self.has(kind, name))

    def has(self, kind, name):
        return any(thing["kind"] == kind and re.fullmatch(f"{name}(-[0-9-]+)?", thing["metadata"]["name"]) for thing in self.things)

    def pod(self, name):
        return self.workload(name)["spec"]["template"]["spec"]

    def container(self, name):
        return self.pod(name)["containers"][0]

    def drop(self, kind, name):
        self.things.remove(self.get(kind, name))

    def variable(self, container, name, value):
        each = next((each for each in container["env"] if each["name"] == name), None)
        if each is None:
            container["env"].append(each := {"name": name})
        each["value"] = value

    def without(self, container, name):
        container["env"] = [each for each in container["env"] if each["name"] != name]


def put(thing, path, value):
    """put(pod, "a.b", 1) sets pod["a"]["b"] = 1 and makes what is missing on the way."""
    *way, last = path.split(".")
    for part in way:
        thing = thing.setdefault(part, {})
    thing[last] = value


def take(thing, path):
    *way, last = path.split(".")
    for part in way:
        thing = thing[part]
    del thing[last]


SCHEMA = [
    ("a field that Kubernetes does not know", "local", lambda b: put(b.pod("redirector"), "replicas", 2), "'replicas' was unexpected"),
    ("a misspelt field of a container", "local", lambda b: put(b.container("janitor"), "readinesProbe", {}), "'readinesProbe' was unexpected"),
    ("a text where a number belongs", "local", lambda b: put(b.get("Deployment", "janitor"), "spec.replicas", "2"), "'2' is not of type 'integer'"),
    ("a required field that is missing", "local", lambda b: take(b.get("Deployment", "janitor"), "spec.selector"), "'selector' is a required property"),
    ("a number where a variable's text belongs", "local", lambda b: b.variable(b.container("redirector"), "DRAIN_MS", 25), "25 is not of type 'string'"),
    ("an invalid quantity", "local", lambda b: put(b.container("janitor"), "resources.limits.memory", "64 MB"), "64 MB"),
    ("a kind without a schema", "local", lambda b: put(b.get("Deployment", "janitor"), "apiVersion", "apps/v2"), "no schema for apps/v2 Deployment"),
    ("a field that KEDA does not know", "production", lambda b: put(b.get("ScaledObject", "analytics-consumer"), "spec.maxReplicas", 3), "'maxReplicas' was unexpected"),
    ("a field that Gateway API does not know", "gateway", lambda b: put(b.get("HTTPRoute", "redirector"), "spec.hosts", []), "'hosts' was unexpected"),
    ("a field of a rule that Prometheus does not know", "production", lambda b: put(b.get("PrometheusRule", "waymark")["spec"]["groups"][0]["rules"][0], "exp", "1"), "'exp' was unexpected"),
    ("a field that Prometheus does not know", "production", lambda b: put(b.get("PodMonitor", "waymark"), "spec.endpoints", []), "'endpoints' was unexpected"),
]  # fmt: skip

RESTRICTED = [
    ("hostNetwork", "local", lambda b: put(b.pod("redirector"), "hostNetwork", True), "hostNetwork is set"),
    ("hostPID", "local", lambda b: put(b.pod("redirector"), "hostPID", True), "hostPID is set"),
    ("hostIPC", "local", lambda b: put(b.pod("redirector"), "hostIPC", True), "hostIPC is set"),
    ("a hostPath", "local", lambda b: b.pod("janitor")["volumes"].append({"name": "x", "hostPath": {"path": "/"}}), "volume x is a hostPath"),
    ("an unsafe sysctl", "local", lambda b: put(b.pod("janitor"), "securityContext.sysctls", [{"name": "kernel.msgmax", "value": "1"}]), "kernel.msgmax"),
    ("runAsNonRoot missing", "local", lambda b: take(b.pod("janitor"), "securityContext.runAsNonRoot"), "runAsNonRoot is not true"),
    ("runAsNonRoot taken back", "local", lambda b: put(b.container("janitor"), "securityContext.runAsNonRoot", False), "runAsNonRoot is"),
    ("runAsUser 0", "local", lambda b: put(b.pod("janitor"), "securityContext.runAsUser", 0), "runAsUser is 0"),
    ("no seccompProfile", "local", lambda b: take(b.pod("janitor"), "securityContext.seccompProfile"), "has no seccompProfile"),
    ("Unconfined", "local", lambda b: put(b.pod("janitor"), "securityContext.seccompProfile.type", "Unconfined"), "seccompProfile is Unconfined"),
    ("AppArmor off", "local", lambda b: put(b.pod("janitor"), "securityContext.appArmorProfile.type", "Unconfined"), "appArmorProfile is Unconfined"),
    ("another SELinux type", "local", lambda b: put(b.pod("janitor"), "securityContext.seLinuxOptions.type", "spc_t"), "seLinuxOptions"),
    ("privileged", "local", lambda b: put(b.container("janitor"), "securityContext.privileged", True), "is privileged"),
    ("escalation", "local", lambda b: take(b.container("janitor"), "securityContext.allowPrivilegeEscalation"), "allowPrivilegeEscalation is not false"),
    ("capabilities kept", "local", lambda b: take(b.container("janitor"), "securityContext.capabilities.drop"), "does not drop ALL"),
    ("a capability added", "local", lambda b: put(b.container("janitor"), "securityContext.capabilities.add", ["NET_ADMIN"]), "NET_ADMIN"),
    ("procMount", "local", lambda b: put(b.container("janitor"), "securityContext.procMount", "Unmasked"), "procMount is Unmasked"),
    ("a hostPort", "local", lambda b: put(b.container("janitor")["ports"][0], "hostPort", 9090), "hostPort 9090"),
    ("a host process", "local", lambda b: put(b.pod("janitor"), "securityContext.windowsOptions.hostProcess", True), "hostProcess is set"),
    ("a sidecar that may escalate", "production", lambda b: take(b.pod("redirector")["initContainers"][0], "securityContext.allowPrivilegeEscalation"), "container redis-tls: allowPrivilegeEscalation"),
    ("a job as root", "local", lambda b: put(b.pod("migrate"), "securityContext.runAsUser", 0), "Job/migrate-"),
    ("a store that keeps capabilities", "local", lambda b: take(b.container("kafka"), "securityContext.capabilities"), "StatefulSet/kafka"),
    ("a root that can be written to", "local", lambda b: take(b.container("janitor"), "securityContext.readOnlyRootFilesystem"), "its root is not read-only"),
    ("a token of the API server", "local", lambda b: take(b.pod("janitor"), "automountServiceAccountToken"), "automountServiceAccountToken"),
    ("service links", "local", lambda b: take(b.pod("kafka"), "enableServiceLinks"), "enableServiceLinks"),
    ("memory without a limit", "local", lambda b: take(b.container("janitor"), "resources.limits"), "its memory has no limit"),
    ("no CPU", "local", lambda b: take(b.container("janitor"), "resources.requests.cpu"), "it requests no CPU"),
    ("a namespace that does not enforce it", "local", lambda b: take(b.get("Namespace", "waymark"), "metadata.labels"), "does not enforce"),
]  # fmt: skip

REFERENCES = [
    ("an autoscaler without a target", "local", lambda b: put(b.get("HorizontalPodAutoscaler", "redirector"), "spec.scaleTargetRef.name", "redirectors"), "there is no StatefulSet redirectors"),
    ("two autoscalers of one", "local", lambda b: put(b.get("HorizontalPodAutoscaler", "redirector"), "spec.scaleTargetRef.name", "links-api"), "has two autoscalers"),
    ("replicas beside an autoscaler", "local", lambda b: put(b.workload("redirector"), "spec.replicas", 2), "replicas must be left to its autoscaler"),
    ("a Service of no pod", "local", lambda b: put(b.get("Service", "redirector"), "spec.selector", {"app.kubernetes.io/name": "x"}), "selects no pod"),
    ("a budget of no pod", "local", lambda b: put(b.get("PodDisruptionBudget", "redirector"), "spec.selector.matchLabels", {"a": "b"}), "selects no pod"),
    ("a budget that others can join", "local",
     lambda b: put(b.get("PodDisruptionBudget", "redirector"), "spec.selector.matchLabels", {"app.kubernetes.io/name": "redirector"}), "selects pods of others"),
    ("a Deployment that others can join", "local",
     lambda b: put(b.workload("redirector"), "spec.selector.matchLabels", {"app.kubernetes.io/name": "redirector"}), "selects pods of others"),
    ("a StatefulSet without names", "local", lambda b: put(b.workload("redirector"), "spec.serviceName", "redirector"), "serviceName must be a headless Service"),
    ("a selector of other pods", "local", lambda b: put(b.get("Deployment", "janitor"), "spec.selector.matchLabels", {"a": "b"}), "does not match its own pods"),
    ("spread by other labels", "local", lambda b: put(b.pod("janitor")["topologySpreadConstraints"][0], "labelSelector.matchLabels", {"a": "b"}), "is spread by labels"),
    ("a Service's port that no container has", "local", lambda b: put(b.get("Service", "redirector")["spec"]["ports"][0], "targetPort", "web"), "has no port web"),
    ("a probe's port that no container has", "local", lambda b: put(b.container("janitor"), "readinessProbe.httpGet.port", 9091), "readinessProbe uses port 9091"),
    ("an Ingress to nowhere", "local", lambda b: b.drop("Service", "links-api"), "there is no Service links-api"),
    ("an Ingress to no port", "local", lambda b: put(b.get("Service", "links-api")["spec"]["ports"][0], "name", "web"), "Service links-api has no port http"),
    ("a route to no port", "gateway", lambda b: put(b.get("HTTPRoute", "redirector")["spec"]["rules"][0]["backendRefs"][0], "port", 81), "Service redirector has no port 81"),
    ("a ConfigMap that is missing", "local", lambda b: b.drop("ConfigMap", "kafka"), "there is no ConfigMap kafka-"),
    ("an undocumented Secret", "production", lambda b: put(b.pod("janitor")["volumes"][0], "secret.secretName", "janitors"), "does not list it"),
    ("an unused Secret", "local", lambda b: put(b.pod("janitor"), "volumes", []), "no workload reads it"),
    ("a volume that is missing", "local", lambda b: put(b.pod("janitor"), "volumes", []), "there is no volume secrets"),
    ("a ServiceAccount that is missing", "local", lambda b: b.drop("ServiceAccount", "janitor"), "there is no ServiceAccount janitor"),
]  # fmt: skip

NETWORKS = [
    ("no default", "local", lambda b: b.drop("NetworkPolicy", "default-deny"), "no policy denies by default"),
    ("a rule without a source", "local", lambda b: take(b.get("NetworkPolicy", "redirector-visitors")["spec"]["ingress"][0], "from"), "has no peers, which allows all"),
    ("a rule for all ports", "local", lambda b: take(b.get("NetworkPolicy", "to-redis")["spec"]["egress"][0], "ports"), "has no ports, which allows all"),
    ("no way to Kafka", "production", lambda b: b.drop("NetworkPolicy", "to-kafka"), "StatefulSet/redirector: no egress to kafka"),
    ("another port than Kafka's", "production", lambda b: put(b.get("ConfigMap", "kafka"), "data.KAFKA_BROKERS", "a:9093,b:9094"), "to-kafka: does not allow port 9094 of KAFKA_BROKERS"),
    ("another port than that of Redis", "production", lambda b: put(b.get("NetworkPolicy", "to-redis")["spec"]["egress"][0]["ports"][0], "port", 7000), "to-redis: does not allow port 6380 of stunnel.conf"),
    ("no way to names", "local", lambda b: b.drop("NetworkPolicy", "names"), "no egress to DNS"),
    ("a way that is not needed", "local", lambda b: b.get("NetworkPolicy", "to-redis")["spec"]["podSelector"]["matchExpressions"][0]["values"].append("janitor"), "janitor: egress to redis"),
    ("a way to the internet", "gateway", lambda b: put(b.get("NetworkPolicy", "janitor-destinations"), "spec.podSelector", {}), "redirector: egress to the internet"),
    ("a port without a rule", "local", lambda b: [b.drop("NetworkPolicy", name) for name in ("metrics", "health")], "no ingress to its port ops"),
    ("no way to ask for the health", "local", lambda b: b.drop("NetworkPolicy", "to-health"), "links-api: no egress to the ops ports of HEALTH_URLS"),
    ("a port that is open for nothing", "local", lambda b: put(b.get("NetworkPolicy", "redirector-visitors")["spec"]["ingress"][0]["ports"][0], "port", "web"), "port web is open"),
]  # fmt: skip

SERVICES = [
    ("a service that is missing", "plain", lambda b: b.drop("Deployment", "janitor"), "janitor is missing"),
    ("a job that is missing", "production", lambda b: b.drop("Job", "migrate"), "migrate is missing"),
    ("a container of another name", "local", lambda b: put(b.container("janitor"), "name", "main"), "container main is not named after its program"),
    ("another's image", "local", lambda b: put(b.container("janitor"), "image", "localhost/waymark/redirector:0.1.0"), "runs the image of redirector"),
    ("an unknown image", "production", lambda b: put(b.pod("redirector")["initContainers"][0], "image", "registry.example.com/waymark/haproxy:0.1.0"), "no such image is built"),
    ("another program", "local", lambda b: put(b.container("topics"), "command", ["/bin/topics"]), "runs /bin/topics"),
    ("no Service", "local", lambda b: [b.drop("Service", name) for name in ("janitor", "janitor-ops")], "janitor: has no Service"),
    ("no budget", "local", lambda b: b.drop("PodDisruptionBudget", "janitor"), "janitor: has no PodDisruptionBudget"),
    ("no autoscaler", "local", lambda b: b.drop("HorizontalPodAutoscaler", "redirector"), "redirector: has no autoscaler"),
    ("an autoscaler too many", "local", lambda b: put(b.get("HorizontalPodAutoscaler", "redirector"), "spec.scaleTargetRef.name", "janitor"), "janitor: is scaled"),
    ("a readiness that only says alive", "local", lambda b: put(b.container("janitor"), "readinessProbe.httpGet.path", "/livez"), "readinessProbe does not request /readyz"),
    ("no startup probe", "local", lambda b: take(b.container("links-api"), "startupProbe"), "startupProbe does not request /livez"),
    ("an update that takes pods away first", "local", lambda b: put(b.workload("links-api"), "spec.strategy.rollingUpdate.maxUnavailable", 1), "stops old pods"),
    ("pods spread by those that go", "local", lambda b: take(b.pod("links-api")["topologySpreadConstraints"][0], "matchLabelKeys"), "counts the old pods"),
    ("numbered pods spread by their version", "local", lambda b: put(b.pod("redirector")["topologySpreadConstraints"][0], "matchLabelKeys", ["controller-revision-hash"]), "replaces the old one of its number"),
    ("pods that wait for one another", "local", lambda b: take(b.workload("redirector"), "spec.podManagementPolicy"), "keeps the others from starting"),
    ("an update by hand", "production", lambda b: put(b.workload("redirector"), "spec.updateStrategy.type", "OnDelete"), "a new version reaches no pod by itself"),
    ("pods that are not spread", "local", lambda b: take(b.pod("redirector"), "topologySpreadConstraints"), "may be on one node"),
    ("pods in one zone", "local", lambda b: take(b.pod("redirector"), "affinity"), "may be in one zone"),
    ("spread by two labels", "local", lambda b: b.pod("janitor")["topologySpreadConstraints"].append(b.pod("janitor")["topologySpreadConstraints"][0] | {"topologyKey": "topology.kubernetes.io/zone"}), "ignore nodes that lack one of these labels"),
]  # fmt: skip

MONITORING = [
    ("a job that no rule knows", "production", lambda b: take(b.get("PodMonitor", "waymark"), "spec.jobLabel"), "Deployment/janitor as job waymark/waymark"),
    ("a job by another label", "gateway", lambda b: put(b.get("PodMonitor", "waymark"), "spec.jobLabel", "app.kubernetes.io/part-of"), "StatefulSet/redirector as job waymark"),
    ("rules of another day", "production", lambda b: take(b.get("PrometheusRule", "waymark")["spec"]["groups"][-1]["rules"][1], "for"), "differs from deploy/prometheus"),
    ("no rules", "gateway", lambda b: b.drop("PrometheusRule", "waymark"), "PodMonitor without a PrometheusRule"),
]  # fmt: skip

DESCRIPTION = [
    ("an unknown variable", "local", "variables", lambda b: b.variable(b.container("redirector"), "JOURNAL_MAXBYTES", "1"), "redirector --help does not list JOURNAL_MAXBYTES"),
    ("a variable of another program", "local", "variables", lambda b: b.variable(b.container("janitor"), "PUBLIC_BASE_URL", "https://a.b"), "janitor --help does not list PUBLIC_BASE_URL"),
    ("a value that the program refuses", "local", "variables", lambda b: put(b.get("ConfigMap", "redirector"), "data.HTTP_LOOPS", "0"), "HTTP_LOOPS: 0 is not between"),
    ("a required variable that is missing", "local", "variables", lambda b: take(b.get("ConfigMap", "links"), "data.PUBLIC_BASE_URL"), "PUBLIC_BASE_URL: is required"),
    ("a variable without a value", "local", "variables", lambda b: b.container("janitor")["env"].append({"name": "LOG_LEVEL"}), "LOG_LEVEL has no value"),
    ("a secret's key that is missing", "local", "files", lambda b: take(b.get("Secret", "links-api"), "data.jwt-secret"), "JWT_SECRET_FILE: no volume provides"),
    ("an undocumented key", "production", "files", lambda b: b.variable(b.container("janitor"), "PG_URL_FILE", "/run/secrets/waymark/url"), "PG_URL_FILE: no volume provides"),
    ("a secret in the open", "local", "plain_secrets", lambda b: b.variable(b.container("janitor"), "PG_URL", "postgresql://a:b@c/d"), "PG_URL is a secret"),
    ("a port that the program does not listen on", "local", "ports", lambda b: put(b.container("redirector")["ports"][0], "containerPort", 80), "port http is 80, but HTTP_PORT is 8080"),
    ("metrics asked at another port", "local", "ports", lambda b: put(b.get("Deployment", "janitor"), "spec.template.metadata.annotations", {"prometheus.io/port": "9091"}), "prometheus.io/port is 9091"),
    ("a monitor of no port", "production", "ports", lambda b: put(b.get("PodMonitor", "waymark")["spec"]["podMetricsEndpoints"][0], "port", "metrics"), "has no port metrics"),
    ("an unknown topic", "production", "topics", lambda b: put(b.get("ScaledObject", "analytics-consumer")["spec"]["triggers"][0], "metadata.topic", "waymark.clicks.v1"), "has no topic waymark.clicks.v1"),
    ("another group", "production", "topics", lambda b: put(b.get("ScaledObject", "analytics-consumer")["spec"]["triggers"][0], "metadata.consumerGroup", "x"), "consumerGroup is x"),
    ("other brokers", "production", "topics", lambda b: put(b.get("ConfigMap", "kafka"), "data.KAFKA_BROKERS", "x:1"), "bootstrapServers must be KAFKA_BROKERS"),
    ("replicas without acknowledgement", "production", "copies", lambda b: b.without(b.container("topics"), "TOPICS_MIN_INSYNC"), "TOPICS_MIN_INSYNC is -1 with 3 replicas"),
    ("copies that all must be there", "production", "copies", lambda b: b.variable(b.container("topics"), "TOPICS_MIN_INSYNC", "3"), "it must be more than 1 and less than the replicas"),
    ("more consumers than partitions", "production", "consumers", lambda b: put(b.get("ScaledObject", "analytics-consumer"), "spec.maxReplicaCount", 7), "7 pods of 2 workers are more than the 12 partitions"),
    ("a journal that fills its emptyDir", "gateway", "journal", lambda b: put(b.pod("redirector")["volumes"][1], "emptyDir.sizeLimit", "2Gi"), "the kubelet would evict the pod"),
    ("a journal that fills its claim", "production", "journal", lambda b: put(b.workload("redirector")["spec"]["volumeClaimTemplates"][0], "spec.resources.requests.storage", "17Gi"), "leaves no room for the file system"),
    ("a journal that ends with its pod", "local", "journal", lambda b: put(b.workload("redirector"), "spec.persistentVolumeClaimRetentionPolicy.whenScaled", "Delete"), "takes the clicks in its journal with it"),
    ("a journal in the container", "local", "journal", lambda b: b.variable(b.container("redirector"), "JOURNAL_DIR", "/tmp/journal"), "must be on a claim"),
    ("health of all services but one", "local", "health", lambda b: put(b.get("ConfigMap", "links-api"), "data.HEALTH_URLS", "janitor=http://janitor-ops:9090"), "HEALTH_URLS lacks redirector"),
    ("health of pods that are ready only", "production", "health", lambda b: take(b.get("Service", "janitor-ops"), "spec.publishNotReadyAddresses"), "janitor-ops must be a headless Service"),
    ("health of one pod", "local", "health", lambda b: take(b.get("Service", "redirector-ops"), "spec.clusterIP"), "redirector-ops must be a headless Service"),
    ("health at another port", "local", "health", lambda b: put(b.get("Service", "janitor-ops")["spec"]["ports"][0], "port", 80), "janitor-ops has no port 9090"),
    ("health of another service", "local", "health", lambda b: put(b.get("Service", "janitor-ops")["spec"], "selector", {"app.kubernetes.io/name": "redirector"}), "does not select the pods of janitor"),
    ("too short a grace", "local", "drain", lambda b: put(b.pod("redirector"), "terminationGracePeriodSeconds", 30), "stopping may take 40 s, but terminationGracePeriodSeconds is 30"),
    ("no preStop", "local", "drain", lambda b: take(b.container("links-api"), "lifecycle"), "no preStop"),
    ("no notice before the end", "local", "drain", lambda b: b.without(b.container("redirector"), "DRAIN_NOTICE_MS"), "redirector: no DRAIN_NOTICE_MS"),
    ("an untrusted proxy", "local", "hosts", lambda b: take(b.get("ConfigMap", "links"), "data.TRUSTED_PROXIES"), "TRUSTED_PROXIES names no proxy"),
    ("a whole private network as proxy", "production", "hosts", lambda b: put(b.get("ConfigMap", "links"), "data.TRUSTED_PROXIES", "192.0.2.96/27 10.0.0.0/8"), "TRUSTED_PROXIES trusts all of 10.0.0.0/8"),
    ("a user of Kafka without rights", "production", "kafka_rights", lambda b: b.variable(b.container("redirector"), "KAFKA_SASL_USERNAME", "nobody"), "has no rights for the user nobody"),
    ("another host than PUBLIC_BASE_URL", "local", "hosts", lambda b: put(b.get("Ingress", "redirector")["spec"]["rules"][0], "host", "x.localhost"), "PUBLIC_BASE_URL is at waymark.localhost"),
    ("a certificate for another host", "production", "hosts", lambda b: put(b.get("Ingress", "links-api")["spec"]["tls"][0], "hosts", ["x.rt"]), "Ingress/links-api: tls has the hosts x.rt, but the rules have api.sho.rt"),
    ("a dashboard at a host that is not served", "local", "hosts", lambda b: put(b.get("ConfigMap", "redirector")["data"], "DASHBOARD_URL", "http://x.localhost/app/"), "DASHBOARD_URL is at x.localhost, but the route of links-api has the host api.waymark.localhost"),
    ("a host of the API that links may lead to", "gateway", "hosts", lambda b: put(b.get("HTTPRoute", "links-api"), "spec.hostnames", ["x.rt"]), "OWN_HOSTS lacks one of x.rt"),
    ("an image of another version", "local", "versions", lambda b: put(b.container("janitor"), "image", "localhost/waymark/janitor:0.0.9"), "does not have the current version"),
    ("an image of no version", "local", "versions", lambda b: put(b.container("redis"), "image", "docker.io/library/redis:latest"), "has no version"),
    ("a Job whose name stays", "local", "versions", lambda b: put(b.get("Job", "migrate"), "metadata.name", "migrate"), "the name must end in the version"),
]  # fmt: skip


def cases(check, table):
    return [pytest.param(check, *case[1:], id=case[0]) for case in table]


@pytest.mark.parametrize(
    "check, overlay, break_it, words",
    cases(schema.check, SCHEMA) + cases(restricted.check, RESTRICTED) + cases(references.check, REFERENCES) + cases(networks.check, NETWORKS)
    + cases(services.check, SERVICES) + cases(monitoring.check, MONITORING)
    + [pytest.param(getattr(description, f"check_{case[2]}"), case[1], *case[3:], id=case[0]) for case in DESCRIPTION],
)  # fmt: skip
def test_detects(check, overlay, break_it, words, renderings):
    broken = Broken(renderings[overlay])
    break_it(broken)
    found = list(check(rendering.Rendering(overlay, broken.things)))
    assert [problem for problem in found if words in problem], found or "no problem was found"


def test_a_store_may_have_any_port(renderings):
    changed = Broken(renderings["production"])
    for store in ("postgres", "redis", "kafka"):
        put(changed.get("NetworkPolicy", f"to-{store}")["spec"]["egress"][0]["ports"][0], "port", 7000)
    put(changed.get("ConfigMap", "kafka"), "data.KAFKA_BROKERS", "a:7000,b:7000")
    stunnel = changed.get("ConfigMap", "redis-tls")["data"]
    stunnel["stunnel.conf"] = stunnel["stunnel.conf"].replace("6380", "7000")
    assert list(networks.check(rendering.Rendering("changed", changed.things))) == []


def test_every_check_has_a_case():
    tried = {f"check_{case[2]}" for case in DESCRIPTION}
    assert {check.__name__ for check in description.CHECKS} == tried


@pytest.mark.parametrize(
    "right, words",
    [
        (("redirector", "write", "topic", "waymark.redirects.v2", "literal"), "there is no topic waymark.redirects.v2"),
        (("analytics-consumer", "read", "group", "waymark-other", "literal"), "there is no group waymark-other"),
        (("redirector", "read", "topic", "waymark.visits.v1", "literal"), "differ: redirector read topic waymark.visits.v1"),
    ],
)
def test_detects_a_permission_that_is_unused_or_undocumented(right, words, renderings, monkeypatch):
    rights = tree.kafka_rights()
    monkeypatch.setattr(tree, "kafka_rights", lambda: [*rights, right])
    found = list(description.check_kafka_rights(renderings["production"]))
    assert [problem for problem in found if words in problem], found


def test_reports_the_error_of_kustomize(tmp_path):
    (tmp_path / "kustomization.yaml").write_text("resources: [nothing.yaml]\n")
    with pytest.raises(RuntimeError, match="nothing.yaml"):
        rendering.render(tmp_path)


@pytest.mark.parametrize("routes, kind", [("ingress", "Ingress"), ("gateway", "HTTPRoute")])
def test_the_samples_of_a_copied_overlay_are_all_in_its_own_files(tmp_path, routes, kind):
    """Who copies overlay production changes nothing outside of the copy."""
    shutil.copytree(tree.MANIFESTS, tmp_path / "k8s")
    copied = shutil.copytree(tree.MANIFESTS / "overlays/production", tmp_path / "k8s/overlays/site")
    for path in filter(pathlib.Path.is_file, copied.rglob("*")):
        path.write_text(path.read_text().replace("components/ingress", f"components/{routes}").replace("sho.rt", "ac.me").replace("example.com", "acme.io").replace("192.0.2.", "198.51.100."))
    rendered = rendering.render(copied)
    assert list(samples.check(rendered)) == []
    assert {host for route in rendered.all(kind) for host, _, _ in references.backends(route)} == {"ac.me", "api.ac.me"}


def test_names_each_sample_that_a_copied_overlay_has(renderings):
    found = set(samples.check(renderings["production"]))
    assert "NetworkPolicy/to-postgres: spec.egress.0.to.0.ipBlock.cidr still has the sample 192.0.2.0" in found
    assert "Ingress/links-api: spec.rules.0.host still has the sample api.sho.rt" in found
    assert any(problem.startswith("ConfigMap/kafka-") and problem.endswith("data.KAFKA_BROKERS still has the sample kafka-1.example.com") for problem in found)
    assert any("image still has the sample registry.example.com" in problem for problem in found), found


def test_only_a_site_s_own_overlay_is_checked_for_samples(monkeypatch):
    assert samples.own_overlays() == set()
    monkeypatch.setattr(tree, "OVERLAYS", [*tree.OVERLAYS, tree.MANIFESTS / "overlays/site"])
    assert samples.own_overlays() == {"site"}


def test_programs_are_those_of_the_only_build(tmp_path, monkeypatch):
    monkeypatch.delenv("WAYMARK_BUILD_DIR", raising=False)
    monkeypatch.setattr(tree, "ROOT", tmp_path)
    (tmp_path / "build/release/bin").mkdir(parents=True)
    assert tree.program("migrate") == tmp_path / "build/release/bin/migrate"
    (tmp_path / "build/dev/bin").mkdir(parents=True)
    assert tree.program("migrate") == tmp_path / "build/dev/bin/migrate"


def test_yamllint_refuses_a_duplicate_key(tmp_path):
    (tmp_path / "twice.yaml").write_text("a: 1\na: 2\n")
    run = subprocess.run(["yamllint", "--strict", "--config-file", tree.MANIFESTS / ".yamllint", tmp_path], capture_output=True, text=True)
    assert run.returncode and "duplication of key" in run.stdout, run.stdout
