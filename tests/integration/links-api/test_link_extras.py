"""Rules, splits, limits, passwords, parameters and previews of links, by the API."""

import bisect
import concurrent.futures
import datetime
import functools
import random
import zoneinfo

import pytest

VARIABLES = {"DESTINATION_SCHEMES": "myapp, tel", "REDIS_TIMEOUT_MS": 5000}
PASSWORD = "open sesame, please"
URL = "https://example.com/"
PLAIN = {
    "rules": [], "split": None, "forward_query": False, "forward_path": False, "max_visits": None, "visits_left": None,
    "has_password": False, "preview": None, "effective_redirect_status": 302, "blocked_reason": None,
    "utm_source": None, "utm_medium": None, "utm_campaign": None, "utm_term": None, "utm_content": None,
}  # fmt: skip


def rule(**changes):
    return {"rules": [{"name": "r", "when": {}, "then": "gone"} | changes]}


def without(name, body):
    return {"rules": [{key: value for key, value in body["rules"][0].items() if key != name}]}


def when(**conditions):
    return rule(when=conditions)


def to(url, **changes):
    return rule(then="redirect", url=url, **changes)


def variants(*urls, **changes):
    return [{"name": f"v{i}", "url": url, "weight": 1} | changes for i, url in enumerate(urls)]


def split(*urls, **changes):
    return {"split": {"variants": variants(*urls, **changes)}}


def variant(**changes):
    return {"split": {"variants": [{"name": "a", "url": URL, "weight": 1} | changes, {"name": "b", "url": URL, "weight": 1}]}}


BAD_URLS = [
    ("https://wm.example/x", "url-self"), ("https://also.wm.example/x", "url-self"), ("https://blocked.example/x", "url-blocked"), ("javascript:alert(1)", "url-scheme"),
    ("JavaScript:alert(1)", "url-scheme"), ("data:text/html,x", "url-scheme"), ("file:///etc/passwd", "url-scheme"), ("blob:https://example.com/1", "url-scheme"),
    ("vbscript:x", "url-scheme"), ("//example.com/", "url-scheme"), ("/path", "url-scheme"), ("", "url-scheme"), ("https://a:b@example.com/", "url-user"),
    ("https://example.com\\@evil.example/", "url-backslash"), ("https://exam\nple.com/", "control-character"), ("https://", "url-no-host"),
    ("https://example.com:99999/", "url-port"), ("https://1.2.3.4.5/", "url-address"), (f"https://example.com/{'a' * 8200}", "too-many-bytes"), (7, "type"),
]  # fmt: skip
URL_PLACES = [
    ("/rules/0/url", to), ("/rules/0/fallback_url", lambda url: to("myapp://x", fallback_url=url)), ("/split/variants/0/url", lambda url: split(url, URL)),
    ("/split/variants/1/url", lambda url: split(URL, url)), ("/preview/image_url", lambda url: {"preview": {"image_url": url}}), ("/expired_url", lambda url: {"expired_url": url}),
]  # fmt: skip

