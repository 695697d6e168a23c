"""Sample values of overlay production that are left in a copy of it."""

import re

from . import rendering, tree

# The overlays that come with Waymark. Each other folder is a site's own.
SHIPPED = {"local", "production"}
SAMPLE = re.compile(r"[\w.-]*\b(?:sho\.rt|example\.com)\b|\b192\.0\.2\.\d+")


def own_overlays():
    return {overlay.name for overlay in tree.OVERLAYS if overlay.parent == tree.MANIFESTS / "overlays"} - SHIPPED


def texts(part, path=""):
    """(path, text) of each text in an object."""
    if isinstance(part, dict):
        for key, value in part.items():
            yield from texts(value, f"{path}.{key}".lstrip("."))
    elif isinstance(part, list):
        for i, value in enumerate(part):
            yield from texts(value, f"{path}.{i}".lstrip("."))
    elif isinstance(part, str):
        yield path, part


def check(rendered):
    for thing in rendered.things:
        for path, text in texts(thing):
            for found in sorted(set(SAMPLE.findall(text))):
                yield f"{rendering.name_of(thing)}: {path} still has the sample {found}"
