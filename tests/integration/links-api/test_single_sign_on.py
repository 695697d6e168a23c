"""Single sign-on: whom a provider lets in, and that no hostile answer lets anybody in."""

import base64
import hashlib
import hmac
import json
import socket
import subprocess
import time
import urllib.parse

import processes
import pytest
from clients import Api, ask, unique_email
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from openid_provider import CLIENT_ID, CLIENT_SECRET, Answer, OpenIdProvider, SignOn, b64, error_of, new_rsa, public_jwk, session_of, sign, user_of
from service import BUILD, SECRET
from users import Browser, User, insert_session
from waiting import wait_until

PASSWORD = "correct horse battery"


def add_odd_keys(provider):
    """Keys that a set may hold without being good for anything here."""
    provider.attacker, provider.small, provider.curve, provider.twice = new_rsa(), new_rsa(1024), ec.generate_private_key(ec.SECP256R1()), new_rsa()
    provider.p384 = ec.generate_private_key(ec.SECP384R1())
    provider.extra_keys = [
        public_jwk(provider.attacker, kid="encryption", use="enc"), public_jwk(provider.small, kid="small"), public_jwk(provider.curve, kid="curve"),
        public_jwk(provider.attacker, kid="other-alg", alg="RS512"), public_jwk(provider.attacker, kid="other-use", key_ops=["encrypt"]),
        public_jwk(provider.twice, kid="twice"), public_jwk(provider.twice, kid="twice"), public_jwk(provider.key, kid="pss", alg="PS256"),
        public_jwk(provider.p384, kid="p384"), {"kty": "RSA", "kid": "broken", "n": "A" * 400, "e": "%%"}, {"kty": "oct", "kid": "shared", "k": b64(b"0" * 32)},
        "text", 7, None, {"kty": ["RSA"], "kid": "list"}, {"kty": "RSA", "kid": "empty"},
    ]  # fmt: skip


@pytest.fixture(scope="module")
def provider():
    provider = OpenIdProvider()
    add_odd_keys(provider)
    yield provider
    provider.close()


@pytest.fixture(scope="module")
def other():
    """Another provider that the service knows too."""
    other = OpenIdProvider(authorization_response_iss_parameter_supported=False, token_endpoint_auth_methods_supported=["client_secret_post"])
    yield other
    other.close()


@pytest.fixture(scope="module")
def workspace(database):
    """The id of a workspace that groups give roles in."""
    return database.run("INSERT INTO users (email, password_hash) VALUES (%s, 'none') RETURNING id", unique_email())[0][0]


@pytest.fixture(scope="module")
def write_config(tmp_path_factory):
    folder = tmp_path_factory.mktemp("oidc")
    (folder / "secret").write_text(CLIENT_SECRET + "\n")

    def write(*providers):
        path = folder / f"{len(list(folder.iterdir()))}.json"
        path.write_text(json.dumps({"providers": list(providers)}))
        return str(path)

    write.secret_file = str(folder / "secret")
    return write


@pytest.fixture(scope="module")
def service(start, provider, other, workspace, write_config):
    def entry(name, of=provider, **members):
        return {"id": name, "name": name.title(), "issuer": of.issuer, "client_id": CLIENT_ID, "client_secret_file": write_config.secret_file, **members}

    groups = {
        "groups_claim": "realm_access.roles", "admin_groups": ["admins"],
        "workspace_roles": {"readers": {"workspace_id": workspace, "role": "viewer"}, "writers": {"workspace_id": workspace, "role": "editor"}, "gone": {"workspace_id": 999999999, "role": "admin"}},
    }  # fmt: skip
    config = write_config(
        entry("good", admits_everyone=True, **groups), entry("other", other, admits_everyone=True), entry("shut"),
        entry("claimed", required_claim="company.name=acme"), entry("shared-key", algorithms=["HS256"], admits_everyone=True),
        entry("trusted", trusts_email=True, admits_everyone=True), entry("curves", algorithms=["ES256", "PS256"], admits_everyone=True),
    )  # fmt: skip
    return start(OIDC_CONFIG=config, REGISTRATION="invite")


@pytest.fixture
def begin(service, provider, other):
    """begin("good"): a login that has gone to its provider. One that was silent is asked again after two seconds."""

    def make(name="good", **options):
        of = other if name == "other" else provider
        return wait_until(lambda: (login := SignOn(service, of, name, **options)).params and login, "the provider to be asked again")

    return make


# --- whom it lets in ---


def test_the_first_login_makes_the_person_and_later_ones_find_it(service, provider, database, begin):
    login = begin()
    assert login.start.status == 303 and login.location.startswith(provider.issuer + "/authorize?")
    expected = {"response_type": "code", "client_id": CLIENT_ID, "scope": "openid email profile", "code_challenge_method": "S256"}
    assert {name: login.params[name] for name in expected} == expected
    assert login.params["redirect_uri"] == service.url.replace("http", "https") + "/api/auth/oidc/good/callback"
    assert len({login.params[name] for name in ("state", "nonce", "code_challenge")}) == 3
    set_cookie = login.start.headers["set-cookie"]
    assert all(f"; {part}" in set_cookie for part in ("Path=/", "Max-Age=600", "HttpOnly", "SameSite=Lax", "Secure")), set_cookie
    me = user_of(service, login.come_back()).call("GET", "/api/auth/me").json["user"]
    assert (me["email"], me["name"], me["role"]) == (login.claims["email"], "Ann Example", "user")
    assert database.value("SELECT password_hash IS NULL FROM users WHERE id = %s", me["id"])

    again = begin()
    again.claims |= {"sub": login.claims["sub"], "email": unique_email(), "email_verified": False}
    assert user_of(service, again.come_back()).call("GET", "/api/auth/me").json["user"]["id"] == me["id"]
    stranger = begin("other")
    stranger.claims |= {"sub": login.claims["sub"]}
    assert user_of(service, stranger.come_back(iss=None)).call("GET", "/api/auth/me").json["user"]["id"] != me["id"]


