"""docs/api/openapi.yaml, in which every object of a response has the members that are described and no others.

The description itself leaves them open, because responses may get more members and generated clients must ignore those."""

import pathlib

import yaml

PATH = pathlib.Path(__file__).resolve().parents[2] / "docs/api/openapi.yaml"


def close(schema):
    if isinstance(schema, list):
        return [close(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: value if key in ("example", "examples", "allOf", "if", "then", "else", "not") else close(value) for key, value in schema.items()}
    if "object" in schema.get("type", ()) and isinstance(schema.get("properties"), dict):
        closed.setdefault("additionalProperties", False)
    return closed


def read():
    return close(yaml.safe_load(PATH.read_text()))
