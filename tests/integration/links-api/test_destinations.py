"""Blocked destination hosts and reserved slugs, configured by operators and administrators."""

import os

import pytest
from clients import Api
from waiting import wait_until

CHECK_MS = 100


def write(path, text):
    """Replaces the file atomically."""
    draft = path.with_suffix(".draft")
    draft.write_text(text)
    os.replace(draft, path)


def create(api, url, **fields):
    return api.call("POST", "/api/links", {"original_url": url, **fields})


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hosts")
    (folder / "blocked").write_text(".listed.example\n")
    return folder


@pytest.fixture(scope="module")
def guarded(start, files):
    return start(HOSTS_CHECK_MS=CHECK_MS, BLOCKED_HOSTS_FILE=files / "blocked", OWN_HOSTS="go.example, .wm-alias.example",
                 RESERVED_SLUGS="brand,Summer-Sale")  # fmt: skip


@pytest.fixture(scope="module")
def user(guarded, new_user):
    return new_user(guarded)


def test_hosts_in_the_blocked_file_are_refused_for_new_and_changed_links(user, expect):
    for url in ("https://listed.example/", "http://www.listed.example:8080/x", "https://LISTED.example./",
                "https://%6cisted.example/", "https://a.b.\uff4cisted.example/"):  # fmt: skip
        expect(create(user, url), 400, "/original_url")
    expect(create(user, "https://fine.example/", expired_url="https://listed.example/"), 400, "/expired_url")
    expect(Api(user.base).call("POST", "/api/links/public", {"original_url": "https://listed.example/"}), 400,
           "/original_url")  # fmt: skip
    link = user.create(original_url="https://fine.example/?u=https://listed.example/")
    path = f"/api/links/{link['id']}"
    expect(user.call("PATCH", path, {"original_url": "https://listed.example/"}), 400, "/original_url")
    assert user.call("GET", path).json["link"]["original_url"] == link["original_url"]


def test_a_link_to_a_blocked_host_can_still_be_disabled(user, database):
    link = user.create(original_url="https://turned-bad.example/")
    database.run("INSERT INTO blocked_hosts (host) VALUES ('turned-bad.example')")
    wait_until(lambda: create(user, "https://turned-bad.example/").status == 400, "the host to be blocked")
    answer = user.call("PATCH", f"/api/links/{link['id']}", {"state": "disabled"})
    assert (answer.status, answer.json["link"]["state"]) == (200, "disabled")


def test_the_owner_sees_which_links_lead_to_a_blocked_host(user, database):
    blocked, other = (user.create(original_url=f"https://{host}.example/") for host in ("watched", "unwatched"))
    assert not blocked["destination_blocked"]

    def seen():
        listed = {link["id"]: link["destination_blocked"] for link in user.call("GET", "/api/links").json["links"]}
        assert listed == {id: user.call("GET", f"/api/links/{id}").json["link"]["destination_blocked"] for id in listed}
        return listed[blocked["id"]], listed[other["id"]]

    database.run("INSERT INTO blocked_hosts (host) VALUES ('watched.example')")
    wait_until(lambda: create(user, "https://watched.example/").status == 400, "the host to be blocked")
    assert seen() == (True, False)
    answer = user.call("PATCH", f"/api/links/{blocked['id']}", {"original_url": "https://unwatched.example/"})
    assert (answer.status, answer.json["link"]["destination_blocked"]) == (200, False)
    assert seen() == (False, False)


def test_only_allowed_hosts_are_accepted_if_configured(start, new_user, tmp_path, expect):
    (tmp_path / "allowed").write_text("# ours\n.ours.example\nshop.example\n")
    user = new_user(start(ALLOWED_HOSTS_FILE=tmp_path / "allowed", HOSTS_CHECK_MS=CHECK_MS))
    assert create(user, "https://www.ours.example/a").status == 201
    assert create(user, "https://shop.example/").status == 201
    for url in ("https://www.shop.example/", "https://elsewhere.example/", "https://ours.example.evil.example/"):
        expect(create(user, url), 400, "/original_url")


