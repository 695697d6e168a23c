"""Single visits: pages by cursor, and exports with constant memory that do not block other requests."""

import csv
import datetime
import http.client
import io
import json
import pathlib
import socket
import threading
import time
import urllib.parse

import pytest
import speed
from clients import Api
from waiting import wait_until
from visit_fixture import add_visits

ROOT = pathlib.Path(__file__).resolve().parents[3]
UTC = datetime.timezone.utc
LAST = datetime.datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
FIRST = LAST - datetime.timedelta(days=40)
MEMBERS = [
    "event_id", "occurred_at", "country", "region", "city", "referrer_host", "referrer_source", "browser", "browser_version", "os", "os_version",
    "device", "language", "utm_source", "utm_medium", "utm_campaign", "is_bot", "bot_reason", "is_unique", "slug", "status", "latency_ms",
    "link_id", "cursor", "rule", "variant", "alias", "is_scan",
]  # fmt: skip
BIG = 25000
CSV, NDJSON = "text/csv", "application/x-ndjson"


@pytest.fixture(scope="module")
def link(ann, database):
    link = ann.create()
    add_visits(database, link["id"], 1500, FIRST, LAST)
    # Many at the same time: only ids distinguish them.
    add_visits(database, link["id"], 300, LAST - datetime.timedelta(days=5), LAST - datetime.timedelta(days=5, milliseconds=-1))
    return link


@pytest.fixture(scope="module")
def big(ann, database):
    """A link whose export (about 10 MB) is far larger than socket buffers."""
    link = ann.create()
    add_visits(database, link["id"], BIG, FIRST, LAST, bots=0.0)
    return link


def path(link, **parameters):
    query = urllib.parse.urlencode(parameters)
    return f"/api/links/{link['id']}/visits?{query}"


def ids_of(database, link, where=""):
    return [row[0] for row in database.run(
        f"SELECT event_id::text FROM visit_log WHERE link_id = %s {where} ORDER BY occurred_at DESC, event_id DESC", link["id"])]  # fmt: skip


def all_pages(ann, link, **parameters):
    visits, cursor = [], None
    while True:
        answer = ann.call("GET", path(link, **parameters, **({"cursor": cursor} if cursor else {})))
        assert answer.status == 200, answer
        visits += answer.json["visits"]
        cursor = answer.json["pagination"]["next_cursor"]
        if cursor is None:
            return visits


def export(ann, link, form, **parameters):
    answer = ann.call("GET", path(link, **parameters), headers={"Accept": form})
    assert answer.status == 200, answer
    return answer


# --- pages ---


@pytest.mark.parametrize("limit", [7, 100, 1000])
def test_pages_show_each_visit_once_the_newest_first(ann, database, link, limit):
    if limit == 7:  # the busy moment is enough
        span = {"from": (LAST - datetime.timedelta(days=5)).isoformat(), "to": (LAST - datetime.timedelta(days=5, seconds=-1)).isoformat()}
        wanted = ids_of(database, link, f"AND NOT is_bot AND occurred_at >= '{span['from']}' AND occurred_at < '{span['to']}'")
        assert len(wanted) > 200
    else:
        span, wanted = {}, ids_of(database, link, "AND NOT is_bot")
    assert [visit["event_id"] for visit in all_pages(ann, link, limit=limit, **span)] == wanted


def test_a_visit_is_shown_without_its_visitor(ann, database, link):
    visit = ann.call("GET", path(link, limit=1, bots="only")).json["visits"][0]
    assert list(visit) == MEMBERS
    row = database.run("SELECT to_json(v) FROM visit_log v WHERE event_id = %s", visit["event_id"])[0][0]
    assert visit["is_bot"] is True and visit["latency_ms"] == 1.5 and visit["status"] == 302
    assert {name: visit[name] for name in MEMBERS if name in row and name != "occurred_at"} == {
        name: row[name] for name in MEMBERS if name in row and name != "occurred_at"
    }
    assert visit["is_scan"] is (row["scan"] == "scan")


def test_bots_ranges_and_filters_select_visits(ann, database, link):
    assert [v["event_id"] for v in all_pages(ann, link, limit=1000, bots="include")] == ids_of(database, link)
    assert [v["event_id"] for v in all_pages(ann, link, limit=1000, bots="only")] == ids_of(database, link, "AND is_bot")
    filtered = all_pages(ann, link, **{"limit": 1000, "country": "DE", "not_browser": "Chrome", "from": "2026-01-01", "tz": "Asia/Kolkata"})
    assert [v["event_id"] for v in filtered] == ids_of(database, link, "AND NOT is_bot AND country = 'DE' AND browser <> 'Chrome'")


def test_a_link_without_visits_has_an_empty_list(ann):
    answer = ann.call("GET", path(ann.create())).json
    assert (answer["visits"], answer["pagination"], answer["log_since"]) == ([], {"page": None, "limit": 100, "total": None, "total_is_capped": False, "total_pages": None, "next_cursor": None}, None)


