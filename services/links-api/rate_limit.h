/*
 * Limits how often something may happen per subject and time window. One atomic script counts in
 * Redis under limit:{rule}:{subject}. A window begins with its first counted event. Reservations
 * are kept in limit:{rule}:{subject}:held. Without Redis nothing is limited: losing a cache must
 * not lock anyone out. Safe from any thread.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_RATE_LIMIT_H
#define WAYMARK_SERVICES_LINKS_API_RATE_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/redis/redis_pool.h"

#define RATE_LIMIT_SUBJECT_MAX 128

struct rate_limit_rule {
	const char *name;   /* "login": used in keys and in the RateLimit headers */
	const char *detail; /* shown in the 429 response */
	int64_t max;        /* 0 = no limit */
	int64_t window_s;
};

/* What remains of a limit. reset_s: seconds until the window ends. */
struct rate_limit_state {
	int64_t left;
	int64_t reset_s;
};

/*
 * Counts one event. OK: counted, or Redis is down. ERR_LIMIT: max was already reached; nothing was
 * counted, and reset_s is the time until the window ends. subject: at most RATE_LIMIT_SUBJECT_MAX
 * bytes.
 */
enum err rate_limit_take(struct redis_pool *redis, const struct rate_limit_rule *rule,
                         const char *subject, int64_t *reset_s) MUST_CHECK;

/*
 * Like rate_limit_take. Also reports what remains after this event; without Redis, the whole limit.
 */
enum err rate_limit_take_with_state(struct redis_pool *redis, const struct rate_limit_rule *rule,
                                    const char *subject, struct rate_limit_state *state) MUST_CHECK;

/* Uncounts an event that does not count after all. Best effort. */
void rate_limit_refund(struct redis_pool *redis, const struct rate_limit_rule *rule,
                       const char *subject);

/*
 * For events that count only depending on their outcome, such as a wrong password. A running event
 * reserves a place until rate_limit_end_reservation, or for at most hold_s. However many run at
 * once, no more than max can count.
 *
 * OK: reserved, or Redis is down. ERR_LIMIT: max events have been counted; reset_s is the time
 * until the window ends. ERR_UNAVAILABLE: counted and running events together reach max; a place
 * may become free in a moment. id: unique, at most RATE_LIMIT_ID_MAX bytes.
 */
#define RATE_LIMIT_ID_MAX 32
enum err rate_limit_reserve(struct redis_pool *redis, const struct rate_limit_rule *rule,
                            const char *subject, const char *id, int64_t hold_s,
                            int64_t *reset_s) MUST_CHECK;

/* Ends the reservation and, if counts, counts the event. Best effort. */
void rate_limit_end_reservation(struct redis_pool *redis, const struct rate_limit_rule *rule,
                                const char *subject, const char *id, bool counts);

#endif
