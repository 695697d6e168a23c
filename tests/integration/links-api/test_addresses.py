"""Addresses of accounts: their confirmation and change, and new passwords by mail. Nobody learns who has an account, or takes one."""

import concurrent.futures
import hashlib
import itertools
import json
import re

import pytest
from clients import Api, ask, unique_email
from users import PASSWORD, Browser, FactorUser, User, insert_session, invent_secret

VARIABLES = {"REDIS_TIMEOUT_MS": 5000, "MAIL_FROM": "Waymark <noreply@wm.example>", "DASHBOARD_URL": "https://api.wm.example/app/"}
OTHER = "staple of another horse"
NETWORKS = (f"100.{64 + i // 256}.{i % 256}" for i in itertools.count())


@pytest.fixture
def person(service, database):
    return FactorUser(service, database, bare=True)


@pytest.fixture
def other(service, database):
    return FactorUser(service, database, bare=True)


@pytest.fixture(scope="module")
def admin(service, database):
    return User(service, database, "admin")


@pytest.fixture(scope="module")
def without_mail(start):
    return start(MAIL_FROM="")


@pytest.fixture
def mails(database):
    """mails(address, kind): the data of its mails, oldest first, once count of them are there."""

    def read(address, kind, count=1):
        sql = "SELECT data FROM mail_outbox WHERE address = %s AND kind = %s ORDER BY id"
        found = []
        for _ in range(600):
            found = [row[0] for row in database.run(sql, address, kind)]
            if len(found) >= count:
                break
            database.run("SELECT pg_sleep(0.05)")
        assert len(found) == count, (address, kind, found)
        return found

    return read


def kind(answer):
    return answer.json["type"].removeprefix("/problems/")


def outcome(answer):
    return answer.status if answer.status < 300 else (answer.status, kind(answer))


def token_in(mail):
    return mail["url"].partition("#")[2]


def ask_for_change(api, email, password=PASSWORD):
    return api.call("POST", "/api/auth/email", {"email": email, "password": password})


def confirm(api, token):
    return api.call("POST", "/api/auth/email/confirm", {"token": token})


def ask_for_reset(service, email, network=None, **headers):
    return Api(service.url).call("POST", "/api/auth/password-reset/request", {"email": email}, {"X-Forwarded-For": f"{network or next(NETWORKS)}.1", **headers})


def reset(service, token, password=OTHER):
    return Api(service.url).call("POST", "/api/auth/password-reset", {"token": token, "new_password": password})


def in_parallel(count, call):
    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        return list(pool.map(call, range(count)))


def email_of(database, person):
    return database.value("SELECT email FROM users WHERE id = %s", person.id)


@pytest.fixture
def changing(person, mails):
    """(the person, the address that was asked for, its token)"""
    new = unique_email()
    assert ask_for_change(person, new).status == 202
    return person, new, token_in(mails(new, "confirm-address")[0])


@pytest.fixture
def forgetful(person, service, mails):
    """(the person, the token of a mail)"""
    assert ask_for_reset(service, person.email).status == 202
    return person, token_in(mails(person.email, "password-reset")[0])


WRONG_TOKEN = (403, "wrong-token")

# --- the address of a new account ---


def test_where_only_some_domains_may_register_an_address_counts_once_it_is_confirmed(start, database, mails):
    service = start(REGISTRATION_DOMAINS="example.com")
    api, admin = Api(service.url), User(service, database, "admin")
    api.register_and_login(f"{unique_email().partition('@')[0]}@example.com")
    for path in ("/api/links", "/api/workspaces", "/api/stats/summary"):
        assert outcome(api.call("GET", path)) == (403, "address-unconfirmed")
        assert admin.call("GET", path).status == 200
    assert api.call("GET", "/api/auth/me").status == 200
    assert ask_for_change(api, api.email).status == 202
    assert confirm(api, token_in(mails(api.email, "confirm-address", 2)[-1])).status == 200
    assert api.call("GET", "/api/links").status == 200


