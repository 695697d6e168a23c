"""docs/api/openapi.yaml against the service: same endpoints, valid examples, matching responses."""

import datetime
import functools
import json
import pathlib
import re
import subprocess
import urllib.parse

import closed_description
import jsonschema
import pytest
from clients import DECOMPRESS, Api, ask
from users import User
from service import ROOT
from visit_fixture import add_visits, roll_up

DESCRIPTION = closed_description.read()
METHODS = ("get", "post", "put", "patch", "delete")


def resolve(reference):
    found = DESCRIPTION
    for part in reference.removeprefix("#/").split("/"):
        found = found[part.replace("~1", "/").replace("~0", "~")]
    return found


def dereference(thing):
    return resolve(thing["$ref"]) if "$ref" in thing else thing


OPERATIONS = [(method, path, DESCRIPTION["paths"][path][method]) for path in DESCRIPTION["paths"] for method in METHODS if method in DESCRIPTION["paths"][path]]
NAMES = [f"{method} {path}" for method, path, _ in OPERATIONS]
SOURCES = ROOT / "services/links-api"
TABLE = [(method.lower(), path.replace("...}", "}")) for method, path in re.findall(r"{ HTTP_(\w+), +\"([^\"]+)\"", (SOURCES / "route_table.c").read_text())]


def parameters_for(method, path):
    item = DESCRIPTION["paths"][path]
    return [dereference(each) for each in item.get("parameters", []) + item[method].get("parameters", [])]


def validate(value, schema):
    checker = jsonschema.FormatChecker()
    jsonschema.Draft202012Validator(schema, resolver=jsonschema.RefResolver("", DESCRIPTION), format_checker=checker).validate(value)


def examples_in(holder):
    yield from [holder["example"]] if "example" in holder else []
    yield from (dereference(each)["value"] for each in holder.get("examples", {}).values())


def test_routes_and_described_operations_are_the_same():
    table = {f"{method} {path}" for method, path in TABLE}
    assert len(table) == len(TABLE) > 10
    assert table == set(NAMES)


def test_each_problem_has_exactly_one_explanation(service):
    calls = re.findall(r"(?:response_problem|response_conflict|http_problem_respond)\(([^;]*);", "".join(each.read_text() for each in SOURCES.rglob("*.c")))
    kinds = {kind for call in calls for kind in re.findall(r', "([a-z-]+)",', call)}
    kinds |= set(re.findall(r'\{ \d{3}, "([a-z-]+)" \}', (ROOT / "lib/http/http_problem.c").read_text()))
    kinds |= {each.removeprefix("/problems/") for each in re.findall(r"type: (/problems/[a-z-]+)", (ROOT / "docs/api/openapi.yaml").read_text())}
    explained = re.findall(r"^## (.*)$", (ROOT / "docs/api/problems.md").read_text(), re.MULTILINE)
    assert len(kinds) > 9 and kinds - set(explained) == set()
    assert len(explained) == len(set(explained))
    for kind in explained:
        answer = ask(service.url, "GET", f"/problems/{kind}")
        assert answer.status == 200 and re.search(rf"<h1>{kind}</h1>\n<p>[45]\d\d ", answer.body.decode()), answer


def test_each_refusal_has_a_type_with_a_page(service):
    listed = set(re.findall(r'href="(/problems/[a-z-]+)"', ask(service.url, "GET", "/problems").body.decode()))
    wrong = {"Authorization": "Bearer x.y.z"}, {"X-Api-Key": "wm_x"}, {"Accept": "image/gif"}, {"Cookie": "waymark_session=x"}, {}
    seen = set()
    for method, path in TABLE:
        target = re.sub(r"\{[a-z_.]+\}", "0", path)
        for answer in [ask(service.url, method.upper(), target, headers=each) for each in wrong] + [ask(service.url, "TRACE", target), ask(service.url, method.upper(), target + "/x/y/")]:
            if answer.status >= 400:
                assert answer.json["type"] in listed, (method, target, answer)
                seen.add(answer.json["type"])
    assert {f"/problems/{kind}" for kind in ("credentials-missing", "token-invalid", "key-invalid", "not-acceptable", "method-not-allowed", "no-such-endpoint")} <= seen


