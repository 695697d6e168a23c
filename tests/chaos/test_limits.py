"""Each limit of the services is exceeded once, on the secure stack: with the rights of its users, every limit holds.

A new limit is one more row of LIMITS, and its variable in SERVICES.
"""

import concurrent.futures
import contextlib
import dataclasses
import json
import secrets
import select
import socket
from collections.abc import Callable

import psycopg2
import pytest
from clients import Api, ask, unique_email
from harness import wait_until
from secure_harness import OtherService

LINK = {"original_url": "https://example.com/"}
PASSWORD = "correct horse battery"
KIB = 1024
TIMEOUT_S = 120
# Redis may be slow on a busy machine, and without Redis nothing is limited.
PATIENT = {"REDIS_TIMEOUT_MS": "5000", "PG_STATEMENT_TIMEOUT_MS": "60000"}
SERVICES = {
    "quotas": (
        "links-api",
        PATIENT
        | {"LINKS_PER_DAY": "2", "ANONYMOUS_LINKS_PER_HOUR": "2", "ACCOUNTS_PER_HOUR": "2"}
        | {"LOGIN_FAILURES": "3", "LOGIN_FAILURES_PER_NETWORK": "4", "LOGIN_FAILURES_PER_ACCOUNT": "5"}
        | {"PASSWORD_THREADS": "1", "PASSWORD_QUEUE": "2", "PASSWORD_HASH_COST": "12"}
        | {"HTTP_HEAVY_WORKERS": "16", "PG_HEAVY_CONNECTIONS": "16", "PG_HEAVY_STATEMENT_TIMEOUT_MS": "60000"},
    ),
    "capacity": (
        "links-api",
        PATIENT
        | {"HTTP_WORKERS": "2", "HTTP_WORKER_QUEUE": "1", "HTTP_CONNECTIONS": "40", "HTTP_BODIES_MAX_BYTES": str(4 * KIB * KIB)}
        | {"LINKS_PER_DAY": "0"},
    ),
    "redirector": (
        "redirector",
        {"UNKNOWN_SLUGS_PER_MINUTE": "3", "HTTP_CONNECTIONS": "10", "HTTP_CONNECTIONS_PER_IP": "4", "TRUSTED_PROXIES": "192.0.2.1"},
    ),
}


class Subject:
    """A service with small limits, and users of it."""

    def __init__(self, stack, service):
        self.stack, self.service = stack, service
        self.url = f"http://127.0.0.1:{service.http_port}"

    def user(self):
        """A new user, who has registered elsewhere."""
        user = Api(self.stack.env["LINKS_API_URL"])
        email = unique_email()
        assert user.call("POST", "/api/auth/register", {"email": email, "password": PASSWORD}, network()).status == 201
        user.email = email
        user.token = user.call("POST", "/api/auth/login", {"email": email, "password": PASSWORD}, network()).json["access_token"]
        user.base = self.url
        return user

    def call(self, *words):
        return Api(self.url).call(*words)

    def metric(self, name):
        text = ask(f"http://127.0.0.1:{self.service.ops_port}", "GET", "/metrics").body.decode()
        return sum(float(line.split()[-1]) for line in text.splitlines() if line.startswith(name))

    @contextlib.contextmanager
    def locked(self, table):
        """Statements on this table wait."""
        with psycopg2.connect(self.stack.env["ADMIN_PG_URL"]) as connection, connection.cursor() as cursor:
            cursor.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
            yield
            connection.rollback()


def network():
    """The header of a client in a network that nobody else uses."""
    return {"X-Forwarded-For": f"100.{64 + secrets.randbelow(64)}.{secrets.randbelow(256)}.7"}


def after(times, send):
    """The response that follows so many accepted requests."""
    accepted = [send() for _ in range(times)]
    assert all(answer.status in (200, 201, 401, 404) for answer in accepted), accepted
    return send()


def at_once(count, send):
    """The response that comes while all others wait; they are read later."""
    pool = concurrent.futures.ThreadPoolExecutor(count)
    sent = [pool.submit(send) for _ in range(count)]
    done, _ = concurrent.futures.wait(sent, TIMEOUT_S, concurrent.futures.FIRST_COMPLETED)
    pool.shutdown(wait=False)
    return done.pop().result()


