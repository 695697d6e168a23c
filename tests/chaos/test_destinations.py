"""The janitor checks destinations, never sends a packet to an address that is not global, and is polite to hosts.

Everything happens in a network namespace of its own, in which nftables counts packets. CHAOS_FULL=1 tries every name in
every way.
"""

import concurrent.futures
import json
import os
import pathlib
import secrets
import shlex
import shutil
import subprocess
import tempfile
import time
import urllib.parse

import psycopg2
import pytest
from destinations import addresses, servers
from destinations.network import CannotBeMade, Network
from harness import BUILD, FULL, ROOT, SEED, wait_until
from processes import popen

GLOBAL_4, GLOBAL_6 = servers.WEB
SCHEMES = ("file:///etc/passwd", "gopher://127.0.0.1:80/_x", "ftp://127.0.0.1/", "dict://127.0.0.1:80/x", "javascript:alert(1)",
           "//127.0.0.1/", "///127.0.0.1/", "http:///127.0.0.1/", "https://127.0.0.1/", "http:127.0.0.1/")  # fmt: skip
# The janitor ignores these variables.
PROXIES = {name: "http://127.0.0.1:80/" for name in ("http_proxy", "https_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy")}


class Database:
    """A database of its own for this file."""

    def __init__(self, url):
        self.url = urllib.parse.urlsplit(url)
        self.name = f"test_{secrets.token_hex(8)}"
        self.admin = psycopg2.connect(self.url.geturl())
        self.admin.autocommit = True
        self.admin.cursor().execute(f"CREATE DATABASE {self.name}")
        own = self.url._replace(path=f"/{self.name}").geturl()
        subprocess.run([BUILD / "bin/migrate"], env={**os.environ, "PG_URL": own}, check=True, capture_output=True)
        self.connection = psycopg2.connect(own)
        self.connection.autocommit = True

    def inside(self, folder, role="waymark_janitor"):
        """Parameters of a connection through the socket in the folder, with the rights of a service."""
        login = f"user={self.url.username} password={urllib.parse.unquote(self.url.password)}"
        return f"host={folder} port=5432 dbname={self.name} {login} options='-c role={role}'"

    def ask(self, sql, *values):
        with self.connection.cursor() as cursor:
            cursor.execute(sql, values)
            return cursor.fetchall() if cursor.description else []

    def add_links(self, urls):
        with self.connection.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO links (slug, link_type, original_url, expires_at)"
                " VALUES (%s, 'TEMPORARY', %s, now() + interval '8 hours')",
                [(f"d-{secrets.token_hex(8)}", url) for url in urls],
            )

    def statuses(self):
        return dict(self.ask("SELECT original_url, destination_status FROM links WHERE last_checked_at IS NOT NULL"))

    def empty(self):
        self.ask("TRUNCATE links, link_aliases, link_visit_limits, link_history, shares, link_notes, dead_links, destination_hosts, shedlock, outbox")

    def end(self):
        self.connection.close()
        self.admin.cursor().execute(f"DROP DATABASE {self.name} WITH (FORCE)")
        self.admin.close()


