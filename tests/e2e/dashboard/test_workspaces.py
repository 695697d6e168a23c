"""Workspaces as new people use them: an owner, an editor, a viewer, an administrator, and somebody who was invited and has no account. In
Chromium, on the real services."""

import base64
import re
import time
import urllib.parse

import psycopg2
import pytest
from clients import Api, totp, unique_email

from dashboard.browser import PASSWORD, expect
from dashboard.test_pages import COLOR_RULES, PHONE, WIDE, make_admin, picture

ROLES = ("admin", "editor", "viewer")
# Routes of a person, of the instance, or of nobody.
OUTSIDE = re.compile(r"/api/(auth|admin|shared|instance|workspaces$|workspaces\?|links/(public|sync)|invitations/(look|accept))")


class Team:
    """A workspace with an owner and one member of each other role, each with a client of the API."""

    def __init__(self, base):
        self.owner = Api(base)
        self.owner.register_and_login(unique_email())
        answer = self.owner.call("POST", "/api/workspaces", {"name": "Acme"})
        assert answer.status == 201, answer
        self.id = answer.json["workspace"]["id"]
        for role in ROLES:
            member = Api(base)
            member.register_and_login(unique_email())
            token = self.invite(member.email, role).partition("#")[2]
            assert member.call("POST", "/api/invitations/accept", {"token": token}).status == 200
            setattr(self, role, member)

    def path(self, rest):
        return f"/api/workspaces/{self.id}{rest}"

    def call(self, method, rest, body=None, who=None):
        answer = (who or self.owner).call(method, self.path(rest), body)
        assert answer.status < 300, answer
        return answer.json if answer.body else None

    def invite(self, email, role):
        """The address that accepts it."""
        return self.call("POST", "/invitations", {"email": email, "role": role})["url"]

    def create(self, who=None, **fields):
        return self.call("POST", "/links", {"original_url": "https://example.com/landing", **fields}, who)["link"]

    def links(self):
        return self.call("GET", "/links")["links"]

    def roles(self):
        return {member["email"]: member["role"] for member in self.call("GET", "/members")["members"]}


@pytest.fixture
def team(env):
    return Team(env["LINKS_API_URL"])


@pytest.fixture
def enter(browser):
    """enter(member) opens a window in which that member is logged in."""
    opened = []

    def open_window(member, **options):
        opened.append(browser.open(**options))
        opened[-1].login(member.email)
        return opened[-1]

    yield open_window
    for window in opened:
        window.close()


def row(page, text):
    return page.get_by_role("row").filter(has_text=text)


def act(page, text, action):
    row(page, text).get_by_role("button", name="Actions for").click()
    page.get_by_role("menuitem", name=action, exact=True).click()


def switch(page, name):
    page.get_by_role("button", name="Workspace:").click()
    page.get_by_role("menuitem", name=name, exact=True).click()


