"""Who may come in: nobody without a credential where the operator has closed the doors, and the first administrator everywhere."""

import itertools
import json
import os
import re
import subprocess

import pytest
import yaml
from clients import Api, ask, unique_email
from service import BUILD, ROOT
from test_authorisation import ROUTES, make_path
from users import User, insert_session, invent_secret, make_token, sign
from waiting import wait_until

PRODUCTION = ROOT / "deploy/k8s/overlays/production/kustomization.yaml"
CLOSED = {"REGISTRATION": "closed", "ANONYMOUS_LINKS": "off", "PUBLIC_STATS": "off"}
PASSWORD = "correct horse battery"
URL = "https://example.com/stranger"


def production():
    """What overlay production sets for links-api; the addresses of its stores are the test's."""
    configs = {each["name"]: each["literals"] for each in yaml.safe_load(PRODUCTION.read_text())["configMapGenerator"] if "literals" in each}
    return dict(literal.split("=", 1) for literal in configs["links"] + configs["links-api"])


def create_admin(database, *arguments):
    environment = {"PG_URL": database.url("waymark_links_api"), **{name: value for name, value in os.environ.items() if name.endswith("SAN_OPTIONS")}}
    return subprocess.run([BUILD / "bin/links-api", "--create-admin", *arguments], env=environment, capture_output=True, text=True, check=False)


def way_in(done):
    assert done.returncode == 0 and done.stderr == "", done
    return done.stdout.splitlines()[-1]


def set_password(service, link, password=PASSWORD):
    return Api(service.url).call("POST", "/api/auth/password-reset", {"token": link.partition("#")[2], "new_password": password})


def log_in(service, email, password=PASSWORD):
    return Api(service.url).call("POST", "/api/auth/login", {"email": email, "password": password})


def test_the_log_of_a_closed_instance_without_an_administrator_says_the_way_in(database, spawn):
    for registration in ("invite", "closed"):
        service = spawn(REGISTRATION=registration)
        [said] = wait_until(lambda of=service: of.events("no_administrator"), "the way in")
        assert "--create-admin EMAIL" in said["way_in"] and said["registration"] == registration
    link = way_in(create_admin(database, "boss@example.com"))
    assert set_password(service, link).status == 204
    quiet = spawn(REGISTRATION="closed")
    assert log_in(quiet, "boss@example.com").status == 200
    quiet.stop()
    assert quiet.events("no_administrator") == []


def test_an_open_instance_needs_no_way_in(spawn, database):
    database.run("UPDATE users SET role = 'user'")
    service = spawn()
    assert log_in(service, "boss@example.com").status == 200
    service.stop()
    assert service.events("no_administrator") == []


def test_the_operator_makes_the_first_administrator_who_sets_a_password_once(start, database, expect):
    service, email = start(**CLOSED), unique_email()
    done = create_admin(database, email, "https://api.sho.rt/app/")
    link = way_in(done)
    assert re.fullmatch(r"https://api\.sho\.rt/app/reset#wmr_\w{43}", link) and email in done.stdout and "the new account" in done.stdout
    for password in (PASSWORD, "", "none", "null"):
        assert log_in(service, email, password).status in (400, 401), "there is no password yet"
    assert set_password(service, link).status == 204
    expect(set_password(service, link), 403)
    admin = Api(service.url)
    admin.token = log_in(service, email).json["access_token"]
    assert admin.call("GET", "/api/admin/users").status == 200
    user_id = admin.call("GET", "/api/auth/me").json["user"]["id"]
    actions = database.run("SELECT action, details->>'role' FROM audit_log WHERE subject_type = 'user' AND subject_id = %s AND actor_id IS NULL ORDER BY id", user_id)
    assert actions == [("user.create", "admin"), ("user.password_reset_create", None)]


