"""Lists of links: cursors, orders, searches and filters."""

import concurrent.futures
import random
import urllib.parse

import psycopg2
import pytest
from clients import Api, unique_email
from users import User, insert_api_key
from waiting import wait_until

LIMIT = 7


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


@pytest.fixture
def rank(database):
    """rank(link, visits, at): stores a count like the consumer and refreshes the ranking like the janitor."""

    def count(link, visits, at=None):
        database.run(
            "INSERT INTO link_statistics (link_id, visit_count, last_visited_at) VALUES (%s, %s, %s)"
            " ON CONFLICT (link_id) DO UPDATE SET visit_count = EXCLUDED.visit_count, last_visited_at = EXCLUDED.last_visited_at",
            link["id"], visits, at,
        )  # fmt: skip
        refresh(database)

    return count


def refresh(database):
    while database.value("SELECT link_ranking_refresh(1000)") > 0:
        pass


def path(**query):
    return "/api/links?" + urllib.parse.urlencode(query)


def shown(user, **query):
    answer = user.call("GET", path(**query))
    assert answer.status == 200, answer
    return answer.json


def slugs(user, **query):
    """The slugs of all pages, by cursor. All pages but the last are full, and the total stays the same."""
    found, totals, cursor = [], set(), {}
    while True:
        page = shown(user, limit=LIMIT, **query, **cursor)
        found += [link["slug"] for link in page["links"]]
        pagination = page["pagination"]
        totals.add(pagination["total"])
        assert pagination["limit"] == LIMIT
        if cursor:
            assert pagination["page"] is None and pagination["total_pages"] is None
        if not pagination["next_cursor"]:
            assert totals == {len(found)}
            return found
        assert len(page["links"]) == LIMIT
        cursor = {"cursor": pagination["next_cursor"]}


def create_links(user, count, **members):
    """Creates links; returns the newest first."""
    return [user.create(**members) for _ in range(count)][::-1]


def names(links):
    return [link["slug"] for link in links]


# --- pages and cursors ---


def test_a_cursor_visits_every_link_once(user):
    links = create_links(user, 3 * LIMIT + 1)
    assert slugs(user) == names(links)
    assert slugs(user, order="asc") == names(links[::-1])
    first = shown(user, limit=LIMIT)["pagination"]
    assert (first["page"], first["total"], first["total_pages"]) == (1, 22, 4) and first["next_cursor"]


def test_a_full_last_page_has_no_cursor(user):
    create_links(user, LIMIT)
    assert shown(user, limit=LIMIT)["pagination"]["next_cursor"] is None
    assert shown(user, limit=LIMIT, q="http")["pagination"]["next_cursor"] is None


def test_no_link_is_repeated_or_skipped_while_others_are_created_and_deleted(user):
    links = create_links(user, 3 * LIMIT)
    first = shown(user, limit=LIMIT)
    cursor = first["pagination"]["next_cursor"]
    create_links(user, LIMIT)
    for link in links[:LIMIT]:
        assert user.call("DELETE", f"/api/links/{link['id']}").status == 204
    second = shown(user, limit=LIMIT, cursor=cursor)
    assert names(second["links"]) == names(links[LIMIT : 2 * LIMIT])
    third = shown(user, limit=LIMIT, cursor=second["pagination"]["next_cursor"])
    assert names(third["links"]) == names(links[2 * LIMIT :])
    assert third["pagination"]["next_cursor"] is None


def test_a_cursor_belongs_to_its_query_and_its_user(user, bob, expect):
    create_links(user, 2)
    cursor = shown(user, limit=1)["pagination"]["next_cursor"]
    for query in ({"q": "a"}, {"order": "asc"}, {"sort": "humans"}, {"filter": "id:1"}, {"page": 1}):
        expect(user.call("GET", path(limit=1, cursor=cursor, **query)), 400, "/cursor")
    expect(bob.call("GET", path(limit=1, cursor=cursor)), 400, "/cursor")
    expect(user.call("GET", path(cursor=cursor[:-1] + ("0" if cursor[-1] != "0" else "1"))), 400, "/cursor")


# --- order ---


def test_links_are_sorted_by_visits(user, rank):
    never, few, many, new = create_links(user, 4)
    rank(few, 3, "2026-11-02T00:00:00Z")
    rank(many, 50, "2026-11-01T00:00:00Z")
    rank(new, 1, "2026-11-03T00:00:00.000001Z")
    assert slugs(user, sort="humans") == names([many, few, new, never])
    assert slugs(user, sort="humans", order="asc") == names([never, new, few, many])
    assert slugs(user, sort="last_visited_at") == names([new, few, many, never])
    assert slugs(user, sort="last_visited_at", order="asc") == names([never, many, few, new])
    assert [link["humans"] for link in shown(user, sort="humans")["links"]] == [50, 3, 1, 0]


