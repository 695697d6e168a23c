/*
 * One thread at a time. Asks every address of every target for its /readyz, all at the same time,
 * and waits for at most HEALTH_PROBE_TIMEOUT_MS. Looking up the names comes before that; the
 * resolver bounds it. Follows no redirects, uses no proxy and reads at most 4 KiB of a response.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_HEALTH_HEALTH_PROBE_H
#define WAYMARK_SERVICES_LINKS_API_HEALTH_HEALTH_PROBE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/json/json.h"
#include "services/links-api/health/health_target.h"

#define HEALTH_PROBE_TIMEOUT_MS 1000
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
	char name[HEALTH_TARGET_NAME_SIZE];
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

/* Initialises and releases libcurl. */
void health_probe_start(void);
void health_probe_end(void);

/* Sets count and processes of report, in the order of the targets. */
void health_probe_run(const struct health_target *targets, size_t count,
                      struct health_report *report);

/*
 * What a response of /readyz means: status is its HTTP status. A body that is not {status,
 * failing}, or does not fit the HTTP status, is HEALTH_INVALID. Counts may be missing. Pure.
 */
void health_probe_read(int status, const char *body, size_t len, struct health_process *process);

#endif
