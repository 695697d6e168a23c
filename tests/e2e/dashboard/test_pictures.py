"""Takes the pictures and the animation of README.md and docs/dashboard.md: of the real dashboard, with visits that the real consumer has counted.

    PICTURES=1 make one T=e2e/dashboard/pictures

The visits of sixty days are events of the topic that redirectors write to. Only the address of short links is replaced on the
screen, because the stack has an IP address and a port there.
"""

import datetime
import hashlib
import io
import itertools
import os
import random
import uuid

import pytest
from clients import CHROME, GOOGLEBOT, kafka_settings
from waiting import wait_until

from dashboard.browser import ROOT, expect

pytestmark = pytest.mark.skipif(os.environ.get("PICTURES") != "1", reason="set PICTURES=1 to take the pictures of the documents anew")

TOPIC = "waymark.redirects.v1"
VISITS, DAYS = 14_000, 60
SHORT = "https://go.example"
# The first ones are the most visited.
LINKS = [
    ("spring", "Spring catalogue", ["shop", "print"]), ("letter-11", "Newsletter, November", ["newsletter"]), ("open-day", "Open day at the workshop", ["events"]),
    ("letter-10", "Newsletter, October", ["newsletter"]), ("jobs", "We are hiring", ["team"]), ("map", "How to find us", ["print"]),
    ("survey", "What do you think?", ["newsletter"]), ("repair", "Book a repair", ["shop"]), ("podcast", "Podcast, episode 12", ["events"]), ("press", "Press kit", ["team"]),
]  # fmt: skip
COLORS = {"shop": "#0d6e5f", "newsletter": "#7a3ea8", "events": "#b3541e", "print": "#2c5aa0", "team": "#5c5c5c"}
NETWORKS = [
    "85.214.132.0/24", "8.8.8.0/24", "212.27.48.0/24", "212.58.244.0/24", "200.160.2.0/24", "203.178.141.0/24", "129.132.1.0/24", "131.130.1.0/24",
    "145.100.1.0/24", "80.58.61.0/24", "132.248.10.0/24", "196.25.1.0/24", "1.1.1.0/24", "14.139.1.0/24", "130.237.1.0/24", "217.74.65.0/24",
]  # fmt: skip
AGENTS = [
    CHROME,
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1",
    "Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0",
    "Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Mobile Safari/537.36",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36 Edg/126.0.0.0",
]
REFERRERS = ["", "https://www.google.com/", "https://www.linkedin.com/feed", "https://news.ycombinator.com/item", "https://mail.example.com/inbox"]
CAMPAIGNS = ["", "utm_source=letter&utm_medium=email&utm_campaign=autumn", "utm_source=poster&utm_medium=print&utm_campaign=open-day", "utm_source=podcast&utm_medium=audio"]
LANGUAGES = ["de", "en-US", "fr", "es", "pt-BR", "ja"]


