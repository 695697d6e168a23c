"""Measures how fast links-api lists the links of an account that has very many, over HTTP."""

import dataclasses
import random
import statistics
import time
import urllib.parse

from .answers import Client
from .bounds import judge
from .contenders import cpu_seconds_of
from .report import table

DEFAULT_LINKS = 1_000_000
ASKED = 200
FIRST_PAGE_MS_MAX, Q_MS_MAX = 10, 50
INDEXES = ("links_search_idx", "links_tags_idx", "link_ranking_visits_idx", "link_ranking_visited_idx")


@dataclasses.dataclass(frozen=True, eq=False)  # hashed by identity
class Question:
    name: str
    query: dict  # "{n}": any number of a link
    p50_ms_max: int = 0  # 0: nothing is promised
    asked: int = ASKED
    is_changed_before: bool = False


QUESTIONS = [
    Question("first page", {}, FIRST_PAGE_MS_MAX),
    Question("first page, behind a change", {}, FIRST_PAGE_MS_MAX, is_changed_before=True),
    Question("first page, oldest first", {"order": "asc"}, FIRST_PAGE_MS_MAX),
    Question("first page by visits", {"sort": "humans"}, FIRST_PAGE_MS_MAX),
    Question("first page by last visit, oldest first", {"sort": "last_visited_at", "order": "asc"}, FIRST_PAGE_MS_MAX),
    Question("q: a slug", {"q": "{slug}"}, Q_MS_MAX),
    Question("q: a part of a target, 1 to 11 found", {"q": "shoes-{n}"}, Q_MS_MAX),
    Question("q: words of a title, 1 to 11 found", {"q": "campaign {n}"}, Q_MS_MAX),
    Question("q: 1,000 found", {"q": "utm_campaign=c{k}&"}, Q_MS_MAX),
    Question("q: 10,000 found", {"q": "example{h}."}),
    Question("q: 200,000 found, two words", {"q": "winter-boots"}, Q_MS_MAX),
    Question("q: a quarter of all", {"q": "summer"}, Q_MS_MAX),
    Question("q: all", {"q": "https"}, Q_MS_MAX),
    Question("q: none", {"q": "nothing like it"}, Q_MS_MAX),
    Question("q: 1,000 found, by visits", {"q": "utm_campaign=c{k}&", "sort": "humans"}, Q_MS_MAX),
    Question("q: 10,000 found, by visits", {"q": "example{h}.", "sort": "humans"}, Q_MS_MAX),
    Question("q: a quarter of all, by visits", {"q": "summer", "sort": "humans"}, Q_MS_MAX),
    Question("q: 10,000 found, page 5", {"q": "example{h}.", "page": "5"}),
    Question("q: 10,000 found, a tenth of them with the tag", {"q": "example{h}.", "tag": "promo"}, Q_MS_MAX),
    Question("q: a quarter of all, with a tag of 200", {"q": "summer", "tag": "t{t}"}, Q_MS_MAX),
    Question("q: a quarter of all, state=active", {"q": "summer", "state": "active"}, Q_MS_MAX),
    Question("q: one character", {"q": "{d}"}, Q_MS_MAX),
    Question("q: two characters", {"q": "{d}{d}"}, Q_MS_MAX),
    Question("q: two characters that nothing has", {"q": "~~"}, 0, 5),
    Question("q: what all have, but not so", {"q": "mail campaign"}, 0, 5),
    Question("a tag of 200 links", {"tag": "t{t}"}),
    Question("state=active", {"state": "active"}),
    Question("state=disabled, none", {"state": "disabled"}, 0, 10),
    Question("filter: tag:[…]+humans:>100", {"filter": "tag:[t{t},t7]+humans:>100"}),
    Question("filter: humans:>10000", {"filter": "humans:>10000"}),
    Question("a page from 20,000 to 30,000", {"page": "{p}"}, 0, 50),
]


def fill(cursor, links):
    cursor.execute("SELECT max(id) FROM users")
    (owner,) = cursor.fetchone()
    definitions = {}
    for name in INDEXES:
        cursor.execute("SELECT pg_get_indexdef(%s::regclass)", (name,))
        definitions[name] = cursor.fetchone()[0]
        cursor.execute(f"DROP INDEX {name}")
    cursor.execute(
        """INSERT INTO links (slug, link_type, original_url, workspace_id, title, tags, created_at)
           SELECT substr(md5('s' || i), 1, 7) || to_hex(i), 'PERMANENT',
               'https://' || (array['shop', 'blog', 'docs', 'www', 'app'])[1 + i %% 5] || '.example' || i %% 97 || '.com/'
                   || (array['red-shoes', 'big-sale', 'how-to-cook', 'winter-boots', 'red-shoes'])[1 + i * 7 %% 5] || '-' || i
                   || '?utm_source=mail&utm_campaign=c' || i %% 1000 || '&x=1',
               %s, (array['Summer', 'Winter', 'Spring', 'Autumn'])[1 + i %% 4] || ' campaign ' || i,
               CASE WHEN i %% 10 = 0 THEN array['promo', 't' || i %% 5000] ELSE '{}' END, now() - make_interval(secs => %s - i)
           FROM generate_series(1, %s) AS i""",
        (owner, links, links),
    )
    cursor.execute(
        "INSERT INTO link_statistics (link_id, visit_count, last_visited_at)"
        " SELECT id, floor(1e6 / (1 + random() * 1e6)), now() - random() * interval '30 days' FROM links WHERE id % 2 = 0"
    )
    while True:
        cursor.execute("SELECT link_ranking_refresh(100000)")
        if cursor.fetchone()[0] == 0:
            break
    for definition in definitions.values():
        cursor.execute(definition)
    cursor.execute("VACUUM ANALYZE")
    cursor.execute("SELECT link_search_refresh()")  # the stopped janitor would run this


