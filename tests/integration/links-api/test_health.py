"""What administrators see of all services, also if one of them is down, slow or lies."""

import concurrent.futures
import contextlib
import datetime
import http.server
import json
import re
import socket
import threading

import pytest
import yaml
from clients import ask
from service import ROOT, is_active
from users import User
from waiting import wait_until

READY = (200, {"status": "ready", "failing": []})
KINDS = {
    "degraded": (200, {"status": "degraded", "failing": ["postgres_or_redis"]}),
    "unready": (503, {"status": "unready", "failing": ["postgres", "draining"]}),
}
# Answers that must never pass for a healthy process.
LIES = [
    (200, {"status": "unready", "failing": ["journal"]}), (503, {"status": "ready", "failing": []}), (200, {"status": "ready", "failing": ["journal"]}),
    (503, {"status": "unready", "failing": []}), (200, {"status": "ready"}), (200, {"status": "fine", "failing": []}), (200, {"status": ["ready"], "failing": []}),
    (503, {"status": "unready", "failing": ["<script>"]}), (503, {"status": "unready", "failing": ["x" * 40]}), (503, {"status": "unready", "failing": ["a"] * 10}),
    (200, {**READY[1], "events_queued": -1}), (200, {**READY[1], "events_queued": "1"}), (200, {**READY[1], "events_dropped": 0.5}),
    (200, []), (200, "<html>ready</html>"), (200, ""), (404, {"status": "ready", "failing": []}), (302, ""), (200, " " * 5000 + json.dumps(READY[1])),
]  # fmt: skip


class Process(http.server.ThreadingHTTPServer):
    """A process that answers /readyz with answer: (status, body), or waits until the test ends if it is None."""

    daemon_threads = True

    def __init__(self, answer=READY, address="127.0.0.1", port=0):
        self.answer, self.asked, self.elsewhere, self.released = answer, 0, "", threading.Event()
        super().__init__((address, port), Handler)
        self.address = f"{address}:{self.server_port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def stop(self):
        self.released.set()
        self.shutdown()
        self.server_close()


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked += 1
        if self.server.answer is None:
            self.server.released.wait(300)
            return
        status, body = self.server.answer if self.path == "/readyz" else (404, "")
        data = (body if isinstance(body, str) else json.dumps(body)).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        if status == 302:
            self.send_header("Location", self.server.elsewhere)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


@pytest.fixture
def process():
    """process(answer): starts one."""
    with contextlib.ExitStack() as running:

        def make(*answer, **options):
            started = Process(*answer, **options)
            running.callback(started.stop)
            return started

        yield make


@pytest.fixture
def admin_of(spawn, database):
    """admin_of([(name, address), …]): an administrator on a links-api that asks these."""

    def make(targets):
        urls = ", ".join(f"{name}=http://{address}" for name, address in targets)
        return User(spawn(HEALTH_URLS=urls), database, "admin")

    return make


def health(admin):
    answer = admin.call("GET", "/api/admin/health")
    assert answer.status == 200, answer
    return answer.json


def states(answer):
    """{address: (status, reason, failing)}. The address of the process that answers is empty."""
    return {each["address"]: (each["status"], each["reason"], each["failing"]) for each in answer["services"]}


def problems(answer, *kinds):
    return {(each["kind"], each["subject"]) for each in answer["problems"] if not kinds or each["kind"] in kinds}


def wait_for(admin, wanted):
    """A busy machine may take longer than the time limit of a probe, so this waits until the states are the wanted ones."""
    found = []

    def are_right():
        found[:] = [health(admin)]
        return states(found[0]) == wanted

    wait_until(are_right, f"the states {wanted}")
    return found[0]


PROCESSES = ("WaymarkDegraded", "WaymarkNotReady", "WaymarkTargetDown", "WaymarkServiceMissing")


