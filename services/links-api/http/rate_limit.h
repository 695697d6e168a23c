/*
 * Limits how often something may happen per subject: limiter.h for all instances together. One
 * atomic script counts in Redis under limit:{rule}:{subject}. Reservations are kept in
 * limit:{rule}:{subject}:held. Safe from any thread.
 *
 * Events that Redis does not count, because it is down or refuses the command, are counted in the
 * memory of this process with the same rule, on top of what it saw of the counter last. Each instance
 * then allows the rest of max, so the limit is weaker, but never absent.
 * waymark_rate_limit_fallbacks_total counts these events.
 *
 * A counter that Redis loses before its time, by eviction or a restart, continues from what this
 * process saw of it last. waymark_rate_limit_lost_counters_total counts these counters.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_HTTP_RATE_LIMIT_H
#define WAYMARK_SERVICES_LINKS_API_HTTP_RATE_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/metrics.h"
#include "lib/redis/redis_pool.h"
#include "services/links-api/http/config.h"

#define RATE_LIMIT_SUBJECT_MAX 128

struct rate_limit;

struct rate_limit_rule {
	/* "login": used in keys and in the RateLimit headers. */
	const char *name;
	/* Shown in the 429 response. */
	const char *detail;
	/* At least 1 where this module counts; ENV_UNLIMITED = no limit. */
	int64_t max;
	int64_t window_s;
};

/* One table has their names, windows and sizes; docs/operations.md has it for operators. */
enum limits_name {
	/* Counted by rate_limit.h. */
	LIMITS_REQUESTS,
	LIMITS_SHARE_REQUESTS,
	LIMITS_BULK_LINKS,
	LIMITS_ANONYMOUS_LINKS,
	LIMITS_ACCOUNTS,
	LIMITS_LOGIN,
	LIMITS_LOGIN_NETWORK,
	LIMITS_LOGIN_ACCOUNT,
	LIMITS_PASSWORD,
	LIMITS_CODE,
	LIMITS_CODE_ACCOUNT,
	LIMITS_PAGE_TITLES,
	LIMITS_MAILS,
	LIMITS_MAILS_TO_ADDRESS,
	/* Counted in PostgreSQL, in the transaction that uses them up, in steps of its own. */
	LIMITS_LINKS,
	LIMITS_IDEMPOTENCY_BYTES,
};

struct rate_limit_rule rate_limit_rule_of(const struct config *config, enum limits_name name);

/*
 * What remains of a limit. reset_s: seconds until all of it is there again, or until an event is
 * allowed if none is left.
 */
struct rate_limit_state {
	int64_t left;
	int64_t reset_s;
};

/* Borrows everything. metrics may be NULL. */
struct rate_limit *rate_limit_new(struct redis_pool *redis, const struct clock *clock,
                                  struct metrics *metrics);
void rate_limit_free(struct rate_limit *limits);

/*
 * Counts cost events if fewer than max have been counted. A request that costs several events
 * passes while one is left, and all of its events count. OK: counted; state is what remains
 * afterwards. ERR_LIMIT: max was already reached, and nothing was counted. subject: at most
 * RATE_LIMIT_SUBJECT_MAX bytes.
 */
enum err rate_limit_take(struct rate_limit *limits, const struct rate_limit_rule *rule,
                         const char *subject, int64_t cost,
                         struct rate_limit_state *state) MUST_CHECK;

/* Uncounts one event that does not count after all. Best effort. */
void rate_limit_refund(struct rate_limit *limits, const struct rate_limit_rule *rule,
                       const char *subject);

/* A place reserved for a running event; a plain value. */
#define RATE_LIMIT_ID_MAX 32
struct rate_limit_reservation {
	char id[RATE_LIMIT_ID_MAX + 1];
	/* Counted by this process and not by Redis. */
	bool is_local;
};

/*
 * For events that count only depending on their outcome, such as a wrong password. A running event
 * reserves a place until rate_limit_end_reservation, or for at most hold_s. However many run at
 * once, no more than max can count.
 *
 * OK: reserved. ERR_LIMIT: max events have been counted; reset_s is the time until one is allowed again.
 * ERR_UNAVAILABLE: counted and running events together reach max; a place may become free in a
 * moment.
 */
enum err rate_limit_reserve(struct rate_limit *limits, const struct rate_limit_rule *rule,
                            const char *subject, int64_t hold_s, struct rate_limit_reservation *out,
                            int64_t *reset_s) MUST_CHECK;

/* Ends the reservation and, if counts, counts the event. */
void rate_limit_end_reservation(struct rate_limit *limits, const struct rate_limit_rule *rule,
                                const char *subject,
                                const struct rate_limit_reservation *reservation, bool counts);

#endif
