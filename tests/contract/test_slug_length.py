"""How long a slug may be is written in six places, which agree."""
import re

from sources import ROOT

PATTERN = re.compile(r"\[A-Za-z0-9_-\]\{1,(\d+)\}")


def pattern_in(path):
    """The lengths in the patterns of slugs in a file."""
    return {int(length) for length in PATTERN.findall((ROOT / path).read_text(encoding="utf-8"))}


def number_in(path, pattern):
    return {int(number) for number in re.findall(pattern, (ROOT / path).read_text(encoding="utf-8"))}


def test_c_sql_descriptions_and_web_agree_on_the_length_of_a_slug():
    (length,) = number_in("lib/links/slug.h", r"#define SLUG_LENGTH_MAX (\d+)")
    schema = set().union(*(pattern_in(path.relative_to(ROOT)) for path in (ROOT / "db").rglob("*.sql")))
    assert schema == {length}
    for path in ("docs/api/openapi.yaml", "docs/api/asyncapi.yaml", "web/dashboard/src/lib/bulk.ts"):
        assert pattern_in(path) == {length}, path
    for path in ("web/dashboard/src/i18n/en.ts", "web/dashboard/src/i18n/de.ts"):
        assert number_in(path, r'"error\.slug": "[^"]*?(\d+)\."') == {length}, path