def test_an_owner_makes_a_workspace_and_invites_a_colleague_who_has_no_account(window, browser, anonymous):
    page = window.page
    owner, colleague = unique_email(), unique_email()
    window.register(owner)
    switch(page, "Create workspace")
    page.get_by_label("Name", exact=True).fill("Acme & Söhne")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Members")
    expect(page).to_have_url(re.compile(r"/app/w/\d+/members$"))
    expect(page.get_by_role("button", name="Workspace: Acme & Söhne")).to_be_visible()
    expect(page.get_by_text("Only you so far.")).to_be_visible()

    page.get_by_role("button", name="Invite").click()
    dialog = page.get_by_role("dialog", name="Invite to Acme & Söhne")
    expect(dialog.get_by_label("E-mail address")).to_be_focused()
    expect(dialog.get_by_role("radio")).to_have_count(4)
    assert window.violations() == []
    page.keyboard.type("nobody")
    dialog.get_by_role("radio", name=re.compile("^Editor")).check()
    page.get_by_label("E-mail address").fill(colleague)
    dialog.get_by_role("button", name="Create invitation").click()
    shown = page.get_by_role("dialog", name="Invitation created")
    expect(shown).to_contain_text(f"Send this link to {colleague}.")
    expect(page.get_by_text("Only you so far.")).to_have_count(0)
    shown.get_by_role("button", name="Copy").click()
    address = page.evaluate("navigator.clipboard.readText()")
    assert address.startswith(f"{window.base}/app/invitation#") and address == shown.locator(".secret").inner_text()
    assert window.violations() == []
    picture(window, "/invitation-made", "light-wide")
    shown.get_by_role("button", name="Done").click()
    expect(page.get_by_role("listitem").filter(has_text=colleague)).to_contain_text("Editor")

    # The colleague knows nothing but the address, and nobody else may register.
    other = browser.open()
    instance = anonymous.call("GET", "/api/instance").json
    other.page.route("**/api/instance", lambda route: route.fulfill(json={**instance, "registration": "invite"}))
    other.page.goto(address)
    expect(other.page.get_by_role("heading", level=1)).to_have_text("Join Acme & Söhne")
    expect(other.page.get_by_text("Your role here: Editor")).to_be_visible()
    assert other.violations() == []
    other.page.get_by_label("E-mail address").fill(f"another-{unique_email()}")
    other.page.get_by_label("Password").fill(PASSWORD)
    other.page.get_by_role("button", name="Create account and accept").click()
    expect(other.page.locator(".field-error")).to_contain_text("The invitation is for another address.")
    other.page.get_by_label("E-mail address").fill(colleague)
    other.page.get_by_label("Name").fill("Kim Koch")
    other.page.get_by_role("button", name="Create account and accept").click()
    expect(other.page.get_by_role("heading", level=1)).to_have_text("Links")
    expect(other.page.get_by_role("button", name="Workspace: Acme & Söhne")).to_be_visible()
    other.page.get_by_role("link", name="Links", exact=True).click()
    other.page.get_by_role("button", name="Create link").first.click()
    other.page.get_by_label("Destination", exact=True).fill("https://example.com/by-kim")
    other.page.keyboard.press("Enter")
    expect(row(other.page, "by-kim")).to_have_count(1)
    # It works once.
    other.page.goto("about:blank")
    other.page.goto(address)
    expect(other.page.get_by_role("heading", level=1)).to_have_text("This invitation has ended")
    expect(other.page.get_by_role("main")).not_to_contain_text("can invite you again")
    other.close()

    expect(row(page, "Kim Koch")).to_contain_text("Editor")
    expect(page.get_by_role("region", name="Invitations")).to_have_count(0)
    page.get_by_role("link", name="Links", exact=True).click()
    expect(row(page, "by-kim")).to_contain_text("Kim Koch")


def test_an_administrator_of_the_instance_invites_somebody_who_then_has_an_account(env, enter, browser, user):
    make_admin(env, user.email)
    window, email = enter(user), unique_email()
    window.goto("/admin/users")
    window.press("Invite")
    window.page.keyboard.type(email)
    window.page.keyboard.press("Enter")
    address = window.page.get_by_role("dialog", name="Invitation created").locator(".secret").inner_text()
    window.press("Done")
    expect(window.page.get_by_role("listitem").filter(has_text=email)).to_be_visible()
    assert window.violations() == []
    guest = browser.open()
    guest.page.goto(address)
    expect(guest.page.get_by_role("heading", level=1)).to_have_text("Join \"><img src=x onerror=alert(0)>")
    expect(guest.page.get_by_role("main")).to_contain_text(f"{user.email} invites")
    guest.page.get_by_label("E-mail address").fill(email)
    guest.page.get_by_label("Password").fill(PASSWORD)
    guest.page.get_by_role("button", name="Create account and accept").click()
    expect(guest.page.get_by_role("button", name="Workspace: Personal")).to_be_visible()
    guest.close()
    expect(window.page.get_by_role("listitem").filter(has_text=email)).to_have_count(0)
    # Letters narrow the list without Enter.
    window.page.get_by_role("searchbox").press_sequentially(email)
    expect(window.page.locator("tbody tr")).to_have_count(1)
    expect(row(window.page, email)).to_be_visible()
    window.choose("Actions for .*", -1)
    dialog = window.page.get_by_role("dialog", name=f"Delete the account of {email}?")
    expect(dialog).to_contain_text("end with their links")
    dialog.get_by_role("button", name="Delete account").click()
    expect(window.page.get_by_text("Account deleted.")).to_be_visible()
    expect(window.page.get_by_text("No account found")).to_be_visible()


def test_an_invitation_is_revoked_and_its_address_is_worth_nothing(team, enter, browser):
    email = unique_email()
    valid, revoked = team.invite(unique_email(), "viewer"), team.invite(email, "viewer")
    window = enter(team.owner)
    window.goto(f"/w/{team.id}/members")
    pending = window.page.get_by_role("region", name="Invitations").get_by_role("listitem")
    expect(pending).to_have_count(2)
    window.page.get_by_role("button", name=f"Revoke {email}").click()
    window.page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    expect(pending).to_have_count(1)
    guest = browser.open()
    guest.goto(f"/invitation#{revoked.partition('#')[2]}")
    expect(guest.page.get_by_role("heading", level=1)).to_have_text("This invitation has ended")
    assert guest.violations() == []
    guest.goto("/start")
    guest.goto(f"/invitation#{valid.partition('#')[2]}")
    expect(guest.page.get_by_role("heading", level=1)).to_have_text("Join Acme")
    guest.close()


