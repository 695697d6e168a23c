"""QR codes: scanners read the short URL from each image, and only the link's owner gets one."""

import http.client
import io
import re
import urllib.parse

import pytest
from PIL import Image, ImageDraw
from qr_reader import scan


def draw_svg(text):
    """Draws only what our images consist of: two paths of rectangles, the second with the dark modules."""
    size = int(re.search(r'width="(\d+)"', text).group(1))
    modules = int(re.search(r'viewBox="0 0 (\d+) (\d+)"', text).group(1))
    scale = 8
    image = Image.new("L", (modules * scale, modules * scale), 255)
    pen = ImageDraw.Draw(image)
    for x, y, run in re.findall(r"M(\d+) (\d+)h(\d+)v1h-\d+z", text):
        x, y, run = int(x) * scale, int(y) * scale, int(run) * scale
        pen.rectangle([x, y, x + run - 1, y + scale - 1], fill=0)
    return image, size


@pytest.fixture(scope="module")
def link(ann):
    return ann.create(original_url="https://example.com/qr")


def get(api, link, query="", headers=None):
    return api.call("GET", f"/api/links/{link['id']}/qr{query}", headers={"Accept": "*/*", **(headers or {})})


@pytest.mark.parametrize("query", ["?format=png", "?format=png&size=64&margin=2", "?format=png&size=2048&margin=16"])
def test_a_png_encodes_the_short_url_as_a_scan(ann, link, query):
    answer = get(ann, link, query)
    assert (answer.status, answer.headers["content-type"]) == (200, "image/png")
    image = Image.open(io.BytesIO(answer.body))
    size = int((re.search(r"size=(\d+)", query) or [0, 256])[1])
    assert image.size == (size, size)
    assert set(image.convert("L").getdata()) == {0, 255}
    assert scan(image.convert("L")) == [f"{link['short_url']}?qr=1"]


@pytest.mark.parametrize("query", ["", "?format=svg&size=600&margin=1"])
def test_an_svg_encodes_the_short_url_as_a_scan(ann, link, query):
    answer = get(ann, link, query)
    assert (answer.status, answer.headers["content-type"]) == (200, "image/svg+xml")
    image, size = draw_svg(answer.body.decode())
    assert size == (600 if query else 256)
    assert scan(image) == [f"{link['short_url']}?qr=1"]


@pytest.mark.parametrize(
    "accept,drawn",
    [
        ("image/png", "image/png"), ("image/svg+xml;q=0.5, image/png", "image/png"), ("image/png;q=0.5, image/*", "image/svg+xml"),
        ("image/*", "image/svg+xml"), ("image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8", "image/svg+xml"), ("", "image/svg+xml"),
        ("text/html", None), ("application/json", None), ("image/png;q=0", None),
    ],
)  # fmt: skip
def test_without_a_format_accept_decides(ann, link, expect, accept, drawn):
    answer = get(ann, link, "", {"Accept": accept})
    if drawn:
        assert (answer.status, answer.headers["content-type"]) == (200, drawn)
        assert "accept" in answer.headers["vary"].lower()
    else:
        expect(answer, 406)
    assert get(ann, link, "?format=png", {"Accept": accept}).headers["content-type"] == "image/png", "an explicit format wins"


@pytest.mark.parametrize(
    "query,wrong",
    [
        ("size=63", "size"), ("size=2049", "size"), ("size=", "size"), ("size=1e2", "size"), ("size=%zz", "size"), ("size=100&size=100", "size"),
        ("size=99999999999999999999", "size"), ("margin=17", "margin"), ("margin=-1", "margin"), ("format=gif", "format"), ("format=", "format"),
        ("format", "format"), ("format=PNG", "format"), ("colour=red", "colour"), ("%00=1", "%00"), ("format=x&y&margin=99&size=1", "size margin y format"),
    ],
)  # fmt: skip
def test_each_invalid_parameter_is_named(ann, link, expect, query, wrong):
    expect(get(ann, link, f"?{query}"), 400, *(f"/{name}" for name in wrong.split()))


def test_responses_are_not_cacheable(ann, link):
    """After a logout or the loss of the link no cache returns it; and no header is duplicated."""
    url = urllib.parse.urlsplit(ann.base)
    connection = http.client.HTTPConnection(url.hostname, url.port, timeout=300)
    connection.request("GET", f"/api/links/{link['id']}/qr", headers={"Authorization": f"Bearer {ann.token}"})
    response = connection.getresponse()
    assert response.read()
    headers = [(name.lower(), value) for name, value in response.getheaders()]
    connection.close()
    assert [value for name, value in headers if name == "cache-control"] == ["no-store"]
    assert [value for name, value in headers if name == "x-content-type-options"] == ["nosniff"]


def test_if_none_match_returns_304_for_the_same_image(ann, link):
    first = get(ann, link)
    again = get(ann, link, headers={"If-None-Match": first.headers["etag"]})
    assert (again.status, again.body, again.headers["etag"]) == (304, b"", first.headers["etag"])
    assert get(ann, link, "?size=300", {"If-None-Match": first.headers["etag"]}).status == 200
    assert get(ann, link, "?format=png").headers["etag"] != first.headers["etag"]
