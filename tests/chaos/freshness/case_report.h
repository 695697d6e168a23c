/*
 * A readable report of violations: the answer, and the history of its link around it. Times are
 * milliseconds since the violating request began. One thread at a time.
 */
#ifndef WAYMARK_TESTS_CHAOS_FRESHNESS_CASE_REPORT_H
#define WAYMARK_TESTS_CHAOS_FRESHNESS_CASE_REPORT_H

#include "tests/chaos/freshness/judge.h"

#define CASE_REPORT_MAX 10

struct case_report;

struct case_report *case_report_new(void);
void case_report_free(struct case_report *report);

/*
 * Keeps the first CASE_REPORT_MAX violations, one per link, because others of a link have the same
 * cause.
 */
void case_report_add(struct case_report *report, const struct history_read *read,
                     const struct judge_finding *finding, int64_t bound_us, const char *fault);

/*
 * Call for every read in a second pass. Keeps reads of the same links shortly before and after. A
 * history_read_seen.
 */
void case_report_add_context(void *report, const struct history_read *read);

void case_report_print(struct case_report *report, const struct timeline *timeline);

#endif