ARGUMENT = r'(?:[^,";]|"[^"]*")+'
NAMED_CODES = [
    rf'\bhttp_problem_add_field\({ARGUMENT},{ARGUMENT},\s*"([a-z0-9-]+)"', rf'\bWRONG\({ARGUMENT},\s*"([a-z0-9-]+)"', rf'\bresponse_conflict\({ARGUMENT},\s*"([a-z-]+)"',
    rf'\bresponse_conflict_of\({ARGUMENT},{ARGUMENT},{ARGUMENT},\s*"([a-z-]+)"',
    r'link_change_conflict\)\{\s*"[^"]*",\s*"([a-z-]+)"', r'\{ "[^"]+", "(url-[a-z-]+|utf8|too-many-bytes|control-character)" \}',
]  # fmt: skip


def test_codes_of_field_errors_are_described_and_explained():
    """Those of conflicts are kinds of problems, which have explanations of their own."""
    source = "\n".join(path.read_text() for path in sorted(SOURCES.rglob("*.c")))
    used = {code for pattern in NAMED_CODES for code in re.findall(pattern, source)}
    page = (ROOT / "docs/api/problems.md").read_text()
    assert len(used) > 40 and used == set(resolve("#/components/schemas/FieldErrorCode")["enum"])
    explained = set(re.findall(r"^\| `([a-z0-9-]+)` \|", page, re.MULTILINE)) | set(re.findall(r"^## (.*)$", page, re.MULTILINE))
    assert used <= explained


def test_the_service_returns_the_description_as_json(service):
    assert closed_description.close(ask(service.url, "GET", "/openapi.json").json) == DESCRIPTION


def test_the_first_requests_of_the_description_work(service):
    [script] = re.findall(r"^```\n(.*?)^```", DESCRIPTION["info"]["description"], re.MULTILINE | re.DOTALL)
    assert "https://api.sho.rt\n" in script
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", script.replace("https://api.sho.rt", service.url)], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0 and re.search(r"\Ahttps?://\S+/\w+\n\Z", done.stdout), done


def test_the_guide_filters_and_privacy_are_explained(service):
    for path in ("docs/api/guide.md", "docs/api/nql.md", "docs/privacy.md"):
        answer = ask(service.url, "GET", f"/docs/{pathlib.PurePath(path).name}")
        assert answer.status == 200 and answer.body == (ROOT / path).read_bytes()


def test_documents_refer_only_to_what_is_served(service):
    [file] = DESCRIPTION["paths"]["/docs/{file}"]["parameters"]
    for page in (f"/docs/{name}" for name in file["schema"]["enum"] if name.endswith(".md")):
        text = ask(service.url, "GET", page).body.decode()
        for target in re.findall(r"\]\(([^)]+)\)", text):
            name, _, heading = target.partition("#")
            if name:
                assert ask(service.url, "GET", urllib.parse.urljoin(page, name)).status == 200, f"{page} refers to {target}"
            else:
                headings = [each.lower().replace(" ", "-") for each in re.findall(r"^#+ (.*)$", text, re.MULTILINE)]
                assert heading in headings, f"{page} has no heading {heading}"


def sent_strings():
    """(where, schema) of each text that a request can carry."""
    seen = []

    def walk(schema, where):
        if "$ref" in schema:
            where = schema["$ref"]
            if where in seen:
                return
            seen.append(where)
        schema = dereference(schema)
        if "string" in schema.get("type", []):
            yield where, schema
        for name, each in schema.get("properties", {}).items():
            yield from walk(each, f"{where}/{name}")
        for each in [*schema.get("oneOf", []), *([schema["items"]] if "items" in schema else [])]:
            yield from walk(each, where)

    for method, path, operation in OPERATIONS:
        for parameter in parameters_for(method, path):
            yield from walk(parameter["schema"], f"{method} {path} {parameter['name']}")
        for content in operation.get("requestBody", {}).get("content", {}).values():
            yield from walk(content["schema"], f"{method} {path}")


def test_no_text_of_a_request_may_have_nul():
    """But what the form for reports shows, which takes any text."""
    texts = [each for each in sent_strings() if each[0] != "get /report link"]
    assert len(texts) > 100
    for where, schema in texts:
        if "enum" not in schema and "const" not in schema and schema.get("format") != "date-time":
            assert "pattern" in schema and not re.search(schema["pattern"], "a\0a"), where


