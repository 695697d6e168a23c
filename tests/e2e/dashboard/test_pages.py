"""What holds on every page of the dashboard, and the pages of administrators: in Chromium, on the real services."""

import json
import os
import re
import urllib.parse

import pytest
from clients import CHROME, GOOGLEBOT, unique_email
from waiting import wait_until

from dashboard.addresses import BERLIN, GOOGLE
from dashboard.browser import PASSWORD, ROOT, expect, make_admin
from dashboard.payloads import PAYLOADS


def test_what_is_left_of_the_day_and_a_deleted_name_are_said(env, page, window, user, anonymous):
    anonymous.register_and_login(unique_email())
    make_admin(env, anonymous.email)
    me = user.call("GET", "/api/auth/me").json["user"]["id"]
    assert anonymous.call("PATCH", f"/api/admin/users/{me}", {"links_per_day": 3}).status == 200
    link = user.create()
    user.call("DELETE", f"/api/links/{link['id']}")
    window.goto("/links/bulk")
    lines = page.get_by_label("Addresses")
    lines.fill("https://example.com/1\nhttps://example.com/2")
    expect(page.get_by_role("button", name="Create 2 links")).to_be_visible()
    expect(page.get_by_text("cannot be created")).to_have_count(0)
    lines.fill("".join(f"https://example.com/{i}\n" for i in range(5)))
    expect(page.get_by_text("2 of 3 links left for 24 hours. The last 3 cannot be created.")).to_be_visible()
    lines.fill(f"https://example.com/\t{link['slug']}")
    window.press("Create 1 link")
    expect(page.get_by_text("Belongs to a deleted link.")).to_be_visible()
    window.goto("/links?edit=new")
    page.get_by_label("Destination", exact=True).fill("https://example.com/")
    page.get_by_role("dialog").get_by_label("Short name").fill(link["slug"])
    window.press("Create link")
    expect(page.get_by_role("dialog").locator(".field-error")).to_contain_text("Belongs to a deleted link.")


def test_a_closed_instance_offers_nothing_to_strangers(window):
    page = window.page
    instance = {"registration": "invite", "registration_domains": [], "anonymous_links": False, "public_stats": False, "page_titles": False, "password_login": True, "sign_in": [], "mail": False, "workspace_creation": "everyone", "short_base": "https://go.example", "operator_name": "Example Ltd", "operator_logo": "/app/icon.svg"}  # fmt: skip
    page.route("**/api/instance", lambda route: route.fulfill(json=instance))
    window.goto("/login")
    brand = page.get_by_role("link", name="Example Ltd")
    assert brand.locator("img").evaluate("async (img) => (await img.decode(), img.naturalWidth)") > 0
    for path, said in (("/start", "Log in to create links"), ("/login", "Welcome back"), ("/register", "By invitation only.")):
        window.goto(path)
        expect(page.get_by_text(said)).to_be_visible()
        expect(page.get_by_text("By invitation only. Ask an administrator of this server.")).to_be_visible()
        expect(page.get_by_role("button" if path == "/login" else "link", name="Log in").first).to_be_visible()
        expect(page.get_by_role("link", name="Create account")).to_have_count(0)
        expect(page.get_by_role("textbox")).to_have_count(2 if path == "/login" else 0)
        assert window.violations() == []
    instance |= {"registration": "open", "registration_domains": ["example.com", ".corp.example"], "anonymous_links": True}
    window.goto("/register")
    expect(page.get_by_text("Mail domains: example.com, .corp.example")).to_be_visible()
    window.goto("/start")
    expect(page.get_by_role("link", name="Create account")).to_be_visible()
    expect(page.get_by_role("textbox")).to_have_count(1)
    instance |= {"sign_in": [{"id": "company", "name": "Example Ltd"}]}
    for code, said in (("oidc-away", "The provider does not answer"), ("oidc-exists", "Log in with its password"), ("<script>", None)):
        window.goto(f"/login?error={code}")
        expect(page.get_by_role("link", name="Continue with Example Ltd")).to_have_attribute("href", "/api/auth/oidc/company")
        expect(page.get_by_role("alert").filter(has_text=said or "script")).to_have_count(1 if said else 0)
        assert window.violations() == []


