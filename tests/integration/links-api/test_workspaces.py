"""The life of workspaces: who is in them, how people come and go, how workspaces end, and links that move between them."""

import concurrent.futures
import hashlib

import psycopg2
import pytest
from clients import Api, unique_email
from service import BASE
from users import User
from waiting import wait_until

PASSWORD = "correct horse battery"
ROLES = ("viewer", "editor", "admin", "owner")


class Person(User):
    """Calls in one workspace, unless the path is of the person."""

    def within(self, workspace_id):
        inside = Api(self.base)
        inside.token, inside.id = self.token, self.id
        call = inside.call
        inside.call = lambda method, path, *rest: call(
            method, f"/api/workspaces/{workspace_id}" + ("" if path == "/api/workspace" else path.removeprefix("/api")), *rest
        )
        return inside


def join(database, user, workspace_id, role):
    database.run("INSERT INTO members (workspace_id, user_id, role) VALUES (%s, %s, %s)", workspace_id, user.id, role)


def kind_of(answer):
    return answer.status, answer.json["type"].removeprefix("/problems/")


def role_of(database, user, workspace_id):
    rows = database.run("SELECT role FROM members WHERE workspace_id = %s AND user_id = %s", workspace_id, user.id)
    return rows[0][0] if rows else None


@pytest.fixture
def people(service, database):
    return lambda count=1: [Person(service, database) for _ in range(count)]


class Team:
    """A workspace with one member of each role."""

    def __init__(self, service, database):
        self.database = database
        self.owner, self.admin, self.editor, self.viewer, self.stranger = (Person(service, database) for _ in range(5))
        made = self.owner.call("POST", "/api/workspaces", {"name": "Team"})
        assert made.status == 201, made
        self.id = made.json["workspace"]["id"]
        for role in ("admin", "editor", "viewer"):
            join(database, getattr(self, role), self.id, role)

    def of(self, name):
        return getattr(self, name).within(self.id)


@pytest.fixture
def team(service, database):
    return Team(service, database)


# --- workspaces of a person ---


def test_a_person_makes_renames_and_lists_workspaces(people, database, expect):
    (ann,) = people()
    first = ann.call("GET", "/api/workspaces").json["workspaces"]
    assert [(each["id"], each["name"], each["role"], each["members"]) for each in first] == [(ann.id, "Personal", "owner", 1)]
    made = ann.call("POST", "/api/workspaces", {"name": "Sales"}).json["workspace"]
    assert made["sponsor_id"] == ann.id and made["deleted_at"] is None and made["requires_second_factor"] is False
    sales = ann.within(made["id"])
    assert sales.call("GET", "/api/workspace").json == {"workspace": made}
    changed = sales.call("PATCH", "/api/workspace", {"name": "Press"}).json["workspace"]
    assert changed == made | {"name": "Press"}
    assert [each["name"] for each in ann.call("GET", "/api/workspaces").json["workspaces"]] == ["Personal", "Press"]
    for body, pointers in (
        ({}, ["/name"]), ({"name": ""}, ["/name"]), ({"name": "x" * 101}, ["/name"]), ({"name": "a\nb"}, ["/name"]),
        ({"name": 7, "color": "red"}, ["/name", "/color"]), ({"name": None}, ["/name"]),
    ):  # fmt: skip
        expect(ann.call("POST", "/api/workspaces", body), 400, *pointers)
    expect(sales.call("PATCH", "/api/workspace", {"name": "", "requires_second_factor": 1}), 400, "/name", "/requires_second_factor")
    assert sales.call("PATCH", "/api/workspace", {"requires_second_factor": True}).json["workspace"]["requires_second_factor"] is True
    actions = database.run("SELECT action FROM audit_log WHERE workspace_id = %s ORDER BY id", made["id"])
    details = database.run("SELECT details FROM audit_log WHERE workspace_id = %s AND action = 'workspace.update' ORDER BY id", made["id"])
    assert details == [({"renamed": True},), ({"requires_second_factor": True},)]
    assert actions == [("workspace.create",), ("workspace.update",), ("workspace.update",)]


def test_a_person_answers_for_at_most_fifty_workspaces(people, database):
    ann, bob = people(2)
    database.run("INSERT INTO workspaces (name, sponsor_id) SELECT 'w' || n, %s FROM generate_series(1, 48) AS n", ann.id)
    assert ann.call("POST", "/api/workspaces", {"name": "fiftieth"}).status == 201
    assert kind_of(ann.call("POST", "/api/workspaces", {"name": "one too many"})) == (409, "too-many-workspaces")
    # Neither by having another owner hand one over.
    mine = bob.call("POST", "/api/workspaces", {"name": "of bob"}).json["workspace"]["id"]
    join(database, ann, mine, "owner")
    assert kind_of(bob.within(mine).call("DELETE", f"/api/members/{bob.id}")) == (409, "too-many-workspaces")
    assert role_of(database, bob, mine) == "owner"


def test_two_concurrent_requests_cannot_both_make_the_last_workspace(people, database):
    (ann,) = people()
    database.run("INSERT INTO workspaces (name, sponsor_id) SELECT 'w' || n, %s FROM generate_series(1, 48) AS n", ann.id)
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda n: ann.call("POST", "/api/workspaces", {"name": str(n)}).status, range(6)))
    assert sorted(answers) == [201] + [409] * 5


def test_an_operator_can_leave_making_workspaces_to_administrators(start, database):
    service = start(WORKSPACE_CREATION="admins")
    assert kind_of(Person(service, database).call("POST", "/api/workspaces", {"name": "Sales"})) == (403, "forbidden")
    assert Person(service, database, "admin").call("POST", "/api/workspaces", {"name": "Sales"}).status == 201


# --- members ---


def test_only_admins_and_owners_see_who_has_a_second_factor(team, database):
    database.run("UPDATE users SET totp_secret = decode(repeat('00', 20), 'hex'), totp_confirmed_at = clock_timestamp() WHERE id = %s", team.editor.id)
    for name, wanted in (("owner", [False, False, True, False]), ("admin", [False, False, True, False]), ("viewer", [None] * 4)):
        assert [each["second_factor"] for each in team.of(name).call("GET", "/api/members").json["members"]] == wanted


