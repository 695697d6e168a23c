"""deploy/k8s is valid, and each kind of mistake is detected."""

import copy
import pathlib
import re
import shutil
import subprocess

import pytest
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
from manifestlib import description, networks, references, rendering, restricted, tree

if not all(path.exists() for path in rendering.TOOLS):
    pytest.skip("kustomize, kubeconform or kube-score is missing: tools/setup test", allow_module_level=True)


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


def cron_job(broken, name):
    return broken.get("CronJob", name)["spec"]["jobTemplate"]["spec"]["template"]["spec"]


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


# What kubeconform and kube-score must notice: (overlay, mistakes in one copy of it), since each run takes seconds.
OF_TOOLS = [
    ("production", [
        (lambda b: put(b.container("janitor"), "readinesProbe", {}), "readinesProbe"),
        (lambda b: put(b.get("Deployment", "links-api"), "spec.minReadySeconds", "2"), "minReadySeconds"),
        (lambda b: put(b.get("ScaledObject", "analytics-consumer"), "spec.maxReplicas", 3), "maxReplicas"),
        (lambda b: put(b.get("PodMonitor", "waymark"), "spec.endpoints", []), "endpoints"),
        (lambda b: put(b.get("Service", "janitor"), "apiVersion", "v2"), "could not find schema for Service"),
    ]),
    ("production", [
        (lambda b: put(b.get("PodDisruptionBudget", "links-api"), "spec.selector.matchLabels", {"a": "b"}), "links-api/waymark apps/v1/Deployment: No matching PodDisruptionBudget"),
        (lambda b: put(b.get("HorizontalPodAutoscaler", "redirector"), "spec.scaleTargetRef.name", "x"), "The HPA target does not match anything"),
        (lambda b: put(b.get("Ingress", "links-api")["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"], "name", "x"), "No service match was found"),
        (lambda b: put(b.workload("redirector"), "spec.serviceName", "redirector"), "StatefulSet does not have a valid serviceName"),
        (lambda b: put(b.pod("redirector")["initContainers"][0]["securityContext"], "readOnlyRootFilesystem", False), "(redis-tls) The pod has a container with a writable root"),
        (lambda b: take(b.container("redirector"), "resources.limits"), "(redirector) Memory limit is not set"),
    ]),
    ("gateway", [(lambda b: put(b.get("HTTPRoute", "redirector"), "spec.hosts", []), "hosts")]),
]  # fmt: skip

RESTRICTED = [
    ("hostNetwork", "local", lambda b: put(b.pod("redirector"), "hostNetwork", True), "hostNetwork is set"),
    ("a hostPath", "local", lambda b: b.pod("janitor")["volumes"].append({"name": "x", "hostPath": {"path": "/"}}), "volume x is a hostPath"),
    ("runAsNonRoot taken back", "local", lambda b: put(b.container("janitor"), "securityContext.runAsNonRoot", False), "runAsNonRoot is not true"),
    ("Unconfined", "local", lambda b: put(b.pod("janitor"), "securityContext.seccompProfile.type", "Unconfined"), "seccompProfile is Unconfined"),
    ("a capability added", "local", lambda b: put(b.container("janitor"), "securityContext.capabilities.add", ["or adds one"]), "or adds one"),
    ("a sidecar that may escalate", "production", lambda b: take(b.pod("redirector")["initContainers"][0], "securityContext.allowPrivilegeEscalation"), "container redis-tls: allowPrivilegeEscalation"),
    ("a token of the API server", "local", lambda b: take(b.pod("janitor"), "automountServiceAccountToken"), "automountServiceAccountToken"),
    ("a namespace that does not enforce it", "local", lambda b: take(b.get("Namespace", "waymark"), "metadata.labels"), "does not enforce"),
]  # fmt: skip