class Harness:
    def __init__(self, folder, database):
        self.network = Network(folder)
        self.database = database
        self.processes = []
        self.token = None
        self.inside = self.database.inside(self.network.let_in(self.database.url.hostname, self.database.url.port))

    def start(self, *words, **settings):
        variables = {"DESTINATION_CHECKS": "true", "DESTINATION_RESOLVERS": servers.RESOLVER, "DESTINATIONS_FIRST_DELAY_S": "0"}
        variables |= {"DESTINATIONS_PERIOD_S": "1", "LOCK_AT_LEAST_S": "0", "OPS_PORT": "0", "PG_URL": self.inside, "LOG_LEVEL": "warning"}
        environment = {**PROXIES, **variables, **settings}
        janitor = popen([*self.network.enter, str(BUILD / "bin/janitor"), *words], env={**os.environ, **environment})
        self.processes.append(janitor)
        return janitor

    def start_api(self, **settings):
        """Starts links-api inside, without Redis and Kafka, and returns its log-in: nothing of it is at an address that is counted."""
        (self.network.folder / "resolv.conf").write_text(f"nameserver {servers.RESOLVER}\n")
        variables = {"PG_URL": self.database.inside(self.network.folder, "waymark_links_api"), "REDIS_URL": f"redis://{servers.RESOLVER}:6379", "KAFKA_BROKERS": f"{servers.RESOLVER}:9092"}
        variables |= {"PUBLIC_BASE_URL": "http://own.test", "JWT_SECRET": "s" * 32, "PASSWORD_HASH_COST": "4", "FETCH_TITLES": "on", "REQUESTS_PER_MINUTE": "unlimited"}
        variables |= {"HTTP_ADDRESS": servers.RESOLVER, "OPS_ADDRESS": servers.RESOLVER, "OPS_PORT": "0", "LOG_LEVEL": "warning"}
        mounted = f"mount --bind {self.network.folder}/resolv.conf /etc/resolv.conf && exec {BUILD}/bin/links-api"
        self.processes.append(popen([*self.network.enter, "unshare", "--mount", "sh", "-c", mounted], env={**os.environ, **PROXIES, **variables, **settings}))
        who = {"email": f"{secrets.token_hex(8)}@example.com", "password": secrets.token_hex(16)}
        wait_until(lambda: self.ask_api("/api/instance")[0] == 200, "links-api to answer")
        assert self.ask_api("/api/auth/register", who)[0] == 201
        self.token = self.ask_api("/api/auth/login", who)[1]["access_token"]

    def ask_api(self, path, body=None):
        """Returns the status and the JSON; 0 without an answer."""
        words = ["curl", "-s", "--max-time", "60", "-w", "\n%{http_code}", f"http://{servers.RESOLVER}:8081{path}"]
        words += ["-H", f"Authorization: Bearer {self.token}"] if self.token else []
        words += ["-H", "Content-Type: application/json", "-d", json.dumps(body)] if body else []
        said = subprocess.run([*self.network.enter, *words], check=False, capture_output=True, text=True).stdout
        text, _, status = said.rpartition("\n")
        return int(status or 0), json.loads(text or "null")

    def title_of(self, url):
        """The title, or the kind of the problem, or of what is wrong with the URL."""
        status, answer = self.ask_api("/api/page-titles", {"url": url})
        return answer["title"] if status == 200 else answer.get("errors", [{}])[0].get("code") or answer["type"].rpartition("/")[2]

    def check_all(self, **settings):
        """Checks until no link is due."""
        while self.database.ask("SELECT 1 FROM links WHERE next_check_at <= now()"):
            assert self.start("--once", DESTINATION_REQUESTS_PER_S="1000", **settings).wait(600) == 0

    def web(self):
        return [seen for seen in self.network.requests() if seen["kind"] == "web"]

    def trapped(self):
        return [seen for seen in self.network.requests() if seen["kind"] == "trap"]

    def end(self):
        for process in self.processes:
            process.kill()
            process.wait()
        self.network.end()


@pytest.fixture(scope="module")
def postgres():
    """The administrator's URL of the shared stack's server, or of a stack of its own."""
    if "ADMIN_PG_URL" in os.environ:
        yield os.environ["ADMIN_PG_URL"]
        return
    state = BUILD / "stacks" / f"chaos-{os.getpid()}-destinations"
    stack = [ROOT / "tools/stack"]
    subprocess.run([*stack, "up", "--state", state, "--build", BUILD, "--services", "none", "--tied-to", str(os.getpid())], check=True)
    shown = subprocess.run([*stack, "env", "--state", state], check=True, capture_output=True, text=True).stdout
    yield shlex.split(next(line for line in shown.splitlines() if "ADMIN_PG_URL=" in line))[-1].partition("=")[2]
    subprocess.run([*stack, "down", "--state", state], check=True)
    shutil.rmtree(state)


