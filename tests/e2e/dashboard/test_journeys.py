"""Links and accounts as their owners use them in the dashboard: in Chromium, on the real services."""

import base64
import json
import re
import time
import urllib.parse

import pytest
from clients import Api, totp, unique_email
from waiting import wait_until

from dashboard.addresses import BERLIN, GOOGLE
from dashboard.browser import PASSWORD, expect
from dashboard.test_pages import PHONE, WIDE


def row(page, slug):
    return page.get_by_role("row").filter(has=page.get_by_role("link", name=slug))


def restore_button(page, slug):
    return page.get_by_role("button", name=re.compile(f"^Restore .*{slug}"))


def act(page, slug, action):
    row(page, slug).get_by_role("button", name="Actions for").click()
    page.get_by_role("menuitem", name=action).click()


def test_a_new_user_creates_a_link_and_sees_its_visits_without_reloading(window, visitor):
    page = window.page
    window.register(unique_email())
    page.get_by_role("link", name="Links", exact=True).click()
    page.get_by_role("button", name="Create link").first.click()
    page.get_by_label("Destination", exact=True).fill("example.com/landing")
    page.get_by_label("Title", exact=True).fill("Landing page")
    page.get_by_label("Tags", exact=True).fill("spring,")
    page.get_by_role("dialog").get_by_role("button", name="Create link").click()
    created = page.get_by_role("row").filter(has_text="Landing page")
    expect(created).to_contain_text("spring")
    slug = created.get_by_role("link").inner_text().rsplit("/", 1)[-1]
    assert visitor.follow(slug).headers["location"] == "https://example.com/landing"
    expect(created.get_by_role("cell").nth(3)).to_have_text("1")
    created.get_by_role("link").click()
    expect(page.locator(".metric-count").first).to_have_text("1")
    visitor.follow(slug)
    expect(page.locator(".metric-count").first).to_have_text("2")


def test_a_link_is_edited_disabled_and_deleted_and_each_can_be_undone(page, window, user, visitor):
    link = user.create()
    slug = link["slug"]
    visitor.follow(slug)
    user.wait_for_visits(link["id"], 1)
    window.goto("/links")
    act(page, slug, "Edit")
    page.get_by_label("Title", exact=True).fill("New title")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(row(page, slug)).to_contain_text("New title")
    act(page, slug, "Disable")
    expect(row(page, slug)).to_contain_text("Disabled")
    wait_until(lambda: visitor.follow(slug).status == 404, "the link to be disabled")
    page.get_by_role("button", name="Undo").click()
    expect(row(page, slug)).not_to_contain_text("Disabled")
    act(page, slug, "Delete")
    expect(row(page, slug)).to_have_count(0)
    purge = r"Will be purged on \d+ \w+ \d{4}\."
    expect(page.get_by_role("status")).to_contain_text(re.compile(f"/{slug} deleted\\. {purge}"))
    expect(page.get_by_role("row").filter(has_text=slug)).to_contain_text(re.compile(purge))
    expect(page.get_by_role("row").filter(has_text=slug).locator(".days .number, .number.strong")).to_have_text(["1", "1"])
    restore_button(page, slug).click()
    expect(row(page, slug)).to_have_count(1)
    act(page, slug, "Delete")
    page.get_by_role("button", name="Undo").click()
    expect(row(page, slug)).to_have_count(1)
    expect(page.get_by_role("status").filter(has_text=f"/{slug} restored.")).to_be_visible()
    wait_until(lambda: visitor.follow(slug).status == 302, "the link to be restored")
    row(page, slug).get_by_role("link", name=slug).click()
    page.get_by_text("Changes of the link").click()
    changes = page.locator(".history tbody tr td:nth-child(2)")
    expect(changes).to_have_text(["Restored", "Deleted", "Restored", "Deleted", "Enabled", "Disabled", "ChangedTitle: – → New title", "Created"])
    expect(page.locator(".history tbody tr").first).to_contain_text("You")
    assert window.violations() == []


def test_a_link_that_is_deleted_on_its_page_stays_there_to_be_restored(page, window, user):
    link = user.create(title="<img src=x onerror=alert(1)>")
    window.goto(f"/links/{link['id']}")
    page.get_by_role("button", name="Actions for").click()
    page.get_by_role("menuitem", name="Delete").click()
    expect(page.locator(".link-head.is-deleted")).to_contain_text("Will be purged on")
    expect(page.get_by_role("button", name="Edit")).to_have_count(0)
    assert window.violations() == []
    restore_button(page, link["slug"]).click()
    expect(page.get_by_role("button", name="Edit")).to_be_visible()
    assert user.call("GET", f"/api/links/{link['id']}").json["link"]["state"] == "active"


def saved_url(page, user, before):
    """The destination of the only link once it is no longer the one before."""
    urls = lambda: [link["original_url"] for link in user.call("GET", "/api/links").json["links"]]  # noqa: E731
    wait_until(lambda: urls() not in ([], [before]), "the link to be saved")
    expect(page.get_by_role("dialog")).to_have_count(0)
    return urls()[0]


def test_campaign_parameters_stay_whatever_is_typed_first(page, window, user):
    window.goto("/links?edit=new")
    page.get_by_text("Campaign parameters").click()
    page.get_by_label("UTM source", exact=True).press_sequentially("letter")
    page.get_by_label("Destination", exact=True).fill("example.com/spring?a=1#top")
    page.get_by_label("Medium", exact=True).press_sequentially("mail")
    page.get_by_role("dialog").get_by_role("button", name="Create link").click()
    first = "https://example.com/spring?a=1&utm_source=letter&utm_medium=mail#top"
    assert saved_url(page, user, None) == first
    # Another page keeps them, also if Enter is pressed in the field.
    slug = user.call("GET", "/api/links").json["links"][0]["slug"]
    act(page, slug, "Edit")
    page.get_by_label("Destination", exact=True).fill("https://example.com/summer")
    page.get_by_label("Destination", exact=True).press("Enter")
    second = "https://example.com/summer?utm_source=letter&utm_medium=mail"
    assert saved_url(page, user, first) == second
    # On the same page, what is taken out of the address is gone.
    act(page, slug, "Edit")
    page.get_by_label("Destination", exact=True).fill("https://example.com/summer?utm_source=poster")
    page.get_by_label("Title", exact=True).fill("Poster")
    page.get_by_text("Campaign parameters").click()
    expect(page.get_by_label("UTM source", exact=True)).to_have_value("poster")
    expect(page.get_by_label("Medium", exact=True)).to_have_value("")
    page.get_by_role("button", name="Save", exact=True).click()
    assert saved_url(page, user, second) == "https://example.com/summer?utm_source=poster"


