"""The limits of Waymark's settings, of its design and of one server of each kind, and the remedy for each. Pure."""

import dataclasses
import functools
from typing import Callable

from . import model
from .figures import of

# The table of limits: 100 links per redirect per second, as in the steps.
TYPICAL = model.Demand(1, 100, hits=0.8, retention=400)
LEAST, MOST = 10, 10_000_000  # range of the search, in redirects per second

# The assumed capacity of one server. Not measured.
SERVER_CORES = 32
SERVER_DISK = 30e12
SERVER_WAL = 300e6
SERVER_CONNECTIONS = 500
BROKERS = 3
BROKER_CORES = 8
BROKER_DISK = 10e12
# Of 24 hours. The rest is for a janitor that was down.
FOLD_HOURS = 20
# The journal of a redirector in deploy/k8s/overlays/production.
JOURNAL_BYTES = 16 << 30


@dataclasses.dataclass(frozen=True)
class Limit:
    name: str
    is_setting: bool  # raised by a setting; else it needs another database or a change of Waymark
    load: Callable[[model.Needs], float]  # 1 means that the limit is reached
    remedy: str

    def is_reached(self, needs):
        return self.load(needs) > 1


LIMITS = [
    Limit("disk of PostgreSQL: visit log and a year of roll-ups", False,
          lambda n: (n.log_bytes + n.rollup_bytes_of_a_year) / SERVER_DISK,
          "[fewer days](#retention), then [a column store](#a-column-store) for the history"),
    Limit("memory of a redirector for links", True, lambda n: n.cache_bytes / of.cache_bytes, "`MEMORY_CACHE_BYTES` and the pod's memory"),
    Limit("Bloom filter of issued slugs", True, lambda n: n.demand.links / of.filter_slugs, "`SLUG_BLOOM_FILTER_SLUGS` and the pod's memory"),
    Limit("disks of Kafka", True, lambda n: n.kafka_bytes / (BROKERS * BROKER_DISK), "`retention.ms` of the two topics, more brokers"),
    Limit("roll-ups folded by one janitor", False, lambda n: n.fold_hours / FOLD_HOURS,
          "[several janitors](#one-finisher), which Waymark does not support yet"),
    Limit("partitions of clicks", True, lambda n: n.workers / of.partitions, "[more partitions and consumers](#more-partitions)"),
    Limit("journal for 15 minutes without Kafka", True, lambda n: n.journal_bytes / JOURNAL_BYTES, "`JOURNAL_MAX_BYTES`, or more redirectors"),
    Limit("cores of PostgreSQL", False, lambda n: n.postgres_cores / SERVER_CORES, "[Citus](#citus), or [a column store](#a-column-store)"),
    Limit("write-ahead log of PostgreSQL", False, lambda n: n.wal_bytes_per_s / SERVER_WAL, "[Citus](#citus), or [a column store](#a-column-store)"),
    Limit("clicks of the hottest link", False, lambda n: n.hottest / (model.few_links_rate() * of.utilisation), "[a decision](#the-hottest-link) about their order"),
    Limit("connections of PostgreSQL", True, lambda n: n.connections / SERVER_CONNECTIONS, "[PgBouncer](stores.md#pgbouncer)"),
    Limit("maximum of redirectors", True, lambda n: n.redirectors / of.pods_max, "`maxReplicas`"),
    Limit("cores of Kafka", True, lambda n: n.kafka_cores / (BROKERS * BROKER_CORES), "more brokers"),
    Limit("main thread of Redis", True, lambda n: n.busy_redis / of.utilisation, "more memory for redirectors, or a Redis per region"),
]  # fmt: skip


@functools.cache
def first_reached(limit, demand=TYPICAL):
    """The lowest redirects per second that reach the limit, with as many links for each as in demand; None beyond MOST."""

    def is_reached(redirects):
        links = max(1, round(redirects * demand.links / demand.redirects))
        return limit.is_reached(model.Needs(dataclasses.replace(demand, redirects=redirects, links=links)))

    low, high = LEAST, MOST
    if not is_reached(high):
        return None
    while is_reached(low):
        low, high = low / 10, low
    while high / low > 1.01:
        middle = (low * high) ** 0.5
        low, high = (low, middle) if is_reached(middle) else (middle, high)
    return high
