"""Who makes more workspaces has no more of anything: each limit of docs/operations.md gives a person with fifty what one with one has."""

import http.client
import itertools
import urllib.parse

import pytest
from clients import Api
from users import User

WORKSPACES = 50
URL = {"original_url": "https://example.com/"}


class Person(User):
    """Each call acts in the next of the person's workspaces."""

    def __init__(self, service, database, count):
        super().__init__(service, database)
        self.workspaces = [self.id] + [
            id
            for (id,) in database.run(
                "WITH made AS (INSERT INTO workspaces (name, sponsor_id) SELECT 'w' || n, %s FROM generate_series(2, %s) AS n RETURNING id) "
                "INSERT INTO members (workspace_id, user_id, role) SELECT id, %s, 'owner' FROM made RETURNING workspace_id",
                self.id, count, self.id,
            )
        ]  # fmt: skip
        self.turns = itertools.cycle(self.workspaces)

    def next(self, method, path, body=None, headers=None):
        return self.call(method, f"/api/workspaces/{next(self.turns)}{path.removeprefix('/api')}", body, headers)


@pytest.fixture
def both(database):
    """both(service): a person with one workspace, and one with fifty."""
    return lambda service: [Person(service, database, count) for count in (1, WORKSPACES)]


def passed(person, method, path, bodies, headers=lambda n: {}, refused=429):
    """How many requests pass before one is refused."""
    for n, body in enumerate(bodies):
        answer = person.next(method, path, body, headers(n))
        if answer.status == refused:
            return n
        assert answer.status < 300, answer
    raise AssertionError(f"{len(bodies)} requests, and none was refused")


def test_requests_per_minute(start, both):
    service = start(REQUESTS_PER_MINUTE="20")
    # A place is earned back every three seconds.
    assert [0 <= passed(person, "GET", "/api/links", [None] * 60) - 20 <= 5 for person in both(service)] == [True, True]


def test_links_of_bulk_requests_per_minute(start, both):
    service = start(BULK_LINKS_PER_MINUTE="20")
    bulk = {"links": [URL] * 10}
    assert [2 <= passed(person, "POST", "/api/links/bulk", [bulk] * 20) <= 4 for person in both(service)] == [True, True]


@pytest.mark.parametrize("limit", ["of the service", "of the person"])
def test_links_per_day(start, database, both, limit):
    service = start(LINKS_PER_DAY="7" if limit == "of the service" else "unlimited")
    people = both(service)
    if limit == "of the person":
        database.run("UPDATE users SET links_per_day = 7 WHERE id = ANY(%s)", [each.id for each in people])
    assert [passed(person, "POST", "/api/links", [URL] * 60) for person in people] == [7, 7]


def test_stored_responses_per_day(start, both):
    service = start(IDEMPOTENCY_BYTES_PER_DAY="16384")
    counts = [passed(p, "POST", "/api/links", [URL] * 60, headers=lambda n, p=p: {"Idempotency-Key": f"{p.id}-{n}"}) for p in both(service)]
    assert counts[0] > 3 and abs(counts[0] - counts[1]) <= 1, counts  # ids of workspaces have more digits


def test_a_key_of_one_workspace_is_another_ones_new_request(service, both):
    _, person = both(service)
    made = [person.next("POST", "/api/links", URL, {"Idempotency-Key": "again"}).json["link"] for _ in range(2)]
    assert [each["workspace_id"] for each in made] == person.workspaces[:2] and made[0]["id"] != made[1]["id"]
    person.turns = itertools.cycle(person.workspaces)
    assert person.next("POST", "/api/links", URL, {"Idempotency-Key": "again"}).json["link"]["id"] == made[0]["id"]


def open_stream(person):
    url = urllib.parse.urlsplit(person.base)
    connection = http.client.HTTPConnection(url.hostname, url.port, timeout=300)
    headers = {"Accept": "text/event-stream", "Authorization": f"Bearer {person.token}"}
    connection.request("GET", f"/api/workspaces/{next(person.turns)}/live", headers=headers)
    return connection, connection.getresponse()


