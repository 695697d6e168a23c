"""What tools/backup copies, who may read the copy, and what a restored database issues next (docs/recovery.md)."""

import os
import pathlib
import re
import secrets
import subprocess
import time

import psycopg2
import pytest
import yaml

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


def try_backup(database, *words):
    command = [ROOT / "tools/backup", *words]
    return subprocess.run(command, env={**os.environ, "PG_URL": url_of(database)}, capture_output=True, text=True, timeout=300, check=False)


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


def test_only_the_owner_can_read_the_copy(copy):
    assert copy.stat().st_mode & 0o777 == 0o600


def test_the_copy_has_no_salts(names, copy):
    rows = subprocess.run(["pg_restore", "--data-only", "--file", "-", copy], capture_output=True, check=True).stdout
    assert b"copied" in rows
    assert rows.count(b"COPY public.visitor_salts") == 0


def script_of_the_cron_job():
    """The script of the CronJob in docs/recovery.md."""
    (document,) = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs/recovery.md").read_text(), re.S)
    return yaml.safe_load(document)["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"][0]["args"][0]


def test_the_cron_job_of_the_document_writes_the_same_copy(names, copy, tmp_path):
    (tmp_path / "pg-url").write_text(url_of(names[0]))
    script = script_of_the_cron_job().replace("/run/secrets/waymark", str(tmp_path)).replace("/backup", str(tmp_path))
    old, recent = tmp_path / "old.copy", tmp_path / "recent.copy"
    for path, days in ((old, 20), (recent, 10)):
        path.touch()
        os.utime(path, (time.time() - days * 86400,) * 2)
    subprocess.run(["/bin/sh", "-ec", script], check=True, timeout=300)
    (written,) = set(tmp_path.iterdir()) - {tmp_path / "pg-url", recent}
    assert written.suffix == ".copy" and written.stat().st_mode & 0o777 == 0o600
    entries = lambda path: re.findall(r"^\d+; \d+ \d+ (.*)", subprocess.run(["pg_restore", "--list", path], capture_output=True, text=True, check=True).stdout, re.M)  # noqa: E731
    assert entries(written) == entries(copy)


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
