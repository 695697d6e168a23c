"""Adjusts generated valid requests where OpenAPI cannot express a rule. Invalid requests are sent unchanged."""

import os
import urllib.parse

import schemathesis

# Beyond 16 KiB libmicrohttpd itself responds 414 with HTML.
TARGET_BYTES_MAX = 8000
FILTER = "title:~'walk'+state:[active,disabled]"
EARLIER, LATER = "2026-01-01T00:00:00Z", "2031-01-01T00:00:00Z"
SELF = os.environ.get("CONTRACT_SELF", "")


def is_positive(case):
    return case.meta is not None and str(case.meta.generation.mode.value) == "positive"


@schemathesis.hook
def filter_query(ctx, query):
    return len(urllib.parse.urlencode(query or {}, doseq=True)) < TARGET_BYTES_MAX


@schemathesis.hook
def before_call(ctx, case, kwargs):
    keep_administrator(case)
    if is_positive(case):
        fix_headers(case.headers or {})
        fix_query(case.query or {})
        limit_filters(case.query or {})
        if isinstance(case.body, dict):
            case.body = parseable(case.body)
            use_web_addresses(case.body)
            start_before_the_end(case.body)
            shorten_passwords(case.body)
            use_real_zone(case.body)
            replace_or_edit_tags(case.body)
            block_unused_host(case.body)
            limit_keys_of_links(case.body)
            ask_for_possible_extras(case.body)
            if case.path.startswith("/api/admin/app-documents/"):
                match_name_of_document(case)
            if case.path.startswith("/api/shares"):
                begin_and_look_well(case.body)
            if case.path == "/api/shares":
                share_tag(case.body)
            if "filter" in case.body:
                case.body["filter"] = FILTER


def keep_administrator(case):
    """Keeps the caller from blocking or demoting itself: all later requests would get 403."""
    if case.path.startswith("/api/admin/users/") and str((case.path_parameters or {}).get("id")) == SELF:
        case.path_parameters["id"] = 1


def fix_headers(headers):
    """Schemathesis makes headers of letters and digits only, and sends a wrong one where these do not match the pattern."""
    for name, value in (("If-Match", '"v1"'), ("Last-Event-ID", "0:812")):
        if name in headers:
            headers[name] = value


def fix_query(query):
    """Sets parameters with rules of their own: from before to and now, real time zones, NQL filters, no cursor, texts limited in bytes."""
    for name, value in (("from", "2026-11-01"), ("to", "2026-11-20T09:00:00Z"), ("tz", "Europe/Berlin"), ("filter", FILTER)):
        if name in query:
            query[name] = value
    query.pop("cursor", None)
    for name in ("q", "action", "subject_type"):
        if isinstance(query.get(name), str):
            query[name] = query[name][:15]


def limit_filters(query):
    """At most 16 filters in total: three excluding ones, if there are any, which show what the dimensions are."""
    for name in list(query):
        if isinstance(query.get(name), list):
            query[name] = query[name][:1]
    excluding = [name for name in query if name.startswith("not_")]
    for name in [*excluding, *(name.removeprefix("not_") for name in excluding)][3:]:
        query.pop(name, None)


def use_web_addresses(body):
    """Of all IRIs those of the web."""
    for name, value in list(body.items()) if isinstance(body, dict) else enumerate(body):
        if isinstance(value, str) and str(name).endswith("url") and not value.startswith("http"):
            body[name] = "https://example.com/"
        elif isinstance(value, (dict, list)):
            use_web_addresses(value)


def start_before_the_end(body):
    """The end in the future, and years from 1970 on."""
    for name, value in (("starts_at", EARLIER), ("expires_at", LATER)):
        if isinstance(body.get(name), str):
            body[name] = value


def shorten_passwords(body):
    """At most 72 bytes, and none that everybody tries first."""
    for name in ("password", "current_password", "new_password"):
        if isinstance(body.get(name), str):
            body[name] = body[name][:17] + "~"


def use_real_zone(body):
    if isinstance(body.get("tz"), str):
        body["tz"] = "Europe/Berlin"


def replace_or_edit_tags(body):
    if "add_tags" in body or "remove_tags" in body:
        body.pop("tags", None)


def block_unused_host(body):
    """Blocking a host in use would make links of other requests invalid."""
    if isinstance(body.get("host"), str):
        body["host"] = f"h{abs(hash(body['host']))}.blocked.example"


def limit_keys_of_links(body):
    """Tags limit the scopes that are about links, and no others."""
    if body.get("tags") and any(str(scope).startswith(("workspace:", "admin:")) for scope in body.get("scopes") or []):
        del body["tags"]


def ask_for_possible_extras(body):
    """Names that differ, moments in order, real zones, countries and hosts, app destinations for nobody, no extras of a link to reuse."""
    for i, rule in enumerate(body.get("rules") or []):
        rule["name"] = f"rule {i}"
        rule.pop("fallback_url", None)
        rule["url"] = "https://example.com/" if rule["then"] == "redirect" else None
        conditions = rule["when"]
        for name, value in (("from", EARLIER), ("until", LATER), ("time_from", "22:00"), ("time_until", "06:00"), ("time_zone", "Europe/Berlin"),
                            ("country", ["DE"]), ("region", ["DE-BY"]), ("language", ["de"]), ("referrer_host", [".example.com"])):  # fmt: skip
            if conditions.get(name) is not None:
                conditions[name] = value
        if conditions.get("time_from") is None or conditions.get("time_until") is None:
            conditions.pop("time_from", None)
            conditions.pop("time_until", None)
        if conditions.get("days") is None and conditions.get("time_from") is None:
            conditions.pop("time_zone", None)
    if body.get("split"):
        body["split"]["winner"] = None
        for i, variant in enumerate(body["split"]["variants"]):
            variant["name"] = f"variant {i}"
    if body.get("visitor"):
        body["visitor"] |= {"country": "DE", "at": LATER}
    if body.get("link_id") and "visitor" in body:
        body["link_id"] = None
    if any(body.get(name) for name in ("rules", "split", "max_visits", "password", "preview")):
        body.pop("reuse", None)


def match_name_of_document(case):
    """Google's file is an array, Apple's an object."""
    names = {list: "assetlinks.json", dict: "apple-app-site-association"}
    case.path_parameters["name"] = names[type(case.body["document"])]


def begin_and_look_well(body):
    """A range has days of the calendar, and a logo is a picture."""
    for name, value in (("range", "2026-03-01/2026-03-31"), ("logo", "iVBORw0KGgo=")):
        if isinstance(body.get(name), str):
            body[name] = value


def share_tag(body):
    """A share has a link of the caller or a tag, but not both. An invalid tag stays as it is."""
    if isinstance(body.get("link_id"), int) or body.get("tag") is None:
        body.pop("link_id", None)
        body["tag"] = body.get("tag") or "walk"


def parseable(value):
    """JSON is parsed strictly even where any value is allowed: no NUL, no number beyond 64 bits."""
    if isinstance(value, str):
        return value.replace("\0", "")
    if isinstance(value, list):
        return [parseable(each) for each in value]
    if isinstance(value, dict):
        return {parseable(name): parseable(each) for name, each in value.items()}
    return max(-(2**63), min(value, 2**63 - 1)) if type(value) is int else value