@pytest.mark.parametrize("sort", ["humans", "last_visited_at"])
@pytest.mark.parametrize("order", ["asc", "desc"])
def test_a_cursor_visits_links_with_equal_visits_once(user, rank, sort, order):
    links = create_links(user, 3 * LIMIT)
    for link in links[LIMIT : 2 * LIMIT]:
        rank(link, 5, "2026-11-02T00:00:00Z")
    both = links[LIMIT : 2 * LIMIT] + links[:LIMIT] + links[2 * LIMIT :]
    assert slugs(user, sort=sort, order=order) == names(both if order == "desc" else both[::-1])


def test_search_results_can_be_sorted(user, rank):
    links = create_links(user, LIMIT + 1, title="Advent calendar")
    create_links(user, 2)
    rank(links[3], 9)
    expected = names([links[3], *links[:3], *links[4:]])
    assert slugs(user, q="advent", sort="humans") == expected
    assert slugs(user, q="advent", sort="humans", order="asc") == expected[::-1]
    assert slugs(user, q="advent", order="asc") == names(links[::-1])


# --- search ---


def test_q_finds_substrings_of_slug_url_and_title_in_any_case(user):
    slug = user.create()
    target = user.create(original_url="https://Shop.example.com/Red-Shoes-42?size=8")
    title = user.create(title="Über uns: 50% auf_alles \\ heute")
    for q, link in ((slug["slug"][1:6], slug), ("shop.EX", target), ("red-shoes-42", target), ("shoes-42?SIZE", target),
                    ("ÜBER", title), ("über UNS", title), ("50%", title), ("f_a", title), ("\\ h", title), ("ns: 5", title)):  # fmt: skip
        assert slugs(user, q=q) == [link["slug"]], q
    for q in ("50_", "au%lles", "nothing like it", "zzzz", slug["slug"] + "https"):
        assert slugs(user, q=q) == [], q


def test_tag_and_state_filter_links(user, database):
    a, b, c, d = create_links(user, 4)
    for link, tags in ((a, ["x"]), (b, ["x", "y"]), (c, ["xy"])):
        assert user.call("PATCH", f"/api/links/{link['id']}", {"tags": tags}).status == 200
    assert slugs(user, tag="x") == names([a, b])
    assert slugs(user, tag="X") == []
    assert user.call("PATCH", f"/api/links/{a['id']}", {"state": "disabled"}).status == 200
    assert user.call("DELETE", f"/api/links/{b['id']}").status == 204
    database.run("UPDATE links SET expires_at = now() - interval '1 second' WHERE id = %s", c["id"])
    assert slugs(user, state="disabled") == names([a])
    assert slugs(user, state="deleted") == names([b])
    assert slugs(user, state="expired") == names([c]), "even before the janitor has marked it"
    assert slugs(user, state="active") == names([d])
    assert slugs(user) == names([a, c, d])
    assert slugs(user, tag="x", state="disabled", q="http", filter="id:>0") == names([a])


def test_a_search_finds_no_links_of_others(user, bob):
    bob.create(title="secret plan", tags=["secret"])
    for query in ({"q": "secret"}, {"tag": "secret"}, {"filter": "title:~secret,tag:secret,id:>0"}, {"state": "active"}):
        assert slugs(user, **query) == []


def test_a_total_stops_at_ten_thousand_matches(user, database):
    database.run(
        "INSERT INTO links (slug, link_type, original_url, workspace_id, title) SELECT 'many-' || %s || '-' || i, 'PERMANENT', 'https://example.com/',"
        " %s, CASE WHEN i <= 10000 THEN 'exactly' ELSE '' END FROM generate_series(1, 10001) AS i", user.id, user.id,
    )  # fmt: skip
    assert shown(user)["pagination"]["total"] == 10001, "the total is exact without a search"
    exact = shown(user, q="exactly")["pagination"]
    assert (exact["total"], exact["total_is_capped"], exact["total_pages"]) == (10000, False, 500)
    many = shown(user, q="many-", limit=LIMIT)
    assert (many["pagination"]["total"], many["pagination"]["total_is_capped"], many["pagination"]["total_pages"]) == (10000, True, None)
    more = shown(user, q="many-", limit=LIMIT, cursor=many["pagination"]["next_cursor"])
    assert len({link["id"] for link in many["links"] + more["links"]}) == 2 * LIMIT


@pytest.fixture(scope="module")
def crowded(service, database):
    """An account with 11,000 links and sampled trigrams. How often each text occurs is far from where another plan is chosen, because the sample is random."""
    user = register_user(service)
    database.run(
        "INSERT INTO links (slug, link_type, original_url, workspace_id, title, tags)"
        " SELECT 'crowd' || %s || '-' || i, 'PERMANENT', 'https://shop' || i %% 23 || '.example/Red-Shoes?campaign=c' || i %% 500 || '&x=1', %s,"
        " CASE WHEN i %% 100 = 7 THEN '稀見字' ELSE (array['Winter', 'Ünïted', 'наука', '中文字', 'Winter'])[1 + i %% 5] END || ' sale ' || i, CASE WHEN i %% 1000 = 0 THEN '{rare,even}'::text[] WHEN i %% 2 = 0 THEN '{even}' ELSE '{}' END"
        " FROM generate_series(1, 11000) AS i",
        user.id, user.id,
    )  # fmt: skip
    database.run("VACUUM ANALYZE links")
    assert database.value("SELECT link_search_refresh()")
    assert not database.value("SELECT link_search_refresh()"), "at most once an hour"
    return user


