"""Shares: statistics of one link or tag for readers without an account, and everything that must not reach them."""

import base64
import concurrent.futures
import datetime
import hashlib
import time
import urllib.parse
import uuid

import pytest
from clients import Api, unique_email
from service import SECRET
from users import Browser, User, insert_api_key, insert_session, make_token, sign
from visit_fixture import add_visits, roll_up
from waiting import wait_until

UTC = datetime.timezone.utc
BEGIN, END = datetime.datetime(2026, 3, 1, tzinfo=UTC), datetime.datetime(2026, 3, 11, tzinfo=UTC)
RANGE = {"from": "2026-03-01", "to": "2026-03-11"}
PASSWORD = "correct horse battery"
STATISTICS = ("/api/shared/stats/summary", "/api/shared/stats/timeseries", "/api/shared/stats/country", "/api/shared/stats/top")
READERS = ("/api/shared", *STATISTICS)
MONTH_S = 30 * 86400
PICTURES = {"image/png": b"\x89PNG\r\n\x1a\n" + b"p" * 100, "image/jpeg": b"\xff\xd8\xff" + b"j" * 100, "image/webp": b"RIFF\0\0\0\0WEBP" + b"w" * 100}
VARIABLES = {"LOGIN_FAILURES": "unlimited", "LOGIN_FAILURES_PER_NETWORK": "unlimited", "REDIS_TIMEOUT_MS": 5000}


@pytest.fixture(scope="module")
def owner(service, database):
    """Two tagged links and one without a tag, with visits, and another account's link with the same tag."""
    for i in range(10):
        database.run("SELECT visit_log_make_partition(%s)", (BEGIN + datetime.timedelta(days=i)).date())
    owner, other = User(service, database), User(service, database)
    owner.links = [owner.create(f"https://example.com/secret/{i}", title=f"link {i}", tags=["mail"] * (i < 2)) for i in range(3)]
    for i, link in enumerate([*owner.links, other.create(tags=["mail"])]):
        add_visits(database, link["id"], 400, BEGIN, END, seed=i / 8)
    roll_up(database)
    return owner


@pytest.fixture
def user(service, database):
    return User(service, database)


def share(user, **fields):
    """Shares a tag or a link, by default a new one: the response."""
    if not fields.keys() & {"link_id", "tag"}:
        fields["link_id"] = user.create()["id"]
    answer = user.call("POST", "/api/shares", fields)
    assert answer.status == 201, answer
    return answer.json


def access(api, token, password=None, headers=None):
    body = {"token": token} | ({"password": password} if password is not None else {})
    return Api(api.base).call("POST", "/api/shared/access", body, headers)


def reader_of(api, token, password=None):
    """A reader who has opened the share."""
    answer = access(api, token, password)
    assert answer.status == 200, answer
    reader = Api(api.base)
    reader.token = answer.json["access_token"]
    return reader


def without_age(answer):
    assert answer.status == 200, answer
    return {name: value for name, value in answer.json.items() if name != "lag_ms"}


# --- what a share is ---


def test_the_token_of_a_share_is_shown_once_and_stored_as_a_hash(user, database, service):
    link = user.create(title="Spring sale")
    answer = user.call("POST", "/api/shares", {"link_id": link["id"], "title": "For the board"})
    assert answer.status == 201 and answer.headers["cache-control"] == "no-store"
    made, token = answer.json["share"], answer.json["token"]
    assert token.startswith("wmshare_") and len(token) == 51
    assert answer.json["url"] == f"/app/shared#{token}"
    assert made["link"] == {"id": link["id"], "slug": link["slug"], "short_url": link["short_url"], "title": "Spring sale"}
    assert (made["title"], made["tag"], made["has_password"], made["active"]) == ("For the board", None, False, True)
    assert (made["expires_at"], made["last_used_at"]) == (None, None)
    listed = user.call("GET", "/api/shares")
    assert listed.json == {"shares": [made]} and token not in listed.body.decode()
    assert database.value("SELECT token_hash = sha256(convert_to(%s, 'UTF8')) FROM shares WHERE id = %s", token, made["id"])
    assert token[8:] not in service.text()