# (members, pointer, code)
WRONG = [
    *((make(url), pointer, code) for pointer, make in URL_PLACES for url, code in BAD_URLS),
    ({"rules": {}}, "/rules", "type"), ({"rules": "x"}, "/rules", "type"), ({"rules": rule()["rules"] * 21}, "/rules", "too-many"),
    ({"rules": [7]}, "/rules/0", "type"), ({"rules": [None]}, "/rules/0", "type"), (without("name", rule()), "/rules/0/name", "required"),
    (without("when", rule()), "/rules/0/when", "required"), (without("then", rule()), "/rules/0/then", "required"), (rule(name=""), "/rules/0/name", "length"),
    (rule(name="x" * 51), "/rules/0/name", "length"), (rule(name="a\nb"), "/rules/0/name", "control-character"), (rule(name=5), "/rules/0/name", "type"),
    (rule(extra=1), "/rules/0/extra", "unknown"), ({"rules": rule()["rules"] * 2}, "/rules/1/name", "duplicate"), (rule(then="explode"), "/rules/0/then", "choice"),
    (rule(then=None), "/rules/0/then", "choice"), (rule(url=URL), "/rules/0/url", "not-allowed"), (rule(then="redirect"), "/rules/0/url", "required"),
    (rule(then="as_usual", url=URL), "/rules/0/url", "not-allowed"), (rule(fallback_url=URL), "/rules/0/fallback_url", "not-allowed"),
    (to(URL, fallback_url=URL), "/rules/0/fallback_url", "not-allowed"), (to("other:x"), "/rules/0/url", "url-scheme"), (to("myapp:"), "/rules/0/url", "malformed"),
    (to("myapp:\\x"), "/rules/0/url", "url-backslash"), (to("myapp://a\x01b"), "/rules/0/url", "control-character"), (to(f"myapp://{'ü' * 1500}"), "/rules/0/url", "too-many-bytes"),
    (rule(when=[]), "/rules/0/when", "type"), (rule(when=None), "/rules/0/when", "type"), (when(weather=["rain"]), "/rules/0/when/weather", "unknown"),
    (when(country="DE"), "/rules/0/when/country", "type"), (when(country=[]), "/rules/0/when/country", "empty"), (when(country=["DE"] * 51), "/rules/0/when/country", "too-many"),
    (when(country=["Germany"]), "/rules/0/when/country/0", "country"), (when(country=["UK"]), "/rules/0/when/country/0", "country"), (when(country=["DE", ""]), "/rules/0/when/country/1", "country"),
    (when(country=["DE", "de"]), "/rules/0/when/country/1", "duplicate"), (when(country=[7]), "/rules/0/when/country/0", "type"), (when(region=["BY"]), "/rules/0/when/region/0", "region"),
    (when(region=["DE-"]), "/rules/0/when/region/0", "region"), (when(region=["XX-1"]), "/rules/0/when/region/0", "region"), (when(region=["DE-ABCD"]), "/rules/0/when/region/0", "region"),
    (when(region=["DE BY"]), "/rules/0/when/region/0", "region"), (when(city=[""]), "/rules/0/when/city/0", "length"), (when(city=["x" * 101]), "/rules/0/when/city/0", "length"),
    (when(city=["a\tb"]), "/rules/0/when/city/0", "control-character"), (when(city={"a": 1}), "/rules/0/when/city", "type"), (when(device=["phone"]), "/rules/0/when/device/0", "choice"),
    (when(device="mobile"), "/rules/0/when/device", "type"), (when(device=["mobile", "mobile"]), "/rules/0/when/device/1", "duplicate"), (when(os=[]), "/rules/0/when/os", "empty"),
    (when(os=[True]), "/rules/0/when/os/0", "type"), (when(browser=["x" * 101]), "/rules/0/when/browser/0", "length"), (when(browser=[None]), "/rules/0/when/browser/0", "type"),
    (when(language=["german"]), "/rules/0/when/language/0", "language"), (when(language=["d"]), "/rules/0/when/language/0", "language"), (when(language=["de_DE"]), "/rules/0/when/language/0", "language"),
    (when(language=["de-"]), "/rules/0/when/language/0", "language"), (when(language=["de-123456789"]), "/rules/0/when/language/0", "language"), (when(language=["*"]), "/rules/0/when/language/0", "language"),
    (when(referrer_host=["https://example.com"]), "/rules/0/when/referrer_host/0", "host"), (when(referrer_host=["."]), "/rules/0/when/referrer_host/0", "host"),
    (when(referrer_host=["exa mple.com"]), "/rules/0/when/referrer_host/0", "host"), (when(referrer_host=[".127.0.0.1"]), "/rules/0/when/referrer_host/0", "host"),
    (when(query={"name": "a"}), "/rules/0/when/query", "type"), (when(query=[]), "/rules/0/when/query", "empty"), (when(query=["a"]), "/rules/0/when/query/0", "type"),
    (when(query=[{}]), "/rules/0/when/query/0/name", "required"), (when(query=[{"name": ""}]), "/rules/0/when/query/0/name", "length"), (when(query=[{"name": "x" * 101}]), "/rules/0/when/query/0/name", "length"),
    (when(query=[{"name": "a", "value": "1"}]), "/rules/0/when/query/0/value", "unknown"), (when(query=[{"name": "a", "values": []}]), "/rules/0/when/query/0/values", "empty"),
    (when(query=[{"name": "a", "values": ["x" * 254]}]), "/rules/0/when/query/0/values/0", "too-long"), (when(query=[{"name": "a", "values": [1]}]), "/rules/0/when/query/0/values/0", "type"),
    (when(query=[{"name": f"{i}"} for i in range(9)]), "/rules/0/when/query", "too-many"), (when(visitor="robot"), "/rules/0/when/visitor", "choice"), (when(visitor=["human"]), "/rules/0/when/visitor", "choice"),
    (when(**{"from": "tomorrow"}), "/rules/0/when/from", "time"), (when(until=7), "/rules/0/when/until", "type"), (when(until="2026-13-01T00:00:00Z"), "/rules/0/when/until", "time"),
    (when(**{"from": "2027-01-01T00:00:00Z", "until": "2027-01-01T00:00:00Z"}), "/rules/0/when/until", "order"), (when(days=[]), "/rules/0/when/days", "empty"), (when(days="mon"), "/rules/0/when/days", "type"),
    (when(days=["Monday"]), "/rules/0/when/days/0", "choice"), (when(days=["mon", "mon"]), "/rules/0/when/days/1", "duplicate"), (when(days=["mon"] * 8), "/rules/0/when/days", "too-many"),
    (when(time_from="08:00"), "/rules/0/when/time_until", "required"), (when(time_until="08:00"), "/rules/0/when/time_from", "required"), (when(time_from="8:00", time_until="09:00"), "/rules/0/when/time_from", "time"),
    (when(time_from="24:00", time_until="09:00"), "/rules/0/when/time_from", "time"), (when(time_from="08:60", time_until="09:00"), "/rules/0/when/time_from", "time"), (when(time_from=8, time_until="09:00"), "/rules/0/when/time_from", "time"),
    (when(time_from="08:00", time_until="08:00"), "/rules/0/when/time_until", "order"), (when(time_zone="Europe/Berlin"), "/rules/0/when/time_zone", "not-allowed"),
    (when(days=["mon"], time_zone="Europe/Atlantis"), "/rules/0/when/time_zone", "time-zone"), (when(days=["mon"], time_zone="UTC+1"), "/rules/0/when/time_zone", "time-zone"),
    (when(days=["mon"], time_zone="'; DROP TABLE links"), "/rules/0/when/time_zone", "time-zone"), (when(days=["mon"], time_zone=""), "/rules/0/when/time_zone", "length"), (when(days=["mon"], time_zone=1), "/rules/0/when/time_zone", "type"),
    ({"split": []}, "/split", "type"), ({"split": {}}, "/split/variants", "required"), (split(URL), "/split/variants", "array"), (split(*[URL] * 6), "/split/variants", "too-many"),
    ({"split": {"variants": {}}}, "/split/variants", "array"), (split(URL, URL, name="same"), "/split/variants/1/name", "duplicate"), (variant(name=""), "/split/variants/0/name", "length"),
    (variant(weight=0), "/split/variants/0/weight", "number"), (variant(weight=1001), "/split/variants/0/weight", "number"), (variant(weight=1.5), "/split/variants/0/weight", "number"), (variant(weight="1"), "/split/variants/0/weight", "number"),
    (variant(share=1), "/split/variants/0/share", "unknown"), ({"split": {"variants": [1, *variants(URL)]}}, "/split/variants/0", "type"), ({"split": {"variants": variants(URL, URL), "winner": "x"}}, "/split/winner", "choice"),
    ({"split": {"variants": variants(URL, URL), "winner": ""}}, "/split/winner", "choice"), ({"split": {"variants": variants(URL, URL), "winner": 1}}, "/split/winner", "type"), ({"split": {"variants": variants(URL, URL), "x": 1}}, "/split/x", "unknown"),
    ({"forward_query": "yes"}, "/forward_query", "type"), ({"forward_path": 1}, "/forward_path", "type"), ({"max_visits": 0}, "/max_visits", "number"), ({"max_visits": -1}, "/max_visits", "number"),
    ({"max_visits": 1.5}, "/max_visits", "number"), ({"max_visits": "5"}, "/max_visits", "number"), ({"max_visits": 1_000_000_001}, "/max_visits", "number"), ({"password": "abc"}, "/password", "too-short"),
    ({"password": ""}, "/password", "too-short"), ({"password": "ü" * 37}, "/password", "too-many-bytes"), ({"password": "x" * 73}, "/password", "too-long"), ({"password": "a\nbcd"}, "/password", "control-character"),
    ({"password": 12345}, "/password", "type"), ({"preview": "x"}, "/preview", "type"), ({"preview": {"title": "x" * 201}}, "/preview/title", "too-long"), ({"preview": {"title": 1}}, "/preview/title", "type"),
    ({"preview": {"image_url": "myapp://x"}}, "/preview/image_url", "url-scheme"),
    ({"preview": {"description": "x" * 501}}, "/preview/description", "too-long"), ({"preview": {"description": "a\nb"}}, "/preview/description", "control-character"), ({"preview": {"image": URL}}, "/preview/image", "unknown"),
    ({"utm_source": ""}, "/utm_source", "length"), ({"utm_medium": "x" * 101}, "/utm_medium", "length"), ({"utm_campaign": 1}, "/utm_campaign", "type"), ({"utm_term": "a\tb"}, "/utm_term", "control-character"), ({"utm_id": "x"}, "/utm_id", "unknown"),
    ({"utm_content": "x", "original_url": "myapp://x"}, "/original_url", "url-scheme"), ({"has_password": True}, "/has_password", "unknown"), ({"visits_left": 5}, "/visits_left", "unknown"), ({"effective_redirect_status": 302}, "/effective_redirect_status", "unknown"),
    ({"blocked_reason": "x"}, "/blocked_reason", "unknown"),
]  # fmt: skip
LARGE = {"rules": [{"name": f"r{i}", "when": {}, "then": "redirect", "url": f"{URL}{'a' * 500}"} for i in range(20)]}


