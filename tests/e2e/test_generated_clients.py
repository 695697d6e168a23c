"""Clients that generators make of docs/api/openapi.yaml work: types, calls, pages, bulk, statistics, exports, shares, the live stream.

make clients runs these and others (tests/clients)."""

import os
import pathlib
import shutil
import subprocess

import pytest
from clients import unique_email

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = ROOT / "tests/e2e/generated_clients"
DESCRIPTION = ROOT / "docs/api/openapi.yaml"
CACHE = pathlib.Path(os.environ.get("WAYMARK_CACHE") or pathlib.Path.home() / ".cache/waymark")
SECONDS = 300
STEPS = ["register", "create", "bulk", "page", "statistics", "csv", "share", "live"]


def run(argv, folder, **environment):
    done = subprocess.run([str(each) for each in argv], cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def steps(printed):
    return [line.partition(":")[0] for line in printed.splitlines()]


def generators(name, file):
    """The folder that tools/setup fills."""
    folder = CACHE / name
    if not (folder / file).is_file() or (folder / file).read_bytes() != (SOURCES / file).read_bytes():
        pytest.skip("no generators of clients; tools/setup fetches them")
    return folder


def test_a_typescript_client_makes_a_journey(env, tmp_path):
    modules = generators("generated-clients", "package-lock.json") / "node_modules"
    (tmp_path / "node_modules").symlink_to(modules)
    for name in ("package.json", "journey.mts"):
        shutil.copy(SOURCES / name, tmp_path)
    run([modules / ".bin/openapi-typescript", DESCRIPTION, "-o", "api.d.ts"], tmp_path)
    run([modules / ".bin/tsc", "--strict", "--target", "es2022", "--module", "nodenext", "--skipLibCheck", "journey.mts"], tmp_path)
    assert steps(run(["node", "journey.mjs", env["LINKS_API_URL"], unique_email()], tmp_path)) == STEPS


def test_a_python_client_makes_a_journey(env, tmp_path):
    programs = generators("generated-clients-python", "requirements.txt") / "bin"
    generate = [programs / "openapi-python-client", "generate", "--meta", "none", "--fail-on-warning"]
    run([*generate, "--path", DESCRIPTION, "--config", SOURCES / "python.yaml", "--output-path", tmp_path / "waymark_client"], tmp_path)
    done = run([programs / "python", "-B", SOURCES / "journey.py", env["LINKS_API_URL"], unique_email()], tmp_path, PYTHONPATH=str(tmp_path))
    assert steps(done) == STEPS
