"""Fixtures of the end-to-end tests: only public doors (HTTP, Kafka), found through the environment of a running stack."""

import os
import pathlib
import subprocess
import sys

import pytest

from clients import Api, Topic, Visitor, unique_email

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def env():
    missing = [name for name in ("REDIRECTOR_URL", "LINKS_API_URL", "KAFKA_BROKERS") if name not in os.environ]
    if missing:
        pytest.fail(f"not inside a stack: {', '.join(missing)} not set (run me through tests/support/in-stack full)")
    return dict(os.environ)


@pytest.fixture(scope="session")
def messages(tmp_path_factory):
    """The messages as any other language sees them: Python classes made by protoc from the published .proto files."""
    out = tmp_path_factory.mktemp("protos")
    protos = sorted(str(p) for p in (ROOT / "proto/waymark/v1").glob("*.proto"))
    subprocess.run(["protoc", "-I", str(ROOT / "proto"), f"--python_out={out}", *protos], check=True)
    sys.path.insert(0, str(out))
    from waymark.v1 import link_event_pb2, redirect_event_pb2, visit_event_pb2

    class Messages:
        RedirectEvent = redirect_event_pb2.RedirectEvent
        LinkEvent = link_event_pb2.LinkEvent
        LinkChange = link_event_pb2.LinkChange
        VisitEvent = visit_event_pb2.VisitEvent

    return Messages


@pytest.fixture
def anonymous(env):
    return Api(env["LINKS_API_URL"])


@pytest.fixture
def user(env):
    """A registered and logged-in user of its own for each test."""
    api = Api(env["LINKS_API_URL"])
    api.register_and_login(unique_email())
    return api


@pytest.fixture
def visitor(env):
    return Visitor(env["REDIRECTOR_URL"])


@pytest.fixture
def topic(env):
    """topic(name) reads a Kafka topic from its present end on."""
    opened = []

    def open_topic(name):
        opened.append(Topic(env, name))
        return opened[-1]

    yield open_topic
    for each in opened:
        each.close()
