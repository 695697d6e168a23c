"""The second factor of logins: which codes are right, each once, guesses, and who must have one."""

import base64
import concurrent.futures
import hashlib
import itertools
import urllib.parse

import pytest
from clients import Api, ask, totp
from users import COOKIE, PASSWORD, Browser, FactorUser, User, current_step, insert_api_key, insert_session

# A slow Redis moves the limits into the process. These tests need it to respond even on a busy machine.
VARIABLES = {"REDIS_TIMEOUT_MS": 5000}
DOORS = ("login", "session")
RIGHT = {"login": 200, "session": 201}
NETWORKS = (f"100.{64 + i // 256}.{i % 256}" for i in itertools.count())
HEADER = {"Sec-Fetch-Site": "same-origin"}


@pytest.fixture
def person(service, database):
    return FactorUser(service, database)


@pytest.fixture
def bare(service, database):
    """Somebody without a second factor."""
    return FactorUser(service, database, bare=True)


@pytest.fixture(scope="module")
def second(start):
    """Another instance on the same database."""
    return start()


@pytest.fixture(scope="module")
def admin(service, database):
    return User(service, database, "admin")


def kind(answer):
    return answer.json["type"].removeprefix("/problems/")


def outcome(answer):
    return answer.status if answer.status < 300 else (answer.status, kind(answer))


def row(database, person):
    [found] = database.run("SELECT totp_secret, totp_confirmed_at, totp_step, recovery_codes FROM users WHERE id = %s", person.id)
    return found


def in_parallel(count, call):
    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        return list(pool.map(call, range(count)))


WRONG_CODE, NO_CODE, WRONG_CREDENTIALS, LIMITED = (401, "wrong-code"), (401, "second-factor"), (401, "wrong-credentials"), (429, "rate-limit")

# --- which codes are right ---


@pytest.mark.parametrize("door", DOORS)
def test_a_password_without_a_code_says_what_is_missing_and_lets_nobody_in(person, door, database):
    answer = person.log_in(door=door)
    assert outcome(answer) == NO_CODE and "set-cookie" not in answer.headers and "access_token" not in answer.json
    assert answer.headers["www-authenticate"] == 'Bearer realm="waymark"'
    assert database.value("SELECT count(*) FROM sessions WHERE user_id = %s", person.id) == 0


TYPED = {
    "as it is": lambda p: p.code(),
    "in two groups": lambda p: f"{p.code()[:3]} {p.code()[3:]}",
    "with a hyphen": lambda p: f"{p.code()[:3]}-{p.code()[3:]}",
    "between spaces": lambda p: f" {p.code()} ",
    "recovery code": lambda p: p.recovery_codes[0],
    "recovery code in groups": lambda p: "-".join(p.recovery_codes[1][i : i + 4] for i in range(0, 16, 4)),
    "recovery code in capitals": lambda p: p.recovery_codes[2].upper(),
    "recovery code as it was read": lambda p: p.recovery_codes[3].replace("0", "O").replace("1", "l"),
    "recovery code with I for 1": lambda p: p.recovery_codes[4].replace("0", "o").replace("1", "I"),
}


@pytest.mark.parametrize("door, typed", itertools.product(DOORS, TYPED))
def test_a_code_is_right_however_it_is_typed(person, door, typed):
    assert outcome(person.log_in(TYPED[typed](person), door)) == RIGHT[door]


MALFORMED = ["12345", "1234567", "12345a", "+12345", "1.2345", "1e5000", "\uff11\uff12\uff13\uff14\uff15\uff16", "123456\t", "0" * 15, "0" * 17, "u" * 16, "%00" * 2, "' OR 1=1"]


@pytest.mark.parametrize("code", MALFORMED)
def test_a_text_that_is_no_code_is_wrong(person, code):
    assert outcome(person.log_in(code)) == WRONG_CODE


