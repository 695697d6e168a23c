"""Where a request acts, and what a role permits there. Members are inserted: how people become members is test_workspaces.py's."""

import pytest
from clients import Api
from users import User, insert_api_key, join, leave

MISSING = 999_999_999_999


def kind_of(answer):
    return answer.status, answer.json["type"].removeprefix("/problems/")


@pytest.fixture
def owner(service, database):
    return User(service, database)


@pytest.fixture
def guest(service, database):
    return User(service, database)


def test_a_path_that_names_a_workspace_acts_there(owner, guest, database):
    join(database, guest, owner.id, "editor")
    answer = guest.call("POST", f"/api/workspaces/{owner.id}/links", {"original_url": "https://example.com/", "tags": ["a/b"]})
    link = answer.json["link"]
    assert answer.status == 201 and (link["workspace_id"], link["created_by"]) == (owner.id, guest.id)
    assert answer.headers["location"] == f"/api/workspaces/{owner.id}/links/{link['id']}"
    assert guest.call("GET", answer.headers["location"]).json["link"]["id"] == link["id"]
    assert guest.call("GET", f"/api/workspaces/{owner.id}/urls/{link['id']}").status == 200, "the alias works there as well"
    assert guest.call("GET", f"/api/links/{link['id']}").status == 404, "without it, the request acts in the first workspace"
    assert owner.call("GET", f"/api/links/{link['id']}").json["link"]["created_by"] == guest.id
    assert [tag["name"] for tag in guest.call("GET", f"/api/workspaces/{owner.id}/tags").json["tags"]] == ["a/b"]
    assert guest.call("DELETE", f"/api/workspaces/{owner.id}/tags/a%2Fb").status == 204
    history = owner.call("GET", f"/api/links/{link['id']}/history").json["changes"]
    assert {change["by"]["type"] for change in history} == {"user"}


def test_a_workspace_of_others_looks_like_none(owner, guest):
    foreign, missing = (guest.call("GET", f"/api/workspaces/{each}/links") for each in (owner.id, MISSING))
    assert foreign.status == missing.status == 404
    assert {**foreign.json, "instance": ""} == {**missing.json, "instance": ""}


@pytest.mark.parametrize("id", ["0", "01", "-1", "x", "", "9" * 30, "1%20", "+1"])
def test_what_is_no_number_names_no_workspace(guest, id):
    assert guest.call("GET", f"/api/workspaces/{id}/links").status == 404


@pytest.mark.parametrize("path", ["/auth/me", "/admin/users", "/links/public", "/shared", "/stats", "/workspaces/1/links", "/openapi.json"])
def test_what_belongs_to_no_workspace_is_not_found_in_one(service, database, guest, path):
    assert guest.call("GET", f"/api/workspaces/{guest.id}{path}").status in (404, 405)


def test_a_key_acts_in_its_workspace_alone_with_the_role_that_its_maker_has_now(service, owner, guest, database):
    join(database, guest, owner.id, "editor")
    key = Api(service.url)
    key.token = insert_api_key(database, guest.id, ["links:read", "links:write"])
    database.run("UPDATE api_keys SET workspace_id = %s WHERE created_by = %s", owner.id, guest.id)
    assert key.create()["workspace_id"] == owner.id
    assert key.call("GET", f"/api/workspaces/{owner.id}/links").status == 200
    assert key.call("GET", f"/api/workspaces/{guest.id}/links").status == 404, "although its maker is a member there"
    database.run("UPDATE members SET role = 'viewer' WHERE workspace_id = %s AND user_id = %s", owner.id, guest.id)
    assert key.call("GET", "/api/links").status == 200
    assert kind_of(key.call("POST", "/api/links", {"original_url": "https://example.com/"})) == (403, "role")
    leave(database, guest, owner.id)
    assert key.call("GET", "/api/links").status == 401, "it has ended with the membership"


def test_without_a_path_a_person_acts_in_the_first_workspace_or_the_only_one(service, owner, guest, database):
    third = User(service, database)
    join(database, guest, owner.id, "editor")
    assert guest.create()["workspace_id"] == guest.id
    leave(database, guest, guest.id)
    assert guest.create()["workspace_id"] == owner.id
    join(database, guest, third.id, "editor")
    assert kind_of(guest.call("GET", "/api/links")) == (400, "which-workspace")
    for each in (owner, third):
        leave(database, guest, each.id)
    assert kind_of(guest.call("GET", "/api/links")) == (403, "no-workspace")
    assert guest.call("GET", "/api/auth/me").status == 200


def test_an_administrator_is_an_owner_everywhere(service, owner, database):
    admin = User(service, database, "admin")
    link = owner.create()
    assert admin.call("PATCH", f"/api/workspaces/{owner.id}/links/{link['id']}", {"title": "t"}).status == 200
    assert [each["id"] for each in admin.call("GET", f"/api/workspaces/{owner.id}/links").json["links"]] == [link["id"]]
    assert admin.call("GET", f"/api/workspaces/{MISSING}/links").status == 404


def test_an_administrator_sees_where_an_account_is_a_member(service, owner, guest, database):
    """For somebody who looks after abuse: whose links these are, and in which workspaces."""
    admin = User(service, database, "admin")
    join(database, guest, owner.id, "editor")
    seen = admin.call("GET", f"/api/admin/users/{guest.id}").json
    assert seen["user"]["email"] == guest.email and [(each["id"], each["role"]) for each in seen["workspaces"]] == [(owner.id, "editor"), (guest.id, "owner")]
    link = guest.create("https://bank.example/")
    assert [each["id"] for each in admin.call("GET", f"/api/links?workspace={guest.id}").json["links"]] == [link["id"]]
    [entry] = admin.call("GET", f"/api/admin/audit?actor_id={guest.id}").json["entries"]
    assert entry["workspace_id"] == guest.id
