"""The Helm chart renders the objects of overlay production, and each of its values reaches them."""

import json
import pathlib
import re
import subprocess

import pytest
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
from manifestlib import chart, networks, programs, references, rendering, restricted, tree

HELM = tree.cache() / "helm/helm"
TEMPLATE = [HELM, "template", "waymark", "--namespace=waymark", "--kube-version=1.30"]
if not all(path.exists() for path in [*rendering.TOOLS, HELM]):
    pytest.skip("kustomize, kubeconform, kube-score or helm is missing: tools/setup test", allow_module_level=True)

# All but those that know the names of ConfigMaps and Jobs which kustomize generates.
CHECKS = (restricted, references, networks)
HASH = re.compile("-[0-9a-z]{10}$")
MARK = "changed"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    written = tmp_path_factory.mktemp("chart")
    subprocess.run([ROOT / "tools/chart", written], check=True)
    return written


def helm(folder, values, tmp_path):
    (tmp_path / "values.yaml").write_text(yaml.safe_dump(values))
    return subprocess.run([*TEMPLATE, folder, f"--values={tmp_path}/values.yaml"], capture_output=True, text=True)


def render(folder, values, tmp_path):
    run = helm(folder, values, tmp_path)
    assert run.returncode == 0, run.stderr
    return rendering.Rendering("chart", [thing for thing in yaml.load_all(run.stdout, Loader=yaml.CSafeLoader) if thing])


@pytest.fixture(scope="module")
def default(folder, tmp_path_factory):
    return render(folder, {}, tmp_path_factory.mktemp("default"))


@pytest.fixture(scope="module")
def overlay():
    return rendering.render(chart.SOURCE)


def comparable(rendered, hashed):
    """Objects by kind and name, without the hashes in the names of these kinds and without what Helm alone reads."""
    text = yaml.dump_all(rendered.things, Dumper=yaml.CSafeDumper, width=100000)
    for name in {thing["metadata"]["name"] for kind in hashed for thing in rendered.all(kind)}:
        assert HASH.search(name), name
        text = re.sub(rf"\bname: {re.escape(name)}$", "name: " + HASH.sub("", name), text, flags=re.M)
    text = re.sub(r"^  annotations:\n    helm.sh/resource-policy: keep\n", "", text, flags=re.M)
    return {rendering.name_of(thing): thing for thing in yaml.load_all(text, Loader=yaml.CSafeLoader)}


def test_the_chart_renders_the_objects_of_the_overlay(default, overlay):
    found, wanted = comparable(default, ["ConfigMap", "Job"]), comparable(overlay, ["ConfigMap"])
    rule = chart.prometheus_rule()
    wanted |= {rendering.name_of(rule): rule}
    assert set(found) == set(wanted) - {"Namespace/waymark"}
    assert [name for name in found if found[name] != wanted[name]] == []


def test_no_sample_is_left_in_a_template(folder):
    left = [path.name for path in folder.glob("templates/*") if re.search(r"example\.com|sho\.rt|192\.0\.2\.|waymark\.svc", path.read_text())]
    assert left == []


# Other values that the schema and the checks accept, where these want a form.
OTHERS = {
    "hosts.api": "api.changed.example",
    "hosts.links": "links.changed.example",
    "kafka.brokers": "kafka.changed.example:9094",
    "redis.address": "redis.changed.example:7000",
    "networks.postgres": "10.1.1.0/24",
    "networks.redis": "10.1.2.0/24",
    "networks.kafka": "fd00::1:0/112",
    "networks.proxies": "10.1.4.0/24,fd00::/64, 10.1.5.6",
    "journal.maxBytes": "1073741824",
    "journal.storage": "4Ti",
}


def changed(value, path):
    """Another value of the same type, which no overlay has."""
    if path in OTHERS:
        return OTHERS[path]
    if isinstance(value, dict):
        return {MARK: f"{MARK}-{path}"} if path.startswith("resources.") else {key: changed(each, f"{path}.{key}") for key, each in value.items()}
    if path.startswith("images.digests."):
        return "sha256:" + path.encode().hex().zfill(64)[-64:]
    return {str: f"{MARK}-{path}", bool: True, int: sum(map(ord, path)), list: [{"name": f"{MARK}-{path}"}]}[type(value)]


