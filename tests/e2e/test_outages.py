"""One backend at a time is stopped (`tools/stack stop`) and comes back, on a stack of its own."""

import os
import pathlib
import re
import signal
import subprocess

import psycopg2
import pytest
from clients import Visitor, ask
from processes import popen
from stacklib.ports import Ports
from waiting import wait_until

ROOT = pathlib.Path(__file__).resolve().parents[2]
STACK = ROOT / "tools/stack"
BUILD = os.environ.get("WAYMARK_BUILD_DIR", str(ROOT / "build/dev"))


class Stack:
    def __init__(self, state):
        self.state = str(state)

    def run(self, *words):
        done = subprocess.run(
            [STACK, words[0], "--state", self.state, *words[1:]], capture_output=True, text=True, timeout=600
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def env(self):
        shown = subprocess.run(
            ["bash", "-c", 'set -a; eval "$("$0" env --state "$1")"; env -0', STACK, self.state],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        return dict(pair.split("=", 1) for pair in shown.stdout.split("\0") if "=" in pair)


@pytest.fixture(scope="module")
def stack(tmp_path_factory):
    # PostgreSQL runs as another user, which must be able to reach the folder.
    state = pathlib.Path(BUILD) / "stacks" / f"outages-{os.getpid()}"
    stack = Stack(state)
    subprocess.run(
        [STACK, "up", "--state", state, "--build", BUILD, "--tied-to", str(os.getpid()),
         "--set", "UNKNOWN_SLUGS_PER_MINUTE=unlimited", "--set", "LINKS_PER_DAY=unlimited",
         # The Redis that is left must answer for PostgreSQL, also on a busy machine.
         "--set", "REDIS_TIMEOUT_MS=5000"],
        check=True, timeout=600,
    )  # fmt: skip
    yield stack
    stack.run("down")


@pytest.fixture(scope="module")
def env(stack):
    return stack.env()


def is_ready(env, server):
    return ask(env[server], "GET", "/readyz").status == 200


def failing(env, server):
    return ask(env[server], "GET", "/readyz").json["failing"]


def is_waiting_for_lock(connection, login):
    with connection.cursor() as cursor:
        cursor.execute("SELECT FROM pg_stat_activity WHERE usename = %s AND wait_event_type = 'Lock'", (login,))
        return cursor.rowcount > 0


def lag(env):
    text = ask(env["CONSUMER_OPS_URL"], "GET", "/metrics").body.decode()
    return int(re.search(r"^waymark_consumer_lag (\d+)$", text, re.M)[1])


def test_without_postgres_the_api_says_503_and_clicks_are_shown_as_waiting(stack, user, visitor, env):
    cached = user.create()
    assert visitor.follow(cached["slug"]).status == 302
    user.wait_for_visits(cached["id"], 1)
    wait_until(lambda: lag(env) == 0, "no click to wait")
    stack.run("stop", "postgres")
    try:
        for _ in range(40):
            assert visitor.follow(cached["slug"]).status == 302
        assert user.call("GET", "/api/auth/session").status == 503, "who is logged in is not known"
        create = user.call("POST", "/api/links", {"original_url": "https://example.com/"})
        assert create.status == 503 and int(create.headers["retry-after"]) >= 1
        wait_until(lambda: not is_ready(env, "LINKS_API_OPS_URL"), "links-api to report that it is not ready")
        assert ask(env["LINKS_API_OPS_URL"], "GET", "/livez").status == 200
        assert is_ready(env, "REDIRECTOR_OPS_URL"), "it still redirects links that it knows"
        wait_until(lambda: lag(env) == 40, "the clicks of the outage to be shown as waiting")
        stack.run("kill", "-KILL", "consumer-1")
        stack.run("start", "consumer-1")
        wait_until(lambda: lag(env) == 40, "a consumer that owns no partition to show them too")
    finally:
        stack.run("start", "postgres")
    wait_until(lambda: is_ready(env, "LINKS_API_OPS_URL"), "links-api to recover by itself")
    assert user.create()
    stats = f"/api/links/{cached['id']}/stats"
    wait_until(lambda: user.call("GET", stats).status == 200, "the connections of statistics to recover")
    user.wait_for_visits(cached["id"], 41)
    wait_until(lambda: lag(env) == 0, "no click to wait")


def test_a_consumer_notices_an_outage_of_kafka_in_the_middle_of_a_batch(stack, user, visitor, env):
    """Its only worker waits for PostgreSQL, so it does not ask Kafka for records."""
    link = user.create()
    stack.run("stop", "consumer-1")
    stack.run("start", "consumer-1", "--set", "WORKERS=1")
    blocker, observer = (psycopg2.connect(env["ADMIN_PG_URL"]) for _ in range(2))
    observer.autocommit = True
    try:
        blocker.cursor().execute("LOCK TABLE visit_log")
        assert visitor.follow(link["slug"]).status == 302
        wait_until(lambda: is_waiting_for_lock(observer, "consumer"), "the consumer to wait for PostgreSQL")
        stack.run("stop", "kafka")
        wait_until(lambda: "kafka" in failing(env, "CONSUMER_OPS_URL"), "the consumer to miss Kafka")
    finally:
        blocker.close()
        observer.close()
        stack.run("start", "kafka")
    wait_until(lambda: is_ready(env, "CONSUMER_OPS_URL"), "the consumer to recover by itself")
    user.wait_for_visits(link["id"], 1)


def test_a_redirector_that_is_told_to_stop_sends_its_events_during_the_drain_notice(stack, user, env, tmp_path):
    link = user.create()
    http_port, ops_port = (Ports().take() for _ in range(2))
    url, ops = f"http://127.0.0.1:{http_port}", f"http://127.0.0.1:{ops_port}"
    values = {name: env[name] for name in ("REDIS_URL", "KAFKA_BROKERS")} | {
        "PATH": os.environ["PATH"], "PG_URL": env["ADMIN_PG_URL"], "PUBLIC_BASE_URL": env["REDIRECTOR_URL"],
        "HTTP_ADDRESS": "127.0.0.1", "OPS_ADDRESS": "127.0.0.1", "HTTP_PORT": str(http_port), "OPS_PORT": str(ops_port),
        "JOURNAL_DIR": str(tmp_path / "journal"), "DRAIN_NOTICE_MS": "600000",
    }  # fmt: skip
    log = open(tmp_path / "log", "w+")
    redirector = popen([pathlib.Path(BUILD) / "bin/redirector"], env=values, stdout=log, stderr=log)
    try:
        wait_until(lambda: says(ops, "ready"), "the redirector to be ready")
        stack.run("stop", "kafka")
        for _ in range(20):
            assert Visitor(url).follow(link["slug"]).status == 302
        redirector.send_signal(signal.SIGTERM)
        wait_until(lambda: says(ops, "draining"), "the redirector to drain")
        wait_until(lambda: '"event":"flushing"' in pathlib.Path(log.name).read_text(), "the log to say flushing")
        stack.run("start", "kafka")
        user.wait_for_visits(link["id"], 20)
        assert says(ops, "draining"), "the drain notice was over"
    finally:
        redirector.kill()
        redirector.wait()
        log.close()


def says(ops, word):
    try:
        return f'"{word}"' in ask(ops, "GET", "/readyz").body.decode()
    except OSError:
        return False