@pytest.fixture(scope="module")
def service(start, database):
    database.run("INSERT INTO blocked_hosts (host, with_subdomains, reason) VALUES ('blocked.example', false, '')")
    return start(OWN_HOSTS="also.wm.example")


def in_hours(hours):
    moment = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=hours)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def shown(link):
    return {name: link[name] for name in PLAIN}


def errors_of(answer):
    assert answer.status == 400, answer
    return [(error["pointer"], error["code"]) for error in answer.json["errors"]]


def test_each_wrong_member_is_named_and_nothing_is_stored(new_user, database):
    ann = new_user()
    link = ann.create()
    rows = "SELECT version, original_url, extras, features FROM links WHERE id = %s"
    before = database.run(rows, link["id"])
    assert len(WRONG) > 200
    for members, pointer, code in WRONG:
        made = ann.call("POST", "/api/links", {"original_url": URL} | members)
        assert errors_of(made) == [(pointer, code)], (members, made)
        changed = ann.call("PATCH", f"/api/links/{link['id']}", members)
        assert errors_of(changed) == [(pointer, code)], (members, changed)
    assert database.run(rows, link["id"]) == before
    assert ann.call("GET", "/api/links").json["pagination"]["total"] == 1


def test_all_that_is_wrong_is_named_at_once(ann):
    body = {"original_url": "x", "max_visits": 0} | when(country=["UK"], days=["x"]) | {"split": {"variants": variants("y", URL, weight=0)}}
    assert sorted(errors_of(ann.call("POST", "/api/links", body))) == [
        ("/max_visits", "number"), ("/original_url", "url-scheme"), ("/rules/0/when/country/0", "country"), ("/rules/0/when/days/0", "choice"),
        ("/split/variants/0/url", "url-scheme"), ("/split/variants/0/weight", "number"), ("/split/variants/1/weight", "number"),
    ]  # fmt: skip


def test_extras_of_more_than_8_kib_are_refused(ann):
    assert errors_of(ann.call("POST", "/api/links", {"original_url": URL} | LARGE)) == [("", "too-many-bytes")]
    link = ann.create()
    answer = ann.call("PATCH", f"/api/links/{link['id']}", LARGE)
    assert answer.status == 409 and answer.json["errors"][0]["code"] == "too-many-bytes"
    assert ann.call("GET", f"/api/links/{link['id']}").json["link"]["version"] == 1


