"""Links as a dashboard or a script handles them, and the answers that visitors then get."""

import concurrent.futures
import datetime
import secrets
import time

import pytest
from clients import ask
from waiting import wait_until

MILLISECOND = datetime.timedelta(milliseconds=1)


def rfc3339(moment):
    return moment.astimezone(datetime.timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def now():
    return datetime.datetime.now(datetime.timezone.utc)


def end_soon(user, visitor, **fields):
    """A link that is followed once and ends 2 s after now, and its end. On a busy machine it gets more time."""
    for seconds in (2, 8, 32):
        expires_at = now() + datetime.timedelta(seconds=seconds)
        made = user.call("POST", "/api/links", {"original_url": "https://example.com/", "expires_at": rfc3339(expires_at), **fields})
        if made.status == 201 and visitor.follow(made.json["link"]["slug"]).headers.get("location") == "https://example.com/":
            return made.json["link"], expires_at
    raise AssertionError(f"no link could be followed before its end: {made}")


def pointers(answer):
    return {error["pointer"] for error in answer.json["errors"]}


def test_a_created_link_is_whole_and_never_404(user, visitor):
    for _ in range(20):
        answer = user.call("POST", "/api/links", {"original_url": "https://example.com/x", "tags": ["a", "b"]})
        assert answer.status == 201
        link = answer.json["link"]
        assert visitor.follow(link["slug"]).status == 302
        assert answer.headers["location"].endswith(f"/api/links/{link['id']}")
        assert answer.headers["etag"]
        assert set(link) >= {
            "id", "owner_id", "slug", "short_url", "original_url", "link_type", "state", "redirect_status", "starts_at", "expires_at",
            "expired_url", "title", "tags", "notes", "version", "humans", "bots", "total", "last_visited_at", "created_at",
            "updated_at",
        }  # fmt: skip
        assert (link["link_type"], link["state"], link["redirect_status"]) == ("permanent", "active", 302)
        assert link["expires_at"] is None and link["tags"] == ["a", "b"]


def test_an_unknown_slug_asked_before_it_is_made_is_found_after_its_201(user, visitor):
    slug = "early-" + secrets.token_hex(6)
    assert visitor.follow(slug).status == 404
    user.create(slug=slug)
    # Redis forgets by itself after 60 s that a slug is unknown. A wait that long could not fail.
    wait_until(lambda: visitor.follow(slug).status == 302, 30, "the new link to be followed")


def test_an_anonymous_link_lives_eight_hours_and_comes_with_a_claim_token(anonymous, visitor):
    answer = anonymous.call("POST", "/api/links/public", {"original_url": "https://example.com/anon"})
    assert answer.status == 201
    link = answer.json["link"]
    assert link["link_type"] == "temporary" and answer.json["claim_token"]
    life = datetime.datetime.fromisoformat(link["expires_at"].replace("Z", "+00:00")) - now()
    assert datetime.timedelta(hours=7, minutes=59) < life <= datetime.timedelta(hours=8)
    assert visitor.follow(link["slug"]).status == 302


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_each_redirect_status_is_served(user, visitor, status):
    link = user.create(redirect_status=status)
    assert visitor.follow(link["slug"]).status == status


def test_a_changed_destination_is_served(user, visitor):
    link = user.create("https://example.com/old")
    assert visitor.follow(link["slug"]).headers["location"] == "https://example.com/old"
    answer = user.call("PATCH", f"/api/links/{link['id']}", {"original_url": "https://example.com/new"})
    assert answer.status == 200 and answer.json["link"]["version"] == link["version"] + 1
    wait_until(
        lambda: visitor.follow(link["slug"]).headers["location"] == "https://example.com/new", 60, "the new destination"
    )


def test_a_disabled_link_is_404_until_it_is_enabled(user, visitor):
    link = user.create()
    assert user.call("PATCH", f"/api/links/{link['id']}", {"state": "disabled"}).status == 200
    wait_until(lambda: visitor.follow(link["slug"]).status == 404, 60, "404 for a disabled link")
    assert user.call("PATCH", f"/api/links/{link['id']}", {"state": "active"}).status == 200
    wait_until(lambda: visitor.follow(link["slug"]).status == 302, 60, "302 for an enabled link")


def test_a_link_is_never_followed_after_its_expiry(user, visitor):
    """The link is purged two seconds after its end. If a busy machine misses these, the next link shows them."""

    def is_gone():
        link, expires_at = end_soon(user, visitor)
        deadline = time.monotonic() + 60
        while True:
            begin = now()
            status = visitor.follow(link["slug"]).status
            assert status in (302, 410, 404) and time.monotonic() < deadline
            if status != 302:
                assert now() >= expires_at - MILLISECOND
                return status == 410
            assert begin <= expires_at + 100 * MILLISECOND

    wait_until(is_gone, 120, "410 for an expired link")


def test_a_link_is_followed_from_its_start_on(user, visitor):
    starts_at = now() + datetime.timedelta(seconds=2)
    link = user.create(starts_at=rfc3339(starts_at))
    followed_first = None
    deadline = time.monotonic() + 60
    while followed_first is None and time.monotonic() < deadline:
        begin = now()
        answer = visitor.follow(link["slug"])
        if answer.status == 404:
            assert begin <= starts_at + 100 * MILLISECOND
            assert "no-store" in answer.headers["cache-control"]
        else:
            assert answer.status == 302
            followed_first = now()
    assert followed_first and followed_first >= starts_at - MILLISECOND
    shown = lambda: user.call("GET", f"/api/links/{link['id']}").json["link"]  # noqa: E731
    wait_until(lambda: shown()["total"] == 1, 60, "the visit to be counted")
    assert (shown()["state"], shown()["version"]) == ("active", 1)


def test_a_start_that_moves_into_the_future_stops_redirects(user, visitor):
    link = user.create()
    assert visitor.follow(link["slug"]).status == 302
    path = f"/api/links/{link['id']}"
    assert user.call("PATCH", path, {"starts_at": rfc3339(now() + datetime.timedelta(hours=1))}).json["link"]["state"] == "scheduled"
    wait_until(lambda: visitor.follow(link["slug"]).status == 404, 60, "404 before the new start")
    assert user.call("PATCH", path, {"starts_at": None}).json["link"]["state"] == "active"
    wait_until(lambda: visitor.follow(link["slug"]).status == 302, 60, "302 without a start")


def test_an_expired_link_leads_to_its_expired_url_if_it_has_one(user, visitor):
    """The link is purged two seconds after its end. If a busy machine misses these, the next link shows it."""

    def moved():
        link, _ = end_soon(user, visitor, expired_url="https://example.com/over")
        before = "https://example.com/"
        answer = wait_until(lambda: (seen := visitor.follow(link["slug"])).headers.get("location") != before and seen, 60, "its end")
        return (answer.status, answer.headers.get("location")) == (302, "https://example.com/over")

    wait_until(moved, 120, "the expired_url")


def test_a_deleted_link_is_404_and_its_slug_stays_taken(user, visitor):
    slug = "gone-" + secrets.token_hex(6)
    link = user.create(slug=slug)
    assert user.call("DELETE", f"/api/links/{link['id']}").status == 204
    wait_until(lambda: visitor.follow(slug).status == 404, 60, "404 for a deleted link")
    again = user.call("POST", "/api/links", {"original_url": "https://example.com/", "slug": slug})
    assert again.status == 409 and pointers(again) == {"/slug"}


def test_one_of_many_who_want_a_slug_gets_it(user):
    slug = "race-" + secrets.token_hex(6)

    def want(_):
        return user.call("POST", "/api/links", {"original_url": "https://example.com/", "slug": slug}).status

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(want, range(16))) == [201] + [409] * 15