def leaves(value, path=""):
    if isinstance(value, dict) and value and MARK not in value:
        for key, each in value.items():
            yield from leaves(each, f"{path}.{key}".lstrip("."))
    elif not isinstance(value, bool):
        yield path, value


def test_each_value_reaches_an_object(folder, tmp_path):
    values = {key: changed(value, key) for key, value in chart.Chart().nested().items() if key != "replicas"}  # numbers: below
    for stem, names in variables_of(folder).items():
        values["variables"][stem] = {name: f"{MARK}-{stem}-{name}" for name in names}
    text = yaml.safe_dump_all(render(folder, values, tmp_path).things, width=100000)
    missing = [path for path, value in leaves(values) if not reached(value, text)]
    assert missing == []


def variables_of(folder):
    """The names that the chart accepts, by the ConfigMap."""
    described = json.loads((folder / "values.schema.json").read_text())
    return {stem: set(each["properties"]) for stem, each in described["properties"]["variables"]["properties"].items()}


def test_the_variables_are_those_of_the_programs_that_are_not_set_elsewhere(folder):
    names = variables_of(folder)
    of_redirector, of_links_api = (programs.known(name) for name in ("redirector", "links-api"))
    set_elsewhere = {"HTTP_PORT", "OPS_PORT", "DRAIN_NOTICE_MS", "DRAIN_MS", "PG_URL", "REDIS_URL", "KAFKA_SASL_USERNAME", "KAFKA_SASL_PASSWORD"} | chart.SET_BY_VALUES
    assert names["redirector"] == of_redirector - set_elsewhere - {"JOURNAL_DIR"}
    assert names["links"] == of_redirector & of_links_api - set_elsewhere
    assert names["postgres"] == programs.OF_LIBRARIES


def test_the_ports_of_the_stores_are_those_of_their_addresses(folder, tmp_path):
    values = {
        "kafka": {"brokers": "a.example:9094,b.example:9095,[fd00::1]:9094"},
        "redis": {"address": "redis.example:7000"},
        "networks": {"postgresPort": 6432},
    }
    rendered = render(folder, values, tmp_path)
    opened = {store: networks.ports_of(rendered.find("NetworkPolicy", f"to-{store}")["spec"]["egress"]) for store in ("kafka", "redis", "postgres")}
    assert opened == {"kafka": {9094, 9095}, "redis": {7000}, "postgres": {6432}}
    assert list(networks.check(rendered)) == []


def reached(value, text):
    if isinstance(value, dict):
        return value[MARK] in text
    return str(value[0]["name"] if isinstance(value, list) else value) in text


@pytest.mark.parametrize("with_keda", [True, False])
def test_each_number_of_pods_reaches_its_autoscaler(folder, tmp_path, with_keda):
    names = ("redirector", "links-api", "analytics-consumer")
    wanted = {name: {"min": 20 + index, "max": 30 + index} for index, name in enumerate(names)}
    rendered = render(folder, {"replicas": wanted, "keda": {"enabled": with_keda}}, tmp_path)
    found = {each["metadata"]["name"]: {"min": each["spec"]["minReplicas"], "max": each["spec"]["maxReplicas"]} for each in rendered.all("HorizontalPodAutoscaler")}
    found |= {each["metadata"]["name"]: {"min": each["spec"]["minReplicaCount"], "max": each["spec"]["maxReplicaCount"]} for each in rendered.all("ScaledObject")}
    assert found == wanted


def test_a_digest_reaches_every_pod(folder, default, tmp_path):
    digests = {name: f"sha256:{index:064x}" for index, name in enumerate(sorted(tree.images()))}
    before, after = images(default), images(render(folder, {"images": {"digests": digests}}, tmp_path))
    assert len(after) == len(before) == 8
    assert after == [f"{image}@{digests[re.search('waymark/([a-z-]+):', image)[1]]}" for image in before]


def images(rendered):
    return [container["image"] for workload in rendered.workloads for container in workload.containers]


