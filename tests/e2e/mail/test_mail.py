"""Mail through Debian's Exim, and how each mail looks. Not a part of make test: make e2e-mail, as root.

Pictures and texts of all mails are written to build/mails. AWAY_S: how long the mail server is away (600).
"""

import contextlib
import json
import os
import pathlib
import tempfile
import time
import urllib.parse

import pytest
from mail_server import BUILD, Janitor
from service import Database, Service
from users import User
from waiting import wait_until

from exim import PASSWORD, USER, Exim

AWAY_S = int(os.environ.get("AWAY_S", "600"))
PICTURES = pathlib.Path(BUILD).parent / "mails"
LOGIN = f"{urllib.parse.quote(USER, safe='')}:{urllib.parse.quote(PASSWORD, safe='')}@127.0.0.1"
URL = "https://links.example.com/app/invitation#token=wmi_3nTZ0pYbqkWm5sVJx7uGfRdLc2HaEo9iK1tNyQvSz8P"
END = "2999-12-05T14:00:00.000Z"
LINKS = [
    ("Spring catalogue", "/spring", 4_821), ("Newsletter, November", "/letter-11", 2_310), ("Open day at the workshop", "/open-day", 1_202),
    ("/jobs", "", 877), ("How to find us", "/map", 640), ("What do you think? A survey about our newsletter and all that", "/survey", 512),
    ("Book a repair", "/repair", 230), ("Podcast, episode 12", "/podcast", 91), ("Press kit", "/press", 12), ("/x", "", 1),
]  # fmt: skip
DEAD = [
    ("Spring catalogue", "https://shop.example.com/catalogue/2025/spring?utm_source=letter&utm_medium=email", "404"),
    ("/press", "https://press.example.net/", None), ("Partner programme", "https://partner.example.org/de/start", "503"),
]  # fmt: skip


def rows(links):
    return [{"name": name, "detail": detail, "value": value} for name, detail, value in links]


LOCALES = ("en", "de", "fr")
KINDS = {
    "invitation": {"workspace": "Marketing & Sales", "inviter": "Ann Müller", "url": URL, "expires_at": END},
    "invitation-instance": {"workspace": "", "inviter": "Ann Müller", "url": URL, "expires_at": END},
    "confirm-address": {"url": URL, "expires_at": END},
    "address-changed": {"old": "ann@old.example", "new": "ann.mueller@new.example"},
    "password-reset": {"url": URL, "expires_at": END},
    "destination-died": {"count": 5, "more": 2, "links": rows(DEAD), "url": "https://links.example.com/app/"},
    "monthly-report": {"workspace": "Marketing & Sales", "month": "2026-11-01", "visits": 10_696, "before": 8_204, "links": rows(LINKS), "url": "https://links.example.com/app/"},
    "test": {},
}


@pytest.fixture
def database():
    made = Database()
    yield made
    made.close()


@contextlib.contextmanager
def exim_running(**options):
    with tempfile.TemporaryDirectory(prefix="exim-") as folder:
        made = Exim(folder, **options)
        try:
            yield made.start()
        finally:
            made.stop()


@pytest.fixture
def exim():
    with exim_running() as made:
        yield made


@contextlib.contextmanager
def sending(database, url, **variables):
    janitor = Janitor(database.url("waymark_janitor"), url, MAIL_FROM=f"Short links <{USER}>", **variables)
    try:
        yield janitor
    finally:
        janitor.stop()


def starttls(exim, login=LOGIN):
    return f"smtp+starttls://{login}:{exim.port}?ca_file={exim.authority}"


def add(database, kind="test", to="bob@mail.example", data=None, locale=""):
    database.run("INSERT INTO mail_outbox (kind, address, locale, data) VALUES (%s, %s, %s, %s)", kind, to, locale, json.dumps(data or {}))


def waiting(database):
    return database.value("SELECT count(*) FROM mail_outbox WHERE state = 'waiting'")


def draw(html, name):
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path="/usr/bin/chromium-headless-shell", args=["--no-sandbox", "--disable-gpu"])
        for form, scheme, width in (("light", "light", 800), ("dark", "dark", 800), ("phone", "light", 360)):
            page = chromium.new_context(viewport={"width": width, "height": 300}, color_scheme=scheme, java_script_enabled=False).new_page()
            requests = []
            page.on("request", lambda request, seen=requests: seen.append(request.url))
            page.set_content(html)
            page.screenshot(path=PICTURES / f"{name}.{form}.png", full_page=True)
            assert requests == [], "a mail asks nobody for anything"
        chromium.close()


