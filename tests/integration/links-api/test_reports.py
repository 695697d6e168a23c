"""Reports of abuse: who may send one and how often, what administrators see, and that a block of a link reaches redirectors."""

import random
import urllib.parse

import pytest
from clients import Api, ask
from users import User

VARIABLES = {"OPERATOR_NAME": "Example <Ltd>"}
FORM = "application/x-www-form-urlencoded"
ADDRESSES = (f"10.{random.randrange(256)}.{random.randrange(256)}.1" for _ in iter(int, 1))


@pytest.fixture
def admin(service, database):
    return User(service, database, role="admin")


@pytest.fixture
def link(service, database):
    user = User(service, database)
    link = user.create("https://example.com/login")
    link["of"] = user
    return link


@pytest.fixture
def visitor(service):
    """visitor(): somebody from a network of their own, so that no test uses up the limit of another one."""

    class Visitor(Api):
        def __init__(self):
            super().__init__(service.url)
            self.headers = {"X-Forwarded-For": next(ADDRESSES)}

        def report(self, link, **fields):
            return self.call("POST", "/report", {"link": link, "reason": "phishing", **fields}, self.headers)

        def post(self, headers=None, **fields):
            sent = {"Content-Type": FORM, "Sec-Fetch-Site": "same-origin", **self.headers, **(headers or {})}
            return ask(service.url, "POST", "/report", sent, urllib.parse.urlencode(fields))

    return Visitor


def reports_of(admin, link, state="open"):
    return [each for each in admin.call("GET", f"/api/admin/reports?limit=100&state={state}").json["reports"] if each["link"] and each["link"]["id"] == link["id"]]


# --- whose link ---


@pytest.mark.parametrize("typed", ["{short_url}", "{short_url}?from=mail#top", "{slug}", "{alias}"])
def test_administrators_find_an_account_by_a_short_link(admin, link, typed):
    owner, slug = link["of"], link["short_url"].rpartition("/")[2]
    if typed == "{alias}":
        assert owner.call("PATCH", f"/api/links/{link['id']}", {"slug": f"{slug}-new"}).status == 200
    q = typed.format(short_url=link["short_url"], slug=slug, alias=slug)
    found = admin.call("GET", f"/api/admin/users?{urllib.parse.urlencode({'q': q})}").json
    assert [each["id"] for each in found["users"]] == [owner.id] and found["pagination"]["total"] == 1


def test_a_link_whose_maker_is_unknown_leads_to_who_answers_for_its_workspace(admin, link, database):
    database.run("UPDATE links SET created_by = NULL WHERE id = %s", link["id"])
    slug = link["short_url"].rpartition("/")[2]
    assert [each["id"] for each in admin.call("GET", f"/api/admin/users?q={slug}").json["users"]] == [link["of"].id]


# --- sending ---


def test_the_form_speaks_the_visitors_language_and_fills_in_the_link(service, link):
    for language, title in (("de-AT", "Einen Link melden"), ("fr", "Signaler un lien"), ("it", "Report a link")):
        answer = ask(service.url, "GET", f"/report?link={urllib.parse.quote(link['short_url'], safe='')}", {"Accept-Language": language})
        page = answer.body.decode()
        assert answer.status == 200 and answer.headers["content-type"] == "text/html; charset=utf-8" and f"<h1>{title}</h1>" in page
        assert f'value="{link["short_url"]}"' in page and "<script" not in page and "Example &lt;Ltd&gt;." in page and answer.headers["cache-control"] == "no-store"
    assert ask(service.url, "GET", "/report").status == 200
    assert ask(service.url, "GET", "/report?link=%ff").status == 200
    hostile = ask(service.url, "GET", "/report?link=%22%3E%3Cscript%3E").body.decode()
    assert "<script" not in hostile and "&quot;&gt;&lt;script&gt;" in hostile


def test_a_report_by_the_form_arrives(visitor, admin, link):
    sent = visitor().post(link=link["short_url"], reason="malware", details="Line\r\ntwo <b>", email="bob@example.com", unknown="x")
    assert sent.status == 200 and "<h1>Thank you</h1>" in sent.body.decode() and "<form" not in sent.body.decode()
    [report] = reports_of(admin, link)
    assert {name: report[name] for name in ("slug", "reason", "details", "email", "state", "closed_at", "closed_by_email")} == {
        "slug": link["slug"], "reason": "malware", "details": "Line\r\ntwo <b>", "email": "bob@example.com", "state": "open", "closed_at": None, "closed_by_email": None}  # fmt: skip
    assert report["link"] == {
        "id": link["id"], "short_url": link["short_url"], "original_url": "https://example.com/login", "state": "active", "blocked_reason": None,
        "workspace_id": link["of"].id, "workspace_name": "Personal", "created_by": link["of"].id, "created_by_email": link["of"].email}  # fmt: skip


