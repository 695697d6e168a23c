"""A changed tag is a change of each of its links: renaming, merging, colors, deletion."""

import concurrent.futures
import datetime
import urllib.parse

import psycopg2
import pytest
from clients import Api
from service import ROOT
from users import User
from visit_fixture import add_visits, roll_up
from waiting import wait_until

BEGIN = datetime.datetime(2026, 3, 1, tzinfo=datetime.timezone.utc)
LINKS_MAX = 10_000
# A slow Redis moves the limits into the process.
VARIABLES = {"REDIS_TIMEOUT_MS": 5000}


@pytest.fixture
def owner(service, database):
    return User(service, database)


def path_of(tag):
    return "/api/tags/" + urllib.parse.quote(tag, safe="")


def change(api, tag, **members):
    return api.call("PATCH", path_of(tag), members)


def changed(api, tag, **members):
    answer = change(api, tag, **members)
    assert answer.status == 200, answer
    return answer.json


def listed(api):
    """{name: (color, links)}"""
    return {tag["name"]: (tag["color"], tag["links"]) for tag in api.call("GET", "/api/tags").json["tags"]}


def link_of(api, link):
    answer = api.call("GET", f"/api/links/{link['id']}")
    assert answer.status == 200, answer
    return answer.json["link"]


def insert_links(database, owner, count, tag):
    database.run(
        """INSERT INTO links (slug, link_type, original_url, workspace_id, tags)
           SELECT concat('t', %s::text, '-', n), 'PERMANENT', 'https://example.com/', %s, ARRAY[%s] FROM generate_series(1, %s) AS n""",
        owner.id, owner.id, tag, count,
    )  # fmt: skip


# --- rename ---


def test_a_rename_changes_each_link_as_any_other_change(owner, database, topic, LinkEvent):
    links = [owner.create(tags=["first", "old", "last"]), owner.create(tags=["old"]), owner.create(tags=["other"])]
    before = owner.call("GET", f"/api/links/{links[0]['id']}").headers["etag"]
    assert changed(owner, "old", name="new") == {"name": "new", "color": None, "changed": 2}
    assert [link_of(owner, link)["tags"] for link in links] == [["first", "new", "last"], ["new"], ["other"]]
    assert [link_of(owner, link)["version"] for link in links] == [2, 2, 1]
    stale = owner.call("PATCH", f"/api/links/{links[0]['id']}", {"title": "x"}, {"If-Match": before})
    assert stale.status == 412 and stale.headers["etag"] != before
    slugs = {link["slug"].encode() for link in links[:2]}
    messages = topic.wait_for(lambda message: message.key() in slugs and LinkEvent.FromString(message.value()).link.version == 2, count=2)
    events = {event.link.slug: list(event.link.tags) for event in (LinkEvent.FromString(message.value()) for message in messages)}
    assert events == {links[0]["slug"]: ["first", "new", "last"], links[1]["slug"]: ["new"]}
    wait_until(lambda: database.value("SELECT count(*) FROM outbox") == 0, "the outbox to empty")


def test_a_repeated_rename_finds_no_tag_and_changes_nothing(owner, expect):
    link = owner.create(tags=["old"])
    changed(owner, "old", name="new")
    expect(change(owner, "old", name="new"), 404)
    assert link_of(owner, link)["version"] == 2


def test_a_rename_to_its_own_name_or_to_nothing_changes_nothing(owner):
    link = owner.create(tags=["same"])
    assert changed(owner, "same", name="same") == changed(owner, "same") == {"name": "same", "color": None, "changed": 0}
    assert link_of(owner, link)["version"] == 1


@pytest.mark.parametrize(
    "name", ["a/b", "/", "%2F", "a b", "a+b", "ä", "Ä", "日本", "?", "#", "...", ".a", "~", "&=", "'\"", "100%", "\\", "x" * 50, "😀" * 50]
)  # fmt: skip
def test_every_name_can_be_written_in_a_path(owner, name):
    link = owner.create(tags=[name])
    assert changed(owner, name, name="plain")["changed"] == 1
    assert changed(owner, "plain", name=name)["changed"] == 1
    assert link_of(owner, link)["tags"] == [name]
    assert owner.call("DELETE", path_of(name)).status == 204
    assert link_of(owner, link)["tags"] == []


