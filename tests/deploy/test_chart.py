"""deploy/charts/waymark renders the objects of overlay production, and each of its values reaches them or is refused.

tools/lint/manifests checks what it renders with its default values and with the files of its folder ci."""

import copy
import json
import re
import shutil
import subprocess

import pytest
import yaml

from manifestlib import networks, programs, rendering, tree

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
        (tmp_path / "values.yaml").write_text(yaml.safe_dump(values))
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
    # It exists before a release does; and the rules are files beside the overlay.
    assert set(found) - set(wanted) == {"PrometheusRule/waymark"} and set(wanted) - set(found) == {"Namespace/waymark"}
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


ON = {"gateway": {"enabled": True}, "kafka": {"tokenUrl": "https://id.example"}, "dayTwo": {"backup": {"enabled": True}}} | {name: {"enabled": True} for name in ("mail", "destinationChecks", "pageTitles", "singleSignOn", "tracing")}
OTHER_NETWORK = {"cidrs": ["10.9.0.0/16"], "peers": []}
# Values that are valid and not the defaults, by the end of the path.
OTHERS = {
    "images.registry": "registry.acme.example:5000/w", "images.digests": {"janitor": f"sha256:{'1' * 64}"}, "images.pullSecrets": ["registry"],
    "hosts.links": "ac.me", "hosts.api": "api.ac.me", "trustedProxies": ["10.1.0.0/16"], "kafka.brokers": ["a.example:9094"], "redis.address": "r.example:7000",
    "network": OTHER_NETWORK, "tokenNetwork": OTHER_NETWORK, "visitors": OTHER_NETWORK, "metrics": OTHER_NETWORK, "dns": OTHER_NETWORK,
    "backup.schedule": "0 1 * * 0", "backup.keep": "7", "backup.storage": "3Gi",
    "journal.storage": "4Ti", "journal.maxBytes": "1073741824",
    "mail.ports": [2525], "tracing.endpoint": "http://otel.example:4319", "gateway.parentRefs": [{"name": "other"}],
    "users": {name: "other" for name in ("redirector", "links-api", "analytics-consumer", "topics")},
    "annotations": {"a": "b"}, "labels": {"a": "b"}, "nodeSelector": {"a": "b"}, "tolerations": [{"key": "a", "operator": "Exists"}], "affinity": {"nodeAffinity": {}},
    "topologySpreadConstraints": [{"maxSkew": 2, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule"}],
    "extraEnv": [{"name": "A", "value": "b"}], "extraEnvFrom": [{"secretRef": {"name": "a"}}], "securityContext": {"runAsUser": 70000},
    "extraVolumes": [{"name": "a", "emptyDir": {}}], "extraVolumeMounts": [{"name": "a", "mountPath": "/a"}],
    "secretKeys": {"pg-url": {"name": "a", "key": "b"}, "kafka-password": {"name": "a", "key": "c"}}, "config": {}, "resources": {"requests": {"cpu": "3"}},
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
    if path != "global" and not re.search(r"\.(cidrs|peers|lag|pods\..*)$", path) and ("properties" not in schema or path.endswith(("network", "tokenNetwork")))
]  # fmt: skip


def test_each_value_changes_an_object(render):
    before = {mode: render(ON | {"autoscaling": {"by": mode}}).things for mode in ("keda", "cpu")}
    same = []
    for path, schema in LEAVES:
        mode = "cpu" if path.endswith("cpuPercent") else "keda"
        if render(merged(ON | {"autoscaling": {"by": mode}}, path, other(path, schema))).things == before[mode]:
            same.append(path)
    assert same == []


def test_pods_of_a_component_win_over_those_of_all(render):
    others = {name: other(f"pods.{name}", POD[name]) for name in POD}
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
    "HTTP_PORT", "OPS_PORT", "DRAIN_NOTICE_MS", "DRAIN_MS", "JOURNAL_DIR", "HEALTH_URLS",
    "PG_URL", "REDIS_URL", "JWT_SECRET", "KAFKA_SASL_PASSWORD", "SMTP_URL",
}  # fmt: skip


@pytest.mark.parametrize("component", COMPONENTS)
def test_a_component_accepts_the_variables_of_its_program(component):
    """If this fails, values.schema.json lacks a new variable or has one that is gone."""
    name = COMPONENTS[component]
    allowed = SCHEMA["properties"][component]["allOf"][1]["properties"]["config"]["propertyNames"]["enum"]
    of_libraries = set() if name == "topics" else programs.OF_LIBRARIES
    assert set(allowed) == set(programs.table(programs.PROGRAMS[name])) - SET_ELSEWHERE | of_libraries


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
    ("a network that does not exist", {"postgres": {"network": {"cidrs": ["10.1.0.0/24", "10.300.0.0/33"]}}}, "postgres.network.cidrs: 10.300.0.0/33 must be a network"),
    ("an address as a network", {"networkPolicies": {"dns": {"cidrs": ["10.1.0.1"]}}}, "networkPolicies.dns.cidrs: 10.1.0.1 must be a network"),
    ("no network", {"kafka": {"network": {"cidrs": []}}}, "kafka.network: name a network in cidrs or a peer in peers"),
    ("at least more pods than at most", {"autoscaling": {"redirector": {"min": 30}}}, "autoscaling: min (30) of redirector is more than max (20)"),
    ("a claim as large as the journal", {"journal": {"storage": "16Gi"}}, "journal.storage: 16Gi has no room"),
    ("a certificate without TLS", {"kafka": {"mechanism": "certificate", "tls": False}}, "kafka.mechanism: certificate needs kafka.tls"),
    ("a Secret's key without the Secret", {"janitor": {"secretKeys": {"pg-url": {"key": "uri"}}}}, "janitor.secretKeys.pg-url: name is required"),
]


