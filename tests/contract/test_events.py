"""The examples of docs/api/asyncapi.yaml are records as the .proto files and the headers of CloudEvents want them."""

import datetime
import importlib
import subprocess
import sys
import uuid

import pytest
import yaml
from google.protobuf import json_format
from sources import ROOT

MESSAGES = yaml.safe_load((ROOT / "docs/api/asyncapi.yaml").read_text())["components"]["messages"]
PUBLIC = ("VisitEvent", "LinkEvent", "LinkTombstone")
EXAMPLES = [pytest.param(name, example, id=example["name"]) for name in PUBLIC for example in MESSAGES[name]["examples"]]


@pytest.fixture(scope="module")
def types(tmp_path_factory):
    folder = tmp_path_factory.mktemp("messages")
    subprocess.run(["protoc", "-I", ROOT / "proto", f"--python_out={folder}", *(ROOT / "proto/waymark/v1").glob("*.proto")], check=True)
    sys.path.insert(0, str(folder))
    visit, link = (importlib.import_module(f"waymark.v1.{name}_event_pb2") for name in ("visit", "link"))
    return {"VisitEvent": visit.VisitEvent, "LinkEvent": link.LinkEvent, "LinkChange": link.LinkChange}


def assert_has_all_fields(payload, descriptor):
    assert set(payload) == {field.name for field in descriptor.fields}
    for field in descriptor.fields:
        if field.message_type:
            assert_has_all_fields(payload[field.name], field.message_type)


@pytest.mark.parametrize("name, example", EXAMPLES)
def test_an_example_is_a_record_of_its_topic(name, example, types):
    headers, payload = example["headers"], example["payload"]
    kind = "VisitEvent" if name == "VisitEvent" else "LinkEvent"
    sender = "analytics-consumer" if kind == "VisitEvent" else "links-api"
    assert headers["ce_type"] == MESSAGES[kind]["name"] and headers["ce_source"] == f"/waymark/{sender}"
    assert headers["ce_dataschema"] == f"urn:waymark:proto:waymark.v1.{kind}"
    if name == "LinkTombstone":
        assert payload is None
        return
    event = json_format.ParseDict(payload, types[kind]())
    assert_has_all_fields(payload, event.DESCRIPTOR)
    at = datetime.datetime.fromtimestamp(event.occurred_at_us // 10**6, datetime.timezone.utc).replace(microsecond=event.occurred_at_us % 10**6)
    slug = event.slug if kind == "VisitEvent" else event.link.slug
    assert (headers["ce_id"], headers["ce_subject"]) == (str(uuid.UUID(bytes=event.event_id)), slug)
    assert headers["ce_time"] == at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def test_each_change_of_a_link_has_an_example(types):
    changes = [example["payload"]["change"] for example in MESSAGES["LinkEvent"]["examples"]]
    assert sorted(changes) == sorted(set(types["LinkChange"].keys()) - {"LINK_CHANGE_UNSPECIFIED"})
