"""docs/metrics.md describes exactly the metrics that running services expose."""

import pathlib
import re
import subprocess

import pytest
from clients import ask

ROOT = pathlib.Path(__file__).resolve().parents[2]
SERVERS = {"R": "REDIRECTOR_OPS_URL", "A": "LINKS_API_OPS_URL", "C": "CONSUMER_OPS_URL", "J": "JANITOR_OPS_URL"}


def described():
    """service → {(name, type, labels)}"""
    found = {letter: set() for letter in SERVERS}
    for line in (ROOT / "docs/metrics.md").read_text().splitlines():
        if not line.startswith("| `"):
            continue
        name, kind, labels, services, meaning = (cell.strip() for cell in line.strip("|").split("|"))
        assert meaning, f"{name} has no description"
        for letter in services.split():
            found[letter].add((name.strip("`"), kind, tuple(sorted(re.findall(r"`(\w+)`", labels)))))
    return found


def shown(text):
    """{(name, type, labels)} of a scrape. All series of a name must have the same labels."""
    kinds = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE))
    labels = {}
    for series, _, inside in re.findall(r"^([a-z_]+)(\{(.*)\})? \S+$", text, re.MULTILINE):
        name = next(each for each in (series, re.sub("_(bucket|sum|count)$", "", series)) if each in kinds)
        names = set(re.findall(r'(\w+)="', inside)) - ({"le"} if kinds[name] == "histogram" else set())
        labels.setdefault(name, set()).add(tuple(sorted(names)))
    assert {name for name, each in labels.items() if len(each) > 1} == set()
    return {(name, kind, *labels[name]) for name, kind in kinds.items()}


@pytest.mark.parametrize("letter", SERVERS)
def test_the_table_and_the_services_agree(env, letter):
    text = ask(env[SERVERS[letter]], "GET", "/metrics").body.decode()
    documented, exposed = described()[letter], shown(text)
    assert exposed - documented == set(), "not in docs/metrics.md"
    assert documented - exposed == set(), "not exposed"


@pytest.mark.parametrize("letter", SERVERS)
def test_the_values_of_labels_are_in_the_document(env, letter):
    """But for those that everybody knows, or that are those of the version and the API."""
    text, page = ask(env[SERVERS[letter]], "GET", "/metrics").body.decode(), (ROOT / "docs/metrics.md").read_text()
    values = {value for name, value in re.findall(r'(\w+)="([^"]*)"', text) if name not in ("le", "code", "status", "method", "route", "version")}
    assert {value for value in values if f"`{value}`" not in page} == set()


@pytest.mark.parametrize("letter", SERVERS)
def test_promtool_accepts_the_metrics(env, letter):
    text = ask(env[SERVERS[letter]], "GET", "/metrics").body
    done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, timeout=300, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, b"")
