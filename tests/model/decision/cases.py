"""Random links and visitors. Both draw from the same small lists, so that most conditions hold now and then."""

import datetime
import zoneinfo

from decision import DAYS

BEGIN = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
YEARS = 15
SECOND_US = 1_000_000
DAY_US = 86_400 * SECOND_US
BEGIN_US = int(BEGIN.timestamp()) * SECOND_US
END_US = BEGIN_US + (YEARS * 365 - 1) * DAY_US
TRANSITIONS_MAX = 40

# Conditions that compare a text, and what visitors have of them.
TEXTS = ("country", "region", "city", "device", "os", "browser", "language", "referrer_host")
COUNTRIES = ("DE", "AT", "CH", "US", "BR")
REGIONS = ("DE-BY", "DE-BE", "US-NY", "BR-SP")
CITIES = ("Berlin", "München", "New York", "São Paulo", "Zürich")
DEVICES = ("desktop", "mobile", "tablet", "bot", "other")
SYSTEMS = ("Android", "iOS", "Windows", "Mac OS X", "Linux", "Other")
BROWSERS = ("Chrome", "Chrome Mobile", "Mobile Safari", "Firefox", "Other")
LANGUAGES = ("de", "de-CH", "de-CH-1996", "en", "en-GB", "pt-BR", "pt", "zh-Hant-TW", "d")
HOSTS = ("example.com", "www.example.com", "news.example.org", "example.org", "t.co", "com.example")
PARAMETERS = ("ref", "a b", "ü", "utm_source", "qr")
VALUES = ("", "1", "x y", "ä&=", "%41", "1+1")
# Raw names and values, some of them broken.
RAW_NAMES = (b"ref", b"a+b", b"a%20b", b"%c3%bc", b"\xc3\xbc", b"utm_source", b"utm%5Fsource", b"qr", b"re%66", b"ref%", b"REF", b"")
RAW_VALUES = (b"", b"=", b"=1", b"=x+y", b"=x%20y", b"=%C3%A4%26=", b"=%2541", b"=%41", b"=1%2b1", b"=1+1", b"=%3", b"=%00", b"=1%001")
ZONES = (
    "UTC", "Europe/Berlin", "Europe/London", "America/New_York", "America/Sao_Paulo", "Asia/Kolkata", "Asia/Kathmandu",
    "Australia/Lord_Howe", "Pacific/Kiritimati", "Pacific/Chatham", "Africa/Casablanca", "America/St_Johns", "Etc/GMT+12",
)  # fmt: skip


def offset_s(zone, second):
    return int(datetime.datetime.fromtimestamp(second, zone).utcoffset().total_seconds())


def transitions(name):
    """[(since_s, offset_s)] from BEGIN for 15 years, as links-api stores them. The first stands for all before."""
    zone = zoneinfo.ZoneInfo(name)
    at, found = BEGIN_US // SECOND_US, []
    found.append((at, offset_s(zone, at)))
    while at < END_US // SECOND_US:
        low, high = at, at + 86_400
        if offset_s(zone, high) != found[-1][1]:
            while high - low > 1:
                middle = (low + high) // 2
                if offset_s(zone, middle) == found[-1][1]:
                    low = middle
                else:
                    high = middle
            found.append((high, offset_s(zone, high)))
        at += 86_400
    assert len(found) <= TRANSITIONS_MAX, name
    return found


