"""Forged access tokens: none is accepted."""

import base64
import hashlib
import http.client
import json
import string
import time
import urllib.parse

import pytest
from users import User, b64, make_claims, insert_api_key, sign, make_token
from service import SECRET

HEADER = {"alg": "HS256", "typ": "JWT"}
ALPHABET = string.ascii_uppercase + string.ascii_lowercase + string.digits + "-_"
# A public key, which a careless service would use as an HMAC secret.
PEM = "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE\n-----END PUBLIC KEY-----\n"
ALGORITHMS = (
    "none", "None", "NONE", "nOnE", "", "HS384", "HS512", "hs256", "Hs256", "HS256 ", "RS256", "RS384", "RS512", "PS256",
    "ES256", "ES384", "ES512", "ES256K", "EdDSA", "dir", "A128KW", "HS1", "SHA256", None, 1, True, [], ["HS256"], {},
)  # fmt: skip


def other_algorithms(claims):
    for algorithm in ALGORITHMS:
        header = {"alg": algorithm, "typ": "JWT"}
        signed = sign(header, claims)
        yield signed
        yield signed.rpartition(".")[0] + "."
        yield sign(header, claims, digest=hashlib.sha512)
        yield sign(header, claims, PEM)
    yield sign({"typ": "JWT"}, claims)
    yield sign({}, claims)
    for digest in (hashlib.sha1, hashlib.sha384, hashlib.sha512, hashlib.md5):
        yield sign(HEADER, claims, digest=digest)
    signed = sign(HEADER, claims)
    yield signed.rpartition(".")[0] + "."
    yield signed.rpartition(".")[0]
    yield signed.rpartition(".")[0] + "." + b64(b"\0" * 32)


def other_keys(claims):
    guesses = [
        "", "secret", "changeme", "\0" * 32, SECRET[:-1], SECRET[:31], SECRET + "\n", SECRET + ",", SECRET * 2, SECRET[::-1],
        SECRET.upper(), hashlib.sha256(SECRET.encode()).hexdigest(), base64.b64encode(SECRET.encode()).decode(), PEM, "JWT",
        "waymark", "null", "0" * 32,
    ]  # fmt: skip
    for guess in guesses:
        yield sign(HEADER, claims, guess)
    for kid in ("../../../../dev/null", "0", "' UNION SELECT 'x", "/etc/hostname", "", None):
        yield sign({**HEADER, "kid": kid}, claims, "")
    jwk = {"kty": "oct", "k": b64(b"attacker's own key of 32 bytes!!")}
    for extra in ({"jwk": jwk}, {"jku": "http://127.0.0.1/"}, {"x5u": "http://127.0.0.1/"}, {"x5c": [b64(PEM.encode())]}):
        yield sign({**HEADER, **extra}, claims, "attacker's own key of 32 bytes!!")


def unknown_headers(claims):
    for extra in ({"crit": ["exp"]}, {"crit": []}, {"b64": False, "crit": ["b64"]}, {"b64": False}, {"b64": True}):
        yield sign({**HEADER, **extra}, claims)


def other_claims(user):
    now = int(time.time())
    for name in ("sub", "iat", "exp", "jti"):
        for value in (None, [], {}, True, "", 1.5, "x", -1, 0, [str(user)], str(now), 1e300, "9" * 40):
            if (name, value) not in (("exp", str(now)),):
                yield make_token(user, **{name: value})
    for sub in (user, f"{user} ", f" {user}", f"+{user}", f"0{user}", f"{user}.0", f"{user}e0", f"-{user}", f"{user}\0", "٣"):
        yield make_token(user, sub=sub)
    for sub in (2**63 - 1, 2**63, 2**64 + user, f"{user}' OR '1'='1", f"{user}; DROP TABLE users", "admin"):
        yield make_token(user, sub=str(sub))
    for iat, exp in (
        (now, now), (now - 100, now - 1), (now - 90000, now - 3600), (now, now + 86401), (now, now + 10**9), (now, 2**62),
        (now - 1, 2**63 - 1), (now + 120, now + 3600), (now + 86400, now + 90000), (now + 50, now + 40), (-1, now + 60),
        (0, now + 60), (now - 86400, now + 60), (now, -now), (2**63 - 1, 2**63 - 1), (now, now + 0.5), (float(now), now + 60),
    ):  # fmt: skip
        yield make_token(user, iat=iat, exp=exp)
    for nbf in (now + 60, now + 10**6, "x", 2**62, True, now + 0.5):
        yield make_token(user, nbf=nbf)
    for gen in (1, 2, -1, 0, 2**63 - 1, "0", "1", True, False, [], 1.0):
        yield make_token(user, gen=gen)
    for raw in (b"", b"null", b"[]", b"1", b'"x"', b"{", b"{}", b"\xff", b"\0", json.dumps([make_claims(user)]).encode()):
        yield sign(HEADER, raw)
        yield sign(raw, make_claims(user))


