"""Statistics as people look at them in the dashboard: in Chromium, on the real services."""

import codecs
import csv
import datetime
import pathlib
import re
import zoneinfo

from clients import CHROME, GOOGLEBOT

from dashboard.addresses import BERLIN, GOOGLE
from dashboard.browser import expect
from dashboard.test_workspaces import act
from waiting import wait_until

# What of a list cannot be seen, however far it is scrolled.
COVERED = """list => [...list.querySelectorAll("button, input:not(.visually-hidden), [role=option]")].filter((each) => {
    each.scrollIntoView({ block: "nearest" });
    const { x, y, width, height } = each.getBoundingClientRect();
    return [1, height / 2, height - 1].some((at) => !each.contains(document.elementFromPoint(x + width / 2, y + at)));
}).map((each) => each.ariaLabel ?? each.textContent)"""


def test_a_click_on_the_map_filters_everything(page, window, user, visitor):
    link = user.create()
    for address in (BERLIN, BERLIN, GOOGLE):
        visitor.follow(link["slug"], address=address, agent=CHROME)
    user.wait_for_visits(link["id"], 3)
    window.goto(f"/links/{link['id']}")
    world = page.get_by_role("group", name="Visits by country")
    page.locator("path[data-country=DE]").hover()
    expect(world.locator(".chart-tip")).to_contain_text("GermanyVisits: 2 · 67%")
    page.locator("path[data-country=DE]").click()
    expect(page).to_have_url(re.compile(r"country=DE"))
    expect(page.locator(".metric-count").first).to_have_text("2")
    page.get_by_role("button", name="Remove filter Country is Germany").click()
    expect(page.locator(".metric-count").first).to_have_text("3")
    for key, said in (("ArrowRight", "Germany: 2"), ("ArrowRight", "United States: 1"), ("Home", "Germany: 2")):
        world.press(key)
        expect(world.locator("[aria-live]")).to_have_text(said)
    world.press("Enter")
    expect(page.locator(".metric-count").first).to_have_text("2")
    page.get_by_role("button", name="Remove filter Country is Germany").click()
    expect(page.locator(".metric-count").first).to_have_text("3")
    page.get_by_role("button", name="Country", exact=True).click()
    page.get_by_role("button", name="Germany", exact=True).press("Enter")
    expect(page.locator(".metric-count").first).to_have_text("2")
    page.get_by_role("button", name="Germany", exact=True).press("Enter")
    expect(page.locator(".metric-count").first).to_have_text("3")


def test_the_overview_shows_all_links_together_or_those_with_a_tag(page, window, user, visitor):
    links = [user.create(tags=["spring"]), user.create()]
    for link, address in ((links[0], BERLIN), (links[0], GOOGLE), (links[1], BERLIN)):
        visitor.follow(link["slug"], address=address, agent=CHROME)
    user.wait_for_visits(links[0]["id"], 2)
    user.wait_for_visits(links[1]["id"], 1)
    window.goto("/statistics")
    expect(page.locator(".metric-count").first).to_have_text("3")
    top = page.get_by_role("region", name="Most visited links").locator("tbody .strong")
    expect(top).to_have_text(["2", "1"])
    page.get_by_role("button", name="United States", exact=True).click()
    expect(top).to_have_text(["1"])
    page.get_by_role("button", name="Remove filter Country is United States").click()
    expect(top).to_have_text(["2", "1"])
    window.pick("Links that are counted", "spring")
    expect(page).to_have_url(re.compile(r"tag=spring"))
    expect(top).to_have_text(["2"])
    expect(page.locator(".metric-count").first).to_have_text("2")
    page.locator("path[data-country=DE]").click()
    expect(page.locator(".metric-count").first).to_have_text("1")
    visitor.follow(links[0]["slug"], address=BERLIN, agent=CHROME)
    expect(page.locator(".metric-count").first).to_have_text("2")


