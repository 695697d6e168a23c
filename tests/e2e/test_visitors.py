"""Answers to visitors without a valid link, and to hostile requests."""

import os
import pathlib
import socket
import subprocess
import urllib.parse

import pytest
from clients import ask

REDIRECTOR = pathlib.Path(os.environ.get("WAYMARK_BUILD_DIR", "build/dev")) / "bin/redirector"


def raw(base, request, read=65536):
    url = urllib.parse.urlsplit(base)
    with socket.create_connection((url.hostname, url.port), timeout=60) as connection:
        connection.sendall(request)
        data = b""
        while chunk := connection.recv(read):
            data += chunk
            if len(data) > read:
                break
    return data


def test_browsers_get_a_page_and_programs_a_problem(visitor):
    page = visitor.follow("no-such-slug-1")
    assert page.status == 404 and page.headers["content-type"].startswith("text/html")
    text = page.body.decode()
    assert "<!doctype html" in text.lower() and "<title>" in text and 'lang="en"' in text
    assert "http" not in text.replace("http-equiv", ""), "the page must load nothing from elsewhere"
    problem = visitor.follow("no-such-slug-1", Accept="application/json")
    assert problem.headers["content-type"].startswith("application/problem+json")
    assert problem.json["status"] == 404


@pytest.mark.parametrize(
    "language, texts",
    [("en", ["may not have started yet", "missing, extra or wrong characters"]), ("de", ["gilt noch nicht", "fehlt ein Zeichen"])],
)
def test_the_page_of_a_link_that_has_not_started_names_this_reason(user, visitor, language, texts):
    link = user.create(starts_at="2099-01-01T00:00:00Z")
    page = visitor.follow(link["slug"], Accept_Language=language)
    assert page.status == 404 and page.headers["content-language"] == language
    assert [text for text in texts if text not in page.body.decode()] == []


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_other_methods_are_405_with_allow(user, visitor, method):
    link = user.create()
    answer = visitor.follow(link["slug"], method=method)
    assert answer.status == 405
    assert {m.strip() for m in answer.headers["allow"].split(",")} >= {"GET", "HEAD"}


@pytest.mark.parametrize(
    "path", ["/%61bc", "/a%00b", "//abc", "/abc/", "/../abc", "/a/b/c", "/" + "a" * 33, "/r/", "/r", "/a.b", "/ab%2fc"]
)
def test_paths_without_a_valid_slug_are_404(visitor, path):
    assert visitor.follow("", path=path).status == 404


def test_robots_txt_and_the_root_are_served(env):
    answer = ask(env["REDIRECTOR_URL"], "GET", "/robots.txt")
    assert answer.status == 200 and answer.headers["content-type"].startswith("text/plain")
    assert ask(env["REDIRECTOR_URL"], "GET", "/").status in (200, 302)


def test_a_browser_gets_the_start_page_and_its_icon_in_its_language(env):
    page = ask(env["REDIRECTOR_URL"], "GET", "/", headers={"Accept": "text/html", "Accept-Language": "de-CH, en;q=0.5"})
    assert page.status == 200 and page.headers["content-language"] == "de"
    assert "<h1>Kurzlinks</h1>" in page.body.decode()
    icon = ask(env["REDIRECTOR_URL"], "GET", "/favicon.ico")
    assert icon.status == 200 and icon.headers["content-type"] == "image/svg+xml"


def test_check_config_names_each_wrong_line_of_the_pages_file(tmp_path):
    (tmp_path / "pages").write_text("[fr]\n404.heading = x\n404.text =\n")
    values = {"PATH": os.environ["PATH"], "PAGES_FILE": str(tmp_path / "pages"), "OPERATOR_CONTACT": "nobody"}
    done = subprocess.run([REDIRECTOR, "--check-config"], env=values, capture_output=True, text=True, timeout=120)
    assert done.returncode == 64
    assert 'PAGES_FILE: line 2: unknown key "404.heading"\n' in done.stderr
    assert "PAGES_FILE: line 3: the text of 404.text must have 1 to 500 bytes\n" in done.stderr
    assert "OPERATOR_CONTACT: must be a mail address or an http or https URL\n" in done.stderr


@pytest.mark.parametrize("server", ["REDIRECTOR_URL", "LINKS_API_URL"])
@pytest.mark.parametrize(
    "head",
    [
        "Content-Length: 44\r\nContent-Length: 0",
        "Content-Length: 44\r\nTransfer-Encoding: chunked",
        "Content-Length : 44",
        "Transfer-Encoding: xchunked",
        "Transfer-Encoding: chunked, identity",
        "Host: second.example",
    ],
)
def test_a_hidden_second_request_is_never_answered(env, server, head):
    hidden = "GET /robots.txt HTTP/1.1\r\nHost: x.example\r\n\r\n"
    answer = raw(env[server], f"GET /abc HTTP/1.1\r\nHost: a.example\r\n{head}\r\n\r\n{hidden}".encode())
    assert answer.startswith(b"HTTP/1.1 400 "), answer[:200]
    assert answer.count(b"HTTP/1.1 ") == 1
    assert b"connection: close" in answer.lower()


def test_a_target_or_header_that_is_too_long_is_refused(env):
    long_target = raw(env["REDIRECTOR_URL"], b"GET /" + b"a" * 40_000 + b" HTTP/1.1\r\nHost: a.example\r\n\r\n")
    assert long_target.split(b" ")[1] in (b"414", b"431"), long_target[:100]
    long_header = raw(
        env["REDIRECTOR_URL"], b"GET /abc HTTP/1.1\r\nHost: a.example\r\nX-Long: " + b"a" * 40_000 + b"\r\n\r\n"
    )
    assert long_header.split(b" ")[1] == b"431", long_header[:100]


def test_odd_bytes_are_accepted_and_control_bytes_are_refused(user, visitor):
    link = user.create()
    answer = visitor.follow(link["slug"], agent="\xe9'\"<script>%00\\", Referer="https://x.example/\xff")
    assert answer.status == 302
    refused = visitor.follow(link["slug"], Referer="https://x.example/\x01")
    assert refused.status == 400 and refused.headers["connection"] == "close"