@pytest.fixture(scope="module")
def database(postgres):
    made = Database(postgres)
    yield made
    made.end()


@pytest.fixture
def harness(database):
    database.empty()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="waymark-net-"))
    try:
        made = Harness(folder, database)
    except CannotBeMade as problem:
        pytest.skip(f"no network of its own can be made here: {problem}")
    yield made
    made.end()
    shutil.rmtree(folder)


class TestAddresses:
    def traps(self):
        """URLs that lead to a private place in each way, with their allowed statuses, and the plan of the servers."""
        hosts, private = addresses.hosts(SEED), addresses.not_global(SEED)
        zone, pages = {"hub.test": [[GLOBAL_4, GLOBAL_6]]}, {"*/get-only": {"head_status": 405}}
        literal = {f"http://{host}/": (0,) for host in hosts}
        named = {}
        for n, address in enumerate(private):
            turns = {
                f"only-{n}": [[address]],
                f"beside-{n}": [[GLOBAL_4, GLOBAL_6, address]],
                f"before-{n}": [[address, GLOBAL_4, GLOBAL_6]],
                f"second-{n}": [[GLOBAL_4], [address]],  # robots.txt gets the first answer
                f"third-{n}": [[GLOBAL_4], [GLOBAL_4], [address]],  # HEAD the second, GET the third
            }
            if not FULL:
                kept = ("only", ("beside", "before", "second", "third")[n % 4])
                turns = {name: answers for name, answers in turns.items() if name.split("-")[0] in kept}
            zone |= {f"{name}.test": answers for name, answers in turns.items()}
            named |= {f"http://{name}.test/get-only": (0,) for name in turns}
        targets = [f"http://{host}/" for host in hosts] + [f"http://only-{n}.test/" for n in range(0, len(private), 10)] + [*SCHEMES]
        for n, target in enumerate(targets):
            pages[f"hub.test/to/{n}"] = {"status": (301, 302, 303, 307, 308)[n % 5], "location": target.encode().decode("latin-1")}
        # A redirect that libcurl cannot read is the last answer.
        redirected = {f"http://hub.test/to/{n}": (0, 301, 302, 303, 307, 308) for n in range(len(targets))}
        return literal, named, redirected, {"zone": zone, "pages": pages}

    def test_no_packet_goes_to_an_address_that_is_not_global(self, harness, record_property):
        literal, named, redirected, plan = self.traps()
        assert min(len(literal), len([url for url in named if "/only-" in url]), len(redirected)) >= 300
        harness.network.serve(plan)
        wanted = {**literal, **named, **redirected, "http://hub.test/": (200,), f"http://[{GLOBAL_6}]/": (200,)}
        harness.database.add_links(wanted)
        before, _ = harness.network.packets()
        harness.check_all()
        after, tcp = harness.network.packets()
        record_property("did", f"{len(literal)} names as links, {len(named)} by DNS, {len(redirected)} by redirects")
        record_property("packets to addresses that are not global", after - before)
        record_property("packets of TCP in all", tcp)
        print(f"checked {len(wanted)} links, seed {SEED}: packets not global {after - before}, TCP in all {tcp}")
        assert after - before == 0
        assert harness.trapped() == []
        got = harness.database.statuses()
        assert {url: got.get(url, "not checked") for url, right in wanted.items() if got.get(url, "not checked") not in right} == {}
        # It did send requests: for each redirect, and to the first address of each host that moved.
        asked = {(seen["host"], seen["path"]) for seen in harness.web()}
        assert {("hub.test", urllib.parse.urlsplit(url).path) for url in redirected} <= asked
        moved = {urllib.parse.urlsplit(url).hostname for url in named if "/second-" in url or "/third-" in url}
        assert moved <= {host for host, path in asked if path == "/robots.txt"}

    @pytest.mark.parametrize("way", ["literal", "named", "redirected", "rebound"])
    def test_control_detects_a_client_without_checks(self, harness, way):
        """curl in the same network connects to any address."""
        names = [f"trap-{n}.test" for n in range(len(servers.TRAPS))]
        zone = {name: [[address]] for name, address in zip(names, servers.TRAPS)} | {"hub.test": [[GLOBAL_4]]}
        zone["moving.test"] = [[GLOBAL_4], ["127.0.0.1"]]
        pages = {f"hub.test/{n}": {"status": 302, "location": f"http://{addresses.bracketed(a)}/"} for n, a in enumerate(servers.TRAPS)}
        harness.network.serve({"zone": zone, "pages": pages})
        (harness.network.folder / "resolv.conf").write_text(f"nameserver {servers.RESOLVER}\n")
        urls = {
            "literal": [f"http://{addresses.bracketed(address)}/" for address in servers.TRAPS] + ["http://192.168.7.7/", "http://[fd12::7]/"],
            "named": [f"http://{name}/" for name in names],
            "redirected": [f"http://hub.test/{n}" for n in range(len(servers.TRAPS))],
            "rebound": ["http://moving.test/", "http://moving.test/"],
        }[way]
        for number, url in enumerate(urls):
            before, _ = harness.network.packets()

            def sends_a_packet(url=url, before=before):
                """A busy machine may take longer than curl waits for a name or a page."""
                self.ask_with_curl(harness, url)
                return harness.network.packets()[0] > before

            if way != "rebound" or number == 1:
                wait_until(sends_a_packet, f"a packet to {url}")
            else:
                self.ask_with_curl(harness, url)

    @staticmethod
    def ask_with_curl(harness, url):
        mounted = f"mount --bind {harness.network.folder}/resolv.conf /etc/resolv.conf && exec curl -sL -o /dev/null --max-time 1 {url}"
        # libc resolves names through /etc/resolv.conf, which is replaced in a mount namespace.
        subprocess.run([*harness.network.enter, "unshare", "--mount", "sh", "-c", mounted], check=False)


