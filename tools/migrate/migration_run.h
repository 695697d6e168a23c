/*
 * One thread at a time. One run of the migrations, and what it tells the operator on stdout (progress) and stderr (what
 * went wrong).
 */
#ifndef WAYMARK_TOOLS_MIGRATE_MIGRATION_RUN_H
#define WAYMARK_TOOLS_MIGRATE_MIGRATION_RUN_H

#include <stdint.h>

#include "lib/base/log.h"
#include "lib/net/pg_conn.h"
#include "tools/migrate/migration.h"

/* Tries for wait_s seconds. ERR_UNAVAILABLE: told. */
enum err migration_run_connect(const char *url, int64_t wait_s, const struct log *log, struct pg_conn **out) MUST_CHECK;

/*
 * Applies what is pending, alone among all runs on this database. ERR_CONFLICT with lines in problems: the folder does
 * not continue what is recorded, nothing was applied. Other errors: told; the migrations before the failed one are
 * applied.
 */
enum err migration_run_apply(struct pg_conn *conn, const struct migration_folder *folder,
                             struct strbuf *problems) MUST_CHECK;

/* Lists what is applied and pending, and writes nothing. Errors as above. */
enum err migration_run_status(struct pg_conn *conn, const struct migration_folder *folder,
                              struct strbuf *problems) MUST_CHECK;

#endif