def test_a_template_fills_in_campaign_parameters_and_keeps_what_was_typed(page, window, user):
    window.goto("/links?edit=new")
    form = page.get_by_role("dialog")
    form.get_by_text("Campaign parameters").click()
    field = lambda name: form.get_by_label(name, exact=True)
    expect(form.get_by_role("button", name="Save template")).to_be_disabled()
    field("UTM source").fill("letter & more")
    field("Medium").fill("mail")
    field("New template").fill("Letter")
    field("New template").press("Enter")
    expect(field("Template")).to_have_value("Letter")
    assert user.call("GET", "/api/utm-templates").json["templates"] == [{"name": "Letter", "utm_source": "letter & more", "utm_medium": "mail", "utm_campaign": "", "utm_term": "", "utm_content": ""}]
    assert window.violations() == []
    field("UTM source").fill("poster")
    field("Campaign").fill("spring")
    field("Destination").fill("https://bücher.example/?utm_source=a&x=1&utm_source=b#grün")
    field("Template").select_option("Letter")
    expect(field("Destination")).to_have_value("https://bücher.example/?x=1&utm_campaign=spring&utm_source=letter%20%26%20more&utm_medium=mail#grün")
    field("Campaign").fill("")
    form.get_by_role("button", name="Delete template").click()
    expect(field("Template")).to_have_count(0)
    assert user.call("GET", "/api/utm-templates").json["templates"] == []
    # It can be saved again at once.
    form.get_by_role("button", name="Save template").click()
    expect(field("Template")).to_have_value("Letter")


def test_an_edit_is_undone_and_never_something_before_it(page, window, user):
    link, other = user.create("https://example.com/first", title="First"), user.create("https://www.example.com/other")
    window.goto("/links")
    expect(row(page, other["slug"])).to_contain_text("www.example.com/other")
    act(page, other["slug"], "Disable")
    expect(row(page, other["slug"])).to_contain_text("Disabled")
    act(page, link["slug"], "Edit")
    page.get_by_label("Destination", exact=True).fill("https://example.com/wrong")
    page.get_by_text("Start, end and limit").click()
    page.get_by_label("Ends", exact=True).fill("2099-01-01T10:00")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(row(page, link["slug"])).to_contain_text("example.com/wrong")
    page.keyboard.press("z")
    expect(row(page, link["slug"])).to_contain_text("example.com/first")
    found = user.call("GET", f"/api/links/{link['id']}").json["link"]
    assert (found["original_url"], found["title"], found["expires_at"]) == ("https://example.com/first", "First", None)
    assert user.call("GET", f"/api/links/{other['id']}").json["link"]["state"] == "disabled"


def test_a_file_that_excel_saved_keeps_its_letters(page, window, user):
    window.goto("/links/bulk")
    expect(page.get_by_text("deleted with its statistics later")).to_be_visible()
    content = "original_url;title\r\nhttps://example.com/größe;Größe für Äpfel – 5 €\r\n"
    for encoding in ("cp1252", "utf-8", "utf-8-sig", "utf-16"):
        page.get_by_label("Choose a file").set_input_files({"name": f"{encoding}.csv", "mimeType": "text/csv", "buffer": content.encode(encoding)})
        expect(page.get_by_role("row").filter(has_text="Größe für Äpfel – 5 €")).to_contain_text("größe")
        page.get_by_label("Addresses").fill("")
        expect(page.get_by_role("row").filter(has_text="Größe")).to_have_count(0)


@pytest.mark.parametrize(
    "locale, lines, create, created",
    [
        ("de-DE", "Tags;Ziel;Endet;Kurzname;Notizen\nmai;example.com/mai;31.12.2099;{slug};Bitte prüfen", "1 Link erstellen", "1 Link erstellt."),
        ("fr-FR", "Étiquettes;Destination;Fin;Nom court;Notes\nmai;example.com/mai;31/12/2099;{slug};Bitte prüfen", "Créer 1 lien", "1 lien créé."),
    ],
)
def test_columns_may_have_the_names_that_the_page_shows(browser, user, locale, lines, create, created):
    window = browser.open(locale=locale)
    window.login(user.email)
    window.goto("/links/bulk")
    window.page.get_by_role("textbox").first.fill(lines.format(slug=user.email.partition("@")[0][-20:]))
    window.page.get_by_role("button", name=create).click()
    expect(window.page.get_by_text(created)).to_be_visible()
    (link,) = user.call("GET", "/api/links").json["links"]
    shown = (link["tags"], link["original_url"], link["expires_at"], link["notes"])
    assert shown == (["mai"], "https://example.com/mai", "2099-12-31T22:59:59.000Z", "Bitte prüfen")
    window.close()


