"""Fixtures of all chaos tests, and what decides whether a test has kept its promises of speed."""

import pytest
from promises import Promises


@pytest.fixture
def promise(request):
    """promise(name, figure, bound, unit="", at_most=True) records a row of the table that tests/chaos/run prints."""
    request.node.promises = Promises()
    request.node.user_properties.append(("promises", request.node.promises.rows))
    return request.node.promises


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """A missed bound fails the test. Fixtures read item.passed to decide whether the logs of a stack are kept."""
    report = (yield).get_result()
    if call.when != "call":
        return
    missed = item.promises.missed() if hasattr(item, "promises") else []
    if report.passed and missed:
        report.outcome = "failed"
        report.longrepr = "missed promises:\n" + "\n".join(missed)
    item.passed = report.passed
    item.session.all_passed = getattr(item.session, "all_passed", True) and report.passed


@pytest.fixture(scope="session")
def batch_type(tmp_path_factory):
    from redirector_harness import load_messages

    return load_messages(tmp_path_factory.mktemp("protos"))


@pytest.fixture(scope="session")
def redirectors(request):
    """One stack for test_redirector.py and test_feed.py: two redirectors that trust their memory for an hour.

    The journal of each has room for the longest outage of Kafka.
    """
    from harness import size
    from redirector_harness import HOUR_MS, MB, redirector_stack

    variables = {"JOURNAL_MAX_BYTES": size(256, 2048) * MB, "MEMORY_TTL_MS": HOUR_MS, "LINKS_PER_DAY": "unlimited"}
    with redirector_stack("redirectors", request.session, redirectors=2, **variables) as stack:
        yield stack


@pytest.fixture(scope="session")
def gates(request):
    """One stack for test_visit_limit.py and test_link_passwords.py: four redirectors, and every other service."""
    from redirector_harness import redirector_stack

    with redirector_stack("gates", request.session, redirectors=4, idle=(), LINKS_PER_DAY="unlimited") as stack:
        yield stack


@pytest.fixture(scope="session")
def secure():
    """One stack with TLS, passwords and minimal rights for test_secure.py and test_limits.py."""
    from secure_harness import SecureStack

    stack = SecureStack()
    yield stack
    stack.down()


@pytest.fixture(scope="session")
def counting(request):
    """One stack, and consumers that the tests start and stop, for the three files about counting."""
    from counting_harness import counting_harness

    with counting_harness("counting", request.session) as harness:
        yield harness


@pytest.fixture(scope="session")
def freshness(request):
    """One stack for test_freshness.py and its control."""
    from freshness_harness import freshness_stack
    from harness import BUILD

    with freshness_stack(BUILD, request.session) as stack:
        yield stack
