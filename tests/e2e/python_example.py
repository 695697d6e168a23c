"""The examples in Python, with the packages that their users install and classes that protoc has generated."""

import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCE = ROOT / "examples/python"
CACHE = pathlib.Path(os.environ.get("WAYMARK_CACHE") or pathlib.Path.home() / ".cache/waymark")


def interpreter():
    python = CACHE / "examples-python/bin/python"
    if not python.is_file():
        pytest.skip("no packages for the examples in Python; tools/setup fetches them")
    return python


def environment(folder):
    """What an example needs beside its settings."""
    for message in ("visit_event", "link_event"):
        file = f"{ROOT}/proto/waymark/v1/{message}.proto"
        subprocess.run(["protoc", "-I", ROOT / "proto", f"--python_out={folder}", file], check=True)
    return {"PYTHONPATH": f"{folder}{os.pathsep}{SOURCE}"}


def command(name):
    return [interpreter(), "-B", SOURCE / name]
