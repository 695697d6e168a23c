"""The decision of a link, from its description (docs/links-that-decide.md) and not from the code.

A link is {id, original_url, rules, split}, with rules and split as in the API. A visitor is a dict of what is known:
now_us, country, region, city, device, os, browser, language, query (bytes), referrer_host, is_bot, hash (bytes or None),
random. Instants are microseconds.
"""

import datetime
import hashlib
import math
import re
import urllib.parse
import zoneinfo

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
BROKEN_ESCAPE = re.compile(rb"%(?![0-9A-Fa-f]{2})")
NAMES = ("country", "region", "city", "device", "os", "browser")


def folded(text):
    """Without the case of ASCII letters."""
    return text.encode().lower()


def speaks(wanted, language):
    wanted, language = folded(wanted), folded(language)
    return language == wanted or language.startswith(wanted + b"-")


def comes_from(wanted, host):
    wanted, host = folded(wanted), folded(host)
    return host == wanted.removeprefix(b".") or (wanted.startswith(b".") and host.endswith(wanted))


def pairs(query):
    """The decoded names and values of a query. None for what has a broken escape."""
    for pair in query.split(b"&"):
        if pair:
            name, _, value = pair.replace(b"+", b" ").partition(b"=")
            yield [None if BROKEN_ESCAPE.search(part) else urllib.parse.unquote_to_bytes(part) for part in (name, value)]


def asks(parameter, query):
    found = [value for name, value in pairs(query) if name == parameter["name"].encode()]
    if "values" not in parameter:
        return bool(found)
    return any(value.encode() in found for value in parameter["values"])


def minutes(text):
    hours, _, rest = text.partition(":")
    return int(hours) * 60 + int(rest)


def is_in_week(when, now_us):
    # Seconds, because a float of microseconds is not exact.
    local = datetime.datetime.fromtimestamp(now_us // 1_000_000, zoneinfo.ZoneInfo(when.get("time_zone", "UTC")))
    minute, day = local.hour * 60 + local.minute, local.weekday()
    begin, end = minutes(when.get("time_from", "00:00")), minutes(when.get("time_until", "00:00"))
    if begin or end:
        if begin < end:
            is_in = begin <= minute < end
        else:
            is_in = minute >= begin or minute < end
            if minute < begin:
                day = (day - 1) % 7
        if not is_in:
            return False
    return not when.get("days") or DAYS[day] in when["days"]


def holds(when, visitor):
    """Whether all conditions of a rule hold. What is not known ("") holds never."""
    for name in NAMES:
        if name in when and folded(visitor[name]) not in [folded(value) for value in when[name]]:
            return False
    if "language" in when and not any(speaks(value, visitor["language"]) for value in when["language"]):
        return False
    if not all(asks(parameter, visitor["query"]) for parameter in when.get("query", ())):
        return False
    host = visitor["referrer_host"]
    if "referrer_host" in when and not (host and any(comes_from(value, host) for value in when["referrer_host"])):
        return False
    if "visitor" in when and when["visitor"] != ("bot" if visitor["is_bot"] else "human"):
        return False
    if visitor["now_us"] < when.get("from", 0) or visitor["now_us"] >= when.get("until", math.inf):
        return False
    return not ("days" in when or "time_from" in when) or is_in_week(when, visitor["now_us"])


def score(variant, link_id, visitor):
    who = visitor["hash"] or visitor["random"].to_bytes(8, "big")
    digest = hashlib.sha256(who + link_id.to_bytes(8, "big") + variant["name"].encode()).digest()
    u = ((int.from_bytes(digest[:8], "big") >> 12) + 0.5) / 2**52
    return variant["weight"] / -math.log(u)


def find_variant(link, visitor):
    split = link.get("split")
    if not split:
        return None
    if split.get("winner"):
        return next(each for each in split["variants"] if each["name"] == split["winner"])
    return max(split["variants"], key=lambda each: score(each, link["id"], visitor))


def decide(link, visitor):
    """(kind, url, fallback_url, rule, variant)"""
    rule = next((each for each in link.get("rules", ()) if holds(each["when"], visitor)), None)
    name = rule["name"] if rule else ""
    if rule and rule["then"] == "gone":
        return "gone", "", "", name, ""
    if rule and rule["then"] == "redirect":
        return "redirect", rule["url"], rule.get("fallback_url", ""), name, ""
    variant = find_variant(link, visitor)
    if variant:
        return "redirect", variant["url"], "", name, variant["name"]
    return "redirect", link["original_url"], "", name, ""
