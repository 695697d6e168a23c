"""Who may do what: every actor × every endpoint × every resource. New rows of the route table are covered automatically. An
endpoint with an unknown placeholder fails the test until it is added here."""

import concurrent.futures
import contextlib
import http.client
import itertools
import json
import subprocess
import urllib.parse

import pytest
from clients import Api
from users import COOKIE, User, insert_api_key, insert_session
from service import BUILD

MISSING = 999_999_999_999
SCOPES = ("links:read", "links:write", "stats:read", "visits:read", "shares:read", "shares:write", "keys:read", "keys:write",
          "workspace:read", "workspace:write", "admin:read", "admin:write")  # fmt: skip
ROUTES = [
    tuple(line.split())
    for line in subprocess.run(
        [BUILD / "tests/integration/links-api/list_routes"], check=True, capture_output=True, text=True
    ).stdout.splitlines()
]
# What the {id} of a path identifies, and values for the other placeholders.
RESOURCE_KINDS = {"/api/links/": "link", "/api/auth/sessions/": "session", "/api/auth/identities/": "identity", "/api/keys/": "key", "/api/shares/": "share", "/api/admin/users/": "user", "/api/admin/hosts/": "host",
                  "/api/members/": "member", "/api/admin/reports/": "report", "/api/admin/links/": "any_link", "/api/invitations/": "invitation", "/api/admin/invitations/": "admin_invitation"}  # fmt: skip
PLACEHOLDERS = {"{dimension}": "country", "{kind}": "scope", "{file}": "nothing.js", "{logo}": "logo-0", "{path...}": "links/7", "{name...}": "nobody", "{slug...}": "nobody", "{external_id...}": "nobody", "{title}": "WaymarkNotReady", "{provider}": "nobody", "{name}": "assetlinks.json"}


def resource_kind(pattern):
    if "{id}" not in pattern:
        return None
    return next(kind for prefix, kind in RESOURCE_KINDS.items() if pattern.startswith(prefix + "{id}"))


def make_path(pattern, subject=None):
    for placeholder, value in PLACEHOLDERS.items():
        pattern = pattern.replace(placeholder, value)
    path = pattern.replace("{id}", str(subject))
    assert "{" not in path, f"unknown placeholder in {path}"
    return path


