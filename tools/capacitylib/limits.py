"""Pure. What breaks first: what Waymark's settings, its design and one server of each kind can do, and who takes over."""

import dataclasses
from typing import Callable

from . import model
from .figures import of

LINKS_PER_REDIRECT = 100  # of the steps: a second's redirects to links
LEAST, MOST = 10, 10_000_000  # redirects a second that are tried

# What one server is taken for; nobody has measured these here.
SERVER_CORES = 32
SERVER_DISK = 30e12
SERVER_WAL = 300e6
SERVER_CONNECTIONS = 500
BROKERS = 3
BROKER_CORES = 8
BROKER_DISK = 10e12
# A day has 24 hours; the rest is for a janitor that was away.
FINISHING_HOURS = 20
# What deploy/k8s/overlays/production gives to each redirector's journal.
JOURNAL_BYTES = 16 << 30


@dataclasses.dataclass(frozen=True)
class Limit:
    name: str
    is_setting: bool  # a number to change; else another engine, or a change of Waymark
    load: Callable[[model.Needs], float]  # 1 = reached
    then: str  # who takes over

    def is_reached(self, needs):
        return self.load(needs) > 1


LIMITS = [
    Limit("the disk of PostgreSQL: visits and a year of roll-ups", False,
          lambda n: (n.log_bytes + n.rollup_bytes_a_day * model.YEAR_DAYS) / SERVER_DISK,
          "[fewer days](#retention), then [a column store](#a-column-store) for the history"),
    Limit("memory for links", True, lambda n: n.cache_bytes / of.cache_bytes, "`MEMORY_CACHE_BYTES` and the pod's memory"),
    Limit("the filter of issued slugs", True, lambda n: n.demand.links / of.filter_slugs, "`SLUG_BLOOM_FILTER_SLUGS` and the pod's memory"),
    Limit("Kafka's disks", True, lambda n: n.kafka_bytes / (BROKERS * BROKER_DISK), "`retention.ms` of the two topics, more brokers"),
    Limit("one janitor that finishes days", False, lambda n: n.finishing_hours / FINISHING_HOURS,
          "[more finishers](#one-finisher), which Waymark does not have yet"),
    Limit("partitions of clicks", True, lambda n: n.lanes / of.partitions, "[more partitions and consumers](#more-partitions)"),
    Limit("15 minutes of journal", True, lambda n: n.journal_bytes / JOURNAL_BYTES, "`JOURNAL_MAX_BYTES`, or more redirectors"),
    Limit("cores of PostgreSQL", False, lambda n: n.postgres_cores / SERVER_CORES, "[Citus](#citus), or [a column store](#a-column-store)"),
    Limit("write-ahead log of PostgreSQL", False, lambda n: n.wal_bytes_per_s / SERVER_WAL, "the same"),
    Limit("the hottest link in one lane", False, lambda n: n.hottest / (model.few_links_lane() * of.utilisation), "[a decision](#the-hottest-link) about its order"),
    Limit("connections of PostgreSQL", True, lambda n: n.connections / SERVER_CONNECTIONS, "[PgBouncer](operations.md#stores)"),
    Limit("redirectors that the autoscaler may start", True, lambda n: n.redirectors / of.pods_max, "`maxReplicas`"),
    Limit("cores of Kafka", True, lambda n: n.kafka_cores / (BROKERS * BROKER_CORES), "more brokers"),
    Limit("the one thread of Redis", True, lambda n: n.busy_redis / of.utilisation, "more memory in redirectors; a Redis per region"),
]  # fmt: skip


def first_reached(limit, retention=400, hits=0.8):
    """The least redirects a second at which it is reached, with LINKS_PER_REDIRECT links for each; None: not up to MOST."""

    def is_reached(redirects):
        return limit.is_reached(model.Needs(model.Demand(redirects, round(redirects * LINKS_PER_REDIRECT), hits, retention)))

    low, high = LEAST, MOST
    if not is_reached(high):
        return None
    while high / low > 1.01:
        middle = (low * high) ** 0.5
        low, high = (low, middle) if is_reached(middle) else (middle, high)
    return high
