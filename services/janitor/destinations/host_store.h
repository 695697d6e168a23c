/*
 * One thread at a time per connection, inside the caller's transaction. The table
 * destination_hosts: when a host may be requested again, according to the crawl delay of its
 * robots.txt. Times come from the database's clock, so that successive janitors agree. Errors of
 * pg_conn_query are passed on.
 */
#ifndef WAYMARK_SERVICES_JANITOR_DESTINATIONS_HOST_STORE_H
#define WAYMARK_SERVICES_JANITOR_DESTINATIONS_HOST_STORE_H

#include <stdint.h>

#include "lib/postgres/pg_conn.h"

/* How long a robots.txt stays valid (RFC 9309, 2.4). */
#define HOST_STORE_ROBOTS_S 86400
/* Added to the crawl delay for each place in the queue: a waiting check starts a little late. */
#define HOST_STORE_SLACK_MS 2000

enum host_store_status {
	HOST_STORE_RESERVED, /* request now; the next request may follow after the crawl delay */
	HOST_STORE_WAIT,     /* come back after wait_ms: that time is reserved for this caller */
	HOST_STORE_UNKNOWN, /* read the robots.txt first and store it with host_store_save_robots */
};

struct host_store_reservation {
	enum host_store_status status;
	/* The host's crawl delay, if RESERVED. */
	int64_t delay_ms;
	int64_t wait_ms;
};

enum err host_store_reserve(struct pg_conn *conn, const char *host,
                            struct host_store_reservation *out) MUST_CHECK;

/* Stores the crawl delay. Reading robots.txt was a request itself, so the delay starts now. */
enum err host_store_save_robots(struct pg_conn *conn, const char *host,
                                int64_t delay_ms) MUST_CHECK;

/* Deletes at most limit hosts whose robots.txt is older than two days. */
enum err host_store_delete_stale(struct pg_conn *conn, int64_t limit) MUST_CHECK;

#endif