def test_each_process_says_how_it_is(admin_of, process, closed_port):
    ready, degraded, unready, slow = process(READY), process(KINDS["degraded"]), process(KINDS["unready"]), process(None)
    missing = "nobody.invalid:9090"
    admin = admin_of([
        ("redirector", ready.address), ("redirector", degraded.address), ("analytics-consumer", unready.address),
        ("janitor", closed_port), ("janitor", slow.address), ("janitor", missing),
    ])  # fmt: skip
    answer = wait_for(admin, {
        ready.address: ("ready", None, []), degraded.address: ("degraded", None, ["postgres_or_redis"]),
        unready.address: ("unready", None, ["postgres", "draining"]), closed_port: ("unreachable", "no_connection", []),
        slow.address: ("unreachable", "timeout", []), missing: ("unreachable", "no_address", []), "": ("ready", None, []),
    })  # fmt: skip
    assert problems(answer, *PROCESSES) == {
        ("WaymarkDegraded", f"redirector {degraded.address}"), ("WaymarkNotReady", f"analytics-consumer {unready.address}"),
        ("WaymarkTargetDown", f"janitor {closed_port}"), ("WaymarkTargetDown", f"janitor {slow.address}"), ("WaymarkServiceMissing", "janitor"),
    }  # fmt: skip
    unready.answer = READY
    wait_until(lambda: states(health(admin))[unready.address] == ("ready", None, []), "the recovered process to be seen")


def test_clicks_that_wait_in_journals_are_shown(admin_of, process):
    waiting, empty, old = process((200, {**READY[1], "events_queued": 2**40})), process((200, {**READY[1], "events_queued": 0})), process(READY)
    admin = admin_of([("redirector", each.address) for each in (waiting, empty, old)])
    answer = wait_for(admin, dict.fromkeys([waiting.address, empty.address, old.address, ""], ("ready", None, [])))
    assert {each["address"]: each["events_queued"] for each in answer["services"]} == {waiting.address: 2**40, empty.address: 0, old.address: None, "": None}


def test_lost_clicks_are_a_problem_though_every_check_is_fine(admin_of, process):
    losing, fine = process((200, {**READY[1], "events_dropped": 12})), process((200, {**READY[1], "events_dropped": 0}))
    admin = admin_of([("redirector", losing.address), ("redirector", fine.address)])
    answer = wait_for(admin, dict.fromkeys([losing.address, fine.address, ""], ("ready", None, [])))
    assert {each["address"]: each["events_dropped"] for each in answer["services"]} == {losing.address: 12, fine.address: 0, "": None}
    assert [each["subject"] for each in answer["problems"] if each["kind"] == "WaymarkEventsDropped"] == [f"redirector {losing.address}"]


def test_a_process_that_lies_is_never_ready(admin_of, process):
    elsewhere = process(READY)
    for start in range(0, len(LIES), 16):
        liars = {each.address: each for each in (process(lie) for lie in LIES[start : start + 16])}
        for each in liars.values():
            each.elsewhere = f"http://{elsewhere.address}/readyz"
        answer = wait_for(admin_of([("janitor", address) for address in liars]), {**dict.fromkeys(liars, ("invalid", None, [])), "": ("ready", None, [])})
        assert problems(answer, *PROCESSES) == {("WaymarkTargetDown", f"janitor {address}") for address in liars}
    assert elsewhere.asked == 0, "a redirect was followed"


def test_a_broken_connection_is_no_answer(admin_of):
    with socket.create_server(("127.0.0.1", 0)) as server:
        def hang_up():
            with contextlib.suppress(OSError):
                while True:
                    server.accept()[0].close()

        threading.Thread(target=hang_up, daemon=True).start()
        address = f"127.0.0.1:{server.getsockname()[1]}"
        wait_for(admin_of([("janitor", address)]), {address: ("unreachable", "no_response", []), "": ("ready", None, [])})
        server.shutdown(socket.SHUT_RDWR)


def test_every_address_of_a_name_is_asked(admin_of, process):
    addresses = sorted({found[4][0] for found in socket.getaddrinfo("localhost", 1, type=socket.SOCK_STREAM)})
    one = process(READY)
    admin = admin_of([("redirector", f"localhost:{one.server_port}"), ("links-api", one.address)])
    answer = wait_until(lambda: (found := health(admin))["checked_at"] and found, "a report")
    shown = [each["address"] for each in answer["services"] if each["name"] == "redirector"]
    assert sorted(shown) == sorted(f"[{a}]:{one.server_port}" if ":" in a else f"{a}:{one.server_port}" for a in addresses)
    # HEALTH_URLS has the processes of links-api as well: this one does not add itself.
    assert [each["address"] for each in answer["services"] if each["name"] == "links-api"] == [one.address]