def test_a_malformed_cursor_is_refused(ann, bob, link, expect):
    for cursor in ("x", "1_", "_" + "0" * 36, "1_0190a0b0-0000-7000-8000-00000000000", "99999999999999999999_0190a0b0-0000-7000-8000-000000000000"):
        expect(ann.call("GET", path(link, cursor=cursor)), 400, "/cursor")
    expect(bob.call("GET", path(link)), 404)


# --- exports ---


def test_exports_contain_the_same_visits_as_pages(ann, link):
    visits = all_pages(ann, link, limit=1000)
    answer = export(ann, link, NDJSON)
    assert answer.headers["content-type"] == NDJSON and answer.headers["transfer-encoding"] == "chunked"
    assert answer.headers["content-disposition"] == f'attachment; filename="visits-{link["id"]}.ndjson"'
    assert [json.loads(line) for line in answer.body.decode().splitlines()] == visits
    assert [json.loads(line)["event_id"] for line in export(ann, link, NDJSON, limit=601).body.splitlines()] == [v["event_id"] for v in visits[:601]]


def test_the_format_parameter_overrides_accept(ann, link, expect):
    accepts_pages = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
    for form, media, headers in (
        ("csv", CSV, accepts_pages), ("ndjson", NDJSON, {"Accept": "text/html"}), ("json", "application/json", {"Accept": f"{CSV}, */*;q=0.1"}),
    ):  # fmt: skip
        answer = ann.call("GET", path(link, limit=3, format=form), headers=headers)
        assert answer.status == 200 and answer.headers["content-type"].startswith(media), answer
    expect(ann.call("GET", path(link, format="xml")), 400, "/format")


def test_csv_is_readable_and_contains_no_formula(ann, link):
    answer = export(ann, link, CSV, limit=1000)
    assert answer.headers["content-type"] == "text/csv; charset=utf-8; header=present"
    assert answer.body.count(b"\r\n") == 1001
    rows = list(csv.reader(io.StringIO(answer.body.decode(), newline="")))
    visits = all_pages(ann, link, limit=1000)[:1000]
    json_words = {True: "true", False: "false"}
    wanted = [[str(json_words.get(value, value)) if isinstance(value, bool) else str(value) for value in v.values()] for v in visits]
    assert rows[0] == MEMBERS
    assert rows[1:] == [["'" + field if field.startswith("=") else field for field in row] for row in wanted]
    assert any("'=cmd()" in row for row in rows) and any('spring, "2026"' in row for row in rows)


def test_no_spreadsheet_sees_a_formula_in_csv(ann, database):
    cells = json.loads((ROOT / "tests/support/csv_cells.json").read_text(encoding="utf-8"))
    link = ann.create()
    add_visits(database, link["id"], len(cells), FIRST, LAST, bots=0.0)
    for (visit,), (text, _) in zip(database.run("SELECT event_id FROM visit_log WHERE link_id = %s", link["id"]), cells):
        database.run("UPDATE visit_log SET utm_campaign = %s WHERE event_id = %s", text, visit)
    body = export(ann, link, CSV).body.decode()
    assert [cell for _, cell in cells if f",{cell}," not in body] == []


def test_exports_show_freshness_in_headers(ann, database, link):
    database.run("INSERT INTO consumer_offsets (topic, partition, next_offset, as_of) VALUES ('waymark.redirects.v1', 0, 9, now() - interval '2 s')")
    headers = export(ann, link, CSV, limit=1).headers
    assert headers["x-as-of"].endswith("Z") and int(headers["x-lag-ms"]) >= 1000 and headers["vary"] == "Accept-Encoding", "the last of two"


def test_unsupported_formats_get_406(ann, link, expect):
    expect(ann.call("GET", path(link), headers={"Accept": "text/html, text/csv;q=0"}), 406)
    assert ann.call("HEAD", path(link), headers={"Accept": CSV}).status == 200


def test_an_export_goes_on_after_any_of_its_lines(ann, link):
    visits = [json.loads(line) for line in export(ann, link, NDJSON).body.splitlines()]
    rest = export(ann, link, NDJSON, cursor=visits[700]["cursor"]).body.splitlines()
    assert [json.loads(line) for line in rest] == visits[701:]


# --- slow, disconnected and many clients ---


def memory_of(service):
    status = pathlib.Path(f"/proc/{service.process.pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")) // 1024


