"""Eight janitors on one database, with clocks that differ by hours, and a log that the database keeps of their batches."""

import collections
import contextlib
import os
import pathlib
import random
import signal
import subprocess
import threading
import time

import psycopg2
from harness import BUILD, ROOT, Stack, wait_until
from processes import popen

FAKETIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1"
JANITORS = 8
CLOCKS = ("+0", "+1h", "-1h")
AT_MOST_S = 1
LOCK = "waymark-expiry"
BATCH_S = 0.05
TAKING, TAKING_S = 8, 0.03
DUE_LINKS_PER_S = 200
VARIABLES = {
    "OPS_PORT": 0,
    "LOG_LEVEL": "debug",  # a line per round
    "EXPIRY_PERIOD_S": 1,
    "EXPIRY_FIRST_DELAY_S": 0,
    "EXPIRED_GRACE_S": 0,
    "DELETED_GRACE_S": 0,
    "LOCK_AT_LEAST_S": 0,
    "LOCK_AT_MOST_S": AT_MOST_S,
    "SALTS_FIRST_DELAY_S": 86400,
    "PARTITIONS_FIRST_DELAY_S": 86400,
    # PostgreSQL, or another janitor, ends the transaction of a frozen janitor after twice that time.
    "PG_STATEMENT_TIMEOUT_MS": 600,
}

# Triggers record each committed batch, its run, and the holder of the lock at its commit. A batch that overlaps with
# another one does not get the advisory lock. They also slow down taking the lock, so that a test can hit that moment.
BATCH_LOG = f"""
CREATE TABLE batch (id bigserial PRIMARY KEY, run int, is_alone bool, began timestamp, ended timestamp, locked_by text);
CREATE FUNCTION begin_batch() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
    IF current_setting('waymark.run', true) <> '' THEN
        INSERT INTO batch (run, is_alone, began) VALUES
            (current_setting('waymark.run')::int, pg_try_advisory_xact_lock(7), timezone('utc', clock_timestamp()));
        PERFORM pg_sleep({BATCH_S});
    END IF;
    RETURN NULL;
END $$;
CREATE FUNCTION end_batch() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
    UPDATE batch SET ended = timezone('utc', clock_timestamp()), locked_by = shedlock.locked_by
        FROM shedlock WHERE shedlock.name = '{LOCK}' AND batch.id = NEW.id;
    RETURN NULL;
END $$;
CREATE FUNCTION take_lock() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
    PERFORM pg_advisory_xact_lock({TAKING}, current_setting('waymark.run')::int), pg_sleep({TAKING_S});
    RETURN NULL;
END $$;
CREATE TRIGGER take_lock AFTER UPDATE ON shedlock FOR EACH ROW
    WHEN (NEW.name = '{LOCK}' AND NEW.fence > OLD.fence) EXECUTE FUNCTION take_lock();
CREATE TRIGGER begin_batch AFTER UPDATE OR DELETE ON links FOR EACH STATEMENT EXECUTE FUNCTION begin_batch();
CREATE CONSTRAINT TRIGGER end_batch AFTER INSERT ON batch DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION end_batch();
"""
OVERLAPPING = """
SELECT count(*) FROM (SELECT run, began, is_alone, lag(run) OVER next AS other, lag(ended) OVER next AS other_ended
    FROM batch WINDOW next AS (ORDER BY began)) AS pair
    WHERE NOT is_alone OR (run <> other AND began < other_ended)
"""

Tenure = collections.namedtuple("Tenure", "holder fence since is_working now")