def test_a_link_is_scheduled_with_notes_and_started(page, window, user, visitor):
    window.goto("/links")
    page.get_by_role("button", name="Create link").first.click()
    page.get_by_label("Destination", exact=True).fill("example.com/campaign")
    page.locator("summary", has_text="Notes").click()
    page.get_by_label("Notes", exact=True).fill("Ordered by Kim.\nBudget: 1,000")
    page.get_by_text("Start, end and limit").click()
    page.get_by_label("Starts", exact=True).fill("2099-06-01T08:00")
    page.get_by_label("Ends", exact=True).fill("2099-05-01T08:00")
    create = page.get_by_role("dialog").get_by_role("button", name="Create link")
    create.click()
    expect(page.get_by_role("dialog")).to_contain_text("The start must be before the end.")
    expect(page.locator(".request-id")).to_have_count(0)
    page.get_by_label("Ends", exact=True).fill("2099-07-01T08:00")
    create.click()
    created = page.get_by_role("row").filter(has_text="campaign")
    expect(created).to_contain_text("Starts 1 Jun 2099, 08:00")
    expect(created).to_contain_text("Scheduled")
    slug = created.get_by_role("link").inner_text().rsplit("/", 1)[-1]
    assert visitor.follow(slug).status == 404
    window.goto("/links?state=scheduled")
    row(page, slug).get_by_role("link", name=slug).click()
    expect(page.locator(".link-head")).to_contain_text("Budget: 1,000")
    expect(page.locator(".link-head")).to_contain_text("Starts 1 Jun 2099, 08:00 (Europe/Berlin)")
    expect(page.locator(".link-head")).to_contain_text("Ends 1 Jul 2099, 08:00 (Europe/Berlin)")
    page.get_by_role("button", name="Actions for").click()
    page.get_by_role("menuitem", name="Edit").click()
    page.locator("summary", has_text="Notes").click()
    expect(page.get_by_label("Notes", exact=True)).to_have_value("Ordered by Kim.\nBudget: 1,000")
    page.locator("summary", has_text="Start, end and limit").click()
    page.get_by_label("Starts", exact=True).fill("")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".link-head")).not_to_contain_text("Scheduled")
    wait_until(lambda: visitor.follow(slug).status == 302, "the link to start")


def test_a_form_asks_before_it_discards_changes(page, window, user):
    window.goto("/links?edit=new")
    form = page.get_by_role("dialog", name="New link")
    question = page.get_by_role("dialog", name="Discard changes?")
    destination = page.get_by_label("Destination", exact=True)
    expect(destination).to_be_focused()
    page.keyboard.press("Escape")
    expect(form).to_have_count(0)
    window.goto("/links?edit=new")
    destination.fill("https://example.com/long-work")
    # Chromium lets a page prevent only the first of several Escapes.
    for _ in range(3):
        page.keyboard.press("Escape")
        expect(question).to_be_visible()
        page.keyboard.press("Escape")
        expect(question).to_have_count(0)
        expect(destination).to_have_value("https://example.com/long-work")
    assert window.violations() == []
    for leave in ("Close", "Cancel"):
        form.get_by_role("button", name=leave).click()
        expect(question).to_be_visible()
        assert window.violations() == []
        window.press("Keep editing")
        expect(question).to_have_count(0)
        expect(form.get_by_role("button", name=leave)).to_be_focused()
    destination.focus()
    page.keyboard.press("Escape")
    window.press("Discard")
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert user.call("GET", "/api/links").json["links"] == []


def test_the_focus_returns_to_where_it_was_before_a_form(page, window, user):
    slug = user.create()["slug"]
    window.goto("/links")
    window.settle()
    opened = row(page, slug).get_by_role("link", name=slug)
    title = page.get_by_label("Title", exact=True)

    def leave_unchanged():
        page.keyboard.press("Escape")

    def discard():
        page.keyboard.type("https://example.com/unfinished")
        page.keyboard.press("Escape")
        page.get_by_role("button", name="Discard").click()

    def create():
        page.keyboard.type("https://example.com/finished")
        page.keyboard.press("Enter")

    for leave in (leave_unchanged, discard, create):
        opened.focus()
        page.keyboard.press("c")
        expect(page.get_by_label("Destination", exact=True)).to_be_focused()
        leave()
        expect(page.get_by_role("dialog")).to_have_count(0)
        expect(opened).to_be_focused()
    act(page, slug, "Edit")
    title.fill("Unfinished")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Discard").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(row(page, slug).get_by_role("button", name="Actions for")).to_be_focused()
    # From another page, and back to it.
    window.goto("/tags")
    page.keyboard.press("c")
    expect(page.get_by_label("Destination", exact=True)).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("heading", level=1)).to_have_text("Tags")
    page.keyboard.press("c")
    expect(page.get_by_label("Destination", exact=True)).to_be_focused()
    create()
    expect(page.get_by_role("row").filter(has_text="finished")).to_have_count(2)
    expect(page).to_have_url(re.compile(r"/links$"))


def test_the_focus_goes_to_a_new_link_and_to_the_neighbour_of_a_deleted_one(page, window, user):
    first, second, third = (user.create()["slug"] for _ in range(3))
    name = lambda slug: row(page, slug).get_by_role("link", name=slug)  # noqa: E731
    window.goto("/links")
    window.settle()
    window.choose(f"Actions for .*{second}", -1)
    expect(restore_button(page, second)).to_be_focused()
    window.choose(f"Actions for .*{first}", -1)
    expect(restore_button(page, first)).to_be_focused()
    page.get_by_role("button", name="Undo").press("Enter")
    expect(name(first)).to_be_focused()
    page.get_by_label("Select this page").check()
    window.press("Delete")
    expect(restore_button(page, "")).to_have_count(3)
    expect(restore_button(page, third)).to_be_focused()
    page.get_by_role("button", name="Create link").press("Enter")
    expect(page.get_by_label("Destination", exact=True)).to_be_focused()
    page.keyboard.type("https://example.com/new")
    page.keyboard.press("Enter")
    expect(page.get_by_role("row").filter(has_text="example.com/new")).to_have_count(1)
    expect(page.get_by_role("button", name="Create link")).to_be_focused()


