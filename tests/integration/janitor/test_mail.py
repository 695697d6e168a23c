"""The janitor sends what waits in mail_outbox, each mail once, whatever the mail server does."""

import contextlib
import json
import re
import socket

import pytest
from clients import ask
from mail_server import Janitor, MailServer, login_of, make_authority
from service import Database
from stacklib.ports import Ports
from waiting import wait_until

NOW_DUE = "UPDATE mail_outbox SET next_attempt_at = clock_timestamp() WHERE state = 'waiting'"
URL = "https://short.example/app/x#token=wmr_a-b_c&x=1"
END = "2999-12-05T14:00:00.000Z"
LINKS = [{"name": "Spring <b>", "detail": "https://a.example/ä", "value": None}, {"name": "/b", "detail": "", "value": 404}]
# Of each kind: its data, and what a reader finds in both forms, in English and in German.
KINDS = {
    "invitation": ({"workspace": "R&D <team>", "inviter": "Ännchen\r\nBcc: x@y.example", "url": URL, "expires_at": END}, "R&D <team>", "R&D <team>"),
    "confirm-address": ({"url": URL, "expires_at": END}, "5 December 2999, 14:00 UTC", "5. Dezember 2999, 14:00 Uhr UTC"),
    "address-changed": ({"old": "a@b.example", "new": "c@d.example"}, "has the address c@d.example", "die Adresse c@d.example"),
    "password-reset": ({"url": URL, "expires_at": END}, "Set a new password", "Neues Passwort setzen"),
    "destination-died": ({"count": 2, "links": LINKS, "url": URL}, "no answer", "keine Antwort"),
    "monthly-report": ({"workspace": "Team", "month": "2026-11-01", "visits": 1234, "before": 7, "links": LINKS, "url": URL}, "1,234", "1.234"),
    "test": ({}, "This is the test", "Das ist der Test"),
}


@pytest.fixture
def database():
    made = Database()
    yield made
    made.close()


@pytest.fixture
def server():
    made = MailServer()
    yield made.start()
    made.stop()


@pytest.fixture
def janitor(database):
    """janitor(smtp_url): starts one on the database. Stopped after the test."""
    started = []

    def start(smtp_url, *wrapper, **variables):
        started.append(Janitor(database.url("waymark_janitor"), smtp_url, *wrapper, **variables))
        return started[-1]

    yield start
    for each in started:
        each.stop()


def add(database, kind="test", to="bob@mail.example", data=None, locale="", workspace=None):
    return database.value(
        "INSERT INTO mail_outbox (kind, address, locale, data, workspace_id) VALUES (%s, %s, %s, %s, %s) RETURNING id",
        kind, to, locale, json.dumps(data or {}), workspace,
    )  # fmt: skip


def waiting(database):
    return database.value("SELECT count(*) FROM mail_outbox WHERE state = 'waiting'")


def await_sent(database):
    wait_until(lambda: waiting(database) == 0, "no mail to wait")


def of(server):
    return f"smtp://127.0.0.1:{server.port}"


@pytest.mark.parametrize(("locale", "column"), [("en", 1), ("de", 2)])
def test_each_kind_arrives_in_both_forms_in_the_language_of_its_reader(database, server, janitor, locale, column):
    for kind, row in KINDS.items():
        add(database, kind, f"{kind}@mail.example", row[0], locale)
    janitor(of(server))
    await_sent(database)
    assert len(server.mails) == len(KINDS)
    for kind, row in KINDS.items():
        (mail,) = server.to(f"{kind}@mail.example")
        message = mail.message
        assert (mail.sender, message["To"]) == ("links@short.example", f"{kind}@mail.example")
        assert str(message["From"]) == "Kürzer & Co <links@short.example>"
        assert message.get_content_type() == "multipart/alternative"
        assert [part.get_content_type() for part in message.iter_parts()] == ["text/plain", "text/html"]
        assert message["Auto-Submitted"] == "auto-generated" and message["Date"].datetime and message["Bcc"] is None
        assert re.fullmatch(r"<waymark\.\d+\.\d+@short\.example>", mail.id)
        assert all(len(line) <= 998 and line.isascii() for line in mail.raw.splitlines())
        assert mail.host == "short.example"
        text, html = mail.form("plain"), mail.form("html")
        escaped = row[column].replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        assert row[column] in text and escaped in html and f'<html lang="{locale}">' in html
        assert "{" not in mail.subject + text and "<b>" not in html and "<team>" not in html
        assert ("url" in row[0]) == (URL in text) == (URL.replace("&", "&amp;") in html)