def test_upper_and_lower_case_are_different_tags(owner):
    links = [owner.create(tags=["Mail"]), owner.create(tags=["mail"])]
    assert changed(owner, "Mail", name="MAIL")["changed"] == 1
    assert [link_of(owner, link)["tags"] for link in links] == [["MAIL"], ["mail"]]


@pytest.mark.parametrize("path", ["/api/tags/", "/api/tags/%zz", "/api/tags/%ff", "/api/tags/%00", "/api/tags/%0a", "/api/tags/a/b", "/api/tags/" + "x" * 51, "/api/tags/nobody", "/api/tags/.."])  # fmt: skip
def test_a_name_that_no_link_has_is_404(owner, expect, path):
    owner.create(tags=["a/b", "a"])
    expect(owner.call("PATCH", path, {"name": "x"}), 404)
    expect(owner.call("DELETE", path), 404)
    assert set(listed(owner)) == {"a/b", "a"}


@pytest.mark.parametrize(
    "body, pointer",
    [({"name": ""}, "/name"), ({"name": None}, "/name"), ({"name": "x" * 51}, "/name"), ({"name": "a\nb"}, "/name"), ({"name": "."}, "/name"),
     ({"name": ".."}, "/name"), ({"name": 7}, "/name"), ({"color": "red"}, "/color"), ({"color": "#12345"}, "/color"), ({"color": "#1234567"}, "/color"),
     ({"color": "#gggggg"}, "/color"), ({"color": ""}, "/color"), ({"color": 7}, "/color"), ({"links": 1}, "/links")],
)  # fmt: skip
def test_an_invalid_change_is_refused(owner, expect, body, pointer):
    link = owner.create(tags=["tag"])
    expect(owner.call("PATCH", "/api/tags/tag", body), 400, pointer)
    assert link_of(owner, link)["version"] == 1


@pytest.mark.parametrize("name", [".", ".."])
def test_a_link_gets_no_tag_that_clients_remove_from_paths(owner, expect, name):
    expect(owner.call("POST", "/api/links", {"original_url": "https://example.com/", "tags": ["a", name]}), 400, "/tags/1")


# --- merge ---


def test_a_rename_to_another_tag_merges_them(owner):
    both, only_old, only_new = owner.create(tags=["new", "old"]), owner.create(tags=["x", "old"]), owner.create(tags=["new"])
    assert changed(owner, "old", name="new")["changed"] == 2
    assert [link_of(owner, link)["tags"] for link in (both, only_old, only_new)] == [["new"], ["x", "new"], ["new"]]
    assert [link_of(owner, link)["version"] for link in (both, only_old, only_new)] == [2, 2, 1]
    assert listed(owner) == {"new": (None, 3), "x": (None, 1)}


def test_statistics_follow_the_links(owner, database):
    links = [owner.create(tags=["a"]), owner.create(tags=["b"]), owner.create(tags=["a", "b"])]
    for i, link in enumerate(links):
        add_visits(database, link["id"], 100 * (i + 1), BEGIN, BEGIN + datetime.timedelta(days=2), bots=0.0)
    roll_up(database)

    def humans(tag):
        return owner.call("GET", f"/api/stats/summary?tag={tag}&from=2026-03-01&to=2026-03-03").json["humans"]

    assert (humans("a"), humans("b")) == (400, 500)
    changed(owner, "a", name="c")
    assert (humans("a"), humans("b"), humans("c")) == (0, 500, 400)
    changed(owner, "c", name="b")
    assert (humans("b"), humans("c")) == (600, 0)
    owner.call("DELETE", "/api/tags/b")
    assert humans("b") == 0 and owner.call("GET", "/api/stats/summary?from=2026-03-01&to=2026-03-03").json["humans"] == 600


# --- colors ---


def test_a_color_belongs_to_the_tag_of_one_account(owner, service, database):
    other = User(service, database)
    for api in (owner, other):
        api.create(tags=["mail"])
    assert changed(owner, "mail", color="#1B7F4D") == {"name": "mail", "color": "#1b7f4d", "changed": 0}
    assert listed(owner) == {"mail": ("#1b7f4d", 1)} and listed(other) == {"mail": (None, 1)}
    assert changed(owner, "mail", color="#000000")["color"] == "#000000"
    assert changed(owner, "mail", color=None)["color"] is None
    assert database.value("SELECT count(*) FROM tag_colors WHERE workspace_id = %s", owner.id) == 0


