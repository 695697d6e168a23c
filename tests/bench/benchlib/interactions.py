"""Opens pages of the dashboard in Chromium and acts on them: interactions.py LINKS_API_URL EMAIL. Prints, as JSON, the times
in milliseconds of first views on a CPU that is four times slower, and of interactions until the next paint.
"""

import json
import sys

from playwright.sync_api import expect, sync_playwright

PASSWORD = "correct horse battery"
VIEWS, REPEATS = 5, 4
SLOWDOWN = 4
# Durations are rounded to 8 ms by the browser, and those below 16 ms are not reported.
WATCH = """() => {
    window.slow = [];
    new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) if (entry.interactionId) window.slow.push(entry.duration);
    }).observe({ type: "event", durationThreshold: 16 });
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
    """The longest duration among the events of an interaction, in milliseconds."""
    page.evaluate("window.slow.length = 0")
    act()
    settle(page)
    page.wait_for_timeout(300)  # entries come after the paint
    return max(page.evaluate("window.slow"), default=16)


def on_links(page, base):
    page.goto(f"{base}/app/links")
    settle(page)
    page.evaluate(WATCH)
    search = page.get_by_role("searchbox")

    def type_a_letter():
        search.press_sequentially("letter", delay=60)

    def clear():
        search.fill("")

    yield "a key in the search", lambda: timed(page, type_a_letter), clear
    yield "a row's menu", lambda: timed(page, lambda: page.get_by_role("button", name="Actions for").first.click()), lambda: page.keyboard.press("Escape")
    yield "a link is chosen", lambda: timed(page, lambda: page.get_by_role("checkbox").nth(1).click()), lambda: page.get_by_role("checkbox").nth(1).click()
    yield "the form for a new link", lambda: timed(page, lambda: page.keyboard.press("c")), lambda: page.keyboard.press("Escape")


def on_overview(page, base):
    page.goto(f"{base}/app/statistics")
    settle(page)
    page.evaluate(WATCH)
    yield "a range by its key", lambda: timed(page, lambda: page.keyboard.press("w")), lambda: page.keyboard.press("m")
    yield "compare by its key", lambda: timed(page, lambda: page.keyboard.press("x")), lambda: page.keyboard.press("x")


def main():
    base, email = sys.argv[1:]
    with sync_playwright() as playwright:
        dashboard = Dashboard(playwright, base, email)
        names = {"the start page": "/login", "the statistics": "/statistics", "the links": "/links"}
        views = {name: [dashboard.view(path) for _ in range(VIEWS)] for name, path in names.items()}
        interactions = {}
        page = dashboard.open()
        for part in (on_links, on_overview):
            for name, act, undo in part(page, base):
                interactions[name] = []
                for _ in range(REPEATS):
                    interactions[name].append(act())
                    undo()
                    settle(page)
        dashboard.chromium.close()
    print(json.dumps({"views": views, "interactions": interactions}))


main()