def test_a_server_that_was_away_gets_each_mail_once_when_it_is_back(database, server, janitor):
    server.stop()
    ids = [add(database, to=f"person-{n}@mail.example") for n in range(20)]
    process = janitor(of(server))
    # Ten minutes, in which every mail is tried ten times.
    for _ in range(10):
        database.run(NOW_DUE)
        wait_until(lambda: database.value("SELECT count(*) FROM mail_outbox WHERE next_attempt_at > clock_timestamp()") > 0, "an attempt")
    assert waiting(database) == len(ids)
    process.wait_for_failure("Failed to connect")
    # The janitor may just be trying one of them.
    untried = "SELECT count(*) FROM mail_outbox WHERE attempts = 0 AND failures = 0"
    wait_until(lambda: database.value(untried) == len(ids), "no mail to count as tried")
    server.start()
    database.run(NOW_DUE)
    await_sent(database)
    assert sorted(mail.to[0] for mail in server.mails) == sorted(f"person-{n}@mail.example" for n in range(20))
    assert database.value("SELECT count(*) FROM mail_outbox") == 0


def test_a_refused_address_is_not_tried_again_and_stands_in_the_lists(database, server, janitor):
    server.replies["RCPT"] = lambda address: f"550 5.1.1 <{address}>: no such user" if "obody" in address else "250 OK"
    add(database, "invitation", "Nobody@mail.example", KINDS["invitation"][0], workspace=7)
    add(database)
    process = janitor(of(server))
    await_sent(database)
    server.wait_for(1)
    assert [mail.to for mail in server.mails] == [["bob@mail.example"]]
    assert database.run("SELECT state, error, data, attempts FROM mail_outbox") == [("refused", "RCPT: 550 5.1.1 <…>: no such user", {}, 1)]
    assert database.run("SELECT action, subject_type, workspace_id, details FROM audit_log") == [("mail.refused", "mail", 7, {"kind": "invitation"})]
    assert "obody@" not in process.text() and "wmr_" not in process.text()
    metrics = ask(process.ops_url, "GET", "/metrics").body.decode()
    assert 'waymark_mails_total{outcome="sent"} 1\n' in metrics and 'waymark_mails_total{outcome="refused"} 1\n' in metrics
    database.run("UPDATE mail_outbox SET ended_at = clock_timestamp() - interval '8 days'")
    wait_until(lambda: database.value("SELECT count(*) FROM mail_outbox") == 0, "the row to be deleted after a week")


@pytest.mark.parametrize("command", ["RCPT", "DATA"])
def test_a_mail_that_is_deferred_is_sent_later_and_others_at_once(database, server, janitor, command):
    server.replies[command] = lambda address: "451 4.7.1 greylisted" if address == "bob@mail.example" else "250 OK"
    add(database)
    add(database, to="ann@mail.example")
    process = janitor(of(server))
    server.wait_for(1)
    process.wait_for("mail_deferred")
    wait = database.value("SELECT extract(epoch FROM next_attempt_at - clock_timestamp()) FROM mail_outbox WHERE failures = 1 AND attempts = 1")
    assert 30 < wait <= 60
    server.replies.clear()
    database.run(NOW_DUE)
    await_sent(database)
    assert [mail.to[0] for mail in server.mails] == ["ann@mail.example", "bob@mail.example"]


@pytest.mark.parametrize("reply", ["421 4.3.2 shutting down", "550 5.7.1 sender refused", "530 5.7.0 login first"])
def test_a_server_that_takes_no_mail_loses_none(database, server, janitor, reply):
    server.replies["MAIL"] = reply
    add(database)
    process = janitor(of(server))
    process.wait_for_failure(reply)
    wait_until(lambda: database.run("SELECT state, attempts, failures FROM mail_outbox") == [("waiting", 0, 0)], "the mail to wait")
    server.replies.clear()
    database.run(NOW_DUE)
    await_sent(database)
    assert len(server.mails) == 1


def test_a_mail_whose_outcome_is_unknown_is_sent_at_most_twice_and_can_be_recognised(database, server, janitor):
    server.drops = True
    add(database)
    process = janitor(of(server))
    for count in (1, 2):
        server.wait_for(count)
        wait_until(lambda: database.value("SELECT attempts FROM mail_outbox") == count, "the attempt to count")
        wait_until(lambda: database.value("SELECT error FROM mail_outbox") != "", "its end")
        database.run(NOW_DUE.replace("SET", "SET error = '',"))
    process.wait_for("mail_given_up")
    assert len(server.mails) == 2 and len({mail.id for mail in server.mails}) == 1
    assert database.run("SELECT state, data FROM mail_outbox") == [("given_up", {})]
    assert database.value("SELECT action FROM audit_log") == "mail.given_up"


