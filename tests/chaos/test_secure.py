"""A stack of tools/stack up --secure works as any other, and requires TLS, the right certificate, a password and a right.

The short form follows one click. CHAOS_FULL=1 runs all of tests/e2e and changes certificates under running services.
"""

import asyncio
import base64
import dataclasses
import http.server
import json
import os
import pathlib
import socket
import ssl
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request

import confluent_kafka
import psycopg2
import pytest
import redis
from harness import BUILD, FULL, ROOT, wait_until
from secure_harness import PROGRAMS, Authority, OtherService, changed_url, other_authority_in, sql

from clients import Api, kafka_settings, unique_email

E2E = ["click", "links", "operations", "metrics", "secrets", "traces", "examples", "tutorial"] if FULL else ["click"]
WRONG = "not-the-password-of-anybody"
API_VERSIONS = b"\x00\x00\x00\x0a\x00\x12\x00\x00\x00\x00\x00\x01\xff\xff"
WATCH_S = 600  # an outage is logged once a minute


@pytest.fixture(scope="module")
def stack(secure):
    return secure


@pytest.fixture(scope="module")
def other_authority(tmp_path_factory):
    return other_authority_in(tmp_path_factory.mktemp("authority"))


@pytest.mark.parametrize("name", E2E)
def test_the_end_to_end_tests_pass(stack, name, record_property):
    environment = {**os.environ, **stack.env, "STACK_STATE": stack.state, "WAYMARK_BUILD_DIR": str(BUILD)}
    command = ["/usr/bin/python3", "-B", "-m", "pytest", "-q", ROOT / f"tests/e2e/test_{name}.py"]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    record_property("did", f"tests/e2e/test_{name}.py on the secure stack")
    record_property("summary", done.stdout.splitlines()[-1])


def test_the_login_limit_holds_with_the_rights_of_the_redis_user(stack):
    api = Api(stack.env["LINKS_API_URL"])
    api.register_and_login(unique_email())
    body = {"email": api.email, "password": WRONG}
    statuses = {api.call("POST", "/api/auth/login", body).status for _ in range(30)}
    assert statuses == {401, 429}


# --- the servers refuse everyone else ---


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"sslmode": "disable"}, "no encryption"),
        ({"password": WRONG}, "password authentication failed"),
        ({"sslrootcert": "other"}, "certificate verify failed"),
        ({"host": "postgres.example", "hostaddr": "127.0.0.1"}, 'does not match host name "postgres.example"'),
    ],
    ids=["no TLS", "a wrong password", "another authority's certificate", "another name"],
)
def test_postgres_refuses(stack, other_authority, changes, words):
    changes = {name: other_authority if value == "other" else value for name, value in changes.items()}
    assert sql(stack.env["PG_URL"], "SELECT 1") == (1,)
    with pytest.raises(psycopg2.OperationalError) as refusal:
        sql(changed_url(stack.env["PG_URL"], **changes), "SELECT 1")
    assert words in str(refusal.value)


def test_sessions_of_postgres_are_encrypted(stack):
    assert sql(stack.env["PG_URL"], "SELECT count(*) > 0, bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE client_port IS NOT NULL") == (True, True)


def ask_kafka(stack, **changes):
    """The topics that a client sees; raises its errors."""
    errors = []
    settings = kafka_settings(stack.env) | changes
    client = confluent_kafka.Producer({**settings, "error_cb": errors.append, "log_level": 0})
    deadline = time.monotonic() + 300
    while True:
        try:
            return set(client.list_topics(timeout=0.5).topics)
        except confluent_kafka.KafkaException:
            client.poll(0)
            found = " ".join(error.str() for error in errors)
            # librdkafka reports this last, after the reason.
            if changes and "brokers are down" in found or time.monotonic() > deadline:
                raise AssertionError(found) from None


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"security.protocol": "plaintext"}, "brokers are down"),
        ({"security.protocol": "sasl_plaintext"}, "brokers are down"),
        ({"sasl.mechanism": "PLAIN"}, "Unsupported SASL mechanism"),
        ({"sasl.password": WRONG}, "invalid credentials"),
        ({"sasl.username": "nobody"}, "invalid credentials"),
        ({"ssl.ca.location": "other"}, "certificate verify failed"),
    ],
    ids=["no TLS", "no TLS, with a password", "another mechanism", "a wrong password", "an unknown user", "another authority's certificate"],
)
def test_kafka_refuses(stack, other_authority, changes, words):
    changes = {name: other_authority if value == "other" else value for name, value in changes.items()}
    assert "waymark.redirects.v1" in ask_kafka(stack)
    with pytest.raises(AssertionError) as refusal:
        ask_kafka(stack, **changes)
    assert words in str(refusal.value)