def test_a_share_leaves_entries_in_the_audit_log_without_secrets(user, database):
    made = share(user, tag="very personal", password=PASSWORD)
    assert user.call("DELETE", f"/api/shares/{made['share']['id']}").status == 204
    rows = database.run("SELECT action, details::text FROM audit_log WHERE subject_type = 'share' AND subject_id = %s ORDER BY id", made["share"]["id"])
    assert [row[0] for row in rows] == ["share.create", "share.delete"]
    assert '"has_password": true' in rows[0][1]
    assert not [row for row in rows if "personal" in row[1] or made["token"][8:] in row[1] or PASSWORD in row[1]]


def test_a_password_is_stored_as_the_hash_of_a_password(user, database):
    made = share(user, password=PASSWORD)
    assert made["share"]["has_password"]
    assert database.value("SELECT password_hash FROM shares WHERE id = %s", made["share"]["id"]).startswith("$2b$04$")


def test_a_reader_learns_what_is_shared_and_nothing_of_the_owner(owner, user):
    link = owner.links[0]
    made = share(owner, link_id=link["id"], title="A title", expires_at="2099-01-02T03:04:05Z")
    answer = reader_of(owner, made["token"]).call("GET", "/api/shared")
    assert answer.json == {
        "title": "A title", "text": "", "range": None, "has_logo": False, "tag": None, "expires_at": "2099-01-02T03:04:05.000Z",
        "link": {"slug": link["slug"], "short_url": link["short_url"], "title": "link 0"},
    }  # fmt: skip
    of_tag = reader_of(owner, share(owner, tag="mail")["token"]).call("GET", "/api/shared")
    assert of_tag.json == {"title": "", "text": "", "range": None, "has_logo": False, "tag": "mail", "link": None, "expires_at": None}
    for text in (answer.body.decode(), of_tag.body.decode()):
        assert owner.email not in text and "secret" not in text and '"id"' not in text


def test_the_last_use_is_recorded(user, database):
    made = share(user)
    assert user.call("GET", "/api/shares").json["shares"][0]["last_used_at"] is None
    reader_of(user, made["token"])
    used = user.call("GET", "/api/shares").json["shares"][0]["last_used_at"]
    assert used is not None
    reader_of(user, made["token"])
    assert user.call("GET", "/api/shares").json["shares"][0]["last_used_at"] == used, "a busy share costs one write a minute"


# --- as a report ---


def base64_of(data):
    return base64.b64encode(data).decode()


@pytest.mark.parametrize("kind", PICTURES)
def test_a_report_has_a_title_a_text_a_logo_and_the_range_that_it_begins_with(user, kind):
    text = "For <b>you</b>:\n\t{it}"
    made = share(user, title="March", text=text, range="2026-03-01/2026-03-31", logo=base64_of(PICTURES[kind]))
    assert [made["share"][name] for name in ("title", "text", "range", "has_logo", "version")] == ["March", text, "2026-03-01/2026-03-31", True, 1]
    assert user.call("GET", "/api/shares").json["shares"][0] == made["share"]
    reader = reader_of(user, made["token"])
    seen = reader.call("GET", "/api/shared").json
    assert [seen[name] for name in ("title", "text", "range", "has_logo")] == ["March", text, "2026-03-01/2026-03-31", True]
    for answer in (reader.call("GET", "/api/shared/logo"), user.call("GET", f"/api/shares/{made['share']['id']}/logo")):
        assert (answer.status, answer.headers["content-type"], answer.body) == (200, kind, PICTURES[kind])
        assert answer.headers["x-content-type-options"] == "nosniff" and answer.headers["cache-control"] == "no-store"
        assert answer.headers["content-security-policy"] == "default-src 'none'; sandbox"


def test_a_report_without_a_logo_has_none(user, expect):
    made = share(user)
    expect(reader_of(user, made["token"]).call("GET", "/api/shared/logo"), 404)
    expect(user.call("GET", f"/api/shares/{made['share']['id']}/logo"), 404)


def test_a_logo_may_have_64_kib(user, expect):
    logo = PICTURES["image/png"].ljust(65536, b"x")
    made = share(user, logo=base64_of(logo), text="ü" * 2000)
    assert reader_of(user, made["token"]).call("GET", "/api/shared/logo").body == logo
    expect(user.call("POST", "/api/shares", {"tag": "x", "logo": base64_of(logo + b"x")}), 400, "/logo")