@pytest.mark.parametrize("code", [123456, None, ["123456"], {"code": "123456"}, True, "1" * 41])
def test_a_code_of_another_type_or_length_is_invalid(person, code, expect):
    answer = Api(person.base).call("POST", "/api/auth/login", {"email": person.email, "password": PASSWORD, "code": code})
    expect(answer, 400, "/code")


@pytest.mark.parametrize("door, offset", itertools.product(DOORS, range(-3, 4)))
def test_a_code_may_be_one_step_early_or_late(person, door, offset):
    wanted = RIGHT[door] if abs(offset) <= 1 else WRONG_CODE
    assert outcome(person.log_in(person.code(offset), door)) == wanted


def test_the_code_of_another_person_is_wrong(person, service, database):
    other = FactorUser(service, database)
    assert outcome(person.log_in(other.code())) == WRONG_CODE
    assert outcome(person.log_in(other.recovery_codes[0])) == WRONG_CODE
    assert outcome(other.log_in(other.recovery_codes[0])) == 200, "nobody else used it up"


def test_a_person_without_a_factor_may_send_a_code(bare):
    assert outcome(bare.log_in("123456")) == 200


@pytest.mark.parametrize("door", DOORS)
def test_a_wrong_password_is_the_same_with_a_right_code_which_stays_unused(person, door, database):
    code = person.code()
    wrong = person.log_in(code, door, password="not this one")
    unknown = Api(person.base).call("POST", f"/api/auth/{door}", {"email": "nobody@example.com", "password": PASSWORD, "code": code}, HEADER)
    assert outcome(wrong) == outcome(unknown) == WRONG_CREDENTIALS and wrong.json["detail"] == unknown.json["detail"]
    assert row(database, person)[2] == 0
    assert outcome(person.log_in(code, door)) == RIGHT[door]


@pytest.mark.parametrize("door", DOORS)
def test_a_blocked_person_learns_it_with_the_right_password_and_uses_up_no_code(person, door, database):
    database.run("UPDATE users SET blocked = true WHERE id = %s", person.id)
    assert outcome(person.log_in(person.code(), door)) == (403, "blocked")
    assert row(database, person)[2] == 0


# --- each code once ---


@pytest.mark.parametrize("first, then", itertools.product(DOORS, DOORS))
def test_a_code_lets_in_once_through_whatever_door(person, second, first, then):
    code = person.code()
    assert outcome(person.log_in(code, first)) == RIGHT[first]
    assert outcome(person.log_in(code, then)) == WRONG_CODE
    assert outcome(person.log_in(code, then, base=second.url)) == WRONG_CODE


@pytest.mark.parametrize("used, replayed", [(0, 0), (0, -1), (1, 1), (1, 0), (1, -1), (-1, -1)])
def test_no_code_up_to_the_last_one_is_right_again(person, used, replayed):
    step = current_step()
    assert outcome(person.log_in(totp(person.secret, step + used))) == 200
    assert outcome(person.log_in(totp(person.secret, step + replayed))) == WRONG_CODE


def test_codes_in_their_order_are_right(person):
    step = current_step()
    assert [outcome(person.log_in(totp(person.secret, step + offset))) for offset in (-1, 0, 1)] == [200] * 3


@pytest.mark.parametrize("number", range(10))
def test_each_recovery_code_is_right_once(person, database, number):
    code = person.recovery_codes[number]
    assert outcome(person.log_in(code)) == 200
    assert [outcome(person.log_in(typed)) for typed in (code, code.upper(), f"{code[:8]}-{code[8:]}")] == [WRONG_CODE] * 3
    assert len(row(database, person)[3]) == 9
    assert outcome(person.log_in(person.recovery_codes[(number + 1) % 10])) == 200


