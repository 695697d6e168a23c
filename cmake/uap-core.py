#!/usr/bin/python3
"""uap-core.py REGEXES OUT: writes uap-core's regexes.yaml, from regexes.py of ua-parser-builtins, which has the rules as Python."""
import ast
import json
import pathlib
import sys

# The arguments of each parser in regexes.py are fields of uap-core's rules.
LISTS = {
    "USER_AGENT_PARSERS": ("user_agent_parsers", ("regex", "family_replacement", "v1_replacement", "v2_replacement")),
    "OS_PARSERS": ("os_parsers", ("regex", "os_replacement", "os_v1_replacement", "os_v2_replacement", "os_v3_replacement", "os_v4_replacement")),
    "DEVICE_PARSERS": ("device_parsers", ("regex", "regex_flag", "device_replacement", "brand_replacement", "model_replacement")),
}


def main(regexes, out):
    text = ""
    for node in ast.parse(pathlib.Path(regexes).read_text(encoding="utf-8")).body:
        name = node.targets[0].id if isinstance(node, ast.Assign) else None
        if name not in LISTS:
            continue
        title, fields = LISTS[name]
        text += f"{title}:\n"
        for call in node.value.elts:
            values = [ast.literal_eval(argument) for argument in call.args]
            if len(values) > len(fields) or call.keywords:
                raise ValueError(f"unknown form of a rule: {ast.unparse(call)}")
            rule = {field: value for field, value in zip(fields, values) if value is not None}
            text += f"  - {json.dumps(rule)}\n"  # JSON is YAML
    pathlib.Path(out).write_text(text, encoding="utf-8")


main(*sys.argv[1:])
