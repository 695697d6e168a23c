"""Measures how fast links-api makes and reads links, against pgbench with the same SQL on the same PostgreSQL.

The SQL comes from PostgreSQL's log of one request to the service. pgbench sends these statements, prepared, one after the
other, with the same values except for user, slug and link. The service is frozen meanwhile, so that its relay does not
share the cores. Rows that pgbench leaves in the outbox are deleted.
"""

import glob
import os
import re
import statistics
import subprocess
import time

from clients import postgres_environment

from . import load
from .answers import Client
from .bounds import judge
from .report import table

SCRIPT = os.path.join(os.path.dirname(__file__), "..", "api.lua")
USERS, LINKS_EACH, CLIENTS = 16, 50, 8
BULK, BULKS, SINGLES = 1000, 5, 1000
WANTED = {"create": 0.5, "get": 0.4}
BULK_FACTOR_MIN = 10
SLUG = "benchslug"
LINE = re.compile(r".* \[(\d+)\] links_api@waymark (.*)$")
STATEMENT = re.compile(r"LOG: +(?:duration: [0-9.]+ ms +)?(?:execute [^:]+|statement): (.*)$")


class Accounts:
    """Users with an unlimited quota, and their links."""

    def __init__(self, stage):
        self.lines, self.clients, self.ids = [], [], []
        for number in range(USERS):
            client = Client(stage.stores["LINKS_API_URL"], f"bench-{number}")
            client.log_in()
            self.ids.append(client.user_id)
            self.clients.append(client)
        run(stage, "UPDATE users SET links_per_day = 1000000000")
        wish = {"links": [{"original_url": "https://example.com/landing"}] * LINKS_EACH}
        for client in self.clients:
            made = client.ask("POST", "/api/links/bulk", wish)[0]["results"]
            self.lines += [f"{client.token} {result['link']['id']}" for result in made]

    def write(self, path):
        with open(path, "w", encoding="utf-8") as file:
            # Neighbours have different users, because requests of one user wait for each other.
            file.write("\n".join(line for i in range(LINKS_EACH) for line in self.lines[i::LINKS_EACH]) + "\n")


def run(stage, statement, *values):
    import psycopg2

    connection = psycopg2.connect(stage.stores["PG_URL"])
    connection.autocommit = True
    with connection.cursor() as cursor:
        cursor.execute(statement, values or None)
        rows = cursor.fetchall() if cursor.description else None
    connection.close()
    return rows


# --- the same SQL ---


def logged(stage, ask):
    """The statements of one request, in order: [(text, {number: value or None})]."""
    path = os.path.join(stage.state, "logs", "postgres.log")
    run(stage, "ALTER SYSTEM SET log_statement = 'all'")
    run(stage, "SELECT pg_reload_conf()")
    time.sleep(1)
    begin = os.path.getsize(path)
    ask()
    time.sleep(0.5)
    run(stage, "ALTER SYSTEM RESET log_statement")
    run(stage, "SELECT pg_reload_conf()")
    with open(path, encoding="utf-8", errors="replace") as file:
        file.seek(begin)
        said = [match.groups() for line in file if (match := LINE.match(line))]
    # A single request uses one connection. The relay and the health check use others.
    mine = {pid for pid, text in said if "INSERT INTO links " in text or "FROM links WHERE id = $1" in text}
    lines = [text for pid, text in said if pid in mine]
    found = []
    for line in lines:
        statement = STATEMENT.match(line)
        if statement:
            found.append((statement.group(1), {}))
        elif line.startswith("DETAIL:  parameters: ") and found:
            for number, value in re.findall(r"\$(\d+) = (NULL|'(?:[^']|'')*')", line):
                found[-1][1][int(number)] = None if value == "NULL" else value[1:-1].replace("''", "'")
    return found


