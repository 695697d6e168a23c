/*
 * One thread at a time. A part of the task "retention": entries of the audit log that are older than
 * AUDIT_LOG_KEEP_DAYS go, the oldest first.
 */
#ifndef WAYMARK_SERVICES_JANITOR_AUDIT_LOG_H
#define WAYMARK_SERVICES_JANITOR_AUDIT_LOG_H

#include "services/janitor/run.h"

/* *changed: entries deleted. */
enum err audit_log_forget(struct run *run, int64_t *changed) MUST_CHECK;

#endif
