/*
 * One thread at a time. One check of a destination: a HEAD request, then GET if HEAD fails, and up
 * to DESTINATION_CHECK_REDIRECTS_MAX redirects, followed here and not by libcurl.
 *
 * Each request to a host is reserved first (host_store.h). The reservation's transaction also
 * checks the janitor's lock. A host's robots.txt is read once a day, for its crawl delay.
 */
#ifndef WAYMARK_SERVICES_JANITOR_DESTINATIONS_DESTINATION_CHECK_H
#define WAYMARK_SERVICES_JANITOR_DESTINATIONS_DESTINATION_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "services/janitor/tasks/run.h"

#define DESTINATION_CHECK_REDIRECTS_MAX 3

/* Limits the rate of requests to all hosts together. */
struct destination_check_pacer {
	/* Steady; the earliest time of the next request. */
	int64_t next_us;
};

struct destination_check {
	/* False: no result yet; check again after wait_ms. */
	bool is_complete;
	/* As in link_check_store.h; of the last host that was requested. */
	int status;
	/* If not complete. */
	int64_t wait_ms;
};

/*
 * The run must hold the lock. ERR_CONFLICT: the lock was lost. Database errors are passed on.
 * Failures of the host are a result, not an error.
 */
enum err destination_check_run(struct run *run, struct destination_check_pacer *pacer,
                               const char *url, struct destination_check *out) MUST_CHECK;

#endif
