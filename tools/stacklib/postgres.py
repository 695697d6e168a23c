"""PostgreSQL: a private cluster with the database waymark, its migrations and one login per service."""

import asyncio
import contextlib
import os
import pwd
import shutil
import signal
import urllib.parse

from . import paths, tool
from .errors import StackError
from .member import Member
from .state import TIMEOUT_S

BIN = paths.postgres_programs()
ADMIN = "waymark_admin"
CONNECTIONS = 1000  # Sixteen tests at once, as on a machine with six processors, need more than 200.
DATABASE = "waymark"

# Login → the role that it is granted (db/migrations/0001_roles.sql).
LOGINS = {
    "redirector": "waymark_redirector",
    "links_api": "waymark_links_api",
    "consumer": "waymark_consumer",
    "janitor": "waymark_janitor",
}


class Postgres(Member):
    stop_signal = signal.SIGINT  # fast shutdown: ends sessions and writes a checkpoint

    def __init__(self, state, build, authority):
        super().__init__("postgres", state)
        self.build = build
        self.authority = authority
        self.data = state.path("postgres")

    def url(self, user=ADMIN, database=DATABASE):
        url = f"postgresql://{user}:{self.state.secret(user)}@127.0.0.1:{self.ports[0]}/{database}"
        if not self.authority:
            return url
        return f"{url}?sslmode=verify-full&sslrootcert={urllib.parse.quote(self.authority.certificate, safe='/')}"

    def launch(self):
        """PostgreSQL refuses to run as root, so that root starts it as the user postgres."""
        if os.geteuid() != 0:
            return tool.DIE_WITH_SUPERVISOR
        identity = ["--reuid", "postgres", "--regid", "postgres", "--init-groups"]
        if not self._postgres_can_reach(self.state.folder):
            # A parent folder is closed to other users, as in a checkout below /root. The capability lets postgres pass.
            identity += ["--inh-caps", "+dac_override", "--ambient-caps", "+dac_override"]
        return tool.DIE_WITH_SUPERVISOR + identity

    @staticmethod
    def _postgres_can_reach(folder):
        user = pwd.getpwnam("postgres")
        while True:
            facts = os.stat(folder)
            passes = 0o100 if facts.st_uid == user.pw_uid else 0o010 if facts.st_gid == user.pw_gid else 0o001
            if not facts.st_mode & passes:
                return False
            if folder == "/":
                return True
            folder = os.path.dirname(folder)

    async def prepare(self):
        await self._wait_for_session_processes()
        with contextlib.suppress(FileNotFoundError):
            # No process uses the data, so the lock is stale. PostgreSQL does not detect this if the old owner is a zombie.
            os.remove(os.path.join(self.data, "postmaster.pid"))
        if not os.path.exists(os.path.join(self.data, "PG_VERSION")):
            shutil.rmtree(self.data, ignore_errors=True)
            os.makedirs(self.data, mode=0o700)
            self._chown_to_postgres(self.data)
            with self._password_file() as password_file:
                await self._initdb(password_file)
        if self.authority:
            await self._refuse_plaintext()

    async def _initdb(self, password_file):
        argv = [f"{BIN}/initdb", "-D", self.data, "-U", ADMIN, "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"]
        argv += ["-A", "scram-sha-256", f"--pwfile={password_file}", "--no-instructions"]
        await tool.run(argv, log=self.state.log("initdb"), launch=self.launch())

    async def _refuse_plaintext(self):
        """Accepts TLS only. PostgreSQL requires that it owns its key."""
        _, key = await self.authority.sign("postgres")
        self._chown_to_postgres(key)
        rules = os.path.join(self.data, "pg_hba.conf")
        self.state.write_secret(rules, "hostssl all all 127.0.0.1/32 scram-sha-256\n")
        self._chown_to_postgres(rules)

    @staticmethod
    def _chown_to_postgres(path):
        if os.geteuid() == 0:
            shutil.chown(path, "postgres", "postgres")

    @contextlib.contextmanager
    def _password_file(self):
        path = self.data + ".password"
        self.state.write_secret(path, self.state.secret(ADMIN))
        self._chown_to_postgres(path)
        try:
            yield path
        finally:
            os.remove(path)

    def command(self):
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": self.ports[0],
            "unix_socket_directories": "",
            "max_connections": CONNECTIONS,
            "timezone": "UTC",
            "log_timezone": "UTC",
            "log_line_prefix": "%m [%p] %q%u@%d ",
            # Off in tests, which kill processes and never the machine: a third of PostgreSQL's CPU time there.
            "fsync": os.environ.get("STACK_FSYNC", "on"),
        }
        if self.authority:
            certificate, key = self.authority.path("postgres.pem"), self.authority.path("postgres.key")
            settings |= {"ssl": "on", "ssl_cert_file": certificate, "ssl_key_file": key}
        return [f"{BIN}/postgres", "-D", self.data] + [f"--{name}={value}" for name, value in settings.items()]

    async def probe(self):
        try:
            await tool.run([f"{BIN}/pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.ports[0]), "-t", "2"])
        except StackError:
            return "pg_isready fails"
        return None

    async def initialize(self):
        if not (await self._sql(f"SELECT 1 FROM pg_database WHERE datname = '{DATABASE}'", "postgres")).strip():
            await self._sql(f"CREATE DATABASE {DATABASE}", "postgres")
        migrate = paths.program(self.build, "migrate")
        migrations = os.path.join(paths.source_tree(self.build), "db", "migrations")
        environment = {**os.environ, "PG_URL": self.url(), "MIGRATIONS_DIR": migrations}
        await tool.run([migrate], environment=environment, log=self.state.log("migrate"))
        for login, role in LOGINS.items():
            await self._sql(self._login_sql(login, role))

    def _login_sql(self, login, role):
        return f"""
            DO $$ BEGIN
                IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{login}') THEN CREATE ROLE {login}; END IF;
            END $$;
            ALTER ROLE {login} LOGIN PASSWORD '{self.state.secret(login)}';
            GRANT {role} TO {login};
        """

    async def _sql(self, text, database=DATABASE):
        connection = {"PGHOST": "127.0.0.1", "PGPORT": str(self.ports[0]), "PGUSER": ADMIN, "PGDATABASE": database}
        if self.authority:
            connection |= {"PGSSLMODE": "verify-full", "PGSSLROOTCERT": self.authority.certificate}
        environment = {**os.environ, **connection, "PGPASSWORD": self.state.secret(ADMIN)}
        argv = [f"{BIN}/psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1"]
        return await tool.run(argv, environment=environment, stdin=text)

    async def stop(self):
        stopped_in_time = await super().stop()
        await self._wait_for_session_processes()
        return stopped_in_time

    async def _wait_for_session_processes(self):
        """After a SIGKILL of the server its session processes survive for a moment and keep the data locked."""
        for _ in range(TIMEOUT_S * 20):
            if not any(self._runs_in_data(pid) for pid in os.listdir("/proc") if pid.isdigit()):
                return
            await asyncio.sleep(0.05)
        raise StackError(f"processes of the previous PostgreSQL still use {self.data}")

    def _runs_in_data(self, pid):
        try:
            return os.readlink(f"/proc/{pid}/cwd") == self.data
        except OSError:
            return False
