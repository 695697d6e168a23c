"""What the model writes into docs/scaling.md: tables between <!-- NAME: written by tools/capacity --> and <!-- NAME: end -->, and
figures in its prose."""

import dataclasses
import re

from . import limits, model
from .figures import FIGURES, ROOT, of

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
    """Three significant digits: 0.123, 12.3, 12,300."""
    if 0 < value < 0.001:
        return "< 0.001"
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


def about(redirects):
    """Two significant digits: 37,264 → 37,000."""
    return number(float(f"{redirects:.2g}"))


def whole(value):
    return number(round(value))


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


def limits_in_order(demand=limits.TYPICAL):
    """[(redirects per second that reach the limit, or None; limit)], the first reached first."""
    reached = [(limits.first_reached(limit, demand), limit) for limit in limits.LIMITS]
    return sorted(reached, key=lambda each: each[0] or limits.MOST)


def first_limit(demand):
    return limits_in_order(demand)[0]


def limits_table():
    rows = []
    for redirects, limit in limits_in_order():
        at = about(redirects) if redirects else f"over {number(limits.MOST)}"
        rows.append([limit.name, "setting" if limit.is_setting else "design", at, limit.remedy])
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


FIGURE = r"([\d.,]*\d(?:\s+[kMGTPE]?B)?)"


def sentences():
    """[(a part of the prose with {} for each figure, these figures)]"""
    laptop, cluster, company, country, world = needs = [model.Needs(demand) for demand in STEPS.values()]
    count_us = [each.count_us for each in needs]
    counting_us = [each.click_us - each.redirect_us for each in needs]
    backlog_us = of.redirect_us + of.broker_us + of.broker_count_us + of.consumer_us + of.count_history_us
    reached = {limit.name: redirects for redirects, limit in limits_in_order()}
    one_postgres = min(reached["cores of PostgreSQL"], reached["clicks of the hottest link"])
    hottest = model.Needs(dataclasses.replace(world.demand, redirects=500_000)).hottest
    busy_pod = model.Needs(dataclasses.replace(limits.TYPICAL, redirects=1e6))
    pod_journal = size(busy_pod.pod_rate * busy_pod.journal_bytes / busy_pod.each_rate)
    return [
        ("A redirect costs {} µs, and counting it at once {} to {} µs.", [whole(of.redirect_us), whole(min(counting_us)), whole(max(counting_us))]),
        ("PostgreSQL alone takes up to {} µs of that.", [whole(max(count_us))]),
        ("A million redirects per second need {} busy cores and {} pods.", [whole(world.busy_redirectors), number(world.redirectors)]),
        ("The {} to {} µs of PostgreSQL per click were measured", [whole(of.count_100_us), whole(of.count_10000_us)]),
        ("There a counted redirect costs about {} µs of CPU. With a backlog it is {} µs", [whole(laptop.click_us), whole(backlog_us)]),
        ("Two cores are full at {} to {} redirects per second.", [about(2e6 / laptop.click_us), about(2e6 / backlog_us)]),
        ("400 days of single visits take {};", [size(cluster.log_bytes)]),
        ("give links {} of memory", [size(company.cache_bytes)]),
        ("disks that take {} a day", [size(company.postgres_bytes_a_day)]),
        ("it writes {} of write-ahead log per second", [size(country.wal_bytes_per_s)]),
        ("It would need {} cores, {} of write-ahead log per second and {} of disk a day.",
         [number(world.postgres_cores), size(world.wal_bytes_per_s), size(world.postgres_bytes_a_day)]),
        ("{} links for each redirect per second, {} % answered from memory, and {} days of visits",
         [number(limits.TYPICAL.links), whole(limits.TYPICAL.hits * 100), number(limits.TYPICAL.retention)]),
        ("One PostgreSQL server has {} cores, {}, {} of write-ahead log per second and {} connections.",
         [number(limits.SERVER_CORES), size(limits.SERVER_DISK), size(limits.SERVER_WAL), number(limits.SERVER_CONNECTIONS)]),
        ("Kafka has three brokers with {} cores and {} each.", [number(limits.BROKER_CORES), size(limits.BROKER_DISK)]),
        ("two workers each, enough for {} clicks per second", [about(reached["partitions of clicks"])]),
        ("on top of the {} bytes per click", [number(of.wal_bytes)]),
        ("It can count about {} per second, since", [about(model.few_links_rate())]),
        ("the first link gets {} % of all clicks: {} per second at half a million, {} at a million",
         [whole(world.hottest / world.demand.redirects * 100), number(hottest), number(world.hottest)]),
        ("A redirector uses {} connections, a links-api {}, a consumer {} and a janitor {}.",
         [number(each) for each in (of.redirector_connections, of.api_connections, of.consumer_connections, of.janitor_connections)]),
        ("They reach {} at {} redirects per second", [number(limits.SERVER_CONNECTIONS), about(reached["connections of PostgreSQL"])]),
        ("A redirector accepts {} (`HTTP_CONNECTIONS`) with {} each.", [number(of.http_connections), size(of.connection_bytes)]),
        ("One thread answers a lookup in {} µs.", [whole(of.redis_us)]),
        ("A broker needs {} µs to accept a click, and {} more", [number(of.broker_us), number(of.broker_count_us)]),
        ("Disk is the main cost: {} per day and replica", [size(world.kafka_bytes_a_day / world.demand.copies)]),
        ("At the highest load of a pod, 15 minutes take {};", [pod_journal]),
        ("With 16 GiB and the model's {},", [pod_journal]),
        ("Up to {} redirects per second, only numbers change", [about(reached["roll-ups folded by one janitor"])]),
        ("Up to about {}, one PostgreSQL still counts", [about(one_postgres)]),
        ("| 3 to {} | {} redirects per second |", [number(of.pods_max), about(reached["maximum of redirectors"])]),
        ("- Redirector: {} redirects per second at {} % of a core.", [about(busy_pod.pod_rate), whole(of.utilisation * 100)]),
        ("{} of Bloom filter, 64 MiB in the producer and {} of connections",
         [size(of.filter_slugs * of.filter_bytes), size(of.http_connections * of.connection_bytes)]),
        ("70 % of its half core; {} were measured", [size(of.consumer_memory)]),
    ]  # fmt: skip


def with_figures(text, sentence, values):
    """The text with these values in the sentence, which may be broken into lines."""
    pattern = r"\s+".join(map(re.escape, sentence.split())).replace(re.escape("{}"), FIGURE)
    found = list(re.finditer(pattern, text))
    if len(found) != 1:
        raise ValueError(f"{DOCUMENT.name} must say once, but says {len(found)} times: {sentence}")
    if [" ".join(value.split()) for value in found[0].groups()] == values:
        return text
    return text[: found[0].start()] + sentence.format(*values) + text[found[0].end() :]


def written(text):
    """The document with current tables and figures."""
    for sentence, values in sentences():
        text = with_figures(text, sentence, values)
    for name, block in blocks().items():
        begin, end = f"<!-- {name}: written by tools/capacity -->", f"<!-- {name}: end -->"
        pattern = re.escape(begin) + ".*?" + re.escape(end)
        text, count = re.subn(pattern, lambda _, new=f"{begin}\n\n{block}\n\n{end}": new, text, flags=re.S)
        if count != 1:
            raise ValueError(f"{DOCUMENT.name} must have one place for the table {name}, but has {count}")
    return text