def test_generators_of_clients_can_name_all_parts():
    """Many make types of all kinds of parts, ignore case, and call the constructor of X NewX."""
    names = [name.lower() for kind in DESCRIPTION["components"].values() for name in kind]
    names += [operation["operationId"].lower() for _, _, operation in OPERATIONS]
    assert len(names) == len(set(names)) and not [name for name in names if name.startswith("new")]
    assert len(DESCRIPTION["info"]["description"].encode()) < 1024


@pytest.mark.parametrize("method, path, operation", OPERATIONS, ids=NAMES)
def test_examples_match_their_schemas(method, path, operation):
    seen = 0
    for answer in map(dereference, operation["responses"].values()):
        for content in answer.get("content", {}).values():
            assert list(examples_in(content)), f"a response of {method} {path} has no example"
            for example in examples_in(content):
                validate(example, content["schema"])
                seen += 1
    for parameter in parameters_for(method, path):
        for example in examples_in(parameter):
            validate(example, parameter["schema"])
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    for example in examples_in(body):
        validate(example, body["schema"])
    assert seen > 0


@pytest.fixture(scope="module")
def link(ann, database):
    link = ann.create(title="example", external_id="order-7")
    to = datetime.datetime.now(datetime.timezone.utc)
    add_visits(database, link["id"], 500, to - datetime.timedelta(hours=20), to)
    roll_up(database)
    database.run("INSERT INTO consumer_offsets (topic, partition, next_offset, as_of) VALUES ('waymark.redirects.v1', 0, 9, now())")
    return link


@pytest.fixture(scope="module")
def admin(service, database):
    """(Api of an administrator, a link of theirs): no endpoint refuses them before it validates the query."""
    user = User(service, database, "admin")
    return user, user.create()


NAMED = {parameter["name"] for method, path, _ in OPERATIONS for parameter in parameters_for(method, path) if parameter["in"] == "query"}
UNKNOWN = re.compile("unknown (or malformed )?query parameter|must be true or false, given once")


@functools.cache
def share_of(user, link_id):
    """A reader of the link's statistics."""
    token = user.call("POST", "/api/shares", {"link_id": link_id}).json["token"]
    reader = Api(user.base)
    reader.token = reader.call("POST", "/api/shared/access", {"token": token}).json["access_token"]
    return reader


def caller_of(path, user, link):
    """Who may use the endpoint: the user, or the reader of a share."""
    return share_of(user, link["id"]) if path.startswith("/api/shared") else user


def unknown_parameters(admin, method, path, names):
    """(the names that the endpoint reports as unknown, its response); all values are invalid."""
    user, link = admin
    target = path.replace("{id}", str(link["id"])).replace("{dimension}", "country")
    query = urllib.parse.urlencode(dict.fromkeys(names, "?"))
    caller = caller_of(path, user, link)
    answer = caller.call(method.upper(), f"{target}?{query}", {} if method in ("post", "patch") else None)
    errors = answer.json.get("errors", []) if answer.status == 400 else []
    return {error["pointer"].removeprefix("/") for error in errors if UNKNOWN.match(error["detail"])}, answer


@pytest.mark.parametrize("method, path, operation", OPERATIONS, ids=NAMES)
def test_each_endpoint_accepts_exactly_the_described_parameters(admin, method, path, operation):
    if not path.startswith("/api/") or path.endswith("/callback"):  # providers add their own
        return
    known = {parameter["name"] for parameter in parameters_for(method, path) if parameter["in"] == "query"}
    for name in known:
        assert unknown_parameters(admin, method, path, [name])[0] == set(), name
    for name in ["dry_run", *sorted(NAMED - known)] if method == "get" else ["dry_run"]:
        unknown, answer = unknown_parameters(admin, method, path, [name])
        assert answer.status == 400 and unknown == {name}, (name, answer)
    _, answer = unknown_parameters(admin, method, path, ["dry_run", *known])
    assert answer.status == 400, answer


def example_of(parameter):
    """A valid value. The example of an optional parameter is in its description: a page that sends requests fills in all others."""
    described = re.search(r"For example `([^`]+)`", parameter.get("description", ""))
    schema = parameter["schema"]
    return parameter.get("example") or (described and described[1]) or schema.get("minimum") or (schema.get("enum") or ["true"])[0]


def test_a_page_that_sends_requests_fills_in_required_parameters_only():
    for method, path, _ in OPERATIONS:
        for parameter in parameters_for(method, path):
            filled_in = [where for where in (parameter, parameter["schema"]) for key in ("example", "examples", "default") if key in where]
            assert bool(filled_in) == parameter.get("required", False), (method, path, parameter["name"])