def test_a_changed_value_renames_the_configmaps_that_contain_it_and_all_jobs(folder, default, tmp_path):
    rendered = render(folder, {"region": "us-1"}, tmp_path)

    def names(rendered, kind):
        return {thing["metadata"]["name"] for thing in rendered.all(kind)}

    assert [HASH.sub("", name) for name in names(default, "ConfigMap") - names(rendered, "ConfigMap")] == ["redirector"]
    assert not names(default, "Job") & names(rendered, "Job")


def test_the_chart_without_operators_is_valid(folder, overlay, tmp_path):
    off = {name: {"enabled": False} for name in chart.SWITCHES}
    rendered = render(folder, off, tmp_path)
    complete = rendering.Rendering("chart", [overlay.find("Namespace", "waymark"), *rendered.things])
    assert [problem for check in CHECKS for problem in check.check(complete)] + rendering.problems_of_tools(complete) == []
    assert {thing["kind"] for thing in rendered.things}.isdisjoint(kind for kinds, _ in chart.SWITCHES.values() for kind in kinds)


WRONG = [
    ("a misspelt value", {"hosts": {"link": "a.example"}}, "Additional property link is not allowed"),
    ("a number where a text belongs", {"journal": {"maxBytes": 17179869184}}, "journal.maxBytes: Invalid type"),
    ("a misspelt variable", {"variables": {"redirector": {"HTTP_LOPS": "4"}}}, "variables.redirector: Additional property HTTP_LOPS is not allowed"),
    ("a variable that has a value of its own", {"variables": {"kafka": {"KAFKA_BROKERS": "a:1"}}}, "variables.kafka: Additional property KAFKA_BROKERS is not allowed"),
    ("a URL as a host", {"hosts": {"api": "https://api.ac.me"}}, "hosts.api: Does not match pattern"),
    ("one broker of two without a port", {"kafka": {"brokers": "k1.acme.io:9093,k2.acme.io"}}, "kafka.brokers: Does not match pattern"),
    ("a Redis without a port", {"redis": {"address": "redis.acme.io"}}, "redis.address: Does not match pattern"),
    ("a whole private network as proxy", {"networks": {"proxies": "10.1.0.0/16,10.0.0.0/8"}}, "networks.proxies: 10.0.0.0/8 must be a network of at most a /16"),
    ("a network that does not exist", {"networks": {"postgres": "10.300.0.0/33"}}, "networks.postgres: 10.300.0.0/33 must be a network"),
    ("at least more pods than at most", {"replicas": {"redirector": {"min": 30}}}, "replicas.redirector: min (30) is more than max (20)"),
    ("a claim as large as the journal", {"journal": {"storage": "16Gi"}}, "journal.storage: 16Gi has no room"),
    ("a journal of a quantity", {"journal": {"maxBytes": "16Gi"}}, "journal.maxBytes: Does not match pattern"),
    ("a tag in the place of a digest", {"images": {"digests": {"migrate": "latest"}}}, "images.digests.migrate: Does not match pattern"),
]


@pytest.mark.parametrize("values, words", [pytest.param(*case[1:], id=case[0]) for case in WRONG])
def test_helm_refuses(folder, tmp_path, values, words):
    run = helm(folder, values, tmp_path)
    assert run.returncode != 0
    assert words in run.stderr


def test_the_chart_needs_the_programs_whose_variables_it_names(tmp_path):
    run = subprocess.run([ROOT / "tools/chart", tmp_path / "chart"], capture_output=True, text=True, env={"WAYMARK_BUILD_DIR": "/nowhere", "WAYMARK_CACHE": str(tree.cache()), "PATH": "/usr/bin:/bin"})
    assert (run.returncode, run.stderr) == (69, "chart: /nowhere/bin/redirector is missing. Run make build\n")
    assert not (tmp_path / "chart").exists()


def test_the_chart_replaces_an_older_one_and_no_other_folder(folder, tmp_path):
    (folder / "templates/removed.yaml").touch()
    subprocess.run([ROOT / "tools/chart", folder], check=True)
    assert not (folder / "templates/removed.yaml").exists()
    (tmp_path / "notes").touch()
    run = subprocess.run([ROOT / "tools/chart", tmp_path], capture_output=True, text=True)
    assert (run.returncode, run.stderr) == (73, f"chart: {tmp_path} is neither empty nor a chart of Waymark\n")
    assert [path.name for path in tmp_path.iterdir()] == ["notes"]
