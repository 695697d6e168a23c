"""docs/walkthrough.md names files and functions; each of them exists."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs/walkthrough.md").read_text()
FILES = re.findall(r"`((?:lib|services|tests)/[\w./-]+\.(?:c|h|py))`", TEXT)
FUNCTIONS = re.findall(r"`((?:lib|services)/[\w./-]+\.c)`[\s]+`(\w+)`", TEXT)


@pytest.mark.parametrize("path", sorted(set(FILES)))
def test_the_file_exists(path):
    assert (ROOT / path).is_file()


@pytest.mark.parametrize("path, name", sorted(set(FUNCTIONS)))
def test_the_file_defines_the_function(path, name):
    assert re.search(rf"^\w[^;\n]*\b{name}\(", (ROOT / path).read_text(), re.MULTILINE), f"{path} has no function {name}"


def test_the_page_follows_both_stories():
    assert len(set(FILES)) > 15 and len(set(FUNCTIONS)) > 12
