/*
 * One thread at a time. The task "destinations". It requests the destinations of links at a limited
 * rate and stores the results (docs/decisions/0018-destination-checks.md). Off unless
 * DESTINATION_CHECKS is true.
 *
 * A check is a HEAD request, then GET if HEAD fails, and a few redirects, followed here and not by
 * libcurl. Each request to a host is reserved first, in a transaction that also checks the janitor's
 * lock. A host's robots.txt is read once a day, for its crawl delay.
 */
#ifndef WAYMARK_SERVICES_JANITOR_DESTINATIONS_DESTINATIONS_H
#define WAYMARK_SERVICES_JANITOR_DESTINATIONS_DESTINATIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/postgres/pg_conn.h"
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

/*
 * When a host may be requested again, according to the crawl delay of its robots.txt: the table
 * destination_hosts, inside the caller's transaction. Times come from the database's clock, so that
 * successive janitors agree. Errors of pg_conn_query are passed on.
 */

/* How long a robots.txt stays valid (RFC 9309, 2.4). */
#define HOST_ROBOTS_S 86400
/* Added to the crawl delay for each place in the queue: a waiting check starts a little late. */
#define HOST_SLACK_MS 2000

enum host_status {
	HOST_RESERVED, /* request now; the next request may follow after the crawl delay */
	HOST_WAIT,     /* come back after wait_ms: that time is reserved for this caller */
	HOST_UNKNOWN,  /* read the robots.txt first; then destinations_host_save_robots */
};

struct host_reservation {
	enum host_status status;
	/* The host's crawl delay, if RESERVED. */
	int64_t delay_ms;
	int64_t wait_ms;
};

enum err destinations_host_reserve(struct pg_conn *conn, const char *host,
                                   struct host_reservation *out) MUST_CHECK;

/* Stores the crawl delay. Reading robots.txt was a request itself, so the delay starts now. */
enum err destinations_host_save_robots(struct pg_conn *conn, const char *host,
                                       int64_t delay_ms) MUST_CHECK;

/* Deletes at most limit hosts whose robots.txt is older than two days. */
enum err destinations_host_delete_stale(struct pg_conn *conn, int64_t limit) MUST_CHECK;

#endif
