#include "tools/migrate/migration_ledger.h"

#include "lib/postgres/pg_pool.h"

/*
 * "waymark" as a number, so that migrations of other programs in the same database use another
 * lock.
 */
#define LOCK_KEY 0x7761796d61726bLL

enum err migration_ledger_lock(struct pg_conn *conn)
{
	struct pg_params p = { 0 };
	pg_params_int(&p, LOCK_KEY);
	enum err err = pg_conn_query(conn, "SELECT pg_advisory_lock($1)", &p, NULL);
	if (err != OK)
		return err;
	err = pg_conn_query(
		conn,
		"CREATE TABLE IF NOT EXISTS schema_migrations ("
		"version integer PRIMARY KEY, name text NOT NULL, sha256 text NOT NULL, "
		"applied_at timestamptz NOT NULL DEFAULT clock_timestamp())",
		NULL, NULL);
	/* Services read it to wait for the version that they need (lib/postgres/pg_pool.h). */
	if (err == OK)
		err = pg_conn_query(conn, "GRANT SELECT ON schema_migrations TO PUBLIC", NULL,
		                    NULL);
	return err;
}

static enum err table_exists(struct pg_conn *conn, bool *exists)
{
	struct pg_result *rows = NULL;
	enum err err = pg_conn_query(conn, "SELECT to_regclass('schema_migrations') IS NOT NULL",
	                             NULL, &rows);
	if (err == OK)
		*exists = pg_result_bool(rows, 0, 0);
	pg_result_free(rows);
	return err;
}

enum err migration_ledger_read(struct pg_conn *conn, struct migration_ledger *out)
{
	bool exists = false;
	enum err err = table_exists(conn, &exists);
	if (err != OK)
		return err;
	out->count = 0;
	if (!exists)
		return OK;
	struct pg_result *rows = NULL;
	err = pg_conn_query(conn,
	                    "SELECT version, name, sha256 FROM schema_migrations ORDER BY version",
	                    NULL, &rows);
	if (err == OK && pg_result_count(rows) > MIGRATIONS_MAX)
		err = ERR_LIMIT;
	for (size_t i = 0; err == OK && i < pg_result_count(rows); i++) {
		struct migration *m = &out->recorded[out->count++];
		m->version = pg_result_int(rows, i, 0);
		snprintf(m->name, sizeof(m->name), "%s", pg_result_text(rows, i, 1));
		snprintf(m->sha256, sizeof(m->sha256), "%s", pg_result_text(rows, i, 2));
	}
	pg_result_free(rows);
	return err;
}

static enum err record(struct pg_conn *conn, const struct migration *m)
{
	struct pg_params p = { 0 };
	pg_params_int(&p, m->version);
	pg_params_text(&p, m->name);
	pg_params_text(&p, m->sha256);
	return pg_conn_query(
		conn, "INSERT INTO schema_migrations (version, name, sha256) VALUES ($1, $2, $3)",
		&p, NULL);
}

static enum err apply_on(void *ctx, struct pg_conn *conn)
{
	const struct migration_file *const *file = ctx;
	/*
	 * Statements of others queue behind one that waits for a lock of a table, even readers: an
	 * ALTER TABLE behind a backup would stop redirects for as long as the backup takes.
	 */
	enum err err = pg_conn_query(conn, "SET LOCAL lock_timeout = '1s'", NULL, NULL);
	if (err == OK)
		err = pg_conn_script(conn, (*file)->sql);
	return err == OK ? record(conn, &(*file)->migration) : err;
}

enum err migration_ledger_apply(struct pg_conn *conn, const struct migration_file *file)
{
	return pg_pool_transact_on(conn, apply_on, &file);
}
