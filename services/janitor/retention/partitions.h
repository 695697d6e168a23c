/*
 * One thread at a time. The task "partitions". It gives visit_log a partition for today (UTC) and
 * each of the next PARTITIONS_AHEAD_DAYS days. The default partition has the clicks of all other
 * days: those of clocks that are far off, and those that came while no janitor ran for so long.
 * They stay there, because they are read and counted like all others, and are deleted once they are
 * older than the retention; they stay counted in the statistics.
 */
#ifndef WAYMARK_SERVICES_JANITOR_RETENTION_PARTITIONS_H
#define WAYMARK_SERVICES_JANITOR_RETENTION_PARTITIONS_H

#include "services/janitor/tasks/run.h"

#define PARTITIONS_AHEAD_DAYS 30
/*
 * To make or drop a partition, readers and writers must wait, and every later query queues behind
 * the wait for their locks.
 */
#define PARTITIONS_LOCK_TIMEOUT_MS 1000

/*
 * *changed: partitions made and rows deleted. ERR_LIMIT: a reader or writer holds the table for
 * longer than PARTITIONS_LOCK_TIMEOUT_MS; the next run tries again.
 */
enum err partitions_run(struct run *run, int64_t *changed) MUST_CHECK;

/*
 * A batch of retention: drops the oldest partition that is older than VISIT_LOG_KEEP_DAYS. *changed:
 * 1 or 0. Errors of partitions_run.
 */
enum err partitions_drop_oldest(const struct run *run, int64_t *changed) MUST_CHECK;

#endif