def test_kafkas_controller_listener_requires_a_certificate(stack):
    """It answers nobody but the node itself, with or without TLS."""
    _, controller, *_ = stack.ports("kafka")
    context = ssl.create_default_context(cafile=stack.env["KAFKA_SSL_CA_FILE"])
    with socket.create_connection(("127.0.0.1", controller), timeout=300) as plain:
        plain.sendall(API_VERSIONS)
        assert answer_of(plain)[:1] in (b"", b"\x15"), "an alert of TLS at most"
    with pytest.raises(ssl.SSLError), socket.create_connection(("127.0.0.1", controller), timeout=300) as plain:
        with context.wrap_socket(plain, server_hostname="127.0.0.1") as ours:
            ours.sendall(API_VERSIONS)
            ours.recv(1)


def answer_of(connection):
    try:
        return connection.recv(4096)
    except ConnectionResetError:
        return b""


def test_redis_refuses(stack):
    url = stack.env["REDIS_URL"]
    assert redis.Redis.from_url(url).ping()
    (port,) = stack.ports("redis")
    with pytest.raises(redis.ConnectionError):
        redis.Redis(port=port).ping()
    with pytest.raises((redis.ResponseError, redis.AuthenticationError), match="invalid username-password pair"):
        redis.Redis.from_url(changed_url(url, password=WRONG)).ping()
    # Behind a tunnel the password is still required, and a service has only the rights of its work.
    (port,) = stack.ports("stunnel-redirector-1")
    with pytest.raises(redis.AuthenticationError):
        redis.Redis(port=port).ping()
    service = redis.Redis(port=port, username="waymark", password=stack.secrets()["redis waymark"])
    assert service.ping()
    with pytest.raises(redis.exceptions.NoPermissionError):
        service.flushall()
    with pytest.raises(redis.exceptions.NoPermissionError):
        service.get("somebody:else")


# --- the services log why they are refused ---


@dataclasses.dataclass
class Fault:
    program: str
    changes: object  # of (stack, another authority's certificate): the variables that differ from the stack's own
    logged: list  # of (event, words)
    failing: set


def pg_url(stack, program, **changes):
    return {"PG_URL": changed_url(stack.environment_of(program)["PG_URL"], **changes)}


def login(stack, user):
    return {"KAFKA_SASL_USERNAME": user, "KAFKA_SASL_PASSWORD": stack.secrets()[f"kafka {user}"]}