def test_an_administrator_blocks_a_host_and_an_account_by_keyboard_alone(env, page, window, user, anonymous):
    make_admin(env, user.email)
    anonymous.register_and_login(unique_email())
    link = user.create("https://evil.example/")
    window.goto("/admin/hosts")
    window.tab_to("Host")
    page.keyboard.type("evil.example")
    page.keyboard.press("Enter")
    expect(page.get_by_role("row").filter(has_text="evil.example")).to_be_visible()
    window.press("Links")
    expect(page.get_by_role("row").filter(has_text=link["slug"])).to_contain_text("Blocked")
    window.goto(f"/links/{link['id']}")
    expect(page.get_by_text("An administrator of this server has blocked its site")).to_be_visible()
    window.goto("/admin/hosts")
    window.press("Unblock evil.example")
    expect(page.get_by_role("row").filter(has_text="evil.example")).to_have_count(0)
    window.press("Users")
    expect(page.get_by_role("heading", level=1)).to_have_text("Users")
    page.keyboard.press("/")
    page.keyboard.type(anonymous.email)
    expect(page.locator("tbody tr")).to_have_count(1)
    # The number by which the audit log names an account.
    expect(page.locator("tbody tr")).to_contain_text(f"Account number {anonymous.call('GET', '/api/auth/me').json['user']['id']}")
    window.choose("Actions for .*", 0)
    window.press("Cancel")
    assert anonymous.call("GET", "/api/auth/me").json["user"]["role"] == "user"
    window.choose("Actions for .*", 0)
    window.press("Make administrator")
    expect(page.get_by_role("row").filter(has_text=anonymous.email)).to_contain_text("Administrator")
    window.choose("Actions for .*", 5)
    window.press("Cancel")
    assert anonymous.call("GET", "/api/links").status == 200
    window.choose("Actions for .*", 5)
    expect(page.get_by_role("dialog")).to_contain_text("Their links keep working.")
    window.press("Block")
    expect(page.get_by_role("row").filter(has_text=anonymous.email)).to_contain_text("Blocked")
    assert anonymous.call("GET", "/api/links").status == 403
    window.press("Audit log")
    page.get_by_role("searchbox", name="Account").fill(user.email)
    page.get_by_role("button", name=user.email, exact=True).click()
    expect(page.get_by_role("row").filter(has_text=f"blocked the account {anonymous.email}")).to_be_visible()


def test_a_visitor_reports_a_link_and_an_administrator_blocks_it(env, browser, page, window, user, anonymous):
    make_admin(env, user.email)
    anonymous.register_and_login(unique_email())
    links = [anonymous.create(f"https://bank-{anonymous.call('GET', '/api/auth/me').json['user']['id']}.example/{i}") for i in range(2)]
    visitor = browser.open(locale="de-DE", color_scheme="dark")
    form = visitor.page
    for link in links:
        form.goto(f"{env['LINKS_API_URL']}/report?link={urllib.parse.quote(link['short_url'], safe='')}")
        expect(form.get_by_role("heading", level=1)).to_have_text("Einen Link melden")
        assert visitor.violations() == [] and visitor.overflow() <= 0
        expect(form.get_by_label("Kurzlink")).to_have_value(link["short_url"])
        form.get_by_label("Kurzlink").fill("https://nobody.example/x")
        form.get_by_label("Was stimmt nicht mit ihm?").select_option("phishing")
        form.get_by_label("Details").fill("Zeile eins\nZeile <b>zwei</b>")
        form.get_by_role("button", name="Meldung senden").click()
        expect(form.get_by_role("alert")).to_have_text("Diesen Link gibt es hier nicht. Prüfen Sie die Adresse.")
        assert visitor.violations() == []
        form.get_by_label("Kurzlink").fill(link["short_url"])
        form.get_by_role("button", name="Meldung senden").click()
        expect(form.get_by_role("heading", level=1)).to_have_text("Danke")
        assert visitor.violations() == []
    visitor.close()

    window.goto("/admin/reports")
    rows = [page.get_by_role("row").filter(has_text=link["slug"]) for link in links]
    expect(rows[0]).to_contain_text("Zeile <b>zwei</b>")
    expect(rows[0]).to_contain_text("Phishing")
    maker = anonymous.call("GET", "/api/auth/me").json["user"]
    expect(rows[0].get_by_role("link", name=maker["email"])).to_have_attribute("href", re.compile(rf"/admin/users/{maker['id']}$"))
    expect(page.get_by_role("navigation").get_by_role("link", name=re.compile(r"^Reports *\d+\+? Open$"))).to_be_visible()
    rows[0].get_by_role("button", name="Actions for").click()
    page.get_by_role("menuitem", name="Block the link").click()
    page.get_by_label("Reason").fill("It imitates a bank.")
    page.get_by_role("button", name="Block", exact=True).click()
    expect(rows[0]).to_have_count(0)
    expect(page.get_by_text("is blocked, and its reports are closed.")).to_be_visible()
    expect(page.get_by_role("link", name="Show closed reports")).to_have_attribute("href", re.compile("state=closed$"))
    rows[1].get_by_role("button", name="Actions for").click()
    page.get_by_role("menuitem", name="Block the host").click()
    page.get_by_role("dialog").get_by_label("Reason").fill("bank")
    assert window.violations() == []
    page.get_by_role("button", name="Block", exact=True).click()
    expect(rows[1]).to_have_count(0)
    assert any(each["host"].startswith("bank-") and each["reason"] == "bank" for each in user.call("GET", "/api/admin/hosts").json["hosts"])
    page.get_by_label("State").select_option("closed")
    expect(rows[0]).to_contain_text("Blocked")
    expect(rows[0]).to_contain_text(user.email)
    rows[0].get_by_role("button", name="Actions for").click()
    page.get_by_role("menuitem", name="Unblock the link").click()
    expect(rows[0].get_by_text("Blocked", exact=True)).to_have_count(0)
    rows[0].get_by_role("button", name="Actions for").click()
    page.get_by_role("menuitem", name="Reopen").click()
    expect(rows[0]).to_have_count(0)
    page.get_by_label("State").select_option("open")
    expect(rows[0]).to_have_count(1)


