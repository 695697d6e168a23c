"""Nothing that somebody typed is lost, and what people do most is quick: in Chromium, on the real services."""

import io
import re
import secrets

import pytest
from clients import Api, unique_email
from PIL import Image
from qr_reader import scan
from waiting import wait_until

from dashboard.browser import PASSWORD, expect
from dashboard.test_journeys import act, row
from dashboard.test_workspaces import act as act_on


@pytest.fixture
def form(page, window):
    window.goto("/links?edit=new")
    return page.get_by_role("dialog", name="New link")


def drafts(page):
    return page.evaluate("localStorage['waymark.drafts'] ?? ''")


def end_session(window):
    window.context.clear_cookies()


def test_an_address_is_shortened_and_copied_from_anywhere(page, window, user):
    window.goto("/tags")
    window.settle()
    page.keyboard.press("Control+k")
    field = page.get_by_role("combobox", name="Find or shorten")
    expect(field).to_be_focused()
    page.keyboard.insert_text("example.com/gr%C3%BCn/page")
    expect(page.get_by_role("option").first).to_have_text(re.compile("^Shorten example.com/grün/page"))
    assert window.violations() == []
    page.keyboard.press("Enter")
    expect(page.get_by_role("img", name="QR code")).to_be_visible()
    (link,) = user.call("GET", "/api/links").json["links"]
    assert link["original_url"] == "https://example.com/gr%C3%BCn/page"
    assert page.evaluate("navigator.clipboard.readText()") == link["short_url"]
    assert window.violations() == []
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_have_count(0)
    # The same box finds the link, a page and nothing.
    for typed, shown in ((link["slug"], link["slug"]), ("api k", "API keys")):
        page.keyboard.press("Control+k")
        page.keyboard.type(typed)
        expect(page.get_by_role("option").first).to_contain_text(shown)
        page.keyboard.press("Escape")
    for typed, said in (("zzz zzz", "Nothing matches"), ("ftp://example.com/x", "Not a web address"), ("javascript:1", "Not a web address"), ("mailto:a@b.example", "Not a web address")):
        page.keyboard.press("Control+k")
        page.keyboard.type(typed)
        expect(page.get_by_role("dialog")).to_contain_text(said)
        page.keyboard.press("Escape")


def test_the_box_shows_slugs_that_begin_with_the_words_first_and_destinations_last(page, window, user):
    word = f"w{secrets.token_hex(4)}"
    slugs = [word, f"{word}-b", f"a-{word}"]
    for slug in (slugs[1], slugs[0], slugs[2]):
        user.create(slug=slug)
    # So many newer ones lead there that the newest alone would hide the others.
    for i in range(21):
        user.create(f"https://example.com/{word}/{i}")
    slugs.append(user.create(title=f"About {word}")["slug"])
    window.goto("/tags")
    page.keyboard.press("Control+k")
    page.keyboard.type(word.upper())
    expect(page.get_by_role("option")).to_contain_text([*(f"/{slug}" for slug in slugs), f"{word}/20", f"{word}/19"])


def test_what_is_typed_before_the_box_is_there_arrives(page, window, user):
    held = []
    page.route(re.compile("/assets/command-"), lambda route: held.append(route))
    window.goto("/tags")
    window.settle()
    with page.expect_request(re.compile("/assets/command-")):
        page.keyboard.press("Control+k")
    page.keyboard.type("cable")  # C alone is the form for a new link
    held[0].continue_()
    expect(page.get_by_role("combobox", name="Find or shorten")).to_have_value("cable")
    expect(page.get_by_role("dialog")).to_have_count(1)


def test_a_form_says_itself_what_is_missing_or_wrong(page, window, form):
    create = form.get_by_role("button", name="Create link")
    create.click()
    field = form.get_by_label("Destination", exact=True)
    expect(field).to_be_focused()
    expect(field).to_have_accessible_description("Please fill this in.")
    expect(field).to_have_attribute("aria-invalid", "true")
    assert window.violations() == []
    field.fill("https://example.com/")
    expect(form.get_by_text("Please fill this in.")).to_have_count(0)
    # The part that has the first wrong field opens.
    end = form.get_by_text("Start, end and limit")
    limit = form.get_by_label("Maximum visits (people)")
    end.click()
    limit.fill("0")
    end.click()
    expect(limit).to_be_hidden()
    create.click()
    expect(limit).to_be_focused()
    expect(limit).to_have_accessible_description(re.compile("A whole number, at least 1."))
    window.goto("/account")
    page.get_by_label("E-mail address").fill("nobody")
    page.get_by_role("button", name="Change address").click()
    expect(page.get_by_label("E-mail address")).to_have_accessible_description("Not an e-mail address like name@example.com.")
    expect(page.get_by_label("E-mail address")).to_be_focused()


