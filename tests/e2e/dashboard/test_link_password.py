"""The page that asks for the password of a link, in a browser, up to the destination behind it."""

import pytest
from destination import serve

from dashboard.browser import Browser, Window, expect

PASSWORD = "open sesame & más"
HOST = "destination.example"


@pytest.fixture
def destination():
    with serve() as server:
        yield server


@pytest.fixture(scope="module")
def visitors(env, browser):
    """Chromium that finds the destination on this machine."""
    chromium = Browser(env["REDIRECTOR_URL"], browser, args=[f"--host-resolver-rules=MAP {HOST} 127.0.0.1"])
    yield chromium
    chromium.close()


@pytest.mark.parametrize("status", [302, 307])
def test_a_visitor_types_the_password_and_comes_to_the_destination(visitors, user, destination, status):
    link = user.create(f"http://{HOST}:{destination.server_port}/landing", password=PASSWORD, redirect_status=status)
    url = f"{visitors.base}/{link['slug']}"
    for scheme in ("light", "dark"):
        context = visitors.chromium.new_context(locale="de-AT", color_scheme=scheme, viewport={"width": 360, "height": 640})
        page = context.new_page()
        blocked = []
        page.on("console", lambda message, blocked=blocked: blocked.append(message.text) if "Security" in message.text else None)
        page.goto(url)
        expect(page.get_by_role("heading", name="Dieser Link hat ein Passwort")).to_be_visible()
        window = Window.__new__(Window)
        window.page, window.context = page, context
        assert window.violations() == [] and window.overflow() == 0
        # By keyboard alone: the field has the focus.
        page.keyboard.type("wrong")
        page.keyboard.press("Enter")
        expect(page.get_by_role("alert")).to_have_text("Falsches Passwort.")
        assert window.violations() == []
        page.keyboard.type(PASSWORD)
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="Landing")).to_be_visible()
        # The form is not in the history that "back" and "reload" repeat, and the cookie opens the link for an hour.
        page.reload()
        page.goto(url)
        expect(page.get_by_role("heading", name="Landing")).to_be_visible()
        (cookie,) = context.cookies(url)
        assert (cookie["httpOnly"], cookie["sameSite"], cookie["path"]) == (True, "Lax", f"/{link['slug']}")
        assert blocked == []
        context.close()
    landings = [(method, headers, body) for method, path, headers, body in destination.seen if path == "/landing"]
    assert len(landings) == 6
    for method, headers, body in landings:
        assert (method, body, headers.get("Cookie")) == ("GET", b"", None)
        assert headers.get("Referer") in (None, visitors.base + "/")