def with_userinfo(login):
    login.userinfo = Answer({name: login.claims.pop(name) for name in ("email", "email_verified")} | {"sub": login.claims["sub"]})


def with_curve(login, kid, key, alg):
    login.header, login.key, login.alg = {"alg": alg, "kid": kid}, key, alg


RIGHT = {
    "two audiences": ("good", lambda s: s.claims.update(aud=["x", CLIENT_ID], azp=CLIENT_ID)),
    "one audience in a list": ("good", lambda s: s.claims.update(aud=[CLIENT_ID])),
    "a clock 110 s behind": ("good", lambda s: s.claims.update(iat=int(time.time()) - 500, exp=int(time.time()) - 110)),
    "a clock 110 s ahead": ("good", lambda s: s.claims.update(iat=int(time.time()) + 110, nbf=int(time.time()) + 110)),
    "the address from userinfo": ("good", with_userinfo),
    "email_verified as a text": ("good", lambda s: s.claims.update(email_verified="true")),
    "no email_verified from a trusted provider": ("trusted", lambda s: s.claims.pop("email_verified")),
    "the required claim": ("claimed", lambda s: s.claims.update(company={"name": ["x", "acme"]})),
    "HS256 where it is configured": ("shared-key", lambda s: with_curve(s, "x", CLIENT_SECRET.encode(), "HS256")),
    "ES256": ("curves", lambda s: with_curve(s, "curve", s.provider.curve, "ES256")),
    "PS256": ("curves", lambda s: with_curve(s, "pss", s.provider.key, "PS256")),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_answers_let_in(service, provider, begin, name):
    of, change = RIGHT[name]
    login = begin(of)
    change(login)
    user_of(service, login.come_back())


def test_without_an_open_door_a_login_needs_an_invitation(service, database, begin, workspace):
    assert error_of(begin("shut").come_back()) == "oidc-closed"
    login = begin("shut")
    database.run(
        "INSERT INTO invitations (workspace_id, email, role, token_hash, invited_by, expires_at) VALUES (%s, %s, 'editor', %s, %s, clock_timestamp() + interval '1 day')",
        workspace, login.claims["email"].upper(), hashlib.sha256(login.cookie.encode()).digest(), workspace,
    )  # fmt: skip
    me = user_of(service, login.come_back()).call("GET", "/api/auth/me").json["user"]
    assert database.run("SELECT role FROM members WHERE workspace_id = %s AND user_id = %s", workspace, me["id"]) == [("editor",)]
    assert database.value("SELECT count(*) FROM invitations WHERE ended IS NULL AND lower(email) = lower(%s)", login.claims["email"]) == 0


def test_groups_give_and_take(service, database, begin, workspace):
    login = begin()
    subject = login.claims["sub"]

    def log_in(*groups):
        again = begin()
        again.claims |= {"sub": subject, "realm_access": {"roles": list(groups)}}
        me = user_of(service, again.come_back()).call("GET", "/api/auth/me").json["user"]
        roles = database.run("SELECT role FROM members WHERE workspace_id = %s AND user_id = %s", workspace, me["id"])
        return me["id"], me["role"], [role for role, in roles]

    person, *given = log_in("readers", "writers", "gone", "unknown")
    assert given == ["user", ["editor"]]
    assert log_in("readers", "admins") == (person, "admin", ["viewer"])
    assert log_in() == (person, "user", [])
    database.run("INSERT INTO members (workspace_id, user_id, role) VALUES (%s, %s, 'admin')", workspace, person)
    database.run("UPDATE users SET role = 'admin' WHERE id = %s", person)
    assert log_in("readers", "admins") == log_in() == (person, "admin", ["admin"])  # by hand, so groups take nothing
    actions = [action for action, in database.run("SELECT action FROM audit_log WHERE actor_id = %s ORDER BY id", person)]
    assert actions.count("user.groups") == 2 and actions.count("member.groups") == 3, actions


def test_who_is_logged_in_ties_a_provider_to_the_account(service, database, begin):
    person = User(service, database)
    login = begin()
    login.claims["email"] = person.email.upper()
    assert error_of(login.come_back()) == "oidc-exists"

    cookie = f"__Host-waymark={insert_session(database, person.id)}"
    assert error_of(ask(service.url, "GET", "/api/auth/oidc/good?link=1")) == "oidc-session"
    assert error_of(ask(service.url, "GET", "/api/auth/oidc/good?link=1", {"Cookie": cookie, "Sec-Fetch-Site": "cross-site"})) == "oidc-session"
    tie = begin(query="?link=1", cookie=cookie)
    tie.claims |= {"sub": login.claims["sub"], "email": unique_email(), "email_verified": False}
    answer = tie.come_back()
    assert answer.headers["location"] == "/app/account?tied=1" and session_of(answer) is None
    again = begin()
    again.claims["sub"] = login.claims["sub"]
    assert user_of(service, again.come_back()).call("GET", "/api/auth/me").json["user"]["id"] == person.id

    somebody = User(service, database)
    stolen = begin(query="?link=1", cookie=f"__Host-waymark={insert_session(database, somebody.id)}")
    stolen.claims["sub"] = login.claims["sub"]
    answer = stolen.come_back()
    assert answer.headers["location"] == "/app/account?error=oidc-taken"
    ended = begin(query="?link=1", cookie=cookie)
    database.run("DELETE FROM sessions WHERE user_id = %s", person.id)
    assert error_of(ended.come_back()) == "oidc-session"


def test_a_person_lists_and_ends_the_ties_to_providers(service, database, begin, workspace):
    login = begin()
    login.claims["realm_access"] = {"roles": ["admins", "readers"]}
    here = user_of(service, login.come_back())
    (tie,) = here.call("GET", "/api/auth/identities").json["identities"]
    assert tie["provider"] == "good" and tie["last_used_at"] >= tie["created_at"]
    me = here.call("GET", "/api/auth/me").json["user"]["id"]
    refused = here.call("DELETE", f"/api/auth/identities/{tie['id']}")
    assert (refused.status, refused.json["type"]) == (409, "/problems/last-login"), "the person has no password"
    assert here.call("DELETE", "/api/auth/identities/999999999").status == 404

    database.run("UPDATE users SET password_hash = 'x' WHERE id = %s", me)
    again = begin()
    again.claims |= {"sub": login.claims["sub"], "realm_access": {"roles": ["admins", "readers"]}}
    elsewhere = user_of(service, again.come_back())
    by_password = Browser(service.url, insert_session(database, me))
    assert here.call("DELETE", f"/api/auth/identities/{tie['id']}").status == 204
    assert here.call("GET", "/api/auth/identities").json["identities"] == []
    assert [each.call("GET", "/api/auth/me").status for each in (here, elsewhere, by_password)] == [200, 401, 200]
    assert database.value("SELECT role FROM users WHERE id = %s", me) == "user"
    assert database.run("SELECT role FROM members WHERE workspace_id = %s AND user_id = %s", workspace, me) == []
    assert database.value("SELECT count(*) FROM audit_log WHERE action = 'identity.delete' AND actor_id = %s", me) == 1
    taken = begin()
    taken.claims |= {"sub": login.claims["sub"], "email": here.call("GET", "/api/auth/me").json["user"]["email"]}
    assert error_of(taken.come_back()) == "oidc-exists", "the account is tied to nobody any more"


def test_logging_out_leads_to_the_end_at_the_provider(service, provider, database, begin):
    browser = user_of(service, begin().come_back())
    answer = browser.call("POST", "/api/auth/logout", {})
    url = urllib.parse.urlsplit(answer.json["redirect_to"])
    assert answer.json["redirect_to"].startswith(provider.issuer + "/end?a=b&")
    assert dict(urllib.parse.parse_qsl(url.query)) == {"a": "b", "client_id": CLIENT_ID, "post_logout_redirect_uri": service.url.replace("http", "https") + "/app/login"}
    assert browser.call("GET", "/api/auth/me").status == 401
    person = User(service, database)
    by_password = Browser(service.url, insert_session(database, person.id))
    assert by_password.call("POST", "/api/auth/logout", {}).json == {"redirect_to": None}
    assert person.call("POST", "/api/auth/logout", {}).status == 404


def test_a_new_key_is_found_and_many_unknown_ones_cost_few_requests(service, provider, begin):
    user_of(service, begin().come_back())
    before = provider.requests.count("/keys")
    for _ in range(20):
        login = begin()
        login.header["kid"] = "unknown"
        assert error_of(login.come_back()) == "oidc-answer"
    assert provider.requests.count("/keys") - before <= 3
    provider.key, provider.kid = new_rsa(), "second"
    wait_until(lambda: error_of(begin().come_back()) is None, "the new key to be accepted")


def test_an_unknown_provider_is_404(service):
    for path in ("nobody", "good/x", "GOOD", "good%00", "nobody/callback?state=x&code=y"):
        assert ask(service.url, "GET", f"/api/auth/oidc/{path}").status == 404, path


# --- what hostile answers achieve ---


def claim(**changes):
    return lambda s: s.claims.update(changes) or [s.claims.pop(name) for name, value in changes.items() if value is ...]


def head(key=None, **changes):
    def change(s):
        s.header.update(changes)
        [s.header.pop(name) for name, value in changes.items() if value is ...]
        s.key = getattr(s.provider, key) if key else s.key

    return change


def token(make):
    def change(s):
        s.token = make(s, sign(s.header, s.claims, s.key))

    return change


def public_pem(s):
    return s.key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)