# Letter by letter, however busy the machine is.
TYPE_AT_ONCE = """(field, text) => {
  const set = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set;
  for (let length = 1; length <= text.length; length++) {
    set.call(field, text.slice(0, length));
    field.dispatchEvent(new Event('input', { bubbles: true }));
  }
}"""


def test_a_name_is_checked_while_it_is_typed_with_one_request_at_a_time(page, window, user, form):
    taken = user.create(slug=f"Taken-{secrets.token_hex(4)}")
    before = taken["slug"]
    taken = user.call("PATCH", f"/api/links/{taken['id']}", {"slug": f"{before}-now"}).json["link"]
    asked = []
    page.on("request", lambda request: asked.append(request.url.rpartition("/")[2]) if "/slugs/" in request.url else None)
    name = form.get_by_label("Short name", exact=True)
    said = form.locator(".field", has=page.get_by_label("Short name", exact=True)).get_by_role("status")
    name.evaluate(TYPE_AT_ONCE, before.lower())
    expect(said).to_have_text("Taken.")
    expect(name).to_have_attribute("aria-invalid", "true")
    expect(name).to_have_accessible_description("Taken.")
    assert window.violations() == []
    assert asked == [before.lower()], "nothing is asked while somebody types on"
    for typed, text in ((f"free-{secrets.token_hex(4)}", "Free."), ("api", "Reserved."), ("a b", re.compile("^Letters, digits")), ("a/b", re.compile("^Letters, digits")), ("", "")):
        name.fill(typed)
        expect(said).to_have_text(text)
    # While it is edited, its own earlier name can be its name again.
    window.goto(f"/links?edit={taken['id']}")
    form = page.get_by_role("dialog")
    name = form.get_by_label("Short name", exact=True)
    said = form.locator(".field", has=page.get_by_label("Short name", exact=True)).get_by_role("status")
    name.fill(before)
    expect(said).to_have_text("An earlier name of it.")
    name.fill(taken["slug"])
    expect(said).to_have_text("")


def allow_titles(page):
    page.route("**/api/instance", lambda route: route.fulfill(json=route.fetch().json() | {"page_titles": True}))


def test_a_link_that_is_made_from_anywhere_takes_the_title_of_its_page(page, window, user):
    page.route("**/page-titles", lambda route: route.fulfill(json={"title": f"Of {route.request.post_data_json['url']}"}))
    allow_titles(page)
    with page.expect_response("**/api/instance"):
        window.goto("/tags")
    page.keyboard.press("Control+k")
    field = page.get_by_role("combobox", name="Find or shorten")
    field.fill("example.com/quick")
    with page.expect_response(lambda response: response.request.method == "PATCH" and "/links/" in response.url):
        field.press("Enter")
    assert [link["title"] for link in user.call("GET", "/api/links").json["links"]] == ["Of https://example.com/quick"]


def test_the_title_of_the_page_fills_an_empty_field_that_nobody_has_typed_in(page, window):
    asked, held, script = [], [], "<img src=x onerror=alert(1)>"

    def answer(route):
        url = route.request.post_data_json["url"]
        asked.append(url.rpartition("/")[2])
        if asked[-1] == "slow":
            return held.append(route)
        if asked[-1] == "away":
            return route.fulfill(status=404, json={"type": "/problems/page-not-found", "title": "Not Found", "status": 404, "instance": "x"})
        return route.fulfill(json={"title": {"script": script, "none": None}.get(asked[-1], asked[-1])})

    page.route("**/page-titles", answer)
    allow_titles(page)
    window.goto("/links?edit=new")
    form = page.get_by_role("dialog", name="New link")
    title, destination = form.get_by_label("Title", exact=True), form.get_by_label("Destination", exact=True)
    for name, filled in (("one", "one"), ("script", script), ("none", ""), ("two", "two"), ("away", ""), ("three", "three")):
        destination.fill(f"example.com/{name}")
        page.keyboard.press("Tab")
        expect(title).to_have_value(filled)
        expect(form.get_by_label("Short name", exact=True)).to_be_focused()
        expect(page.get_by_role("alert")).to_have_count(0)
    expect(form.locator(".preview-card")).to_contain_text("three")
    title.fill("")
    destination.fill("example.com/four")
    page.keyboard.press("Tab")
    title.fill("My own")
    destination.fill("example.com/five")
    page.keyboard.press("Tab")
    form.get_by_role("button", name="Create link").click()
    expect(page.get_by_role("row").filter(has_text="My own")).to_have_count(1)
    assert asked == ["one", "script", "none", "two", "away", "three"]
    # An answer that comes while somebody types does not replace what they type.
    window.goto("/links?edit=new")
    destination.fill("example.com/slow")
    with page.expect_request("**/page-titles"):
        page.keyboard.press("Tab")
    title.fill("Faster")
    with page.expect_response("**/page-titles"):
        held[0].fulfill(json={"title": "Slower"})
    expect(form.locator(".preview-card")).to_contain_text("Faster")
    expect(title).to_have_value("Faster")


