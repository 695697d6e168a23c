"""ShedLock, a Java program from its published artifacts, and the janitor share one lock table and exclude each other."""

import filecmp
import os
import pathlib
import signal
import subprocess
import urllib.parse

import pytest
from harness import ROOT, wait_until
from janitor_harness import LOCK, idle_janitors
from processes import popen

CACHE = pathlib.Path(os.environ.get("WAYMARK_CACHE") or pathlib.Path.home() / ".cache/waymark") / "shedlock"
CHECKSUMS = ROOT / "tools/shedlock/jars.sha256"
SOURCE = ROOT / "tests/chaos/foreign/ShedLockUser.java"
LONG_MS = 600_000

have_jars = (CACHE / "verified").exists() and filecmp.cmp(CACHE / "verified", CHECKSUMS, shallow=False)
pytestmark = pytest.mark.skipif(not have_jars, reason=f"ShedLock is not in {CACHE}; tools/setup fetches it")


class ShedLockUser:
    """The Java program, in another time zone."""

    def __init__(self, classes, database):
        url = urllib.parse.urlsplit(database.url())
        address = f"jdbc:postgresql://{url.hostname}:{url.port}{url.path}?user={url.username}&password={url.password}"
        command = ["java", "-Xmx64m", "-Duser.timezone=America/Los_Angeles", "-cp", f"{CACHE}/*:{classes}", "ShedLockUser"]
        self.process = popen(
            [*command, address], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )

    def ask(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def end(self):
        self.process.kill()
        self.process.communicate()


@pytest.fixture(scope="module")
def janitors(tmp_path_factory):
    with idle_janitors(tmp_path_factory.mktemp("janitors")) as made:
        yield made


@pytest.fixture(scope="module")
def user(janitors, tmp_path_factory):
    classes = tmp_path_factory.mktemp("classes")
    (compiler,) = CACHE.glob("ecj-*.jar")
    jars = ":".join(map(str, CACHE.glob("*.jar")))
    options = ["-source", "17", "-target", "17", "-nowarn", "-cp", jars, "-d", classes]
    subprocess.run(["java", "-jar", compiler, *options, SOURCE], check=True, timeout=180)
    user = ShedLockUser(classes, janitors.database)
    yield user
    user.end()


@pytest.fixture(autouse=True)
def tidy(janitors):
    janitors.database.do("UPDATE shedlock SET lock_until = locked_at; DELETE FROM links; DELETE FROM batch")


def add_due_link(janitors, slug):
    janitors.database.do(
        "INSERT INTO links (slug, link_type, original_url, expires_at)"
        f" VALUES ('{slug}', 'TEMPORARY', 'https://example.com/', clock_timestamp())"
    )


def is_there(janitors, slug):
    return janitors.database.row(f"SELECT count(*) FROM links WHERE slug = '{slug}' AND state = 'ACTIVE'") == (1,)


def row(janitors):
    return janitors.database.row(f"SELECT * FROM shedlock WHERE name = '{LOCK}'")


def test_a_janitor_leaves_alone_what_shedlock_holds(janitors, user):
    add_due_link(janitors, "held")
    assert user.ask("lock", LOCK, LONG_MS) == "held"
    before = row(janitors)
    assert janitors.start(0, "--once").wait(120) == 0
    assert is_there(janitors, "held")
    assert row(janitors) == before
    assert user.ask("extend", LONG_MS) == "held"
    assert user.ask("unlock") == "done"
    assert janitors.start(0, "--once").wait(120) == 0
    assert not is_there(janitors, "held")


def test_shedlock_leaves_alone_what_a_janitor_holds(janitors, user):
    janitors.logs[0].write_text("")
    janitor = janitors.start(0, LOCK_AT_LEAST_S=600, LOCK_AT_MOST_S=840, EXPIRY_PERIOD_S=900)
    wait_until(lambda: janitors.lines('"task_done"', '"expiry"') > 0, 120, "a whole run")
    janitor.terminate()
    assert janitor.wait(120) == 0
    before = row(janitors)
    assert user.ask("lock", LOCK, LONG_MS) == "busy"
    assert row(janitors) == before
    assert user.ask("lock", "another", LONG_MS) == "held"
    assert user.ask("unlock") == "done"
    assert row(janitors) == before


def freeze_with_the_lock(janitors, janitor):
    """A busy machine often sends the signal too late. The janitor takes the lock about every second."""
    for _ in range(100):
        janitors.database.next_taking()
        janitor.send_signal(signal.SIGSTOP)
        wait_until(lambda: janitors.database.taking() is None, 120, "its request for the lock to end")
        if janitors.database.tenure().is_working:
            return
        janitor.send_signal(signal.SIGCONT)
    pytest.fail("it ended each time before it could be stopped")


def test_a_frozen_janitor_changes_nothing_when_shedlock_has_its_lock(janitors, user):
    janitor = janitors.start(0)
    freeze_with_the_lock(janitors, janitor)
    janitors.logs[0].write_text("")
    add_due_link(janitors, "frozen")
    wait_until(lambda: user.ask("lock", LOCK, LONG_MS) == "held", 120, "ShedLock to get the lock")
    janitor.send_signal(signal.SIGCONT)
    wait_until(lambda: janitors.lines('"task_failed"') > 0, 120, "the janitor to be refused")
    wait_until(lambda: janitors.lines('"task_skipped"') > 0, 120, "it to see that another has the lock")
    assert is_there(janitors, "frozen")
    assert user.ask("extend", LONG_MS) == "held"
    assert user.ask("unlock") == "done"
    wait_until(lambda: not is_there(janitors, "frozen"), 120, "the janitor to do it once it has the lock")
    janitor.terminate()
    assert janitor.wait(120) == 0
