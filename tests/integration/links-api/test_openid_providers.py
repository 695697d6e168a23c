"""Single sign-on with two real providers: oidc-provider of npm and Debian's glewlwyd. make e2e-oidc installs both."""

import gzip
import http.client
import json
import os
import pathlib
import re
import secrets
import sqlite3
import subprocess
import urllib.parse

import processes
import pytest
from clients import ask
from cryptography.hazmat.primitives import serialization
from openid_provider import CLIENT_ID, error_of, new_rsa, number, public_jwk, session_of, user_of
from service import ROOT
from stacklib.ports import Ports
from waiting import wait_until

SECRET = "a-secret-of-32-bytes-for-the-client"  # glewlwyd does not decode others (RFC 6749, 2.3.1)
HERE = pathlib.Path(__file__).parent
FAKETIME = f"/usr/lib/{os.uname().machine}-linux-gnu/faketime/libfaketime.so.1"


class Visitor:
    """A browser at a provider: keeps cookies, and follows redirects as far as the provider's own pages."""

    def __init__(self, base):
        self.base, self.cookies = base, {}

    def send(self, method, url, form=None, body=None):
        parts = urllib.parse.urlsplit(urllib.parse.urljoin(self.base, url))
        connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=300)
        headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items()), "Accept": "text/html, application/json"}
        data = urllib.parse.urlencode(form) if form is not None else json.dumps(body) if body is not None else None
        if data is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded" if form is not None else "application/json"
        connection.request(method, parts.path + (f"?{parts.query}" if parts.query else ""), data, headers)
        response = connection.getresponse()
        text = response.read().decode()
        for cookie in response.headers.get_all("Set-Cookie") or []:
            name, _, value = cookie.partition(";")[0].partition("=")
            self.cookies[name] = value
        connection.close()
        return response.status, response.headers.get("Location"), text

    def follow(self, method, url, form=None):
        """(the address outside of the provider where it leads, None) or (None, the page where it ends)."""
        while True:
            status, location, text = self.send(method, url, form)
            if status not in (302, 303, 307):
                return None, text
            url, method, form = urllib.parse.urljoin(urllib.parse.urljoin(self.base, url), location), "GET", None
            if not url.startswith(self.base):
                return url, None


