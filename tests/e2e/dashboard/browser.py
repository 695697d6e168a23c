"""A browser for the tests of the dashboard: what a page must never do is checked on every one."""

import os
import pathlib
import re
import subprocess

from playwright.sync_api import expect, sync_playwright

ROOT = pathlib.Path(__file__).resolve().parents[3]
TIMEOUT_MS = int(os.environ.get("T_MS", "180000"))
PASSWORD = "correct horse battery"
AXE = pathlib.Path(os.environ["AXE"]).read_text() if "AXE" in os.environ else ""

expect.set_options(timeout=TIMEOUT_MS)


# What has the focus, by its label or its text.
FOCUSED = """(() => {
    const focused = document.activeElement;
    return (focused.getAttribute("aria-label") ?? focused.labels?.[0]?.textContent ?? focused.textContent).trim();
})()"""
STOPS_MAX = 100
# Texts of which a part is not shown, without the "…" that says so.
CUT_OFF = """[...document.querySelectorAll("body *:not(.link-line)")].filter((each) => {
    const hasText = [...each.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim() !== "");
    const { overflowX, clipPath, textOverflow } = getComputedStyle(each);
    const isCut = each.scrollWidth > each.clientWidth || (each.scrollHeight > each.clientHeight && !each.matches(".ellipsis"));
    return hasText && overflowX === "hidden" && clipPath === "none" && textOverflow !== "ellipsis" && isCut;
}).map((each) => each.textContent)"""


def make_admin(env, email):
    subprocess.run([ROOT / "tools/stack", "admin", email, "--state", env["STACK_STATE"]], check=True, stdout=subprocess.DEVNULL)


class Browser:
    """One Chromium, in the form that has no windows and takes half the CPU time. Each user has a context of their own, and so
    cookies and storage of their own."""

    def __init__(self, base, beside=None, args=(), env=None):
        """beside: another Browser of this process, which is closed after this one."""
        self.base = base
        self.beside = beside
        self.playwright = beside.playwright if beside else sync_playwright().start()
        # The tests run as root, which Chromium's sandbox does not allow, and there is no GPU.
        self.chromium = self.playwright.chromium.launch(executable_path="/usr/bin/chromium-headless-shell", args=["--no-sandbox", "--disable-gpu", *args], env={**os.environ, **(env or {})})

    def open(self, **options):
        settings = {"viewport": {"width": 1280, "height": 900}, "locale": "en-GB", "timezone_id": "Europe/Berlin"}
        context = self.chromium.new_context(**{**settings, **options})
        context.grant_permissions(["clipboard-read", "clipboard-write"], origin=self.base)
        context.set_default_timeout(TIMEOUT_MS)
        return Window(self.base, context)

    def close(self):
        self.chromium.close()
        if not self.beside:
            self.playwright.stop()


