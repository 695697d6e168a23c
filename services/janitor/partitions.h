/*
 * One thread at a time. The task "partitions": visit_log has a partition for today (UTC) and each of the next
 * PARTITIONS_AHEAD_DAYS days, so that no click has to go to the default one.
 */
#ifndef WAYMARK_SERVICES_JANITOR_PARTITIONS_H
#define WAYMARK_SERVICES_JANITOR_PARTITIONS_H

#include "services/janitor/run.h"

#define PARTITIONS_AHEAD_DAYS 7

enum err partitions_run(struct run *run, int64_t *changed) MUST_CHECK;

#endif