class TestPoliteness:
    def test_is_off_unless_asked_for(self, harness):
        harness.network.serve({"zone": {"hub.test": [[GLOBAL_4]]}, "pages": {}})
        harness.database.add_links(["http://hub.test/"])
        assert harness.start("--once", DESTINATION_CHECKS="").wait(300) == 0
        assert harness.database.statuses() == {}
        assert harness.network.requests() == []
        assert harness.database.ask("SELECT 1 FROM shedlock WHERE name = 'waymark-destinations'") == []

    def test_follows_three_redirects_reads_little_and_stores_the_status(self, harness):
        hops = {f"hub.test/hop/{n}": {"status": 302, "location": f"/hop/{n + 1}"} for n in range(10) if n != 3}
        pages = hops | {
            "hub.test/long/0": {"status": 301, "location": "http://[%s]/hop/4" % GLOBAL_6},
            "hub.test/gone": {"status": 404},
            "hub.test/no-head": {"head_status": 405, "bytes": 1 << 26},
            "huge.test/robots.txt": {"bytes": 1 << 26},
            "hub.test/moved": {"status": 308, "location": "http://hub.test:8080/there"},
            "hub.test/to-redis": {"status": 302, "location": "http://hub.test:6379/"},
        }
        harness.network.serve({"zone": {"hub.test": [[GLOBAL_4, GLOBAL_6]], "huge.test": [[GLOBAL_6]]}, "pages": pages})
        wanted = {"/hop/0": 200, "/hop/4": 302, "/gone": 404, "/no-head": 200, "/moved": 200, "/to-redis": 302}
        wanted = {f"http://hub.test{path}": status for path, status in wanted.items()}
        wanted |= {"http://huge.test/": 200, "http://nobody.test/": 0, f"http://{GLOBAL_4}:80/": 200}
        harness.database.add_links([*wanted, "http://hub.test:6379/", "https://hub.test/"])
        links = "SELECT id, version, updated_at FROM links ORDER BY id"
        untouched = harness.database.ask(links)
        harness.check_all(DESTINATION_RETRY_S="100", DESTINATION_RECHECK_S="5000")
        got = harness.database.statuses()
        assert {url: got.get(url) for url in wanted} == wanted
        assert got["https://hub.test/"] == 0  # nothing listens there
        assert "http://hub.test:6379/" not in got
        assert harness.database.ask("SELECT destination_status FROM links WHERE original_url = 'http://hub.test:6379/'") == [(None,)]
        # The fourth redirect was not followed: /hop/4 to /hop/7 and no further.
        paths = [seen["path"] for seen in harness.web() if seen["host"] == "hub.test"]
        assert paths.count("/hop/7") == 1 and "/hop/8" not in paths
        assert [seen["method"] for seen in harness.web() if seen["path"] == "/no-head"] == ["HEAD", "GET"]
        assert all(seen["agent"].startswith("Waymark/") for seen in harness.web())
        # The body has 64 MiB. Only as much was sent as fits into the buffers of two sockets.
        sent = {(seen["host"], seen["path"]): seen["bytes"] for seen in harness.network.requests() if seen["kind"] == "sent"}
        assert {("hub.test", "/no-head"), ("huge.test", "/robots.txt")} <= set(sent)
        assert all(count < 1 << 24 for count in sent.values()), sent
        assert harness.database.ask(links) == untouched
        assert harness.database.ask("SELECT count(*) FROM outbox") == [(0,)]
        self.back_off(harness)

    def back_off(self, harness):
        wait = "SELECT failed_checks, extract(epoch FROM next_check_at - last_checked_at)::int FROM links WHERE original_url = %s"
        dead, alive = "http://hub.test/gone", "http://hub.test/hop/0"
        for failures in range(1, 5):
            assert harness.database.ask(wait, dead)[0][0] == failures
            assert 100 << (failures - 1) <= harness.database.ask(wait, dead)[0][1] <= 1.1 * (100 << (failures - 1)) + 1
            harness.database.ask("UPDATE links SET next_check_at = now() WHERE original_url = %s", dead)
            harness.check_all(DESTINATION_RETRY_S="100")
        assert harness.database.ask(wait, alive)[0][0] == 0
        assert 5000 <= harness.database.ask(wait, alive)[0][1] <= 5501
        # A new destination is due at once.
        harness.database.ask("UPDATE links SET original_url = %s WHERE original_url = %s", "http://hub.test/new", dead)
        now = "SELECT destination_status, last_checked_at, failed_checks, next_check_at <= now() FROM links WHERE original_url = %s"
        assert harness.database.ask(now, "http://hub.test/new") == [(None, None, 0, True)]

    def test_asks_five_times_a_second_and_a_host_no_faster_than_it_allows(self, harness, promise):
        zone = {f"h{n}.test": [[GLOBAL_4]] for n in range(6)} | {"slow.test": [[GLOBAL_6]]}
        robots = "User-agent: other\nCrawl-delay: 9\n\nUser-agent: waymark\nCrawl-delay: 1\n"
        pages = {"slow.test/robots.txt": {"body": robots}, "slow.test/1": {"status": 301, "location": "/2"}}
        harness.network.serve({"zone": zone, "pages": pages})
        harness.database.add_links([f"http://h{n}.test/" for n in range(6)] + [f"http://slow.test/{n}" for n in range(2)])
        # Of two janitors, the one without the lock does nothing.
        janitors = [harness.start() for _ in range(2)]
        wait_until(lambda: len(harness.database.statuses()) == 8, "all links to be checked")
        for janitor in janitors:
            janitor.terminate()
        assert [janitor.wait(300) for janitor in janitors] == [0, 0]
        web = [seen for seen in harness.network.requests() if seen["kind"] in ("web", "end")]
        begins = [seen["at"] for seen in web if seen["kind"] == "web"]
        assert len(begins) == 6 * 2 + 3
        # Without a limit it would take a fraction of a second.
        assert begins[-1] - begins[0] >= 1.5, begins
        promise("six requests take", min(later - earlier for earlier, later in zip(begins, begins[5:])), 0.95, "s", at_most=False)
        slow = [seen for seen in web if seen["host"] == "slow.test" and seen["kind"] == "web"]
        assert slow[-1]["at"] - slow[0]["at"] >= 1, slow
        promise("a host with Crawl-delay 1 rests for", min(b["at"] - a["at"] for a, b in zip(slow, slow[1:])), 0.95, "s", at_most=False)
        assert [seen["method"] for seen in slow] == ["GET"] * 3
        # The redirect leads to the same host, which has to rest, so the redirect is the answer.
        assert harness.database.statuses()["http://slow.test/1"] == 301
        # One request at a time, over all hosts.
        assert [seen["kind"] for seen in web] == ["web", "end"] * len(begins)

    def test_waits_three_seconds_for_a_page_and_for_a_name(self, harness, promise):
        zone = {"quick.test": [[GLOBAL_4]], "late.test": [[GLOBAL_4]], "mute.test": "mute"}
        harness.network.serve({"zone": zone, "pages": {"late.test/": {"wait_s": 120}}})
        took = {}
        for name in zone:
            harness.database.add_links([f"http://{name}/"])
            began = time.monotonic()
            harness.check_all()
            took[name] = time.monotonic() - began
            assert (harness.database.statuses()[f"http://{name}/"] == 0) == (name != "quick.test")
        assert 2.9 < min(took["late.test"], took["mute.test"]), took
        assert max(took.values()) < 60, "it waits for the end of the page"
        promise("a page or a name that does not come costs", max(took["late.test"], took["mute.test"]), 4 + took["quick.test"], "s")


