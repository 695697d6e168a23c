"""The service against its OpenAPI description: Schemathesis generates valid and invalid requests and checks the responses."""

import json
import os
import pathlib
import re
import subprocess

import closed_description
import pytest
from clients import Api, unique_email
from service import ROOT

CACHE = pathlib.Path(os.environ.get("WAYMARK_CACHE") or pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "waymark")
PROGRAM = CACHE / "schemathesis/bin/st"
FOLDER = ROOT / "tests/integration/links-api/contract"
# Requests per operation and phase; make chaos sends more.
EXAMPLES = int(os.environ.get("CONTRACT_EXAMPLES") or (100 if os.environ.get("CHAOS_FULL") else 5))
IS_SHORT = EXAMPLES <= 5
PHASES = "examples,fuzzing" if IS_SHORT else "examples,coverage,fuzzing,stateful"
# Differs from the examples' password, so that no generated request logs in as the caller or deletes the account.
PASSWORD = "another horse of staples"


@pytest.fixture
def caller(start, database):
    """An administrator whose id does not occur in the examples."""
    service = start(LOGIN_FAILURES="unlimited", LOGIN_FAILURES_PER_NETWORK="unlimited")
    other = Api(service.url)
    other.register_and_login(unique_email(), PASSWORD)
    database.run("ALTER TABLE users ALTER COLUMN id RESTART WITH 1000")
    api = Api(service.url)
    email = unique_email()
    api.register_and_login(email, PASSWORD)
    database.run("UPDATE users SET role = 'admin' WHERE email = %s", email)
    return api


def test_every_response_matches_the_description_and_none_is_a_server_error(caller, tmp_path, record_property):
    if not PROGRAM.exists():
        pytest.skip("Schemathesis is not installed; run tools/setup")
    # One worker, as Python 3.11 fails now and then where two threads parse source text, which Hypothesis does.
    # A busy machine makes data slowly: that says nothing of the description.
    (tmp_path / "openapi.json").write_text(json.dumps(closed_description.read()))
    command = [
        PROGRAM, "--config-file", FOLDER / "schemathesis.toml", "run", tmp_path / "openapi.json", "--url", caller.base, "--no-color",
        "-H", f"Authorization: Bearer {caller.token}", "-c", "all", "--phases", PHASES, "-n", str(EXAMPLES), "-w", "1", "--suppress-health-check", "too_slow",
        *(["--seed", "1"] if IS_SHORT else []),
    ]  # fmt: skip
    environment = {**os.environ, "CONTRACT_SELF": "1000", "SCHEMATHESIS_HOOKS": str(FOLDER / "hooks.py")}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    report = done.stdout + done.stderr
    cases = int((re.search(r"(\d+) generated", report) or [0, 0])[1])
    record_property("did", f"{cases} requests generated from docs/api/openapi.yaml, valid and invalid")
    print(f"\n{cases} cases", *re.findall(r"^Seed: .*|^=+ .* in [\d.]+s.*$", report, re.MULTILINE), sep="; ")
    assert done.returncode == 0, report
    assert cases >= 20 * EXAMPLES, report