def test_a_registration_asks_for_a_confirmation(service, database, mails):
    api = Api(service.url)
    api.register_and_login(unique_email())
    assert api.call("GET", "/api/auth/me").json["user"]["email_confirmed_at"] is None
    [mail] = mails(api.email, "confirm-address")
    assert re.fullmatch(r"https://api\.wm\.example/app/confirm#wme_[0-9A-Za-z]{43}", mail["url"]) and mail["expires_at"]
    answer = confirm(api, token_in(mail))
    assert answer.status == 200 and answer.json["user"]["email_confirmed_at"]
    assert outcome(confirm(api, token_in(mail))) == WRONG_TOKEN, "once"
    mails(api.email, "address-changed", 0)
    assert token_in(mail) not in service.text()
    stored = database.value("SELECT count(*) FROM email_confirmations")
    assert database.value("SELECT count(*) FROM email_confirmations WHERE token_hash = %s", hashlib.sha256(token_in(mail).encode()).digest()) == 0, stored


def test_a_mail_can_be_asked_for_again_and_replaces_the_first(service, mails):
    api = Api(service.url)
    api.register_and_login(unique_email())
    assert ask_for_change(api, api.email).status == 202
    first, then = mails(api.email, "confirm-address", 2)
    assert outcome(confirm(api, token_in(first))) == WRONG_TOKEN
    assert confirm(api, token_in(then)).status == 200


def test_a_registration_that_fails_sends_no_mail(service, person, mails):
    answer = Api(service.url).call("POST", "/api/auth/register", {"email": person.email.upper(), "password": PASSWORD})
    assert outcome(answer) == (409, "email-taken")
    mails(person.email, "confirm-address", 0)
    mails(person.email.upper(), "confirm-address", 0)


# --- another address ---


def test_an_address_changes_once_its_owner_confirms_it_and_both_are_told(changing, database, mails, service):
    person, new, token = changing
    assert email_of(database, person) == person.email, "not before"
    answer = confirm(person, token)
    assert answer.status == 200 and answer.json["user"]["email"] == new and answer.json["user"]["email_confirmed_at"]
    assert mails(person.email, "address-changed") == mails(new, "address-changed") == [{"old": person.email, "new": new}]
    assert Api(service.url).call("POST", "/api/auth/login", {"email": new, "password": PASSWORD}).status == 200
    assert Api(service.url).call("POST", "/api/auth/login", {"email": person.email, "password": PASSWORD}).status == 401
    [(details,)] = database.run("SELECT details FROM audit_log WHERE action = 'user.email' AND actor_id = %s", person.id)
    assert details == {}, "no address is in the audit log"


@pytest.mark.parametrize("body, pointers", [
    ({}, ("/email", "/password")), ({"email": "new@example.com"}, ("/password",)), ({"password": PASSWORD}, ("/email",)),
    ({"email": "x", "password": PASSWORD}, ("/email",)), ({"email": "a@b@c", "password": PASSWORD}, ("/email",)),
    ({"email": "ü@example.com", "password": PASSWORD}, ("/email",)), ({"email": "a b@example.com", "password": PASSWORD}, ("/email",)),
    ({"email": "a@example.com\r\nBcc: b@example.com", "password": PASSWORD}, ("/email",)), ({"email": 7, "password": PASSWORD}, ("/email",)),
    ({"email": "a@example.com", "password": PASSWORD, "user_id": 1}, ("/user_id",)), ({"email": "a" * 255 + "@example.com", "password": PASSWORD}, ("/email",)),
])  # fmt: skip
def test_a_change_is_validated(person, expect, body, pointers):
    expect(person.call("POST", "/api/auth/email", body), 400, *pointers)


def test_a_change_needs_the_password(person, mails):
    new = unique_email()
    assert outcome(ask_for_change(person, new, "not this one")) == (403, "wrong-password")
    mails(new, "confirm-address", 0)


