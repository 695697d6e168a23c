/*
 * One thread at a time. The task "destinations": asks where links lead whether anybody is there, at a bounded rate, and
 * writes down what was answered (docs/decisions/0018-destination-checks.md). Off unless DESTINATION_CHECKS is true.
 */
#ifndef WAYMARK_SERVICES_JANITOR_DESTINATIONS_H
#define WAYMARK_SERVICES_JANITOR_DESTINATIONS_H

#include "services/janitor/run.h"

/* After so long a run takes no more links; what is left is the next one's. */
#define DESTINATIONS_RUN_S 30
#define DESTINATIONS_BATCH 10
/* Longer than a batch takes. A link that somebody died of is left alone for so long. */
#define DESTINATIONS_LEASE_S 600

/* changed: links that were checked. */
enum err destinations_run(struct run *run, int64_t *changed) MUST_CHECK;

#endif