@pytest.mark.parametrize("logo", [
    base64_of(b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'), base64_of(b"<html><script>alert(1)</script>"), base64_of(b"GIF89a" + b"x" * 50),
    base64_of(b"RIFF\0\0\0\0WAVE"), base64_of(b"\xff\xd8"), "", "iVBORw0KGgo*", "data:image/png;base64,iVBORw0KGgo=", 7, ["x"],
])  # fmt: skip
def test_only_pictures_become_logos(user, expect, logo):
    expect(user.call("POST", "/api/shares", {"tag": "x", "logo": logo}), 400, "/logo")
    expect(user.call("PATCH", f"/api/shares/{share(user)['share']['id']}", {"logo": logo}), 400, "/logo")


def test_a_share_is_changed_member_by_member(user, database):
    made = share(user, title="Old", text="Text", range="30d", logo=base64_of(PICTURES["image/png"]), expires_at="2099-01-01T00:00:00Z")
    path, before = f"/api/shares/{made['share']['id']}", made["share"]
    assert user.call("GET", path).headers["etag"] == '"v1"'
    for at, (body, changed) in enumerate([
        ({"title": "New"}, {"title": "New"}), ({"range": "week", "text": ""}, {"range": "week", "text": ""}), ({"range": None}, {"range": None}),
        ({"logo": None}, {"has_logo": False}), ({"expires_at": None}, {"expires_at": None}), ({"password": PASSWORD}, {"has_password": True}), ({"password": None}, {"has_password": False}),
    ], 2):  # fmt: skip
        answer = user.call("PATCH", path, body)
        before = before | changed | {"version": at}
        assert (answer.status, answer.json, answer.headers["etag"]) == (200, {"share": before}, f'"v{at}"')
    assert user.call("PATCH", path, {"title": "New", "text": ""}).json == {"share": before}, "a change without effect keeps the version"
    assert user.call("GET", path).json == {"share": before}
    rows = database.run("SELECT action, details::text FROM audit_log WHERE subject_type = 'share' AND subject_id = %s", made["share"]["id"])
    assert len([row for row in rows if row[0] == "share.update"]) == 7 and PASSWORD not in str(rows) and "New" not in str(rows)


def test_a_change_with_an_old_etag_is_refused(user, expect):
    path = f"/api/shares/{share(user)['share']['id']}"
    assert user.call("PATCH", path, {"title": "Mine"}, {"If-Match": '"v1"'}).status == 200
    for body in ({"title": "Theirs"}, {"password": PASSWORD}):
        answer = user.call("PATCH", path, body, {"If-Match": '"v1"'})
        assert expect(answer, 412)["type"] == "/problems/stale" and answer.headers["etag"] == '"v2"'
    expect(user.call("PATCH", path, {"title": "Theirs"}, {"If-Match": "v2"}), 400, "/If-Match")
    assert user.call("GET", path).json["share"]["title"] == "Mine"


@pytest.mark.parametrize("body, field", [
    ({"link_id": 1}, "/link_id"), ({"tag": "x"}, "/tag"), ({"title": None}, "/title"), ({"text": "x" * 2001}, "/text"), ({"text": None}, "/text"),
    ({"range": "8d"}, "/range"), ({"range": ""}, "/range"), ({"range": "2026-03-01"}, "/range"), ({"range": "2026-03-02/2026-03-01"}, "/range"), ({"range": "2026-02-30/2026-03-01"}, "/range"),
    ({"range": "2026-03-01/2026-03-31x"}, "/range"), ({"range": 7}, "/range"), ({"expires_at": "2001-01-01T00:00:00Z"}, "/expires_at"), ({"password": "short"}, "/password"), ({"version": 3}, "/version"),
])  # fmt: skip
def test_invalid_changes_of_a_share_are_refused(user, expect, body, field):
    made = share(user)
    answer = user.call("PATCH", f"/api/shares/{made['share']['id']}", body)
    assert answer.status == 400 and field in answer.body.decode(), answer
    assert user.call("GET", "/api/shares").json["shares"] == [made["share"]]


def test_a_new_password_ends_what_readers_had_and_other_changes_do_not(user):
    made = share(user)
    path, readers = f"/api/shares/{made['share']['id']}", [reader_of(user, made["token"])]
    for password in (PASSWORD, "another battery", None):
        assert user.call("PATCH", path, {"password": password}).status == 200
        for reader in readers:
            assert [reader.call("GET", each).status for each in READERS] == [401] * len(READERS)
        readers.append(reader_of(user, made["token"], password))
        assert user.call("PATCH", path, {"title": f"T {password}"}).status == 200
        assert readers[-1].call("GET", "/api/shared").json["title"] == f"T {password}"
    assert access(user, made["token"]).status == 200


def test_a_reader_of_a_tag_sees_its_links_but_no_id_and_no_destination(owner):
    reader = reader_of(owner, share(owner, tag="mail")["token"])
    answer = reader.call("GET", f"/api/shared/stats/top?{urllib.parse.urlencode(RANGE)}")
    own = owner.call("GET", f"/api/stats/top?{urllib.parse.urlencode(RANGE | {'tag': 'mail'})}").json["links"]
    assert answer.json["links"] == [{name: value for name, value in link.items() if name != "id"} for link in own] and len(own) == 2
    assert "secret" not in answer.body.decode()


# --- its statistics are those that its owner sees ---

QUESTIONS = [
    ("summary", {}), ("summary", {"compare": "previous"}), ("summary", {"country": "DE", "not_browser": "Chrome"}),
    ("timeseries", {}), ("timeseries", {"interval": "week", "tz": "Europe/Berlin", "compare": "previous"}),
    ("timeseries", {"interval": "hour", "from": "2026-03-04T00:00:00Z", "to": "2026-03-05T00:00:00Z", "device": "desktop"}),
    ("country", {}), ("browser", {"limit": "3", "bots": "include"}), ("bot_reason", {"bots": "only"}), ("referrer_host", {"compare": "previous"}),
]  # fmt: skip


@pytest.mark.parametrize("subject", ["link", "tag"])
def test_the_statistics_of_a_share_are_those_that_its_owner_sees(owner, subject):
    fields, scope = ({"tag": "mail"}, {"tag": "mail"}) if subject == "tag" else ({"link_id": owner.links[0]["id"]}, {"filter": f"id:{owner.links[0]['id']}"})
    reader = reader_of(owner, share(owner, **fields)["token"])
    for below, query in QUESTIONS:
        query = RANGE | query
        shared = without_age(reader.call("GET", f"/api/shared/stats/{below}?{urllib.parse.urlencode(query)}"))
        own = without_age(owner.call("GET", f"/api/stats/{below}?{urllib.parse.urlencode(query | scope)}"))
        assert shared == own, (below, query)
    counted = reader.call("GET", f"/api/shared/stats/summary?{urllib.parse.urlencode(RANGE)}").json
    assert counted["total"] == (800 if subject == "tag" else 400) and counted["links"] == (2 if subject == "tag" else 1)


def test_a_share_of_a_tag_follows_the_tag(user, database):
    link, token = user.create(tags=["old"]), share(user, tag="old")["token"]
    reader = reader_of(user, token)
    links = lambda: reader.call("GET", "/api/shared/stats/summary").json["links"]  # noqa: E731
    assert links() == 1
    assert user.call("PATCH", f"/api/links/{link['id']}", {"tags": ["new"]}).status == 200
    assert links() == 0, "the link no longer has the tag"
    user.create(tags=["old"])
    assert links() == 1


# --- who may share what ---


@pytest.mark.parametrize("of", ["another account", "an administrator", "nobody", "a deleted link"])
def test_only_an_own_link_can_be_shared(user, service, database, expect, of):
    caller = User(service, database, "admin") if of == "an administrator" else user
    other = User(service, database)
    link_id = 999_999_999 if of == "nobody" else (user if of == "a deleted link" else other).create()["id"]
    if of == "a deleted link":
        assert user.call("DELETE", f"/api/links/{link_id}").status == 204
    answer = caller.call("POST", "/api/shares", {"link_id": link_id})
    assert expect(answer, 400, "/link_id")["errors"][0]["detail"] == "must be the id of one of your links"
    assert caller.call("GET", "/api/shares").json == {"shares": []}


@pytest.mark.parametrize(
    "body, fields",
    [
        ({}, ["/link_id"]), ({"link_id": 1, "tag": "x"}, ["/link_id"]), ({"link_id": "1"}, ["/link_id"]), ({"link_id": 0}, ["/link_id"]),
        ({"link_id": 1.5}, ["/link_id"]), ({"tag": ""}, ["/tag"]), ({"tag": "x" * 51}, ["/tag"]), ({"tag": 7}, ["/tag"]),
        ({"tag": "x", "title": "x" * 201}, ["/title"]), ({"tag": "x", "title": "a\nb"}, ["/title"]), ({"tag": "x", "password": "short"}, ["/password"]),
        ({"tag": "x", "password": "x" * 73}, ["/password"]), ({"tag": "x", "expires_at": "2001-01-01T00:00:00Z"}, ["/expires_at"]),
        ({"tag": "x", "expires_at": "tomorrow"}, ["/expires_at"]), ({"tag": "x", "filter": "id:7"}, ["/filter"]), ({"tag": "x", "workspace_id": 1}, ["/workspace_id"]),
    ],
)  # fmt: skip
def test_invalid_shares_are_refused(owner, expect, body, fields):
    expect(owner.call("POST", "/api/shares", body), 400, *fields)


@pytest.mark.parametrize("scopes", [["stats:read"], ["links:write"], ["links:read", "links:write", "stats:read"]])
def test_api_keys_without_the_scope_cannot_manage_shares(user, database, expect, scopes):
    made, key = share(user), Api(user.base)
    key.token = insert_api_key(database, user.id, scopes)
    one = f"/api/shares/{made['share']['id']}"
    for method, path, body in (("POST", "/api/shares", {"tag": "x"}), ("GET", "/api/shares", None), ("DELETE", one, None), ("PATCH", one, {"title": "x"}), ("GET", one + "/logo", None)):
        assert expect(key.call(method, path, body), 403)["type"] == "/problems/scope"


def test_shares_of_others_are_neither_listed_nor_revoked(user, service, database, expect):
    made = share(user)["share"]["id"]
    for role in ("user", "admin"):
        other = User(service, database, role)
        assert other.call("GET", "/api/shares").json == {"shares": []}
        for method, below, body in (("DELETE", "", None), ("GET", "", None), ("PATCH", "", {"title": "x"}), ("GET", "/logo", None)):
            expect(other.call(method, f"/api/shares/{made}{below}", body), 404)
    assert len(user.call("GET", "/api/shares").json["shares"]) == 1


def test_an_account_has_at_most_a_hundred_shares(user, database, expect):
    for _ in range(98):
        database.run("INSERT INTO shares (workspace_id, tag, token_hash) VALUES (%s, 'x', sha256(gen_random_uuid()::text::bytea))", user.id)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: user.call("POST", "/api/shares", {"tag": "x"}), range(4)))
    assert sorted(answer.status for answer in answers) == [201, 201, 409, 409]
    assert expect(user.call("POST", "/api/shares", {"tag": "x"}), 409, "")["type"] == "/problems/too-many-shares"


