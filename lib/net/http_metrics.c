#include "lib/net/http_metrics.h"

#include "lib/base/clock.h"

void http_metrics_init(struct http_metrics *m, struct metrics *metrics)
{
	static const char *const classes[HTTP_METRICS_CLASSES] = {
		NULL, NULL, "code=\"2xx\"", "code=\"3xx\"", "code=\"4xx\"", "code=\"5xx\"",
	};
	*m = (struct http_metrics){ 0 };
	if (metrics == NULL)
		return;
	for (unsigned i = 2; i < HTTP_METRICS_CLASSES; i++)
		m->answered[i] = metrics_counter(metrics, "waymark_http_requests_total",
		                                 "Requests answered, by class of status.", classes[i]);
	m->seconds = metrics_histogram(metrics, "waymark_http_request_seconds",
	                               "Time from the request line to the queued answer.", NULL, metrics_latency_bounds,
	                               metrics_latency_bound_count);
	m->connections = metrics_gauge(metrics, "waymark_http_connections", "Open connections.", NULL);
	m->refused_connections = metrics_counter(metrics, "waymark_http_connections_refused_total",
	                                         "Connections closed at once because a ceiling was reached.", NULL);
	m->late = metrics_counter(metrics, "waymark_http_connections_late_total",
	                          "Connections closed because a request did not arrive in time.", NULL);
	m->queued = metrics_gauge(metrics, "waymark_http_queued_requests", "Requests that wait for a worker.", NULL);
}

void http_metrics_answered(const struct http_metrics *m, unsigned status, int64_t duration_us)
{
	unsigned class = status / 100;
	metrics_add(class < HTTP_METRICS_CLASSES ? m->answered[class] : NULL, 1);
	metrics_observe(m->seconds, (double)duration_us / (double)CLOCK_US_PER_S);
}
