"""tools/lint/migrations reports exactly the statements that break the previous version."""

import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]

BREAKING = (
    "DROP TABLE links;",
    "DROP FUNCTION links_search_flush();",
    "TRUNCATE visit_log;",
    "ALTER TABLE links DROP COLUMN title;",
    "ALTER TABLE links DROP title;",
    "ALTER TABLE links\n    ADD COLUMN a text,\n    DROP COLUMN title;",
    "ALTER TABLE links RENAME COLUMN title TO name;",
    "ALTER TABLE links RENAME TO link;",
    "ALTER TABLE links ALTER COLUMN title TYPE varchar(10);",
    "ALTER TABLE links ALTER title SET NOT NULL;",
    "ALTER TABLE links ADD COLUMN colour text NOT NULL;",
    "ALTER TABLE links ADD CONSTRAINT short CHECK (length(title) < 10);",
    "ALTER TABLE links ADD UNIQUE (title);",
    "CREATE UNIQUE INDEX links_title_idx ON links (title);",
    "REVOKE SELECT ON links FROM waymark_redirector;",
    "SELECT 1; /* ; */ DROP VIEW a;",
)
ADDITIVE = (
    "CREATE TABLE colours (id bigint NOT NULL);\nALTER TABLE colours ADD UNIQUE (id);\nCREATE UNIQUE INDEX a ON colours (id);",
    "ALTER TABLE links ADD COLUMN colour text NOT NULL DEFAULT '';",
    "ALTER TABLE links ADD COLUMN colour text, ADD COLUMN shade text;",
    "ALTER TABLE links ALTER COLUMN title DROP NOT NULL;",
    "ALTER TABLE links DROP CONSTRAINT links_title_check;",
    "DROP INDEX links_title_idx;",
    "CREATE INDEX links_title_idx ON links (title);",
    "REVOKE EXECUTE ON FUNCTION f() FROM PUBLIC;",
    "-- DROP TABLE links;",
    "CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN DROP TABLE links; END $$;",
    "SELECT 'a; DROP TABLE links;';",
    "CREATE TEMPORARY TABLE again (a text); DROP TABLE again;",
    "-- Contract: links.title is not used since 0.2.0\nALTER TABLE links DROP COLUMN title;",
)


def lint(folder, sql):
    (folder / "0900_next.sql").write_text(sql)
    return subprocess.run([ROOT / "tools/lint/migrations", folder], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("sql", BREAKING)
def test_breaking_statements_are_reported(tmp_path, sql):
    run = lint(tmp_path, sql)
    assert run.returncode == 1 and "0900_next.sql:" in run.stdout, run


@pytest.mark.parametrize("sql", ADDITIVE)
def test_additive_statements_pass(tmp_path, sql):
    run = lint(tmp_path, sql)
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


def test_our_migrations_pass():
    run = subprocess.run([ROOT / "tools/lint/migrations"], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout) == (0, "")
