/*
 * One thread at a time: that of the loop which owns it. Commands to Redis that nobody waits for: what is asked during a
 * turn of the loop goes out in one write, replies are handed out as they come, in order. One connection, made by a
 * thread of its own (resolving a name and connecting may block); while there is none, calls are refused at once.
 *
 *   receive  takes the replies that have come and ends what is late     before the turn's work
 *   send     writes what was asked                                      after it
 */
#ifndef WAYMARK_LIB_NET_REDIS_PIPELINE_H
#define WAYMARK_LIB_NET_REDIS_PIPELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/net/redis_conn.h"

struct redis_pipeline;

struct redis_pipeline_config {
	const char *url;
	int64_t timeout_ms;   /* from the call to its reply; for connecting as well */
	size_t in_flight_max; /* calls without a reply */
	const struct clock *clock;
	const struct log *log;
};

/* ERR_INVALID: url is not redis://…. The server may be away. */
enum err redis_pipeline_new(const struct redis_pipeline_config *config, struct redis_pipeline **out) MUST_CHECK;
/* Ends what waits (reply NULL). */
void redis_pipeline_free(struct redis_pipeline *p);

/*
 * reply is borrowed; NULL: Redis is away or too slow, and nobody knows whether the command ran. server: who gave the
 * reply (redis_conn_server).
 */
typedef void (*redis_pipeline_done)(void *ctx, const struct redis_reply *reply, uint64_t server);

/*
 * Copies. done is told once, from receive, send or free. ERR_UNAVAILABLE: there is no connection; ERR_LIMIT:
 * in_flight_max calls wait; done is not told.
 */
enum err redis_pipeline_call(struct redis_pipeline *p, const struct redis_arg *args, size_t count,
                             redis_pipeline_done done, void *ctx) MUST_CHECK;

/*
 * Leaves a connection to another server than this one (redis_conn_server) at the next send: what waits is ended as if
 * Redis were away, and a new connection is made, perhaps to the server that has taken its place.
 */
void redis_pipeline_demand(struct redis_pipeline *p, uint64_t server);

/* What poll should wait for; -1: nothing. */
int redis_pipeline_descriptor(const struct redis_pipeline *p, short *events);
/* Steady time at which the oldest call is late; INT64_MAX: none waits. */
int64_t redis_pipeline_deadline_us(const struct redis_pipeline *p);

/* is_readable: poll said that the descriptor can be read, or has failed. */
void redis_pipeline_receive(struct redis_pipeline *p, bool is_readable);
void redis_pipeline_send(struct redis_pipeline *p);

#endif
