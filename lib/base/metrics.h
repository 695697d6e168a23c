/*
 * Counters, gauges and histograms, rendered in the Prometheus text format 0.0.4.
 *
 * Names follow the conventions of Prometheus: the prefix waymark_, base units (seconds, bytes),
 * _total on counters. Register series of one name with different labels one after the other.
 * Registering a counter, gauge or histogram again returns the existing series, so that several
 * instances of a module share it.
 *
 * Register in one thread at a time, at start. Everything else is safe from any thread.
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

/* labels is `level="memory"` or NULL. name, help and labels are borrowed (string literals). */
struct metric *metrics_counter(struct metrics *m, const char *name, const char *help,
                               const char *labels);
struct metric *metrics_gauge(struct metrics *m, const char *name, const char *help,
                             const char *labels);
/* bounds are ascending upper bounds, borrowed. +Inf is added. */
struct metric *metrics_histogram(struct metrics *m, const char *name, const char *help,
                                 const char *labels, const double *bounds, size_t count);
/* A gauge whose value is read by a callback at each scrape, in the scraping thread. */
void metrics_gauge_callback(struct metrics *m, const char *name, const char *help,
                            const char *labels, double (*value)(void *ctx), void *ctx);
/* The same for a value that only rises. */
void metrics_counter_callback(struct metrics *m, const char *name, const char *help,
                              const char *labels, double (*value)(void *ctx), void *ctx);

/* For counters and gauges. All functions ignore a NULL metric. */
void metrics_add(struct metric *metric, int64_t n);
int64_t metrics_value(const struct metric *metric);
/* For gauges, and for counters that are kept elsewhere. */
void metrics_set(struct metric *metric, int64_t value);
/* For histograms. */
void metrics_observe(struct metric *metric, double value);

/* Bucket bounds for request latency in seconds: 0.5 ms to 10 s. */
extern const double metrics_latency_bounds[];
extern const size_t metrics_latency_bound_count;

/*
 * Registers refresh, which is called at the start of each rendering, in the rendering thread. Use
 * it to set series that must be consistent with each other. Renderings do not overlap, so each
 * shows what its own refresh has set.
 */
void metrics_before_render(struct metrics *m, void (*refresh)(void *ctx), void *ctx);

void metrics_render(struct metrics *m, struct strbuf *out);

/*
 * Registers the standard process metrics of the Prometheus client libraries (process_*), and the
 * running version: waymark_build_info{version="…"} 1. A value that cannot be read is NaN.
 */
void metrics_register_process(struct metrics *m);

#endif