class Asker:
    def __init__(self, client, cursor, links):
        self.client, self.links, self.dice = client, links, random.Random(1)
        cursor.execute("SELECT id, slug FROM links TABLESAMPLE BERNOULLI (0.1) WHERE workspace_id IS NOT NULL")
        self.some = cursor.fetchall()

    def path(self, question):
        n = self.dice.randrange(1, self.links)
        chosen = {"{n}": str(n), "{k}": str(n % 1000), "{h}": str(n % 97), "{t}": str(n % 500 * 10), "{d}": str(n % 10), "{p}": str(20_000 + n % 10_000), "{slug}": self.dice.choice(self.some)[1]}
        query = {}
        for name, value in question.query.items():
            for hole, filling in chosen.items():
                value = value.replace(hole, filling)
            query[name] = value
        return "/api/links?" + urllib.parse.urlencode(query)

    def ask(self, question):
        if question.is_changed_before:
            link = self.dice.choice(self.some)[0]
            self.client.ask("PATCH", f"/api/links/{link}", {"title": f"changed {self.dice.random()}"})
        answer, took_ms = self.client.ask("GET", self.path(question))
        return answer, took_ms


def check(cursor, asker, links):
    """Checks answers against PostgreSQL without an index. The speed of a wrong answer means nothing."""
    answer, _ = asker.client.ask("GET", "/api/links?limit=1")
    if answer["pagination"]["total"] != links:
        raise SystemExit(f"bench: {answer['pagination']} of {links} links")
    for q in ("shoes-777", "campaign 4242", "utm_campaign=c77&"):
        answer, _ = asker.client.ask("GET", "/api/links?" + urllib.parse.urlencode({"q": q}))
        cursor.execute(
            "SELECT count(*) FROM links WHERE (SELECT bool_and(position(lower(word) IN lower(slug || E'\\n' || original_url || E'\\n' || title || E'\\n' || shown_url)) > 0)"
            " FROM regexp_split_to_table(%s, ' ') AS word)",
            (q,),
        )
        if answer["pagination"]["total"] != cursor.fetchone()[0]:
            raise SystemExit(f"bench: {q} answers {answer['pagination']}")


def by_cursor(asker, pages, query=""):
    """The times of consecutive pages."""
    times, cursor = [], ""
    for _ in range(pages):
        answer, took_ms = asker.client.ask("GET", "/api/links?limit=20" + query + cursor)
        cursor = "&cursor=" + answer["pagination"]["next_cursor"]
        times.append(took_ms)
    return times


def measure(stage, links):
    import psycopg2

    client = Client(stage.stores["LINKS_API_URL"], "lists")
    client.log_in()
    connection = psycopg2.connect(stage.stores["PG_URL"])
    connection.autocommit = True
    cursor = connection.cursor()
    begun = time.monotonic()
    fill(cursor, links)
    print(f"  filled in {time.monotonic() - begun:.0f} s", flush=True)
    client.connect()  # the service has closed the idle connection
    asker = Asker(client, cursor, links)
    check(cursor, asker, links)
    meter = Meter(stage)
    measured = {}
    for question in QUESTIONS:
        for _ in range(min(5, question.asked)):
            asker.ask(question)
        measured[question] = meter.measure(lambda question=question: [asker.ask(question)[1] for _ in range(question.asked)])
        print(f"  {question.name}: {in_short(measured[question])}", flush=True)
    measured[Question("the next page, by cursor", {}, FIRST_PAGE_MS_MAX)] = meter.measure(lambda: by_cursor(asker, ASKED))
    measured[Question("q: a quarter of all, the next page", {}, Q_MS_MAX)] = meter.measure(lambda: by_cursor(asker, ASKED, "&q=summer"))
    return measured


@dataclasses.dataclass
class Measured:
    times_ms: list  # sorted
    cpu_ms: float  # per answer; a busy machine hardly changes it

    @property
    def p50_ms(self):
        return statistics.median(self.times_ms)

    @property
    def p99_ms(self):
        return self.times_ms[int(len(self.times_ms) * 0.99)]


class Meter:
    """The CPU time that links-api and PostgreSQL spend on answers."""

    def __init__(self, stage):
        self.pids = [stage.pid_of("links-api-1"), stage.pid_of("postgres")]

    def spent_ms(self):
        return sum(cpu_seconds_of(pid) for pid in self.pids) * 1000

    def measure(self, ask):
        before = self.spent_ms()
        times = sorted(ask())
        return Measured(times, (self.spent_ms() - before) / len(times))


def in_short(measured):
    return f"p50 {measured.p50_ms:.1f} ms, p99 {measured.p99_ms:.1f} ms, {measured.cpu_ms:.1f} ms of CPU"


def report(measured, links):
    rows = []
    for question, its in measured.items():
        wanted = judge(f"lists, {question.name}: p50", its.p50_ms, question.p50_ms_max, "ms") if question.p50_ms_max else ""
        rows.append([question.name, f"{len(its.times_ms):,}", f"{its.p50_ms:.1f} ms{wanted}", f"{its.p99_ms:.1f} ms", f"{its.cpu_ms:.1f} ms"])
    return f"{links:,} links of one account, half of them visited, 20 a page, one client, over HTTP; CPU: of links-api and PostgreSQL, of one answer.\n\n" + table(
        ["question", "asked", "p50", "p99", "CPU"], rows
    )