def test_a_color_follows_a_rename_and_gives_way_to_the_color_of_the_other_tag(owner):
    owner.create(tags=["a", "b", "c"])
    changed(owner, "a", color="#aaaaaa")
    changed(owner, "b", color="#bbbbbb")
    assert changed(owner, "a", name="c")["color"] == "#aaaaaa"
    assert changed(owner, "c", name="b")["color"] == "#bbbbbb"
    assert changed(owner, "b", name="d", color="#dddddd")["color"] == "#dddddd"
    assert listed(owner) == {"d": ("#dddddd", 1)}
    owner.create(tags=["a", "b", "c"])
    assert {color for name, (color, _) in listed(owner).items() if name != "d"} == {None}


def test_a_color_needs_a_link_and_an_account_has_at_most_a_thousand(owner, expect, database):
    expect(change(owner, "unused", color="#123456"), 404)
    owner.create(tags=["one"])
    database.run("INSERT INTO tag_colors SELECT %s, concat('t', n), '#123456' FROM generate_series(1, 1000) AS n", owner.id)
    problem = expect(change(owner, "one", color="#123456"), 409, "/color")
    assert problem["detail"] == "Your workspaces already have 1,000 colors. Delete one first."
    database.run("DELETE FROM tag_colors WHERE tag = 't1' AND workspace_id = %s", owner.id)
    assert change(owner, "one", color="#123456").status == change(owner, "one", color="#654321").status == 200


# --- delete ---


def test_a_deleted_tag_is_gone_from_each_link_with_its_color(owner, expect):
    links = [owner.create(tags=["a", "gone", "b"]), owner.create(tags=["gone"])]
    changed(owner, "gone", color="#123456")
    assert owner.call("DELETE", "/api/tags/gone").status == 204
    assert [link_of(owner, link)["tags"] for link in links] == [["a", "b"], []]
    expect(owner.call("DELETE", "/api/tags/gone"), 404)
    owner.create(tags=["gone"])
    assert listed(owner)["gone"] == (None, 1)


def test_a_restored_link_has_the_tags_of_today(owner):
    renamed, removed = owner.create(tags=["old"]), owner.create(tags=["gone"])
    for link in (renamed, removed):
        assert owner.call("DELETE", f"/api/links/{link['id']}").status == 204
    assert changed(owner, "old", name="new")["changed"] == 1
    assert owner.call("DELETE", "/api/tags/gone").status == 204
    assert listed(owner) == {}
    tags = [owner.call("POST", f"/api/links/{link['id']}/restore").json["link"]["tags"] for link in (renamed, removed)]
    assert tags == [["new"], []]


def test_states_and_expiry_stay_as_they_are(owner, database):
    link = owner.create(tags=["old"])
    owner.call("PATCH", f"/api/links/{link['id']}", {"state": "disabled"})
    before = database.run("SELECT state, state_since, original_url, title FROM links WHERE id = %s", link["id"])
    changed(owner, "old", name="new")
    assert database.run("SELECT state, state_since, original_url, title FROM links WHERE id = %s", link["id"]) == before


# --- accounts, rights, audit log ---


def test_links_of_other_accounts_stay_untouched(owner, service, database):
    other, admin = User(service, database), User(service, database, "admin")
    theirs = other.create(tags=["mail"])
    public = Api(service.url).call("POST", "/api/links/public", {"original_url": "https://example.com/", "tags": ["mail"]}).json["link"]
    owner.create(tags=["mail"])
    for api in (owner, admin):
        assert change(api, "mail", name="post", color="#123456").status == (200 if api is owner else 404)
    assert link_of(other, theirs)["version"] == 1 and listed(other) == {"mail": (None, 1)}
    assert database.value("SELECT tags FROM links WHERE id = %s", public["id"]) == ["mail"]


def test_a_key_needs_the_scope_links_write(owner, expect):
    owner.create(tags=["mail"])
    reader, _ = owner.with_key("links:read", "stats:read")
    writer, _ = owner.with_key("links:write")
    expect(change(reader, "mail", name="x"), 403)
    expect(reader.call("DELETE", "/api/tags/mail"), 403)
    assert change(writer, "mail", name="x").status == 200 and writer.call("DELETE", "/api/tags/x").status == 204