@pytest.fixture
def crowd(crowded, database):
    """The same account in a database whose statistics claim five times as many links."""
    database.run("INSERT INTO link_counts (workspace_id, links) VALUES (%s, 44000)", crowded.id)
    database.run("UPDATE link_search_trigrams SET links = links * 5")
    database.run("UPDATE link_search_count SET links = links * 5")
    yield crowded
    database.run("UPDATE link_search_count SET links = links / 5")
    database.run("UPDATE link_search_trigrams SET links = links / 5")
    database.run("DELETE FROM link_counts WHERE workspace_id = %s AND links = 44000", crowded.id)


TEXT = "lower((slug || E'\\n' || original_url || E'\\n' || title || E'\\n' || shown_url) COLLATE \"default\")"


def matches(database, user, q):
    """Each word is somewhere in the text."""
    conditions = "".join(f" AND position(lower(%s) IN {TEXT}) > 0" for _ in q.split())
    return database.value(f"SELECT count(*) FROM links WHERE workspace_id = %s{conditions}", user.id, *q.split())


def test_a_search_in_a_large_account_finds_all_matches(crowd, database):
    dice = random.Random(7)
    texts = database.run("SELECT slug || E'\\n' || original_url || E'\\n' || title || E'\\n' || shown_url FROM links WHERE workspace_id = %s AND id %% 700 = 0", crowd.id)
    asked = ["campaign=C77&", "=c7&", "shop3", "наука 1", "НАУКА 12", "中文字 3", "ünïted sale 77", "ÜNÏ", "字 sale 9", "winter sale 1234", "winter red"]
    for (text,) in texts:
        line = dice.choice(text.splitlines())
        begin = dice.randrange(len(line))
        asked.append(line[begin : begin + dice.randrange(3, 20)])
    for q in asked:
        expected = matches(database, crowd, q)
        found = shown(crowd, q=q, limit=100)
        assert len(found["links"]) == min(expected, 100), q
        assert found["pagination"]["total"] == min(expected, 10000), q
        texts = [f"{link['slug']}\n{link['original_url']}\n{link['title']}".lower() for link in found["links"]]
        assert all(word in text for word in q.lower().split() for text in texts), q


def test_a_search_in_a_large_account_has_a_total(crowd, database):
    for query in ({"q": "=c7&"}, {"q": "shop3."}, {"q": "shop3.", "sort": "humans"}, {"q": "sale 777"}, {"q": "no such thing 7"}, {"q": "~"},
                  {"q": "winter-sale"}, {"q": "稀見字"}, {"q": "НАУКА"}, {"q": "winter"}):  # fmt: skip
        assert shown(crowd, **query)["pagination"]["total"] == matches(database, crowd, query["q"]), query
    for query, total in (({"q": "Red-Shoes"}, 10000), ({"q": "c"}, 10000), ({"tag": "even", "sort": "humans"}, 5500), ({"q": "c", "tag": "rare"}, 11), ({"q": "c", "filter": "tag:rare"}, 11),
                         ({"q": "c", "state": "deleted"}, 0)):  # fmt: skip
        pagination = shown(crowd, **query)["pagination"]
        assert (pagination["total"], pagination["total_is_capped"]) == (total, total == 10000), query


def test_a_search_in_a_large_account_finds_both_forms_of_a_host(crowd):
    links = crowd.create(original_url="https://書の虫.example/"), crowd.create(title="書の虫")
    found = shown(crowd, q="書の虫")
    assert names(found["links"]) == names(links[::-1]) and found["pagination"]["total"] == 2


@pytest.mark.parametrize("choice", [{"q": "shop3."}, {"q": "winter"}, {"q": "e"}, {"tag": "even"}], ids=["rare", "common", "short", "tag"])
def test_a_filter_in_a_large_account_has_every_order_and_all_pages(crowd, database, choice):
    clause = "'even' = ANY (tags)" if "tag" in choice else f"position('{choice['q']}' IN {TEXT}) > 0"
    for query in ({}, {"order": "asc"}, {"sort": "humans"}):
        direction = "ASC" if query.get("order") == "asc" else "DESC"
        expected = database.run(f"SELECT slug FROM links WHERE workspace_id = %s AND {clause} ORDER BY created_at {direction}, id {direction} LIMIT 300", crowd.id)
        found, cursor = [], {}
        for _ in range(3):
            page = shown(crowd, limit=100, **choice, **query, **cursor)
            found += names(page["links"])
            cursor = {"cursor": page["pagination"]["next_cursor"]}
        assert found == [slug for (slug,) in expected], query
        assert names(shown(crowd, limit=100, page=3, **choice, **query)["links"]) == found[200:]


def index_scans(database):
    """How often links_search_idx was used. A connection has reported all that it did when it has ended."""
    connections = "FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'links-api'"
    ended = [pid for pid, _ in database.run(f"SELECT pid, pg_terminate_backend(pid) {connections}")]
    wait_until(lambda: database.value(f"SELECT count(*) {connections} AND pid = ANY (%s)", ended) == 0, "the connections to end")
    return database.value("SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelname = 'links_search_idx'")