def test_a_draft_is_kept_over_a_reload_and_gone_after_it_is_sent_or_with_the_logout(page, window, user, form):
    form.get_by_label("Destination", exact=True).fill("https://example.com/half")
    form.get_by_label("Title", exact=True).fill("Half done")
    form.locator("summary", has_text="Password").click()
    form.get_by_label("Password", exact=True).fill("open sesame")
    wait_until(lambda: "Half done" in drafts(page), "the draft to be kept")
    assert "open sesame" not in page.evaluate("JSON.stringify(localStorage)")
    page.reload()
    expect(form.get_by_label("Title", exact=True)).to_have_value("Half done")
    expect(form).to_contain_text("Your draft is back.")
    assert window.violations() == []
    form.get_by_role("button", name="Create link").click()
    expect(row(page, "Half done").or_(page.get_by_role("row").filter(has_text="Half done"))).to_have_count(1)
    window.goto("/links?edit=new")
    expect(form.get_by_label("Title", exact=True)).to_have_value("")
    form.get_by_label("Destination", exact=True).fill("https://example.com/other")
    wait_until(lambda: "other" in drafts(page), "the draft to be kept")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Keep as a draft").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    window.log_out()
    expect(page.get_by_role("link", name="Log in").first).to_be_visible()
    assert drafts(page) == "{}"


def test_a_draft_belongs_to_who_typed_it_and_leaving_asks_once(page, window, user):
    window.goto("/tags")
    page.keyboard.press("c")
    page.get_by_label("Title", exact=True).fill("Only mine")
    wait_until(lambda: "Only mine" in drafts(page), "the draft to be kept")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Keep as a draft").click()
    expect(page.get_by_role("heading", level=1, name="Tags")).to_be_visible()
    expect(page.get_by_role("dialog")).to_have_count(0)
    # The session ends without a logout, and somebody else logs in at this browser.
    end_session(window)
    other = unique_email()
    Api(user.base).register_and_login(other)
    window.login(other)
    window.goto("/links?edit=new")
    expect(page.get_by_label("Destination", exact=True)).to_be_focused()
    expect(page.get_by_label("Title", exact=True)).to_have_value("")


def test_going_back_asks_before_a_form_with_changes_is_left(page, window, user):
    window.goto("/tags")
    page.get_by_role("link", name="Links", exact=True).click()
    window.settle()
    page.keyboard.press("c")
    page.get_by_label("Destination", exact=True).fill("https://example.com/unsaved")
    page.evaluate("history.go(-2)")
    question = page.get_by_role("dialog", name="Discard changes?")
    expect(question).to_be_visible()
    question.get_by_role("button", name="Keep editing").click()
    expect(page.get_by_label("Destination", exact=True)).to_have_value("https://example.com/unsaved")
    page.evaluate("history.back()")
    question.get_by_role("button", name="Discard").click()
    expect(page.get_by_label("Destination", exact=True)).to_have_count(0)