RICH = {
    "rules": [
        {"name": "Germans", "when": {"country": ["DE", "AT"], "region": ["DE-BY"], "city": ["Munich"], "device": ["mobile", "tablet"], "os": ["iOS"], "browser": ["Firefox"], "language": ["de", "de-CH"],
                                     "referrer_host": ["example.org", ".example.net"], "query": [{"name": "a"}, {"name": "b", "values": ["1", ""]}], "visitor": "human"},
         "then": "redirect", "url": "https://example.com/de", "fallback_url": None},
        {"name": "Nights", "when": {"from": "2026-11-20T08:00:00.000Z", "until": "2031-11-20T08:00:00.123Z", "days": ["mon", "fri", "sun"], "time_from": "22:00", "time_until": "06:30", "time_zone": "Europe/Berlin"},
         "then": "gone", "url": None, "fallback_url": None},
        {"name": "App", "when": {"days": ["sat"], "time_zone": "UTC"}, "then": "redirect", "url": "myapp://item/7", "fallback_url": "https://example.com/app"},
        {"name": "Rest", "when": {}, "then": "as_usual", "url": None, "fallback_url": None},
    ],
    "split": {"variants": [{"name": "a", "url": "https://example.com/a", "weight": 3}, {"name": "b", "url": "tel:+49301", "weight": 1000}], "winner": "b"},
    "forward_query": True, "forward_path": True, "max_visits": 500,
    "preview": {"title": "Spring ☀", "description": "Walks", "image_url": "https://example.com/spring.png"},
}  # fmt: skip


def test_a_link_shows_its_extras_as_they_were_written_and_takes_them_back(ann):
    link = ann.create(**RICH, password=PASSWORD, redirect_status=301)
    assert shown(link) == PLAIN | RICH | {"visits_left": 500, "has_password": True, "effective_redirect_status": 302}
    path = f"/api/links/{link['id']}"
    assert ann.call("GET", path).json["link"] == link
    assert ann.call("GET", "/api/links").json["links"][0] == link
    again = ann.call("PATCH", path, {name: link[name] for name in RICH})
    assert again.status == 200 and again.json["link"]["version"] == 1, "the same extras are no change"
    assert shown(ann.create()) == PLAIN


def test_what_differs_by_visitor_is_not_answered_for_good(ann):
    for members, expected in (({}, 308), ({"preview": {"title": "x"}}, 308), ({"max_visits": 5}, 307), ({"forward_query": True}, 307), (split(URL, URL), 307), (when(), 307)):
        link = ann.create(**members, redirect_status=308)
        assert (link["redirect_status"], link["effective_redirect_status"]) == (308, expected)


def test_a_change_of_one_member_leaves_the_others(ann):
    link = ann.create(**RICH, password=PASSWORD)
    path, expected = f"/api/links/{link['id']}", shown(link)
    steps = [
        ({"title": "new"}, {}), ({"rules": []}, {"rules": []}), ({"split": None}, {"split": None}), ({"forward_query": False}, {"forward_query": False}),
        ({"max_visits": 7}, {"max_visits": 7, "visits_left": 7}), ({"preview": {"title": "T"}}, {"preview": {"title": "T", "description": None, "image_url": None}}),
        ({"password": None}, {"has_password": False}), ({"password": "another"}, {"has_password": True}), (when(visitor="bot"), {"rules": [{"name": "r", "when": {"visitor": "bot"}, "then": "gone", "url": None, "fallback_url": None}]}),
        ({"rules": None}, {"rules": []}), ({"max_visits": None}, {"max_visits": None, "visits_left": None}), ({"forward_path": None}, {"forward_path": False}),
        ({"password": None}, {"has_password": False}), ({"preview": None}, {"preview": None}),
    ]  # fmt: skip
    for version, (change, difference) in enumerate(steps, 2):
        answer = ann.call("PATCH", path, change)
        expected |= difference
        assert answer.status == 200, answer
        assert shown(answer.json["link"]) == expected | {"effective_redirect_status": 302}, change
        assert answer.json["link"]["version"] == version
    assert expected == PLAIN


def test_two_people_who_change_different_members_at_once_lose_nothing(ann, database):
    link = ann.create()
    path = f"/api/links/{link['id']}"
    changes = [when(visitor="bot"), split(URL, URL), {"forward_query": True}, {"max_visits": 9}, {"password": PASSWORD}, {"preview": {"title": "x"}}, {"utm_source": "s"}, {"title": "t"}]
    with concurrent.futures.ThreadPoolExecutor(len(changes)) as pool:
        answers = list(pool.map(lambda change: ann.call("PATCH", path, change), changes))
    assert [answer.status for answer in answers] == [200] * len(changes)
    assert {answer.json["link"]["version"] for answer in answers} == set(range(2, 2 + len(changes)))
    now = ann.call("GET", path).json["link"]
    assert now["rules"] and now["split"] and now["forward_query"] and now["has_password"] and now["preview"] and now["title"]
    assert (now["max_visits"], now["utm_source"], now["version"]) == (9, "s", 1 + len(changes))
    assert database.value("SELECT features FROM links WHERE id = %s", link["id"]) == 63


