"""Idempotency-Key: a POST takes effect once, however often it is sent."""

import concurrent.futures
import http.client
import secrets

import psycopg2
import pytest
from clients import Api, unique_email
from waiting import wait_until

PATHS = ["/api/links", "/api/links/bulk", "/api/links/sync"]
LINK = {"original_url": "https://example.com/"}
# A slow Redis invalidates the cache. These tests need it to respond even on a busy machine.
VARIABLES = {"REDIS_TIMEOUT_MS": 5000}
BULK = {"links": [LINK]}
OF_WORKSPACE = "SELECT count(*) FROM links WHERE workspace_id = (SELECT id FROM users WHERE email = %s)"
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"


def key():
    return {"Idempotency-Key": secrets.token_hex(8)}


def make_body(path, **fields):
    return {**LINK, **fields} if path == "/api/links" else {"links": [{**LINK, **fields}]}


@pytest.mark.parametrize("path", PATHS)
def test_the_same_request_runs_once_and_gets_the_same_response(ann, database, path):
    headers = key()
    body = make_body(path, title="once " + secrets.token_hex(4))
    answers = [ann.call("POST", path, body, headers) for _ in range(3)]
    assert len({(answer.status, answer.body) for answer in answers}) == 1, answers
    assert ["idempotency-replayed" in answer.headers for answer in answers] == [False, True, True]
    assert [answer.headers.get("etag") for answer in answers] == [answers[0].headers.get("etag")] * 3
    assert [answer.headers.get("location") for answer in answers] == [answers[0].headers.get("location")] * 3
    title = body["title"] if path == "/api/links" else body["links"][0]["title"]
    assert database.value("SELECT count(*) FROM links WHERE title = %s", title) == 1


def test_a_replay_has_no_claim_token(anonymous, bob, database):
    """The repeat may come from a neighbour in the same network."""
    headers = key()
    first, again = (anonymous.call("POST", "/api/links/public", LINK, headers) for _ in range(2))
    assert (first.status, again.status, again.headers["idempotency-replayed"]) == (201, 201, "true")
    token = first.json["claim_token"]
    assert again.json == {"link": first.json["link"]} and token.encode() not in again.body
    claim = {"slug": first.json["link"]["slug"], "claim_token": token}
    assert bob.call("POST", "/api/links/sync", {"links": [claim]}).json["results"][0]["status"] == 200
    assert token not in database.value("SELECT string_agg(body, '') FROM idempotency_keys")
    assert database.value("SELECT count(*) FROM idempotency_keys WHERE key_hash = %s", headers["Idempotency-Key"].encode()) == 0


def test_a_key_with_another_body_or_path_is_refused(ann, expect):
    headers = key()
    assert ann.call("POST", "/api/links", LINK, headers).status == 201
    assert expect(ann.call("POST", "/api/links", {**LINK, "title": "x"}, headers), 422)["type"].endswith("/idempotency-key-reused")
    expect(ann.call("POST", "/api/links/bulk", BULK, headers), 422)
    bulk_key = key()
    assert ann.call("POST", "/api/links/bulk", BULK, bulk_key).status == 200
    expect(ann.call("POST", "/api/links/sync", BULK, bulk_key), 422)
    assert ann.call("POST", "/api/urls", LINK, headers).headers["idempotency-replayed"] == "true", "the alias is the same path"


def test_keys_belong_to_users_and_networks(ann, bob, service):
    headers = key()
    for api in (ann, bob):
        answer = api.call("POST", "/api/links", LINK, headers)
        assert answer.status == 201 and "idempotency-replayed" not in answer.headers
    anonymous = Api(service.url)
    ids = set()
    for address in ("100.64.1.1", "100.64.2.1"):
        answer = anonymous.call("POST", "/api/links/public", LINK, {**headers, "X-Forwarded-For": address})
        ids.add(answer.json["link"]["id"])
    again = anonymous.call("POST", "/api/links/public", LINK, {**headers, "X-Forwarded-For": "100.64.1.77"})
    assert len(ids) == 2 and again.json["link"]["id"] in ids and again.headers["idempotency-replayed"] == "true"


def test_a_refused_request_may_be_retried(ann, expect):
    headers = key()
    taken = ann.create(slug="idem-" + secrets.token_hex(6))["slug"]
    expect(ann.call("POST", "/api/links", {"original_url": "nonsense"}, headers), 400, "/original_url")
    expect(ann.call("POST", "/api/links", {**LINK, "slug": taken}, headers), 409, "/slug")
    assert ann.call("POST", "/api/links", LINK, headers).status == 201


