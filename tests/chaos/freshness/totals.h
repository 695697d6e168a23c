/*
 * The figures of a history by fault, printed as lines of NAME=VALUE words. One thread at a time.
 *
 *   fault=kafka-stopped operations=… reads=… changes=… unknown=… violations=… stale=…
 *   expired=… missing=… gone=… never=… other=… unavailable=… no_answer=… worst_ms=…
 *   versions=… p50_ms=… p99_ms=… overdue_ms=…
 *
 *   unavailable   answers with 503; outside of stores-away they are violations as well
 *   worst_ms      the oldest answer: how long before its request its version was replaced
 *   p50_ms …      how long older versions were shown, over the versions that were read
 *   overdue_ms    the longest time between a version's expires_at and a redirect to it
 */
#ifndef WAYMARK_TESTS_CHAOS_FRESHNESS_TOTALS_H
#define WAYMARK_TESTS_CHAOS_FRESHNESS_TOTALS_H

#include "tests/chaos/freshness/faults.h"
#include "tests/chaos/freshness/judge.h"

struct totals;

struct totals *totals_new(const struct faults *faults);
void totals_free(struct totals *totals);

void totals_add_change(struct totals *totals, const struct history_change *change);
/* Returns whether the finding is a violation. */
bool totals_add_read(struct totals *totals, const struct history_read *read,
                     const struct judge_finding *finding);

/* Call after the last read: adds the unseen_us of the link's versions. */
void totals_add_versions(struct totals *totals, const struct timeline_link *link);

uint64_t totals_violations(const struct totals *totals);

/* Prints a line per name of a fault, and one with fault=all. */
void totals_print(struct totals *totals);

#endif
