/*
 * One thread at a time. The server for operators, on a port of its own:
 *   GET /livez    200 while the process runs
 *   GET /readyz   200 if the service should get traffic, else 503; JSON with the names of the
 *                 failing checks, "status": ready, degraded (still 200) or unready, and a count
 *   GET /metrics  Prometheus text 0.0.4
 */
#ifndef WAYMARK_LIB_HTTP_OPS_SERVER_H
#define WAYMARK_LIB_HTTP_OPS_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/metrics.h"

#define OPS_SERVER_CHECKS_MAX 8

struct ops_server;

/* The functions run in the server's thread and must not block: they read a stored state. */
struct ops_server_check {
	/* "postgres". */
	const char *name;
	bool (*ready)(void *ctx);
	void *ctx;
	/*
	 * Whether the service can do part of its work while ready is false. Then it stays ready
	 * and counts as degraded: all replicas may be in the same state. NULL: it cannot.
	 */
	bool (*can_degrade)(void *ctx);
};

/* A number that /readyz also says. The function runs in the server's thread and must not block. */
struct ops_server_count {
	/* "events_queued". */
	const char *name;
	int64_t (*value)(void *ctx);
	void *ctx;
};

struct ops_server_config {
	/* To listen on; NULL or "": all. */
	const char *address;
	uint16_t port;
	/* Borrowed. */
	const struct ops_server_check *checks;
	size_t check_count;
	/* Borrowed. */
	const struct ops_server_count *counts;
	size_t count_count;
	struct metrics *metrics;
	const struct clock *clock;
	const struct log *log;
};

/* ERR_UNAVAILABLE: the port is not available (logged). */
enum err ops_server_start(const struct ops_server_config *config,
                          struct ops_server **out) MUST_CHECK;
uint16_t ops_server_port(const struct ops_server *s);

/* Makes /readyz return 503 with "draining". The first step of an orderly shutdown. */
void ops_server_set_draining(struct ops_server *s);

void ops_server_stop(struct ops_server *s);

#endif