def test_wrong_passwords_of_changes_are_limited(person):
    outcomes = [outcome(ask_for_change(person, unique_email(), "not this one")) for _ in range(11)]
    assert outcomes == [(403, "wrong-password")] * 10 + [(429, "rate-limit")]


VARIANTS = [str.upper, str.title, str.swapcase, str]


@pytest.mark.parametrize("variant", VARIANTS, ids=[each.__name__ for each in VARIANTS])
def test_the_address_of_another_account_is_refused_in_any_case(person, other, mails, variant):
    taken = variant(other.email)
    assert outcome(ask_for_change(person, taken)) == (409, "email-taken")
    mails(taken, "confirm-address", 0)


@pytest.mark.parametrize("variant", VARIANTS, ids=[each.__name__ for each in VARIANTS])
def test_one_may_write_the_own_address_in_another_case(person, mails, database, variant):
    assert ask_for_change(person, variant(person.email)).status == 202
    assert confirm(person, token_in(mails(variant(person.email), "confirm-address")[0])).status == 200
    assert email_of(database, person) == variant(person.email)


@pytest.mark.parametrize("variant", VARIANTS, ids=[each.__name__ for each in VARIANTS])
def test_an_address_that_somebody_took_meanwhile_is_refused(changing, service, database, variant):
    person, new, token = changing
    assert Api(service.url).call("POST", "/api/auth/register", {"email": variant(new), "password": PASSWORD}).status == 201
    assert outcome(confirm(person, token)) == (409, "email-taken")
    assert email_of(database, person) == person.email


def test_of_two_accounts_that_want_one_address_one_gets_it(person, other, mails, database):
    new = unique_email()
    for each in (person, other):
        assert ask_for_change(each, new).status == 202
    first, then = mails(new, "confirm-address", 2)
    pairs = [(person, token_in(first)), (other, token_in(then))]
    outcomes = in_parallel(2, lambda i: outcome(confirm(*pairs[i])))
    assert sorted(outcomes, key=str) == [(409, "email-taken"), 200]
    assert database.value("SELECT count(*) FROM users WHERE email = %s", new) == 1


def test_of_two_changes_at_once_the_last_one_counts(person, mails, database):
    addresses = [unique_email() for _ in range(4)]
    answers = in_parallel(4, lambda i: ask_for_change(person, addresses[i]))
    assert {each.status for each in answers} == {202}
    outcomes = [outcome(confirm(person, token_in(mails(each, "confirm-address")[0]))) for each in addresses]
    assert sorted(outcomes, key=str) == [WRONG_TOKEN] * 3 + [200]
    assert email_of(database, person) == addresses[outcomes.index(200)]


def test_of_many_confirmations_one_wins(changing, mails):
    person, new, token = changing
    outcomes = in_parallel(8, lambda _: outcome(confirm(person, token)))
    assert sorted(outcomes, key=str) == [WRONG_TOKEN] * 7 + [200]
    mails(new, "address-changed", 1)


TOKENS = ["", "wme_", "wme_" + "A" * 43, "wmr_" + "A" * 43, "wms_" + "A" * 43, "x" * 4000, "' OR ''='", "wme_" + "é" * 43]


@pytest.mark.parametrize("token", TOKENS)
def test_an_invented_token_confirms_nothing(changing, token, database):
    person, _, _ = changing
    assert outcome(confirm(person, token)) == WRONG_TOKEN
    assert email_of(database, person) == person.email


@pytest.mark.parametrize("change", [lambda t: t[:-1], lambda t: t + "A", str.lower, str.upper, lambda t: t[4:], lambda t: " " + t, lambda t: t.replace("wme_", "wmr_")])
def test_a_changed_token_confirms_nothing(changing, change):
    person, _, token = changing
    assert outcome(confirm(person, change(token))) == WRONG_TOKEN
    assert outcome(confirm(person, token)) == 200