def test_a_slow_process_keeps_no_other_request_waiting(admin_of, process):
    slow = process(None)
    admin = admin_of([("janitor", slow.address)])
    wanted = {slow.address: ("unreachable", "timeout", []), "": ("ready", None, [])}
    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        asked = [pool.submit(wait_for, admin, wanted) for _ in range(10)]
        assert ask(admin.base, "GET", "/api/stats").status == 200
        for each in asked:
            each.result()


def test_reports_are_shared_for_two_seconds(admin_of, process):
    one = process(READY)
    admin = admin_of([("janitor", one.address)])
    wanted = dict.fromkeys([one.address, ""], ("ready", None, []))
    checked = sorted({datetime.datetime.fromisoformat(wait_for(admin, wanted)["checked_at"]) for _ in range(20)})
    assert len(checked) <= one.asked
    assert all(later - earlier >= datetime.timedelta(seconds=1.9) for earlier, later in zip(checked, checked[1:]))


def test_without_urls_only_this_process_is_shown(admin_of):
    answer = health(admin_of([]))
    assert [(each["name"], each["address"], each["status"]) for each in answer["services"]] == [("links-api", "", "ready")]


# --- what PostgreSQL knows ---


WORK = ("WaymarkPartitionsHalted", "WaymarkCountingStalled", "WaymarkCountingLagging", "WaymarkJanitorTaskLate")


def test_backlogs_and_locks_are_shown_with_their_problems(service, database):
    admin = User(service, database, "admin")
    wait_until(lambda: ("WaymarkOutboxRelayMissing", "waymark_outbox_relay") not in problems(health(admin)), "the relay")
    before = health(admin)
    assert before["schema"]["version"] == before["schema"]["required"] > 0
    assert before["counting"] == {"as_of": None, "lag_ms": None, "partitions": 0, "halted": []}
    assert problems(before, *WORK) == {("WaymarkCountingStalled", "as_of"), ("WaymarkJanitorTaskLate", "janitor")}
    database.run(
        """INSERT INTO consumer_offsets (topic, partition, next_offset, as_of, halted_at, halt_reason)
           VALUES ('waymark.redirects.v1', 0, 1, clock_timestamp(), NULL, NULL),
                  ('waymark.redirects.v1', 3, 1, clock_timestamp() - interval '2 minutes', clock_timestamp(), 'topic recreated')"""
    )
    database.run("INSERT INTO rollup_delta (link_id, hour, entries, humans, bots, uniques) SELECT n, '2026-11-20T07:00Z', 0, 1, 0, 0 FROM generate_series(1, 7) AS n")
    database.run(
        """INSERT INTO links (slug, link_type, original_url, workspace_id, state, expires_at, state_since)
           SELECT concat('h', n), 'PERMANENT', 'https://example.com/', %s, (ARRAY['ACTIVE', 'DELETED', 'EXPIRED'])[n], '2026-11-01T00:00Z',
                  '2026-11-02T00:00Z'::timestamptz + n * interval '1 h' FROM generate_series(1, 3) AS n""", admin.id
    )  # fmt: skip
    database.run(
        """INSERT INTO shedlock (name, lock_until, locked_at, locked_by) SELECT name, timezone('UTC', clock_timestamp()), timezone('UTC', clock_timestamp()) - age, 'me'
           FROM (VALUES ('waymark-expiry', interval '5 min'), ('waymark-rollups', interval '2 h'), ('waymark-retention', interval '30 h')) AS lock (name, age)"""
    )
    answer = health(admin)
    counting = answer["counting"]
    assert counting["partitions"] == 2 and counting["lag_ms"] >= 120_000
    assert [(each["topic"], each["partition"], each["reason"]) for each in counting["halted"]] == [("waymark.redirects.v1", 3, "topic recreated")]
    assert (answer["rollups"]["deltas"], answer["rollups"]["oldest_hour"]) == (7, "2026-11-20T07:00:00.000Z")
    assert answer["purge"] == {"overdue_expiries": 1, "waiting": 2, "oldest_at": "2026-11-02T02:00:00.000Z"}
    assert {"waymark-expiry", "waymark_outbox_relay"} < {each["name"] for each in answer["locks"]}
    assert problems(answer, *WORK) == {
        ("WaymarkPartitionsHalted", "waymark.redirects.v1/3"), ("WaymarkCountingLagging", "as_of"), ("WaymarkJanitorTaskLate", "waymark-rollups"),
    }  # fmt: skip