def test_the_same_works_by_keyboard_alone(page, window, user):
    window.goto("/links")
    window.settle()
    keys = page.keyboard
    keys.press("c")
    expect(page.get_by_label("Destination", exact=True)).to_be_focused()
    keys.type("https://example.com/by-keyboard")
    keys.press("Enter")
    created = page.get_by_role("row").filter(has_text="by-keyboard")
    expect(created).to_have_count(1)
    expect(page.get_by_role("dialog")).to_have_count(0)
    keys.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()
    keys.type("keyboard")
    expect(page).to_have_url(re.compile(r"q=keyboard"))
    window.choose("Actions for .*", 0)
    window.tab_to("Title")
    keys.type("No mouse")
    keys.press("Enter")
    expect(created).to_contain_text("No mouse")
    window.choose("Actions for .*", 3)
    expect(created).to_contain_text("Disabled")
    keys.press("z")
    expect(created).not_to_contain_text("Disabled")
    window.choose("Actions for .*", -1)
    expect(restore_button(page, "")).to_be_focused()
    expect(page.get_by_role("status")).to_contain_text("Undo")
    keys.press("z")
    expect(restore_button(page, "")).to_have_count(0)
    expect(created).to_have_count(1)
    keys.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("Keyboard shortcuts")
    keys.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_a_visitor_makes_links_registers_and_creates_several_by_keyboard_alone(window):
    page, keys = window.page, window.page.keyboard
    window.goto("/start")
    window.tab_to("Destination")
    keys.type("https://example.com/temporary")
    keys.press("Enter")
    expect(page.get_by_role("img", name="QR code")).to_be_visible()
    window.press("Keep them: create an account")
    window.tab_to("E-mail address")
    keys.type(unique_email())
    window.tab_to("Password")
    keys.type(PASSWORD)
    keys.press("Enter")
    expect(page.get_by_text("1 link is yours now.")).to_be_visible()
    window.press("Links")
    expect(page.locator("tbody tr")).to_have_count(1)
    window.press("Import")
    window.tab_to(".*addresses")
    keys.type("https://example.com/one")
    keys.press("Enter")
    keys.type("https://example.com/two")
    window.press("Create 2 links")
    expect(page.get_by_text("2 links created.")).to_be_visible()
    window.press("Show links")
    expect(page.locator("tbody tr")).to_have_count(3)
    window.tab_to("Select this page")
    keys.press("Space")
    window.press("Delete")
    expect(restore_button(page, "")).to_have_count(3)
    keys.press("z")
    expect(restore_button(page, "")).to_have_count(0)
    expect(page.locator("tbody tr")).to_have_count(3)


def test_statistics_are_filtered_and_shared_by_keyboard_alone(page, window, user, visitor):
    link = user.create()
    for address in (BERLIN, GOOGLE):
        visitor.follow(link["slug"], address=address)
    user.wait_for_visits(link["id"], 2)
    window.goto("/links")
    expect(page.locator("tbody tr")).to_have_count(1)
    window.press(re.escape(link["short_url"].partition("//")[2]))
    expect(page.locator(".metric-count").first).to_have_text("2")
    window.settle()
    # The table beside the map: its countries are buttons.
    window.press("Germany")
    expect(page.locator(".metric-count").first).to_have_text("1")
    window.press("Changes of the link")
    expect(page.locator(".history tbody tr")).to_have_count(1)
    window.press("Share")
    expect(page.get_by_role("dialog").get_by_label("Title", exact=True)).to_be_focused()
    page.keyboard.type("For the board")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_contain_text("Whoever has it sees these statistics.")
    window.press("Done")
    window.press("Shares")
    expect(page.get_by_role("row").filter(has_text="For the board")).to_have_count(1)
    window.choose("Actions for For the board", -1)
    window.press("Revoke")
    expect(page.get_by_role("heading", name="Nothing is shared")).to_be_visible()


def test_500_links_come_from_a_csv_file(page, window, user):
    lines = ["Destination;Title;Tags"] + [f"https://example.com/{i};Page {i};many" for i in range(500)] + ["not an address;;"]
    window.goto("/links/bulk")
    page.get_by_label("Choose a file").set_input_files({"name": "links.csv", "mimeType": "text/csv", "buffer": "\r\n".join(lines).encode()})
    expect(page.get_by_role("listitem").filter(has_text="Line 502")).to_contain_text("Not a web address")
    expect(page.get_by_text("and 450 more lines")).to_be_visible()
    expect(page.get_by_text("1 line has an error and is left out.")).to_be_visible()
    page.get_by_role("button", name="Create 500 links").click()
    expect(page.get_by_text("500 links created.")).to_be_visible()
    assert user.call("GET", "/api/links?tag=many&limit=1").json["pagination"]["total"] == 500


def test_an_import_goes_on_after_the_window_was_closed_and_makes_nothing_twice(page, window, user):
    window.goto("/links/bulk")
    expect(page.get_by_text("links left for 24 hours.")).to_be_visible()
    lines = ["Destination,Title"] + [f"https://example.com/{i},Page {i}" for i in range(250)]
    page.get_by_label("Addresses").fill("\n".join(lines))
    sent = []

    def answer_late(route):
        """The second hundred is created, but the window does not learn of it."""
        sent.append(route.request.headers["idempotency-key"])
        if len(sent) == 1:
            route.continue_()
            return
        if len(sent) == 2:
            route.fetch()
        route.abort()

    page.route("**/links/bulk", lambda route: answer_late(route) if route.request.method == "POST" else route.continue_())
    page.get_by_role("button", name="Create 250 links").click()
    expect(page.get_by_text("Created: 100 · With errors: 0 · Left: 150")).to_be_visible()
    wait_until(lambda: len(sent) >= 2, "the second request")
    page.close(run_before_unload=False)
    page = window.page = window.context.new_page()
    window.goto("/links/bulk")
    expect(page.get_by_text("Created: 100 · With errors: 0 · Left: 150")).to_be_visible()
    assert window.violations() == []
    page.get_by_role("button", name="Go on").click()
    expect(page.get_by_text("250 links created.")).to_be_visible()
    assert user.call("GET", "/api/links?limit=1").json["pagination"]["total"] == 250
    window.goto("/links/bulk")
    expect(page.get_by_label("Addresses")).to_have_value("")


