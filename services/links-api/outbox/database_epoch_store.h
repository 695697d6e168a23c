/*
 * The epoch of the database (table database_epoch). It rises when the server continues another
 * history than before: a standby was promoted, or a backup was restored. Commits of the earlier
 * epoch may be lost then (docs/decisions/0053-database-epoch.md). One thread at a time per
 * connection.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_OUTBOX_DATABASE_EPOCH_STORE_H
#define WAYMARK_SERVICES_LINKS_API_OUTBOX_DATABASE_EPOCH_STORE_H

#include <stdint.h>

#include "lib/base/err.h"
#include "lib/postgres/pg_conn.h"

struct database_epoch {
	/* From 1. */
	int64_t number;
	/* Below every version of a link that this epoch issues. */
	int64_t link_version_base;
};

/*
 * Reads the epoch, and begins a new one first if the server has another history. Until that is
 * done, PostgreSQL refuses changes of links and new users (ERR_UNAVAILABLE). Errors of
 * pg_conn_query.
 */
enum err database_epoch_store_adopt(struct pg_conn *conn, struct database_epoch *out) MUST_CHECK;

#endif
