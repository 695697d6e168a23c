"""Links with rules beside plain links, at one redirector whose memory has both. Each visitor is in the same network and has the
same User-Agent, as in the other cases; no rule holds, so every condition is tried.

    tests/bench/run decisions
"""

import subprocess

from . import load, report
from .bounds import judge
from .contenders import DESTINATION, Redirector
from .load import Load
from .stage import TREE

LINKS = 2000
RULE = 'rules { name: "rule%d" action: LINK_ACTION_REDIRECT url: "https://example.com/%d" conditions { subject: LINK_SUBJECT_%s %s } }\n'
CONDITIONS = (
    ("DEVICE", 'values: "mobile"'),
    ("LANGUAGE", 'values: ["de", "fr-CH"]'),
    ("QUERY", 'parameter: "campaign" values: "spring"'),
    ("BROWSER", 'values: "Firefox"'),
    ("REFERRER_HOST", 'values: ".news.example"'),
)
# The first word of each case is that of its slugs (follow.lua).
CASES = (
    ("rule", "five rules", "".join(RULE % (i, i, *each) for i, each in enumerate(CONDITIONS)), 0.80),
    ("land", "a condition on the country", RULE % (1, 1, "COUNTRY", 'values: ["DE", "AT", "CH"]'), 0.75),
)


def encode(text):
    command = ["protoc", f"--proto_path={TREE}/proto", "--encode=waymark.v1.LinkExtras", "waymark/v1/link_extras.proto"]
    return subprocess.run(command, input=text.encode(), capture_output=True, check=True).stdout


def add_links(stage):
    import psycopg2

    with psycopg2.connect(stage.stores["PG_URL"]) as connection, connection.cursor() as cursor:
        for word, _, rules, _ in CASES:
            cursor.execute(
                "INSERT INTO links (slug, link_type, original_url, workspace_id, extras, features)"
                " SELECT %s || lpad(to_hex(i), 6, '0'), 'PERMANENT', %s, min(id), %s, 1 FROM generate_series(1, %s) i, workspaces GROUP BY i",
                (word, DESTINATION, encode(rules), LINKS),
            )


def pair(redirector, word, seconds):
    redirector.wait_until_acked()
    plain, ours = (load.run(redirector, Load(each, LINKS), seconds) for each in ("hot", word))
    if plain.not_redirects or ours.not_redirects or plain.failures or ours.failures:
        raise SystemExit(f"bench: {word}: wrong answers or failed connections")
    return plain, ours


def measure(folder, stage, options):
    stage.add_links(LINKS)
    add_links(stage)
    redirector = Redirector(folder, options.build, stage.stores, GEOIP_DB=stage.consumer_environment["GEOIP_DB"])
    rows = []
    try:
        for word, name, _, least in CASES:
            for each in ("hot", word):
                load.run(redirector, Load(each, LINKS), options.seconds)  # fills the caches
            pairs = [pair(redirector, word, options.seconds) for _ in range(options.rounds)]
            speed, least_seen, most_seen = report.ratios(pairs, report.speed)
            promise = judge(f"{name}: req/s vs plain links", round(speed, 2), least, at_most=False)
            cpu = report.ratios(pairs, report.cpu)[0]
            rows.append([name, f"{speed:.2f} ({least_seen:.2f}–{most_seen:.2f}){promise}", f"{cpu:.2f}", f"{report.ours_of(pairs, report.speed):,.0f}"])
    finally:
        redirector.stop()
    return report.table(["links with", "req/s vs plain", "CPU vs plain", "req/s"], rows)
