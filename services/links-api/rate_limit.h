/*
 * Safe from any thread. At most so many of something per subject and window, counted in Redis under
 * limit:{rule}:{subject} by one atomic script, in windows that begin with the first one counted; what is under way
 * stands in limit:{rule}:{subject}:held. Without Redis nothing is limited: a lost cache must not lock anybody out.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_RATE_LIMIT_H
#define WAYMARK_SERVICES_LINKS_API_RATE_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/net/redis_pool.h"

#define RATE_LIMIT_SUBJECT_MAX 128

struct rate_limit_rule {
	const char *name;   /* "login": in keys and in the RateLimit headers */
	const char *detail; /* a sentence for those who are limited */
	int64_t max;        /* 0 = no limit */
	int64_t window_s;
};

/* What is left of a limit; reset_s: the time until there is more. */
struct rate_limit_state {
	int64_t left;
	int64_t reset_s;
};

/*
 * Counts one. ERR_LIMIT: there were max already, this one was not counted; reset_s is the time until the window ends.
 * OK: also when Redis is away. subject: at most RATE_LIMIT_SUBJECT_MAX bytes.
 */
enum err rate_limit_take(struct redis_pool *redis, const struct rate_limit_rule *rule, const char *subject,
                         int64_t *reset_s) MUST_CHECK;

/* As rate_limit_take; tells also what is left after this one, all of it when Redis is away. */
enum err rate_limit_take_told(struct redis_pool *redis, const struct rate_limit_rule *rule, const char *subject,
                              struct rate_limit_state *state) MUST_CHECK;

/* Takes one back that turned out not to count. Best effort. */
void rate_limit_give_back(struct redis_pool *redis, const struct rate_limit_rule *rule, const char *subject);

/*
 * For what only its outcome says of whether it counts: one that is under way holds a place until it is settled, at most
 * for hold_s. However many come at once, no more than max of them can count.
 *
 * ERR_LIMIT: max were counted already; reset_s is the time until the window ends. ERR_UNAVAILABLE: with those under way
 * they might be max, so that a moment later there may be room. OK: also when Redis is away. id: at most
 * RATE_LIMIT_ID_MAX bytes that no other has.
 */
#define RATE_LIMIT_ID_MAX 32
enum err rate_limit_hold(struct redis_pool *redis, const struct rate_limit_rule *rule, const char *subject,
                         const char *id, int64_t hold_s, int64_t *reset_s) MUST_CHECK;

/* Ends what rate_limit_hold began, and counts it or not. Best effort. */
void rate_limit_settle(struct redis_pool *redis, const struct rate_limit_rule *rule, const char *subject,
                       const char *id, bool counts);

#endif
