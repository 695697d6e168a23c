"""An HTTP client for the demo: JSON requests and responses. It does not follow redirects."""

import json
import urllib.error
import urllib.request

TIMEOUT_S = 60


class Response:
    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers
        self.body = body

    def json(self):
        return json.loads(self.body)


class _DoNotFollow(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


# No proxy: everything is on this machine.
_opener = urllib.request.build_opener(_DoNotFollow, urllib.request.ProxyHandler({}))


def send(method, url, body=None, headers=None):
    headers = dict(headers or {})
    data = None
    if body is not None:
        data = json.dumps(body).encode()
        headers["Content-Type"] = "application/json"
    request = urllib.request.Request(url, data=data, headers=headers, method=method)
    try:
        with _opener.open(request, timeout=TIMEOUT_S) as response:
            return Response(response.status, response.headers, response.read())
    except urllib.error.HTTPError as error:  # any status except 2xx
        return Response(error.code, error.headers, error.read())
