"""Shares as reports for a client: how they are made and changed, what readers get, and what becomes of pages on paper."""

import base64
import re

import pytest
from clients import CHROME
from waiting import wait_until

from dashboard.browser import expect, make_admin
from dashboard.payloads import PAYLOADS
from dashboard.test_workspaces import act

PASSWORD = "only for the board"
LOGO = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAEklEQVR4nGNgSJiGFTEMKQkAkmQ9ASkXaHgAAAAASUVORK5CYII=")
PAGES = ["/links", "/links?edit=new", "/links/bulk", "/links/{id}?compare=1&bots=include", "/statistics", "/tags", "/live", "/keys", "/shares", "/members", "/workspace", "/workspaces", "/audit", "/account", "/admin/health", "/admin/users", "/admin/hosts", "/admin/reports", "/admin/mail", "/admin/apps", "/nowhere"]  # fmt: skip
# What can only be pressed, or leads elsewhere in the program.
CONTROLS = ".button, .icon-button, .sidebar, .tabbar, .topbar, nav, .menu, .chip > [aria-label], [type=search], .toast"
PAPER_PX = 700  # A4 without its margins
HEIGHT_PX = 1000


@pytest.fixture
def reader(browser):
    opened = browser.open()
    yield opened
    opened.close()


def made(user, **fields):
    """The address of a share, without the origin."""
    answer = user.call("POST", "/api/shares", fields)
    assert answer.status == 201, answer
    return answer.json["url"].removeprefix("/app"), answer.json["share"]


def test_a_report_is_made_and_changed_and_its_reader_sees_it(page, window, reader, user, visitor):
    links = [user.create(title=f"Poster {i}", tags=["spring"]) for i in range(2)]
    for link in links:
        visitor.follow(link["slug"], agent=CHROME)
        user.wait_for_visits(link["id"], 1)
    window.goto("/statistics?tag=spring")
    page.get_by_role("button", name="Share", exact=True).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Title", exact=True).fill("Spring campaign")
    dialog.get_by_label("Introduction", exact=True).fill("First line\nSecond line")
    dialog.get_by_label("Logo", exact=True).set_input_files({"name": "logo.png", "mimeType": "image/png", "buffer": LOGO})
    expect(dialog.get_by_role("img", name="Logo")).to_be_visible()
    dialog.get_by_label("Period").select_option("7d")
    assert window.violations() == []
    dialog.get_by_role("button", name="Share", exact=True).click()
    address = dialog.locator(".secret").inner_text()
    shown = reader.page
    shown.goto(address)
    expect(shown.get_by_role("heading", level=1)).to_have_text("Spring campaign")
    expect(shown.get_by_text("First line")).to_contain_text("Second line")
    head, bar = shown.locator(".page-head").bounding_box(), shown.locator(".stat-bar").bounding_box()
    assert head["y"] + head["height"] <= bar["y"]
    wait_until(lambda: shown.evaluate("document.querySelector('.report-logo').naturalWidth") == 8, "the logo")
    expect(shown.get_by_role("button", name="Period: Last 7 days")).to_be_visible()
    top = shown.get_by_role("region", name="Most visited links")
    expect(top.locator("tbody tr")).to_have_count(2)
    expect(top.get_by_role("link")).to_have_count(0)
    assert reader.violations() == []
    assert links[0]["original_url"] not in shown.content()

    window.goto("/shares")
    # Where it was made, its address is at hand until the logout.
    page.get_by_role("row").filter(has_text="Spring campaign").get_by_role("button", name="Copy").click()
    assert page.evaluate("navigator.clipboard.readText()") == address
    act(page, "Spring campaign", "Edit")
    expect(dialog.get_by_label("Title", exact=True)).to_have_value("Spring campaign")
    expect(dialog.get_by_role("img", name="Logo")).to_be_visible()
    dialog.get_by_label("Title", exact=True).fill("March")
    dialog.get_by_label("Period").select_option("custom")
    dialog.get_by_label("From", exact=True).fill("2026-03-01")
    dialog.get_by_label("To", exact=True).fill("2026-03-31")
    dialog.get_by_role("button", name="Remove the logo").click()
    assert window.violations() == []
    dialog.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("row").filter(has_text="March")).to_be_visible()
    share = user.call("GET", "/api/shares").json["shares"][0]
    assert (share["text"], share["range"], share["has_logo"], share["version"]) == ("First line\nSecond line", "2026-03-01/2026-03-31", False, 2)
    shown.goto("about:blank")
    shown.goto(address)
    expect(shown.get_by_role("heading", level=1)).to_have_text("March")
    expect(shown).to_have_url(re.compile("from=2026-03-01&to=2026-03-31#"))
    expect(shown.locator(".report-logo")).to_have_count(0)


