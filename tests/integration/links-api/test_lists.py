"""Lists of links: pages, owners, and freshness. A list shows every acknowledged change at once, whatever state Redis is in."""

import concurrent.futures
import datetime
import secrets
import time
import urllib.parse

import pytest
from clients import Api, unique_email


def register_user(service):
    api = Api(service.url)
    api.register_and_login(unique_email())
    api.id = api.call("GET", "/api/auth/me").json["user"]["id"]
    return api


@pytest.fixture(scope="module")
def account(service):
    return register_user(service)


@pytest.fixture
def user(account, database):
    """The shared account without links; registering one takes a second."""
    database.run("DELETE FROM links WHERE workspace_id = %s", account.id)
    return account


def shown(user, query=""):
    answer = user.call("GET", f"/api/links{query}")
    assert answer.status == 200, answer
    return answer.json


def change_title(user, link, title):
    answer = user.call("PATCH", f"/api/links/{link['id']}", {"title": title})
    assert answer.status == 200, answer
    return answer.json["link"]


# --- pages ---


def test_a_list_shows_each_link_as_its_own_endpoint_does(user):
    links = [
        user.create(title="Ü", tags=["a", "b c"], expired_url="https://example.com/over"),
        user.create(redirect_status=308),
    ]
    assert shown(user)["links"] == [user.call("GET", f"/api/links/{link['id']}").json["link"] for link in links[::-1]]


def test_pages_of_every_limit_hold_all_links_in_order(user):
    links = [user.create() for _ in range(5)][::-1]
    for limit in (2, 3, 100):
        pages = [shown(user, f"?page={page}&limit={limit}") for page in (1, 2, 3)]
        assert [link for page in pages for link in page["links"]] == links
        assert {page["pagination"]["total"] for page in pages} == {5}


def test_a_page_beyond_the_last_one_is_empty(user):
    user.create()
    page = shown(user, "?page=9")
    assert page["links"] == []
    assert page["pagination"] == {"page": 9, "limit": 20, "total": 1, "total_is_capped": False, "total_pages": 1, "next_cursor": None}


def test_a_page_of_100_links_with_the_longest_urls_is_complete(user, database):
    database.run(
        """INSERT INTO links (slug, link_type, original_url, expired_url, workspace_id)
           SELECT 'big-' || %s || '-' || i, 'PERMANENT', 'https://e.example/' || repeat('u', 2030),
                  'https://e.example/' || repeat('v', 2030), %s FROM generate_series(1, 100) AS i""",
        user.id,
        user.id,
    )
    assert len({link["id"] for link in shown(user, "?limit=100")["links"]}) == 100


# --- freshness ---


def test_each_change_is_listed_at_once(user):
    for i in range(5):
        link = user.create()
        assert shown(user)["links"][0] == link
        path = f"/api/links/{link['id']}"
        changed = change_title(user, link, str(i))
        assert shown(user)["links"][0] == changed
        assert user.call("DELETE", path).status == 204
        assert shown(user)["pagination"]["total"] == i
        restored = user.call("POST", f"{path}/restore").json["link"]
        assert shown(user)["links"][0] == restored


def test_a_change_through_another_instance_is_listed_at_once(user, start):
    there = Api(start().url)
    there.token = user.token
    link = user.create()
    for title in "abcde":
        changed = change_title(there, link, title)
        assert shown(user)["links"] == [changed]


def test_a_list_shows_the_days_of_each_link_folded_or_not(user, database):
    quiet, busy = user.create(), user.create()
    database.run("INSERT INTO rollup_day (link_id, day, humans, bots, uniques) VALUES (%s, current_date - 2, 5, 9, 1), (%s, current_date - 30, 7, 0, 1)", busy["id"], busy["id"])
    database.run(
        "INSERT INTO rollup_delta (link_id, hour, humans, bots, uniques)"
        " SELECT %s, date_trunc('day', now(), 'UTC') + i * interval '1 second', 2, 1, 1 FROM generate_series(1, 2) AS i",
        busy["id"],
    )
    assert [link["daily_humans"] for link in shown(user, "?days=3")["links"]] == [[5, 0, 4], [0, 0, 0]]
    assert [link["id"] for link in shown(user, "?days=3")["links"]] == [busy["id"], quiet["id"]]
    assert shown(user, "?days=31")["links"][0]["daily_humans"][0] == 7
    assert "daily_humans" not in shown(user)["links"][0]
    assert user.call("GET", "/api/links?days=91").json["errors"][0]["pointer"] == "/days"


def test_a_listed_link_expires_on_time(user):
    for seconds in (1.5, 6, 24):  # on a busy machine the request may take longer
        end = round(time.time() + seconds, 3)  # the API has milliseconds
        moment = datetime.datetime.fromtimestamp(end, datetime.timezone.utc).isoformat(timespec="milliseconds")
        answer = user.call("POST", "/api/links", {"original_url": "https://example.com/", "expires_at": moment.replace("+00:00", "Z")})
        if answer.status != 400:
            break
    assert answer.status == 201, answer
    while True:
        begun = time.time()
        state = shown(user)["links"][0]["state"]
        if begun > end + 0.01:
            break
        assert state == "active" or time.time() >= end
    assert state == "expired"


def freeze(redis):
    redis.freeze()
    return redis.thaw


def fill(redis):
    redis.client.config_set("maxmemory", "1mb")
    return lambda: redis.client.config_set("maxmemory", "0")


def flush(redis):
    redis.client.flushall()
    return lambda: None