def test_somebody_who_is_logged_in_with_another_address_is_told_and_comes_in_with_the_right_one(team, enter, user):
    invited = Api(team.owner.base)
    invited.register_and_login(f"invited-{unique_email()}")
    address = team.invite(invited.email, "viewer")
    window = enter(user)
    page = window.page
    page.goto(f"{window.base}/app/invitation#{address.partition('#')[2]}")
    expect(page.get_by_text(f"or ask {team.owner.email} to invite {user.email}.")).to_be_visible()
    expect(page.get_by_role("button", name="Accept the invitation")).to_have_count(0)
    assert window.violations() == []
    page.get_by_role("main").get_by_role("button", name="Log out").click()
    page.get_by_role("link", name="Log in").click()
    page.get_by_label("E-mail address", exact=True).fill(invited.email)
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_role("main").get_by_role("button", name="Log in").click()
    expect(page.get_by_text(f"You are logged in as {invited.email}.")).to_be_visible()
    page.get_by_role("button", name="Accept the invitation").click()
    expect(page.get_by_role("button", name="Workspace: Acme")).to_be_visible()
    assert team.roles()[invited.email] == "viewer"


def test_an_editor_makes_links_and_moves_them_to_a_workspace_of_their_own_and_back(team, enter, visitor):
    link, other = team.create(title="Ours"), team.create(title="Of the team")
    window = enter(team.editor)
    page = window.page
    window.goto("/")
    switch(page, "Acme")
    expect(page).to_have_url(re.compile(rf"/app/w/{team.id}/(links)?$"))
    window.settle()
    page.keyboard.press("c")
    page.get_by_label("Destination", exact=True).fill("https://example.com/by-editor")
    page.keyboard.press("Enter")
    expect(row(page, "by-editor")).to_contain_text(team.editor.email)
    row(page, "Ours").get_by_role("checkbox").check()
    page.get_by_role("region", name="Selected links").get_by_role("button", name="Move").click()
    dialog = page.get_by_role("dialog", name="Move 1 link")
    expect(dialog).to_contain_text("Only members of Personal will see them")
    assert window.violations() == []
    dialog.get_by_role("button", name="Move").click()
    expect(page.get_by_text("1 link is in Personal now.")).to_be_visible()
    expect(row(page, "Ours")).to_have_count(0)
    assert team.editor.call("GET", f"/api/links/{link['id']}").json["link"]["title"] == "Ours"
    assert visitor.follow(link["slug"]).status == 302
    page.get_by_role("button", name="Undo").click()
    expect(row(page, "Ours")).to_have_count(1)
    act(page, "Ours", "Move to another workspace")
    expect(dialog).to_contain_text("Only members of Personal will see them")
    page.keyboard.press("Escape")
    assert {each["id"] for each in team.links()} >= {link["id"], other["id"]}
    # Nothing that only an administrator may do is offered.
    page.get_by_role("link", name="Members").click()
    expect(row(page, team.owner.email)).to_contain_text("Owner")
    expect(page.get_by_role("button", name="Invite")).to_have_count(0)
    page.get_by_role("link", name="Settings", exact=True).click()
    expect(page.get_by_text("Your role here: Editor")).to_be_visible()
    expect(page.get_by_role("main").get_by_role("button")).to_have_text(["Leave Acme"])
    page.get_by_role("link", name="API keys").click()
    page.get_by_role("button", name="Create API key").first.click()
    expect(page.get_by_label("See members and settings")).to_be_visible()
    expect(page.get_by_label("Change members and settings")).to_have_count(0)


