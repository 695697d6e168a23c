"""Names of links: a slug that changes and the aliases that it leaves, links by slug, and external ids."""

import concurrent.futures
import os
import random
import secrets
import subprocess
import threading
import time
import urllib.parse

import pytest
from clients import Api
from service import BUILD
from users import User
from waiting import wait_until


def unique(text="n"):
    return f"{text}-{secrets.token_hex(5)}"


@pytest.fixture
def owner(service, database):
    return User(service, database)


def named(user, slug=None, **members):
    return user.create(slug=slug or unique(), **members)


def rename(user, link, slug, headers=None):
    return user.call("PATCH", f"/api/links/{link['id']}", {"slug": slug}, headers)


def renamed(user, link, slug):
    answer = rename(user, link, slug)
    assert answer.status == 200, answer
    return answer.json["link"]


def aliases_of(user, link):
    answer = user.call("GET", f"/api/links/{link['id']}/aliases")
    assert answer.status == 200, answer
    return [alias["slug"] for alias in answer.json["aliases"]]


def by_slug(user, slug):
    return user.call("GET", f"/api/links/by-slug/{urllib.parse.quote(slug)}")


def path_of(external_id):
    return f"/api/links/by-external-id/{urllib.parse.quote(external_id, safe='')}"


def put(user, external_id, headers=None, **members):
    return user.call("PUT", path_of(external_id), {"original_url": "https://example.com/", **members}, headers)


# --- the slug changes ---


def test_a_changed_slug_keeps_the_old_one_as_an_alias(owner):
    old, new = unique("Old"), unique("New")
    link = named(owner, old)
    after = renamed(owner, link, new)
    assert (after["slug"], after["short_url"], after["aliases"], after["version"]) == (new, f"https://wm.example/{new}", [old], 2)
    assert owner.call("GET", f"/api/links/{link['id']}").json["link"] == after
    alias = owner.call("GET", f"/api/links/{link['id']}/aliases").json["aliases"]
    assert alias == [{"slug": old, "short_url": f"https://wm.example/{old}", "created_at": alias[0]["created_at"]}]
    listed = owner.call("GET", "/api/links").json["links"]
    assert [each["aliases"] for each in listed if each["id"] == link["id"]] == [[old]]
    back = renamed(owner, link, old)
    assert (back["slug"], back["aliases"], back["version"]) == (old, [new], 3)
    assert renamed(owner, link, old)["version"] == 3, "the same slug is no change"


def test_a_slug_changes_together_with_the_rest_in_one_version(owner):
    link = named(owner)
    slug = unique()
    answer = owner.call("PATCH", f"/api/links/{link['id']}", {"slug": slug, "title": "Both", "expires_at": "2099-01-01T00:00:00Z"})
    assert (answer.json["link"]["slug"], answer.json["link"]["title"], answer.json["link"]["version"]) == (slug, "Both", 2)
    stale = rename(owner, link, unique(), {"If-Match": '"v1"'})
    assert (stale.status, aliases_of(owner, link)) == (412, [link["slug"]])


def test_with_exact_slugs_another_case_is_another_name(start, new_user):
    ann = new_user(start(SLUG_CASE="exact"))
    slug = unique("Exact")
    link = named(ann, slug)
    assert renamed(ann, link, slug.lower())["aliases"] == [slug]
    assert renamed(ann, link, slug)["aliases"] == [slug.lower()]
    assert by_slug(ann, slug.upper()).status == 404


def test_the_twenty_first_alias_is_refused(owner, expect):
    link = named(owner)
    for _ in range(20):
        renamed(owner, link, unique())
    problem = expect(rename(owner, link, unique()), 409, "/slug")
    assert problem["errors"][0]["code"] == "too-many"
    aliases = aliases_of(owner, link)
    assert len(aliases) == 20 and aliases[-1] == link["slug"], "the newest first"
    assert renamed(owner, link, link["slug"])["slug"] == link["slug"], "one goes, one comes"