def test_of_two_changes_of_one_version_the_second_is_refused(ann):
    link = ann.create()
    path, etag = f"/api/links/{link['id']}", {"If-Match": '"v1"'}
    assert ann.call("PATCH", path, {"password": PASSWORD}, etag).status == 200
    refused = ann.call("PATCH", path, {"password": "another one"}, etag)
    assert (refused.status, refused.headers["etag"]) == (412, '"v2"')
    assert ann.call("PATCH", path, when(), etag).status == 412
    assert ann.call("GET", path).json["link"]["rules"] == []


def test_a_creation_with_a_password_is_applied_once(ann):
    headers, body = {"Idempotency-Key": "extras-1"}, {"original_url": URL, "password": PASSWORD, **when(visitor="bot")}
    first, second = (ann.call("POST", "/api/links", body, headers) for _ in range(2))
    assert (first.status, second.status) == (201, 201) and first.json == second.json
    assert second.headers["idempotency-replayed"] == "true"


# --- parameters ---


def test_utm_members_edit_the_query_of_the_destination(ann):
    link = ann.create("https://example.com/?utm_medium=old&x=1#top", utm_source="letter & more", utm_medium="mail")
    assert link["original_url"] == "https://example.com/?utm_medium=mail&x=1&utm_source=letter%20%26%20more#top"
    assert (link["utm_source"], link["utm_medium"], link["utm_campaign"]) == ("letter & more", "mail", None)
    path = f"/api/links/{link['id']}"
    changed = ann.call("PATCH", path, {"utm_source": None, "utm_campaign": "ü"}).json["link"]
    assert changed["original_url"] == "https://example.com/?utm_medium=mail&x=1&utm_campaign=%C3%BC#top"
    changed = ann.call("PATCH", path, {"original_url": "https://example.org/?utm_source=a", "utm_source": "b"}).json["link"]
    assert changed["original_url"] == "https://example.org/?utm_source=b"
    assert ann.call("PATCH", path, {"utm_source": "b"}).json["link"]["version"] == changed["version"]
    full = ann.create(f"https://example.com/{'a' * 8160}")
    answer = ann.call("PATCH", f"/api/links/{full['id']}", {"utm_source": "letter"})
    assert answer.status == 409 and answer.json["errors"][0]["code"] == "too-many-bytes"
    anonymous = ann.call("POST", "/api/links/public", {"original_url": URL, "utm_source": "x"}).json["link"]
    assert anonymous["original_url"] == f"{URL}?utm_source=x"


def test_the_workspace_says_what_new_links_forward(new_user, expect):
    ann = new_user()
    old = ann.create()
    expect(ann.call("PATCH", "/api/workspace", {"default_forward_query": "yes", "default_forward_path": None}), 400, "/default_forward_query", "/default_forward_path")
    changed = ann.call("PATCH", "/api/workspace", {"default_forward_query": True}).json["workspace"]
    assert (changed["default_forward_query"], changed["default_forward_path"]) == (True, False)
    assert ann.call("GET", "/api/workspace").json["workspace"] == changed
    assert ann.call("GET", "/api/workspaces").json["workspaces"] == [changed]

    def forwards(link):
        return link["forward_query"], link["forward_path"]

    assert forwards(ann.create()) == (True, False)
    assert forwards(ann.create(forward_query=False, forward_path=True)) == (False, True)
    assert forwards(ann.call("GET", f"/api/links/{old['id']}").json["link"]) == (False, False)
    bulk = ann.call("POST", "/api/links/bulk", {"links": [{"original_url": URL}, {"original_url": URL, "forward_query": False}]}).json["results"]
    assert [forwards(item["link"]) for item in bulk] == [(True, False), (False, False)]
    reused = ann.call("POST", "/api/links", {"original_url": URL, "reuse": True})
    assert reused.status == 200


def test_a_link_with_extras_is_not_reused(new_user):
    ann = new_user()
    for members in (when(), split(URL, URL), {"max_visits": 5}, {"password": PASSWORD}, {"preview": {"title": "x"}}):
        ann.create(URL, **members)
        assert errors_of(ann.call("POST", "/api/links", {"original_url": URL, "reuse": True} | members)) == [("/reuse", "exclusive")]
    assert ann.call("POST", "/api/links", {"original_url": URL, "reuse": True}).status == 201


# --- many links ---


def test_bulk_requests_set_what_is_the_same_for_many(new_user):
    ann = new_user()
    items = [
        {"original_url": URL, "utm_source": "a", "forward_query": True, "max_visits": 3, "tags": ["t"]}, {"original_url": URL, "password": PASSWORD},
        {"original_url": URL, **when()}, {"original_url": URL, **split(URL, URL)}, {"original_url": URL, "preview": {"title": "x"}},
    ]  # fmt: skip
    results = ann.call("POST", "/api/links/bulk", {"links": items}).json["results"]
    link = results[0]["link"]
    assert (link["original_url"], link["forward_query"], link["max_visits"], link["visits_left"]) == (f"{URL}?utm_source=a", True, 3, 3)
    assert [(item["status"], item["problem"]["errors"][0]["pointer"], item["problem"]["errors"][0]["code"]) for item in results[1:]] == [
        (400, pointer, "not-allowed") for pointer in ("/password", "/rules", "/split", "/preview")
    ]
    plain = ann.create(tags=["t"])
    answer = ann.call("PATCH", "/api/links?filter=tag:t", {"utm_medium": "mail", "forward_path": True, "max_visits": 8})
    assert answer.json == {"matched": 2, "changed": 2}
    for link_id in (link["id"], plain["id"]):
        now = ann.call("GET", f"/api/links/{link_id}").json["link"]
        assert (now["utm_medium"], now["forward_path"], now["max_visits"], now["visits_left"]) == ("mail", True, 8, 8)
        entry = ann.call("GET", f"/api/links/{link_id}/history").json["changes"][0]
        assert {field["name"] for field in entry["fields"]} == {"original_url", "forward_path", "max_visits"}
    for members in ({"password": "1234"}, when(), split(URL, URL), {"preview": {"title": "x"}}):
        assert errors_of(ann.call("PATCH", "/api/links?filter=tag:t", members)) == [(f"/{next(iter(members))}", "not-allowed")]


