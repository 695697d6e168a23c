"""Who may do what: everybody × every row of the table of endpoints × everybody's things. Rows that are added to the table
are in the matrix at once; one that names a thing the matrix does not know ends the test until it does."""

import concurrent.futures
import http.client
import itertools
import json
import subprocess
import urllib.parse

import pytest
from clients import Api
from people import Person, insert_key
from service import BUILD

MISSING = 999_999_999_999
SCOPES = ("links:read", "links:write", "stats:read")
ROUTES = [
    tuple(line.split())
    for line in subprocess.run(
        [BUILD / "tests/integration/links-api/list_routes"], check=True, capture_output=True, text=True
    ).stdout.splitlines()
]
# What the {id} of a path means, and other holes.
KINDS = {"/api/links/": "link", "/api/keys/": "key", "/api/admin/users/": "user", "/api/admin/hosts/": "host"}
HOLES = {"{dimension}": "country", "{kind}": "scope", "{file}": "nothing.js"}


def kind_of(pattern):
    if "{id}" not in pattern:
        return None
    return next(kind for prefix, kind in KINDS.items() if pattern.startswith(prefix + "{id}"))


def path_of(pattern, subject=None):
    for hole, value in HOLES.items():
        pattern = pattern.replace(hole, value)
    path = pattern.replace("{id}", str(subject))
    assert "{" not in path, f"the matrix does not know what {path} names"
    return path