def test_an_administrator_of_a_server_without_mail_is_told_which_settings_to_make(env, page, window, user):
    make_admin(env, user.email)
    window.goto("/admin/mail")
    expect(page.get_by_role("main")).to_contain_text("set SMTP_URL for the janitor and MAIL_FROM")
    expect(page.get_by_role("button", name="Send a test to myself")).to_have_count(0)
    assert window.violations() == []


def test_an_administrator_sees_which_mails_wait_and_sends_a_test(env, page, window, user):
    make_admin(env, user.email)
    mail = {"id": 7, "kind": "invitation", "to": "bob@example.com", "state": "waiting", "error": "Failed to connect", "created_at": "2026-11-20T08:00:00.123Z", "next_attempt_at": "2026-11-20T08:01:00.123Z", "ended_at": None}
    page.route("**/api/admin/mail", lambda route: route.fulfill(json={"mails": [mail, {**mail, "id": 6, "state": "refused", "error": "550 no such user", "next_attempt_at": None}]}))
    page.route("**/api/admin/mail-test", lambda route: route.fulfill(status=202, json={"to": user.email}))
    instance = user.call("GET", "/api/instance").json
    page.route("**/api/instance", lambda route: route.fulfill(json={**instance, "mail": True}))
    window.goto("/admin/mail")
    expect(page.get_by_role("row").nth(1)).to_contain_text("Waiting")
    expect(page.get_by_role("row").nth(2)).to_contain_text("550 no such user")
    page.get_by_role("button", name="Send a test to myself").click()
    expect(page.get_by_text(f"A test is on its way to {user.email}.")).to_be_visible()
    assert window.violations() == []


def test_an_administrator_sets_the_documents_of_apps(env, page, window, user):
    make_admin(env, user.email)
    user.call("DELETE", "/api/admin/app-documents/assetlinks.json")
    window.goto("/admin/apps")
    form = page.locator("form").filter(has_text="Android")
    field = form.get_by_label("/.well-known/assetlinks.json")
    for text, said in (("[{", "Not valid JSON."), ('[{"relation": []}]', "/0/relation must have at least one"), ("{}", "must be an array")):
        field.fill(text)
        form.get_by_role("button", name="Save").click()
        expect(form.locator(".field-error")).to_contain_text(said)
    document = [{"relation": ["delegate_permission/common.handle_all_urls"], "target": {"namespace": "web", "site": "https://example.com"}}]
    field.fill(json.dumps(document))
    form.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved.", exact=True)).to_be_visible()
    assert page.locator(".toast").last.bounding_box()["height"] < 60, "icon, text and button stand on one line"
    expect(form.locator(".field-error")).to_have_count(0)
    assert user.call("GET", "/api/admin/app-documents/assetlinks.json").json["document"] == document
    form.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(form.get_by_role("button", name="Delete")).to_have_count(0)
    expect(field).to_have_value("")
    assert user.call("GET", "/api/admin/app-documents/assetlinks.json").status == 404