def test_members_see_each_other_and_strangers_nothing(team, expect):
    members = team.of("viewer").call("GET", "/api/members").json["members"]
    assert [(each["user_id"], each["role"], each["is_sponsor"]) for each in members] == [
        (team.owner.id, "owner", True), (team.admin.id, "admin", False), (team.editor.id, "editor", False), (team.viewer.id, "viewer", False)
    ]  # fmt: skip
    assert members[0]["email"] == team.owner.email and set(members[0]) == {"user_id", "email", "name", "role", "is_sponsor", "created_at", "second_factor"}
    expect(team.of("stranger").call("GET", "/api/members"), 404)
    expect(team.of("stranger").call("GET", "/api/workspace"), 404)


def test_admins_change_roles_below_owner_and_owners_all(team, database, expect):
    def change(by, of, role):
        return team.of(by).call("PATCH", f"/api/members/{getattr(team, of).id}", {"role": role})

    assert change("admin", "viewer", "editor").status == 204 and role_of(database, team.viewer, team.id) == "editor"
    assert change("admin", "viewer", "admin").status == 204
    assert change("admin", "viewer", "viewer").status == 204
    for of, role in (("viewer", "owner"), ("owner", "admin"), ("admin", "owner")):
        assert kind_of(change("admin", of, role)) == (403, "role"), (of, role)
    for by in ("editor", "viewer"):
        assert kind_of(change(by, by, "owner")) == (403, "role")
    assert kind_of(change("owner", "owner", "admin")) == (409, "last-owner")
    assert change("owner", "editor", "owner").status == 204
    assert change("editor", "owner", "viewer").status == 204, "owners change owners"
    expect(change("editor", "admin", "king"), 400, "/role")
    expect(team.of("editor").call("PATCH", f"/api/members/{team.admin.id}", {}), 400, "/role")
    expect(change("editor", "stranger", "viewer"), 404)
    audited = database.run(
        "SELECT actor_id, subject_id, details FROM audit_log WHERE workspace_id = %s AND action = 'member.update' ORDER BY id", team.id
    )
    assert len(audited) == 5 and audited[-1] == (team.editor.id, team.owner.id, {"from": "owner", "to": "viewer"})


def test_everybody_leaves_but_the_last_owner(team, database):
    for name in ("viewer", "editor", "admin"):
        assert team.of(name).call("DELETE", f"/api/members/{getattr(team, name).id}").status == 204
        assert team.of(name).call("GET", "/api/members").status == 404
    answer = team.of("owner").call("DELETE", f"/api/members/{team.owner.id}")
    assert kind_of(answer) == (409, "last-owner") and "owner" in answer.json["detail"]
    assert role_of(database, team.owner, team.id) == "owner"


def test_editors_and_viewers_remove_nobody_else_and_admins_no_owners(team, database):
    for by in ("viewer", "editor"):
        assert kind_of(team.of(by).call("DELETE", f"/api/members/{team.admin.id}")) == (403, "role")
    assert kind_of(team.of("admin").call("DELETE", f"/api/members/{team.owner.id}")) == (403, "role")
    assert team.of("admin").call("DELETE", f"/api/members/{team.editor.id}").status == 204
    assert team.of("owner").call("DELETE", f"/api/members/{team.admin.id}").status == 204
    assert team.of("owner").call("DELETE", f"/api/members/{team.stranger.id}").status == 404


def test_the_key_of_a_member_ends_with_the_membership(team, expect):
    answer = team.of("editor").call("POST", "/api/keys", {"name": "job", "scopes": ["links:read"]})
    key = Api(team.editor.base)
    key.token = answer.json["secret"]
    assert key.call("GET", "/api/links").status == 200
    assert team.of("admin").call("DELETE", f"/api/members/{team.editor.id}").status == 204
    expect(key.call("GET", "/api/links"), 401)
    token = invite(team.of("admin"), team.editor.email, "editor")["token"]
    assert team.editor.call("POST", "/api/invitations/accept", {"token": token}).status == 200
    expect(key.call("GET", "/api/links"), 401)
    assert team.of("editor").call("GET", "/api/keys").json["keys"] == [], "coming back brings no old keys along"


def test_handing_over_changes_whose_limits_are_used_up(team, database):
    sponsor = "SELECT sponsor_id FROM workspaces WHERE id = %s"
    for name in ("editor", "viewer"):
        assert team.of("owner").call("PATCH", f"/api/members/{getattr(team, name).id}", {"role": "owner"}).status == 204
    assert database.value(sponsor, team.id) == team.owner.id, "until the sponsor leaves"
    database.run("UPDATE members SET created_at = '2026-01-01' WHERE workspace_id = %s AND user_id = %s", team.id, team.viewer.id)
    assert team.of("owner").call("PATCH", f"/api/members/{team.owner.id}", {"role": "admin"}).status == 204
    assert database.value(sponsor, team.id) == team.viewer.id, "the longest-standing other owner"
    assert team.of("viewer").call("DELETE", f"/api/members/{team.viewer.id}").status == 204
    assert database.value(sponsor, team.id) == team.editor.id


@pytest.mark.parametrize("second", ["leaves", "is demoted"])
def test_one_of_two_owners_who_go_at_once_stays(team, database, second):
    join(database, team.stranger, team.id, "owner")
    blocker = psycopg2.connect(database.url())
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        blocker.cursor().execute("SELECT FROM workspaces WHERE id = %s FOR UPDATE", (team.id,))
        leave = [pool.submit(team.of("owner").call, "DELETE", f"/api/members/{team.owner.id}")]
        if second == "leaves":
            leave.append(pool.submit(team.of("stranger").call, "DELETE", f"/api/members/{team.stranger.id}"))
        else:
            leave.append(pool.submit(team.of("owner").call, "PATCH", f"/api/members/{team.stranger.id}", {"role": "viewer"}))
        database.await_statements_waiting(2)
        blocker.rollback()
        blocker.close()
        answers = [each.result() for each in leave]
    assert sum(answer.status == 204 for answer in answers) == 1, answers
    assert database.value("SELECT count(*) FROM members WHERE workspace_id = %s AND role = 'owner'", team.id) == 1


