"""Strict validation with the schema of Kubernetes: unknown fields and values of a wrong type are errors.

schema/kubernetes.json is the part of Kubernetes' OpenAPI document that deploy/k8s needs, with the kinds of ADDED. `tools/lint/manifests --reduce DOCUMENT`
writes it. schema/custom.json has the custom resources in use, written by hand from their documentation.
"""

import functools
import json
import pathlib
import re

import jsonschema

from .rendering import name_of

FOLDER = pathlib.Path(__file__).parent / "schema"
KUBERNETES = FOLDER / "kubernetes.json"
CUSTOM = FOLDER / "custom.json"
ANYTHING = "io.k8s.apimachinery.pkg.runtime.RawExtension"
QUANTITY = r"^[+-]?[0-9]+(\.[0-9]+)?([KMGTPE]i|[mkMGTPE]|[eE][+-]?[0-9]+)?$"
# What the documents propose to add to an overlay, or operators often do.
ADDED = {
    ("batch/v1", "CronJob"),
    ("v1", "LimitRange"),
    ("v1", "PersistentVolumeClaim"),
    ("v1", "ResourceQuota"),
    ("rbac.authorization.k8s.io/v1", "Role"),
    ("rbac.authorization.k8s.io/v1", "RoleBinding"),
}
# Fields that the manifests do not use. Their schemas are half of the document.
LEFT_OUT = {"status", "managedFields"}


def group_version(api_version):
    return api_version if "/" in api_version else f"/{api_version}"


def strict(schema):
    """Converts a schema of the document to JSON Schema without descriptions, which rejects unknown fields."""
    if schema.get("format") == "int-or-string":
        return {"type": ["integer", "string"]}
    if "$ref" in schema:
        return {"$ref": schema["$ref"]}
    kept = {name: schema[name] for name in ("type", "required", "enum", "format") if name in schema}
    if "items" in schema:
        kept["items"] = strict(schema["items"])
    if isinstance(schema.get("additionalProperties"), dict):
        kept["additionalProperties"] = strict(schema["additionalProperties"])
    if "properties" in schema:
        kept["properties"] = {name: strict(each) for name, each in schema["properties"].items() if name not in LEFT_OUT}
        kept["additionalProperties"] = False
    return kept


def references(schema):
    return set(re.findall(r'"#/definitions/([^"]+)"', json.dumps(schema)))


def reduce(document, kinds):
    """The definitions that the kinds need, and the definition of each kind. kinds are pairs (apiVersion, kind)."""
    names = {}
    for name, definition in document["definitions"].items():
        for known in definition.get("x-kubernetes-group-version-kind", []):
            names[f"{known['group']}/{known['version']}", known["kind"]] = name
    roots = {f"{version} {kind}": names[group_version(version), kind] for version, kind in sorted(kinds)}
    definitions, waiting = {}, set(roots.values())
    while waiting:
        name = waiting.pop()
        definitions[name] = strict(document["definitions"][name])
        if name.endswith(".resource.Quantity"):
            definitions[name] = {"anyOf": [{"type": "number"}, {"type": "string", "pattern": QUANTITY}]}
        waiting |= references(definitions[name]) - set(definitions)
    return {"version": document["info"]["version"], "kinds": roots, "definitions": dict(sorted(definitions.items()))}


def write(reduced, path=KUBERNETES):
    """Writes one definition per line, so that a diff shows the changes of a newer Kubernetes."""
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(each, sort_keys=True)}" for name, each in reduced["definitions"].items())
    kinds = json.dumps(reduced["kinds"], indent=1)
    path.write_text(f'{{"version": {json.dumps(reduced["version"])},\n"kinds": {kinds},\n"definitions": {{\n{lines}\n}}}}\n')


@functools.cache
def validators():
    """{(apiVersion, kind): validator}"""
    found = {}
    for path in (KUBERNETES, CUSTOM):
        document = json.loads(path.read_text())
        for kind, name in document["kinds"].items():
            schema = {"$ref": f"#/definitions/{name}", "definitions": document["definitions"]}
            found[tuple(kind.split())] = jsonschema.Draft7Validator(schema)
    return found


def check(rendering):
    for thing in rendering.things:
        validator = validators().get((thing.get("apiVersion"), thing.get("kind")))
        if not validator:
            yield f"{name_of(thing)}: no schema for {thing.get('apiVersion')} {thing.get('kind')} (tools/lint/manifests --reduce)"
            continue
        for error in validator.iter_errors(thing):
            yield f"{name_of(thing)}: {'.'.join(str(part) for part in error.absolute_path) or 'it'}: {error.message[:200]}"
