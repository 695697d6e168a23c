"""The page Live of an account in Chromium: screen.py LINKS_API_URL EMAIL. Prints "ready", and after a line on stdin, as JSON,
{N: [the times in milliseconds since 1970 at which a row with the referring host nN.example.org appeared]}.
"""

import json
import sys

from playwright.sync_api import sync_playwright

PASSWORD = "correct horse battery"
# A row that is already there when it is moved keeps its element and is not reported again.
OBSERVE = """() => {
    window.shown = {};
    const known = new WeakSet();
    const look = () => {
        for (const row of document.querySelectorAll("tbody tr")) {
            const found = known.has(row) ? null : /n(\\d+)\\.example\\.org/.exec(row.textContent);
            if (!found) continue;
            known.add(row);
            (window.shown[found[1]] ??= []).push(performance.timeOrigin + performance.now());
        }
    };
    new MutationObserver(look).observe(document.body, { childList: true, subtree: true });
}"""


def main():
    base, email = sys.argv[1:]
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path="/usr/bin/chromium-headless-shell", args=["--no-sandbox"])
        context = chromium.new_context(viewport={"width": 1280, "height": 900})
        answer = context.request.post(f"{base}/api/auth/session", data={"email": email, "password": PASSWORD}, headers={"Origin": base})
        assert answer.status == 201, answer.text()
        page = context.new_page()
        page.goto(f"{base}/app/live")
        page.get_by_text("Connected").wait_for()
        page.evaluate(OBSERVE)
        print("ready", flush=True)
        while sys.stdin not in readable(page):
            pass
        print(json.dumps(page.evaluate("window.shown")), flush=True)
        chromium.close()


def readable(page):
    """Playwright handles events of the browser only while it is called."""
    import select

    page.wait_for_timeout(200)
    return select.select([sys.stdin], [], [], 0)[0]


main()
