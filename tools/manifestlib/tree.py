"""Paths and facts of the tree, the build and the cache that tools/setup fills."""

import functools
import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
MANIFESTS = ROOT / "deploy/k8s"
# The overlays to apply, and the tested variants of them.
OVERLAYS = [*sorted((MANIFESTS / "overlays").iterdir()), *sorted((ROOT / "tests/deploy/variants").iterdir())]
CHART = ROOT / "deploy/charts/waymark"
# The files of values with which the chart is checked, by name; without a file it has its defaults.
VALUES = {"default": [], **{path.name.removesuffix("-values.yaml"): [path] for path in sorted(CHART.glob("ci/*-values.yaml"))}}


def cache():
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(os.environ.get("WAYMARK_CACHE") or pathlib.Path(base) / "waymark")


def kustomize():
    return cache() / "kustomize/kustomize"


def build():
    """The folder of WAYMARK_BUILD_DIR, or of the tests' build, or of make build where nothing else was built."""
    folders = [ROOT / "build" / name for name in ("dev", "release")]
    return pathlib.Path(os.environ.get("WAYMARK_BUILD_DIR") or next((each for each in folders if (each / "bin").exists()), folders[1]))


def program(name):
    return build() / "bin" / name


def version():
    return re.search(r"^project\(\w+ VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text(), re.M).group(1)


def topics():
    """{name: partitions} from deploy/topics.conf."""
    lines = (line.split("#")[0].split() for line in (ROOT / "deploy/topics.conf").read_text().splitlines())
    return {words[0]: int(words[1]) for words in lines if words}


@functools.cache
def images():
    """The names of the images that are built."""
    run = subprocess.run([ROOT / "deploy/images/assemble", "--list"], capture_output=True, text=True, check=True)
    return frozenset(run.stdout.split())
