"""Writes a Helm chart that renders the same objects as overlay production.

The objects are the output of kustomize. What a site changes becomes a value of the chart, whose default is what the overlay has.
These are the sample addresses, networks and hosts (SAMPLES), fields of objects (FIELDS) and fields that the overlay leaves out
(OPTIONAL). Variables of ConfigMaps and digests of images are values too. Ports of NetworkPolicies follow from addresses (PORTS).

A ConfigMap has a hash of its content at the end of its name, as kustomize gives it one, so a changed value restarts the pods
that read it, and no others. A Job has a hash of all values there, because it cannot be changed."""

import copy
import functools
import json
import pathlib
import re

import yaml

from . import chart_checks, programs, references, rendering, tree

SOURCE = tree.MANIFESTS / "overlays/production"
RULES = [tree.ROOT / "deploy/prometheus" / name for name in ("objectives.yml", "recording.yml", "alerts.yml")]
# The texts of the overlay that stand for something of the site, by the path of the value. A text may be part of a longer one.
SAMPLES = {
    "images.registry": ("registry.example.com/waymark", "Where the images are."),
    "hosts.api": ("api.sho.rt", "The host of the API and the dashboard."),
    "hosts.links": ("sho.rt", "The host of the short links."),
    "kafka.brokers": ("kafka-1.example.com:9093,kafka-2.example.com:9093,kafka-3.example.com:9093", "The addresses of Kafka."),
    "redis.address": ("redis.example.com:6380", "The address of Redis."),
    "redis.certificateName": ("redis.example.com", "The host name in the certificate of Redis."),
    "networks.postgres": ("192.0.2.0/27", "The addresses of PostgreSQL."),
    "networks.redis": ("192.0.2.32/27", "The addresses of Redis."),
    "networks.kafka": ("192.0.2.64/27", "The addresses of Kafka."),
    "networks.proxies": ("192.0.2.96/27", "The addresses of the Ingress controller's pods, which may name any visitor."),
    "region": ("eu-1", "The region of the redirectors, which is in each visit."),
    "journal.maxBytes": ("17179869184", "The size of a redirector's journal, in bytes. The claim has to be 15 % larger."),
}
# Fields with a value of the overlay, by the path of the value: (kind, name, path in the object).
FIELDS = {
    "journal.storage": ("StatefulSet", "redirector", "spec.volumeClaimTemplates.0.spec.resources.requests.storage"),
    **{f"replicas.{name}.min": ("HorizontalPodAutoscaler", name, "spec.minReplicas") for name in ("redirector", "links-api", "analytics-consumer")},
    **{f"replicas.{name}.max": ("HorizontalPodAutoscaler", name, "spec.maxReplicas") for name in ("redirector", "links-api", "analytics-consumer")},
    chart_checks.PORT: ("NetworkPolicy", "to-postgres", "spec.egress.0.ports.0.port"),
    **{f"resources.{name}": (None, name, "spec.template.spec.containers.0.resources") for name in programs.SERVICES},
}
# Ports that NetworkPolicies open, by the path of the addresses that name them.
PORTS = {
    "kafka.brokers": ("NetworkPolicy", "to-kafka", "spec.egress.0.ports"),
    "redis.address": ("NetworkPolicy", "to-redis", "spec.egress.0.ports"),
}
# Variables that another value sets. OWN_HOSTS is not one: it may have more hosts than hosts.api.
SET_BY_VALUES = {"KAFKA_BROKERS", "JOURNAL_MAX_BYTES", "REGION", "TRUSTED_PROXIES"}
# Fields that are left out until the value is set: (kind, name, path), None for all workloads or names.
OPTIONAL = {
    "images.pullSecrets": (None, None, "spec.template.spec.imagePullSecrets", [], "Secrets for a private registry: [{name: …}]."),
    "ingress.className": ("Ingress", None, "spec.ingressClassName", "", "The class of the Ingresses, if it is not the default one."),
    "journal.storageClassName": (
        "StatefulSet", "redirector", "spec.volumeClaimTemplates.0.spec.storageClassName", "",
        "The class of the journals' volumes, if it is not the default one.",
    ),
}  # fmt: skip
# The same fields under KEDA, which replaces the autoscaler of the analytics-consumer.
KEDA = {
    "replicas.analytics-consumer.min": ("ScaledObject", "analytics-consumer", "spec.minReplicaCount"),
    "replicas.analytics-consumer.max": ("ScaledObject", "analytics-consumer", "spec.maxReplicaCount"),
}
# The kinds that a switch of the chart leaves out.
SWITCHES = {
    "ingress": (("Ingress",), "Without it, create routes to the Services redirector and links-api yourself."),
    "keda": (("ScaledObject",), "Needs KEDA. Without it, consumers scale by CPU."),
    "monitoring": (("PodMonitor", "PrometheusRule"), "Needs the Prometheus Operator."),
}
HEAD = """\
# The defaults are those of deploy/k8s/overlays/production. Change every address, network and host.
# docs/operations.md lists the Secrets and ConfigMaps to create before.

"""
IMAGE = """\
{{- define "waymark.image" -}}
{{- $digest := index .values.images.digests .name -}}
{{ .values.images.registry }}/{{ .name }}:%s{{ with $digest }}@{{ . }}{{ end }}
{{- end }}
"""
ADDRESSES = """\
{{- define "waymark.ports" -}}
{{- $ports := list -}}
{{- range splitList "," . -}}
{{- $ports = append $ports (dict "port" (regexFind "[0-9]+$" . | int) "protocol" "TCP") -}}
{{- end -}}
{{ $ports | uniq | toJson }}
{{- end }}
"""
# Values of users replace and add to the variables of the overlay.
VARIABLES = """\
{{- define "waymark.data.%(stem)s" -}}
{{- $variables := include "waymark.variables.%(stem)s" . | fromYaml -}}
{{- range $name, $value := mergeOverwrite $variables (index .Values.variables "%(stem)s") }}
{{ $name }}: {{ quote $value }}
{{- end }}
{{- end }}
"""


