"""What tools/backup copies, who may read the copy, and what a restored database issues next (docs/recovery.md)."""

import contextlib
import os
import pathlib
import re
import secrets
import shutil
import stat
import subprocess
import urllib.parse

import psycopg2
import pytest
from waiting import wait_until

ROOT = pathlib.Path(__file__).resolve().parents[3]
LINK = "INSERT INTO links (slug, link_type, original_url, expires_at) VALUES (%s, 'TEMPORARY', 'https://a.example/', now()) RETURNING id"


def url_of(database):
    return os.environ["ADMIN_PG_URL"].rpartition("/")[0] + "/" + database


def run(sql, database, *values):
    connection = psycopg2.connect(url_of(database))
    connection.autocommit = True
    try:
        with connection.cursor() as cursor:
            cursor.execute(sql, values)
            return cursor.fetchone() if cursor.description else None
    finally:
        connection.close()


def try_backup(database, *words, **variables):
    command = [ROOT / "tools/backup", *words]
    return subprocess.run(command, env={**os.environ, "PG_URL": url_of(database), **variables}, capture_output=True, text=True, timeout=300, check=False)


def backup(database, *words):
    done = try_backup(database, *words)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def names():
    """A database with a link and two salts, and the name of a second one."""
    first, second = (f"test_backup_{secrets.token_hex(6)}" for _ in range(2))
    run(f"CREATE DATABASE {first} TEMPLATE waymark_migrated", "postgres")
    run("INSERT INTO visitor_salts SELECT current_date + n, sha256(n::text::bytea) FROM generate_series(0, 1) n", first)
    run(LINK, first, "copied")
    yield first, second
    for name in (first, second):
        run(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)", "postgres")


@pytest.fixture(scope="module")
def copy(names, tmp_path_factory):
    path = tmp_path_factory.mktemp("backup") / "copy"
    before = os.umask(0o022)
    try:
        backup(names[0], "dump", path)
    finally:
        os.umask(before)
    return path


PASSWORDS = {
    "plain": "s3cret-word", "with an at": "p@ss@word", "with a percent sign": "100%25word", "with a backslash": "a\\x41\\nword",
    "with a colon and a question mark": "a:b?c=word", "with quotes": "a'b\"$(word)", "not ASCII": "pässword",
}  # fmt: skip


@pytest.fixture
def spied(tmp_path):
    """A PATH whose programs of PostgreSQL note their arguments before they run."""
    notes = tmp_path / "arguments"
    for name in ("psql", "pg_dump", "pg_restore"):
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/bash\nprintf '%s\\n' \"$@\" >>{notes}\nexec {shutil.which(name)} \"$@\"\n")
        program.chmod(0o755)
    return f"{tmp_path}/bin:{os.environ['PATH']}", notes