def test_a_csv_changes_links_that_are_there_after_a_preview_and_is_undone(page, window, user):
    links = [user.create(f"https://example.com/{i}", title=f"T{i}", tags=["old"]) for i in range(4)]
    slugs = [link["slug"] for link in links]
    rows = ["Short link,Destination,Title,Tags,Ends,State,Colour", f"{links[0]['short_url']},example.com/new,,,,,red", f"{slugs[1]},,Other,a|b,2099-12-31,Disabled,", f"{slugs[2]},https://example.com/2,T2,old,,Active,", f"{slugs[0]},,twice,,,,", f"nobody-{slugs[0]},,x,,,,", f"{slugs[3]},,,,,gone,"]
    window.goto("/links/bulk")
    page.get_by_role("button", name="Change links").click()
    page.get_by_label("Addresses").fill("\n".join(rows))
    expect(page.get_by_role("listitem").filter(has_text="Line 5")).to_contain_text("twice in the list")
    expect(page.get_by_role("listitem").filter(has_text="Line 7")).to_contain_text("neither Active nor Disabled")
    expect(page.get_by_text("Left out: Colour")).to_be_visible()
    assert window.violations() == []
    page.get_by_role("button", name="Check changes").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("listitem")).to_contain_text("no link of this workspace")
    expect(dialog.get_by_role("row")).to_have_count(3)
    expect(dialog.get_by_role("row").filter(has_text=slugs[1])).to_contain_text("T1 · old · – · Active")
    expect(dialog.get_by_role("row").filter(has_text=slugs[1])).to_contain_text("Other · a, b · 31 Dec 2099")
    assert window.violations() == []
    dialog.get_by_role("button", name="Change 2 links").click()
    expect(page.get_by_text("2 links changed.")).to_be_visible()
    seen = lambda link: {name: user.call("GET", f"/api/links/{link['id']}").json["link"][name] for name in ("original_url", "title", "tags", "expires_at", "state")}
    assert seen(links[0]) == {"original_url": "https://example.com/new", "title": "T0", "tags": ["old"], "expires_at": None, "state": "active"}
    assert (seen(links[1])["title"], seen(links[1])["tags"], seen(links[1])["state"]) == ("Other", ["a", "b"], "disabled")
    page.get_by_role("button", name="Undo").click()
    wait_until(lambda: [seen(link) for link in links] == [{name: link[name] for name in seen(link)} for link in links], "the changes to be undone")


def test_an_export_that_is_not_understood_is_two_questions(page, window, user):
    slugs = [f"{user.email.partition('@')[0][-16:]}-{i}" for i in range(3)]
    rows = ["Kurz,Web,Expires,Clicks"] + [f"https://s.example/{slug},https://example.com/?ids={i};2,04/05/2099,7" for i, slug in enumerate(slugs)]
    window.goto("/links/bulk")
    page.get_by_label("Addresses").fill("\n".join(rows))
    expect(page.get_by_text("Which column is the destination?")).to_be_visible()
    expect(page.locator(".first-rows")).to_have_text("\n".join(rows[:3]))
    expect(page.get_by_role("listitem").filter(has_text="Line")).to_have_count(0)
    assert window.violations() == []
    page.get_by_label("Which column is the destination?").select_option("Web (https://example.com/?ids=0;2)")
    expect(page.get_by_role("button", name="Create links")).to_be_disabled()
    page.get_by_label("Which day is 04/05/2099?").select_option("4 May 2099")
    expect(page.get_by_text("Visits not imported: Clicks")).to_be_visible()
    expect(page.get_by_text("Left out: Kurz")).to_be_visible()
    page.get_by_role("button", name="Create 3 links").click()
    expect(page.get_by_text("3 links created.")).to_be_visible()
    found = user.call("GET", "/api/links").json["links"]
    assert sorted((link["original_url"], link["expires_at"]) for link in found) == [(f"https://example.com/?ids={i};2", "2099-05-04T21:59:59.000Z") for i in range(3)]


def test_lines_with_errors_are_named_and_can_be_corrected(page, window, user):
    """Fifty lines: one is no address, and the short name of another is taken, which only the server knows."""
    taken = user.create()["slug"]
    lines = [f"https://example.com/{i}" for i in range(50)]
    lines[6], lines[30] = "no address", f"https://example.com/30,{taken}"
    window.goto("/links/bulk")
    expect(page.get_by_role("button", name="Create links")).to_be_disabled()
    page.get_by_label("Addresses").fill("original_url,slug\n" + "\n".join(lines))
    expect(page.get_by_role("listitem").filter(has_text="Line 8 no address")).to_contain_text("Not a web address")
    page.get_by_role("button", name="Create 49 links").click()
    expect(page.get_by_text("48 links created.")).to_be_visible()
    expect(page.get_by_text("Created: 48 · With errors: 2 · Left: 0")).to_be_visible()
    expect(page.get_by_text("2 lines have errors:")).to_be_visible()
    failed = page.get_by_role("region", name="Result").get_by_role("listitem")
    expect(failed).to_have_text([re.compile("^Line 8 .*Not a web address"), re.compile(f"^Line 32 .*{taken}.*Short name: Taken, perhaps by a deleted")])
    page.get_by_role("button", name="Correct 2 lines").click()
    field = page.get_by_label("Addresses")
    expect(field).to_have_value(f"original_url,slug\nno address\nhttps://example.com/30,{taken}")
    field.fill("https://example.com/6\nhttps://example.com/30")
    page.get_by_role("button", name="Create 2 links").click()
    expect(page.get_by_text("2 links created.")).to_be_visible()
    assert user.call("GET", "/api/links?limit=1").json["pagination"]["total"] == 51


