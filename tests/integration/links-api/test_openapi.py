"""docs/api/openapi.yaml against the service: the same endpoints, examples that fit, answers that fit."""

import datetime
import re
import urllib.parse

import jsonschema
import pytest
import yaml
from clients import ask
from people import Person
from service import ROOT
from visit_world import add_visits, roll_up

PAGE = yaml.safe_load((ROOT / "docs/api/openapi.yaml").read_text())
METHODS = ("get", "post", "put", "patch", "delete")


def at(reference):
    found = PAGE
    for part in reference.removeprefix("#/").split("/"):
        found = found[part.replace("~1", "/").replace("~0", "~")]
    return found


def whole(thing):
    return at(thing["$ref"]) if "$ref" in thing else thing


OPERATIONS = [(method, path, PAGE["paths"][path][method]) for path in PAGE["paths"] for method in METHODS if method in PAGE["paths"][path]]
NAMES = [f"{method} {path}" for method, path, _ in OPERATIONS]
SOURCES = ROOT / "services/links-api"
TABLE = [(method.lower(), path) for method, path in re.findall(r"{ HTTP_(\w+), +\"([^\"]+)\"", (SOURCES / "routes.c").read_text())]


def parameters_of(method, path):
    item = PAGE["paths"][path]
    return [whole(each) for each in item.get("parameters", []) + item[method].get("parameters", [])]


def fits(value, schema):
    checker = jsonschema.FormatChecker()
    jsonschema.Draft202012Validator(schema, resolver=jsonschema.RefResolver("", PAGE), format_checker=checker).validate(value)


def examples_of(holder):
    yield from [holder["example"]] if "example" in holder else []
    yield from (whole(each)["value"] for each in holder.get("examples", {}).values())


def test_each_route_is_described_and_each_operation_has_a_route():
    table = {f"{method} {path}" for method, path in TABLE}
    assert len(table) == len(TABLE) > 10
    assert table == set(NAMES)


def test_each_problem_is_explained_and_each_explanation_is_of_a_problem(service):
    calls = re.findall(r"(?:answer_problem|answer_conflict|http_problem_answer)\(([^;]*);", "".join(each.read_text() for each in SOURCES.rglob("*.c")))
    kinds = {kind for call in calls for kind in re.findall(r', "([a-z-]+)",', call)}
    explained = re.findall(r"^## (.*)$", (ROOT / "docs/api/problems.md").read_text(), re.MULTILINE)
    listed = re.findall(r"^ *\| `/problems/([a-z-]+)` \|", PAGE["info"]["description"], re.MULTILINE)
    assert len(kinds) > 9 and kinds - set(explained) == set()
    assert sorted(explained) == sorted(listed) and len(explained) == len(set(explained))
    for kind in explained:
        answer = ask(service.url, "GET", f"/problems/{kind}")
        assert answer.status == 200 and answer.body.decode().startswith(f"## {kind}\n\n4"), answer


def test_the_service_gives_the_page_as_json(service):
    assert ask(service.url, "GET", "/openapi.json").json == PAGE


@pytest.mark.parametrize("method, path, operation", OPERATIONS, ids=NAMES)
def test_examples_fit_their_schemas(method, path, operation):
    seen = 0
    for answer in map(whole, operation["responses"].values()):
        for content in answer.get("content", {}).values():
            assert list(examples_of(content)), f"an answer of {method} {path} has no example"
            for example in examples_of(content):
                fits(example, content["schema"])
                seen += 1
    for parameter in parameters_of(method, path):
        for example in examples_of(parameter):
            fits(example, parameter["schema"])
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    for example in examples_of(body):
        fits(example, body["schema"])
    assert seen > 0


@pytest.fixture(scope="module")
def link(ann, database):
    link = ann.create(title="walked")
    to = datetime.datetime.now(datetime.timezone.utc)
    add_visits(database, link["id"], 500, to - datetime.timedelta(hours=20), to)
    roll_up(database)
    database.run("INSERT INTO consumer_offsets (topic, partition, next_offset, as_of) VALUES ('waymark.redirects.v1', 0, 9, now())")
    return link


@pytest.fixture(scope="module")
def admin(service, database):
    """Nothing is hidden from him before his query is looked at: (his Api, a link of his)."""
    person = Person(service, database, "admin")
    return person, person.create()


NAMED = {parameter["name"] for method, path, _ in OPERATIONS for parameter in parameters_of(method, path) if parameter["in"] == "query"}
UNKNOWN = re.compile("is (no|the only) query parameter here")


def called_unknown(admin, method, path, names):
    """The parameters among the names that the endpoint says it does not know, and its answer. No value is a good one."""
    person, link = admin
    place = path.replace("{id}", str(link["id"])).replace("{dimension}", "country")
    query = urllib.parse.urlencode(dict.fromkeys(names, "?"))
    answer = person.call(method.upper(), f"{place}?{query}", {} if method in ("post", "patch") else None)
    errors = answer.json.get("errors", []) if answer.status == 400 else []
    return {error["pointer"].removeprefix("/") for error in errors if UNKNOWN.match(error["detail"])}, answer


