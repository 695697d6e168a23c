"""Nothing gets an id before the history of a new primary is adopted: an old one might have given the same id to something else."""

import psycopg2
import pytest

# Ids that nobody outside the database sees, each with the table that its statements change first.
INSIDE = {"mail_outbox": "what the mail tells of", "link_counts": "links", "outbox": "links", "link_statistics_changes": "of the consumer: it names links"}

IDENTITY = """SELECT table_name::text FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name)
              WHERE table_schema = 'public' AND (is_identity = 'YES' OR starts_with(column_default, 'nextval')) AND table_type = 'BASE TABLE'"""

STATEMENTS = {
    "users": "INSERT INTO users (email, password_hash) VALUES ('early@example.com', '')",
    "workspaces": "INSERT INTO workspaces (name, sponsor_id) SELECT 'early', id FROM users LIMIT 1",
    "invitations": "INSERT INTO invitations (email, token_hash, invited_by, expires_at) SELECT 'a@example.com', sha256('i'), id, now() FROM users LIMIT 1",
    "identities": "INSERT INTO identities (user_id, issuer, subject, provider) SELECT id, 'https://idp.example', 's', 'idp' FROM users LIMIT 1",
    "api_keys": "INSERT INTO api_keys (workspace_id, created_by, name, scopes, hint, secret_hash) SELECT id, id, 'k', '{links:read}', 'wm_', sha256('k') FROM users LIMIT 1",
    "sessions": "INSERT INTO sessions (user_id, secret_hash) SELECT id, sha256('s') FROM users LIMIT 1",
    "shares": "INSERT INTO shares (workspace_id, tag, token_hash) SELECT id, 'early', sha256('t') FROM users LIMIT 1",
    "audit_log": "INSERT INTO audit_log (action, subject_type, subject_id) VALUES ('link.create', 'link', 1)",
    "links": "INSERT INTO links (slug, link_type, original_url, expires_at) VALUES ('early', 'TEMPORARY', 'https://a.example/', now())",
    "abuse_reports": "INSERT INTO abuse_reports (link_id, slug, reason) VALUES (1, 'early', 'spam')",
    "blocked_hosts": "INSERT INTO blocked_hosts (host) VALUES ('early.example')",
}


def test_every_table_with_ids_from_a_sequence_is_known_here(database):
    assert {name for (name,) in database.run(IDENTITY)} == STATEMENTS.keys() | INSIDE.keys()


@pytest.mark.parametrize("table", STATEMENTS)
def test_no_id_is_issued_before_the_new_history_is_adopted(database, table):
    database.run("INSERT INTO users (email, password_hash) VALUES (gen_random_uuid() || '@example.com', '')")
    with psycopg2.connect(database.url()) as connection, connection.cursor() as cursor:
        cursor.execute("SAVEPOINT before")
        cursor.execute(STATEMENTS[table])
        cursor.execute("ROLLBACK TO before")
        cursor.execute("UPDATE database_epoch SET timeline = timeline - 1")
        with pytest.raises(psycopg2.errors.CannotConnectNow, match="another history"):
            cursor.execute(STATEMENTS[table])
        connection.rollback()