def test_all_wrong_fields_are_named_at_once(user):
    answer = user.call(
        "POST",
        "/api/links",
        {"original_url": "javascript:alert(1)", "slug": "a b", "redirect_status": 418, "expires_at": "soon", "colour": 1},
    )
    assert answer.status == 400
    assert answer.headers["content-type"].startswith("application/problem+json")
    assert pointers(answer) == {"/original_url", "/slug", "/redirect_status", "/expires_at", "/colour"}


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"{", b'{"original_url":"https://a.example/","original_url":"https://b.example/"}',
     b'{"original_url":"https://a.example/"} x', b'{"original_url":NaN}', b'{"original_url":"\xff"}'],
)  # fmt: skip
def test_json_is_read_strictly(user, body):
    answer = user.call("POST", "/api/links", body)
    assert answer.status == 400, answer
    assert answer.json["status"] == 400


def test_another_users_link_and_a_missing_one_are_told_apart_by_nobody(user, env):
    from clients import Api, unique_email

    stranger = Api(env["LINKS_API_URL"])
    stranger.register_and_login(unique_email())
    link = user.create()
    for method, body in (("GET", None), ("PATCH", {"title": "mine"}), ("DELETE", None)):
        answers = [stranger.call(method, f"/api/links/{i}", body) for i in (link["id"], 999_999_999)]
        bodies = [{k: v for k, v in a.json.items() if k != "instance"} for a in answers]
        assert [a.status for a in answers] == [404, 404]
        assert bodies[0] == bodies[1]
    assert stranger.call("GET", f"/api/links/{link['id']}/stats").status == 404


