"""Fixtures: a database, the service on it, and people who use it."""

import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "e2e")]

from doors import Api, unique_email  # noqa: E402
from service import Database, Service, wait_until  # noqa: E402
from doors import ask  # noqa: E402


@pytest.fixture(scope="module")
def database():
    database = Database()
    yield database
    database.drop()


@pytest.fixture(scope="module")
def start(database):
    """start(NAME=value, …): one more service on the database; all end with the module."""
    services = []

    def start_one(ready=True, **variables):
        services.append(Service(database, **variables))
        if ready:
            wait_until(lambda: ask(services[-1].ops_url, "GET", "/readyz").status == 200, 20, "links-api to be ready")
        return services[-1]

    yield start_one
    for service in services:
        service.stop()


@pytest.fixture(scope="module")
def service(start):
    return start()


@pytest.fixture(scope="module")
def new_user(service):
    """new_user(): registered and logged in."""

    def make(of=service):
        api = Api(of.url)
        api.register_and_login(unique_email())
        return api

    return make


@pytest.fixture(scope="module")
def ann(new_user):
    return new_user()


@pytest.fixture(scope="module")
def bob(new_user):
    return new_user()


@pytest.fixture
def anonymous(service):
    return Api(service.url)


@pytest.fixture
def expect():
    """expect(answer, 400, "/slug", …): a problem with that status that names exactly these fields."""

    def check(answer, status, *pointers):
        assert answer.status == status, answer
        assert answer.headers["content-type"] == "application/problem+json", answer
        problem = answer.json
        assert problem["status"] == status and problem["title"] and problem["detail"], answer
        assert problem["instance"] == answer.headers["x-request-id"], answer
        assert {error["pointer"] for error in problem.get("errors", [])} == set(pointers), answer
        return problem

    return check
