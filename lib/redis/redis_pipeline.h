/*
 * Non-blocking commands to Redis for an event loop. All calls of one turn of the loop leave in one
 * write, and their callbacks run in order as the replies arrive. It has one connection. A thread of
 * its own connects, because name resolution and connecting may block; without a connection, calls
 * fail at once.
 *
 *   receive  before the turn's work: reads replies, runs their callbacks, ends calls that are late
 *   send     after it: writes the calls of the turn
 *
 * One thread at a time: the thread of the loop that owns the pipeline.
 */
#ifndef WAYMARK_LIB_REDIS_REDIS_PIPELINE_H
#define WAYMARK_LIB_REDIS_REDIS_PIPELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/redis/redis_conn.h"

struct redis_pipeline;

struct redis_pipeline_config {
	const char *url;
	/* As of redis_pool_config. */
	const char *ca_file;
	/* From the call to its reply; for connecting as well. */
	int64_t timeout_ms;
	/* Calls without a reply. */
	size_t in_flight_max;
	const struct clock *clock;
	const struct log *log;
};

/* Succeeds without a reachable server. ERR_INVALID: url is malformed (redis_url.h). */
enum err redis_pipeline_new(const struct redis_pipeline_config *config,
                            struct redis_pipeline **out) MUST_CHECK;
/* Ends open calls with a NULL reply. */
void redis_pipeline_free(struct redis_pipeline *p);

/*
 * reply is borrowed; NULL: Redis is down or too slow, and the command may or may not have run.
 * run_id: the server that replied (redis_conn_run_id).
 */
typedef void (*redis_pipeline_done)(void *ctx, const struct redis_reply *reply, uint64_t run_id);

/*
 * Queues a command; copies it. done runs exactly once, in receive, send or free. ERR_UNAVAILABLE:
 * there is no connection. ERR_LIMIT: in_flight_max calls are open. After an error done does not
 * run.
 */
enum err redis_pipeline_call(struct redis_pipeline *p, const struct redis_arg *args, size_t count,
                             redis_pipeline_done done, void *ctx) MUST_CHECK;

/*
 * If the connection leads to another server than run_id (redis_conn_run_id), the next send closes
 * it and connects again, perhaps to the server that took over. Open calls end with a NULL reply.
 */
void redis_pipeline_require_run_id(struct redis_pipeline *p, uint64_t run_id);

/* The descriptor and events for poll; -1: nothing to wait for. */
int redis_pipeline_descriptor(const struct redis_pipeline *p, short *events);
/* The steady time at which the oldest call times out; INT64_MAX: no call is open. */
int64_t redis_pipeline_deadline_us(const struct redis_pipeline *p);

/* is_readable: poll reports that the descriptor is readable or has failed. */
void redis_pipeline_receive(struct redis_pipeline *p, bool is_readable);
void redis_pipeline_send(struct redis_pipeline *p);

#endif
