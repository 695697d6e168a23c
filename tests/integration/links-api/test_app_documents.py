"""The documents of apps: what is stored is what an administrator set, and nothing that a phone would not understand."""

import json

import pytest
from users import User

PRINT = ":".join(["0A"] * 32)
APPLE = {"applinks": {"details": [{"appIDs": ["ABCDE12345.com.example.app"], "components": [{"/": "/go/*", "comment": "Grüße"}]}]}, "future": {"x": 1}}
GOOGLE = [{"relation": ["delegate_permission/common.handle_all_urls"], "target": {"namespace": "android_app", "package_name": "com.example.app", "sha256_cert_fingerprints": [PRINT]}}]


@pytest.fixture
def admin(service, database):
    return User(service, database, role="admin")


@pytest.mark.parametrize("name,document", [("apple-app-site-association", APPLE), ("assetlinks.json", GOOGLE)])
def test_a_document_is_set_replaced_and_deleted(admin, database, expect, name, document):
    at = f"/api/admin/app-documents/{name}"
    expect(admin.call("GET", at), 404)
    for each in (document, document):
        answer = admin.call("PUT", at, {"document": each})
        assert (answer.status, answer.json["document"]) == (200, document)
    assert admin.call("GET", at).json == answer.json and answer.json["updated_at"]
    assert json.loads(database.value("SELECT body FROM app_documents WHERE name = %s", name)) == document
    assert admin.call("DELETE", at).status == 204
    expect(admin.call("DELETE", at), 404)
    actions = database.run("SELECT action, details FROM audit_log WHERE subject_type = 'instance' AND actor_id = %s ORDER BY id", admin.id)
    assert actions == [("app-document.update", {"name": name})] * 2 + [("app-document.delete", {"name": name})]


def test_what_a_phone_would_not_understand_is_refused(admin, database, expect):
    apple, google = "/api/admin/app-documents/apple-app-site-association", "/api/admin/app-documents/assetlinks.json"
    for at, body, *pointers in (
        (apple, {}, "/document"), (apple, {"document": None}, "/document"), (apple, {"document": GOOGLE}, "/document"), (google, {"document": APPLE}, "/document"),
        (apple, {"document": APPLE, "x": 1}, "/x"), (google, {"document": [*GOOGLE, {}]}, "/document/1/relation", "/document/1/target"),
    ):  # fmt: skip
        expect(admin.call("PUT", at, body), 400, *pointers)
    expect(admin.call("GET", "/api/admin/app-documents/security.txt"), 404)
    expect(admin.call("PUT", "/api/admin/app-documents/security.txt", {"document": {}}), 404)
    assert database.value("SELECT count(*) FROM app_documents") == 0


def test_a_document_has_at_most_128_kib(admin, expect):
    at = "/api/admin/app-documents/assetlinks.json"
    fits = [*GOOGLE, {**GOOGLE[0], "note": ""}]
    room = 131072 - len(json.dumps(fits, separators=(",", ":"), ensure_ascii=False).encode())
    fits[1]["note"] = "x" * room
    assert admin.call("PUT", at, {"document": fits}).status == 200
    fits[1]["note"] += "x"
    expect(admin.call("PUT", at, {"document": fits}), 400, "/document")
    assert admin.call("DELETE", at).status == 204


def test_only_administrators_see_and_set_them(service, database, expect):
    user = User(service, database)
    for method, body in (("GET", None), ("PUT", {"document": GOOGLE}), ("DELETE", None)):
        expect(user.call(method, "/api/admin/app-documents/assetlinks.json", body), 403)
