"""A plug-in for pytest: each test adds a row to the file CHAOS_SUMMARY, from which tests/chaos/run makes its table.

A row holds what the test recorded with record_property ("did" says what was done, the others are figures), its
promises (promises.py) and its verdict.
"""

import json
import os

VERDICTS = {"passed": "holds", "failed": "FAILS", "skipped": "skipped"}


def pytest_runtest_logreport(report):
    if report.when != "call" and report.outcome == "passed":
        return
    figures = dict(report.user_properties)
    row = {
        "name": report.location[2].rpartition(".")[2].removeprefix("test_").replace("_", " "),
        "did": figures.pop("did", ""),
        "promises": figures.pop("promises", []),
        "figures": figures,
        "verdict": VERDICTS[report.outcome],
        "reason": report.longrepr[2] if report.outcome == "skipped" else "",
    }
    with open(os.environ["CHAOS_SUMMARY"], "a", encoding="utf-8") as summary:
        summary.write(json.dumps(row) + "\n")
