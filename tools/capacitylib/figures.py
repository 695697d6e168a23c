"""The costs and settings that the model uses, and the source of each.

`saying` is a regular expression that finds the number in the file `source`, at the place of {}. `factor` converts its unit. A test
compares the two: settings must be equal, measurements may differ by a tenth because no two runs of a benchmark are equal."""

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
JANITOR = "services/janitor/config.c"
MiB = 1 << 20


@dataclasses.dataclass(frozen=True)
class Figure:
    value: float
    unit: str
    what: str
    kind: str
    source: str  # a file for measured values and settings, else the reason
    saying: str = ""
    factor: float = 1

    def found(self):
        """The value in the source; None if the expression does not match."""
        match = re.search(self.saying.replace("{}", "([0-9][0-9.,]*)"), (ROOT / self.source).read_text())
        return float(match.group(1).replace(",", "")) * self.factor if match else None

    def agrees(self):
        found = self.found() if self.saying else self.value
        return found is not None and math.isclose(found, self.value, rel_tol=TOLERANCE.get(self.kind, 0) + 1e-9)


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
    "hit_us": measured(13.6, "µs", "the same with one loop", PERFORMANCE, r"hot set of 10,000 slugs .*\| {} +\| 100 %"),
    "miss_us": measured(15.6, "µs", "the same with one loop, from Redis", PERFORMANCE, r"memory miss, Redis hit .*\| {} +\| 5 %"),
    "redis_us": measured(2.9, "µs", "CPU of Redis per redirect from Redis", PERFORMANCE, r"memory miss, Redis hit .*\| 5 % .*redis {}, "),
    "lookup_postgres_us": measured(0.1, "µs", "CPU of PostgreSQL, per redirect", PERFORMANCE, r"memory miss, Redis hit .*postgres {} "),
    "broker_us": measured(2.5, "µs", "CPU of one broker per produced click, 12 partitions", PERFORMANCE, r"Kafka at {} µs, on the same machine"),
    "link_bytes": measured(193, "bytes", "memory of a link in a redirector, 64-byte URL", PERFORMANCE, r"\| 1,000,000 +\| {} "),
    "hits_million": measured(0.79, "", "hit ratio of 1 M Zipf-distributed slugs, cache for a tenth", PERFORMANCE, r"room for 10 % .*\| {} % +\|", 0.01),
    "journal_bytes": derived(410, "bytes", "journal bytes per click", "704 MiB for 1,800,874 queued clicks ([reliability](reliability.md))"),
    "filter_bytes": setting(1.2, "bytes", "Bloom filter, per slug", REDIRECTOR, r"Bloom filter of issued slugs, {} bytes each"),
    # Counting a click
    "broker_count_us": measured(2.2, "µs", "CPU of one broker per consumed click and produced visit", PERFORMANCE, r"behind 100,000,000 in the roll-ups .*kafka {}, "),
    "consumer_us": measured(12.1, "µs", "CPU of the consumer, with 100 million visits in the roll-ups", PERFORMANCE, r"behind 100,000,000 in the roll-ups .*consumer 1 {} "),
    "count_100_us": measured(10.5, "µs", "CPU of PostgreSQL, clicks of 100 links", PERFORMANCE, r"1,000,000, 100, 1 .*postgres {}, "),
    "count_1000_us": measured(11.6, "µs", "the same, clicks of 1,000 links", PERFORMANCE, r"\| \*\*1,000,000, 1,000, 1\*\* .*postgres {}, "),
    "count_10000_us": measured(11.5, "µs", "the same, clicks of 10,000 links", PERFORMANCE, r"1,000,000, 10,000, 1 .*postgres {}, "),
    "count_history_us": measured(15.9, "µs", "the same, 1,000 links, with 100 million visits in the roll-ups", PERFORMANCE, r"behind 100,000,000 in the roll-ups .*postgres {}, "),
    "workers_per_s": measured(70512, "/s", "clicks of 1,000 links, one consumer with two workers, two cores for all programs", PERFORMANCE, r"\| \*\*1,000,000, 1,000, 1\*\* +\|[^|]*\|[^|]*\| {} +\|"),
    "few_links_per_s": measured(78209, "/s", "the same, clicks of 100 links", PERFORMANCE, r"1,000,000, 100, 1 +\|[^|]*\|[^|]*\| {} +\|"),
    "consumer_memory": measured(594e6, "bytes", "peak memory of a consumer, two workers, ten million clicks", PERFORMANCE, r"\| 10,000,000, 1,000, 1 .*\| {} → ", 1e6),
    "event_bytes": measured(283, "bytes", "size of a RedirectEvent", "docs/decisions/0022-click-enrichment.md", r"20,000 events of {} bytes"),
    # Statistics
    "log_bytes": measured(343, "bytes", "visit in PostgreSQL, with index entries", PERFORMANCE, r"1,000,000 clicks of 1,000 links +\| {} +\|"),
    "wal_bytes": measured(470, "bytes", "write-ahead log per visit, without folding and without full pages after checkpoints", PERFORMANCE, r"1,000,000 clicks of 1,000 links +\|(?:[^|]*\|){4} {} +\|"),
    "rollup_row_bytes": derived(115, "bytes", "roll-up row, with index", "243 bytes with 9 entries, less theirs"),
    "rollup_entry_bytes": derived(14, "bytes", "entry of a roll-up, a value of 7 bytes", "three counts, separators and the value; long lists are compressed"),
    "fold_entry_us": derived(1.7, "µs", "CPU of PostgreSQL to fold an entry into its hour", "15.8 µs per click with 9.3 entries, on a busy machine ([0059](decisions/0059-packed-rollups.md))"),
    "finish_entry_us": derived(1.2, "µs", "the same, from an hour into its day", "11.0 µs per click, as above"),
    # links-api
    "create_us": derived(1830, "µs", "CPU per created link at most, all processes", "1,093/s on two cores ([performance](performance.md#making-and-reading-links)); includes the CPU of wrk"),
    "get_us": derived(541, "µs", "CPU per read of a link, all processes", "3,700/s on two cores"),
    # Settings
    "redirector_connections": setting(12, "", "PostgreSQL connections of a redirector", "docs/stores.md", r"{} per redirector"),
    "api_connections": setting(17, "", "PostgreSQL connections of a links-api", "docs/stores.md", r"{} per links-api"),
    "consumer_connections": setting(4, "", "PostgreSQL connections of a consumer", "docs/stores.md", r"{} per consumer"),
    "janitor_connections": setting(9, "", "PostgreSQL connections of a janitor", "docs/stores.md", r"{} per janitor"),
    "hours_keep": setting(90, "days", "roll-ups by hour are kept", JANITOR, r'"ROLLUP_HOURS_KEEP_DAYS", .*"{}", 8,'),
    "workers": setting(2, "", "workers of a consumer", CONSUMER, r'"WORKERS", struct config, workers, "{}"'),
    "batch_events": setting(10000, "", "clicks per batch at most", CONSUMER, r'"BATCH_EVENTS", .*"{}", 1,'),
    "batch_s": setting(0.2, "s", "time to gather a batch", CONSUMER, r'"BATCH_MS", .*"{}", 1,', 0.001),
    "partitions": setting(12, "", "partitions of waymark.redirects.v1", "deploy/topics.conf", r"waymark\.redirects\.v1 +{} "),
    "kafka_days": setting(7, "days", "retention of clicks and visits in Kafka", "deploy/topics.conf", r"waymark\.visits\.v1 .*retention\.ms={} ", 1 / 86_400_000),
    "filter_slugs": setting(10_000_000, "", "capacity of the Bloom filter", REDIRECTOR, r'"SLUG_BLOOM_FILTER_SLUGS", .*"{}", 1000,'),
    "cache_bytes": setting(64 * MiB, "bytes", "memory of a redirector for links", REDIRECTOR, r'"MEMORY_CACHE_BYTES", .*"{}", 1048576,'),
    "http_connections": setting(10_000, "", "HTTP connections of a redirector", REDIRECTOR, r'"HTTP_CONNECTIONS", .*"{}", 10,'),
    "connection_bytes": derived(18944, "bytes", "memory per HTTP connection", "twice 8,192 bytes for headers, plus 2.5 KiB (`lib/http/http_server.h`)"),
    "producer_bytes": setting(64 * MiB, "bytes", "buffer of the Kafka client at most", "services/redirector/events/event_shipper.c", r"PRODUCER_BYTES_MAX \({} \* 1024 \* 1024\)", MiB),
    "utilisation": setting(0.6, "", "CPU utilisation at which the autoscaler adds a redirector", "deploy/k8s/base/redirector.yaml", r"averageUtilization: {}", 0.01),
    "pods_max": setting(20, "", "maximum of redirectors", "deploy/k8s/base/redirector.yaml", r"maxReplicas: {}"),
    # Not measured.
    "record_bytes": derived(520, "bytes", "record of a click in Kafka", "283 bytes, seven headers of 202, key, lengths; smaller with lz4, which is not measured"),
    "visit_bytes": derived(370, "bytes", "record of a visit in Kafka", "its fields and the same headers, before lz4"),
    "request_bytes": derived(1000, "bytes", "redirect on the wire, both directions", "headers of Chrome, the response, TCP and IP"),
    "redis_bytes": derived(300, "bytes", "link in Redis", "key, value with a 64-byte URL, two table entries"),
    "replicas": assumed(3, "", "replicas of each partition", "deploy/k8s/overlays/production/topics.yaml; each is assumed to cost as much as the leader"),
    "mean": assumed(0.5, "", "daily mean as a share of the peak", "traffic of one continent"),
    "new_links": assumed(0.01, "", "links created per day, as a share of all", "each is read ten times through the API"),
    "pods_min": assumed(3, "", "minimum of redirectors and of links-apis", "two, plus one for a lost node"),
}  # fmt: skip

# {dimension: (number of values, share of clicks with a value)}. Values as in tests/bench/benchlib/answers.py, shares as tests/bench/flood.c
# produces them, with a country database.
DIMENSIONS = {
    "country": (60, 1), "city": (150, 0), "region": (60, 0), "referrer_host": (60, 1 / 2), "browser": (15, 1), "os": (10, 1), "device": (4, 1),
    "language": (25, 1), "utm_source": (8, 1 / 6), "utm_medium": (4, 1 / 6), "utm_campaign": (20, 1 / 6),
}  # fmt: skip


class Values:
    """figures.of.redirect_us is the value of FIGURES["redirect_us"]."""

    def __getattr__(self, name):
        return FIGURES[name].value


of = Values()