def read(path):
    """The expression of a template for the value of this path."""
    keys = path.split(".")
    return ".Values." + path if "-" not in path else "(index .Values " + " ".join(f'"{key}"' for key in keys) + ")"


def marker(path):
    """Stands in an object for a value, until the object is text."""
    return f"chart-value/{path}"


def place(thing, path):
    """The container and the key of a field."""
    *way, last = [int(key) if key.isdigit() else key for key in path.split(".")]
    return functools.reduce(lambda part, key: part[key], way, thing), last


def is_meant(thing, kind, name):
    is_kind = thing["kind"] == kind if kind else thing["kind"] in rendering.WORKLOADS
    return is_kind and name in (None, thing["metadata"]["name"])


def is_environment(config):
    return all(re.fullmatch("[A-Z0-9_]+", key) for key in config["data"])


class Dumper(yaml.SafeDumper):
    """Writes texts of several lines as they are."""

    def represent_str(self, text):
        return self.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


Dumper.add_representer(str, Dumper.represent_str)


def dump(thing):
    return yaml.dump(thing, Dumper=Dumper, sort_keys=False, width=100000)


class Chart:
    def __init__(self):
        self.rendered = rendered = rendering.render(SOURCE)
        self.things = [thing for thing in rendered.things if thing["kind"] != "Namespace"]  # it exists before a release does
        self.things.append(prometheus_rule())
        self.scaler = rendering.render(tree.MANIFESTS / "base").find("HorizontalPodAutoscaler", "analytics-consumer")
        self.images = sorted({image for image in references.images(rendered) if image})
        self.configs = {thing["metadata"]["name"].rpartition("-")[0]: thing for thing in rendered.all("ConfigMap")}
        self.names = {thing["metadata"]["name"]: f'{{{{ include "waymark.name.{stem}" . }}}}' for stem, thing in self.configs.items()}
        for thing in rendered.all("Job"):
            self.names[thing["metadata"]["name"]] = thing["metadata"]["name"] + '-{{ include "waymark.hash" . }}'

    def found(self, kind, name, path):
        thing = next(thing for thing in [*self.things, self.scaler] if is_meant(thing, kind, name))
        container, last = place(thing, path)
        return container[last]

    def values(self):
        """Each value's path: (its default, its description)."""
        found = dict(SAMPLES)
        found["images.digests"] = (dict.fromkeys(self.images, ""), "Digests (sha256:…), which tools/images --push writes. Without one, the tag names the image.")
        found |= {f"{name}.enabled": (True, text) for name, (_, text) in SWITCHES.items()}
        found |= {path: (default, text) for path, (_, _, _, default, text) in OPTIONAL.items()}
        environments = [stem for stem, config in self.configs.items() if is_environment(config)]
        found["variables"] = ({stem: {} for stem in environments}, "More variables, or other values of those in templates/_helpers.tpl. Quote numbers.")
        for path, where in FIELDS.items():
            found[path] = (self.found(*KEDA.get(path, where)), describe(path))
        return found

    def variables(self, stem):
        """The variables of a ConfigMap: known to every program that reads it, and set neither in its pods nor by another value."""
        name, known, taken = self.configs[stem]["metadata"]["name"], [], set(SET_BY_VALUES)
        for container in (container for workload in self.rendered.workloads for container in workload.containers):
            if any(source.get("configMapRef", {}).get("name") == name for source in container.get("envFrom") or []):
                known.append(programs.known(programs.PROGRAMS[container["name"]]))
                taken |= {variable for each in container.get("env", []) for variable in (each["name"], programs.variable_of(each["name"]))}
        return sorted(set.intersection(*known) - taken)

    def nested(self):
        values = {}
        for path, (default, _) in self.values().items():
            *way, last = path.split(".")
            functools.reduce(lambda part, key: part.setdefault(key, {}), way, values)[last] = default
        return values

    def mark(self, thing):
        """A copy with a marker for each value."""
        thing = copy.deepcopy(thing)
        for path, where in [*FIELDS.items(), *KEDA.items()]:
            if is_meant(thing, *where[:2]):
                container, last = place(thing, where[2])
                container[last] = marker(path)
        for path, where in PORTS.items():
            if is_meant(thing, *where[:2]):
                container, last = place(thing, where[2])
                container[last] = "chart-ports/" + path
        for path, (kind, name, way, _, _) in OPTIONAL.items():
            if is_meant(thing, kind, name):
                container, last = place(thing, way)
                container[last] = "chart-optional/" + path
        return mark_samples(thing)

    def text(self, thing):
        """The YAML of an object or a part of one, as a template."""
        text = dump(self.mark(thing) if "kind" in thing else mark_samples(thing))
        text = re.sub(r"(\{\{|\}\})", r"{{ `\1` }}", text)
        text = text.replace("namespace: waymark\n", "namespace: {{ .Release.Namespace }}\n").replace(".waymark.svc", ".{{ .Release.Namespace }}.svc")
        for name, expression in self.names.items():
            text = re.sub(rf"\bname: {re.escape(name)}$", lambda _, value=expression: f"name: {value}", text, flags=re.M)
        text = re.sub(r"\bchart-image/([a-z-]+)", r'{{ include "waymark.image" (dict "values" .Values "name" "\1") }}', text)
        text = re.sub(r"\bchart-value/([\w.-]+)", lambda match: f"{{{{ toJson {read(match[1])} }}}}", text)
        text = re.sub(r"\bchart-ports/([\w.]+)", lambda match: f'{{{{ include "waymark.ports" {read(match[1])} }}}}', text)
        text = re.sub(r"^( *)(\w+): chart-optional/([\w.-]+)$", optional, text, flags=re.M)
        for path, (sample, _) in SAMPLES.items():
            text = re.sub(rf"(?<![\w.-]){re.escape(sample)}(?!\w)", f"{{{{ {read(path)} }}}}", text)
        return text

    def template(self, thing):
        if thing["kind"] == "ConfigMap":
            return self.config_map(thing)
        text = self.text(thing)
        switch = next((name for name, (kinds, _) in SWITCHES.items() if thing["kind"] in kinds), None)
        return f"{{{{- if .Values.{switch}.enabled }}}}\n{text}{{{{- end }}}}\n" if switch else text

    def config_map(self, thing):
        """Helm keeps the old one of an upgrade, as kustomize does: pods that are not replaced yet read it."""
        thing = {key: value for key, value in thing.items() if key != "data"}
        thing["metadata"] = thing["metadata"] | {"annotations": {"helm.sh/resource-policy": "keep"}}
        stem = thing["metadata"]["name"].rpartition("-")[0]
        return self.text(thing) + f'data:\n{{{{- include "waymark.data.{stem}" . | trim | nindent 2 }}}}\n'

    def helpers(self):
        """The names and the content of ConfigMaps, the names of images, and ports."""
        parts = [IMAGE % tree.version(), ADDRESSES, define("waymark.hash", "{{ .Values | toJson | sha256sum | trunc 10 }}")]
        for stem, config in self.configs.items():
            parts.append(define(f"waymark.name.{stem}", f'{stem}-{{{{ include "waymark.data.{stem}" . | sha256sum | trunc 10 }}}}'))
            if is_environment(config):
                parts.append(define(f"waymark.variables.{stem}", self.text(config["data"])))
                parts.append(VARIABLES % {"stem": stem})
            else:
                parts.append(define(f"waymark.data.{stem}", self.text(config["data"])))
        return "\n".join(parts)

    def files(self):
        """The files of the chart, by path."""
        values = self.nested()
        variables = {stem: self.variables(stem) for stem in values["variables"]}
        found = {
            "Chart.yaml": dump(about()),
            "values.yaml": HEAD + "".join(values_lines(values, {path: text for path, (_, text) in self.values().items()})),
            "values.schema.json": json.dumps(chart_checks.schema_of(values, SAMPLES, variables), indent=2) + "\n",
            "templates/_helpers.tpl": self.helpers(),
            "templates/checks.yaml": chart_checks.template(),
        }
        for thing in self.things:
            name = thing["metadata"]["name"]
            stem = name.rpartition("-")[0] if thing["kind"] == "ConfigMap" else name
            found[f"templates/{stem}-{thing['kind'].lower()}.yaml"] = self.template(thing)
        found["templates/analytics-consumer-horizontalpodautoscaler.yaml"] = (
            "{{- if not .Values.keda.enabled }}\n" + self.text(self.scaler) + "{{- end }}\n"
        )
        return found