@pytest.mark.parametrize("fault", [freeze, fill, flush])
def test_a_change_is_listed_at_once_while_redis_fails(user, database, fault):
    link = user.create()
    repair = fault(database.redis)
    try:
        for title in "abc":
            changed = change_title(user, link, title)
            assert shown(user)["links"] == [changed]
    finally:
        repair()


def test_lists_read_during_changes_are_never_old(user):
    """A read that begins after an acknowledged change shows it."""
    link = user.create(title="0")
    acknowledged = 0
    running = True

    def read():
        seen = 0
        while running:
            least = acknowledged
            assert int(shown(user)["links"][0]["title"]) >= least
            seen += 1
        return seen

    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        readers = [pool.submit(read) for _ in range(3)]
        try:
            for i in range(1, 101):
                change_title(user, link, str(i))
                acknowledged = i
        finally:
            running = False
        assert all(reader.result() > 0 for reader in readers)


def test_an_international_host_is_shown_and_found_as_it_was_typed(new_user):
    user = new_user()
    link = user.create(original_url="https://Bücher.example/neu")
    titled = user.create(title="Über bücher.example")
    user.create()
    assert link["original_url"] == "https://xn--bcher-kva.example/neu"
    assert link["destination_host_display"] == "bücher.example"
    assert titled["destination_host_display"].isascii()
    for q in ("bücher.example", "BÜCHER.example"):
        found = user.call("GET", f"/api/links?q={urllib.parse.quote(q)}").json["links"]
        assert {each["id"] for each in found} == {link["id"], titled["id"]}
    assert [each["id"] for each in user.call("GET", "/api/links?q=xn--bcher").json["links"]] == [link["id"]]


SEEN = {
    "https://пример.рф/новости/Лето": ["новости", "Новости", "НОВОСТИ", "нов", "лето", "прим", "пример.рф", "пример.рф/новости", "https://пример.рф/новости", "xn--e1afmkfd", "%D0%BD%D0%BE%D0%B2", "%d0%bd"],
    "https://shop.example/my%20file%2Dlist.pdf?q=red+shoes": ["my file", "file-list", "file my", "red shoes", "shoes red", "red+shoes", "my%20file", "file%2Dlist", "SHOP.example/my file", "shop.example  shoes"],
    "https://münchen.example/stra%C3%9Fe#%E6%9D%B1%E4%BA%AC": ["münch", "MÜNCHEN", "straße", "東京", "münchen.example/straße"],
    "https://a.example/caf%C3%A9/%E2%82%AC?x=%22%C3%BC%22": ["café", "CAFÉ", "€", "\"ü\"", "café/€"],
    "https://b.example/%FF%0A%25/100%25": ["%ff", "100%", "%0A"],
}


def test_a_search_finds_what_people_see(new_user):
    user = new_user()
    links = {url: user.create(original_url=url)["id"] for url in SEEN}
    for url, texts in SEEN.items():
        for q in texts:
            found = user.call("GET", f"/api/links?q={urllib.parse.quote(q, safe='')}").json["links"]
            assert [each["id"] for each in found] == [links[url]], q
    for text in ("новости", "my file", "münch", "café/€", "xn--e1afmkfd"):
        filtered = urllib.parse.quote(f"original_url:~'{text}'", safe="")
        (url,) = [url for url in SEEN if text in SEEN[url]]
        assert [each["id"] for each in user.call("GET", f"/api/links?filter={filtered}").json["links"]] == [links[url]], text
    for q in ("пример новости лета", "my files", "münchenstraße", "%0a%26"):
        assert user.call("GET", f"/api/links?q={urllib.parse.quote(q, safe='')}").json["links"] == [], q


def test_each_word_of_a_search_is_found_in_any_field(new_user):
    user = new_user()
    link = user.create(original_url="https://fields.example/landing", title="Autumn letter", slug=f"promo{secrets.token_hex(4)}")
    user.create(original_url="https://fields.example/other", title="Spring letter")
    for q in ("autumn landing", "letter landing", "promo autumn fields.example", " landing  autumn "):
        ids = [each["id"] for each in user.call("GET", f"/api/links?q={urllib.parse.quote(q)}").json["links"]]
        assert ids == [link["id"]], q
    assert user.call("GET", "/api/links?q=autumn+other").json["links"] == []


def test_a_search_follows_a_change_of_the_destination(new_user):
    user = new_user()
    link = user.create(original_url="https://a.example/%D0%B0%D0%B1%D0%B2")
    assert user.call("PATCH", f"/api/links/{link['id']}", {"original_url": "https://a.example/%D0%B3%D0%B4%D0%B5"}).status == 200
    assert user.call("PATCH", f"/api/links?filter=id:{link['id']}", {"add_tags": ["x"]}).status == 200
    for q, found in (("абв", []), ("где", [link["id"]])):
        assert [each["id"] for each in user.call("GET", f"/api/links?q={urllib.parse.quote(q)}").json["links"]] == found


def test_a_short_link_is_found_as_it_was_copied(new_user):
    user = new_user()
    link, _ = user.create(), user.create()
    bare = link["short_url"].partition("://")[2]
    for q in (link["short_url"], bare, f"{link['short_url']}/", f"{bare.upper().rpartition('/')[0]}/{link['slug']}?utm_source=letter"):
        found = user.call("GET", f"/api/links?limit=1&q={urllib.parse.quote(q, safe='')}").json
        assert [each["id"] for each in found["links"]] == [link["id"]], q
        assert found["pagination"]["next_cursor"] is None
    for q in (bare.rpartition("/")[0] + "/", bare.rpartition("/")[0] + "/?x"):
        assert user.call("GET", f"/api/links?q={urllib.parse.quote(q, safe='')}").json["links"] == [], q