def test_a_session_that_ends_is_begun_again_above_the_form_which_goes_on(page, window, user, form):
    form.get_by_label("Destination", exact=True).fill("https://example.com/long-work")
    form.locator("summary", has_text="Notes").click()
    form.get_by_label("Notes", exact=True).fill("An hour of work")
    end_session(window)
    # Another request may have asked for the login meanwhile, above the form.
    form.get_by_role("button", name="Create link").dispatch_event("click")
    login = page.get_by_role("dialog", name="Your session has ended")
    expect(login).to_contain_text(user.email)
    expect(login.get_by_label("Password", exact=True)).to_be_focused()
    assert window.violations() == []
    page.keyboard.press("Escape")
    expect(login).to_be_visible()
    login.get_by_label("Password", exact=True).fill("not the password")
    page.keyboard.press("Enter")
    expect(login.get_by_role("alert")).to_contain_text("Wrong")
    login.get_by_label("Password", exact=True).fill(PASSWORD)
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_have_count(0)
    (link,) = user.call("GET", "/api/links").json["links"]
    assert (link["original_url"], link["notes"]) == ("https://example.com/long-work", "An hour of work")


def test_an_import_whose_session_ends_goes_on_after_the_login(page, window, user):
    window.goto("/links/bulk")
    page.get_by_label("Addresses").fill("\n".join(f"https://example.com/{i}" for i in range(250)))
    sent = []

    def end_after_the_first(route):
        sent.append(route.request.headers["idempotency-key"])
        if len(sent) == 2:
            end_session(window)
        route.continue_()

    page.route("**/links/bulk", lambda route: end_after_the_first(route) if route.request.method == "POST" else route.continue_())
    page.get_by_role("button", name="Create 250 links").click()
    login = page.get_by_role("dialog", name="Your session has ended")
    expect(login).to_be_visible()
    expect(page.get_by_text("Created: 100 · With errors: 0 · Left: 150")).to_be_visible()
    login.get_by_label("Password", exact=True).fill(PASSWORD)
    page.keyboard.press("Enter")
    expect(page.get_by_text("250 links created.")).to_be_visible()
    assert len(sent) == 4 and sent[1] == sent[2]
    assert user.call("GET", "/api/links?limit=1").json["pagination"]["total"] == 250


def test_a_login_in_another_window_goes_on_too_and_another_person_does_not(page, window, user):
    user.create(title="Mine")
    window.goto("/links")
    window.settle()
    end_session(window)
    login = page.get_by_role("dialog", name="Your session has ended")
    expect(login).to_be_visible()
    other = unique_email()
    Api(user.base).register_and_login(other)
    window.login(other)
    page.wait_for_timeout(2_500)
    expect(login).to_be_visible()
    window.login(user.email)
    expect(login).to_have_count(0)
    expect(page.get_by_role("row").filter(has_text="Mine")).to_have_count(1)


def test_two_tabs_save_the_same_link_and_both_are_asked_field_by_field(page, window, user):
    link = user.create("https://example.com/first", title="First", tags=["a"])
    window.goto("/links")
    act(page, link["slug"], "Edit")
    form = page.get_by_role("dialog", name="Edit")
    form.get_by_label("Title", exact=True).fill("Mine")
    assert user.call("PATCH", f"/api/links/{link['id']}", {"title": "Theirs", "original_url": "https://example.com/theirs"}).status == 200
    form.get_by_role("button", name="Save", exact=True).click()
    conflict = page.get_by_role("dialog", name="Changed elsewhere meanwhile")
    rows = conflict.get_by_role("row")
    expect(rows).to_have_count(3)
    title = rows.filter(has=page.get_by_role("rowheader", name="Title"))
    expect(title.get_by_role("radio", name="Mine")).to_be_checked()
    # Only they have changed the destination.
    expect(rows.filter(has=page.get_by_role("rowheader", name="Destination")).get_by_role("radio", name="theirs")).to_be_checked()
    assert window.violations() == []
    title.get_by_role("radio", name="Theirs").check()
    conflict.get_by_role("button", name="Save this version").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    found = user.call("GET", f"/api/links/{link['id']}").json["link"]
    assert (found["title"], found["original_url"], found["tags"]) == ("Theirs", "https://example.com/theirs", ["a"])


def test_a_draft_that_is_older_than_the_link_asks_when_it_is_back(page, window, user):
    link = user.create("https://example.com/first", title="First", tags=["a"])
    window.goto(f"/links?edit={link['id']}")
    form = page.get_by_role("dialog", name="Edit")
    form.get_by_label("Title", exact=True).fill("Mine")
    wait_until(lambda: "Mine" in drafts(page), "the draft to be kept")
    page.reload()
    expect(form).to_contain_text("Your draft is back.")
    expect(page.get_by_role("dialog")).to_have_count(1)
    assert user.call("PATCH", f"/api/links/{link['id']}", {"title": "Theirs"}).status == 200
    page.reload()
    conflict = page.get_by_role("dialog", name="Changed elsewhere meanwhile")
    expect(conflict.get_by_role("row")).to_have_count(2)
    expect(conflict.get_by_role("radio", name="Mine")).to_be_checked()
    conflict.get_by_role("button", name="Save this version").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert user.call("GET", f"/api/links/{link['id']}").json["link"]["title"] == "Mine"


