"""The dashboard as people use it: in Chromium, on the real services."""

import os
import re
import subprocess
import urllib.parse

import pytest
from clients import CHROME, GOOGLEBOT, unique_email
from waiting import wait_until

from dashboard.browser import PASSWORD, ROOT, Browser, expect
from dashboard.payloads import PAYLOADS

BERLIN = "85.214.132.117"
GOOGLE = "8.8.8.8"


@pytest.fixture(scope="module")
def browser(env):
    chromium = Browser(env["LINKS_API_URL"])
    yield chromium
    chromium.close()


@pytest.fixture
def window(browser):
    opened = browser.open()
    yield opened
    opened.close()


@pytest.fixture
def page(window, user):
    """The page of a logged-in user. The fixture user calls the API as the same account."""
    window.login(user.email)
    return window.page


def make_admin(env, email):
    subprocess.run([ROOT / "tools/stack", "admin", email, "--state", env["STACK_STATE"]], check=True, stdout=subprocess.DEVNULL)


def row(page, slug):
    return page.get_by_role("row").filter(has=page.get_by_role("link", name=slug))


def act(page, slug, action):
    row(page, slug).get_by_role("button", name="Actions for").click()
    page.get_by_role("menuitem", name=action).click()


def test_a_new_user_creates_a_link_and_sees_its_visits_without_reloading(window, visitor):
    page = window.page
    window.register(unique_email())
    page.get_by_role("link", name="Links", exact=True).click()
    page.get_by_role("button", name="Create link").first.click()
    page.get_by_label("Destination", exact=True).fill("example.com/landing")
    page.get_by_label("Title", exact=True).fill("Landing page")
    page.get_by_label("Tags", exact=True).fill("spring,")
    page.get_by_role("dialog").get_by_role("button", name="Create link").click()
    created = page.get_by_role("row").filter(has_text="Landing page")
    expect(created).to_contain_text("spring")
    slug = created.get_by_role("link").inner_text().rsplit("/", 1)[-1]
    assert visitor.follow(slug).headers["location"] == "https://example.com/landing"
    expect(created.get_by_role("cell").nth(2)).to_have_text("1")
    created.get_by_role("link").click()
    expect(page.locator(".tile-count").first).to_have_text("1")
    visitor.follow(slug)
    expect(page.locator(".tile-count").first).to_have_text("2")


def test_a_link_is_edited_disabled_and_deleted_and_each_can_be_undone(page, window, user, visitor):
    slug = user.create()["slug"]
    window.goto("/links")
    act(page, slug, "Edit")
    page.get_by_label("Title", exact=True).fill("New title")
    page.get_by_role("button", name="Save").click()
    expect(row(page, slug)).to_contain_text("New title")
    act(page, slug, "Disable")
    expect(row(page, slug)).to_contain_text("Disabled")
    wait_until(lambda: visitor.follow(slug).status == 404, 60, "the link to be disabled")
    page.get_by_role("button", name="Undo").click()
    expect(row(page, slug)).not_to_contain_text("Disabled")
    act(page, slug, "Delete")
    expect(row(page, slug)).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(row(page, slug)).to_have_count(1)
    wait_until(lambda: visitor.follow(slug).status == 302, 60, "the link to be restored")