def test_a_deleted_link_keeps_its_names_until_it_is_purged(owner, expect, database):
    old, new = unique(), unique()
    link = named(owner, old)
    renamed(owner, link, new)
    assert owner.call("DELETE", f"/api/links/{link['id']}").status == 204
    assert rename(owner, link, unique()).status == 404
    assert owner.call("GET", f"/api/links/{link['id']}/aliases").status == 404
    assert owner.call("DELETE", f"/api/links/{link['id']}/aliases/{old}").status == 404
    assert owner.call("POST", f"/api/links/{link['id']}/restore").json["link"]["aliases"] == [old]
    assert owner.call("DELETE", f"/api/links/{link['id']}?hard=true").status == 204
    assert database.value("SELECT count(*) FROM link_tombstones WHERE link_id = %s AND slug IN (%s, %s)", link["id"], old, new) == 2
    for slug in (old, new):
        expect(owner.call("POST", "/api/links", {"original_url": "https://example.com/", "slug": slug}), 409, "/slug")


def test_an_alias_ends_and_leaves_everything_else(owner, database):
    link = named(owner)
    first, second = link["slug"], unique()
    renamed(owner, link, second)
    renamed(owner, link, unique("third"))
    assert owner.call("DELETE", f"/api/links/{link['id']}/aliases/{first}", headers={"If-Match": '"v1"'}).status == 412
    for wrong in (unique(), "a%2Fb", "", first.upper(), urllib.parse.quote(aliases_of(owner, link)[0]) + "/x"):
        assert owner.call("DELETE", f"/api/links/{link['id']}/aliases/{wrong}").status == 404, wrong
    assert owner.call("DELETE", f"/api/links/{link['id']}/aliases/{first}", headers={"If-Match": '"v3"'}).status == 204
    after = owner.call("GET", f"/api/links/{link['id']}").json["link"]
    assert (after["aliases"], after["version"]) == ([second], 4)
    assert by_slug(owner, first).status == 404
    change = owner.call("GET", f"/api/links/{link['id']}/history").json["changes"][0]
    assert (change["change"], change["fields"]) == ("updated", [{"name": "aliases", "from": 2, "to": 1}])


def test_the_history_names_both_slugs(owner):
    link = named(owner)
    slug = unique()
    renamed(owner, link, slug)
    change = owner.call("GET", f"/api/links/{link['id']}/history").json["changes"][0]
    assert (change["change"], change["fields"]) == ("updated", [{"name": "slug", "from": link["slug"], "to": slug}])


def test_a_slug_is_not_changed_in_bulk(owner, expect):
    named(owner, title="bulk")
    expect(owner.call("PATCH", "/api/links?filter=title:bulk", {"slug": unique(), "external_id": "x"}), 400, "/slug", "/external_id")


# --- finding by names ---


def test_a_link_is_found_by_each_of_its_names_and_by_no_stranger(owner, service, database):
    old, new = unique("Old"), unique("New")
    link = named(owner, old)
    after = renamed(owner, link, new)
    for slug in (new, new.lower(), old, old.upper()):
        answer = by_slug(owner, slug)
        assert (answer.status, answer.json["link"], answer.headers["etag"]) == (200, after, '"v2"'), slug
    stranger, admin = User(service, database), User(service, database, "admin")
    missing = by_slug(stranger, unique()).json
    for slug in (old, new):
        answer = by_slug(stranger, slug)
        assert (answer.status, answer.json["detail"]) == (404, missing["detail"])
        assert by_slug(admin, slug).json["link"]["id"] == link["id"]
    for wrong in ("", "a/b", "%00", "%ff", "x" * 101):
        assert owner.call("GET", f"/api/links/by-slug/{wrong}").status == 404, wrong


def state_of(user, slug):
    answer = user.call("GET", f"/api/slugs/{urllib.parse.quote(slug, safe='')}")
    assert answer.status == 200, answer
    return answer.json["state"], answer.json["link_id"]


def test_a_slug_is_free_or_taken_as_creating_a_link_with_it_says(owner, service, database):
    old, new, free, purged = unique("Old"), unique("New"), unique("Free"), unique("Purged")
    link, stranger = named(owner, old), User(service, database)
    renamed(owner, link, new)
    assert owner.call("DELETE", f"/api/links/{named(owner, purged)['id']}?hard=true").status == 204
    for slug in (old, old.lower(), new, new.upper()):
        assert (state_of(owner, slug), state_of(stranger, slug)) == (("taken", link["id"]), ("taken", None)), slug
    cases = {free: "free", purged: "taken", purged.upper(): "taken", "api": "reserved", "API": "reserved", ".x": "invalid", "ü": "invalid", "a/b": "invalid", "x" * 101: "invalid"}
    for slug, state in cases.items():
        assert state_of(owner, slug) == (state, None), slug
    for slug in (old, new, free, purged.upper(), "api", ".x", "ü"):
        status = owner.call("POST", "/api/links", {"original_url": "https://example.com/", "slug": slug}).status
        assert status == {"free": 201, "taken": 409}.get(cases.get(slug, "taken"), 400), slug
    key, _ = owner.with_key("links:write", tags=["shown"])
    assert state_of(key, new) == ("taken", None), "a key does not learn the id of a link that it does not see"