# --- how each limit is exceeded ---


def wrong_passwords_of_an_account(subject, times, from_where):
    user = subject.user()
    wrong = {"email": user.email, "password": "not this one"}
    return after(times, lambda: subject.call("POST", "/api/auth/login", wrong, from_where()))


def wrong_passwords_from_one_network(subject):
    here = network()
    return wrong_passwords_of_an_account(subject, 3, lambda: here)


def wrong_passwords_from_many_networks(subject):
    return wrong_passwords_of_an_account(subject, 5, network)


def wrong_passwords_from_a_network(subject):
    here = network()
    return after(4, lambda: subject.call("POST", "/api/auth/login", {"email": unique_email(), "password": PASSWORD}, here))


def registrations_from_a_network(subject):
    here = network()
    return after(2, lambda: subject.call("POST", "/api/auth/register", {"email": unique_email(), "password": PASSWORD}, here))


def links_of_a_user(subject):
    user = subject.user()
    return after(2, lambda: user.call("POST", "/api/links", LINK))


def anonymous_links_from_a_network(subject):
    here = network()
    return after(2, lambda: subject.call("POST", "/api/links/public", LINK, here))


def api_keys_of_an_account(subject):
    user = subject.user()
    return after(100, lambda: user.call("POST", "/api/keys", {"name": "k", "scopes": ["links:read"]}))


def exports_of_a_user(subject):
    user = subject.user()
    link = user.call("POST", "/api/links", LINK).json["link"]
    with subject.locked("visit_log"):
        return at_once(4 + 1, lambda: user.call("GET", f"/api/links/{link['id']}/visits", None, {"Accept": "text/csv"}))


def a_large_body(subject):
    return subject.user().call("POST", "/api/links", json.dumps(LINK).ljust(17 * KIB))


def a_large_body_of_a_bulk_request(subject):
    return subject.user().call("POST", "/api/links/bulk", json.dumps({"links": [LINK]}).ljust(2 * KIB * KIB + 1))


def items_of_a_bulk_request(subject):
    return subject.user().call("POST", "/api/links/bulk", {"links": [LINK] * 1001})


def logins_at_once(subject):
    def log_in():
        return subject.call("POST", "/api/auth/login", {"email": unique_email(), "password": PASSWORD}, network())

    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        sent = [pool.submit(log_in) for _ in range(12)]
        return next(answer for answer in (each.result() for each in sent) if answer.status == 429)


def requests_at_once(subject):
    user = subject.user()
    link = user.call("POST", "/api/links", LINK).json["link"]
    with subject.locked("links"):
        return at_once(2 + 1 + 1, lambda: user.call("GET", f"/api/links/{link['id']}"))


def incomplete_bodies(subject):
    user = subject.user()
    size = 1 * KIB * KIB
    head = f"POST /api/links/bulk HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {user.token}\r\nContent-Type: application/json\r\nContent-Length: {size}\r\n\r\n"
    with contextlib.ExitStack() as held:

        def is_full():
            answer = user.call("POST", "/api/links/bulk", json.dumps({"links": [LINK]}).ljust(size))
            if answer.status == 503:
                return answer
            held.enter_context(socket.create_connection(("127.0.0.1", subject.service.http_port))).sendall(head.encode() + b" " * (size - 1))
            return None

        return wait_until(is_full, TIMEOUT_S, "the memory of request bodies to be full")


def unknown_slugs_from_an_address(subject):
    return after(3, lambda: ask(subject.url, "GET", f"/{secrets.token_hex(8)}"))


def connections_of_an_address(subject):
    """The service closes the one beyond the limit."""
    refused = subject.metric("waymark_http_connections_refused_total")
    with contextlib.ExitStack() as held:
        opened = [held.enter_context(connect(subject, "127.0.0.4")) for _ in range(4 + 1)]
        with contextlib.suppress(ConnectionError):
            assert opened[-1].recv(1) == b"", "the service responded"
        assert subject.metric("waymark_http_connections_refused_total") > refused