def test_our_own_hosts_are_refused_under_every_name(user, expect):
    for url in ("https://wm.example/abc", "https://go.example/abc", "http://GO.example:8080/", "https://wm-alias.example/",
                "https://www.wm-alias.example/"):  # fmt: skip
        expect(create(user, url), 400, "/original_url")
    assert create(user, "https://www.go.example/").status == 201


def test_reserved_slugs_are_refused_in_any_case(user, expect):
    for slug in ("api", "r", "docs", "robots", "openapi", "problems", "API", "brand", "BRAND", "summer-sale"):
        expect(create(user, "https://fine.example/", slug=slug), 400, "/slug")
    assert create(user, "https://fine.example/", slug="brands").status == 201


# --- administrators ---


@pytest.fixture(scope="module")
def admin(guarded, new_user, database):
    admin = new_user(guarded)
    database.run("UPDATE users SET role = 'admin' WHERE email = %s", admin.email)
    return admin


def block(api, host, **fields):
    return api.call("POST", "/api/admin/hosts", {"host": host, **fields})


def test_a_host_blocked_by_an_admin_is_refused_at_once_until_unblocked(admin, user, database, expect):
    answer = block(admin, "B\u00fccher.example.", reason="phishing")
    assert answer.status == 201, answer
    host = answer.json["host"]
    assert list(host) == ["id", "host", "with_subdomains", "reason", "created_at"]
    assert (host["host"], host["with_subdomains"], host["reason"]) == ("xn--bcher-kva.example", True, "phishing")
    assert host in admin.call("GET", "/api/admin/hosts").json["hosts"]
    expect(create(user, "https://www.b\u00fccher.example/"), 400, "/original_url")
    expect(create(admin, "https://xn--bcher-kva.example/"), 400, "/original_url")

    assert admin.call("DELETE", f"/api/admin/hosts/{host['id']}").status == 204
    assert create(user, "https://b\u00fccher.example/").status == 201
    assert host not in admin.call("GET", "/api/admin/hosts").json["hosts"]
    expect(admin.call("DELETE", f"/api/admin/hosts/{host['id']}"), 404)
    entries = database.run("SELECT action, actor_id IS NOT NULL, details FROM audit_log "
                        "WHERE subject_type = 'host' AND subject_id = %s ORDER BY id", host["id"])  # fmt: skip
    details = {"host": "xn--bcher-kva.example", "with_subdomains": True}
    assert entries == [("host.block", True, {**details, "reason": "phishing"}), ("host.unblock", True, details)]


def test_a_host_is_blocked_once_and_an_address_in_every_notation(admin, user, expect):
    assert block(admin, "0x7f.0.0.2", with_subdomains=False).json["host"]["host"] == "127.0.0.2"
    assert expect(block(admin, "127.0.0.2"), 409, "/host")["type"] == "/problems/host-taken"
    expect(create(user, "http://2130706434:8080/"), 400, "/original_url")
    assert block(admin, "[2001:DB8:0::1]").status == 201
    expect(create(user, "http://[2001:db8::1]/"), 400, "/original_url")


def test_invalid_hosts_are_refused(admin, expect):
    for host in ("", "https://a.example", "a.example/x", "a.example:80", "a..example", "*.a.example", "a b", "-" * 64, 7):
        expect(block(admin, host), 400, "/host")
    expect(block(admin, "a.example", with_subdomains="yes", reason="x" * 201, colour=1), 400,
           "/with_subdomains", "/reason", "/colour")  # fmt: skip
    expect(admin.call("POST", "/api/admin/hosts", {}), 400, "/host")


def test_a_url_in_place_of_a_host_is_refused_with_the_host_to_write(admin, expect):
    for text in ("https://A.example/x?y#z", "a.example/x", "a.example:80", "https://a.example"):
        (error,) = expect(block(admin, text), 400, "/host")["errors"]
        assert error["detail"] == "must be a host without a scheme, port or path; write a.example", text
    (error,) = expect(block(admin, "http://[2001:DB8::2]:80/"), 400, "/host")["errors"]
    assert error["detail"].endswith("; write [2001:db8::2]")
    for text in (".a.example", "*.a.example"):
        (error,) = expect(block(admin, text), 400, "/host")["errors"]
        assert error["detail"] == "must be a host; write a.example (with_subdomains blocks the hosts below it)"
    for text in ("https://a.example@b.example/", "https://a.example:1\\@b.example/", "[::1", "https:///x"):
        (error,) = expect(block(admin, text), 400, "/host")["errors"]
        assert "write" not in error["detail"], text


