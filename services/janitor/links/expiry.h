/*
 * One thread at a time. The task "expiry". It marks ACTIVE links as EXPIRED once their time is
 * over, and purges links that have been EXPIRED or DELETED for their grace period. Visitors see a
 * link as expired even before it is marked: the mark only starts the grace period.
 *
 * It changes at most EXPIRY_LINKS_PER_S links per second, in batches of at most RUN_BATCH_ROWS.
 * Batches shrink while they take longer than 30 ms, so that other transactions wait little.
 */
#ifndef WAYMARK_SERVICES_JANITOR_LINKS_EXPIRY_H
#define WAYMARK_SERVICES_JANITOR_LINKS_EXPIRY_H

#include "services/janitor/tasks/run.h"

/* *changed: links marked and links purged. */
enum err expiry_run(struct run *run, int64_t *changed) MUST_CHECK;

#endif
