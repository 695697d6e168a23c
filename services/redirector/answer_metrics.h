/*
 * Safe from any thread. Counts the answers to visitors by status, which the server itself counts by class only.
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_ANSWER_METRICS_H
#define WAYMARK_SERVICES_REDIRECTOR_ANSWER_METRICS_H

#include "lib/base/metrics.h"

struct answer_metrics;

struct answer_metrics *answer_metrics_new(struct metrics *metrics);
void answer_metrics_free(struct answer_metrics *answers);

void answer_metrics_count(struct answer_metrics *answers, unsigned status);

#endif
