/*
 * How the other processes are: asks every address of every target of HEALTH_URLS for its /readyz, all
 * at the same time, and waits for at most a second. Looking up the names comes before that; the
 * resolver bounds it. Follows no redirects, uses no proxy and reads at most 4 KiB of a response.
 *
 * A thread of its own asks, and only while somebody reads: a slow process delays neither requests nor
 * shutdown of the HTTP server. Safe from any thread.
 *
 * HEALTH_URLS is a list of NAME=http://HOST:PORT, separated by commas or white space. Only operators
 * set it, so any host is allowed: there is no server-side request forgery to prevent.
 *
 *   redirector=http://redirector-ops:9090,janitor=http://janitor-ops:9090
 */
#ifndef WAYMARK_SERVICES_LINKS_API_HEALTH_HEALTH_PROBE_H
#define WAYMARK_SERVICES_LINKS_API_HEALTH_HEALTH_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/clock.h"
#include "lib/base/strbuf.h"

#define HEALTH_PROBE_NAME_SIZE 33
#define HEALTH_PROBE_PROCESSES_MAX 64
#define HEALTH_PROBE_FAILING_MAX 9 /* OPS_SERVER_CHECKS_MAX, and "draining" */
#define HEALTH_PROBE_CHECK_SIZE 33

enum health_status {
	HEALTH_READY,
	HEALTH_DEGRADED,
	HEALTH_UNREADY,
	HEALTH_UNREACHABLE, /* the reason says why */
	HEALTH_INVALID,     /* something else answers there, or contradicts itself */
};

enum health_reason {
	HEALTH_REASON_NONE,
	HEALTH_REASON_NO_ADDRESS, /* the name has none: no process is registered */
	HEALTH_REASON_NO_CONNECTION,
	HEALTH_REASON_TIMEOUT,
	HEALTH_REASON_NO_RESPONSE, /* the connection broke */
};

/* One process, or a name without an address. */
struct health_process {
	char name[HEALTH_PROBE_NAME_SIZE];
	/* "10.0.0.7:9090"; of a name without an address "host:port", cut; "" = this process */
	char address[64];
	enum health_status status;
	enum health_reason reason;
	size_t failing_count;
	/* Of a redirector: in its journal, and lost lately. -1: not known, or another service. */
	int64_t events_queued, events_dropped;
	char failing[HEALTH_PROBE_FAILING_MAX][HEALTH_PROBE_CHECK_SIZE];
};

struct health_report {
	/* When it was complete; 0 = never. */
	int64_t checked_at_us;
	size_t count;
	struct health_process processes[HEALTH_PROBE_PROCESSES_MAX];
};

/* The number of problems of HEALTH_URLS; each is a line of problems. */
size_t health_probe_check(const char *urls, struct strbuf *problems);

struct health_probe;

/* urls: HEALTH_URLS, checked. */
struct health_probe *health_probe_start(const char *urls, const struct clock *clock);
/* Waits for an answer that is under way. NULL is allowed. */
void health_probe_stop(struct health_probe *probe);

/*
 * Copies a report that is at most two seconds old. If there is none, waits up to two seconds for it
 * and then copies the last one: its checked_at_us says how old it is, 0 that there is none.
 */
void health_probe_read(struct health_probe *probe, struct health_report *out);

#endif