def share_in(page):
    """Makes a share with a title and a password in the dialog, and returns its address."""
    page.get_by_role("button", name="Share", exact=True).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Title", exact=True).fill("For the board")
    dialog.get_by_label("Password", exact=True).fill("only for the board")
    page.keyboard.press("Enter")
    dialog.get_by_role("button", name="Copy").click()
    address = dialog.locator(".secret").inner_text()
    assert page.evaluate("navigator.clipboard.readText()") == address
    dialog.get_by_role("button", name="Done").click()
    return address


def test_shared_statistics_are_read_without_an_account_until_the_share_is_revoked(page, window, browser, user, visitor):
    link = user.create(title="Spring sale")
    for address in (BERLIN, GOOGLE):
        visitor.follow(link["slug"], address=address, agent=CHROME)
    user.wait_for_visits(link["id"], 2)
    window.goto(f"/links/{link['id']}")
    address = share_in(page)
    reader = browser.open()
    shown = reader.page
    shown.goto(address)
    shown.get_by_label("Password").fill("something else")
    shown.keyboard.press("Enter")
    expect(shown.get_by_role("alert")).to_contain_text("Wrong password.")
    expect(shown.locator(".request-id")).to_have_count(0)
    shown.get_by_label("Password").fill("only for the board")
    shown.keyboard.press("Enter")
    expect(shown.get_by_role("heading", level=1, name="For the board")).to_be_visible()
    expect(shown.locator(".metric-count").first).to_have_text("2")
    expect(reader.period()).to_contain_text("(Europe/Berlin)")
    shown.locator("path[data-country=DE]").click()
    expect(shown.locator(".metric-count").first).to_have_text("1")
    shown.keyboard.press("w")
    expect(shown).to_have_url(re.compile(r"country=DE.*range=7d|range=7d.*country=DE"))
    assert shown.url.endswith(address.partition("#")[2]), "the token stays in the address"
    assert link["original_url"] not in shown.content() and user.email not in shown.content()
    assert shown.get_by_role("navigation").count() == 0 and reader.context.cookies() == []
    window.goto("/shares")
    window.resize(400, 800)
    expect(page.get_by_role("row").filter(has_text="For the board")).to_contain_text(re.compile(r"Password: Needed · Last used: .* · Ends: Never"))
    expect(page.get_by_text("Password: Needed")).to_be_visible()
    window.resize(1280, 900)
    expect(page.get_by_text("Password: Needed")).not_to_be_visible()
    act(page, "For the board", "Revoke")
    page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    expect(page.get_by_role("heading", name="Nothing is shared")).to_be_visible()
    expect(shown.get_by_role("heading", level=1, name="no longer shared")).to_be_visible()
    shown.reload()
    expect(shown.get_by_role("heading", level=1, name="no longer shared")).to_be_visible()
    reader.close()


def test_a_tag_is_shared_in_the_overview(page, window, user, visitor):
    link = user.create(tags=["spring"])
    visitor.follow(link["slug"], agent=CHROME)
    user.wait_for_visits(link["id"], 1)
    window.goto("/statistics?tag=spring")
    page.get_by_role("button", name="Share", exact=True).press("Enter")
    expect(page.get_by_role("dialog").get_by_label("Title", exact=True)).to_be_focused()
    assert window.violations() == []
    page.keyboard.press("Enter")
    address = page.get_by_role("dialog").locator(".secret").inner_text()
    assert window.violations() == []
    # Also somebody who is logged in sees no menu of their account there.
    page.goto(address)
    expect(page.get_by_role("heading", level=1, name="Tag: spring")).to_be_visible()
    expect(page.locator(".metric-count").first).to_have_text("1")
    assert page.get_by_role("navigation").count() == 0