def test_filters_find_links_by_what_they_have(new_user):
    ann = new_user()
    members = {"rules": when(), "split": split(URL, URL), "limit": {"max_visits": 5}, "password": {"password": PASSWORD}, "forward": {"forward_path": True}, "preview": {"preview": {"title": "x"}}}
    ids = {name: ann.create(**body)["id"] for name, body in members.items()}
    plain = ann.create()["id"]

    def found(query):
        return {link["id"] for link in ann.call("GET", f"/api/links?filter={query}").json["links"]}

    for name, link_id in ids.items():
        assert found(f"has:{name}") == {link_id}
        assert found(f"has:-{name}") == {plain, *ids.values()} - {link_id}
    assert found("has:[rules,split]") == {ids["rules"], ids["split"]}
    assert found("has:-[rules,split,limit,password,forward,preview]") == {plain}
    for query in ("has:nothing", "has:~rules", "has:>rules", "has:null"):
        assert ann.call("GET", f"/api/links?filter={query}").status == 400, query


def test_a_bulk_does_not_reuse_its_own_links_with_a_limit(new_user):
    ann = new_user()
    items = [{"original_url": URL, "max_visits": 1}, {"original_url": URL, "reuse": True}, {"original_url": URL, "reuse": True}]
    results = ann.call("POST", "/api/links/bulk", {"links": items}).json["results"]
    assert [(item["status"], item["link"]["max_visits"]) for item in results] == [(201, 1), (201, None), (200, None)]


# --- limits ---


def test_a_link_says_how_many_visits_are_left_and_when_it_is_used_up(ann, database):
    link = ann.create(max_visits=2)
    path = f"/api/links/{link['id']}"
    for taken, left, state in ((0, 2, "active"), (1, 1, "active"), (2, 0, "used_up")):
        database.run("UPDATE link_visit_limits SET taken = %s WHERE link_id = %s", taken, link["id"])
        for now in (ann.call("GET", path).json["link"], next(each for each in ann.call("GET", "/api/links?limit=100").json["links"] if each["id"] == link["id"])):
            assert (now["visits_left"], now["state"], now["max_visits"]) == (left, state, 2)
    assert ann.call("PATCH", path, {"state": "disabled"}).json["link"]["state"] == "disabled"
    more = ann.call("PATCH", path, {"state": "active", "max_visits": 5}).json["link"]
    assert (more["visits_left"], more["state"]) == (3, "active")
    assert ann.call("PATCH", path, {"max_visits": None}).json["link"]["visits_left"] is None
    assert database.value("SELECT count(*) FROM link_visit_limits WHERE link_id = %s", link["id"]) == 0


# --- what is private ---


def test_a_password_is_in_no_answer_event_log_or_history(ann, service, database, topic, LinkEvent):
    link = ann.create(password=PASSWORD, **when(country=["DE"]))
    path = f"/api/links/{link['id']}"
    answers = [ann.call("PATCH", path, {"password": "another password"}), ann.call("PATCH", path, {"password": None}), ann.call("PATCH", path, {"password": PASSWORD})]
    [extras] = database.run("SELECT extras FROM links WHERE id = %s", link["id"])[0]
    digest = bytes(extras)[bytes(extras).index(b"$2b$10$") :][:60]
    answers += [ann.call("GET", where) for where in (path, "/api/links", f"{path}/history", "/api/audit", "/api/links?filter=has:password")]
    secrets = (digest, digest[7:], PASSWORD.encode(), b"another password")
    for answer in answers:
        assert answer.status == 200 and not any(secret in answer.body for secret in secrets), answer
    assert not any(secret.decode() in service.text() for secret in secrets)
    for table in ("link_history", "audit_log", "idempotency_keys"):
        assert not any(secret.decode() in row for (row,) in database.run(f"SELECT {table}::text FROM {table}") for secret in secrets)
    events = topic.wait_for(lambda m: m.key() == link["slug"].encode(), count=4)
    for version, message in enumerate(events, 1):
        event = LinkEvent.FromString(message.value())
        assert (event.link.version, event.link.has_extras) == (version, True)
        assert not any(secret in message.value() for secret in (*secrets, b"DE"))


def test_history_shows_what_changed_in_extras(ann):
    link = ann.create(forward_query=True)
    path = f"/api/links/{link['id']}"
    rules = when(country=["DE"])["rules"]
    ann.call("PATCH", path, {"rules": rules, "title": "t"})
    ann.call("PATCH", path, {"password": PASSWORD, "max_visits": 5})
    ann.call("PATCH", path, {"password": "another"})
    ann.call("PATCH", path, {"password": None, "split": {"variants": variants(URL, URL), "winner": None}, "preview": {"title": "x"}, "forward_query": False})
    changes = ann.call("GET", f"{path}/history").json["changes"]
    fields = [{field["name"]: (field["from"], field["to"]) for field in change["fields"]} for change in changes]
    shown_rules = [{"name": "r", "when": {"country": ["DE"]}, "then": "gone", "url": None, "fallback_url": None}]
    assert fields == [
        {"password": ("set", None), "split": (None, {"variants": variants(URL, URL), "winner": None}), "preview": (None, {"title": "x", "description": None, "image_url": None}), "forward_query": (True, False)},
        {"password": ("set", "set")}, {"password": (None, "set"), "max_visits": (None, 5)}, {"rules": ([], shown_rules), "title": ("", "t")}, {},
    ]  # fmt: skip


