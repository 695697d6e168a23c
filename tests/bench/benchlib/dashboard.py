"""Measures the dashboard in Chromium, with an account that has very many links: how soon the first view is there on a slow
laptop, and how long an interaction keeps it from the next one.
"""

import json
import os
import statistics
import subprocess

from . import live
from .bounds import judge
from .report import table
from .stage import TREE

LINKS, VISITS = 10_000, 20_000
TAGS = ["newsletter", "shop", "events", "press", "support", "jobs", "podcast", "summer"]
FIRST_VIEW_MS_MAX, INTERACTION_MS_MAX, SLOW_INTERACTION_MS_MAX = 1000, 50, 200
# The first values of each are the most frequent.
FACTS = {
    "country": ["DE", "US", "FR", "GB", "IN", "BR", "AU", "JP", "ZA", "CA", "ES", "PL"],
    "browser": ["Chrome", "Mobile Safari", "Firefox", "Edge", "Samsung Internet"], "os": ["Windows", "iOS", "Android", "Mac OS X", "Linux"],
    "device": ["desktop", "mobile", "tablet"], "language": ["en", "de", "fr", "pt", "ja", "es"],
    "referrer_host": ["", "www.google.com", "news.ycombinator.com", "www.linkedin.com", "mail.example.com", "t.co", *(f"site-{n}.example" for n in range(600))],
    "utm_source": ["", "letter", "poster", "podcast"], "utm_medium": ["", "email", "print"], "utm_campaign": ["", "spring", "launch"],
}  # fmt: skip


def fill(env, account):
    """Links, and visits of the last 60 days: more on weekdays, and more every week."""
    import psycopg2

    columns = ", ".join(FACTS)
    values = ", ".join("(ARRAY[%s])[1 + floor(power(random(), 2) * %d)::int]" % (", ".join(f"'{each}'" for each in facts), len(facts)) for facts in FACTS.values())
    with psycopg2.connect(env["PG_URL"]) as connection, connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO links (slug, link_type, original_url, workspace_id, title, tags) SELECT 'letter-' || i, 'PERMANENT',"
            " 'https://example.com/' || i, (SELECT id FROM users WHERE email = %s), 'Letter no. ' || i, ARRAY[(%s)[1 + i %% %s]]"
            " FROM generate_series(1, %s) AS i",
            (account.email, TAGS, len(TAGS), LINKS),
        )
        cursor.execute("SELECT visit_log_make_partition((now() AT TIME ZONE 'UTC')::date - n) FROM generate_series(0, 61) AS n")
        cursor.execute("SELECT setseed(0.5)")
        cursor.execute(
            f"""INSERT INTO visit_log (day, event_id, occurred_at, link_id, workspace_id, slug, status, latency_us, is_bot, is_unique, visitor_hash, {columns})
                SELECT (t AT TIME ZONE 'UTC')::date, gen_random_uuid(), t, id, workspace_id, slug, 302, 1500, n % 9 = 0, n % 9 > 0 AND n % 3 > 0, decode(md5(n::text), 'hex'), {values}
                FROM (SELECT n, now() - interval '60 days' * (1 - sqrt(random())) AS t, 1 + floor(power(random(), 6) * {LINKS})::int AS chosen
                      FROM generate_series(1, {VISITS}) AS n) AS made
                JOIN links ON slug = 'letter-' || chosen
                WHERE extract(isodow FROM t) < 6 OR n % 2 = 0"""
        )


def measure(stack):
    account = live.Account(stack.env, 0)
    fill(stack.env, account)
    stack.run_program("rebuild-stats", "--all")
    command = [os.path.join(TREE, "tests/support/needs-browser"), "/usr/bin/python3", "-B", os.path.join(TREE, "tests/bench/benchlib/interactions.py")]
    done = subprocess.run([*command, stack.env["LINKS_API_URL"], account.email], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit("bench: the dashboard could not be measured: " + done.stdout)
    return json.loads(done.stdout)


def report(found):
    first = [["first view", "first paint", "largest part painted"]]
    for name, runs in found["views"].items():
        paint, content = statistics.median(run["paint"] for run in runs), statistics.median(run["content"] for run in runs)
        verdict = judge(f"dashboard: first view of {name}, 4 × slower CPU", paint, FIRST_VIEW_MS_MAX, "ms")
        first.append([name, f"{paint:.0f} ms{verdict}", f"{content:.0f} ms"])
    rows = [["interaction", "at full speed", "4 × slower CPU"]]
    for name, durations in found["interactions"].items():
        full, slow = (statistics.median(each) for each in durations)
        of_full = judge(f"dashboard: {name}", full, INTERACTION_MS_MAX, "ms")
        of_slow = judge(f"dashboard: {name}, 4 × slower CPU", slow, SLOW_INTERACTION_MS_MAX, "ms")
        rows.append([name, f"{full:.0f} ms{of_full}", f"{slow:.0f} ms{of_slow}"])
    return (
        f"an account with {LINKS:,} links and {VISITS:,} visits, Chromium without a screen. The CPU is slowed down four times for the first view;"
        f" medians of {len(next(iter(found['views'].values())))}, with an empty cache. An interaction is the longest time that the page"
        f" does not answer, until the next paint or with the answer of the server; medians of {len(next(iter(found['interactions'].values()))[0])}.\n\n{table(first[0], first[1:])}\n\n{table(rows[0], rows[1:])}"
    )
