"""openapi_baseline.py FROM TO: writes a description without its texts and examples, as JSON."""

import json
import sys

import yaml

TEXTS = {"description", "summary", "example", "examples"}


def without_texts(part, names=False):
    """names: the keys are names that the API has given, such as those of properties."""
    if isinstance(part, list):
        return [without_texts(each) for each in part]
    if not isinstance(part, dict):
        return part
    return {key: without_texts(each, key == "properties" and not names) for key, each in part.items() if names or key not in TEXTS}


with open(sys.argv[1], encoding="utf-8") as source:
    stripped = without_texts(yaml.safe_load(source))
with open(sys.argv[2], "w", encoding="utf-8") as target:
    json.dump(stripped, target, separators=(",", ":"))
    target.write("\n")
