"""ShedLock itself, a Java program from its published artifacts, and our janitor have one lock table and keep each other out."""

import filecmp
import os
import pathlib
import signal
import subprocess
import urllib.parse

import pytest
from janitor_rig import AT_MOST_S, LOCK, a_house
from rig import ROOT, wait_until

CACHE = pathlib.Path(os.environ.get("WAYMARK_CACHE") or pathlib.Path.home() / ".cache/waymark") / "shedlock"
CHECKSUMS = ROOT / "tools/shedlock/jars.sha256"
SOURCE = ROOT / "tests/chaos/foreign/ShedLockUser.java"
LONG_MS = 60000

have_jars = (CACHE / "verified").exists() and filecmp.cmp(CACHE / "verified", CHECKSUMS, shallow=False)
pytestmark = pytest.mark.skipif(not have_jars, reason=f"ShedLock is not in {CACHE}; tools/setup fetches it")


class ShedLockUser:
    """The Java program, in a time zone that is not ours."""

    def __init__(self, classes, database):
        url = urllib.parse.urlsplit(database.url())
        address = f"jdbc:postgresql://{url.hostname}:{url.port}{url.path}?user={url.username}&password={url.password}"
        command = ["java", "-Xmx64m", "-Duser.timezone=America/Los_Angeles", "-cp", f"{CACHE}/*:{classes}", "ShedLockUser"]
        self.process = subprocess.Popen(
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
def house(tmp_path_factory):
    with a_house(tmp_path_factory.mktemp("house")) as janitors:
        yield janitors


@pytest.fixture(scope="module")
def user(house, tmp_path_factory):
    classes = tmp_path_factory.mktemp("classes")
    (compiler,) = CACHE.glob("ecj-*.jar")
    jars = ":".join(map(str, CACHE.glob("*.jar")))
    options = ["-source", "17", "-target", "17", "-nowarn", "-cp", jars, "-d", classes]
    subprocess.run(["java", "-jar", compiler, *options, SOURCE], check=True, timeout=180)
    user = ShedLockUser(classes, house.database)
    yield user
    user.end()


@pytest.fixture(autouse=True)
def tidy(house):
    house.database.do("UPDATE shedlock SET lock_until = locked_at; DELETE FROM links; DELETE FROM batch")


def add_due_link(house, slug):
    house.database.do(
        "INSERT INTO links (slug, link_type, original_url, expires_at)"
        f" VALUES ('{slug}', 'TEMPORARY', 'https://example.com/', clock_timestamp())"
    )


def is_there(house, slug):
    return house.database.row(f"SELECT count(*) FROM links WHERE slug = '{slug}' AND state = 'ACTIVE'") == (1,)


def row(house):
    return house.database.row(f"SELECT * FROM shedlock WHERE name = '{LOCK}'")


def test_a_janitor_leaves_alone_what_shedlock_holds(house, user):
    add_due_link(house, "held")
    assert user.ask("lock", LOCK, LONG_MS) == "held"
    before = row(house)
    assert house.start(0, "--once").wait(30) == 0
    assert is_there(house, "held")
    assert row(house) == before
    assert user.ask("extend", LONG_MS) == "held"
    assert user.ask("unlock") == "done"
    assert house.start(0, "--once").wait(30) == 0
    assert not is_there(house, "held")


def test_shedlock_leaves_alone_what_a_janitor_holds(house, user):
    house.logs[0].write_text("")
    janitor = house.start(0, LOCK_AT_LEAST_S=600, LOCK_AT_MOST_S=840, EXPIRY_PERIOD_S=900)
    wait_until(lambda: house.lines('"task_done"', '"expiry"') > 0, 20, "a whole run")
    janitor.terminate()
    assert janitor.wait(30) == 0
    before = row(house)
    assert user.ask("lock", LOCK, LONG_MS) == "busy"
    assert row(house) == before
    assert user.ask("lock", "another", LONG_MS) == "held"
    assert user.ask("unlock") == "done"
    assert row(house) == before


def freeze_with_the_lock(house, janitor):
    for _ in range(10):
        house.database.next_taking()
        janitor.send_signal(signal.SIGSTOP)
        wait_until(lambda: house.database.taking() is None, 10, "its question is answered")
        if house.database.tenure().is_working:
            return
        janitor.send_signal(signal.SIGCONT)
    pytest.fail("it is done each time before it can be stopped")


def test_a_janitor_that_overslept_changes_nothing_when_shedlock_has_its_lock(house, user):
    janitor = house.start(0)
    freeze_with_the_lock(house, janitor)
    house.logs[0].write_text("")
    add_due_link(house, "overslept")
    wait_until(lambda: user.ask("lock", LOCK, LONG_MS) == "held", AT_MOST_S + 10, "ShedLock gets it")
    janitor.send_signal(signal.SIGCONT)
    wait_until(lambda: house.lines('"task_failed"') > 0, 20, "the janitor is turned away")
    wait_until(lambda: house.lines('"task_skipped"') > 0, 20, "it sees that another has the lock")
    assert is_there(house, "overslept")
    assert user.ask("extend", LONG_MS) == "held"
    assert user.ask("unlock") == "done"
    wait_until(lambda: not is_there(house, "overslept"), 20, "the janitor does it when it has the lock")
    janitor.terminate()
    assert janitor.wait(30) == 0
