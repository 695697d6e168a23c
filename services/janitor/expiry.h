/*
 * One thread at a time. The task "expiry": ACTIVE links whose time is over are marked EXPIRED; what has been EXPIRED or
 * DELETED for its grace is purged. In batches of RUN_BATCH_ROWS, smaller ones while those take longer than 30 ms, and
 * no more than EXPIRY_LINKS_PER_S links a second, so that others get their turn. Visitors see an expired link as such
 * without the mark: it starts the grace.
 */
#ifndef WAYMARK_SERVICES_JANITOR_EXPIRY_H
#define WAYMARK_SERVICES_JANITOR_EXPIRY_H

#include "services/janitor/run.h"

enum err expiry_run(struct run *run, int64_t *changed) MUST_CHECK;

#endif