def test_campaigns_are_compared_with_the_period_before(page, window, user, visitor):
    link = user.create()
    for _ in range(2):
        visitor.follow(link["slug"], agent=CHROME, path=f"/{link['slug']}?utm_source=letter")
    user.wait_for_visits(link["id"], 2)
    window.goto("/statistics?range=7d")
    campaigns = page.get_by_role("region", name="Campaigns")
    expect(campaigns.get_by_role("columnheader")).to_have_text(["UTM source", "Visits", "Share"])
    expect(page.locator(".metric .change")).to_have_count(0)
    expect(window.period()).not_to_contain_text("compared")
    page.get_by_role("button", name="Compare").click()
    expect(campaigns.get_by_role("columnheader")).to_have_text(["UTM source", "Visits", "Change"])
    expect(campaigns.get_by_role("row").filter(has_text="letter").get_by_role("cell")).to_have_text(["2", "new"])
    expect(page.locator(".metric .change").first).to_have_text("new")
    # The earlier week is compared up to this moment, and the text says so.
    expect(window.period()).to_contain_text(re.compile(r"compared with .*, 00:00 – .*, \d\d:\d\d"))
    page.get_by_text("Show as table").click()
    expect(page.locator(".as-table thead th").last).to_have_text("Visits before")
    page.get_by_role("button", name="Earlier period").click()
    expect(page.locator(".metric-count").first).to_have_text("0")
    expect(window.period()).not_to_contain_text(":")


def test_a_long_list_is_drawn_as_far_as_somebody_looks_and_searched_whole(page, window, user, visitor):
    link = user.create()
    for number in range(120):
        visitor.follow(link["slug"], agent=CHROME, path=f"/{link['slug']}?utm_source=source-{number:03}")
    user.wait_for_visits(link["id"], 120)
    window.goto("/statistics")
    page.get_by_role("region", name="Campaigns").get_by_role("button", name="All values: UTM source").click()
    names = page.get_by_role("dialog").locator("tbody th")
    expect(names).to_have_count(50)
    page.get_by_role("searchbox").fill("source-119")
    expect(names).to_have_text(["source-119"])
    page.get_by_role("searchbox").fill("")
    expect(names).to_have_count(50)
    # By the keyboard alone, each one is reached.
    for count in (100, 120):
        names.last.get_by_role("button").focus()
        expect(names).to_have_count(count)


def test_whole_months_and_years_are_stepped_through_and_compared(page, window, user):
    today = datetime.datetime.now(zoneinfo.ZoneInfo("Europe/Berlin")).date()
    last_of_month = today.replace(day=1) - datetime.timedelta(days=1)
    user.create()
    window.goto("/statistics?range=month&compare=1")
    expect(page.get_by_role("button", name="Later period")).to_be_disabled()
    page.keyboard.press("p")
    dates = lambda: page.get_by_role("button", name=re.compile("^Period: "))  # noqa: E731
    expect(page).to_have_url(re.compile(rf"from={last_of_month.replace(day=1)}&to={last_of_month}"))
    dates().click()
    expect(page.get_by_label("From", exact=True)).to_have_value(str(last_of_month.replace(day=1)))
    expect(page.get_by_label("To", exact=True)).to_have_value(str(last_of_month))
    page.keyboard.press("Escape")
    expect(page.get_by_label("From", exact=True)).to_have_count(0)
    before = last_of_month.replace(day=1) - datetime.timedelta(days=1)
    expect(window.period()).to_contain_text(f"compared with 1 – {before.day} ")
    page.keyboard.press("n")
    expect(page).to_have_url(re.compile(r"range=month"))
    page.keyboard.press("y")
    page.keyboard.press("p")
    expect(page).to_have_url(re.compile(f"from={today.year - 1}-01-01"))
    page.keyboard.press("n")
    expect(page).to_have_url(re.compile(r"range=year"))


