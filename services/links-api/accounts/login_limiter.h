/*
 * Limits password guessing. Only wrong passwords count. A running attempt reserves a place, so
 * parallel attempts cannot exceed the limit. Not thread-safe: one thread at a time per request.
 *
 * Nobody can lock anybody else out:
 * - A login counts for its account and network together (LOGIN_FAILURES in 15 minutes).
 * - From a network where the account has not logged in lately, it also counts for the network alone
 *   (LOGIN_FAILURES_PER_NETWORK in an hour) and for the account alone (LOGIN_FAILURES_PER_ACCOUNT
 *   in 15 minutes).
 * - A password that is sent with an access token or a session counts for that only.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_ACCOUNTS_LOGIN_LIMITER_H
#define WAYMARK_SERVICES_LINKS_API_ACCOUNTS_LOGIN_LIMITER_H

#include "lib/base/digest.h"
#include "lib/base/err.h"
#include "services/links-api/http/rate_limit.h"
#include "services/links-api/http/request.h"

#define LOGIN_LIMITER_RULES_MAX 3

/* One rule that an attempt counts for. */
struct login_limiter_place {
	struct rate_limit_rule rule;
	char subject[RATE_LIMIT_SUBJECT_MAX + 1];
	struct rate_limit_reservation reservation;
};

/* One attempt; a plain value. */
struct login_attempt {
	/*
	 * Digest of the e-mail address, to keep it out of Redis; "" with an access token or a
	 * session.
	 */
	char account[2 * DIGEST_SIZE + 1];
	struct login_limiter_place places[LOGIN_LIMITER_RULES_MAX];
	size_t count;
	/*
	 * The only running attempt with this token or session, or for this account from a network
	 * where it has logged in lately.
	 */
	bool has_priority;
};

/*
 * Call before checking the password of a login. email: also "share:7" for the password of share 7,
 * which is no e-mail address. ERR_LIMIT: the response is complete. It is 429
 * "rate-limit" after too many wrong passwords, or 429 "busy" with Retry-After: 1 if running
 * attempts could exceed the limit.
 */
enum err login_limiter_begin(struct request *r, const char *email,
                             struct login_attempt *out) MUST_CHECK;

/* The same for a password that is sent with an access token or a session. */
enum err login_limiter_begin_with_token(struct request *r, struct login_attempt *out) MUST_CHECK;

enum login_result {
	LOGIN_RESULT_RIGHT,
	LOGIN_RESULT_WRONG,
	LOGIN_RESULT_ABANDONED, /* not checked */
};

/* Call after the check, or when the attempt is abandoned. */
void login_limiter_end(struct request *r, const struct login_attempt *attempt,
                       enum login_result result);

/* Call after a registration: its network becomes known for the account. */
void login_limiter_record_registration(struct request *r, const char *email);

#endif