def test_the_same_works_by_keyboard_alone(page, window, user):
    window.goto("/links")
    window.settle()
    keys = page.keyboard
    keys.press("c")
    expect(page.get_by_label("Destination", exact=True)).to_be_focused()
    keys.type("https://example.com/by-keyboard")
    keys.press("Enter")
    expect(page.get_by_role("row").filter(has_text="by-keyboard")).to_have_count(1)
    expect(page.get_by_role("dialog")).to_have_count(0)
    keys.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()
    keys.type("keyboard")
    expect(page).to_have_url(re.compile(r"q=keyboard"))
    for _ in range(40):
        if page.evaluate("document.activeElement.getAttribute('aria-haspopup') === 'menu'"):
            break
        keys.press("Tab")
    keys.press("Enter")
    keys.press("End")
    keys.press("Enter")
    expect(page.get_by_role("row").filter(has_text="by-keyboard")).to_have_count(0)
    expect(page.get_by_role("status")).to_contain_text("Undo")
    keys.press("z")
    expect(page.get_by_role("row").filter(has_text="by-keyboard")).to_have_count(1)
    keys.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("Keyboard shortcuts")
    keys.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_500_links_come_from_a_csv_file(page, window, user):
    lines = ["Destination;Title;Tags"] + [f"https://example.com/{i};Page {i};many" for i in range(500)] + ["not an address;;"]
    window.goto("/links/bulk")
    page.get_by_label("choose a CSV file").set_input_files({"name": "links.csv", "mimeType": "text/csv", "buffer": "\r\n".join(lines).encode()})
    expect(page.get_by_text("This is not a web address.").or_(page.get_by_text("and 451 more lines"))).to_be_visible()
    expect(page.get_by_text("1 line is not valid")).to_be_visible()
    page.get_by_role("button", name="Create 500 links").click()
    expect(page.get_by_text("500 links created.")).to_be_visible()
    assert user.call("GET", "/api/links?tag=many&limit=1").json["pagination"]["total"] == 500


def test_a_click_on_the_map_filters_everything(page, window, user, visitor):
    link = user.create()
    for address in (BERLIN, BERLIN, GOOGLE):
        visitor.follow(link["slug"], address=address, agent=CHROME)
    user.wait_for_visits(link["id"], 3)
    window.goto(f"/links/{link['id']}")
    page.locator("path[data-country=DE]").click()
    expect(page).to_have_url(re.compile(r"country=DE"))
    expect(page.locator(".tile-count").first).to_have_text("2")
    page.get_by_role("button", name="Remove filter Country = Germany").click()
    expect(page.locator(".tile-count").first).to_have_text("3")
    page.get_by_role("button", name="Germany", exact=True).press("Enter")
    expect(page.locator(".tile-count").first).to_have_text("2")


def test_the_overview_shows_all_links_together_or_those_with_a_tag(page, window, user, visitor):
    links = [user.create(tags=["spring"]), user.create()]
    for link, address in ((links[0], BERLIN), (links[0], GOOGLE), (links[1], BERLIN)):
        visitor.follow(link["slug"], address=address, agent=CHROME)
    user.wait_for_visits(links[0]["id"], 2)
    user.wait_for_visits(links[1]["id"], 1)
    window.goto("/")
    expect(page.locator(".tile-count").first).to_have_text("3")
    page.get_by_label("Tag", exact=True).select_option("spring")
    expect(page).to_have_url(re.compile(r"tag=spring"))
    expect(page.locator(".tile-count").first).to_have_text("2")
    page.locator("path[data-country=DE]").click()
    expect(page.locator(".tile-count").first).to_have_text("1")
    visitor.follow(links[0]["slug"], address=BERLIN, agent=CHROME)
    expect(page.locator(".tile-count").first).to_have_text("2")


def share_in(page):
    """Makes a share with a title and a password in the dialog, and returns its address."""
    page.get_by_role("button", name="Share", exact=True).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Title", exact=True).fill("For the board")
    dialog.get_by_label("Password", exact=True).fill("only for the board")
    page.keyboard.press("Enter")
    dialog.get_by_role("button", name="Copy").click()
    address = dialog.locator(".secret").inner_text()
    assert page.evaluate("navigator.clipboard.readText()") == address
    dialog.get_by_role("button", name="Done").click()
    return address