@pytest.mark.parametrize("q", ["sale 777", "НАУКА 12", "稀見字", "%"], ids=["ascii", "cyrillic", "chinese", "none"])
def test_the_search_index_is_used_where_it_helps(crowd, database, q):
    before = index_scans(database)
    wait_until(lambda: crowd.call("GET", path(q=q)).status == 200, "new connections")
    assert (index_scans(database) > before) == (q != "%")


# --- filter ---


def test_filters_select_the_right_links(user, rank, database):
    a = user.create(title="Summer sale", tags=["sale", "eu"], original_url="https://example.com/a", redirect_status=301)
    b = user.create(title="it's 50%", tags=["us"], expires_at="2099-01-01T00:00:00.500Z")
    c = user.create(expired_url="https://example.com/over")
    rank(a, 10, "2026-11-01T10:00:00.123456Z")
    rank(b, 3, "2026-11-02T00:00:00Z")
    database.run("UPDATE links SET destination_status = 404 WHERE id = %s", c["id"])
    everything = [c, b, a]
    for text, expected in (
        ("redirect_status:301", [a]),
        ("redirect_status:-301", [c, b]),
        ("humans:>3", [a]),
        ("humans:>=3+humans:<10", [b]),
        ("humans:[3,10]", [b, a]),
        ("last_visited_at:2026-11-01T10:00:00.123Z", [a]),
        ("last_visited_at:[2026-11-01T10:00:00.123Z,2026-11-02]", [b, a]),
        ("last_visited_at:>2026-11-01T10:00:00.123Z", [b]),
        ("last_visited_at:<=2026-11-01T10:00:00.123Z", [a]),
        ("last_visited_at:null", [c]),
        ("last_visited_at:-null", [b, a]),
        ("expires_at:2099-01-01T00:00:00.500Z", [b]),
        ("expires_at:-null", [b]),
        ("title:'it\\'s 50%'", [b]),
        ("title:~'SUMMER'", [a]),
        ("title:~'%'", [b]),
        ("title:-~summer", [c, b]),
        ("title:''", [c]),
        ("tag:sale", [a]),
        ("tag:-sale", [c, b]),
        ("tag:[us,eu]", [b, a]),
        ("tag:-[us,eu]", [c]),
        ("tag:~AL", [a]),
        ("expired_url:~over", [c]),
        ("expired_url:-~over", [b, a]),
        ("expired_url:-https://example.com/over", [b, a]),
        ("destination_status:404", [c]),
        ("destination_status:-404", [b, a]),
        (f"slug:[{a['slug']},{c['slug']}]", [c, a]),
        (f"id:{b['id']}", [b]),
        ("original_url:https://example.com/a", [a]),
        ("state:active+link_type:permanent+version:1", everything),
        ("state:-active", []),
        ("tag:us,tag:sale+humans:>5", [b, a]),
        ("(tag:us,tag:sale)+humans:>5", [a]),
        ("tag:us tag:eu", []),
        (f"created_at:>={a['created_at']}", everything),
        (f"created_at:{a['created_at']}+id:{a['id']}", [a]),
        ("created_at:>2090-01-01", []),
        (f"updated_at:<={c['updated_at']}+last_checked_at:null", everything),
    ):
        assert slugs(user, filter=text) == names(expected), text


def test_an_invalid_filter_reports_the_position(user, expect):
    problem = expect(user.call("GET", path(filter="state:deleted")), 400, "/filter")
    assert "use the parameter state=" in problem["detail"]
    problem = expect(user.call("GET", path(filter="tag:x+workspace_id:1")), 400, "/filter")
    assert problem["errors"][0]["detail"] == "at character 7: unknown field workspace_id; /docs/nql.md lists the fields"
    assert problem["detail"] == "Invalid request: filter: at character 7: unknown field workspace_id; /docs/nql.md lists the fields."
    for text in ("x'); DROP TABLE links; --", "title:'a' OR 1=1", "id:1) OR (1=1", "tag:'\\x'", "\U0001f517:1", "id:1\x00"):
        assert user.call("GET", path(filter=text)).status == 400, text


def test_a_filter_of_the_maximum_length_fits_in_any_script(user, expect):
    longest = "title:~'%s'" % ("ж" * 995)  # two bytes each, six when escaped
    assert len(longest.encode()) == 1999
    assert shown(user, filter=longest + " ", sort="last_visited_at", order="desc", limit=100)["links"] == []
    expect(user.call("GET", path(filter=longest + "  ")), 400, "/filter")
    assert change(user, longest, {"tags": ["x"]}).json == {"matched": 0, "changed": 0}


def test_values_are_never_interpreted_as_syntax(user):
    for value in ("'; DROP TABLE links; --", "$1", "%", "{a,b}", "NULL", '"', "\\", "a\\'b", "(x)", "[y]", "über", "\U0001f517"):
        link = user.create(title=value, tags=[value])
        quoted = "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
        for text in (f"title:{quoted}", f"tag:{quoted}", f"tag:[{quoted},nobody]", f"title:~{quoted}+tag:~{quoted}+title:{quoted}"):
            assert slugs(user, filter=text) == [link["slug"]], text


