/*
 * Judges an answer. It is right if it shows a version that was current at some moment between
 * bound_us before the request and its end. Two rules have no bound: once its creation is
 * acknowledged a slug is never 404, and a version does not redirect later than JUDGE_CLOCK_US after
 * its expires_us. Pure, except for judge_note.
 */
#ifndef WAYMARK_TESTS_CHAOS_FRESHNESS_JUDGE_H
#define WAYMARK_TESTS_CHAOS_FRESHNESS_JUDGE_H

#include "tests/chaos/freshness/timeline.h"

/* The largest error of a redirector's clock. */
#define JUDGE_CLOCK_US INT64_C(100000)

enum judge_verdict {
	JUDGE_RIGHT,
	JUDGE_NO_ANSWER,
	JUDGE_503,
	/* violations */
	JUDGE_STALE,   /* shows an older version for too long */
	JUDGE_EXPIRED, /* a redirect after expires_at */
	JUDGE_MISSING, /* 404 after 201 */
	JUDGE_GONE,    /* 410, but no version expires by then */
	JUDGE_NEVER,   /* a destination that was never written, or not yet */
	JUDGE_OTHER,   /* another status that no version explains */
	JUDGE_VERDICTS,
};

struct judge_finding {
	enum judge_verdict verdict;
	/* Time from the replacement of the shown version to the request; 0 = it was current. */
	int64_t stale_us;
	/* Time from the version's expiry to the request; 0 = before it, or no redirect. */
	int64_t overdue_us;
};

struct judge_finding judge_read(const struct timeline_link *link, const struct history_read *read,
                                int64_t bound_us);

/* Call after judge_read with its finding: records in the versions how long they stayed unseen. */
void judge_note(struct timeline_link *link, const struct history_read *read,
                const struct judge_finding *finding);

/* "stale", "expired", … */
const char *judge_name(enum judge_verdict verdict);

#endif