def test_filters_and_searches_find_a_link_by_an_earlier_slug(owner):
    old, new, other = unique("Old"), unique("New"), unique("Other")
    link = named(owner, old)
    renamed(owner, link, new)
    second = named(owner, other, title=f"see {old}")
    for query in (f"filter=slug:{old}", f"filter=slug:{old.lower()}", f"filter=slug:{new}"):
        assert [each["id"] for each in owner.call("GET", f"/api/links?{query}").json["links"]] == [link["id"]], query
    assert link["id"] not in [each["id"] for each in owner.call("GET", f"/api/links?filter=slug:-{old}").json["links"]]
    for query in (old, old.upper()):
        answer = owner.call("GET", f"/api/links?q={query}").json
        assert {each["id"] for each in answer["links"]} == {link["id"], second["id"]}, query
    assert [each["id"] for each in owner.call("GET", f"/api/links?q=https://wm.example/{old}&state=active").json["links"]] == [second["id"], link["id"]]
    assert owner.call("GET", f"/api/links?q={old}&state=disabled").json["links"] == []


def test_an_api_key_limited_to_tags_does_not_see_the_names_of_others(owner, expect):
    key, _ = owner.with_key("links:read", "links:write", tags=["shown"])
    hidden, shown = named(owner, external_id="hidden"), named(owner, tags=["shown"], external_id="shown")
    renamed(owner, hidden, unique())
    assert by_slug(key, hidden["slug"]).status == 404
    assert by_slug(key, shown["slug"]).status == 200
    assert key.call("GET", path_of("hidden")).status == 404
    assert key.call("GET", path_of("shown")).status == 200
    for external_id in ("hidden", "fresh"):
        assert put(key, external_id).status == 403, "a new link needs a tag of the key"
        assert put(key, external_id, {"If-Match": '"v1"'}, tags=["shown"]).status == 412
    problem = expect(put(key, "hidden", tags=["shown"]), 409, "/external_id")
    assert problem["type"] == "/problems/external-id-taken", "as POST answers"
    assert str(hidden["id"]) not in problem["detail"], "a key learns no id of what it does not see"
    assert [put(key, "fresh", tags=["shown"]).status for _ in range(2)] == [201, 200]
    assert put(key, "shown", title="x").json["link"]["tags"] == ["shown"]


# --- external ids ---


def test_an_external_id_is_kept_changed_and_taken_away(owner, expect):
    link = named(owner, external_id="order/7 ä")
    assert link["external_id"] == "order/7 ä"
    assert owner.call("GET", path_of("order/7 ä")).json["link"]["id"] == link["id"]
    assert owner.call("PATCH", f"/api/links/{link['id']}", {"external_id": "b"}).json["link"]["external_id"] == "b"
    assert owner.call("GET", path_of("order/7 ä")).status == 404
    assert [each["id"] for each in owner.call("GET", "/api/links?filter=external_id:b").json["links"]] == [link["id"]]
    assert owner.call("PATCH", f"/api/links/{link['id']}", {"external_id": None}).json["link"]["external_id"] is None
    for wrong in ("", "x" * 101, ".", "..", "a\nb", 7):
        expect(owner.call("PATCH", f"/api/links/{link['id']}", {"external_id": wrong}), 400, "/external_id")


def test_an_external_id_is_of_one_link_in_a_workspace(owner, service, database, expect):
    taken = unique("id")
    first, second = named(owner, external_id=taken), named(owner)
    for answer in (
        owner.call("POST", "/api/links", {"original_url": "https://example.com/", "external_id": taken}),
        owner.call("PATCH", f"/api/links/{second['id']}", {"external_id": taken}),
    ):
        problem = expect(answer, 409, "/external_id")
        assert problem["type"] == "/problems/external-id-taken" and f"your link {first['id']}" in problem["detail"]
    fresh = unique("id")
    items = [{"original_url": "https://example.com/", "external_id": each} for each in (fresh, taken, fresh)]
    results = owner.call("POST", "/api/links/bulk", {"links": items}).json["results"]
    assert [result["status"] for result in results] == [201, 409, 409]
    assert results[1]["problem"]["errors"][0]["pointer"] == "/external_id"
    assert named(User(service, database), external_id=taken)["external_id"] == taken, "of another workspace"


