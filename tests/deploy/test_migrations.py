"""tools/lint/migrations reports the statements that break the previous version, and no others."""

import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]

BREAKING = (
    "DROP TABLE links;",
    "DROP FUNCTION link_search_refresh();",
    "ALTER TABLE links\n    ADD COLUMN a text,\n    DROP COLUMN title;",
    "ALTER TABLE links RENAME COLUMN title TO name;",
    "ALTER TABLE links RENAME TO link;",
    "ALTER TABLE links ALTER COLUMN title TYPE varchar(10);",
    "ALTER TABLE links ALTER title SET NOT NULL;",
    "ALTER TABLE links ADD COLUMN colour text NOT NULL;",
    "ALTER TABLE links ADD CONSTRAINT short CHECK (length(title) < 10);",
    "ALTER TABLE links ADD UNIQUE (title);",
)
ADDITIVE = (
    "CREATE TABLE colours (id bigint NOT NULL, UNIQUE (id));\nCREATE UNIQUE INDEX a ON colours (id);",
    "ALTER TABLE links ADD COLUMN colour text NOT NULL DEFAULT '', ADD COLUMN shade text;",
    "ALTER TABLE links ALTER COLUMN title DROP NOT NULL;",
    "DROP INDEX links_title_idx;\nCREATE INDEX links_title_idx ON links (title);",
    "CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN DROP TABLE links; END $$;",
    "-- squawk-ignore-file ban-drop-column\n-- links.title is not used since 0.2.0.\nALTER TABLE links DROP COLUMN title;",
)


def lint(*files):
    run = subprocess.run([ROOT / "tools/lint/migrations", *files], capture_output=True, text=True, check=False)
    if run.returncode == 69:
        pytest.skip(run.stderr)
    return run


@pytest.mark.parametrize("sql, is_breaking", [(sql, True) for sql in BREAKING] + [(sql, False) for sql in ADDITIVE])
def test_statements_that_break_the_previous_version_are_reported(tmp_path, sql, is_breaking):
    (tmp_path / "0900_next.sql").write_text(sql)
    run = lint(tmp_path / "0900_next.sql")
    assert bool(run.returncode) == is_breaking, run.stdout + run.stderr


def test_our_migrations_pass():
    run = lint()
    assert run.returncode == 0, run.stdout + run.stderr
