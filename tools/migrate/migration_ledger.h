/*
 * One thread at a time. The table schema_migrations(version, name, sha256, applied_at): which
 * migrations a database has.
 */
#ifndef WAYMARK_TOOLS_MIGRATE_MIGRATION_LEDGER_H
#define WAYMARK_TOOLS_MIGRATE_MIGRATION_LEDGER_H

#include "lib/base/err.h"
#include "lib/postgres/pg_conn.h"
#include "tools/migrate/migration.h"

struct migration_ledger {
	size_t count;
	/* Ordered by version. */
	struct migration recorded[MIGRATIONS_MAX];
};

/*
 * Waits until no other run migrates this database. The lock is released when conn is closed.
 * Creates the table if it does not exist.
 */
enum err migration_ledger_lock(struct pg_conn *conn) MUST_CHECK;

/* Reads all records; none if there is no table. ERR_LIMIT: more than MIGRATIONS_MAX. */
enum err migration_ledger_read(struct pg_conn *conn, struct migration_ledger *out) MUST_CHECK;

/*
 * Runs the file and records it, in one transaction. ERR_UNAVAILABLE: the outcome is unknown; the
 * next run finds out. Any other error: the migration was rolled back; pg_conn_message gives the
 * reason. ERR_LIMIT: another transaction held a lock for a second.
 */
enum err migration_ledger_apply(struct pg_conn *conn, const struct migration_file *file) MUST_CHECK;

#endif