def forged(s, key):
    """HS256 with a key that anybody knows."""
    return sign({"alg": "HS256", "kid": s.provider.kid}, s.claims, key, "HS256")


def unsigned(alg, signature=""):
    return token(lambda s, _: f"{b64(json.dumps({'alg': alg}).encode())}.{b64(json.dumps(s.claims).encode())}.{signature}")


def reply(answer):
    return lambda s: setattr(s, "answer", answer(s) if callable(answer) else answer)


def userinfo(answer):
    return lambda s: (s.claims.pop("email"), setattr(s, "userinfo", answer(s) if callable(answer) else answer))


def raw_claims(make):
    return token(lambda s, _: sign(s.header, make(s), s.key))


NOW = int(time.time())
TOKENS = {
    "nonce: another": claim(nonce="0" * 64), "nonce: none": claim(nonce=...), "nonce: empty": claim(nonce=""), "nonce: number": claim(nonce=1),
    "nonce: null": claim(nonce=None), "nonce: a list with the right one": lambda s: s.claims.update(nonce=[s.claims["nonce"]]),
    "nonce: upper case": lambda s: s.claims.update(nonce=s.claims["nonce"].upper()), "nonce: the state": lambda s: s.claims.update(nonce=s.params["state"]),
    "iss: another": claim(iss="https://evil.example"), "iss: none": claim(iss=...), "iss: a list": lambda s: s.claims.update(iss=[s.claims["iss"]]),
    "iss: with a slash": lambda s: s.claims.update(iss=s.claims["iss"] + "/"), "iss: https": lambda s: s.claims.update(iss=s.claims["iss"].replace("http", "https")),
    "aud: another": claim(aud="evil"), "aud: none": claim(aud=...), "aud: empty list": claim(aud=[]), "aud: other list": claim(aud=["evil", "x"]),
    "aud: an object": claim(aud={CLIENT_ID: CLIENT_ID}), "aud: a prefix": claim(aud="wayma"), "aud: longer": claim(aud="waymark2"), "aud: a number": claim(aud=7),
    "aud: several without azp": claim(aud=[CLIENT_ID, "x"]), "azp: another": claim(azp="evil"), "azp: a list": claim(aud=[CLIENT_ID, "x"], azp=[CLIENT_ID]),
    "azp: of several another": claim(aud=[CLIENT_ID, "evil"], azp="evil"), "aud: nested": claim(aud=[[CLIENT_ID]]),
    "exp: past": claim(exp=NOW - 200, iat=NOW - 500), "exp: none": claim(exp=...), "exp: text": claim(exp=str(NOW + 300)), "exp: null": claim(exp=None),
    "exp: negative": claim(exp=-1), "exp: a fraction": claim(exp=NOW + 300.5), "exp: too large": raw_claims(lambda s: json.dumps(s.claims).replace(f'"exp": {s.claims["exp"]}', '"exp": 1e400').encode()),
    "exp: before iat": claim(exp=NOW + 60, iat=NOW + 100), "iat: future": claim(iat=NOW + 2000, exp=NOW + 3000), "iat: none": claim(iat=...), "iat: text": claim(iat="now"),
    "nbf: future": claim(nbf=NOW + 2000), "nbf: text": claim(nbf="now"),
    "sub: none": claim(sub=...), "sub: empty": claim(sub=""), "sub: a number": claim(sub=7), "sub: null": claim(sub=None), "sub: 256 bytes": claim(sub="x" * 256),
    "sub: a control character": claim(sub="a\nb"), "sub: not ASCII": claim(sub="ä"),
    "alg: none": unsigned("none"), "alg: None": unsigned("None"), "alg: NONE, with a signature": unsigned("NONE", "AAAA"), "alg: empty": unsigned("", "AAAA"),
    "alg: none, a dot less": token(lambda s, t: t.rpartition(".")[0]),
    "alg: HS256 with the public key": token(lambda s, _: forged(s, public_pem(s))), "alg: HS256 with its text": token(lambda s, _: forged(s, public_pem(s).strip())),
    "alg: HS256 with the modulus": token(lambda s, _: forged(s, base64.urlsafe_b64decode(public_jwk(s.key)["n"] + "=="))), "alg: HS256 with the client secret": token(lambda s, _: forged(s, CLIENT_SECRET.encode())),
    "alg: HS256 with an empty key": token(lambda s, _: forged(s, b"\0")), "alg: HS256 with a key of the set": token(lambda s, _: sign({"alg": "HS256", "kid": "shared"}, s.claims, b"0" * 32, "HS256")),
    "alg: lower case": head(alg="rs256"), "alg: missing": head(alg=...), "alg: a list": head(alg=["RS256"]), "alg: ES256 by an RSA key": head(alg="ES256"), "alg: RS512, signed by RS256": head(alg="RS512"),
    "alg: EdDSA": head(alg="EdDSA"), "crit": head(crit=["exp"]), "crit: empty": head(crit=[]), "b64: false": head(b64=False),
    "kid: unknown": head(kid="unknown"), "kid: a number": head(kid=7), "kid: empty": head(kid=""), "kid: null": head(kid=None), "kid: a path": head(kid="../../dev/null"), "kid: SQL": head(kid="' OR 1=1 --"),
    "kid: for encryption": head("attacker", kid="encryption"), "kid: 1,024 bits": head("small", kid="small"), "kid: twice": head("twice", kid="twice"),
    "kid: for another algorithm": head("attacker", kid="other-alg"), "kid: for another operation": head("attacker", kid="other-use"), "kid: broken": head(kid="broken"), "kid: an empty key": head(kid="empty"), "kid: another's": head("attacker"),
    "kid: none, and no key fits": head("attacker", kid=...), "curve: another": token(lambda s, _: sign({"alg": "ES256", "kid": "p384"}, s.claims, s.provider.p384, "ES256")),
    "jwk in the header": lambda s: head("attacker", kid=..., jwk=public_jwk(s.provider.attacker))(s), "jku in the header": head("attacker", jku="https://evil.example/keys"), "x5u in the header": head("attacker", x5u="https://evil.example/"),
    "signature: none": token(lambda s, t: t.rpartition(".")[0] + "."), "signature: cut": token(lambda s, t: t[:-4]), "signature: longer": token(lambda s, t: t + "AAAA"),
    "signature: of other claims": token(lambda s, t: ".".join([t.split(".")[0], b64(json.dumps(s.claims | {"sub": "admin"}).encode()), t.split(".")[2]])),
    "signature: of another header": token(lambda s, t: ".".join([b64(json.dumps(s.header | {"typ": "x"}).encode()), *t.split(".")[1:]])), "signature: zeros": token(lambda s, t: t.rpartition(".")[0] + "." + "A" * 342),
    "form: four parts": token(lambda s, t: t + ".AAAA"), "form: five parts": token(lambda s, t: t + ".AAAA.AAAA"), "form: a dot first": token(lambda s, t: "." + t), "form: empty parts": token(lambda s, t: ".."),
    "form: padding": token(lambda s, t: t + "=="), "form: a space": token(lambda s, t: t + " "), "form: other alphabet": token(lambda s, t: t[:-2] + "+/"), "form: text": token(lambda s, t: "hello"),
    "header: no JSON": token(lambda s, _: sign(b"hello", s.claims, s.key)), "header: a list": token(lambda s, _: sign(b'["RS256"]', s.claims, s.key)), "header: alg twice": token(lambda s, _: sign(b'{"alg":"RS256","alg":"none","kid":"first"}', s.claims, s.key)),
    "claims: a list": raw_claims(lambda s: b"[]"), "claims: no JSON": raw_claims(lambda s: b"hello"), "claims: empty": raw_claims(lambda s: b" "), "claims: iss twice": raw_claims(lambda s: json.dumps(s.claims).encode()[:-1] + b', "iss": "x"}'),
    "claims: a NUL": claim(sub="a\0b"), "claims: no UTF-8": raw_claims(lambda s: json.dumps(s.claims).encode()[:-1] + b', "x": "\xff"}'), "claims: deep": raw_claims(lambda s: b'{"x":' + b"[" * 2000 + b"]" * 2000 + b"}"),
    "claims: 100 KB": claim(x="y" * 100_000), "token: of another login": lambda s: s.claims.update(nonce=SignOn(s.service, s.provider, "good").params["nonce"]),
}  # fmt: skip

