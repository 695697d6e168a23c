"""Measures a purge of very many links: its speed, how long it holds locks, and its effect on redirects.

The figures of the purge come from PostgreSQL: the times of the tombstones and the log of the janitor's transactions.
"""

import dataclasses
import os
import pathlib
import re
import statistics
import subprocess
import time
import urllib.request

from .bounds import judge
from .contenders import children

RATE_MIN = 20_000  # links a second
LOCK_MS_MAX = 100
P99_GROWTH_MAX = 0.2
HOT = 10_000
STEP = re.compile(
    r"^(\S+) (\d+):(\d+):([\d.]+) UTC \[(\d+)\] janitor@waymark LOG:  duration: ([\d.]+) ms  (?:statement: (BEGIN|COMMIT|ROLLBACK))?"
)


@dataclasses.dataclass
class Purge:
    """The figures of a run."""

    links: int
    per_second: float
    transactions: int
    held_ms: list  # how long each transaction held its locks, sorted
    lock_waits: int  # waits of any session for more than LOCK_MS_MAX
    before_ms: list  # the p99 of each second, as in the next two
    during_ms: list
    draining_ms: list
    drained_per_second: float
    raises: int
    wrong: int  # answers other than redirects

    def growth(self, seconds):
        return statistics.median(seconds) / statistics.median(self.before_ms) - 1

    def missed(self):
        """Judges the run by its bounds; returns the names of those that it missed."""
        bounds = [
            (f"at least {RATE_MIN:,} links a second", self.per_second, RATE_MIN, "links/s", False),
            (f"no lock held longer than {LOCK_MS_MAX} ms", self.held_ms[-1], LOCK_MS_MAX, "ms", True),
            (f"no wait for a lock beyond {LOCK_MS_MAX} ms", self.lock_waits, 0, "", True),
            ("p99 of redirects within 20 %", self.growth(self.during_ms), P99_GROWTH_MAX, "", True),
            ("Redis' links stay valid", self.raises, 0, "generations raised", True),
            ("only redirects", self.wrong, 0, "other answers", True),
        ]
        return [name for name, *bound in bounds if "missed" in judge(f"purge: {name}", *bound)]


def run_sql(stage, *statements):
    import psycopg2

    connection = psycopg2.connect(stage.stores["ADMIN_PG_URL"])
    connection.autocommit = True
    try:
        with connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            return cursor.fetchone() if cursor.description else None
    finally:
        connection.close()


def prepare(stage, links):
    """Inserts links with unordered slugs that were marked an hour ago."""
    run_sql(
        stage,
        "INSERT INTO links (slug, link_type, original_url, state, expires_at, state_since)"
        " SELECT substr(md5(i::text), 1, 14), 'TEMPORARY', 'https://shop.example.com/catalogue/spring/items/' || i || '?from=mail',"
        f" 'EXPIRED', now() - interval '2 h', now() - interval '1 h' + i * interval '1 ms' FROM generate_series(1, {links}) i",
        "INSERT INTO links (slug, link_type, original_url, expires_at)"
        " SELECT 'hot-' || i, 'TEMPORARY', 'https://shop.example.com/items/' || i, now() + interval '8 h'"
        f" FROM generate_series(0, {HOT} - 1) i",
        "VACUUM ANALYZE links",
        "CHECKPOINT",
        # PostgreSQL logs when each statement of the janitor ended and how long it took.
        "ALTER ROLE janitor SET log_min_duration_statement = 0",
        "ALTER ROLE janitor SET log_parameter_max_length = 0",
        "ALTER SYSTEM SET log_lock_waits = on",
        f"ALTER SYSTEM SET deadlock_timeout = '{LOCK_MS_MAX}ms'",
        "SELECT pg_reload_conf()",
    )


def transactions(log):
    """The durations of the janitor's transactions in ms, from the beginning of BEGIN to the end of COMMIT, sorted."""
    began, held = {}, []
    for line in log.read_text(errors="replace").splitlines():
        step = STEP.match(line)
        if not step:
            continue
        _, hours, minutes, seconds, pid, took_ms, word = step.groups()
        at_ms = (int(hours) * 3600 + int(minutes) * 60 + float(seconds)) * 1000
        if word == "BEGIN":
            began[pid] = at_ms - float(took_ms)
        elif word and pid in began:
            held.append(at_ms - began.pop(pid))
    return sorted(held)


def metric(url, name):
    with urllib.request.urlopen(url + "/metrics", timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(name))


def let_pass(seconds):
    began = time.monotonic()
    time.sleep(seconds)
    return began, time.monotonic()


def keep_to(pid, cores):
    """Pins a process and its children, with all threads. Later children inherit it."""
    for each in [pid, *children(pid)]:
        for thread in os.listdir(f"/proc/{each}/task"):
            os.sched_setaffinity(int(thread), cores)