def test_the_operator_makes_an_existing_account_an_administrator(service, database):
    user = Api(service.url)
    user.register_and_login(unique_email())
    user_id = user.call("GET", "/api/auth/me").json["user"]["id"]
    assert user.call("GET", "/api/admin/users").status == 403
    database.run("UPDATE users SET blocked = true WHERE id = %s", user_id)
    replaced = way_in(create_admin(database, user.email.upper()))
    done = create_admin(database, user.email, "http://127.0.0.1:8081/?a=b#c")
    link = way_in(done)
    assert f"the existing account {user_id} of {user.email}" in done.stdout and link.startswith("http://127.0.0.1:8081/app/reset#wmr_")
    assert replaced.startswith("/app/reset#wmr_"), "the dashboard's address is not known"
    assert user.call("GET", "/api/admin/users").status == 200, "with the same token as before"
    assert log_in(service, user.email).status == 200, "the password stays valid until there is another one"
    assert set_password(service, replaced).status == 403
    assert set_password(service, link, "another horse of staples").status == 204
    assert [log_in(service, user.email, each).status for each in (PASSWORD, "another horse of staples")] == [401, 200]
    assert user.call("GET", "/api/auth/me").status == 401, "earlier logins have ended"


@pytest.mark.parametrize("arguments", [["nobody"], ["a@b@c"], ["a b@c.example"], [""], ["@c.example"], ["a@c.example", "api.sho.rt"], ["a@c.example", "ftp://api.sho.rt"], ["a@c.example", "https://"], ["a@c.example", "https://a b/"], [], ["a@c.example", "https://a", "b"]])
def test_a_wrong_argument_makes_nobody_an_administrator(database, arguments):
    before = database.run("SELECT id, role FROM users ORDER BY id")
    done = create_admin(database, *arguments)
    assert done.returncode == 64 and done.stderr and "wmr_" not in done.stdout, done
    assert database.run("SELECT id, role FROM users ORDER BY id") == before


def test_without_a_database_nothing_is_printed_that_looks_like_a_link(database):
    done = subprocess.run([BUILD / "bin/links-api", "--create-admin", "a@c.example"], env={}, capture_output=True, text=True, check=False)
    assert done.returncode == 64 and "PG_URL: is required" in done.stderr and done.stdout == ""


# --- who may register ---


def register(service, email, **more):
    return Api(service.url).call("POST", "/api/auth/register", {"email": email, "password": PASSWORD, **more})


def test_only_the_mail_domains_of_the_operator_register(start, expect):
    service = start(REGISTRATION_DOMAINS="example.com, .corp.example")
    name = unique_email().partition("@")[0]
    for i, domain in enumerate(("example.com", "EXAMPLE.com", "corp.example", "eu.corp.example", "a.b.CORP.example")):
        assert register(service, f"{name}-{i}@{domain}").status == 201, domain
    for domain in ("other.example", "www.example.com", "example.com.evil.example", "xexample.com", "xcorp.example", "example.co", "com", ".example.com",
                   "example.com.", "example.com/evil.example", "evil.example/example.com", "example.com:25", "example.com,evil.example", "corp.example.evil"):  # fmt: skip
        problem = expect(register(service, f"{name}@{domain}"), 400, "/email")
        assert problem["errors"][0]["code"] == ("email-domain" if re.fullmatch(r"\w[\w.]*\w", domain) else "email"), domain
    assert Api(service.url).call("GET", "/api/instance").json["registration_domains"] == ["example.com", ".corp.example"]


def test_an_instance_says_what_is_allowed(service, start):
    ask_for = lambda of: {**Api(of.url).call("GET", "/api/instance").json, "short_base": None}  # noqa: E731
    later = {"password_login": True, "sign_in": [], "mail": False, "workspace_creation": "everyone", "short_base": None, "operator_name": "", "operator_logo": ""}
    assert Api(start(PUBLIC_BASE_URL="https://go.example/").url).call("GET", "/api/instance").json["short_base"] == "https://go.example"
    assert ask_for(service) == {"registration": "open", "registration_domains": [], "anonymous_links": True, "public_stats": True, "page_titles": False, **later}
    assert ask_for(start(**CLOSED)) == {"registration": "closed", "registration_domains": [], "anonymous_links": False, "public_stats": False, "page_titles": False, **later}
    assert ask_for(start(**production())) == {"registration": "invite", "registration_domains": [], "anonymous_links": False, "public_stats": True, "page_titles": False, **later}