ANSWERS = {
    "no id_token": reply(Answer({"access_token": "x"})), "id_token: a number": reply(Answer({"id_token": 7})), "id_token: null": reply(Answer({"id_token": None})), "empty": reply(Answer(b"")),
    "a list": reply(Answer([])), "HTML": reply(Answer(b"<html>", headers={"Content-Type": "text/html"})), "no UTF-8": reply(Answer(b'{"id_token": "\xff"}')),
    "redirect 302": reply(Answer({}, 302, {"Location": "http://127.0.0.1:1/"})), "redirect 307": reply(Answer({}, 307, {"Location": "https://evil.example/"})), "redirect 301 with a body": reply(lambda s: Answer({"id_token": sign(s.header, s.claims, s.key)}, 301, {"Location": "/x"})),
    "300 KB": reply(lambda s: Answer({"id_token": sign(s.header, s.claims, s.key), "x": "y" * 300_000})), "gzip": reply(Answer(b"\x1f\x8b", headers={"Content-Encoding": "gzip"})),
    "userinfo: another person": userinfo(Answer({"sub": "somebody", "email": "ceo@example.com", "email_verified": True})), "userinfo: no sub": userinfo(Answer({"email": "ceo@example.com", "email_verified": True})),
    "userinfo: redirect": userinfo(Answer({}, 302, {"Location": "/x"})), "userinfo: no JSON": userinfo(Answer(b"eyJ.a.b", headers={"Content-Type": "application/jwt"})), "userinfo: 401": userinfo(None), "userinfo: 300 KB": userinfo(lambda s: Answer({"sub": s.claims["sub"], "x": "y" * 300_000})),
}  # fmt: skip
SILENT = {
    "500": reply(Answer({}, 500)), "503": reply(Answer({}, 503)), "closed connection": reply(Answer({}, cut=True)), "one byte in 0.3 s": reply(Answer(b" " * 100, drip=True)),
    "fewer bytes than promised": reply(Answer(b"{}", headers={"Content-Length": "100"})),
}  # fmt: skip
REFUSED = {"invalid_grant": reply(Answer({"error": "invalid_grant"}, 400)), "401": reply(Answer({"error": "invalid_client"}, 401)), "an error that is no text": reply(Answer({"error": {"a": 1}}, 400))}
PEOPLE = {
    "email_verified: false": claim(email_verified=False), "email_verified: none": claim(email_verified=...), "email_verified: 1": claim(email_verified=1), "email_verified: yes": claim(email_verified="yes"), "email_verified: a list": claim(email_verified=[]),
    "email: a list": claim(email=["a@example.com"]), "email: no address": claim(email="nobody"), "email: two": claim(email="a@example.com, b@example.com"), "email: a line break": claim(email="a@example.com\nb"), "email: too long": claim(email="a" * 250 + "@example.com"),
    "email: not ASCII": claim(email="ä@example.com"), "email: null": claim(email=None),
}  # fmt: skip