def test_a_token_is_good_for_its_account_alone(changing, other, service, database):
    """So a mistyped address gives its owner no account, and nobody is given another's address."""
    person, new, token = changing
    assert outcome(confirm(other, token)) == WRONG_TOKEN
    assert outcome(confirm(Api(service.url), token)) == (401, "credentials-missing")
    assert email_of(database, other) == other.email
    assert outcome(confirm(person, token)) == 200


@pytest.mark.parametrize("token", [None, 7, ["wme_"], {}])
def test_a_token_is_a_text(person, expect, token):
    expect(confirm(person, token), 400, "/token")


# --- what ends a token ---


def expire(person, service, database, admin):
    for table in ("email_confirmations", "password_resets"):
        database.run(f"UPDATE {table} SET expires_at = clock_timestamp() WHERE user_id = %s", person.id)


def use_the_password_reset_of_an_administrator(person, service, database, admin):
    token = admin.call("POST", f"/api/admin/users/{person.id}/password-reset").json["token"]
    assert reset(service, token).status == 204


def change_the_password(person, service, database, admin):
    assert person.call("POST", "/api/auth/password", {"current_password": PASSWORD, "new_password": OTHER}).status == 204


def delete_the_account(person, service, database, admin):
    assert person.call("DELETE", "/api/auth/me", {"password": PASSWORD}).status == 204


def change_the_address(person, service, database, admin):
    secret = invent_secret("wme_")
    database.run("""INSERT INTO email_confirmations VALUES (%s, %s, %s, clock_timestamp() + interval '1 hour') ON CONFLICT (user_id)
                    DO UPDATE SET email = EXCLUDED.email, token_hash = EXCLUDED.token_hash""",
                 person.id, unique_email(), hashlib.sha256(secret.encode()).digest())  # fmt: skip
    assert confirm(person, secret).status == 200


def another_mail(person, service, database, admin):
    assert ask_for_change(person, unique_email()).status == 202
    before = database.value("SELECT token_hash FROM password_resets WHERE user_id = %s", person.id) if database.run("SELECT 1 FROM password_resets WHERE user_id = %s", person.id) else None
    assert ask_for_reset(service, person.email).status == 202
    for _ in range(600):
        rows = database.run("SELECT token_hash FROM password_resets WHERE user_id = %s", person.id)
        if rows and rows[0][0] != before:
            return
        database.run("SELECT pg_sleep(0.05)")


ENDS = [expire, use_the_password_reset_of_an_administrator, change_the_password, delete_the_account, change_the_address, another_mail]


@pytest.mark.parametrize("end", ENDS, ids=[each.__name__ for each in ENDS])
def test_the_token_of_an_address_has_ended(changing, service, database, admin, end):
    person, new, token = changing
    end(person, service, database, admin)
    thief = Browser(service.url, insert_session(database, person.id))
    assert outcome(confirm(thief, token)) in (WRONG_TOKEN, (401, "session-ended"))
    assert database.value("SELECT count(*) FROM users WHERE email = %s", new) == 0


@pytest.mark.parametrize("end", ENDS, ids=[each.__name__ for each in ENDS])
def test_the_token_of_a_new_password_has_ended(forgetful, service, database, admin, end):
    person, token = forgetful
    end(person, service, database, admin)
    before = database.value("SELECT password_hash FROM users WHERE id = %s", person.id)
    assert outcome(reset(service, token, "a third password")) == WRONG_TOKEN
    assert database.value("SELECT password_hash FROM users WHERE id = %s", person.id) == before


# --- a new password by mail ---