def test_compose_and_systemd_close_the_same_doors_as_production():
    doors = {name: value for name, value in production().items() if name in CLOSED}
    compose = yaml.safe_load((ROOT / "deploy/compose/compose.yaml").read_text())["services"]["links-api"]["environment"]
    unit = dict(re.findall(r"^Environment=(\w+)=(.*)$", (ROOT / "deploy/systemd/waymark-links-api.service").read_text(), re.M))
    assert doors == {"REGISTRATION": "invite", "ANONYMOUS_LINKS": "off"}
    for settings in (compose, unit):
        assert {name: value for name, value in settings.items() if name in CLOSED} == doors


# --- sixty strangers ---

JSON = {"Content-Type": "application/json"}


def strangers(victim, link):
    """Requests without a credential that could make an account, a link or another row: (method, path, headers, body)."""
    account = json.dumps({"email": "stranger@example.com", "password": PASSWORD})
    target = json.dumps({"original_url": URL})
    forms = [
        JSON, {"Content-Type": "application/json; charset=utf-8"}, {"Content-Type": "text/plain"}, {}, {**JSON, "Idempotency-Key": "a-key"},
        {**JSON, "Sec-Fetch-Site": "same-origin", "Origin": "https://sho.rt"}, {**JSON, "X-Forwarded-For": "192.0.2.97", "X-Real-IP": "127.0.0.1"},
        {**JSON, "X-HTTP-Method-Override": "PUT"}, {**JSON, "Authorization": "Bearer wm_" + "a" * 43}, {**JSON, "X-Api-Key": invent_secret("wm_")},
        {**JSON, "Cookie": f"__Host-waymark={invent_secret('wms_')}", "Sec-Fetch-Site": "same-origin"},
        {**JSON, "Authorization": f"Bearer {make_token(victim, secret='x' * 32)}"},
        {**JSON, "Authorization": f"Bearer {sign({'alg': 'none'}, {'sub': str(victim)}, '')}"},
    ]  # fmt: skip
    for path, body in (("/api/auth/register", account), ("/api/links/public", target), ("/api/urls/public", target)):
        yield from (("POST", path, headers, body) for headers in forms)
    accounts = [
        {"name": "Stranger"}, {"role": "admin"}, {"invitation": invent_secret("wmi_")}, {"invitation": None}, {"email": "STRANGER@EXAMPLE.COM"},
        {"email": ["stranger@example.com"]}, {"password": "short"},
    ]  # fmt: skip
    yield from (("POST", "/api/auth/register", JSON, json.dumps({**json.loads(account), **more})) for more in accounts)
    links = [{"slug": "stranger"}, {"reuse": True}, {"title": "x", "tags": ["x"], "notes": "x"}, {"expires_at": "2099-01-01T00:00:00Z"}, {"original_url": [URL]}]
    yield from (("POST", "/api/links/public", JSON, json.dumps({**json.loads(target), **more})) for more in links)
    for path, body in (("/api/auth/register", account), ("/api/links/public", target), ("/api/links", target)):
        yield from ((method, path, JSON, body) for method in ("PUT", "PATCH", "DELETE", "OPTIONS", "BREW"))
        yield from (("POST", path + odd, JSON, body) for odd in ("/", "?x=1", "?token=" + "a" * 43, "%2F", "/../public", "/1"))
        yield "POST", path.upper(), JSON, body
        yield "POST", f"/api/workspaces/{victim}{path.removeprefix('/api')}", JSON, body
        yield "POST", path, JSON, body + " " * 40_000
    bulk = json.dumps({"links": [{"original_url": URL}] * 3})
    claim = json.dumps({"links": [{"slug": "stranger", "claim_token": invent_secret("wmc_")}]})
    for method, path, body in [
        ("POST", "/api/links", target), ("POST", "/api/urls", target), ("POST", "/api/links/bulk", bulk), ("POST", "/api/urls/bulk", bulk),
        ("POST", "/api/links/bulk", bulk[:-1] + " " * 100_000 + "}"), ("POST", "/api/links/sync", claim), ("POST", "/api/links/sync", bulk), ("PATCH", "/api/links?filter=id:>0", '{"tags":["x"]}'),
        ("PATCH", f"/api/links/{link}", '{"notes":"x"}'), ("DELETE", f"/api/links/{link}?hard=true", None), ("PATCH", "/api/tags/x", '{"color":"#123456"}'),
        ("POST", "/api/shares", json.dumps({"link_id": link})), ("POST", "/api/shared/access", json.dumps({"token": invent_secret("wmshare_")})),
        ("POST", "/api/keys", '{"name":"x","scopes":["links:write"]}'), ("POST", "/api/admin/hosts", '{"host":"stranger.example"}'),
        ("PATCH", f"/api/admin/users/{victim}", '{"role":"admin"}'), ("POST", f"/api/admin/users/{victim}/password-reset", None), ("DELETE", f"/api/admin/users/{victim}", None),
        ("POST", "/api/auth/password-reset", json.dumps({"token": invent_secret("wmr_"), "new_password": PASSWORD})), ("POST", "/api/auth/password", "{}"),
        ("POST", "/api/auth/login", account), ("POST", "/api/auth/session", account), ("DELETE", "/api/auth/session", None), ("PATCH", "/api/auth/me", '{"name":"x"}'),
    ]:  # fmt: skip
        yield method, path, {} if body is None else JSON, body