def test_administrators_of_the_instance_put_a_workspace_in_order(team, service, database):
    root = Person(service, database, "admin").within(team.id)
    assert root.call("PATCH", f"/api/members/{team.editor.id}", {"role": "owner"}).status == 204
    assert root.call("DELETE", f"/api/members/{team.owner.id}").status == 204
    assert root.call("GET", "/api/workspace").json["workspace"]["role"] == "owner"
    assert kind_of(root.call("DELETE", f"/api/members/{team.editor.id}")) == (409, "last-owner")


# --- invitations ---


def invite(api, email, role="editor"):
    answer = api.call("POST", "/api/invitations", {"email": email, "role": role})
    assert answer.status == 201, answer
    return answer.json


def test_an_invitation_makes_a_member_once(team, database, expect):
    made = invite(team.of("admin"), team.stranger.email.upper(), "editor")
    assert made["url"] == f"/app/invitation#{made['token']}" and made["invitation"]["email"] == team.stranger.email.upper()
    dump = database.value("SELECT invitations::text FROM invitations WHERE id = %s", made["invitation"]["id"])
    assert hashlib.sha256(made["token"].encode()).hexdigest() in dump and made["token"] not in dump
    assert team.of("owner").call("GET", "/api/invitations").json == {"invitations": [made["invitation"]]}
    nobody = Api(team.owner.base)
    look = nobody.call("POST", "/api/invitations/look", {"token": made["token"]})
    assert look.status == 200 and look.json["workspace"] == {"id": team.id, "name": "Team", "requires_second_factor": False} and look.json["role"] == "editor"
    assert team.stranger.email.split("@")[0] not in str(look.json).lower(), "whoever found the link learns no address"
    expect(nobody.call("POST", "/api/invitations/accept", {"token": made["token"]}), 401)
    accepted = team.stranger.call("POST", "/api/invitations/accept", {"token": made["token"]})
    assert accepted.status == 200 and accepted.json["workspace"]["id"] == team.id
    assert role_of(database, team.stranger, team.id) == "editor"
    for path in ("look", "accept"):
        again = team.stranger.call("POST", f"/api/invitations/{path}", {"token": made["token"]})
        assert kind_of(again) == (404, "invitation-used")
        assert (again.json["workspace"], again.json["invited_by_name"]) == ("Team", team.admin.email), "who has no name is known by their address"
    entries = database.run("SELECT action, actor_id, details FROM audit_log WHERE workspace_id = %s AND action ~ 'invitation|member' ORDER BY id", team.id)
    assert entries == [("invitation.create", team.admin.id, {}), ("member.create", team.stranger.id, {"invited_by": team.admin.id, "role": "editor"})]


def test_an_invitation_for_another_address_is_refused_without_naming_it(team, people):
    (other,) = people()
    token = invite(team.of("admin"), team.stranger.email)["token"]
    answer = other.call("POST", "/api/invitations/accept", {"token": token})
    assert kind_of(answer) == (403, "invitation-for-another") and team.stranger.email not in answer.body.decode()
    assert team.stranger.call("POST", "/api/invitations/accept", {"token": token}).status == 200, "it is still there"


def test_whoever_holds_an_ended_invitation_is_told_why_and_its_maker_still_sees_the_expired_one(team, database):
    def end_of(token):
        answers = [team.stranger.call("POST", f"/api/invitations/{path}", {"token": token}) for path in ("look", "accept")]
        kinds = {kind_of(each) for each in answers}
        assert len(kinds) == 1, kinds
        is_known = (404, "no-invitation") not in kinds
        for each in answers:
            assert {name: each.json[name] for name in ("workspace", "invited_by_name") if name in each.json} == ({"workspace": "Team", "invited_by_name": "Ada"} if is_known else {})
        return kinds.pop()

    def listed():
        return [(each["id"], each["state"]) for each in team.of("admin").call("GET", "/api/invitations").json["invitations"]]

    database.run("UPDATE users SET name = 'Ada' WHERE id = %s", team.admin.id)
    first, second = (invite(team.of("admin"), team.stranger.email) for _ in range(2))
    assert end_of(first["token"]) == (404, "invitation-replaced") and listed() == [(second["invitation"]["id"], "open")]
    database.run("UPDATE invitations SET expires_at = clock_timestamp()")
    assert end_of(second["token"]) == (404, "invitation-expired") and listed() == [(second["invitation"]["id"], "expired")]
    third = invite(team.of("admin"), team.stranger.email)
    assert listed() == [(third["invitation"]["id"], "open")], "a new one takes its place"
    assert team.of("owner").call("DELETE", f"/api/invitations/{third['invitation']['id']}").status == 204
    assert team.of("owner").call("DELETE", f"/api/invitations/{third['invitation']['id']}").status == 404
    assert end_of(third["token"]) == (404, "invitation-revoked") and listed() == []
    fourth = invite(team.of("admin"), team.stranger.email)
    assert team.stranger.call("POST", "/api/invitations/accept", {"token": fourth["token"]}).status == 200
    assert end_of(fourth["token"]) == (404, "invitation-used") and listed() == []
    fifth = invite(team.of("owner"), unique_email())
    assert team.of("owner").call("DELETE", "/api/workspace", {"name": "Team"}).status == 204
    for token in (fifth["token"], "wmi_" + "x" * 43, ""):
        assert end_of(token) == (404, "no-invitation")


@pytest.mark.parametrize("how", ["is demoted", "is removed", "leaves", "is blocked"])
def test_the_invitations_of_who_may_no_longer_invite_end_and_the_log_says_so(team, database, how):
    made = invite(team.of("admin"), team.stranger.email)
    path = f"/api/members/{team.admin.id}"
    by = "admin" if how == "leaves" else "owner"
    if how == "is blocked":
        database.run("UPDATE users SET blocked = true WHERE id = %s", team.admin.id)
    else:
        assert team.of(by).call(*(("PATCH", path, {"role": "editor"}) if how == "is demoted" else ("DELETE", path))).status == 204
        entries = database.run("SELECT actor_id, subject_id FROM audit_log WHERE workspace_id = %s AND action = 'invitation.end'", team.id)
        assert entries == [(getattr(team, by).id, made["invitation"]["id"])]
        entry = team.of("owner").call("GET", "/api/audit?action=invitation.end").json["entries"][0]
        assert entry["subject_name"] == team.stranger.email
    ended = team.stranger.call("POST", "/api/invitations/accept", {"token": made["token"]})
    assert kind_of(ended) == (404, "invitation-revoked") and ended.json["invited_by_name"] is None, "who made it may no longer invite"
    assert [each["state"] for each in team.of("owner").call("GET", "/api/invitations").json["invitations"]] == ["void"]


