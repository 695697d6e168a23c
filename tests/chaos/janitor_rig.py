"""Eight janitors on one database, whose clocks differ by hours, and a book that the database itself keeps of their batches."""

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
from rig import BUILD, ROOT, Stack, wait_until

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
    "LOG_LEVEL": "debug",  # one line per round
    "EXPIRY_PERIOD_S": 1,
    "EXPIRY_FIRST_DELAY_S": 0,
    "EXPIRED_GRACE_S": 0,
    "LOCK_AT_LEAST_S": 0,
    "LOCK_AT_MOST_S": AT_MOST_S,
    "SALTS_FIRST_DELAY_S": 86400,
    "PARTITIONS_FIRST_DELAY_S": 86400,
    # The transaction of a frozen janitor is ended after twice that.
    "PG_STATEMENT_TIMEOUT_MS": 600,
}

# Which batches were committed, by whom, and who had the lock when they were. A batch that finds another one under way
# does not get the advisory lock. Taking and extending the lock takes a moment, too, and shows who is at it.
BOOK = f"""
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
    """A database of its own; its server is the one that ADMIN_PG_URL names, or a stack's."""

    def __init__(self, admin_url):
        self.admin_url, self.name = admin_url, f"janitors_{os.getpid()}"
        self._alone("CREATE DATABASE")
        environment = {**os.environ, "PG_URL": self.url(), "MIGRATIONS_DIR": str(ROOT / "db/migrations")}
        subprocess.run([BUILD / "bin/migrate"], env=environment, check=True, capture_output=True)
        self.connection = self.connect()
        self.do(BOOK)

    def _alone(self, command, rest=""):
        connection = psycopg2.connect(self.admin_url)
        connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute(f"{command} {self.name} {rest}")
        connection.close()

    def url(self):
        return f"{self.admin_url.rpartition('/')[0]}/{self.name}"

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
        """Who has the lock, or had it last; working: the row is not that of a lock that was let go."""
        row = self.row(
            "SELECT locked_by, fence, locked_at, lock_until > now AND"
            f" lock_until - locked_at >= interval '{AT_MOST_S} s', now FROM shedlock,"
            f" (SELECT timezone('utc', clock_timestamp())) AS clock (now) WHERE name = '{LOCK}'"
        )
        return Tenure(*row) if row else Tenure("", 0, None, False, None)

    def taking(self):
        """The run that is taking or extending the lock just now, or None."""
        row = self.row(f"SELECT objid::int FROM pg_locks WHERE locktype = 'advisory' AND classid = {TAKING}")
        return row[0] if row else None

    def next_taking(self):
        """Waits for one. It does not last long."""
        deadline = time.monotonic() + 60
        while (run := self.taking()) is None:
            assert time.monotonic() < deadline, "nobody takes the lock"
            time.sleep(0.002)
        return run

    def drop(self):
        self.connection.close()
        self._alone("DROP DATABASE", "WITH (FORCE)")


class Feed(threading.Thread):
    """Links that are due from the beginning."""

    def __init__(self, database):
        super().__init__(daemon=True)
        self.connection, self.going, self.links = database.connect(), True, 0
        self.start()

    def run(self):
        count = DUE_LINKS_PER_S // 10
        while self.going:
            with self.connection.cursor() as cursor:
                cursor.execute(
                    "INSERT INTO links (slug, link_type, original_url, expires_at) SELECT 'due-' || n, 'TEMPORARY',"
                    " 'https://example.com/', clock_timestamp() FROM generate_series(%s, %s) n",
                    (self.links, self.links + count - 1),
                )
            self.links += count
            time.sleep(0.1)  # the pace of the load

    def stop(self):
        self.going = False
        self.join()
        self.connection.close()


