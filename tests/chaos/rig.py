"""What the chaos tests share: a stack of its own, its PostgreSQL as another client sees it, and waiting.

CHAOS_SEED repeats a run.
"""

import os
import pathlib
import subprocess
import time

import psycopg2
from waiting import wait_until  # noqa: F401 the chaos tests take it from here

ROOT = pathlib.Path(__file__).resolve().parents[2]
STACK = str(ROOT / "tools/stack")
BUILD = pathlib.Path(os.environ.get("WAYMARK_BUILD_DIR", ROOT / "build/dev"))
SEED = int(os.environ.get("CHAOS_SEED", time.time_ns() % 1_000_000))


class Stack:
    def __init__(self, state, build):
        self.state = str(state)
        self.build = str(build)

    def run(self, *words):
        command = [STACK, words[0], "--state", self.state, *map(str, words[1:])]
        done = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def addresses(self):
        script = 'set -a; eval "$("$0" env --state "$1")"; env -0'
        shown = subprocess.run(["bash", "-c", script, STACK, self.state], capture_output=True, text=True, check=True)
        return dict(pair.split("=", 1) for pair in shown.stdout.split("\0") if "=" in pair)


class Store:
    """What stands in PostgreSQL, read by a client that shares nothing with the services."""

    def __init__(self, url):
        self.connection = psycopg2.connect(url)
        self.connection.autocommit = True

    def ask(self, sql):
        with self.connection.cursor() as cursor:
            cursor.execute(sql)
            return cursor.fetchone()[0] or 0
