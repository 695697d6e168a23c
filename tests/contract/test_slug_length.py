"""What a slug may be is written in five places, which agree."""
import re

from sources import ROOT

PATTERN = re.compile(r"\[A-Za-z0-9_-\]\(\[A-Za-z0-9_.-\]\{0,(\d+)\}\[A-Za-z0-9_-\]\)\?")


def lengths_in(path):
    """The greatest lengths in the patterns of slugs in a file."""
    return {int(length) + 2 for length in PATTERN.findall((ROOT / path).read_text(encoding="utf-8").replace("\\-", "-"))}


def test_c_sql_descriptions_and_web_agree_on_the_length_of_a_slug():
    header = (ROOT / "lib/links/slug.h").read_text(encoding="utf-8")
    (length,) = {int(number) for number in re.findall(r"#define SLUG_LENGTH_MAX (\d+)", header)}
    schema = set().union(*(lengths_in(path.relative_to(ROOT)) for path in (ROOT / "db").rglob("*.sql")))
    assert schema == {length}
    web = ("web/dashboard/src/lib/bulk.ts", "web/dashboard/src/components/link_form.tsx")
    for path in ("docs/api/openapi.yaml", "docs/api/asyncapi.yaml", *web):
        assert lengths_in(path) == {length}, path