# --- when a share ends ---

ENDINGS = {
    "revoked": lambda user, made, database: user.call("DELETE", f"/api/shares/{made['share']['id']}"),
    "expired": lambda user, made, database: database.run("UPDATE shares SET expires_at = clock_timestamp() WHERE id = %s", made["share"]["id"]),
    "the link is deleted": lambda user, made, database: user.call("DELETE", f"/api/links/{made['share']['link']['id']}"),
    "the link is purged": lambda user, made, database: database.run("DELETE FROM links WHERE id = %s", made["share"]["link"]["id"]),
    "the account is blocked": lambda user, made, database: database.run("UPDATE users SET blocked = true WHERE id = %s", user.id),
    "the workspace is deleted": lambda user, made, database: database.run("UPDATE workspaces SET deleted_at = clock_timestamp() WHERE id = %s", user.id),
}


def unknown_token_answer(api):
    problem = access(api, "wmshare_" + "A" * 43)
    return problem.status, {name: value for name, value in problem.json.items() if name != "instance"}


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("password", [None, PASSWORD])
def test_an_ended_share_answers_as_if_it_had_never_existed(user, database, expect, ending, password):
    made = share(user, password=password)
    reader = reader_of(user, made["token"], password)
    assert reader.call("GET", "/api/shared").status == 200
    ENDINGS[ending](user, made, database)
    for path in READERS:
        expect(reader.call("GET", path), 401)
    answer = access(user, made["token"], password)
    assert (answer.status, {name: value for name, value in answer.json.items() if name != "instance"}) == unknown_token_answer(user)
    assert answer.status == 404 and answer.json["type"] == "/problems/no-share"


