"""The Helm chart in a namespace of its own, once with each set of values with which it is checked, and the stores of overlay local,
which speak TLS where the set wants it. Kafka then wants a certificate of its clients."""

import json
import os
import subprocess
import types

import pytest
import yaml

from clients import CHROME, unique_email
from cluster_under_test import TIMEOUT_S
from clusterlib import images
from clusterlib.waymark import OVERLAY
from manifestlib import rendering, tree
from network_namespace import Api, ask
from waiting import wait_until

NAMESPACE = "charted"
ONE = {"min": 1, "max": 2}
# What the sets name and this cluster lacks: kinds of operators, which no operator acts on here, and priorities.
KINDS = {
    "scaledobjects.keda.sh": ("ScaledObject", "v1alpha1"), "httproutes.gateway.networking.k8s.io": ("HTTPRoute", "v1"),
    "podmonitors.monitoring.coreos.com": ("PodMonitor", "v1"), "prometheusrules.monitoring.coreos.com": ("PrometheusRule", "v1"),
}  # fmt: skip
PRIORITIES = ("business", "visitors")
# Keys of Secrets for what only some sets switch on, and Secrets that the sets name.
MORE_KEYS = {"janitor": ["smtp-url=smtps://name:word@mail.example.com"]}
MORE_SECRETS = {"oidc": ['oidc.json={"providers": []}'], "waymark-redirector": ["uri=postgresql://redirector:local@postgres/waymark"]}


def store(name, **values):
    return {"network": {"cidrs": [], "peers": [{"podSelector": {"matchLabels": {"waymark.dev/store": name}}}]}, **values}


# In each set, the addresses of this cluster in place of its own.
HERE = {
    "samples": True,
    "images": {"registry": "localhost/waymark", "digests": None, "pullPolicy": "Never"},
    "hosts": {"scheme": "http"},
    "ingress": {"links": {"tlsSecret": ""}, "api": {"tlsSecret": ""}},
    "trustedProxies": ["10.244.0.0/16"],
    "postgres": store("postgres", ports=[5432]),
    "redis": store("redis", address="redis:6379", certificateName="redis"),
    "kafka": store("kafka", brokers=["kafka:9092"], mechanism="certificate"),
    "journal": {"storage": "3Gi", "maxBytes": "2147483648"},
    "autoscaling": {"redirector": ONE, "linksApi": ONE, "analyticsConsumer": ONE},
    "linksApi": {"config": {"REGISTRATION": "open"}},
    "topics": {"config": {"TOPICS_REPLICATION": "1", "TOPICS_MIN_INSYNC": "1"}},
}
PLAIN = {"postgres": {"tls": False}, "redis": {"tls": "none"}, "kafka": {"tls": False, "mechanism": "none"}}
# The edge is on the network of the pods. Its namespace has the label that the other sets ask for.
OF_SET = {"default": {}, "narrow": PLAIN | {"networkPolicies": {"visitors": {"cidrs": ["10.244.0.0/16"]}}}, "managed": PLAIN}
# How the stores speak TLS.
CERTIFICATE = "/run/certificate"
KEY, CHAIN = f"{CERTIFICATE}/tls.key", f"{CERTIFICATE}/tls.crt"
ENCRYPTED = {
    "postgres": {"args": ["-c", "ssl=on", "-c", f"ssl_cert_file={CHAIN}", "-c", f"ssl_key_file={KEY}"]},
    "redis": {"args": ["--port", "0", "--tls-port", "6379", "--tls-auth-clients", "no", "--tls-cert-file", CHAIN, "--tls-key-file", KEY]},
    "kafka": {
        "LISTENERS": "SSL://:9092,CONTROLLER://127.0.0.1:9093", "ADVERTISED_LISTENERS": "SSL://kafka:9092",
        "LISTENER_SECURITY_PROTOCOL_MAP": "SSL:SSL,CONTROLLER:PLAINTEXT", "INTER_BROKER_LISTENER_NAME": "SSL", "SSL_KEYSTORE_TYPE": "PEM",
        "SSL_KEYSTORE_LOCATION": f"{CERTIFICATE}/both.pem", "SSL_TRUSTSTORE_TYPE": "PEM", "SSL_TRUSTSTORE_LOCATION": CHAIN, "SSL_CLIENT_AUTH": "required",
    },
}  # fmt: skip


def crd(name):
    kind, version = KINDS[name]
    plural, _, group = name.partition(".")
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": name, "annotations": {"api-approved.kubernetes.io": "unapproved, for a test"}},
        "spec": {
            "group": group, "scope": "Namespaced", "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
            "versions": [{"name": version, "served": True, "storage": True, "schema": schema}],
        },
    }  # fmt: skip