class Running:
    """A provider's process, whose clock may be wrong."""

    def start(self, shift_s=0):
        shifted = {"LD_PRELOAD": FAKETIME, "FAKETIME": f"{shift_s:+d}s", "DONT_FAKE_MONOTONIC": "1"} if shift_s else {}
        self.process = processes.popen(self.command(), env={**os.environ, **shifted}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(self.answers, "the provider to answer")

    def answers(self):
        try:
            return ask(self.base, "GET", urllib.parse.urlsplit(self.issuer).path.rstrip("/") + "/.well-known/openid-configuration").status == 200
        except OSError:
            return False

    def stop(self):
        self.process.kill()
        self.process.wait()


class NpmProvider(Running):
    def __init__(self, folder, modules):
        self.ports = Ports()
        self.port, self.modules = self.ports.take(), modules
        self.base = self.issuer = f"http://127.0.0.1:{self.port}"
        self.rotate()

    def rotate(self):
        key = new_rsa()
        private = key.private_numbers()
        members = {"d": private.d, "p": private.p, "q": private.q, "dp": private.dmp1, "dq": private.dmq1, "qi": private.iqmp}
        self.jwks = {"keys": [public_jwk(key, kid=secrets.token_hex(4), use="sig", **{name: number(value) for name, value in members.items()})]}

    def know(self, redirect_uri, logout_uri):
        self.uris = {"redirect_uri": redirect_uri, "logout_uri": logout_uri}

    def command(self):
        settings = {"modules": self.modules, "port": self.port, "jwks": self.jwks, "client_id": CLIENT_ID, "client_secret": SECRET, "id_token_s": 60, **self.uris}
        return ["node", HERE / "openid/provider.mjs", json.dumps(settings)]

    def log_in(self, url, name):
        visitor = Visitor(self.base)
        outside, page = visitor.follow("GET", url)
        for form in ({"prompt": "login", "login": name, "password": "any"}, {"prompt": "consent"}):
            outside, page = visitor.follow("POST", re.search(r'action="([^"]+)"', page)[1], form)
        return outside


class Glewlwyd(Running):
    def __init__(self, folder):
        self.folder, self.ports = folder, Ports()
        self.port = self.ports.take()
        self.base = f"http://127.0.0.1:{self.port}"
        self.issuer = f"{self.base}/api/oidc"
        sample = gzip.decompress(pathlib.Path("/usr/share/doc/glewlwyd/glewlwyd.conf.sample.gz").read_bytes()).decode()
        for name, value in {"port": self.port, "external_url": f'"{self.base}"', "cookie_secure": 0, "cookie_domain": '"127.0.0.1"', "  path": f'"{folder}/db"'}.items():
            sample = re.sub(rf"^{name} *=.*$", f"{name} = {value}", sample, flags=re.M)
        (folder / "conf").write_text(f'bind_address = "127.0.0.1"\n{sample}')
        database = sqlite3.connect(folder / "db")
        database.executescript(pathlib.Path("/usr/share/dbconfig-common/data/glewlwyd/install/sqlite3").read_text())
        database.close()
        self.admin = Visitor(self.base)

    def command(self):
        return ["glewlwyd", "--config-file", self.folder / "conf"]

    def answers(self):
        try:
            return ask(self.base, "GET", "/config").status == 200
        except OSError:
            return False

    def call(self, method, path, body=None, visitor=None):
        status, _, text = (visitor or self.admin).send(method, f"/api{path}", body=body)
        assert status == 200, (method, path, status, text)

    def plugin(self):
        key = new_rsa()
        pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()).decode()
        public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo).decode()
        return {
            "module": "oidc", "name": "oidc", "display_name": "OIDC",
            "parameters": {
                "iss": self.issuer, "jwt-type": "rsa", "jwt-key-size": "256", "key": pem, "cert": public, "access-token-duration": 600, "refresh-token-duration": 600, "code-duration": 60,
                "refresh-token-rolling": True, "auth-type-code-enabled": True, "auth-type-refresh-enabled": True, "allow-non-oidc": False, "jwks-show": True, "subject-type": "public", "pkce-allowed": True, "oauth-as-iss-id": True,
                "email-claim": "mandatory", "name-claim": "mandatory", "scope-claim": "no", "session-management-allowed": True, "session-cookie-name": "G", "session-cookie-expiration": 600, "post-logout-redirect-uri-parameter": "post_logout_redirect_uri",
                "client-redirect_uri-parameter": "redirect_uri",
            },
        }  # fmt: skip

    def know(self, redirect_uri, logout_uri):
        self.uris = redirect_uri, logout_uri

    def set_up(self):
        """After the first start: the plugin, our client and a person."""
        self.call("POST", "/auth", {"username": "admin", "password": "password"})
        self.call("POST", "/mod/plugin", self.plugin())
        self.call("POST", "/client", {
            "client_id": CLIENT_ID, "name": "Waymark", "confidential": True, "password": SECRET, "enabled": True, "scope": [], "redirect_uri": [self.uris[0]],
            "authorization_type": ["code"], "token_endpoint_auth_method": ["client_secret_basic"], "post_logout_redirect_uri": self.uris[1],
        })  # fmt: skip
        self.call("POST", "/user", {"username": "ann", "name": "Ann", "email": "ann@glewlwyd.example", "password": "password", "enabled": True, "scope": ["g_profile", "openid"]})

    def rotate(self):
        self.call("POST", "/auth", {"username": "admin", "password": "password"})
        self.call("PUT", "/mod/plugin/oidc", self.plugin())

    def log_in(self, url, name):
        visitor = Visitor(self.base)
        self.call("POST", "/auth", {"username": name, "password": "password"}, visitor)
        self.call("PUT", f"/auth/grant/{CLIENT_ID}", {"scope": "openid"}, visitor)
        return visitor.follow("GET", url + "&g_continue")[0]


