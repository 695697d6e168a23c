/*
 * One thread at a time. One run of the migrations. It reports progress on stdout and errors on
 * stderr.
 */
#ifndef WAYMARK_TOOLS_MIGRATE_MIGRATION_RUN_H
#define WAYMARK_TOOLS_MIGRATE_MIGRATION_RUN_H

#include <stdint.h>

#include "lib/base/log.h"
#include "lib/postgres/pg_conn.h"
#include "tools/migrate/migration.h"

/* Retries for wait_s seconds. ERR_UNAVAILABLE: the server could not be reached; reported. */
enum err migration_run_connect(const char *url, int64_t wait_s, const struct log *log,
                               struct pg_conn **out) MUST_CHECK;

/*
 * Applies pending migrations. Only one run at a time does so per database. OK also if the database
 * is newer than the folder, as after a rollback; nothing was applied. ERR_CONFLICT, with lines in
 * problems: folder and recorded migrations contradict each other; nothing was applied. Other errors
 * are reported; the migrations before the failed one stay applied. ERR_LIMIT: a migration did not
 * get a lock within a second, and neither when tried again for lock_wait_s seconds.
 */
enum err migration_run_apply(struct pg_conn *conn, const struct migration_folder *folder,
                             int64_t lock_wait_s, struct strbuf *problems) MUST_CHECK;

/*
 * Lists applied and pending migrations, and those of a newer version. Changes nothing. Errors as
 * above.
 */
enum err migration_run_status(struct pg_conn *conn, const struct migration_folder *folder,
                              struct strbuf *problems) MUST_CHECK;

#endif
