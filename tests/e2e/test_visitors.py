"""Answers to visitors without a valid link."""

import re

import pytest
from clients import ask


def test_browsers_get_a_page_and_programs_a_problem(env, visitor):
    page = visitor.follow("no-such-slug-1")
    assert page.status == 404 and page.headers["content-type"].startswith("text/html")
    text = page.body.decode()
    assert "<!doctype html" in text.lower() and "<title>" in text and 'lang="en"' in text
    without, reports = re.subn(f'<a href="{re.escape(env["LINKS_API_URL"])}/report[^"]*">', "", text)
    assert reports == 1 and "http" not in without, "the page must load nothing from elsewhere"
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


def test_a_browser_gets_the_start_page_and_its_icon_in_its_language(env):
    page = ask(env["REDIRECTOR_URL"], "GET", "/", headers={"Accept": "text/html", "Accept-Language": "de-CH, en;q=0.5"})
    assert page.status == 200 and page.headers["content-language"] == "de"
    assert "<h1>Kurzlinks</h1>" in page.body.decode()
    icon = ask(env["REDIRECTOR_URL"], "GET", "/favicon.ico")
    assert icon.status == 200 and icon.headers["content-type"] == "image/svg+xml"
