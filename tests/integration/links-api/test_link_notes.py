"""Notes of links: only their owner reads and writes them."""

import json

import psycopg2
import pytest
from users import User

URL = "https://example.com/"
NOTES = "Ordered by Kim.\n\tBudget: 1,000 \N{EURO SIGN}, ü"


def read(api, link):
    return api.call("GET", f"/api/links/{link['id']}").json["link"]


def change(api, link, body, **headers):
    return api.call("PATCH", f"/api/links/{link['id']}", body, headers)


def test_notes_are_stored_shown_changed_and_removed(ann):
    link = ann.create(notes=NOTES)
    assert link["notes"] == NOTES and read(ann, link) == link
    assert link in ann.call("GET", "/api/links").json["links"]
    for version, (new, shown) in enumerate([("other", "other"), (None, ""), (NOTES, NOTES), ("", "")], start=2):
        changed = change(ann, link, {"notes": new}).json["link"]
        assert (changed["notes"], changed["version"]) == (shown, version)
        assert read(ann, link) == changed
    assert change(ann, link, {"title": "x"}).json["link"]["notes"] == ""


def test_the_history_of_a_link_shows_no_notes(ann):
    link = ann.create(notes=NOTES)
    change(ann, link, {"notes": "other"})
    entries = ann.call("GET", f"/api/links/{link['id']}/history").json["changes"]
    assert [(entry["change"], entry["fields"]) for entry in entries] == [("updated", []), ("created", [])]


def test_notes_that_stay_the_same_keep_the_version(ann):
    link = ann.create(notes=NOTES)
    for body in ({"notes": NOTES}, {}, {"title": ""}):
        assert change(ann, link, body).json["link"] == link
    bare = ann.create()
    assert change(ann, bare, {"notes": None}).json["link"] == bare


@pytest.mark.parametrize("notes", ["x" * 2001, "a\x1bb", 7, ["x"]])
def test_notes_that_are_too_long_or_no_text_are_refused(ann, expect, notes):
    link = ann.create()
    expect(ann.call("POST", "/api/links", {"original_url": URL, "notes": notes}), 400, "/notes")
    expect(change(ann, link, {"notes": notes}), 400, "/notes")


def test_2000_characters_of_four_bytes_fit(ann):
    body = json.dumps({"original_url": URL, "notes": "😀" * 2000}, ensure_ascii=False).encode()
    assert ann.call("POST", "/api/links", body).json["link"]["notes"] == "😀" * 2000


def test_each_link_of_a_bulk_has_its_own_notes(ann):
    kept = ann.create(original_url="https://example.com/kept", notes="kept")
    items = [
        {"original_url": URL, "notes": "one"},
        {"original_url": URL},
        {"original_url": URL, "notes": "\x1b"},
        {"original_url": kept["original_url"], "reuse": True, "notes": "not taken over"},
    ]
    for path in ("/api/links/bulk", "/api/links/sync"):
        results = ann.call("POST", path, {"links": items}).json["results"]
        assert [result["status"] for result in results] == [201, 201, 400, 200]
        links = [result["link"] for result in results if "link" in result]
        assert [link["notes"] for link in links] == ["one", "", "kept"]
        assert [read(ann, link) for link in links] == links
    reused = ann.call("POST", "/api/links", items[3])
    assert (reused.status, reused.json["link"]) == (200, kept)


def test_links_without_an_account_have_no_notes(anonymous, ann, expect):
    expect(anonymous.call("POST", "/api/links/public", {"original_url": URL, "notes": NOTES}), 400, "/notes")
    made = anonymous.call("POST", "/api/links/public", {"original_url": URL}).json
    assert made["link"]["notes"] is None
    claim = {"slug": made["link"]["slug"], "claim_token": made["claim_token"]}
    claimed = ann.call("POST", "/api/links/sync", {"links": [claim]}).json["results"][0]["link"]
    assert claimed["notes"] == ""
    assert change(ann, claimed, {"notes": NOTES}).json["link"]["notes"] == NOTES


def test_a_bulk_change_cannot_set_notes(ann, expect):
    expect(ann.call("PATCH", "/api/links?filter=tag:none", {"notes": NOTES}), 400, "/notes")


def test_administrators_neither_read_nor_change_the_notes_of_others(ann, service, database, expect):
    admin = User(service, database, "admin")
    link = ann.create(notes=NOTES)
    assert read(admin, link)["notes"] is None
    listed = admin.call("GET", f"/api/links?workspace=all&q={link['slug']}").json["links"]
    assert [each["notes"] for each in listed] == [None]
    expect(change(admin, link, {"notes": "mine", "title": "mine"}), 409, "/notes")
    assert read(ann, link) == link
    assert change(admin, link, {"title": "by the administrator"}).json["link"]["notes"] is None
    assert read(ann, link)["notes"] == NOTES


def test_no_event_contains_notes(ann, topic, LinkEvent):
    link = ann.create(notes="a secret of the owner")
    assert change(ann, link, {"notes": "another secret of the owner"}).status == 200
    events = topic.wait_for(lambda m: m.key() == link["slug"].encode(), count=2)
    assert [LinkEvent.FromString(event.value()).link.version for event in events] == [1, 2]
    assert not any(b"secret of the owner" in event.value() for event in events)


def test_no_other_service_may_read_notes(ann, database):
    ann.create(notes=NOTES)
    for role in ("waymark_redirector", "waymark_consumer", "waymark_janitor"):
        with psycopg2.connect(database.url(role)) as connection, connection.cursor() as cursor:
            with pytest.raises(psycopg2.errors.InsufficientPrivilege):
                cursor.execute("SELECT notes FROM link_notes")
        connection.close()


def test_a_restored_link_has_its_notes_and_a_purged_one_leaves_none(ann, database):
    link = ann.create(notes=NOTES)
    path = f"/api/links/{link['id']}"
    assert ann.call("DELETE", path).status == 204
    assert ann.call("POST", f"{path}/restore").json["link"]["notes"] == NOTES
    assert ann.call("DELETE", f"{path}?hard=true").status == 204
    assert database.value("SELECT count(*) FROM link_notes WHERE link_id = %s", link["id"]) == 0
