"""Users without the cost of bcrypt: accounts and sessions inserted into the database, and tokens signed by the test."""

import base64
import hashlib
import hmac
import json
import secrets
import string
import time
import uuid

from clients import Api, totp, unique_email
from service import SECRET
from waiting import wait_until


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def sign(header, claims, secret=SECRET, digest=hashlib.sha256):
    """header and claims: dicts, or raw bytes."""
    parts = [part if isinstance(part, bytes) else json.dumps(part).encode() for part in (header, claims)]
    text = ".".join(b64(part) for part in parts)
    return f"{text}.{b64(hmac.new(secret.encode(), text.encode(), digest).digest())}"


def make_claims(user_id, **changes):
    now = int(time.time())
    claims = {"sub": str(user_id), "iat": now, "exp": now + 3600, "jti": str(uuid.uuid4()), **changes}
    return {name: value for name, value in claims.items() if value is not None}


def make_token(user_id, secret=SECRET, **changes):
    return sign({"alg": "HS256", "typ": "JWT"}, make_claims(user_id, **changes), secret)


class User(Api):
    """An account with the given role and an access token."""

    def __init__(self, service, database, role="user"):
        super().__init__(service.url)
        self.email = unique_email()
        self.id = database.run(
            "INSERT INTO users (email, password_hash, role) VALUES (%s, 'none', %s) RETURNING id", self.email, role
        )[0][0]
        self.token = make_token(self.id)

    def with_key(self, *scopes, **fields):
        """Creates an API key: (Api that uses it, the key as the API returned it)."""
        answer = self.call("POST", "/api/keys", {"name": "test", "scopes": list(scopes), **fields})
        assert answer.status == 201, answer
        api = Api(self.base)
        api.token = answer.json["secret"]
        return api, answer.json["key"]


def join(database, user, workspace_id, role):
    database.run("INSERT INTO members (workspace_id, user_id, role) VALUES (%s, %s, %s)", workspace_id, user.id, role)


def leave(database, user, workspace_id):
    database.run("DELETE FROM members WHERE workspace_id = %s AND user_id = %s", workspace_id, user.id)


COOKIE = "__Host-waymark"


class Browser(Api):
    """Keeps the cookie of a session, and says that our own page sends its requests."""

    def __init__(self, base, secret=None, cookie=COOKIE):
        super().__init__(base)
        self.secret, self.cookie = secret, cookie

    def call(self, method, path, body=None, headers=None):
        sent = {"Sec-Fetch-Site": "same-origin", **({"Cookie": f"{self.cookie}={self.secret}"} if self.secret else {}), **(headers or {})}
        answer = super().call(method, path, body, sent)
        if "set-cookie" in answer.headers:
            pair = answer.headers["set-cookie"].partition(";")[0]
            self.secret = pair.removeprefix(f"{self.cookie}=") or None
        return answer

    def log_in(self, email, password="correct horse battery"):
        answer = self.call("POST", "/api/auth/session", {"email": email, "password": password})
        assert answer.status == 201, answer
        return answer


def invent_secret(prefix):
    return prefix + "".join(secrets.choice(string.ascii_letters + string.digits) for _ in range(43))


def insert_session(database, user_id):
    """Inserts a session: its secret."""
    secret = invent_secret("wms_")
    database.run("INSERT INTO sessions (user_id, secret_hash) VALUES (%s, %s)", user_id, hashlib.sha256(secret.encode()).digest())
    return secret


def insert_api_key(database, user_id, scopes, expires="1 hour", tags=()):
    """Inserts an API key directly into the database, so that it may already be expired."""
    secret = invent_secret("wm_")
    database.run(
        "INSERT INTO api_keys (workspace_id, created_by, name, scopes, hint, secret_hash, expires_at, tags) "
        "VALUES (%s, %s, 'k', %s, %s, %s, clock_timestamp() + %s::interval, %s)",
        user_id, user_id, list(scopes), secret[:7], hashlib.sha256(secret.encode()).digest(), expires, list(tags),
    )  # fmt: skip
    return secret


def current_step():
    """The step of now, of which some seconds are left."""
    wait_until(lambda: time.time() % 30 < 20, "the next step")
    return int(time.time()) // 30


RECOVERY_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
PASSWORD = "correct horse battery"
PASSWORD_HASH = "$2b$04$TXEAGB36Yf5VCcRwc/A61.2i6A629mk47qLgZfo1RZLkn1IzwGDUG"  # of bcrypt's lowest cost


class FactorUser(User):
    """An account with a password and, unless bare, a second factor."""

    def __init__(self, service, database, role="user", bare=False):
        super().__init__(service, database, role)
        self.secret = secrets.token_bytes(20)
        self.recovery_codes = ["".join(secrets.choice(RECOVERY_ALPHABET) for _ in range(16)) for _ in range(10)]
        database.run("UPDATE users SET password_hash = %s WHERE id = %s", PASSWORD_HASH, self.id)
        if not bare:
            hashes = [hashlib.sha256(code.encode()).digest() for code in self.recovery_codes]
            database.run(
                "UPDATE users SET totp_secret = %s, totp_confirmed_at = now(), recovery_codes = %s WHERE id = %s",
                self.secret, hashes, self.id,
            )  # fmt: skip

    def code(self, offset=0):
        return totp(self.secret, current_step() + offset)

    def log_in(self, code=None, door="login", password=PASSWORD, network=None, base=None):
        body = {"email": self.email, "password": password, **({} if code is None else {"code": code})}
        headers = {"Sec-Fetch-Site": "same-origin", **({"X-Forwarded-For": f"{network}.1"} if network else {})}
        return Api(base or self.base).call("POST", f"/api/auth/{door}", body, headers)