def test_a_viewer_finds_the_figures_and_no_button_that_would_be_refused(team, enter, visitor):
    title = "Spring campaign for the new collection of garden furniture"
    link = team.create(title=title, tags=["sale"])
    team.call("POST", "/shares", {"tag": "sale"})
    visitor.follow(link["slug"])
    window = enter(team.viewer)
    page = window.page
    refused = []
    page.on("response", lambda response: refused.append(response.url) if response.status == 403 else None)
    window.goto(f"/w/{team.id}/links")
    expect(row(page, "Spring")).to_be_visible()
    expect(page.get_by_role("checkbox")).to_have_count(0)
    page.keyboard.press("c")
    row(page, "Spring").get_by_role("button", name="Actions for").click()
    expect(page.get_by_role("menuitem")).to_have_text(["QR code"])
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    row(page, "Spring").get_by_role("link").first.click()
    expect(page.locator(".metric-count").first).to_have_text("1")
    expect(page.get_by_text(f"Created by {team.owner.email}")).to_be_visible()
    expect(page.get_by_role("button", name="Share", exact=True)).to_have_count(0)
    writing = re.compile("^(Create|Invite|Revoke|Delete|Save$|Share$|Move|Rename|Hand over)")
    for path in ("/statistics", "/statistics?tag=sale", "/links?edit=new", "/tags", "/live", "/shares", "/members", "/workspace"):
        window.goto(f"/w/{team.id}{path}")
        window.settle()
        expect(page.get_by_role("main").get_by_role("button", name=writing)).to_have_count(0)
        expect(page.get_by_role("main").get_by_role("link", name=writing)).to_have_count(0)
        assert window.violations() == [], path
    expect(page.get_by_role("link", name="API keys")).to_have_count(0)
    page.keyboard.press("Control+K")
    page.get_by_role("combobox", name="Search").fill("https://example.com/long")
    expect(page.get_by_role("dialog")).to_contain_text("Viewers change nothing.")
    page.keyboard.press("Escape")
    window.resize(*PHONE)
    for path in ("/links", "/statistics", "/members"):
        window.goto(f"/w/{team.id}{path}")
        window.settle()
        assert (window.overflow() <= 0, window.cut_off()) == (True, []), path
    window.goto(f"/w/{team.id}/statistics")
    shown = page.get_by_role("region", name="Most visited links").get_by_text(title)
    expect(shown).to_be_visible()
    box, cell = shown.bounding_box(), shown.locator("xpath=ancestor::th").bounding_box()
    assert box["x"] + box["width"] <= cell["x"] + cell["width"] and cell["height"] < 80, (box, cell)
    window.resize(*WIDE)
    for path in ("/keys", "/links/bulk", "/audit"):
        window.goto(f"/w/{team.id}{path}")
        expect(page.get_by_role("heading", level=1)).to_have_text("Page not found")
    assert refused == []
    # They can leave by themselves.
    window.goto(f"/w/{team.id}/members")
    act(page, team.viewer.email, "Leave")
    page.get_by_role("dialog", name="Leave Acme?").get_by_role("button", name="Leave").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Workspaces")
    expect(page.locator("tbody tr")).to_have_count(1)
    assert team.viewer.email not in team.roles()


def test_an_administrator_changes_a_role_and_removes_a_member_by_keyboard_alone(team, enter):
    window = enter(team.admin)
    page, keys = window.page, window.page.keyboard
    window.goto(f"/w/{team.id}/members")
    window.settle()
    window.choose(f"Actions for {team.owner.email}", 0)
    expect(page.get_by_role("heading", level=1)).to_have_text("Audit log")
    owner = team.owner.call("GET", "/api/auth/me").json["user"]
    expect(page).to_have_url(re.compile(rf"actor={owner['id']}$"))
    window.goto(f"/w/{team.id}/members")
    window.settle()
    window.choose(f"Actions for {team.viewer.email}", 0)
    dialog = page.get_by_role("dialog", name=f"Role of {team.viewer.email}")
    expect(dialog.get_by_role("radio")).to_have_count(3)
    window.tab_to("Viewer.*")
    keys.press("ArrowDown")
    keys.press("Enter")
    expect(dialog).to_have_count(0)
    expect(row(page, team.viewer.email)).to_contain_text("Editor")
    assert team.roles()[team.viewer.email] == "editor"
    window.choose(f"Actions for {team.editor.email}", -1)
    window.press("Remove")
    expect(page.get_by_text(f"{team.editor.email} is removed.")).to_be_visible()
    assert team.editor.call("GET", team.path("/links")).status == 404
    window.press("Settings")
    window.tab_to("Name")
    keys.press("Control+A")
    keys.type("Acme Ltd")
    keys.press("Enter")
    expect(page.get_by_role("button", name="Workspace: Acme Ltd")).to_be_visible()
    expect(page.get_by_role("button", name=re.compile("Delete|Hand over"))).to_have_count(0)
    window.press("Audit log")
    expect(page.get_by_role("heading", level=1)).to_have_text("Audit log")
    expect(page.locator("tbody tr").filter(has_text=team.admin.email).first).to_be_visible()