def prometheus_rule():
    """The rules of deploy/prometheus, which operators of the overlay add by themselves (docs/operations.md)."""
    groups = [group for path in RULES for group in yaml.safe_load(path.read_text())["groups"]]
    return {
        "apiVersion": "monitoring.coreos.com/v1", "kind": "PrometheusRule", "metadata": {"name": "waymark", "namespace": "waymark"},
        "spec": {"groups": groups},
    }  # fmt: skip


def about():
    return {
        "apiVersion": "v2", "name": "waymark", "type": "application", "description": "Short links that report every visit",
        "version": tree.version(), "appVersion": tree.version(), "kubeVersion": ">=1.30.0-0",
    }  # fmt: skip


def describe(path):
    group, _, rest = path.partition(".")
    name = rest.split(".")[0]
    return {
        "journal": "The size of each redirector's claim.",
        "networks": "The port of PostgreSQL. Those of Redis and Kafka are in their addresses.",
        "replicas": f"{'At least' if path.endswith('min') else 'At most'} so many pods of {name}.",
        "resources": f"What a pod of {name} requests, and its limits.",
    }[group]


def define(name, text):
    return f'{{{{- define "{name}" -}}}}\n{text.rstrip()}\n{{{{- end }}}}\n'


def optional(match):
    indent, key, path = match.groups()
    return f"{indent}{{{{- with {read(path)} }}}}\n{indent}{key}: {{{{ toJson . }}}}\n{indent}{{{{- end }}}}"