def test_a_forgotten_password_is_set_with_the_token_of_a_mail(person, service, database, mails):
    browser = Browser(service.url, insert_session(database, person.id))
    answer = ask_for_reset(service, person.email.upper())
    assert answer.status == 202 and answer.json == {}
    [mail] = mails(person.email, "password-reset")
    assert re.fullmatch(r"https://api\.wm\.example/app/reset#wmr_[0-9A-Za-z]{43}", mail["url"]) and mail["expires_at"]
    assert person.log_in().status == 200, "the old password works until then"
    assert reset(service, token_in(mail)).status == 204
    assert [outcome(person.log_in(password=each)) for each in (PASSWORD, OTHER)] == [(401, "wrong-credentials"), 200]
    assert browser.call("GET", "/api/auth/me").status == 401, "sessions have ended"
    assert outcome(reset(service, token_in(mail), "a third password")) == WRONG_TOKEN, "once"
    assert database.value("SELECT email_confirmed_at FROM users WHERE id = %s", person.id), "the mail has arrived"
    rows = database.run("SELECT action, actor_id FROM audit_log WHERE subject_id = %s AND subject_type = 'user' ORDER BY id", person.id)
    assert rows == [("user.password_reset_create", None), ("user.password_reset", person.id)]


def test_of_many_uses_of_a_token_one_wins(forgetful, service):
    person, token = forgetful
    passwords = [f"password number {i}" for i in range(8)]
    outcomes = in_parallel(8, lambda i: outcome(reset(service, token, passwords[i])))
    assert sorted(outcomes, key=str) == [204] + [WRONG_TOKEN] * 7 or sorted(outcomes, key=str) == [WRONG_TOKEN] * 7 + [204]
    assert outcome(person.log_in(password=passwords[outcomes.index(204)])) == 200


@pytest.mark.parametrize("token", TOKENS[1:5] + ["' OR ''='abc"])
def test_an_invented_token_sets_no_password(forgetful, service, token):
    assert reset(service, token).status in (400, 403)


@pytest.mark.parametrize("change", [lambda t: t[:-1], lambda t: t + "A", str.lower, str.upper, lambda t: t[4:], lambda t: " " + t, lambda t: t.replace("wmr_", "wme_")])
def test_a_changed_token_sets_no_password(forgetful, service, change):
    _, token = forgetful
    assert outcome(reset(service, change(token))) == WRONG_TOKEN


def test_tokens_of_mails_and_of_administrators_do_not_replace_each_other(forgetful, service, admin, mails):
    """Otherwise a stranger could keep ending the link that an administrator has given to somebody."""
    person, token = forgetful
    given = admin.call("POST", f"/api/admin/users/{person.id}/password-reset").json["token"]
    assert ask_for_reset(service, person.email).status == 202
    mails(person.email, "password-reset", 2)
    assert reset(service, given).status == 204
    assert outcome(reset(service, token)) == WRONG_TOKEN


HOSTILE = [{"Host": "evil.example"}, {"X-Forwarded-Host": "evil.example"}, {"Forwarded": "host=evil.example"}, {"Origin": "https://evil.example"}, {"Referer": "https://evil.example/"}]


@pytest.mark.parametrize("headers", HOSTILE, ids=[json.dumps(each) for each in HOSTILE])
def test_no_header_moves_the_link_of_a_mail(person, service, mails, headers):
    ask_for_reset(service, person.email, **headers)
    new = unique_email()
    person.call("POST", "/api/auth/email", {"email": new, "password": PASSWORD}, headers)
    for mail in mails(person.email, "password-reset") + mails(new, "confirm-address"):
        assert mail["url"].startswith("https://api.wm.example/app/")


# --- who has an account stays a secret ---


def unknown(person, service, database):
    return unique_email()


def deleted(person, service, database):
    assert person.call("DELETE", "/api/auth/me", {"password": PASSWORD}).status == 204
    return person.email


def blocked(person, service, database):
    database.run("UPDATE users SET blocked = true WHERE id = %s", person.id)
    return person.email


