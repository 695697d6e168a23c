"""GET /api/live: visits as they come, as Server-Sent Events."""

import http.client
import json
import os
import secrets
import selectors
import signal
import socket
import threading
import time
import urllib.parse
import uuid

import closed_description
import confluent_kafka
import jsonschema
import pytest
from clients import Api, ask, kafka_settings
from service import ROOT, metric
from users import Browser, User, insert_api_key, insert_session, join
from waiting import wait_until

TOPIC = "waymark.visits.v1"
DESCRIPTION = closed_description.read()


@pytest.fixture(scope="module")
def VisitEvent(compile_proto):
    return compile_proto("visit_event").VisitEvent


@pytest.fixture(scope="module")
def publish(VisitEvent):
    """publish(owner, count): sends visits of links of this user; their event ids as text."""
    producer = confluent_kafka.Producer(kafka_settings(os.environ))

    def send(owner, count=1, **fields):
        ids = [uuid.uuid4() for _ in range(count)]
        for event_id in ids:
            visit = VisitEvent(event_id=event_id.bytes, occurred_at_us=time.time_ns() // 1000, link_id=7, slug="abc", status=302,
                               latency_us=1500, workspace_id=owner.id, **fields)  # fmt: skip
            producer.produce(TOPIC, visit.SerializeToString(), key=event_id.hex)
            producer.poll(0)
        assert producer.flush(60) == 0
        return [str(event_id) for event_id in ids]

    return send


@pytest.fixture
def user(service, database):
    """The shared topic has visits of other tests, so ids are large and random."""
    database.run("ALTER TABLE users ALTER COLUMN id RESTART WITH %s" % (secrets.randbelow(2**60) + 2**40))
    return User(service, database)


class Stream:
    """One response: iterates over (event, id, data) until it ends."""

    def __init__(self, url, headers, path="/api/live"):
        parts = urllib.parse.urlsplit(url)
        self.connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=300)
        self.connection.request("GET", path, headers={"Accept": "text/event-stream", **headers})
        self.response = self.connection.getresponse()

    def __iter__(self):
        assert self.response.status == 200, self.response.read()
        event = {}
        while line := self.response.readline():
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if name:
                event[name] = value
            elif event:
                yield event.get("event"), event.get("id"), event.get("data")
                event = {}

    def close(self):
        self.connection.close()


class Listener(threading.Thread):
    """Connects again and again as a browser does, and keeps what it has seen."""

    def __init__(self, urls, token):
        super().__init__(daemon=True)
        self.urls, self.token, self.last_id, self.streams, self.attempts = urls, token, None, 0, 0
        self.seen, self.resets, self.is_stopping = [], 0, False

    def run(self):
        while not self.is_stopping:
            try:
                self.attempts += 1
                self.follow(self.urls[self.attempts % len(self.urls)])
            except (OSError, http.client.HTTPException):
                time.sleep(0.05)  # the instance is away: the browser tries again

    def follow(self, url):
        headers = {"Authorization": f"Bearer {self.token}"} | ({"Last-Event-ID": self.last_id} if self.last_id else {})
        stream = Stream(url, headers)
        self.streams += 1
        for event, event_id, data in stream:
            self.last_id = event_id or self.last_id
            self.resets += event == "reset"
            self.seen += [json.loads(data)["event_id"]] if event == "visit" else []
        stream.close()

    def wait_for(self, ids):
        wait_until(lambda: set(ids) <= set(self.seen), f"{len(ids)} visits")

    def stop(self):
        self.is_stopping = True
        self.join(60)


@pytest.fixture
def listen(user):
    listeners = []

    def start(*urls, token=None):
        listeners.append(Listener(list(urls), token or user.token))
        listeners[-1].start()
        wait_until(lambda: listeners[-1].last_id, "the stream to have a position")
        return listeners[-1]

    yield start
    for listener in listeners:
        listener.stop()


@pytest.fixture(scope="module", autouse=True)
def beginning(publish):
    """Each partition has a record, so that streams have a position at once."""

    class Nobody:
        id = 0

    publish(Nobody, 40)


def test_owners_see_their_visits_and_no_others(service, user, listen, publish, database):
    other = User(service, database)
    mine, theirs = listen(service.url), listen(service.url, token=other.token)
    own, foreign = publish(user, 5), publish(other, 5)
    mine.wait_for(own)
    theirs.wait_for(foreign)
    assert sorted(mine.seen) == sorted(own) and sorted(theirs.seen) == sorted(foreign)


def first_visit(service, headers):
    """The data of the first visit. A stream lasts for a second, and the service may not have read the topic by then."""

    def found():
        return next((data for event, _, data in Stream(service.url, headers) if event == "visit"), None)

    return wait_until(found, "a visit")