@pytest.mark.parametrize("password", PASSWORDS.values(), ids=PASSWORDS)
def test_no_program_has_the_password_among_its_arguments(names, spied, tmp_path, password):
    path, notes = spied
    owner, copied = f"test_owner_{secrets.token_hex(6)}", f"test_backup_{secrets.token_hex(6)}"
    run(f"CREATE ROLE {owner} SUPERUSER LOGIN PASSWORD %s", "postgres", password)
    base = f"postgresql://{owner}:{urllib.parse.quote(password, safe='')}@{url_of('').rpartition('@')[2]}"
    commands = [(names[0], "kafka-lost")]
    if password == PASSWORDS["plain"]:
        commands += [(names[0], "dump", tmp_path / "copy"), (copied, "restore", tmp_path / "copy")]
    try:
        for database, *words in commands:
            done = subprocess.run([ROOT / "tools/backup", *words], env={**os.environ, "PATH": path, "PG_URL": base + database}, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stdout + done.stderr
        assert names[0] in notes.read_text()
        assert password not in notes.read_text() and urllib.parse.quote(password, safe="") not in notes.read_text()
    finally:
        run(f"DROP DATABASE IF EXISTS {copied}", "postgres")
        run(f"DROP ROLE {owner}", "postgres")


def test_offsets_are_not_reset_while_a_consumer_is_connected(names):
    login = f"test_consumer_{secrets.token_hex(6)}"
    run(f"CREATE ROLE {login} LOGIN PASSWORD 'word' IN ROLE waymark_consumer", "postgres")
    try:
        with contextlib.closing(psycopg2.connect(f"postgresql://{login}:word@{url_of(names[0]).rpartition('@')[2]}")):
            done = try_backup(names[0], "kafka-lost")
            assert done.returncode == 1 and "1 connections of consumers are open, so nothing was changed" in done.stderr
        wait_until(lambda: try_backup(names[0], "kafka-lost").returncode == 0, "the end of the connection")
    finally:
        run(f"DROP ROLE {login}", "postgres")


@pytest.mark.parametrize("url", ("host=localhost password=word", "postgresql://a@localhost/b?password=word", "postgresql://a@localhost/b?sslmode=require&sslpassword=word"))
def test_a_url_whose_password_would_be_an_argument_is_refused(url, tmp_path):
    done = subprocess.run([ROOT / "tools/backup", "dump", tmp_path / "copy"], env={**os.environ, "PG_URL": url}, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and done.stderr.startswith("backup: PG_URL must ") and "word=" not in done.stderr


@pytest.mark.parametrize("kind", ("a link to a file", "a link to nothing", "a file that all can read", "a FIFO", "another name of a file", "a folder"))
def test_what_somebody_put_there_is_not_written_to(names, tmp_path, kind):
    victim = tmp_path / "victim"
    for planted in (tmp_path / "copy", tmp_path / "copy.part"):
        if kind in ("a link to a file", "another name of a file"):
            victim.write_text("important")
        {
            "a link to a file": lambda: planted.symlink_to(victim),
            "a link to nothing": lambda: planted.symlink_to(victim),
            "a file that all can read": lambda: planted.touch(0o666),
            "a FIFO": lambda: os.mkfifo(planted),
            "another name of a file": lambda: planted.hardlink_to(victim),
            "a folder": planted.mkdir,
        }[kind]()
    done = try_backup(names[0], "dump", tmp_path / "copy")
    if kind == "a folder":
        assert done.returncode != 0 and not any((tmp_path / "copy").iterdir())
    else:
        assert done.returncode == 0, done.stderr
        facts = (tmp_path / "copy").lstat()
        assert stat.S_ISREG(facts.st_mode) and facts.st_mode & 0o777 == 0o600 and facts.st_nlink == 1
    assert not victim.exists() or victim.read_text() == "important"
    assert {path.name for path in tmp_path.iterdir()} <= {"copy", "copy.part", "victim"}


def test_only_the_owner_can_read_the_copy(copy):
    assert copy.stat().st_mode & 0o777 == 0o600


def test_the_copy_has_no_salts(names, copy):
    rows = subprocess.run(["pg_restore", "--data-only", "--file", "-", copy], capture_output=True, check=True).stdout
    assert b"copied" in rows
    assert rows.count(b"COPY public.visitor_salts") == 0


def test_a_folder_keeps_the_newest_copies_and_what_else_is_in_it(names, tmp_path):
    ours = [tmp_path / f"2026-01-0{day}T0315Z.copy" for day in (1, 2, 3)]
    others = [tmp_path / name for name in ("by-hand.copy", "2026-01-01T0315Z.copy.x.part")]
    for path in ours + others:
        path.touch()
    url = tmp_path / "pg-url"
    url.write_text(url_of(names[0]))
    environment = {**os.environ, "PG_URL_FILE": str(url), "BACKUP_KEEP": "2"}
    environment.pop("PG_URL", None)
    subprocess.run([ROOT / "tools/backup", "dump", f"{tmp_path}/"], env=environment, check=True, timeout=300)
    (written,) = set(tmp_path.iterdir()) - {*ours, *others, url}
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d{4}Z\.copy", written.name) and written.stat().st_mode & 0o777 == 0o600
    assert set(tmp_path.iterdir()) == {written, ours[-1], *others, url}
    rows = subprocess.run(["pg_restore", "--data-only", "--table", "links", "--file", "-", written], capture_output=True, check=True).stdout
    assert b"copied" in rows


@pytest.mark.parametrize("keep", ["0", "", "many", "-1"])
def test_a_wrong_number_of_copies_is_refused(names, tmp_path, keep):
    kept = tmp_path / "2026-01-01T0315Z.copy"
    kept.touch()
    done = try_backup(names[0], "dump", f"{tmp_path}/", BACKUP_KEEP=keep)
    assert (done.returncode != 0 and "BACKUP_KEEP" in done.stderr) == (keep != ""), done
    assert kept.exists()


def test_a_folder_is_restored_from_its_newest_copy_or_a_named_one(names, copy, tmp_path):
    done = try_backup(names[1], "restore", f"{tmp_path}/")
    assert done.returncode == 1 and f"{tmp_path}/ has no copy" in done.stderr
    shutil.copy(copy, tmp_path / "2026-01-01T0315Z.copy")
    (tmp_path / "2026-01-02T0315Z.copy").touch()
    done = try_backup(names[1], "restore", f"{tmp_path}/")
    assert done.returncode == 1 and "2026-01-02T0315Z.copy is damaged" in done.stderr and not exists(names[1])
    done = try_backup(names[1], "restore", f"{tmp_path}/", BACKUP_COPY="2026-01-01T0315Z.copy")
    assert done.returncode == 0 and exists(names[1]), done
    run(f"DROP DATABASE {names[1]} WITH (FORCE)", "postgres")


def exists(database):
    return run("SELECT count(*) FROM pg_database WHERE datname = %s", "postgres", database) == (1,)


def test_a_file_that_is_no_copy_is_refused(names, tmp_path):
    path = tmp_path / "notes"
    path.write_text("no copy")
    done = try_backup(names[1], "restore", path)
    assert (done.returncode, done.stderr) == (1, f"backup: {path} is damaged, or no copy that dump has written\n")
    assert not exists(names[1])


def test_an_existing_database_is_named_with_its_links_and_stays_as_it_is(names, copy):
    done = try_backup(names[0], "restore", copy)
    assert done.returncode == 1
    assert done.stderr.startswith(f"backup: the database {names[0]} exists already and has 1 links; nothing was changed."), done.stderr
    assert f"ALTER DATABASE {names[0]} RENAME" in done.stderr
    assert run("SELECT slug FROM links", names[0]) == ("copied",)


def test_an_existing_database_of_something_else_is_refused_too(names, copy):
    run(f"CREATE DATABASE {names[1]}", "postgres")
    done = try_backup(names[1], "restore", copy)
    assert (done.returncode, "exists already and has no links" in done.stderr) == (1, True), done.stderr
    assert exists(names[1])
    run(f"DROP DATABASE {names[1]}", "postgres")


def test_a_damaged_copy_leaves_no_database(names, copy, tmp_path):
    path = tmp_path / "damaged"
    path.write_bytes(copy.read_bytes()[:-1000])
    done = try_backup(names[1], "restore", path)
    assert done.returncode != 0
    assert f"backup: nothing was restored; the new database {names[1]} is dropped\n" in done.stderr
    assert not exists(names[1])


def test_a_restored_database_repeats_no_id_and_no_version(names, copy):
    first, second = names
    backup(second, "restore", copy)
    assert run("SELECT count(*) FROM visitor_salts", second) == (0,)
    assert run("SELECT epoch, link_version_base FROM database_epoch", second) == (2, 1_000_000)
    lost = [run(LINK, first, f"lost{n}")[0] for n in range(3)]
    assert run(LINK, second, "new")[0] > max(lost)
    generations = [run("SELECT generation FROM link_cache_generation", name)[0] for name in names]
    assert generations[1] >= generations[0] + 1_000_000
