"""What is known of the cost of things, and whence.

`saying` is a regular expression that finds the number in the file `source`, in the place of {}; `factor` makes a figure of it. A test
compares: settings must agree, measurements within a tenth, since each run of a benchmark says something else."""

import dataclasses
import math
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
MEASURED, SETTING, DERIVED, ASSUMED = "measured", "setting", "derived", "assumed"
TOLERANCE = {MEASURED: 0.1, SETTING: 0}
PERFORMANCE = "docs/performance.md"
REDIRECTOR = "services/redirector/config.c"
CONSUMER = "services/analytics-consumer/config.c"
MiB = 1 << 20


@dataclasses.dataclass(frozen=True)
class Figure:
    value: float
    unit: str
    what: str
    kind: str
    source: str  # a file for what is measured or set, a reason for the rest
    saying: str = ""
    factor: float = 1

    def said(self):
        """What its source says; None if that has no such place."""
        found = re.search(self.saying.replace("{}", "([0-9][0-9.,]*)"), (ROOT / self.source).read_text())
        return float(found.group(1).replace(",", "")) * self.factor if found else None

    def agrees(self):
        said = self.said() if self.saying else self.value
        return said is not None and math.isclose(said, self.value, rel_tol=TOLERANCE.get(self.kind, 0) + 1e-9)


def measured(value, unit, what, source, saying, factor=1):
    return Figure(value, unit, what, MEASURED, source, saying, factor)


def setting(value, unit, what, source, saying, factor=1):
    return Figure(value, unit, what, SETTING, source, saying, factor)


def derived(value, unit, what, reason):
    return Figure(value, unit, what, DERIVED, reason)


def assumed(value, unit, what, reason):
    return Figure(value, unit, what, ASSUMED, reason)


