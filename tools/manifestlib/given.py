"""What an operator gives: the table of Secrets and ConfigMaps of docs/operations.md, {name: keys}."""

import functools
import re

from . import tree

DOCUMENT = "docs/operations.md"


@functools.cache
def table():
    rows = {}
    for line in (tree.ROOT / DOCUMENT).read_text().splitlines():
        match = re.match(r"\| (?:Secret|ConfigMap) `([a-z0-9-]+)` \| ([^|]+) \|", line)
        if match:
            rows[match.group(1)] = set(re.findall(r"`([a-z0-9.-]+)`", match.group(2)))
    return rows


def names():
    return set(table())