@pytest.mark.parametrize("values, words", [pytest.param(*case[1:], id=case[0]) for case in WRONG])
def test_helm_refuses(render, values, words):
    with pytest.raises(RuntimeError, match=re.escape(words)):
        render(values)


# --- objects ---


def test_jobs_run_before_all_else_and_read_no_object_of_the_chart(default):
    ours = {(thing["kind"], thing["metadata"]["name"]) for thing in default.things}
    for job in default.all("Job"):
        assert job["metadata"]["annotations"] == {
            "helm.sh/hook": "pre-install,pre-upgrade", "helm.sh/hook-delete-policy": "before-hook-creation",
            "argocd.argoproj.io/hook": "PreSync", "argocd.argoproj.io/hook-delete-policy": "BeforeHookCreation",
        }  # fmt: skip
        pod = job["spec"]["template"]["spec"]
        named = {("Secret", v["secret"]["secretName"]) if "secret" in v else ("ConfigMap", v["configMap"]["name"]) for v in pod["volumes"]}
        assert "serviceAccountName" not in pod and not named & ours
        assert all("envFrom" not in container for container in pod["containers"])


def test_a_digest_reaches_every_pod(default, render):
    digests = {name: f"sha256:{index:064x}" for index, name in enumerate(sorted(tree.images()))}

    def images(rendered):
        return [container["image"] for workload in rendered.workloads for container in workload.containers]

    before, after = images(default), images(render({"images": {"digests": digests}}))
    assert after == [f"{image}@{digests[re.search('waymark/([a-z-]+):', image)[1]]}" for image in before]


def test_the_ports_of_the_stores_are_those_of_their_addresses(render):
    values = {"kafka": {"brokers": ["a.example:9094", "b.example:9095", "[fd00::1]:9094"]}, "redis": {"address": "redis.example:7000"}, "postgres": {"port": 6432}}
    rendered = render(values)
    opened = {store: networks.ports_of(rendered.find("NetworkPolicy", f"to-{store}")["spec"]["egress"]) for store in ("kafka", "redis", "postgres")}
    assert opened == {"kafka": {9094, 9095}, "redis": {7000}, "postgres": {6432}}


def test_keys_of_other_secrets_are_beside_those_of_the_own_one(render):
    rendered = render({"janitor": {"secretKeys": {"pg-url": {"name": "waymark-app", "key": "uri"}}}})
    (volume,) = (each for each in rendered.find("Deployment", "janitor")["spec"]["template"]["spec"]["volumes"] if each["name"] == "secrets")
    own, taken = (source["secret"] for source in volume["projected"]["sources"])
    assert (own, taken) == ({"name": "janitor"}, {"name": "waymark-app", "items": [{"key": "uri", "path": "pg-url"}]})


def test_each_program_of_kafka_shows_its_certificate(render):
    programs_of_kafka = [each for each in render({"kafka": {"mechanism": "certificate"}}).workloads if each.app in networks.NEEDS and "kafka" in networks.NEEDS[each.app]]
    assert {each.app for each in programs_of_kafka} == {"redirector", "links-api", "analytics-consumer", "topics", "republish-links"}
    for workload in programs_of_kafka:
        env = {each["name"]: each.get("value") for each in workload.containers[-1]["env"]}
        assert env["KAFKA_SECURITY_PROTOCOL"] == "ssl" and not [name for name in env if "SASL" in name]
        folders = {mount["mountPath"]: mount["name"] for mount in workload.containers[-1]["volumeMounts"]}
        for name in ("KAFKA_SSL_CERTIFICATE_FILE", "KAFKA_SSL_KEY_FILE"):
            assert folders[env[name].rpartition("/")[0]] == "secrets"


@pytest.mark.parametrize("url, port", [("https://id.example/token", 443), ("http://id.example/token", 80), ("https://id.example:8443/token", 8443)])
def test_programs_of_kafka_reach_the_provider_of_their_tokens(render, url, port):
    rendered = render({"kafka": {"mechanism": "OAUTHBEARER", "tokenUrl": url}})
    of_tokens, of_kafka = (rendered.find("NetworkPolicy", name)["spec"] for name in ("to-kafka-tokens", "to-kafka"))
    assert networks.ports_of(of_tokens["egress"]) == {port} and of_tokens["podSelector"] == of_kafka["podSelector"]


def test_without_policies_there_is_none(render):
    assert not render({"networkPolicies": {"enabled": False}}).all("NetworkPolicy")


def test_a_changed_file_of_stunnel_replaces_the_pods_that_read_it_and_no_others(default, render):
    rendered = render({"redis": {"certificateName": "other.example"}})
    changed = [workload.app for workload, old in zip(rendered.workloads, default.workloads, strict=True) if workload.thing != old.thing]
    assert sorted(changed) == ["links-api", "redirector"]


def test_a_package_has_the_rules_and_a_copy_without_them_says_so(default, tmp_path):
    subprocess.run([rendering.HELM, "package", tree.CHART, f"--destination={tmp_path}"], check=True, capture_output=True)
    (package,) = tmp_path.glob("waymark-*.tgz")
    command = [rendering.HELM, "template", "waymark", "--namespace=waymark", "--kube-version=1.30"]
    text = subprocess.run([*command, package], check=True, capture_output=True, text=True).stdout
    assert [thing for thing in yaml.load_all(text, Loader=yaml.CSafeLoader) if thing] == default.things
    shutil.copytree(tree.CHART, tmp_path / "copy", symlinks=True, ignore=lambda _, names: {"files"} & set(names))
    run = subprocess.run([*command, tmp_path / "copy"], capture_output=True, text=True)
    assert run.returncode and "this copy of the chart lacks files/objectives.yml, a symbolic link: take a package" in run.stderr
