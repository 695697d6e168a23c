"""An OpenID provider that says whatever a test wants: right answers, and hostile ones."""

import base64
import hashlib
import http.server
import json
import secrets
import threading
import time
import urllib.parse

from clients import ask
from cryptography.hazmat.primitives import hashes, hmac
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa, utils
from users import Browser

CLIENT_ID, CLIENT_SECRET = "waymark", "a secret of more than 32 bytes: äöü&=+"


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def number(value):
    return b64(value.to_bytes((value.bit_length() + 7) // 8, "big"))


def signature(alg, key, data):
    """key: an RSA or EC key, or bytes for HS256."""
    digest = {"256": hashes.SHA256(), "384": hashes.SHA384(), "512": hashes.SHA512()}[alg[2:]]
    if alg[0] == "H":
        mac = hmac.HMAC(key, digest)
        mac.update(data)
        return mac.finalize()
    if alg[0] == "E":
        size = (key.curve.key_size + 7) // 8
        r, s = utils.decode_dss_signature(key.sign(data, ec.ECDSA(digest)))
        return r.to_bytes(size, "big") + s.to_bytes(size, "big")
    pad = padding.PKCS1v15() if alg[0] == "R" else padding.PSS(padding.MGF1(digest), digest.digest_size)
    return key.sign(data, pad, digest)


def sign(header, claims, key, alg="RS256"):
    """header and claims: dicts, or bytes as they are."""
    parts = [part if isinstance(part, bytes) else json.dumps(part).encode() for part in (header, claims)]
    text = ".".join(b64(part) for part in parts)
    return f"{text}.{b64(signature(alg, key, text.encode()))}"


def public_jwk(key, **members):
    public = key.public_key().public_numbers()
    if isinstance(key, rsa.RSAPrivateKey):
        return {"kty": "RSA", "n": number(public.n), "e": number(public.e), **members}
    size = (key.curve.key_size + 7) // 8
    curve = {256: "P-256", 384: "P-384", 521: "P-521"}[key.curve.key_size]
    return {"kty": "EC", "crv": curve, "x": b64(public.x.to_bytes(size, "big")), "y": b64(public.y.to_bytes(size, "big")), **members}


def new_rsa(bits=2048):
    return rsa.generate_private_key(public_exponent=65537, key_size=bits)


class Answer:
    """What the provider sends: a JSON value or bytes, and how."""

    def __init__(self, body, status=200, headers=None, drip=False, cut=False):
        self.body = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.status, self.headers, self.drip, self.cut = status, headers or {}, drip, cut


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def send(self, answer):
        if answer.cut:
            self.close_connection = True
            return
        self.send_response(answer.status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(answer.body)), **answer.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        try:
            if answer.drip:
                for byte in answer.body:
                    self.wfile.write(bytes([byte]))
                    time.sleep(0.3)
            else:
                self.wfile.write(answer.body)
        except OSError:
            pass  # the client has given up, as it should

    def do_GET(self):
        provider = self.server.provider
        path = urllib.parse.urlsplit(self.path).path
        provider.requests.append(path)
        if path.endswith("/.well-known/openid-configuration"):
            self.send(provider.discovery())
        elif path == "/keys":
            self.send(provider.key_set())
        elif path == "/userinfo":
            token = self.headers.get("Authorization", "").removeprefix("Bearer ")
            self.send(provider.userinfo.get(token) or Answer({"error": "invalid_token"}, 401))
        else:
            self.send(Answer({}, 404))

    def do_POST(self):
        provider = self.server.provider
        provider.requests.append(self.path)
        form = urllib.parse.parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        self.send(provider.exchange({name: values[0] for name, values in form.items()}, self.headers.get("Authorization", "")))


class OpenIdProvider:
    def __init__(self, **metadata):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.provider = self
        self.issuer = f"http://127.0.0.1:{self.server.server_port}"
        self.metadata, self.discovery_answer, self.keys_answer = metadata, None, None
        self.key, self.kid = new_rsa(), "first"
        self.extra_keys = []
        self.codes, self.userinfo, self.requests = {}, {}, []
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def discovery(self):
        if self.discovery_answer:
            return self.discovery_answer
        base = self.issuer
        return Answer({
            "issuer": base, "authorization_endpoint": f"{base}/authorize", "token_endpoint": f"{base}/token", "jwks_uri": f"{base}/keys",
            "userinfo_endpoint": f"{base}/userinfo", "end_session_endpoint": f"{base}/end?a=b",
            "authorization_response_iss_parameter_supported": True, **self.metadata,
        })  # fmt: skip

    def key_set(self):
        return self.keys_answer or Answer({"keys": [public_jwk(self.key, kid=self.kid, use="sig", alg="RS256"), *self.extra_keys]})

    def exchange(self, form, authorization):
        """The token endpoint: as strict as a real one."""
        params, answer = self.codes.pop(form.get("code"), (None, None))
        wanted = "Basic " + base64.b64encode(f"{CLIENT_ID}:{urllib.parse.quote(CLIENT_SECRET, safe='')}".encode()).decode()
        is_client = authorization == wanted or (form.get("client_id"), form.get("client_secret", "")) == (CLIENT_ID, CLIENT_SECRET)
        challenge = b64(hashlib.sha256(form.get("code_verifier", "").encode()).digest())
        if not is_client:
            return Answer({"error": "invalid_client"}, 401)
        if not params or form["grant_type"] != "authorization_code" or form["redirect_uri"] != params["redirect_uri"] or challenge != params["code_challenge"]:
            return Answer({"error": "invalid_grant"}, 400)
        return answer

    def grant(self, params, answer):
        """A code for a login that began with these parameters."""
        code = secrets.token_urlsafe(16)
        self.codes[code] = (params, answer)
        return code


class SignOn:
    """One login by a browser. Change its members, then come back."""

    def __init__(self, service, provider, name, cookie=None, query="", headers=None):
        self.service, self.provider, self.name = service, provider, name
        sent = {"Cookie": cookie} if cookie else {}
        self.start = ask(service.url, "GET", f"/api/auth/oidc/{name}{query}", {**sent, **(headers or {})})
        self.location = self.start.headers.get("location", "")
        self.params = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.location).query))
        self.cookie = self.start.headers.get("set-cookie", "").partition(";")[0]
        now, unique = int(time.time()), secrets.token_hex(6)
        self.header = {"alg": "RS256", "kid": provider.kid}
        self.key, self.alg = provider.key, "RS256"
        self.claims = {
            "iss": provider.issuer, "aud": CLIENT_ID, "sub": f"subject-{unique}", "exp": now + 300, "iat": now, "nonce": self.params.get("nonce"),
            "email": f"{unique}@example.com", "email_verified": True, "name": "Ann Example",
        }  # fmt: skip
        self.token, self.answer, self.code, self.userinfo = None, None, None, ...
        self.answered = {"iss": provider.issuer}

    def come_back(self, **changes):
        """The answer to the callback. changes: parameters; None leaves one out, a list sends several."""
        if self.code is None:
            access_token = secrets.token_urlsafe(16)
            token = self.token if self.token is not None else sign(self.header, self.claims, self.key, self.alg)
            self.provider.userinfo[access_token] = Answer({"sub": self.claims.get("sub")}) if self.userinfo is ... else self.userinfo
            self.code = self.provider.grant(self.params, self.answer or Answer({"access_token": access_token, "token_type": "Bearer", "id_token": token}))
        sent = {"code": self.code, "state": self.params.get("state"), "session_state": "x", **self.answered, **changes}
        query = urllib.parse.urlencode([(name, value) for name, values in sent.items() for value in (values if isinstance(values, list) else [values]) if value is not None])
        headers = {"Cookie": self.cookie} if self.cookie else {}
        return ask(self.service.url, "GET", f"/api/auth/oidc/{self.name}/callback?{query}", headers)


def session_of(answer):
    """The secret of the session that an answer begins, or None."""
    found = [cookie for cookie in answer.cookies if cookie.startswith("__Host-waymark=")]
    return found[0].partition(";")[0].partition("=")[2] if found else None


def error_of(answer):
    """The code of a refused login; None: somebody came in."""
    location = urllib.parse.urlsplit(answer.headers.get("location", ""))
    return dict(urllib.parse.parse_qsl(location.query)).get("error", answer.status if answer.status != 303 else None)


def user_of(service, answer):
    assert error_of(answer) is None and answer.headers["location"] == "/app/", answer
    return Browser(service.url, session_of(answer))