def test_an_answer_names_each_name_that_another_link_has(owner, expect):
    taken = named(owner, slug=unique("Taken"), external_id=unique("id"))
    gone = named(owner, slug=unique("Gone"), external_id=unique("id"))
    assert owner.call("DELETE", f"/api/links/{gone['id']}").status == 204
    own = named(owner, external_id=unique("id"))
    for slug, external_id, codes in (
        (taken["slug"], taken["external_id"], ["slug-taken", "external-id-taken"]), (gone["slug"], taken["external_id"], ["slug-deleted", "external-id-taken"]),
        (taken["slug"].lower(), gone["external_id"], ["slug-taken", "external-id-deleted"]), (unique(), taken["external_id"], ["external-id-taken"]),
    ):  # fmt: skip
        body = {"original_url": "https://example.com/", "slug": slug, "external_id": external_id}
        answers = [owner.call("POST", "/api/links", body), owner.call("PATCH", f"/api/links/{own['id']}", {"slug": slug, "external_id": external_id})]
        pointers = ["/slug", "/external_id"][-len(codes) :]
        problems = [expect(answer, 409, *pointers) for answer in answers]
        problems += [each["problem"] for each in owner.call("POST", "/api/links/bulk", {"links": [body] * 2}).json["results"]]
        for problem in problems:
            assert problem["type"] == "/problems/external-id-taken" and [each["code"] for each in problem["errors"]] == codes
            assert [each["pointer"] for each in problem["errors"]] == pointers and all(pointer[1:] in problem["detail"] for pointer in pointers)
    body = {"original_url": "https://example.com/", "slug": unique(), "external_id": unique("id")}
    results = owner.call("POST", "/api/links/bulk", {"links": [body] * 2}).json["results"]
    assert [each["code"] for each in results[1]["problem"]["errors"]] == ["slug-taken", "external-id-taken"], "the first one's"
    change = {"slug": own["slug"], "external_id": taken["external_id"]}
    assert expect(owner.call("PATCH", f"/api/links/{own['id']}", change), 409, "/external_id"), "its own slug"


def test_a_put_creates_and_then_changes_the_same_link(owner):
    external_id = unique("sku")
    first = put(owner, external_id, slug=unique("Put"), title="One", tags=["a"])
    link = first.json["link"]
    assert (first.status, link["external_id"], first.headers["location"]) == (201, external_id, f"/api/links/{link['id']}")
    assert first.headers["etag"] == '"v1"'
    again = put(owner, external_id, slug=link["slug"], title="One", tags=["a"])
    assert (again.status, again.json["link"]["version"]) == (200, 1), "the same changes nothing"
    changed = put(owner, external_id, slug=unique("Other"), title="Two")
    after = changed.json["link"]
    assert (changed.status, after["id"], after["title"], after["tags"], after["aliases"]) == (200, link["id"], "Two", ["a"], [link["slug"]])
    assert owner.call("GET", path_of(external_id)).json["link"] == after


def test_a_put_is_checked_as_a_post(owner, expect):
    external_id = unique("sku")
    expect(owner.call("PUT", path_of(external_id), {}), 400, "/original_url")
    body = {"original_url": "https://example.com/", "external_id": "other", "reuse": True}
    expect(owner.call("PUT", path_of(external_id), body), 400, "/external_id", "/reuse")
    expect(put(owner, external_id, state="disabled"), 400, "/state")
    expect(put(owner, external_id, original_url="javascript:alert(1)"), 400, "/original_url")
    for wrong in ("x" * 101, "a\tb", ".."):
        assert owner.call("PUT", path_of(wrong).replace("..", "%2e%2e"), {"original_url": "https://example.com/"}).status == 400, wrong
    taken = named(owner)["slug"]
    expect(put(owner, external_id, slug=taken), 409, "/slug")
    assert owner.call("GET", path_of(external_id)).status == 404, "nothing is half stored"
    assert put(owner, external_id, headers={"If-Match": '"v1"'}).status == 412
    assert put(owner, external_id).status == 201
    assert put(owner, external_id, headers={"If-Match": '"v7"'}, title="x").status == 412
    expect(put(owner, external_id, headers={"If-Match": "v1"}, title="x"), 400, "/If-Match")
    link = owner.call("GET", path_of(external_id)).json["link"]
    assert owner.call("DELETE", f"/api/links/{link['id']}").status == 204
    gone = put(owner, external_id)
    assert gone.status == 404 and "restore" in gone.json["detail"]
    assert Api(owner.base).call("PUT", path_of(external_id), {"original_url": "https://example.com/"}).status == 401


