/*
 * The one limiter of rates: a token bucket in the form of GCRA. A rule allows max events at once,
 * and max in each window in the long run. What is known of a subject is a single number, owed: the
 * time in microseconds until everything that it used has been earned back. It is 0 for a subject
 * that used nothing, and each event adds window / max to it.
 *
 * The first functions are pure. They serve owners of a single subject, and rate_limit.h, which
 * keeps subjects in Redis. struct limiter keeps subjects in the memory of this process.
 *
 *     if (limiter_wait_us(&rule, owed_us) == 0)
 *             owed_us = limiter_count(&rule, owed_us, 1);
 */
#ifndef WAYMARK_LIB_BASE_LIMITER_H
#define WAYMARK_LIB_BASE_LIMITER_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"

/* max: at least 1. */
struct limiter_rule {
	int64_t max;
	int64_t window_us;
};

/* What one event adds to owed. */
int64_t limiter_event_us(const struct limiter_rule *rule);

/* How many events are allowed now, 0 to max. */
int64_t limiter_left(const struct limiter_rule *rule, int64_t owed_us);

/* The time until an event is allowed; 0: one is allowed now. */
int64_t limiter_wait_us(const struct limiter_rule *rule, int64_t owed_us);

/*
 * The owed time after further events, which may be negative to take events back. At least 0, and at
 * most so much that nobody waits for longer than a window.
 */
int64_t limiter_count(const struct limiter_rule *rule, int64_t owed_us, int64_t events);

/* --- many subjects --- */

/*
 * Safe from any thread. Keeps at most LIMITER_SUBJECTS_MAX subjects. A new one then replaces one
 * that owes little, so that a flood of subjects does not erase what another one owes. Keys are kept
 * as keyed hashes only.
 */
struct limiter;

#define LIMITER_SUBJECTS_MAX 16384

struct limiter *limiter_new(const struct clock *clock);
/* NULL is allowed. */
void limiter_free(struct limiter *limiter);

int64_t limiter_owed_us(struct limiter *limiter, const void *key, size_t len);

/* Counts events, or takes them back if negative. Returns what the subject owes afterwards. */
int64_t limiter_add(struct limiter *limiter, const void *key, size_t len,
                    const struct limiter_rule *rule, int64_t events);

/* Replaces what the subject owes. */
void limiter_set_owed(struct limiter *limiter, const void *key, size_t len, int64_t owed_us);

/*
 * Reserves a place for a running event, unless counted and running events reach max: then
 * ERR_LIMIT, and nothing is reserved. The place is free again after limiter_release, or hold_us
 * after the latest reservation of the subject.
 */
enum err limiter_reserve(struct limiter *limiter, const void *key, size_t len,
                         const struct limiter_rule *rule, int64_t hold_us) MUST_CHECK;
void limiter_release(struct limiter *limiter, const void *key, size_t len);

#endif