# --- changes by filter ---


def change(user, text, body, **query):
    return user.call("PATCH", path(filter=text, **query), body)


def changed(user, text, body):
    answer = change(user, text, body)
    assert answer.status == 200, answer
    return answer.json["matched"], answer.json["changed"]


def test_a_change_by_filter_changes_only_matching_links(user, bob, database):
    a = user.create(tags=["old", "sale"], title="kept")
    b = user.create(tags=["old"])
    c = user.create(tags=["new"])
    foreign = bob.create(tags=["old"])
    newest = database.value("SELECT max(id) FROM audit_log")
    assert changed(user, "tag:old", {"tags": ["new"], "original_url": "HTTPS://Example.com/new"}) == (2, 2)
    assert changed(user, "tag:old", {"tags": ["new"]}) == (0, 0)
    assert changed(user, "tag:new", {"tags": ["new"]}) == (3, 0), "c already had this value and is not written"
    for before in (a, b):
        after = user.call("GET", f"/api/links/{before['id']}").json["link"]
        assert after == {**before, "tags": ["new"], "original_url": "https://example.com/new", "version": 2, "updated_at": after["updated_at"]}
    assert user.call("GET", f"/api/links/{c['id']}").json["link"] == c
    assert bob.call("GET", f"/api/links/{foreign['id']}").json["link"] == foreign
    assert [link["version"] for link in shown(user)["links"]] == [1, 2, 2], "the list is current"
    entries = "SELECT details FROM audit_log WHERE actor_id = %s AND action = 'link.update' AND subject_type = 'workspace' AND id > %s"
    (entry,) = database.run(entries, user.id, newest)
    assert (entry[0]["links"], sorted(entry[0]["link_ids"])) == (2, [a["id"], b["id"]]), "one entry for the bulk, none without a change"


def test_a_change_by_filter_disables_and_enables_but_does_not_revive_expired_links(user, database):
    a, b, c = create_links(user, 3)
    assert changed(user, f"id:[{a['id']},{b['id']}]", {"state": "disabled"}) == (2, 2)
    database.run("UPDATE links SET expires_at = now() - interval '1 second' WHERE id = %s", b["id"])
    assert changed(user, "id:>0", {"state": "active"}) == (3, 1)
    states = [user.call("GET", f"/api/links/{link['id']}").json["link"]["state"] for link in (a, b, c)]
    assert states == ["active", "disabled", "active"]


def test_each_change_by_filter_is_published(user, database):
    links = create_links(user, 3)
    assert changed(user, "id:>0", {"state": "disabled"}) == (3, 3)
    for link in links:
        seen = database.redis.valid_entry(link["slug"])
        assert seen is None or seen[0] == 2, "no older entry is valid"
    wait_until(lambda: database.value("SELECT count(*) FROM outbox") == 0, "the relay to publish them")


def test_a_change_by_filter_adds_and_removes_tags_and_keeps_the_others(user, expect):
    a, b, full = user.create(tags=["old", "mine"]), user.create(tags=["new"]), user.create(tags=[str(n) for n in range(20)])
    assert changed(user, "id:>0", {"add_tags": ["new"], "remove_tags": ["old"]}) == (3, 1), "b has the tag, and full no room for it"
    tags = [user.call("GET", f"/api/links/{link['id']}").json["link"]["tags"] for link in (a, b, full)]
    assert tags == [["mine", "new"], ["new"], full["tags"]]
    expect(change(user, "id:>0", {"tags": ["x"], "add_tags": ["new"]}), 400, "/tags")
    expect(user.call("PATCH", f"/api/links/{full['id']}", {"add_tags": ["new"]}), 409, "/add_tags")
    alone = user.call("PATCH", f"/api/links/{full['id']}", {"add_tags": ["new"], "remove_tags": ["0"]}).json["link"]
    assert alone["tags"] == [*full["tags"][1:], "new"]


def delete(user, text, **query):
    return user.call("DELETE", path(filter=text, **query))


def test_a_deletion_by_filter_deletes_only_matching_links_and_each_can_be_restored(user, bob, database):
    a, b, kept = user.create(tags=["old"]), user.create(tags=["old"]), user.create()
    foreign = bob.create(tags=["old"])
    assert changed(user, f"id:{b['id']}", {"state": "disabled"}) == (1, 1)
    newest = database.value("SELECT max(id) FROM audit_log")
    assert delete(user, "tag:old").json == {"matched": 2, "changed": 2}
    assert delete(user, "tag:old").json == {"matched": 0, "changed": 0}, "deleted links never match"
    assert slugs(user) == [kept["slug"]]
    gone = shown(user, state="deleted")["links"]
    assert names(gone) == names([b, a]) and all(link["deleted_at"] for link in gone)
    assert bob.call("GET", f"/api/links/{foreign['id']}").json["link"] == foreign
    ((details, subject),) = database.run(
        "SELECT details, subject_id FROM audit_log WHERE actor_id = %s AND action = 'link.delete' AND subject_type = 'workspace' AND id > %s", user.id, newest
    )
    assert (details["links"], sorted(details["link_ids"]), subject) == (2, [a["id"], b["id"]], user.id), "one entry"
    restored = [user.call("POST", f"/api/links/{link['id']}/restore").json["link"] for link in (a, b)]
    assert [(link["state"], link["version"]) for link in restored] == [("active", 3), ("disabled", 4)]