def event_id(dice, time_us):
    """A UUIDv7."""
    return uuid.UUID(int=(time_us // 1000) << 80 | 7 << 76 | dice.getrandbits(12) << 64 | 2 << 62 | dice.getrandbits(62)).bytes


def often_first(dice, choices):
    return choices[int(dice.random() ** 2 * len(choices))]


def moment(dice, now):
    """More every week, more on weekdays, and more by day than by night."""
    while True:
        time = now - datetime.timedelta(days=DAYS * (1 - dice.random() ** 0.6))
        weight = (1 if time.isoweekday() < 6 else 0.45) * (1 if 6 <= time.hour < 21 else 0.25)
        if dice.random() < weight:
            return time


def make_events(messages, links):
    dice = random.Random(12)
    now = datetime.datetime.now(datetime.timezone.utc)
    for _ in range(VISITS):
        time = moment(dice, now)
        time_us = int(time.timestamp() * 1_000_000)
        link = links[min(int(dice.expovariate(0.45)), len(links) - 1)]
        visitor = int(dice.random() ** 2 * 160)
        yield messages.RedirectEvent(
            event_id=event_id(dice, time_us), occurred_at_us=time_us, link_id=link["id"], slug=link["slug"], link_version=1,
            client_network=often_first(dice, NETWORKS), visitor_hash=hashlib.sha256(f"{time.date()} {visitor} {link['id']}".encode()).digest(),
            user_agent=GOOGLEBOT if dice.random() < 0.09 else often_first(dice, AGENTS), referrer=often_first(dice, REFERRERS),
            accept_language=often_first(dice, LANGUAGES), host="go.example", query=often_first(dice, CAMPAIGNS), status=302, latency_us=400,
            method=1, destination_host="shop.example",
        )  # fmt: skip


def send(env, messages, events):
    import confluent_kafka

    producer, instance = confluent_kafka.Producer(kafka_settings(env)), uuid.uuid4().bytes
    while some := list(itertools.islice(events, 500)):
        batch = messages.RedirectBatch(instance=instance, sequence_steps=[1] * len(some), events=some)
        producer.produce(TOPIC, batch.SerializeToString())
    assert producer.flush(60) == 0


@pytest.fixture
def shop(env, user, messages):
    """An account with links, tags, a key, and the visits of sixty days."""
    assert user.call("PATCH", "/api/auth/me", {"name": "Ada Lind", "tz": "Europe/Berlin"}).status == 200
    links = [user.create(f"https://shop.example/{slug}", slug=slug, title=title, tags=tags) for slug, title, tags in LINKS]
    for tag, color in COLORS.items():
        assert user.call("PATCH", f"/api/tags/{tag}", {"color": color}).status == 200
    for title in ("Autumn catalogue", "Spring catalogue"):
        assert user.call("PATCH", f"/api/links/{links[0]['id']}", {"title": title}).status == 200
    assert user.call("PATCH", f"/api/links/{links[-1]['id']}", {"state": "disabled"}).status == 200
    send(env, messages, make_events(messages, links))
    since = datetime.date.today() - datetime.timedelta(days=DAYS + 1)
    wait_until(lambda: user.call("GET", f"/api/stats/summary?from={since}").json["total"] == VISITS, "all visits to be counted")
    user.links = links
    return user


def show_short_addresses(env, page):
    def answer(route):
        response = route.fetch()
        route.fulfill(response=response, body=response.text().replace(env["REDIRECTOR_URL"], SHORT))

    page.route("**/api/**", answer)


PICTURES = [
    ("dashboard", "/statistics?compare=1", {}),
    ("dashboard-link", "/links/{id}?range=30d", {"color_scheme": "dark"}),
    ("dashboard-links", "/links?sort=humans&order=desc", {}),
    ("dashboard-phone", "/statistics?range=7d", {"viewport": {"width": 390, "height": 844}}),
]


def animate(env, browser, shop):
    """A link that is made by the keyboard alone."""
    from PIL import Image

    frames, durations = [], []
    window = browser.open(color_scheme="light", viewport={"width": 1120, "height": 640}, reduced_motion="reduce")
    page = window.page

    def show(milliseconds):
        frames.append(Image.open(io.BytesIO(page.screenshot())).convert("RGB"))
        durations.append(milliseconds)

    window.login(shop.email)
    show_short_addresses(env, page)
    window.goto("/links?sort=humans&order=desc")
    window.settle()
    show(900)
    page.keyboard.press("Control+K")
    expect(page.get_by_role("combobox")).to_be_focused()
    show(600)
    page.evaluate("navigator.clipboard.writeText('https://shop.example/winter/gloves?colour=green')")
    page.keyboard.press("Control+V")
    expect(page.get_by_role("option")).to_have_count(1)
    show(1100)
    page.keyboard.press("Enter")
    expect(page.get_by_role("img", name="QR code")).to_be_visible()
    show(2600)
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Links", exact=True).click()
    window.settle()
    show(1800)
    page.unroute_all(behavior="wait")
    path = ROOT / "docs/images/dashboard-make.webp"
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=durations, loop=0, lossless=True, method=6)
    assert path.stat().st_size < 300_000
    window.close()

def test_the_pictures_of_the_documents(env, browser, shop):
    for name, path, settings in PICTURES:
        window = browser.open(**{"color_scheme": "light", **settings})
        window.login(shop.email)
        show_short_addresses(env, window.page)
        window.goto(path.format(id=shop.links[0]["id"]))
        window.settle()
        expect(window.page.locator("body")).not_to_contain_text("127.0.0.1")
        window.page.unroute_all(behavior="wait")
        window.page.screenshot(path=ROOT / f"docs/images/{name}.png")
        window.close()
    animate(env, browser, shop)