class Janitors:
    def __init__(self, program, database, folder):
        self.program, self.database = program, database
        self.processes = [None] * JANITORS
        self.runs = []  # the process of each run
        self.logs = [folder / f"janitor-{slot}.log" for slot in range(JANITORS)]
        for log in self.logs:
            log.touch()

    def start(self, slot, *words, **settings):
        options = f"-crole=waymark_janitor -cwaymark.run={len(self.runs)}".replace("=", "%3D").replace(" ", "%20")
        variables = {"PG_URL": f"{self.database.url()}?options={options}", **VARIABLES, **settings}
        offset = CLOCKS[slot % len(CLOCKS)]
        if offset != "+0":
            variables |= {"LD_PRELOAD": FAKETIME, "FAKETIME": offset, "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
        variables["ASAN_OPTIONS"] = "verify_asan_link_order=0"
        environment = {name: str(value) for name, value in variables.items()}
        with self.logs[slot].open("ab") as log:
            process = subprocess.Popen([self.program, *words], env=environment, stdout=log, stderr=log)
        self.processes[slot] = process
        self.runs.append(process)
        return process

    def slot_of(self, holder):
        """Of a holder "host/pid/uuid"; None if it has been replaced."""
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
        """Of each slot: how often it went to do its task, and did it or found that another does it."""
        logs = [log.read_text(errors="replace") for log in self.logs]
        events = ("task_done", "task_skipped", "task_failed")
        return [sum(log.count(f'"event":"{event}"') for event in events) for log in logs]

    def lines(self, *words):
        """How many lines of the logs have all these words in them."""
        logs = [log.read_text(errors="replace") for log in self.logs]
        return sum(all(word in line for word in words) for log in logs for line in log.splitlines())


class Trouble:
    """Kills and freezes whoever has the lock."""

    def __init__(self, janitors, seed):
        self.janitors, self.database = janitors, janitors.database
        self.random = random.Random(seed)
        self.takeovers_s, self.frozen = [], 0

    def _worker(self):
        """The slot of a janitor in the middle of its run."""
        wait_until(lambda: self.database.tenure().is_working, 60, "somebody at work")
        time.sleep(self.random.uniform(0, 2 * BATCH_S))  # anywhere in the run
        tenure = self.database.tenure()
        return self.janitors.slot_of(tenure.holder) if tenure.is_working else None

    def _taker(self):
        """The slot of a janitor whose question for the lock is under way: it has no transaction when it has it."""
        process = self.janitors.runs[self.database.next_taking()]
        return self.janitors.processes.index(process) if process in self.janitors.processes else None

    def _strike(self, number):
        """Signals one of these; its slot, when that was, and the lock as it is then; None if it has not got the lock."""
        while True:
            slot = self.random.choice((self._worker, self._taker))()
            if slot is not None:
                break
        struck_at = self.database.tenure().now
        self.janitors.signal(slot, number)
        wait_until(lambda: self.database.taking() is None, 10, "no question for the lock is under way")
        tenure = self.database.tenure()
        has_it = tenure.is_working and self.janitors.slot_of(tenure.holder) == slot
        return slot, struck_at, tenure if has_it else None

    def _successor(self, before):
        """When the first one after that holder took the lock."""
        wait_until(lambda: self.database.tenure().holder != before.holder, 30, "somebody takes over")
        return self.database.tenure().since

    def kill(self):
        """True if it died with the lock."""
        slot, struck_at, tenure = self._strike(signal.SIGKILL)
        if tenure:
            self.takeovers_s.append((self._successor(tenure) - struck_at).total_seconds())
        self.janitors.replace(slot)
        return tenure is not None

    def freeze(self):
        """Until its lock has run out and somebody else has it; true if it had the lock."""
        slot, _, tenure = self._strike(signal.SIGSTOP)
        if tenure:
            self._successor(tenure)
            time.sleep(self.random.uniform(0, 0.3))  # a part of the freeze
            self.frozen += 1
        self.janitors.signal(slot, signal.SIGCONT)
        return tenure is not None

    def _wait_for_a_whole_run(self):
        fence = self.database.tenure().fence

        def is_done():
            tenure = self.database.tenure()
            return tenure.fence > fence and not tenure.is_working

        wait_until(is_done, 60, "a run that nobody disturbs")

    def disturb(self, kills, freezes):
        acts = [self.kill] * kills + [self.freeze] * freezes
        self.random.shuffle(acts)
        for act in acts:
            self._wait_for_a_whole_run()
            while not act():
                pass


def not_the_holders(database, janitors):
    """Batches that were committed while another had the lock."""
    with database.connection.cursor() as cursor:
        cursor.execute("SELECT run, split_part(locked_by, '/', 2)::int FROM batch")
        return sum(janitors.runs[run].pid != pid for run, pid in cursor)


@contextlib.contextmanager
def a_server():
    """PostgreSQL of the stack around this test, or of one that is started for it."""
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
def a_house(folder, program=BUILD / "bin/janitor"):
    """Janitors none of whom has been started."""
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
    with a_house(folder, program) as janitors:
        feed = Feed(janitors.database)
        try:
            for slot in range(JANITORS):
                janitors.start(slot)
            yield janitors, feed
        finally:
            feed.stop()