class Window:
    def __init__(self, base, context):
        self.base = base
        self.context = context
        self.page = context.new_page()
        self.faults = []
        self.page.on("request", self._check_origin)
        self.page.on("console", self._check_console)
        self.page.on("pageerror", lambda error: self.faults.append(f"exception: {error}"))
        self.page.on("dialog", self._answer)

    def _answer(self, dialog):
        """Only the browser asks, before it leaves a form with changes."""
        if dialog.type == "beforeunload":
            return dialog.accept()
        self.faults.append(f"dialog: {dialog.message}")
        return dialog.dismiss()

    def _check_origin(self, request):
        if not request.url.startswith((self.base + "/", "data:", "blob:")):
            self.faults.append(f"request to {request.url}")

    def _check_console(self, message):
        # A status of the API is shown to the user; the browser logs it too.
        if message.type in ("error", "warning") and "Failed to load resource" not in message.text:
            self.faults.append(f"console: {message.text}")

    def goto(self, path):
        self.page.goto(f"{self.base}/app{path}")
        expect(self.page.locator("h1")).to_be_visible()

    def register(self, email, message=None):
        """Through the form. message: one that the page then shows for a moment."""
        self.goto("/register")
        self.page.get_by_label("E-mail address", exact=True).fill(email)
        self.page.get_by_label("Password", exact=True).fill(PASSWORD)
        self.page.get_by_role("button", name="Create account").click()
        if message:
            expect(self.page.get_by_text(message)).to_be_visible()
        expect(self.page.get_by_role("heading", level=1, name="Links")).to_be_visible()

    def enter(self, email):
        """Through the form of somebody who has an account."""
        self.goto("/login")
        self.page.get_by_label("E-mail address", exact=True).fill(email)
        self.page.get_by_label("Password", exact=True).fill(PASSWORD)
        self.page.get_by_role("main").get_by_role("button", name="Log in").click()
        expect(self.page.get_by_role("heading", level=1, name="Links")).to_be_visible()

    def login(self, email):
        """Without the form: the journey through it has a test of its own."""
        answer = self.context.request.post(
            f"{self.base}/api/auth/session",
            data={"email": email, "password": PASSWORD},
            headers={"Origin": self.base},
        )
        assert answer.status == 201, answer.text()

    def settle(self):
        """Until nothing is loading any more."""
        expect(self.page.locator(".skeleton, .is-loading")).to_have_count(0)
        expect(self.page.locator("h1")).to_be_visible()

    def tab_to(self, name):
        """Presses Tab until what has that name has the focus, as somebody without a mouse does. name: a regular expression."""
        passed = []
        for _ in range(STOPS_MAX):
            self.page.keyboard.press("Tab")
            passed.append(self.page.evaluate(FOCUSED))
            if re.fullmatch(name, passed[-1]):
                return
        raise AssertionError(f"{name!r} is not among {passed}")

    def press(self, name):
        self.tab_to(name)
        self.page.keyboard.press("Enter")

    def choose(self, menu, number):
        """The item of a menu with this number, from 0; -1 is the last one."""
        self.press(menu)
        for key in ["ArrowDown"] * number if number >= 0 else ["End"]:
            self.page.keyboard.press(key)
        self.page.keyboard.press("Enter")

    def pick(self, button, choice):
        """A choice of a list that a button opens."""
        self.page.get_by_role("button", name=button).click()
        self.page.get_by_role("option", name=choice, exact=True).click()

    def log_out(self):
        self.page.get_by_role("button", name="Account and help").click()
        self.page.get_by_role("menuitem", name="Log out").click()

    def period(self):
        """Which range is counted, in words."""
        if self.page.locator(".info").count() == 0:
            self.page.locator(".metric-info button").click()
        return self.page.locator(".info p").first

    def violations(self, rules=None):
        """What axe finds by all the rules that it has on by default, or by these alone."""
        if not self.page.evaluate("'axe' in window"):
            # Not through a script element, which the policy of the page rejects.
            self.context.new_cdp_session(self.page).send("Runtime.evaluate", {"expression": AXE})
        # In the middle of a movement, colours are mixed.
        self.page.evaluate("Promise.all(document.getAnimations().filter((each) => each.effect.getComputedTiming().endTime < Infinity).map((each) => each.finished.catch(() => null)))")
        options = {"resultTypes": ["violations"], **({"runOnly": {"type": "rule", "values": rules}} if rules else {})}
        found = self.page.evaluate("options => axe.run(document, options)", options)["violations"]
        return [(each["id"], [node["html"] for node in each["nodes"]]) for each in found]

    def resize(self, width, height):
        self.page.set_viewport_size({"width": width, "height": height})
        # Observers of sizes have run after the next drawing.
        self.page.evaluate("new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))")

    def overflow(self):
        """By how many pixels the page is wider than the window."""
        return self.page.evaluate("document.documentElement.scrollWidth - innerWidth")

    def cut_off(self):
        return self.page.evaluate(CUT_OFF)

    def close(self):
        self.context.close()
        assert self.faults == []