def test_a_put_needs_and_reads_no_idempotency_key(owner):
    headers, external_id = {"Idempotency-Key": unique("key")}, unique("sku")
    first = put(owner, external_id, headers)
    assert first.status == 201
    assert owner.call("DELETE", f"/api/links/{first.json['link']['id']}?hard=true").status == 204
    again = put(owner, external_id, headers)
    assert again.status == 201 and again.json["link"]["id"] != first.json["link"]["id"], "not the answer of a link that is gone"


@pytest.mark.parametrize("with_slug", [False, True])
def test_of_many_puts_at_once_one_creates_and_the_others_change(owner, with_slug):
    for _ in range(5):
        external_id = unique("race")
        members = {"slug": unique("race")} if with_slug else {}
        barrier = threading.Barrier(6)

        def send(title, external_id=external_id, members=members, barrier=barrier):
            barrier.wait()
            return put(owner, external_id, title=title, **members)

        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            answers = list(pool.map(send, [f"t{i}" for i in range(6)]))
        assert sorted(answer.status for answer in answers) == [200] * 5 + [201], answers
        assert len({answer.json["link"]["id"] for answer in answers}) == 1
        assert owner.call("GET", path_of(external_id)).json["link"]["version"] == 6


# --- races ---


NAMES = """
    SELECT slug, lower(slug), id FROM links UNION ALL SELECT slug, lower(slug), link_id FROM link_aliases
    UNION ALL SELECT slug, lower(slug), link_id FROM link_tombstones
"""


def assert_each_name_is_of_one_link(database, prefix):
    twice = database.run(f"SELECT low, array_agg(id) FROM ({NAMES}) AS n (slug, low, id) WHERE low LIKE %s GROUP BY low HAVING count(*) > 1", prefix + "%")
    assert twice == [], twice
    wrong = database.run("SELECT id FROM links WHERE alias_count <> (SELECT count(*) FROM link_aliases WHERE link_id = id)")
    assert wrong == [], "alias_count is the number of aliases"


def test_whoever_races_for_a_name_it_never_has_two_links(service, database):
    """Creations, renames, swaps back, deletions of aliases and purges of a few names at once."""
    users = [User(service, database) for _ in range(6)]
    prefix = unique("race")
    names = [f"{prefix}-{i}" for i in range(8)]
    first_owner = {}
    lock = threading.Lock()
    statuses = {}
    stop_at = time.monotonic() + 12

    def run(user, seed):
        dice = random.Random(seed)
        mine = []
        while time.monotonic() < stop_at:
            slug = dice.choice(names) if dice.random() < 0.8 else f"{prefix}-{dice.randrange(8, 4000)}"
            slug = slug.upper() if dice.random() < 0.2 else slug
            kind = dice.choice(["create", "rename", "rename", "rename", "back", "alias", "purge"])
            if kind == "create" or not mine:
                answer = user.call("POST", "/api/links", {"original_url": "https://example.com/", "slug": slug})
                if answer.status == 201:
                    mine.append(answer.json["link"])
            elif kind == "rename":
                answer = rename(user, dice.choice(mine), slug)
            elif kind == "back":
                link = dice.choice(mine)
                aliases = aliases_of(user, link)
                if not aliases:
                    continue
                answer = rename(user, link, dice.choice(aliases))
            elif kind == "alias":
                link = dice.choice(mine)
                aliases = aliases_of(user, link)
                if not aliases or dice.random() < 0.7:
                    continue
                answer = user.call("DELETE", f"/api/links/{link['id']}/aliases/{dice.choice(aliases)}")
            else:
                if len(mine) < 3 or dice.random() < 0.8:
                    continue
                link = mine.pop(dice.randrange(len(mine)))
                answer = user.call("DELETE", f"/api/links/{link['id']}?hard=true")
            with lock:
                statuses[kind, answer.status] = statuses.get((kind, answer.status), 0) + 1
                for slug, owner_id in database.run(
                    f"SELECT low, id FROM ({NAMES}) AS n (slug, low, id) WHERE low LIKE %s", prefix + "%"
                ):
                    assert first_owner.setdefault(slug, owner_id) == owner_id, f"{slug} was re-issued"
            assert answer.status in (200, 201, 204, 404, 409), answer

    with concurrent.futures.ThreadPoolExecutor(len(users)) as pool:
        for done in [pool.submit(run, user, seed) for seed, user in enumerate(users)]:
            done.result()
    assert_each_name_is_of_one_link(database, prefix)
    for wanted in (("create", 201), ("create", 409), ("rename", 200), ("rename", 409), ("back", 200), ("purge", 204)):
        assert statuses.get(wanted, 0) > 0, statuses


