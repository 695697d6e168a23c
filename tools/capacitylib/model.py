"""What a demand needs: cores, pods, partitions, connections, memory, disk, network. Rates are those of the peak. Pure."""

import dataclasses
import functools
import math

from . import zipf
from .figures import DIMENSIONS, of

DAY_S = 86400
YEAR_DAYS = 365
# Counting is slower with a long history, because the indexes of the roll-ups are larger.
HISTORY = of.count_history_us / of.count_1000_us
# The measured cache needs about twice the memory of an ideal one.
CACHE_SLACK = 100_000 / zipf.links_for(1_000_000, of.hits_million)
VALUES = zipf.Values(DIMENSIONS)


@dataclasses.dataclass(frozen=True)
class Demand:
    redirects: float  # per second, at peak
    links: int  # that visitors follow, distributed by Zipf's law
    hits: float = 0.8  # share of redirects answered from memory
    retention: float = 400  # days of the visit log
    pod_cores: float = 1.0  # CPU request of a redirector
    is_alone: bool = False  # one machine without redundancy: one of each service, one replica in Kafka

    @property
    def least(self):
        """Minimum of redirectors and of links-apis."""
        return 1 if self.is_alone else of.pods_min

    @property
    def workers_least(self):
        return of.workers if self.is_alone else of.workers * 2

    @property
    def copies(self):
        """Replicas of each partition."""
        return 1 if self.is_alone else of.replicas

    @property
    def daily(self):
        """Clicks per day."""
        return self.redirects * of.mean * DAY_S


def rows_per_click(links, clicks):
    """Hourly roll-up rows that a batch changes, per click."""
    clicks = max(clicks, 1)
    return zipf.expected(max(1, links), clicks, VALUES.rows) / clicks


def measured_rows(links):
    """rows_per_click in the benchmark's backlog. A batch there has clicks of about one partition, read 4 MB at a time."""
    return rows_per_click(round(links / of.partitions), of.batch_events)


@functools.cache
def count_line():
    """(µs, µs per row) of a click in empty tables: a least-squares fit of the measurements with 100, 1,000 and 10,000 links."""
    points = [(measured_rows(links), cost) for links, cost in ((100, of.count_100_us), (1000, of.count_1000_us), (10_000, of.count_10000_us))]
    mean_rows, mean_cost = (sum(column) / len(points) for column in zip(*points))
    slope = sum((rows - mean_rows) * (cost - mean_cost) for rows, cost in points) / sum((rows - mean_rows) ** 2 for rows, _ in points)
    return mean_cost - slope * mean_rows, slope


def count_us(rows):
    """CPU of PostgreSQL per click that changes so many hourly rows."""
    base, slope = count_line()
    return (base + slope * rows) * HISTORY


def worker_duty():
    """The share of time in which PostgreSQL works for a worker, measured with all programs on two cores. More cores may raise it."""
    return of.workers_per_s / of.workers * of.count_1000_us / 1e6


def few_links_rate():
    """Clicks of few links that a worker counts per second."""
    return of.few_links_per_s / of.workers


