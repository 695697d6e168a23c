"""Users without the cost of bcrypt: accounts and sessions inserted into the database, and tokens signed by the test."""

import base64
import hashlib
import hmac
import json
import secrets
import string
import time
import uuid

from clients import Api, unique_email
from service import SECRET


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