@pytest.mark.parametrize("door, which", itertools.product(DOORS, ("digits", "recovery")))
def test_of_many_logins_with_one_code_one_wins(person, second, door, which):
    code = person.code() if which == "digits" else person.recovery_codes[0]
    networks = [next(NETWORKS) for _ in range(9)]
    answers = in_parallel(9, lambda i: person.log_in(code, door, network=networks[i], base=(second.url if i % 2 else None)))
    assert sorted(map(str, map(outcome, answers))) == sorted(map(str, [RIGHT[door]] + [WRONG_CODE] * 8))


CHANGES = [("DELETE", "/api/auth/second-factor", 204), ("POST", "/api/auth/second-factor/recovery-codes", 200)]


@pytest.mark.parametrize("method, path, done", CHANGES)
def test_a_code_of_a_login_changes_nothing_and_the_other_way_round(person, method, path, done):
    code = person.code()
    assert outcome(person.log_in(code)) == 200
    answer = person.call(method, path, {"password": PASSWORD, "code": code})
    assert outcome(answer) == (403, "wrong-code")
    spare = person.recovery_codes[0]
    assert outcome(person.call(method, path, {"password": PASSWORD, "code": spare})) == done
    if done == 200:
        assert outcome(person.log_in(spare)) == WRONG_CODE


# --- guesses ---


def wrong_code(person):
    """Six digits that are no code of now, of a minute before or after."""
    right = {totp(person.secret, current_step() + offset) for offset in range(-3, 4)}
    return next(code for code in ("000000", "111111", "222222", "333333", "444444", "555555", "666666", "777777") if code not in right)


def test_ten_wrong_codes_limit_the_account_in_their_network_alone(person, service, database):
    here, there, wrong = next(NETWORKS), next(NETWORKS), wrong_code(person)
    assert [outcome(person.log_in(wrong, network=here)) for _ in range(10)] == [WRONG_CODE] * 10
    answer = person.log_in(person.code(), network=here)
    assert outcome(answer) == LIMITED and answer.headers["ratelimit-policy"] == '"second-factor";q=10;w=900'
    assert 0 < int(answer.headers["retry-after"]) <= 900
    assert outcome(person.log_in(person.recovery_codes[0], network=here)) == LIMITED
    other = FactorUser(service, database)
    assert outcome(other.log_in(other.code(), network=here)) == 200, "others in this network are not limited"
    assert outcome(person.log_in(person.code(), network=there)) == 200, "nor the person elsewhere"


def test_parallel_guesses_are_counted(person):
    wrong, here = wrong_code(person), next(NETWORKS)
    answers = in_parallel(24, lambda _: person.log_in(wrong, network=here))
    outcomes = [outcome(each) for each in answers]
    assert outcomes.count(WRONG_CODE) <= 10 and 200 not in outcomes, outcomes
    assert outcome(person.log_in(person.code(), network=next(NETWORKS))) == 200


@pytest.mark.parametrize("password", ["not this one", "correct horse batter", "Correct horse battery"])
def test_codes_without_the_password_use_up_nothing(person, password):
    stranger = next(NETWORKS)
    for _ in range(9):
        assert outcome(person.log_in("000000", password=password, network=stranger)) == WRONG_CREDENTIALS
    wrong = wrong_code(person)
    assert [outcome(person.log_in(wrong, network=stranger)) for _ in range(10)] == [WRONG_CODE] * 10


def test_a_password_without_its_code_is_not_counted(person):
    network = next(NETWORKS)
    assert {outcome(person.log_in(network=network)) for _ in range(25)} == {NO_CODE}
    assert outcome(person.log_in(person.code(), network=network)) == 200


def test_right_codes_and_texts_that_are_no_codes_do_not_count(person):
    network = next(NETWORKS)
    assert {outcome(person.log_in("no code", network=network)) for _ in range(12)} == {WRONG_CODE}
    assert [outcome(person.log_in(code, network=network)) for code in person.recovery_codes] == [200] * 10
    assert outcome(person.log_in(person.code(), network=network)) == 200