def test_the_number_of_blocked_hosts_is_limited(admin, database, expect):
    before = database.value("SELECT count FROM blocked_hosts_state")
    database.run("INSERT INTO blocked_hosts (host) SELECT 'many-' || i || '.example' FROM generate_series(%s, 3000) AS i", before + 1)
    assert expect(block(admin, "one-more.example"), 409, "")["type"] == "/problems/too-many-hosts"
    assert len(admin.call("GET", "/api/admin/hosts").json["hosts"]) == 3000
    database.run("DELETE FROM blocked_hosts WHERE host LIKE 'many-%%'")
    assert database.value("SELECT count FROM blocked_hosts_state") == before
    assert block(admin, "one-more.example").status == 201


def test_only_admins_manage_blocked_hosts(user, guarded, expect):
    for api, status in ((user, 403), (Api(guarded.url), 401)):
        expect(api.call("GET", "/api/admin/hosts"), status)
        expect(block(api, "a.example"), status)
        expect(api.call("DELETE", "/api/admin/hosts/1"), status)


# --- long destinations ---


def of_length(count, end=""):
    start = "https://example.com/"
    return start + "a" * (count - len(start) - len(end)) + end


def test_a_destination_of_8192_bytes_is_stored_whole(new_user, expect):
    user = new_user()
    long = of_length(8192, "?q=%7E%2D#code=x")
    others = {"title": "\u00fc" * 200, "tags": [f"{i:02}" + "\u00fc" * 48 for i in range(20)], "notes": "n" * 2000}
    link = user.create(original_url=long, expired_url=of_length(8192), **others)
    path = f"/api/links/{link['id']}"
    assert (link["original_url"], link["expired_url"], link["title"]) == (long, of_length(8192), others["title"])
    assert user.call("GET", path).json["link"] == link
    changed = of_length(8192, "?b")
    assert user.call("PATCH", path, {"original_url": changed}).json["link"]["original_url"] == changed
    assert user.call("PATCH", f"/api/links?filter=id:{link['id']}", {"original_url": long}).json == {"matched": 1, "changed": 1}
    assert user.call("GET", f"/api/links?q={long[-20:].replace('#', '%23').replace('%7E', '%257E').replace('%2D', '%252D')}").json["links"][0]["original_url"] == long
    assert user.call("GET", f"{path}/history").json["changes"][0]["fields"][0]["to"] == long
    assert user.call("POST", "/api/links", {"original_url": long, "reuse": True}).json["link"]["id"] == link["id"]
    results = user.call("POST", "/api/links/bulk", {"links": [{"original_url": of_length(8192, f"?{i}")} for i in range(100)]}).json["results"]
    assert {result["status"] for result in results} == {201}
    listed = user.call("GET", "/api/links?limit=100").json["links"]
    assert len(listed) == 100 and {len(each["original_url"]) for each in listed} == {8192}
    for url in (of_length(8193), of_length(8190, "\u00fc"), of_length(20000)):
        problem = expect(create(user, url), 400, "/original_url")
        assert problem["errors"][0] == {"pointer": "/original_url", "code": "too-many-bytes", "detail": "must have at most 8192 bytes"}


def test_the_limit_of_destinations_can_be_lowered(start, new_user, expect):
    user = new_user(start(DESTINATION_BYTES_MAX=300))
    assert user.create(original_url=of_length(300))["original_url"] == of_length(300)
    for url in (of_length(301), of_length(9000)):
        for field in ("original_url", "expired_url"):
            problem = expect(user.call("POST", "/api/links", {"original_url": "https://example.com/"} | {field: url}), 400, f"/{field}")
            assert problem["errors"][0]["detail"] == "must have at most 300 bytes"