def test_what_is_counted_is_explained_to_who_asks_by_keyboard_or_by_mouse(page, window, user):
    user.create()
    window.goto("/statistics")
    button, info = page.get_by_role("button", name="What is counted"), page.locator(".info")
    button.press("Enter")
    expect(button).to_have_attribute("aria-expanded", "true")
    expect(info.get_by_role("term")).to_have_text(["Visits", "Unique visitors", "Bots"])
    expect(info.get_by_role("definition").last).to_contain_text("Crawlers")
    assert window.violations() == []
    page.keyboard.press("Tab")
    expect(info.get_by_role("link")).to_be_focused()
    page.keyboard.press("Escape")
    expect(info).to_have_count(0)
    expect(button).to_be_focused()
    button.click()
    expect(info).to_be_visible()
    page.locator("h1").click()
    expect(info).to_have_count(0)
    window.goto("/statistics?bots=only")
    button.click()
    expect(info.get_by_role("term")).to_have_text(["Visits", "Bots"])


def test_every_sheet_of_a_phone_lies_above_its_bar_and_scrolls(browser, user, visitor):
    link = user.create()
    visitor.follow(link["slug"], address=BERLIN, agent=CHROME)
    user.wait_for_visits(link["id"], 1)
    window = browser.open(viewport={"width": 390, "height": 560}, has_touch=True, reduced_motion="reduce")
    page = window.page
    window.login(user.email)
    for path, buttons, number in (("/statistics", ".range-steps [aria-haspopup]", 1), ("/statistics", ".switcher [aria-haspopup]", 1), ("/links", ".cell-actions [aria-haspopup]", 1), ("/links", ".filter-bar [aria-haspopup]", 2), ("/links", ".sidebar-foot [aria-haspopup]", 1)):
        window.goto(path)
        window.settle()
        expect(page.locator(buttons)).to_have_count(number)
        for button in page.locator(buttons).all():
            if "foot" in buttons:
                page.get_by_role("button", name="Menu", exact=True).click()
            button.click()
            assert page.locator(".menu-list:not(.is-leaving)").evaluate(COVERED) == [], button.inner_text()
            page.keyboard.press("Escape")
    window.close()


def test_the_bar_of_a_phone_is_one_line_and_its_sheet_has_the_rest(browser, user, visitor):
    link = user.create()
    for address in (BERLIN, GOOGLE):
        visitor.follow(link["slug"], address=address, agent=CHROME)
    user.wait_for_visits(link["id"], 2)
    window = browser.open(viewport={"width": 360, "height": 700}, has_touch=True, is_mobile=True, reduced_motion="reduce")
    page = window.page
    window.login(user.email)
    window.goto("/statistics?from=2025-12-31&to=2026-12-30&country=DE&compare=1")
    window.settle()
    bar = page.locator(".stat-bar")
    assert bar.bounding_box()["height"] <= 49 and bar.evaluate("bar => bar.scrollWidth - innerWidth") <= 0
    page.get_by_role("button", name="Filters 2").click()
    sheet = page.get_by_role("dialog", name="Filters")
    assert window.violations() == []
    sheet.get_by_role("button", name="Remove filter Country is Germany").click()
    expect(page).not_to_have_url(re.compile(r"country="))
    assert sheet.evaluate(COVERED) == [] and sheet.bounding_box()["height"] == 700
    assert sheet.locator("button, [role=option]").evaluate_all("all => all.filter((each) => each.offsetHeight < 44).map((each) => each.textContent)") == []
    sheet.get_by_role("option", name="Germany").click()
    expect(page).to_have_url(re.compile(r"country=DE"))
    sheet.get_by_role("button", name="Bots only").click()
    expect(page).to_have_url(re.compile(r"bots=only"))
    sheet.get_by_role("button", name="Done").click()
    page.get_by_role("button", name=re.compile("^Period: ")).click()
    page.get_by_role("button", name="Earlier period").click()
    expect(page).to_have_url(re.compile(r"to=2025-12-30"))
    window.close()