def test_the_audit_log_has_one_entry_for_each_change(owner, database):
    links = [owner.create(tags=["old"])["id"] for _ in range(2)]
    requests = [change(owner, "old", name="new"), change(owner, "new", color="#123456"), change(owner, "new"), owner.call("DELETE", "/api/tags/new")]
    entries = [database.run("SELECT action, subject_type, subject_id, details FROM audit_log WHERE request_id = %s", r.headers["x-request-id"]) for r in requests]
    of_links = {"links": 2, "link_ids": links}
    assert entries == [
        [("tag.update", "workspace", owner.id, {**of_links, "tag": "old", "new_name": "new"})],
        [("tag.update", "workspace", owner.id, {"links": 0, "link_ids": [], "tag": "new", "color": "#123456"})],
        [],
        [("tag.delete", "workspace", owner.id, {**of_links, "tag": "new"})],
    ]


# --- many links, and changes at the same time ---


def test_ten_thousand_links_change_in_one_request_and_more_are_refused(owner, database, expect):
    insert_links(database, owner, LINKS_MAX, "many")
    assert changed(owner, "many", name="more")["changed"] == LINKS_MAX
    assert database.run("SELECT DISTINCT tags, version FROM links WHERE workspace_id = %s", owner.id) == [(["more"], 2)]
    one = owner.create(tags=["more"])
    problem = expect(change(owner, "more", name="many"), 422)
    assert "10,000" in problem["detail"] and problem["type"].endswith("/too-many-links")
    expect(owner.call("DELETE", "/api/tags/more"), 422)
    assert database.run("SELECT DISTINCT tags FROM links WHERE workspace_id = %s", owner.id) == [(["more"],)]
    assert changed(owner, "more", color="#123456")["color"] == "#123456"
    owner.call("PATCH", f"/api/links/{one['id']}", {"tags": []})
    assert owner.call("DELETE", "/api/tags/more").status == 204
    assert database.value("SELECT count(*) FROM links WHERE workspace_id = %s AND tags <> '{}'", owner.id) == 0


def test_the_links_count_against_the_limit_of_bulk_requests(start, database, expect):
    limited = User(start(BULK_LINKS_PER_MINUTE=2), database)
    for _ in range(3):
        limited.create(tags=["a"])
    assert changed(limited, "a", name="b")["changed"] == 3
    problem = expect(change(limited, "b", name="a"), 429)
    assert problem["type"].endswith("/rate-limit") and listed(limited) == {"b": (None, 3)}
    assert changed(limited, "b", color="#123456")["changed"] == 0


def test_renames_at_once_lose_no_link_and_leave_no_tag_twice(owner, database):
    names = ["a", "b", "c", "d"]
    insert_links(database, owner, 300, "a")
    database.run("UPDATE links SET tags = '{b,c}' WHERE workspace_id = %s AND id %% 2 = 0", owner.id)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda i: change(owner, names[i % 4], name=names[(i * 7 + 1) % 4]), range(40)))
    assert {answer.status for answer in answers} <= {200, 404}, answers
    tags = [row[0] for row in database.run("SELECT tags FROM links WHERE workspace_id = %s", owner.id)]
    assert len(tags) == 300 and all(each and len(each) == len(set(each)) for each in tags)
    # One after the other, in some order: links that began alike end alike.
    assert len({tuple(each) for each in tags}) <= 2


def test_a_rename_waits_for_links_that_are_being_created(owner, database):
    """Both lock the account. Otherwise a link could be created before the rename ends, and keep the old name."""
    owner.create(tags=["old"])
    with psycopg2.connect(database.url()) as creating, concurrent.futures.ThreadPoolExecutor(1) as pool:
        cursor = creating.cursor()
        cursor.execute("SELECT FROM users WHERE id = %s FOR NO KEY UPDATE", (owner.id,))
        cursor.execute("INSERT INTO links (slug, link_type, original_url, workspace_id, tags) VALUES (%s, 'PERMANENT', 'https://example.com/', %s, '{old}')", (f"c{owner.id}", owner.id))
        renamed = pool.submit(changed, owner, "old", name="new")
        waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = %s AND wait_event_type = 'Lock'"
        wait_until(lambda: renamed.done() or database.value(waiting, database.name), "the rename to wait")
        creating.commit()
        assert renamed.result()["changed"] == 2
    assert listed(owner) == {"new": (None, 2)}


def test_the_bound_is_the_one_that_is_described():
    source = (ROOT / "services/links-api/tags/tag_handlers.c").read_text()
    assert f"#define LINKS_MAX {LINKS_MAX}\n" in source
