"""The dashboard in browsers that are not a developer's: over plain http at a host that is not localhost, without the functions
that older browsers lack, with odd zones and languages, and translated by the browser."""

import contextlib
import json
import re
import subprocess

import pytest
from clients import Visitor, unique_email
from waiting import wait_until

from dashboard.browser import PASSWORD, ROOT, Browser, expect
from dashboard.test_pages import GUEST_PAGES, PAGES, make_admin

HOST = "nas.lan"
# Other tests change the lists of administrators between two loads.
LOADS = 10
SAME_WITHIN_S = 5  # of each load: a live page says that it connects until it has
ODD_LANGUAGE = 'Object.defineProperty(navigator, "language", { get: () => "en-US@posix" })'
# As Chrome does, in the four ways that browsers and their extensions have. The text stays the same, so that it can be compared.
TRANSLATE = """(() => {
    const done = new WeakSet();
    let turn = 0;
    const font = (...content) => {
        const element = document.createElement("font");
        element.append(...content);
        return element;
    };
    const ways = [
        (node) => node.replaceWith(font(font(node.data))),
        (node) => node.parentNode.insertBefore(font(), node).append(node),
        (node) => {
            node.parentNode.insertBefore(font(node.data), node);
            node.remove();
        },
        (node) => {
            const other = new Text(node.data);
            done.add(other);
            node.replaceWith(other);
        },
    ];
    const translate = (node) => {
        if (node.nodeType !== Node.TEXT_NODE) return [...node.childNodes].forEach(translate);
        if (node.data.trim() !== "" && node.isConnected && !done.has(node) && !node.parentElement.closest("head, font, textarea, script, [translate=no]")) ways[turn++ % ways.length](node);
    };
    const observer = new MutationObserver((records) => {
        for (const { type, target, addedNodes } of records) type === "characterData" ? translate(target) : addedNodes.forEach(translate);
    });
    observer.observe(document, { childList: true, characterData: true, subtree: true });
})()"""


@pytest.fixture(scope="module")
def old_functions():
    """A script that deletes what the oldest supported browsers lack."""
    return subprocess.run(["node", ROOT / "web/dashboard/build/browsers.mjs"], check=True, stdout=subprocess.PIPE, text=True).stdout


@pytest.fixture(scope="module")
def elsewhere(env, browser):
    """Chromium on a machine whose zone has no file, and the server under a name that only its network knows."""
    base = re.sub(r"//[^:/]+", f"//{HOST}", env["LINKS_API_URL"])
    chromium = Browser(base, browser, args=[f"--host-resolver-rules=MAP {HOST} 127.0.0.1"], env={"TZ": "Foo/Bar"})
    yield chromium
    chromium.close()


@pytest.fixture
def hostile(elsewhere, old_functions):
    window = elsewhere.open(timezone_id=None, locale="en-US")
    for script in (old_functions, ODD_LANGUAGE, TRANSLATE):
        window.page.add_init_script(script)
    window.goto("/login")
    missing = window.page.evaluate("[crypto.randomUUID, navigator.clipboard, URL.canParse, Array.prototype.toSorted, Object.groupBy, Promise.withResolvers]")
    assert missing == [None] * 6 and window.page.locator("main font").count() > 1  # control
    assert window.page.evaluate("Intl.DateTimeFormat().resolvedOptions().timeZone") == "Etc/Unknown"
    yield window
    window.close()


def pasted(window):
    """What the clipboard has. No page may read it over plain http, so that it is pasted into a field."""
    field = window.page.get_by_placeholder("Paste here")
    window.page.evaluate("""() => {
        const field = document.createElement("input");
        field.placeholder = "Paste here";
        (document.querySelector("dialog[open]") ?? document.body).append(field);
        field.focus();
    }""")
    window.page.keyboard.press("Control+V")
    text = field.input_value()
    field.evaluate("field => field.remove()")
    return text


def words(window):
    """The whole text of the page, as far as it does not depend on the second."""
    return re.sub(r"\d+( seconds?)?|just now|\w+ ago|\s+", " ", window.page.evaluate("document.body.textContent"))


def test_every_page_reads_the_same_in_them(env, hostile, browser, user):
    make_admin(env, user.email)
    link = user.create("https://example.com/?utm_source=a", title="Spring", tags=["spring"], expires_at="2099-01-01T00:00:00Z")
    Visitor(env["REDIRECTOR_URL"]).follow(link["slug"])
    user.wait_for_visits(link["id"], 1)
    plain = browser.open(timezone_id="UTC", locale="en-US")
    share = user.call("POST", "/api/shares", {"tag": "spring"}).json["url"].removeprefix("/app")

    def compare(act):
        for _ in range(LOADS):
            for window in (hostile, plain):
                act(window)
                window.settle()
            with contextlib.suppress(AssertionError):
                wait_until(lambda: words(hostile) == words(plain), "the same words", seconds=SAME_WITHIN_S)
                break
        assert words(hostile) == words(plain)

    for path in [share, *GUEST_PAGES]:
        compare(lambda window: window.goto(path))
    hostile.enter(user.email)
    (cookie,) = hostile.context.cookies()
    plain.context.add_cookies([{"name": cookie["name"], "value": cookie["value"], "url": browser.base}])
    for path in [*PAGES, "/statistics"]:
        compare(lambda window: window.goto(path.format(id=link["id"])))
    # What changes on a page changes in its translation as well.
    def choose(window, name):
        window.page.get_by_role("button", name=re.compile("^Period: ")).click()
        window.page.get_by_role("button", name=name, exact=True).click()

    for name, count in {"Yesterday": "0", "Today": "1", "Last 90 days": "1"}.items():
        compare(lambda window: choose(window, name))
        expect(hostile.page.locator(".metric-count").first).to_have_text(count)
    plain.close()


