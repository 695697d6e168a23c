/*
 * One thread at a time. The task "partitions": visit_log has a partition for today (UTC) and each of the next
 * PARTITIONS_AHEAD_DAYS days, so that no click has to go to the default one, and for each day that is kept and of which
 * clicks have gone there all the same: they move into it. What is too new for that waits in the default partition until
 * its day is near; what is older than what is kept is deleted (it stays in the statistics).
 *
 * Few rows are moved while writers wait; many are copied beside the running system, and only the exchange at the end
 * keeps anybody waiting.
 */
#ifndef WAYMARK_SERVICES_JANITOR_PARTITIONS_H
#define WAYMARK_SERVICES_JANITOR_PARTITIONS_H

#include "services/janitor/run.h"

#define PARTITIONS_AHEAD_DAYS 7

/*
 * *changed: partitions made, rows copied and rows deleted. ERR_LIMIT: somebody reads or writes for too long just now.
 */
enum err partitions_run(struct run *run, int64_t *changed) MUST_CHECK;

#endif
