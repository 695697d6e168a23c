/*
 * One thread at a time, at start. What Prometheus' client libraries show of every process (process_…), and which build
 * it is: waymark_build_info{version="…"} 1.
 */
#ifndef WAYMARK_LIB_BASE_PROCESS_METRICS_H
#define WAYMARK_LIB_BASE_PROCESS_METRICS_H

#include "lib/base/metrics.h"

/* What cannot be read reads as NaN. */
void process_metrics_register(struct metrics *m);

#endif