@pytest.fixture(scope="module")
def strict(start):
    """At most five wrong codes of an account a day from networks where it has not logged in."""
    return start(LOGIN_FAILURES_PER_ACCOUNT=5)


def test_guesses_from_many_networks_leave_known_networks_and_recovery_codes(strict, database):
    person = FactorUser(strict, database)
    home, wrong = next(NETWORKS), wrong_code(person)
    assert outcome(person.log_in(person.recovery_codes[0], network=home)) == 200
    assert [outcome(person.log_in(wrong, network=next(NETWORKS))) for _ in range(5)] == [WRONG_CODE] * 5
    answer = person.log_in(person.code(), network=next(NETWORKS))
    assert outcome(answer) == LIMITED and answer.headers["ratelimit-policy"] == '"second-factor-account";q=5;w=86400'
    assert "recovery code" in answer.json["detail"]
    assert outcome(person.log_in(person.code(), network=home)) == 200, "a known network"
    assert outcome(person.log_in(person.recovery_codes[1], network=next(NETWORKS))) == 200, "a recovery code"
    other = FactorUser(strict, database)
    assert outcome(other.log_in(other.code(), network=next(NETWORKS))) == 200, "another account"


@pytest.mark.parametrize("door", DOORS)
def test_a_password_alone_makes_no_network_known(strict, database, door):
    """Otherwise who has stolen a password would guess codes without the limit of the account."""
    person = FactorUser(strict, database)
    thief, wrong = next(NETWORKS), wrong_code(person)
    assert outcome(person.log_in(door=door, network=thief)) == NO_CODE
    assert [outcome(person.log_in(wrong, door, network=thief)) for _ in range(5)] == [WRONG_CODE] * 5
    assert outcome(person.log_in(wrong, door, network=thief)) == LIMITED


@pytest.mark.parametrize("method, path, done", CHANGES)
def test_wrong_codes_with_a_stolen_login_count_too(person, method, path, done):
    body = {"password": PASSWORD, "code": wrong_code(person)}
    assert [outcome(person.call(method, path, body)) for _ in range(11)] == [(403, "wrong-code")] * 10 + [LIMITED]


# --- setting one up ---


def offer(api, password=PASSWORD):
    answer = api.call("POST", "/api/auth/second-factor", {"password": password})
    assert answer.status == 201, answer
    return answer.json


def secret_of(offered):
    return base64.b32decode(offered["secret"])


def confirm(api, code):
    return api.call("POST", "/api/auth/second-factor/confirm", {"code": code})


def test_a_factor_begins_with_its_first_code(bare, database, service):
    offered = offer(bare)
    url = urllib.parse.urlsplit(offered["otpauth_url"])
    assert (url.scheme, url.netloc, urllib.parse.unquote(url.path)) == ("otpauth", "totp", f"/wm.example:{bare.email}")
    assert urllib.parse.parse_qs(url.query) == {"secret": [offered["secret"]], "issuer": ["wm.example"]}
    state = lambda api: api.call("GET", "/api/auth/second-factor").json  # noqa: E731
    assert state(bare) == {"since": None, "recovery_codes_left": 0, "required": False}
    assert outcome(bare.log_in()) == 200, "an offered secret is no factor yet"
    code = totp(secret_of(offered), current_step())
    answer = confirm(bare, code)
    codes = answer.json["recovery_codes"]
    assert answer.status == 200 and len(set(codes)) == 10
    assert outcome(bare.log_in(code)) == WRONG_CODE, "the first code is used up"
    assert outcome(bare.log_in()) == NO_CODE
    login = bare.log_in(codes[0])
    bare.token = login.json["access_token"]
    now = state(bare)
    assert now["since"] and now["recovery_codes_left"] == 9
    assert bare.call("GET", "/api/auth/me").json["user"]["second_factor"] is True
    _, _, _, hashes = row(database, bare)
    assert {bytes(each) for each in hashes} == {hashlib.sha256(each.replace("-", "").encode()).digest() for each in codes[1:]}
    assert offered["secret"] not in service.text() and codes[1] not in service.text()
    actions = database.run("SELECT action FROM audit_log WHERE actor_id = %s ORDER BY id", bare.id)
    assert actions == [("user.second_factor",)]