class Actor:
    """Somebody with a connection of his own."""

    def __init__(self, name, api, owner=None, right=None):
        self.name, self.token, self.owner, self.right = name, api.token, owner, right
        url = urllib.parse.urlsplit(api.base)
        self.connection = http.client.HTTPConnection(url.hostname, url.port, timeout=30)

    def ask(self, method, path, body=None):
        """(status, headers, body) without what differs between any two answers."""
        headers = {"Accept": "*/*"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        if body is not None:
            headers["Content-Type"] = "application/json"
        self.connection.request(method, path, body=body, headers=headers)
        response = self.connection.getresponse()
        data = response.read()
        request_id = response.getheader("X-Request-Id")
        kept = sorted((k.lower(), v) for k, v in response.getheaders() if k.lower() not in ("x-request-id", "date"))
        return response.status, kept, data.replace(request_id.encode(), b"<request>")

    def refusal(self, right):
        """The status and the kind of problem that this actor gets before anything is looked at; None: he may."""
        if right == "none":
            return None
        if self.token is None:
            return 401, None
        if right == "admin":
            return None if self.right == "admin" else (403, "forbidden")
        if self.right in SCOPES and right != self.right:
            return 403, "scope"
        return None


class World:
    """Three users with a link, a deleted link and a key each; a link of nobody; an admin. Each name is unheard of."""

    def __init__(self, service, database):
        self.database = database
        self.people = {name: Person(service, database) for name in ("ann", "bob", "cid")}
        self.admin = Person(service, database, "admin")
        self.things = {"link": {}, "key": {}, "user": {}, "host": {}}
        self.marks = {}
        for name, person in self.people.items():
            self.marks[name] = f"mark-of-{name}-{person.id}"
            database.run("UPDATE users SET name = %s WHERE id = %s", self.marks[name], person.id)
            link = person.create(f"https://example.com/{self.marks[name]}", title=self.marks[name])
            gone = person.create(f"https://example.com/{self.marks[name]}")
            assert person.call("DELETE", f"/api/links/{gone['id']}").status == 204
            key = person.call("POST", "/api/keys", {"name": self.marks[name], "scopes": ["links:read"]}).json["key"]
            self.things["link"][name] = [link["id"], gone["id"]]
            self.things["key"][name] = [key["id"]]
            self.things["user"][name] = [person.id]
        public = Api(service.url).call("POST", "/api/links/public", {"original_url": "https://example.com/nobody"})
        self.things["link"]["nobody"] = [public.json["link"]["id"]]
        host = self.admin.call("POST", "/api/admin/hosts", {"host": "blocked.example"})
        self.things["host"]["nobody"] = [host.json["host"]["id"]]
        self.actors = [Actor(name, person, owner=name) for name, person in self.people.items()]
        self.actors.append(Actor("anonymous", Api(service.url)))
        self.actors.append(Actor("admin", self.admin, right="admin"))
        for scope in SCOPES:
            api = Api(service.url)
            api.token = insert_key(database, self.people["ann"].id, [scope])
            self.actors.append(Actor(f"ann's key for {scope}", api, owner="ann", right=scope))

    def state(self):
        """All that a breach could have changed."""
        tables = {
            "links": "id, version, state, original_url, title, tags, owner_id",
            "users": "id, email, name, role, blocked, links_per_day, token_generation, deleted_at",
            "api_keys": "id, user_id, name, scopes, expires_at",
            "blocked_hosts": "id, host",
        }
        return {t: self.database.run(f"SELECT {columns} FROM {t} ORDER BY id") for t, columns in tables.items()}

    def links_of_others(self, actor):
        own = self.people[actor.owner].id if actor.owner else None
        return [row for row in self.state()["links"] if row[-1] != own]

    def marks_of_others(self, actor):
        return [mark.encode() for name, mark in self.marks.items() if name != actor.owner]


@pytest.fixture(scope="module")
def world(service, database):
    return World(service, database)


def body_for(method):
    return None if method in ("GET", "DELETE") else "{}"


def problem_of(data):
    return json.loads(data).get("type", "").removeprefix("/problems/")


def check_cell(actor, route, subject):
    """None if it is as it should be, or what is wrong."""
    method, pattern, right = route
    answer = actor.ask(method, path_of(pattern, subject), body_for(method))
    refused = actor.refusal(right)
    if refused:
        status, kind = refused
        if answer[0] != status or (kind and problem_of(answer[2]) != kind):
            return f"{answer}, not {refused}"
    elif answer[0] in (401, 403) or answer[0] >= 500:
        return f"{answer}, though he may"
    return None


def is_foreign(actor, kind, owner):
    return actor.right != "admin" and (kind in ("user", "host") or owner != actor.owner)


def check_foreign(world, actor, route, kind):
    """Things of others, and such as are not there: the same bytes."""
    method, pattern, right = route
    missing = actor.ask(method, path_of(pattern, MISSING), body_for(method))
    if not actor.refusal(right) and missing[0] != 404:
        yield f"{actor.name}: {method} {pattern} of what is not there: {missing}"
    for owner, subjects in world.things[kind].items():
        for subject in subjects:
            if not is_foreign(actor, kind, owner):
                continue
            answer = actor.ask(method, path_of(pattern, subject), body_for(method))
            if answer != missing:
                yield f"{actor.name}: {method} {pattern} of {owner}: {answer} != {missing}"


def walk(world, actor, routes):
    cells, breaches = 0, []
    for route in routes:
        kind = kind_of(route[1])
        subjects = [MISSING, 0, "x"] + [s for each in world.things.get(kind, {}).values() for s in each]
        for subject in subjects if kind else [None]:
            cells += 1
            wrong = None
            if kind is None or subject in (MISSING, 0, "x") or actor.refusal(route[2]):
                wrong = check_cell(actor, route, subject)
            breaches += [f"{actor.name}: {route} {subject}: {wrong}"] if wrong else []
        if kind:
            breaches += check_foreign(world, actor, route, kind)
    return cells, breaches


def test_nobody_reaches_what_is_not_his(world):
    aliased = [(m, p.replace("/api/links", "/api/urls"), r) for m, p, r in ROUTES if p.startswith("/api/links")]
    before = world.state()
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        done = list(pool.map(lambda actor: walk(world, actor, ROUTES), world.actors))
        KINDS["/api/urls/"] = "link"
        done += list(pool.map(lambda actor: walk(world, actor, aliased), world.actors[:4]))
    cells, breaches = sum(each[0] for each in done), list(itertools.chain.from_iterable(each[1] for each in done))
    print(f"authorisation: {len(ROUTES)} endpoints x {len(world.actors)} actors, {cells} cells, {len(breaches)} breaches")
    assert not breaches, "\n".join(breaches)
    assert cells > 8 * len(ROUTES)
    assert world.state() == before, "somebody changed something"


def test_no_answer_tells_of_others(world):
    """Lists, searches and what is given away by asking for it with somebody else's number or name."""
    bob = world.people["bob"].id
    mark = world.marks["bob"]
    queries = ["", "limit=100", f"owner={bob}", "owner=all", f"q={mark}", f"filter=title:'{mark}'", f"owner_id={bob}"]
    told = 0
    for actor in world.actors:
        if actor.right == "admin":
            continue
        for method, pattern, _ in ROUTES:
            if method != "GET" or kind_of(pattern):
                continue
            for query in queries:
                _, _, data = actor.ask("GET", path_of(pattern) + f"?{urllib.parse.quote(query, safe='=&')}")
                assert not [m for m in world.marks_of_others(actor) if m in data.replace(query.encode(), b"")], (
                    actor.name, pattern, query, data)  # fmt: skip
                told += actor.owner is not None and world.marks[actor.owner].encode() in data
    assert told > 0, "nobody saw his own either: the test looks at nothing"


def test_changes_of_many_touch_nothing_of_others(world):
    """Endpoints that name links in their body or filter, where there are such."""
    rows = {(method, pattern) for method, pattern, _ in ROUTES}
    bob = world.things["link"]["bob"][0]
    slug = world.database.ask("SELECT slug FROM links WHERE id = %s", bob)
    attempts = [
        ("PATCH", "/api/links", f"?filter=id:{bob}", {"state": "DISABLED"}),
        ("PATCH", "/api/links", f"?filter=slug:'{slug}',id:>0", {"tags": ["caught"]}),
        ("POST", "/api/links/sync", "", {"links": [{"slug": slug, "claim_token": "wmc_" + "a" * 43}]}),
    ]
    for actor in world.actors:
        if actor.owner == "bob" or actor.right == "admin":
            continue
        of_others = world.links_of_others(actor)
        for method, pattern, query, body in attempts:
            if (method, pattern) in rows:
                status, _, _ = actor.ask(method, pattern + query, json.dumps(body))
                assert status < 500
        assert world.links_of_others(actor) == of_others, actor.name


def test_owners_and_admins_do_reach_their_things(world):
    """Or the matrix would be right about a service that refuses everybody."""
    ann = next(actor for actor in world.actors if actor.name == "ann")
    admin = next(actor for actor in world.actors if actor.name == "admin")
    order = {"GET": 0, "PATCH": 1, "POST": 2, "DELETE": 3}
    reached = 0
    for method, pattern, right in sorted(ROUTES, key=lambda route: order[route[0]]):
        kind = kind_of(pattern)
        if kind == "link":
            for actor, owner in ((admin, "bob"), (ann, "ann")):
                live, gone = world.things["link"][owner]
                status, _, data = actor.ask(method, path_of(pattern, gone if "restore" in pattern else live), body_for(method))
                assert status not in (401, 403, 404), (actor.name, method, pattern, status, data)
                reached += 1
        if kind == "key":
            status, _, data = ann.ask(method, path_of(pattern, world.things["key"]["ann"][0]), body_for(method))
            assert status < 300, (method, pattern, status, data)
        if kind == "user":
            status, _, data = admin.ask(method, path_of(pattern, world.things["user"]["bob"][0]), body_for(method))
            assert status < 300, (method, pattern, status, data)
    assert reached >= 16