def test_a_visit_has_the_fields_of_the_description(service, user, publish):
    publish(user, 1, country="DE", is_bot=True, bot_reason="crawler", referrer_host='a"b\u2028')
    visit = json.loads(first_visit(service, {"Authorization": f"Bearer {user.token}"}))
    schema = DESCRIPTION["components"]["schemas"]["LiveVisit"]
    jsonschema.Draft202012Validator(schema, resolver=jsonschema.RefResolver("", DESCRIPTION)).validate(visit)
    assert (visit["country"], visit["is_bot"], visit["latency_ms"], visit["referrer_host"]) == ("DE", True, 1.5, 'a"b\u2028')


def test_a_client_that_reconnects_misses_nothing_and_gets_nothing_twice(start, service, user, listen, publish):
    """Streams of a second, alternately on two instances, one of which is killed meanwhile."""
    killed = start()
    listener = listen(service.url, killed.url)
    sent = []
    for round_ in range(20):
        sent += publish(user, 25)
        if round_ == 8:
            killed.kill()
            listener.urls.append(start().url)
        streams = listener.streams
        wait_until(lambda: listener.streams > streams, "another stream")
    listener.wait_for(sent)
    assert sorted(listener.seen) == sorted(sent) and listener.resets == 0
    assert listener.streams >= 20
    print(f"live: {len(sent)} visits in {listener.streams} streams, lost 0, twice 0")


def test_a_new_stream_begins_with_the_latest_visits(service, user, listen, publish):
    before = publish(user, 30)
    listener = listen(service.url)
    listener.wait_for(before)
    assert sorted(listener.seen) == sorted(before)


def test_a_client_that_may_have_missed_visits_is_notified(start, user, publish):
    service = start(LIVE_STREAM_S=60)
    publish(user, 1)
    headers = {"Authorization": f"Bearer {user.token}", "Last-Event-ID": "0:999999999999"}
    events = []
    for event, _, _ in Stream(service.url, headers):
        events += [event] if event else []
        if event == "visit":
            break
    assert events[0] == "reset" and "visit" in events, "the latest visits follow"
    assert metric(service, "waymark_live_resets_total") >= 1


def test_sessions_and_keys_with_the_scope_may_listen(service, user, database, publish):
    expected = publish(user, 1)[0]
    for headers in (
        {"Cookie": f"__Host-waymark={insert_session(database, user.id)}", "Sec-Fetch-Site": "same-origin"},
        {"X-Api-Key": insert_api_key(database, user.id, ["visits:read"])},
    ):
        assert json.loads(first_visit(service, headers))["event_id"] == expected


def test_a_key_that_is_limited_to_tags_hears_the_visits_of_their_links(service, user, publish):
    api, _ = user.with_key("visits:read", tags=["a", "b/c"])
    publish(user, 3)
    publish(user, 2, tags=["ab", "A", "b"])
    seen = [publish(user, 1, tags=tags)[0] for tags in (["x", "a"], ["b/c"])]
    stream, found = Stream(service.url, {"X-Api-Key": api.token}), []
    for event, _, data in stream:
        if event == "visit":
            found.append(json.loads(data)["event_id"])
        if len(found) == 2:
            break
    stream.close()
    assert set(found) == set(seen), "the ring has others before, between and after them"


@pytest.mark.parametrize("how", ["removed", "blocked", "key", "session"])
def test_a_stream_ends_soon_when_its_reader_may_not_read_any_more(start, database, how):
    """Long before it would end by itself. Another one of the same workspace goes on."""
    service = start(LIVE_STREAM_S="600")
    owner, member = User(service, database), User(service, database)
    join(database, member, owner.id, "editor")
    key = member.call("POST", f"/api/workspaces/{owner.id}/keys", {"name": "x", "scopes": ["visits:read"]}).json
    secret = insert_session(database, member.id)
    headers = {
        "removed": {"Authorization": f"Bearer {member.token}"}, "blocked": {"Authorization": f"Bearer {member.token}"}, "key": {"X-Api-Key": key["secret"]},
        "session": {"Cookie": f"__Host-waymark={secret}", "Sec-Fetch-Site": "same-origin"},
    }[how]  # fmt: skip
    path = f"/api/workspaces/{owner.id}/live"
    kept, stream = Stream(service.url, {"Authorization": f"Bearer {owner.token}"}, path), Stream(service.url, headers, path)
    assert (kept.response.status, stream.response.status) == (200, 200)
    ended = threading.Event()
    reader = threading.Thread(target=lambda: (list(stream), ended.set()))
    reader.start()
    assert not ended.wait(3), "it goes on while it may"
    if how == "removed":
        assert owner.call("DELETE", f"/api/members/{member.id}").status == 204
    elif how == "key":
        assert member.call("DELETE", f"/api/workspaces/{owner.id}/keys/{key['key']['id']}").status == 204
    elif how == "session":
        assert Browser(service.url, secret).call("DELETE", "/api/auth/session").status == 204
    else:
        database.run("UPDATE users SET blocked = true WHERE id = %s", member.id)
    assert ended.wait(20)
    reader.join()
    assert metric(service, "waymark_live_streams") == 1
    kept.close()


