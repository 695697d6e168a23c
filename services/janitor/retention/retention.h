/*
 * One thread at a time. The task "retention", which deletes old data in four phases:
 *
 * 1. partitions of visit_log older than VISIT_LOG_KEEP_DAYS, each dropped in a transaction of its
 *    own; what was counted of them stays in the roll-ups and statistics until the link is purged;
 * 2. orphan statistics: statistics and roll-ups of purged links. The analytics-consumer deletes
 *    them soon after a purge (purge_consumer.h). This finds what it missed, and what late clicks
 *    created again. It scans all statistics once per run and resumes where an interrupted run
 *    stopped. The platform's totals keep the clicks of purged links;
 * 3. audit log entries older than AUDIT_LOG_KEEP_DAYS, then those beyond AUDIT_LOG_ENTRIES_MAX,
 *    oldest first;
 * 4. stored responses of idempotent requests, used quotas, and sessions, older than a day.
 *    PostgreSQL's clock decides, because it wrote their times or is close to the clock that did.
 *    Also colors of tags that no link has any more.
 */
#ifndef WAYMARK_SERVICES_JANITOR_RETENTION_RETENTION_H
#define WAYMARK_SERVICES_JANITOR_RETENTION_RETENTION_H

#include "services/janitor/tasks/run.h"

/*
 * *changed: partitions dropped and rows deleted. ERR_LIMIT: a reader or writer holds visit_log for
 * too long; the next run tries again.
 */
enum err retention_run(struct run *run, int64_t *changed) MUST_CHECK;

#endif