def test_handing_over_ends_only_the_invitations_that_an_admin_may_not_make(team, people):
    (other,) = people()
    kept, ended = invite(team.of("owner"), team.stranger.email, "admin"), invite(team.of("owner"), other.email, "owner")
    assert team.of("owner").call("PATCH", f"/api/members/{team.admin.id}", {"role": "owner"}).status == 204
    assert team.of("owner").call("PATCH", f"/api/members/{team.owner.id}", {"role": "admin"}).status == 204
    assert kind_of(other.call("POST", "/api/invitations/accept", {"token": ended["token"]})) == (404, "invitation-revoked")
    assert team.stranger.call("POST", "/api/invitations/accept", {"token": kept["token"]}).status == 200
    log = team.of("admin").call("GET", "/api/audit?action=invitation.end").json["entries"]
    assert [(each["subject_id"], each["actor_id"]) for each in log] == [(ended["invitation"]["id"], team.owner.id)]


def test_who_may_invite_whom(team, database, expect):
    for name in ("viewer", "editor"):
        assert kind_of(team.of(name).call("POST", "/api/invitations", {"email": unique_email(), "role": "viewer"})) == (403, "role")
        assert kind_of(team.of(name).call("GET", "/api/invitations")) == (403, "role")
    assert kind_of(team.of("admin").call("POST", "/api/invitations", {"email": unique_email(), "role": "owner"})) == (403, "role")
    assert team.of("owner").call("POST", "/api/invitations", {"email": unique_email(), "role": "owner"}).status == 201
    again = team.of("admin").call("POST", "/api/invitations", {"email": team.viewer.email.upper(), "role": "editor"})
    assert kind_of(again) == (409, "already-member")
    expect(team.of("stranger").call("POST", "/api/invitations", {"email": unique_email(), "role": "viewer"}), 404)
    for body, pointers in (
        ({}, ["/email", "/role"]), ({"email": "nobody", "role": "viewer"}, ["/email"]), ({"email": "a@b.example", "role": "user"}, ["/role"]),
        ({"email": "a@b.example\r\nBcc: c@d.example", "role": "viewer"}, ["/email"]), ({"email": 7, "role": 7, "more": 7}, ["/email", "/role", "/more"]),
    ):  # fmt: skip
        expect(team.of("owner").call("POST", "/api/invitations", body), 400, *pointers)
    for body in ({}, {"token": 7}, {"token": "x", "email": "a@b.example"}):
        assert team.stranger.call("POST", "/api/invitations/accept", body).status == 400
        assert Api(team.owner.base).call("POST", "/api/invitations/look", body).status == 400


def test_two_who_accept_at_once_use_it_once(team, database):
    token = invite(team.of("admin"), team.stranger.email)["token"]
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda _: team.stranger.call("POST", "/api/invitations/accept", {"token": token}).status, range(6)))
    assert sorted(answers) == [200] + [404] * 5


def test_an_invitation_of_a_member_who_came_another_way_changes_no_role(team, database):
    token = invite(team.of("admin"), team.stranger.email, "viewer")["token"]
    join(database, team.stranger, team.id, "admin")
    assert team.stranger.call("POST", "/api/invitations/accept", {"token": token}).status == 200
    assert role_of(database, team.stranger, team.id) == "admin"


def test_a_workspace_has_at_most_a_thousand_members(team, database):
    database.run(
        "WITH made AS (INSERT INTO users (email, password_hash) SELECT 'm' || n || '-' || %s || '@example.com', 'none' "
        "FROM generate_series(1, 996) AS n RETURNING id) INSERT INTO members (workspace_id, user_id, role) SELECT %s, id, 'viewer' FROM made",
        team.id, team.id,
    )  # fmt: skip
    token = invite(team.of("admin"), team.stranger.email)["token"]
    assert kind_of(team.stranger.call("POST", "/api/invitations/accept", {"token": token})) == (409, "too-many-members")
    assert team.of("admin").call("DELETE", f"/api/members/{team.viewer.id}").status == 204
    assert team.stranger.call("POST", "/api/invitations/accept", {"token": token}).status == 200, "the invitation was not used up"


def test_administrators_invite_into_the_instance(service, database, expect):
    root, user = Person(service, database, "admin"), Person(service, database)
    email = unique_email()
    made = root.call("POST", "/api/admin/invitations", {"email": email})
    assert made.status == 201 and made.json["invitation"]["role"] is None
    assert [each["email"] for each in root.call("GET", "/api/admin/invitations").json["invitations"]] == [email]
    look = Api(service.url).call("POST", "/api/invitations/look", {"token": made.json["token"]}).json
    assert look["workspace"] is None and look["role"] is None
    assert kind_of(root.call("POST", "/api/admin/invitations", {"email": user.email})) == (409, "email-taken")
    expect(root.call("POST", "/api/admin/invitations", {"email": email, "role": "admin"}), 400, "/role")
    for method, path, body in (("GET", "", None), ("POST", "", {"email": email}), ("DELETE", f"/{made.json['invitation']['id']}", None)):
        assert kind_of(user.call(method, f"/api/admin/invitations{path}", body)) == (403, "forbidden")
    expect(user.call("DELETE", f"/api/invitations/{made.json['invitation']['id']}"), 404)
    assert root.call("DELETE", f"/api/admin/invitations/{made.json['invitation']['id']}").status == 204