def test_shared_statistics_are_read_without_an_account_until_the_share_is_revoked(page, window, browser, user, visitor):
    link = user.create(title="Spring sale")
    for address in (BERLIN, GOOGLE):
        visitor.follow(link["slug"], address=address, agent=CHROME)
    user.wait_for_visits(link["id"], 2)
    window.goto(f"/links/{link['id']}")
    address = share_in(page)
    reader = browser.open()
    shown = reader.page
    shown.goto(address)
    shown.get_by_label("Password").fill("something else")
    shown.keyboard.press("Enter")
    expect(shown.get_by_role("alert")).to_contain_text("The password is wrong.")
    shown.get_by_label("Password").fill("only for the board")
    shown.keyboard.press("Enter")
    expect(shown.get_by_role("heading", level=1, name="For the board")).to_be_visible()
    expect(shown.locator(".tile-count").first).to_have_text("2")
    shown.locator("path[data-country=DE]").click()
    expect(shown.locator(".tile-count").first).to_have_text("1")
    shown.keyboard.press("w")
    expect(shown).to_have_url(re.compile(r"country=DE.*range=7d|range=7d.*country=DE"))
    assert shown.url.endswith(address.partition("#")[2]), "the token stays in the address"
    assert link["original_url"] not in shown.content() and user.email not in shown.content()
    assert shown.get_by_role("navigation").count() == 0 and reader.context.cookies() == []
    window.goto("/shares")
    page.get_by_role("button", name="Revoke For the board").click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    expect(page.get_by_role("heading", name="Nothing is shared")).to_be_visible()
    expect(shown.get_by_role("heading", level=1, name="no longer shared")).to_be_visible()
    shown.reload()
    expect(shown.get_by_role("heading", level=1, name="no longer shared")).to_be_visible()
    reader.close()


def test_a_tag_is_shared_in_the_overview(page, window, user, visitor):
    link = user.create(tags=["spring"])
    visitor.follow(link["slug"], agent=CHROME)
    user.wait_for_visits(link["id"], 1)
    window.goto("/?tag=spring")
    page.get_by_role("button", name="Share", exact=True).press("Enter")
    expect(page.get_by_role("dialog").get_by_label("Title", exact=True)).to_be_focused()
    assert window.violations() == []
    page.keyboard.press("Enter")
    address = page.get_by_role("dialog").locator(".secret").inner_text()
    assert window.violations() == []
    # Also somebody who is logged in sees no menu of their account there.
    page.goto(address)
    expect(page.get_by_role("heading", level=1, name="Links with the tag spring")).to_be_visible()
    expect(page.locator(".tile-count").first).to_have_text("1")
    assert page.get_by_role("navigation").count() == 0


def test_keys_choose_the_range_and_move_the_cursor_of_the_chart(page, window, user):
    link = user.create()
    window.goto(f"/links/{link['id']}")
    window.settle()
    for key, preset in (("d", "today"), ("w", "7d"), ("t", "30d"), ("m", "month"), ("y", "year")):
        page.keyboard.press(key)
        expect(page).to_have_url(re.compile(rf"range={preset}\b"))
    page.keyboard.press("x")
    expect(page).to_have_url(re.compile(r"compare=1"))
    page.locator(".chart-plot").focus()
    page.keyboard.press("Home")
    expect(page.locator(".chart-cursor")).to_contain_text("Visits 0")


def test_a_visit_appears_in_the_live_view(page, window, user, visitor):
    link = user.create()
    window.goto("/live")
    expect(page.get_by_text("Connected")).to_be_visible()
    visitor.follow(link["slug"])
    expect(page.get_by_role("row").filter(has_text=link["slug"])).to_have_count(1)


def test_a_temporary_link_is_made_at_once_and_claimed_with_the_account(window):
    page = window.page
    window.goto("/start")
    page.get_by_label("Destination", exact=True).fill("https://example.com/temporary")
    page.get_by_role("button", name="Shorten").click()
    expect(page.get_by_role("img", name="QR code")).to_be_visible()
    slug = page.locator(".newest-url").inner_text().rsplit("/", 1)[-1]
    page.reload()
    expect(page.get_by_role("link", name=slug)).to_be_visible()
    window.register(unique_email(), message="1 temporary link is yours now.")
    window.goto("/links")
    expect(row(page, slug)).to_have_count(1)


