/*
 * Counts limits in the memory of this process, for events that Redis did not count, and to
 * notice counters that Redis loses. Safe from any thread.
 *
 * The table has a fixed size of about 650 KB. A new key replaces the one with the fewest events in
 * its set, so that a flood of keys does not erase the count of a key under attack. Keys are kept as
 * keyed hashes only.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_HTTP_LOCAL_LIMITER_H
#define WAYMARK_SERVICES_LINKS_API_HTTP_LOCAL_LIMITER_H

#include <stdint.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"

struct local_limiter;

/* What is known of a key. Without events, everything is 0. */
struct local_limiter_state {
	int64_t counted;
	int64_t running; /* reservations */
	int64_t reset_s; /* until the window ends, rounded up */
};

struct local_limiter *local_limiter_new(const struct clock *clock);
void local_limiter_free(struct local_limiter *limiter);

struct local_limiter_state local_limiter_get(struct local_limiter *limiter, const char *key);

/* Counts events. A window of window_s begins with the first one. Returns the state afterwards. */
struct local_limiter_state local_limiter_add(struct local_limiter *limiter, const char *key,
                                             int64_t events, int64_t window_s);

/* Replaces what is counted, until the window ends in window_s. */
void local_limiter_set(struct local_limiter *limiter, const char *key, int64_t counted,
                       int64_t window_s);

/* Uncounts one event. */
void local_limiter_refund(struct local_limiter *limiter, const char *key);

/*
 * Reserves a place for a running event, unless counted and running events reach max: then
 * ERR_LIMIT, and nothing is reserved. The place is free again after local_limiter_release, or
 * hold_s after the latest reservation of the key. state: before the reservation.
 */
enum err local_limiter_reserve(struct local_limiter *limiter, const char *key, int64_t max,
                               int64_t hold_s, struct local_limiter_state *state) MUST_CHECK;
void local_limiter_release(struct local_limiter *limiter, const char *key);

#endif