def test_open_streams_of_visits(start, both):
    service = start(LIVE_STREAMS_PER_ACCOUNT="2", LIVE_STREAM_S="60")
    for person in both(service):
        streams = [open_stream(person) for _ in range(4)]
        assert [response.status for _, response in streams] == [200, 200, 429, 429]
        for connection, _ in streams:
            connection.close()


def fill(database, person):
    """All but one of what the person may have, in their workspaces in turn."""
    slots = "unnest(%s::bigint[]) WITH ORDINALITY AS w (id, place) JOIN generate_series(0, %s) AS n ON n %% %s = place - 1"
    where = (person.workspaces, 98, len(person.workspaces))
    database.run(
        "INSERT INTO api_keys (workspace_id, created_by, name, scopes, hint, secret_hash) "
        f"SELECT w.id, %s, 'k', ARRAY['links:read'], 'h', sha256(('k' || w.id || '-' || n)::bytea) FROM {slots}", person.id, *where,
    )  # fmt: skip
    database.run(
        "INSERT INTO shares (workspace_id, created_by, tag, token_hash) "
        f"SELECT w.id, %s, 'a', sha256(('s' || w.id || '-' || n)::bytea) FROM {slots}", person.id, *where,
    )  # fmt: skip
    database.run(
        "INSERT INTO invitations (workspace_id, invited_by, role, email, token_hash, expires_at) "
        f"SELECT w.id, %s, 'viewer', 'n' || n || '@example.com', sha256(('i' || w.id || '-' || n)::bytea), now() + interval '1 day' FROM {slots}",
        person.id, *where,
    )  # fmt: skip
    database.run(
        f"INSERT INTO tag_colors (workspace_id, tag, color) SELECT w.id, 'c' || n, '#123456' FROM {slots}",
        person.workspaces, 998, len(person.workspaces),
    )  # fmt: skip


def test_keys_shares_invitations_and_colors(service, database, both):
    for person in both(service):
        fill(database, person)
        assert passed(person, "POST", "/api/keys", [{"name": "k", "scopes": ["links:read"]}] * 5, refused=409) == 1
        assert passed(person, "POST", "/api/shares", [{"tag": "a"}] * 5, refused=409) == 1
        invitations = [{"email": f"i{n}@example.com", "role": "viewer"} for n in range(5)]
        assert passed(person, "POST", "/api/invitations", invitations, refused=409) == 1
        for workspace in person.workspaces[:3]:
            assert person.call("POST", f"/api/workspaces/{workspace}/links", {**URL, "tags": ["x"]}).status == 201
        person.turns = itertools.cycle(person.workspaces[:3])
        colors = [{"color": f"#00000{n}"} for n in range(5)]
        if len(person.workspaces) > 1:
            assert passed(person, "PATCH", "/api/tags/x", colors, refused=409) == 1
        else:
            assert {person.next("PATCH", "/api/tags/x", body).status for body in colors} == {200}, "a color that changes is no new one"
            assert person.create(tags=["y"]) and person.next("PATCH", "/api/tags/y", colors[0]).status == 409


def test_a_guest_uses_up_the_sponsors_limits_and_their_own_rates(start, database):
    service = start(LINKS_PER_DAY="3")
    owner, guest = Person(service, database, 1), Person(service, database, 1)
    database.run("INSERT INTO members (workspace_id, user_id, role) VALUES (%s, %s, 'editor')", owner.id, guest.id)
    guest.turns = itertools.repeat(owner.id)
    assert passed(guest, "POST", "/api/links", [URL] * 5) == 3
    assert Api.call(guest, "POST", "/api/links", URL).status == 201, "their own workspace has its own"
    link = guest.create()["id"]
    database.run("UPDATE users SET links_per_day = 0 WHERE id = %s", owner.id)
    assert guest.call("POST", "/api/links/move", {"ids": [link], "workspace_id": owner.id}).status == 429, "0 is none"