NO_KAFKA_TLS = ("kafka_unreachable", "connecting to a SSL listener")
NO_POSTGRES_TLS = ("postgres_cannot_connect", "no encryption")
FAULTS = {
    "nothing has TLS": Fault(
        "redirector",
        lambda s, _: {
            **pg_url(s, "redirector", sslmode="disable"),
            "KAFKA_SECURITY_PROTOCOL": "sasl_plaintext",
            "KAFKA_SSL_CA_FILE": "",
            "REDIS_URL": f"redis://127.0.0.1:{s.ports('redis')[0]}",
        },
        [NO_POSTGRES_TLS, NO_KAFKA_TLS, ("redis_cannot_connect", "closed the connection|reset by peer")],
        {"postgres_or_redis"},
    ),
    "another authority's certificates": Fault(
        "analytics-consumer",
        lambda s, other: {**pg_url(s, "analytics-consumer", sslrootcert=other), "KAFKA_SSL_CA_FILE": other},
        [("postgres_cannot_connect", "certificate verify failed"), ("kafka_tls_failed", "certificate verify failed")],
        {"postgres", "kafka"},
    ),
    "another name, and a wrong password": Fault(
        "analytics-consumer",
        lambda s, _: {
            **pg_url(s, "analytics-consumer", host="postgres.example", hostaddr="127.0.0.1"),
            "KAFKA_SASL_PASSWORD": WRONG,
        },
        [
            ("postgres_cannot_connect", 'does not match host name "postgres.example"'),
            ("kafka_authentication_failed", "invalid credentials"),
        ],
        {"postgres", "kafka"},
    ),
    "no right to the group": Fault(
        "analytics-consumer",
        lambda s, _: login(s, "topics"),
        [("kafka_authorization_failed", "waymark-analytics .*authorization failed")],
        {"kafka"},
    ),
    # It is ready: PostgreSQL is enough for redirects.
    "no right to read the feed, and a wrong password of Redis": Fault(
        "redirector",
        lambda s, _: {
            **login(s, "links-api"),
            "REDIS_URL": changed_url(s.environment_of("redirector")["REDIS_URL"], password=WRONG),
        },
        [("kafka_authorization_failed", "waymark.link(s|-watermarks).v1 .*authorization failed"), ("redis_cannot_connect", "WRONGPASS")],
        set(),
    ),
}
FULL_FAULTS = {
    "an API without TLS": Fault("links-api", lambda s, _: pg_url(s, "links-api", sslmode="disable"), [NO_POSTGRES_TLS], {"postgres"}),
    "a janitor without TLS": Fault("janitor", lambda s, _: pg_url(s, "janitor", sslmode="disable"), [NO_POSTGRES_TLS], {"postgres"}),
    "a janitor with a wrong password": Fault(
        "janitor", lambda s, _: pg_url(s, "janitor", password=WRONG), [("postgres_cannot_connect", "password authentication failed")], {"postgres"}
    ),
}
if FULL:
    FAULTS |= FULL_FAULTS


@pytest.fixture(scope="module")
def started(stack, other_authority, tmp_path_factory):
    """Starts all at once, because each waits for most of the time."""
    running = {}
    try:
        for name, fault in FAULTS.items():
            running[name] = OtherService(stack, fault.program, tmp_path_factory.mktemp("other"), **fault.changes(stack, other_authority))
        yield running
    finally:
        for each in running.values():
            each.process.terminate()
        for each in running.values():
            each.end()


def test_a_service_is_known_to_kafka_by_its_certificate(stack, tmp_path, record_property):
    """Its name is the user, who has the rights of that user. Without a certificate there is no connection."""
    certificate, key = asyncio.run(Authority(os.path.dirname(stack.env["KAFKA_SSL_CA_FILE"])).sign("analytics-consumer"))
    password = {name: "" for name in ("KAFKA_SASL_MECHANISM", "KAFKA_SASL_USERNAME", "KAFKA_SASL_PASSWORD")}
    changes = {**password, "KAFKA_SECURITY_PROTOCOL": "ssl", "KAFKA_BROKERS": f"127.0.0.1:{stack.ports('kafka')[2]}"}
    other = OtherService(stack, "analytics-consumer", tmp_path, **changes)
    try:
        assert other.failing() == {"kafka"}
    finally:
        other.end()
    own = OtherService(stack, "analytics-consumer", tmp_path, **changes, KAFKA_SSL_CERTIFICATE_FILE=certificate, KAFKA_SSL_KEY_FILE=key)
    try:
        wait_until(lambda: own.failing() == set(), "the consumer to be ready")
    finally:
        own.end()
    record_property("did", "analytics-consumer with a client certificate, and without")


