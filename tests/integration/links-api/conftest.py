"""Fixtures: a database, the service on it, and users."""

import importlib
import os
import socket
import subprocess
import sys

import pytest

from clients import Api, Topic, ask, unique_email
from service import ROOT, Database, Service
from waiting import wait_until


@pytest.fixture(scope="module")
def database():
    database = Database()
    yield database
    database.close()


@pytest.fixture(scope="module")
def start(database, request):
    """start(NAME=value, …): starts another service with these variables and the module's VARIABLES. Stopped after the module."""
    services = []
    module_variables = getattr(request.module, "VARIABLES", {})

    def start_one(ready=True, **variables):
        services.append(Service(database, **module_variables | variables))
        if ready:
            wait_until(lambda: ask(services[-1].ops_url, "GET", "/readyz").status == 200, "links-api to be ready")
        return services[-1]

    yield start_one
    for service in services:
        service.stop()


@pytest.fixture(scope="module")
def service(start):
    return start()


@pytest.fixture(scope="module")
def new_user(service):
    """new_user(): registers a user and logs in."""

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
    """expect(answer, 400, "/slug", …): asserts a problem with this status and exactly these fields."""

    def check(answer, status, *pointers):
        assert answer.status == status, answer
        assert answer.headers["content-type"] == "application/problem+json", answer
        problem = answer.json
        assert problem["status"] == status and problem["title"] and problem["detail"], answer
        assert problem["type"].startswith("/problems/"), answer
        assert problem["instance"] == answer.headers["x-request-id"], answer
        assert {error["pointer"] for error in problem.get("errors", [])} == set(pointers), answer
        return problem

    return check


@pytest.fixture(scope="session")
def compile_proto(tmp_path_factory):
    """compile_proto("link_event"): the Python module of a proto."""
    out = tmp_path_factory.mktemp("protos")
    protos = sorted((ROOT / "proto/waymark/v1").glob("*.proto"))
    subprocess.run(["protoc", "-I", ROOT / "proto", f"--python_out={out}", *protos], check=True)
    sys.path.insert(0, str(out))
    return lambda name: importlib.import_module(f"waymark.v1.{name}_pb2")


@pytest.fixture(scope="module")
def LinkEvent(compile_proto):
    return compile_proto("link_event").LinkEvent


@pytest.fixture
def topic():
    topic = Topic(os.environ, "waymark.links.v1")
    yield topic
    topic.close()


@pytest.fixture
def spawn(database):
    """spawn(): starts a service that the test itself may kill."""
    services = []

    def start_one(**variables):
        services.append(Service(database, **variables))
        wait_until(lambda: ask(services[-1].ops_url, "GET", "/readyz").status == 200, "readiness")
        return services[-1]

    yield start_one
    for service in services:
        service.stop()


@pytest.fixture
def closed_port():
    with socket.socket() as held:  # bound but not listening: connections are refused
        held.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{held.getsockname()[1]}"