class Needs:
    """Properties are computed on access. busy_* are busy cores, *_cores are cores to provision."""

    def __init__(self, demand):
        self.demand = demand

    # Redirectors

    @property
    def redirect_us(self):
        return of.redirect_us + (1 - self.demand.hits) * (of.miss_us - of.hit_us) / 0.95

    @property
    def busy_redirectors(self):
        return self.demand.redirects * self.redirect_us / 1e6

    @property
    def pod_rate(self):
        """Redirects per second of a redirector at the target utilisation of the autoscaler."""
        return self.demand.pod_cores * of.utilisation * 1e6 / self.redirect_us

    @property
    def redirectors(self):
        return max(self.demand.least, math.ceil(self.demand.redirects / self.pod_rate))

    @property
    def each_rate(self):
        return self.demand.redirects / self.redirectors

    @property
    def cached_links(self):
        return min(self.demand.links, CACHE_SLACK * zipf.links_for(self.demand.links, self.demand.hits))

    @property
    def cache_bytes(self):
        return self.cached_links * of.link_bytes

    @property
    def filter_bytes(self):
        return self.demand.links * of.filter_bytes

    @property
    def journal_bytes(self):
        """Journal of one redirector after 15 minutes without Kafka."""
        return self.each_rate * 900 * of.journal_bytes

    # Redis

    @property
    def misses(self):
        return self.demand.redirects * (1 - self.demand.hits)

    @property
    def busy_redis(self):
        return self.misses * of.redis_us / 0.95 / 1e6

    @property
    def redis_bytes(self):
        return self.demand.links * of.redis_bytes

    # Counting

    @functools.cached_property
    def workers(self):
        """Workers at 60 % load, so that a backlog of an hour is counted in an hour and a half.

        The loop is needed because more workers mean smaller batches, which cost more per click.
        """
        workers = self.demand.workers_least
        for _ in range(50):
            busy = self.demand.redirects * self.count_us_with(workers) / 1e6
            needed = math.ceil(busy / worker_duty() / of.utilisation)
            if needed <= workers:
                break
            workers = needed
        return workers

    def count_us_with(self, workers):
        clicks = min(of.batch_events, self.demand.redirects * of.batch_s / workers)
        return count_us(rows_per_click(round(self.demand.links / workers), clicks))

    @property
    def count_us(self):
        return self.count_us_with(self.workers)

    @property
    def consumers(self):
        return math.ceil(self.workers / of.workers)

    @property
    def busy_consumers(self):
        return self.demand.redirects * of.consumer_us / 1e6

    @property
    def consumer_memory(self):
        return of.consumer_memory

    @property
    def hottest(self):
        """Clicks per second of the hottest link. All are in one partition, for one worker."""
        return self.demand.redirects * zipf.hottest(self.demand.links)

    # PostgreSQL

    @property
    def busy_postgres(self):
        return (self.demand.redirects * (self.count_us + of.lookup_postgres_us)) / 1e6

    @property
    def postgres_cores(self):
        return math.ceil(self.busy_postgres / of.utilisation)

    @property
    def wal_bytes_per_s(self):
        return self.demand.redirects * of.wal_bytes

    @property
    def apis(self):
        return max(self.demand.least, math.ceil(self.busy_api / of.utilisation))

    @property
    def busy_api(self):
        """CPU of all processes for API requests, with the daily creations at twice their mean rate."""
        created = self.demand.links * of.new_links / DAY_S / of.mean
        return created * (of.create_us + 10 * of.get_us) / 1e6

    @property
    def connections(self):
        return (
            self.redirectors * of.redirector_connections + self.apis * of.api_connections
            + self.consumers * of.consumer_connections + min(2, self.demand.least) * of.janitor_connections
        )  # fmt: skip

    @property
    def log_bytes_a_day(self):
        return self.demand.daily * of.log_bytes

    @property
    def log_bytes(self):
        return self.log_bytes_a_day * self.demand.retention

    @property
    def postgres_bytes_a_day(self):
        return self.log_bytes_a_day + self.hour_bytes_a_day + self.day_bytes_a_day

    @functools.cached_property
    def rows_a_day(self):
        """{what: number} of a day without peaks: rows and entries of the roll-ups."""
        links, daily = self.demand.links, self.demand.daily
        quarters = 96 * zipf.expected(links, daily / 96, zipf.is_there)
        return {
            "hours": 24 * zipf.expected(links, daily / 24, zipf.is_there),
            "entries of hours": 24 * zipf.expected(links, daily / 24, VALUES.rows) + quarters,
            "days": zipf.expected(links, daily, zipf.is_there),
            "entries of days": zipf.expected(links, daily, VALUES.rows) + quarters,
        }

    def rollup_bytes(self, unit):
        return self.rows_a_day[unit] * of.rollup_row_bytes + self.rows_a_day[f"entries of {unit}"] * of.rollup_entry_bytes

    @property
    def hour_bytes_a_day(self):
        return self.rollup_bytes("hours")

    @property
    def day_bytes_a_day(self):
        return self.rollup_bytes("days")

    @property
    def rollup_bytes_of_a_year(self):
        return self.hour_bytes_a_day * of.hours_keep + self.day_bytes_a_day * YEAR_DAYS

    @property
    def fold_hours(self):
        """Time of one janitor to fold what a day adds, and to finish the day."""
        workers = self.workers
        clicks = min(of.batch_events, self.demand.redirects * of.batch_s / workers)
        entries = self.demand.daily * (1 + rows_per_click(round(self.demand.links / workers), clicks))
        return (entries * of.fold_entry_us + self.rows_a_day["entries of hours"] * of.finish_entry_us) / 1e6 / 3600

    # Kafka

    @property
    def busy_kafka(self):
        return self.demand.redirects * (of.broker_us + of.broker_count_us) * self.demand.copies / 1e6

    @property
    def kafka_cores(self):
        return math.ceil(self.busy_kafka / of.utilisation)

    @property
    def kafka_bytes_per_s(self):
        """Clicks and visits, produced to the leaders."""
        return self.demand.redirects * (of.record_bytes + of.visit_bytes)

    @property
    def kafka_bytes_a_day(self):
        return self.kafka_bytes_per_s * of.mean * DAY_S * self.demand.copies

    @property
    def kafka_bytes(self):
        return self.kafka_bytes_a_day * of.kafka_days

    # All

    @property
    def click_us(self):
        """CPU of a counted redirect."""
        return self.busy / self.demand.redirects * 1e6

    @property
    def busy(self):
        return self.busy_redirectors + self.busy_redis + self.busy_consumers + self.busy_postgres + self.busy_kafka

    @property
    def visitors_bytes_per_s(self):
        return self.demand.redirects * of.request_bytes

    @property
    def redirector_memory(self):
        """Memory for links and the Bloom filter (at least the defaults), the producer's buffer and all connections."""
        links = max(self.cache_bytes, of.cache_bytes)
        slugs = max(self.demand.links, of.filter_slugs) * of.filter_bytes
        return links + slugs + of.producer_bytes + of.http_connections * of.connection_bytes