class Database:
    """A database of its own on the server of admin_url."""

    def __init__(self, admin_url):
        self.admin_url, self.name = admin_url, f"janitors_{os.getpid()}"
        self._alone(f"CREATE DATABASE {self.name}")
        environment = {**os.environ, "PG_URL": self.url(), "MIGRATIONS_DIR": str(ROOT / "db/migrations")}
        subprocess.run([BUILD / "bin/migrate"], env=environment, check=True, capture_output=True)
        self.connection = self.connect()
        self.do(BATCH_LOG)
        # A login as in production: the rights of a role set with SET ROLE do not end a frozen janitor's connection.
        self.do(f"CREATE ROLE {self.name} LOGIN PASSWORD '{self.name}' IN ROLE waymark_janitor")

    def _alone(self, command):
        connection = psycopg2.connect(self.admin_url)
        connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute(command)
        connection.close()

    def url(self):
        return f"{self.admin_url.rpartition('/')[0]}/{self.name}"

    def janitor_url(self):
        server = self.url().rpartition("@")[2]
        return f"postgresql://{self.name}:{self.name}@{server}"

    def connect(self):
        connection = psycopg2.connect(self.url())
        connection.autocommit = True
        return connection

    def do(self, sql):
        with self.connection.cursor() as cursor:
            cursor.execute(sql)

    def row(self, sql):
        with self.connection.cursor() as cursor:
            cursor.execute(sql)
            return cursor.fetchone()

    def tenure(self):
        """The present or last holder of the lock; is_working is false once the lock was released or has run out."""
        row = self.row(
            "SELECT locked_by, fence, locked_at, lock_until > now AND"
            f" lock_until - locked_at >= interval '{AT_MOST_S} s', now FROM shedlock,"
            f" (SELECT timezone('utc', clock_timestamp())) AS clock (now) WHERE name = '{LOCK}'"
        )
        return Tenure(*row) if row else Tenure("", 0, None, False, None)

    def taking(self):
        """The run that is taking the lock right now, or None."""
        row = self.row(f"SELECT objid::int FROM pg_locks WHERE locktype = 'advisory' AND classid = {TAKING}")
        return row[0] if row else None

    def next_taking(self):
        """Waits until a run takes the lock; returns that run."""
        deadline = time.monotonic() + 300
        while (run := self.taking()) is None:
            assert time.monotonic() < deadline, "no janitor takes the lock"
            time.sleep(0.002)
        return run

    def drop(self):
        self.connection.close()
        self._alone(f"DROP DATABASE {self.name} WITH (FORCE)")
        self._alone(f"DROP ROLE {self.name}")


class DueLinks(threading.Thread):
    """Inserts links that have already expired, at a steady rate."""

    def __init__(self, database):
        super().__init__(daemon=True)
        self.connection, self.is_running, self.links = database.connect(), True, 0
        self.start()

    def run(self):
        count = DUE_LINKS_PER_S // 10
        while self.is_running:
            with self.connection.cursor() as cursor:
                cursor.execute(
                    "INSERT INTO links (slug, link_type, original_url, expires_at) SELECT 'due-' || n, 'TEMPORARY',"
                    " 'https://example.com/', clock_timestamp() FROM generate_series(%s, %s) n",
                    (self.links, self.links + count - 1),
                )
            self.links += count
            time.sleep(0.1)

    def stop(self):
        self.is_running = False
        self.join()
        self.connection.close()


