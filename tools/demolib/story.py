"""What the demo does, step by step. Each step checks the answer it shows."""

import os
import secrets
import signal
import time

from . import web
from .page import Page
from .stage import Stage, StageError

COUNTED_WITHIN_S = 30

WEBKIT = "AppleWebKit/537.36 (KHTML, like Gecko)"
CHROME = f"Mozilla/5.0 (Windows NT 10.0; Win64; x64) {WEBKIT} Chrome/126.0.0.0 Safari/537.36"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0"
SAFARI = (
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) "
    "Version/17.5 Mobile/15E148 Safari/604.1"
)
ANDROID = f"Mozilla/5.0 (Linux; Android 14; Pixel 8) {WEBKIT} Chrome/126.0.0.0 Mobile Safari/537.36"
EDGE = f"{CHROME} Edg/126.0.0.0"

# Addresses in America, Europe and Japan. Only their networks reach Kafka and the database.
VISITORS = (
    ("8.8.8.8", "Chrome on Windows", CHROME),
    ("193.0.6.139", "Firefox on Linux", FIREFOX),
    ("202.32.0.1", "Safari on an iPhone", SAFARI),
    ("2001:4860:4860::8888", "Chrome on Android", ANDROID),
    ("81.2.69.160", "Edge on Windows", EDGE),
)


class Surprise(Exception):
    """An answer that is not as it should be."""


def expect(condition, text):
    if not condition:
        raise Surprise(text)


class Story:
    def __init__(self, page, addresses):
        self.page = page
        self.api = addresses["LINKS_API_URL"]
        self.redirector = addresses["REDIRECTOR_URL"]
        self.headers = {}
        self.link = None

    def tell(self):
        self.register()
        self.log_in()
        self.create_permanent_link()
        self.create_anonymous_link()
        self.follow_five_times()
        self.wait_for_the_count()
        self.look_at_the_totals()

    def ask(self, method, path, status, body=None, shown_body=None):
        """Shows the request, checks the status, gives the JSON of the answer."""
        self.page.request(method, self.api + path, shown_body or body)
        answer = web.send(method, self.api + path, body, self.headers)
        if answer.status != status:
            raise Surprise(f"{method} {path} answered {answer.status} instead of {status}: {answer.body.decode()}")
        return answer.json()

    def register(self):
        self.page.step("Register a user")
        email = f"ada-{secrets.token_hex(4)}@example.com"
        self.credentials = {"email": email, "password": secrets.token_urlsafe(12)}
        shown = {**self.credentials, "password": "…"}
        self.page.answer("201 Created", self.ask("POST", "/api/auth/register", 201, self.credentials, shown))

    def log_in(self):
        self.page.step("Log in")
        shown = {**self.credentials, "password": "…"}
        token = self.ask("POST", "/api/auth/login", 200, self.credentials, shown)
        expect(token.get("access_token"), f"no access_token in {token}")
        self.page.answer("200 OK", token)
        self.headers = {"Authorization": f"Bearer {token['access_token']}"}

    def create_permanent_link(self):
        self.page.step("Create a permanent link")
        wish = {"original_url": "https://example.com/autumn?utm_source=demo", "title": "Autumn catalogue"}
        self.link = self.ask("POST", "/api/links", 201, wish)["link"]
        right = self.link["link_type"] == "PERMANENT" and self.link["state"] == "ACTIVE"
        expect(right, f"not a permanent link: {self.link}")
        shown = pick(self.link, "id", "slug", "short_url", "original_url", "link_type", "state")
        self.page.answer("201 Created", shown)

    def create_anonymous_link(self):
        self.page.step("Create an anonymous link; who holds its claim token can take it over")
        self.headers, mine = {}, self.headers
        answer = self.ask("POST", "/api/links/public", 201, {"original_url": "https://example.com/just-once"})
        self.headers = mine
        link = answer["link"]
        expect(link["link_type"] == "TEMPORARY" and link["expires_at"], f"not a temporary link: {link}")
        expect(answer.get("claim_token"), "no claim_token")
        shown = pick(link, "id", "slug", "short_url", "link_type", "expires_at")
        self.page.answer("201 Created", {**shown, "claim_token": answer["claim_token"]})

    def follow_five_times(self):
        self.page.step("Follow the permanent link five times, as five visitors behind a trusted proxy")
        url = f"{self.redirector}/{self.link['slug']}"
        self.page.request("GET", url)
        for address, who, agent in VISITORS:
            answer = web.send("GET", url, headers={"X-Forwarded-For": address, "User-Agent": agent})
            location = answer.headers.get("Location")
            expect(answer.status == 302, f"{who} was answered {answer.status}: {answer.body.decode()}")
            expect(location == self.link["original_url"], f"{who} was sent to {location}")
            self.page.row(who, f"from {address}", f"{answer.status} →", location)

    def wait_for_the_count(self):
        self.page.step("Wait until the clicks have come through Kafka into the statistics")
        path = f"/api/links/{self.link['id']}/stats"
        self.page.request("GET", self.api + path)
        began = time.monotonic()
        while True:
            answer = web.send("GET", self.api + path, headers=self.headers)
            expect(answer.status == 200, f"statistics answered {answer.status}: {answer.body.decode()}")
            totals = answer.json()
            if totals["visit_count"] >= len(VISITORS):
                break
            waited = time.monotonic() - began
            expect(waited < COUNTED_WITHIN_S, f"counted {totals['visit_count']} after {COUNTED_WITHIN_S} s")
            time.sleep(0.1)
        self.page.answer("200 OK", totals)
        expect(totals["visit_count"] == len(VISITORS), f"counted {totals['visit_count']}, not {len(VISITORS)}")
        expect(totals["bot_count"] == 0, f"took {totals['bot_count']} of the visitors for bots")
        self.page.good(f"5 visits counted, {time.monotonic() - began:.1f} s after the last click")

    def look_at_the_totals(self):
        self.page.step("The public totals of this Waymark")
        totals = self.ask("GET", "/api/stats", 200)
        self.page.answer("200 OK", totals)
        expect(totals["total_links"] >= 2, f"{totals['total_links']} links, not 2")


