/*
 * The response of GET /api/admin/health: how other processes are (health_probe.h), how far they are, as
 * PostgreSQL knows it, and which problems that shows.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_HEALTH_HEALTH_H
#define WAYMARK_SERVICES_LINKS_API_HEALTH_HEALTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/json/json.h"
#include "lib/links/outbox.h"
#include "lib/postgres/fenced_lock.h"
#include "services/links-api/health/health_probe.h"

/* Rows are counted up to this number, which then means: so many or more. */
#define HEALTH_COUNTED_MAX 10000
#define HEALTH_HALTED_MAX 100
#define HEALTH_LOCKS_MAX 32
#define HEALTH_MAIL_LATE_S 600

struct health_partition {
	char topic[250];
	int64_t partition;
	int64_t halted_at_us;
	char reason[256];
};

/* A lock of a task of the janitor, or of the outbox relay. */
struct health_lock {
	char name[FENCED_LOCK_NAME_MAX + 1];
	char holder[FENCED_LOCK_HOLDER_MAX + 1];
	int64_t locked_at_us;
	int64_t locked_until_us;
};

/* Times are 0 if there is no such row. */
struct health_backlog {
	/* Of the database. */
	int64_t now_us;
	int64_t as_of_us;
	/* That a consumer has owned. */
	int64_t partitions;
	struct outbox_lag outbox;
	/* Of roll-ups, not folded yet. */
	int64_t deltas;
	int64_t oldest_delta_hour_us;
	/* Expired links that are not marked yet. */
	int64_t overdue_expiries;
	/* Expired and deleted links. */
	int64_t to_purge;
	int64_t oldest_to_purge_us;
	/* A mail has waited for longer than HEALTH_MAIL_LATE_S. */
	bool is_mail_late;
	int64_t schema_version;
	size_t halted_count;
	struct health_partition halted[HEALTH_HALTED_MAX];
	size_t lock_count;
	struct health_lock locks[HEALTH_LOCKS_MAX];
};

/* As this process sees them. */
struct health_stores {
	bool redis_is_reachable;
	bool kafka_is_reachable;
};

/*
 * Pure. {checked_at, services, counting, outbox, rollups, purge, locks, schema, problems}. A problem is
 * {kind, subject}; its kind is a title of docs/runbook.md. The caller owns the
 * result.
 */
struct json *health_json(const struct health_report *report, const struct health_backlog *backlog,
                         struct health_stores stores);

#endif
