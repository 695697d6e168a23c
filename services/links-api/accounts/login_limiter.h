/*
 * Limits password guessing: LOGIN_FAILURES per account and 15 minutes, LOGIN_FAILURES_PER_NETWORK
 * per network and hour, over all endpoints that check a password. Only wrong passwords count. A
 * running attempt reserves a place, so parallel attempts cannot exceed the limit. Not thread-safe:
 * one thread at a time per request.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_ACCOUNTS_LOGIN_LIMITER_H
#define WAYMARK_SERVICES_LINKS_API_ACCOUNTS_LOGIN_LIMITER_H

#include "lib/base/client_ip.h"
#include "lib/base/digest.h"
#include "lib/base/err.h"
#include "services/links-api/rate_limit.h"
#include "services/links-api/request.h"

/* One attempt and the subjects it counts for; a plain value. */
struct login_attempt {
	char id[RATE_LIMIT_ID_MAX + 1];
	char account[2 * DIGEST_SIZE +
	             1]; /* digest of the e-mail address, to keep it out of Redis */
	char network[CLIENT_IP_NETWORK_SIZE];
};

/*
 * Call before checking a password. ERR_LIMIT: the response is complete. It is 429 "rate-limit"
 * after too many wrong passwords, or 429 "busy" with Retry-After: 1 if running attempts could
 * exceed the limit.
 */
enum err login_limiter_begin(struct request *r, const char *email,
                             struct login_attempt *out) MUST_CHECK;

/* Call after the check, or when the attempt is abandoned (was_wrong false). */
void login_limiter_end(const struct request *r, const struct login_attempt *limit, bool was_wrong);

#endif
