/*
 * One thread at a time. The task "destinations". It requests the destinations of links at a limited
 * rate and stores the results (docs/decisions/0018-destination-checks.md). Off unless
 * DESTINATION_CHECKS is true.
 *
 * A check is a HEAD request, then GET if HEAD fails, and a few redirects, followed here and not by
 * libcurl. Each request to a host is reserved first (host_store.h), in a transaction that also
 * checks the janitor's lock. A host's robots.txt is read once a day, for its crawl delay.
 */
#ifndef WAYMARK_SERVICES_JANITOR_DESTINATIONS_DESTINATIONS_H
#define WAYMARK_SERVICES_JANITOR_DESTINATIONS_DESTINATIONS_H

#include <stdbool.h>

#include "services/janitor/tasks/run.h"

/* The longest interval between checks of a dead destination. */
#define DESTINATIONS_RETRY_S_MAX INT64_C(2592000)
#define DESTINATIONS_FAILURES_MAX INT64_C(1000)

/* *changed: links that were checked. Failures of a host are results, not errors. */
enum err destinations_run(struct run *run, int64_t *changed) MUST_CHECK;

/*
 * Pure. status is as in link_check_store.h. No answer, 4xx and 5xx are dead. Exceptions are statuses
 * of a server that refuses this request only: 401, 403, 405, 406, 407, 429, 451, and the
 * non-standard 999 that some sites send to programs.
 */
bool destinations_is_dead(int status);

/*
 * Pure. Seconds to the next check. Without failures: recheck_s. Otherwise retry_s, doubled with each
 * further consecutive failure, at most DESTINATIONS_RETRY_S_MAX. The link's id adds up to a tenth,
 * so that links created together are not checked together.
 */
int64_t destinations_next_s(int64_t recheck_s, int64_t retry_s, int64_t failures, int64_t link_id);

#endif