def test_a_share_returns_with_its_link_and_its_owner(user, database):
    made = share(user)
    reader, link_id = reader_of(user, made["token"]), made["share"]["link"]["id"]
    assert user.call("DELETE", f"/api/links/{link_id}").status == 204
    assert user.call("GET", "/api/shares").json["shares"][0]["active"] is False
    assert user.call("POST", f"/api/links/{link_id}/restore").status == 200
    assert user.call("GET", "/api/shares").json["shares"][0]["active"] is True
    database.run("UPDATE users SET blocked = true WHERE id = %s", user.id)
    assert reader.call("GET", "/api/shared").status == 401
    database.run("UPDATE users SET blocked = false WHERE id = %s", user.id)
    assert reader.call("GET", "/api/shared").status == 200


def test_a_deleted_account_leaves_no_open_shares(new_user):
    user = new_user()
    made = share(user, tag="x")
    assert user.call("DELETE", "/api/auth/me", {"password": PASSWORD}).status == 204
    assert access(user, made["token"]).status == 404


# --- what a token is good for ---


@pytest.mark.parametrize("credentials", ["the token of the share", "its access token"])
def test_a_share_opens_nothing_else(owner, expect, credentials):
    made = share(owner, link_id=owner.links[0]["id"])
    reader = reader_of(owner, made["token"])
    if credentials == "the token of the share":
        reader.token = made["token"]
        for path in READERS:
            expect(reader.call("GET", path), 401)
    link_id = owner.links[0]["id"]
    for path in ("auth/me", "links", f"links/{link_id}", f"links/{link_id}/stats", f"links/{link_id}/visits", "stats/summary", "stats/top", "stats/country",
                 "tags", "live", "shares", "keys", "auth/sessions", "admin/users"):  # fmt: skip
        expect(reader.call("GET", f"/api/{path}"), 401)
        expect(reader.call("GET", f"/api/{path}", headers={"X-Api-Key": reader.token}), 401)
    expect(reader.call("POST", "/api/shares", {"link_id": link_id}), 401)
    expect(reader.call("PATCH", f"/api/links/{link_id}", {"title": "x"}), 401)
    expect(reader.call("DELETE", f"/api/shares/{made['share']['id']}"), 401)