def pick(values, *names):
    return {name: values[name] for name in names}


def stay_up(page, stage):
    page.title("Waymark stays up until Ctrl-C")
    for name, text in (
        ("REDIRECTOR_URL", "short links"),
        ("LINKS_API_URL", "REST API"),
        ("REDIRECTOR_OPS_URL", "redirector*"),
        ("LINKS_API_OPS_URL", "links-api*"),
        ("CONSUMER_OPS_URL", "analytics-consumer*"),
        ("JANITOR_OPS_URL", "janitor*"),
        ("KAFKA_BROKERS", "Kafka"),
        ("REDIS_URL", "Redis"),
        ("PG_URL", "PostgreSQL"),
    ):
        page.row(text, stage.addresses[name])
    page.line("* /livez, /readyz and /metrics")
    page.line(f'In another shell: eval "$(tools/stack env --state {stage.folder})"')
    try:
        signal.pause()
    except KeyboardInterrupt:
        page.title("Cleaning up")


def main():
    page = Page()
    page.title("Waymark: short links that report every visit")
    try:
        page.step("Start PostgreSQL, Redis, Kafka and the four services, privately")
        with Stage(page) as stage:
            Story(page, stage.addresses).tell()
            page.good("every step came out right")
            if not os.environ.get("DEMO_ONCE"):
                stay_up(page, stage)
    except (Surprise, StageError, OSError, ValueError, KeyError) as error:
        page.bad(f"{type(error).__name__}: {error}" if not isinstance(error, (Surprise, StageError)) else str(error))
        return 1
    except KeyboardInterrupt:
        page.bad("ended by a signal before its last step")
        return 130
    return 0