def test_a_file_that_is_no_picture_becomes_no_logo(page, window, user):
    link = user.create()
    made(user, link_id=link["id"], title="Report")
    window.goto("/shares")
    act(page, "Report", "Edit")
    logo = page.get_by_label("Logo", exact=True)
    logo.set_input_files({"name": "logo.png", "mimeType": "image/png", "buffer": b"<script>window.hit=1</script>"})
    expect(page.get_by_text("No image.")).to_be_visible()
    expect(page.get_by_role("dialog").get_by_role("img")).to_have_count(0)
    # Vectors are drawn here, and sent as the picture that they give.
    svg = b"<svg xmlns='http://www.w3.org/2000/svg' width='40' height='20' onload='window.hit=1'><script>window.hit=1</script><rect width='40' height='20' fill='red'/></svg>"
    logo.set_input_files({"name": "logo.svg", "mimeType": "image/svg+xml", "buffer": svg})
    expect(page.get_by_role("dialog").get_by_role("img")).to_be_visible()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    share = user.call("GET", "/api/shares").json["shares"][0]
    answer = user.call("GET", f"/api/shares/{share['id']}/logo")
    assert answer.headers["content-type"] == "image/png" and b"script" not in answer.body
    assert not page.evaluate("window.hit")


def test_statistics_are_shared_from_the_page_of_shares(page, window, user):
    link = user.create(tags=["spring"])
    window.goto("/shares")
    page.get_by_role("button", name="Share statistics").click()
    dialog = page.get_by_role("dialog", name="Share statistics")
    expect(dialog.get_by_label("Tag or link")).to_contain_text("Tag: spring")
    dialog.get_by_label("Tag or link").select_option(index=1)
    assert window.violations() == []
    dialog.get_by_role("button", name="Share", exact=True).click()
    expect(page.get_by_role("dialog")).to_contain_text("Whoever has it sees these statistics.")
    page.get_by_role("button", name="Done").click()
    expect(page.get_by_role("row").filter(has_text=link["slug"]).get_by_role("button", name="Copy")).to_be_visible()
    assert [share["link"]["id"] for share in user.call("GET", "/api/shares").json["shares"]] == [link["id"]]


def test_a_share_that_somebody_else_changed_is_merged_field_by_field(page, window, user):
    _, share = made(user, tag="spring", title="Report", range="7d")
    window.goto("/shares")
    act(page, "Report", "Edit")
    assert user.call("PATCH", f"/api/shares/{share['id']}", {"title": "Theirs", "range": "2026-03-01/2026-03-31"}).status == 200
    page.get_by_label("Title", exact=True).fill("Mine")
    page.get_by_label("Introduction", exact=True).fill("My words")
    page.get_by_role("button", name="Save", exact=True).click()
    conflict = page.get_by_role("dialog", name="Changed elsewhere meanwhile")
    rows = conflict.get_by_role("row")
    expect(rows).to_have_count(4)
    title = rows.filter(has=page.get_by_role("rowheader", name="Title"))
    expect(title.get_by_role("radio", name="Mine")).to_be_checked()
    expect(rows.filter(has=page.get_by_role("rowheader", name="Period")).get_by_role("radio", name="2026-03-01 – 2026-03-31")).to_be_checked()
    assert window.violations() == []
    title.get_by_role("radio", name="Theirs").check()
    conflict.get_by_role("button", name="Save this version").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    found = user.call("GET", "/api/shares").json["shares"][0]
    assert (found["title"], found["text"], found["range"]) == ("Theirs", "My words", "2026-03-01/2026-03-31")


def test_a_reader_types_the_password_once_until_it_is_changed(reader, user):
    address, share = made(user, tag="spring", title="Report", password=PASSWORD)
    heading = reader.page.get_by_role("heading", level=1)
    reader.goto(address)
    reader.page.get_by_label("Password").fill(PASSWORD)
    reader.page.keyboard.press("Enter")
    expect(heading).to_have_text("Report")
    reader.page.reload()
    expect(heading).to_have_text("Report")
    expect(reader.page.get_by_label("Password")).to_have_count(0)
    assert reader.page.evaluate(f"!JSON.stringify(localStorage).includes('{PASSWORD}')")
    assert user.call("PATCH", f"/api/shares/{share['id']}", {"password": "another battery"}).status == 200
    expect(reader.page.get_by_label("Password")).to_be_visible()
    reader.page.reload()
    expect(reader.page.get_by_label("Password")).to_be_visible()