def test_if_match_guards_against_lost_updates(user):
    link = user.create()
    etag = user.call("GET", f"/api/links/{link['id']}").headers["etag"]
    first = user.call("PATCH", f"/api/links/{link['id']}", {"title": "one"}, {"If-Match": etag})
    second = user.call("PATCH", f"/api/links/{link['id']}", {"title": "two"}, {"If-Match": etag})
    assert (first.status, second.status) == (200, 412)
    assert user.call("GET", f"/api/links/{link['id']}").json["link"]["title"] == "one"


def test_lists_are_paged_newest_first(user):
    slugs = [user.create()["slug"] for _ in range(5)]
    pages = [user.call("GET", f"/api/links?page={page}&limit=2").json for page in (1, 2, 3)]
    assert [link["slug"] for page in pages for link in page["links"]] == slugs[::-1]
    assert pages[0]["pagination"]["total"] == 5 and pages[0]["pagination"]["total_pages"] == 3


def test_without_a_token_private_doors_stay_shut(anonymous):
    for method, path in (("GET", "/api/links"), ("POST", "/api/links"), ("GET", "/api/auth/me")):
        answer = anonymous.call(method, path, {} if method == "POST" else None)
        assert answer.status == 401 and "bearer" in answer.headers["www-authenticate"].lower()


def test_wrong_password_and_unknown_user_get_the_same_answer(user, anonymous):
    wrong = anonymous.call("POST", "/api/auth/login", {"email": user.email, "password": "not this one"})
    unknown = anonymous.call("POST", "/api/auth/login", {"email": "nobody@example.com", "password": "not this one"})
    strip = lambda a: {k: v for k, v in a.json.items() if k != "instance"}  # noqa: E731
    assert (wrong.status, unknown.status) == (401, 401)
    assert strip(wrong) == strip(unknown)


def test_changes_are_published_in_order(user, topic, messages):
    changes = topic("waymark.links.v1")
    link = user.create()
    user.call("PATCH", f"/api/links/{link['id']}", {"title": "t"})
    user.call("PATCH", f"/api/links/{link['id']}", {"state": "disabled"})
    user.call("DELETE", f"/api/links/{link['id']}")
    found = changes.wait_for(lambda m: m.key() == link["slug"].encode(), count=4)
    events = [messages.LinkEvent.FromString(m.value()) for m in found]
    assert [messages.LinkChange.Name(e.change)[12:] for e in events] == ["CREATED", "UPDATED", "DISABLED", "DELETED"]
    assert [e.link.version for e in events] == [1, 2, 3, 4]


def deleted_rows(env):
    """Rows that consumers have deleted because their link was purged, over all consumers."""
    answers = (ask(url, "GET", "/metrics") for url in env["CONSUMER_OPS_URLS"].split())
    lines = [line for answer in answers for line in answer.body.decode().splitlines()]
    return sum(float(line.split()[1]) for line in lines if line.startswith("waymark_purged_rows_total "))


def test_an_expired_link_is_410_then_404_and_never_back(user, visitor, env):
    """The janitor of this stack runs every second, with a grace of two seconds, which a busy machine may oversleep."""
    deleted = deleted_rows(env)
    link, _ = end_soon(user, visitor)
    seen = [302]
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and seen[-1] != 404:
        status = visitor.follow(link["slug"]).status
        if seen[-1] != status:
            seen.append(status)
        time.sleep(0.01)
    assert seen in ([302, 410, 404], [302, 404])
    again = user.call("POST", "/api/links", {"original_url": "https://example.com/", "slug": link["slug"]})
    assert again.status == 409, "a purged slug is never issued again"
    wait_until(lambda: deleted_rows(env) > deleted, 120, "the statistics of the link to be deleted")
