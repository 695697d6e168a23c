/*
 * One thread at a time. Violations for people: what was answered, and the history of the link around it, times in
 * milliseconds since the violating request began.
 */
#ifndef WAYMARK_TESTS_CHAOS_FRESHNESS_CASE_REPORT_H
#define WAYMARK_TESTS_CHAOS_FRESHNESS_CASE_REPORT_H

#include "tests/chaos/freshness/judge.h"

#define CASE_REPORT_MAX 10

struct case_report;

struct case_report *case_report_new(void);
void case_report_free(struct case_report *report);

/* Keeps the first CASE_REPORT_MAX; of one link only one, for the others have the same cause. */
void case_report_add(struct case_report *report, const struct history_read *read, const struct judge_finding *finding,
                     int64_t bound_us, const char *fault);

/* In a second pass over all reads: those of the same links that came shortly before and after. A history_read_seen. */
void case_report_look(void *report, const struct history_read *read);

void case_report_print(struct case_report *report, const struct timeline *timeline);

#endif
