"""What visitors see who are not redirected, and the form for reports: judged by axe, and what others wrote in it never runs.

The stack has an operator whose name, contact and texts attack (shared-stack, attacking_pages.txt), and a logo.
"""

import random

import pytest

from dashboard.browser import Browser, expect

ATTACK = '"><img src=x onerror=alert(1)>'
VARIANTS = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "phone": {"viewport": {"width": 360, "height": 640}, "locale": "de-AT"},
    "forced colours": {"forced_colors": "active", "locale": "fr"},
}
# What can be pressed and is less than 44 pixels high.
SMALL = """[...document.querySelectorAll("a, button, input, select, textarea")]
    .filter((each) => each.getBoundingClientRect().height < 44).map((each) => each.outerHTML)"""
FONT = "document.fonts.ready.then(() => [...document.fonts].map((each) => each.status))"
LOGO = "document.querySelector('.brand img').naturalWidth"


@pytest.fixture(scope="module")
def visitors(env, browser):
    chromium = Browser(env["REDIRECTOR_URL"], browser)
    yield chromium
    chromium.close()


@pytest.fixture
def opened(request, browser, visitors):
    """opened(is_form): a window for the form for reports, or for the pages of the redirector."""
    windows = []

    def open_window(is_form):
        windows.append((browser if is_form else visitors).open(**VARIANTS[request.param]))
        return windows[-1]

    yield open_window
    for each in windows:
        each.close()


def judge(window, name):
    expect(window.page.locator("h1")).to_be_visible()
    assert window.violations() == [], name
    assert window.overflow() <= 0, name
    assert window.page.evaluate(SMALL) == [], name
    assert window.page.evaluate(LOGO) > 0, name
    assert window.page.evaluate(FONT) == ["loaded"], name
    assert window.page.locator("script, [onerror]").count() == 0, name


@pytest.mark.parametrize("opened", VARIANTS, indirect=True)
def test_each_page_is_accessible_and_runs_nothing_that_others_wrote(opened, user):
    gone = user.create(rules=[{"name": "nobody", "when": {}, "then": "gone"}])
    link = user.create(f"https://example.com/{ATTACK}", title=ATTACK)
    locked = user.create(password="open sesame")
    window = opened(is_form=False)
    for path in ("/", "/no-such-link", f"/{link['slug']}+", f"/{locked['slug']}"):
        window.page.goto(window.base + path)
        judge(window, path)
    window.page.locator("#password").fill("not the password")
    window.page.get_by_role("button").click()
    expect(window.page.locator("#password[aria-invalid]")).to_be_focused()
    judge(window, "wrong password")
    assert window.page.locator(f"footer a[href$='/report?link={locked['short_url']}']").count() == 1, "a password hides nobody"
    assert window.page.goto(f"{window.base}/{gone['slug']}").status == 410
    judge(window, "gone")


@pytest.mark.parametrize("opened", VARIANTS, indirect=True)
def test_the_form_for_reports_is_accessible_and_runs_nothing_that_others_wrote(opened, user):
    link = user.create()
    window = opened(is_form=True)
    page = window.page
    # Of networks that have sent none: their number is limited.
    page.set_extra_http_headers({"X-Forwarded-For": f"10.{random.randrange(256)}.{random.randrange(256)}.1"})
    page.goto(f"{window.base}/report?link=no-such-link{ATTACK}")
    judge(window, "form")
    page.locator("#reason").select_option("spam")
    page.locator("#details").fill(ATTACK)
    page.get_by_role("button").click()
    expect(page.get_by_role("alert")).to_be_visible()
    judge(window, "no such link")
    page.locator("#link").fill(link["short_url"])
    page.get_by_role("button").click()
    expect(page.locator("form")).to_have_count(0)
    judge(window, "thanks")


def test_both_services_serve_the_same_logo(visitors, browser):
    paths = set()
    for chromium, path in ((visitors, "/"), (browser, "/report")):
        window = chromium.open()
        window.page.goto(chromium.base + path)
        source = window.page.locator(".brand img").get_attribute("src")
        answer = window.context.request.get(chromium.base + source)
        assert answer.status == 200 and answer.headers["content-type"] == "image/svg+xml"
        assert "sandbox" in answer.headers["content-security-policy"] and answer.headers["x-content-type-options"] == "nosniff"
        paths.add(source)
        window.close()
    assert len(paths) == 1
