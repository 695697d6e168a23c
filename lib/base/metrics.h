/*
 * Safe from any thread after registration; registration is one thread at a time, at start. Counters, gauges and
 * histograms, rendered in Prometheus' text format 0.0.4. Names follow its conventions: waymark_ prefix, base units
 * (seconds, bytes), _total on counters. Metrics of one name with different labels are registered one after the other.
 * Who registers a counter, gauge or histogram again gets the same series: parts of which a process has several share
 * them.
 */
#ifndef WAYMARK_LIB_BASE_METRICS_H
#define WAYMARK_LIB_BASE_METRICS_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/strbuf.h"

struct metrics; /* the registry */
struct metric;  /* one series; lives as long as its registry */

struct metrics *metrics_new(void);
void metrics_free(struct metrics *m);

/* labels: `level="memory"` or NULL. name, help and labels are borrowed (string literals). */
struct metric *metrics_counter(struct metrics *m, const char *name, const char *help, const char *labels);
struct metric *metrics_gauge(struct metrics *m, const char *name, const char *help, const char *labels);
/* bounds: rising upper bounds, borrowed; +Inf is added. */
struct metric *metrics_histogram(struct metrics *m, const char *name, const char *help, const char *labels,
                                 const double *bounds, size_t count);
/* A gauge whose value is asked at each scrape, in the scraping thread. */
void metrics_gauge_callback(struct metrics *m, const char *name, const char *help, const char *labels,
                            double (*value)(void *ctx), void *ctx);
/* The same for what only rises. */
void metrics_counter_callback(struct metrics *m, const char *name, const char *help, const char *labels,
                              double (*value)(void *ctx), void *ctx);

/* Counter or gauge. A NULL metric is allowed everywhere and does nothing. */
void metrics_add(struct metric *metric, int64_t n);
int64_t metrics_value(const struct metric *metric);
/* Gauge, or a counter that is kept elsewhere. */
void metrics_set(struct metric *metric, int64_t value);
/* Histogram. */
void metrics_observe(struct metric *metric, double value);

/* Bounds in seconds for the latency of requests: 0.5 ms to 10 s. */
extern const double metrics_latency_bounds[];
extern const size_t metrics_latency_bound_count;

/*
 * refresh is told at the start of each rendering, in the rendering thread: it sets series that must agree with one
 * another. Renderings come one after the other, so what one of them shows is what its own refresh set.
 */
void metrics_before_render(struct metrics *m, void (*refresh)(void *ctx), void *ctx);

void metrics_render(struct metrics *m, struct strbuf *out);

#endif