def test_a_creation_that_waits_for_a_rename_does_not_get_the_old_slug(owner, service, database, expect):
    """The rename holds the old slug in the index until it commits; then the alias has it."""
    link = named(owner)
    other = User(service, database)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        with database.locked("link_history", "SHARE"):  # a rename waits there after it has changed the slug
            change = pool.submit(rename, owner, link, unique())
            database.await_statements_waiting(1)
            creation = pool.submit(other.call, "POST", "/api/links", {"original_url": "https://example.com/", "slug": link["slug"]})
            database.await_statements_waiting(2)
        assert change.result().status == 200
        expect(creation.result(), 409, "/slug")
    assert aliases_of(owner, link) == [link["slug"]]


# --- the topic and the caches ---

PURGED = 9


class Map:
    """What a subscriber of the topic knows of these slugs: slug → link; versions also of names that are gone."""

    def __init__(self, topic, LinkEvent, *slugs):
        self.topic, self.LinkEvent, self.slugs = topic, LinkEvent, {slug.lower() for slug in slugs}
        self.links, self.versions, self.tombstones = {}, {}, set()

    def read(self):
        while (message := self.topic.consumer.poll(0.2)) is not None:
            if message.error() or message.key().decode().lower() not in self.slugs:
                continue
            slug = message.key().decode()
            event = self.LinkEvent.FromString(message.value() or b"")
            if message.value() is None:
                assert slug not in self.links, "a tombstone follows the event that says so"
                self.tombstones.add(slug)
            elif event.link.version > self.versions.get(slug, 0):
                assert event.link.slug == slug
                self.versions[slug] = event.link.version
                self.links[slug] = event.link
                if event.change == PURGED:
                    del self.links[slug]

    def of(self, link):
        """{slug: alias_of} of a link."""
        self.read()
        assert {known.id for known in self.links.values()} <= {link["id"]}
        return {slug: known.alias_of for slug, known in self.links.items()}

    def wait_for(self, link, names):
        wait_until(lambda: self.of(link) == names, f"the names {names}, not {self.of(link)}")


def test_a_subscriber_sees_each_name_with_the_full_state_and_its_end(spawn, topic, LinkEvent, database):
    service = spawn()
    user = User(service, database)
    a, b, c = unique("A"), unique("B"), unique("C")
    known = Map(topic, LinkEvent, a, b, c)
    link = named(user, a)
    known.wait_for(link, {a: ""})
    renamed(user, link, b)
    known.wait_for(link, {b: "", a: b})
    renamed(user, link, c)
    known.wait_for(link, {c: "", b: c, a: c})
    assert user.call("PATCH", f"/api/links/{link['id']}", {"title": "All", "external_id": "e"}).status == 200
    wait_until(lambda: known.of(link) and all(known.links[slug].title == "All" for slug in (a, b, c)), "the title under each name")
    assert {known.links[slug].external_id for slug in (a, b, c)} == {"e"}
    assert user.call("PATCH", f"/api/links?filter=id:{link['id']}", {"add_tags": ["bulk"]}).json["changed"] == 1
    wait_until(lambda: known.of(link) and all(list(known.links[slug].tags) == ["bulk"] for slug in (a, b, c)), "a bulk edit under each name")
    renamed(user, link, c.upper())
    known.wait_for(link, {c.upper(): "", b: c.upper(), a: c.upper()})
    renamed(user, link, a)
    known.wait_for(link, {a: "", b: a, c.upper(): a})
    renamed(user, link, c)
    known.wait_for(link, {c: "", b: c, a: c})
    assert user.call("DELETE", f"/api/links/{link['id']}/aliases/{a}").status == 204
    known.wait_for(link, {c: "", b: c})
    assert user.call("DELETE", f"/api/links/{link['id']}").status == 204
    wait_until(lambda: known.of(link) and {known.links[slug].state for slug in (b, c)} == {4}, "the deletion under each name")
    assert user.call("DELETE", f"/api/links/{link['id']}?hard=true").status == 204
    known.wait_for(link, {})
    wait_until(lambda: known.of(link) == {} and {a, b, c} <= known.tombstones, "a tombstone for each name")
    assert c.upper() not in known.tombstones, "this spelling might have come back"


