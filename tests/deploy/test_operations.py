"""The commands of docs/operations.md and docs/recovery.md select the right objects of the manifests."""

import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
from manifestlib import description, networks, programs, references, rendering, restricted, tree

if not all(path.exists() for path in rendering.TOOLS):
    pytest.skip("kustomize, kubeconform or kube-score is missing: tools/setup test", allow_module_level=True)

OPERATIONS = "".join((ROOT / "docs" / name).read_text() for name in ("operations.md", "recovery.md"))
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


def test_the_cron_job_fits_into_an_overlay(tmp_path):
    """The example in docs/recovery.md is valid by all rules of tools/lint/manifests."""
    (document,) = re.findall(r"```yaml\n(.*?)```", OPERATIONS, re.S)
    (tmp_path / "backup.yaml").write_text(document)
    base = os.path.relpath(tree.MANIFESTS / "overlays/local", tmp_path)
    (tmp_path / "kustomization.yaml").write_text(f"namespace: waymark\nresources: [{base}, backup.yaml]\n")
    rendered = rendering.render(tmp_path)
    checks = (restricted, references, networks, description)
    assert [problem for check in checks for problem in check.check(rendered)] == []
    # The user is that of PostgreSQL's image.
    assert [problem for problem in rendering.problems_of_tools(rendered) if not re.search("low (user|group) ID", problem)] == []
    (pod,) = (each for each in rendered.workloads if each.thing["kind"] == "CronJob")
    for policy in ("to-postgres", "names"):
        assert rendering.does_match(rendered.find("NetworkPolicy", policy)["spec"]["podSelector"], pod.labels), policy
    (migrate,) = (each for each in rendered.workloads if each.thing["kind"] == "Job" and each.app == "migrate")
    secret = lambda workload: next(volume["secret"] for volume in workload.pod["volumes"] if "secret" in volume)  # noqa: E731
    assert secret(pod) == secret(migrate)


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


def test_the_rules_of_prometheus_become_an_object_of_its_operator(tmp_path):
    (command,) = re.findall(r"^```\n(cat >rules.yaml .*?)^```", OPERATIONS, re.M | re.S)
    (tmp_path / "deploy").symlink_to(ROOT / "deploy")
    subprocess.run(["bash", "-euc", command], cwd=tmp_path, check=True)
    made, wanted = yaml.safe_load((tmp_path / "rules.yaml").read_text()), rendering.render_chart("default").find("PrometheusRule", "waymark")
    assert (made["apiVersion"], made["kind"], made["spec"]) == (wanted["apiVersion"], wanted["kind"], wanted["spec"])


def as_the_cluster_shows_it(job):
    """The Job with the fields that the API server adds, which another Job must not have."""
    added = {"batch.kubernetes.io/controller-uid": "4711", "controller-uid": "4711", "batch.kubernetes.io/job-name": "migrate", "job-name": "migrate"}
    shown = json.loads(json.dumps(job))
    shown["metadata"] |= {"uid": "4711", "resourceVersion": "1", "creationTimestamp": "2026-01-01T00:00:00Z"}
    shown["spec"] |= {"selector": {"matchLabels": {"batch.kubernetes.io/controller-uid": "4711"}}, "completionMode": "NonIndexed"}
    shown["spec"]["template"]["metadata"]["labels"] |= added
    shown["status"] = {"succeeded": 1}
    return shown


@pytest.mark.skipif(not shutil.which("jq"), reason="there is no jq")
def test_the_job_that_rebuilds_statistics_is_derived_from_the_migration(rendered):
    name, script = re.search(r"get job (migrate-\S+) --output json \| jq '\n(.*?)' \| kubectl create", OPERATIONS, re.S).groups()
    migrate = rendered.find("Job", name)
    made = subprocess.run(["jq", script], input=json.dumps(as_the_cluster_shows_it(migrate)), capture_output=True, text=True, check=True).stdout
    job = json.loads(made)
    assert "4711" not in made and "status" not in job
    (container,) = job["spec"]["template"]["spec"]["containers"]
    assert container["image"] == migrate["spec"]["template"]["spec"]["containers"][0]["image"]
    (program,) = container["command"]
    assert pathlib.PurePath(program).name in (ROOT / "deploy/images/assemble").read_text()
    assert f"`{pathlib.PurePath(program).name} {' '.join(container['args'])}`" in OPERATIONS

    others = [thing for thing in rendered.things if thing is not migrate]
    with_it = rendering.Rendering(rendered.name, [*others, job])
    checks = (restricted.check, references.check_named, networks.check)
    assert [problem for check in checks for problem in check(with_it)] + rendering.problems_of_tools(with_it) == []
    needed = {each.removesuffix("_FILE") for each in programs.environment(with_it, container)[0]}
    assert "PG_URL" in needed and not list(description.check_files(with_it))
