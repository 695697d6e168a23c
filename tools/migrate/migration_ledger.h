/*
 * One thread at a time. The table schema_migrations(version, name, sha256, applied_at), and applying what is not in it.
 */
#ifndef WAYMARK_TOOLS_MIGRATE_MIGRATION_LEDGER_H
#define WAYMARK_TOOLS_MIGRATE_MIGRATION_LEDGER_H

#include "lib/base/err.h"
#include "lib/net/pg_conn.h"
#include "tools/migrate/migration.h"

struct migration_ledger {
	size_t count;
	struct migration recorded[MIGRATIONS_MAX]; /* in the order of versions */
};

/*
 * Waits until no other run migrates this database; the lock is let go when conn is closed. Makes the table if there is
 * none.
 */
enum err migration_ledger_lock(struct pg_conn *conn) MUST_CHECK;

/* What is recorded; nothing, if there is no table. ERR_LIMIT: more than MIGRATIONS_MAX. */
enum err migration_ledger_read(struct pg_conn *conn, struct migration_ledger *out) MUST_CHECK;

/*
 * Runs the file and records it, in one transaction. ERR_UNAVAILABLE: it may or may not have been applied, a second run
 * finds out. Anything else but OK: nothing of it is left; pg_conn_message says why.
 */
enum err migration_ledger_apply(struct pg_conn *conn, const struct migration_file *file) MUST_CHECK;

#endif