def test_the_map_zooms_by_buttons_keys_wheel_and_drag_and_no_further_than_the_world(page, window, user, visitor):
    link = user.create()
    for address in (BERLIN, GOOGLE):
        visitor.follow(link["slug"], address=address, agent=CHROME)
    user.wait_for_visits(link["id"], 2)
    window.goto("/statistics")
    world = page.get_by_role("group", name="Visits by country")
    world.scroll_into_view_if_needed()
    part = world.locator(".world-part")
    expect(page.get_by_role("button", name="Zoom out")).to_be_disabled()
    expect(page.get_by_role("list", name="Visits").get_by_role("listitem")).to_have_text(["1"])

    def view():
        return [float(each) for each in re.findall(r"-?[\d.]+", part.get_attribute("style"))]

    page.get_by_role("button", name="Zoom in").click()
    assert view()[0] == 1.6
    world.press("ArrowRight")
    expect(world.locator("[aria-live]")).to_have_text("Germany: 1")
    for _ in range(8):
        world.press("+")
    assert view()[0] == 8
    expect(world.locator(".chart-tip")).to_contain_text("Germany")
    box, tip = world.bounding_box(), world.locator(".chart-tip").bounding_box()
    assert box["x"] <= tip["x"] + tip["width"] and tip["x"] <= box["x"] + box["width"], "what is named is in sight"
    before, url = view(), page.url
    page.mouse.move(box["x"] + 200, box["y"] + 100)
    page.mouse.down()
    page.mouse.move(box["x"] + 260, box["y"] + 140, steps=4)
    page.mouse.up()
    assert view()[1] > before[1] and view()[2] > before[2] and page.url == url, "a drag is no click"
    world.press("0")
    assert view() == [1, 0, 0]
    # The wheel scrolls the page, unless it is meant for the map.
    page.get_by_role("heading", level=1).click()
    page.mouse.move(box["x"] + 200, box["y"] + 100)
    page.mouse.wheel(0, -300)
    assert view()[0] == 1
    world.scroll_into_view_if_needed()
    page.mouse.move(world.bounding_box()["x"] + 200, world.bounding_box()["y"] + 100)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -300)
    page.keyboard.up("Control")
    wait_until(lambda: view()[0] > 1, "the wheel")


def test_direct_visits_and_those_of_other_websites_are_two_sources(page, window, user, visitor):
    link = user.create()
    for referer in (None, None, "https://blog.example/post", "https://www.google.com/"):
        visitor.follow(link["slug"], address=BERLIN, agent=CHROME, referer=referer)
    user.wait_for_visits(link["id"], 4)
    window.goto("/statistics")
    sources = page.get_by_role("region", name="Sources")
    expect(sources.locator("tbody tr")).to_have_text(["Direct250%", "Google125%", "Other websites125%"])
    sources.get_by_role("button", name="All values: Source").click()
    everything = page.get_by_role("dialog", name="Source")
    expect(everything.locator("tbody tr")).to_have_text(["Direct250%", "Google125%", "Other websites125%"])
    everything.get_by_role("button", name="CSV").click()
    expect(page.get_by_text(re.compile(r"^referrer_source-all-.*\.csv saved\.$"))).to_be_visible()
    everything.get_by_role("button", name="Other websites").click()
    expect(page.get_by_role("dialog", name="Website").locator("tbody tr").filter(has_text="blog.example")).to_have_count(1)
    page.keyboard.press("Escape")
    sources.get_by_role("button", name="Source", exact=True).click()
    sources.get_by_role("button", name="Other websites").click()
    expect(sources.locator("tbody tr").filter(has_text="blog.example")).to_have_count(1)
    sources.get_by_role("button", name="Source", exact=True).click()
    sources.get_by_role("button", name="Direct", exact=True).click()
    expect(page.locator(".metric-count").first).to_have_text("2")


def test_a_panel_that_cannot_be_loaded_says_so_and_stops(page, window, user):
    user.create()
    page.route(re.compile(r"/stats/(referrer_source|device)"), lambda route: route.fulfill(status=503))
    window.goto("/statistics")
    for name in ("Sources", "Devices"):
        expect(page.get_by_role("region", name=name).get_by_text("Could not be loaded.")).to_be_visible()
    window.settle()
    page.unroute_all()
    expect(page.get_by_role("region", name="Sources").get_by_text("No visits")).to_be_visible()