class Reader:
    """A connection that has requested an export and reads on demand."""

    def __init__(self, service, api, link, version="HTTP/1.1"):
        url = urllib.parse.urlsplit(service.url)
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.socket.settimeout(60)
        self.socket.connect((url.hostname, url.port))
        self.socket.sendall(
            f"GET {path(link)} {version}\r\nHost: a\r\nAccept: {NDJSON}\r\nAuthorization: Bearer {api.token}\r\n\r\n".encode()
        )
        self.head = self.socket.recv(1024)
        assert self.head.startswith(b"HTTP/1.1 200"), self.head

    def to_end(self):
        parts = [self.head]
        while part := self.socket.recv(1 << 20):
            parts.append(part)
            if part.endswith(b"0\r\n\r\n"):
                break
        return b"".join(parts)

    def lines_to_end(self):
        _, _, rest = self.to_end().partition(b"\r\n\r\n")
        lines = 0
        while rest:
            size, _, rest = rest.partition(b"\r\n")
            lines += rest[: int(size, 16)].count(b"\n")
            rest = rest[int(size, 16) + 2 :]
        return lines

    def hang_up(self):
        self.socket.close()


def busy_connections(database):
    return database.value("SELECT count(*) FROM pg_stat_activity WHERE datname = %s AND application_name = 'links-api' AND state <> 'idle'", database.name)


def request_duration(api, link):
    begun = time.monotonic()
    assert api.call("GET", path(link, limit=1)).status == 200
    return time.monotonic() - begun


def test_memory_does_not_grow_with_the_export(spawn, database, ann, big):
    service = spawn(HTTP_HEAVY_WORKERS=2, PG_HEAVY_CONNECTIONS=2, ASAN_OPTIONS="quarantine_size_mb=1:thread_local_quarantine_size_kb=64")
    api = Api(service.url)
    api.token = ann.token
    for _ in range(30):  # until the allocator has the memory of one page in each of its places
        export(api, big, NDJSON, limit=1000)
    before, most, lines = memory_of(service), 0, 0
    url = urllib.parse.urlsplit(service.url)
    connection = http.client.HTTPConnection(url.hostname, url.port, timeout=300)
    connection.request("GET", path(big), headers={"Accept": NDJSON, "Authorization": f"Bearer {ann.token}"})
    answer, size = connection.getresponse(), 0
    while part := answer.read(1 << 20):
        lines += part.count(b"\n")
        size += len(part)
        most = max(most, memory_of(service))
    print(f"{lines} visits, {size >> 20} MiB, memory {before} → {most} MiB")
    assert lines == BIG and size > 8 << 20
    assert most - before < 5


def test_slow_clients_occupy_no_workers_or_database_connections(start, database, ann, big, link):
    service = start(HTTP_HEAVY_WORKERS=2, PG_HEAVY_CONNECTIONS=2)
    api = Api(service.url)
    api.token = ann.token
    readers = [Reader(service, api, big) for _ in range(4)]
    wait_until(lambda: busy_connections(database) == 0, "all exports to wait for their clients")
    speed.at_most("a request beside slow exports", request_duration(api, link), 5, "s")
    refused = api.call("GET", path(big), headers={"Accept": CSV})
    assert refused.status == 429 and refused.headers["retry-after"] == "10"
    readers[0].hang_up()
    readers[1].hang_up()
    # Two slots are free again, and the other exports continue.
    wait_until(lambda: api.call("GET", path(link), headers={"Accept": CSV}).status == 200, "a slot for another export")
    assert readers[2].lines_to_end() == BIG
    readers[3].hang_up()


def test_an_interrupted_export_does_not_look_complete(spawn, database, ann, big):
    service = spawn(PG_HEAVY_STATEMENT_TIMEOUT_MS=2000)
    api = Api(service.url)
    api.token = ann.token
    reader = Reader(service, api, big)
    database.run("BEGIN")
    try:
        database.run("LOCK TABLE visit_log IN ACCESS EXCLUSIVE MODE")
        whole = reader.to_end()
    except ConnectionResetError:
        whole = b""
    finally:
        database.run("ROLLBACK")
    assert not whole.endswith(b"\r\n0\r\n\r\n")
    wait_until(lambda: service.events("export_broken"), "the broken export in the log")


def test_http_1_0_clients_read_until_the_connection_closes(service, ann, link):
    reader = Reader(service, ann, link, "HTTP/1.0")
    parts = reader.to_end()
    assert b"chunked" not in parts and parts.count(b'"event_id":') == len(all_pages(ann, link, limit=1000))


def test_the_service_drains_while_exports_are_running(spawn, ann, big):
    service = spawn(DRAIN_MS=200)
    api = Api(service.url)
    api.token = ann.token
    readers = [Reader(service, api, big) for _ in range(3)]
    begun = time.monotonic()
    service.stop()
    speed.at_most("the service drains while exports are running", time.monotonic() - begun, 15, "s")
    for reader in readers:
        reader.hang_up()


def test_many_concurrent_exports_are_all_complete(service, new_user, database):
    users = [new_user() for _ in range(3)]
    links = [user.create() for user in users]
    for link in links:
        add_visits(database, link["id"], 1000, FIRST, LAST, bots=0.0)
    counts = []

    def read(user, link):
        counts.append(len(export(user, link, NDJSON).body.splitlines()))

    threads = [threading.Thread(target=read, args=pair) for pair in zip(users * 3, links * 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == [1000] * 9
