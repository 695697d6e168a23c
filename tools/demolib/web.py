"""HTTP as the demo needs it: JSON in and out, and redirects that are looked at instead of followed."""

import json
import urllib.error
import urllib.request

LIMIT_S = 10


class Answer:
    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers
        self.body = body

    def json(self):
        return json.loads(self.body)


class _LookAtRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


# No proxies: everything is on this machine.
_opener = urllib.request.build_opener(_LookAtRedirects, urllib.request.ProxyHandler({}))


def send(method, url, body=None, headers=None):
    headers = dict(headers or {})
    data = None
    if body is not None:
        data = json.dumps(body).encode()
        headers["Content-Type"] = "application/json"
    request = urllib.request.Request(url, data=data, headers=headers, method=method)
    try:
        with _opener.open(request, timeout=LIMIT_S) as answer:
            return Answer(answer.status, answer.headers, answer.read())
    except urllib.error.HTTPError as error:  # any status but 2xx
        return Answer(error.code, error.headers, error.read())
