"""Starts links-api as a separate process on its own database, with its production permissions."""

import contextlib
import json
import os
import pathlib
import secrets
import signal
import subprocess
import tempfile
import urllib.parse

import processes
import psycopg2
import redis
from clients import ask
from stacklib.ports import Ports
from waiting import wait_until

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(os.environ.get("WAYMARK_BUILD_DIR", ROOT / "build/dev"))
SECRET = "0123456789abcdef0123456789abcdef"
BASE = "https://wm.example"


class Database:
    """A migrated database, accessed as its owner."""

    def __init__(self, create=True):
        self.admin = urllib.parse.urlsplit(os.environ.get("ADMIN_PG_URL") or os.environ["PG_URL"])
        self.name = f"links_api_{secrets.token_hex(6)}"
        self.connection = None
        self.redis = PrivateRedis()  # one per database: relays of two databases would conflict
        if create:
            self.create()

    def create(self):
        self._admin_sql(f"CREATE DATABASE {self.name} TEMPLATE waymark_migrated")
        self.connection = psycopg2.connect(self.url())
        self.connection.autocommit = True

    def _admin_sql(self, statement):
        connection = psycopg2.connect(self.admin.geturl())
        connection.autocommit = True
        connection.cursor().execute(statement)
        connection.close()

    def url(self, role=None):
        query = f"options=-crole%3D{role}" if role else ""
        return self.admin._replace(path=f"/{self.name}", query=query).geturl()

    def run(self, statement, *values):
        """Returns the rows, or None if the statement returns none."""
        with self.connection.cursor() as cursor:
            cursor.execute(statement, values)
            return cursor.fetchall() if cursor.description else None

    def value(self, statement, *values):
        return self.run(statement, *values)[0][0]

    @contextlib.contextmanager
    def locked(self, table, mode):
        """Statements that need a conflicting lock of the table wait."""
        with contextlib.closing(psycopg2.connect(self.url())) as blocker:
            blocker.cursor().execute(f"LOCK TABLE {table} IN {mode} MODE")
            yield

    def statements_waiting(self):
        return self.value("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'")

    def await_statements_waiting(self, count):
        wait_until(lambda: self.statements_waiting() == count, f"{count} statements to wait for the lock")

    def close(self):
        """The database stays until its server is gone: see tests/support/test_database.h."""
        if self.connection:
            self.connection.close()
        self.redis.stop()


class PrivateRedis:
    """A Redis that the test may freeze, fill and restart."""

    def __init__(self):
        self.ports = Ports()  # keeps the port for this Redis, also while it restarts
        self.port = self.ports.take()
        self.url = f"redis://127.0.0.1:{self.port}"
        self.folder = tempfile.TemporaryDirectory(prefix="redis-")
        self.client = redis.Redis.from_url(self.url)
        self.start()

    def start(self):
        self.process = processes.popen(
            ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
             "--dir", self.folder.name],
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        wait_until(self.responds, "Redis to respond")

    def restart(self):
        """kill -9, then a new process that loads the last snapshot."""
        self.process.kill()
        self.process.wait()
        self.start()

    def responds(self):
        try:
            return self.client.ping()
        except redis.ConnectionError:
            return False

    def freeze(self):
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self):
        self.process.send_signal(signal.SIGCONT)

    def run_id(self):
        """The run id, as stored with the generation."""
        return self.client.info("server")["run_id"][:16]

    def announced_generation(self):
        """(generation, server), or None."""
        value = self.client.get("link_cache:generation")
        return value and (int(value.split()[0]), value.split()[1].decode())

    def valid_entry(self, slug):
        """The entry if it belongs to the announced generation: (version, state), or "?". None otherwise."""
        words = (self.client.get(f"link:{slug.lower()}") or b"").decode(errors="replace").split(" ")
        announced = self.announced_generation()
        if not announced or words[0] not in ("5", "?") or int(words[1]) != announced[0]:
            return None
        return "?" if words[0] == "?" else (int(words[2]), int(words[4]))

    def stop(self):
        self.client.close()
        self.thaw()
        self.process.kill()
        self.process.wait()
        self.folder.cleanup()


class Service:
    """A running links-api on free ports; its log is a file."""

    def __init__(self, database, **variables):
        self.log = tempfile.NamedTemporaryFile(prefix="links-api-", suffix=".log")
        environment = {
            **{name: value for name, value in os.environ.items() if name.endswith("SAN_OPTIONS")},
            "PG_URL": database.url("waymark_links_api"),
            "REDIS_URL": database.redis.url,
            "KAFKA_BROKERS": os.environ["KAFKA_BROKERS"],
            "PUBLIC_BASE_URL": BASE,
            "JWT_SECRET": SECRET,
            "TRUSTED_PROXIES": "127.0.0.0/8",
            "HTTP_PORT": "0",
            "OPS_PORT": "0",
            "LINKS_PER_DAY": "unlimited",
            "ANONYMOUS_LINKS_PER_HOUR": "unlimited",
            "ACCOUNTS_PER_HOUR": "unlimited",
            "REQUESTS_PER_MINUTE": "unlimited",
            "BULK_LINKS_PER_MINUTE": "unlimited",
            "PASSWORD_HASH_COST": "4",
            "LIVE_STREAM_S": "1",
            # A busy machine may take long for a connection, for a statement, or to wake a worker.
            "PG_WAIT_MS": "60000",
            "PG_STATEMENT_TIMEOUT_MS": "60000",
            "PG_HEAVY_STATEMENT_TIMEOUT_MS": "60000",
            "HTTP_WORKER_WAIT_MS": "60000",
        }
        environment |= {name: str(value) for name, value in variables.items()}
        self.process = processes.popen([BUILD / "bin/links-api"], env=environment, stderr=self.log, stdout=self.log)
        started = wait_until(lambda: self.events("started"), "links-api to start")[0]
        self.url = f"http://127.0.0.1:{started['http_port']}"
        self.ops_url = f"http://127.0.0.1:{started['ops_port']}"

    def text(self):
        return pathlib.Path(self.log.name).read_text()

    def lines(self):
        assert self.process.poll() is None or self.process.returncode <= 0, self.text()
        return [json.loads(line) for line in self.text().splitlines() if line.startswith("{")]

    def events(self, name):
        return [line for line in self.lines() if line["event"] == name]

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        """Stops it with SIGTERM; the exit status is 0 and no sanitizer reports anything."""
        if self.process.poll() is None:
            self.signal(signal.SIGCONT)
            self.signal(signal.SIGTERM)
            assert self.process.wait(300) == 0, self.text()
        text = self.text()
        assert "Sanitizer" not in text and "runtime error" not in text, text


def metric(service, name):
    text = ask(service.ops_url, "GET", "/metrics").body.decode()
    return float(next(line.split()[1] for line in text.splitlines() if line.startswith(name + " ")))


def is_active(service):
    return metric(service, "waymark_outbox_relay_active") == 1