def count_rows(database):
    return [database.value(f"SELECT count(*) FROM {table}") for table in ("users", "identities", "sessions", "members")]


CASES = [("oidc-answer", TOKENS), ("oidc-answer", ANSWERS), ("oidc-refused", REFUSED), ("oidc-email", PEOPLE)]


def test_no_hostile_answer_lets_anybody_in(database, begin):
    before, through = count_rows(database), []
    for expected, cases in CASES:
        for name, change in cases.items():
            login = begin()
            change(login)
            answer = login.come_back()
            if error_of(answer) != expected or session_of(answer):
                through.append((name, expected, answer))
    count = sum(len(cases) for _, cases in CASES)
    print(f"single sign-on: {count} hostile answers of a provider, {len(through)} through")
    assert not through and count >= 60, through
    assert count_rows(database) == before


def test_a_silent_provider_lets_nobody_in(begin):
    through = []
    for name, change in SILENT.items():
        login = begin()
        change(login)
        began = time.monotonic()
        answer = login.come_back()
        if error_of(answer) != "oidc-away" or session_of(answer) or time.monotonic() - began > 8:
            through.append((name, answer))
        wait_until(lambda: error_of(begin().come_back()) is None, "the provider to be asked again")
    print(f"single sign-on: {len(SILENT)} silent providers, {len(through)} through")
    assert not through, through


