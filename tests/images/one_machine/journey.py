"""journey.py API REDIRECTOR EMAIL LINK: sets the password of the first administrator by the link that --create-admin printed,
creates a link, follows it as a person, and waits until the visit is counted. Nobody else comes in."""

import json
import sys
import time
import urllib.error
import urllib.request

TIMEOUT_S = 300
BROWSER = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"
TARGET = "https://example.com/spring"


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *arguments):
        return None


opener = urllib.request.build_opener(NoRedirect)


def call(url, body=None, token=None):
    headers = {"Content-Type": "application/json", "User-Agent": BROWSER}
    headers |= {"Authorization": f"Bearer {token}"} if token else {}
    data = None if body is None else json.dumps(body).encode()
    try:
        with opener.open(urllib.request.Request(url, data, headers), timeout=30) as response:
            return response.status, response.headers, response.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read()


def until(wanted, ask):
    """Asks until the answer is as wanted; a server that does not listen yet is asked again."""
    deadline, last = time.monotonic() + TIMEOUT_S, None
    while time.monotonic() < deadline:
        try:
            last = ask()
            if wanted(last):
                return last
        except OSError as error:
            last = error
        time.sleep(0.2)
    raise SystemExit(f"journey: not in {TIMEOUT_S} s: {last}")


def wait_for_visits(visits, url, token):
    counted = until(lambda stats: stats["total"] >= visits, lambda: json.loads(call(url, token=token)[2]))
    assert (counted["humans"], counted["total"]) == (visits, visits), counted
    return counted


def main(api, redirector, email, way_in):
    account = {"email": email, "password": "correct horse battery"}
    reset = {"token": way_in.partition("#")[2], "new_password": account["password"]}
    until(lambda answer: answer[0] == 204, lambda: call(f"{api}/api/auth/password-reset", reset))
    stranger = {"email": "stranger@example.com", "password": account["password"]}
    assert [call(f"{api}{path}", body)[0] for path, body in (("/api/auth/register", stranger), ("/api/links/public", {"original_url": TARGET}))] == [403, 403]
    token = json.loads(call(f"{api}/api/auth/login", account)[2])["access_token"]
    status, _, body = call(f"{api}/api/links", {"original_url": TARGET}, token)
    assert status == 201, (status, body)
    link = json.loads(body)["link"]
    counted, visits = {"unique_visitors": 0}, 0
    # A visit before the janitor's first salt is counted, but not as that of a unique visitor.
    while counted["unique_visitors"] == 0:
        status, headers, _ = until(lambda answer: answer[0] != 503, lambda: call(f"{redirector}/{link['slug']}"))
        assert (status, headers["Location"]) == (302, TARGET), (status, dict(headers))
        visits += 1
        counted = wait_for_visits(visits, f"{api}/api/links/{link['id']}/stats", token)
    assert counted["unique_visitors"] == 1, counted
    print(link["short_url"])


if __name__ == "__main__":
    main(*sys.argv[1:])