def connections_of_all(subject, addresses, each):
    """So many from each address fill all places. One more is served, and an idle one is closed."""
    evicted = subject.metric("waymark_http_connections_evicted_total")
    with contextlib.ExitStack() as held:
        opened = [held.enter_context(connect(subject, address)) for address in addresses for _ in range(each)]
        assert ask(subject.url, "GET", "/").status
        closed, _, _ = select.select(opened, [], [], TIMEOUT_S)
        with contextlib.suppress(ConnectionError):
            assert closed[0].recv(1) == b"", "the service responded"
        assert subject.metric("waymark_http_connections_evicted_total") > evicted


def connect(subject, address):
    return socket.create_connection(("127.0.0.1", subject.service.http_port), TIMEOUT_S, source_address=(address, 0))


# --- the table ---


@dataclasses.dataclass
class Limit:
    of: str  # one of SERVICES
    exceed: Callable  # returns the response; None: it has seen that the connection was closed
    status: int = 0
    kind: str = ""  # of the problem document
    retry_s: int = 0  # the largest Retry-After; 0 = the response has none


LIMITS = {
    "wrong passwords of an account from one network": Limit("quotas", wrong_passwords_from_one_network, 429, "rate-limit", 900),
    "wrong passwords of an account from many networks": Limit("quotas", wrong_passwords_from_many_networks, 429, "rate-limit", 900),
    "wrong passwords from a network": Limit("quotas", wrong_passwords_from_a_network, 429, "rate-limit", 3600),
    "registrations from a network": Limit("quotas", registrations_from_a_network, 429, "rate-limit", 3600),
    "links of a user": Limit("quotas", links_of_a_user, 429, "rate-limit", 86_700),
    "anonymous links from a network": Limit("quotas", anonymous_links_from_a_network, 429, "rate-limit", 3600),
    "API keys of an account": Limit("quotas", api_keys_of_an_account, 409, "too-many-keys"),
    "exports of a user": Limit("quotas", exports_of_a_user, 429, "busy", 10),
    "bytes of a body": Limit("quotas", a_large_body, 413),
    "bytes of the body of a bulk request": Limit("quotas", a_large_body_of_a_bulk_request, 413),
    "items of a bulk request": Limit("quotas", items_of_a_bulk_request, 400, "validation"),
    "logins at once": Limit("quotas", logins_at_once, 429, "busy", 1),
    "requests at once": Limit("capacity", requests_at_once, 503, "", 1),
    "memory of request bodies": Limit("capacity", incomplete_bodies, 503, "", 1),
    "connections to links-api": Limit("capacity", lambda subject: connections_of_all(subject, ["127.0.0.2"], 40)),
    "unknown slugs from an address": Limit("redirector", unknown_slugs_from_an_address, 429, "", 60),
    "connections from an address": Limit("redirector", connections_of_an_address),
    "connections to a redirector": Limit(
        "redirector", lambda subject: connections_of_all(subject, [f"127.0.0.{n}" for n in range(10, 15)], 2)
    ),
}


@pytest.fixture(scope="module")
def subjects(secure, tmp_path_factory):
    """Starts all at once, because each waits for most of the time."""
    started = {name: OtherService(secure, program, tmp_path_factory.mktemp(name), **changes) for name, (program, changes) in SERVICES.items()}
    try:
        for service in started.values():
            wait_until(lambda service=service: service.failing() == set(), TIMEOUT_S, "the service to be ready")
        yield {name: Subject(secure, service) for name, service in started.items()}
    finally:
        for service in started.values():
            service.process.terminate()
        for service in started.values():
            service.end()


@pytest.mark.parametrize("name", LIMITS)
def test_the_limit_holds(subjects, name, record_property):
    limit = LIMITS[name]
    answer = limit.exceed(subjects[limit.of])
    if answer is None:
        record_property("answer", "closed")
        return
    retry = int(answer.headers.get("retry-after", 0))
    record_property("answer", f"{answer.status}, Retry-After {retry}")
    assert answer.status == limit.status, answer
    assert (1 if limit.retry_s else 0) <= retry <= limit.retry_s, answer
    if limit.kind:
        assert answer.json["type"].endswith(f"/problems/{limit.kind}"), answer