def test_the_host_of_an_address_is_blocked_and_shown_before(env, page, window, user):
    make_admin(env, user.email)
    window.goto("/admin/hosts")
    expect(page.get_by_text("others stop within seconds")).to_be_visible()
    host = f"{user.email.partition('@')[0]}.example"
    field = page.get_by_label("Host", exact=True)
    for written, shown in {
        f"https://{host}/page?a=b#c": host, f"//{host}": host, f"{host}:8080": host, f"{host}/": host, f"http://ann:secret@{host}:80/": host,
        "http://[2001:db8::1]:80/x": "[2001:db8::1]", "[2001:db8::1]:80": "[2001:db8::1]",
    }.items():  # fmt: skip
        field.fill(written)
        expect(page.get_by_text(f"Only the host: {shown}", exact=True)).to_be_visible()
    for written in (f"www.{host}", f"https://www.{host}/page"):
        field.fill(written)
        expect(page.get_by_text(f"Only www.{host}. For the whole site, enter {host}.")).to_be_visible()
    for written in (host, "2001:db8::1", "192.0.2.1"):
        field.fill(written)
        expect(page.get_by_text("example.com or an IP address")).to_be_visible()
    for written in ("https://", "no host/page"):
        field.fill(written)
        field.press("Enter")
        expect(page.locator(".field-error")).to_contain_text("like example.com")
    field.fill(f"https://{host}/page")
    assert window.violations() == []
    field.press("Enter")
    expect(page.get_by_text(f"{host} is blocked.")).to_be_visible()
    assert [each["host"] for each in user.call("GET", "/api/admin/hosts").json["hosts"] if host in each["host"]] == [host]
    page.get_by_role("button", name=f"Unblock {host}").click()
    expect(page.get_by_role("row").filter(has_text=host)).to_have_count(0)


def test_an_administrator_sends_an_address_for_a_new_password(env, page, window, user, browser, anonymous):
    make_admin(env, user.email)
    anonymous.register_and_login(unique_email())
    window.goto(f"/admin/users?q={anonymous.email}")
    window.settle()
    window.choose("Actions for .*", 2)
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Copy").click()
    address = page.evaluate("navigator.clipboard.readText()")
    assert address.startswith(f"{window.base}/app/reset#wmr_")
    expect(dialog).to_contain_text(address)
    picture(window, "/reset-address", "light-wide")
    window.resize(*PHONE)
    assert (window.overflow(), window.cut_off(), window.violations()) == (0, [], [])
    picture(window, "/reset-address", "light-phone")

    other = browser.open()
    other.page.goto(address)
    expect(other.page.get_by_label("Link for a new password")).to_have_count(0)
    other.page.get_by_label("New password", exact=True).fill("another " + PASSWORD)
    other.page.get_by_role("button", name="Change password").click()
    expect(other.page.get_by_text("Password changed.")).to_be_visible()
    # The address works once, also if it is pasted into the page.
    other.goto("/reset")
    other.page.get_by_label("Link for a new password").fill(address)
    other.page.get_by_label("New password", exact=True).fill(PASSWORD)
    other.page.get_by_role("button", name="Change password").click()
    expect(other.page.get_by_role("alert")).to_contain_text("Wrong, used or expired")
    other.close()


