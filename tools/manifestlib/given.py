"""What the documents say about the manifests: Secrets, ConfigMaps and rights of Kafka users."""

import functools
import re

from . import tree

DOCUMENT = "docs/operations.md"
STORES = "docs/stores.md"


@functools.cache
def table():
    """The Secrets and ConfigMaps that operators provide: {name: keys}."""
    rows = {}
    for line in (tree.ROOT / DOCUMENT).read_text().splitlines():
        match = re.match(r"\| (?:Secret|ConfigMap) `([a-z0-9-]+)` \| ([^|]+) \|", line)
        if match:
            rows[match.group(1)] = set(re.findall(r"`([a-z0-9.-]+)`", match.group(2)))
    return rows


@functools.cache
def kafka_rights():
    """The rights of Kafka users: tuples (user, operation, kind, name, pattern)."""
    row = re.compile(r"\| `([a-z-]+)` \| ([a-z]+) \| (topic|group)( that begins with)? `([a-z0-9.-]+)` \|")
    found = map(row.match, (tree.ROOT / STORES).read_text().splitlines())
    return [(m[1], m[2], m[3], m[5], "prefixed" if m[4] else "literal") for m in found if m]


def names():
    return set(table())