def test_a_server_that_fails_is_said_once_and_moves_no_card(page, window, user):
    user.create()
    cards = "[...document.querySelectorAll('.stat-bar, .figures, .panel-places')].map((each) => Math.round(each.getBoundingClientRect().y))"
    window.goto("/statistics")
    window.settle()
    places, count = page.evaluate(cards), page.locator(".card").count()
    page.route("**/stats/**", lambda route: route.fulfill(status=502, body="Bad Gateway"))
    page.reload()
    expect(page.get_by_role("alert")).to_have_text(re.compile("The service is unavailable.Retrying …"))
    window.settle()
    assert page.get_by_text("Could not be loaded.").locator("visible=true").count() == 0
    assert page.evaluate(cards) == places and page.locator(".card").count() == count
    page.unroute_all()
    expect(page.locator(".metric-count").first).to_have_text("0")
    expect(page.get_by_role("region", name="Devices").get_by_text("No visits")).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)


def test_the_choice_of_bots_changes_all_figures(page, window, user, visitor):
    link = user.create()
    for agent in (CHROME, CHROME, GOOGLEBOT):
        visitor.follow(link["slug"], address=BERLIN, agent=agent)
    user.wait_for_visits(link["id"], 2, bots=1)
    window.goto(f"/links/{link['id']}?range=7d")
    chart = page.get_by_role("group", name="Visits over time")
    page.get_by_text("Show as table").click()
    # Unique visitors are humans, and bots would stand there twice.
    figures = ["Visits", "Unique visitors", "Bots"]
    for choice, visits, shown in (("Humans only", 2, figures), ("Humans and bots", 3, figures), ("Bots only", 1, figures[:1])):
        window.pick("Which visits", choice)
        expect(page.locator(".metric > .muted")).to_have_text(["Bots, left out" if name == "Bots" and choice == "Humans only" else name for name in shown])
        of_all = choice == "Humans and bots"  # then "Visits" beside "Bots" would be read as humans
        expect(page.locator(".as-table thead th")).to_have_text(["Time", choice if of_all else "Visits", *shown[1:]])
        expect(page.locator(".metric-count").first).to_have_text(str(visits))
        expect(page.locator(".as-table tbody tr").last.locator("td").first).to_have_text(str(visits))
        chart.press("End")
        expect(chart.locator("[aria-live]")).to_contain_text(f": Visits {visits}")
    window.goto("/statistics?bots=only")
    top = page.get_by_role("region", name="Most visited links")
    expect(top.get_by_role("columnheader")).to_have_text(["Link", "Visits"])
    expect(top.locator("tbody td")).to_have_text(["1"])


def test_figures_and_visits_are_saved_for_a_spreadsheet(page, window, user, visitor):
    link = user.create(tags=["spring"])
    visitor.follow(link["slug"], address=BERLIN, agent=CHROME)
    user.wait_for_visits(link["id"], 1)

    def saved(button):
        expect(page.locator(".metric-count").first).to_have_text("1")
        with page.expect_download() as download:
            page.get_by_role("button", name=button, exact=True).click()
        content = pathlib.Path(download.value.path()).read_bytes()
        assert content.startswith(codecs.BOM_UTF8)
        return download.value.suggested_filename, content.decode("utf-8-sig").split("\r\n")

    today = datetime.datetime.now(zoneinfo.ZoneInfo("Europe/Berlin")).date()
    days = f"{today - datetime.timedelta(days=6)}-to-{today}"
    for path, name in (("/statistics?range=7d", "all"), ("/statistics?range=7d&country=DE&not_browser=Firefox", "all-country-DE-not-browser-Firefox"), ("/statistics?range=7d&tag=spring", "tag-spring"), (f"/links/{link['id']}?range=7d", f"link-{link['slug']}"), ("/statistics?range=7d&bots=include", "all-with-bots")):
        window.goto(path)
        window.period()
        expect(page.locator(".info")).to_contain_text("Once per link and day (UTC), if the address is known.")
        file, lines = saved("Save as CSV")
        assert file == f"visits-{name}-{days}.csv"
        visits = "Humans and bots" if "bots=include" in path else "Visits"
        assert (lines[0], lines[-1]) == (f"Time (Europe/Berlin),{visits},Unique visitors,Bots", f"{today} 00:00,1,1,0")
        assert len(lines) == 8
    window.goto(f"/links/{link['id']}?range=7d")
    expect(page.get_by_text("Export of ")).to_be_visible()
    file, lines = saved("CSV")
    assert file == f"single-visits-{link['slug']}-{days}.csv" and ",DE," in lines[1] and "occurred_at (UTC)" in lines[0]


