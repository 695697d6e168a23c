/*
 * One thread at a time, as its request. Guessing passwords: LOGIN_FAILURES per account and 15 minutes,
 * LOGIN_FAILURES_PER_NETWORK per network and hour, whatever door the guesses come through. Only wrong passwords are
 * counted; an attempt that is under way holds a place: however many come at once, no more of them can be wrong.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_ACCOUNTS_LOGIN_LIMIT_H
#define WAYMARK_SERVICES_LINKS_API_ACCOUNTS_LOGIN_LIMIT_H

#include "lib/base/digest.h"
#include "lib/base/err.h"
#include "lib/net/client_ip.h"
#include "services/links-api/rate_limit.h"
#include "services/links-api/request.h"

/* An attempt, and whom it is counted for; a value. */
struct login_limit {
	char id[RATE_LIMIT_ID_MAX + 1];
	char account[2 * DIGEST_SIZE + 1]; /* a digest of the address: Redis has no need to know it */
	char network[CLIENT_IP_NETWORK_SIZE];
};

/*
 * Before a password is looked at. ERR_LIMIT: there were too many wrong ones (the request has been answered with 429
 * "rate-limit"), or so many attempts are under way that all of them wrong would be too many (429 "busy", to come back
 * after a second).
 */
enum err login_limit_begin(struct request *r, const char *email, struct login_limit *out) MUST_CHECK;

/* After it, or when nobody will look at it any more. */
void login_limit_end(const struct request *r, const struct login_limit *limit, bool was_wrong);

#endif
