"""Clients that generators make of docs/api/openapi.yaml work: types, calls, pages, bulk, statistics, exports."""

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


def run(argv, folder, **environment):
    done = subprocess.run([str(each) for each in argv], cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def generators():
    """The folder that tools/setup fills."""
    folder = CACHE / "generated-clients"
    for name in ("package-lock.json", "requirements.txt"):
        if not (folder / name).is_file() or (folder / name).read_bytes() != (SOURCES / name).read_bytes():
            pytest.skip("no generators of clients; tools/setup fetches them")
    return folder


def test_a_typescript_client_makes_a_journey(env, generators, tmp_path):
    (tmp_path / "node_modules").symlink_to(generators / "node_modules")
    for name in ("package.json", "journey.mts"):
        shutil.copy(SOURCES / name, tmp_path)
    programs = generators / "node_modules/.bin"
    run([programs / "openapi-typescript", DESCRIPTION, "-o", "api.d.ts"], tmp_path)
    run([programs / "tsc", "--strict", "--target", "es2022", "--module", "nodenext", "--skipLibCheck", "journey.mts"], tmp_path)
    assert run(["node", "journey.mjs", env["LINKS_API_URL"], unique_email()], tmp_path) == "done\n"


def test_a_python_client_makes_a_journey(env, generators, tmp_path):
    generate = [generators / "python/bin/openapi-python-client", "generate", "--meta", "none", "--fail-on-warning"]
    run([*generate, "--path", DESCRIPTION, "--config", SOURCES / "python.yaml", "--output-path", tmp_path / "waymark_client"], tmp_path)
    python = generators / "python/bin/python"
    assert run([python, "-B", SOURCES / "journey.py", env["LINKS_API_URL"], unique_email()], tmp_path, PYTHONPATH=str(tmp_path)) == "done\n"