def test_a_page_loads_itself_again_after_an_update_of_the_server(page, window, user):
    window.goto("/links")
    page.evaluate("window.before = true")
    asset = re.compile(r"/app/assets/live-")
    page.route(asset, lambda route: route.fulfill(status=404), times=1)
    page.get_by_role("link", name="Live", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("The server cannot be reached.")
    page.get_by_role("link", name="Links", exact=True).click()
    index = re.compile(r"/app/$")
    page.route(asset, lambda route: route.fulfill(status=404), times=1)
    page.route(index, lambda route: route.fulfill(content_type="text/html", body="<script type=module src=/app/assets/index-new.js></script>"))
    page.get_by_role("link", name="Live", exact=True).click()
    expect(page.get_by_text("Connected")).to_be_visible()
    assert page.evaluate("window.before") is None


def test_logging_out_ends_the_session(page, window, user):
    window.goto("/links")
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_role("link", name="Log in")).to_be_visible()
    assert page.evaluate("document.cookie") == ""
    window.goto("/links")
    expect(page.get_by_role("heading", level=1)).to_have_text("Welcome back")


def test_an_administrator_blocks_a_host_and_an_account(env, page, window, user, anonymous):
    make_admin(env, user.email)
    anonymous.register_and_login(unique_email())
    window.goto("/admin/hosts")
    page.get_by_label("Host", exact=True).fill("evil.example")
    page.get_by_role("button", name="Block a host").click()
    expect(page.get_by_role("row").filter(has_text="evil.example")).to_be_visible()
    page.get_by_role("button", name="Unblock evil.example").click()
    expect(page.get_by_role("row").filter(has_text="evil.example")).to_have_count(0)
    window.goto("/admin/users?q=" + anonymous.email)
    act_on = page.get_by_role("row").filter(has_text=anonymous.email)
    act_on.get_by_role("button").click()
    page.get_by_role("menuitem", name="Block").click()
    expect(act_on).to_contain_text("Blocked")
    assert anonymous.call("GET", "/api/links").status == 403
    window.goto("/admin/audit")
    expect(page.get_by_role("row").filter(has_text="user.").first).to_be_visible()


def menu_of(page, tag, action):
    page.get_by_role("button", name=f"Actions for {tag}", exact=True).click()
    page.get_by_role("menuitem", name=action, exact=True).click()


def test_tags_are_colored_renamed_merged_and_deleted(page, window, user, visitor):
    window.goto("/tags")
    expect(page.get_by_text("No tags yet")).to_be_visible()
    links = [user.create(tags=["sprnig"]), user.create(tags=["spring", "mail"]), user.create(tags=["mail"])]
    visitor.follow(links[0]["slug"])
    user.wait_for_visits(links[0]["id"], 1)
    window.goto("/tags?sort=visits")
    expect(page.locator("tbody .tag")).to_have_text(["sprnig", "mail", "spring"])
    page.get_by_label("Color of mail").fill("#204080")
    expect(page.get_by_text("mail has a new color.")).to_be_visible()
    expect(page.get_by_role("link", name="mail", exact=True)).to_have_css("background-color", "rgb(32, 64, 128)")

    menu_of(page, "sprnig", "Merge")
    page.get_by_label("Into the tag").select_option("spring")
    expect(page.get_by_role("dialog")).to_contain_text("1 link of sprnig gets the tag spring instead, and sprnig disappears. This cannot be undone.")
    page.get_by_role("button", name="Merge tags").click()
    expect(page.get_by_role("row").filter(has_text="spring")).to_contain_text("2")
    expect(page.locator("tbody .tag")).to_have_text(["spring", "mail"])

    # Renaming to the name of another tag says that it merges, before it does.
    menu_of(page, "mail", "Rename")
    page.get_by_label("Name", exact=True).fill("spring")
    expect(page.get_by_role("dialog")).to_contain_text("2 links of mail get the tag spring instead")
    page.get_by_label("Name", exact=True).fill("letter")
    page.get_by_label("Name", exact=True).press("Enter")
    expect(page.get_by_text("mail is now letter; 2 links changed.")).to_be_visible()

    window.goto("/links")
    expect(page.get_by_role("button", name="letter", exact=True).first).to_have_css("background-color", "rgb(32, 64, 128)")
    window.goto(f"/links/{links[1]['id']}")
    expect(page.get_by_role("link", name="letter", exact=True)).to_have_css("color", "rgb(255, 255, 255)")
    page.get_by_role("link", name="spring", exact=True).click()
    expect(page).to_have_url(re.compile(r"/app/\?tag=spring"))
    expect(page.get_by_label("Tag", exact=True)).to_have_value("spring")

    window.goto("/tags?q=letter")
    expect(page.locator("tbody .tag")).to_have_text(["letter"])
    menu_of(page, "letter", "Delete")
    expect(page.get_by_role("dialog")).to_contain_text("2 links lose the tag letter.")
    page.get_by_role("button", name="Remove tag").press("Enter")
    expect(page.get_by_text("No tag matches")).to_be_visible()
    assert [tag["name"] for tag in user.call("GET", "/api/tags").json["tags"]] == ["spring"]