def test_an_owner_hands_over_and_leaves_and_the_last_one_cannot(team, enter):
    window = enter(team.owner)
    page = window.page
    window.goto(f"/w/{team.id}/members")
    expect(page.get_by_text("Make somebody else owner before you leave.")).to_be_visible()
    expect(row(page, team.owner.email).get_by_role("button")).to_have_count(0)
    page.get_by_role("link", name="Settings", exact=True).click()
    expect(page.get_by_text("Make somebody else owner before you leave.")).to_be_visible()
    page.get_by_label("To", exact=True).select_option(team.admin.email)
    page.get_by_role("button", name="Hand over").click()
    page.get_by_role("dialog").get_by_role("button", name="Hand over").click()
    expect(page.get_by_text("Your role here: Administrator")).to_be_visible()
    expect(page.get_by_role("button", name="Delete workspace")).to_have_count(0)
    roles = team.roles()
    assert (roles[team.admin.email], roles[team.owner.email]) == ("owner", "admin")
    expect(page.get_by_role("button", name="Leave Acme")).to_be_visible()
    page.get_by_role("link", name="Members").first.click()
    act(page, team.owner.email, "Leave")
    page.get_by_role("dialog").get_by_role("button", name="Leave").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Workspaces")
    window.goto(f"/w/{team.id}/links")
    expect(page.get_by_role("heading", level=1)).to_have_text("No such workspace")
    assert window.violations() == []


