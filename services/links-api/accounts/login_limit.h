/*
 * One thread at a time, as its request. Guessing passwords: LOGIN_FAILURES per account and 15 minutes,
 * LOGIN_FAILURES_PER_NETWORK per network and hour, whatever door the guesses come through. An attempt is counted before
 * it is made and taken back if the password was right: however many come at once, no more of them can be wrong.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_ACCOUNTS_LOGIN_LIMIT_H
#define WAYMARK_SERVICES_LINKS_API_ACCOUNTS_LOGIN_LIMIT_H

#include "lib/base/digest.h"
#include "lib/base/err.h"
#include "lib/net/client_ip.h"
#include "services/links-api/request.h"

/* Whom an attempt was counted for; a value. */
struct login_limit {
	char account[2 * DIGEST_SIZE + 1]; /* a digest of the address: Redis has no need to know it */
	char network[CLIENT_IP_NETWORK_SIZE];
};

/* ERR_LIMIT: there were too many; nothing was counted, and the request has been answered with 429. */
enum err login_limit_take(struct request *r, const char *email, struct login_limit *out) MUST_CHECK;

void login_limit_give_back(const struct request *r, const struct login_limit *limit);

#endif
