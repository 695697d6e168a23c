"""Pure. What a demand needs: cores, pods, partitions, connections, memory, disk, network. All at the peak but for what a day fills."""

import dataclasses
import functools
import math

from . import zipf
from .figures import DIMENSIONS, of

DAY_S = 86400
YEAR_DAYS = 365
# Behind many visits the rows of an hour are found in larger indexes.
HISTORY = of.count_history_us / of.count_1000_us
# The measured cache needs about twice the room of one that knows the future.
CACHE_SLACK = 100_000 / zipf.links_for(1_000_000, of.hits_million)
VALUES = zipf.Values(DIMENSIONS)


@dataclasses.dataclass(frozen=True)
class Demand:
    redirects: float  # a second, at the peak
    links: int  # that are asked for, by Zipf's law
    hits: float = 0.8  # share that a redirector answers from memory
    retention: float = 400  # days of single visits
    pod_cores: float = 1.0  # that a redirector asks for
    is_alone: bool = False  # one of each, one copy of Kafka: a machine that may fail

    @property
    def least(self):
        """Redirectors and links-apis at least."""
        return 1 if self.is_alone else of.pods_min

    @property
    def lanes_least(self):
        return of.lanes if self.is_alone else of.lanes * 2

    @property
    def copies(self):
        """Of each partition."""
        return 1 if self.is_alone else of.replicas

    @property
    def daily(self):
        """Clicks of a day."""
        return self.redirects * of.mean * DAY_S


def rows_per_click(links, clicks):
    """Rows by hour that a batch changes, per click."""
    clicks = max(clicks, 1)
    return zipf.expected(max(1, links), clicks, VALUES.rows) / clicks


def measured_rows(links):
    """Per click of the benchmark's backlog. A batch is of one partition, nearly: 4 MB of it are read at a time."""
    return rows_per_click(round(links / of.partitions), of.batch_events)


@functools.cache
def count_line():
    """(µs, µs per row) of a click in empty tables: least squares through what was measured with 100, 1,000 and 10,000 links."""
    points = [(measured_rows(links), cost) for links, cost in ((100, of.count_100_us), (1000, of.count_1000_us), (10_000, of.count_10000_us))]
    mean_rows, mean_cost = (sum(column) / len(points) for column in zip(*points))
    slope = sum((rows - mean_rows) * (cost - mean_cost) for rows, cost in points) / sum((rows - mean_rows) ** 2 for rows, _ in points)
    return mean_cost - slope * mean_rows, slope


def count_us(rows):
    """CPU of PostgreSQL to count a click that brings so many rows by hour."""
    base, slope = count_line()
    return (base + slope * rows) * HISTORY


def lane_duty():
    """The part of its time in which PostgreSQL works for a lane: what was measured with all on two cores. With cores of its own it may be more."""
    return of.lanes_per_s / of.lanes * of.count_1000_us / 1e6


def few_links_lane():
    """Clicks a second that a lane counts when they are of few links."""
    return of.few_links_per_s / of.lanes


class Needs:
    """Each is worked out when it is asked for; busy_… are cores at work, …_cores those to have."""

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
        """Redirects a second of one redirector when the autoscaler is content."""
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
        """Of one redirector, for 15 minutes without Kafka."""
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
    def lanes(self):
        """At 60 % of what a lane can do, so that a backlog of an hour is gone in an hour and a half. More lanes mean smaller batches, which cost more."""
        lanes = self.demand.lanes_least
        for _ in range(50):
            busy = self.demand.redirects * self.count_us_with(lanes) / 1e6
            wanted = math.ceil(busy / lane_duty() / of.utilisation)
            if wanted <= lanes:
                break
            lanes = wanted
        return lanes

    def count_us_with(self, lanes):
        clicks = min(of.batch_events, self.demand.redirects * of.batch_s / lanes)
        return count_us(rows_per_click(round(self.demand.links / lanes), clicks))

    @property
    def count_us(self):
        return self.count_us_with(self.lanes)

    @property
    def consumers(self):
        return math.ceil(self.lanes / of.lanes)

    @property
    def busy_consumers(self):
        return self.demand.redirects * of.consumer_us / 1e6

    @property
    def consumer_memory(self):
        return of.consumer_memory

    @property
    def hottest(self):
        """Clicks a second of the link that is asked for most: all of them in one partition, for one lane."""
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
        """Of all processes, and a day's creations at twice their mean."""
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

    @functools.cached_property
    def rows_a_day(self):
        """{table: rows}: a flat day."""
        links, daily = self.demand.links, self.demand.daily
        return {
            "quarter": 96 * zipf.expected(links, daily / 96, zipf.is_there),
            "hour": 24 * zipf.expected(links, daily / 24, VALUES.rows),
            "day": zipf.expected(links, daily, VALUES.rows),
        }

    @property
    def rollup_bytes_a_day(self):
        rows = self.rows_a_day
        return rows["quarter"] * of.quarter_bytes + rows["hour"] * of.hour_bytes + rows["day"] * of.day_bytes

    @property
    def finishing_hours(self):
        """Of one janitor, to make the roll-ups of a day."""
        return self.rows_a_day["hour"] / of.finish_rows_per_s / 3600

    # Kafka

    @property
    def busy_kafka(self):
        return self.demand.redirects * (of.broker_us + of.broker_count_us) * self.demand.copies / 1e6

    @property
    def kafka_cores(self):
        return math.ceil(self.busy_kafka / of.utilisation)

    @property
    def kafka_bytes_per_s(self):
        """Into the leaders: clicks and visits."""
        return self.demand.redirects * (of.record_bytes + of.visit_bytes)

    @property
    def kafka_bytes_a_day(self):
        return self.kafka_bytes_per_s * of.mean * DAY_S * self.demand.copies

    @property
    def kafka_bytes(self):
        return self.kafka_bytes_a_day * of.kafka_days

    # All

    @property
    def busy(self):
        return self.busy_redirectors + self.busy_redis + self.busy_consumers + self.busy_postgres + self.busy_kafka

    @property
    def visitors_bytes_per_s(self):
        return self.demand.redirects * of.request_bytes

    @property
    def redirector_memory(self):
        """What the settings give to links and to the filter at least, what the producer may hold, and all connections."""
        links = max(self.cache_bytes, of.cache_bytes)
        slugs = max(self.demand.links, of.filter_slugs) * of.filter_bytes
        return links + slugs + of.producer_bytes + of.http_connections * of.connection_bytes
