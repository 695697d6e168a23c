"""How long a destination may be is one number, which C, SQL and the descriptions of the API repeat."""
import re

from sources import ROOT


def numbers_in(path, pattern):
    return {int(number.replace(",", "")) for number in re.findall(pattern, (ROOT / path).read_text(encoding="utf-8"))}


def test_c_sql_and_descriptions_agree_on_the_length_of_a_destination():
    (length,) = numbers_in("lib/links/link.h", r"#define LINK_URL_MAX (\d+)")
    assert numbers_in("db/migrations/0003_links.sql", r"octet_length\((?:original|expired)_url\) BETWEEN 1 AND (\d+)") == {length}
    assert numbers_in("services/links-api/config.c", r'"DESTINATION_BYTES_MAX", struct config, destination_bytes_max, "(\d+)"') == {length}
    assert numbers_in("docs/api/openapi.yaml", r"([\d,]+) bytes \(`DESTINATION_BYTES_MAX`\)") == {length}
    assert numbers_in("docs/api/openapi.yaml", r"original_url: .*maxLength: (\d+)") == {length}
    for path in ("docs/api/asyncapi.yaml", "proto/waymark/v1/link_event.proto"):
        assert numbers_in(path, r"as sent in Location; at most ([\d,]+) bytes") == {length}, path


def test_the_largest_event_holds_two_destinations_and_all_texts():
    (length,) = numbers_in("lib/links/link.h", r"#define LINK_URL_MAX (\d+)")
    (event,) = numbers_in("lib/links/link_event.h", r"#define LINK_EVENT_BYTES_MAX (\d+)")
    assert event >= 2 * length + 200 * 4 + 20 * 50 * 4 + 1024
