"""Pods of a new version may start before its migrations are applied. They wait, and /readyz names the reason."""

import http.client
import json
import os
import pathlib
import signal
import subprocess
import urllib.error
import urllib.request

import processes
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
from service import BASE, BUILD, SECRET, Database
from stacklib.ports import Ports
from waiting import wait_until

TIMEOUT_S = 300
UNREACHABLE = "127.0.0.1:1"
# The role of each service, and the checks that fail even with the right schema. Kafka is unreachable, so
# that no clicks of other tests are counted here.
ROLES = {
    "redirector": ("waymark_redirector", set()),
    "links-api": ("waymark_links_api", set()),
    "analytics-consumer": ("waymark_consumer", {"kafka"}),
    "janitor": ("waymark_janitor", set()),
}


def migrate(database, folder):
    variables = {"PG_URL": database.url(), "MIGRATIONS_DIR": str(folder)}
    run = subprocess.run([BUILD / "bin/migrate"], capture_output=True, text=True, env=variables, cwd=ROOT)
    assert run.returncode == 0, run.stdout + run.stderr


class Pod:
    def __init__(self, name, database, folder):
        self.name = name
        self.log = (folder / f"{name}.log").open("w+")
        self.ports = Ports()
        self.ops = f"http://127.0.0.1:{(port := self.ports.take())}"
        environment = {
            **{name: value for name, value in os.environ.items() if name.endswith("SAN_OPTIONS")},
            "PG_URL": database.url(ROLES[name][0]),
            "REDIS_URL": database.redis.url,
            "KAFKA_BROKERS": UNREACHABLE,
            "PUBLIC_BASE_URL": BASE,
            "JWT_SECRET": SECRET,
            "JOURNAL_DIR": str(folder / "journal"),
            "HTTP_PORT": "0",
            "OPS_PORT": str(port),
        }
        self.process = processes.popen([BUILD / "bin" / name], env=environment, stderr=self.log, stdout=self.log)

    def not_ready(self):
        """The names of the failing checks; None while the service does not answer."""
        try:
            with urllib.request.urlopen(f"{self.ops}/readyz", timeout=5):
                return set()
        except urllib.error.HTTPError as refused:
            return set(json.load(refused)["failing"])
        except (OSError, http.client.HTTPException):
            assert self.process.poll() is None, self.text()
            return None

    def has_logged(self, event):
        return f'"event":"{event}"' in self.text()

    def text(self):
        return pathlib.Path(self.log.name).read_text()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(TIMEOUT_S)
        text = self.text()
        assert "Sanitizer" not in text and "runtime error" not in text, text
        return status


@pytest.fixture
def database():
    database = Database(create=False)
    database._admin_sql(f"CREATE DATABASE {database.name}")
    yield database
    database.close()


@pytest.fixture
def older(tmp_path):
    """The migrations of the previous version."""
    folder = tmp_path / "migrations"
    folder.mkdir()
    for file in sorted((ROOT / "db/migrations").glob("*.sql"))[:-1]:
        (folder / file.name).symlink_to(file)
    return folder


@pytest.mark.parametrize("is_empty", [True, False])
def test_services_are_not_ready_before_their_migrations_are_applied(database, older, tmp_path, is_empty):
    if not is_empty:
        migrate(database, older)
    pods = [Pod(name, database, tmp_path) for name in ROLES]
    try:
        for pod in pods:
            wait_until(lambda pod=pod: "schema" in (pod.not_ready() or ()), f"{pod.name} to wait for the schema")
            wait_until(lambda pod=pod: pod.has_logged("postgres_schema_too_old"), f"{pod.name} to log it")
            assert not pod.has_logged("postgres_statement_failed"), pod.text()
        migrate(database, ROOT / "db/migrations")
        for pod in pods:
            wanted = ROLES[pod.name][1]
            wait_until(lambda pod=pod, wanted=wanted: pod.not_ready() == wanted, f"only {wanted or 'nothing'} to fail in {pod.name}")
    finally:
        statuses = {pod.name: pod.stop() for pod in pods}
    assert {name: status for name, status in statuses.items() if status} == {}
