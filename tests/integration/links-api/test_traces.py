"""Spans of links-api and the redirector reach a receiver, which reads them with OpenTelemetry's own messages."""

import contextlib
import http.server
import os
import pathlib
import secrets
import socket
import sys
import tempfile
import threading
import time

import pytest

import processes
from clients import Api, Topic, Visitor, ask
from service import BASE, BUILD, metric
from stacklib.ports import Ports
from waiting import wait_until

CACHE = pathlib.Path(os.environ.get("WAYMARK_CACHE") or pathlib.Path.home() / ".cache/waymark")
PACKAGES = sorted(CACHE.glob("opentelemetry-proto/lib/python3*/site-packages"))
if not PACKAGES:
    pytest.skip(f"OpenTelemetry's messages are not in {CACHE}: tools/setup test", allow_module_level=True)
sys.path.append(str(PACKAGES[0]))
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest, ExportTraceServiceResponse
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

NS_PER_S = 1_000_000_000


class Receiver(http.server.ThreadingHTTPServer):
    """An OTLP receiver. It answers with status and response, or waits for the test's end if status is None."""

    daemon_threads = True

    def __init__(self):
        self.status, self.response = 200, ExportTraceServiceResponse()
        self.bodies, self.released = [], threading.Event()
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def spans(self, trace=None):
        """(resource, span) of all requests so far, or of those of a trace."""
        found = []
        for body in list(self.bodies):
            for of_resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                resource = values_of(of_resource.resource.attributes)
                found += [(resource, span) for scope in of_resource.scope_spans for span in scope.spans]
        return [(resource, span) for resource, span in found if not trace or span.trace_id.hex() == id_of(trace)]

    def wait_for(self, trace):
        ((resource, span),) = wait_until(lambda: self.spans(trace), f"a span of {trace}")
        return resource, span

    def stop(self):
        self.released.set()
        self.shutdown()
        self.server_close()


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.server.status is None:
            self.server.released.wait(300)
            return
        self.server.bodies.append(body)
        is_right = self.path == "/v1/traces" and self.headers["Content-Type"] == "application/x-protobuf"
        self.send_response(self.server.status if is_right else 400)
        data = self.server.response.SerializeToString()
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


class Redirector:
    """A running redirector on free ports, on the database and the Redis of links-api."""

    def __init__(self, database, folder, **variables):
        self.log = tempfile.NamedTemporaryFile(prefix="redirector-", suffix=".log")
        self.ports = Ports()  # keeps the ports for this redirector
        ports = [self.ports.take() for _ in range(2)]
        environment = {
            **{name: value for name, value in os.environ.items() if name.endswith("SAN_OPTIONS")},
            "PG_URL": database.url("waymark_redirector"), "REDIS_URL": database.redis.url, "KAFKA_BROKERS": os.environ["KAFKA_BROKERS"],
            "PUBLIC_BASE_URL": BASE, "TRUSTED_PROXIES": "127.0.0.0/8", "JOURNAL_DIR": str(folder / "journal"), "LINK_FEED_TOPIC": "none",
            "HTTP_PORT": str(ports[0]), "OPS_PORT": str(ports[1]), **variables,
        }  # fmt: skip
        self.url, self.ops_url = (f"http://127.0.0.1:{port}" for port in ports)
        self.process = processes.popen([BUILD / "bin/redirector"], env=environment, stderr=self.log, stdout=self.log)
        wait_until(lambda: '"event":"started"' in self.text() or self.process.poll() is not None, "the redirector to start")

    def text(self):
        return pathlib.Path(self.log.name).read_text()

    def stop(self):
        self.process.terminate()
        assert self.process.wait(300) == 0, self.text()
        assert "Sanitizer" not in self.text() and "runtime error" not in self.text(), self.text()


def new_trace(flags="01"):
    return f"00-{secrets.token_hex(16)}-{secrets.token_hex(8)}-{flags}"


def id_of(trace):
    return trace.split("-")[1]


def parent_of(trace):
    return trace.split("-")[2]


def values_of(attributes):
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in attributes}


@pytest.fixture
def receiver():
    receiver = Receiver()
    yield receiver
    receiver.stop()


@pytest.fixture
def traced(spawn, receiver):
    """links-api that begins no trace itself."""
    return spawn(OTEL_EXPORTER_OTLP_ENDPOINT=receiver.url + "/", OTEL_TRACES_SAMPLER_ARG="0")


@pytest.fixture
def start_redirector(database, tmp_path):
    with contextlib.ExitStack() as running:

        def start(**variables):
            redirector = Redirector(database, tmp_path, **variables)
            running.callback(redirector.stop)
            return redirector

        yield start


def test_the_span_of_an_api_request_has_its_trace_parent_and_status(traced, receiver):
    trace, before = new_trace(), time.time_ns()
    assert ask(traced.url, "GET", "/api/links/7", {"traceparent": trace}).status == 401
    resource, span = receiver.wait_for(trace)
    assert (span.parent_span_id.hex(), span.name, span.kind) == (parent_of(trace), "GET /api/links/{id}", Span.SPAN_KIND_SERVER)
    assert len(span.span_id) == 8 and span.span_id.hex() != parent_of(trace)
    assert values_of(span.attributes) == {"http.request.method": "GET", "http.response.status_code": 401, "http.route": "/api/links/{id}"}
    assert span.status.code == Status.STATUS_CODE_UNSET
    assert before - NS_PER_S < span.start_time_unix_nano < span.end_time_unix_nano < time.time_ns() + NS_PER_S
    assert (resource["service.name"], resource["service.namespace"]) == ("links-api", "waymark")
    assert resource["service.version"] and resource["service.instance.id"] == socket.gethostname()