def test_where_there_is_mail_the_invited_person_gets_one(start, database):
    service = start(MAIL_FROM="Waymark <waymark@example.com>")
    team = Team(service, database)
    database.run("UPDATE users SET name = 'Ann', locale = 'de' WHERE id = %s", team.admin.id)
    made = team.of("admin").call("POST", "/api/invitations", {"email": team.stranger.email, "role": "viewer"}, {"Host": "evil.example"}).json
    sent = database.run("SELECT kind, locale, workspace_id, data FROM mail_outbox WHERE address = %s", team.stranger.email)
    data = {"workspace": "Team", "inviter": "Ann", "expires_at": made["invitation"]["expires_at"]}
    assert sent == [("invitation", "de", team.id, data | {"url": BASE + made["url"]})]
    refused = [team.of("admin").call("POST", "/api/invitations", {"email": team.stranger.email, "role": "viewer"}).status for _ in range(12)]
    assert 429 in refused, "nobody floods a mailbox with invitations"


def test_an_invitation_lets_its_address_register_where_nobody_else_may(start, database, expect):
    service = start(REGISTRATION="invite")
    root, team = Person(service, database, "admin"), Team(service, database)
    emails = [unique_email() for _ in range(3)]
    tokens = [invite(team.of("admin"), emails[0])["token"], root.call("POST", "/api/admin/invitations", {"email": emails[1]}).json["token"]]
    nobody = Api(service.url)

    def register(email, **more):
        return nobody.call("POST", "/api/auth/register", {"email": email, "password": PASSWORD, **more})

    assert kind_of(register(emails[2])) == (403, "registration-closed")
    assert kind_of(register(emails[2], invitation=tokens[0])) == (403, "invitation-for-another")
    assert kind_of(register(emails[0], invitation="wmi_" + "x" * 43)) == (404, "no-invitation")
    expect(register(emails[0], invitation=7), 400, "/invitation")
    assert database.value("SELECT count(*) FROM users WHERE email = ANY(%s)", emails) == 0
    made = register(emails[0].upper(), invitation=tokens[0])
    assert made.status == 201 and database.run("SELECT workspace_id, role FROM members WHERE user_id = %s ORDER BY role", made.json["user"]["id"]) == [
        (team.id, "editor"), (made.json["user"]["id"], "owner")
    ]  # fmt: skip
    assert kind_of(register(unique_email(), invitation=tokens[0])) == (404, "invitation-used")
    assert register(emails[1], invitation=tokens[1]).status == 201
    assert nobody.call("POST", "/api/auth/login", {"email": emails[1], "password": PASSWORD}).status == 200
    assert database.run("SELECT DISTINCT ended FROM invitations WHERE email = ANY(%s)", emails) == [("used",)]


# --- the end of a workspace ---


def age(database, workspace_id, by):
    """As if the deletion, or the restoring, had been that long ago."""
    database.run("UPDATE workspaces SET deleted_at = deleted_at - %s::interval WHERE id = %s", by, workspace_id)
    database.run("UPDATE links SET state_since = state_since - %s::interval WHERE workspace_id = %s", by, workspace_id)
    database.run(
        "UPDATE workspaces SET restoring = tstzrange(lower(restoring) - %s::interval, upper(restoring) - %s::interval) "
        "WHERE id = %s AND restoring IS NOT NULL", by, by, workspace_id,
    )  # fmt: skip


def states(database, workspace_id):
    return dict(database.run("SELECT title, state FROM links WHERE workspace_id = %s", workspace_id))


def test_a_deleted_workspace_is_back_within_a_week_as_it_was(team, database, expect):
    owner = team.of("owner")
    links = {name: owner.call("POST", "/api/links", {"original_url": "https://example.com/", "title": name}).json["link"] for name in ("on", "off", "gone")}
    assert owner.call("PATCH", f"/api/links/{links['off']['id']}", {"state": "disabled"}).status == 200
    assert owner.call("DELETE", f"/api/links/{links['gone']['id']}").status == 204
    share = owner.call("POST", "/api/shares", {"link_id": links["on"]["id"]}).json
    expect(owner.call("DELETE", "/api/workspace", {"name": "team"}), 409, "/name")
    expect(owner.call("DELETE", "/api/workspace", {}), 400, "/name")
    for name in ("admin", "editor", "viewer"):
        assert kind_of(team.of(name).call("DELETE", "/api/workspace", {"name": "Team"})) == (403, "role")
    assert owner.call("DELETE", "/api/workspace", {"name": "Team"}).status == 204
    assert set(states(database, team.id).values()) == {"DELETED"}, "the request itself has done that"

    assert kind_of(owner.call("GET", "/api/links")) == (409, "workspace-deleted")
    assert kind_of(owner.call("POST", "/api/links", {"original_url": "https://example.com/"})) == (409, "workspace-deleted")
    assert kind_of(owner.call("PATCH", "/api/workspace", {"name": "x"})) == (409, "workspace-deleted")
    assert kind_of(owner.call("DELETE", "/api/workspace", {"name": "Team"})) == (409, "state")
    assert team.of("viewer").call("GET", "/api/workspace").json["workspace"]["deleted_at"]
    shown = [each for each in team.viewer.call("GET", "/api/workspaces").json["workspaces"] if each["id"] == team.id]
    assert shown[0]["deleted_at"] and shown[0]["name"] == "Team"
    assert Api(team.owner.base).call("POST", "/api/shared/access", {"token": share["token"]}).status == 404
    expect(team.of("stranger").call("GET", "/api/workspace"), 404)
    assert kind_of(team.of("admin").call("POST", "/api/workspace/restore")) == (403, "role")

    restored = owner.call("POST", "/api/workspace/restore")
    assert restored.status == 200 and restored.json["workspace"]["deleted_at"] is None
    assert states(database, team.id) == {"on": "ACTIVE", "off": "DISABLED", "gone": "DELETED"}
    assert owner.call("GET", f"/api/links/{links['on']['id']}").json["link"]["version"] == 3
    assert Api(team.owner.base).call("POST", "/api/shared/access", {"token": share["token"]}).status == 200
    assert kind_of(owner.call("POST", "/api/workspace/restore")) == (409, "state")
    assert database.value("SELECT closing FROM workspaces WHERE id = %s", team.id) is None
    actions = [a for (a,) in database.run("SELECT action FROM audit_log WHERE workspace_id = %s AND action ~ 'workspace|link.(delete|restore)' ORDER BY id", team.id)]
    assert actions == ["workspace.create", "link.delete", "workspace.delete", "link.delete", "workspace.restore", "link.restore"]