KINDS = (
    "CountingLagging", "CountingStalled", "Degraded", "JanitorTaskLate", "NotReady", "OutboxRelayMissing", "OutboxStale", "PartitionsHalted", "ServiceMissing", "TargetDown",
)  # fmt: skip


def test_an_administrator_sees_the_health_and_what_to_do(env, page, window, user):
    make_admin(env, user.email)
    window.goto("/admin/health")
    for service in ("redirector", "links-api", "analytics-consumer", "janitor"):
        expect(page.get_by_role("row").filter(has_text=service).filter(has_text="Ready").first).to_be_visible()
    shown = user.call("GET", "/api/admin/health").json
    shown["problems"] = [{"kind": f"Waymark{kind}", "subject": f"<b>{kind}</b>"} for kind in KINDS]
    shown["services"][0] |= {"status": "unreachable", "reason": "timeout", "failing": []}
    page.route("**/api/admin/health", lambda route: route.fulfill(json=shown))
    expect(page.locator(".health-problems > li")).to_have_count(len(KINDS))
    expect(page.get_by_role("heading", name="<b>NotReady</b> is not ready.")).to_be_visible()
    expect(page.get_by_text("No response within a second")).to_be_visible()
    assert window.violations() == []
    with window.context.expect_page() as opened:
        page.get_by_role("link", name="Runbook: WaymarkNotReady").click()
    expect(opened.value.locator("body")).to_contain_text("## WaymarkNotReady")
    opened.value.close()
    # A good state must not stay on the screen when it is not known any more.
    page.route("**/api/admin/health", lambda route: route.fulfill(status=503, json={"type": "about:blank", "title": "x", "status": 503, "detail": "x", "instance": "1"}))
    expect(page.get_by_text("Without PostgreSQL nobody can log in")).to_be_visible()
    expect(page.locator(".health-problems")).to_have_count(0)


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
    wait_until(lambda: all(len(visits(link)) == 10 for link in links), 60, "the visits")
    hostile = f"?utm_source={urllib.parse.quote(PAYLOADS[0])}"
    paths = ["/links", "/links?page=2", "/links?q=<script>window.hit=1</script>", "/", "/" + hostile, "/login?next=javascript:window.hit=1", "/login?next=//evil.example"]
    for path in [*paths, *(f"/links/{link['id']}?bots=include" for link in links), f"/links/{links[0]['id']}{hostile}"]:
        window.goto(path)
        window.settle()
        assert page.evaluate("window.hit") is None, path
    # Only some of the ten values are listed, and each has a tenth of the visits.
    window.goto(f"/links/{links[1]['id']}?bots=include")
    expect(page.get_by_role("region", name="Campaigns").locator("tbody td.muted").first).to_have_text("10%")


PAGES = ["/", "/links", "/links?edit=new", "/links/bulk", "/links/{id}?compare=1&bots=include", "/tags", "/live", "/keys", "/shares", "/account", "/admin/health", "/admin/users", "/admin/hosts", "/admin/audit", "/nowhere"]  # fmt: skip
GUEST_PAGES = ["/start", "/login", "/register", "/reset", "/shared#none"]


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
    name = re.sub(r"\W+", "-", path.split("?")[0].split("wmshare")[0].format(id="link")).strip("-") or "overview"
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
    window.close()


def test_german_is_complete(browser, administrator):
    window = browser.open(locale="de-DE")
    window.login(administrator.email)
    window.goto("/links")
    expect(window.page.get_by_role("button", name="Link erstellen").first).to_be_visible()
    assert window.page.evaluate("document.documentElement.lang") == "de"
    window.close()
