"""The bounds on speed that unit and integration tests measure but do not judge (test_speed_at_most, speed.at_most)."""

import json
import os
import subprocess

import pytest
from harness import BUILD, FULL, ROOT

IN_C = (
    "unit/http_loop_hook",
    "unit/http_request",
    "unit/http_server",
    "integration/analytics_consumer_outages",
    "integration/db_migrate",
    "integration/janitor_default_partition",
    "integration/janitor_retention",
    "integration/kafka_consumer",
    "integration/kafka_producer",
    "integration/links_link_cache_freshness",
    "integration/postgres_fenced_lock",
    "integration/postgres_pg_conn",
    "integration/postgres_pg_pool",
    "integration/redirector_event_shipper",
    "integration/redirector_feed",
    "integration/redirector_link_lookup",
    "integration/redis_pipeline",
    "integration/redis_pool",
)
IN_PYTHON = (
    "integration/links_api_relay",
    "integration/links_api_visits",
    "integration/links_api_watermarks",
    "integration/links_api_login_timing",
)
LOGIN_SAMPLES = "2000"

pytestmark = pytest.mark.skipif(not FULL, reason="judges speed: make chaos runs it")


def run(command, **variables):
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **variables}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-8000:]
    return done.stdout


@pytest.mark.parametrize("name", IN_C + IN_PYTHON)
def test_is_fast_enough(name, promise, record_property):
    if name in IN_C:
        run(["cmake", "--build", BUILD, "--target", "test_" + name.replace("/", "_")])
    shown = run(
        ["ctest", "--test-dir", BUILD, "-V", "-R", f"^{name}$"], PYTEST_ADDOPTS="-s", LOGIN_TIMING_SAMPLES=LOGIN_SAMPLES
    )
    record_property("did", f"{name}, alone")
    lines = [line.partition("speed: ")[2] for line in shown.splitlines() if "speed: {" in line]
    for row in map(json.loads, lines):
        promise(row["promise"].replace("_", " "), row["figure"], row["bound"], row["unit"])
    assert lines or name == "integration/links_api_login_timing", "the test printed no figure"
