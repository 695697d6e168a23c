"""The commands of docs/operations.md, docs/recovery.md and docs/runbook.md select the right objects of the manifests."""

import json
import os
import pathlib
import re
import subprocess

import pytest
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
from manifestlib import description, networks, references, rendering, tree

if not all(path.exists() for path in rendering.TOOLS):
    pytest.skip("kustomize, kubeconform or kube-score is missing: tools/setup test", allow_module_level=True)

OPERATIONS = "".join((ROOT / "docs" / name).read_text() for name in ("operations.md", "recovery.md", "runbook.md"))
OVERLAYS = sorted((tree.MANIFESTS / "overlays").iterdir())


@pytest.fixture(scope="module", params=OVERLAYS, ids=[overlay.name for overlay in OVERLAYS])
def rendered(request):
    return rendering.render(request.param)


def labels_of(thing):
    return thing["metadata"].get("labels", {})


def test_jobs_are_deleted_before_a_change(rendered):
    """A Job cannot be changed, and it names ConfigMaps whose names change with their contents."""
    (selector,) = set(re.findall(r"delete job --selector (\S+) --ignore-not-found\nkubectl apply -k", OPERATIONS))
    name, _, value = selector.partition("=")
    assert rendered.all("Job")
    assert [job["metadata"]["name"] for job in rendered.all("Job") if labels_of(job).get(name) != value] == []


def test_all_deployments_are_rolled_back_together(rendered):
    (selector,) = re.findall(r"rollout undo deployment --selector ([^\s`]+)", OPERATIONS)
    name, _, value = selector.partition("=")
    assert [each["metadata"]["name"] for each in rendered.all("Deployment") if labels_of(each).get(name) != value] == []


@pytest.mark.parametrize("overlay", ["local", "production"])
def test_a_component_makes_the_backup_run_every_night_and_nothing_else(overlay, tmp_path):
    base, component = (os.path.relpath(tree.MANIFESTS / path, tmp_path) for path in (f"overlays/{overlay}", "components/nightly-backup"))
    (tmp_path / "kustomization.yaml").write_text(f"namespace: waymark\nresources: [{base}]\ncomponents: [{component}]\n")
    rendered = rendering.render(tmp_path)
    jobs, claims = rendered.all("CronJob"), rendered.all("PersistentVolumeClaim")
    assert [job["metadata"]["name"] for job in jobs if not job["spec"]["suspend"]] == ["backup"]
    assert [claim["metadata"]["name"] for claim in claims] == ["backup"]
    assert rendering.render(tree.MANIFESTS / "overlays" / overlay).all("PersistentVolumeClaim") == [], "nobody waits for a claim without a pod"


def test_the_document_names_the_cron_jobs_and_what_they_run(rendered):
    (table,) = re.findall(r"^\| CronJob \|.*\n\|---.*\n((?:\|.*\n)+)", OPERATIONS, re.M)
    named = dict(re.findall(r"^\| `([a-z-]+)` \| `([^`]+)`", table, re.M))
    containers = {each.name: each.containers[0] for each in rendered.workloads if each.thing["kind"] == "CronJob"}
    runs = {name: " ".join([each["command"][0].removeprefix("/bin/"), *(word for word in each["args"] if word != "/backup/")]) for name, each in containers.items()}
    assert named == runs
    made = set(re.findall(r"create job --from=cronjob/([a-z-]+)", OPERATIONS))
    assert made == set(runs)


def test_the_job_of_the_runbook_waits_where_psql_reaches_the_database(rendered):
    ((cron_job, change),) = re.findall(r"from=cronjob/(\S+) sql .*\n +jq '(.*)'", OPERATIONS)
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "sql", "namespace": "waymark"}, "spec": rendered.find("CronJob", cron_job)["spec"]["jobTemplate"]["spec"]}
    made = json.loads(subprocess.run(["jq", change], input=json.dumps(job), capture_output=True, text=True, check=True).stdout)
    assert rendering.problems_of_tools(rendering.Rendering("sql", [*rendered.things, made])) == []
    (container,) = made["spec"]["template"]["spec"]["containers"]
    assert (container["command"], container["args"], container["stdin"], "waymark/tools" in container["image"]) == (["/bin/bash"], [], True, True)
    assert "PG_URL_FILE" in [each["name"] for each in container["env"]] and networks.NEEDS[cron_job] == {"postgres"}
    assert list(networks.check_egress(rendered, rendering.Workload(made))) == []


def requested(overlay, bound):
    """The CPUs and GiB that the pods of an overlay request, with as many of each as its scaler allows."""
    rendered, cpus, bytes_ = rendering.render(tree.MANIFESTS / "overlays" / overlay), 0, 0
    scalers = {each["spec"]["scaleTargetRef"]["name"]: each["spec"] for kind in ("HorizontalPodAutoscaler", "ScaledObject") for each in rendered.all(kind)}
    for workload in (each for each in rendered.workloads if not each.is_job):
        scaler = scalers.get(workload.name, {})
        pods = scaler.get(f"{bound}Replicas") or scaler.get(f"{bound}ReplicaCount") or workload.thing["spec"]["replicas"]
        for requests in (container["resources"]["requests"] for container in workload.containers):
            cpu = str(requests["cpu"])
            cpus += pods * (int(cpu[:-1]) / 1000 if cpu.endswith("m") else float(cpu))
            bytes_ += pods * description.bytes_of(requests["memory"])
    return f"{cpus:.4g}", f"{bytes_ / 2**30:.1f}"


def test_the_document_says_what_the_pods_request():
    said = re.findall(r"request ([0-9.]+) CPUs and ([0-9.]+) GiB", OPERATIONS)
    assert said == [requested("local", "min"), requested("production", "min"), requested("production", "max")]


def test_the_objects_for_operators_have_names_that_fit():
    """Strimzi names the Secret of a user after it; a client of a pooler in another namespace names that too."""
    (text,) = re.findall(r"^```yaml\n(apiVersion: postgresql.cnpg.io.*?)^```", (ROOT / "docs/stores.md").read_text(), re.M | re.S)
    cluster, user = yaml.safe_load_all(text)
    assert ("Secret", user["metadata"]["name"]) not in references.given()
    assert user["metadata"]["name"] in (tree.CHART / "README.md").read_text()
    pooler, *others = cluster["spec"]["certificates"]["serverAltDNSNames"]
    assert others == [f"{pooler}.NAMESPACE", f"{pooler}.NAMESPACE.svc"]


def test_the_rules_of_prometheus_become_an_object_of_its_operator(tmp_path):
    (command,) = re.findall(r"^```\n(helm template .*?)^```", OPERATIONS, re.M | re.S)
    (tmp_path / "deploy").symlink_to(ROOT / "deploy")
    subprocess.run(["bash", "-euc", command], cwd=tmp_path, check=True, env=os.environ | {"PATH": f"{rendering.HELM.parent}:{os.environ['PATH']}"})
    assert yaml.safe_load((tmp_path / "rules.yaml").read_text()) == rendering.render_chart("default").find("PrometheusRule", "waymark")