def test_an_administrator_finds_where_the_links_of_an_account_lead_and_ends_them(env, page, window, user, anonymous):
    make_admin(env, user.email)
    anonymous.register_and_login(unique_email())
    number = anonymous.call("GET", "/api/auth/me").json["user"]["id"]
    bank, prize = f"bank-{number}.example", f"prize-{number}.example"
    split = {"variants": [{"name": "a", "url": f"https://{prize}/a", "weight": 1}, {"name": "b", "url": f"https://{bank}/b", "weight": 1}]}
    links = [anonymous.create(f"https://{bank}/login"), anonymous.create(f"https://{bank}/card", split=split), anonymous.create(f"https://other-{number}.example/")]
    window.goto(f"/admin/users?q={anonymous.email}")
    window.choose("Actions for .*", 5)
    page.get_by_role("dialog").get_by_role("link", name="See and block their links").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Links of {anonymous.email}")
    rows = [page.get_by_role("row").filter(has_text=link["slug"]) for link in links]
    expect(rows[0]).to_contain_text(f"{bank}/login")
    expect(rows[1]).to_contain_text(f"Also leads to {prize}")
    assert window.violations() == []
    picture(window, "/user", "light-wide")
    rows[2].get_by_role("button", name="Actions for").click()
    page.get_by_role("menuitem", name="Block the link").click()
    page.keyboard.type("Phishing")
    page.keyboard.press("Enter")
    expect(rows[2]).to_contain_text("Blocked")
    rows[1].get_by_role("button", name="Actions for").click()
    expect(page.get_by_role("menuitem", name=f"Block {prize}")).to_be_visible()
    page.get_by_role("menuitem", name=f"Block {bank}").click()
    page.keyboard.type("Phishing")
    page.keyboard.press("Enter")
    for row in rows[:2]:
        expect(row).to_contain_text("Host blocked")
    window.resize(*PHONE)
    assert (window.overflow(), window.cut_off(), window.violations()) == (0, [], [])
    picture(window, "/user", "light-phone")
    window.resize(*WIDE)
    page.get_by_role("button", name="Disable all active links").click()
    page.get_by_role("dialog").get_by_role("button", name="Disable all active links").click()
    expect(page.get_by_text("3 links disabled.")).to_be_visible()
    assert {link["state"] for link in anonymous.call("GET", "/api/links").json["links"]} == {"disabled"}
    page.get_by_role("button", name="Block account").click()
    page.get_by_role("dialog").get_by_role("button", name="Block account").click()
    expect(page.get_by_role("button", name="Unblock", exact=True)).to_be_visible()
    assert anonymous.call("GET", "/api/links").status == 403
    for host in user.call("GET", "/api/admin/hosts").json["hosts"]:
        if host["host"] == bank:
            user.call("DELETE", f"/api/admin/hosts/{host['id']}")


def test_the_audit_log_names_accounts_links_and_hosts(env, page, window, user):
    make_admin(env, user.email)
    kept, deleted, shared = user.create()["slug"], user.create(), user.create()
    assert user.call("POST", "/api/shares", {"link_id": shared["id"]}).status == 201
    assert user.call("DELETE", f"/api/links/{deleted['id']}").status == 204
    host = f"{user.email.partition('@')[0]}.example"
    blocked = user.call("POST", "/api/admin/hosts", {"host": host})
    assert blocked.status == 201
    assert user.call("DELETE", f"/api/admin/hosts/{blocked.json['host']['id']}").status == 204
    # The whole instance has other entries too, made by other tests meanwhile.
    window.goto(f"/admin/audit?actor={user.call('GET', '/api/auth/me').json['user']['id']}")
    rows = page.get_by_role("row").filter(has_text=user.email)
    for sentence in (f"created {kept}", f"deleted {deleted['slug']}", f"shared statistics ({shared['slug']})", f"blocked the host {host}", f"unblocked the host {host}"):
        expect(rows.filter(has_text=re.compile(f"(?<!un){re.escape(sentence)}"))).to_have_count(1)
    # Where it leads stands on the page of the link.
    rows.get_by_role("link", name=f"created {kept}").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(kept)
    page.go_back()
    rows.first.get_by_role("link", name=user.email, exact=True).first.click()
    expect(page).to_have_url(re.compile(r"actor=\d+"))
    expect(page.locator("tbody tr").filter(has_not_text=user.email)).to_have_count(0)
    page.get_by_label("Action", exact=True).select_option("blocked the host …")
    expect(page.locator("tbody tr")).to_have_count(1)
    page.get_by_role("button", name=f"Remove filter {user.email}").click()
    who = page.get_by_label("Account", exact=True)
    # A part of an address, in either case, finds it; several are a choice.
    who.press_sequentially(user.email.partition("@")[0].upper())
    page.get_by_role("button", name=user.email, exact=True).click()
    expect(page).to_have_url(re.compile(r"actor=\d+"))
    page.get_by_role("button", name=f"Remove filter {user.email}").click()
    who.fill("nobody-has-this")
    expect(page.get_by_text("No account found")).to_be_visible()