@pytest.mark.parametrize(
    "query, pointer", [("", "/filter"), ("?filter=", "/filter"), ("?workspace=all", "/filter"), ("?filter=id:>0&hard=true", "/hard"), ("?filter=id:>0&tag=x", "/tag")]
)
def test_a_deletion_by_filter_needs_a_filter_and_nothing_else(user, expect, query, pointer):
    link = user.create()
    expect(user.call("DELETE", f"/api/links{query}"), 400, pointer)
    assert slugs(user) == [link["slug"]]


def test_a_deletion_by_filter_whose_response_cannot_be_read_deletes_nothing(user, expect):
    link = user.create()
    expect(user.call("DELETE", path(filter="id:>0"), headers={"Accept": "text/csv"}), 406)
    assert slugs(user) == [link["slug"]]


def test_each_deletion_by_filter_is_published(user, database):
    links = create_links(user, 3)
    assert delete(user, "id:>0").json == {"matched": 3, "changed": 3}
    for link in links:
        seen = database.redis.valid_entry(link["slug"])
        assert seen is None or seen[0] == 2, "no older entry is valid"
    wait_until(lambda: database.value("SELECT count(*) FROM outbox") == 0, "the relay to publish them")


def test_a_change_of_too_many_links_changes_nothing(user, database, expect):
    database.run(
        "INSERT INTO links (slug, link_type, original_url, workspace_id) SELECT 'bulk-' || %s || '-' || i, 'PERMANENT', 'https://example.com/', %s"
        " FROM generate_series(1, 1001) AS i", user.id, user.id,
    )  # fmt: skip
    for answer in (change(user, "slug:~bulk", {"state": "disabled"}), delete(user, "slug:~bulk")):
        assert expect(answer, 422)["type"].endswith("/problems/too-many-links")
    assert slugs(user, state="disabled") == slugs(user, state="deleted") == []
    database.run("DELETE FROM links WHERE slug = %s", f"bulk-{user.id}-1")
    assert changed(user, "slug:~bulk", {"state": "disabled"}) == (1000, 1000)
    assert database.value("SELECT count(*) FROM links WHERE workspace_id = %s AND version = 2 AND state = 'DISABLED'", user.id) == 1000
    assert delete(user, "slug:~bulk").json == {"matched": 1000, "changed": 1000}
    wait_until(lambda: database.value("SELECT count(*) FROM outbox") == 0, "the relay to publish them")


def test_a_search_that_takes_too_long_gets_422(user, start, database, expect):
    slow = Api(start(PG_STATEMENT_TIMEOUT_MS=2000, PG_HEAVY_STATEMENT_TIMEOUT_MS=2000).url)
    slow.token = user.token
    blocker = psycopg2.connect(database.url())
    blocker.cursor().execute("LOCK TABLE links")
    answers = [slow.call("GET", path(q="rare")), change(slow, "slug:~rare", {"state": "disabled"})]
    plain = slow.call("GET", path())
    blocker.close()
    assert {expect(answer, 422)["type"] for answer in answers} == {"/problems/too-slow"}
    assert plain.status == 503 and plain.headers["retry-after"] == "1", "without a search it is not the client's fault"


def test_a_change_by_filter_sets_and_removes_the_end_of_links(user, database):
    a, b, c = create_links(user, 3)
    assert changed(user, f"id:[{a['id']},{b['id']}]", {"expires_at": "2050-01-01T00:00:00Z"}) == (2, 2)
    ends = [user.call("GET", f"/api/links/{link['id']}").json["link"]["expires_at"] for link in (a, b, c)]
    assert ends == ["2050-01-01T00:00:00.000Z", "2050-01-01T00:00:00.000Z", None]
    assert changed(user, "id:>0", {"expires_at": "2050-01-01T00:00:00Z"}) == (3, 1), "two have this end already"
    database.run("UPDATE links SET state = 'EXPIRED', expires_at = now() - interval '1 second' WHERE id = %s", b["id"])
    assert changed(user, "id:>0", {"expires_at": None}) == (3, 3)
    for link in (a, b, c):
        after = user.call("GET", f"/api/links/{link['id']}").json["link"]
        assert (after["expires_at"], after["state"]) == (None, "active")


def test_a_change_by_filter_leaves_links_out_that_start_after_their_new_end(user):
    early, late = user.create(), user.create(starts_at="2050-01-01T00:00:00Z")
    assert changed(user, "id:>0", {"expires_at": "2049-01-01T00:00:00Z"}) == (2, 1)
    ends = [user.call("GET", f"/api/links/{link['id']}").json["link"]["expires_at"] for link in (early, late)]
    assert ends == ["2049-01-01T00:00:00.000Z", None]