@pytest.mark.parametrize("credentials", ["none", "the owner's token", "the owner's key", "the owner's session", "an administrator's token"])
def test_other_credentials_do_not_open_a_share(owner, service, database, expect, credentials):
    share(owner, link_id=owner.links[0]["id"])
    api = Browser(service.url, insert_session(database, owner.id)) if credentials == "the owner's session" else Api(service.url)
    if credentials == "the owner's token":
        api.token = owner.token
    if credentials == "the owner's key":
        api.token = insert_api_key(database, owner.id, ["links:read", "links:write", "stats:read"])
    if credentials == "an administrator's token":
        api.token = User(service, database, "admin").token
    for path in READERS:
        expect(api.call("GET", path), 401)
        expect(api.call("GET", path, headers={"X-Api-Key": api.token or "wm_x"}), 401)


def forgeries(token, share_id, user_id):
    name = hashlib.sha256(token.encode()).hexdigest()
    header = {"alg": "HS256", "typ": "JWT"}
    def claims(**changes):
        now = int(time.time())
        made = {"sub": f"share:{name}", "iat": now, "exp": now + MONTH_S, "jti": str(uuid.uuid4()), **changes}
        return {name: value for name, value in made.items() if value is not None}

    yield "control", sign(header, claims()), 200
    yield "another secret", sign(header, claims(), "x" * 32), 401
    yield "no algorithm", sign({"alg": "none", "typ": "JWT"}, claims()), 401
    yield "valid for too long", sign(header, claims(exp=int(time.time()) + MONTH_S + 2)), 401
    yield "expired", sign(header, claims(iat=int(time.time()) - MONTH_S, exp=int(time.time()) - 1)), 401
    yield "never expires", sign(header, claims(exp=None)), 401
    yield "a generation", sign(header, claims(gen=1)), 401
    yield "the id of the share", sign(header, claims(sub=f"share:{share_id}")), 401
    yield "upper case", sign(header, claims(sub=f"share:{name.upper()}")), 401
    yield "too short", sign(header, claims(sub=f"share:{name[:-1]}")), 401
    yield "too long", sign(header, claims(sub=f"share:{name}0")), 401
    yield "a sign", sign(header, claims(sub=f"share:+{name[1:]}")), 401
    yield "a space", sign(header, claims(sub=f"share: {name[1:]}")), 401
    yield "no name", sign(header, claims(sub="share:")), 401
    yield "another kind", sign(header, claims(sub=f"Share:{name}")), 401
    yield "another share", sign(header, claims(sub=f"share:{'0' * 64}")), 401
    yield "the token itself", sign(header, claims(sub=f"share:{token}")), 401
    yield "a user with that id", make_token(share_id), 401
    yield "the owner", make_token(user_id, SECRET), 401