MANY = (
    "INSERT INTO links (slug, link_type, original_url, workspace_id, title, created_at) "
    "SELECT %s || n, 'PERMANENT', 'https://example.com/', %s, n::text, clock_timestamp() - interval '1 day' FROM generate_series(1, %s) AS n"
)


def test_links_of_a_large_workspace_go_and_come_in_the_background(team, database):
    database.run(MANY, f"big{team.id}-", team.id, 1700)
    count = "SELECT count(*) FROM links WHERE workspace_id = %s AND state = %s"
    assert team.of("owner").call("DELETE", "/api/workspace", {"name": "Team"}).status == 204
    assert 0 < database.value(count, team.id, "ACTIVE") <= 700
    assert team.of("owner").call("POST", "/api/workspace/restore").status == 200, "before all are gone"
    assert kind_of(team.of("owner").call("DELETE", "/api/workspace", {"name": "Team"})) == (409, "state")
    age(database, team.id, "31 s")
    wait_until(lambda: database.value(count, team.id, "ACTIVE") == 1700, "all links to be back")
    wait_until(lambda: database.value("SELECT closing FROM workspaces WHERE id = %s", team.id) is None, "it to be over")
    assert team.of("owner").call("DELETE", "/api/workspace", {"name": "Team"}).status == 204
    age(database, team.id, "2 minutes")
    wait_until(lambda: database.value(count, team.id, "DELETED") == 1700, "all links to be gone")
    wait_until(lambda: database.value("SELECT closing FROM workspaces WHERE id = %s", team.id) == "deleted", "that to be noted")


def test_after_the_week_nothing_of_a_workspace_is_left_but_links_for_the_janitor(team, database, expect):
    owner = team.of("owner")
    link = owner.call("POST", "/api/links", {"original_url": "https://example.com/", "tags": ["spring"]}).json["link"]
    assert owner.call("PATCH", "/api/tags/spring", {"color": "#123456"}).status == 200
    assert owner.call("POST", "/api/shares", {"link_id": link["id"]}).status == 201
    assert owner.call("POST", "/api/keys", {"name": "k", "scopes": ["links:read"]}).status == 201
    assert owner.call("PUT", "/api/utm-templates/letter", {"utm_source": "letter"}).status == 204
    invite(owner, team.stranger.email)
    database.run("INSERT INTO rollup_workspace_day (workspace_id, day, humans, bots, uniques) SELECT %s, current_date - n, 1, 0, 0 FROM generate_series(1, 1200) AS n", team.id)
    assert owner.call("DELETE", "/api/workspace", {"name": "Team"}).status == 204
    age(database, team.id, "6 days 23 hours")
    wait_until(lambda: database.value("SELECT closing FROM workspaces WHERE id = %s", team.id) == "deleted", "the links to be gone")
    assert owner.call("GET", "/api/workspace").status == 200 and database.value("SELECT count(*) FROM rollup_workspace_day WHERE workspace_id = %s", team.id) == 1200
    age(database, team.id, "1 hour")
    assert kind_of(owner.call("POST", "/api/workspace/restore")) == (409, "state")
    wait_until(lambda: database.value("SELECT closing FROM workspaces WHERE id = %s", team.id) is None, "the end")
    tables = ("members", "invitations", "api_keys", "shares", "tag_colors", "utm_templates", "rollup_workspace_day")
    assert {t: database.value(f"SELECT count(*) FROM {t} WHERE workspace_id = %s", team.id) for t in tables} == dict.fromkeys(tables, 0)
    assert database.run("SELECT name, deleted_at IS NULL FROM workspaces WHERE id = %s", team.id) == [("", False)]
    expect(owner.call("GET", "/api/workspace"), 404)
    assert team.owner.call("GET", "/api/workspaces").json["workspaces"][0]["id"] == team.owner.id


def test_who_has_only_deleted_workspaces_is_told_so(people):
    (ann,) = people()
    mine = ann.within(ann.id)
    assert mine.call("DELETE", "/api/workspace", {"name": "Personal"}).status == 204
    assert kind_of(ann.call("GET", "/api/links")) == (403, "no-workspace")
    assert mine.call("POST", "/api/workspace/restore").status == 200
    assert ann.call("GET", "/api/links").status == 200


# --- the end of an account ---


def registered(service):
    api = Api(service.url)
    api.register_and_login(unique_email())
    api.id = api.call("GET", "/api/auth/me").json["user"]["id"]
    return api


@pytest.mark.parametrize("is_self", [True, False], ids=["by the person", "by an administrator"])
def test_an_account_that_others_need_is_not_deleted_and_the_answer_says_where(service, database, people, is_self):
    (bob,), root = people(), User(service, database, "admin")
    ann = registered(service)
    delete = (ann.call, "DELETE", "/api/auth/me", {"password": PASSWORD}) if is_self else (root.call, "DELETE", f"/api/admin/users/{ann.id}")
    names = {name: ann.call("POST", "/api/workspaces", {"name": name}).json["workspace"]["id"] for name in ("Sales", "Press", "Alone")}
    join(database, bob, names["Sales"], "editor")
    join(database, bob, names["Press"], "owner")
    kept = ann.call("POST", f"/api/workspaces/{names['Sales']}/links", {"original_url": "https://example.com/kept"}).json["link"]
    answer = delete[0](*delete[1:])
    assert kind_of(answer) == (409, "last-owner")
    assert answer.json["workspaces"] == f"Sales ({names['Sales']})" and answer.json["workspaces"] in answer.json["detail"]
    assert ann.call("GET", "/api/auth/me").status == 200 and role_of(database, ann, names["Press"]) == "owner", "nothing half done"

    in_sales = Api(service.url)
    in_sales.token = ann.token if is_self else root.token
    assert in_sales.call("PATCH", f"/api/workspaces/{names['Sales']}/members/{bob.id}", {"role": "owner"}).status == 204
    assert delete[0](*delete[1:]).status == 204
    assert database.value("SELECT state FROM links WHERE id = %s", kept["id"]) == "ACTIVE", "those of others stay"
    assert database.value("SELECT count(*) FROM members WHERE user_id = %s", ann.id) == 0
    ended = database.run("SELECT id FROM workspaces WHERE deleted_at IS NOT NULL AND sponsor_id = %s ORDER BY id", ann.id)
    assert {id for (id,) in ended} == {ann.id, names["Alone"]}
    assert database.run("SELECT DISTINCT sponsor_id FROM workspaces WHERE id IN (%s, %s)", names["Sales"], names["Press"]) == [(bob.id,)]