class Login:
    def __init__(self, service, provider, name, person="ann"):
        start = ask(service.url, "GET", f"/api/auth/oidc/{name}")
        self.error = error_of(start)
        if not self.error:
            back = provider.log_in(start.headers["location"], person)
            self.callback = back.replace("https:", "http:").removeprefix(service.url)
            self.answer = ask(service.url, "GET", self.callback, {"Cookie": start.headers["set-cookie"].partition(";")[0]})
            self.error = error_of(self.answer)


@pytest.fixture(scope="module", params=["npm", "glewlwyd"])
def known(request, tmp_path_factory, start):
    """(service, provider, its id): each knows the other."""
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "npm":
        provider = NpmProvider(folder, subprocess.run([ROOT / "tools/npm/install", "openid-provider"], check=True, capture_output=True, text=True).stdout.strip())
    else:
        provider = Glewlwyd(folder)
    entry = {"id": request.param, "name": "P", "issuer": provider.issuer, "client_id": CLIENT_ID, "client_secret": SECRET, "admits_everyone": True, "trusts_email": True}
    entry["scopes"] = "openid email profile" if request.param == "npm" else "openid"
    (folder / "oidc.json").write_text(json.dumps({"providers": [entry]}))
    service = start(OIDC_CONFIG=folder / "oidc.json")
    own = service.url.replace("http:", "https:")
    provider.know(f"{own}/api/auth/oidc/{request.param}/callback", f"{own}/app/login")
    provider.start()
    if request.param == "glewlwyd":
        provider.set_up()
    yield service, provider, request.param
    provider.stop()


def test_a_person_comes_in_twice_and_is_the_same(known):
    service, provider, name = known
    people = []
    for _ in range(2):
        login = Login(service, provider, name)
        people.append(user_of(service, login.answer).call("GET", "/api/auth/me").json["user"])
    assert people[0]["id"] == people[1]["id"] and people[0]["email"].startswith("ann@")


def test_a_callback_is_used_once(known):
    service, provider, name = known
    login = Login(service, provider, name)
    assert login.error is None
    assert error_of(ask(service.url, "GET", login.callback)) == "oidc-state"


def test_the_keys_are_rotated(known):
    service, provider, name = known
    assert Login(service, provider, name).error is None
    provider.rotate()
    if name == "npm":
        provider.stop()
        provider.start()
    wait_until(lambda: Login(service, provider, name).error is None, "the new keys to be read")


@pytest.mark.parametrize("shift_s", [-100, 100])
def test_a_clock_that_is_off_by_less_than_two_minutes_is_forgiven(known, shift_s):
    service, provider, name = known
    provider.stop()
    provider.start(shift_s)
    wait_until(lambda: Login(service, provider, name).error is None, "a login in spite of the clock")


def test_a_clock_that_is_off_by_more_is_not(known):
    service, provider, name = known
    provider.stop()
    provider.start(140)
    wait_until(lambda: Login(service, provider, name).error == "oidc-answer", "the provider to be asked")
    provider.stop()
    provider.start()


def test_a_provider_that_is_away_is_named_and_comes_back(known):
    service, provider, name = known
    start = ask(service.url, "GET", f"/api/auth/oidc/{name}")
    back = provider.log_in(start.headers["location"], "ann")
    provider.stop()
    answer = ask(service.url, "GET", back.replace("https:", "http:").removeprefix(service.url), {"Cookie": start.headers["set-cookie"].partition(";")[0]})
    assert error_of(answer) == "oidc-away" and session_of(answer) is None
    provider.start()
    wait_until(lambda: Login(service, provider, name).error is None, "the provider to be asked again")


def test_logging_out_ends_the_session_there_too(known):
    service, provider, name = known
    browser = user_of(service, Login(service, provider, name).answer)
    url = browser.call("POST", "/api/auth/logout", {}).json["redirect_to"]
    assert url and url.startswith(provider.base), url
    status, location, _ = Visitor(provider.base).send("GET", url)
    assert status < 400, (status, location)
