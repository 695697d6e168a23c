/*
 * The standard process metrics of the Prometheus client libraries (process_*), and the running
 * version: waymark_build_info{version="…"} 1.
 *
 * One thread at a time, at start.
 */
#ifndef WAYMARK_LIB_BASE_PROCESS_METRICS_H
#define WAYMARK_LIB_BASE_PROCESS_METRICS_H

#include "lib/base/metrics.h"

/* A value that cannot be read is reported as NaN. */
void process_metrics_register(struct metrics *m);

#endif