@pytest.mark.parametrize("code", [*MALFORMED, "recovery", "another step", "another secret"])
def test_a_wrong_first_code_sets_nothing_up(bare, database, code):
    secret = secret_of(offer(bare))
    tried = {"recovery": "0" * 16, "another step": totp(secret, current_step() - 2), "another secret": totp(b"x" * 20, current_step())}.get(code, code)
    assert outcome(confirm(bare, tried)) == (403, "wrong-code")
    assert row(database, bare)[1] is None and outcome(bare.log_in()) == 200


def test_a_second_offer_is_the_first_one_again(bare, service):
    """Otherwise a reload of the page would make the app that has scanned it show codes that are wrong."""
    first = offer(bare)
    again = bare.call("POST", "/api/auth/second-factor", {"password": PASSWORD})
    assert (again.status, again.json) == (200, first) and first["replaces_earlier"] is False
    assert outcome(confirm(bare, totp(secret_of(first), current_step()))) == 200


def test_an_offer_of_long_ago_is_replaced_and_the_answer_says_so(bare, database):
    first = offer(bare)
    database.run("UPDATE users SET totp_offered_at = totp_offered_at - interval '1 hour' WHERE id = %s", bare.id)
    then = offer(bare)
    assert then["secret"] != first["secret"] and then["replaces_earlier"] is True
    assert outcome(confirm(bare, totp(secret_of(first), current_step()))) == (403, "wrong-code")
    assert outcome(confirm(bare, totp(secret_of(then), current_step()))) == 200


def test_a_new_password_ends_what_was_offered_with_the_old_one(bare):
    """Whoever knew the old one may have seen that secret."""
    first = offer(bare)
    assert bare.call("POST", "/api/auth/password", {"current_password": PASSWORD, "new_password": "another horse battery"}).status == 204
    bare.token = bare.log_in(password="another horse battery").json["access_token"]
    assert outcome(confirm(bare, totp(secret_of(first), current_step()))) == (409, "state")
    assert offer(bare, "another horse battery")["secret"] != first["secret"]


def test_nothing_is_confirmed_before_it_is_offered(bare):
    assert outcome(confirm(bare, "123456")) == (409, "state")


def test_a_factor_is_not_replaced_by_an_offer(person, database):
    before = row(database, person)
    assert outcome(person.call("POST", "/api/auth/second-factor", {"password": PASSWORD})) == (409, "state")
    assert outcome(confirm(person, person.code())) == (409, "state")
    assert row(database, person) == before


def test_of_many_first_codes_one_wins(bare):
    code = totp(secret_of(offer(bare)), current_step())
    answers = in_parallel(8, lambda _: confirm(bare, code))
    assert [each.status for each in answers].count(200) == 1
    assert {each.status for each in answers} <= {200, 401, 409}, "the token of the others has ended"


def test_logins_without_the_factor_end_with_its_first_code(bare, service, database):
    browser = Browser(service.url, insert_session(database, bare.id))
    thief = Browser(service.url, insert_session(database, bare.id))
    key = Api(service.url)
    key.token = insert_api_key(database, bare.id, ["links:read"])
    code = totp(secret_of(offer(browser)), current_step())
    assert outcome(confirm(browser, code)) == 200
    assert browser.call("GET", "/api/auth/me").status == 200, "the session that set it up goes on"
    assert [api.call("GET", "/api/auth/me").status for api in (thief, bare)] == [401, 401]
    assert key.call("GET", "/api/links").status == 200, "API keys need no factor"