class TokenProvider(http.server.ThreadingHTTPServer):
    """Gives a token to a client with the right secret (RFC 6749, 4.4). The broker does not check its signature, so it has none."""

    def __init__(self, client, secret):
        super().__init__(("127.0.0.1", 0), TokenRequest)
        self.client = client
        self.authorization = "Basic " + base64.b64encode(f"{client}:{secret}".encode()).decode()
        self.given = 0
        threading.Thread(target=self.serve_forever).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/token"


class TokenRequest(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        allowed = self.headers["Authorization"] == self.server.authorization
        self.server.given += allowed
        parts = ({"alg": "none"}, {"sub": self.server.client, "iat": time.time(), "exp": time.time() + 600})
        token = ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts) + "."
        body = json.dumps({"access_token": token, "token_type": "Bearer", "expires_in": 600} if allowed else {"error": "invalid_client"}).encode()
        self.send_response(200 if allowed else 401)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def test_a_service_is_known_to_kafka_by_a_token(stack, tmp_path, record_property):
    with TokenProvider("analytics-consumer", "secret") as provider:
        try:
            changes = {
                "KAFKA_BROKERS": f"127.0.0.1:{stack.ports('kafka')[3]}", "KAFKA_SASL_MECHANISM": "OAUTHBEARER", "KAFKA_SASL_TOKEN_URL": provider.url,
                "KAFKA_SASL_USERNAME": "analytics-consumer", "KAFKA_SASL_PASSWORD": "secret",
                # librdkafka 2.8 measures the token's claims, which it has decoded without a NUL behind them.
                "ASAN_OPTIONS": "intercept_strlen=0",
            }  # fmt: skip
            environment = stack.environment_of("analytics-consumer") | changes
            checked = subprocess.run([BUILD / "bin/analytics-consumer", "--check-config"], env=environment, capture_output=True, text=True, timeout=300, check=False)
            if "needs a librdkafka with libcurl" in checked.stderr:
                assert checked.returncode == 64
                pytest.skip("this release's librdkafka has no libcurl: it was refused with that reason")
            other = OtherService(stack, "analytics-consumer", tmp_path, **changes | {"KAFKA_SASL_PASSWORD": WRONG})
            try:
                assert other.failing() == {"kafka"} and provider.given == 0
            finally:
                other.end()
            own = OtherService(stack, "analytics-consumer", tmp_path, **changes)
            try:
                wait_until(lambda: own.failing() == set(), "the consumer to be ready")
            finally:
                own.end()
            assert provider.given > 0
        finally:
            provider.shutdown()
    record_property("did", "analytics-consumer with tokens of a provider, and with a wrong secret")


@pytest.mark.parametrize("name", FAULTS)
def test_a_service_logs_why_it_is_refused(started, name, record_property):
    fault, service = FAULTS[name], started[name]
    lines = [service.wait_for(*logged) for logged in fault.logged]
    wait_until(lambda: service.failing() == fault.failing, f"/readyz to name {fault.failing}, not {service.failing()}")
    record_property("did", f"{fault.program}: {name}")
    shown = ("level", "event", "to", "message", "last")
    record_property("log", "; ".join(" ".join(str(line[field]) for field in shown if field in line) for line in lines))


def test_a_redirector_that_may_not_write_logs_it_and_keeps_the_click(stack, started):
    service = started["no right to read the feed, and a wrong password of Redis"]
    sql(
        stack.env["PG_URL"],
        "INSERT INTO links (slug, link_type, original_url, expires_at)"
        " VALUES ('kept', 'TEMPORARY', 'https://example.com/', now() + interval '8 hours') RETURNING id",
    )
    wait_until(lambda: follow(service.http_port, "kept") == 302, "the redirect")
    service.wait_for("kafka_authorization_failed", "waymark.redirects.v1 .*authorization failed")
    shown = urllib.request.urlopen(f"http://127.0.0.1:{service.ops_port}/metrics", timeout=300).read().decode()
    assert "\nwaymark_events_queued 1\n" in shown and "\nwaymark_events_dropped_total 0\n" in shown


class NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


def follow(port, slug):
    try:
        return urllib.request.build_opener(NoRedirects).open(f"http://127.0.0.1:{port}/{slug}", timeout=300).status
    except urllib.error.HTTPError as answer:
        return answer.code


def make_a_topic(stack, folder, **changes):
    """The tool's status and its log. It makes a new topic, because it asks no right for one that exists."""
    topics = folder / "topics.conf"
    topics.write_text("waymark.other.v1 1\n")
    environment = {**os.environ, **stack.env, "TOPICS_FILE": str(topics), **changes}
    done = subprocess.run([BUILD / "bin/waymark-topics"], env=environment, capture_output=True, text=True, timeout=300, check=False)
    return done.returncode, [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]


def test_making_a_topic_without_the_right_fails_with_a_log_line(stack, tmp_path):
    status, lines = make_a_topic(stack, tmp_path, **login(stack, "redirector"))
    assert (status, [line["event"] for line in lines]) == (1, ["topic_rejected"]), lines
    assert "authorization failed" in lines[0]["error"].lower()


@pytest.mark.skipif(not FULL, reason="CHAOS_FULL=1")
def test_making_a_topic_with_a_wrong_password_fails_with_a_log_line(stack, tmp_path):
    """It retries until its timeout, because the brokers may learn the password later."""
    status, lines = make_a_topic(stack, tmp_path, KAFKA_SASL_PASSWORD=WRONG)
    assert (status, [line["event"] for line in lines]) == (75, ["kafka_authentication_failed", "kafka_unreachable", "topic_not_created"]), lines
    assert "invalid credentials" in lines[0]["message"]


def test_no_password_is_in_a_log_on_a_command_line_or_in_a_file_that_others_may_read(stack, started):
    needles = set(stack.secrets().values()) | {WRONG}
    assert len(needles) > 12
    logs = [*stack.path("logs").iterdir(), *(each.log for each in started.values())]
    assert {"kafka.log", "postgres.log", "redis.log", "stunnel-redirector-1.log", "kafka-format.log"} <= {log.name for log in logs}
    for log in logs:
        assert found_in(log, needles) == set(), log
    for name, pid in stack.pids().items():
        assert found_in(pathlib.Path(f"/proc/{pid}/cmdline"), needles) == set(), name
    assert readable_files_with(stack, needles | {"PRIVATE KEY"}) == []
    assert readable_files_with(stack, {"BEGIN CERTIFICATE"}) != [], "the search finds nothing at all"


def readable_files_with(stack, needles):
    """Files with a needle that others than their owner may read, without Kafka's large indexes of numbers."""
    others = ["find", stack.state, "-type", "f", "-perm", "/077", "-not", "-name", "*index"]
    search = ["-exec", "grep", "-lF", "-f", "/dev/fd/0", "{}", "+"]
    with tempfile.TemporaryFile("w+") as file:
        file.write("\n".join(needles))
        file.flush()
        return subprocess.run([*others, *search], stdin=file, capture_output=True, text=True, check=False).stdout.split()


def found_in(path, needles):
    text = path.read_bytes()
    return {needle for needle in needles if needle.encode() in text}


@pytest.mark.skipif(not FULL, reason="CHAOS_FULL=1")
@pytest.mark.parametrize("name", ["postgres", "redis", "kafka", "stunnel-redirector-1"])
def test_a_killed_server_comes_back_as_secure_as_before(stack, name):
    stack.run("kill", "-9", name)
    stack.run("start", name)
    wait_until(lambda: all(ready(stack, each) == 200 for each in PROGRAMS.values()), "all services to be ready")
    wait_until(lambda: metric(stack, "redirector-1", "waymark_redis_reachable") == "1", "the redirector to have Redis")
    with pytest.raises(psycopg2.OperationalError, match="no encryption"):
        sql(changed_url(stack.env["PG_URL"], sslmode="disable"), "SELECT 1")
    with pytest.raises(AssertionError, match="brokers are down"):
        ask_kafka(stack, **{"security.protocol": "plaintext"})
    with pytest.raises(redis.ConnectionError):
        redis.Redis(port=stack.ports("redis")[0]).ping()


