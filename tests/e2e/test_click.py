"""A click, from the visitor to the dashboard and to subscribers."""

import collections

from clients import CHROME, FIREFOX, IPHONE
from waiting import wait_until


def test_a_click_travels_to_the_statistics(user, visitor):
    link = user.create("https://example.com/spring?from=mail")
    assert link["short_url"].endswith("/" + link["slug"])
    for i, agent in enumerate([CHROME, FIREFOX, IPHONE, CHROME, FIREFOX]):
        answer = visitor.follow(link["slug"], address=f"198.51.100.{10 + i}", agent=agent)
        assert answer.status == 302, answer
        assert answer.headers["location"] == "https://example.com/spring?from=mail"
        assert answer.headers["x-robots-tag"] == "noindex, nofollow"
        assert answer.headers["cache-control"] == "private, no-store"
        assert answer.headers["x-request-id"]
    stats = user.wait_for_visits(link["id"], 5)
    assert stats["unique_visitors"] == 5
    assert stats["last_visited_at"].endswith("Z")
    assert stats["latency"]["count"] == 5
    assert stats["latency"]["mean_ms"] > 0
    # as_of is known once every partition has been read for the first time.
    as_of = wait_until(lambda: user.stats(link["id"])["as_of"], "all partitions to be read")
    assert as_of.endswith("Z")


def test_the_redirect_event_names_no_address_and_its_record_is_a_cloud_event(user, visitor, topic, click):
    events = topic("waymark.redirects.v1")
    link = user.create()
    visitor.follow(
        link["slug"], address="203.0.113.99", Referer="https://news.example/today", Accept_Language="de-DE,de;q=0.8"
    )
    record, batch, event = click(events, link["slug"])
    assert b"203.0.113.99" not in record.value()
    headers = {name: value.decode() for name, value in record.headers()}
    assert record.key() is None and "ce_subject" not in headers
    assert (headers["ce_specversion"], headers["ce_type"]) == ("1.0", "waymark.redirect-batch.v1")
    assert headers["ce_dataschema"] == "urn:waymark:proto:waymark.v1.RedirectBatch"
    assert headers["content-type"] == "application/protobuf"
    assert headers["ce_id"].replace("-", "") == batch.events[0].event_id.hex()
    assert len(batch.instance) == 16 and len(batch.sequence_steps) == len(batch.events)
    assert event.event_id[6] >> 4 == 7, "event_id is a UUIDv7"
    assert (event.slug, event.link_id, event.status) == (link["slug"], link["id"], 302)
    assert event.client_network == "203.0.113.0/24"
    assert len(event.visitor_hash) == 32
    assert event.referrer == "https://news.example/today"
    assert event.accept_language == "de-DE,de;q=0.8"
    visitor.follow(link["slug"])
    again, *_ = click(events, link["slug"])
    assert again.partition() == record.partition(), "the clicks of a link keep their order"


def test_a_visit_reaches_subscribers_enriched(user, visitor, topic, messages):
    visits = topic("waymark.visits.v1")
    link = user.create(original_url="https://shop.example.com:8443/spring?utm_source=site&utm_campaign=may", tags=["spring", "letter"])
    visitor.follow(
        link["slug"],
        path=f"/{link['slug']}?utm_source=letter&utm_medium=mail&qr=1",
        address="8.8.8.8",
        agent=FIREFOX,
        Referer="https://news.example/today",
        Accept_Language="de-DE,de;q=0.8",
    )
    (message,) = visits.wait_for(lambda m: m.key() == link["slug"].encode())
    visit = messages.VisitEvent.FromString(message.value())
    assert (visit.slug, visit.link_id, visit.is_bot, visit.is_unique) == (link["slug"], link["id"], False, True)
    assert (visit.browser, visit.os, visit.device) == ("Firefox", "Linux", "desktop")
    assert (visit.referrer_host, visit.language, visit.country) == ("news.example", "de", "US")
    assert (visit.utm_source, visit.utm_medium, visit.utm_campaign) == ("letter", "mail", "may")
    assert (visit.rule, visit.variant, visit.alias, visit.is_scan) == ("", "", "", True)
    assert (visit.status, visit.destination_host) == (302, "shop.example.com")
    assert visit.latency_us > 0
    assert visit.workspace_id == user.call("GET", "/api/auth/me").json["user"]["id"]
    assert sorted(visit.tags) == ["letter", "spring"]


def test_what_decided_is_what_is_counted(user, visitor):
    """By the destinations that the visitors got, by the log, and by the statistics."""
    rules = [
        {"name": "phones", "when": {"device": ["mobile"]}, "then": "redirect", "url": "https://phones.example.com/"},
        {"name": "Americans", "when": {"country": ["US"]}, "then": "as_usual"},
    ]
    variants = [{"name": name, "url": f"https://{name.lower()}.example.com/", "weight": 1} for name in "AB"]
    link = user.create(rules=rules, split={"variants": variants})
    got = collections.Counter()
    for i in range(24):
        answer = visitor.follow(
            link["slug"],
            path=f"/{link['slug']}{'?qr=1' if i % 4 == 0 else ''}",
            address=f"{'8.8.8' if i % 2 else '198.51.100'}.{10 + i}",
            agent=IPHONE if i % 3 == 0 else CHROME,
        )
        assert (answer.status, answer.headers["cache-control"]) == (302, "private, no-store"), answer
        host = answer.headers["location"].removeprefix("https://").removesuffix(".example.com/")
        rule = "phones" if i % 3 == 0 else "Americans" if i % 2 else ""
        assert (host == "phones") == (rule == "phones"), "devices are the same for the redirect and for statistics"
        got[rule, "" if host == "phones" else host.upper(), i % 4 == 0] += 1
    assert {variant for _, variant, _ in got} == {"", "A", "B"}
    user.wait_for_visits(link["id"], 24)
    visits = user.call("GET", f"/api/links/{link['id']}/visits?limit=100").json["visits"]
    assert collections.Counter((visit["rule"], visit["variant"], visit["is_scan"]) for visit in visits) == got
    for i, dimension in enumerate(("rule", "variant", "scan")):
        items = user.call("GET", f"/api/links/{link['id']}/stats/{dimension}").json["items"]
        wanted = collections.Counter()
        for decision, count in got.items():
            wanted[("scan" if decision[i] else "") if dimension == "scan" else decision[i]] += count
        assert {item["value"]: item["humans"] for item in items} == wanted