@pytest.mark.parametrize("body, wanted", [({}, 201), ({"password": PASSWORD}, 201), ({"password": "not this one"}, 403)])
def test_a_fresh_session_needs_no_password(bare, service, database, body, wanted):
    browser = Browser(service.url, insert_session(database, bare.id))
    assert browser.call("POST", "/api/auth/second-factor", body).status == wanted


@pytest.mark.parametrize("body, wanted", [({}, 403), ({"password": PASSWORD}, 201), ({"password": "not this one"}, 403), ({"password": ""}, 400), ({"code": "1"}, 400)])
def test_an_old_session_or_a_token_needs_the_password(bare, service, database, body, wanted):
    browser = Browser(service.url, insert_session(database, bare.id))
    database.run("UPDATE sessions SET created_at = created_at - interval '601 seconds' WHERE user_id = %s", bare.id)
    for api, answer in ((browser, wanted), (bare, 200 if wanted == 201 else wanted)):
        assert api.call("POST", "/api/auth/second-factor", body).status == answer


def test_an_api_key_manages_no_factor(person, service, database):
    key = Api(service.url)
    key.token = insert_api_key(database, person.id, ["links:read", "links:write", "stats:read"])
    for method, path in (("GET", ""), ("POST", ""), ("DELETE", ""), ("POST", "/confirm"), ("POST", "/recovery-codes")):
        assert outcome(key.call(method, f"/api/auth/second-factor{path}", {"password": PASSWORD, "code": "123456"} if method != "GET" else None)) == (403, "forbidden")


@pytest.mark.parametrize("body", [{"Cookie": "evil"}, None])
def test_another_site_changes_no_factor(person, service, database, body):
    browser = Browser(service.url, insert_session(database, person.id))
    sent = {"password": PASSWORD, "code": person.recovery_codes[0]}
    assert outcome(browser.call("DELETE", "/api/auth/second-factor", sent, {"Sec-Fetch-Site": "cross-site"})) == (403, "cross-site")
    assert outcome(browser.call("DELETE", "/api/auth/second-factor", sent, {"Sec-Fetch-Site": "same-site"})) == (403, "cross-site")
    assert row(database, person)[1]


# --- removing it, and new recovery codes ---


@pytest.mark.parametrize("change, password, code", itertools.product(CHANGES, ("right", "wrong", "missing"), ("right", "wrong", "missing")))
def test_a_change_needs_the_password_and_a_code(person, database, change, password, code):
    method, path, done = change
    before = row(database, person)
    body = {}
    if password != "missing":
        body["password"] = PASSWORD if password == "right" else "not this one"
    if code != "missing":
        body["code"] = person.code() if code == "right" else wrong_code(person)
    answer = person.call(method, path, body)
    if "missing" in (password, code):
        assert answer.status == 400
    elif password == "wrong":
        assert outcome(answer) == (403, "wrong-password")
    elif code == "wrong":
        assert outcome(answer) == (403, "wrong-code")
    else:
        assert answer.status == done
    assert (row(database, person) == before) == ("wrong" in (password, code) or "missing" in (password, code))


def test_without_a_factor_there_is_nothing_to_change(bare):
    for method, path, _ in CHANGES:
        assert outcome(bare.call(method, path, {"password": PASSWORD, "code": "123456"})) == (409, "state")


def test_a_removed_factor_is_gone(person, database):
    assert person.call("DELETE", "/api/auth/second-factor", {"password": PASSWORD, "code": person.code()}).status == 204
    assert row(database, person)[:2] == (None, None) and row(database, person)[3] is None
    assert outcome(person.log_in()) == 200
    assert database.value("SELECT count(*) FROM audit_log WHERE actor_id = %s AND action = 'user.second_factor_remove'", person.id) == 1


def test_new_recovery_codes_replace_the_old(person):
    answer = person.call("POST", "/api/auth/second-factor/recovery-codes", {"password": PASSWORD, "code": person.code()})
    new = answer.json["recovery_codes"]
    assert len(set(new)) == 10
    assert [outcome(person.log_in(code, network=next(NETWORKS))) for code in person.recovery_codes[:3]] == [WRONG_CODE] * 3
    assert [outcome(person.log_in(code)) for code in new] == [200] * 10