def test_moved_and_published_again_each_name_has_a_record(spawn, topic, LinkEvent, database):
    service = spawn()
    user = User(service, database)
    old, new = unique(), unique()
    known = Map(topic, LinkEvent, old, new)
    link = named(user, old)
    renamed(user, link, new)
    workspace = user.call("POST", "/api/workspaces", {"name": "Other"}).json["workspace"]["id"]
    moved = user.call("POST", f"/api/workspaces/{user.id}/links/move", {"ids": [link["id"]], "workspace_id": workspace})
    assert moved.status == 200, moved
    wait_until(lambda: len(known.of(link)) == 2 and {each.workspace_id for each in known.links.values()} == {workspace}, "the move under each name")
    wait_until(lambda: database.value("SELECT count(*) FROM outbox") == 0, "an empty outbox")
    done = subprocess.run([BUILD / "bin/links-api", "--republish-links"], env={"PG_URL": database.url("waymark_links_api"), "KAFKA_BROKERS": os.environ["KAFKA_BROKERS"]}, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    again = set()

    def see():
        while (message := topic.consumer.poll(0.2)) is not None:
            if not message.error() and message.value() and LinkEvent.FromString(message.value()).change == 10:
                again.add(message.key().decode())
        return {old, new} <= again

    wait_until(see, "both names again")
    assert user.call("DELETE", f"/api/workspaces/{workspace}", {"name": "Other"}).status == 204
    wait_until(lambda: known.of(link) and {known.links[slug].state for slug in (old, new)} == {4}, "the end of the workspace under each name")


def test_folding_makes_earlier_slugs_found_in_either_case(start, new_user, database):
    ann = new_user(start(SLUG_CASE="exact"))
    old, new = unique("Old"), unique("New")
    link = named(ann, old)
    renamed(ann, link, new)
    pair = named(ann, unique("Pair"))
    renamed(ann, pair, pair["slug"].lower())
    done = subprocess.run([BUILD / "bin/links-api", "--fold-slugs"], env={"PG_URL": database.url("waymark_links_api")}, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert f"{pair['slug']}, {pair['slug'].lower()}\n" in done.stdout
    assert database.run("SELECT slug_key, version FROM links WHERE id = %s", link["id"]) == [(new.lower(), 3)]
    assert database.run("SELECT slug_key FROM link_aliases WHERE link_id = %s", link["id"]) == [(old.lower(),)]
    assert database.run("SELECT slug_exact FROM link_aliases WHERE link_id = %s", pair["id"]) == [(True,)]
    again = subprocess.run([BUILD / "bin/links-api", "--fold-slugs"], env={"PG_URL": database.url("waymark_links_api")}, capture_output=True, text=True, timeout=300, check=False)
    assert "links-api: 0 more links" in again.stdout, again.stdout


def test_redis_has_no_old_value_of_any_name_once_a_change_is_answered(spawn, database):
    service = spawn()
    user = User(service, database)
    redis = database.redis.client

    def versions(*slugs):
        """Of the values that Redis has; the next reader fills the others."""
        values = [redis.get(f"link:{slug.lower()}") for slug in slugs]
        return {int(value.split()[2]) for value in values if value and value[:1] != b"~" and value[:1] != b"?"}

    old, new = unique(), unique()
    link = named(user, old)
    for step in range(2, 20):
        slug = new if step % 2 == 0 else old
        answer = renamed(user, link, slug)
        assert versions(old, new) <= {answer["version"]}, step
    for step in range(20, 26):
        assert user.call("PATCH", f"/api/links?filter=id:{link['id']}", {"add_tags": [f"t{step}"]}).json["changed"] == 1
        assert versions(old, new) <= {step}, step
    assert user.call("DELETE", f"/api/links/{link['id']}/aliases/{new}").status == 204
    assert versions(old, new) <= {26}