def test_an_account_in_a_workspace_that_is_being_deleted_may_go(service, database, people):
    (bob,) = people()
    ann = registered(service)
    sales = ann.call("POST", "/api/workspaces", {"name": "Sales"}).json["workspace"]["id"]
    join(database, bob, sales, "viewer")
    assert ann.call("DELETE", f"/api/workspaces/{sales}", {"name": "Sales"}).status == 204
    assert ann.call("DELETE", "/api/auth/me", {"password": PASSWORD}).status == 204
    assert bob.call("GET", f"/api/workspaces/{sales}").json["workspace"]["deleted_at"]


def test_an_account_that_joins_a_workspace_while_it_is_deleted_does_not_leave_it_ownerless(service, database, team):
    """Whatever comes first, no membership of a deleted account is left."""
    for _ in range(5):
        ann = registered(service)
        token = invite(team.of("admin"), ann.email)["token"]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            accept = pool.submit(ann.call, "POST", "/api/invitations/accept", {"token": token})
            delete = pool.submit(ann.call, "DELETE", "/api/auth/me", {"password": PASSWORD})
            assert accept.result().status in (200, 401, 404, 503) and delete.result().status in (204, 503), (accept.result(), delete.result())
        gone = database.value("SELECT deleted_at IS NOT NULL FROM users WHERE id = %s", ann.id)
        assert not gone or database.value("SELECT count(*) FROM members WHERE user_id = %s", ann.id) == 0


# --- links that move ---


def test_links_move_with_all_that_is_theirs(service, people, database, LinkEvent, topic, expect):
    ann, bob = people(2)
    sales = ann.call("POST", "/api/workspaces", {"name": "Sales"}).json["workspace"]["id"]
    link = ann.create("https://example.com/move", title="t", tags=["spring"], notes="mine")
    other = ann.create()
    assert ann.call("PATCH", "/api/tags/spring", {"color": "#123456"}).status == 200
    share = ann.call("POST", "/api/shares", {"link_id": link["id"]}).json
    database.run("INSERT INTO link_statistics (link_id, visit_count) VALUES (%s, 7)", link["id"])
    database.run("INSERT INTO rollup_workspace_day (workspace_id, day, humans, bots, uniques) VALUES (%s, current_date, 7, 0, 7)", ann.id)
    answer = ann.call("POST", "/api/links/move", {"ids": [link["id"]], "workspace_id": sales})
    assert answer.status == 200 and answer.json == {"moved": 1}

    expect(ann.call("GET", f"/api/links/{link['id']}"), 404)
    moved = ann.within(sales).call("GET", f"/api/links/{link['id']}").json["link"]
    assert (moved["workspace_id"], moved["version"], moved["slug"], moved["notes"], moved["tags"]) == (sales, 2, link["slug"], "mine", ["spring"])
    assert ann.within(sales).call("GET", f"/api/links/{link['id']}/stats").json["humans"] == 7, "its own statistics go with it"
    assert database.value("SELECT humans FROM rollup_workspace_day WHERE workspace_id = %s", ann.id) == 7, "the past stays where it was counted"
    assert [(t["name"], t["color"]) for t in ann.within(sales).call("GET", "/api/tags").json["tags"]] == [("spring", None)], "colors stay"
    assert Api(service.url).call("POST", "/api/shared/access", {"token": share["token"]}).status == 404
    changes = [each["change"] for each in ann.within(sales).call("GET", f"/api/links/{link['id']}/history").json["changes"]]
    assert changes == ["moved", "created"]
    assert [each["id"] for each in ann.call("GET", "/api/links").json["links"]] == [other["id"]]
    assert ann.call("GET", "/api/links").json["pagination"]["total"] == 1 and ann.within(sales).call("GET", "/api/links").json["pagination"]["total"] == 1
    ranked = ann.within(sales).call("GET", "/api/links?sort=humans").json["links"]
    assert [each["id"] for each in ranked] == [link["id"]]

    def is_move(message):
        moved = LinkEvent.FromString(message.value()).link
        return (moved.slug, moved.version, moved.workspace_id) == (link["slug"], 2, sales)

    topic.wait_for(is_move)
    actions = database.run("SELECT workspace_id, details->'link_ids' FROM audit_log WHERE action ~ 'link.move' AND actor_id = %s ORDER BY id", ann.id)
    assert actions == [(ann.id, [link["id"]]), (sales, [link["id"]])]