def priority(name):
    return {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": 1}


def apply(cluster, *things):
    cluster.node.kubectl("apply", "-f", "-", input=yaml.safe_dump_all(things))


def make_certificate(folder):
    """One for all stores and all clients of Kafka, which signs itself."""
    key, certificate = folder / "tls.key", folder / "tls.crt"
    names = "subjectAltName=DNS:postgres,DNS:redis,DNS:kafka"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-noenc", "-days", "2", "-subj", "/CN=stores", "-addext", names]
    subprocess.run([*command, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    (folder / "both.pem").write_text(key.read_text() + certificate.read_text())


def encrypted(name):
    """A patch by which a store speaks TLS."""
    settings = ENCRYPTED[name]
    more = settings if "args" in settings else {"env": [{"name": f"KAFKA_{key}", "value": value} for key, value in settings.items()]}
    container = {"name": name, "volumeMounts": [{"name": "certificate", "mountPath": CERTIFICATE, "readOnly": True}], **more}
    volume = {"name": "certificate", "secret": {"secretName": "certificate", "defaultMode": 0o440}}
    spec = {"template": {"spec": {"containers": [container], "volumes": [volume]}}}
    return {"patch": json.dumps({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": name}, "spec": spec})}


def apply_stores(cluster, folder, has_tls):
    """The stores and Secrets of overlay local, under names without a hash."""
    make_certificate(folder)
    secrets = [*yaml.safe_load((OVERLAY / "kustomization.yaml").read_text())["secretGenerator"], {"name": "topics", "literals": []}]
    for secret in secrets:
        secret["literals"] += MORE_KEYS.get(secret["name"], [])
        if has_tls:  # redis-url leads to stunnel
            secret["literals"] = [each.replace("redis://redis:", "redis://127.0.0.1:") for each in secret["literals"]]
            secret["files"] = ["kafka.crt=tls.crt", "kafka.key=tls.key"]
    secrets += [{"name": name, "literals": literals} for name, literals in MORE_SECRETS.items()]
    secrets.append({"name": "certificate", "files": ["tls.crt", "tls.key", "both.pem"]})
    kustomization = {
        "namespace": NAMESPACE, "resources": [os.path.relpath(OVERLAY / "stores", folder)], "patches": [encrypted(name) for name in ENCRYPTED if has_tls],
        "secretGenerator": secrets, "configMapGenerator": [{"name": "authorities", "files": [f"{name}.pem=tls.crt" for name in ENCRYPTED]}],
        "generatorOptions": {"disableNameSuffixHash": True},
    }  # fmt: skip
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(kustomization))
    cluster.node.kubectl("apply", "-k", folder)
    for name in ENCRYPTED:
        cluster.node.kubectl("-n", NAMESPACE, "rollout", "status", f"statefulset/{name}", f"--timeout={TIMEOUT_S}s")


@pytest.fixture
def namespace(cluster):
    cluster.node.load_images([images.archive("stunnel", [f"localhost/waymark/stunnel:{tree.version()}"])])
    cluster.node.kubectl("label", "nodes", "--all", "pool=waymark", "--overwrite")
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    own = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": labels}}
    apply(cluster, own, *map(crd, KINDS), *map(priority, PRIORITIES))
    for name in KINDS:
        cluster.node.kubectl("wait", "--for=condition=Established", f"crd/{name}", f"--timeout={TIMEOUT_S}s")
    yield
    cluster.node.kubectl("delete", "namespace", NAMESPACE, f"--timeout={TIMEOUT_S}s")


def helm(cluster, *arguments):
    run = cluster.node.run(rendering.HELM, *arguments, f"--namespace={NAMESPACE}", check=False)
    assert run.returncode == 0, run.stderr + cluster.node.kubectl("-n", NAMESPACE, "get", "pods,events").stdout
    return run.stdout


def region_of(cluster):
    """The variable REGION of the redirectors."""
    (container,) = cluster.get("statefulset", "redirector", namespace=NAMESPACE)["spec"]["template"]["spec"]["containers"]
    return [each.get("value") for each in container["env"] if each["name"] == "REGION"]


def address_of(cluster, service):
    return cluster.get("service", service, namespace=NAMESPACE)["spec"]["clusterIP"]


@pytest.mark.parametrize("values", tree.VALUES)
def test_a_click_is_counted_in_an_installation_by_helm(cluster, namespace, values, tmp_path):
    apply_stores(cluster, tmp_path, OF_SET[values] == {})
    (tmp_path / "here.yaml").write_text(yaml.safe_dump(HERE))
    (tmp_path / "set.yaml").write_text(yaml.safe_dump(OF_SET[values]))
    files = [f"--values={path}" for path in (*tree.VALUES[values], tmp_path / "here.yaml", tmp_path / "set.yaml")]
    install = ["upgrade", "--install", "waymark", tree.CHART, *files, "--wait", f"--timeout={TIMEOUT_S}s"]
    helm(cluster, *install)

    hosts = yaml.safe_load(helm(cluster, "get", "values", "waymark", "--all", "--output=yaml"))["hosts"]
    edge = types.SimpleNamespace(pid=next(iter(cluster.processes(cluster.edge_pod()))))
    user = Api(edge, address_of(cluster, "links-api"), hosts["api"])
    user.register_and_login(unique_email())
    link = user.create()
    visitor = {"Host": hosts["links"], "X-Forwarded-For": "198.51.100.7", "User-Agent": CHROME}
    assert ask(edge.pid, address_of(cluster, "redirector"), "GET", f"/{link['slug']}", visitor).status == 302
    user.wait_for_visits(link["id"], 1)

    # Redirects go on without Redis, so only the metric knows whether stunnel reaches it.
    for pod in [*cluster.pods("redirector", NAMESPACE), *cluster.pods("links-api", NAMESPACE)]:
        wait_until(lambda pod=pod: cluster.metric(pod, "waymark_redis_reachable") == 1, f"Redis, for {pod['metadata']['name']}")

    # The Jobs of docs/recovery.md reach the stores that they need.
    cluster.run_job("rebuild-stats", NAMESPACE)
    assert "links again" in cluster.run_job("republish-links", NAMESPACE)

    # The hooks run again, now within the policies, and a rollback brings the variables back.
    before = region_of(cluster)
    helm(cluster, *install, "--set=region=other", "--set-json=redirector.pods.extraEnv=[]")
    assert region_of(cluster) == ["other"]
    helm(cluster, "rollback", "waymark", "1", "--wait", f"--timeout={TIMEOUT_S}s")
    assert region_of(cluster) == before
    user.wait_for_visits(link["id"], 1)
    helm(cluster, "uninstall", "waymark", "--wait", f"--timeout={TIMEOUT_S}s")
