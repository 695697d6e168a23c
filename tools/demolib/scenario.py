"""The steps of the demo. Each step checks the response that it prints."""

import os
import secrets
import signal
import time

from . import http_client
from .console import Console
from .demo_stack import DemoStack, DemoStackError

COUNT_TIMEOUT_S = 300

WEBKIT = "AppleWebKit/537.36 (KHTML, like Gecko)"
CHROME = f"Mozilla/5.0 (Windows NT 10.0; Win64; x64) {WEBKIT} Chrome/126.0.0.0 Safari/537.36"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0"
SAFARI = (
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) "
    "Version/17.5 Mobile/15E148 Safari/604.1"
)
ANDROID = f"Mozilla/5.0 (Linux; Android 14; Pixel 8) {WEBKIT} Chrome/126.0.0.0 Mobile Safari/537.36"
EDGE = f"{CHROME} Edg/126.0.0.0"

# Addresses in America, Europe and Japan. Kafka and the database receive only their networks.
VISITORS = (
    ("8.8.8.8", "Chrome on Windows", CHROME),
    ("193.0.6.139", "Firefox on Linux", FIREFOX),
    ("202.32.0.1", "Safari on an iPhone", SAFARI),
    ("2001:4860:4860::8888", "Chrome on Android", ANDROID),
    ("81.2.69.160", "Edge on Windows", EDGE),
)


class UnexpectedResponse(Exception):
    """A response differs from what the step expects."""


def expect(condition, text):
    if not condition:
        raise UnexpectedResponse(text)


class Scenario:
    def __init__(self, console, addresses):
        self.console = console
        self.api = addresses["LINKS_API_URL"]
        self.redirector = addresses["REDIRECTOR_URL"]
        self.headers = {}
        self.credentials = {}
        self.link = None

    def run(self):
        self.register()
        self.log_in()
        self.create_permanent_link()
        self.create_anonymous_link()
        self.follow_five_times()
        self.wait_for_the_count()
        self.list_countries()
        self.look_at_the_totals()

    def request(self, method, path, status, body=None, shown_body=None):
        """Prints and sends the request, checks the status, and returns the JSON of the response."""
        self.console.request(method, self.api + path, shown_body or body)
        response = http_client.send(method, self.api + path, body, self.headers)
        if response.status != status:
            raise UnexpectedResponse(f"{method} {path} returned {response.status} instead of {status}: {response.body.decode()}")
        return response.json()

    def register(self):
        self.console.step("Register a user")
        email = f"ada-{secrets.token_hex(4)}@example.com"
        self.credentials = {"email": email, "password": secrets.token_urlsafe(12)}
        shown = {**self.credentials, "password": "…"}
        self.console.response("201 Created", self.request("POST", "/api/auth/register", 201, self.credentials, shown))

    def log_in(self):
        self.console.step("Log in")
        shown = {**self.credentials, "password": "…"}
        token = self.request("POST", "/api/auth/login", 200, self.credentials, shown)
        expect(token.get("access_token"), f"no access_token in {token}")
        self.console.response("200 OK", token)
        self.headers = {"Authorization": f"Bearer {token['access_token']}"}

    def create_permanent_link(self):
        self.console.step("Create a permanent link")
        link = {"original_url": "https://example.com/autumn?utm_source=demo", "title": "Autumn catalogue"}
        self.link = self.request("POST", "/api/links", 201, link)["link"]
        is_permanent = self.link["link_type"] == "permanent" and self.link["state"] == "active"
        expect(is_permanent, f"not a permanent link: {self.link}")
        shown = pick(self.link, "id", "slug", "short_url", "original_url", "link_type", "state")
        self.console.response("201 Created (excerpt)", {"link": shown})

    def create_anonymous_link(self):
        self.console.step("Create an anonymous link, which the claim token lets a user take over")
        self.headers, own_headers = {}, self.headers
        response = self.request("POST", "/api/links/public", 201, {"original_url": "https://example.com/just-once"})
        self.headers = own_headers
        link = response["link"]
        expect(link["link_type"] == "temporary" and link["expires_at"], f"not a temporary link: {link}")
        expect(response.get("claim_token"), "no claim_token")
        shown = pick(link, "id", "slug", "short_url", "link_type", "expires_at")
        self.console.response("201 Created (excerpt)", {"link": shown, "claim_token": response["claim_token"]})

    def follow_five_times(self):
        self.console.step("Follow the permanent link five times, as five visitors behind a trusted proxy")
        url = f"{self.redirector}/{self.link['slug']}"
        self.console.request("GET", url)
        for address, visitor, agent in VISITORS:
            response = http_client.send("GET", url, headers={"X-Forwarded-For": address, "User-Agent": agent})
            location = response.headers.get("Location")
            expect(response.status == 302, f"{visitor} got {response.status}: {response.body.decode()}")
            expect(location == self.link["original_url"], f"{visitor} was redirected to {location}")
            self.console.row(visitor, f"from {address}", f"{response.status} →", location)

    def wait_for_the_count(self):
        self.console.step("Wait until the clicks have passed through Kafka into the statistics")
        path = f"/api/links/{self.link['id']}/stats"
        self.console.request("GET", self.api + path)
        began = time.monotonic()
        while True:
            response = http_client.send("GET", self.api + path, headers=self.headers)
            expect(response.status == 200, f"statistics returned {response.status}: {response.body.decode()}")
            totals = response.json()
            if totals["humans"] >= len(VISITORS) and totals["as_of"]:
                break
            waited = time.monotonic() - began
            seen = f"counted {totals['humans']} as of {totals['as_of']}"
            expect(waited < COUNT_TIMEOUT_S, f"{seen} after {COUNT_TIMEOUT_S} s")
            time.sleep(0.1)
        self.console.response("200 OK", totals)
        expect(totals["humans"] == len(VISITORS), f"counted {totals['humans']}, not {len(VISITORS)}")
        expect(totals["bots"] == 0, f"counted {totals['bots']} of the visitors as bots")
        self.console.success(f"5 visits counted, {time.monotonic() - began:.1f} s after the last click")

    def list_countries(self):
        self.console.step("List the countries of the visitors")
        countries = self.request("GET", f"/api/links/{self.link['id']}/stats/country", 200)
        for item in countries["items"]:
            self.console.row(item["value"] or "unknown", f"{item['humans']} visits")
        expect(countries["totals"]["humans"] == len(VISITORS), f"counted {countries['totals']}, not {len(VISITORS)}")

    def look_at_the_totals(self):
        self.console.step("Read the public totals of this Waymark")
        totals = self.request("GET", "/api/stats", 200)
        self.console.response("200 OK", totals)
        expect(totals["total_links"] >= 2, f"{totals['total_links']} links, not 2")


