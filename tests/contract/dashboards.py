"""dashboards.py FILE…: prints what Grafana's own description of dashboards does not know in a file: fields, kinds of panels, and
values of enumerations. It runs under the Python of tools/setup, which has grafana-foundation-sdk."""

import dataclasses
import enum
import inspect
import json
import pathlib
import sys
import typing

from grafana_foundation_sdk.cog import plugins, runtime
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard, Panel


def lost(given, kept, place):
    """What is given and not kept: the description drops fields that it does not know."""
    if isinstance(given, dict):
        for name, value in given.items():
            yield from lost(value, kept[name], f"{place}.{name}") if name in kept else [f"{place}.{name}: unknown"]
    elif isinstance(given, list):
        for i, (one, other) in enumerate(zip(given, kept, strict=True)):
            yield from lost(one, other, f"{place}[{i}]")
    elif given != kept:
        yield f"{place}: {given!r} became {kept!r}"


def enumerations(hint):
    if inspect.isclass(hint) and issubclass(hint, enum.Enum):
        return [hint]
    return [found for each in typing.get_args(hint) for found in enumerations(each)]


def wrong_values(thing, place):
    """Values that no member of their enumeration has, and panels of an unknown kind."""
    if isinstance(thing, list):
        for i, each in enumerate(thing):
            yield from wrong_values(each, f"{place}[{i}]")
    if isinstance(thing, Panel) and runtime.panelcfg_config(thing.type_val) is None:
        yield f"{place}: no kind of panel: {thing.type_val}"
    if not hasattr(thing, "to_json"):
        return
    hints = typing.get_type_hints(type(thing).__init__) | typing.get_type_hints(type(thing))
    for name, value in vars(thing).items():
        for found in enumerations(hints.get(name, object)):
            if value is not None and not isinstance(value, (list, dict, enum.Enum)) and value not in [member.value for member in found]:
                yield f"{place}.{name}: {value!r} is not in {found.__name__}"
        yield from wrong_values(value, f"{place}.{name}")


def main(paths):
    plugins.register_default_plugins()
    for path in map(pathlib.Path, paths):
        given = json.loads(path.read_text())
        board = Dashboard.from_json(given)
        kept = json.loads(JSONEncoder().encode(board))
        for problem in [*lost(given, kept, ""), *wrong_values(board, "")]:
            print(f"{path.name}{problem}")


main(sys.argv[1:])
