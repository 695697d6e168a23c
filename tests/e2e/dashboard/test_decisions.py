"""Links that decide, as their owners make them in the dashboard: in Chromium, on the real services."""

import re

from waiting import wait_until

from dashboard.browser import expect

PHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1"
DESKTOP = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36"

ROW_PX = 56.5


def location(visitor, slug, **headers):
    return visitor.follow(slug, **headers).headers.get("location")


def test_an_owner_sends_germans_phones_and_half_of_the_rest_elsewhere(page, window, user, visitor):
    window.goto("/links?edit=new")
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Destination", exact=True).fill("example.com/a")
    presets = dialog.get_by_role("group", name="Send some visitors elsewhere")
    presets.get_by_role("button", name="By language").click()
    first = dialog.get_by_role("group", name="Rule 1")
    expect(first.get_by_label("Language", exact=True)).to_be_focused()
    page.keyboard.type("German")
    page.keyboard.press("Enter")
    first.get_by_label("Name").fill("german")
    first.get_by_label("Destination").fill("example.com/de")
    presets.get_by_role("button", name="By device").click()
    second = dialog.get_by_role("group", name="Rule 2")
    expect(second.get_by_label("Destination")).to_be_focused()
    expect(second).to_be_in_viewport(ratio=0.9)
    expect(dialog.get_by_role("heading", name="New link")).to_be_in_viewport()
    expect(second.get_by_role("button", name="Phone", exact=True)).to_have_attribute("aria-pressed", "true")
    expect(second.get_by_label("Name")).to_have_value("Phone")
    page.keyboard.type("example.com/app")
    expect(second).to_contain_text("Phone → /app")
    presets.get_by_role("button", name="A/B split").click()
    expect(dialog.get_by_role("group", name="Variant B").get_by_label("Destination")).to_be_focused()
    page.keyboard.type("example.com/b")
    tester = dialog.get_by_role("region", name="Who would go where?")
    tester.get_by_label("Device").select_option("mobile")
    tester.get_by_role("button", name="Try it").click()
    expect(tester.get_by_role("status")).to_contain_text("Phone → example.com/app")
    tester.get_by_label("Device").select_option("desktop")
    tester.get_by_role("button", name="Try it").click()
    expect(tester.get_by_role("status")).to_contain_text("No rule fits → 50% example.com/a (A), 50% example.com/b (B)")
    presets.get_by_role("button", name="Visit limit").click()
    expect(dialog.get_by_label("Maximum visits (people)")).to_be_focused()
    page.keyboard.type("500")
    dialog.get_by_label("Destination after the end").fill("example.com/over")
    tester.get_by_role("button", name="Try it").click()
    expect(tester.get_by_role("status")).to_contain_text("after 500 visits → /over")
    button = tester.get_by_role("button", name="Try it")
    before = button.bounding_box()
    tester.get_by_label("Country").fill("Germany")
    tester.get_by_label("Country").press("Enter")
    expect(tester.get_by_text("Germany")).to_be_visible()
    assert button.bounding_box() == before, "a click on its way must not miss"
    assert window.violations() == []
    dialog.get_by_role("button", name="Create link").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    link = user.call("GET", "/api/links").json["links"][0]
    slug = link["slug"]
    row = page.locator(f"#link-{link['id']}")
    expect(row).to_contain_text("2 rules · A/B · 500 of 500 left")
    assert row.bounding_box()["height"] <= ROW_PX
    assert location(visitor, slug, agent=DESKTOP, accept_language="de-AT,en;q=0.5") == "https://example.com/de"
    assert location(visitor, slug, agent=PHONE) == "https://example.com/app"
    assert location(visitor, slug, agent=DESKTOP) in ("https://example.com/a", "https://example.com/b")
    page.goto(f"{window.base}/app/links/{link['id']}")
    expect(page.get_by_text("German → /de · Phone → /app · others → 50% /a, 50% /b · after 500 visits → /over")).to_be_visible()
    left = re.compile("([0-9]+) of 500 visits by people left")
    shown = page.get_by_text(left).inner_text()
    assert 490 < int(left.search(shown)[1]) < 500
    visitor.follow(slug, agent=DESKTOP)
    expect(page.get_by_text(shown)).to_have_count(0)
    expect(page.get_by_role("region", name="Rules and ways")).to_contain_text("german")
    assert window.violations() == []


