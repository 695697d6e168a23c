"""deploy/charts/waymark renders the objects of overlay production, and each of its values reaches them or is refused.

tools/lint/manifests checks what it renders with its default values and with the files of its folder ci."""

import copy
import json
import re
import shutil
import subprocess

import pytest
import yaml

from manifestlib import networks, programs, references, rendering, tree

if not all(path.exists() for path in rendering.TOOLS):
    pytest.skip("kustomize, kubeconform, kube-score or helm is missing: tools/setup test", allow_module_level=True)

SCHEMA = json.loads((tree.CHART / "values.schema.json").read_text())
DEFAULTS = yaml.safe_load((tree.CHART / "values.yaml").read_text())
SERVICES = {"redirector": "redirector", "linksApi": "links-api", "analyticsConsumer": "analytics-consumer", "janitor": "janitor"}
COMPONENTS = SERVICES | {"migrate": "migrate", "topics": "topics"}
POD = SCHEMA["definitions"]["pods"]["properties"]


@pytest.fixture
def render(tmp_path):
    def render(values, *files):
        (tmp_path / "values.yaml").write_text(yaml.safe_dump({"samples": True} | values))
        return rendering.render_chart("chart", *files, tmp_path / "values.yaml")

    return render


@pytest.fixture(scope="module")
def default():
    return rendering.render_chart("default")


# The allowed differences of metadata: what Helm and Argo CD read, what lets a changed file of stunnel replace pods, and the label of the
# product, which components of kustomize do not set.
LABELS = {f"app.kubernetes.io/{name}" for name in ("instance", "managed-by", "version", "part-of")} | {"helm.sh/chart"}
ANNOTATIONS = ("helm.sh/", "argocd.argoproj.io/", "checksum/")


def comparable(rendered):
    """Objects by kind and name. The variables of a container are in one place: kustomize has them in ConfigMaps, the chart in the pod,
    so that a rollback brings them back and a hook needs no other object."""
    things = copy.deepcopy([thing for thing in rendered.things if thing["kind"] != "ConfigMap" or "stunnel.conf" in thing["data"]])
    for workload in rendering.Rendering("", things).workloads:
        for container in workload.containers:
            container["env"] = programs.environment(rendered, container)[0]
            container.pop("envFrom", None)
            container["volumeMounts"].sort(key=lambda mount: mount["name"])
        workload.pod["volumes"].sort(key=lambda volume: volume["name"])
        workload.metadata["annotations"] = without_helm(workload.metadata.get("annotations", {}))
    for thing in things:
        thing["metadata"]["labels"] = {name: value for name, value in thing["metadata"].get("labels", {}).items() if name not in LABELS}
        thing["metadata"]["annotations"] = without_helm(thing["metadata"].get("annotations", {}))
    text = re.sub(r"\bredis-tls-[0-9a-z]{10}\b", "redis-tls", json.dumps(things))
    return {rendering.name_of(thing): thing for thing in json.loads(text)}


def without_helm(annotations):
    return {name: value for name, value in annotations.items() if not name.startswith(ANNOTATIONS)}


def test_the_chart_renders_the_objects_of_the_overlay(default):
    found, wanted = comparable(default), comparable(rendering.render(tree.MANIFESTS / "overlays/production"))
    # It exists before a release does; the rules are files beside the overlay; and policies that are hooks repeat those that are none.
    hooks = {f"NetworkPolicy/{name}-of-jobs" for name in ("names", "to-postgres", "to-kafka")}
    assert set(found) - set(wanted) == {"PrometheusRule/waymark", *hooks} and set(wanted) - set(found) == {"Namespace/waymark"}
    assert {name: (found[name], wanted[name]) for name in set(found) & set(wanted) if found[name] != wanted[name]} == {}


# --- values ---