def script(statements, user_id, link_id, slug):
    """A pgbench script, and its variables on the command line."""
    defined, lines = {}, []
    for place, (text, values) in enumerate(statements):
        for number in sorted(values, reverse=True):
            value, name = values[number], f"v{place}_{number}"
            if not value:
                replacement = "NULL" if value is None else "''"
            elif value == str(user_id):
                replacement = ":user_id"
            elif value == str(link_id):
                replacement = ":link_id"
            elif slug and value == slug:
                replacement = ":slug"
            else:
                defined[name], replacement = value, f":{name}"
            text = re.sub(rf"\${number}(?!\d)", lambda _, replacement=replacement: replacement, text)
        lines.append(text + ";")
    return "\n".join(lines) + "\n", defined


class PgBench:
    """pgbench with the statements of one kind of request."""

    def __init__(self, folder, stage, word, statements, user, link):
        self.stage, self.folder = stage, folder
        body, self.defined = script(statements, user, link["id"], link["slug"])
        self.count = len(statements)
        first, last = run(stage, "SELECT min(id), max(id) FROM users WHERE email LIKE 'bench-%%@example.com'")[0]
        head = f"\\set user_id random({first}, {last})\n\\set slug random(10000000000, 999999999999999)\n"
        if word == "get":
            head = f"\\set n random(0, {LINKS_EACH * USERS - 1})\n\\set user_id {user}\n\\set link_id {link['id']}\n\\set slug 0\n"
            body = body.replace(":slug", f"'{link['slug']}'")
        else:
            head += f"\\set link_id {link['id']}\n"
        self.path = os.path.join(folder, f"{word}.sql")
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(head + body)

    def measure(self, seconds):
        prefix = os.path.join(self.folder, "pgbench")
        for old in glob.glob(prefix + ".*"):
            os.remove(old)
        defined = [part for name, value in self.defined.items() for part in ("-D", f"{name}={value}")]
        command = ["pgbench", "-n", "-M", "prepared", "-c", str(CLIENTS), "-j", "1", "-T", str(seconds)]
        command += ["-f", self.path, "-l", "--log-prefix", prefix, *defined]
        environment = {**os.environ, **postgres_environment(self.stage.stores["PG_URL"])}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode != 0 or "ERROR" in done.stderr:
            raise SystemExit(f"bench: pgbench failed: {done.stderr[-2000:]}")
        took_ms = []
        for log in glob.glob(prefix + ".*"):
            with open(log, encoding="utf-8") as file:
                took_ms += [int(line.split()[2]) / 1000 for line in file]
        return len(took_ms) / seconds, statistics.quantiles(took_ms, n=100)


# --- the service ---


def ask_service(stage, word, path, seconds):
    command = ["wrk", "-t1", f"-c{CLIENTS}", f"-d{seconds}s", "--latency", "--timeout", "10s", "-s", SCRIPT]
    done = subprocess.run(
        [*command, stage.stores["LINKS_API_URL"], "--", word, path], capture_output=True, text=True, check=False
    )
    measured = load.read(done.stdout)
    if measured.not_redirects or measured.failures:
        raise SystemExit(f"bench: {word}: {measured.not_redirects} wrong answers, {measured.failures} failed connections")
    return measured


def settle(stage):
    """Waits until the work that one contender has left is done."""
    deadline = time.monotonic() + 60
    while run(stage, "SELECT count(*) FROM outbox")[0][0] and time.monotonic() < deadline:
        time.sleep(0.2)
    run(stage, "CHECKPOINT")


def pair(stage, rival, word, path, seconds):
    pid = stage.pid_of("links-api-1")
    settle(stage)
    ours = ask_service(stage, word, path, seconds)
    settle(stage)
    os.kill(pid, 19)
    try:
        theirs, theirs_ms = rival.measure(seconds)
        run(stage, "TRUNCATE outbox")
    finally:
        os.kill(pid, 18)
    time.sleep(1)
    print(f"  {word}: {ours.per_second:,.0f} of {theirs:,.0f}/s = {ours.per_second / theirs:.2f}", flush=True)
    return ours.per_second, theirs, ours.p50_ms, ours.p99_ms, theirs_ms[49], theirs_ms[98]


