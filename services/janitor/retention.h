/*
 * One thread at a time. The task "retention": partitions of visit_log that are older than VISIT_LOG_KEEP_DAYS are
 * dropped whole, one per transaction. What was counted stays in the roll-ups and the statistics, until their link is
 * purged: purged_statistics.h. The audit log goes as well: audit_log.h.
 */
#ifndef WAYMARK_SERVICES_JANITOR_RETENTION_H
#define WAYMARK_SERVICES_JANITOR_RETENTION_H

#include "services/janitor/run.h"

/* *changed: partitions dropped and rows deleted. ERR_LIMIT: somebody reads or writes for too long just now. */
enum err retention_run(struct run *run, int64_t *changed) MUST_CHECK;

#endif