REFERENCES = [
    ("replicas beside an autoscaler", "local", lambda b: put(b.workload("redirector"), "spec.replicas", 2), "replicas must be left to its autoscaler"),
    ("a Service's port that no container has", "local", lambda b: put(b.get("Service", "redirector")["spec"]["ports"][0], "targetPort", "web"), "has no port web"),
    ("a route to no port", "gateway", lambda b: put(b.get("HTTPRoute", "redirector")["spec"]["rules"][0]["backendRefs"][0], "port", 81), "there is no Service redirector with port 81"),
    ("a ConfigMap that is missing", "local", lambda b: b.drop("ConfigMap", "kafka"), "there is no ConfigMap kafka-"),
    ("an undocumented Secret", "production", lambda b: put(b.pod("janitor")["volumes"][0], "secret.secretName", "janitors"), "does not list it"),
    ("an unused Secret", "local", lambda b: put(b.pod("janitor"), "volumes", []), "no workload reads it"),
    ("a job that is missing", "production", lambda b: b.drop("Job", "migrate"), "migrate is missing"),
    ("another's image", "local", lambda b: put(b.container("janitor"), "image", "localhost/waymark/redirector:0.1.0"), "runs the image of redirector"),
    ("an unknown image", "production", lambda b: put(b.pod("redirector")["initContainers"][0], "image", "registry.example.com/waymark/haproxy:0.1.0"), "no such image is built"),
    ("another's image for a restore", "local", lambda b: put(cron_job(b, "restore")["containers"][0], "image", "localhost/waymark/janitor:0.1.0"), "runs the image of janitor"),
    ("another program for a restore", "local", lambda b: put(cron_job(b, "restore")["containers"][0], "command", ["/bin/migrate"]), "restore runs /bin/migrate"),
    ("another program", "local", lambda b: put(b.container("topics"), "command", ["/bin/topics"]), "runs /bin/topics"),
    ("no autoscaler", "local", lambda b: b.drop("HorizontalPodAutoscaler", "redirector"), "redirector: has 0 autoscalers"),
    ("a readiness that only says alive", "local", lambda b: put(b.container("janitor"), "readinessProbe.httpGet.path", "/livez"), "readinessProbe does not request /readyz"),
    ("an update that takes pods away first", "local", lambda b: put(b.workload("links-api"), "spec.strategy.rollingUpdate.maxUnavailable", 1), "stops old pods"),
    ("pods that wait for one another", "local", lambda b: take(b.workload("redirector"), "spec.podManagementPolicy"), "keeps the others from starting"),
    ("pods that are not spread", "local", lambda b: take(b.pod("redirector"), "topologySpreadConstraints"), "may be on one node"),
]  # fmt: skip

NETWORKS = [
    ("no default", "local", lambda b: b.drop("NetworkPolicy", "default-deny"), "no policy denies by default"),
    ("a rule for all ports", "local", lambda b: take(b.get("NetworkPolicy", "to-redis")["spec"]["egress"][0], "ports"), "without peers or without ports"),
    ("no way to Kafka", "production", lambda b: b.drop("NetworkPolicy", "to-kafka"), "StatefulSet/redirector: no egress to kafka"),
    ("another port than that of Redis", "production", lambda b: put(b.get("NetworkPolicy", "to-redis")["spec"]["egress"][0]["ports"][0], "port", 7000), "to-redis: does not allow port 6380"),
    ("no way of a restore to PostgreSQL", "local", lambda b: b.get("NetworkPolicy", "to-postgres")["spec"]["podSelector"]["matchExpressions"][0]["values"].remove("restore"), "CronJob/restore: no egress to postgres"),
    ("no way to names", "local", lambda b: b.drop("NetworkPolicy", "names"), "no egress to DNS"),
    ("a way that is not needed", "local", lambda b: b.get("NetworkPolicy", "to-redis")["spec"]["podSelector"]["matchExpressions"][0]["values"].append("janitor"), "janitor: needs no egress to redis"),
    ("a way to the internet", "gateway", lambda b: put(b.get("NetworkPolicy", "janitor-destinations"), "spec.podSelector", {}), "redirector: egress to the internet"),
    ("a port that destinations have", "gateway", lambda b: b.get("NetworkPolicy", "janitor-destinations")["spec"]["egress"][0]["ports"].pop(), "those of lib/fetch: 80, 443, 8080, 8443"),
    ("a port without a rule", "local", lambda b: [b.drop("NetworkPolicy", name) for name in ("metrics", "health")], "no ingress to its port ops"),
    ("a port that is open for nothing", "local", lambda b: put(b.get("NetworkPolicy", "redirector-visitors")["spec"]["ingress"][0]["ports"][0], "port", "web"), "open without need: port web"),
]  # fmt: skip

