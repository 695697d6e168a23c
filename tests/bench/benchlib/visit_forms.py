"""Measures in which forms a visit could be stored: bytes per visit of each part, and how long inserting takes beside today's form.

The consumer counts the clicks of flood.c. Each form then gets the same visits, in the order of time, into a table that has its
indexes already. Values that many visits share stand once in a table of their own, as a consumer would keep it, and the
visit has an integer instead.
"""

import dataclasses
import time

from . import ingest, report

LINKS = 1000
AGENT = ("browser", "browser_version", "os", "os_version", "device", "bot_reason")
PLACE = ("country", "region", "city")
SOURCE = ("referrer_host", "referrer_source", "utm_source", "utm_medium", "utm_campaign")
UUID_HASH = {"visitor_hash": "encode(visitor_hash, 'hex')::uuid"}
CIDR = {"client_network": "nullif(client_network, '')::cidr"}
DESCENDING = "link_id, occurred_at DESC"


@dataclasses.dataclass(frozen=True)
class Form:
    name: str
    changed: dict = dataclasses.field(default_factory=dict)  # expressions by column
    left_out: tuple = ()
    dictionaries: dict = dataclasses.field(default_factory=dict)  # columns by the name of their table
    index: str = "link_id, occurred_at"


FORMS = [
    Form("in the order of time"),
    Form("index by link descending", index=DESCENDING),
    Form("hash as uuid", UUID_HASH),
    Form("network as cidr", CIDR),
    Form("no slug", left_out=("slug",)),
    Form("dictionary of agents", dictionaries={"agent": AGENT}),
    Form("dictionary of places", dictionaries={"place": PLACE}),
    Form("dictionary of sources", dictionaries={"source": SOURCE}),
    Form("all of it", UUID_HASH | CIDR, ("slug",), {"agent": AGENT, "place": PLACE, "source": SOURCE}),
]


class Forms:
    def __init__(self, database):
        self.run, self.ask = database.run, database.ask
        self.columns = [each.strip() for each in database.columns().split(",")]

    def size(self, relation):
        return self.ask(f"SELECT pg_table_size('{relation}')")

    def written(self, visits):
        """The visit log as the consumer wrote it: in its order, which is not quite that of time."""
        parts = "FROM pg_inherits JOIN pg_index ON indrelid = inhrelid WHERE inhparent = 'visit_log'::regclass AND pg_get_indexdef(indexrelid) LIKE "
        sizes = [self.ask("SELECT sum(pg_table_size(inhrelid)) FROM pg_inherits WHERE inhparent = 'visit_log'::regclass")]
        sizes += [self.ask(f"SELECT sum(pg_table_size(indexrelid)) {parts} '%({columns}%'") for columns in ("day, event_id)", "link_id, occurred_at", "day, link_id, visitor_hash)")]
        return Form("as the consumer writes it"), [*(float(each) / visits for each in sizes), 0.0], 0, None

    def measure(self, form, visits):
        shared = {column for columns in form.dictionaries.values() for column in columns}
        tables = {}
        for name, columns in form.dictionaries.items():
            tables[name] = f"form_{name}"
            self.run(f"CREATE TABLE form_{name} AS SELECT row_number() OVER ()::int AS id, {', '.join(columns)} FROM (SELECT DISTINCT {', '.join(columns)} FROM visit_log) AS d")
            self.run(f"ALTER TABLE form_{name} ADD PRIMARY KEY (id)")
            self.run(f"CREATE UNIQUE INDEX ON form_{name} ({', '.join(columns)})")
        kept = [column for column in self.columns if column not in shared and column not in form.left_out]
        values = [f"{form.changed[column]} AS {column}" if column in form.changed else f"v.{column}" for column in kept]
        values += [f"{name}.id AS {name}_id" for name in tables]
        joins = "".join(f" JOIN form_{name} AS {name} USING ({', '.join(form.dictionaries[name])})" for name in tables)
        rows = f"SELECT {', '.join(values)} FROM visit_log AS v{joins}"
        self.run(f"CREATE TEMP TABLE form_rows AS {rows} ORDER BY v.occurred_at")
        self.run("CREATE TABLE form_log AS SELECT * FROM form_rows LIMIT 0")
        self.run("ALTER TABLE form_log ADD PRIMARY KEY (day, event_id)")
        self.run(f"CREATE INDEX form_by_link ON form_log ({form.index})")
        self.run("CREATE UNIQUE INDEX form_visitors ON form_log (day, link_id, visitor_hash) WHERE is_unique AND visitor_hash IS NOT NULL")
        began = time.monotonic()
        self.run("INSERT INTO form_log SELECT * FROM form_rows")
        seconds = time.monotonic() - began
        sizes = [self.size(each) / visits for each in ("form_log", "form_log_pkey", "form_by_link", "form_visitors")]
        dictionaries = sum(self.ask(f"SELECT pg_total_relation_size('{table}')") for table in tables.values()) / visits
        rows_kept = sum(self.ask(f"SELECT count(*) FROM {table}") for table in tables.values())
        for table in ("form_rows", "form_log", *tables.values()):
            self.run(f"DROP TABLE {table}")
        print(f"  {form.name}: {sum(sizes) + dictionaries:.1f}, {seconds:.1f} s", flush=True)
        return [*(float(each) for each in sizes), float(dictionaries)], rows_kept, seconds


def measure(folder, stage, options):
    bench = ingest.Bench(folder, stage, options.build)
    bench.flood(options.events, LINKS)
    bench.count(options.events)
    forms = Forms(bench.database)
    return [forms.written(options.events), *((form, *forms.measure(form, options.events)) for form in FORMS)]


def table(seen, events):
    _, usual, _, usual_seconds = seen[1]
    rows = []
    for form, parts, rows_kept, seconds in seen:
        share = sum(parts) / sum(usual)
        rows.append([form.name, *(f"{each:.0f}" for each in parts), f"{sum(parts):.0f}", f"{share:.2f}", f"{rows_kept:,}", f"{seconds / usual_seconds:.2f}" if seconds else ""])
    head = ["bytes per visit", "row", "by event", "by link", "of unique visitors", "dictionaries", "sum", "share", "rows of dictionaries", "time of INSERT"]
    return f"{events:,} clicks of {LINKS:,} links.\n\n" + report.table(head, rows)