def test_a_workspace_that_requires_a_second_factor_says_so_and_opens_once_it_is_set_up(team, enter, user):
    token = team.invite(user.email, "editor").partition("#")[2]
    team.call("PATCH", "", {"requires_second_factor": True}, None)
    window = enter(user)
    page = window.page
    page.goto(f"{window.base}/app/invitation#{token}")
    expect(page.get_by_role("main")).to_contain_text("a second factor")
    expect(page.get_by_role("main")).to_contain_text("recovery codes")
    page.get_by_role("button", name="Accept the invitation").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Acme requires a second factor")
    expect(page.get_by_role("main")).to_contain_text("recovery codes")
    expect(page).to_have_url(re.compile(rf"/app/w/{team.id}/(links)?$"))
    assert window.violations() == []
    picture(window, "/factor-required", "light-wide")
    page.get_by_role("button", name="Leave Acme").click()
    expect(page.get_by_role("dialog")).to_contain_text("Leave Acme?")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Set up").press("Enter")
    expect(page.get_by_label("Code", exact=True)).to_be_focused()
    secret = base64.b32decode(page.locator("p.mono").inner_text().replace(" ", ""))
    page.keyboard.type(totp(secret, int(time.time()) // 30))
    page.keyboard.press("Enter")
    expect(page.locator("pre.secret")).to_be_focused()
    assert window.violations() == []
    page.get_by_role("button", name="I have kept them").press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Links")
    expect(page.get_by_role("button", name="Workspace: Acme")).to_be_visible()


def test_an_administrator_of_the_instance_is_led_to_the_second_factor_of_a_foreign_workspace(team, env, enter, user):
    team.call("PATCH", "", {"requires_second_factor": True}, None)
    make_admin(env, user.email)
    window = enter(user)
    page = window.page
    window.goto(f"/w/{team.id}/")
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Workspace {team.id} requires a second factor")
    expect(page.get_by_role("button", name="Set up")).to_be_visible()
    expect(page.get_by_role("button", name="Leave")).to_have_count(0)
    assert window.violations() == []
    expect(page.get_by_role("link", name="Back to ")).to_be_visible()
    page.get_by_role("link", name="Health").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Health")
    expect(page.get_by_role("button", name="Workspace:")).not_to_contain_text(f"Workspace {team.id}")
    page.get_by_role("button", name="Workspace:").click()
    page.get_by_role("menuitem").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Links")


def test_who_wants_no_second_factor_leaves_the_workspace_that_requires_it(team, enter):
    window = enter(team.viewer)
    team.call("PATCH", "", {"requires_second_factor": True}, None)
    page = window.page
    window.goto(f"/w/{team.id}/")
    page.get_by_role("button", name="Leave Acme").click()
    page.get_by_role("dialog").get_by_role("button", name="Leave").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Workspaces")
    expect(page.get_by_role("table")).not_to_contain_text("Acme")


def test_an_instance_that_requires_a_second_factor_says_so_on_every_page_but_the_accounts(enter, user):
    window = enter(user)
    problem = {"type": "/problems/second-factor-required", "title": "Forbidden", "status": 403, "detail": "Set one up.", "instance": "1"}
    window.page.route(re.compile("/api/(workspaces|admin)"), lambda route: route.fulfill(status=403, json=problem))
    for path in ("/", "/links", "/workspaces"):
        window.goto(path)
        expect(window.page.get_by_role("heading", level=1)).to_have_text(f"{urllib.parse.urlsplit(window.base).netloc} requires a second factor")
        expect(window.page.get_by_role("button", name="Set up")).to_be_visible()
    window.goto("/account")
    expect(window.page.get_by_role("heading", level=1)).to_have_text("Account")


def test_who_hands_over_or_removes_somebody_is_told_which_invitations_end(team, enter):
    owner, editor, admins = (unique_email() for _ in range(3))
    team.invite(owner, "owner")
    team.invite(editor, "editor")
    team.call("POST", "/invitations", {"email": admins, "role": "viewer"}, team.admin)
    window = enter(team.owner)
    page = window.page
    window.goto(f"/w/{team.id}/members")
    act(page, team.admin.email, "Remove")
    expect(page.get_by_role("dialog")).to_contain_text(f"These invitations end: {admins}.")
    page.keyboard.press("Escape")
    window.goto(f"/w/{team.id}/workspace")
    page.get_by_role("checkbox", name="Require a second factor").check()
    expect(page.get_by_text("You have none yet")).to_be_visible()
    page.get_by_role("checkbox", name="Require a second factor").uncheck()
    page.get_by_label("To", exact=True).select_option(team.admin.email)
    page.get_by_role("button", name="Hand over").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text(f"These invitations end: {owner}.")
    assert dialog.bounding_box()["width"] <= 480
    dialog.get_by_role("button", name="Hand over").click()
    expect(page.get_by_text("Your role here: Administrator")).to_be_visible()
    page.get_by_role("link", name="Members").first.click()
    invited = page.get_by_role("region", name="Invitations").get_by_role("listitem")
    expect(invited.filter(has_text=owner)).to_contain_text("Ended: its maker may no longer invite.")
    expect(invited.filter(has_text=editor)).to_contain_text("Valid until")
    page.get_by_role("link", name="Settings", exact=True).click()
    page.get_by_role("link", name="Audit log").click()
    expect(row(page, f"ended the invitation of {owner}")).to_be_visible()
    expect(row(page, "changed the role of").first).to_be_visible()
    page.get_by_label("Account", exact=True).select_option(team.admin.email)
    expect(row(page, f"invited {admins}")).to_be_visible()
    expect(page.locator("tbody tr").filter(has_not_text=team.admin.email)).to_have_count(0)


def test_an_expired_invitation_stays_in_the_list_to_invite_again_and_its_holder_is_told(team, env, enter, browser):
    email = unique_email()
    first = team.invite(email, "viewer")
    with psycopg2.connect(env["ADMIN_PG_URL"]) as connection:
        connection.cursor().execute("UPDATE invitations SET expires_at = now() WHERE email = %s", (email,))
    guest = browser.open()
    guest.goto(f"/invitation#{first.partition('#')[2]}")
    expect(guest.page.get_by_role("main")).to_contain_text("Its week is over.")
    expect(guest.page.get_by_role("main")).to_contain_text(f"It was for Acme. {team.owner.email} can invite you again.")
    guest.close()
    window = enter(team.owner)
    page = window.page
    window.goto(f"/w/{team.id}/members")
    entry = page.get_by_role("region", name="Invitations").get_by_role("listitem").filter(has_text=email)
    expect(entry).to_contain_text("Expired")
    entry.get_by_role("button", name=f"Invite again: {email}").click()
    dialog = page.get_by_role("dialog", name="Invite to Acme")
    expect(dialog.get_by_label("E-mail address")).to_have_value(email)
    expect(dialog.get_by_role("radio", name=re.compile("^Viewer"))).to_be_checked()
    dialog.get_by_role("button", name="Create invitation").click()
    shown = page.get_by_role("dialog", name="Invitation created")
    secret = shown.locator(".secret").inner_text()
    shown.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("status").filter(has_text="Copied")).to_be_visible()
    expect(page.get_by_role("status").filter(has_text=secret[-20:])).to_have_count(0)
    shown.get_by_role("button", name="Done").click()
    expect(entry).to_contain_text("Valid until")
    # Whose link is lost gets another one.
    entry.get_by_role("button", name=f"Invite again: {email}").click()
    expect(dialog).to_contain_text("A new invitation ends the one before.")
    page.keyboard.press("Escape")
    # Before a second one, the dialog says that the first one ends.
    page.get_by_role("button", name="Invite", exact=True).click()
    page.get_by_label("E-mail address").fill(email.upper())
    expect(page.get_by_role("dialog")).to_contain_text("Invited already. A new invitation ends the one before.")
    # One sentence says what is wrong.
    page.get_by_label("E-mail address").fill(team.editor.email)
    page.get_by_role("dialog").get_by_role("button", name="Create invitation").click()
    expect(page.get_by_role("dialog").get_by_role("alert")).to_have_text("Already a member.")
    expect(page.locator(".field-error")).to_have_count(0)


def test_a_login_in_another_browser_opens_the_workspace_of_the_last_visit(team, enter, browser):
    # Somebody who was never there comes to the one that they share.
    window = enter(team.editor)
    window.goto("/")
    expect(window.page.get_by_role("button", name="Workspace: Acme")).to_be_visible()
    switch(window.page, "Personal")
    expect(window.page.get_by_role("button", name="Workspace: Personal")).to_be_visible()
    for name in ("Personal", "Acme"):
        other = browser.open()
        other.enter(team.editor.email)
        expect(other.page.get_by_role("button", name=f"Workspace: {name}")).to_be_visible()
        if name == "Personal":
            switch(other.page, "Acme")
            expect(other.page.get_by_role("button", name="Workspace: Acme")).to_be_visible()
        other.close()


def test_the_number_of_members_is_that_of_now(team, enter, user):
    window = enter(team.owner)
    window.goto(f"/w/{team.id}/members")
    token = team.invite(user.email, "editor").partition("#")[2]
    assert user.call("POST", "/api/invitations/accept", {"token": token}).status == 200
    window.page.get_by_role("link", name="Settings", exact=True).click()
    expect(window.page.get_by_role("link", name="5 members")).to_be_visible()


def test_a_role_that_somebody_else_changes_shows_without_a_reload(team, enter):
    """Pages ask for roles at most every five seconds."""
    window = enter(team.viewer)
    page = window.page
    window.goto(f"/w/{team.id}/links")
    expect(page.get_by_role("link", name="API keys")).to_have_count(0)
    me = team.viewer.call("GET", "/api/auth/me").json["user"]["id"]
    for role, keys in (("admin", 1), ("viewer", 0)):
        team.call("PATCH", f"/members/{me}", {"role": role})
        time.sleep(5)
        page.get_by_role("link", name="Members").first.click()
        expect(page.get_by_role("link", name="API keys")).to_have_count(keys)
        expect(page.get_by_role("button", name="Invite")).to_have_count(keys)
        page.get_by_role("link", name="Tags").first.click()


def test_the_page_of_members_follows_a_role_while_it_is_open_and_says_who_invites(team, enter):
    window = enter(team.editor)
    window.goto(f"/w/{team.id}/members")
    ask = window.page.get_by_text("Owners and administrators invite people")
    expect(ask).to_be_visible()
    me = team.editor.call("GET", "/api/auth/me").json["user"]["id"]
    team.call("PATCH", f"/members/{me}", {"role": "admin"})
    expect(window.page.get_by_role("button", name="Invite")).to_be_visible()
    expect(ask).to_have_count(0)


def test_a_workspace_is_deleted_only_after_its_name_and_restored(team, enter):
    link = team.create()
    window = enter(team.owner)
    page = window.page
    window.goto(f"/w/{team.id}/workspace")
    delete = page.get_by_role("button", name="Delete workspace")
    field = page.get_by_label("Enter its name: Acme")
    expect(delete).to_be_disabled()
    field.fill("acme")
    expect(delete).to_be_disabled()
    field.fill("Acme")
    delete.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Workspaces")
    expect(row(page, "Acme")).to_contain_text("Can be restored until")
    assert window.violations() == []
    picture(window, "/workspaces-deleted", "light-wide")
    page.get_by_role("button", name="Workspace:").click()
    expect(page.get_by_role("menuitem", name="Acme")).to_have_count(0)
    page.keyboard.press("Escape")
    other = enter(team.editor)
    other.goto(f"/w/{team.id}/links")
    expect(other.page.get_by_role("heading", level=1)).to_have_text("This workspace is deleted")
    other.goto("/workspaces")
    expect(row(other.page, "Acme")).to_contain_text("Can be restored until")
    expect(other.page.get_by_role("button", name="Restore Acme")).to_have_count(0)
    page.get_by_role("button", name="Restore Acme").click()
    expect(page.get_by_role("button", name="Workspace: Acme")).to_be_visible()
    assert [each["id"] for each in team.links()] == [link["id"]]


def test_each_address_names_its_workspace_and_goes_back_and_forth(team, enter):
    team.create(title="Of the team")
    team.owner.create(title="Of my own")
    own = team.owner.call("GET", "/api/auth/me").json["user"]["id"]
    window = enter(team.owner)
    page = window.page
    window.goto(f"/w/{own}/tags")
    window.goto("/links?sort=humans")
    expect(page).to_have_url(re.compile(rf"/app/w/{own}/links\?sort=humans$"))
    expect(row(page, "Of my own")).to_be_visible()
    switch(page, "Acme")
    page.get_by_role("link", name="Links", exact=True).click()
    expect(row(page, "Of the team")).to_be_visible()
    expect(row(page, "Of my own")).to_have_count(0)
    page.get_by_role("button", name="Account and help").click()
    page.get_by_role("menuitem", name="Account").click()
    expect(page.get_by_role("button", name="Workspace: Acme")).to_be_visible()
    for _ in range(3):
        page.go_back()
    expect(row(page, "Of my own")).to_be_visible()
    expect(page).to_have_url(re.compile(rf"/app/w/{own}/links"))
    for _ in range(2):
        page.go_forward()
    expect(row(page, "Of the team")).to_be_visible()
    # A page without a name of its own shows the workspace of the last visit.
    window.goto("/account")
    expect(page.get_by_role("button", name="Workspace: Acme")).to_be_visible()


def test_everything_of_a_workspace_is_asked_in_it(team, enter, visitor):
    link = team.create(tags=["a"])
    window = enter(team.owner)
    asked = []
    window.page.on("request", lambda request: asked.append(urllib.parse.urlsplit(request.url)._replace(scheme="", netloc="").geturl()))
    for path in ("/statistics", "/links", f"/links/{link['id']}", "/tags", "/keys", "/shares", "/members", "/workspace", "/audit", "/live"):
        window.goto(f"/w/{team.id}{path}")
        window.settle()
    expect(window.page.get_by_text("Connected")).to_be_visible()
    visitor.follow(link["slug"])
    expect(window.page.get_by_role("region", name="Visits", exact=True).get_by_role("listitem").filter(has_text=link["slug"])).to_be_visible()
    routes = [each for each in asked if each.startswith("/api/")]
    prefix = f"/api/workspaces/{team.id}"
    assert [each for each in routes if not each.startswith(prefix) and not OUTSIDE.match(each)] == []
    for route in ("/live", "/links", "/stats/summary", "/members", "/audit"):
        assert any(each.startswith(prefix + route) for each in routes), route


def test_nobody_learns_of_a_workspace_of_others(team, enter, user):
    window = enter(user)
    for number in (team.id, 999_999_999):
        window.goto(f"/w/{number}/links")
        expect(window.page.get_by_role("heading", level=1)).to_have_text("No such workspace")
    window.page.get_by_role("main").get_by_role("link", name="Workspaces").click()
    window.page.get_by_role("link", name="Personal").click()
    expect(window.page.get_by_role("heading", level=1)).to_have_text("Links")


def test_the_pages_of_a_team_are_accessible_and_nothing_is_cut_off(team, enter, browser):
    team.call("PATCH", "", {"name": "The rather long name of a workspace of several companies"})
    for number in range(3):
        link = team.create(who=team.editor, title=f"Link {number}", tags=["spring"])
    team.call("DELETE", f"/links/{link['id']}")
    invited = unique_email()
    address = "/invitation#" + team.invite(invited, "editor").partition("#")[2]
    windows = [(enter(team.owner, color_scheme="light"), [f"/w/{team.id}{path}" for path in ("/links", "/links?state=deleted", "/members", "/workspace", "/audit")] + ["/workspaces", address])]
    guest = browser.open(color_scheme="light")
    windows.append((guest, [address]))
    for window, paths in windows:
        for path in paths:
            window.goto("/start")
            window.goto(path)
            window.settle()
            name = f"/team{path.partition('#')[0].removeprefix(f'/w/{team.id}')}{'-guest' if window is guest else ''}"
            picture(window, name, "light-wide")
            assert window.violations() == [], path
            window.page.emulate_media(color_scheme="dark")
            assert window.violations(COLOR_RULES) == [], path
            window.resize(*PHONE)
            picture(window, name, "dark-phone")
            assert (window.overflow() <= 0, window.cut_off()) == (True, []), path
            window.resize(*WIDE)
            window.page.emulate_media(color_scheme="light")
    guest.close()