def signed_cookie(text):
    """A cookie as the service makes it, of any content."""
    return f"__Host-waymark-login={text}." + hmac.new(SECRET.encode(), b"oidc-cookie\n" + text.encode(), hashlib.sha256).hexdigest()


def parts_of(cookie):
    return cookie.removeprefix("__Host-waymark-login=").split(".")


def change_cookie(*changes):
    def change(s):
        parts = parts_of(s.cookie)
        for index, value in changes:
            parts[index] = value
        s.cookie = "__Host-waymark-login=" + ".".join(parts)

    return change


def expire(s):
    parts = parts_of(s.cookie)[:-1]
    s.cookie = signed_cookie(".".join([parts[0], str(NOW - 1), *parts[2:]]))
    s.params["state"] = hmac.new(SECRET.encode(), b"oidc-state\n" + s.cookie.partition("=")[2].rpartition(".")[0].encode(), hashlib.sha256).hexdigest()


NOTHING = lambda s: None  # noqa: E731
CALLBACKS = {
    "state: none": (NOTHING, {"state": None}), "state: empty": (NOTHING, {"state": ""}), "state: another": (NOTHING, {"state": "0" * 64}), "state: twice": (lambda s: s.answered.update(state=[s.params["state"]] * 2), {}),
    "state: two": (lambda s: s.answered.update(state=[s.params["state"], "x"]), {}), "state: upper case": (lambda s: s.answered.update(state=s.params["state"].upper()), {}), "state: the nonce": (lambda s: s.answered.update(state=s.params["nonce"]), {}),
    "state: cut": (lambda s: s.answered.update(state=s.params["state"][:-1]), {}), "state: no UTF-8": (NOTHING, {"state": b"\xff"}),
    "cookie: none": (lambda s: setattr(s, "cookie", None), {}), "cookie: empty": (lambda s: setattr(s, "cookie", "__Host-waymark-login="), {}), "cookie: of another browser": (lambda s: setattr(s, "cookie", SignOn(s.service, s.provider, "good").cookie), {}),
    "cookie: without its prefix": (lambda s: setattr(s, "cookie", s.cookie.removeprefix("__Host-")), {}), "cookie: twice": (lambda s: setattr(s, "cookie", f"{s.cookie}; {s.cookie}"), {}),
    "cookie: another provider": (change_cookie((0, "other")), {}), "cookie: a longer life": (change_cookie((1, str(NOW + 9999))), {}), "cookie: another person": (change_cookie((2, "1"), (3, "1")), {}), "cookie: another secret": (change_cookie((4, "0" * 64)), {}),
    "cookie: another signature": (change_cookie((5, "0" * 64)), {}), "cookie: no signature": (change_cookie((5, "")), {}), "cookie: expired": (expire, {}), "cookie: long": (lambda s: setattr(s, "cookie", s.cookie + "0" * 3000), {}),
    "code: none": (NOTHING, {"code": None}), "code: empty": (NOTHING, {"code": ""}), "code: twice": (lambda s: None, {"code": ["a", "b"]}), "code and error": (NOTHING, {"error": "access_denied"}), "neither code nor error": (NOTHING, {"code": None, "error": None}),
    "answer for another provider": (lambda s: setattr(s, "name", "other"), {}), "answer for another client of this provider": (lambda s: setattr(s, "name", "trusted"), {}),
}  # fmt: skip
OTHER_CALLBACKS = {
    "iss: another": ("oidc-issuer", {"iss": "https://evil.example"}), "iss: none, though always sent": ("oidc-issuer", {"iss": None}), "iss: empty": ("oidc-state", {"iss": ""}), "iss: twice": ("oidc-state", {"iss": ["a", "b"]}),
    "error: denied": ("oidc-denied", {"code": None, "error": "access_denied"}), "error: another": ("oidc-refused", {"code": None, "error": "<script>"}), "code: invented": ("oidc-refused", {"code": "invented"}),
    "code: 1,900 bytes": ("oidc-refused", {"code": "x" * 1900}), "code: with the form's characters": ("oidc-refused", {"code": "a&client_id=evil&grant_type=password"}),
}  # fmt: skip


