"""What links-api queues: a test of an administrator, within limits; and what a person wants to get."""

import pytest
from users import User

SENDER = "Short links <links@short.example>"
VARIABLES = {"MAIL_FROM": SENDER}


@pytest.fixture
def admin(service, database):
    return User(service, database, role="admin")


def mails(database, to):
    return database.run("SELECT kind, locale, data FROM mail_outbox WHERE address = %s", to)


def test_an_administrator_queues_a_test_in_their_own_language(database, admin):
    admin.call("PATCH", "/api/auth/me", {"locale": "de-AT"})
    sent = admin.call("POST", "/api/admin/mail-test")
    assert (sent.status, sent.json) == (202, {"to": admin.email})
    assert mails(database, admin.email) == [("test", "de-AT", {})]
    assert database.value("SELECT count(*) FROM audit_log WHERE action = 'mail.test' AND actor_id = %s", admin.id) == 1


def test_the_list_shows_what_waits_and_what_was_refused(database, admin):
    admin.call("POST", "/api/admin/mail-test")
    mail = admin.call("GET", "/api/admin/mail").json["mails"][0]
    assert (mail["kind"], mail["to"], mail["state"], mail["error"], mail["ended_at"]) == ("test", admin.email, "waiting", "", None)
    assert mail["next_attempt_at"] is not None
    database.run("UPDATE mail_outbox SET state = 'refused', ended_at = clock_timestamp(), error = 'RCPT: 550 no' WHERE id = %s", mail["id"])
    mail = admin.call("GET", "/api/admin/mail").json["mails"][0]
    assert (mail["state"], mail["error"], mail["next_attempt_at"]) == ("refused", "RCPT: 550 no", None)
    assert mail["ended_at"] is not None


def test_nobody_else_sees_or_sends_them(service, database):
    user = User(service, database)
    assert user.call("GET", "/api/admin/mail").status == 403
    assert user.call("POST", "/api/admin/mail-test").status == 403


def test_without_mail_the_answer_says_what_to_set(start, database):
    admin = User(start(MAIL_FROM=""), database, role="admin")
    refused = admin.call("POST", "/api/admin/mail-test")
    assert (refused.status, refused.json["type"]) == (409, "/problems/no-mail")
    assert "MAIL_FROM" in refused.json["detail"] and mails(database, admin.email) == []


def test_ten_mails_a_day_go_to_one_address(database, admin):
    statuses = [admin.call("POST", "/api/admin/mail-test").status for _ in range(11)]
    assert statuses == [202] * 10 + [429]
    assert len(mails(database, admin.email)) == 10


def test_an_address_that_no_mail_reaches_is_said(database, admin):
    database.run("UPDATE users SET email = %s WHERE id = %s", '"a b"@mail.example', admin.id)
    refused = admin.call("POST", "/api/admin/mail-test")
    assert (refused.status, refused.json["type"]) == (409, "/problems/no-mail")


def test_a_person_switches_their_mails_on_and_off(service, database):
    user = User(service, database)
    me = user.call("GET", "/api/auth/me").json["user"]
    assert (me["mail_dead_links"], me["mail_monthly_report"]) == (True, False)
    changed = user.call("PATCH", "/api/auth/me", {"mail_dead_links": False, "mail_monthly_report": True})
    assert changed.status == 200, changed
    me = user.call("GET", "/api/auth/me").json["user"]
    assert (me["mail_dead_links"], me["mail_monthly_report"]) == (False, True)
    assert user.call("PATCH", "/api/auth/me", {"name": "Ann"}).json["user"]["mail_monthly_report"] is True
    wrong = user.call("PATCH", "/api/auth/me", {"mail_dead_links": "no", "mail_monthly_report": None})
    assert wrong.status == 400 and [each["pointer"] for each in wrong.json["errors"]] == ["/mail_dead_links", "/mail_monthly_report"]