def test_a_stored_response_is_replayed_even_if_the_request_has_become_invalid(ann, database, expect):
    format_sql = "SELECT to_char(now() AT TIME ZONE 'UTC' + %s * interval '1 second', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')"
    for seconds in (1, 4, 16, 64):  # on a busy machine the request may take longer
        headers, body = key(), {**LINK, "expires_at": database.value(format_sql, seconds)}
        first = ann.call("POST", "/api/links", body, headers)
        if first.status != 400:
            break
    assert first.status == 201
    wait_until(lambda: ann.call("POST", "/api/links", body).status == 400, "expires_at to pass")
    again = ann.call("POST", "/api/links", body, headers)
    assert again.status == 201 and again.body == first.body


@pytest.mark.parametrize("bad", ["", "a b", "k" * 256, "ä"])
def test_a_malformed_key_is_refused(ann, expect, bad):
    assert expect(ann.call("POST", "/api/links", LINK, {"Idempotency-Key": bad.encode()}), 400)["type"].endswith("/idempotency-key")


def test_a_key_may_have_255_bytes(ann):
    headers = {"Idempotency-Key": (secrets.token_hex(8) + "!").ljust(255, "~")}
    first = ann.call("POST", "/api/links", LINK, headers)
    again = ann.call("POST", "/api/links", LINK, headers)
    assert first.status == again.status == 201 and again.headers["idempotency-replayed"] == "true"
    other = ann.call("POST", "/api/links", LINK, {"Idempotency-Key": headers["Idempotency-Key"][:-1] + "!"})
    assert other.status == 201 and other.json["link"]["id"] != first.json["link"]["id"], "the last byte is significant"


def test_the_same_key_is_refused_while_the_first_request_is_in_flight(new_user, database, expect):
    user, headers = new_user(), key()
    blocker = psycopg2.connect(database.url())
    blocker.cursor().execute("LOCK TABLE links IN SHARE MODE")
    waiting = """SELECT count(*) FROM pg_stat_activity
                 WHERE datname = current_database() AND wait_event_type = 'Lock'"""
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        first = pool.submit(user.call, "POST", "/api/links", LINK, headers)
        wait_until(lambda: database.value(waiting) == 1, "the first to wait")
        second = user.call("POST", "/api/links", LINK, headers)
        assert expect(second, 409)["type"].endswith("/idempotency-key-in-flight")
        assert int(second.headers["retry-after"]) >= 1
        blocker.rollback()
        assert first.result().status == 201
    blocker.close()
    assert user.call("POST", "/api/links", LINK, headers).body == first.result().body
    assert database.value("SELECT count(*) FROM links WHERE workspace_id = (SELECT id FROM users WHERE email = %s)", user.email) == 1


def test_a_key_expires_after_a_day(ann, database):
    headers = key()
    first = ann.call("POST", "/api/links", LINK, headers).json["link"]["id"]
    database.run("UPDATE idempotency_keys SET created_at = created_at - interval '23 h 50 min'")
    assert ann.call("POST", "/api/links", LINK, headers).headers["idempotency-replayed"] == "true"
    database.run("UPDATE idempotency_keys SET created_at = created_at - interval '10 min'")
    second = ann.call("POST", "/api/links", {**LINK, "title": "new"}, headers)
    assert second.status == 201 and second.json["link"]["id"] != first
    assert ann.call("POST", "/api/links", {**LINK, "title": "new"}, headers).headers["idempotency-replayed"] == "true"


def stored(database):
    return database.run("SELECT count(*), COALESCE(sum(octet_length(body)), 0) FROM idempotency_keys")[0]


def test_responses_to_requests_without_effect_are_not_stored(new_user, database):
    """A quota that is used up does not stop bulks that only reuse links."""
    user = new_user()
    database.run("UPDATE users SET links_per_day = 1 WHERE email = %s", user.email)
    user.create(LINK["original_url"])
    before = stored(database)
    bulk = {"links": [{**LINK, "reuse": True}] * 999 + [{**LINK, "title": "over the quota"}]}
    for _ in range(3):
        results = user.call("POST", "/api/links/bulk", bulk, key()).json["results"]
        assert {result["status"] for result in results[:999]} == {200} and results[999]["status"] == 429
    assert user.call("POST", "/api/links", {**LINK, "reuse": True}, key()).status == 200
    assert stored(database) == before