@pytest.mark.parametrize("whose", [unknown, deleted, blocked], ids=lambda each: each.__name__)
def test_an_address_without_an_account_gets_the_same_response_and_no_mail(person, other, service, database, mails, whose):
    address = whose(person, service, database)
    answers = [ask_for_reset(service, each) for each in (address, other.email)]
    drop = ("date", "x-request-id")
    same = [(each.status, each.body, {k: v for k, v in each.headers.items() if k not in drop}) for each in answers]
    assert same[0] == same[1]
    mails(other.email, "password-reset", 1)
    mails(address, "password-reset", 0)


@pytest.mark.parametrize("whose", ["unknown", "known"])
def test_the_response_waits_for_no_look_up(person, service, database, mails, whose):
    """So its time says nothing."""
    with database.locked("users", "ACCESS EXCLUSIVE"):
        assert ask_for_reset(service, person.email if whose == "known" else unique_email()).status == 202
    mails(person.email, "password-reset", int(whose == "known"))


@pytest.mark.parametrize("body, pointer", [({}, "/email"), ({"email": None}, "/email"), ({"email": "x"}, "/email"), ({"email": ["a@example.com"]}, "/email"), ({"email": "a@example.com", "to": "b@example.com"}, "/to")])
def test_a_request_for_a_mail_is_validated(service, expect, body, pointer):
    expect(Api(service.url).call("POST", "/api/auth/password-reset/request", body), 400, pointer)


def test_nobody_floods_a_mailbox_and_its_owner_holds_a_good_link(person, service, database, mails):
    answers = [ask_for_reset(service, variant(person.email)) for variant in (str, str.upper, str.title) * 5]
    assert {each.status for each in answers} == {202}, "who asks learns nothing"
    last = mails(person.email, "password-reset", 10)[-1]
    assert reset(service, token_in(last)).status == 204


def test_a_network_causes_a_limited_number_of_mails(service, person):
    network = next(NETWORKS)
    outcomes = [outcome(ask_for_reset(service, unique_email(), network)) for _ in range(101)]
    assert set(outcomes[:-1]) <= {202, (429, "busy")} and outcomes[-1] == (429, "rate-limit")
    assert ask_for_reset(service, person.email).status == 202, "other networks are not limited"


def test_an_account_causes_a_limited_number_of_mails_to_an_address(person, mails):
    victim = unique_email()
    outcomes = [outcome(ask_for_change(person, victim)) for _ in range(11)]
    assert outcomes == [202] * 10 + [(429, "rate-limit")]
    mails(victim, "confirm-address", 10)


# --- without mail ---


def test_without_mail_an_administrator_gives_the_link(without_mail, database):
    person = FactorUser(without_mail, database, bare=True)
    for email in (person.email, unique_email()):
        answer = ask_for_reset(without_mail, email)
        assert outcome(answer) == (409, "no-mail") and "administrator" in answer.json["detail"]


def test_without_mail_an_address_changes_at_once_and_is_not_confirmed(without_mail, database):
    person, new = FactorUser(without_mail, database, bare=True), unique_email()
    database.run("UPDATE users SET email_confirmed_at = now() WHERE id = %s", person.id)
    assert outcome(ask_for_change(person, new, "not this one")) == (403, "wrong-password")
    answer = ask_for_change(person, new)
    assert (answer.status, answer.json["user"]["email"], answer.json["user"]["email_confirmed_at"]) == (200, new, None)
    assert outcome(ask_for_change(FactorUser(without_mail, database, bare=True), new.upper())) == (409, "email-taken")
    assert database.value("SELECT count(*) FROM mail_outbox WHERE address = %s", new) == 0


@pytest.mark.parametrize("url, page", [("", "https://wm.example/app/"), ("https://api.wm.example/app", "https://api.wm.example/app/"), ("https://x.example/", "https://x.example/")])
def test_mails_lead_to_the_dashboard(start, database, mails, url, page):
    person = FactorUser(start(DASHBOARD_URL=url), database, bare=True)
    new = unique_email()
    assert ask_for_change(person, new).status == 202
    assert mails(new, "confirm-address")[0]["url"].startswith(f"{page}confirm#wme_")