def test_without_a_login_a_link_has_no_extras(anonymous):
    for members in (when(), split(URL, URL), {"forward_query": True}, {"forward_path": True}, {"max_visits": 5}, {"password": PASSWORD}, {"preview": {"title": "x"}}):
        answer = anonymous.call("POST", "/api/links/public", {"original_url": URL} | members)
        assert errors_of(answer) == [(f"/{next(iter(members))}", "not-allowed")]


def test_a_destination_that_is_blocked_later_leaves_the_rule(new_user, database):
    """The redirector asks at each answer, so nothing is lost when the host is free again."""
    ann = new_user()
    link = ann.create(**to("https://later.example/x"))
    admin = new_user()
    database.run("UPDATE users SET role = 'admin' WHERE email = %s", admin.email)
    assert admin.call("POST", "/api/admin/hosts", {"host": "later.example"}).status == 201
    path = f"/api/links/{link['id']}"
    assert ann.call("PATCH", path, {"title": "x"}).json["link"]["rules"][0]["url"] == "https://later.example/x"
    assert errors_of(ann.call("PATCH", path, to("https://later.example/y"))) == [("/rules/0/url", "url-blocked")]


# --- who would go where ---


def decide(api, **body):
    answer = api.call("POST", "/api/link-decisions", body)
    assert answer.status == 200, answer
    return answer.json


def test_the_tester_says_where_a_visitor_would_go(ann):
    link = ann.create(**RICH)
    at_night, by_day = "2026-11-23T22:30:00Z", "2026-11-23T12:00:00Z"
    german = {"country": "DE", "region": "de-by", "city": "munich", "device": "mobile", "os": "ios", "browser": "firefox", "language": "de-CH", "referrer_host": "a.example.net", "query": "?a&b=1&qr=1", "visitor": "human", "at": by_day}
    assert decide(ann, link_id=link["id"], visitor=german) == {"kind": "redirect", "rule": "Germans", "variant": None, "variants": [], "url": "https://example.com/de?a&b=1", "fallback_url": None, "state": "active", "visits_left": 500}
    for name, other in (("country", "FR"), ("device", "desktop"), ("language", "fr"), ("query", "a"), ("visitor", "bot"), ("city", None)):
        assert decide(ann, link_id=link["id"], visitor=german | {name: other})["rule"] == "Rest", name
    assert decide(ann, link_id=link["id"], visitor={"at": at_night}) == {"kind": "gone", "rule": "Nights", "variant": None, "variants": [], "url": None, "fallback_url": None, "state": "active", "visits_left": 500}
    app = decide(ann, link_id=link["id"], visitor={"at": "2026-11-28T12:00:00Z"})
    assert (app["rule"], app["url"], app["fallback_url"]) == ("App", "myapp://item/7", "https://example.com/app")
    usual = decide(ann, link_id=link["id"], visitor={"at": by_day})
    assert (usual["rule"], usual["variant"], usual["url"]) == ("Rest", "b", "tel:+49301")
    parts = {"variants": variants(URL, f"{URL}b"), "winner": None}
    parts["variants"][0]["weight"] = 3
    shares = decide(ann, link_id=link["id"], rules=[], split=parts)
    assert (shares["rule"], shares["variant"], shares["url"]) == (None, None, None)
    assert [(part["name"], part["share"]) for part in shares["variants"]] == [("v0", 0.75), ("v1", 0.25)]
    assert decide(ann, original_url="https://example.org")["url"] == "https://example.org/"
    assert decide(ann) == {"kind": "redirect", "rule": None, "variant": None, "variants": [], "url": None, "fallback_url": None, "state": "active", "visits_left": None}
    assert ann.call("GET", f"/api/links/{link['id']}").json["link"]["version"] == 1


