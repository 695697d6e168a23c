"""The tables of docs/scaling.md: each is what stands between <!-- NAME: written by tools/capacity --> and <!-- NAME: end -->."""

import re

from . import limits, model
from .figures import FIGURES, ROOT

DOCUMENT = ROOT / "docs/scaling.md"
STEPS = {
    "a laptop": model.Demand(100, 10_000, hits=1, retention=400, is_alone=True),
    "a small cluster": model.Demand(1_000, 100_000, hits=1, retention=400),
    "a company": model.Demand(10_000, 1_000_000, hits=0.9, retention=90),
    "a country": model.Demand(100_000, 10_000_000, hits=0.8, retention=30),
    "the world": model.Demand(1_000_000, 100_000_000, hits=0.8, retention=8),
}
UNITS = ("", "k", "M", "G", "T", "P", "E")


def number(value):
    """Three digits that count: 0.0123, 12.3, 12,300."""
    if value == 0 or value >= 100:
        digits = max(0, len(str(int(value))) - 3)
        return f"{round(value, -digits):,.0f}"
    places = 1 if value >= 10 else 2 if value >= 1 else 3
    return f"{value:.{places}f}".rstrip("0").rstrip(".")


def size(value):
    """8,500,000 → 8.5 MB."""
    step = 0
    while value >= 999.5 and step < len(UNITS) - 1:
        value, step = value / 1000, step + 1
    return f"{number(float(f'{value:.3g}'))} {UNITS[step]}B"


def cores(value):
    return "< 0.1" if value < 0.1 else number(value)


ROWS = [
    ("**asked:** redirects a second, at the peak", lambda n: number(n.demand.redirects)),
    ("links", lambda n: number(n.demand.links)),
    ("answered by a redirector's memory", lambda n: f"{n.demand.hits * 100:.0f} %"),
    ("days of single visits", lambda n: number(n.demand.retention)),
    ("**cores at work** in all", lambda n: cores(n.busy)),
    ("redirectors", lambda n: cores(n.busy_redirectors)),
    ("Kafka, all copies", lambda n: cores(n.busy_kafka)),
    ("consumers", lambda n: cores(n.busy_consumers)),
    ("PostgreSQL", lambda n: cores(n.busy_postgres)),
    ("Redis", lambda n: cores(n.busy_redis)),
    ("links-api, with its stores", lambda n: cores(n.busy_api)),
    ("**pods:** redirectors, for one core each", lambda n: number(n.redirectors)),
    ("links-apis", lambda n: number(n.apis)),
    ("consumers", lambda n: number(n.consumers)),
    ("**partitions** of clicks, at least", lambda n: number(n.lanes)),
    ("clicks a second of the hottest link", lambda n: number(n.hottest)),
    ("**connections** to PostgreSQL", lambda n: number(n.connections)),
    ("**memory** of a redirector", lambda n: size(n.redirector_memory)),
    ("… of that, links", lambda n: size(n.cache_bytes)),
    ("consumer", lambda n: size(n.consumer_memory)),
    ("Redis, at most", lambda n: size(n.redis_bytes)),
    ("**cores to have:** PostgreSQL", lambda n: number(n.postgres_cores)),
    ("brokers, together", lambda n: number(n.kafka_cores)),
    ("**disk a day:** visits in PostgreSQL", lambda n: size(n.log_bytes_a_day)),
    ("roll-ups, which stay", lambda n: size(n.rollup_bytes_a_day)),
    ("Kafka, all copies", lambda n: size(n.kafka_bytes_a_day)),
    ("**disk in all:** visits that are kept", lambda n: size(n.log_bytes)),
    ("a year of roll-ups", lambda n: size(n.rollup_bytes_a_day * model.YEAR_DAYS)),
    ("Kafka, all copies of seven days", lambda n: size(n.kafka_bytes)),
    ("journal of a redirector, 15 minutes", lambda n: size(n.journal_bytes)),
    ("**a second:** write-ahead log", lambda n: size(n.wal_bytes_per_s)),
    ("visitors, both ways", lambda n: size(n.visitors_bytes_per_s)),
    ("into Kafka, before copies", lambda n: size(n.kafka_bytes_per_s)),
    ("**hours a day** to finish a day's roll-ups", lambda n: number(n.finishing_hours)),
]  # fmt: skip


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def needs_table(steps):
    needs = [model.Needs(demand) for demand in steps.values()]
    return table(["", *steps], [[name, *(tell(each) for each in needs)] for name, tell in ROWS])


def breaks(needs):
    """What is over its limit, the most of it first."""
    reached = [limit for limit in limits.LIMITS if limit.is_reached(needs)]
    return sorted(reached, key=lambda limit: -limit.load(needs))


def breaks_table(steps):
    rows = []
    for name, demand in steps.items():
        needs = model.Needs(demand)
        found = [f"{limit.name} ({number(limit.load(needs))} ×): {limit.then}" for limit in breaks(needs)]
        rows.append([name, "; ".join(found) or "nothing"])
    return table(["step", "what is beyond its limit, the most of it first, and who takes over"], rows)


def limits_table():
    reached = [(limits.first_reached(limit), limit) for limit in limits.LIMITS]
    rows = []
    for redirects, limit in sorted(reached, key=lambda each: each[0] or limits.MOST):
        about = float(f"{redirects:.2g}") if redirects else None
        rows.append([limit.name, "a setting" if limit.is_setting else "an engine", number(about) if about else "beyond", limit.then])
    return table(["what", "it is", "reached at redirects/s", "who takes over"], rows)


def figures_table():
    rows = []
    for name, figure in FIGURES.items():
        value = size(figure.value) if figure.unit == "bytes" and figure.value >= 1e6 else f"{figure.value:,} {figure.unit}".strip()
        source = f"`{figure.source}`" if figure.saying else figure.source
        rows.append([f"`{name}`", value, figure.what, figure.kind, source])
    return table(["figure", "value", "what", "kind", "from"], rows)


def blocks():
    return {"steps": needs_table(STEPS), "breaks": breaks_table(STEPS), "limits": limits_table(), "figures": figures_table()}


def written(text):
    """The document with its tables as they should be."""
    for name, block in blocks().items():
        begin, end = f"<!-- {name}: written by tools/capacity -->", f"<!-- {name}: end -->"
        pattern = re.escape(begin) + ".*?" + re.escape(end)
        text, count = re.subn(pattern, lambda _, new=f"{begin}\n\n{block}\n\n{end}": new, text, flags=re.S)
        if count != 1:
            raise ValueError(f"{DOCUMENT.name} has {count} places for the table {name}")
    return text