class Actor:
    """A caller with a token, a session or neither. Each request has a connection of its own: the server closes those that other
    actors' requests leave idle for long."""

    def __init__(self, name, api, owner=None, permission=None, session=None):
        self.name, self.owner, self.permission = name, owner, permission
        self.token, self.session = None if session else api.token, session
        url = urllib.parse.urlsplit(api.base)
        self.address = url.hostname, url.port

    def request(self, method, path, body=None):
        """(status, headers, body) without the parts that differ between any two responses."""
        headers = {"Accept": "*/*", "Sec-Fetch-Site": "same-origin"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        if self.session:
            headers["Cookie"] = f"{COOKIE}={self.session}"
        if body is not None:
            headers["Content-Type"] = "application/json"
        with contextlib.closing(http.client.HTTPConnection(*self.address, timeout=300)) as connection:
            connection.request(method, path, body=body, headers=headers)
            response = connection.getresponse()
            data = response.read()
        request_id = response.getheader("X-Request-Id")
        kept = sorted((k.lower(), v) for k, v in response.getheaders() if k.lower() not in ("x-request-id", "date"))
        return response.status, kept, data.replace(request_id.encode(), b"<request>")

    def expected_refusal(self, permission):
        """The (status, problem kind) that this actor gets before the resource is looked up; None: allowed."""
        if permission == "none":
            return None
        if "shared" in (permission, self.permission):
            return None if permission == self.permission else (401, None)
        if self.token is None and self.session is None:
            return 401, None
        if self.permission in SCOPES and permission != self.permission:
            return 403, "scope" if permission in SCOPES else "forbidden"
        if permission.startswith("admin") and self.permission != "admin":
            return 403, "forbidden"
        return None


class Resources:
    """Three users with a link, a deleted link and a key each; an anonymous link; an administrator. All names are unique."""

    def __init__(self, service, database):
        self.database = database
        self.users = {name: User(service, database) for name in ("ann", "bob", "cid")}
        self.admin = User(service, database, "admin")
        self.by_kind = {kind: {} for kind in RESOURCE_KINDS.values()}
        self.marks = {}
        database.run(
            "UPDATE users SET totp_secret = %s, totp_confirmed_at = now() WHERE id = %s", b"x" * 20, self.users["bob"].id
        )
        for name, user in self.users.items():
            self.marks[name] = f"mark-of-{name}-{user.id}"
            database.run("UPDATE users SET name = %s WHERE id = %s", self.marks[name], user.id)
            link = user.create(f"https://example.com/{self.marks[name]}", title=self.marks[name], tags=[name])
            gone = user.create(f"https://example.com/{self.marks[name]}")
            assert user.call("DELETE", f"/api/links/{gone['id']}").status == 204
            key = user.call("POST", "/api/keys", {"name": self.marks[name], "scopes": ["links:read"]}).json["key"]
            self.by_kind["link"][name] = [link["id"], gone["id"]]
            self.by_kind["key"][name] = [key["id"]]
            self.by_kind["user"][name] = self.by_kind["member"][name] = [user.id]
            invitation = user.call("POST", "/api/invitations", {"email": f"{self.marks[name]}@example.com", "role": "viewer"}).json
            self.by_kind["invitation"][name] = [invitation["invitation"]["id"]]
            assert user.call("PUT", "/api/utm-templates/letter", {"utm_source": self.marks[name]}).status == 204
            share = user.call("POST", "/api/shares", {"link_id": link["id"], "title": self.marks[name], "logo": "iVBORw0KGgo="}).json
            self.by_kind["share"][name] = [share["share"]["id"]]
            insert_session(database, user.id)
            identity = "INSERT INTO identities (user_id, issuer, subject, provider) VALUES (%s, 'https://id.example', %s, 'company') RETURNING id"
            self.by_kind["identity"][name] = [database.value(identity, user.id, str(user.id))]
            self.by_kind["session"][name] = [database.value("SELECT id FROM sessions WHERE user_id = %s", user.id)]
        public = Api(service.url).call("POST", "/api/links/public", {"original_url": "https://example.com/nobody"})
        self.by_kind["link"]["nobody"] = [public.json["link"]["id"]]
        host = self.admin.call("POST", "/api/admin/hosts", {"host": "blocked.example"})
        self.by_kind["host"]["nobody"] = [host.json["host"]["id"]]
        invitation = self.admin.call("POST", "/api/admin/invitations", {"email": "nobody@example.com"}).json
        self.by_kind["admin_invitation"]["nobody"] = [invitation["invitation"]["id"]]
        self.by_kind["any_link"] = self.by_kind["link"]
        self.by_kind["report"]["nobody"] = [database.value("INSERT INTO abuse_reports (link_id, slug, reason) VALUES (1, 's', 'spam') RETURNING id")]
        self.actors = [Actor(name, user, owner=name) for name, user in self.users.items()]
        self.actors.append(Actor("anonymous", Api(service.url)))
        self.actors.append(Actor("admin", self.admin, permission="admin"))
        for name, user in (("ann", self.users["ann"]), ("admin", self.admin)):
            permission = "admin" if user is self.admin else None
            owner = None if user is self.admin else name
            self.actors.append(Actor(f"{name}'s session", user, owner, permission, insert_session(database, user.id)))
        reader = Api(service.url)
        share = self.users["ann"].call("POST", "/api/shares", {"link_id": self.by_kind["link"]["ann"][0]}).json
        reader.token = reader.call("POST", "/api/shared/access", {"token": share["token"]}).json["access_token"]
        self.actors.append(Actor("reader of ann's share", reader, owner="ann", permission="shared"))
        for scope in SCOPES:
            api = Api(service.url)
            api.token = insert_api_key(database, self.users["ann"].id, [scope])
            self.actors.append(Actor(f"ann's key for {scope}", api, owner="ann", permission=scope))

    def state(self):
        """Everything that a missing check could let an actor change."""
        tables = {
            "links": "id, version, state, original_url, title, tags, blocked_reason, extras, workspace_id",
            "users": "id, email, name, role, blocked, links_per_day, token_generation, deleted_at, email_confirmed_at, totp_confirmed_at",
            "api_keys": "id, workspace_id, created_by, name, scopes, expires_at",
            "sessions": "id, user_id, secret_hash",
            "blocked_hosts": "id, host",
            "identities": "id, user_id",
            "abuse_reports": "id, closed_at",
            "app_documents": "name AS id, body",
            "shares": "id, workspace_id, link_id, tag, title, token_hash, password_hash, expires_at, report_text, range, logo, version",
            "link_notes": "link_id AS id, notes",
            "link_aliases": "link_id AS id, slug",
            "tag_colors": "workspace_id AS id, tag, color",
            "utm_templates": "workspace_id AS id, name, utm_source",
            "password_resets": "user_id AS id, token_hash",
            "workspaces": "id, name, sponsor_id, requires_second_factor, default_forward_query, default_forward_path, deleted_at",
            "members": "workspace_id AS id, user_id, role",
            "invitations": "id, workspace_id, email, role, token_hash",
            "email_confirmations": "user_id AS id, email, token_hash",
        }
        return {t: self.database.run(f"SELECT {columns} FROM {t} ORDER BY id") for t, columns in tables.items()}

    def links_of_others(self, actor):
        own = self.users[actor.owner].id if actor.owner else None
        return [row for row in self.state()["links"] if row[-1] != own]

    def marks_of_others(self, actor):
        return [mark.encode() for name, mark in self.marks.items() if name != actor.owner]


@pytest.fixture(scope="module")
def resources(service, database):
    return Resources(service, database)


def body_for(method, pattern):
    """So little that nothing changes, and enough to be looked up."""
    if method in ("GET", "DELETE"):
        return None
    return {"/api/members/{id}": '{"role": "viewer"}', "/api/admin/reports/{id}": '{"state": "open"}', "/api/admin/links/{id}/block": '{"reason": "x"}'}.get(pattern, "{}")


def problem_of(data):
    return json.loads(data).get("type", "").removeprefix("/problems/")


def check_cell(actor, route, subject):
    """Returns a description of the error, or None."""
    method, pattern, permission, _ = route
    answer = actor.request(method, make_path(pattern, subject), body_for(method, pattern))
    refused = actor.expected_refusal(permission)
    if refused:
        status, kind = refused
        if answer[0] != status or (kind and problem_of(answer[2]) != kind):
            return f"{answer}, not {refused}"
    elif (answer[0] in (401, 403) and problem_of(answer[2]) != "wrong-password") or answer[0] >= 500:
        return f"{answer}, although allowed"
    return None


def is_foreign(actor, kind, owner):
    return actor.permission != "admin" and (kind in ("user", "host", "admin_invitation", "report", "any_link") or owner != actor.owner)


def check_foreign(resources, actor, route, kind):
    """Resources of others and missing ones must get byte-identical responses."""
    method, pattern, permission, _ = route
    missing = actor.request(method, make_path(pattern, MISSING), body_for(method, pattern))
    if not actor.expected_refusal(permission) and missing[0] != 404:
        yield f"{actor.name}: {method} {pattern} of a missing resource: {missing}"
    for owner, subjects in resources.by_kind[kind].items():
        for subject in subjects:
            if not is_foreign(actor, kind, owner):
                continue
            answer = actor.request(method, make_path(pattern, subject), body_for(method, pattern))
            if answer != missing:
                yield f"{actor.name}: {method} {pattern} of {owner}: {answer} != {missing}"


def check_all(resources, actor, routes):
    cells, breaches = 0, []
    for route in routes:
        kind = resource_kind(route[1])
        if actor.session and route[:2] in (("DELETE", "/api/auth/session"), ("POST", "/api/auth/logout")):
            continue  # would succeed and end the actor's session
        subjects = [MISSING, 0, "x"] + [s for each in resources.by_kind.get(kind, {}).values() for s in each]
        for subject in subjects if kind else [None]:
            cells += 1
            wrong = None
            if kind is None or subject in (MISSING, 0, "x") or actor.expected_refusal(route[2]):
                wrong = check_cell(actor, route, subject)
            breaches += [f"{actor.name}: {route} {subject}: {wrong}"] if wrong else []
        if kind:
            breaches += check_foreign(resources, actor, route, kind)
    return cells, breaches


def test_nobody_reaches_resources_of_others(resources):
    aliased = [(m, p.replace("/api/links", "/api/urls"), *r) for m, p, *r in ROUTES if p.startswith("/api/links")]
    before = resources.state()
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        done = list(pool.map(lambda actor: check_all(resources, actor, ROUTES), resources.actors))
        RESOURCE_KINDS["/api/urls/"] = "link"
        done += list(pool.map(lambda actor: check_all(resources, actor, aliased), resources.actors[:4]))
    cells, breaches = sum(each[0] for each in done), list(itertools.chain.from_iterable(each[1] for each in done))
    print(f"authorisation: {len(ROUTES)} endpoints x {len(resources.actors)} actors, {cells} cells, {len(breaches)} breaches")
    assert not breaches, "\n".join(breaches)
    assert cells > 8 * len(ROUTES)
    assert resources.state() == before, "a request changed something"


ROLES = ("viewer", "editor", "admin", "owner")
OF_WORKSPACES = [route for route in ROUTES if route[3] != "-"]


@pytest.fixture(scope="module")
def team(service, database, resources):
    """Who may ask in ann's workspace, each by a path that names it: (actor, role or what else they are)."""
    ann, bob = resources.users["ann"], resources.users["bob"]
    team = [(Actor("nobody", Api(service.url)), "nobody"), (Actor("owner of another workspace", bob), "stranger")]
    for role in ROLES:
        user = User(service, database)
        database.run("INSERT INTO members (workspace_id, user_id, role) VALUES (%s, %s, %s)", ann.id, user.id, role)
        team += [(Actor(role, user), role), (Actor(f"{role}'s session", user, session=insert_session(database, user.id)), role)]
        for scope in SCOPES:
            api = Api(service.url)
            api.token = insert_api_key(database, user.id, [scope])
            database.run("UPDATE api_keys SET workspace_id = %s WHERE created_by = %s", ann.id, user.id)
            team.append((Actor(f"{role}'s key for {scope}", api, permission=scope), role))
    foreign = Api(service.url)
    foreign.token = insert_api_key(database, bob.id, list(SCOPES[:10]))
    team.append((Actor("key of another workspace", foreign), "stranger"))
    own = Api(service.url)
    own.token = insert_api_key(database, ann.id, list(SCOPES[:10]))
    team.append((Actor("key of its maker's other workspace", own), "key of ann's"))
    team += [(each, "reader") for each in resources.actors if each.permission == "shared"]
    return team


def refusal_of_role(actor, role, route):
    """What the role decides before the resource is looked up: (status, problem kind); None: it is allowed."""
    _, _, permission, least = route
    if role in ("nobody", "reader"):
        return 401, None
    if role == "stranger":
        return 404, ""
    if actor.permission in SCOPES and permission != actor.permission:
        return 403, "scope" if permission in SCOPES else "forbidden"
    return None if ROLES.index(role) >= ROLES.index(least) else (403, "role")


def check_role(actor, role, workspace_id, other_id):
    """The problems of all routes. other_id: a workspace that is not there."""
    for route in OF_WORKSPACES:
        method, pattern, *_ = route
        path = make_path(pattern, MISSING).removeprefix("/api")
        path = "" if path == "/workspace" else path
        answer = actor.request(method, f"/api/workspaces/{workspace_id}{path}", body_for(method, pattern))
        refused = refusal_of_role(actor, role, route)
        kind = problem_of(answer[2]) if answer[0] >= 400 else ""
        if refused is None and (answer[0] in (401, 403) or answer[0] >= 500):
            yield f"{actor.name}: {route}: {answer}, although allowed"
        elif refused and (answer[0], refused[1] and kind) != refused:
            yield f"{actor.name}: {route}: {answer}, not {refused}"
        if role == "stranger" and answer != actor.request(method, f"/api/workspaces/{other_id}{path}", body_for(method, pattern)):
            yield f"{actor.name}: {route}: {answer} tells that there is such a workspace"


def test_each_role_reaches_what_it_may_in_a_workspace_and_nobody_else_learns_of_it(resources, team):
    """All routes of workspaces × {nobody, a stranger, each role by token, by session and by a key of each scope, a reader of a share}."""
    ann = resources.users["ann"]
    before = resources.state()
    tried = [(actor, role) for actor, role in team if role != "key of ann's"]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        breaches = list(itertools.chain.from_iterable(pool.map(lambda each: list(check_role(*each, ann.id, MISSING)), tried)))
        foreign = next(actor for actor, role in team if role == "key of ann's")
        breaches += check_role(foreign, "stranger", resources.users["bob"].id, MISSING)
    print(f"roles: {len(OF_WORKSPACES)} endpoints x {len(team)} actors, {len(breaches)} breaches")
    assert not breaches, "\n".join(breaches)
    assert resources.state() == before, "a request changed something"


def test_no_response_contains_data_of_others(resources):
    """Covers lists, searches, and requests that name another user's id or text."""
    bob = resources.users["bob"].id
    mark = resources.marks["bob"]
    queries = ["", "limit=100", f"workspace={bob}", "workspace=all", f"q={mark}", f"filter=title:'{mark}'", f"workspace_id={bob}"]
    seen = 0
    for actor in resources.actors:
        if actor.permission == "admin":
            continue
        for method, pattern, *_ in ROUTES:
            if method != "GET" or resource_kind(pattern):
                continue
            for query in queries:
                _, _, data = actor.request("GET", make_path(pattern) + f"?{urllib.parse.quote(query, safe='=&')}")
                assert not [m for m in resources.marks_of_others(actor) if m in data.replace(query.encode(), b"")], (
                    actor.name, pattern, query, data)  # fmt: skip
                seen += actor.owner is not None and resources.marks[actor.owner].encode() in data
    assert seen > 0, "no actor saw their own data, so the test checks nothing"


def test_bulk_changes_do_not_touch_resources_of_others(resources):
    """Covers endpoints that name links in their body or filter."""
    rows = {(method, pattern) for method, pattern, *_ in ROUTES}
    bob = resources.by_kind["link"]["bob"][0]
    slug = resources.database.value("SELECT slug FROM links WHERE id = %s", bob)
    attempts = [
        ("PATCH", "/api/links", f"?filter=id:{bob}", {"state": "disabled"}),
        ("PATCH", "/api/links", f"?filter=slug:'{slug}',id:>0", {"tags": ["caught"]}),
        ("DELETE", "/api/links", f"?filter=id:{bob}", None),
        ("DELETE", "/api/links", f"?filter=slug:'{slug}',id:>0&workspace=all", None),
        ("PATCH", "/api/tags/{name...}", "bob", {"name": "caught", "color": "#123456"}),
        ("DELETE", "/api/tags/{name...}", "bob", None),
        ("POST", "/api/links/sync", "", {"links": [{"slug": slug, "claim_token": "wmc_" + "a" * 43}]}),
    ]
    for actor in resources.actors:
        if actor.owner == "bob" or actor.permission == "admin":
            continue
        of_others = resources.links_of_others(actor)
        for method, pattern, query, body in attempts:
            if (method, pattern) in rows:
                status, _, _ = actor.request(method, pattern.replace("{name...}", "") + query, body and json.dumps(body))
                assert status < 500
        assert resources.links_of_others(actor) == of_others, actor.name


def test_owners_and_admins_reach_their_resources(resources):
    """Control: the matrix would also pass for a service that refuses everyone."""
    ann = next(actor for actor in resources.actors if actor.name == "ann")
    admin = next(actor for actor in resources.actors if actor.name == "admin")
    order = {"GET": 0, "PUT": 1, "PATCH": 1, "POST": 2, "DELETE": 3}
    reached = 0
    for method, pattern, permission, _ in sorted(ROUTES, key=lambda route: (order[route[0]], route[1] == "/api/admin/users/{id}")):
        kind = resource_kind(pattern)
        if kind == "link" and "{slug...}" not in pattern:  # these links have no aliases
            for actor, owner in ((admin, "bob"), (ann, "ann")):
                live, gone = resources.by_kind["link"][owner]
                status, _, data = actor.request(method, make_path(pattern, gone if "restore" in pattern else live), body_for(method, pattern))
                assert status not in (401, 403, 404), (actor.name, method, pattern, status, data)
                reached += 1
        if kind in ("key", "session", "share"):
            status, _, data = ann.request(method, make_path(pattern, resources.by_kind[kind]["ann"][0]), body_for(method, pattern))
            assert status < 300, (method, pattern, status, data)
        if kind == "user":
            status, _, data = admin.request(method, make_path(pattern, resources.by_kind["user"]["bob"][0]), body_for(method, pattern))
            assert status < 300, (method, pattern, status, data)
    assert reached >= 16
