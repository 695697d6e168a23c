"""Opens pages of the dashboard in Chromium and acts on them: interactions.py LINKS_API_URL EMAIL. Prints, as JSON, the times
in milliseconds of first views on a CPU that is four times slower, and of interactions at full speed and on that CPU.
"""

import json
import sys

from playwright.sync_api import expect, sync_playwright

PASSWORD = "correct horse battery"
VIEWS, REPEATS = 5, 4
SLOWDOWN = 4
LINES = "".join(f"https://example.com/{n},line-{n},A page,spring\n" for n in range(500))
# Durations of events are rounded to 8 ms by the browser, and those below 16 ms are not reported. A task of 50 ms or more that
# comes later, as with an answer, keeps the next event waiting.
WATCH = """() => {
    window.slow = [];
    new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) if (entry.interactionId) window.slow.push(entry.duration);
    }).observe({ type: "event", durationThreshold: 16 });
    new PerformanceObserver((list) => window.slow.push(...list.getEntries().map((entry) => entry.duration))).observe({ type: "longtask" });
}"""

LARGEST = """() => new Promise((done) => new PerformanceObserver((list) => done(list.getEntries().at(-1).startTime))
    .observe({ type: "largest-contentful-paint", buffered: true }))"""


class Dashboard:
    def __init__(self, playwright, base, email):
        self.base, self.email = base, email
        self.chromium = playwright.chromium.launch(executable_path="/usr/bin/chromium-headless-shell", args=["--no-sandbox"])

    def open(self):
        context = self.chromium.new_context(viewport={"width": 1280, "height": 900}, locale="en-GB", timezone_id="Europe/Berlin")
        session = {"email": self.email, "password": PASSWORD}
        answer = context.request.post(f"{self.base}/api/auth/session", data=session, headers={"Origin": self.base})
        assert answer.status == 201, answer.text()
        return context.new_page()

    def view(self, path):
        """A first view in a new context, so the cache is empty."""
        page = self.open()
        page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": SLOWDOWN})
        page.goto(f"{self.base}/app{path}", wait_until="commit")
        page.locator("h1").wait_for()
        paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
        settle(page)
        content = page.evaluate(LARGEST)
        page.context.close()
        return {"paint": paint, "content": content}


def settle(page):
    expect(page.locator(".skeleton, .is-loading")).to_have_count(0)


def timed(page, act):
    """How long an interaction keeps the page from the next one, in milliseconds: the longest of its events and tasks."""
    page.evaluate("window.slow.length = 0")
    act()
    settle(page)
    page.wait_for_timeout(600)  # entries come after the paint, and the text of a field is read when somebody pauses
    return max(page.evaluate("window.slow"), default=16)


def on_links(page, base):
    page.goto(f"{base}/app/links")
    settle(page)
    page.evaluate(WATCH)
    search = page.get_by_role("searchbox")
    rows, keyboard = page.get_by_role("checkbox"), page.keyboard
    yield "a key in the search", lambda: search.press_sequentially("letter", delay=60), lambda: search.fill("")
    yield "a row's menu", lambda: page.get_by_role("button", name="Actions for").first.click(), lambda: keyboard.press("Escape")
    yield "a link is chosen", lambda: rows.nth(1).click(), lambda: rows.nth(1).click()
    yield "the next page of links", lambda: page.get_by_role("button", name="Next").click(), page.go_back
    yield "the form for a new link", lambda: keyboard.press("c"), lambda: keyboard.press("Escape")
    keyboard.press("Control+k")
    command = page.get_by_role("combobox")
    yield "a key in ⌘K", lambda: command.press_sequentially("letter", delay=60), lambda: command.fill("")


def on_import(page, base):
    page.goto(f"{base}/app/links/bulk")
    settle(page)
    page.evaluate(WATCH)
    field = page.get_by_role("textbox").first
    field.fill(LINES)
    field.press("Control+End")
    yield "a key in the import of 500 lines", lambda: field.press("x"), lambda: field.press("Backspace")


def on_overview(page, base):
    page.goto(f"{base}/app/statistics")
    settle(page)
    page.evaluate(WATCH)
    press, button = page.keyboard.press, lambda name: page.locator("main").get_by_role("button", name=name, exact=True).first
    yield "a range by its key", lambda: press("w"), lambda: press("m")
    yield "compare by its key", lambda: press("x"), lambda: press("x")
    yield "another metric", page.locator(".metric").nth(1).click, page.locator(".metric").first.click
    yield "another tab of a list", button("Website").click, button("Source").click
    button("Website").click()
    yield "a list of 600 values in full", lambda: button("All values: Website").click(), lambda: press("Escape")
    button("All values: Website").click()
    search = page.get_by_role("dialog").get_by_role("searchbox")
    yield "a key in its search", lambda: search.press_sequentially("site", delay=60), lambda: search.fill("")


def main():
    base, email = sys.argv[1:]
    with sync_playwright() as playwright:
        dashboard = Dashboard(playwright, base, email)
        names = {"the start page": "/login", "the statistics": "/statistics", "the links": "/links"}
        views = {name: [dashboard.view(path) for _ in range(VIEWS)] for name, path in names.items()}
        interactions = {}
        for rate in (1, SLOWDOWN):
            page = dashboard.open()
            for part in (on_links, on_import, on_overview):
                for name, act, undo in part(page, base):
                    page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": rate})
                    durations = []
                    for _ in range(REPEATS):
                        durations.append(timed(page, act))
                        undo()
                        settle(page)
                    interactions.setdefault(name, []).append(durations)
            page.context.close()
        dashboard.chromium.close()
    print(json.dumps({"views": views, "interactions": interactions}))


main()