def id_for(ann, path, link):
    """Of the link, or of a share of it."""
    is_share = path.startswith("/api/shares/")
    return str(ann.call("POST", "/api/shares", {"link_id": link["id"]}).json["share"]["id"] if is_share else link["id"])


def get_with_examples(ann, path, link, chosen, accept="application/json"):
    """Requests a path with the examples of the chosen parameters."""
    query, target = [], path.replace("{id}", id_for(ann, path, link)).replace("{slug}", link["slug"])
    for parameter in parameters_for("get", path):
        if parameter["in"] == "path":
            target = target.replace("{" + parameter["name"] + "}", str(example_of(parameter)))
        elif parameter["name"] in chosen:
            query.append((parameter["name"], example_of(parameter)))
    return ann.call("GET", f"{target}?{urllib.parse.urlencode(query)}" if query else target, headers={"Accept": accept})


READS = [
    (path, operation)
    for method, path, operation in OPERATIONS
    if method == "get" and "application/json" in dereference(operation["responses"].get("200", {})).get("content", {}) and not path.startswith("/api/admin/")
]
MUTUALLY_EXCLUSIVE = {"cursor", "workspace", "state"}


@pytest.mark.parametrize("path, operation", READS, ids=[path for path, _ in READS])
def test_responses_match_the_description(ann, link, path, operation):
    names = [parameter["name"] for parameter in parameters_for("get", path) if parameter["in"] == "query"]
    schema = dereference(operation["responses"]["200"])["content"]["application/json"]["schema"]
    # At most 16 filters: those that exclude, and one more, are tried one by one.
    together = [name for name in names if name not in {*MUTUALLY_EXCLUSIVE, "bot_reason"} and not name.startswith("not_")]
    caller = caller_of(path, ann, link)
    for chosen in [[], *[[name] for name in names if name not in ("cursor", "workspace")], together]:
        answer = get_with_examples(caller, path, link, chosen)
        assert answer.status == 200, (chosen, answer)
        validate(answer.json, schema)


@pytest.mark.parametrize("method, path, operation", OPERATIONS, ids=NAMES)
def test_error_statuses_are_described(service, link, method, path, operation):
    target = path.replace("{id}", str(link["id"]))
    for parameter in parameters_for(method, path):
        target = target.replace("{" + parameter["name"] + "}", str(parameter.get("example")))
    answer = ask(service.url, method.upper(), target, {}, b"{}" if method in ("post", "patch") else None)
    security = operation.get("security")
    is_public = security is not None and (security == [] or {} in security)
    assert is_public == (answer.status != 401), answer
    assert str(answer.status) in operation["responses"], answer
    if answer.status >= 400:
        validate(answer.json, DESCRIPTION["components"]["schemas"]["Problem"])


@pytest.mark.parametrize("method, path, operation", OPERATIONS, ids=NAMES)
def test_a_client_that_excludes_json_gets_406(ann, link, method, path, operation):
    if "406" not in operation["responses"]:
        return
    target = path.replace("{id}", id_for(ann, path, link)).replace("{dimension}", "country")
    target = target.replace("{slug}", link["slug"]).replace("{external_id}", link["external_id"])
    answer = caller_of(path, ann, link).call(method.upper(), target, None if method == "get" else {}, {"Accept": "text/html"})
    assert answer.status == (403 if "/admin/" in path else 406), answer
    assert answer.headers["content-type"] == "application/problem+json"


def test_every_described_dimension_exists_and_is_a_filter(ann, link):
    for dimension in DESCRIPTION["components"]["schemas"]["Dimension"]["enum"]:
        answer = ann.call("GET", f"/api/links/{link['id']}/stats/{dimension}?not_{dimension}=xx&{dimension}=")
        assert answer.status == 200 and answer.json["dimension"] == dimension, answer


def test_exports_match_the_description(ann, link):
    forms = dereference(DESCRIPTION["paths"]["/api/links/{id}/visits"]["get"]["responses"]["200"])["content"]
    for form in forms:
        answer = get_with_examples(ann, "/api/links/{id}/visits", link, [], form)
        assert answer.status == 200 and answer.headers["content-type"].split(";")[0] == form
        if form == "text/csv":
            assert answer.body.decode().splitlines()[0] == forms[form]["example"].splitlines()[0]
        if form == "application/x-ndjson":
            lines = [json.loads(text.splitlines()[0]) for text in (answer.body.decode(), forms[form]["example"])]
            assert list(lines[0]) == list(lines[1])


