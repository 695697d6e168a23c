/*
 * One thread at a time. What came out of a history, fault by fault, as lines of NAME=VALUE words for people and
 * scripts:
 *
 *   fault=kafka-stopped operations=… reads=… changes=… unknown=… violations=… stale=… expired=… missing=… gone=… never=…
 *   other=… unavailable=… no_answer=… worst_ms=… versions=… p50_ms=… p99_ms=… overdue_ms=…
 *
 *   unavailable   503s; those outside of stores-away are violations too
 *   worst_ms      the oldest answer: how long before its request its version had been replaced
 *   p50_ms …      over the versions that were acknowledged then and looked at: how long older ones were still shown
 *   overdue_ms    the latest redirect after its version's expires_at
 */
#ifndef WAYMARK_TESTS_CHAOS_FRESHNESS_TOTALS_H
#define WAYMARK_TESTS_CHAOS_FRESHNESS_TOTALS_H

#include "tests/chaos/freshness/faults.h"
#include "tests/chaos/freshness/judge.h"

struct totals;

struct totals *totals_new(const struct faults *faults);
void totals_free(struct totals *totals);

void totals_add_change(struct totals *totals, const struct history_change *change);
/* Gives whether the finding violates what is promised. */
bool totals_add_read(struct totals *totals, const struct history_read *read, const struct judge_finding *finding);

/* After the last read: looks at the versions' unseen_us. */
void totals_add_versions(struct totals *totals, const struct timeline_link *link);

uint64_t totals_violations(const struct totals *totals);

/* A line for each name of a fault and one, fault=all, for all of them. */
void totals_print(struct totals *totals);

#endif
