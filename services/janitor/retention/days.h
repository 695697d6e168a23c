/*
 * One thread at a time. What each UTC day needs, a partition of the visit log and a salt, and the
 * deletion of what is too old.
 *
 * The day comes from the janitor's own clock, just as the redirectors' clocks date the clicks.
 * PostgreSQL's clock is only a safeguard: a janitor whose clock is far off must not delete a year
 * of clicks.
 */
#ifndef WAYMARK_SERVICES_JANITOR_RETENTION_DAYS_H
#define WAYMARK_SERVICES_JANITOR_RETENTION_DAYS_H

#include <stdint.h>

#include "services/janitor/tasks/run.h"

#define DAYS_OF_PARTITIONS_AHEAD 30
#define DAYS_OF_SALTS_AHEAD 2
/*
 * To make or drop a partition, readers and writers must wait, and every later query queues behind
 * the wait for their locks.
 */
#define DAYS_LOCK_TIMEOUT_MS 1000
/* PostgreSQL reads all of the default partition to make one, and batches wait for both times. */
#define DAYS_STATEMENT_TIMEOUT_MS 2000

/*
 * ERR_INVALID: this clock and PostgreSQL's differ by more than CLOCK_SKEW_MAX_S; logged. Always OK
 * if CLOCK_SKEW_MAX_S is 0.
 */
enum err days_check_skew(const struct run *run) MUST_CHECK;

/* Days since 1970-01-01 (UTC). */
int32_t days_today(const struct run *run);

/*
 * The task "partitions". It gives visit_log a partition for today and each of the next days. The
 * default partition has the clicks of all other days: those of clocks that are far off, and those
 * that came while no janitor ran for so long. They are read and counted like all others. When a day
 * gets its partition, up to RUN_BATCH_ROWS clicks move into it. A day with more stays in the default
 * partition, whose clicks are deleted once they are older than VISIT_LOG_KEEP_DAYS; they stay
 * counted in the statistics.
 *
 * *changed: partitions made and rows deleted. A partition that takes longer than
 * DAYS_STATEMENT_TIMEOUT_MS is not made (logged), and the next run tries again; clicks of the day go
 * to the default partition. ERR_LIMIT: a reader or writer holds the table for longer than
 * DAYS_LOCK_TIMEOUT_MS.
 */
enum err days_make_partitions(struct run *run, int64_t *changed) MUST_CHECK;

/*
 * The task "salts". It creates the salts of today and the next days, so that all redirectors agree
 * on them in time, and deletes those of past days. *changed: salts created and salts deleted.
 */
enum err days_make_salts(struct run *run, int64_t *changed) MUST_CHECK;

/*
 * The task "retention". It deletes old data in four phases:
 *
 * 1. partitions of visit_log older than VISIT_LOG_KEEP_DAYS, each dropped in a transaction of its
 *    own; what was counted of them stays in the roll-ups and statistics until the link is purged;
 * 2. orphan statistics: statistics and roll-ups of purged links. The analytics-consumer deletes
 *    them soon after a purge (purge_consumer.h). This finds what it missed, and what late clicks
 *    created again. It scans all statistics once per run and resumes where an interrupted run
 *    stopped. The platform's totals keep the clicks of purged links;
 * 3. audit log entries older than AUDIT_LOG_KEEP_DAYS, then those beyond AUDIT_LOG_ENTRIES_MAX,
 *    oldest first;
 * 4. stored responses of idempotent requests, used quotas, and sessions, older than a day;
 *    tokens for passwords and addresses that have ended. PostgreSQL's clock decides, because it wrote their times or is close to the clock that did.
 *    Also colors of tags that no link has any more.
 *
 * *changed: partitions dropped and rows deleted. ERR_LIMIT: a reader or writer holds visit_log for
 * too long; the next run tries again.
 */
enum err days_delete_old(struct run *run, int64_t *changed) MUST_CHECK;

#endif