class Janitors:
    def __init__(self, program, database, folder):
        self.program, self.database = program, database
        self.processes = [None] * JANITORS
        self.runs = []  # the process of each run, by its number
        self.logs = [folder / f"janitor-{slot}.log" for slot in range(JANITORS)]
        for log in self.logs:
            log.touch()

    def start(self, slot, *words, **settings):
        options = f"-cwaymark.run%3D{len(self.runs)}"
        variables = {"PG_URL": f"{self.database.janitor_url()}?options={options}", **VARIABLES, **settings}
        offset = CLOCKS[slot % len(CLOCKS)]
        if offset != "+0":
            variables |= {"LD_PRELOAD": FAKETIME, "FAKETIME": offset, "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
        variables["ASAN_OPTIONS"] = "verify_asan_link_order=0"
        environment = {name: str(value) for name, value in variables.items()}
        with self.logs[slot].open("ab") as log:
            process = popen([self.program, *words], env=environment, stdout=log, stderr=log)
        self.processes[slot] = process
        self.runs.append(process)
        return process

    def slot_of(self, holder):
        """The slot of a holder "host/pid/uuid"; None if it has been replaced."""
        pids = [str(process.pid) for process in self.processes]
        pid = holder.split("/")[1] if holder else ""
        return pids.index(pid) if pid in pids else None

    def signal(self, slot, number):
        self.processes[slot].send_signal(number)

    def replace(self, slot):
        self.processes[slot].wait()
        self.start(slot)

    def end(self):
        for process in self.runs:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            process.wait()

    def rounds(self):
        """Per slot, how often the janitor tried its task: it did it, failed, or skipped it because another held the lock."""
        logs = [log.read_text(errors="replace") for log in self.logs]
        events = ("task_done", "task_skipped", "task_failed")
        return [sum(log.count(f'"event":"{event}"') for event in events) for log in logs]

    def lines(self, *words):
        """How many lines of the logs contain all these words."""
        logs = [log.read_text(errors="replace") for log in self.logs]
        return sum(all(word in line for word in words) for log in logs for line in log.splitlines())


class FaultInjector:
    """Kills and freezes the holder of the lock."""

    def __init__(self, janitors, seed):
        self.janitors, self.database = janitors, janitors.database
        self.random = random.Random(seed)
        self.takeovers_s, self.frozen = [], 0

    def _worker(self):
        """The slot of a janitor that is working."""
        wait_until(lambda: self.database.tenure().is_working, "a janitor at work")
        time.sleep(self.random.uniform(0, 2 * BATCH_S))
        tenure = self.database.tenure()
        return self.janitors.slot_of(tenure.holder) if tenure.is_working else None

    def _taker(self):
        """The slot of a janitor that is taking the lock and has no transaction yet."""
        process = self.janitors.runs[self.database.next_taking()]
        return self.janitors.processes.index(process) if process in self.janitors.processes else None

    def _strike(self, number):
        """Signals a worker or a taker; returns its slot, the time, and its tenure, None if it does not hold the lock."""
        while True:
            slot = self.random.choice((self._worker, self._taker))()
            if slot is not None:
                break
        struck_at = self.database.tenure().now
        self.janitors.signal(slot, number)
        wait_until(lambda: self.database.taking() is None, "the request for the lock to end")
        tenure = self.database.tenure()
        holds_it = tenure.is_working and self.janitors.slot_of(tenure.holder) == slot
        return slot, struck_at, tenure if holds_it else None

    def _successor(self, before):
        """Returns when the next holder took the lock."""
        wait_until(lambda: self.database.tenure().holder != before.holder, "another janitor to take over")
        return self.database.tenure().since

    def kill(self):
        """Returns true if the janitor died as the holder."""
        slot, struck_at, tenure = self._strike(signal.SIGKILL)
        if tenure:
            self.takeovers_s.append((self._successor(tenure) - struck_at).total_seconds())
        self.janitors.replace(slot)
        return tenure is not None

    def freeze(self):
        """Freezes a janitor until another holds its lock; returns true if it was the holder."""
        slot, _, tenure = self._strike(signal.SIGSTOP)
        if tenure:
            self._successor(tenure)
            time.sleep(self.random.uniform(0, 0.3))
            self.frozen += 1
        self.janitors.signal(slot, signal.SIGCONT)
        return tenure is not None

    def _wait_for_a_whole_run(self):
        fence = self.database.tenure().fence

        def is_done():
            tenure = self.database.tenure()
            return tenure.fence > fence and not tenure.is_working

        wait_until(is_done, "a run without a fault")

    def disturb(self, kills, freezes):
        acts = [self.kill] * kills + [self.freeze] * freezes
        self.random.shuffle(acts)
        for act in acts:
            self._wait_for_a_whole_run()
            while not act():
                pass


def not_the_holders(database, janitors):
    """How many batches were committed while another janitor held the lock."""
    with database.connection.cursor() as cursor:
        cursor.execute("SELECT run, split_part(locked_by, '/', 2)::int FROM batch")
        return sum(janitors.runs[run].pid != pid for run, pid in cursor)


@contextlib.contextmanager
def a_server():
    """PostgreSQL of the stack around this test, or of a stack of its own."""
    if "ADMIN_PG_URL" in os.environ:
        yield os.environ["ADMIN_PG_URL"]
        return
    stack = Stack(BUILD / "stacks" / f"janitors-{os.getpid()}", BUILD)
    try:
        stack.run("up", "--build", BUILD, "--services", "none", "--tied-to", os.getpid())
        yield stack.addresses()["ADMIN_PG_URL"]
    finally:
        stack.run("down")


@contextlib.contextmanager
def idle_janitors(folder, program=BUILD / "bin/janitor"):
    """A database, and janitors that have not been started."""
    with a_server() as admin_url:
        database = Database(admin_url)
        janitors = Janitors(program, database, pathlib.Path(folder))
        try:
            yield janitors
        finally:
            janitors.end()
            database.drop()


@contextlib.contextmanager
def janitors_at_work(folder, program=BUILD / "bin/janitor"):
    with idle_janitors(folder, program) as janitors:
        due_links = DueLinks(janitors.database)
        try:
            for slot in range(JANITORS):
                janitors.start(slot)
            yield janitors, due_links
        finally:
            due_links.stop()
