"""Links as a dashboard or a script handles them, and the answers that visitors then get."""

import datetime
import secrets
import time

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


def test_the_longest_destinations_reach_the_visitor_as_they_were_given(user, visitor):
    long = ("https://example.com/%7E%2D%2f%C3%BC?" + "sig=%2Bab%3D&" * 700)[:8192]
    link = user.create(original_url=long, expired_url=long[:-1])
    assert visitor.follow(link["slug"]).headers["location"] == long
    assert visitor.follow(link["slug"], Cookie="c" * 6000).headers["location"] == long, "beside a long request"
    assert user.call("PATCH", f"/api/links/{link['id']}", {"original_url": long[:-2]}).status == 200
    wait_until(lambda: visitor.follow(link["slug"]).headers["location"] == long[:-2], "the change to be live")
    ending, expires_at = end_soon(user, visitor, expired_url=long)
    wait_until(lambda: now() > expires_at, "the end")
    assert visitor.follow(ending["slug"]).headers["location"] == long


def test_a_created_link_is_whole_and_never_404(user, visitor):
    for _ in range(20):
        answer = user.call("POST", "/api/links", {"original_url": "https://example.com/x", "tags": ["a", "b"]})
        assert answer.status == 201
        link = answer.json["link"]
        assert visitor.follow(link["slug"]).status == 302
        assert answer.headers["location"].endswith(f"/api/links/{link['id']}")
        assert answer.headers["etag"]
        assert (link["link_type"], link["state"], link["redirect_status"]) == ("permanent", "active", 302)
        assert link["expires_at"] is None and link["tags"] == ["a", "b"]


def test_an_unknown_slug_asked_before_it_is_made_is_found_after_its_201(user, visitor):
    slug = "early-" + secrets.token_hex(6)
    assert visitor.follow(slug).status == 404
    user.create(slug=slug)
    # Redis forgets by itself after 60 s that a slug is unknown. A wait that long could not fail.
    wait_until(lambda: visitor.follow(slug).status == 302, "the new link to be followed")


def test_each_name_of_a_link_leads_to_it_and_counts_for_it(user, visitor):
    first, second = ("name-" + secrets.token_hex(6) for _ in range(2))
    link = user.create("https://example.com/old", slug=first)
    path = f"/api/links/{link['id']}"
    followed = []

    def leads_to(slug, destination):
        answer = visitor.follow(slug)
        followed.extend([slug] if answer.status == 302 else [])
        return answer.headers.get("location") == destination

    assert leads_to(first, "https://example.com/old")
    assert visitor.follow(second).status == 404
    assert user.call("PATCH", path, {"slug": second, "original_url": "https://example.com/new"}).status == 200
    for slug in (second, first.upper()):
        wait_until(lambda slug=slug: leads_to(slug, "https://example.com/new"), "the change under each name")
    assert leads_to(first, "https://example.com/new")
    assert user.wait_for_visits(link["id"], len(followed))["unique_visitors"] == 1
    by_alias = {entry["value"]: entry["humans"] for entry in user.call("GET", f"{path}/stats/alias").json["items"]}
    assert by_alias.keys() == {"", first} and by_alias[first] >= 2 and sum(by_alias.values()) == len(followed), by_alias
    assert user.call("DELETE", f"{path}/aliases/{first}").status == 204
    wait_until(lambda: visitor.follow(first).status == 404, "the end of the old slug")
    assert visitor.follow(second).status == 302
    assert user.call("DELETE", f"{path}?hard=true").status == 204
    wait_until(lambda: visitor.follow(second).status == 404, "the end of the link")
    for slug in (first, second):
        assert user.call("POST", "/api/links", {"original_url": "https://example.com/", "slug": slug}).status == 409


def test_a_link_is_never_followed_after_its_expiry(user, visitor):
    """The janitor of this stack purges the link soon after its end. If a busy machine misses these, the next link shows them."""

    def is_gone():
        link, expires_at = end_soon(user, visitor)
        deadline = time.monotonic() + 300
        while True:
            begin = now()
            status = visitor.follow(link["slug"]).status
            assert status in (302, 410, 404) and time.monotonic() < deadline
            if status != 302:
                assert now() >= expires_at - MILLISECOND
                return status == 410
            assert begin <= expires_at + 100 * MILLISECOND

    wait_until(is_gone, "410 for an expired link")


def test_a_link_is_followed_from_its_start_on(user, visitor):
    starts_at = now() + datetime.timedelta(seconds=2)
    link = user.create(starts_at=rfc3339(starts_at))
    followed_first = None
    deadline = time.monotonic() + 300
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
    wait_until(lambda: shown()["total"] == 1, "the visit to be counted")
    assert (shown()["state"], shown()["version"]) == ("active", 1)


def deleted_rows(env):
    """Rows that consumers have deleted because their link was purged, over all consumers."""
    answers = (ask(url, "GET", "/metrics") for url in env["CONSUMER_OPS_URLS"].split())
    lines = [line for answer in answers for line in answer.body.decode().splitlines()]
    return sum(float(line.split()[1]) for line in lines if line.startswith("waymark_purged_rows_total "))


def test_an_expired_link_is_410_then_404_and_never_back(user, visitor, env):
    """The janitor of this stack runs every second and keeps nothing: a busy machine may oversleep the time between."""
    deleted = deleted_rows(env)
    link, _ = end_soon(user, visitor)
    seen = [302]
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline and seen[-1] != 404:
        status = visitor.follow(link["slug"]).status
        if seen[-1] != status:
            seen.append(status)
        time.sleep(0.01)
    assert seen in ([302, 410, 404], [302, 404])
    again = user.call("POST", "/api/links", {"original_url": "https://example.com/", "slug": link["slug"]})
    assert again.status == 409, "a purged slug is never issued again"
    wait_until(lambda: deleted_rows(env) > deleted, "the statistics of the link to be deleted")
