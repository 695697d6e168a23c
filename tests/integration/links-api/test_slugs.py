"""What a chosen slug may be, and which ones clash."""

import secrets
import subprocess

import pytest
from service import BUILD
from waiting import wait_until


def unique(text="s"):
    return f"{text}-{secrets.token_hex(6)}"


def create(user, slug):
    return user.call("POST", "/api/links", {"original_url": "https://example.com/", "slug": slug})


@pytest.mark.parametrize("slug", ["a.b", "v1.2-rc_3", "A..z", "s" * 58, unique(), "brochure.pdf"])
def test_a_chosen_slug_is_kept_as_it_was_given(ann, slug):
    slug += secrets.token_hex(3)
    answer = create(ann, slug)
    assert (answer.status, answer.json["link"]["slug"]) == (201, slug)
    assert ann.call("GET", f"/api/links/{answer.json['link']['id']}").json["link"]["slug"] == slug


def test_slugs_that_differ_by_case_alone_clash(ann, bob, database, expect):
    slug = unique("Spring")
    link = create(ann, slug).json["link"]
    for other in (slug.lower(), slug.upper(), slug):
        expect(create(bob, other), 409, "/slug")
    items = [{"original_url": "https://example.com/", "slug": other} for other in (slug.lower(), unique("a"), slug.upper())]
    results = bob.call("POST", "/api/links/bulk", {"links": items}).json["results"]
    assert [result["status"] for result in results] == [409, 201, 409]
    again = unique("Twice")
    items = [{"original_url": "https://example.com/", "slug": other} for other in (again, again.upper(), again.lower())]
    results = bob.call("POST", "/api/links/bulk", {"links": items}).json["results"]
    assert [result["status"] for result in results] == [201, 409, 409]
    assert ann.call("DELETE", f"/api/links/{link['id']}?hard=true").status == 204
    for other in (slug.lower(), slug.upper(), slug):
        expect(create(bob, other), 409, "/slug")
    items = [{"original_url": "https://example.com/", "slug": slug.upper()}]
    assert bob.call("POST", "/api/links/bulk", {"links": items}).json["results"][0]["status"] == 409


def test_a_random_slug_clashes_with_a_chosen_one_in_any_case(ann, expect):
    slug = ann.create()["slug"]
    expect(create(ann, slug.swapcase()), 409, "/slug")


def test_reuse_and_filters_find_a_chosen_slug_in_either_case(ann):
    slug = unique("Reuse")
    link = create(ann, slug).json["link"]
    body = {"original_url": "https://example.com/", "slug": slug.upper(), "reuse": True}
    answer = ann.call("POST", "/api/links", body)
    assert (answer.status, answer.json["link"]["id"]) == (200, link["id"])
    found = ann.call("GET", f"/api/links?filter=slug:{slug.lower()}").json["links"]
    assert [each["id"] for each in found] == [link["id"]]
    random = ann.create()
    assert [each["id"] for each in ann.call("GET", f"/api/links?filter=slug:{random['slug']}").json["links"]] == [random["id"]]
    assert ann.call("GET", f"/api/links?filter=slug:{random['slug'].swapcase()}").json["links"] == []


def test_the_key_in_the_database_is_that_of_the_programs(ann, database):
    def cached():
        slug = unique("K.e_Y")
        link = create(ann, slug).json["link"]
        assert database.value("SELECT slug_key FROM links WHERE id = %s", link["id"]) == slug.lower()
        assert database.redis.client.get(f"link:{slug}") is None
        return database.redis.client.get(f"link:{slug.lower()}")

    # On a busy machine Redis may answer too late, and a link is then cached by its first visitor.
    wait_until(cached, "a new link in Redis")


def test_a_switch_to_folded_names_the_pairs_and_keeps_both(start, new_user, database, expect):
    ann = new_user(start(SLUG_CASE="exact"))
    pair, alone, taken = unique("Pair"), unique("Alone"), unique("Taken")
    links = [create(ann, slug).json["link"] for slug in (pair, pair.lower(), alone)]
    random = ann.create()
    assert all(link["slug"] for link in links)
    assert database.value("SELECT count(*) FROM links WHERE slug_exact AND slug_key = '=' || slug AND id = ANY (%s)", [link["id"] for link in links]) == 3
    folded = new_user(start())
    expect(create(folded, alone.upper()), 409, "/slug")
    expect(create(folded, pair.upper()), 409, "/slug")
    create(folded, taken)
    expect(create(ann, taken.upper()), 409, "/slug")

    environment = {"PG_URL": database.url("waymark_links_api")}
    done = subprocess.run([BUILD / "bin/links-api", "--fold-slugs"], env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert f"found only as it is: {pair}, {pair.lower()}\n" in done.stdout
    assert alone not in done.stdout
    state = "SELECT slug_key, version FROM links WHERE id = %s"
    assert [database.run(state, link["id"])[0] for link in links] == [(f"={pair}", 1), (f"={pair.lower()}", 1), (alone.lower(), 2)]
    assert database.run(state, random["id"])[0] == (random["slug"].lower(), 2)
