"""Every table of the schema stands in the one table of docs/operations.md that says what bounds it."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]


def tables_of_the_schema():
    sql = "".join(path.read_text() for path in sorted((ROOT / "db/migrations").glob("*.sql")))
    return {name for name in re.findall(r"^CREATE TABLE (\w+) ?(?!PARTITION)", sql, re.M) if not name.endswith("_default")}


def tables_with_a_bound():
    section = re.search(r"^### What grows\n(.*?)^#", (ROOT / "docs/operations.md").read_text(), re.M | re.S).group(1)
    rows = [line.split("|") for line in section.splitlines() if line.startswith("| `")]
    assert all(bound.strip() for _, _, bound, *_ in rows)
    names = [name for _, first, *_ in rows for name in re.findall(r"`(\w+)`", first)]
    assert len(names) == len(set(names)), "a table stands there twice"
    return set(names)


def test_every_table_has_its_bound_in_the_table_of_what_grows():
    assert tables_of_the_schema() == tables_with_a_bound()