def test_a_mail_that_waits_is_a_problem_after_ten_minutes(service, database):
    admin = User(service, database, "admin")
    for age, wanted in (("9 min", set()), ("11 min", {("WaymarkMailFailing", "mail_outbox")})):
        database.run("INSERT INTO mail_outbox (kind, address, data, created_at) VALUES ('test', 'a@b.example', '{}', clock_timestamp() - %s::interval)", age)
        assert problems(health(admin), "WaymarkMailFailing") == wanted
    database.run("DELETE FROM mail_outbox WHERE address = 'a@b.example'")


def test_a_stale_outbox_is_a_problem(service, database):
    admin = User(service, database, "admin")
    database.run("UPDATE shedlock SET lock_until = clock_timestamp() + interval '1 hour', fence = fence + 1 WHERE name = 'waymark_outbox_relay'")
    try:
        wait_until(lambda: not is_active(service), "the relay to stop")
        database.run("INSERT INTO outbox (slug, payload, created_at) VALUES ('h1', '', clock_timestamp() - interval '1 min')")
        answer = health(admin)
        assert answer["outbox"]["waiting"] == 1 and answer["outbox"]["oldest_ms"] >= 60_000
        assert ("WaymarkOutboxStale", "outbox") in problems(answer)
    finally:
        database.run("DELETE FROM outbox WHERE slug = 'h1'")
        database.run("UPDATE shedlock SET lock_until = clock_timestamp() WHERE name = 'waymark_outbox_relay'")


def test_an_unreachable_redis_is_a_problem_of_a_ready_service(spawn, database, closed_port):
    admin = User(spawn(), database, "admin")
    wait_until(lambda: not problems(health(admin), "WaymarkRedisUnreachable"), "a connection to Redis")
    answer = health(User(spawn(REDIS_URL=f"redis://{closed_port}"), database, "admin"))
    assert states(answer)[""] == ("ready", None, [])
    assert problems(answer, "WaymarkRedisUnreachable") == {("WaymarkRedisUnreachable", "links-api")}


def test_an_unreachable_kafka_is_a_problem_of_a_ready_service(spawn, database, closed_port):
    admin = User(spawn(), database, "admin")
    wait_until(lambda: not problems(health(admin), "WaymarkKafkaUnreachable"), "a connection to Kafka")
    answer = health(User(spawn(KAFKA_BROKERS=closed_port), database, "admin"))
    assert states(answer)[""] == ("ready", None, [])
    assert problems(answer, "WaymarkKafkaUnreachable") == {("WaymarkKafkaUnreachable", "links-api")}


# --- rights, settings, documents ---


def test_only_administrators_see_it(service, database, expect, anonymous):
    expect(User(service, database).call("GET", "/api/admin/health"), 403)
    expect(anonymous.call("GET", "/api/admin/health"), 401)
    key, _ = User(service, database, "admin").with_key("links:read", "links:write", "stats:read")
    expect(key.call("GET", "/api/admin/health"), 403)


def test_each_kind_of_problem_is_a_title_of_the_runbook(service):
    description = yaml.safe_load((ROOT / "docs/api/openapi.yaml").read_text())
    kinds = description["components"]["schemas"]["Health"]["properties"]["problems"]["items"]["properties"]["kind"]["enum"]
    assert sorted(set(re.findall(r'"(Waymark[A-Za-z]+)"', (ROOT / "services/links-api/health/health.c").read_text()))) == kinds
    for kind in kinds:
        answer = ask(service.url, "GET", f"/docs/runbook/{kind}")
        assert answer.status == 200 and answer.body.decode().startswith(f"## {kind}\n\n"), answer
    assert ask(service.url, "GET", "/docs/runbook/WaymarkNothing").status == 404
