"""Measures what one account costs the others: the latency of a light request beside statistics over the visit log, and the
memory of the service beside bulk requests.
"""

import concurrent.futures
import json
import statistics
import threading
import time

from . import answers
from .bounds import judge
from .report import table

VISITS = 1_500_000
STATISTICS = 16  # at once
ASKED = 2000  # light requests, alone and beside the statistics
P99_FACTOR_MAX = 20  # two of the scans share the cores with the light request
BULKS, BULK_ACCOUNTS, BULK_BYTES = 40, 8, 1_900_000
ATTACKS = 8
MEMORY_MAX = 256  # MiB; the limit of the pod is 384


def fill(stage, email):
    import psycopg2

    connection = psycopg2.connect(stage.stores["PG_URL"])
    connection.autocommit = True
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO links (slug, link_type, original_url, workspace_id) VALUES ('shares', 'PERMANENT', 'https://example.com/',"
            " (SELECT id FROM users WHERE email = %s)) RETURNING id", (email,)
        )  # fmt: skip
        (link,) = cursor.fetchone()
        cursor.execute(
            """INSERT INTO visit_log (day, event_id, occurred_at, link_id, slug, status, latency_us, is_bot, visitor_hash, country, browser)
               SELECT (t AT TIME ZONE 'UTC')::date, gen_random_uuid(), t, %s, 'shares', 302, 1500, false, decode(md5(n::text), 'hex'),
                      (ARRAY['DE', 'US', 'IN', 'AU'])[1 + n %% 4], 'Chrome'
               FROM (SELECT n, now() - n * interval '1.7 seconds' AS t FROM generate_series(1, %s) AS n) AS made""",
            (link, VISITS),
        )
        cursor.execute("VACUUM ANALYZE visit_log")
    connection.close()
    return link


def account(stage, name):
    client = answers.Client(stage.stores["LINKS_API_URL"], name)
    client.log_in()
    return client


def status_of(client, method, path, body=None):
    """Sends body as it is, on a new connection; returns the status."""
    client.connect()
    client.connection.request(method, path, body, client.headers)
    answer = client.connection.getresponse()
    answer.read()
    return answer.status


def latencies(client):
    return sorted(client.ask("GET", "/api/auth/me")[1] for _ in range(ASKED))


class Scans:
    """One account that always has STATISTICS filtered statistics under way."""

    def __init__(self, stage, client, path):
        self.statuses, self.is_over = [], threading.Event()
        clients = [client.another() for _ in range(STATISTICS)]
        self.threads = [threading.Thread(target=self.run, args=(each, path)) for each in clients]

    def run(self, client, path):
        while not self.is_over.is_set():
            self.statuses.append(status_of(client, "GET", path))

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        time.sleep(1)
        return self

    def __exit__(self, *_):
        self.is_over.set()
        for thread in self.threads:
            thread.join()


def measure_latency(stage):
    greedy, other = account(stage, "shares-greedy"), account(stage, "shares-other")
    link = fill(stage, greedy.email)
    other.connect()  # the service has closed the idle connection
    latencies(other)
    alone = latencies(other)
    with Scans(stage, greedy, f"/api/links/{link}/stats/country?browser=Chrome&from=2026-01-01") as scans:
        other.connect()
        beside = latencies(other)
    return alone, beside, scans.statuses


def peak_memory(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) // 1024


def send_at_once(clients, body):
    with concurrent.futures.ThreadPoolExecutor(len(clients)) as pool:
        return list(pool.map(lambda client: status_of(client, "POST", "/api/links/bulk", body), clients))


def measure_memory(stage):
    """Peaks before, after honest bulks, and after bulks of as many items as fit."""
    accounts = [account(stage, f"shares-{n}") for n in range(BULK_ACCOUNTS)]
    clients = [accounts[n % BULK_ACCOUNTS].another() for n in range(BULKS)]
    items = 1000
    url = "https://example.com/" + "x" * (BULK_BYTES // items - 120)
    honest = json.dumps({"links": [{"original_url": url, "title": f"link {n}"} for n in range(items)]})
    hostile = '{"links":[' + ",".join(["{}"] * (2_000_000 // 3)) + "]}"
    pid = stage.pid_of("links-api-1")
    peaks, statuses = [peak_memory(pid)], []
    for body, count in ((honest, BULKS), (hostile, ATTACKS)):
        statuses.append(send_at_once(clients[:count], body))
        peaks.append(peak_memory(pid))
    return peaks, statuses


def measure(stage):
    import psycopg2

    latency = measure_latency(stage)
    with psycopg2.connect(stage.stores["PG_URL"]) as connection, connection.cursor() as cursor:
        cursor.execute("ALTER TABLE users ALTER links_per_day SET DEFAULT 1000000000")
    return latency, measure_memory(stage)


def counted(statuses):
    return ", ".join(f"{statuses.count(status)} × {status}" for status in sorted(set(statuses)))


def report(seen):
    (alone, beside, scans), (peaks, (honest, hostile)) = seen
    p99 = [statistics.quantiles(each, n=100)[98] for each in (alone, beside)]
    factor = judge("api: p99 of GET me beside 16 statistics of another account", p99[1] / p99[0], P99_FACTOR_MAX)
    memory = judge(f"api: memory after {BULKS} bulks of 1.9 MB at once", peaks[1], MEMORY_MAX, "MiB")
    attack = judge(f"api: memory after {ATTACKS} bulks of 666,666 empty items", peaks[2], MEMORY_MAX, "MiB")
    rows = [
        ["alone", f"{statistics.median(alone):.1f}", f"{p99[0]:.1f}", f"{alone[-1]:.1f}"],
        [f"beside {STATISTICS} filtered statistics", f"{statistics.median(beside):.1f}", f"{p99[1]:.1f}", f"{beside[-1]:.1f}"],
    ]
    head = ["`GET /api/auth/me`", "p50 in ms", "p99 in ms", "longest"]
    return (
        f"{VISITS:,} visits of one link; p99 beside the statistics is {p99[1] / p99[0]:.1f} × p99 alone{factor}. The statistics: {counted(scans)}.\n\n"
        + table(head, rows)
        + f"\n\nPeak memory of links-api: {peaks[0]} MiB before, {peaks[1]} MiB after {BULKS} bulks of 1.9 MB from {BULK_ACCOUNTS} accounts at once"
        f"{memory} ({counted(honest)}), {peaks[2]} MiB after {ATTACKS} bulks of 666,666 empty items{attack} ({counted(hostile)})."
    )