def test_an_administrator_removes_the_factor_of_another(person, bare, admin, database):
    path = f"/api/admin/users/{person.id}/second-factor"
    assert outcome(bare.call("DELETE", path)) == (403, "forbidden")
    assert row(database, person)[1]
    assert admin.call("DELETE", path).status == 204
    assert outcome(person.log_in()) == 200
    assert admin.call("DELETE", path).status == 404, "there is none any more"
    [audit] = database.run("SELECT actor_id FROM audit_log WHERE action = 'user.second_factor_remove' AND subject_id = %s", person.id)
    assert audit == (admin.id,)


def test_administrators_remove_their_own_like_anybody(service, database):
    boss = FactorUser(service, database, "admin")
    assert outcome(boss.call("DELETE", f"/api/admin/users/{boss.id}/second-factor")) == (409, "own-account")
    assert row(database, boss)[1]


def test_a_new_password_does_not_remove_the_factor(person, admin):
    token = admin.call("POST", f"/api/admin/users/{person.id}/password-reset").json["token"]
    new = "staple of another horse"
    assert Api(person.base).call("POST", "/api/auth/password-reset", {"token": token, "new_password": new}).status == 204
    assert outcome(person.log_in(password=new)) == NO_CODE
    assert outcome(person.log_in(person.code(), password=new)) == 200


def test_a_deleted_account_leaves_no_factor(person, database):
    assert person.call("DELETE", "/api/auth/me", {"password": PASSWORD}).status == 204
    assert (row(database, person)[0], row(database, person)[1], row(database, person)[3]) == (None, None, None)


# --- sessions ---


def test_only_the_whole_login_sets_a_cookie_and_it_is_a_new_one(person, service, database):
    """A planted cookie (session fixation) is never the one that is logged in."""
    planted = insert_session(database, FactorUser(service, database).id)
    browser = Browser(service.url, planted)
    login = {"email": person.email, "password": PASSWORD}
    for body in (login, login | {"code": wrong_code(person)}, login | {"password": "not this one"}):
        answer = browser.call("POST", "/api/auth/session", body)
        assert answer.status == 401 and "set-cookie" not in answer.headers
    assert browser.call("POST", "/api/auth/session", login | {"code": person.code()}).status == 201
    assert browser.secret != planted
    assert browser.call("GET", "/api/auth/me").json["user"]["id"] == person.id
    assert Browser(service.url, planted).call("GET", "/api/auth/me").status == 401, "the planted one has ended"


@pytest.mark.parametrize("cookie", ["wms_" + "A" * 43, "x", "", "wms_" + "A" * 42])
def test_an_invented_cookie_becomes_no_session(person, service, cookie):
    browser = Browser(service.url, cookie)
    assert browser.call("POST", "/api/auth/session", {"email": person.email, "password": PASSWORD, "code": person.code()}).status == 201
    assert browser.secret != cookie
    assert ask(service.url, "GET", "/api/auth/me", {"Cookie": f"{COOKIE}={cookie}", **HEADER}).status == 401


# --- who must have one ---


@pytest.fixture(scope="module")
def demanding(start):
    return start(SECOND_FACTOR="required")


REFUSED = [
    ("GET", "/api/links", None), ("POST", "/api/links", {"original_url": "https://example.com/"}), ("GET", "/api/tags", None),
    ("POST", "/api/links/bulk", {"links": [{"original_url": "https://example.com/"}] * 500}), ("PATCH", "/api/links/999999999", {"title": "x"}),
    ("DELETE", "/api/links/999999999", None), ("GET", "/api/stats/summary", None), ("GET", "/api/keys", None), ("GET", "/api/live", None),
    ("POST", "/api/keys", {"name": "k", "scopes": ["links:read"]}), ("POST", "/api/shares", {"tag": "x"}), ("GET", "/api/admin/users", None),
    ("GET", "/api/admin/audit", None), ("PATCH", "/api/admin/users/999999999", {"blocked": True}),
]  # fmt: skip


