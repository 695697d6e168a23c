"""Templates of campaign parameters. Who may use them is test_authorisation.py's."""

import concurrent.futures

import pytest
from users import User

FIELDS = ("utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content")


@pytest.fixture
def owner(service, database):
    return User(service, database)


def put(user, template, **values):
    return user.call("PUT", f"/api/utm-templates/{template}", values)


def templates(user):
    return {each.pop("name"): {k: v for k, v in each.items() if v} for each in user.call("GET", "/api/utm-templates").json["templates"]}


def test_a_template_is_made_replaced_and_deleted_by_its_name_in_its_workspace_alone(owner, service, database):
    assert put(owner, "Spring%2Fmail", utm_source="letter", utm_term=None, utm_content="grün & gelb").status == 204
    assert put(owner, "A", **{field: "x" * 100 for field in FIELDS}).status == 204
    assert templates(owner) == {"A": {field: "x" * 100 for field in FIELDS}, "Spring/mail": {"utm_source": "letter", "utm_content": "grün & gelb"}}
    assert put(owner, "Spring%2Fmail", utm_medium="post").status == 204
    assert templates(owner)["Spring/mail"] == {"utm_medium": "post"}, "a replacement keeps nothing of the one before"
    assert templates(User(service, database)) == {}
    assert [owner.call("DELETE", "/api/utm-templates/A").status for _ in range(2)] == [204, 404]
    assert list(templates(owner)) == ["Spring/mail"]


@pytest.mark.parametrize("values,pointer", [({}, "/utm_source"), ({"utm_source": None}, "/utm_source"), ({"utm_term": ""}, "/utm_term"), ({"utm_term": "x" * 101}, "/utm_term"), ({"utm_medium": 7}, "/utm_medium"), ({"utm_campaign": "a\nb"}, "/utm_campaign"), ({"utm_source": "x", "name": "y"}, "/name")])
def test_what_is_no_template_is_refused_by_its_field(owner, values, pointer):
    answer = put(owner, "T", **values)
    assert answer.status == 400 and [each["pointer"] for each in answer.json["errors"]] == [pointer]
    assert templates(owner) == {}


def test_a_name_is_that_of_a_tag(owner):
    assert put(owner, "x" * 50, utm_source="s").status == 204
    assert {name: put(owner, name, utm_source="s").status for name in ("x" * 51, "..", "%00", "%ff", "a/b")} == dict.fromkeys(("x" * 51, "..", "%00", "%ff", "a/b"), 404)


def test_a_workspace_has_fifty_templates_and_not_one_more_however_many_ask_at_once(owner):
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        statuses = list(pool.map(lambda n: put(owner, f"t{n}", utm_source="s").status, range(60)))
    assert (statuses.count(204), statuses.count(409)) == (50, 10)
    name = next(iter(templates(owner)))
    assert put(owner, name, utm_source="again").status == 204, "one of them can still be replaced"


def test_a_key_that_sees_some_tags_reads_templates_and_changes_none(owner):
    key, _ = owner.with_key("links:read", "links:write", tags=["shown"])
    assert put(owner, "T", utm_source="s").status == 204
    assert list(templates(key)) == ["T"]
    assert [put(key, "T", utm_source="x").status, key.call("DELETE", "/api/utm-templates/T").status] == [403, 403]