def test_no_hostile_callback_lets_anybody_in(database, begin, provider, other):
    before, through = count_rows(database), []

    def expect(name, expected, answer):
        if error_of(answer) != expected or session_of(answer):
            through.append((name, expected, answer))

    for name, (change, changes) in CALLBACKS.items():
        login = begin()
        change(login)
        expect(name, "oidc-state", login.come_back(**changes))
    for name, (expected, changes) in OTHER_CALLBACKS.items():
        expect(name, expected, begin().come_back(**changes))
    mixed = begin()
    expect("iss: of the other provider", "oidc-issuer", mixed.come_back(iss=other.issuer))
    victim, attacker = begin(), begin()
    attacker.code = provider.grant(attacker.params, Answer({"id_token": sign(attacker.header, attacker.claims, attacker.key)}))
    expect("code: of another login", "oidc-refused", victim.come_back(code=attacker.code))
    swapped = begin("other")  # the first provider's code at the second one
    expect("code: of another provider", "oidc-refused", swapped.come_back(code=attacker.code, iss=None))
    count = len(CALLBACKS) + len(OTHER_CALLBACKS) + 3
    print(f"single sign-on: {count} hostile callbacks, {len(through)} through")
    assert not through and count >= 40, through
    assert count_rows(database) == before


def test_a_callback_is_used_once(service, database, begin):
    login = begin()
    user_of(service, login.come_back())
    login.claims["sub"] = "somebody-else"
    replays = [login.come_back()]
    login.code = None
    replays.append(login.come_back())  # with a new code
    assert [error_of(answer) for answer in replays] == ["oidc-state"] * 2 and not any(map(session_of, replays))
    failed = begin()
    assert error_of(failed.come_back(code="invented")) == "oidc-refused"
    assert error_of(failed.come_back()) == "oidc-state"


def test_persons_who_may_not_come_in(service, database, begin):
    lacking = begin("claimed")
    assert error_of(lacking.come_back()) == "oidc-claim"
    wrong = begin("claimed")
    wrong.claims["company"] = "acme"
    assert error_of(wrong.come_back()) == "oidc-claim"
    blocked = begin()
    person = user_of(service, blocked.come_back()).call("GET", "/api/auth/me").json["user"]["id"]
    database.run("UPDATE users SET blocked = true WHERE id = %s", person)
    again = begin()
    again.claims |= {"sub": blocked.claims["sub"], "realm_access": {"roles": ["admins"]}}
    assert error_of(again.come_back()) == "oidc-blocked"
    assert database.value("SELECT role FROM users WHERE id = %s", person) == "user"
    assert Api(service.url).call("POST", "/api/auth/login", {"email": blocked.claims["email"], "password": PASSWORD}).status == 401


DISCOVERIES = {
    "issuer: another": {"issuer": "https://evil.example"}, "issuer: none": {"issuer": None}, "authorization_endpoint: http": {"authorization_endpoint": "http://evil.example/"}, "authorization_endpoint: script": {"authorization_endpoint": "javascript:alert(1)"},
    "authorization_endpoint: none": {"authorization_endpoint": None}, "token_endpoint: http": {"token_endpoint": "http://10.0.0.1/"}, "token_endpoint: a file": {"token_endpoint": "file:///etc/passwd"}, "token_endpoint: with a user": {"token_endpoint": "https://a:b@evil.example/"},
    "token_endpoint: a line break": {"token_endpoint": "https://evil.example/\r\nx: y"}, "jwks_uri: none": {"jwks_uri": None}, "jwks_uri: http": {"jwks_uri": "http://localhost.evil.example/"}, "jwks_uri: http to 127.example": {"jwks_uri": "http://127.evil.example/"}, "jwks_uri: long": {"jwks_uri": "https://x/" + "y" * 3000},
    "userinfo_endpoint: http": {"userinfo_endpoint": "http://evil.example/"}, "end_session_endpoint: script": {"end_session_endpoint": "javascript:alert(1)"},
}  # fmt: skip


def test_hostile_discoveries_lead_nowhere(start, write_config):
    hostile = OpenIdProvider()
    service = start(OIDC_CONFIG=write_config({"id": "bad", "name": "Bad", "issuer": hostile.issuer, "client_id": CLIENT_ID, "client_secret": CLIENT_SECRET}))
    right = json.loads(hostile.discovery().body)
    answers = {name: Answer(right | changes) for name, changes in DISCOVERIES.items()} | {
        "redirect": Answer({}, 302, {"Location": "/x"}), "404": Answer({}, 404), "HTML": Answer(b"<html>"), "300 KB": Answer(right | {"x": "y" * 300_000}),
    }  # fmt: skip
    through = []
    for name, answer in answers.items():
        hostile.discovery_answer = answer
        login = SignOn(service, hostile, "bad")
        through += [] if error_of(login.start) == "oidc-answer" else [(name, login.start)]
    print(f"single sign-on: {len(answers)} hostile discoveries, {len(through)} through")
    assert not through, through
    hostile.discovery_answer = None
    hostile.keys_answer = Answer({"keys": 7})
    login = SignOn(service, hostile, "bad")
    assert error_of(login.come_back()) == "oidc-answer"
    hostile.close()


