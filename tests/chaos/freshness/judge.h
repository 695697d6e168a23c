/*
 * Pure, but for what it notes in the versions. Whether an answer was right: it must be what a version showed that was
 * current at some moment from bound_us before the request until its end. A slug is not unknown any more from the moment
 * at which its creation was acknowledged, without any bound. A version does not redirect after its expires_us +
 * JUDGE_CLOCK_US.
 */
#ifndef WAYMARK_TESTS_CHAOS_FRESHNESS_JUDGE_H
#define WAYMARK_TESTS_CHAOS_FRESHNESS_JUDGE_H

#include "tests/chaos/freshness/timeline.h"

/* How far a redirector's clock may be off. */
#define JUDGE_CLOCK_US INT64_C(100000)

enum judge_verdict {
	JUDGE_RIGHT,
	JUDGE_NO_ANSWER,
	JUDGE_503,
	/* violations */
	JUDGE_STALE,   /* what an older version showed, later than allowed */
	JUDGE_EXPIRED, /* a redirect after expires_at */
	JUDGE_MISSING, /* 404 after 201 */
	JUDGE_GONE,    /* 410 of a link that no version lets expire by then */
	JUDGE_NEVER,   /* a destination that was never written, or not yet */
	JUDGE_OTHER,   /* a status that no version explains */
	JUDGE_VERDICTS,
};

struct judge_finding {
	enum judge_verdict verdict;
	int64_t stale_us; /* how long before the read the version that it shows was replaced; 0 = it was current */
	int64_t overdue_us; /* how long after the version's expiry the redirect was asked for; 0 = before, or no redirect */
};

struct judge_finding judge_read(const struct timeline_link *link, const struct history_read *read, int64_t bound_us);

/* Notes in the versions how long they went unseen. After judge_read, with what it found. */
void judge_note(struct timeline_link *link, const struct history_read *read, const struct judge_finding *finding);

/* "stale", "expired", … */
const char *judge_name(enum judge_verdict verdict);

#endif