class TestTitles:
    """links-api requests pages by the same client."""

    def test_reads_titles_as_text_and_little_of_a_page(self, harness):
        html, script = "text/html; charset=utf-8", "</b><script>alert(1)</script>"
        pages = {
            "hub.test/plain": {"type": html, "body": "<title> Gr\u00fc\u00dfe &amp; mehr\n</title>"},
            "hub.test/script": {"type": html, "body": f"<title>{script}</title>"},
            "hub.test/latin": {"type": "text/html", "encoding": "latin-1", "body": "<title>Gr\u00fc\u00dfe</title>"},
            "hub.test/og": {"type": html, "body": "<meta property=og:title content='Of it'>"},
            "hub.test/huge": {"type": html, "body": "<title>Huge</title>", "bytes": 1 << 26},
            "hub.test/late": {"type": html, "body": "<p>" * (1 << 15) + "<title>Too late</title>"},
            "hub.test/lasting": {"type": html, "body": "<title>Lasting</title>", "lasts_s": 120},
            "hub.test/text": {"type": "text/plain", "body": "<title>No</title>"},
            "hub.test/unknown": {"type": "text/html; charset=x-none", "body": "<title>No</title>"},
            "hub.test/moved": {"status": 302, "location": f"http://[{GLOBAL_6}]/there"},
            "*/there": {"type": html, "body": "<title>There</title>"},
        }
        harness.network.serve({"zone": {"hub.test": [[GLOBAL_4, GLOBAL_6]]}, "pages": pages})
        harness.start_api()
        wanted = {"plain": "Gr\u00fc\u00dfe & mehr", "script": script, "latin": "Gr\u00fc\u00dfe", "og": "Of it", "huge": "Huge", "late": None}
        wanted |= {"lasting": "Lasting", "text": None, "unknown": None, "moved": "There"}
        assert {name: harness.title_of(f"http://hub.test/{name}") for name in wanted} == wanted
        assert all(seen["method"] == "GET" and "reads the titles of pages" in seen["agent"] for seen in harness.web())
        sent = [seen["bytes"] for seen in harness.network.requests() if seen["kind"] == "sent" and seen["path"] == "/huge"]
        assert len(sent) == 1 and sent[0] < 1 << 24, sent

    def test_refuses_what_a_link_may_not_lead_to_and_sends_no_packet_there(self, harness):
        title = {"type": "text/html", "body": "<title>Secret</title>"}
        to = {"private": "http://127.0.0.1/", "named": "http://private.test/", "own": "http://own.test/", "blocked": "http://blocked.test/", "port": "http://hub.test:6379/", "file": "file:///etc/passwd"}
        pages = {f"hub.test/to/{name}": {"status": 302, "location": url} for name, url in to.items()} | {"*/": title}
        pages |= {f"hub.test/hop/{n}": {"status": 302, "location": f"/hop/{n + 1}"} for n in range(4)} | {"hub.test/hop/4": title, "hub.test/gone": {"status": 404, **title}}
        zone = {"hub.test": [[GLOBAL_4]], "private.test": [["10.0.0.1"]], "beside.test": [[GLOBAL_4, "127.0.0.1"]]} | {f"{name}.test": [[GLOBAL_4]] for name in ("own", "blocked")}
        harness.network.serve({"zone": zone | {"moving.test": [[GLOBAL_4], ["127.0.0.1"]]}, "pages": pages})
        (harness.network.folder / "blocked").write_text("blocked.test\n")
        harness.start_api(BLOCKED_HOSTS_FILE=str(harness.network.folder / "blocked"))
        before, _ = harness.network.packets()
        unreachable = [f"http://{addresses.bracketed(address)}/" for address in servers.TRAPS] + ["http://private.test/", "http://beside.test/", "http://nobody.test/"]
        unreachable += ["http://hub.test:6379/", "http://hub.test/gone", "http://hub.test/hop/0", *(f"http://hub.test/to/{name}" for name in to)]
        assert {url: harness.title_of(url) for url in unreachable} == dict.fromkeys(unreachable, "page-not-found")
        codes = {"http://own.test/": "url-self", "http://blocked.test/": "url-blocked", "ftp://hub.test/": "url-scheme"}
        assert {url: harness.title_of(url) for url in codes} == codes
        assert [harness.title_of(url) for url in ("http://hub.test/", "http://hub.test/hop/1", "http://moving.test/", "http://moving.test/")] == ["Secret"] * 3 + ["page-not-found"]
        assert harness.network.packets()[0] - before == 0
        assert harness.trapped() == []
        assert {seen["host"] for seen in harness.web()} == {"hub.test", "moving.test"}

    def test_takes_few_at_once_little_time_and_no_worker_of_others(self, harness):
        slow = {"type": "text/html", "wait_s": 120}
        harness.network.serve({"zone": {"hub.test": [[GLOBAL_4]], "mute.test": "mute"}, "pages": {"hub.test/slow": slow, "hub.test/": {"type": "text/html", "body": "<title>Hub</title>"}}})
        harness.start_api(HTTP_WORKERS="2")
        with concurrent.futures.ThreadPoolExecutor(12) as threads:
            began = time.monotonic()
            asked = [threads.submit(harness.title_of, url) for url in ["http://hub.test/slow"] * 10 + ["http://mute.test/"] * 2]
            wait_until(lambda: any(one.done() for one in asked), "one to be refused")
            assert "busy" in [one.result() for one in asked if one.done()]
            assert harness.ask_api("/api/links")[0] == 200
            assert not all(one.done() for one in asked), "the list waited for the pages"
            answers = [one.result() for one in asked]
        assert set(answers) == {"busy", "page-not-found"} and answers.count("page-not-found") <= 10
        assert time.monotonic() - began < 60
        seen = []
        while "rate-limit" not in seen and len(seen) < 300:
            seen.append(harness.title_of("http://hub.test/"))
        assert set(seen) == {"Hub", "rate-limit"}

    def test_is_off_unless_asked_for(self, harness):
        harness.network.serve({"zone": {"hub.test": [[GLOBAL_4]]}, "pages": {}})
        harness.start_api(FETCH_TITLES="")
        assert harness.title_of("http://hub.test/") == "page-titles-off"
        assert harness.ask_api("/api/instance")[1]["page_titles"] is False
        assert harness.network.requests() == []