def malformed(token):
    """Variants of a token: one character changed, removed or moved, and other encodings."""
    head, body, signature = token.split(".")
    for i, character in enumerate(token):
        replaced = "A" if character != "A" else "B"
        yield token[:i] + replaced + token[i + 1 :]
        if i % 4 == 0:
            yield token[:i]
            yield token[:i] + token[i + 1 :]
    # The last character has two unused bits: another spelling of the same signature.
    last = ALPHABET.index(signature[-1])
    for bits in (1, 2, 3):
        yield token[:-1] + ALPHABET[last ^ bits]
    for end in ("=", "==", ".", "..", ".x", " x", ",", "\tx", "%", "~", "\x7f", "é"):
        yield token + end
    yield from ("." + token, f"{head}..{body}.{signature}", f"{body}.{head}.{signature}", f"{head}.{signature}.{body}")
    yield from (f"{head}.{body}.{signature}.{body}.{signature}", f"{token},{token}", token.upper(), token.lower())
    yield from (f"{head}.{body}.{signature[:42]}", f"{head}=.{body}.{signature}", f"{head}.{body}=.{signature}")
    yield f"{head}.{body}.{base64.urlsafe_b64encode(bytes.fromhex('00') * 32).decode()}"


def oversized(user):
    for size in (4096, 5000, 6000):
        yield make_token(user, more="x" * size)
        yield "x" * size
    yield ".".join(["A" * 2000] * 3)
    yield "." * 4000


def hostile(user, key):
    claims = make_claims(user)
    yield from other_claims(user)  # some become valid in a minute
    yield from other_algorithms(claims)
    yield from other_keys(claims)
    yield from unknown_headers(claims)
    yield from malformed(sign(HEADER, claims))
    yield from oversized(user)
    yield from ("", ".", "..", "...", "null", "undefined", "wm_", "wm_" + "A" * 43, key[:-1], key + "A", key.swapcase())


@pytest.fixture(scope="module")
def user(service, database):
    return User(service, database, "admin")


def status_of(connection, token):
    connection.request("GET", "/api/auth/me", headers={"Authorization": f"Bearer {token}".encode("utf-8")})
    response = connection.getresponse()
    response.read()
    return response.status


def test_no_hostile_token_is_accepted(service, database, user):
    url = urllib.parse.urlsplit(service.url)
    connection = http.client.HTTPConnection(url.hostname, url.port, timeout=120)
    key = insert_api_key(database, user.id, ["links:read"])
    good = sign(HEADER, make_claims(user.id))
    tokens = [token for token in dict.fromkeys(hostile(user.id, key)) if token != good]
    answers = {}
    for token in tokens:
        if any(ord(character) < 32 and character != "\t" for character in token):
            continue  # not valid in a header
        answers[token] = status_of(connection, token)
    accepted = [token for token, status in answers.items() if status not in (400, 401, 431)]
    print(f"tokens: {len(answers)} hostile ones, {len(accepted)} accepted")
    assert not accepted, accepted
    assert len(answers) >= 500
    assert sum(status == 401 for status in answers.values()) >= 500
    assert status_of(connection, good) == 200, "the template of all of them"


def test_two_credentials_in_one_request_are_refused(service, user):
    url = urllib.parse.urlsplit(service.url)
    connection = http.client.HTTPConnection(url.hostname, url.port, timeout=120)
    connection.putrequest("GET", "/api/auth/me")
    for token in (user.token, make_token(user.id)):
        connection.putheader("Authorization", f"Bearer {token}")
    connection.endheaders()
    assert connection.getresponse().status == 401


def test_a_token_of_a_missing_account_is_refused(user, expect):
    for user_id in (2**62, user.id + 10**6):
        user_token, user.token = user.token, make_token(user_id)
        expect(user.call("GET", "/api/auth/me"), 401)
        expect(user.call("GET", "/api/admin/users"), 401)
        user.token = user_token