def test_several_links_are_tagged_disabled_and_deleted_and_each_can_be_undone(page, window, user):
    links = [user.create(tags=["old", f"own{i}"]) for i in range(3)]
    state = lambda: [(link["state"], link["tags"]) for link in sorted(user.call("GET", "/api/links").json["links"], key=lambda link: link["id"])]  # noqa: E731
    before = state()
    window.goto("/links")
    selection = page.get_by_role("region", name="Selected links")

    def act_on_all(name):
        page.get_by_label("Select this page").check()
        selection.get_by_role("button", name=name).click()

    def undo(text):
        expect(page.get_by_role("status")).to_contain_text(text)
        # A deletion also says until when it can be undone.
        assert "deleted" in text or page.locator(".toast").last.bounding_box()["height"] < 60, "text and buttons stand on one line"
        page.get_by_role("button", name="Undo").click()
        wait_until(lambda: state() == before, "the links to be as they were")

    act_on_all("Tags")
    dialog = page.get_by_role("dialog", name="Tags of 3 links")
    expect(dialog.get_by_label("Add tags")).to_be_focused()
    dialog.get_by_label("Add tags").fill("new")
    dialog.get_by_label("old 3 links").check()
    dialog.get_by_role("button", name="Save", exact=True).click()
    wait_until(lambda: state() == [("active", [f"own{i}", "new"]) for i in range(3)], "the tags to be changed")
    undo("3 links changed.")
    expect(page.get_by_role("status")).to_contain_text("3 links restored.")
    user.call("PATCH", f"/api/links/{links[0]['id']}", {"state": "disabled"})
    before = state()
    expect(row(page, links[0]["slug"])).to_contain_text("Disabled")
    at = row(page, links[0]["slug"]).bounding_box()
    page.get_by_label("Select this page").check()
    expect(selection).to_be_visible()
    assert row(page, links[0]["slug"]).bounding_box() == at
    act_on_all("Disable")
    undo("2 links disabled.")
    act_on_all("Delete")
    undo("3 links deleted.")
    act_on_all("Delete")
    expect(restore_button(page, "")).to_have_count(3)
    expect(page.get_by_label("Select this page")).not_to_be_checked()
    window.pick("Add a filter", "Deleted")
    act_on_all("Restore")
    wait_until(lambda: state() == before, "the links to be restored")
    expect(page.get_by_role("status")).to_contain_text("3 links restored.")
    expect(page.get_by_role("button", name="Undo")).to_have_count(0)


def test_the_end_of_a_link_is_in_the_zone_of_the_account(page, window, user):
    user.call("PATCH", "/api/auth/me", {"tz": "Asia/Tokyo"})
    slug = user.create()["slug"]
    window.goto("/links")
    act(page, slug, "Edit")
    page.get_by_text("Start, end and limit").click()
    expect(page.get_by_text("Time zone: Asia/Tokyo.")).to_have_count(2)
    page.get_by_label("Ends", exact=True).fill("2030-07-01T09:30")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    link = user.call("GET", "/api/links").json["links"][0]
    assert link["expires_at"] == "2030-07-01T00:30:00.000Z"
    act(page, slug, "Edit")
    page.get_by_text("Start, end and limit").click()
    expect(page.get_by_label("Ends", exact=True)).to_have_value("2030-07-01T09:30")


def test_a_temporary_link_is_made_at_once_and_claimed_with_the_account(window):
    page = window.page
    window.goto("/start")
    page.get_by_label("Destination", exact=True).fill("https://example.com/temporary")
    page.get_by_role("button", name="Shorten").click()
    expect(page.get_by_role("img", name="QR code")).to_be_visible()
    slug = page.locator(".newest-url").inner_text().rsplit("/", 1)[-1]
    expect(page.locator(".rows .row")).to_contain_text("in 8 hours")
    page.locator(".shorten input").fill("example")
    page.get_by_role("button", name="Shorten").click()
    expect(page.get_by_role("alert")).to_contain_text("Not a web address")
    expect(page.locator(".newest")).to_have_count(0)
    page.locator(".shorten input").fill("example.c")
    expect(page.get_by_role("alert")).to_have_count(0)
    page.reload()
    expect(page.get_by_role("link", name=slug)).to_be_visible()
    window.register(unique_email(), message="1 link is yours now.")
    window.goto("/links")
    expect(row(page, slug)).to_have_count(1)


def test_a_service_that_fails_is_not_taken_for_a_logout(page, window, user):
    session = "**/api/auth/session"
    page.route(session, lambda route: route.fulfill(status=503, headers={"X-Request-Id": "r-503"}, json={"type": "/problems/temporarily-unavailable", "status": 503}))
    page.goto(f"{window.base}/app/links")
    expect(page.get_by_role("alert")).to_contain_text("The service is unavailable.")
    expect(page.locator(".request-id")).to_have_text("Request r-503")
    assert page.get_by_role("link", name="Log in").count() == 0
    page.unroute(session)
    expect(page.get_by_role("heading", level=1)).to_have_text("Links")


def test_the_frame_of_the_last_visit_stands_until_the_server_has_answered(page, window, user):
    window.goto("/links")
    held, menu = [], page.get_by_role("navigation", name="Main navigation")
    page.route("**/api/workspaces", lambda route: held.append(route))
    page.goto(f"{window.base}/app/statistics")
    expect(menu.get_by_role("link", name="API keys")).to_be_visible()
    expect(page.locator("main .skeleton").first).to_be_visible()
    assert menu.get_by_text("Administration").count() == 0 and page.locator("h1").count() == 0
    for route in held:
        route.abort()
    expect(page.get_by_role("alert")).to_contain_text("No connection to the server.")
    expect(menu.get_by_role("link", name="API keys")).to_be_visible()
    page.unroute_all()
    expect(page.get_by_role("heading", level=1, name="Statistics")).to_be_visible()
    # Whoever comes next sees nothing of it.
    window.log_out()
    expect(page).to_have_url(re.compile("/app/start$"))
    page.route("**/api/auth/session", lambda route: route.abort())
    page.goto(f"{window.base}/app/statistics")
    expect(page.get_by_role("alert")).to_be_visible()
    expect(page.get_by_role("navigation")).to_have_count(0)


def test_a_page_goes_on_by_itself_after_an_outage(page, window, user):
    window.goto("/links")
    keys = re.compile(r"/api/.*/keys$")
    page.route(keys, lambda route: route.fulfill(status=503, json={"type": "/problems/temporarily-unavailable", "status": 503}))
    page.get_by_role("link", name="API keys").click()
    expect(page.get_by_role("alert")).to_contain_text("Retrying …")
    page.unroute(keys)
    expect(page.get_by_role("heading", name="No API keys yet")).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)