KINDS = (
    "CountingLagging", "CountingStalled", "Degraded", "EventsDropped", "JanitorTaskLate", "KafkaUnreachable", "NotReady", "OutboxRelayMissing", "OutboxStale", "PartitionsHalted", "RedisUnreachable", "ServiceMissing",
    "TargetDown",
)  # fmt: skip


def test_an_administrator_sees_the_health_and_what_to_do(env, page, window, user):
    make_admin(env, user.email)
    window.goto("/admin/health")
    for service in ("redirector", "links-api", "analytics-consumer", "janitor"):
        expect(page.get_by_role("row").filter(has_text=service).filter(has_text="Ready").first).to_be_visible()
    shown = user.call("GET", "/api/admin/health").json
    shown["problems"] = [{"kind": f"Waymark{kind}", "subject": f"<b>{kind}</b>"} for kind in KINDS]
    assert isinstance(next(each["events_queued"] for each in shown["services"] if each["name"] == "redirector"), int)
    shown["services"] = [
        {"name": "redirector", "address": f"10.0.0.{n}:9090", "status": status, "reason": reason, "failing": [], "events_queued": queued, "events_dropped": lost}
        for n, (status, reason, queued, lost) in enumerate([("ready", None, 12_000, 7), ("ready", None, 345, 0), ("unreachable", "timeout", None, None)])
    ]
    page.route("**/api/admin/health", lambda route: route.fulfill(json=shown))
    expect(page.locator(".health-problems > li")).to_have_count(len(KINDS))
    expect(page.get_by_role("heading", name="<b>NotReady</b> is not ready.")).to_be_visible()
    expect(page.get_by_text("No response within a second")).to_be_visible()
    expect(page.get_by_text("Clicks wait in journals.")).to_be_visible()
    journals = page.get_by_role("region", name="Counting").locator("div").filter(has_text="Clicks to publish")
    expect(journals.locator("dd")).to_have_text("≥ 12,345")
    lost = page.get_by_role("region", name="Counting").locator("div").filter(has_text="Clicks lost lately")
    expect(lost.locator("dd")).to_have_text("≥ 7")
    assert window.violations() == []
    with window.context.expect_page() as opened:
        page.get_by_role("link", name="Runbook: WaymarkNotReady").click()
    expect(opened.value.locator("body")).to_contain_text("## WaymarkNotReady")
    opened.value.close()
    # A good state must not stay on the screen when it is not known any more.
    page.route("**/api/admin/health", lambda route: route.fulfill(status=503, json={"type": "/problems/temporarily-unavailable", "title": "x", "status": 503, "detail": "x", "instance": "1"}))
    expect(page.get_by_text("Nothing else is known without PostgreSQL.")).to_be_visible()
    expect(page.locator(".health-problems")).to_have_count(0)