def test_a_click_is_the_parent_of_what_follows_it(traced, receiver, start_redirector):
    """The click in Kafka names the span of the redirector, which names that of the proxy."""
    user, topic = Api(traced.url), Topic(os.environ, "waymark.redirects.v1")
    user.register_and_login(f"{secrets.token_hex(6)}@example.com")
    link, trace = user.create(), new_trace()
    redirector = start_redirector(OTEL_EXPORTER_OTLP_ENDPOINT=receiver.url, OTEL_TRACES_SAMPLER_ARG="0")
    assert Visitor(redirector.url).follow(link["slug"], traceparent=trace).status == 302
    _, span = receiver.wait_for(trace)
    assert (span.parent_span_id.hex(), span.name) == (parent_of(trace), "GET /{slug}")
    assert values_of(span.attributes)["http.response.status_code"] == 302
    (record,) = topic.wait_for(lambda message: link["slug"].encode() in message.value())
    topic.close()
    assert f"00-{id_of(trace)}-{span.span_id.hex()}-01".encode() in record.value()
    sent = b"".join(receiver.bodies)
    assert link["slug"].encode() not in sent and b"198.51.100.7" not in sent  # nor anything else of the visitor


def test_a_server_error_is_an_error_of_the_span(receiver, start_redirector, closed_port):
    away = {"PG_URL": f"postgresql://x@{closed_port}/x", "REDIS_URL": f"redis://{closed_port}"}
    redirector = start_redirector(OTEL_EXPORTER_OTLP_ENDPOINT=receiver.url, **away)
    trace = new_trace()
    assert Visitor(redirector.url).follow("nobody", traceparent=trace).status == 503
    _, span = receiver.wait_for(trace)
    assert span.status.code == Status.STATUS_CODE_ERROR


def test_requests_without_a_trace_begin_one(spawn, receiver):
    service = spawn(OTEL_EXPORTER_OTLP_ENDPOINT=receiver.url, OTEL_TRACES_SAMPLER_ARG="1")
    for _ in range(20):
        assert ask(service.url, "GET", "/api/links").status == 401
    found = wait_until(lambda: len(receiver.spans()) >= 20 and receiver.spans(), "20 spans")
    assert len({span.trace_id for _, span in found}) == len({span.span_id for _, span in found}) == len(found) == 20
    assert {span.parent_span_id for _, span in found} == {b""}
    wait_until(lambda: metric(service, "waymark_spans_sent_total") == 20, "20 sent spans")


def test_a_trace_that_is_not_sampled_has_no_span(spawn, receiver):
    service = spawn(OTEL_EXPORTER_OTLP_ENDPOINT=receiver.url, OTEL_TRACES_SAMPLER_ARG="1")
    quiet, loud = new_trace("00"), new_trace()
    assert ask(service.url, "GET", "/api/links", {"traceparent": quiet}).status == 401
    assert ask(service.url, "GET", "/api/links", {"traceparent": loud}).status == 401
    receiver.wait_for(loud)
    assert receiver.spans(quiet) == []


@pytest.mark.parametrize("case", ["refuses connections", "never answers", "answers 503", "rejects all"])
def test_a_receiver_that_takes_nothing_costs_its_spans_and_no_request(case, spawn, receiver, closed_port):
    if case == "rejects all":
        receiver.response.partial_success.rejected_spans = 1000
    else:
        receiver.status = {"answers 503": 503}.get(case)
    url = f"http://{closed_port}" if case == "refuses connections" else receiver.url
    service = spawn(OTEL_EXPORTER_OTLP_ENDPOINT=url, OTEL_TRACES_SAMPLER_ARG="1")
    for _ in range(50):
        assert ask(service.url, "GET", "/api/links").status == 401
    wait_until(lambda: metric(service, "waymark_spans_dropped_total") == 50, "50 dropped spans")
    assert metric(service, "waymark_spans_sent_total") == 0
    if case != "rejects all":
        assert service.events("spans_not_accepted")


def test_a_service_that_ends_sends_its_last_spans(spawn, receiver):
    service = spawn(OTEL_EXPORTER_OTLP_ENDPOINT=receiver.url, OTEL_TRACES_SAMPLER_ARG="0")
    trace = new_trace()
    assert ask(service.url, "GET", "/api/links", {"traceparent": trace}).status == 401
    service.stop()
    assert len(receiver.spans(trace)) == 1


def test_a_receiver_that_never_answers_does_not_keep_a_service_from_ending(spawn, receiver):
    receiver.status = None
    service = spawn(OTEL_EXPORTER_OTLP_ENDPOINT=receiver.url, OTEL_TRACES_SAMPLER_ARG="1")
    assert ask(service.url, "GET", "/api/links").status == 401
    service.stop()  # within its own bound