def test_a_key_is_made_changed_and_gets_a_new_secret(page, window, user):
    window.goto("/keys")
    page.get_by_role("button", name="Create API key").first.click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name", exact=True).fill("Nightly report")
    dialog.get_by_label("Read single visits").check()
    dialog.get_by_label("Only links with these tags").fill("spring")
    dialog.get_by_label("Only links with these tags").press("Enter")
    expect(dialog.get_by_role("group", name="Instance")).to_have_count(0)
    dialog.get_by_role("button", name="Create API key").click()
    first = Api(user.base)
    first.token = page.locator(".secret").text_content()
    dialog.get_by_role("button", name="Done").click()
    line = page.get_by_role("row").filter(has_text="Nightly report")
    expect(line).to_contain_text("Read single visits")
    expect(line).to_contain_text("spring")

    line.get_by_role("button", name="Actions for Nightly report").click()
    page.get_by_role("menuitem", name="New secret").click()
    dialog.get_by_role("button", name="New secret").click()
    second = Api(user.base)
    second.token = page.locator(".secret").text_content()
    dialog.get_by_role("button", name="Done").click()
    expect(line).to_contain_text("The old key works until")
    assert first.token != second.token and [each.call("GET", "/api/visits").status for each in (first, second)] == [200, 200]

    line.get_by_role("button", name="Actions for Nightly report").click()
    page.get_by_role("menuitem", name="Change").click()
    dialog.get_by_label("Read single visits").uncheck()
    dialog.get_by_role("button", name="Save").click()
    expect(line).not_to_contain_text("Read single visits")
    assert second.call("GET", "/api/visits").status == 403

    line.get_by_role("button", name="Actions for Nightly report").click()
    page.get_by_role("menuitem", name="Revoke").click()
    dialog.get_by_role("button", name="Revoke").click()
    expect(page.get_by_role("heading", name="No API keys yet")).to_be_visible()
    assert second.call("GET", "/api/links").status == 401


def test_a_bulk_takes_dates_and_tags_for_all_and_shows_them_before(page, window, user):
    window.goto("/links/bulk")
    page.get_by_role("textbox").first.fill("original_url,expires_at,tags\nhttps://example.com/until,2099-12-31,mail")
    page.get_by_label("Tags for all").fill("mail,spring")
    page.get_by_label("Tags for all").press("Enter")
    expect(page.get_by_role("row").last).to_contain_text("2099")
    expect(page.get_by_role("row").last).to_contain_text("mail, spring")
    page.get_by_role("button", name="Create 1 link").click()
    wait_until(lambda: [(link["expires_at"], link["tags"]) for link in user.call("GET", "/api/links").json["links"]] == [("2099-12-31T22:59:59.000Z", ["mail", "spring"])], "the link and its end")


def test_sessions_are_revoked_only_after_a_question_and_equal_ones_together(page, window, browser, user):
    others = [browser.open(user_agent=agent) for agent in (None, None, "Mozilla/5.0 (Windows NT 10.0) Firefox/140.0")]
    for other in others:
        other.login(user.email)
    sessions = lambda: len(user.call("GET", "/api/auth/sessions").json["sessions"])  # noqa: E731
    window.goto("/account")
    rows = page.get_by_role("listitem").filter(has_text="Last used")
    expect(rows).to_have_count(3)
    expect(rows.first).to_contain_text("This browser")
    expect(rows.filter(has_text="2 logins")).to_contain_text("Chrome")
    for button, answer, left in (("Revoke Chrome", "Cancel", 4), ("Revoke Chrome", "Revoke", 2)):
        page.get_by_role("button", name=button).press("Enter")
        page.get_by_role("dialog").get_by_role("button", name=answer, exact=True).press("Enter")
        expect(page.get_by_role("dialog")).to_have_count(0)
        wait_until(lambda left=left: sessions() == left, "the sessions")
    expect(page.get_by_role("button", name="Log out all others")).to_have_count(0)
    others[0].login(user.email)
    page.reload()
    page.get_by_role("button", name="Log out all others").click()
    page.get_by_role("dialog").get_by_role("button", name="Log out all others").click()
    wait_until(lambda: sessions() == 1, "the sessions")
    for other in others:
        other.close()


def test_a_second_factor_is_set_up_and_asked_for_at_the_next_login(page, window, user):
    window.goto("/account")
    card = page.locator("section").filter(has=page.get_by_role("heading", name="Second factor"))
    # As the server answers a login of more than ten minutes ago.
    too_old = json.dumps({"type": "/problems/wrong-password", "title": "Wrong password", "status": 403})
    page.route("**/auth/second-factor", lambda route: route.fulfill(status=403, content_type="application/problem+json", body=too_old) if route.request.method == "POST" else route.continue_())
    card.get_by_role("button", name="Set up").press("Enter")
    expect(card.get_by_label("Current password")).to_be_focused()
    expect(card.get_by_label("Current password")).to_have_accessible_description("You logged in a while ago. Enter your password to go on.")
    page.unroute_all()
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Enter")
    code = card.get_by_label("Code", exact=True)
    code.fill("000000")
    card.get_by_role("button", name="Turn on").press("Enter")
    expect(card.get_by_text("Wrong, old or used code.")).to_have_count(1)
    assert card.get_by_role("link", name="Open in your app", include_hidden=True).get_attribute("href").startswith("otpauth://totp/")
    assert window.violations() == [] and window.cut_off() == []
    # A phone has the app: its link comes before what another device scans.
    window.resize(*PHONE)
    assert card.get_by_role("link", name="Open in your app").bounding_box()["y"] < card.locator(".qr-preview").bounding_box()["y"]
    window.resize(*WIDE)
    secret = base64.b32decode(card.locator("p.mono").inner_text().replace(" ", ""))
    # The app that has scanned it is right after a reload too.
    page.reload()
    card.get_by_role("button", name="Set up").press("Enter")
    code.fill(totp(secret, int(time.time()) // 30))
    code.press("Enter")
    codes = card.locator("pre").inner_text().split()
    assert len(codes) == 10 and window.violations() == []
    # They are not shown again, so leaving asks.
    page.get_by_role("link", name="Tags").first.click()
    question = page.get_by_role("dialog", name="Have you kept the recovery codes?")
    question.get_by_role("button", name="Cancel").click()
    assert card.locator("pre").inner_text().split() == codes
    card.get_by_role("button", name="I have kept them").press("Enter")
    expect(card).to_contain_text("10 recovery codes are left.")
    window.log_out()
    window.goto("/login")
    page.get_by_label("E-mail address", exact=True).fill(user.email)
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_label("Password", exact=True).press("Enter")
    expect(page.get_by_label("Code", exact=True)).to_be_focused()
    assert window.violations() == []
    page.keyboard.type(codes[0])
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1, name="Links")).to_be_visible()