def test_a_janitor_that_dies_while_it_sends_sends_again_with_the_same_id(database, server, janitor):
    server.drops = True
    add(database)
    with socket.create_server(("127.0.0.1", Ports().take())) as silent:
        process = janitor(f"smtp://127.0.0.1:{silent.getsockname()[1]}")
        silent.accept()
        process.kill()
    assert database.run("SELECT state, attempts, failures FROM mail_outbox") == [("waiting", 1, 0)]
    server.drops = False
    database.run(NOW_DUE)
    database.run("UPDATE shedlock SET lock_until = timezone('utc', clock_timestamp()) WHERE name = 'waymark-mail'")
    janitor(of(server))
    await_sent(database)
    assert len(server.mails) == 1


def test_what_comes_too_late_is_given_up(database, server, janitor):
    old = add(database)
    expired = add(database, "password-reset", data={"url": URL, "expires_at": "2026-01-01T00:00:00.000Z"})
    broken = add(database, "no-such-kind")
    database.run("UPDATE mail_outbox SET created_at = clock_timestamp() - interval '8 days' WHERE id = %s", old)
    janitor(of(server))
    await_sent(database)
    assert dict(database.run("SELECT id, error FROM mail_outbox WHERE state = 'given_up' AND data = '{}'")) == {
        old: "a week has passed", expired: "its link has expired", broken: "it cannot be written",
    }  # fmt: skip
    assert server.mails == []


def test_two_janitors_send_each_mail_once(database, server, janitor):
    janitor(of(server))
    janitor(of(server))
    for n in range(60):
        add(database, to=f"person-{n}@mail.example")
    await_sent(database)
    assert sorted(mail.to[0] for mail in server.mails) == sorted(f"person-{n}@mail.example" for n in range(60))


# --- encryption and login ---


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return make_authority(tmp_path_factory.mktemp("authority"))


def guarded(authority, **options):
    """A server that wants STARTTLS and a login."""
    return MailServer(
        tls_context=authority[1], require_starttls=True, auth_required=True, auth_require_tls=True,
        authenticator=login_of("links@short.example", "pass word/1"), **options,
    )  # fmt: skip


@contextlib.contextmanager
def running(server):
    try:
        yield server.start()
    finally:
        server.stop()


LOGIN = "links%40short.example:pass%20word%2F1@127.0.0.1"


def test_a_login_over_starttls_sends(database, janitor, authority):
    with running(guarded(authority)) as server:
        add(database)
        add(database)
        process = janitor(f"smtp+starttls://{LOGIN}:{server.port}?ca_file={authority[0]}")
        await_sent(database)
        assert [(mail.is_encrypted, mail.login) for mail in server.mails] == [(True, b"links@short.example")] * 2
        assert "word" not in process.text()


def test_implicit_tls_sends(database, janitor, authority):
    with running(MailServer(ssl_context=authority[1])) as server:
        add(database)
        janitor(f"smtps://localhost:{server.port}?ca_file={authority[0]}".replace("localhost", "127.0.0.1"))
        await_sent(database)
        assert len(server.mails) == 1


@pytest.mark.parametrize(
    ("is_guarded", "url", "reason"),
    [
        (False, "smtp+starttls://127.0.0.1:{port}", "STARTTLS"),
        (True, "smtp+starttls://" + LOGIN + ":{port}", "certificate"),
        (True, "smtp+starttls://links%40short.example:wrong@127.0.0.1:{port}?ca_file={ca}", "535"),
        (True, "smtp+starttls://127.0.0.1:{port}?ca_file={ca}", "530"),
        (True, "smtp+starttls://" + LOGIN.replace("127.0.0.1", "localhost") + ":{port}?ca_file={ca}", "certificate"),
    ],
)
def test_without_encryption_a_right_certificate_or_a_right_login_nothing_is_sent(database, janitor, authority, is_guarded, url, reason):
    with running(guarded(authority) if is_guarded else MailServer()) as server:
        add(database)
        process = janitor(url.format(port=server.port, ca=authority[0]))
        process.wait_for_failure(reason)
        assert server.mails == [] and waiting(database) == 1
        assert "word" not in process.text()


def test_a_server_that_hangs_holds_up_nothing_else(database, janitor):
    with socket.create_server(("127.0.0.1", Ports().take())) as silent:
        add(database)
        process = janitor(f"smtp://127.0.0.1:{silent.getsockname()[1]}", EXPIRY_FIRST_DELAY_S="0")
        assert "timed out" in process.wait_for("mail_server_failed")[0]["reason"].lower()
        assert waiting(database) == 1