def test_links_move_by_filter_all_or_none(people, database, expect):
    (ann,) = people()
    sales = ann.call("POST", "/api/workspaces", {"name": "Sales"}).json["workspace"]["id"]
    links = [ann.create(tags=["a" if n < 2 else "b"]) for n in range(3)]
    gone = ann.create(tags=["a"])
    assert ann.call("DELETE", f"/api/links/{gone['id']}").status == 204
    move = lambda body: ann.call("POST", "/api/links/move", body)  # noqa: E731
    assert move({"filter": "tag:a", "workspace_id": sales}).json == {"moved": 2}
    assert move({"filter": "tag:a", "workspace_id": sales}).json == {"moved": 0}
    for ids in ([links[2]["id"], 999_999_999_999], [gone["id"], links[2]["id"]], [links[0]["id"]]):
        expect(move({"ids": ids, "workspace_id": sales}), 404)
    assert database.value("SELECT count(*) FROM links WHERE workspace_id = %s", ann.id) == 2
    database.run(MANY, f"move{ann.id}-", ann.id, 1001)
    assert kind_of(move({"filter": "id:>0", "workspace_id": sales})) == (422, "too-many-links")
    for body, pointers in (
        ({}, ["/ids", "/workspace_id"]), ({"ids": [1], "filter": "id:1", "workspace_id": sales}, ["/ids"]),
        ({"ids": [], "workspace_id": sales}, ["/ids"]), ({"ids": list(range(1, 1002)), "workspace_id": sales}, ["/ids"]),
        ({"ids": [0, "x", 1.5], "workspace_id": sales}, ["/ids/0", "/ids/1", "/ids/2"]), ({"ids": 7, "workspace_id": sales}, ["/ids"]),
        ({"filter": "nothing:1", "workspace_id": sales}, ["/filter"]), ({"filter": 7, "workspace_id": sales}, ["/filter"]),
        ({"ids": [1], "workspace_id": 0}, ["/workspace_id"]), ({"ids": [1], "workspace_id": "x", "more": 1}, ["/workspace_id", "/more"]),
    ):  # fmt: skip
        expect(move(body), 400, *pointers)
    expect(move({"ids": [1], "workspace_id": ann.id}), 409, "/workspace_id")


def test_links_move_only_to_where_the_person_may_write(team, people, service, database, expect):
    link = team.of("editor").call("POST", "/api/links", {"original_url": "https://example.com/"}).json["link"]

    def move(by, to):
        return by.within(team.id).call("POST", "/api/links/move", {"ids": [link["id"]], "workspace_id": to})

    foreign = [team.stranger.id, 999_999_999_999]
    database.run("INSERT INTO members (workspace_id, user_id, role) VALUES (%s, %s, 'viewer')", team.admin.id, team.editor.id)
    answers = [move(team.editor, to) for to in (*foreign, team.admin.id)]
    assert {(a.status, a.json["detail"]) for a in answers} == {(404, answers[0].json["detail"])}, "whoever may not write there learns nothing"
    assert kind_of(move(team.viewer, team.viewer.id)) == (403, "role")
    closed = team.editor.call("POST", "/api/workspaces", {"name": "closed"}).json["workspace"]["id"]
    assert team.editor.call("DELETE", f"/api/workspaces/{closed}", {"name": "closed"}).status == 204
    expect(move(team.editor, closed), 404)
    secured = team.editor.call("POST", "/api/workspaces", {"name": "secured"}).json["workspace"]["id"]
    database.run("UPDATE workspaces SET requires_second_factor = true WHERE id = %s", secured)
    assert kind_of(move(team.editor, secured)) == (403, "second-factor-required"), "a move is no way around it"
    key, _ = team.editor.with_key("links:read", "links:write")
    mine = team.editor.create()
    assert kind_of(key.call("POST", "/api/links/move", {"ids": [mine["id"]], "workspace_id": team.id})) == (403, "forbidden")
    root = Person(service, database, "admin")
    assert move(root, team.stranger.id).json == {"moved": 1}, "an administrator of the instance is an owner everywhere"


def test_links_from_another_sponsor_count_as_new_ones(start, database):
    service = start(LINKS_PER_DAY="5")
    ann, bob = Person(service, database), Person(service, database)
    join(database, ann, bob.id, "editor")
    ids = [ann.create()["id"] for _ in range(4)]
    second = ann.call("POST", "/api/workspaces", {"name": "second"}).json["workspace"]["id"]
    assert ann.call("POST", "/api/links/move", {"ids": ids, "workspace_id": second}).json == {"moved": 4}, "of the same sponsor: nothing is used up"
    assert [bob.create()["workspace_id"] for _ in range(2)] == [bob.id] * 2
    over = ann.within(second).call("POST", "/api/links/move", {"ids": ids, "workspace_id": bob.id})
    assert kind_of(over) == (429, "rate-limit") and database.value("SELECT count(*) FROM links WHERE workspace_id = %s", bob.id) == 2
    assert ann.within(second).call("POST", "/api/links/move", {"ids": ids[:3], "workspace_id": bob.id}).json == {"moved": 3}
    assert bob.call("POST", "/api/links", {"original_url": "https://example.com/"}).status == 429


def test_a_tag_is_renamed_in_one_workspace_while_its_links_move_to_another(people, database):
    """Each link has the new name or is in the other workspace with the old one: nothing is renamed there."""
    (ann,) = people()
    second = ann.call("POST", "/api/workspaces", {"name": "second"}).json["workspace"]["id"]
    ids = [ann.create(tags=["old"])["id"] for _ in range(3)]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        move = pool.submit(ann.call, "POST", "/api/links/move", {"ids": ids, "workspace_id": second})
        rename = pool.submit(ann.call, "PATCH", "/api/tags/old", {"name": "new"})
        assert move.result().status == 200 and rename.result().status in (200, 404)
    tags = {tag for (tag,) in database.run("SELECT unnest(tags) FROM links WHERE workspace_id = %s", second)}
    assert tags == ({"new"} if rename.result().status == 200 else {"old"})


# --- what happened ---


def test_admins_see_what_happened_in_their_workspace_alone(team, people, expect):
    link = team.of("editor").call("POST", "/api/links", {"original_url": "https://example.com/"}).json["link"]
    team.editor.create()
    log = team.of("admin").call("GET", "/api/audit").json
    assert [(each["action"], each["actor_id"]) for each in log["entries"]] == [("link.create", team.editor.id), ("workspace.create", team.owner.id)]
    assert log["entries"][0]["workspace_name"] == "Team" and log["entries"][0]["subject_name"] == link["slug"] and log["entries"][0]["actor_email"] == team.editor.email
    page = team.of("owner").call("GET", "/api/audit?limit=1&action=workspace.create").json
    assert len(page["entries"]) == 1
    for name in ("editor", "viewer"):
        assert kind_of(team.of(name).call("GET", "/api/audit")) == (403, "role")
    expect(team.of("stranger").call("GET", "/api/audit"), 404)
    expect(team.of("admin").call("GET", f"/api/audit?workspace_id={team.owner.id}"), 400, "/workspace_id")
    mine = team.editor.call("GET", "/api/audit").json["entries"]
    assert [each["action"] for each in mine] == ["link.create"]
