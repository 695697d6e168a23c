"""Measures the dashboard in Chromium, with an account that has very many links: how soon the first view is there on a slow
laptop, and how long an interaction takes until the next frame is drawn.
"""

import json
import os
import statistics
import subprocess

from . import live
from .bounds import judge
from .report import table
from .stage import TREE

LINKS, TAGS = 10_000, 40
FIRST_VIEW_MS_MAX, INTERACTION_MS_MAX = 1000, 100


def fill(env, account):
    import psycopg2

    with psycopg2.connect(env["PG_URL"]) as connection, connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO links (slug, link_type, original_url, owner_id, title, tags) SELECT 'dashboard-' || i, 'PERMANENT',"
            " 'https://example.com/' || i, (SELECT id FROM users WHERE email = %s), 'Letter ' || i, ARRAY['tag ' || i %% %s]"
            " FROM generate_series(1, %s) AS i",
            (account.email, TAGS, LINKS),
        )
        cursor.execute(
            """INSERT INTO visit_log (day, event_id, occurred_at, link_id, slug, status, latency_us, is_bot, visitor_hash, country, browser)
               SELECT (t AT TIME ZONE 'UTC')::date, gen_random_uuid(), t, id, slug, 302, 1500, false, decode(md5(id::text), 'hex'),
                      (ARRAY['DE', 'US', 'IN', 'AU'])[1 + id %% 4], 'Chrome'
               FROM (SELECT id, slug, now() - id * interval '100 seconds' AS t FROM links WHERE owner_id = (SELECT id FROM users WHERE email = %s)) AS made""",
            (account.email,),
        )


def measure(stack):
    account = live.Account(stack.env, 0)
    fill(stack.env, account)
    stack.run_program("rebuild-stats", "--all")
    command = [os.path.join(TREE, "tests/support/needs-browser"), "python3", "-B", os.path.join(TREE, "tests/bench/benchlib/interactions.py")]
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
    rows = [["interaction", "to the next paint"]]
    for name, durations in found["interactions"].items():
        longest = max(durations)
        verdict = judge(f"dashboard: {name}", longest, INTERACTION_MS_MAX, "ms")
        rows.append([name, f"{longest:.0f} ms{verdict}"])
    return (
        f"an account with {LINKS:,} links and as many visits, Chromium without a screen. The CPU is slowed down four times for the first view;"
        f" medians of {len(next(iter(found['views'].values())))}, with an empty cache. Interactions are the longest of several, by the browser's"
        f" own event timing, at full speed.\n\n{table(first[0], first[1:])}\n\n{table(rows[0], rows[1:])}"
    )