@pytest.mark.parametrize("method, path, body", REFUSED)
def test_who_must_have_a_factor_does_nothing_else_without(demanding, database, method, path, body):
    boss = FactorUser(demanding, database, "admin", bare=True)
    for api in (boss, Browser(demanding.url, insert_session(database, boss.id))):
        assert outcome(api.call(method, path, body)) == (403, "second-factor-required")
    boss = FactorUser(demanding, database, "admin")
    assert outcome(boss.call(method, path, body)) != (403, "second-factor-required")


def test_who_must_have_a_factor_can_set_one_up(demanding, database):
    person = FactorUser(demanding, database, bare=True)
    browser = Browser(demanding.url)
    browser.log_in(person.email)
    assert browser.call("GET", "/api/auth/me").json["user"]["second_factor"] is False
    assert browser.call("GET", "/api/auth/second-factor").json["required"] is True
    offered = browser.call("POST", "/api/auth/second-factor", {}).json
    assert outcome(confirm(browser, totp(secret_of(offered), current_step()))) == 200
    assert browser.call("GET", "/api/links").status == 200
    assert browser.call("DELETE", "/api/auth/session").status == 204


def test_keys_and_shares_need_no_factor(demanding, database):
    person = FactorUser(demanding, database)
    token = person.call("POST", "/api/shares", {"link_id": person.create()["id"]}).json["token"]
    key = Api(demanding.url)
    key.token = insert_api_key(database, person.id, ["links:read"])
    database.run("UPDATE users SET totp_confirmed_at = NULL WHERE id = %s", person.id)
    assert outcome(person.call("GET", "/api/links")) == (403, "second-factor-required")
    assert key.call("GET", "/api/links").status == 200
    reader = Api(demanding.url)
    reader.token = reader.call("POST", "/api/shared/access", {"token": token}).json["access_token"]
    assert reader.call("GET", "/api/shared").status == 200


def test_the_factor_of_a_provider_counts_for_its_logins(demanding, database):
    person = FactorUser(demanding, database, bare=True)
    browser = Browser(demanding.url, insert_session(database, person.id))
    assert outcome(browser.call("GET", "/api/links")) == (403, "second-factor-required")
    database.run("UPDATE sessions SET provider = 'company' WHERE user_id = %s", person.id)
    assert browser.call("GET", "/api/links").status == 200
    assert outcome(person.call("GET", "/api/links")) == (403, "second-factor-required"), "an access token is of a password"


def test_a_workspace_may_require_one_of_its_members_alone(bare, person, service, database):
    strict = database.value("INSERT INTO workspaces (name, sponsor_id, requires_second_factor) VALUES ('Strict', %s, true) RETURNING id", person.id)
    for member in (bare, person):
        database.run("INSERT INTO members (workspace_id, user_id, role) VALUES (%s, %s, 'editor')", strict, member.id)
    assert outcome(bare.call("GET", f"/api/workspaces/{strict}/links")) == (403, "second-factor-required")
    assert bare.call("GET", "/api/links").status == 200, "their own workspace requires none"
    assert bare.call("GET", "/api/auth/second-factor").json["required"] is True
    assert person.call("GET", f"/api/workspaces/{strict}/links").status == 200
    assert outcome(bare.call("DELETE", f"/api/workspaces/{strict}/members/{person.id}")) == (403, "second-factor-required")
    assert bare.call("DELETE", f"/api/workspaces/{strict}/members/{bare.id}").status == 204, "nobody is kept in it"
    stranger = FactorUser(service, database, bare=True)
    assert stranger.call("GET", f"/api/workspaces/{strict}/links").status == 404