def test_the_stored_responses_of_a_user_have_a_limit(start, database, expect):
    service = start(IDEMPOTENCY_BYTES_PER_DAY=3000)
    user, other = Api(service.url), Api(service.url)
    user.register_and_login(unique_email())
    other.register_and_login(unique_email())
    first, before = key(), stored(database)[1]
    answers = [user.call("POST", "/api/links", LINK, headers) for headers in [first] + [key() for _ in range(9)]]
    statuses = [answer.status for answer in answers]
    assert statuses[0] == 201 and statuses[-1] == 429 and statuses == sorted(statuses)
    assert stored(database)[1] - before <= 4500, "the last response may exceed the limit"
    assert expect(answers[-1], 429)["detail"].find("Limit: idempotency-bytes, ") > 0
    assert answers[-1].headers["ratelimit-policy"] == '"idempotency-bytes";q=3000;w=86700'
    assert 86000 < int(answers[-1].headers["retry-after"]) <= 86700
    assert user.call("POST", "/api/links", LINK, first).headers["idempotency-replayed"] == "true"
    assert user.call("POST", "/api/links", LINK).status == 201, "requests without a key are not limited"
    assert other.call("POST", "/api/links", LINK, key()).status == 201
    database.run("UPDATE idempotency_uses SET since = since - interval '25 hours'")
    assert user.call("POST", "/api/links", LINK, key()).status == 201


def retry_after_killing(service, spawn, pending, user, headers):
    """Retries at another server, like a client whose server died before it responded."""
    service.kill()
    with pytest.raises((ConnectionError, http.client.HTTPException)):
        pending.result()
    again = Api(spawn().url)
    again.token = user.token

    def answer():
        last = again.call("POST", "/api/links/bulk", BULK, headers)
        return last if last.status != 409 else None

    return wait_until(answer, "a response other than in-flight")


def test_a_retry_of_an_uncommitted_request_creates_the_link(new_user, database, spawn):
    service, headers = spawn(PG_STATEMENT_TIMEOUT_MS=20000), key()
    user = new_user(service)
    blocker = psycopg2.connect(database.url())
    blocker.cursor().execute("LOCK TABLE links IN SHARE MODE")
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        pending = pool.submit(user.call, "POST", "/api/links/bulk", BULK, headers)
        wait_until(lambda: database.value(WAITING) == 1, "the first to wait")
        service.kill()
        blocker.close()
        answer = retry_after_killing(service, spawn, pending, user, headers)
    assert answer.status == 200 and "idempotency-replayed" not in answer.headers
    assert database.value(OF_WORKSPACE, user.email) == 1


def test_a_retry_of_a_committed_request_returns_its_link(new_user, database, spawn):
    """The server dies while it updates a frozen Redis: after the commit and before the response."""
    service, headers = spawn(), key()
    user = new_user(service)
    database.redis.freeze()
    try:
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            pending = pool.submit(user.call, "POST", "/api/links/bulk", BULK, headers)
            wait_until(lambda: database.value(OF_WORKSPACE, user.email) == 1, "the link to be committed")
            service.kill()
            database.redis.thaw()
            answer = retry_after_killing(service, spawn, pending, user, headers)
    finally:
        database.redis.thaw()
    assert answer.status == 200 and answer.headers["idempotency-replayed"] == "true"
    assert database.value(OF_WORKSPACE, user.email) == 1


def hold_uncached_row(database, slug):
    """Inserts an uncached outbox row and locks it against relays until the returned connection closes."""
    holder = psycopg2.connect(database.url())
    cursor = holder.cursor()
    while True:  # until this wins against the relay
        database.run("INSERT INTO outbox (slug, payload, published) VALUES (%s, '', true)", slug)
        cursor.execute("SELECT id FROM outbox WHERE slug = %s AND NOT cached FOR UPDATE SKIP LOCKED", [slug])
        if cursor.fetchall():
            return holder
        holder.rollback()


def test_a_stored_response_is_replayed_once_redirectors_know_its_links(ann, database):
    """The first server may have died after the commit and before it updated Redis."""
    headers = key()
    slug = "cached-" + secrets.token_hex(6)
    body = {**LINK, "slug": slug}
    assert ann.call("POST", "/api/links", body, headers).status == 201
    holder = hold_uncached_row(database, slug)
    database.redis.client.set(f"link:{slug.lower()}", f"? {database.redis.announced_generation()[0]}")
    assert database.redis.valid_entry(slug) == "?"
    assert ann.call("POST", "/api/links", body, headers).headers["idempotency-replayed"] == "true"
    assert database.redis.valid_entry(slug) != "?"
    holder.close()