def test_a_revoked_session_ends_with_its_stream(service, user, database):
    browser = Browser(service.url, insert_session(database, user.id))
    assert browser.call("DELETE", "/api/auth/session").status == 204
    stream = Stream(service.url, {"Cookie": f"__Host-waymark={browser.secret}", "Sec-Fetch-Site": "same-origin"})
    assert stream.response.status == 401


def test_invalid_requests_are_refused(service, user, expect):
    def get(**headers):
        return user.call("GET", "/api/live", headers={"Accept": "text/event-stream", **headers})

    for position in ("", "x", "0", "0:-1", "100:1", "0:1;", "0:99999999999999999999"):
        expect(get(**{"Last-Event-ID": position}), 400, "/Last-Event-ID")
    expect(get(Accept="application/json"), 406)
    expect(user.call("GET", "/api/live?workspace=1"), 400, "/workspace")
    expect(Api(service.url).call("GET", "/api/live"), 401)


def test_streams_are_limited_per_account_and_in_all(start, database, expect):
    service = start(LIVE_STREAMS=3, LIVE_STREAMS_PER_ACCOUNT=2, LIVE_STREAM_S=60)
    ann, bob = User(service, database), User(service, database)
    streams = [Stream(service.url, {"Authorization": f"Bearer {user.token}"}) for user in (ann, ann, bob)]
    assert [stream.response.status for stream in streams] == [200] * 3
    answer = ann.call("GET", "/api/live", headers={"Accept": "*/*"})
    assert expect(answer, 429)["type"] == "/problems/busy" and answer.headers["retry-after"] == "10"
    answer = bob.call("GET", "/api/live", headers={"Accept": "*/*"})
    expect(answer, 503)
    assert metric(service, "waymark_live_streams") == 3
    for stream in streams:
        stream.close()


def open_streams(service, user, count):
    """Sockets that have asked for a stream."""
    url = urllib.parse.urlsplit(service.url)
    request = f"GET /api/live HTTP/1.1\r\nHost: a\r\nAccept: */*\r\nAuthorization: Bearer {user.token}\r\n\r\n".encode()
    sockets = []
    for _ in range(count):
        sockets.append(socket.create_connection((url.hostname, url.port), timeout=300))
        sockets[-1].sendall(request)
    return sockets


def read_until_all(sockets, wanted):
    """Reads all sockets until each has sent the wanted bytes."""
    received = {each: b"" for each in sockets}
    with selectors.DefaultSelector() as selector:
        for each in sockets:
            selector.register(each, selectors.EVENT_READ)
        deadline = time.monotonic() + 300
        while any(wanted not in data for data in received.values()):
            assert time.monotonic() < deadline, f"{sum(wanted in data for data in received.values())} of {len(sockets)} got it"
            for key, _ in selector.select(1):
                data = key.fileobj.recv(65536)
                assert data, received[key.fileobj]
                received[key.fileobj] += data
    return received


def test_a_client_that_closes_its_side_ends_its_stream_and_frees_its_place(start, user):
    service = start(LIVE_STREAMS_PER_ACCOUNT=1, LIVE_STREAM_S=600)
    (first,) = open_streams(service, user, 1)
    read_until_all([first], b"retry: 1000\n\n")
    first.shutdown(socket.SHUT_WR)
    wait_until(lambda: metric(service, "waymark_live_streams") == 0, "the stream to end")
    (second,) = open_streams(service, user, 1)
    read_until_all([second], b"retry: 1000\n\n")
    first.close()
    second.close()


def test_500_listeners_hold_no_worker_and_end_with_the_service(start, user, database, publish):
    service = start(LIVE_STREAMS=500, LIVE_STREAMS_PER_ACCOUNT=500, LIVE_STREAM_S=600, HTTP_WORKERS=2, HTTP_HEAVY_WORKERS=1)
    sockets = []
    for _ in range(10):
        sockets += open_streams(service, user, 50)
        read_until_all(sockets[-50:], b"retry: 1000\n\n")
    assert metric(service, "waymark_live_streams") == 500
    began = time.monotonic()
    (event_id,) = publish(user)
    read_until_all(sockets, event_id.encode())
    print(f"live: a visit reached 500 listeners after {time.monotonic() - began:.2f} s")
    other = User(service, database)
    other.base = service.url
    assert other.call("GET", "/api/links").status == 200
    for each in sockets[:100]:
        each.close()
    publish(user)
    wait_until(lambda: metric(service, "waymark_live_streams") == 400, "closed connections to be noticed")
    service.signal(signal.SIGTERM)
    assert service.process.wait(300) == 0, service.text()
    for each in sockets[100:]:
        while data := each.recv(65536):
            tail = data
        assert tail.endswith(b"0\r\n\r\n"), "the response is complete"
        each.close()


def test_without_kafka_a_stream_is_empty_and_ends(start, user):
    service = start(KAFKA_BROKERS="127.0.0.1:1")
    assert list(Stream(service.url, {"Authorization": f"Bearer {user.token}"})) == [(None, None, None)]
    assert ask(service.ops_url, "GET", "/readyz").status == 200
