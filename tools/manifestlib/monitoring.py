"""The Prometheus operator scrapes the pods under the job names of the rules, and has the rules of deploy/prometheus."""

import yaml

from . import tree
from .description import containers
from .rendering import name_of

SOURCE = tree.ROOT / "deploy/prometheus"
FILES = ("objectives.yml", "recording.yml", "alerts.yml")
OBJECT = tree.MANIFESTS / "components/monitoring/rules.yaml"
HEAD = """\
# Written by tools/lint/manifests --rules. Change the rules in deploy/prometheus.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: waymark
spec:
  groups:
"""


def groups():
    return [group for name in FILES for group in yaml.safe_load((SOURCE / name).read_text())["groups"]]


def write():
    """Writes the groups of the files with their comments, indented by two columns."""
    texts = [(SOURCE / name).read_text().partition("groups:\n")[2] for name in FILES]
    OBJECT.write_text(HEAD + "".join(f"  {line}\n" for text in texts for line in text.splitlines()))


def check_jobs(rendering):
    """The label job is the name of the service, as docs/metrics.md defines."""
    for monitor in rendering.all("PodMonitor"):
        for workload, _, program, _ in containers(rendering):
            job = workload.labels.get(monitor["spec"].get("jobLabel"), f"{monitor['metadata'].get('namespace')}/{monitor['metadata']['name']}")
            if not workload.is_job and job not in (program, f"waymark-{program}"):
                yield f"{name_of(monitor)}: no rule uses {workload.where} as job {job}"


def check_rules(rendering):
    rules = rendering.all("PrometheusRule")
    for each in rules:
        if each["spec"]["groups"] != groups():
            yield f"{name_of(each)}: differs from deploy/prometheus: run tools/lint/manifests --rules"
    if rendering.all("PodMonitor") and not rules:
        yield "PodMonitor without a PrometheusRule: there would be no alerts"


def check(rendering):
    yield from check_jobs(rendering)
    yield from check_rules(rendering)
