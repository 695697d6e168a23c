"""The tables of docs/scaling.md. Each is between <!-- NAME: written by tools/capacity --> and <!-- NAME: end -->."""

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
    """Three significant digits: 0.0123, 12.3, 12,300."""
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
    ("**demand:** redirects per second at peak", lambda n: number(n.demand.redirects)),
    ("links", lambda n: number(n.demand.links)),
    ("answered from memory", lambda n: f"{n.demand.hits * 100:.0f} %"),
    ("days of the visit log", lambda n: number(n.demand.retention)),
    ("**busy cores**, total", lambda n: cores(n.busy)),
    ("redirectors", lambda n: cores(n.busy_redirectors)),
    ("Kafka, all replicas", lambda n: cores(n.busy_kafka)),
    ("consumers", lambda n: cores(n.busy_consumers)),
    ("PostgreSQL", lambda n: cores(n.busy_postgres)),
    ("Redis", lambda n: cores(n.busy_redis)),
    ("links-api with its stores", lambda n: cores(n.busy_api)),
    ("**pods:** redirectors, for one core each", lambda n: number(n.redirectors)),
    ("links-apis", lambda n: number(n.apis)),
    ("consumers", lambda n: number(n.consumers)),
    ("**partitions** of clicks, minimum", lambda n: number(n.workers)),
    ("clicks per second of the hottest link", lambda n: number(n.hottest)),
    ("**connections** to PostgreSQL", lambda n: number(n.connections)),
    ("**memory** of a redirector", lambda n: size(n.redirector_memory)),
    ("of which links", lambda n: size(n.cache_bytes)),
    ("consumer", lambda n: size(n.consumer_memory)),
    ("Redis, maximum", lambda n: size(n.redis_bytes)),
    ("**cores to provision:** PostgreSQL", lambda n: number(n.postgres_cores)),
    ("Kafka brokers, total", lambda n: number(n.kafka_cores)),
    ("**disk per day:** visit log", lambda n: size(n.log_bytes_a_day)),
    ("roll-ups by hour (kept for 90 days)", lambda n: size(n.hour_bytes_a_day)),
    ("roll-ups by day (kept for ever)", lambda n: size(n.day_bytes_a_day)),
    ("Kafka, all replicas", lambda n: size(n.kafka_bytes_a_day)),
    ("**disk, total:** visit log", lambda n: size(n.log_bytes)),
    ("roll-ups after a year", lambda n: size(n.rollup_bytes_of_a_year)),
    ("Kafka, seven days, all replicas", lambda n: size(n.kafka_bytes)),
    ("journal of a redirector, 15 minutes", lambda n: size(n.journal_bytes)),
    ("**per second:** write-ahead log", lambda n: size(n.wal_bytes_per_s)),
    ("HTTP of visitors, both directions", lambda n: size(n.visitors_bytes_per_s)),
    ("into Kafka, before replication", lambda n: size(n.kafka_bytes_per_s)),
    ("**hours per day** to fold roll-ups", lambda n: number(n.fold_hours)),
]  # fmt: skip


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def needs_table(steps):
    needs = [model.Needs(demand) for demand in steps.values()]
    return table(["", *steps], [[name, *(render(each) for each in needs)] for name, render in ROWS])


def breaks(needs):
    """The limits that are exceeded, the most exceeded first."""
    reached = [limit for limit in limits.LIMITS if limit.is_reached(needs)]
    return sorted(reached, key=lambda limit: -limit.load(needs))


def breaks_table(steps):
    rows = []
    for name, demand in steps.items():
        needs = model.Needs(demand)
        found = [[name, limit.name, f"{number(limit.load(needs))} ×", limit.remedy] for limit in breaks(needs)]
        rows += found or [[name, "none", "", ""]]
    return table(["step", "limit", "load / limit", "remedy"], rows)


def limits_table():
    reached = [(limits.first_reached(limit), limit) for limit in limits.LIMITS]
    rows = []
    for redirects, limit in sorted(reached, key=lambda each: each[0] or limits.MOST):
        about = float(f"{redirects:.2g}") if redirects else None
        rows.append([limit.name, "setting" if limit.is_setting else "design", number(about) if about else f"over {number(limits.MOST)}", limit.remedy])
    return table(["limit", "kind", "reached at redirects/s", "remedy"], rows)


def figures_table():
    rows = []
    for name, figure in FIGURES.items():
        value = size(figure.value) if figure.unit == "bytes" and figure.value >= 1e6 else f"{figure.value:,} {figure.unit}".strip()
        source = f"`{figure.source}`" if figure.saying else figure.source
        rows.append([f"`{name}`", value, figure.what, figure.kind, source])
    return table(["figure", "value", "meaning", "kind", "source"], rows)


def blocks():
    return {"steps": needs_table(STEPS), "breaks": breaks_table(STEPS), "limits": limits_table(), "figures": figures_table()}


def written(text):
    """The document with current tables."""
    for name, block in blocks().items():
        begin, end = f"<!-- {name}: written by tools/capacity -->", f"<!-- {name}: end -->"
        pattern = re.escape(begin) + ".*?" + re.escape(end)
        text, count = re.subn(pattern, lambda _, new=f"{begin}\n\n{block}\n\n{end}": new, text, flags=re.S)
        if count != 1:
            raise ValueError(f"{DOCUMENT.name} must have one place for the table {name}, but has {count}")
    return text
