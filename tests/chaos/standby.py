"""An asynchronous standby of a stack's PostgreSQL, which can be cut off and then take the place of the primary."""

import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import urllib.parse

import psycopg2
from clients import postgres_environment
from harness import wait_until
from processes import popen

from stacklib.ports import Ports
from stacklib.postgres import BIN, CONNECTIONS

TIMEOUT_S = 300
FAKETIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1"


class Standby:
    def __init__(self, stack, clock="+0"):
        """clock: how far its clock is from that of the primary, as libfaketime has it, such as "-1h"."""
        self.stack = stack
        self.clock = ("env", f"LD_PRELOAD={FAKETIME}", f"FAKETIME={clock}", "FAKETIME_DONT_FAKE_MONOTONIC=1") if clock != "+0" else ()
        self.primary = stack.env["ADMIN_PG_URL"]
        # PostgreSQL runs as another user if this is root, so the folder is one that everybody can reach.
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="waymark-standby-"))
        self.data = self.folder / "data"
        self.process = None
        head, _, tail = self.primary.rpartition(":")
        self.ports = Ports()
        self.port = self.ports.take()
        self.url = f"{head}:{self.port}/{tail.partition('/')[2]}"

    def __enter__(self):
        if os.geteuid() == 0:
            shutil.chown(self.folder, "postgres", "postgres")
        copy = [f"{BIN}/pg_basebackup", "--pgdata", self.data, "--checkpoint", "fast", "--no-sync", "--write-recovery-conf"]
        environment = {**os.environ, **postgres_environment(self.primary)}
        subprocess.run([*self.launch(), *copy], env=environment, check=True, capture_output=True, timeout=TIMEOUT_S)
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()
        shutil.rmtree(self.folder)

    def start(self):
        settings = {"listen_addresses": "127.0.0.1", "port": self.port, "unix_socket_directories": ""}
        settings["max_connections"] = CONNECTIONS  # a standby needs as many as its primary
        words = [f"--{name}={value}" for name, value in settings.items()]
        command = [*self.launch(), *self.clock, f"{BIN}/postgres", "-D", self.data, *words]
        with open(self.folder / "log", "ab") as log:
            self.process = popen(command, stdout=log, stderr=log, cwd="/")
        wait_until(self.is_up, "the standby to accept connections")

    @staticmethod
    def launch():
        return ["setpriv", "--reuid", "postgres", "--regid", "postgres", "--init-groups"] if os.geteuid() == 0 else []

    def is_up(self):
        with contextlib.suppress(psycopg2.OperationalError):
            return self.ask("SELECT true")
        assert self.process.poll() is None, (self.folder / "log").read_text()
        return False

    def ask(self, sql, url=None):
        connection = psycopg2.connect(url or self.url)
        connection.autocommit = True
        try:
            with connection.cursor() as cursor:
                cursor.execute(sql)
                return cursor.fetchone()[0] if cursor.description else None
        finally:
            connection.close()

    def cut_off(self):
        """Waits until the standby has all that is committed by now. It receives nothing from then on."""
        lsn = self.ask("SELECT pg_current_wal_lsn()", self.primary)
        wait_until(lambda: self.ask(f"SELECT pg_last_wal_replay_lsn() >= '{lsn}'"), "the standby to catch up")
        self.ask("ALTER SYSTEM SET primary_conninfo = ''")
        self.ask("SELECT pg_reload_conf()")
        wait_until(lambda: self.ask("SELECT count(*) FROM pg_stat_wal_receiver") == 0, "the standby to be cut off")

    def replace_primary(self):
        """The primary dies, the standby is promoted and runs at the primary's address from now on."""
        self.stack.run("kill", "-KILL", "postgres")
        assert self.ask(f"SELECT pg_promote(true, {TIMEOUT_S})")
        self.stop()
        data = pathlib.Path(self.stack.state, "postgres")
        shutil.rmtree(data)
        shutil.copytree(self.data, data)
        data.chmod(0o700)
        if os.geteuid() == 0:
            for path in (data, *data.rglob("*")):
                shutil.chown(path, "postgres", "postgres")
        self.stack.run("start", "postgres")
        wait_until(lambda: self.ask("SELECT NOT pg_is_in_recovery()", self.primary), "the new primary")

    def take_over(self):
        """The primary is dead. The standby is promoted and, until the block ends, runs at the primary's address."""
        assert self.ask(f"SELECT pg_promote(true, {TIMEOUT_S})")
        self.stop()
        self.url, self.port = self.primary, urllib.parse.urlsplit(self.primary).port
        self.start()

    def stop(self, number=signal.SIGINT):
        if self.process and self.process.poll() is None:
            self.process.send_signal(number)
            self.process.wait(TIMEOUT_S)