def test_a_share_is_kept_as_a_draft_until_it_is_made_without_its_password(page, window, user):
    link = user.create(tags=["spring"])
    form = page.get_by_role("dialog", name="Share")
    title = form.get_by_label("Title", exact=True)

    def begin():
        page.get_by_role("button", name="Share", exact=True).click()

    window.goto("/statistics?tag=spring")
    begin()
    title.fill("Half a report")
    form.get_by_label("Introduction", exact=True).fill("An hour of work")
    form.get_by_label("Password", exact=True).fill("open sesame")
    form.get_by_label("Logo", exact=True).set_input_files(logo())
    wait_until(lambda: "An hour of work" in drafts(page), "the draft to be kept")
    assert "open sesame" not in page.evaluate("JSON.stringify(localStorage)")
    assert window.violations() == []
    page.reload()
    begin()
    expect(form).to_contain_text("Your draft is back.")
    expect(title).to_have_value("Half a report")
    expect(form.get_by_label("Password", exact=True)).to_have_value("")
    expect(form.get_by_role("img", name="Logo")).to_have_count(0)
    assert window.violations() == []
    # That of another subject is another one.
    window.goto(f"/links/{link['id']}")
    begin()
    expect(title).to_have_value("")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    window.goto("/statistics?tag=spring")
    begin()
    title.fill("A report")
    page.keyboard.press("Escape")
    question = page.get_by_role("dialog", name="Discard changes?")
    question.get_by_role("button", name="Keep editing").click()
    form.get_by_role("button", name="Share", exact=True).click()
    expect(page.locator(".secret")).to_be_visible()
    page.wait_for_timeout(500)  # longer than a draft takes to be kept
    assert "A report" not in drafts(page)
    share = user.call("GET", "/api/shares").json["shares"][0]
    assert (share["title"], share["text"]) == ("A report", "An hour of work")
    # The same while it is edited.
    window.goto("/shares")
    act_on(page, "A report", "Edit")
    edit = page.get_by_role("dialog", name="Edit")
    edit.get_by_label("Title", exact=True).fill("A better one")
    page.keyboard.press("Escape")
    question.get_by_role("button", name="Keep as a draft").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    act_on(page, "A report", "Edit")
    expect(edit.get_by_label("Title", exact=True)).to_have_value("A better one")
    edit.get_by_role("button", name="Discard", exact=True).click()
    expect(edit.get_by_label("Title", exact=True)).to_have_value("A report")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    wait_until(lambda: "A better one" not in drafts(page), "no draft")
    # The address of the share is there until the logout.
    assert "#wmshare_" in drafts(page)
    window.log_out()
    expect(page.get_by_role("heading", level=1)).not_to_have_text("Shares")
    assert drafts(page) == "{}"


def logo():
    buffer = io.BytesIO()
    Image.new("RGB", (60, 60), "#b42318").save(buffer, "PNG")
    return {"name": "logo.png", "mimeType": "image/png", "buffer": buffer.getvalue()}


def decoded(page, content):
    """What a phone reads: of a PNG, or of an SVG as Chromium draws it."""
    if content.startswith(b"<svg"):
        shown = page.context.new_page()
        shown.set_content(content.decode())
        content = shown.locator("svg").screenshot()
        shown.close()
    return scan(Image.open(io.BytesIO(content)))


def test_a_code_with_a_logo_a_colour_and_a_frame_is_still_read(page, window, user):
    link = user.create()
    window.goto("/links")
    act(page, link["slug"], "QR code")
    dialog = page.get_by_role("dialog", name="QR code")

    def read():
        for name in ("PNG", "SVG"):
            with page.expect_download() as download:
                dialog.get_by_role("button", name=name, exact=True).click()
            assert decoded(page, open(download.value.path(), "rb").read()) == [link["short_url"]], name

    read()
    dialog.get_by_text("Logo, text, size").click()
    dialog.get_by_role("button", name="#3451b2").click()
    dialog.get_by_label("Text below").fill("Scan me & win")
    dialog.get_by_label("Logo in the middle").set_input_files(logo())
    expect(dialog.get_by_role("button", name="Remove the logo")).to_be_visible()
    assert window.violations() == []
    read()
    dialog.get_by_label("Margin").select_option("2")
    dialog.get_by_label("Size").select_option("512")
    read()
    dialog.get_by_label("Another colour").fill("#ffe08a")
    expect(dialog).to_contain_text("Too light to scan.")
    dialog.get_by_label("Logo in the middle").set_input_files({"name": "x.txt", "mimeType": "text/plain", "buffer": b"x"})
    expect(page.get_by_text("No image")).to_be_visible()