def resolve(schema):
    """The schema with what it refers to."""
    referred = SCHEMA["definitions"][schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema.get("allOf", [None])[0]
    return resolve(referred) | schema if referred else schema


def described(schema, path=""):
    """(path, schema) of each value that the schema names."""
    for name, each in resolve(schema).get("properties", {}).items():
        here = f"{path}.{name}".lstrip(".")
        yield here, resolve(each)
        yield from described(each, here)


def test_the_schema_describes_each_value_and_refuses_others():
    assert set(SCHEMA["required"]) == set(DEFAULTS)
    for path, schema in described(SCHEMA):
        assert schema.get("description"), path
        assert "type" in schema or "enum" in schema, path
        assert "properties" not in schema or schema["additionalProperties"] is False, path
        # Helm alone sets global, pods of a component are empty, and not all scales have a lag.
        if path != "global" and ".pods." not in path and not path.endswith(".lag"):
            assert value_of(DEFAULTS, path) is not None, f"values.yaml lacks {path}"


def merged(values, path, value):
    """A copy of values with another value at path."""
    *way, last = path.split(".")
    copied = copy.deepcopy(values)
    node = copied
    for name in way:
        node = node.setdefault(name, {})
    node[last] = value
    return copied


ON = {"gateway": {"hosts": ["api"]}, "dayTwo": {"backup": {"enabled": True}}} | {name: {"enabled": True} for name in ("mail", "destinationChecks", "pageTitles", "singleSignOn", "tracing")}
OTHER_NETWORK = {"cidrs": ["10.9.0.0/16"], "peers": []}
# Values that are valid and not the defaults, by the end of the path.
OTHERS = {
    "images.registry": "registry.acme.example:5000/w", "images.digests": {name: f"sha256:{'1' * 64}" for name in tree.images()}, "ingress.hosts": ["api"], "gateway.hosts": ["links"], "images.pullSecrets": ["registry"],
    "hosts.links": "ac.me", "hosts.api": "api.ac.me", "trustedProxies": ["10.1.0.0/16"], "kafka.brokers": ["a.example:9094"], "redis.address": "r.example:7000",
    "network": OTHER_NETWORK, "tokenNetwork": OTHER_NETWORK, "visitors": OTHER_NETWORK, "metrics": OTHER_NETWORK, "dns": OTHER_NETWORK,
    "backup.schedule": "0 1 * * 0", "backup.keep": "7", "backup.storage": "3Gi",
    "journal.storage": "4Ti", "journal.maxBytes": "1073741824",
    "mail.ports": [2525], "postgres.ports": [5433], "dnsPorts": [5353], "mail.from": "other@ac.me", "analyticsConsumer.max": 5, "tokenUrl": "https://other.example/token", "singleSignOn.ports": [8443], "tracing.endpoint": "http://otel.example:4319", "gateway.parentRefs": [{"name": "other"}],
    "users": {name: "other" for name in ("redirector", "links-api", "analytics-consumer", "topics")},
    "annotations": {"a": "b"}, "labels": {"a": "b"}, "nodeSelector": {"a": "b"}, "tolerations": [{"key": "a", "operator": "Exists"}], "affinity": {"nodeAffinity": {}},
    "topologySpreadConstraints": [{"maxSkew": 2, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule"}],
    "extraEnv": [{"name": "A", "value": "b"}], "extraEnvFrom": [{"secretRef": {"name": "a"}}], "securityContext": {"runAsUser": 70000},
    "extraVolumes": [{"name": "a", "emptyDir": {}}], "extraVolumeMounts": [{"name": "secrets", "mountPath": "/a"}],
    "authorityKeys": {"kafka.pem": {"name": "waymark-cluster-ca-cert", "key": "ca.crt"}},
    "secretKeys": {name: {"name": "a", "key": "b"} for name in ("pg-url", "redis-url", "kafka-password", "jwt-secret", "smtp-url")}, "config": {}, "resources": {"requests": {"cpu": "3"}},
    "migrate.config": {"MIGRATE_WAIT_S": "7"}, "topics.config": {"TOPICS_TIMEOUT_MS": "7"},
}  # fmt: skip


def value_of(values, path):
    for name in path.split("."):
        values = values.get(name) if isinstance(values, dict) else None
    return values


def other(path, schema):
    names = path.split(".")
    for start in range(len(names)):
        found = OTHERS.get(".".join(names[start:]))
        if found is not None:
            return found or {"LOG_LEVEL": "debug"}
    default = value_of(ON, path) or value_of(DEFAULTS, path)
    if "enum" in schema:
        return next(each for each in schema["enum"] if each != default)
    return default + 1 if schema["type"] == "integer" else not default if schema["type"] == "boolean" else "other"


# Without the parts of a network and the pods of a component (the next test), and without what has no effect by itself.
LEAVES = [
    (path, schema) for path, schema in described(SCHEMA)
    if path not in ("global", "samples", "dayTwo.enabled") and not re.search(r"\.(cidrs|peers|lag|pods\..*)$", path) and ("properties" not in schema or path.endswith(("network", "tokenNetwork")))
]  # fmt: skip


def test_each_value_changes_an_object(render):
    modes = {by: ON | {"autoscaling": {"by": by}} for by in ("keda", "cpu")} | {"tokens": ON | {"kafka": {"mechanism": "OAUTHBEARER", "tokenUrl": "https://id.example"}}}
    modes["plain"] = ON | {"ingress": {host: {"tlsSecret": ""} for host in ("links", "api")}}
    before = {mode: render(values).things for mode, values in modes.items()}
    same = []
    for path, schema in LEAVES:
        mode = "cpu" if path.endswith("cpuPercent") else "tokens" if re.search("token|scope", path) else "plain" if path == "hosts.scheme" else "keda"
        if render(merged(modes[mode], path, other(path, schema))).things == before[mode]:
            same.append(path)
    assert same == []


def test_pods_of_a_component_win_over_those_of_all(render):
    others = {name: other(f"pods.{name}", resolve(POD[name])) for name in POD}
    rendered = render({"pods": others, "janitor": {"pods": {"priorityClassName": "mine", "labels": {"c": "d"}, "tolerations": [{"key": "mine"}]}}})
    pods = {workload.app: workload for workload in rendered.workloads}
    assert {pod.pod["priorityClassName"] for app, pod in pods.items() if app != "janitor"} == {"other"}
    janitor = pods["janitor"]
    assert (janitor.pod["priorityClassName"], janitor.pod["tolerations"]) == ("mine", [{"key": "mine"}])
    assert {"a": "b", "c": "d"}.items() <= janitor.labels.items()
    assert janitor.pod["topologySpreadConstraints"][0]["labelSelector"] == {"matchLabels": {"app.kubernetes.io/name": "janitor"}}


# What other values or the templates say.
SET_ELSEWHERE = {
    "REGION", "TRUSTED_PROXIES", "PUBLIC_BASE_URL", "DASHBOARD_URL", "KAFKA_BROKERS", "KAFKA_SECURITY_PROTOCOL", "KAFKA_SASL_MECHANISM", "KAFKA_SASL_USERNAME", "KAFKA_SASL_TOKEN_URL", "KAFKA_SASL_SCOPE", "REDIS_SSL_CA_FILE", "KAFKA_SSL_CERTIFICATE_FILE", "KAFKA_SSL_KEY_FILE",
    "JOURNAL_MAX_BYTES", "OTEL_EXPORTER_OTLP_ENDPOINT", "MAIL_FROM", "DESTINATION_CHECKS", "FETCH_TITLES", "OIDC_CONFIG",
    "HTTP_PORT", "OPS_PORT", "DRAIN_MS", "JOURNAL_DIR", "HEALTH_URLS",
    "PG_URL", "REDIS_URL", "JWT_SECRET", "KAFKA_SASL_PASSWORD", "SMTP_URL",
}  # fmt: skip


@pytest.mark.parametrize("component", COMPONENTS)
def test_a_component_accepts_the_variables_of_its_program(component):
    """If this fails, values.schema.json lacks a new variable or has one that is gone."""
    name = COMPONENTS[component]
    allowed = SCHEMA["properties"][component]["allOf"][1]["properties"]["config"]["propertyNames"]["enum"]
    of_libraries = set() if name == "topics" else programs.OF_LIBRARIES
    table = programs.table(programs.PROGRAMS[name])
    assert set(allowed) == set(table) - SET_ELSEWHERE | of_libraries
    patterns = "|".join(SCHEMA["definitions"]["config"]["patternProperties"])
    assert [each for each in allowed if re.fullmatch("-?[0-9]+|true|false|on|off", table.get(each) or "") and not re.search(patterns, each)] == []


WRONG = [
    ("a misspelt value", {"hosts": {"link": "a.example"}}, "hosts: Additional property link is not allowed"),
    ("a misspelt value of a component", {"redirector": {"recources": {}}}, "redirector: Additional property recources is not allowed"),
    ("a number where a text belongs", {"journal": {"maxBytes": 17179869184}}, "journal.maxBytes: Invalid type. Expected: string, given: integer"),
    ("a misspelt variable", {"redirector": {"config": {"HTTP_LOPS": "4"}}}, 'redirector.config: Property name of "HTTP_LOPS" does not match'),
    ("a variable that has a value of its own", {"janitor": {"config": {"PG_URL": "a"}}}, 'janitor.config: Property name of "PG_URL" does not match'),
    ("a URL as a host", {"hosts": {"api": "https://api.ac.me"}}, "hosts.api: Does not match pattern"),
    ("one broker of two without a port", {"kafka": {"brokers": ["k1.acme.io:9093", "k2.acme.io"]}}, "kafka.brokers.1: Does not match pattern"),
    ("no registry", {"images": {"registry": ""}}, "images.registry: Does not match pattern"),
    ("a registry with a tag", {"images": {"registry": "r.acme.io/waymark:1"}}, "images.registry: Does not match pattern"),
    ("a tag in the place of a digest", {"images": {"digests": {"janitor": "latest"}}}, "images.digests.janitor: Does not match pattern"),
    ("a digest of no image", {"images": {"digests": {"waymark": ""}}}, "images.digests: Additional property waymark is not allowed"),
    ("a whole private network as proxy", {"trustedProxies": ["10.1.0.0/16", "10.0.0.0/8"]}, "trustedProxies: 10.0.0.0/8 must be at most a /16"),
    ("all of IPv6 as proxy", {"trustedProxies": ["::/0"]}, "trustedProxies: ::/0 must be at most a /16 (IPv6: /64)"),
    ("a network that does not exist", {"postgres": {"network": {"cidrs": ["10.1.0.0/24", "10.300.0.0/33"]}}}, "postgres.network: 10.300.0.0/33 must be a network"),
    ("an address as a network", {"networkPolicies": {"dns": {"cidrs": ["10.1.0.1"]}}}, "networkPolicies.dns: 10.1.0.1 must be a network, like 10.1.2.0/24, 10.1.2.3/32"),
    ("no network", {"kafka": {"network": {"cidrs": []}}}, "kafka.network: name a network in cidrs or a peer in peers"),
    ("at least more pods than at most", {"autoscaling": {"redirector": {"min": 30}}}, "autoscaling: min (30) of redirector is more than max (20)"),
    ("a claim as large as the journal", {"journal": {"storage": "16Gi"}}, "journal.storage: 16Gi has no room"),
    ("a certificate without TLS", {"kafka": {"mechanism": "certificate", "tls": False}}, "kafka.mechanism: certificate needs kafka.tls"),
    ("a backup without its CronJob", {"dayTwo": {"enabled": False, "backup": {"enabled": True}}}, "dayTwo.backup.enabled needs dayTwo.enabled"),
    ("samples that nobody replaced", {"samples": False, "hosts": {"links": "ac.me"}, "mail": {"enabled": True, "from": "links@ac.me"}}, "the values still have the samples registry.example.com, api.sho.rt, 192.0.2.96, redis.example.com, kafka-1"),
    ("a misspelt key of a Secret", {"redirector": {"secretKeys": {"pg_url": {"name": "a", "key": "b"}}}}, 'Property name of "pg_url" does not match'),
    ("a key of no Secret", {"linksApi": {"secretKeys": {"pg-url": {"name": "a", "key": "b"}}}}, "secretKeys of links-api lack redis-url"),
    ("mail without its key", {"mail": {"enabled": True}, "janitor": {"secretKeys": {"pg-url": {"name": "a", "key": "b"}}}}, "secretKeys of janitor lack smtp-url"),
    ("one digest of six", {"images": {"digests": {"janitor": f"sha256:{'1' * 64}"}}}, "images.digests: redirector has none"),
    ("tokens in clear", {"kafka": {"mechanism": "OAUTHBEARER", "tls": False, "tokenUrl": "https://id.example"}}, "kafka.mechanism: OAUTHBEARER needs kafka.tls"),
    ("passwords in clear", {"kafka": {"mechanism": "PLAIN", "tls": False}}, "kafka.mechanism: PLAIN needs kafka.tls"),
    ("two words on TLS", {"janitor": {"config": {"PGSSLMODE": "disable"}}}, "janitor.config.PGSSLMODE contradicts postgres.tls"),
    ("no way in", {"linksApi": {"config": {"PASSWORD_LOGIN": "off"}}}, "PASSWORD_LOGIN: off without singleSignOn.enabled"),
    ("a misspelt peer", {"postgres": {"network": {"peers": [{"namespaceSelctor": {}}]}}}, "Additional property namespaceSelctor is not allowed"),
    ("a peer that is everybody", {"kafka": {"network": {"peers": [{}]}}}, "kafka.network.peers.0: Must have at least 1 properties"),
    ("misspelt resources", {"janitor": {"resources": {"limit": {"memory": "1Gi"}}}}, "Additional property limit is not allowed"),
    ("a toleration of no kind", {"pods": {"tolerations": [{"key": "a", "operator": "Equals"}]}}, "pods.tolerations.0.operator: pods.tolerations.0.operator must be one of"),
    ("a sender without an address", {"mail": {"enabled": True, "from": "links"}}, "mail.from: Does not match pattern"),
    ("a route of no host", {"ingress": {"hosts": ["redirector"]}}, "ingress.hosts.0: ingress.hosts.0 must be one of"),
    ("tokens from nowhere", {"kafka": {"mechanism": "OAUTHBEARER"}}, "OAUTHBEARER needs kafka.tokenUrl"),
    ("a token's URL without a scheme", {"kafka": {"tokenUrl": "idp.corp.io/token"}}, "kafka.tokenUrl: Does not match pattern"),
    ("a port that does not exist", {"kafka": {"brokers": ["b-1:99999"], "tokenUrl": "https://a:99999"}}, "kafka.brokers.0: Does not match pattern"),
    ("one host for links and API", {"hosts": {"links": "a.example", "api": "a.example"}}, "links and api must be different hosts"),
    ("no Gateway", {"gateway": {"parentRefs": []}}, "gateway.parentRefs: Array must have at least 1 items"),
    ("a misspelt Gateway", {"gateway": {"parentRefs": [{"nam": "x"}]}}, "gateway.parentRefs.0: name is required"),
    ("a number as a variable", {"pods": {"extraEnv": [{"name": "A", "value": 1}]}}, "pods.extraEnv.0.value: Invalid type. Expected: string, given: integer"),
    ("a variable without a value", {"pods": {"extraEnv": [{"name": "A"}]}}, "pods.extraEnv.0: value is required"),
    ("half a constraint", {"pods": {"topologySpreadConstraints": [{"maxSkew": 1}]}}, "pods.topologySpreadConstraints.0: topologyKey is required"),
    ("a misspelt toleration", {"pods": {"tolerations": [{"kee": "a"}]}}, 'Property name of "kee" does not match'),
    ("a quantity of no unit", {"redirector": {"resources": {"limits": {"memory": "544MiB"}}}}, "redirector.resources.limits.memory: Does not match pattern"),
    ("a registration of no kind", {"linksApi": {"config": {"REGISTRATION": "private"}}}, "linksApi.config.REGISTRATION: linksApi.config.REGISTRATION must be one of"),
    ("a word as a number", {"linksApi": {"config": {"HTTP_WORKERS": "many"}}}, "linksApi.config.HTTP_WORKERS: Does not match pattern"),
    ("more replicas in sync than replicas", {"topics": {"config": {"TOPICS_REPLICATION": "1"}}}, "TOPICS_MIN_INSYNC must be less than TOPICS_REPLICATION"),
    ("as many replicas in sync as replicas", {"topics": {"config": {"TOPICS_REPLICATION": "2"}}}, "TOPICS_MIN_INSYNC must be less than TOPICS_REPLICATION"),
    ("an address in a network as proxy", {"trustedProxies": ["10.30.8.0/26", "10.30.8.1/26"]}, "trustedProxies: 10.30.8.1/26 is an address in a network"),
    ("two gaps in a network", {"postgres": {"network": {"cidrs": ["fd00::/8", "1:2:3::4::5/64"]}}}, "postgres.network: 1:2:3::4::5/64 must be a network"),
    ("an address as a block", {"postgres": {"network": {"peers": [{"ipBlock": {"cidr": "10.0.0.0"}}]}}}, "postgres.network: 10.0.0.0 must be a network"),
    ("labels as a list", {"postgres": {"network": {"peers": [{"podSelector": {"matchLabels": ["a"]}}]}}}, "podSelector.matchLabels: Invalid type. Expected: object"),
    ("a second value of a variable", {"pods": {"extraEnv": [{"name": "PGSSLMODE", "value": "disable"}]}}, "extraEnv: PGSSLMODE of"),
    ("no user", {"kafka": {"users": {"topics": None}}}, "kafka.users: topics is required"),
    ("no broker", {"kafka": {"brokers": None}}, "kafka: brokers is required"),
    ("no component", {"janitor": None}, "janitor is required"),
    ("tokens without their mechanism", {"kafka": {"tokenUrl": "https://id.example"}}, "OAUTHBEARER needs kafka.tokenUrl, which no other has"),
    ("a path that the programs add", {"tracing": {"endpoint": "http://otel:4318/v1/traces"}}, "tracing.endpoint: http://otel:4318/v1/traces must be for OTLP over HTTP"),
    ("a tag with a comment", {"images": {"tag": "1.0 # x"}}, "images.tag: Does not match pattern"),
    ("a class of no name", {"ingress": {"className": "Nginx Class"}}, "ingress.className: Does not match pattern"),
    ("a Gateway of no name", {"gateway": {"parentRefs": [{"name": "Public_GW"}]}}, "gateway.parentRefs.0.name: Does not match pattern"),
    ("thousandths of a byte", {"janitor": {"resources": {"limits": {"memory": "544m"}}}}, "janitor.resources.limits.memory: Does not match pattern"),
    ("no loop", {"redirector": {"config": {"HTTP_LOOPS": "0"}}}, "redirector.config.HTTP_LOOPS: Does not match pattern"),
    ("slugs that one service alone folds", {"redirector": {"config": {"SLUG_CASE": "exact"}}}, "SLUG_CASE must be the same"),
    ("more consumers than partitions", {"autoscaling": {"analyticsConsumer": {"max": 30}}}, "60 workers are more than the 12 partitions"),
    ("no authority of a store", {"authorities": "", "authorityKeys": {"kafka.pem": {"name": "a", "key": "b"}}}, "authorityKeys lack postgres.pem"),
    ("a scope of no token", {"kafka": {"scope": "api"}}, "kafka.scope: only OAUTHBEARER has one"),
    ("a request above the limit", {"redirector": {"resources": {"limits": {"memory": "100Mi"}}}}, "redirector.resources: the request of 544Mi memory is above its limit of 100Mi"),
    ("an address in an IPv6 network", {"kafka": {"network": {"cidrs": ["fd00:0:0:2::/63", "fd00:0:0:3::/63"]}}}, "kafka.network: fd00:0:0:3::/63 is an address in a network"),
    ("a network of too many groups", {"kafka": {"network": {"cidrs": ["1:2:3:4:5:6:7:8::/128"]}}}, "kafka.network: 1:2:3:4:5:6:7:8::/128 must be a network"),
    ("a peer of two kinds", {"kafka": {"network": {"peers": [{"ipBlock": {"cidr": "10.0.0.0/8"}, "podSelector": {}}]}}}, "kafka.network.peers.0: Must have at most 1 properties"),
    ("an exception from another network", {"kafka": {"network": {"peers": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16", "192.168.0.0/16"]}}]}}}, "192.168.0.0/16 must be a part of the network"),
    ("an hour that no day has", {"dayTwo": {"backup": {"schedule": "0 99 * * *"}}}, "dayTwo.backup.schedule: 0 99 * * * has a minute, hour"),
    ("a label with a space", {"linksApi": {"pods": {"labels": {"team": "links and more"}}}}, "linksApi.pods.labels.team: Does not match pattern"),
    ("a label of no name", {"pods": {"nodeSelector": {"/zone": "a"}}}, 'Property name of "/zone" does not match'),
    ("a mount of no volume", {"janitor": {"pods": {"extraVolumeMounts": [{"name": "geo", "mountPath": "/geo"}]}}}, "extraVolumeMounts of janitor: no volume is called geo"),
    ("a volume of a name that is taken", {"pods": {"extraVolumes": [{"name": "secrets", "emptyDir": {}}]}}, "the chart has a volume secrets itself"),
    ("a mount over another", {"pods": {"extraVolumes": [{"name": "a", "emptyDir": {}}], "extraVolumeMounts": [{"name": "a", "mountPath": "/run/secrets/waymark"}]}}, "two are at /run/secrets/waymark"),
    ("root", {"janitor": {"pods": {"securityContext": {"runAsUser": 0}}}}, "securityContext of janitor: runAsUser 0 contradicts runAsNonRoot"),
    ("the port of another protocol", {"tracing": {"endpoint": "http://otel:4317"}}, "tracing.endpoint: http://otel:4317 must be for OTLP over HTTP"),
    ("proxies that may not connect", {"networkPolicies": {"visitors": {"cidrs": ["10.99.0.0/24"], "peers": []}}}, "visitors lets none of trustedProxies connect"),
    ("a store outside of its network", {"redis": {"address": "10.77.1.4:6378"}}, "redis.network does not have the address 10.77.1.4:6378"),
    ("Jobs that a changed Secret would run", {"pods": {"annotations": {"reloader.stakater.com/auto": "true"}}}, "reloader.stakater.com/auto would run the Job at each change of a Secret"),
    ("a certificate that two Ingresses order", {"ingress": {host: {"tlsSecret": "one", "annotations": {"cert-manager.io/cluster-issuer": "le"}} for host in ("links", "api")}}, "cert-manager would write one for one of the two hosts"),
    ("certificates for http", {"hosts": {"scheme": "http"}}, "hosts.scheme: http contradicts ingress.links.tlsSecret"),
    ("two headers of addresses", {"redirector": {"config": {"CLIENT_IP_HEADER": "X-Real-IP"}}}, "config.CLIENT_IP_HEADER must be the same of redirector and linksApi"),
    ("places of one service only", {"redirector": {"config": {"GEOIP_DB": "/geo/city.mmdb"}}}, "config.GEOIP_DB must be the same of redirector and analyticsConsumer"),
    ("a Secret's key without the Secret", {"janitor": {"secretKeys": {"pg-url": {"key": "uri"}}}}, "janitor.secretKeys.pg-url: name is required"),
]


@pytest.mark.parametrize("values, words", [pytest.param(*case[1:], id=case[0]) for case in WRONG])
def test_helm_refuses(render, values, words):
    with pytest.raises(RuntimeError, match=re.escape(words)):
        render(values)


OWN = """
images: {registry: r.acme.io/waymark}
hosts: {links: ac.me, api: api.ac.me}
trustedProxies: [10.1.2.0/24]
postgres: {network: {cidrs: [10.2.0.0/24]}}
redis: {address: "redis.acme.io:6380", tls: client, network: {cidrs: [10.3.0.0/24]}}
kafka: {brokers: ["kafka.acme.io:9094"], mechanism: certificate, network: {cidrs: [10.4.0.0/24]}}
pods:
  securityContext: {runAsUser: null, runAsGroup: null, fsGroup: null}
  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Exists}]}]}}}
  topologySpreadConstraints: [{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule}]
  extraVolumes: [{name: own, configMap: {name: redirector}}]
  extraVolumeMounts: [{name: own, mountPath: /own, readOnly: true}]
networkPolicies: {enabled: false}
authorities: acme-authorities
ingress: {hosts: [links]}
topics: {enabled: false}
migrate: {enabled: false}
analyticsConsumer: {config: {GEOIP_DB: /own/city.mmdb, WORKERS: "4"}}
redirector: {secret: acme-redirector, config: {GEOIP_DB: /own/city.mmdb, OPERATOR_LOGO_FILE: /own/logo.svg}}
"""


def test_the_check_of_own_values_accepts_what_the_documents_name(tmp_path):
    file = tmp_path / "own.yaml"
    check = [tree.ROOT / "tools/lint/manifests", "--values", file]
    cases = [
        (OWN, 0, "valid"),
        (OWN + "linksApi: {config: {CORS_ORIGINS: '*'}}", 1, "CORS_ORIGINS"),
        (OWN + "kafka: {tls: true}", 1, "kafka is there twice"),
        ("images: registry: r.acme.io", 1, "own.yaml: mapping values are not allowed here"),
        (OWN + "linksApi: {config: {OPERATOR_LOGO_FILE: /elsewhere/logo.svg}}", 1, "OPERATOR_LOGO_FILE: no volume provides /elsewhere/logo.svg"),
        (OWN.replace("GEOIP_DB: /own/city.mmdb, OP", "GEOIP_DB: /own/city.mmdb, MEMORY_CACHE_BYTES: '4294967296', OP"), 1, "MiB of memory, but the limit is 672Mi"),
        (OWN.replace("mechanism: certificate", "mechanism: none, tls: false").replace("topics: {enabled: false}", "topics: {enabled: true}").replace('"4"', '"2"'), 0, "valid"),
    ]
    for values, status, words in cases:
        file.write_text(values)
        run = subprocess.run(check, capture_output=True, text=True)
        assert run.returncode == status and words in run.stdout, run.stdout + run.stderr
        assert "own.yaml: " in run.stdout or ("leads to links-api" in run.stderr and "leads to redirector" not in run.stderr)


# --- objects ---


def test_jobs_run_before_all_else_and_need_no_object_that_comes_later(default):
    hook = {"helm.sh/hook": "pre-install,pre-upgrade", "helm.sh/hook-delete-policy": "before-hook-creation"}
    earlier = {**hook, "helm.sh/hook-weight": "-1"}
    ours = {(thing["kind"], thing["metadata"]["name"]) for thing in default.things}
    policies = rendering.Rendering("", [each for each in default.all("NetworkPolicy") if each["metadata"].get("annotations") == earlier])
    for workload in (each for each in default.workloads if each.thing["kind"] == "Job"):
        # A Job topics that fails after a step back does not keep Argo CD from it.
        argocd = {"argocd.argoproj.io/hook": {"migrate": "PreSync", "topics": "Sync"}[workload.app], "argocd.argoproj.io/hook-delete-policy": "BeforeHookCreation"}
        assert workload.thing["metadata"]["annotations"] == hook | argocd
        named = {("Secret", v["secret"]["secretName"]) if "secret" in v else ("ConfigMap", v["configMap"]["name"]) for v in workload.pod["volumes"]}
        assert "serviceAccountName" not in workload.pod and not named & ours
        assert all("envFrom" not in container for container in workload.containers)
        (store,) = networks.NEEDS[workload.app]
        assert {each["metadata"]["name"] for each in networks.applying(policies, workload, "Egress")} == {"names-of-jobs", f"to-{store}-of-jobs"}


def test_a_digest_reaches_every_pod(default, render):
    digests = {name: f"sha256:{index:064x}" for index, name in enumerate(sorted(tree.images()))}

    def images(rendered):
        return [container["image"] for workload in rendered.workloads for container in workload.containers]

    before, after = images(default), images(render({"images": {"digests": digests}}))
    assert after == [f"{image}@{digests[re.search('waymark/([a-z-]+):', image)[1]]}" for image in before]


def test_the_ports_of_the_stores_are_those_of_their_addresses(render):
    values = {"kafka": {"brokers": ["a.example:9094", "b.example:9095", "[fd00::1]:9094"]}, "redis": {"address": "redis.example:7000"}, "postgres": {"ports": [5432, 6432]}}
    rendered = render(values)
    opened = {name: networks.ports_of(rendered.find("NetworkPolicy", f"to-{name}")["spec"]["egress"]) for name in ("kafka", "redis", "postgres", "postgres-of-jobs")}
    assert opened == {"kafka": {9094, 9095}, "redis": {7000}, "postgres": {5432, 6432}, "postgres-of-jobs": {5432, 6432}}


def test_a_value_reaches_its_variable_whatever_yaml_means_by_it(render):
    kafka = {"brokers": ["[fd00::1]:9094", "b.example:9095"], "users": {"redirector": "0012", "links-api": "12345678"}, "scope": "api: kafka #x", "mechanism": "OAUTHBEARER", "tokenUrl": "https://id.example"}
    rendered = render({"kafka": kafka, "region": "010", "ingress": {"className": "1"}, "linksApi": {"config": {"OWN_HOSTS": "www.sho.rt"}}})
    env = {each.app: programs.environment(rendered, each.containers[-1])[0] for each in rendered.workloads}
    wanted = {"KAFKA_BROKERS": "[fd00::1]:9094,b.example:9095", "KAFKA_SASL_USERNAME": "0012", "KAFKA_SASL_SCOPE": "api: kafka #x", "REGION": "010"}
    assert wanted.items() <= env["redirector"].items() and env["links-api"]["KAFKA_SASL_USERNAME"] == "12345678"
    assert rendered.find("Ingress", "redirector")["spec"]["ingressClassName"] == "1"
    assert env["links-api"]["OWN_HOSTS"] == "api.sho.rt,www.sho.rt"


def secrets_of(rendered, kind, name):
    pod = rendered.find(kind, name)["spec"]
    pod = (pod["jobTemplate"]["spec"] if kind == "CronJob" else pod)["template"]["spec"]
    (volume,) = (each for each in pod["volumes"] if each["name"] == "secrets")
    return [source["secret"] for source in volume["projected"]["sources"]] if "projected" in volume else [volume["secret"]]


def test_keys_of_other_secrets_replace_the_own_one_or_are_beside_it(render):
    taken = {"name": "waymark-app", "items": [{"key": "uri", "path": "pg-url"}]}
    keys = {"pg-url": {"name": "waymark-app", "key": "uri"}}
    rendered = render({"janitor": {"secret": "janitor", "secretKeys": keys}, "migrate": {"secretKeys": keys}})
    assert secrets_of(rendered, "Deployment", "janitor") == [{"name": "janitor"}, taken]
    assert secrets_of(rendered, "CronJob", "backup") == [taken]
    # It has the logins of links-api, and none of the owner's.
    assert [each["secretName"] for each in secrets_of(rendered, "CronJob", "republish-links")] == ["links-api"]


def test_pods_read_the_config_map_of_authorities_only_for_what_no_secret_has(render):
    authority = {"name": "cas", "key": "ca.crt"}
    two, three = ({f"{store}.pem": authority for store in stores} for stores in (("postgres", "kafka"), ("postgres", "kafka", "redis")))

    def config_maps(values):
        volumes = [each for workload in render(values).workloads for each in workload.pod["volumes"] if each["name"] == "authorities"]
        return {source["configMap"]["name"] for each in volumes for source in each["projected"]["sources"] if "configMap" in source}

    assert config_maps({"authorityKeys": two}) == {"authorities"} and config_maps({"authorityKeys": three}) == set()
    assert config_maps({"authorityKeys": two, "authorities": "", "redis": {"tls": "none"}}) == set()


def test_secrets_and_authorities_may_have_names_of_the_sites_own(render):
    volume = {"name": "pages", "configMap": {"name": "our-pages"}}
    rendered = render({"janitor": {"secret": "wm-janitor"}, "authorities": "cas", "redirector": {"pods": {"extraVolumes": [volume]}}})
    assert list(references.check_named(rendered)) == []


def test_a_host_has_a_route_of_its_own_kind(render):
    rendered = render({"ingress": {"hosts": ["links"]}, "gateway": {"hosts": ["api"]}})
    assert [each["metadata"]["name"] for each in rendered.all("Ingress")] == ["redirector"]
    (route,) = rendered.all("HTTPRoute")
    assert (route["spec"]["hostnames"], route["spec"]["rules"][0]["timeouts"]) == (["api.sho.rt"], {"request": "0s"})


def test_each_program_of_kafka_shows_its_certificate(render):
    programs_of_kafka = [each for each in render({"kafka": {"mechanism": "certificate"}}).workloads if each.app in networks.NEEDS and "kafka" in networks.NEEDS[each.app]]
    assert {each.app for each in programs_of_kafka} == {"redirector", "links-api", "analytics-consumer", "topics", "republish-links"}
    for workload in programs_of_kafka:
        env = {each["name"]: each.get("value") for each in workload.containers[-1]["env"]}
        assert env["KAFKA_SECURITY_PROTOCOL"] == "ssl" and not [name for name in env if "SASL" in name]
        folders = {mount["mountPath"]: mount["name"] for mount in workload.containers[-1]["volumeMounts"]}
        for name in ("KAFKA_SSL_CERTIFICATE_FILE", "KAFKA_SSL_KEY_FILE"):
            assert folders[env[name].rpartition("/")[0]] == "secrets"


def test_a_longer_notice_gives_pods_more_time_to_end(render):
    config = {"config": {"DRAIN_NOTICE_MS": "12000"}}
    found = render({"redirector": config, "linksApi": config})
    grace = {each.name: each.pod["terminationGracePeriodSeconds"] for each in found.workloads if each.name in ("redirector", "links-api")}
    assert grace == {"redirector": 52, "links-api": 37}


@pytest.mark.parametrize("url, port", [("https://id.example/token", 443), ("http://id.example/token", 80), ("https://id.example:8443/token", 8443)])
def test_programs_of_kafka_reach_the_provider_of_their_tokens(render, url, port):
    rendered = render({"kafka": {"mechanism": "OAUTHBEARER", "tokenUrl": url}})
    of_tokens, of_kafka = (rendered.find("NetworkPolicy", name)["spec"] for name in ("to-kafka-tokens", "to-kafka"))
    assert networks.ports_of(of_tokens["egress"]) == {port} and of_tokens["podSelector"] == of_kafka["podSelector"]


def test_annotations_of_pods_win_and_defaults_of_the_gateway_are_written_out(render):
    rendered = render({"pods": {"annotations": {"prometheus.io/scrape": "false"}}, "gateway": {"hosts": ["links"], "parentRefs": [{"name": "x"}]}})
    assert {each.metadata["annotations"]["prometheus.io/scrape"] for each in rendered.workloads} == {"false"}
    assert rendered.all("HTTPRoute")[0]["spec"]["parentRefs"] == [{"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "x"}]


def test_a_job_that_is_off_has_no_policy(render):
    policies = {each["metadata"]["name"] for each in render({"migrate": {"enabled": False}}).all("NetworkPolicy")}
    assert {name for name in policies if name.endswith("-of-jobs")} == {"names-of-jobs", "to-kafka-of-jobs"}


def test_without_policies_and_cron_jobs_there_is_none(render):
    rendered = render({"networkPolicies": {"enabled": False}, "dayTwo": {"enabled": False}})
    assert not rendered.all("NetworkPolicy") and not rendered.all("CronJob")


def test_a_changed_file_of_stunnel_replaces_the_pods_that_read_it_and_no_others(default, render):
    rendered = render({"redis": {"certificateName": "other.example"}})
    changed = [workload.app for workload, old in zip(rendered.workloads, default.workloads, strict=True) if workload.thing != old.thing]
    assert sorted(changed) == ["links-api", "redirector"]


def test_alerts_of_a_namespace_leave_out_the_series_of_others(default, tmp_path):
    """Tests of rules that read the whole installation, beside a healthy one in another namespace."""
    (tmp_path / "rules.yml").write_text(yaml.safe_dump(default.find("PrometheusRule", "waymark")["spec"]))
    healthy = [f'up{{job="{service}",namespace="staging"}}' for service in SERVICES.values()] + ['waymark_outbox_relay_active{namespace="staging"}']
    failures, tasks = (yaml.safe_load((tree.ROOT / f"deploy/prometheus/tests/{name}_test.yml").read_text())["tests"] for name in ("failures", "tasks"))
    tests = [test for test in failures if re.match("Waymark(ServiceMissing|OutboxRelayMissing) fires", test["name"])] + tasks[:1]
    for test in tests:
        for each in test["input_series"]:
            each["series"] = each["series"].replace("}", ',namespace="waymark"}') if "}" in each["series"] else f'{each["series"]}{{namespace="waymark"}}'
        test["input_series"] += [{"series": series, "values": "1x300"} for series in healthy]
    (tmp_path / "test.yml").write_text(yaml.safe_dump({"rule_files": ["rules.yml"], "evaluation_interval": "1m", "tests": tests}))
    run = subprocess.run(["promtool", "test", "rules", tmp_path / "test.yml"], capture_output=True, text=True)
    assert len(tests) >= 3 and run.returncode == 0, run.stdout + run.stderr


def test_an_alert_leads_to_the_runbook_of_its_own_installation(default):
    rules = {rule["alert"]: rule for group in default.find("PrometheusRule", "waymark")["spec"]["groups"] for rule in group["rules"] if "alert" in rule}
    assert rules["WaymarkNotReady"]["labels"]["namespace"] == "waymark"
    assert rules["WaymarkNotReady"]["annotations"]["runbook_url"].endswith("{{ else }}https://api.sho.rt/docs/runbook/WaymarkNotReady{{ end }}")


def test_a_package_has_the_rules_and_a_copy_without_them_says_so(default, tmp_path):
    subprocess.run([rendering.HELM, "package", tree.CHART, f"--destination={tmp_path}"], check=True, capture_output=True)
    (package,) = tmp_path.glob("waymark-*.tgz")
    command = [rendering.HELM, "template", "waymark", "--namespace=waymark", "--kube-version=1.30", "--set=samples=true"]
    text = subprocess.run([*command, package], check=True, capture_output=True, text=True).stdout
    assert [thing for thing in yaml.load_all(text, Loader=yaml.CSafeLoader) if thing] == default.things
    shutil.copytree(tree.CHART, tmp_path / "copy", symlinks=True, ignore=lambda _, names: {"files"} & set(names))
    run = subprocess.run([*command, tmp_path / "copy"], capture_output=True, text=True)
    assert run.returncode and "this copy of the chart lacks files/objectives.yml, a symbolic link: take a package" in run.stderr
