"""PgBouncer in transaction mode between PostgreSQL and the services that support it (docs/stores.md, PgBouncer)."""

import contextlib
import os
import pathlib
import shutil
import subprocess
import tempfile
import urllib.parse

import pytest
from harness import BUILD, size, wait_until
from processes import popen
from redirector_harness import RedirectorStack

from stacklib.ports import Ports

LINKS = size(2000, 20_000)  # none is in a cache, so each click looks in PostgreSQL
POOL = 3  # connections to the server, of each login
# Settings that a service makes itself on connections of its own.
SETTINGS = {"redirector": 2000, "consumer": 10_000, "janitor": 30_000}
BEHIND_IT = ("redirector-1", "consumer-1", "janitor-1")
CONFIG = """\
[databases]
waymark = host=127.0.0.1 port={server} dbname=waymark
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = {folder}/users
pool_mode = transaction
default_pool_size = {pool}
max_client_conn = 500
"""


class PgBouncer:
    """A process of PgBouncer, which refuses to run as root."""

    def __init__(self, server, users):
        self.ports = Ports()
        self.port = self.ports.take()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="waymark-pgbouncer-"))
        (self.folder / "users").write_text("".join(f'"{user}" "{password}"\n' for user, password in users.items()))
        (self.folder / "ini").write_text(CONFIG.format(server=server, port=self.port, folder=self.folder, pool=POOL))
        identity = []
        if os.geteuid() == 0:
            identity = ["--reuid", "postgres", "--regid", "postgres", "--clear-groups"]
            for path in (self.folder, self.folder / "users", self.folder / "ini"):
                shutil.chown(path, "postgres", "postgres")
        with open(self.folder / "log", "wb") as log:
            command = ["pgbouncer", self.folder / "ini"]
            self.process = popen(command, identity, stdout=log, stderr=log, stdin=subprocess.DEVNULL)

    def stop(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder)


class Pooled:
    """A stack in which three services, as children of the test, reach PostgreSQL through PgBouncer."""

    def __init__(self, folder):
        self.stack = RedirectorStack(folder, BUILD)
        self.children = {}
        self.stack.up(idle=(), EXPIRY_PERIOD_S=1, EXPIRY_FIRST_DELAY_S=1, LOCK_AT_LEAST_S=0)
        urls = {name: self.variables(name)["PG_URL"] for name in BEHIND_IT}
        logins = {parts.username: parts.password for parts in map(urllib.parse.urlsplit, urls.values())}
        server = urllib.parse.urlsplit(urls["redirector-1"]).port
        self.bouncer = PgBouncer(server, logins)
        with self.stack.store.connection.cursor() as cursor:
            for login, timeout_ms in SETTINGS.items():
                cursor.execute(f"ALTER ROLE {login} SET statement_timeout = {timeout_ms}")
                cursor.execute(f"ALTER ROLE {login} SET idle_in_transaction_session_timeout = {2 * timeout_ms}")
                cursor.execute(f"ALTER ROLE {login} SET timezone = 'UTC'")
        for name in BEHIND_IT:
            self.move(name, urls[name].replace(f":{server}/", f":{self.bouncer.port}/"))

    def variables(self, name):
        pairs = pathlib.Path(f"/proc/{self.stack.pid(name)}/environ").read_text().split("\0")
        return dict(pair.split("=", 1) for pair in pairs if pair)

    def move(self, name, url):
        program = os.readlink(f"/proc/{self.stack.pid(name)}/exe")
        environment = {**self.variables(name), "PG_URL": url, "PG_POOLED": "true"}
        self.stack.run("stop", name)
        with open(self.log(name), "wb") as log:
            self.children[name] = popen([program], env=environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL)

    def log(self, name):
        return pathlib.Path(self.stack.state, f"logs/pooled-{name}.log")

    def complaints(self):
        lines = (line for name in BEHIND_IT for line in self.log(name).read_text(errors="replace").splitlines())
        return [line for line in lines if '"level":"error"' in line or "Sanitizer" in line or "prepared statement" in line]

    def stop_services(self):
        for child in self.children.values():
            child.terminate()
        return [child.wait(300) for child in self.children.values()]

    def down(self):
        for child in self.children.values():
            with contextlib.suppress(ProcessLookupError):
                child.kill()
        self.bouncer.stop()
        self.stack.down()


@pytest.fixture
def pooled(tmp_path):
    made = Pooled(tmp_path / "stack")
    yield made
    made.down()


def is_ready(stack):
    try:
        return stack.readiness()[0] == 200
    except OSError:
        return False


def test_services_work_behind_pgbouncer_in_transaction_mode(pooled, record_property):
    stack = pooled.stack
    wait_until(lambda: is_ready(stack), "the redirector to be ready behind PgBouncer")
    stack.make_links("pooled", LINKS)
    log = stack.visitors("pooled", connections=32, rate=400, slug="pooled", slugs=LINKS, requests=LINKS).wait(300)
    counts = log.counts()
    assert set(counts) <= {302, 503} and counts[302] >= LINKS * 0.99, counts
    wait_until(lambda: stack.store.ask("SELECT count(*) FROM visit_log") >= counts[302], "all clicks to be counted")
    counted = "SELECT sum(visit_count + bot_count)::bigint FROM link_statistics WHERE link_id {} 0"
    assert [stack.store.ask(counted.format(which)) for which in (">", "=")] == [counts[302]] * 2

    slug = "INSERT INTO links (slug, link_type, original_url, expires_at) VALUES ('ends', 'TEMPORARY', 'https://example.com/', now()) RETURNING 1"
    stack.store.ask(slug)
    wait_until(lambda: stack.store.ask("SELECT count(*) FROM links WHERE slug = 'ends' AND state = 'ACTIVE'") == 0, "the janitor")
    most = stack.store.ask("SELECT max(n) FROM (SELECT count(*) n FROM pg_stat_activity WHERE usename = ANY ('{redirector,consumer,janitor}') GROUP BY usename) t")
    assert most <= POOL
    assert pooled.stop_services() == [0, 0, 0]
    assert pooled.complaints() == []

    record_property("did", f"redirector, consumer and janitor by PgBouncer in transaction mode, {POOL} connections each")
    record_property("links found in PostgreSQL", counts[302])
    record_property("503", counts[503])
    record_property("lost", 0)
    record_property("counted twice", 0)