@pytest.mark.parametrize("method, path, operation", OPERATIONS, ids=NAMES)
def test_each_endpoint_takes_the_parameters_that_the_page_names_and_no_other(admin, method, path, operation):
    if not path.startswith("/api/"):
        return
    known = {parameter["name"] for parameter in parameters_of(method, path) if parameter["in"] == "query"}
    for name in known:
        assert called_unknown(admin, method, path, [name])[0] - {"hard"} == set(), name
    for name in ["dry_run", *sorted(NAMED - known)] if method == "get" else ["dry_run"]:
        unknown, answer = called_unknown(admin, method, path, [name])
        assert answer.status == 400 and unknown in ({name}, {"hard"}), (name, answer)
    _, answer = called_unknown(admin, method, path, ["dry_run", *known])
    assert answer.status == 400, answer


def walk(ann, path, link, chosen, accept="application/json"):
    """Asks for a path with the examples of the parameters that are chosen."""
    query, place = [], path.replace("{id}", str(link["id"]))
    for parameter in parameters_of("get", path):
        example = parameter.get("example", parameter["schema"].get("default", (parameter["schema"].get("enum") or [None])[0]))
        if parameter["in"] == "path":
            place = place.replace("{" + parameter["name"] + "}", str(example))
        elif parameter["name"] in chosen:
            query += [(parameter["name"], value) for value in (example if isinstance(example, list) else [example])]
    return ann.call("GET", f"{place}?{urllib.parse.urlencode(query)}" if query else place, headers={"Accept": accept})


READS = [
    (path, operation)
    for method, path, operation in OPERATIONS
    if method == "get" and "application/json" in whole(operation["responses"]["200"])["content"] and not path.startswith("/api/admin/")
]
NOT_TOGETHER = {"cursor", "owner", "state"}


@pytest.mark.parametrize("path, operation", READS, ids=[path for path, _ in READS])
def test_answers_fit_what_the_page_says(ann, link, path, operation):
    names = [parameter["name"] for parameter in parameters_of("get", path) if parameter["in"] == "query"]
    schema = whole(operation["responses"]["200"])["content"]["application/json"]["schema"]
    together = [name for name in names if name not in NOT_TOGETHER]
    for chosen in [[], *[[name] for name in names if name not in ("cursor", "owner")], together]:
        answer = walk(ann, path, link, chosen)
        assert answer.status == 200, (chosen, answer)
        fits(answer.json, schema)


@pytest.mark.parametrize("method, path, operation", OPERATIONS, ids=NAMES)
def test_refusals_are_those_that_the_page_names(service, link, method, path, operation):
    place = path.replace("{id}", str(link["id"]))
    for parameter in parameters_of(method, path):
        place = place.replace("{" + parameter["name"] + "}", str(parameter.get("example")))
    answer = ask(service.url, method.upper(), place, {}, b"{}" if method in ("post", "patch") else None)
    is_public = operation.get("security") == []
    assert is_public == (answer.status != 401), answer
    assert str(answer.status) in operation["responses"], answer
    if answer.status >= 400:
        fits(answer.json, PAGE["components"]["schemas"]["Problem"])


@pytest.mark.parametrize("method, path, operation", OPERATIONS, ids=NAMES)
def test_what_is_not_wanted_as_json_is_406(ann, link, method, path, operation):
    if "406" not in operation["responses"] or (method, path) == ("delete", "/api/auth/me"):
        return
    place = path.replace("{id}", str(link["id"])).replace("{dimension}", "country")
    answer = ann.call(method.upper(), place, None if method == "get" else {}, {"Accept": "text/html"})
    assert answer.status == (403 if "/admin/" in path else 406), answer
    assert answer.headers["content-type"] == "application/problem+json"


def test_every_dimension_of_the_page_is_there_and_is_a_filter(ann, link):
    for dimension in PAGE["components"]["schemas"]["Dimension"]["enum"]:
        answer = ann.call("GET", f"/api/links/{link['id']}/stats/{dimension}?{dimension}!=xx&{dimension}=")
        assert answer.status == 200 and answer.json["dimension"] == dimension, answer


def test_exports_are_what_the_page_says(ann, link):
    forms = whole(PAGE["paths"]["/api/links/{id}/visits"]["get"]["responses"]["200"])["content"]
    for form in forms:
        answer = walk(ann, "/api/links/{id}/visits", link, [], form)
        assert answer.status == 200 and answer.headers["content-type"].split(";")[0] == form
        if form == "text/csv":
            assert answer.body.decode().splitlines()[0] == forms[form]["example"].splitlines()[0]