def pick(values, *names):
    return {name: values[name] for name in names}


def stay_up(console, stack, scenario):
    console.title("Waymark stays up until Ctrl-C")
    for name, text in (
        ("REDIRECTOR_URL", "short links"),
        ("LINKS_API_URL", "links-api"),
        ("REDIRECTOR_OPS_URL", "redirector*"),
        ("LINKS_API_OPS_URL", "links-api*"),
        ("CONSUMER_OPS_URL", "analytics-consumer*"),
        ("JANITOR_OPS_URL", "janitor*"),
        ("KAFKA_BROKERS", "Kafka"),
        ("REDIS_URL", "Redis"),
        ("PG_URL", "PostgreSQL"),
    ):
        console.row(text, stack.addresses[name])
    console.row("dashboard", stack.addresses["LINKS_API_URL"] + "/app/")
    console.row("API in a browser", stack.addresses["LINKS_API_URL"] + "/docs")
    console.row("e-mail address", scenario.credentials["email"])
    console.row("password", scenario.credentials["password"])
    console.line("* /livez, /readyz and /metrics")
    console.line(f'In another shell: eval "$(tools/stack env --state {stack.folder})"')
    try:
        signal.pause()
    except KeyboardInterrupt:
        console.title("Cleaning up")


def main():
    console = Console()
    console.title("Waymark: short links that report every visit")
    try:
        console.step("Start a private PostgreSQL, Redis and Kafka and the four services")
        with DemoStack(console) as stack:
            scenario = Scenario(console, stack.addresses)
            scenario.run()
            console.success("every step succeeded")
            if not os.environ.get("DEMO_ONCE"):
                stay_up(console, stack, scenario)
    except (UnexpectedResponse, DemoStackError, OSError, ValueError, KeyError) as error:
        console.failure(str(error) if isinstance(error, (UnexpectedResponse, DemoStackError)) else f"{type(error).__name__}: {error}")
        return 1
    except KeyboardInterrupt:
        console.failure("interrupted before the last step")
        return 130
    return 0
