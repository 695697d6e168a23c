/*
 * One thread at a time. One check of a destination: HEAD, and GET where HEAD tells nothing; up to three redirects,
 * followed by hand. Before each host its turn is taken (host_store.h), which checks the janitor's lock as well; its
 * robots.txt is read once a day.
 */
#ifndef WAYMARK_SERVICES_JANITOR_DESTINATION_VISIT_H
#define WAYMARK_SERVICES_JANITOR_DESTINATION_VISIT_H

#include <stdbool.h>
#include <stdint.h>

#include "services/janitor/run.h"

#define DESTINATION_VISIT_REDIRECTS_MAX 3

/* Keeps requests apart, whomever they ask. */
struct destination_visit_pace {
	int64_t next_us; /* steady */
};

struct destination_visit {
	bool is_over;    /* false: nothing came out, and it is to be tried again */
	int status;      /* as in link_check_store.h; of the last host that was asked */
	int64_t wait_ms; /* if it is not over */
};

/* run has the lock. ERR_CONFLICT: it was lost. Errors of the database pass through; what hosts do is no error. */
enum err destination_visit_run(struct run *run, struct destination_visit_pace *pace, const char *url,
                               struct destination_visit *out) MUST_CHECK;

#endif
