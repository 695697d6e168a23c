/*
 * One thread at a time. The last phase of the task "retention": what links-api keeps of requests for a day, and has no
 * use for after it, is deleted: answers under idempotency keys, and what quotas have counted. The database's clock
 * decides, which wrote their times or was near.
 */
#ifndef WAYMARK_SERVICES_JANITOR_PAST_REQUESTS_H
#define WAYMARK_SERVICES_JANITOR_PAST_REQUESTS_H

#include "services/janitor/run.h"

/* *changed: rows deleted. */
enum err past_requests_forget(struct run *run, int64_t *changed) MUST_CHECK;

#endif