def test_a_menu_at_the_foot_of_the_window_opens_upwards(page, window, user):
    for _ in range(6):
        user.create()
    window.resize(1280, 460)
    window.goto("/links")
    page.get_by_role("button", name="Actions for").last.click()
    menu = page.get_by_role("menu").bounding_box()
    assert menu["y"] >= 0 and menu["y"] + menu["height"] <= 460


def test_logging_out_ends_the_session(page, window, user):
    window.goto("/links")
    window.log_out()
    expect(page.get_by_role("link", name="Log in")).to_be_visible()
    expect(page).to_have_url(f"{window.base}/app/start")
    assert page.evaluate("document.cookie") == ""
    window.goto("/links")
    expect(page.get_by_role("heading", level=1)).to_have_text("Welcome back")


def test_what_a_message_offers_to_undo_ends_with_its_time_and_with_the_session(page, window, user):
    link = user.create()
    page.clock.install()
    window.goto("/links")
    act(page, link["slug"], "Disable")
    undo = page.locator(".toast-undo")
    expect(undo).to_be_visible()
    undo.hover()
    page.clock.fast_forward(60_000)
    expect(undo).to_be_visible()
    page.mouse.move(1, 1)
    page.clock.fast_forward(2_000)
    expect(undo).to_have_count(0)
    act(page, link["slug"], "Enable")
    expect(undo).to_be_visible()
    window.log_out()
    expect(page.get_by_role("link", name="Log in")).to_be_visible()
    expect(undo).to_have_count(0)


@pytest.mark.parametrize("next_page", ["/start", "/login", "/register?next=%2Fstart", "/reset", "//evil.example/"])
def test_a_login_never_leads_to_a_page_of_guests(window, user, next_page):
    window.page.goto(f"{window.base}/app/login?next={urllib.parse.quote(next_page)}")
    window.login(user.email)
    window.page.reload()
    expect(window.page.get_by_role("heading", level=1)).to_have_text("Links")
    expect(window.page).to_have_url(re.compile(r"/app/w/\d+/(links)?$"))


def menu_of(page, tag, action):
    page.get_by_role("button", name=f"Actions for {tag}", exact=True).click()
    page.get_by_role("menuitem", name=action, exact=True).click()


def test_tags_are_colored_renamed_merged_and_deleted(page, window, user, visitor):
    window.goto("/tags")
    expect(page.get_by_text("No tags yet")).to_be_visible()
    links = [user.create(tags=["sprnig"]), user.create(tags=["spring", "mail"]), user.create(tags=["mail"])]
    visitor.follow(links[0]["slug"])
    user.wait_for_visits(links[0]["id"], 1)
    window.goto("/tags?sort=visits")
    expect(page.locator("tbody .tag-dot")).to_have_text(["sprnig", "mail", "spring"])
    page.get_by_label("Colour of mail").fill("#204080")
    expect(page.get_by_text("mail has a new colour.")).to_be_visible()
    expect(page.get_by_role("button", name="Undo")).to_be_visible()
    expect(page.get_by_role("link", name="mail", exact=True).locator(".dot")).to_have_css("background-color", "rgb(32, 64, 128)")

    menu_of(page, "sprnig", "Merge")
    page.get_by_label("Into the tag").select_option("spring")
    expect(page.get_by_role("dialog")).to_contain_text("1 link gets spring, and sprnig disappears. This cannot be undone.")
    page.get_by_role("button", name="Merge tags").click()
    expect(page.get_by_role("row").filter(has_text="spring")).to_contain_text("2")
    # The merge was the last change.
    expect(page.get_by_role("button", name="Undo")).to_have_count(0)
    expect(page.locator("tbody .tag-dot")).to_have_text(["spring", "mail"])

    # Renaming to the name of another tag says that it merges, before it does.
    menu_of(page, "mail", "Rename")
    page.get_by_label("Name", exact=True).fill("spring")
    expect(page.get_by_role("dialog")).to_contain_text("2 links get spring, and mail disappears.")
    page.get_by_label("Name", exact=True).press("Enter")
    expect(page.get_by_role("dialog", name="Merge tags")).to_contain_text("2 links get spring, and mail disappears.")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(1)
    assert [tag["name"] for tag in user.call("GET", "/api/tags").json["tags"]] == ["mail", "spring"]
    page.get_by_label("Name", exact=True).fill("letter")
    page.get_by_label("Name", exact=True).press("Enter")
    expect(page.get_by_text("mail is now letter; 2 links changed.")).to_be_visible()

    window.goto("/links")
    expect(page.get_by_role("button", name="letter", exact=True).first.locator(".dot")).to_have_css("background-color", "rgb(32, 64, 128)")
    window.goto(f"/links/{links[1]['id']}")
    expect(page.get_by_role("link", name="letter", exact=True).locator(".dot")).to_have_css("background-color", "rgb(32, 64, 128)")
    page.get_by_role("link", name="spring", exact=True).click()
    expect(page).to_have_url(re.compile(r"/app/w/\d+/statistics\?tag=spring"))
    expect(page.get_by_role("heading", level=1)).to_have_text("Tag: spring")

    window.goto("/tags?q=letter")
    expect(page.locator("tbody .tag-dot")).to_have_text(["letter"])
    menu_of(page, "letter", "Delete")
    expect(page.get_by_role("dialog")).to_contain_text("2 links lose it, and stay.")
    page.get_by_role("button", name="Remove tag").press("Enter")
    expect(page.get_by_text("No tag matches")).to_be_visible()
    assert [tag["name"] for tag in user.call("GET", "/api/tags").json["tags"]] == ["spring"]