def test_the_links_of_a_list_are_saved_with_their_visits(page, window, user, visitor):
    links = [user.create(f"https://example.com/{i}", title="=1+1", tags=["spring", "mail"]) for i in range(101)]
    user.create("https://example.com/other")
    for agent in (CHROME, CHROME, GOOGLEBOT):
        visitor.follow(links[0]["slug"], agent=agent)
    user.wait_for_visits(links[0]["id"], 2, bots=1)
    window.goto("/links?tag=spring&sort=created_at&order=asc&page=2")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as CSV").click()
    expect(page.get_by_role("status")).to_contain_text("Saved as CSV: 101 links.")
    lines = pathlib.Path(download.value.path()).read_bytes().decode("utf-8-sig").split("\r\n")
    assert lines[0] == "Short link,Destination,Title,Tags,State,Visits,Bots,Humans and bots,Last visit,Created"
    assert len(lines) == 102
    assert f"/{links[0]['slug']},https://example.com/0,'=1+1,spring|mail,active,2,1,3,20" in lines[1]
    assert f"active,0,0,0,,{links[100]['created_at']}" in lines[101]


def test_german_files_have_semicolons_and_german_names(browser, user, visitor):
    link = user.create("https://example.com/?a,b", title="Eins; zwei")
    visitor.follow(link["slug"], agent=CHROME, path=f"/{link['slug']}?utm_source=a;b&utm_medium=c,d")
    user.wait_for_visits(link["id"], 1)
    window = browser.open(locale="de-DE")
    window.login(user.email)

    def saved(path, button):
        window.goto(path)
        with window.page.expect_download() as download:
            window.page.get_by_role("button", name=button, exact=True).click()
        return list(csv.reader(pathlib.Path(download.value.path()).open(encoding="utf-8-sig", newline=""), delimiter=";"))

    links = saved("/links", re.compile("CSV speichern"))
    assert links[0][:2] + links[0][4:] == ["Kurzlink", "Ziel", "Status", "Besuche", "Bots", "Menschen und Bots", "Letzter Besuch", "Erstellt"]
    assert links[1][1:3] == ["https://example.com/?a,b", "Eins; zwei"]
    figures = saved("/statistics?range=7d", re.compile("CSV speichern"))
    assert figures[0] == ["Zeit (Europe/Berlin)", "Besuche", "Eindeutige Besucher", "Bots"] and figures[-1][1:] == ["1", "1", "0"]
    names, visit = saved(f"/links/{link['id']}?range=7d", "CSV")
    assert [visit[names.index(name)] for name in ("utm_source", "utm_medium", "slug")] == ["a;b", "c,d", link["slug"]]
    window.close()