FIGURES = {
    # A redirect
    "redirect_us": measured(15.8, "µs", "CPU of a redirect from memory, two loops", PERFORMANCE, r"two loop threads.*\| {} +\| kafka"),
    "hit_us": measured(13.6, "µs", "… one loop", PERFORMANCE, r"hot set of 10,000 slugs .*\| {} +\| 100 %"),
    "miss_us": measured(15.6, "µs", "… one loop, of a link that Redis has", PERFORMANCE, r"memory miss, Redis hit .*\| {} +\| 5 %"),
    "redis_us": measured(2.9, "µs", "CPU of Redis meanwhile", PERFORMANCE, r"memory miss, Redis hit .*\| 5 % .*redis {}, "),
    "lookup_postgres_us": measured(0.1, "µs", "CPU of PostgreSQL, per redirect", PERFORMANCE, r"memory miss, Redis hit .*postgres {} "),
    "broker_us": measured(2.5, "µs", "CPU of one broker to take a click, 12 partitions", PERFORMANCE, r"Kafka at {} µs, on the same machine"),
    "link_bytes": measured(193, "bytes", "memory of a link in a redirector, URL of 64 bytes", PERFORMANCE, r"\| 1,000,000 +\| {} "),
    "hits_million": measured(0.79, "", "share of hits, 1 M slugs by Zipf, room for a tenth", PERFORMANCE, r"room for 10 % .*\| {} % +\|", 0.01),
    "journal_bytes": derived(410, "bytes", "journal of a click", "704 MiB for 1,800,874 clicks that waited ([reliability](reliability.md))"),
    "filter_bytes": setting(1.2, "bytes", "filter of issued slugs, per slug", REDIRECTOR, r"Bloom filter of issued slugs, {} bytes each"),
    # A click, counted
    "broker_count_us": measured(2.5, "µs", "CPU of one broker to give a click and take its visit", PERFORMANCE, r"behind 100,000,000 in the roll-ups .*kafka {}, "),
    "consumer_us": measured(9.7, "µs", "CPU of the consumer, behind 100 million visits in the roll-ups", PERFORMANCE, r"behind 100,000,000 in the roll-ups .*consumer 1 {} "),
    "count_100_us": measured(9.3, "µs", "CPU of PostgreSQL, clicks of 100 links", PERFORMANCE, r"1,000,000, 100, 1 .*postgres {}, "),
    "count_1000_us": measured(14.5, "µs", "… of 1,000 links", PERFORMANCE, r"\*\*1,000,000, 1,000, 1\*\* .*postgres {}, "),
    "count_10000_us": measured(19.1, "µs", "… of 10,000 links", PERFORMANCE, r"1,000,000, 10,000, 1 .*postgres {}, "),
    "count_history_us": measured(16.6, "µs", "… of 1,000 links, behind 100 million visits in the roll-ups", PERFORMANCE, r"behind 100,000,000 in the roll-ups .*postgres {}, "),
    "lanes_per_s": measured(66142, "/s", "clicks of 1,000 links, one consumer with two lanes, on two cores with all the others", PERFORMANCE, r"\*\*1,000,000, 1,000, 1\*\* +\|[^|]*\|[^|]*\| {} +\|"),
    "few_links_per_s": measured(88388, "/s", "… of 100 links", PERFORMANCE, r"1,000,000, 100, 1 +\|[^|]*\|[^|]*\| {} +\|"),
    "consumer_memory": measured(571e6, "bytes", "memory of a consumer at most, two lanes, ten million clicks", PERFORMANCE, r"\| 10,000,000, 1,000, 1 .*\| {} → ", 1e6),
    "event_bytes": measured(283, "bytes", "a RedirectEvent", "docs/decisions/0022-click-enrichment.md", r"20,000 events of {} bytes"),
    # Statistics
    "quarter_bytes": derived(181, "bytes", "row by quarter of an hour, with its index", "511 MiB for 2,960,000 rows ([performance](performance.md))"),
    "hour_bytes": derived(210, "bytes", "row by hour", "3,315 MiB for 16,555,554 rows"),
    "day_bytes": derived(168, "bytes", "row by day", "1,957 MiB for 12,217,821 rows"),
    "finish_rows_per_s": derived(138800, "/s", "rows by hour that the janitor makes days of", "12,218,481 rows in 88 s, on a quiet machine; nobody has measured it with an hour's rows for each hour"),
    # links-api
    "create_us": derived(1830, "µs", "CPU of one creation at most, of all processes", "1,093/s on two cores ([performance](performance.md#making-and-reading-links)); wrk has its share in it"),
    "get_us": derived(541, "µs", "… of reading a link", "3,700/s on two cores"),
    # Settings
    "redirector_connections": setting(12, "", "connections of a redirector to PostgreSQL", "docs/operations.md", r"{} per redirector"),
    "api_connections": setting(12, "", "… of a links-api", "docs/operations.md", r"{} per links-api"),
    "consumer_connections": setting(4, "", "… of a consumer", "docs/operations.md", r"{} per consumer"),
    "janitor_connections": setting(9, "", "… of a janitor", "docs/operations.md", r"{} per janitor"),
    "lanes": setting(2, "", "lanes of a consumer", CONSUMER, r'"WORKERS", struct config, workers, "{}"'),
    "batch_events": setting(10000, "", "clicks of a batch at most", CONSUMER, r'"BATCH_EVENTS", .*"{}", 1,'),
    "batch_s": setting(0.2, "s", "time in which a batch is gathered", CONSUMER, r'"BATCH_MS", .*"{}", 1,', 0.001),
    "partitions": setting(12, "", "partitions of waymark.redirects.v1", "deploy/topics.conf", r"waymark\.redirects\.v1 +{} "),
    "kafka_days": setting(7, "days", "for which Kafka keeps clicks and visits", "deploy/topics.conf", r"waymark\.visits\.v1 .*retention\.ms={} ", 1 / 86_400_000),
    "filter_slugs": setting(10_000_000, "", "slugs that the filter is made for", REDIRECTOR, r'"SLUG_BLOOM_FILTER_SLUGS", .*"{}", 1000,'),
    "cache_bytes": setting(64 * MiB, "bytes", "memory for links in a redirector", REDIRECTOR, r'"MEMORY_CACHE_BYTES", .*"{}", 1048576,'),
    "http_connections": setting(10_000, "", "connections of a redirector", REDIRECTOR, r'"HTTP_CONNECTIONS", .*"{}", 10,'),
    "connection_bytes": derived(18944, "bytes", "memory of a connection", "twice 8,192 bytes for a head, and 2.5 KiB (`lib/http/http_server.h`)"),
    "producer_bytes": setting(64 * MiB, "bytes", "clicks at Kafka's client at most", "services/redirector/events/event_shipper.c", r"PRODUCER_BYTES_MAX \({} \* 1024 \* 1024\)", MiB),
    "utilisation": setting(0.6, "", "busy part of a core at which the autoscaler adds a redirector", "deploy/k8s/base/redirector.yaml", r"averageUtilization: {}", 0.01),
    "pods_max": setting(20, "", "redirectors at most", "deploy/k8s/base/redirector.yaml", r"maxReplicas: {}"),
    # Nobody has measured these.
    "record_bytes": derived(520, "bytes", "a click in Kafka", "283 bytes, seven headers of 202, key, lengths; lz4, which nobody has measured, makes it smaller"),
    "visit_bytes": derived(370, "bytes", "a visit in Kafka", "its fields, the same headers; before lz4"),
    "log_bytes": derived(350, "bytes", "a visit in PostgreSQL", "205 bytes of row by its columns, 145 of index entries (two, and a third for three in four)"),
    "wal_bytes": derived(600, "bytes", "write-ahead log of a visit", "row and entries again, half a dozen changed rows of roll-ups; full pages after checkpoints come on top"),
    "request_bytes": derived(1000, "bytes", "a redirect on the wire to the proxy, both ways", "Chrome's head, our answer, TCP and IP"),
    "redis_bytes": derived(300, "bytes", "a link in Redis", "key, value with a URL of 64 bytes, two table entries"),
    "replicas": assumed(3, "", "copies of each partition", "deploy/k8s/overlays/production/topics.yaml; a copy is taken to cost as much as the first"),
    "mean": assumed(0.5, "", "the day's mean as a share of the peak", "traffic of one continent"),
    "new_links": assumed(0.01, "", "links made in a day, as a share of all", "each is read ten times in the API"),
    "pods_min": assumed(3, "", "redirectors at least, and links-apis", "one more than two, so that a node may go"),
}  # fmt: skip

# {dimension: (values, the share of clicks that have one)}: values as in tests/bench/benchlib/answers.py, shares as tests/bench/flood.c makes
# them, with a country database.
DIMENSIONS = {
    "country": (60, 1), "city": (150, 0), "region": (60, 0), "referrer": (60, 1 / 2), "browser": (15, 1), "os": (10, 1), "device": (4, 1),
    "language": (25, 1), "utm_source": (8, 1 / 6), "utm_medium": (4, 1 / 6), "utm_campaign": (20, 1 / 6),
}  # fmt: skip


class Values:
    """figures.of.redirect_us is the value of FIGURES["redirect_us"]."""

    def __getattr__(self, name):
        return FIGURES[name].value


of = Values()
