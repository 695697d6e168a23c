"""Fixtures of the tests in Chromium."""

import pytest

from dashboard.browser import Browser


@pytest.fixture(scope="module")
def browser(env):
    chromium = Browser(env["LINKS_API_URL"])
    yield chromium
    chromium.close()


@pytest.fixture
def window(browser):
    opened = browser.open()
    yield opened
    opened.close()


@pytest.fixture
def page(window, user):
    """The page of a logged-in user. The fixture user calls the API as the same account."""
    window.login(user.email)
    return window.page
