"""A trace goes from the request into the logs, the records of click and visit, and the consumer's log."""

import json
import pathlib
import secrets

import pytest
from waiting import wait_until

KEY = "traceparent"


def new_trace(flags="01"):
    return f"00-{secrets.token_hex(16)}-{secrets.token_hex(8)}-{flags}"


@pytest.fixture
def lines(env):
    """lines(service, trace) returns the lines of its log with that trace."""
    logs = pathlib.Path(env["STACK_STATE"]) / "logs"

    def read(service, trace):
        texts = [path.read_text() for path in sorted(logs.glob(f"{service}-*.log"))]
        assert texts
        trace_id = trace.split("-")[1]
        return [json.loads(line) for text in texts for line in text.splitlines() if trace_id in line]

    return read


@pytest.fixture
def traces_of(topic, click):
    """traces_of(slug) returns the trace of the click, and that in the headers of the visit; "" if there is none."""
    redirects, visits = topic("waymark.redirects.v1"), topic("waymark.visits.v1")

    def find(slug):
        _, _, event = click(redirects, slug)
        (visit,) = visits.wait_for(lambda m: m.key() == slug.encode())
        return event.traceparent, dict(visit.headers()).get(KEY, b"").decode()

    return find


def test_a_trace_is_carried_from_the_click_to_the_visit(user, visitor, traces_of, lines):
    link, trace = user.create(), new_trace()
    assert visitor.follow(link["slug"], traceparent=trace).status == 302
    assert traces_of(link["slug"]) == (trace, trace)
    counted = wait_until(lambda: lines("consumer", trace), "the consumer's line")
    assert [(line["event"], line["link_id"]) for line in counted] == [("visit_counted", link["id"])]
    answered = wait_until(lambda: lines("redirector", trace), "the redirector's line")
    assert [(line["event"], line["status"]) for line in answered] == [("request", 302)]


def test_a_trace_that_is_not_sampled_is_carried_without_log_lines(user, visitor, traces_of, lines):
    link, quiet = user.create(), new_trace("00")
    assert visitor.follow(link["slug"], traceparent=quiet).status == 302
    assert traces_of(link["slug"]) == (quiet, quiet)
    # A line of this trace would come before those of a later click.
    link, loud = user.create(), new_trace()
    visitor.follow(link["slug"], traceparent=loud)
    wait_until(lambda: lines("redirector", loud) and lines("consumer", loud), "the lines of the next click")
    assert lines("redirector", quiet) == lines("consumer", quiet) == []



def test_the_api_logs_the_trace_of_a_request(user, lines):
    trace = new_trace("00")
    assert user.call("GET", "/api/links", headers={KEY: trace}).status == 200
    (line,) = wait_until(lambda: lines("links-api", trace), "the line of the request")
    assert (line["event"], line["route"], line["trace_id"]) == ("request", "/api/links", trace.split("-")[1])