def test_single_keys_can_be_switched_off(page, window, user):
    window.goto("/links")
    window.settle()
    page.keyboard.press("?")
    page.get_by_label("Single keys work").uncheck()
    page.keyboard.press("Escape")
    page.keyboard.press("c")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("Control+k")
    expect(page.get_by_role("combobox", name="Find or shorten")).to_be_focused()


def test_a_new_account_makes_its_first_link_in_the_list(window):
    page = window.page
    window.register(unique_email())
    expect(page.get_by_role("heading", name="Create your first link")).to_be_visible()
    assert window.violations() == []
    page.get_by_label("Address to shorten").fill("example.com/first")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_contain_text("created and copied.")
    expect(page.get_by_role("row").filter(has_text="example.com/first")).to_have_count(1)


def test_a_link_is_duplicated_with_everything_but_its_name(page, window, user):
    link = user.create("https://example.com/a", title="Spring", tags=["x"])
    window.goto("/links")
    act(page, link["slug"], "Duplicate")
    form = page.get_by_role("dialog", name="New link")
    expect(form.get_by_label("Title", exact=True)).to_have_value("Spring")
    expect(form.get_by_label("Short name", exact=True)).to_have_value("")
    form.get_by_role("button", name="Create link").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    links = user.call("GET", "/api/links").json["links"]
    assert [(each["original_url"], each["title"], each["tags"]) for each in links] == [("https://example.com/a", "Spring", ["x"])] * 2


def test_all_links_that_match_get_a_new_destination_and_back(page, window, user):
    links = [user.create(f"https://old.example/{i}?keep={i}", tags=["moved"]) for i in range(53)]
    user.create("https://old.example/other")
    window.goto("/links?tag=moved")
    page.get_by_label("Select this page").check()
    selection = page.get_by_role("region", name="Selected links")
    selection.get_by_role("button", name="Select all 53").click()
    expect(selection).to_contain_text("53 selected")
    selection.get_by_role("button", name="Edit").click()
    dialog = page.get_by_role("dialog", name="Edit 53 links")
    dialog.get_by_label("What to change").select_option("Destination: find and replace")
    dialog.get_by_label("Find").fill("https://old.example/")
    dialog.get_by_label("Replace with").fill("nothing")
    expect(dialog.get_by_role("status")).to_contain_text("53 would be no web addresses.")
    dialog.get_by_label("Replace with").fill("https://new.example/")
    expect(dialog.get_by_role("status")).to_contain_text("53 links change.")
    expect(dialog.get_by_role("row")).to_have_count(51)
    expect(dialog.get_by_role("button", name="Change 53 links")).to_be_in_viewport()
    assert window.violations() == []
    dialog.get_by_role("button", name="Change 53 links").click()
    expect(page.get_by_text("53 links changed.")).to_be_visible()
    found = lambda: sorted(link["original_url"] for page in (1, 2) for link in user.call("GET", f"/api/links?tag=moved&limit=100&page={page}").json["links"])  # noqa: E731
    assert found() == sorted(f"https://new.example/{i}?keep={i}" for i in range(53))
    page.get_by_role("button", name="Undo").click()
    wait_until(lambda: found() == sorted(link["original_url"] for link in links), "the old destinations")


def test_the_app_can_be_installed_and_says_when_it_is_offline(page, window):
    window.goto("/links")
    page.evaluate("navigator.serviceWorker.ready")
    assert page.evaluate("fetch('/app/manifest.webmanifest').then((answer) => answer.json())")["icons"][0]["src"] == "/app/icon.svg"
    page.reload()  # from now on, the worker sees requests
    window.context.set_offline(True)
    page.goto(f"{window.base}/app/tags")
    expect(page.get_by_role("heading", name="You are offline")).to_be_visible()
    window.context.set_offline(False)
    page.get_by_role("link", name="Try again").click()
    expect(page.get_by_role("heading", level=1, name="Links")).to_be_visible()