def test_yesterday_and_last_week_are_whole_ones_before_this(page, window, user):
    today = datetime.datetime.now(zoneinfo.ZoneInfo("Europe/Berlin")).date()
    yesterday = today - datetime.timedelta(days=1)
    user.create()
    window.goto("/statistics?range=30d")
    with page.expect_request(lambda request: f"from={yesterday}&to={today}" in request.url):
        page.get_by_role("button", name=re.compile("^Period: ")).click()
        page.get_by_role("button", name="Yesterday", exact=True).click()
    page.keyboard.press("n")
    expect(page).to_have_url(re.compile(r"range=today"))
    page.keyboard.press("p")
    expect(page).to_have_url(re.compile(r"range=yesterday"))
    expect(page.get_by_role("button", name="Period: Yesterday")).to_be_visible()
    monday = today - datetime.timedelta(days=today.weekday() + 7)
    with page.expect_request(lambda request: f"from={monday}&to={monday + datetime.timedelta(days=7)}" in request.url):
        page.get_by_role("button", name="Period: Yesterday").click()
        page.get_by_role("button", name="Last week", exact=True).click()
    page.keyboard.press("p")
    expect(page).to_have_url(re.compile(f"from={monday - datetime.timedelta(days=7)}&to={monday - datetime.timedelta(days=1)}"))
    page.keyboard.press("n")
    expect(page).to_have_url(re.compile(r"range=week"))


def test_keys_choose_the_range_and_move_the_cursor_of_the_chart(page, window, user):
    link = user.create()
    window.goto(f"/links/{link['id']}")
    window.settle()
    for key, preset in (("d", "today"), ("w", "7d"), ("t", "30d"), ("m", "month"), ("y", "year")):
        page.keyboard.press(key)
        expect(page).to_have_url(re.compile(rf"range={preset}\b"))
    page.keyboard.press("x")
    expect(page).to_have_url(re.compile(r"compare=1"))
    # The cursor does not stay on a point of the series before.
    expect(page.locator(".chart-before")).to_have_count(1)
    page.locator(".chart").focus()
    page.keyboard.press("Home")
    expect(page.locator(".chart [aria-live]")).to_contain_text("Visits 0")


def test_a_visit_appears_in_the_live_view_unless_it_is_paused(page, window, user, visitor):
    link = user.create()
    window.goto("/live")
    expect(page.get_by_text("Connected")).to_be_visible()
    visitor.follow(link["slug"])
    rows = page.get_by_role("region", name="Visits", exact=True).get_by_role("listitem").filter(has_text=link["slug"])
    expect(rows).to_have_count(1)
    expect(page.locator(".metric-count").first).to_have_text("1")
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_text("Paused")).to_be_visible()
    visitor.follow(link["slug"])
    expect(page.get_by_role("button", name="Continue (1 new)")).to_be_visible()
    user.wait_for_visits(link["id"], 2)
    with page.expect_response(re.compile("/api/.*/stats/summary|/api/stats/summary")):
        pass
    window.settle()
    expect(rows).to_have_count(1)
    assert page.locator(".metric-count").first.inner_text() == "1"
    page.get_by_role("button", name="Continue (1 new)").click()
    expect(page.locator(".metric-count").first).to_have_text("2")
    expect(rows).to_have_count(2)


def test_the_live_view_claims_nothing_before_it_knows_and_says_when_it_is_lost(page, window, user):
    user.create()
    held, stream = [], page.get_by_role("region", name="Visits", exact=True)
    page.route(re.compile("/api/.*(/live$|/stats/summary)"), lambda route: route.abort() if held == () else held.append(route))
    page.goto(f"{window.base}/app/live")
    expect(stream.locator(".skeleton")).to_be_visible()
    waiting, held = held, ()
    for route in waiting:
        route.abort()
    expect(stream.get_by_role("heading", name="Connection lost. Retrying …")).to_be_visible()
    assert page.get_by_text(re.compile("No visits|Waiting for visits")).count() == 0 and page.locator(".metric-count").all_inner_texts() == ["", ""]
    stream.get_by_role("button", name="Try again").click()
    page.unroute_all()
    expect(stream.get_by_role("heading", name="Waiting for visits")).to_be_visible()
    expect(page.locator(".metric-count")).to_have_text(["0", "0"])
    page.route("**/stats/summary*", lambda route: route.abort())
    expect(page.get_by_role("status").filter(has_text="Connection lost.")).to_have_text(re.compile(r"Retrying … As of \d\d:\d\d:\d\d$"))
    expect(page.get_by_role("button", name="Try again")).to_be_visible()
    page.unroute_all()
    expect(page.get_by_text("Connected")).to_be_visible()