class Cases:
    def __init__(self, random):
        self.random = random
        self.zones = {name: transitions(name) for name in ZONES}
        # Times at which something changes: clocks, and the rules of the last links.
        self.changes = [since * SECOND_US for found in self.zones.values() for since, _ in found]
        self.edges = [BEGIN_US]

    def some(self, values, most):
        return self.random.sample(values, self.random.randint(1, min(most, len(values))))

    def clock(self):
        return f"{self.random.randrange(24):02}:{self.random.choice((0, 0, 15, 30, 59)):02}"

    def instant(self):
        return self.random.randrange(BEGIN_US, END_US)

    def query_condition(self):
        condition = {"name": self.random.choice(PARAMETERS)}
        if self.random.random() < 0.7:
            condition["values"] = self.some(VALUES, 3)
        return condition

    def week(self):
        when = {}
        if self.random.random() < 0.7:
            when["days"] = self.some(DAYS, 7)
        if self.random.random() < 0.7 or not when:
            when["time_from"] = when["time_until"] = self.clock()
            while when["time_until"] == when["time_from"]:  # refused
                when["time_until"] = self.clock()
        if self.random.random() < 0.8:
            when["time_zone"] = self.random.choice(ZONES)
        return when

    def period(self):
        begin, end = sorted((self.instant(), self.instant()))
        when = {"from": begin, "until": end + 1}
        if self.random.random() < 0.6:
            when.pop(self.random.choice(("from", "until")))
        self.edges += when.values()
        return when

    def condition(self):
        named = {"country": COUNTRIES, "region": REGIONS, "city": CITIES, "device": DEVICES, "os": SYSTEMS,
                 "browser": BROWSERS, "language": LANGUAGES, "referrer_host": (*HOSTS, ".example.com", ".example.org", ".com")}  # fmt: skip
        kind = self.random.choice((*named, "query", "query", "visitor", "period", "period", "week", "week", "week", "week"))
        if kind == "query":
            return {"query": [self.query_condition() for _ in range(self.random.choice((1, 1, 2)))]}
        if kind == "visitor":
            return {"visitor": self.random.choice(("human", "bot"))}
        if kind == "period":
            return self.period()
        if kind == "week":
            return self.week()
        return {kind: [self.cased(value) for value in self.some(named[kind], 4)]}

    def cased(self, text):
        return self.random.choice((text, text, text, text.lower() if text.isascii() else text))

    def rule(self, number):
        when = {}
        for _ in range(self.random.choice((0, 1, 1, 1, 1, 2, 2, 3, 5))):
            condition = self.condition()
            if "from" in condition or "until" in condition:
                when = {name: value for name, value in when.items() if name not in ("from", "until")}
            when.update(condition)
        rule = {"name": f"rule {number}", "when": when, "then": self.random.choice(("redirect",) * 4 + ("gone", "as_usual"))}
        if rule["then"] == "redirect":
            rule["url"] = f"https://example.com/rule/{number}"
            if self.random.random() < 0.1:
                rule["url"], rule["fallback_url"] = f"shop://rule/{number}", f"https://example.com/fallback/{number}"
        return rule

    def split(self):
        names = self.some(("a", "b", "Ä", "control", "x" * 50), 5)
        if len(names) < 2:
            return None
        variants = [{"name": name, "url": f"https://example.com/variant/{i}", "weight": self.random.choice((1, 1, 2, 50, 1000))}
                    for i, name in enumerate(names)]  # fmt: skip
        return {"variants": variants, "winner": self.random.choice((None,) * 9 + (names[0],))}

    def link(self):
        self.edges = self.edges[-100:]
        rules = [self.rule(i) for i in range(self.random.choice((0, 1, 2, 3, 5, 5, 10, 20)))]
        link = {"id": self.random.randrange(1, 2**63), "original_url": "https://example.com/", "rules": rules}
        if self.random.random() < 0.5:
            link["split"] = self.split()
        return link

    def now_us(self):
        """Any time, or one beside a quarter of an hour, a change of a clock, or an end of a period."""
        kind = self.random.random()
        if kind < 0.4:
            return self.instant()
        quarter_us = 900 * SECOND_US
        edge = self.instant() // quarter_us * quarter_us if kind < 0.7 else self.random.choice(self.changes if kind < 0.85 else self.edges)
        beside = self.random.choice((-SECOND_US, -1, 0, 0, 1, SECOND_US, DAY_US))
        return min(max(edge + beside, BEGIN_US), END_US)

    def query(self):
        return b"&".join(
            self.random.choice(RAW_NAMES) + self.random.choice(RAW_VALUES) for _ in range(self.random.choice((0, 1, 1, 2, 3)))
        )

    def known(self, values):
        return self.random.choice(values) if self.random.random() < 0.9 else ""

    def visitor(self):
        random = self.random
        return {
            "now_us": self.now_us(),
            "country": self.known(COUNTRIES), "region": self.known(REGIONS), "city": self.known(CITIES),
            "device": self.known(DEVICES), "os": self.known(SYSTEMS), "browser": self.known(BROWSERS),
            "language": self.known(LANGUAGES), "query": self.query(), "referrer_host": self.known(HOSTS),
            "is_bot": random.random() < 0.3,
            "hash": random.randbytes(32) if random.random() < 0.9 else None,
            "random": random.getrandbits(64),
        }  # fmt: skip