# --- the dashboard ---

DASHBOARD_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; font-src 'self'; "
    "manifest-src 'self'; worker-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)


def test_the_root_leads_to_the_dashboard(service):
    for path in ("/", "/app", "/?utm_source=x"):
        answer = ask(service.url, "GET", path)
        assert (answer.status, answer.headers["location"]) == (303, "/app/"), answer


def test_each_page_of_the_dashboard_is_its_index(service):
    index = ask(service.url, "GET", "/app/")
    assert index.status == 200 and index.headers["content-type"] == "text/html; charset=utf-8"
    assert index.headers["content-security-policy"] == DASHBOARD_POLICY
    assert index.headers["x-content-type-options"] == "nosniff" and index.headers["cache-control"] == "public, no-cache"
    for path in ("/app/index.html", "/app/links", "/app/links/7?tz=UTC&x=1", "/app/a/b/c/d/e/", "/app/" + "x" * 500, "/app/%2e%2e/x"):
        answer = ask(service.url, "GET", path)
        assert (answer.status, answer.body) == (200, index.body), path
    for path in ("/app/none.js", "/app/assets/none-1.js", "/app/../openapi.json", "/app/assets/../index.html", "/apps", "/app//index.html"):
        assert ask(service.url, "GET", path).status == 404, path
    answer = ask(service.url, "POST", "/app/", {"Content-Length": "0"})
    assert (answer.status, answer.json["detail"]) == (405, f"Method not allowed here. Allowed are {answer.headers['allow']}.")


def test_long_json_is_compressed(service, new_user):
    user = new_user()
    link = [user.create() for _ in range(5)][0]
    for path in ("/api/links", "/openapi.json"):
        plain = user.call("GET", path)
        assert "content-encoding" not in plain.headers and "Accept-Encoding" in plain.headers["vary"]
        for coding, decompress in DECOMPRESS.items():
            answer = user.call("GET", path, headers={"Accept-Encoding": coding})
            assert answer.headers["content-encoding"] == coding and len(answer.body) < len(plain.body) / 2
            assert decompress(answer.body) == plain.body
            if "etag" in plain.headers:
                assert answer.headers["etag"] != plain.headers["etag"]
                again = user.call("GET", path, headers={"Accept-Encoding": coding, "If-None-Match": answer.headers["etag"]})
                assert (again.status, again.body) == (304, b"")
    notes = user.call("PATCH", f"/api/links/{link['id']}", {"title": "x" * 200, "original_url": "https://example.com/" + "x" * 2000})
    assert notes.status == 200
    for short in (f"/api/links/{link['id']}", "/api/tags"):
        answer = user.call("GET", short, headers={"Accept-Encoding": "br"})
        assert answer.status == 200 and "content-encoding" not in answer.headers, short


def test_files_of_the_dashboard_are_compressed_and_cached(service):
    index = ask(service.url, "GET", "/app/").body.decode()
    assets = re.findall(r"(?:src|href)=\"(/app/assets/[^\"]+)\"", index)
    assert assets, index
    # The policy forbids them, so they would not run.
    assert not re.search(r"<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=", index)
    for path in ["/app/", *assets]:
        plain = ask(service.url, "GET", path, {"Accept-Encoding": "identity"})
        assert plain.status == 200 and "content-encoding" not in plain.headers and plain.headers["vary"] == "Accept-Encoding"
        assert plain.headers["cache-control"] == ("public, no-cache" if path == "/app/" else "public, max-age=31536000, immutable")
        tags = {plain.headers["etag"]}
        for coding in ("gzip", "br"):
            answer = ask(service.url, "GET", path, {"Accept-Encoding": coding})
            assert answer.headers["content-encoding"] == coding and len(answer.body) < len(plain.body)
            assert DECOMPRESS[coding](answer.body) == plain.body
            tags.add(answer.headers["etag"])
        assert len(tags) == 3, "each form has its own ETag"
        for tag in tags:
            answer = ask(service.url, "GET", path, {"If-None-Match": tag, "Accept-Encoding": "br"})
            assert answer.status == (304 if tag == ask(service.url, "HEAD", path, {"Accept-Encoding": "br"}).headers["etag"] else 200)