def mark_samples(part):
    """A text that is a sample as a whole becomes a marker, so that it stays a text whatever the value looks like."""
    if isinstance(part, dict):
        return {key: mark_image(value) if key == "image" else mark_samples(value) for key, value in part.items()}
    if isinstance(part, list):
        return [mark_samples(each) for each in part]
    return next((marker(path) for path, (sample, _) in SAMPLES.items() if part == sample), part)


def mark_image(image):
    registry = SAMPLES["images.registry"][0]
    return re.sub(rf"^{re.escape(registry)}/([a-z-]+):.*", r"chart-image/\1", image)


def values_lines(node, descriptions, path="", indent=0):
    for key, value in node.items():
        here = f"{path}.{key}".lstrip(".")
        if here in descriptions:
            yield f"{' ' * indent}# {descriptions[here]}\n"
        if here in descriptions or not isinstance(value, dict):
            text = dump({key: value})
            yield "".join(f"{' ' * indent}{line}\n" for line in text.splitlines())
        else:
            yield f"{' ' * indent}{key}:\n"
            yield from values_lines(value, descriptions, here, indent + 2)


def write(folder):
    """Writes the chart into an empty folder, or over an older chart of Waymark. Raises FileExistsError for any other folder."""
    folder = pathlib.Path(folder)
    if folder.exists() and any(folder.iterdir()):
        about_it = folder / "Chart.yaml"
        if not about_it.is_file() or yaml.safe_load(about_it.read_text()).get("name") != about()["name"]:
            raise FileExistsError(f"{folder} is neither empty nor a chart of Waymark")
        for path in folder.glob("templates/*"):
            path.unlink()
    for path, text in Chart().files().items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