@pytest.mark.parametrize("number", range(19))
def test_forged_access_tokens_are_refused(owner, number):
    made = share(owner, link_id=owner.links[0]["id"])
    reader = Api(owner.base)
    name, reader.token, status = list(forgeries(made["token"], made["share"]["id"], owner.id))[number]
    assert reader.call("GET", "/api/shared").status == status, name
    if status == 200:
        assert reader.call("GET", "/api/auth/me").status == 401


def test_the_access_token_of_a_lost_share_does_not_open_the_next_one_with_its_id(user, database):
    """As after a failover that lost the share: another one gets its id."""
    lost = share(user, link_id=user.create()["id"])
    reader = reader_of(user, lost["token"])
    assert reader.call("GET", "/api/shared").status == 200
    database.run("DELETE FROM shares WHERE id = %s", lost["share"]["id"])
    database.run(
        "INSERT INTO shares (id, workspace_id, tag, token_hash) OVERRIDING SYSTEM VALUE VALUES (%s, %s, 'secret', %s)",
        lost["share"]["id"], user.id, hashlib.sha256(b"of another share").digest(),
    )  # fmt: skip
    assert reader.call("GET", "/api/shared").status == 401


def test_an_access_token_is_valid_for_thirty_days_at_most(user):
    answer = access(user, share(user)["token"])
    assert answer.json["token_type"] == "Bearer" and answer.json["expires_in"] == MONTH_S
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("parameter", ["tag=x", "filter=id:1", "link_id=1", "workspace=1", "cursor=x", "format=csv"])
@pytest.mark.parametrize("path", STATISTICS)
def test_the_scope_comes_from_the_share_alone(owner, expect, path, parameter):
    reader = reader_of(owner, share(owner, link_id=owner.links[0]["id"])["token"])
    expect(reader.call("GET", f"{path}?{parameter}"), 400, "/" + parameter.partition("=")[0])


@pytest.mark.parametrize("token", ["", "wmshare_", "wmshare_" + "A" * 43, "wm_" + "A" * 43, "x" * 10000, "wmshare_ü", None, 7, ["x"]])
def test_malformed_tokens_are_refused(owner, token):
    answer = access(owner, token)
    assert answer.status == (404 if isinstance(token, str) else 400), answer


def test_a_hash_is_no_token(user):
    token = share(user)["token"]
    for wrong in (hashlib.sha256(token.encode()).hexdigest(), token.lower(), token[8:], token + "A", token[:-1]):
        assert access(user, wrong).status == 404


# --- what is refused costs no password thread ---


@pytest.fixture(scope="module")
def one_thread(start):
    return start(PASSWORD_THREADS=1, PG_STATEMENT_TIMEOUT_MS=60000)


