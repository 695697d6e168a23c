/*
 * One thread at a time. The task "destinations". It requests the destinations of links at a limited
 * rate and stores the results (docs/decisions/0018-destination-checks.md). Off unless
 * DESTINATION_CHECKS is true.
 */
#ifndef WAYMARK_SERVICES_JANITOR_DESTINATIONS_DESTINATIONS_H
#define WAYMARK_SERVICES_JANITOR_DESTINATIONS_DESTINATIONS_H

#include "services/janitor/tasks/run.h"

/* A run claims no more links after this time; the next run continues. */
#define DESTINATIONS_RUN_S 30
#define DESTINATIONS_BATCH 10
/* Longer than a batch. A link whose check crashed the janitor is not claimed before that. */
#define DESTINATIONS_LEASE_S 600

/* *changed: links that were checked. */
enum err destinations_run(struct run *run, int64_t *changed) MUST_CHECK;

#endif
