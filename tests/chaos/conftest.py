"""Stacks of the chaos tests: one per test, ended whatever happens."""

import os
import pathlib
import shutil
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from rig import BUILD, Stack  # noqa: E402


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """Lets fixtures know how their test went: the logs of a failed one are kept."""
    report = (yield).get_result()
    if call.when == "call":
        item.passed = report.passed


@pytest.fixture
def run_stack(request):
    """run_stack(build) starts a stack of that build's programs."""
    started = []

    def start(build):
        # PostgreSQL of a stack runs as another user, who must reach the folder.
        stack = Stack(BUILD / "stacks" / f"chaos-{os.getpid()}-{len(started)}", build)
        started.append(stack)
        stack.up()
        return stack

    yield start
    for stack in started:
        stack.run("down")
        if request.node.passed:
            shutil.rmtree(stack.state)


@pytest.fixture
def naive_build(tmp_path_factory):
    """The build under test, with the naive consumer in the place of ours."""
    folder = tmp_path_factory.mktemp("naive") / "bin"
    folder.mkdir()
    for program in (BUILD / "bin").iterdir():
        if program.name != "analytics-consumer":
            (folder / program.name).symlink_to(program)
    script = pathlib.Path(__file__).with_name("naive_consumer.py")
    wrapper = folder / "analytics-consumer"
    wrapper.write_text(f"#!/bin/sh\nexec /usr/bin/python3 -B {script}\n")
    wrapper.chmod(0o755)
    return folder.parent
