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
from manifestlib import description, monitoring, networks, programs, references, rendering, restricted, schema, services, tree

if not tree.kustomize().exists():
    pytest.skip("kustomize is missing: tools/setup test", allow_module_level=True)

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
    checks = (schema, restricted, references, networks, services, description, monitoring)
    assert [problem for check in checks for problem in check.check(rendered)] == []
    (pod,) = (each for each in rendered.workloads if each.thing["kind"] == "CronJob")
    for policy in ("to-postgres", "names"):
        assert rendering.does_match(rendered.find("NetworkPolicy", policy)["spec"]["podSelector"], pod.labels), policy
    (migrate,) = (each for each in rendered.workloads if each.thing["kind"] == "Job" and each.app == "migrate")
    secret = lambda workload: next(volume["secret"] for volume in workload.pod["volumes"] if "secret" in volume)  # noqa: E731
    assert secret(pod) == secret(migrate)


SCALERS = {"HorizontalPodAutoscaler": ("minReplicas", "maxReplicas"), "ScaledObject": ("minReplicaCount", "maxReplicaCount")}


def requested(rendered, name, unit, is_most=False):
    """What the pods request of a resource, sidecars included and Jobs apart, with the least or the most replicas of their autoscalers."""
    replicas = {each["spec"]["scaleTargetRef"]["name"]: each["spec"][fields[is_most]] for kind, fields in SCALERS.items() for each in rendered.all(kind)}
    total = 0
    for each in rendered.workloads:
        if each.thing["kind"] != "Job":
            sidecars = [container for container in each.pod.get("initContainers", []) if container.get("restartPolicy") == "Always"]
            pod = sum(unit(container["resources"]["requests"][name]) for container in each.pod["containers"] + sidecars)
            total += pod * replicas.get(each.name, each.thing["spec"].get("replicas", 1))
    return total


def cores_of(quantity):
    return int(quantity[:-1]) / 1000 if str(quantity).endswith("m") else float(quantity)


@pytest.mark.parametrize(
    ("overlay", "subject", "is_most"),
    [("local", "The pods", False), ("production", "At least, its pods", False), ("production", "At most, they", True)],
)
def test_pods_request_what_the_document_says(overlay, subject, is_most):
    rendered = rendering.render(tree.MANIFESTS / "overlays" / overlay)
    cores, gib = map(float, re.search(rf"{subject} request ([\d.]+) CPUs and ([\d.]+) GiB", " ".join(OPERATIONS.split())).groups())
    found = requested(rendered, "cpu", cores_of, is_most), requested(rendered, "memory", description.bytes_of, is_most) / 2**30
    assert (round(found[0], 2), round(found[1], 1)) == (cores, gib)


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
    checks = (schema, restricted, references, networks)
    assert [problem for check in checks for problem in check.check(with_it)] == []
    needed = {each.removesuffix("_FILE") for each in programs.environment(with_it, container)[0]}
    assert "PG_URL" in needed and not list(description.check_files(with_it))
