"""Each limit of the services is exceeded once, on the secure stack: with the rights of its users, every limit holds.

A new limit is one more row of LIMITS, and its variable in SERVICES.
"""

import concurrent.futures
import contextlib
import dataclasses
import itertools
import json
import re
import secrets
import socket
import subprocess
import time
from collections.abc import Callable

import psycopg2
import pytest
from clients import Api, ask, unique_email
from harness import BUILD, ROOT, wait_until
from secure_harness import OtherService, sql

# Slugs beyond UNKNOWN_QUERIES_PER_SECOND wait; test_feed.py counts the queries. test_live.py exceeds the limits of streams,
# and test_destinations.py that of destinations.
ELSEWHERE = {"UNKNOWN_QUERIES_PER_SECOND", "LIVE_STREAMS", "LIVE_STREAMS_PER_ACCOUNT", "LIVE_STREAM_S", "DESTINATION_BYTES_MAX"}
LINK = {"original_url": "https://example.com/"}
PASSWORD = "correct horse battery"
NETWORKS = itertools.count()
KIB = 1024
TIMEOUT_S = 300
WAIT_MS = 2000
# Redis may be slow on a busy machine, and without Redis nothing is limited.
PATIENT = {"REDIS_TIMEOUT_MS": "5000", "PG_WAIT_MS": "60000", "PG_STATEMENT_TIMEOUT_MS": "60000"}
SERVICES = {
    "quotas": (
        "links-api",
        PATIENT
        | {"LINKS_PER_DAY": "2", "ANONYMOUS_LINKS_PER_HOUR": "2", "ACCOUNTS_PER_HOUR": "2"}
        | {"FETCH_TITLES": "on", "LOGIN_FAILURES": "3", "LOGIN_FAILURES_PER_NETWORK": "4", "LOGIN_FAILURES_PER_ACCOUNT": "5"}
        | {"PASSWORD_THREADS": "1", "PASSWORD_QUEUE": "2", "PASSWORD_HASH_COST": "12"}
        | {"HTTP_HEAVY_WORKERS": "16", "PG_HEAVY_CONNECTIONS": "16", "PG_HEAVY_STATEMENT_TIMEOUT_MS": "60000"},
    ),
    "capacity": (
        "links-api",
        PATIENT
        | {"HTTP_WORKERS": "2", "HTTP_WORKER_QUEUE": "1", "HTTP_CONNECTIONS": "40", "LIVE_STREAMS": "8", "HTTP_BODIES_MAX_BYTES": str(4 * KIB * KIB)}
        | {"LINKS_PER_DAY": "unlimited", "HTTP_CONNECTIONS_PER_IP": "38", "TRUSTED_PROXIES": "192.0.2.1"},
    ),
    "rates": (
        "links-api",
        PATIENT
        | {"REQUESTS_PER_MINUTE": "5", "BULK_LINKS_PER_MINUTE": "4", "IDEMPOTENCY_BYTES_PER_DAY": "2000"}
        | {"HTTP_HEAVY_WORKERS": "1", "HTTP_WORKER_WAIT_MS": str(WAIT_MS), "PG_HEAVY_STATEMENT_TIMEOUT_MS": "60000"},
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

    def waiting(self, table):
        """How many statements wait for a lock of the table."""
        return sql(self.stack.env["ADMIN_PG_URL"], f"SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = '{table}'::regclass")[0]

    def call(self, *words):
        return Api(self.url).call(*words)

    def metric(self, name):
        text = ask(f"http://127.0.0.1:{self.service.ops_port}", "GET", "/metrics").body.decode()
        return sum(float(line.split()[-1]) for line in text.splitlines() if line.startswith(name))

    def admin(self):
        user = self.user()
        sql(self.stack.env["ADMIN_PG_URL"], f"UPDATE users SET role = 'admin' WHERE email = '{user.email}' RETURNING id")
        return user

    @contextlib.contextmanager
    def locked(self, table):
        """Statements on this table wait."""
        with psycopg2.connect(self.stack.env["ADMIN_PG_URL"]) as connection, connection.cursor() as cursor:
            cursor.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
            yield
            connection.rollback()


def network():
    """The header of a client in a network that nobody else uses."""
    number = next(NETWORKS)
    return {"X-Forwarded-For": f"100.{64 + number // 256}.{number % 256}.7"}


def after(times, send):
    """The response that follows so many accepted requests."""
    accepted = [send() for _ in range(times)]
    assert all(answer.status in (200, 201, 204, 401, 403, 404) for answer in accepted), accepted
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


def reports_from_a_network(subject):
    here, slug = network(), subject.user().call("POST", "/api/links", LINK).json["link"]["slug"]
    return after(10, lambda: subject.call("POST", "/report", {"link": slug, "reason": "spam"}, here))


def page_titles_of_an_account(subject):
    """Of a private address, which is not asked."""
    user = subject.user()
    return after(30, lambda: user.call("POST", "/api/page-titles", {"url": "http://10.0.0.1/"}))


def links_of_a_user(subject):
    user = subject.user()
    return after(2, lambda: user.call("POST", "/api/links", LINK))


def requests_of_an_account(subject):
    user = subject.user()
    return after(5, lambda: user.call("GET", "/api/links"))


def links_in_bulk_requests(subject):
    """The second one still passes, because one link is left."""
    user = subject.user()
    return after(2, lambda: user.call("POST", "/api/links/bulk", {"links": [LINK] * 3}))


def links_in_a_bulk_change(subject):
    user = subject.user()
    return after(2, lambda: user.call("POST", "/api/links/bulk", {"links": [LINK] * 3})) and user.call(
        "PATCH", "/api/links?filter=id:>0", {"state": "disabled"}
    )


def stored_responses(subject):
    user = subject.user()
    return after(2, lambda: user.call("POST", "/api/links", LINK, {"Idempotency-Key": secrets.token_hex(8)}))


def wrong_passwords_with_a_token(subject):
    user = subject.user()
    body = {"current_password": "not this one", "new_password": "another one"}
    return after(3, lambda: user.call("POST", "/api/auth/password", body))


def a_wait_for_a_worker(subject):
    """The only heavy worker waits for a lock while another account waits for the worker."""
    users = [subject.user() for _ in range(2)]
    paths = [f"/api/links/{user.call('POST', '/api/links', LINK).json['link']['id']}/visits" for user in users]
    overdue = subject.metric("waymark_http_overdue_requests_total")
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        with subject.locked("visit_log"):
            sent = []
            for user, path in zip(users, paths):
                sent.append(pool.submit(user.call, "GET", path))
                wait_until(lambda: subject.waiting("visit_log") == 1, "a statement to wait")
            wait_until(lambda: subject.metric("waymark_http_queued_requests") == 1, "a request to wait")
            queued = time.monotonic()
            wait_until(lambda: time.monotonic() - queued > WAIT_MS / 1000, "the request to be overdue")
        answers = [future.result() for future in sent]
        assert answers[0].status == 200
        assert subject.metric("waymark_http_overdue_requests_total") == overdue + 1
        return answers[1]


def anonymous_links_from_a_network(subject):
    here = network()
    return after(2, lambda: subject.call("POST", "/api/links/public", LINK, here))


def api_keys_of_an_account(subject):
    user = subject.user()
    return after(100, lambda: user.call("POST", "/api/keys", {"name": "k", "scopes": ["links:read"]}))


def shares_of_an_account(subject):
    user = subject.user()
    return after(100, lambda: user.call("POST", "/api/shares", {"tag": "x"}))


def exports_of_a_user(subject):
    user = subject.user()
    link = user.call("POST", "/api/links", LINK).json["link"]
    with subject.locked("visit_log"):
        return at_once(4 + 1, lambda: user.call("GET", f"/api/links/{link['id']}/visits", None, {"Accept": "text/csv"}))


def a_long_target(subject):
    return subject.call("GET", "/api/links?filter=" + "x" * 6400)


def a_long_head(subject):
    return subject.call("GET", "/api/stats", None, {"X-Long": "x" * 10_240})


def values_of_a_body(subject):
    return subject.user().call("POST", "/api/links/bulk", {"links": [{}] * 32_768})


def items_of_a_sync_request(subject):
    return subject.user().call("POST", "/api/links/sync", {"links": [LINK] * 101})


def links_of_a_bulk_change(subject):
    user = subject.user()
    for count in (1000, 1):
        assert user.call("POST", "/api/links/bulk", {"links": [LINK] * count}).status == 200
    return user.call("PATCH", "/api/links?filter=id:>0", {"state": "disabled"})


def blocked_hosts(subject):
    admin, where = subject.admin(), subject.stack.env["ADMIN_PG_URL"]
    (before,) = sql(where, "SELECT count FROM blocked_hosts_state")
    many = f"INSERT INTO blocked_hosts (host) SELECT 'many-' || i || '.example' FROM generate_series({before + 1}, 3000) AS i RETURNING 1"
    sql(where, many)
    try:
        return admin.call("POST", "/api/admin/hosts", {"host": "one-more.example"})
    finally:
        sql(where, "DELETE FROM blocked_hosts WHERE host LIKE 'many-%' RETURNING 1")


def a_large_body(subject):
    return subject.user().call("POST", "/api/links", json.dumps(LINK).ljust(33 * KIB))


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

        return wait_until(is_full, "the memory of request bodies to be full")


def unknown_slugs_from_an_address(subject):
    return after(3, lambda: ask(subject.url, "GET", f"/{secrets.token_hex(8)}"))


def connections_of_an_address(subject, most):
    """The service closes the one beyond the limit."""
    refused = subject.metric("waymark_http_connections_refused_total")

    def is_refused():
        """Not if this machine is so busy that deadlines close connections before all are open."""
        with contextlib.ExitStack() as held:
            opened = [held.enter_context(connect(subject, "127.0.0.4")) for _ in range(most + 1)]
            with contextlib.suppress(ConnectionError):
                assert opened[-1].recv(1) == b"", "the service responded"
            return subject.metric("waymark_http_connections_refused_total") > refused

    wait_until(is_refused, "a connection beyond the limit to be refused")


def connections_of_all(subject, addresses, each):
    """So many from each address fill all places. One more is served, and an idle one is closed for it."""
    evicted = subject.metric("waymark_http_connections_evicted_total")

    def is_evicted():
        """Not if this machine is so busy that deadlines close connections before all are open."""
        with contextlib.ExitStack() as held:
            for address in addresses * each:
                held.enter_context(connect(subject, address))
            assert ask(subject.url, "GET", "/").status
            return subject.metric("waymark_http_connections_evicted_total") > evicted

    wait_until(is_evicted, "an idle connection to be closed for a new one")


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
    rule: tuple = ()  # name, size and window of the limit, which the headers and the detail repeat


def rule(of, exceed, name, size, window_s):
    return Limit(of, exceed, 429, "rate-limit", window_s, (name, size, window_s))


MINUTE_S, HOUR_S, DAY_S = 60, 3600, 86_700  # a day is counted in steps of five minutes
LIMITS = {
    "wrong passwords of an account from one network": rule("quotas", wrong_passwords_from_one_network, "login", 3, 900),
    "wrong passwords of an account from many networks": rule("quotas", wrong_passwords_from_many_networks, "login-account", 5, 900),
    "wrong passwords from a network": rule("quotas", wrong_passwords_from_a_network, "login-network", 4, HOUR_S),
    "wrong passwords with a token": rule("quotas", wrong_passwords_with_a_token, "password", 3, 900),
    "registrations from a network": rule("quotas", registrations_from_a_network, "accounts", 2, HOUR_S),
    "reports from a network": rule("quotas", reports_from_a_network, "reports", 10, HOUR_S),
    "page titles of an account": rule("quotas", page_titles_of_an_account, "page-titles", 30, MINUTE_S),
    "links of a user": rule("quotas", links_of_a_user, "links", 2, DAY_S),
    "anonymous links from a network": rule("quotas", anonymous_links_from_a_network, "anonymous-links", 2, HOUR_S),
    "requests of an account": rule("rates", requests_of_an_account, "requests", 5, MINUTE_S),
    "links in bulk requests": rule("rates", links_in_bulk_requests, "bulk-links", 4, MINUTE_S),
    "links in a bulk change": rule("rates", links_in_a_bulk_change, "bulk-links", 4, MINUTE_S),
    "stored responses": rule("rates", stored_responses, "idempotency-bytes", 2000, DAY_S),
    "wait for a worker": Limit("rates", a_wait_for_a_worker, 503, "overloaded", 1),
    "API keys of an account": Limit("quotas", api_keys_of_an_account, 409, "too-many-keys"),
    "shares of an account": Limit("quotas", shares_of_an_account, 409, "too-many-shares"),
    "exports of a user": Limit("quotas", exports_of_a_user, 429, "busy", 10),
    "bytes of a target": Limit("quotas", a_long_target, 414, "target-too-long"),
    "bytes of a head": Limit("quotas", a_long_head, 431, "headers-too-large"),
    "bytes of a body": Limit("quotas", a_large_body, 413, "body-too-large"),
    "bytes of the body of a bulk request": Limit("quotas", a_large_body_of_a_bulk_request, 413, "body-too-large"),
    "values of a body": Limit("quotas", values_of_a_body, 400, "json"),
    "items of a bulk request": Limit("quotas", items_of_a_bulk_request, 400, "validation"),
    "items of a sync request": Limit("quotas", items_of_a_sync_request, 400, "validation"),
    "links of a bulk change": Limit("capacity", links_of_a_bulk_change, 422, "too-many-links"),
    "blocked hosts": Limit("quotas", blocked_hosts, 409, "too-many-hosts"),
    "logins at once": Limit("quotas", logins_at_once, 429, "busy", 1),
    "requests at once": Limit("capacity", requests_at_once, 503, "overloaded", 1),
    "memory of request bodies": Limit("capacity", incomplete_bodies, 503, "overloaded", 1),
    "connections to links-api": Limit("capacity", lambda subject: connections_of_all(subject, ["127.0.0.2", "127.0.0.3"], 20)),
    "connections to links-api from an address": Limit("capacity", lambda subject: connections_of_an_address(subject, 38)),
    "unknown slugs from an address": Limit("redirector", unknown_slugs_from_an_address, 429, "", 60),
    "connections from an address": Limit("redirector", lambda subject: connections_of_an_address(subject, 4)),
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
            wait_until(lambda service=service: service.failing() == set(), "the service to be ready")
        yield {name: Subject(secure, service) for name, service in started.items()}
    finally:
        for service in started.values():
            service.process.terminate()
        for service in started.values():
            service.end()


def check_headers(answer, limit):
    """The last of the RateLimit headers is that of the exceeded limit."""
    name, size, window_s = limit.rule
    assert answer.headers["ratelimit-policy"] == f'"{name}";q={size};w={window_s}', answer
    assert answer.headers["ratelimit"] == f'"{name}";r=0;t={answer.headers["retry-after"]}', answer
    said = re.search(r" Limit: (\S+), (\d+) in (\d+ \w+)\. Try again in (.+)\.$", answer.json["detail"])
    assert said and (said[1], int(said[2])) == (name, size), answer
    assert said[3] in (f"{window_s} seconds", f"{window_s // 60} minutes", f"{window_s // 3600} hours"), answer
    # "59 minutes and 58 seconds": rounded up in the last unit.
    units_s = {"s": 1, "m": 60, "h": 3600}
    parts = [(int(count), units_s[unit[0]]) for count, unit in re.findall(r"(\d+) (\w+)", said[4])]
    assert 0 <= sum(count * unit_s for count, unit_s in parts) - int(answer.headers["retry-after"]) < parts[-1][1], answer


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
    if limit.of != "redirector":
        kind = f"/problems/{limit.kind}"
        assert answer.headers["content-type"] == "application/problem+json" and answer.json["type"] == kind, answer
    if limit.rule:
        check_headers(answer, limit)


def test_every_limit_has_a_row():
    """The variables of links-api and the redirector that set a limit are those of SERVICES, and the problems are documented."""
    for program in ("links-api", "redirector"):
        text = subprocess.run([BUILD / "bin" / program, "--help"], capture_output=True, text=True, check=True).stdout
        group = re.search(r"^Limits:\n(.*?)\n\n", text, re.M | re.S)[1]
        known = {name for of, changes in SERVICES.values() if of == program for name in changes} | ELSEWHERE
        assert set(re.findall(r"^  ([A-Z_]+)", group, re.M)) <= known
    source = (ROOT / "services/links-api/http/rate_limit.c").read_text()
    rules = {limit.rule[0] for limit in LIMITS.values() if limit.rule} | set(re.findall(r'\[LIMITS_\w+\] *= \{ "([a-z-]+)"', source))
    section = (ROOT / "docs/api/problems.md").read_text().split("## rate-limit")[1].split("## ")[0]
    assert set(re.findall(r"^\| `([a-z-]+)` \|", section, re.M)) == rules