def rows(database):
    tables = [name for (name,) in database.run("SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY relname")]
    return {name: database.value(f"SELECT count(*) FROM {name}") for name in tables}


def send_all(service, database, victim):
    """What strangers got, and how many rows each table has more."""
    link = victim.create()["id"]
    insert_session(database, victim.id)
    wait_until(lambda: database.value("SELECT count(*) FROM outbox WHERE NOT published") == 0, "the outbox to be empty")
    before = rows(database)
    sent = [(each, ask(service.url, *each)) for each in strangers(victim.id, link)]
    wait_until(lambda: database.value("SELECT count(*) FROM outbox WHERE NOT published") == 0, "the outbox to be empty")
    after = rows(database)
    assert len({json.dumps(each) for each, _ in sent}) == len(sent) > 60
    assert [each for each in sent if each[1].status >= 500] == []
    return sent, {name: after[name] - before[name] for name in after if after[name] != before[name] and name != "outbox"}


def test_sixty_strangers_leave_nothing_in_an_instance_with_the_settings_of_production(start, database):
    service = start(**production())
    sent, more = send_all(service, database, User(service, database))
    print(f"{len(sent)} requests without a credential:", sorted((status, len(list(found))) for status, found in itertools.groupby(sorted(answer.status for _, answer in sent))))
    assert more == {}
    assert [each for each in sent if each[1].status < 300 and each[0][0] != "OPTIONS"] == []


def test_the_same_strangers_leave_rows_in_an_open_instance(spawn, database):
    """Control: the requests above do create accounts and links where the doors are open."""
    service = spawn()
    _, more = send_all(service, database, User(service, database))
    assert more["users"] == 1 and more["links"] > 10, more


# --- what answers without a credential ---


def documented():
    """Route → kinds of problems of a closed instance, from the table of docs/operations.md."""
    text = (ROOT / "docs/operations.md").read_text().partition("### What answers without a login")[2].partition("\n#")[0]
    found = re.findall(r"^\| `(\w+ \S+)` \| (.*) \|$", text, re.M)
    return {route: re.findall(r"403 `([a-z-]+)`", answer) for route, answer in found}


def scan(service):
    return {f"{method} {pattern}": ask(service.url, method, make_path(pattern, 7), {**JSON, "Accept": "*/*"}, None if method in ("GET", "DELETE") else "{}") for method, pattern, *_ in ROUTES}


def test_the_documents_say_what_answers_without_a_credential(service, start):
    opened, closed = scan(service), scan(start(**CLOSED))
    public = {route for route, answer in opened.items() if answer.status != 401}
    assert public == set(documented()) and len(ROUTES) > 2 * len(public)
    refused = {route: [answer.json["type"].removeprefix("/problems/")] for route, answer in closed.items() if answer.status == 403 != opened[route].status}
    assert refused == {route: kinds for route, kinds in documented().items() if kinds}