def test_a_change_by_filter_needs_a_filter_and_accepts_six_members(user, expect):
    user.create()
    expect(user.call("PATCH", "/api/links", {"state": "disabled"}), 400, "/filter")
    expect(change(user, "", {"state": "disabled"}), 400, "/filter")
    expect(change(user, "id:>0", {"state": "expired", "title": "x", "slug": "y", "expires_at": 1}), 400, "/state", "/title", "/slug", "/expires_at")
    expect(change(user, "id:>0", {"original_url": "javascript:1"}), 400, "/original_url")
    problem = expect(change(user, "id:>0", {}), 400, "")
    assert problem["detail"] == "Invalid request: must have original_url, state, expires_at, tags, add_tags, remove_tags, utm_…, forward_query, forward_path or max_visits."
    expect(change(user, "id:>0", {"title": "x"}), 400, "/title")
    expect(change(user, "id:>0", {"state": "disabled"}, q="x"), 400, "/q")
    expect(change(user, "id:>0", {"state": "disabled"}, workspace="all"), 403)
    expect(user.call("PATCH", path(filter="id:>0"), b"state=DISABLED", {"Content-Type": "text/plain"}), 415)
    assert slugs(user, state="disabled") == []


def test_concurrent_changes_by_filter_all_take_effect(user):
    links = create_links(user, 20)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda tag: change(user, "id:>0", {"tags": [tag]}), "abcd"))
    assert [answer.status for answer in answers] == [200] * 4
    assert {answer.json["changed"] for answer in answers} == {20}
    seen = shown(user)["links"]
    assert {link["version"] for link in seen} == {5} and len({tuple(link["tags"]) for link in seen}) == 1
    assert len(seen) == len(links)


# --- totals and the order by visits ---


def test_the_total_stays_exact_through_all_changes(user, database):
    links = create_links(user, 3)
    total = lambda: shown(user, limit=1)["pagination"]["total"]  # noqa: E731
    assert total() == 3
    assert user.call("DELETE", f"/api/links/{links[0]['id']}").status == 204
    assert total() == 2
    assert user.call("POST", f"/api/links/{links[0]['id']}/restore").status == 200
    assert total() == 3
    database.run("DELETE FROM links WHERE id = %s", links[1]["id"])
    assert user.call("PATCH", f"/api/links/{links[0]['id']}", {"title": "invalidates the list"}).status == 200
    assert total() == 2
    assert database.value("SELECT count(*) FROM link_ranking WHERE link_id = %s", links[1]["id"]) == 0
    claimed = Api(user.base).call("POST", "/api/links/public", {"original_url": "https://example.com/"}).json["link"]
    database.run("UPDATE links SET workspace_id = %s, link_type = 'PERMANENT' WHERE id = %s", user.id, claimed["id"])
    assert user.call("PATCH", f"/api/links/{links[0]['id']}", {"title": "and again"}).status == 200
    assert total() == 3
    assert len(shown(user, sort="humans")["links"]) == 3


def test_many_count_rows_are_merged(user, database):
    rows = "SELECT count(*) FROM link_counts WHERE workspace_id = %s"
    create_links(user, 70)
    assert database.value(rows, user.id) > 64
    assert shown(user)["pagination"]["total"] == 70
    assert database.value(rows, user.id) == 1
    create_links(user, 1)
    assert shown(user)["pagination"]["total"] == 71


def test_the_order_is_right_after_more_changes_than_the_journal_holds(user, database):
    """The janitor was down for so long that changes are no longer recorded."""
    a, b = create_links(user, 2)
    count = "INSERT INTO link_statistics (link_id, visit_count) VALUES (%s, %s) ON CONFLICT (link_id) DO UPDATE SET visit_count = EXCLUDED.visit_count"
    refresh(database)
    database.run(count, b["id"], 0)
    database.run("SELECT setval(pg_get_serial_sequence('link_statistics_changes', 'id'), nextval(pg_get_serial_sequence('link_statistics_changes', 'id')) + 1001)")
    database.run(count, b["id"], 1)
    assert database.value("SELECT is_behind FROM link_ranking_sweep")
    database.run(count, a["id"], 5)
    database.run(count, b["id"], 6)
    assert database.value("SELECT count(*) FROM link_statistics_changes") == 2, "further changes are not recorded"
    refresh(database)
    assert database.value("SELECT count(*) FROM link_statistics_changes") == 0
    assert slugs(user, sort="humans") == names([b, a])
    database.run(count, a["id"], 7)
    refresh(database)
    assert slugs(user, sort="humans") == names([a, b]), "changes are recorded again"


