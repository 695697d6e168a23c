#include "services/links-api/http/route_metrics.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/mem.h"

#define LABELS_SIZE 128
#define CODES 6 /* indexed by the first digit of the status; 0 and 1 are unused */
#define CODE_SIZE sizeof(",code=\"2xx\"")

struct row {
	struct metric *counters[CODES];
	struct metric *seconds;
	char labels[LABELS_SIZE];
	char labels_by_code[CODES][LABELS_SIZE + CODE_SIZE];
};

struct route_metrics {
	const struct http_route *table;
	size_t count;
	/* The last row counts requests that matched no route. */
	struct row rows[];
};

static void set_labels(struct row *row, const char *method, const char *pattern)
{
	snprintf(row->labels, sizeof(row->labels), "method=\"%s\",route=\"%s\"", method, pattern);
	for (unsigned i = 2; i < CODES; i++)
		snprintf(row->labels_by_code[i], sizeof(row->labels_by_code[i]), "%s,code=\"%uxx\"",
		         row->labels, i);
}

static void register_counters(struct row *row, struct metrics *metrics)
{
	for (unsigned i = 2; i < CODES; i++)
		row->counters[i] =
			metrics_counter(metrics, "waymark_api_requests_total",
		                        "Requests counters, by route.", row->labels_by_code[i]);
}

struct route_metrics *route_metrics_new(const struct http_route *table, size_t count,
                                        struct metrics *metrics)
{
	struct route_metrics *routes =
		mem_zero(sizeof(*routes) + (count + 1) * sizeof(routes->rows[0]));
	routes->table = table;
	routes->count = count;
	for (size_t i = 0; i < count; i++)
		set_labels(&routes->rows[i], http_router_method_name(table[i].method),
		           table[i].pattern);
	set_labels(&routes->rows[count], "", "");
	/* All series of one metric must be registered together. */
	for (size_t i = 0; i <= count; i++)
		register_counters(&routes->rows[i], metrics);
	for (size_t i = 0; i <= count; i++)
		routes->rows[i].seconds = metrics_histogram(
			metrics, "waymark_api_request_seconds",
			"Time from the request line to the queued response, by route.",
			routes->rows[i].labels, metrics_latency_bounds,
			metrics_latency_bound_count);
	return routes;
}

void route_metrics_free(struct route_metrics *routes)
{
	free(routes);
}

void route_metrics_count(struct route_metrics *routes, const struct http_route *route,
                         unsigned status, int64_t duration_us)
{
	struct row *row = &routes->rows[route ? (size_t)(route - routes->table) : routes->count];
	unsigned code = status / 100;
	metrics_add(code < CODES ? row->counters[code] : NULL, 1);
	metrics_observe(row->seconds, (double)duration_us / (double)CLOCK_US_PER_S);
}
