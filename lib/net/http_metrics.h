/*
 * Safe from any thread after http_metrics_init. Private to the http_* files: what a server counts. A program has at
 * most one server that counts, because a metric of one name is registered once.
 */
#ifndef WAYMARK_LIB_NET_HTTP_METRICS_H
#define WAYMARK_LIB_NET_HTTP_METRICS_H

#include "lib/base/metrics.h"

#define HTTP_METRICS_CLASSES 6 /* by the first digit of the status */

struct http_metrics {
	struct metric *answered[HTTP_METRICS_CLASSES];
	struct metric *seconds;
	struct metric *connections;
	struct metric *refused_connections;
	struct metric *late;
	struct metric *queued;
};

/* metrics NULL: nothing is counted. */
void http_metrics_init(struct http_metrics *m, struct metrics *metrics);
void http_metrics_answered(const struct http_metrics *m, unsigned status, int64_t duration_us);

#endif