def set_apart(stage, redirector):
    """Gives the redirector and its visitors a core of their own, as stores have machines of their own."""
    first, *others = sorted(os.sched_getaffinity(0))
    for line in stage.run("ps").splitlines():
        if line.split()[1] != "-":
            keep_to(int(line.split()[1]), others)
    keep_to(redirector.process.pid, [first])
    return first, others


def janitor(stage, build, cores):
    """Runs the janitor once, with its own rights; returns when that began and ended."""
    environment = {"PATH": os.environ["PATH"], "PG_URL": stage.janitor_url, "OPS_PORT": "0"}
    began = time.monotonic()
    command = ["taskset", "-c", ",".join(map(str, cores)), os.path.join(build, "bin/janitor"), "--once"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"bench: the janitor failed:\n{done.stderr}")
    return began, time.monotonic()


def waiting(stage):
    return run_sql(stage, "SELECT count(*) FROM outbox")[0]


def drain(stage, seconds):
    """Lets the outbox drain; returns the span and the rate within it."""
    first = waiting(stage)
    span = let_pass(seconds)
    return span, (first - waiting(stage)) / (time.monotonic() - span[0])


def by_second(log, span):
    """The p99 of each full second."""
    seconds = [span[0] + i for i in range(max(1, int(span[1] - span[0])))]
    return [log.p99_ms(second, min(second + 1, span[1])) for second in seconds]


def measure(stage, redirector, options):
    """Call after prepare: a redirector learns only at its start of links that did not come through the API."""
    from redirector_harness import Visitors

    own, others = os.sched_getaffinity(0), os.sched_getaffinity(0)
    if options.apart:
        first, others = set_apart(stage, redirector)
        own = [first]
    links, rate, quiet_s = options.links, options.rate, 3 * options.seconds
    raised = metric(stage.stores["LINKS_API_OPS_URL"], "waymark_link_cache_raises_total")
    visitors = Visitors(pathlib.Path(stage.state), str(redirector.port), "purge", "follow", connections=32, rate=rate, slug="hot", slugs=HOT)
    keep_to(visitors.process.pid, own)
    try:
        visitors.wait_for_rows(HOT * 2, 60)
        before = let_pass(quiet_s)
        during = janitor(stage, options.build, others)
        draining, drained_per_second = drain(stage, quiet_s)
        log = visitors.stop()
    finally:
        visitors.process.kill()
    count, seconds = run_sql(
        stage, "SELECT count(*), extract(epoch FROM max(purged_at) - min(purged_at))::float FROM link_tombstones"
    )
    if count != links:
        raise SystemExit(f"bench: {count:,} of {links:,} links were purged")
    server_log = pathlib.Path(stage.state, "logs/postgres.log")
    held = transactions(server_log)
    return Purge(
        links=links,
        per_second=links / seconds,
        transactions=len(held),
        held_ms=held,
        lock_waits=server_log.read_text(errors="replace").count("still waiting for"),
        before_ms=by_second(log, before),
        during_ms=by_second(log, during),
        draining_ms=by_second(log, draining),
        drained_per_second=drained_per_second,
        raises=int(metric(stage.stores["LINKS_API_OPS_URL"], "waymark_link_cache_raises_total") - raised),
        wrong=len(log) - len(log.redirected()),
    )


def table(purge, options):
    def percentile(share):
        return purge.held_ms[int((len(purge.held_ms) - 1) * share)]

    def p99(seconds):
        return f"{statistics.median(seconds):.2f} ms ({min(seconds):.2f}–{max(seconds):.2f})"

    rows = [
        ("links purged", f"{purge.links:,}"),
        ("links a second", f"{purge.per_second:,.0f}"),
        ("transactions", f"{purge.transactions:,}"),
        ("locks held, p50 / p99 / longest", f"{percentile(0.5):.0f} / {percentile(0.99):.0f} / {purge.held_ms[-1]:.0f} ms"),
        (f"waits for a lock beyond {LOCK_MS_MAX} ms, of anybody", purge.lock_waits),
        (f"p99 of {options.rate:,} redirects/s before", p99(purge.before_ms)),
        ("… during the purge", f"{p99(purge.during_ms)}, {purge.growth(purge.during_ms):+.0%}"),
        ("… while its events are published", f"{p99(purge.draining_ms)}, {purge.growth(purge.draining_ms):+.0%}"),
        ("events published to Redis and Kafka", f"{purge.drained_per_second:,.0f}/s"),
        ("generations of Redis raised", purge.raises),
        ("answers that were no redirects", purge.wrong),
    ]
    where = "redirector and visitors on a core of their own" if options.apart else "all on the same cores"
    text = f"{where}\n\n| | |\n|---|---|\n" + "\n".join(f"| {name} | {value} |" for name, value in rows)
    missed = purge.missed()
    return text + (f"\n\n**missed**: {'; '.join(missed)}" if missed else "")