DESCRIPTION = [
    ("an unknown variable", "local", lambda b: b.variable(b.container("redirector"), "JOURNAL_MAXBYTES", "1"), "redirector --help does not list JOURNAL_MAXBYTES"),
    ("a value that the program refuses", "local", lambda b: put(b.get("ConfigMap", "redirector"), "data.HTTP_LOOPS", "0"), "HTTP_LOOPS: 0 is not between"),
    ("a required variable that is missing", "local", lambda b: take(b.get("ConfigMap", "links"), "data.PUBLIC_BASE_URL"), "PUBLIC_BASE_URL: is required"),
    ("mail without the dashboard", "gateway", lambda b: take(b.get("ConfigMap", "links"), "data.DASHBOARD_URL"), "janitor: DASHBOARD_URL: there is no DASHBOARD_URL in ConfigMap links-"),
    ("mail without a sender", "gateway", lambda b: take(b.get("ConfigMap", "janitor"), "data.MAIL_FROM"), "janitor --check-config: MAIL_FROM: must be an address"),
    ("an undocumented key", "production", lambda b: b.variable(b.container("janitor"), "PG_URL_FILE", "/run/secrets/waymark/url"), "PG_URL_FILE: no volume provides"),
    ("a key that a backup lacks", "production", lambda b: b.variable(cron_job(b, "backup")["containers"][0], "PG_URL_FILE", "/run/secrets/waymark/url"), "CronJob/backup: PG_URL_FILE: no volume provides"),
    ("a secret in the open", "local", lambda b: b.variable(b.container("janitor"), "PG_URL", "postgresql://a:b@c/d"), "PG_URL is a secret"),
    ("a port that the program does not listen on", "local", lambda b: put(b.container("redirector")["ports"][0], "containerPort", 80), "port http is 80, but HTTP_PORT is 8080"),
    ("the lag of another namespace", "production", lambda b: put(b.get("ScaledObject", "analytics-consumer"), "metadata.namespace", "x"), "url must be http://analytics-consumer.x.svc:9090/metrics"),
    ("more consumers than partitions", "production", lambda b: put(b.get("ScaledObject", "analytics-consumer"), "spec.maxReplicaCount", 7), "14 workers are more than the 12 partitions"),
    ("a journal that fills its claim", "production", lambda b: put(b.workload("redirector")["spec"]["volumeClaimTemplates"][0], "spec.resources.requests.storage", "17Gi"), "does not fit into 17Gi"),
    ("a journal that ends with its pod", "local", lambda b: put(b.workload("redirector"), "spec.persistentVolumeClaimRetentionPolicy.whenScaled", "Delete"), "takes the clicks in its journal with it"),
    ("a journal in the container", "local", lambda b: b.variable(b.container("redirector"), "JOURNAL_DIR", "/tmp/journal"), "must be on a claim"),
    ("health of all services but one", "local", lambda b: put(b.get("ConfigMap", "links-api"), "data.HEALTH_URLS", "janitor=http://janitor-ops:9090"), "HEALTH_URLS lacks redirector"),
    ("health of one pod", "local", lambda b: take(b.get("Service", "redirector-ops"), "spec.clusterIP"), "redirector-ops must be a headless Service"),
    ("too short a grace", "local", lambda b: put(b.pod("redirector"), "terminationGracePeriodSeconds", 30), "stopping may take 40 s, but terminationGracePeriodSeconds is 30"),
    ("no preStop", "local", lambda b: take(b.container("links-api"), "lifecycle"), "no preStop"),
    ("no notice before the end", "local", lambda b: b.without(b.container("redirector"), "DRAIN_NOTICE_MS"), "redirector: no DRAIN_NOTICE_MS"),
    ("a whole private network as proxy", "production", lambda b: put(b.get("ConfigMap", "links"), "data.TRUSTED_PROXIES", "192.0.2.96/27 10.0.0.0/8"), "TRUSTED_PROXIES trusts all of 10.0.0.0/8"),
    ("another host than PUBLIC_BASE_URL", "local", lambda b: put(b.get("Ingress", "redirector")["spec"]["rules"][0], "host", "x.localhost"), "PUBLIC_BASE_URL is at waymark.localhost"),
    ("a certificate for another host", "production", lambda b: put(b.get("Ingress", "links-api")["spec"]["tls"][0], "hosts", ["x.rt"]), "Ingress/links-api: tls has the hosts x.rt, but the rules have api.sho.rt"),
    ("a host of the API that links may lead to", "gateway", lambda b: put(b.get("HTTPRoute", "links-api"), "spec.hostnames", ["x.rt"]), "OWN_HOSTS lacks one of x.rt"),
    ("an image of another version", "local", lambda b: put(b.container("janitor"), "image", "localhost/waymark/janitor:0.0.9"), "does not have the current version"),
    ("a Job whose name stays", "local", lambda b: put(b.get("Job", "migrate"), "metadata.name", "migrate"), "the name must end in the version"),
]  # fmt: skip