def test_texts_of_a_report_are_text(page, window, reader, user):
    """Each payload as the title and text of a share, as a tag and as the title of a link, for its owner and its reader."""
    for i, payload in enumerate(PAYLOADS):
        user.create(title=payload, tags=[payload[:50]])
        made(user, tag=payload[:50], title=payload, text=payload)
    shares = user.call("GET", "/api/shares").json["shares"]
    addresses = [made(user, tag=payload[:50], title=payload, text=payload)[0] for payload in PAYLOADS[::4]]
    window.goto("/shares")
    expect(page.locator("tbody tr")).to_have_count(len(shares) + len(addresses))
    page.get_by_role("button", name="Actions for").first.click()
    page.get_by_role("menuitem", name="Replace address").click()
    expect(page.get_by_role("dialog").get_by_label("Title", exact=True)).to_have_value("")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Actions for").first.click()
    page.get_by_role("menuitem", name="Edit").click()
    expect(page.get_by_label("Introduction", exact=True)).to_have_value(PAYLOADS[::4][-1])
    assert not page.evaluate("window.hit")
    for address, payload in zip(addresses, PAYLOADS[::4]):
        reader.goto("/start")
        reader.goto(address)
        expect(reader.page.get_by_role("heading", level=1)).to_have_text(payload)
        expect(reader.page.locator(".notes")).to_have_text(payload)
        assert not reader.page.evaluate("window.hit")


# --- on paper ---


def on_paper(window):
    """(controls that are visible, the texts that are cut off, by how many pixels something is too wide, whether it is light)."""
    page = window.page
    shown = page.evaluate("controls => [...document.querySelectorAll(controls)].filter((each) => each.getClientRects().length > 0).map((each) => each.outerHTML.slice(0, 120))", CONTROLS)
    is_light = page.evaluate("getComputedStyle(document.documentElement).colorScheme === 'light' && getComputedStyle(document.body).color === 'rgb(27, 27, 24)'")
    return shown, window.cut_off(), max(0, window.overflow()), is_light


@pytest.fixture
def administrator(page, user, env, visitor):
    make_admin(env, user.email)
    page.reload()
    link = user.create(title="A link", tags=["spring"])
    for _ in range(2):
        visitor.follow(link["slug"], agent=CHROME)
    user.wait_for_visits(link["id"], 2)
    made(user, link_id=link["id"], title="Report")
    user.link = link
    return user


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_page_prints_without_menus_and_buttons_and_is_light(page, window, administrator, theme):
    window.resize(PAPER_PX, HEIGHT_PX)
    wrong = {}
    for path in PAGES:
        page.emulate_media(media="screen", color_scheme=theme)
        window.goto(path.replace("{id}", str(administrator.link["id"])))
        window.settle()
        page.emulate_media(media="print", color_scheme=theme)
        seen = on_paper(window)
        if seen != ([], [], 0, True):
            wrong[path] = seen
    assert not wrong, wrong


def test_a_report_prints_with_its_whole_chart(reader, user, visitor):
    link = user.create(title="A link", tags=["spring"])
    visitor.follow(link["slug"], agent=CHROME)
    user.wait_for_visits(link["id"], 1)
    address, _ = made(user, tag="spring", title="Report", text="For the board", logo=base64.b64encode(LOGO).decode())
    reader.goto(address)
    reader.settle()
    expect(reader.page.locator(".chart svg")).to_be_visible()
    expect(reader.page.locator(".report-logo")).to_be_visible()
    expect(reader.page).to_have_title("Report")
    pdf = reader.page.pdf(format="A4", prefer_css_page_size=True)
    assert pdf.startswith(b"%PDF-") and len(pdf) > 10_000 and len(re.findall(rb"/Type /Page\b", pdf)) in (1, 2, 3)
    reader.page.emulate_media(media="print")
    reader.resize(PAPER_PX, HEIGHT_PX)
    assert on_paper(reader) == ([], [], 0, True)
    chart = reader.page.locator(".chart svg").bounding_box()
    assert chart["x"] >= 0 and chart["x"] + chart["width"] <= PAPER_PX and chart["height"] > 100
    for text in ("Report", "For the board", "Most visited links"):
        expect(reader.page.get_by_text(text, exact=True)).to_be_visible()
