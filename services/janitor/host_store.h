/*
 * One thread at a time per connection. When the hosts of destinations may be asked: the table destination_hosts. Times
 * are the database's, so that janitors that take turns agree. Inside the caller's transaction; errors of pg_conn_query
 * pass through.
 */
#ifndef WAYMARK_SERVICES_JANITOR_HOST_STORE_H
#define WAYMARK_SERVICES_JANITOR_HOST_STORE_H

#include <stdint.h>

#include "lib/net/pg_conn.h"

/* What a robots.txt said holds for so long (RFC 9309, 2.4). */
#define HOST_STORE_ROBOTS_S 86400
/* What a turn of the queue takes beside the host's delay: whoever waited comes a little late. */
#define HOST_STORE_SLACK_MS 2000

enum host_turn {
	HOST_TURN_TAKEN,   /* ask now; the next turn is a delay later */
	HOST_TURN_WAIT,    /* not before wait_ms, and then this one has a turn of its own */
	HOST_TURN_UNKNOWN, /* read its robots.txt, and say so with host_store_learn */
};

struct host_store_answer {
	enum host_turn turn;
	int64_t delay_ms; /* of a TAKEN turn */
	int64_t wait_ms;
};

enum err host_store_take(struct pg_conn *conn, const char *host, struct host_store_answer *out) MUST_CHECK;

/* Its robots.txt was read now, which was a request, too. */
enum err host_store_learn(struct pg_conn *conn, const char *host, int64_t delay_ms) MUST_CHECK;

/* Removes at most limit hosts of which nothing has been read for two days. */
enum err host_store_forget(struct pg_conn *conn, int64_t limit) MUST_CHECK;

#endif