def compare(folder, stage, accounts, word, path, options):
    client, user = accounts.clients[0].another(), accounts.ids[0]  # an idle connection is closed
    link = {}

    def ask():
        if word == "create":
            wish = {"original_url": "https://example.com/landing", "slug": SLUG}
            link.update(client.ask("POST", "/api/links", wish)[0]["link"])
        else:
            link.update(client.ask("GET", f"/api/links/{accounts.lines[0].split()[1]}")[0]["link"])

    statements = logged(stage, ask)
    rival = PgBench(folder, stage, word, statements, user, link)
    print(f"  {word}: {rival.count} statements", flush=True)
    if not rival.count:
        raise SystemExit("bench: PostgreSQL has logged nothing of the request")
    return rival.count, [pair(stage, rival, word, path, options.seconds) for _ in range(options.rounds)]


def measure_bulk(accounts):
    client = accounts.clients[1]
    client.connect()  # the service has closed the idle connection
    wish = {"original_url": "https://example.com/landing"}
    begun = time.perf_counter()
    for _ in range(SINGLES):
        client.ask("POST", "/api/links", wish)
    single = SINGLES / (time.perf_counter() - begun)
    begun = time.perf_counter()
    for _ in range(BULKS):
        made = client.ask("POST", "/api/links/bulk", {"links": [wish] * BULK})[0]["results"]
        if [result["status"] for result in made] != [201] * BULK:
            raise SystemExit("bench: a bulk was not made whole")
    return single, BULK * BULKS / (time.perf_counter() - begun)


def measure(folder, stage, options):
    path = os.path.join(folder, "questions")
    accounts = Accounts(stage)
    accounts.write(path)
    found = {word: compare(folder, stage, accounts, word, path, options) for word in WANTED}
    return found, [measure_bulk(accounts) for _ in range(3)]


def median(pairs, value):
    return statistics.median(value(each) for each in pairs)


def report(seen, options):
    found, bulks = seen
    rows = []
    for word, (count, pairs) in found.items():
        shares = sorted(ours / theirs for ours, theirs, *_ in pairs)
        share = statistics.median(shares)
        wanted = judge(f"api, {word}: requests/s vs pgbench", round(share, 2), WANTED[word], at_most=False)
        rows.append(
            [
                f"{word}, {count} statements",
                f"{share:.2f} ({shares[0]:.2f}–{shares[-1]:.2f}){wanted}",
                f"{median(pairs, lambda p: p[0]):,.0f}",
                f"{median(pairs, lambda p: p[1]):,.0f}",
                f"{median(pairs, lambda p: p[2]):.1f} / {median(pairs, lambda p: p[4]):.1f}",
                f"{median(pairs, lambda p: p[3]):.1f} / {median(pairs, lambda p: p[5]):.1f}",
            ]
        )
    head = ["request", "requests/s vs pgbench", "here", "pgbench here", "p50 in ms, ours / pgbench", "p99 in ms, ours / pgbench"]
    factors = sorted(bulk / single for single, bulk in bulks)
    wanted = judge("api: links made in bulk vs one by one", factors[1], BULK_FACTOR_MIN, at_most=False)
    return (
        f"{CLIENTS} connections, {USERS} users, {options.rounds} rounds of {options.seconds} s in alternation: medians, in brackets the least and the"
        " greatest.\n\n" + table(head, rows) + f"\n\nLinks made by one client in bulks of {BULK:,}: {factors[1]:.1f} × one by one"
        f" ({factors[0]:.1f}–{factors[-1]:.1f}){wanted}: {statistics.median(b for _, b in bulks):,.0f} against"
        f" {statistics.median(s for s, _ in bulks):,.0f} links/s."
    )
