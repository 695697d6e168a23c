"""links-api for operators: starting, stopping, readiness and configuration errors."""

import concurrent.futures
import contextlib
import signal
import socket
import subprocess
import urllib.parse

from clients import Api, ask, unique_email
from service import BUILD, SECRET, Database, Service, metric
from waiting import wait_until


def run(*arguments, **environment):
    return subprocess.run(
        [BUILD / "bin/links-api", *arguments], env=environment, capture_output=True, text=True, timeout=300, check=False
    )


GOOD = {
    "PG_URL": "postgresql://127.0.0.1/x", "REDIS_URL": "redis://127.0.0.1", "KAFKA_BROKERS": "127.0.0.1:1",
    "PUBLIC_BASE_URL": "https://wm.example", "JWT_SECRET": SECRET,
}  # fmt: skip


def test_check_config_does_not_start_the_service():
    assert run("--check-config", **GOOD).returncode == 0
    assert run("--check-config", **{**GOOD, "JWT_SECRET": "x" * 31}).returncode == 64
    assert "JWT_SECRET" in run("--help").stdout
    assert run("--version").stdout.startswith("links-api ")
    assert run("--nonsense").returncode == 64


def test_it_starts_without_backends_and_becomes_ready_with_them():
    database = Database(create=False)
    service = Service(database)
    try:
        assert ask(service.ops_url, "GET", "/livez").status == 200
        assert ask(service.ops_url, "GET", "/readyz").status == 503
        answer = Api(service.url).call("GET", "/api/stats")
        assert answer.status == 503 and answer.headers["retry-after"] == "1"
        database.create()
        wait_until(lambda: ask(service.ops_url, "GET", "/readyz").status == 200, "readiness")
        api = Api(service.url)
        api.register_and_login(unique_email())
        api.create()
        wait_until(lambda: database.value("SELECT count(*) FROM outbox") == 0, "the change to be published")
        service.stop()
    finally:
        service.process.kill()
        database.close()


def test_readiness_does_not_depend_on_redis_or_kafka(start):
    service = start(REDIS_URL="redis://127.0.0.1:1", KAFKA_BROKERS="127.0.0.1:1")
    api = Api(service.url)
    api.register_and_login(unique_email())
    link = api.create()
    assert api.call("PATCH", f"/api/links/{link['id']}", {"title": "x"}).status == 200
    assert api.call("GET", "/api/links").status == 200


def test_sigterm_completes_running_requests(database):
    service = Service(database, PG_STATEMENT_TIMEOUT_MS=60000, DRAIN_MS=60000)
    user = Api(service.url)
    user.register_and_login(unique_email())
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        with database.locked("links", "SHARE"):
            sent = [pool.submit(user.call, "POST", "/api/links", {"original_url": "https://example.com/"}) for _ in range(4)]
            database.await_statements_waiting(4)
            service.signal(signal.SIGTERM)
            wait_until(lambda: service.events("stopping"), "the signal to be noticed")
        assert [answer.result().status for answer in sent] == [201] * 4
    service.stop()


@contextlib.contextmanager
def crowd(service, count, request):
    """Connections from one address that send a request and read nothing."""
    at = urllib.parse.urlsplit(service.url)
    with contextlib.ExitStack() as stack:
        sockets = []
        for _ in range(count):
            one = stack.enter_context(socket.socket())
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            one.settimeout(60)
            one.connect((at.hostname, at.port))
            one.sendall(request)
            sockets.append(one)
        yield sockets


def test_clients_that_read_nothing_keep_nobody_out(start):
    """A large document stays in the sending connection, a small one leaves it idle."""
    service = start(HTTP_CONNECTIONS=32, LIVE_STREAMS=8)
    responses = 'waymark_http_requests_total{code="2xx"}'
    for path in ("/openapi.json", "/problems/json"):
        answered = metric(service, responses)
        with crowd(service, 32, f"GET {path} HTTP/1.1\r\nHost: a\r\n\r\n".encode()):
            wait_until(lambda: metric(service, responses) >= answered + 32, "the crowd")  # noqa: B023
            assert [ask(service.url, "GET", "/api/stats").status for _ in range(20)] == 20 * [200]
    assert metric(service, "waymark_http_connections_evicted_total") >= 2


def test_response_and_log_have_the_same_request_id(service):
    answer = ask(service.url, "GET", "/api/stats", {"X-Request-Id": "mine-1"})
    assert answer.headers["x-request-id"] == "mine-1"
    line = wait_until(
        lambda: [e for e in service.events("request") if e["request_id"] == "mine-1"], "the request in the log"
    )[0]
    assert (line["method"], line["route"], line["status"]) == ("GET", "/api/stats", 200)


def test_its_database_role_has_minimal_permissions(database):
    import psycopg2

    connection = psycopg2.connect(database.url("waymark_links_api"))
    connection.autocommit = True
    for statement in (
        "UPDATE link_statistics SET visit_count = 1", "SELECT * FROM visitor_salts", "DROP TABLE links", "TRUNCATE links",
        "DELETE FROM link_tombstones", "UPDATE link_tombstones SET slug = 'a'", "DELETE FROM idempotency_keys",
    ):  # fmt: skip
        try:
            connection.cursor().execute(statement)
        except psycopg2.errors.InsufficientPrivilege:
            continue
        raise AssertionError(f"the role may run: {statement}")
    connection.close()
