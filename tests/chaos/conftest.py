"""Lets fixtures know how their test went, so that the logs of a failed one are kept."""


import pytest


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    if call.when == "call":
        item.passed = report.passed
        item.session.all_passed = getattr(item.session, "all_passed", True) and report.passed
