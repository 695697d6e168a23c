"""What the chart refuses: values that are misspelt, have another type or form, or that no cluster can have.

The JSON schema of the values says most of it. A template says what depends on two values, or needs a message of its own."""

from . import description

TYPES = {str: "string", bool: "boolean", int: "integer", list: "array", dict: "object"}
LABEL = "[a-z0-9]([a-z0-9-]*[a-z0-9])?"
ADDRESS = r"([^\s,:/]+|\[[^\s,/]+\]):[1-9][0-9]{0,4}"
# Any other sample is a text without white space.
PATTERNS = {
    **dict.fromkeys(("hosts.api", "hosts.links"), rf"{LABEL}(\.{LABEL})+"),
    "kafka.brokers": f"{ADDRESS}(,{ADDRESS})*",
    "redis.address": ADDRESS,
    "redis.certificateName": r"[^\s,:/]+",
    "networks.proxies": r"\S+(, \S+)*",
    "journal.maxBytes": "[1-9][0-9]{6,14}",
    "journal.storage": f"[1-9][0-9]{{0,5}}({'|'.join(description.UNITS)})",
}
# Networks. One of proxies is at most as large as tools/lint/manifests allows it in an overlay.
BYTE = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
IPV4 = rf"{BYTE}(\.{BYTE}){{3}}"
IPV6 = "[0-9A-Fa-f]{0,4}(:[0-9A-Fa-f]{0,4}){2,7}"
DIGEST = "(sha256:[0-9a-f]{64})?"
PORT = "networks.postgresPort"
CHECKS = """\
{{- range list "postgres" "redis" "kafka" }}
{{- $network := get $.Values.networks . }}
{{- if not (regexMatch `^%(network)s$` $network) }}
{{- fail (printf "networks.%%s: %%s must be a network, like 10.1.2.0/24" . $network) }}
{{- end }}
{{- end }}
{{- range splitList "," .Values.networks.proxies }}
{{- if not (regexMatch `^ ?%(proxy)s$` .) }}
{{- fail (printf "networks.proxies: %%s must be a network of at most a /%(least4)d (IPv6: /%(least6)d): name the addresses of the Ingress controller" .) }}
{{- end }}
{{- end }}
{{- range $name, $replicas := .Values.replicas }}
{{- if gt (int $replicas.min) (int $replicas.max) }}
{{- fail (printf "replicas.%%s: min (%%d) is more than max (%%d)" $name (int $replicas.min) (int $replicas.max)) }}
{{- end }}
{{- end }}
{{- $bytes := get (dict%(units)s) (regexFind "[A-Za-z]+$" .Values.journal.storage) }}
{{- $needed := div (mul (int64 .Values.journal.maxBytes) %(percent)d) 100 }}
{{- if lt (mul (regexFind "^[0-9]+" .Values.journal.storage | int64) $bytes) $needed }}
{{- fail (printf "journal.storage: %%s has no room for journal.maxBytes and the file system: at least %%d bytes" .Values.journal.storage $needed) }}
{{- end }}
"""


def text(pattern):
    return {"type": "string", "pattern": f"^{pattern}$"}


def closed(properties):
    return {"type": "object", "additionalProperties": False, "properties": properties}


def schema_of(node, samples, variables, path=""):
    """The schema of a value, or of a part of the values. samples: the paths of addresses, hosts and the like. variables: the names
    that each ConfigMap may have. A text may not be a number, because Helm would write it as 1.7e+10."""
    if path in PATTERNS or path in samples:
        return text(PATTERNS.get(path, r"\S+"))
    if path.startswith("resources.") or not isinstance(node, dict):
        bounds = {"maximum": 65535} if path == PORT else {}
        return {"type": TYPES[type(node)], **({"minimum": 1, **bounds} if type(node) is int else {})}
    if path.startswith("variables."):
        return closed({name: {"type": "string"} for name in variables[path.partition(".")[2]]})
    if path == "images.digests":
        return closed({name: text(DIGEST) for name in node})
    properties = {key: schema_of(value, samples, variables, f"{path}.{key}".lstrip(".")) for key, value in node.items()}
    # Helm adds global to the values of a chart that is part of another one.
    return closed(properties) if path else {
        "$schema": "http://json-schema.org/draft-07/schema#", **closed({**properties, "global": {"type": "object"}}),
    }  # fmt: skip


def prefixes(least, most):
    return f"/({'|'.join(map(str, range(least, most + 1)))})"


def template():
    least4, least6 = (bits + 1 - description.PROXIES_MAX[version].bit_length() for version, bits in ((4, 32), (6, 128)))
    return CHECKS % {
        "network": f"({IPV4}{prefixes(0, 32)}|{IPV6}{prefixes(0, 128)})",
        "proxy": f"({IPV4}({prefixes(least4, 32)})?|{IPV6}({prefixes(least6, 128)})?)",
        "least4": least4, "least6": least6,
        "units": "".join(f' "{unit}" {size}' for unit, size in description.UNITS.items()),
        "percent": round(description.FILE_SYSTEM * 100),
    }  # fmt: skip