# --- certificates that change while services run ---


def swap(stack, server, files):
    """Replaces a server's certificate and key; returns the old ones."""
    before = {}
    for kind in ("pem", "key"):
        path = stack.path("authority", f"{server}.{kind}")
        before[kind] = path.read_text()
        path.write_text(files[kind])  # the owner and the mode stay
    return before


@pytest.mark.skipif(not FULL, reason="CHAOS_FULL=1")
def test_services_leave_a_postgres_with_another_authoritys_certificate_and_come_back(stack, tmp_path, record_property):
    files = other_files(tmp_path, "postgres")
    own = swap(stack, "postgres", files)
    try:
        stack.run("stop", "postgres")
        stack.run("start", "postgres")
        for name in ("links-api-1", "consumer-1", "janitor-1"):
            wait_until(lambda name=name: ready(stack, name) == 503, f"{name} not to be ready")
        for name in ("links-api-1", "consumer-1", "janitor-1", "redirector-1"):
            wait_until(lambda name=name: "certificate verify failed" in stack.log(name).read_text(), f"{name} to say why", seconds=WATCH_S)
    finally:
        swap(stack, "postgres", own)
        stack.run("kill", "-HUP", "postgres")
    for name in ("links-api-1", "consumer-1", "janitor-1"):
        wait_until(lambda name=name: ready(stack, name) == 200, f"{name} to be ready again")
    record_property("did", "PostgreSQL came back with another authority's certificate, then with its own")


@pytest.mark.skipif(not FULL, reason="CHAOS_FULL=1")
def test_a_tunnel_refuses_a_redis_with_another_authoritys_certificate(stack, tmp_path, record_property):
    other_files(tmp_path, "redis")
    # A connection from before the change: a new one would be refused.
    pool = redis.ConnectionPool.from_url(stack.env["REDIS_URL"])
    admin = redis.Redis(connection_pool=pool, single_connection_client=True)

    def show(folder, name):
        admin.execute_command("CONFIG", "SET", "tls-cert-file", f"{folder}/{name}.pem", "tls-key-file", f"{folder}/{name}.key")
        admin.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")

    show(tmp_path, "other")
    try:
        wait_until(lambda: metric(stack, "redirector-1", "waymark_redis_reachable") == "0", "the redirector to do without")
        wait_until(lambda: "certificate verify failed" in stack.log("stunnel-redirector-1").read_text(), "stunnel to say why")
    finally:
        show(stack.path("authority"), "redis")
    wait_until(lambda: metric(stack, "redirector-1", "waymark_redis_reachable") == "1", "the redirector to have it again")
    record_property("did", "Redis showed another authority's certificate, then its own")


def other_files(folder, server):
    other_authority_in(folder)
    names = ["-subj", f"/CN={server}", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"]
    made = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc", "-days", "9"]
    signer = ["-CA", folder / "ca.pem", "-CAkey", folder / "ca.key"]
    out = ["-keyout", folder / "other.key", "-out", folder / "other.pem"]
    subprocess.run(["openssl", "req", "-x509", *made, *names, *signer, *out], check=True, capture_output=True)
    return {kind: (folder / f"other.{kind}").read_text() for kind in ("pem", "key")}


def ready(stack, name):
    try:
        return urllib.request.urlopen(f"http://127.0.0.1:{stack.ports(name)[-1]}/readyz", timeout=300).status
    except urllib.error.HTTPError as answer:
        return answer.code


def metric(stack, name, wanted):
    shown = urllib.request.urlopen(f"http://127.0.0.1:{stack.ports(name)[-1]}/metrics", timeout=300).read().decode()
    return next(line.split()[1] for line in shown.splitlines() if line.split()[0] == wanted)
