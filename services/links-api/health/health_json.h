/* Pure. The response of GET /api/admin/health, and the problems that it names. */
#ifndef WAYMARK_SERVICES_LINKS_API_HEALTH_HEALTH_JSON_H
#define WAYMARK_SERVICES_LINKS_API_HEALTH_HEALTH_JSON_H

#include <stdbool.h>

#include "lib/json/json.h"
#include "services/links-api/health/health_probe.h"
#include "services/links-api/health/health_store.h"

/* As this process sees them. */
struct health_stores {
	bool redis_is_reachable;
	bool kafka_is_reachable;
};

/*
 * {checked_at, services, counting, outbox, rollups, purge, locks, schema, problems}. A problem is
 * {kind, subject}; its kind is a title of docs/runbook.md. The caller owns the
 * result.
 */
struct json *health_json_new(const struct health_report *report,
                             const struct health_backlog *backlog, struct health_stores stores);

#endif