@pytest.mark.parametrize("overlay, mistakes", OF_TOOLS)
def test_kubeconform_and_kube_score_notice(overlay, mistakes, renderings):
    broken = Broken(renderings[overlay])
    for break_it, _ in mistakes:
        break_it(broken)
    found = rendering.problems_of_tools(rendering.Rendering(overlay, broken.things))
    assert [words for _, words in mistakes if not any(words in line for line in found)] == [], found


CASES = [(module, case) for module, table in ((restricted, RESTRICTED), (references, REFERENCES), (networks, NETWORKS), (description, DESCRIPTION)) for case in table]


@pytest.mark.parametrize("module, overlay, break_it, words", [pytest.param(module, *case[1:], id=case[0]) for module, case in CASES])
def test_notices(module, overlay, break_it, words, renderings):
    broken = Broken(renderings[overlay])
    break_it(broken)
    found = list(module.check(rendering.Rendering(overlay, broken.things)))
    assert [problem for problem in found if words in problem], found or "no problem was found"


@pytest.mark.parametrize("routes, kind", [("ingress", "Ingress"), ("gateway", "HTTPRoute")])
def test_the_samples_of_a_copied_overlay_are_all_in_its_own_files(tmp_path, routes, kind):
    """Who copies overlay production changes nothing outside of the copy."""
    shutil.copytree(tree.MANIFESTS, tmp_path / "k8s")
    copied = shutil.copytree(tree.MANIFESTS / "overlays/production", tmp_path / "k8s/overlays/site")
    for path in filter(pathlib.Path.is_file, copied.rglob("*")):
        path.write_text(path.read_text().replace("components/ingress", f"components/{routes}").replace("sho.rt", "ac.me").replace("example.com", "acme.io").replace("192.0.2.", "198.51.100."))
    rendered = rendering.render(copied)
    text = yaml.safe_dump_all(rendered.things)
    assert re.findall(r"sho\.rt|example\.com|192\.0\.2\.", text) == []
    assert {host for route in rendered.all(kind) for host, _, _ in references.backends(route)} == {"ac.me", "api.ac.me"}
