"""Forged access tokens open nothing. test_access_token.c has every form; these are those that a careless service accepts."""

import hashlib
import http.client
import time
import urllib.parse

import pytest
from service import SECRET
from users import User, insert_api_key, make_claims, make_token, sign

HEADER = {"alg": "HS256", "typ": "JWT"}


def forged(user, key):
    claims, now = make_claims(user), int(time.time())
    good = sign(HEADER, claims)
    yield good.rpartition(".")[0] + "."
    yield sign({"alg": "none", "typ": "JWT"}, claims).rpartition(".")[0] + "."
    yield sign({"alg": "HS512", "typ": "JWT"}, claims, digest=hashlib.sha512)
    yield sign(HEADER, claims, digest=hashlib.sha512)
    for secret in ("", SECRET[:-1], SECRET + "\n", hashlib.sha256(SECRET.encode()).hexdigest()):
        yield sign(HEADER, claims, secret)
    yield sign({**HEADER, "kid": "../../../../dev/null"}, claims, "")
    yield make_token(user, iat=now - 100, exp=now - 1)
    yield make_token(user, iat=now, exp=now + 86401)
    yield make_token(user, gen=1)
    yield make_token(user, sub=f"{user}' OR '1'='1")
    yield make_token(user, more="x" * 4096)
    yield from ("", "null", "wm_" + "A" * 43, key[:-1], key.swapcase())


@pytest.fixture(scope="module")
def user(service, database):
    return User(service, database, "admin")


def connect(service):
    url = urllib.parse.urlsplit(service.url)
    return http.client.HTTPConnection(url.hostname, url.port, timeout=300)


def status_of(connection, *tokens):
    connection.putrequest("GET", "/api/auth/me")
    for token in tokens:
        connection.putheader("Authorization", f"Bearer {token}")
    connection.endheaders()
    response = connection.getresponse()
    response.read()
    return response.status


def test_no_forged_token_is_accepted(service, database, user):
    key = insert_api_key(database, user.id, ["links:read"])
    connection = connect(service)
    accepted = [token for token in forged(user.id, key) if status_of(connection, token) not in (400, 401)]
    assert not accepted
    assert status_of(connection, sign(HEADER, make_claims(user.id))) == 200, "the template of all of them"


def test_two_credentials_in_one_request_are_refused(service, user):
    assert status_of(connect(service), user.token, make_token(user.id)) == 401


def test_a_token_of_a_missing_account_is_refused(service, user):
    for user_id in (2**62, user.id + 10**6):
        assert status_of(connect(service), make_token(user_id)) == 401