def test_a_wrong_rule_is_said_where_it_is_and_nothing_is_lost(page, window, user):
    window.goto("/links?edit=new")
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Destination", exact=True).fill("example.com/a")
    dialog.get_by_role("button", name="Other rule").click()
    rule = dialog.get_by_role("group", name="Rule 1")
    rule.get_by_label("Country", exact=True).fill("Atlantis")
    rule.get_by_label("Destination").fill("javascript:alert(1)")
    expect(rule.get_by_text("No country is called Atlantis.")).to_be_visible()
    # DD was a part of Germany.
    rule.get_by_label("Country", exact=True).fill("Germany")
    for button in "Try it", "Create link":
        dialog.get_by_role("button", name=button).click()
        expect(dialog.get_by_text("Check the marked fields.")).to_be_visible()
        expect(rule.locator(".field-error")).to_have_count(1)
        expect(rule.get_by_label("Destination")).to_be_focused()
        expect(rule.get_by_label("Destination")).to_have_value("javascript:alert(1)")
    assert user.call("GET", "/api/links").json["links"] == []
    rule.get_by_label("Destination").fill("example.com/de")
    expect(dialog.get_by_text("Check the marked fields.")).to_have_count(0)
    dialog.get_by_role("button", name="Create link").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert user.call("GET", "/api/links").json["links"][0]["rules"][0]["when"] == {"country": ["DE"]}


def test_a_phone_shows_how_to_save_wherever_the_form_is_scrolled(page, window):
    page.set_viewport_size({"width": 390, "height": 700})
    window.goto("/links?edit=new")
    dialog = page.get_by_role("dialog")
    for part in "Campaign", "Start, end", "Notes":
        dialog.locator("summary", has_text=part).click()
        expect(dialog.get_by_role("button", name="Create link")).to_be_in_viewport(ratio=1)


def test_a_password_is_set_kept_and_removed(page, window, user, visitor):
    link = user.create("https://example.com/secret")
    slug = link["slug"]
    for change, status in ("set", 200), ("keep", 200), ("remove", 302):
        window.goto(f"/links/{link['id']}")
        page.get_by_role("button", name="Actions for").click()
        page.get_by_role("menuitem", name="Edit").click()
        dialog = page.get_by_role("dialog")
        if change == "set":
            dialog.locator("summary", has_text="Password").click()
            dialog.get_by_label("Password", exact=True).fill("open sesame")
        elif change == "keep":
            dialog.get_by_label("Title", exact=True).fill("Kept")
        else:
            dialog.locator("summary", has_text="Password").click()
            dialog.get_by_label("Remove the password").check()
        dialog.get_by_role("button", name="Save", exact=True).click()
        expect(page.get_by_role("dialog")).to_have_count(0)
        wait_until(lambda status=status: visitor.follow(slug).status == status, f"the status {status}")


def test_a_try_of_a_link_that_is_used_up_says_so_and_where_visitors_go(page, window, user, visitor):
    rules = [{"name": "phones", "when": {"device": ["mobile"]}, "then": "redirect", "url": "https://example.com/app"}]
    link = user.create("https://example.com/a", max_visits=1, expired_url="https://example.com/over", rules=rules)
    wait_until(lambda: location(visitor, link["slug"], agent=PHONE) == "https://example.com/over", "the limit")
    window.goto(f"/links/{link['id']}")
    page.get_by_role("button", name="Edit", exact=True).click()
    tester = page.get_by_role("dialog").get_by_role("region", name="Who would go where?")
    tester.get_by_label("Device").select_option("mobile")
    tester.get_by_role("button", name="Try it").click()
    expect(tester.get_by_role("status")).to_contain_text("Used up → example.com/over")


def test_the_history_says_what_changed_in_a_rule(page, window, user):
    rule = {"name": "germans", "when": {"country": ["DE"]}, "then": "redirect", "url": "https://example.com/de"}
    phones = {"name": "phones", "when": {"device": ["mobile"]}, "then": "redirect", "url": "https://example.com/app"}
    link = user.create("https://example.com/a", rules=[rule, phones])
    changed = {**rule, "when": {"country": ["DE", "AT"]}}
    assert user.call("PATCH", f"/api/links/{link['id']}", {"rules": [changed, phones]}).status == 200
    window.goto(f"/links/{link['id']}")
    page.get_by_text("Changes of the link").click()
    entry = page.get_by_role("listitem").filter(has_text="Rules")
    expect(entry.locator("del")).to_have_text("germans (Germany → example.com/de)")
    expect(entry.locator("ins")).to_have_text("germans (Germany or Austria → example.com/de)")
