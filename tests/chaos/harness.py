"""What the chaos tests share: sizes, a stack, its PostgreSQL as an independent client sees it, and waiting.

CHAOS_FULL=1 takes the long form of every test, CHAOS_SEED repeats a run.
"""

import os
import pathlib
import subprocess
import time

import psycopg2
import pytest
from promises import FULL
from waiting import wait_until  # noqa: F401 the chaos tests import it from here

ROOT = pathlib.Path(__file__).resolve().parents[2]
STACK = str(ROOT / "tools/stack")
BUILD = pathlib.Path(os.environ.get("WAYMARK_BUILD_DIR", ROOT / "build/dev"))
SEED = int(os.environ.get("CHAOS_SEED", time.time_ns() % 1_000_000))

# Of a test whose short form would repeat integration tests.
long_form = pytest.mark.skipif(not FULL, reason="only in the long form: make chaos")


def size(short, full):
    return full if FULL else short


def observe(seconds):
    """Lets the load run for so long. Returns when that began and ended, in seconds of time.monotonic()."""
    begin = time.monotonic()
    time.sleep(seconds)
    return begin, time.monotonic()


def assert_answers(counts, wanted):
    """Every answer has the wanted status; in the short form fewer than half of them may be 503.

    A redirector answers 503 when its stores take longer than their timeouts. A machine that is busy with other tests
    causes that now and then; a redirector that cannot do without a store causes it every time.
    """
    others = {status: count for status, count in counts.items() if status != wanted}
    unavailable = 0 if FULL else others.pop(503, 0)
    assert counts[wanted] > 0 and not others, dict(counts)
    assert unavailable < counts[wanted], dict(counts)


class Stack:
    def __init__(self, state, build):
        self.state = str(state)
        self.build = str(build)

    def run(self, *words):
        command = [STACK, words[0], "--state", self.state, *map(str, words[1:])]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def addresses(self):
        """The environment of a client of this stack: REDIRECTOR_URL, KAFKA_BROKERS and so on."""
        script = 'set -a; eval "$("$0" env --state "$1")"; env -0'
        shown = subprocess.run(["bash", "-c", script, STACK, self.state], capture_output=True, text=True, check=True)
        return dict(pair.split("=", 1) for pair in shown.stdout.split("\0") if "=" in pair)


class Store:
    """The contents of PostgreSQL, read by a client that shares nothing with the services."""

    def __init__(self, url):
        self.connection = psycopg2.connect(url)
        self.connection.autocommit = True

    def ask(self, sql):
        with self.connection.cursor() as cursor:
            cursor.execute(sql)
            return cursor.fetchone()[0] or 0