def test_a_page_loads_itself_again_after_an_update_of_the_server(page, window, user):
    window.goto("/links")
    page.evaluate("window.before = true")
    asset = re.compile(r"/app/assets/selection-")
    page.route(asset, lambda route: route.fulfill(status=404), times=1)
    page.get_by_role("link", name="Import", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("No connection to the server.")
    page.get_by_role("link", name="Links", exact=True).click()
    index = re.compile(r"/app/$")
    page.route(asset, lambda route: route.fulfill(status=404), times=1)
    page.route(index, lambda route: route.fulfill(content_type="text/html", body="<script type=module src=/app/assets/index-new.js></script>"))
    page.get_by_role("link", name="Import", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Import links")
    assert page.evaluate("window.before") is None


def test_what_users_and_visitors_write_is_never_executed(page, window, user, visitor):
    """Each payload as a title, tag, destination, user agent, referrer and campaign. Ten visits per link, so that all values are listed."""
    assert len(PAYLOADS) * 6 >= 300
    links = []
    for number, payload in enumerate(PAYLOADS):
        link = user.create("https://example.com/?q=" + urllib.parse.quote(payload), title=payload, tags=[payload[:50]])
        links += [link] if number % 10 == 0 else []
        query = urllib.parse.urlencode({"utm_source": payload, "utm_medium": payload, "utm_campaign": payload})
        slug = links[-1]["slug"]
        assert visitor.follow(slug, agent=payload, Referer=payload, path=f"/{slug}?{query}").status == 302
    visits = lambda link: user.call("GET", f"/api/links/{link['id']}/visits?bots=include").json["visits"]  # noqa: E731
    wait_until(lambda: all(len(visits(link)) == 10 for link in links), "the visits")
    hostile = f"?utm_source={urllib.parse.quote(PAYLOADS[0])}"
    paths = ["/links", "/links?page=2", "/links?q=<script>window.hit=1</script>", "/statistics", "/statistics" + hostile, "/login?next=javascript:window.hit=1", "/login?next=//evil.example"]
    for path in [*paths, *(f"/links/{link['id']}?bots=include" for link in links), f"/links/{links[0]['id']}{hostile}"]:
        window.goto(path)
        window.settle()
        assert page.evaluate("window.hit") is None, path
    # Only some of the ten values are listed, and each has a tenth of the visits.
    window.goto(f"/links/{links[1]['id']}?bots=include")
    expect(page.get_by_role("region", name="Campaigns").locator("tbody td.muted").first).to_have_text("10%")


PAGES = ["/statistics", "/links", "/links?edit=new", "/links?state=deleted", "/links/bulk", "/links/{id}?compare=1&bots=include", "/tags", "/live", "/keys", "/shares", "/members", "/workspace", "/workspaces", "/audit", "/account", "/admin/health", "/admin/users", "/admin/hosts", "/admin/reports", "/admin/mail", "/admin/apps", "/admin/audit", "/nowhere"]  # fmt: skip
GUEST_PAGES = ["/start", "/login", "/register", "/reset", "/confirm", "/shared#none", "/invitation#none"]


@pytest.fixture(scope="module")
def administrator(env):
    from clients import Api, Visitor

    api = Api(env["LINKS_API_URL"])
    api.register_and_login(unique_email())
    make_admin(env, api.email)
    links = [api.create(f"https://example.com/a-rather-long-address/number/{i}?with=parameters", title=f"Link {i}", tags=["spring", "mail"]) for i in range(12)]
    # On a middle gray, black and white have the least contrast.
    for tag, color in (("spring", "#757575"), ("mail", "#ffd166")):
        assert api.call("PATCH", f"/api/tags/{tag}", {"color": color}).status == 200
    for agent, address in ((CHROME, BERLIN), (CHROME, GOOGLE), (GOOGLEBOT, GOOGLE)):
        Visitor(env["REDIRECTOR_URL"]).follow(links[0]["slug"], agent=agent, address=address)
    api.wait_for_visits(links[0]["id"], 2, bots=1)
    api.link_id = links[0]["id"]
    shares = [api.call("POST", "/api/shares", {"tag": "spring", "title": "For the board", **more}).json for more in ({"password": PASSWORD}, {})]
    api.shared = [share["url"].removeprefix("/app") for share in shares]
    return api


# The only rules, of those that axe has on by default, whose result depends on the theme.
COLOR_RULES = ["color-contrast", "link-in-text-block"]
# 640 pixels are what 1,280 pixels become at 200 % zoom.
WIDE, ZOOMED, PHONE = (1280, 900), (640, 450), (320, 640)


def picture(window, path, variant):
    """Into build/screenshots with SCREENSHOTS=1."""
    if os.environ.get("SCREENSHOTS") != "1":
        return
    name = re.sub(r"\W+", "-", path.split("?")[0].split("wmshare")[0].format(id="link")).strip("-") or "links"
    window.page.screenshot(path=ROOT / f"build/screenshots/{name}-{variant}.png", full_page="edit" not in path)


def judge(window, path):
    """Loaded once. The theme decides about colors only, and the size about what is cut off."""
    page = window.page
    picture(window, path, "light-wide")
    assert window.violations() == [], path
    page.emulate_media(color_scheme="dark")
    picture(window, path, "dark-wide")
    assert window.violations(COLOR_RULES) == [], f"{path}, dark"
    for variant, size in (("dark-zoom", ZOOMED), ("dark-phone", PHONE)):
        window.resize(*size)
        picture(window, path, variant)
        assert window.overflow() <= 0, f"{path}, {variant}"
        assert window.cut_off() == [], f"{path}, {variant}"
    window.resize(*WIDE)
    page.emulate_media(color_scheme="light")


@pytest.mark.parametrize("who", ["guest", "administrator"])
def test_every_page_is_accessible_and_nothing_is_cut_off(browser, administrator, who):
    window = browser.open(color_scheme="light")
    # Another fragment alone would not load the page again.
    paths = [path for fragment in administrator.shared for path in (fragment, "/start")] + GUEST_PAGES
    if who == "administrator":
        window.login(administrator.email)
        paths = PAGES
    for path in paths:
        window.goto(path.format(id=administrator.link_id))
        window.settle()
        judge(window, path)
    window.close()


def test_the_menu_of_a_phone_is_accessible(browser, administrator):
    window = browser.open(viewport={"width": PHONE[0], "height": PHONE[1]}, color_scheme="dark")
    window.login(administrator.email)
    window.goto("/links")
    window.settle()
    window.page.get_by_role("button", name="Menu").click()
    expect(window.page.get_by_role("link", name="Audit log")).to_be_visible()
    assert window.violations() == []
    assert window.overflow() <= 0
    window.page.keyboard.press("Escape")
    expect(window.page.get_by_role("link", name="Audit log")).not_to_be_visible()
    expect(window.page.get_by_role("button", name="Menu")).to_be_focused()
    window.close()


# What can be pressed and is less than 44 pixels high or wide. A label is pressed in place of its box.
SMALL = """[...document.querySelectorAll("main :is(a, button, label, [type=search]), .menu-list [role=option], .menu-list [role=menuitem]")].filter((each) => {
    const { width, height } = each.getBoundingClientRect();
    return height > 0 && (width < 44 || height < 44);
}).map((each) => each.outerHTML)"""


def test_what_is_pressed_in_the_list_of_a_phone_is_large_enough(browser, administrator):
    window = browser.open(viewport={"width": 360, "height": 640}, has_touch=True, is_mobile=True, reduced_motion="reduce")
    window.login(administrator.email)
    page = window.page
    window.goto("/links?state=active")
    window.settle()
    page.locator("tbody label").first.tap()
    expect(page.get_by_role("region", name="Selected links")).to_be_visible()
    assert page.evaluate(SMALL) == []
    for button in ("Actions for", "Add a filter"):
        page.get_by_role("button", name=button).first.tap()
        expect(page.locator(".menu-list:not(.is-leaving)")).to_be_visible()
        assert page.evaluate(SMALL) == [], button
        page.keyboard.press("Escape")
    window.close()


def test_errors_are_german_in_a_german_page(browser, administrator):
    """What the server says about fields too, and what it knows no kind for."""
    window = browser.open(locale="de-DE")
    window.login(administrator.email)
    page = window.page
    window.goto("/links?edit=new")
    expect(page.get_by_role("button", name="Link erstellen").first).to_be_visible()
    assert page.evaluate("document.documentElement.lang") == "de"
    dialog = page.get_by_role("dialog")
    wrong = (
        ("ftp://example.com", "Keine Webadresse"),
        ("https://ann:secret@example.com", "darf keinen Benutzernamen"),
        ("https://example.com/" + "a" * 8200, "darf höchstens 8192 Bytes haben"),
        ("https://example.com/\\x", "enthält einen umgekehrten Schrägstrich"),
    )
    for address, text in wrong:
        page.get_by_label("Ziel", exact=True).fill(address)
        dialog.get_by_role("button", name="Link erstellen").click()
        expect(dialog.locator(".field-error")).to_contain_text(text)
    page.get_by_label("Ziel", exact=True).fill("https://example.com")
    page.get_by_label("Tags", exact=True).fill(",".join(f"t{i}" for i in range(40)) + ",")
    page.get_by_text("Beginn, Ende und Limit").click()
    page.get_by_label("Endet", exact=True).fill("2020-01-01T10:00")
    dialog.get_by_role("button", name="Link erstellen").click()
    expect(dialog.locator(".field-error")).to_contain_text(["dürfen höchstens", "muss in der Zukunft liegen"])
    window.goto("/links/999999999")
    expect(page.get_by_role("heading", level=1)).to_have_text("Diesen Link gibt es nicht")
    page.get_by_role("link", name="Zu den Links").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Links")
    window.close()


def test_who_forgot_the_password_finds_the_page_for_a_new_one(window):
    window.goto("/login")
    window.page.get_by_role("link", name="Forgot your password?").click()
    expect(window.page.get_by_role("heading", level=1)).to_have_text("Set a new password")


def test_a_guest_is_told_that_a_page_is_missing(window):
    window.goto("/nonsense")
    expect(window.page.get_by_role("heading", level=1)).to_have_text("Page not found")
    window.page.get_by_role("link", name="Go home").click()
    expect(window.page.get_by_role("heading", level=1)).to_have_text("Short links that report every visit")
