/*
 * One thread at a time. The task "partitions". It gives visit_log a partition for today (UTC) and
 * each of the next PARTITIONS_AHEAD_DAYS days, so that no click has to go to the default partition.
 * Clicks that went there all the same (strays) move into the partition of their day, if that day is
 * kept. Strays of the far future wait until their day is near. Strays older than the retention are
 * deleted; they stay counted in the statistics.
 *
 * Few strays are moved while writers wait. Many are copied while the system runs, and only the
 * final swap blocks readers and writers.
 */
#ifndef WAYMARK_SERVICES_JANITOR_RETENTION_PARTITIONS_H
#define WAYMARK_SERVICES_JANITOR_RETENTION_PARTITIONS_H

#include "services/janitor/tasks/run.h"

#define PARTITIONS_AHEAD_DAYS 7

/*
 * *changed: partitions created, rows copied and rows deleted. ERR_LIMIT: a reader or writer holds
 * the table for too long; the next run tries again.
 */
enum err partitions_run(struct run *run, int64_t *changed) MUST_CHECK;

#endif