def test_each_mail_in_its_two_forms_over_starttls_with_a_login(database, exim):
    PICTURES.mkdir(parents=True, exist_ok=True)
    for locale in LOCALES:
        for kind, data in KINDS.items():
            add(database, kind.removesuffix("-instance"), f"{kind}.{locale}@mail.example", data, locale)
    with sending(database, starttls(exim)):
        wait_until(lambda: len(exim.mails()) == len(LOCALES) * len(KINDS), "all mails to arrive")
    for locale in LOCALES:
        for kind in KINDS:
            (mail,) = exim.to(f"{kind}.{locale}@mail.example")
            text, html = (mail.get_body(preferencelist=(form,)).get_content() for form in ("plain", "html"))
            (PICTURES / f"{kind}.{locale}.txt").write_text(f"Subject: {mail['Subject']}\n\n{text}")
            (PICTURES / f"{kind}.{locale}.html").write_text(html)
            draw(html, f"{kind}.{locale}")
    assert f"A=plain:{USER}" in exim.log() and "X=TLS" in exim.log()


def test_implicit_tls(database, exim):
    add(database)
    with sending(database, f"smtps://{LOGIN}:{exim.tls_port}?ca_file={exim.authority}"):
        wait_until(lambda: len(exim.mails()) == 1, "the mail to arrive")


def test_a_test_mail_of_an_administrator(database, exim):
    service = Service(database, MAIL_FROM=f"Short links <{USER}>")
    try:
        admin = User(service, database, role="admin")
        with sending(database, starttls(exim)):
            assert admin.call("POST", "/api/admin/mail-test").json == {"to": admin.email}
            wait_until(lambda: len(exim.to(admin.email)) == 1, "the mail to arrive")
    finally:
        service.stop()


def test_a_server_that_is_away_and_back_gets_each_mail_once(database, exim):
    exim.stop()
    with sending(database, starttls(exim)) as janitor:
        for n in range(30):
            add(database, to=f"person-{n}@mail.example")
        time.sleep(AWAY_S)
        assert waiting(database) == 30
        exim.start()
        wait_until(lambda: waiting(database) == 0, "all mails to be sent")
        wait_until(lambda: len(exim.mails()) == 30, "all mails to arrive")
        assert len({mail["Message-ID"] for mail in exim.mails()}) == 30
        failures = janitor.events("mail_server_failed")
        assert {"Failed to connect" in line["reason"] for line in failures} == {True}
        assert len(failures) <= AWAY_S / 60 + 2, "a line a minute"


def test_what_the_server_refuses_is_said_and_nothing_is_lost(database, exim):
    (exim.folder / "greylisting").touch()
    for name in ("nobody", "later", "bob"):
        add(database, to=f"{name}@mail.example")
    with sending(database, starttls(exim)) as janitor:
        assert "550 5.1.1 no such user here" in janitor.wait_for("mail_refused")[0]["reason"]
        assert "451 4.7.1 greylisted" in janitor.wait_for("mail_deferred")[0]["reason"]
        (exim.folder / "greylisting").unlink()
        wait_until(lambda: waiting(database) == 0, "the deferred mail to be sent")
        wait_until(lambda: len(exim.mails()) == 2, "both mails to arrive")
    assert database.run("SELECT address, state FROM mail_outbox") == [("nobody@mail.example", "refused")]


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        (f"smtp+starttls://{LOGIN}:{{port}}", "certificate"),
        (f"smtp+starttls://{LOGIN.replace('pass', 'wrong')}:{{port}}?ca_file={{ca}}", "535"),
        ("smtp+starttls://127.0.0.1:{port}?ca_file={ca}", "5.7.0 log in first"),
        (f"smtps://{LOGIN}:{{port}}?ca_file={{ca}}", ""),
    ],
)
def test_a_wrong_setting_is_said_and_the_mail_waits(database, exim, url, reason):
    add(database)
    with sending(database, url.format(port=exim.port, ca=exim.authority)) as janitor:
        assert reason in janitor.wait_for("mail_server_failed")[0]["reason"]
        assert waiting(database) == 1 and exim.mails() == []
        assert "pass word" not in janitor.text() + exim.log()


def test_a_server_without_starttls_gets_no_mail(database):
    add(database)
    with exim_running(advertises_tls=False) as exim, sending(database, starttls(exim)) as janitor:
        assert "STARTTLS" in janitor.wait_for("mail_server_failed")[0]["reason"]
        assert waiting(database) == 1 and exim.mails() == []