def test_the_tester_knows_the_start_the_end_and_the_limit(ann, database):
    """Of the link, or of a form that says something else. A link that ends for somebody by a rule says so also when it is used up."""
    over, gone = "https://example.com/over", {"name": "Bots", "when": {"visitor": "bot"}, "then": "gone"}
    link = ann.create(URL, rules=[gone], max_visits=10, starts_at="2035-01-01T00:00:00Z", expires_at="2036-01-01T00:00:00Z", expired_url=over)
    ask, link_id = functools.partial(decide, ann, link_id=link["id"]), link["id"]

    def said(at="2035-06-01T00:00:00Z", **members):
        answer = ask(visitor={"at": at}, **members)
        return answer["state"], answer["kind"], answer["url"], answer["visits_left"]

    assert said() == ("active", "redirect", URL, 10)
    assert said(None) == said("2034-12-31T23:59:59Z") == ("scheduled", "not_found", None, 10)
    assert said("2036-01-01T00:00:00Z") == ("expired", "redirect", over, 10)
    assert said(None, starts_at=None, max_visits=None) == ("active", "redirect", URL, None)
    assert said(None, starts_at=None, expires_at="2020-01-01T00:00:00Z", expired_url=None) == ("expired", "gone", None, 10)
    database.run("UPDATE link_visit_limits SET taken = 7 WHERE link_id = %s", link_id)
    assert (said()[3], said(max_visits=8)[3]) == (3, 1)
    assert said(max_visits=7) == ("used_up", "redirect", over, 0)
    assert said(max_visits=3, expired_url=None) == ("used_up", "gone", None, 0)
    bot = ask(visitor={"visitor": "bot", "at": "2035-06-01T00:00:00Z"}, max_visits=3)
    assert (bot["state"], bot["kind"], bot["rule"]) == ("used_up", "gone", "Bots")
    database.run("DELETE FROM link_visit_limits WHERE link_id = %s", link_id)
    database.run("INSERT INTO link_statistics (link_id, visit_count, bot_count) VALUES (%s, 4, 90)", link_id)
    assert said(max_visits=5) == ("active", "redirect", URL, 1)
    database.run("UPDATE links SET state = 'EXPIRED' WHERE id = %s", link_id)
    assert said() == ("active", "redirect", URL, 6)
    ann.call("PATCH", f"/api/links/{link_id}", {"state": "disabled"})
    assert said() == ("disabled", "not_found", None, 6)


def test_the_tester_follows_the_clocks_of_a_zone(ann):
    """Berlin's clocks go forward on 2027-03-28 at 01:00Z."""
    rules = when(time_from="08:00", time_until="09:00", time_zone="Europe/Berlin")["rules"]
    for at, holds in (("2027-03-27T07:00:00Z", True), ("2027-03-27T06:59:59Z", False), ("2027-03-28T06:00:00Z", True), ("2027-03-28T07:00:00Z", False), ("2035-07-01T06:30:00Z", True), ("2035-12-01T06:30:00Z", False)):
        assert (decide(ann, rules=rules, visitor={"at": at})["kind"] == "gone") == holds, at


ZONES = ["Europe/Berlin", "America/New_York", "America/Santiago", "Australia/Lord_Howe", "Pacific/Chatham", "Africa/Casablanca", "Africa/Cairo", "Asia/Beirut", "Asia/Kathmandu", "America/Nuuk",
         "Antarctica/Troll", "Asia/Tokyo", "America/St_Johns", "CET", "Atlantic/Azores"]  # fmt: skip


def test_rules_carry_when_the_clocks_of_their_zones_change(ann, database, compile_proto):
    """The same offsets as Python's zoneinfo has, at 20,000 moments of the next 15 years."""
    extras = compile_proto("link_extras").LinkExtras()
    rules = [{"name": zone, "when": {"days": ["mon"], "time_zone": zone}, "then": "gone"} for zone in ZONES]
    link = ann.create(rules=rules)
    extras.ParseFromString(bytes(database.value("SELECT extras FROM links WHERE id = %s", link["id"])))
    assert [zone.name for zone in extras.zones] == ZONES
    now = int(datetime.datetime.now().timestamp())
    chosen = random.Random(7)
    for zone in extras.zones:
        info = zoneinfo.ZoneInfo(zone.name)
        assert len(zone.since_s) == len(zone.offset_s) <= 40
        edges = [second + step for second in zone.since_s[1:] for step in (-1, 0)]
        for second in [now, *edges, *(chosen.randrange(now - 86_400, now + 15 * 365 * 86_400) for _ in range(1_300))]:
            offset = zone.offset_s[bisect.bisect_right(zone.since_s, second) - 1]
            assert offset == datetime.datetime.fromtimestamp(second, info).utcoffset().total_seconds(), (zone.name, second)


def test_the_tester_names_what_is_wrong_and_shows_nothing_of_others(ann, bob):
    link = ann.create(**RICH)
    gone = ann.create()
    ann.call("DELETE", f"/api/links/{gone['id']}")
    for api, link_id in ((bob, link["id"]), (ann, 999_999_999), (ann, gone["id"])):
        assert errors_of(api.call("POST", "/api/link-decisions", {"link_id": link_id})) == [("/link_id", "id")]
    wrong = [
        ({"link_id": "x"}, "/link_id", "id"), ({"original_url": "x"}, "/original_url", "url-scheme"), (when(country=["UK"]), "/rules/0/when/country/0", "country"), ({"password": "1234"}, "/password", "unknown"),
        ({"visitor": []}, "/visitor", "type"), ({"visitor": {"country": "UK"}}, "/visitor/country", "country"), ({"visitor": {"device": "phone"}}, "/visitor/device", "choice"), ({"visitor": {"visitor": "x"}}, "/visitor/visitor", "choice"),
        ({"visitor": {"at": "now"}}, "/visitor/at", "time"), ({"visitor": {"os": 5}}, "/visitor/os", "type"), ({"visitor": {"age": 5}}, "/visitor/age", "unknown"), ({"visitor": {"query": "a" * 2049}}, "/visitor/query", "too-long"),
        (when(days=["mon"], time_zone="Mars"), "/rules/0/when/time_zone", "time-zone"), (LARGE, "", "too-many-bytes"), ({"starts_at": "x"}, "/starts_at", "time"), ({"expires_at": 5}, "/expires_at", "type"),
        ({"expired_url": "javascript:alert(1)"}, "/expired_url", "url-scheme"), ({"max_visits": 0}, "/max_visits", "number"),
    ]  # fmt: skip
    for body, pointer, code in wrong:
        assert errors_of(ann.call("POST", "/api/link-decisions", body)) == [(pointer, code)], body