def test_a_provider_that_is_away_takes_no_worker(start, write_config, provider):
    """It accepts connections and says nothing: two logins wait for it, and everything else goes on."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as silent:
        issuer = f"http://127.0.0.1:{silent.getsockname()[1]}"
        config = write_config(
            {"id": "away", "name": "Away", "issuer": issuer, "client_id": CLIENT_ID},
            {"id": "good", "name": "Good", "issuer": provider.issuer, "client_id": CLIENT_ID, "client_secret": CLIENT_SECRET, "admits_everyone": True},
        )
        service = start(OIDC_CONFIG=config, HTTP_WORKERS=2)
        pending = [processes.popen(["curl", "-s", "-o", "/dev/null", "-w", "%{http_code} %{redirect_url}", "-H", f"X-Forwarded-For: 198.51.{i}.1", f"{service.url}/api/auth/oidc/away"], stdout=subprocess.PIPE, text=True) for i in range(60)]
        wait_until(lambda: any(process.poll() is not None for process in pending), "the queue to be full")
        began = time.monotonic()
        assert all(ask(service.url, "GET", "/api/stats").status == 200 for _ in range(10))
        assert time.monotonic() - began < 4, "other requests waited for the provider"
        said = [process.communicate()[0] for process in pending]
        assert {text.split()[0] for text in said} == {"303", "503"}
        assert all("error=oidc-away" in text for text in said if text.startswith("303")), said
        user_of(service, wait_until(lambda: (login := SignOn(service, provider, "good")).params and login, "the other provider").come_back())


WRONG_CONFIGS = {
    '{"providers": {}}': "must be", '{"providers": [7]}': "/providers/0 must be an object", "[": "is not JSON", '{"providers": [{}], "x": 1}': "must be", "": "cannot be read",
}  # fmt: skip
GOOD_ENTRY = {"id": "a", "name": "A", "issuer": "https://id.example.com/realm", "client_id": "w"}
WRONG_ENTRIES = {
    "/id is missing": {"id": None}, "/id must be": {"id": "A b"}, "/issuer must be": {"issuer": "http://id.example.com"}, "/client_id is missing": {"client_id": None}, "/x is unknown": {"x": 1}, "/name must be": {"name": ["A"]},
    "/scopes must contain openid": {"scopes": "email openidx"}, "/required_claim must be": {"required_claim": "hd"}, "/groups_claim is missing": {"admin_groups": ["a"]}, "/admin_groups/1 must be": {"groups_claim": "g", "admin_groups": ["a", 7]},
    "/workspace_roles/team must be": {"groups_claim": "g", "workspace_roles": {"team": {"workspace_id": 7, "role": "owner"}}}, "/algorithms/0 must be one of": {"algorithms": ["none"]}, "/algorithms/0 needs a client secret": {"algorithms": ["HS256"], "client_secret": "short"},
    "/algorithms must not be empty": {"algorithms": []}, "/client_secret_file cannot be read": {"client_secret_file": "/nowhere"}, "/client_secret_file stands beside": {"client_secret_file": "/nowhere", "client_secret": "x"}, "/admits_everyone must be true": {"admits_everyone": "yes"},
}  # fmt: skip


def check_config(text, tmp_path, **variables):
    path = tmp_path / "oidc.json"
    path.write_text(text)
    environment = {
        "PG_URL": "postgresql://x/y", "REDIS_URL": "redis://x", "KAFKA_BROKERS": "x:1", "PUBLIC_BASE_URL": "https://wm.example", "JWT_SECRET": SECRET, "OIDC_CONFIG": str(path), **variables,
    }  # fmt: skip
    process = processes.popen([BUILD / "bin/links-api", "--check-config"], env=environment, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    out, err = process.communicate(timeout=300)
    return process.returncode, out + err


def test_check_config_names_each_wrong_member(tmp_path):
    assert check_config(json.dumps({"providers": [GOOD_ENTRY]}), tmp_path)[0] == 0
    for text, reason in WRONG_CONFIGS.items():
        status, output = check_config(text, tmp_path)
        assert status != 0 and "OIDC_CONFIG: " in output and reason in output, (text, output)
    for reason, changes in WRONG_ENTRIES.items():
        entry = {name: value for name, value in {**GOOD_ENTRY, "id": "b", **changes}.items() if value is not None}
        status, output = check_config(json.dumps({"providers": [GOOD_ENTRY, entry]}), tmp_path)
        assert status != 0 and f"OIDC_CONFIG: /providers/1{reason}" in output, (reason, output)
    assert "/providers/1/id is the id of an earlier" in check_config(json.dumps({"providers": [GOOD_ENTRY, GOOD_ENTRY]}), tmp_path)[1]
    assert "OIDC_REQUIRED_CLAIM" in check_config(json.dumps({"providers": []}), tmp_path, OIDC_REQUIRED_CLAIM="acme")[1]


def test_without_password_login_only_administrators_use_theirs(start, database, provider, write_config):
    opened = start(REGISTRATION="open")
    admin, person = Api(opened.url), Api(opened.url)
    admin.register_and_login(unique_email())
    person.register_and_login(unique_email())
    database.run("UPDATE users SET role = 'admin' WHERE email = %s", admin.email)
    config = write_config({"id": "good", "name": "Good", "issuer": provider.issuer, "client_id": CLIENT_ID, "client_secret": CLIENT_SECRET, "admits_everyone": True})
    service = start(OIDC_CONFIG=config, PASSWORD_LOGIN="off", REGISTRATION="open")
    for path in ("/api/auth/login", "/api/auth/session"):
        assert Browser(service.url).call("POST", path, {"email": admin.email, "password": PASSWORD}).status in (200, 201)
        refused = Browser(service.url).call("POST", path, {"email": person.email, "password": PASSWORD})
        assert (refused.status, refused.json["type"]) == (403, "/problems/password-login-off"), refused
        assert Browser(service.url).call("POST", path, {"email": person.email, "password": "not this one"}).status == 401
    assert Api(service.url).call("POST", "/api/auth/register", {"email": unique_email(), "password": PASSWORD}).json["type"] == "/problems/password-login-off"
    user_of(service, SignOn(service, provider, "good").come_back())
    assert Api(service.url).call("GET", "/api/instance").json["sign_in"] == [{"id": "good", "name": "Good"}]
