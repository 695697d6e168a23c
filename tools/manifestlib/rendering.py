"""The output of kustomize for an overlay, or of Helm for the chart: its objects and workloads, and what kubeconform and kube-score
say of them."""

import pathlib
import subprocess

import yaml

from . import tree

WORKLOADS = ("Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob")
SCHEMAS = tree.cache() / "kubernetes-schemas"
KUBECONFORM = [tree.cache() / "kubeconform/kubeconform", "-strict", f"-schema-location={SCHEMAS}/{{{{.ResourceKind}}}}-{{{{.Group}}}}-{{{{.ResourceAPIVersion}}}}.json", "-"]
# Images have versions, so nothing is pulled again, and pods write to volumes with limits. KEDA's minimum is not seen.
KUBE_SCORE = [
    tree.cache() / "kube-score/kube-score", "score", "--output-format=ci", "--exit-one-on-warning", "--kubernetes-version=v1.30",
    "--ignore-container-cpu-limit", "--enable-optional-test=container-seccomp-profile",
    "--ignore-test=container-image-pull-policy,container-ephemeral-storage-request-and-limit,deployment-replicas",
]  # fmt: skip
# What values may choose: OpenShift gives users, a site spreads its pods by other rules, and its network may have no policies.
CHOICES = "--ignore-test=container-security-context-user-group-id,deployment-has-host-podantiaffinity,statefulset-has-host-podantiaffinity,pod-networkpolicy"
HELM = tree.cache() / "helm/helm"
TOOLS = [tree.kustomize(), KUBECONFORM[0], SCHEMAS / "version", KUBE_SCORE[0], HELM]


class Workload:
    """An object that creates pods."""

    def __init__(self, thing):
        self.thing = thing
        self.where = name_of(thing)
        self.name = thing["metadata"]["name"]
        spec = thing["spec"]
        template = (spec["jobTemplate"]["spec"] if thing["kind"] == "CronJob" else spec)["template"]
        self.metadata = template.get("metadata", {})
        self.labels = self.metadata.get("labels", {})
        self.pod = template["spec"]
        self.containers = self.pod.get("initContainers", []) + self.pod["containers"]

    @property
    def app(self):
        return self.labels.get("app.kubernetes.io/name")

    @property
    def is_job(self):
        return self.thing["kind"] in ("Job", "CronJob")

    @property
    def claims(self):
        """The claims that each pod of a StatefulSet has of its own, by name."""
        return {claim["metadata"]["name"]: claim["spec"] for claim in self.thing["spec"].get("volumeClaimTemplates", [])}


class Rendering:
    def __init__(self, name, things, named=frozenset(), is_own=False):
        """named: the names of objects that values give, which exist elsewhere. is_own: the values are a site's."""
        self.name = name
        self.is_own = is_own
        self.named = named
        self.things = things
        self.workloads = [Workload(thing) for thing in things if thing["kind"] in WORKLOADS]

    def all(self, kind):
        return [thing for thing in self.things if thing["kind"] == kind]

    def find(self, kind, name):
        return next((thing for thing in self.all(kind) if thing["metadata"]["name"] == name), None)

    def selected(self, labels):
        """The workloads whose pods have all these labels."""
        return [workload for workload in self.workloads if labels and labels.items() <= workload.labels.items()]


def name_of(thing):
    return f"{thing.get('kind', '?')}/{(thing.get('metadata') or {}).get('name', '?')}"


def render(overlay):
    """Renders an overlay folder. Raises RuntimeError with the error of kustomize."""
    run = subprocess.run([tree.kustomize(), "build", overlay], capture_output=True, text=True)
    if run.returncode != 0:
        raise RuntimeError(run.stderr.strip())
    return Rendering(overlay.name, list(yaml.load_all(run.stdout, Loader=yaml.CSafeLoader)))


def render_chart(name, *values, is_own=False):
    """Renders the chart with files of values over its own, or with its samples. Raises RuntimeError with the error of Helm."""
    command = [HELM, "template", "waymark", tree.CHART, "--namespace=waymark", "--kube-version=1.30", *(f"--values={path}" for path in values)]
    command += [] if values else ["--set=samples=true"]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode != 0:
        raise RuntimeError("\n".join(line for line in run.stderr.splitlines() if "found symbolic link" not in line))
    named = set().union(*(names_in(yaml.safe_load(pathlib.Path(path).read_text())) for path in values))
    return Rendering(name, [thing for thing in yaml.load_all(run.stdout, Loader=yaml.CSafeLoader) if thing], named, is_own)


def repeated_keys(path):
    """Sentences about keys that a file of values has twice in one map, of which Helm keeps the last one without a word, or why the
    file cannot be read."""

    class Loader(yaml.SafeLoader):
        pass

    def read_map(loader, node):
        names = [str(key.value) for key, _ in node.value]
        found.extend(f"{path}: {name} is there twice in line {node.start_mark.line + 1} and below" for name in set(names) if names.count(name) > 1)
        return loader.construct_mapping(node, deep=True)

    found = []
    Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, read_map)
    try:
        yaml.load(pathlib.Path(path).read_text(), Loader=Loader)
    except (OSError, yaml.YAMLError) as error:
        return [f"{path}: {error}"]
    return found


def names_in(values):
    """The names of Secrets and ConfigMaps in values of the chart."""
    if isinstance(values, list):
        return set().union(*map(names_in, values))
    if not isinstance(values, dict):
        return set()
    names = {str(value) for key, value in values.items() if key in ("secret", "secretName", "authorities", "name")}
    return names.union(*map(names_in, values.values()))


def problems_of_tools(rendering):
    text = yaml.dump_all(rendering.things, Dumper=yaml.CSafeDumper)
    score = [*KUBE_SCORE, *([CHOICES] if rendering.is_own else []), "-"]
    runs = [subprocess.run(command, input=text, capture_output=True, text=True) for command in (KUBECONFORM, score)]
    lines = [line for run in runs for line in run.stdout.splitlines() if not line.startswith(("[OK]", "[SKIPPED]"))]
    return lines or [run.stderr for run in runs if run.returncode]


def does_match(selector, labels):
    """True if a LabelSelector matches the labels."""
    if not set((selector.get("matchLabels") or {}).items()) <= set(labels.items()):
        return False
    for term in selector.get("matchExpressions") or []:
        value, wanted = labels.get(term["key"]), term.get("values", [])
        fits = {"In": value in wanted, "NotIn": value not in wanted, "Exists": value is not None, "DoesNotExist": value is None}
        if not fits[term["operator"]]:
            return False
    return True