def test_everything_can_be_created_and_copied_in_them(env, hostile, visitor):
    page = hostile.page
    hostile.goto("/start")
    page.get_by_placeholder("https://").fill("example.com/first")
    page.get_by_role("button", name="Shorten").click()
    page.get_by_role("button", name="Copy").first.click()
    expect(page.get_by_text("copied.")).to_be_visible()
    assert visitor.follow(pasted(hostile).rsplit("/", 1)[-1]).headers["location"] == "https://example.com/first"

    hostile.register(unique_email(), "1 link is yours now.")
    hostile.goto("/links?edit=new")
    page.get_by_text("Campaign parameters").click()
    page.get_by_label("Destination", exact=True).fill("example.com/second")
    page.get_by_label("UTM source", exact=True).fill("letter")
    page.get_by_text("Start, end and limit").click()
    page.get_by_label("Ends", exact=True).fill("2099-01-01T10:00")
    page.get_by_role("dialog").get_by_role("button", name="Create link").click()
    second = page.get_by_role("row").filter(has_text="example.com/second?utm_source=letter")
    expect(second).to_contain_text("Ends Jan 1, 2099")
    second.get_by_role("button", name="Copy").first.click()
    assert visitor.follow(pasted(hostile).rsplit("/", 1)[-1]).headers["location"] == "https://example.com/second?utm_source=letter"

    hostile.goto("/links/bulk")
    page.get_by_label("Addresses").fill("https://example.com/third\nno address")
    expect(page.get_by_text("1 line has an error and is left out.")).to_be_visible()
    page.get_by_role("button", name="Create 1 link").click()
    expect(page.get_by_text("1 link created.")).to_be_visible()

    hostile.goto("/keys")
    page.get_by_role("button", name="Create API key").first.click()
    page.get_by_label("Name", exact=True).fill("Website")
    page.get_by_role("dialog").get_by_role("button", name="Create API key").click()
    page.get_by_role("dialog").get_by_role("button", name="Copy").click()
    assert pasted(hostile) == page.locator(".secret").text_content()


ODD_ZONES = ["Etc/Unknown", "Foo/Bar", "+03:00", "", None]
ODD_LANGUAGES = ["C", "en-US@posix", "en_US.UTF-8", "", "de-", "x-private", "en-US-u-nu-nonsense"]


def test_no_zone_or_language_of_a_browser_leaves_a_page_empty(browser, user):
    for zone, language in [*((zone, "en-US") for zone in ODD_ZONES), *(("Europe/Berlin", language) for language in ODD_LANGUAGES)]:
        window = browser.open(locale="en-US")
        window.page.add_init_script(f"""{{
            const options = Intl.DateTimeFormat.prototype.resolvedOptions;
            Intl.DateTimeFormat.prototype.resolvedOptions = function () {{ return {{ ...options.call(this), timeZone: {json.dumps(zone)} ?? undefined }}; }};
            for (const [name, value] of [["language", {json.dumps(language)}], ["languages", [{json.dumps(language)}]]]) Object.defineProperty(navigator, name, {{ get: () => value }});
        }}""")
        window.login(user.email)
        window.goto("/statistics?compare=1")
        window.settle()
        expect(window.page.locator(".chart svg").first).to_be_visible()
        # Berlin's clock, without its summer time.
        expected = "Europe/Berlin" if zone == "Europe/Berlin" else re.compile(r"Etc/GMT-[12]")
        expect(window.period()).to_contain_text(expected)
        window.goto("/account")
        window.settle()
        window.close()


def test_a_zone_that_the_server_does_not_know_is_left(browser, user):
    window = browser.open(timezone_id="Europe/Berlin")
    problem = {"type": "/problems/validation", "title": "x", "status": 400, "detail": "x", "instance": "1", "errors": [{"pointer": "/tz", "code": "time-zone", "detail": "x"}]}
    window.page.route("**/api/**tz=Europe**", lambda route: route.fulfill(status=400, json=problem))
    window.login(user.email)
    window.goto("/statistics")
    expect(window.period()).to_contain_text("(Etc/GMT-")
    expect(window.page.get_by_role("alert")).to_have_count(0)
    window.close()


def test_a_login_without_a_cookie_says_what_to_do(window, user):
    """Over http where https is needed, and in a browser that keeps no cookies."""
    page = window.page

    def log_in():
        window.goto("/login")
        page.get_by_label("E-mail address", exact=True).fill(user.email)
        page.get_by_label("Password", exact=True).fill(PASSWORD)
        page.get_by_role("main").get_by_role("button", name="Log in").click()

    answer = {"type": "/problems/https-required", "title": "Forbidden", "status": 403, "detail": "x", "instance": "1"}
    page.route("**/api/auth/session", lambda route: route.fulfill(status=403, json=answer) if route.request.method == "POST" else route.continue_())
    log_in()
    expect(page.get_by_role("alert")).to_contain_text("Open this page with https://")
    page.unroute("**/api/auth/session")
    page.route("**/api/auth/session", lambda route: route.fulfill(json={"user": None}) if route.request.method == "GET" else route.continue_())
    log_in()
    expect(page.get_by_role("alert")).to_contain_text("The browser did not keep the login. Allow cookies here")
