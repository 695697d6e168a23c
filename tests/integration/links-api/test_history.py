"""The history of a link: every writer of links leaves what changed, when, and by whom, whichever way it takes."""

import random
import string

import pytest
from clients import Api
from users import User, join, leave

KEPT = 100
NOBODY = {"type": "unknown", "user_id": None, "key_id": None, "key_name": None}
ADMINISTRATOR = {**NOBODY, "type": "administrator"}


def by(user):
    return {**NOBODY, "type": "user", "user_id": user.id}



@pytest.fixture
def owner(service, database):
    return User(service, database)


def history_of(api, link, query=""):
    answer = api.call("GET", f"/api/links/{link['id']}/history{query}")
    assert answer.status == 200, answer
    return answer.json


def newest(api, link):
    """(change, by, {field: (from, to)}) of the newest change."""
    entry = history_of(api, link)["changes"][0]
    return entry["change"], entry["by"], {field["name"]: (field["from"], field["to"]) for field in entry["fields"]}


def patch(api, link, **members):
    answer = api.call("PATCH", f"/api/links/{link['id']}", members)
    assert answer.status == 200, answer
    return answer.json["link"]


# --- what a change says ---


def test_a_change_names_each_field_that_differs_and_no_other(owner):
    link = owner.create("https://example.com/old", title="Old", tags=["a"])
    assert newest(owner, link) == ("created", by(owner), {})
    patch(owner, link, original_url="https://example.com/new", title="Old", tags=["a", "b"], redirect_status=301,
          expires_at="2099-05-01T10:00:00.5Z", expired_url="https://example.com/over")  # fmt: skip
    change, author, fields = newest(owner, link)
    assert (change, author) == ("updated", by(owner))
    assert fields == {
        "original_url": ("https://example.com/old", "https://example.com/new"),
        "tags": (["a"], ["a", "b"]),
        "redirect_status": (302, 301),
        "expires_at": (None, "2099-05-01T10:00:00.500Z"),
        "expired_url": (None, "https://example.com/over"),
    }
    assert patch(owner, link)["expires_at"] == fields["expires_at"][1], "as the link itself shows it"


def test_a_change_that_changes_nothing_leaves_no_trace(owner):
    link = owner.create(title="Same")
    patch(owner, link, title="Same")
    assert [entry["change"] for entry in history_of(owner, link)["changes"]] == ["created"]


def test_states_have_changes_of_their_own(owner):
    link = owner.create()
    patch(owner, link, state="disabled")
    assert newest(owner, link) == ("disabled", by(owner), {"state": ("active", "disabled")})
    patch(owner, link, state="active")
    assert newest(owner, link) == ("enabled", by(owner), {"state": ("disabled", "active")})
    assert owner.call("DELETE", f"/api/links/{link['id']}").status == 204
    assert owner.call("POST", f"/api/links/{link['id']}/restore").status == 200
    assert [entry["change"] for entry in history_of(owner, link)["changes"]] == ["restored", "deleted", "enabled", "disabled", "created"]


def test_times_are_those_of_the_changes(owner):
    link = owner.create()
    updated = patch(owner, link, title="x")
    second, first = history_of(owner, link)["changes"]
    assert (first["at"], second["at"]) == (link["created_at"], updated["updated_at"])


# --- who ---


def test_a_change_with_an_api_key_names_the_key(owner, database):
    link = owner.create()
    api, key = owner.with_key("links:write", name="nightly")
    patch(api, link, title="x")
    key_of_owner = {"type": "api_key", "user_id": owner.id, "key_id": key["id"], "key_name": "nightly"}
    assert newest(owner, link) == ("updated", key_of_owner, {"title": ("", "x")})
    assert owner.call("DELETE", f"/api/keys/{key['id']}").status == 204
    assert newest(owner, link)[1] == {**key_of_owner, "key_name": None}, "a deleted key has lost its name"


def test_an_administrator_is_not_named(owner, service, database):
    link = owner.create()
    admin = User(service, database, "admin")
    patch(admin, link, state="disabled")
    assert newest(owner, link) == ("disabled", ADMINISTRATOR, {"state": ("active", "disabled")})
    assert newest(admin, link)[1] == ADMINISTRATOR
    own = admin.create()
    assert newest(admin, own)[1] == by(admin), "an administrator is the user of their own links"


def test_somebody_who_has_left_is_a_former_member_to_those_who_stay(owner, service, database):
    link = owner.create()
    member = User(service, database)
    join(database, member, owner.id, "editor")
    assert member.call("PATCH", f"/api/workspaces/{owner.id}/links/{link['id']}", {"title": "x"}).status == 200
    assert newest(owner, link)[1] == by(member)
    leave(database, member, owner.id)
    assert newest(owner, link)[1] == {**NOBODY, "type": "former_member"}


def test_the_janitor_is_the_system(owner, database):
    """With the statement of the janitor, whose transaction names nobody."""
    link = owner.create(expires_at="2099-01-01T00:00:00Z")
    database.run("UPDATE links SET state = 'EXPIRED', version = version + 1 WHERE id = %s", link["id"])
    assert newest(owner, link)[:2] == ("expired", {**NOBODY, "type": "system"})


def test_a_writer_that_names_nobody_is_not_taken_for_somebody(owner, database):
    """Such as links-api of an earlier version, during an upgrade."""
    link = owner.create()
    patch(owner, link, title="x")
    database.run("UPDATE links SET title = 'y', version = version + 1 WHERE id = %s", link["id"])
    assert newest(owner, link) == ("updated", NOBODY, {"title": ("x", "y")})