@pytest.mark.parametrize("why", ["too many shares", "no link", "a deleted link", "a link of another account", "an invalid expiry", "a short password"])
def test_a_share_is_refused_before_its_password_is_hashed(one_thread, database, why):
    """A registration keeps the only password thread busy, so what is hashed waits."""
    user, other = (User(one_thread, database) for _ in range(2))
    body = {"tag": "x", "password": PASSWORD}
    if why == "too many shares":
        token = "sha256(gen_random_uuid()::text::bytea)"
        database.run(f"INSERT INTO shares (workspace_id, tag, token_hash) SELECT %s, 'x', {token} FROM generate_series(1, 100)", user.id)
    elif why == "an invalid expiry":
        body["expires_at"] = "2001-01-01T00:00:00Z"
    elif why == "a short password":
        body["password"] = "short"
    else:
        link = (other if why == "a link of another account" else user).create()
        body = {"link_id": 999999999 if why == "no link" else link["id"], "password": PASSWORD}
        if why == "a deleted link":
            user.call("DELETE", f"/api/links/{link['id']}")
    with concurrent.futures.ThreadPoolExecutor(2) as pool, database.locked("users", "SHARE"):
        registration = pool.submit(Api(user.base).call, "POST", "/api/auth/register", {"email": unique_email(), "password": PASSWORD})
        database.await_statements_waiting(1)
        refused = pool.submit(user.call, "POST", "/api/shares", body)
        wait_until(refused.done, "the answer")
        assert not registration.done()
    assert refused.result().status == (409 if why == "too many shares" else 400), refused.result()


# --- passwords ---


@pytest.mark.parametrize("password", [None, "", "wrong horse battery", PASSWORD.upper(), PASSWORD + " ", "x"])
def test_a_share_with_a_password_needs_it(user, password):
    token = share(user, password=PASSWORD)["token"]
    answer = access(user, token, password)
    assert answer.status == 401 and answer.json["type"] == "/problems/share-password", answer
    assert "access_token" not in answer.json
    assert access(user, token, PASSWORD).status == 200


def test_a_password_that_nobody_asked_for_is_ignored(user):
    assert access(user, share(user)["token"], "anything").status == 200


def test_passwords_that_no_share_can_have_are_refused(user, expect):
    token = share(user, password=PASSWORD)["token"]
    expect(access(user, token, "x" * 73), 400, "/password")
    expect(Api(user.base).call("POST", "/api/shared/access", {"token": token, "password": 7}), 400, "/password")


def test_wrong_passwords_are_limited_for_the_share_and_its_network(start, database):
    service = start(LOGIN_FAILURES=3)
    user = User(service, database)
    token, other = (share(user, password=PASSWORD)["token"] for _ in range(2))
    near, far = {"X-Forwarded-For": "203.0.113.1"}, {"X-Forwarded-For": "198.51.100.1"}
    assert [access(user, token, "wrong password", near).status for _ in range(4)] == [401, 401, 401, 429]
    answer = access(user, token, PASSWORD, near)
    assert answer.status == 429 and answer.json["type"] == "/problems/rate-limit" and int(answer.headers["retry-after"]) > 0
    assert answer.headers["ratelimit-policy"] == '"login";q=3;w=900'
    assert access(user, token, PASSWORD, far).status == 200, "other networks are not limited"
    assert access(user, other, PASSWORD, near).status == 200, "other shares are not limited"
    assert access(user, share(user)["token"], None, near).status == 200


def test_guesses_from_many_networks_are_limited_but_not_for_known_readers(start, database):
    service = start(LOGIN_FAILURES_PER_ACCOUNT=4)
    user = User(service, database)
    token = share(user, password=PASSWORD)["token"]
    known = {"X-Forwarded-For": "198.51.100.1"}
    assert access(user, token, PASSWORD, known).status == 200
    guesses = [access(user, token, "wrong password", {"X-Forwarded-For": f"203.0.{i}.1"}).status for i in range(6)]
    assert guesses == [401] * 4 + [429] * 2
    assert access(user, token, PASSWORD, known).status == 200, "a reader from before is not locked out"


def test_readers_are_limited_per_network_and_do_not_use_up_the_requests_of_the_owner(start, database, expect):
    service = start(REQUESTS_PER_MINUTE=5)
    user = User(service, database)
    made = user.call("POST", "/api/shares", {"tag": "x"}).json
    reader = reader_of(user, made["token"])
    answers = [reader.call("GET", "/api/shared", headers={"X-Forwarded-For": "203.0.113.9"}) for _ in range(6)]
    assert [answer.status for answer in answers] == [200] * 5 + [429]
    assert answers[5].json["type"] == "/problems/rate-limit"
    assert reader.call("GET", "/api/shared", headers={"X-Forwarded-For": "198.51.100.9"}).status == 200
    assert user.call("GET", "/api/shares").status == 200
