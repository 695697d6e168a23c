"""How long a text of a client may be is one number, which C, SQL, the descriptions of the API and the dashboard repeat."""
import re

import pytest
from sources import ROOT

API = "docs/api/openapi.yaml"
SLUG = re.compile(r"\[A-Za-z0-9_-\]\(\[A-Za-z0-9_.-\]\{0,(\d+)\}\[A-Za-z0-9_-\]\)\?")


def text_of(path):
    return (ROOT / path).read_text(encoding="utf-8")


def numbers_in(path, pattern):
    return {int(number.replace(",", "")) for number in re.findall(pattern, text_of(path))}


def numbers_below(folder, kind, pattern):
    return set().union(*(numbers_in(path, pattern) for path in (ROOT / folder).rglob(kind)))


def lengths_of_column(column):
    """In SQL, but for the templates of campaigns, whose names are as long as tags."""
    text = "".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "db/migrations").glob("*.sql")))
    others = re.sub(r"CREATE TABLE utm_templates .*?\n\);", "", text, flags=re.DOTALL)
    return {int(number) for number in re.findall(rf"length\({column}\) (?:<=|BETWEEN \d AND) (\d+)", others)}


def constant(path, name):
    (number,) = numbers_in(path, rf"#define {name} (\d+)")
    return number


@pytest.mark.parametrize(
    "header, name, column, schema, control",
    [
        ("lib/links/link.h", "LINK_TITLE_CHARS_MAX", "title", r"\b[Tt]itle: \{ type: .*?maxLength: (\d+)", r't\("title"\)'),
        ("services/links-api/identity/share.h", "SHARE_TITLE_CHARS_MAX", "title", r"\btitle: \{ type: string, maxLength: (\d+)", r't\("title"\)'),
        ("lib/links/link.h", "LINK_TAG_CHARS_MAX", "tag", r"\bTagName:\n(?:      .*\n)*?      maxLength: (\d+)", r't\("tag.name"\)'),
        ("services/links-api/links/link_notes_store.h", "LINK_NOTES_CHARS_MAX", "notes", r"\bNotes: \{ .*?maxLength: (\d+)", r'class="input notes"'),
        ("services/links-api/identity/user_store.h", "USER_NAME_CHARS_MAX", "name", r" name: \{ type: string, (?:minLength: 1, )?maxLength: (\d+)", r't\("name"\)'),
        ("services/links-api/identity/api_key.h", "API_KEY_NAME_CHARS_MAX", "name", r" name: \{ type: string, minLength: 1, maxLength: (\d+)", r't\("name"\)'),
        ("lib/links/host_guard.h", "BLOCKED_HOST_REASON_CHARS_MAX", "reason", r" reason: \{ .*?maxLength: (\d+)", r't\("reason"\)'),
    ],
)
def test_all_places_agree_on_the_length_of_a_text(header, name, column, schema, control):
    length = {constant(header, name)}
    assert lengths_of_column(column) == length
    assert numbers_in(API, schema) == length
    assert numbers_below("web/dashboard/src", "*.tsx", rf"{control}.*?maxLength=\{{(\d+)\}}") == length


def test_all_places_agree_on_the_length_of_a_destination():
    length = {constant("lib/links/link.h", "LINK_URL_MAX")}
    assert numbers_in("db/migrations/0003_links.sql", r"octet_length\((?:original|expired)_url\) BETWEEN 1 AND (\d+)") == length
    assert numbers_in("services/links-api/config.c", r'"DESTINATION_BYTES_MAX", struct config, destination_bytes_max, "(\d+)"') == length
    assert numbers_in(API, r"([\d,]+) bytes \(`DESTINATION_BYTES_MAX`\)") == length
    assert numbers_in(API, r"original_url: .*maxLength: (\d+)") == length
    for path in ("docs/api/asyncapi.yaml", "proto/waymark/v1/link_event.proto"):
        assert numbers_in(path, r"as sent in Location; at most ([\d,]+) bytes") == length, path


def test_the_largest_event_holds_two_destinations_and_all_texts():
    event = constant("lib/links/link_event.h", "LINK_EVENT_BYTES_MAX")
    assert event >= 2 * constant("lib/links/link.h", "LINK_URL_MAX") + 200 * 4 + 20 * 50 * 4 + 1024


def test_proxies_have_room_for_the_longest_location():
    """The rest of the head has less than 4 KiB."""
    (room,) = numbers_in("deploy/k8s/components/ingress/ingress.yaml", r"proxy-buffer-size: (\d+)k")
    assert room * 1024 >= constant("lib/links/link.h", "LINK_URL_MAX") + 4096
    for path in ("docs/operations.md", "docs/deploy-without-kubernetes.md"):
        assert numbers_in(path, r"proxy_buffer_size (\d+)k") == {room}, path


def test_all_places_agree_on_what_a_slug_may_be():
    length = {constant("lib/links/slug.h", "SLUG_LENGTH_MAX")}
    schemas = [path.relative_to(ROOT) for path in (ROOT / "db").rglob("*.sql")]
    web = ("web/dashboard/src/lib/bulk.ts", "web/dashboard/src/components/link_form.tsx")
    found = {path: {int(most) + 2 for most in SLUG.findall(text_of(path).replace("\\-", "-"))} for path in (API, "docs/api/asyncapi.yaml", *web, *schemas)}
    assert set().union(*(found.pop(path) for path in schemas)) == length
    assert found == dict.fromkeys(found, length)