def test_the_next_transaction_on_a_connection_does_not_keep_the_author(service, database):
    """Many users share few connections: each change has the author of its own request."""
    users = [User(service, database) for _ in range(8)]
    links = [user.create() for user in users]
    for _ in range(3):
        for user, link in zip(users, links):
            patch(user, link, title=link["title"] + "x")
            link["title"] += "x"
    assert {entry["by"]["type"] for user, link in zip(users, links) for entry in history_of(user, link)["changes"]} == {"user"}


# --- every way to change a link ---


def test_bulk_requests_and_tags_leave_their_changes(owner):
    answer = owner.call("POST", "/api/links/bulk", {"links": [{"original_url": f"https://example.com/{n}", "tags": ["old"]} for n in range(2)]})
    links = [result["link"] for result in answer.json["results"]]
    assert [newest(owner, link) for link in links] == [("created", by(owner), {})] * 2
    assert owner.call("PATCH", "/api/links?filter=tags:old", {"state": "disabled"}).status == 200
    assert [newest(owner, link)[:2] for link in links] == [("disabled", by(owner))] * 2
    assert owner.call("PATCH", "/api/tags/old", {"name": "new"}).status == 200
    assert [newest(owner, link) for link in links] == [("updated", by(owner), {"tags": (["old"], ["new"])})] * 2
    assert owner.call("DELETE", "/api/tags/new").status == 204
    assert [newest(owner, link) for link in links] == [("updated", by(owner), {"tags": (["new"], [])})] * 2
    assert owner.call("DELETE", "/api/links?filter=id:>0").json["changed"] == 2
    for link in links:
        assert owner.call("POST", f"/api/links/{link['id']}/restore").status == 200
        assert [entry["change"] for entry in history_of(owner, link)["changes"][:2]] == ["restored", "deleted"]


def test_a_claim_begins_the_history(service, owner):
    public = Api(service.url).call("POST", "/api/links/public", {"original_url": "https://example.com/"}).json
    claim = {"slug": public["link"]["slug"], "claim_token": public["claim_token"]}
    link = owner.call("POST", "/api/links/sync", {"links": [claim]}).json["results"][0]["link"]
    (entry,) = history_of(owner, link)["changes"]
    assert (entry["change"], entry["by"]) == ("claimed", by(owner))
    assert {field["name"] for field in entry["fields"]} == {"link_type", "expires_at"}
    assert claim["claim_token"] not in str(entry)


# --- pages, bounds, rights ---


def test_pages_follow_each_other_without_gaps(owner, expect):
    link = owner.create()
    for n in range(4):
        patch(owner, link, title=str(n))
    first = history_of(owner, link, "?limit=2")
    assert first["pagination"] == {"page": None, "limit": 2, "total": None, "total_is_capped": False, "total_pages": None, "next_cursor": first["pagination"]["next_cursor"]}
    second = history_of(owner, link, f"?limit=2&cursor={first['pagination']['next_cursor']}")
    third = history_of(owner, link, f"?limit=2&cursor={second['pagination']['next_cursor']}")
    assert first["changes"] + second["changes"] + third["changes"] == history_of(owner, link)["changes"]
    assert len(third["changes"]) == 1 and third["pagination"]["next_cursor"] is None
    expect(owner.call("GET", f"/api/links/{link['id']}/history?cursor=x&limit=101&who=1"), 400, "/cursor", "/limit", "/who")


def test_only_the_newest_changes_are_kept(owner, database):
    link = owner.create()
    for n in range(KEPT + 4):
        database.run("UPDATE links SET title = %s, version = version + 1 WHERE id = %s", str(n), link["id"])
    assert database.value("SELECT count(*) FROM link_history WHERE link_id = %s", link["id"]) == KEPT
    assert newest(owner, link)[2] == {"title": (str(KEPT + 2), str(KEPT + 3))}


def test_the_longest_changes_are_kept_up_to_a_number_of_bytes(owner, database):
    """Of random letters, which do not compress: a change then takes 20 to 50 KB."""
    def long_url():
        return "https://example.com/" + "".join(random.choices(string.ascii_letters, k=8000))

    link = owner.create(long_url())
    for i in range(12):
        patch(owner, link, original_url=long_url(), expired_url=long_url(), title=f"{i}", tags=[f"{i}-{n}" * 10 for n in range(20)])
    stored = database.value("SELECT sum(pg_column_size(h.*)) FROM link_history h WHERE link_id = %s", link["id"])
    assert stored <= 65536
    assert newest(owner, link)[2]["title"][1] == "11"
    for i in range(130):
        patch(owner, link, title=f"short {i}")
    assert len(history_of(owner, link, "?limit=100")["changes"]) == KEPT, "short changes are all kept"


def test_the_history_ends_with_its_link(owner, database, expect):
    link = owner.create()
    assert owner.call("DELETE", f"/api/links/{link['id']}").status == 204
    expect(owner.call("GET", f"/api/links/{link['id']}/history"), 404)
    assert owner.call("DELETE", f"/api/links/{link['id']}?hard=true").status == 204
    assert database.value("SELECT count(*) FROM link_history WHERE link_id = %s", link["id"]) == 0


def test_links_api_cannot_rewrite_the_history(service, database):
    rights = "SELECT has_table_privilege('waymark_links_api', 'link_history', right_) FROM unnest(%s) AS right_"
    assert database.run(rights, ["SELECT", "INSERT", "UPDATE", "DELETE"]) == [(True,), (False,), (False,), (False,)]