def test_a_form_with_faults_comes_back_with_what_was_typed(visitor, link):
    answer = visitor().post(link=link["short_url"], reason="boredom", details="kept", email="bob")
    page = answer.body.decode()
    assert answer.status == 400 and 'role="alert"' in page and ">\nkept</textarea>" in page and 'value="bob"' in page
    assert page.count('aria-invalid="true"') == 2
    answer = visitor().post(headers={"Accept-Language": "de"}, link="https://other.example/x", reason="spam")
    assert answer.status == 404 and "Diesen Link gibt es hier nicht" in answer.body.decode()


def test_another_site_cannot_make_browsers_report(visitor, link, expect, admin):
    for headers in ({"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "none"}):
        expect(visitor().post(headers=headers, link=link["short_url"], reason="spam"), 403)
    assert reports_of(admin, link) == []


@pytest.mark.parametrize("text", ["{url}", "{bare}", "{slug}", "{url}?utm_source=x", "{url}+", "{upper}", "{url}."])
def test_a_link_is_found_as_people_copy_it(visitor, admin, link, text):
    url = link["short_url"]
    written = text.format(url=url, bare=url.split("://")[1], slug=link["slug"], upper=url.replace("http", "HTTP", 1))
    assert visitor().report(written).status == 204, written
    assert len(reports_of(admin, link)) == 1


def test_only_existing_links_are_reported(visitor, expect, link):
    for text in ("nobody-knows", "https://example.com/login", "http://", "/", "a b", link["short_url"] + "/deeper"):
        expect(visitor().report(text), 404)
    link["of"].call("DELETE", f"/api/links/{link['id']}")
    expect(visitor().report(link["short_url"]), 404)


def test_each_wrong_field_is_named(visitor, expect, service):
    api, headers = visitor(), visitor().headers
    for body, *pointers in (
        ({}, "/link", "/reason"), ({"link": "", "reason": "x"}, "/link", "/reason"), ({"link": 1, "reason": None}, "/link", "/reason"),
        ({"link": "a", "reason": "spam", "details": "x" * 2001}, "/details"), ({"link": "a", "reason": "spam", "email": "@"}, "/email"),
        ({"link": "a" * 2049, "reason": "spam"}, "/link"), ({"link": "a", "reason": "spam", "details": "\x07"}, "/details"), ({"link": "a", "reason": "spam", "url": "x"}, "/url"),
    ):  # fmt: skip
        expect(api.call("POST", "/report", body, headers=headers), 400, *pointers)
    expect(ask(service.url, "POST", "/report", {"Content-Type": "text/plain"}, "x"), 415)


def test_a_network_sends_ten_reports_an_hour(visitor, admin, link, expect):
    one, other = visitor(), visitor()
    assert [one.report(link["short_url"]).status for _ in range(11)] == [204] * 10 + [429]
    page = one.post(link=link["short_url"], reason="spam", details="kept")
    assert page.status == 429 and int(page.headers["retry-after"]) > 0 and ">\nkept</textarea>" in page.body.decode()
    assert other.report(link["short_url"]).status == 204
    assert len(reports_of(admin, link)) == 11


def test_of_one_link_twenty_open_reports_are_kept(visitor, admin, link, database):
    database.run("INSERT INTO abuse_reports (link_id, slug, reason) SELECT %s, %s, 'spam' FROM generate_series(1, 20)", link["id"], link["slug"])
    assert visitor().report(link["short_url"]).status == 204
    assert len(reports_of(admin, link)) == 20


# --- working them off ---


def test_administrators_page_through_close_and_reopen(visitor, admin, link, database, expect):
    for _ in range(3):
        visitor().report(link["short_url"])
    first = admin.call("GET", "/api/admin/reports?limit=2").json
    assert len(first["reports"]) == 2 and first["pagination"]["next_cursor"] == str(first["reports"][-1]["id"])
    rest = admin.call("GET", f"/api/admin/reports?limit=100&cursor={first['pagination']['next_cursor']}").json
    assert rest["pagination"]["next_cursor"] is None and rest["reports"][0]["id"] < first["reports"][-1]["id"]
    at = f"/api/admin/reports/{first['reports'][0]['id']}"
    for _ in range(2):
        closed = admin.call("PATCH", at, {"state": "closed"}).json["report"]
        assert (closed["state"], closed["closed_by_email"]) == ("closed", admin.email) and closed["closed_at"]
    assert len(reports_of(admin, link)) == 2 and [each["id"] for each in reports_of(admin, link, "closed")] == [closed["id"]]
    opened = admin.call("PATCH", at, {"state": "open"}).json["report"]
    assert (opened["state"], opened["closed_at"], opened["closed_by_email"]) == ("open", None, None)
    actions = database.run("SELECT action FROM audit_log WHERE subject_type = 'report' AND subject_id = %s ORDER BY id", closed["id"])
    assert actions == [("report.close",), ("report.reopen",)]
    for body, *pointers in (({}, "/state"), ({"state": "gone"}, "/state"), ({"state": "open", "x": 1}, "/x")):
        expect(admin.call("PATCH", at, body), 400, *pointers)
    expect(admin.call("PATCH", "/api/admin/reports/999999999", {"state": "open"}), 404)
    for query, pointer in (("state=all", "/state"), ("limit=101", "/limit"), ("cursor=x", "/cursor")):
        expect(admin.call("GET", f"/api/admin/reports?{query}"), 400, pointer)


def test_administrators_are_told_how_many_reports_are_open(visitor, admin, link, database):
    told = lambda person: person.call("GET", "/api/auth/session").json.get("open_reports")  # noqa: E731
    database.run("UPDATE abuse_reports SET closed_at = now() WHERE closed_at IS NULL")
    assert (told(admin), told(link["of"])) == (0, None)
    visitor().report(link["short_url"])
    assert told(admin) == 1
    database.run("INSERT INTO abuse_reports (link_id, slug, reason) SELECT %s, %s, 'spam' FROM generate_series(1, 120)", link["id"], link["slug"])
    assert told(admin) == 100
    database.run("UPDATE abuse_reports SET closed_at = now() WHERE closed_at IS NULL")


def test_a_report_outlives_its_link(visitor, admin, link):
    visitor().report(link["short_url"])
    assert link["of"].call("DELETE", f"/api/links/{link['id']}?hard=true").status == 204
    [report] = [each for each in admin.call("GET", "/api/admin/reports?limit=100").json["reports"] if each["slug"] == link["slug"]]
    assert report["link"] is None


def test_a_block_is_published_closes_the_reports_and_tells_the_owner(visitor, admin, link, database, topic, LinkEvent):
    visitor().report(link["short_url"])
    at = f"/api/admin/links/{link['id']}/block"
    for reason in ("It imitates a bank.", "It imitates a bank.", "It imitates two banks."):
        assert admin.call("PUT", at, {"reason": reason}).status == 204
    assert reports_of(admin, link) == [] and reports_of(admin, link, "closed")[0]["closed_by_email"] == admin.email
    assert reports_of(admin, link, "closed")[0]["link"]["blocked_reason"] == "It imitates two banks."
    seen = link["of"].call("GET", f"/api/links/{link['id']}").json["link"]
    assert (seen["version"], seen["state"], seen["blocked_reason"]) == (3, "active", "It imitates two banks.")
    [change] = [each for each in link["of"].call("GET", f"/api/links/{link['id']}/history").json["changes"] if each["fields"]][:1]
    assert change["by"]["type"] == "administrator"
    assert change["fields"] == [{"name": "blocked_reason", "from": "It imitates a bank.", "to": "It imitates two banks."}]
    assert link["of"].call("PATCH", f"/api/links/{link['id']}", {"title": "mine"}).status == 200
    assert reports_of(admin, link, "closed")[0]["link"]["blocked_reason"] == "It imitates two banks.", "its owner cannot end the block"
    for _ in range(2):
        assert admin.call("DELETE", at).status == 204
    assert link["of"].call("GET", f"/api/links/{link['id']}").json["link"]["blocked_reason"] is None
    states = [LinkEvent.FromString(message.value()).link for message in topic.wait_for(lambda m: m.key() == link["slug"].encode() and LinkEvent.FromString(m.value()).link.version in (3, 5), count=2)]
    assert [(state.version, state.is_blocked) for state in states] == [(3, True), (5, False)]
    audit = database.run("SELECT action, details ->> 'reason' FROM audit_log WHERE subject_type = 'link' AND subject_id = %s AND action LIKE '%%block' ORDER BY id", link["id"])
    assert audit == [("link.block", "It imitates a bank."), ("link.block", "It imitates two banks."), ("link.unblock", None)]


def test_only_administrators_block_links(admin, link, expect):
    at = f"/api/admin/links/{link['id']}/block"
    expect(link["of"].call("PUT", at, {"reason": "mine"}), 403)
    for body, pointer in (({}, "/reason"), ({"reason": ""}, "/reason"), ({"reason": "x" * 501}, "/reason"), ({"reason": "a\nb"}, "/reason")):
        expect(admin.call("PUT", at, body), 400, pointer)
    for method, body in (("PUT", {"reason": "x"}), ("DELETE", None)):
        expect(admin.call(method, "/api/admin/links/999999999/block", body), 404)