def test_refreshing_the_order_skips_locked_rows_and_catches_up_later(user, database):
    a, b = create_links(user, 2)
    database.run("INSERT INTO link_statistics (link_id, visit_count) VALUES (%s, 2), (%s, 1)", b["id"], a["id"])
    other = psycopg2.connect(database.url())
    other.cursor().execute("SELECT FROM link_ranking WHERE link_id = %s FOR UPDATE", (b["id"],))
    database.run("SET statement_timeout = '5s'")
    refresh(database)
    assert database.run("SELECT visits FROM link_ranking WHERE link_id IN (%s, %s) ORDER BY link_id", a["id"], b["id"]) in ([(0,), (1,)], [(1,), (0,)])
    other.rollback()
    other.close()
    refresh(database)
    assert slugs(user, sort="humans") == names([b, a])
    database.run("RESET statement_timeout")


# --- administrators ---


def test_the_owner_parameter_is_for_administrators(service, bob, database, expect):
    user = register_user(service)
    link = bob.create()
    bob.id = bob.call("GET", "/api/auth/me").json["user"]["id"]
    for owner in (bob.id, "all"):
        problem = expect(user.call("GET", path(workspace=owner)), 403)
        assert problem["type"].endswith("/problems/forbidden")
    mine = user.create()
    assert slugs(user, workspace=user.id) == [mine["slug"]], "everyone may name their own id"
    assert change(user, f"id:{mine['id']}", {"tags": ["t"]}, workspace=user.id).json == {"matched": 1, "changed": 1}
    assert user.call("DELETE", f"/api/links/{mine['id']}?hard=true").status == 204
    database.run("UPDATE users SET role = 'admin' WHERE id = %s", user.id)
    admin = Api(service.url)
    admin.token = user.token

    def seen(owner, **query):
        answer = admin.call("GET", path(workspace=owner, **query))
        return [] if answer.status == 403 else names(answer.json["links"])

    own = admin.create()
    wait_until(lambda: link["slug"] in seen(bob.id), "the role to take effect")
    assert own["slug"] not in seen(bob.id)
    assert {own["slug"], link["slug"]} <= set(seen("all", limit=100))
    for query in ({"sort": "humans"}, {"q": link["slug"]}, {"state": "active", "sort": "last_visited_at", "order": "desc"}):
        assert link["slug"] in seen(bob.id, **query)
    assert change(admin, f"id:{link['id']}", {"tags": ["by-admin"]}).json == {"matched": 0, "changed": 0}, "only the administrator's own links"
    assert change(admin, f"id:{link['id']}", {"tags": ["by-admin"]}, workspace=bob.id).json == {"matched": 1, "changed": 1}
    assert bob.call("GET", "/api/links").json["links"][0]["tags"] == ["by-admin"]
    assert delete(user, f"id:{link['id']}").json == {"matched": 0, "changed": 0}
    assert names(shown(admin)["links"]) == [own["slug"]], "without workspace= it is the administrator's own list"
    total = shown(admin, workspace="all")["pagination"]["total"]
    assert total == database.value("SELECT count(*) FROM links WHERE state <> 'DELETED'")
    owners = {each["slug"]: each["workspace_id"] for each in shown(admin, workspace="all", limit=100)["links"]}
    assert (owners[own["slug"]], owners[link["slug"]]) == (user.id, bob.id)


def test_an_api_key_of_an_administrator_has_only_its_own_links(service, database, expect):
    admin = User(service, database, "admin")
    key = Api(service.url)
    key.token = insert_api_key(database, admin.id, ["links:read", "links:write"])
    for answer in (key.call("GET", path(workspace="all")), change(key, "state:active", {"tags": ["t"]}, workspace="all"), delete(key, "state:active", workspace="all")):
        assert "administrator's access token" in expect(answer, 403)["detail"]


def test_links_of_a_blocked_account_continue_until_an_administrator_disables_them(service, database):
    admin, user = User(service, database, "admin"), User(service, database)
    links = [user.create() for _ in range(3)]
    account = f"/api/admin/users/{user.id}"
    assert admin.call("PATCH", account, {"blocked": True}).status == 200
    assert user.call("GET", "/api/auth/me").status == 403
    assert {admin.call("GET", f"/api/links/{link['id']}").json["link"]["state"] for link in links} == {"active"}
    answer = admin.call("PATCH", f"/api/links?workspace={user.id}&filter=state:active", {"state": "disabled"})
    assert answer.json == {"matched": 3, "changed": 3}
    assert admin.call("PATCH", account, {"blocked": False}).status == 200
    assert {user.call("GET", f"/api/links/{link['id']}").json["link"]["state"] for link in links} == {"disabled"}


def test_a_change_that_takes_too_long_does_not_blame_the_filter(start, user, database):
    """The links were found in time; writing them was not."""
    for _ in range(3):
        user.create()
    hasty = Api(start(PG_HEAVY_STATEMENT_TIMEOUT_MS=1000, PG_STATEMENT_TIMEOUT_MS=1000).url)
    hasty.token = user.token
    for method, body in (("PATCH", {"state": "disabled"}), ("DELETE", None)):
        with database.locked("outbox", "SHARE"):
            answer = hasty.call(method, path(filter="id:>0"), body)
        assert answer.status == 503 and answer.headers["retry-after"] == "1", answer
        assert user.call(method, path(filter="id:>0"), body).json == {"matched": 3, "changed": 3}, "the first attempt changed nothing"
