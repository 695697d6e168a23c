/*
 * Safe from any thread. Keeps the last report of health_probe. A thread of its own asks the other
 * processes, and only while somebody reads: a slow process delays neither requests nor shutdown of
 * the HTTP server.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_HEALTH_HEALTH_MONITOR_H
#define WAYMARK_SERVICES_LINKS_API_HEALTH_HEALTH_MONITOR_H

#include "lib/base/clock.h"
#include "services/links-api/health/health_probe.h"

struct health_monitor;

/* urls: HEALTH_URLS, checked. */
struct health_monitor *health_monitor_start(const char *urls, const struct clock *clock);
/* Waits for a probe that runs. NULL is allowed. */
void health_monitor_stop(struct health_monitor *monitor);

/*
 * Copies a report that is at most two seconds old. If there is none, waits up to two seconds for it
 * and then copies the last one: its checked_at_us says how old it is, 0 that there is none.
 */
void health_monitor_read(struct health_monitor *monitor, struct health_report *out);

#endif
