"""The long form of tests/integration/links-api/test_contract.py: ten thousand requests made from docs/api/openapi.yaml."""

import os
import re
import subprocess
import sys

import pytest
from harness import BUILD, FULL, ROOT

# Per operation and phase.
EXAMPLES = os.environ.get("CONTRACT_EXAMPLES") or ("400" if FULL else "20")
CASES = 10_000 if FULL else 1_000


def test_the_api_answers_as_its_description_says(record_property):
    test = ROOT / "tests/integration/links-api/test_contract.py"
    command = [ROOT / "tests/support/in-own-stack", sys.executable, "-B", "-m", "pytest", "-q", "-s", test]
    environment = {**os.environ, "CONTRACT_EXAMPLES": EXAMPLES, "WAYMARK_BUILD_DIR": str(BUILD)}
    done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if "1 skipped" in done.stdout:
        pytest.skip("Schemathesis is not there; tools/setup fetches it")
    cases = int((re.search(r"^(\d+) cases;", done.stdout, re.MULTILINE) or [0, 0])[1])
    record_property("did", "Schemathesis, all checks: requests made from docs/api/openapi.yaml, valid and invalid, against links-api")
    record_property("requests", cases)
    assert done.returncode == 0, done.stdout
    assert cases >= CASES, f"only {cases} cases"
