/*
 * Limits registrations: ACCOUNTS_PER_HOUR per network. A registration for an existing e-mail
 * address counts too, because it reveals the account and costs the same work. Not thread-safe: one
 * thread at a time per request.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_ACCOUNTS_REGISTRATION_LIMITER_H
#define WAYMARK_SERVICES_LINKS_API_ACCOUNTS_REGISTRATION_LIMITER_H

#include "lib/base/err.h"
#include "services/links-api/request.h"

/*
 * Counts one registration. ERR_LIMIT: the limit was reached; nothing was counted, and the response
 * is complete (429).
 */
enum err registration_limiter_take(struct request *r) MUST_CHECK;

/* Uncounts a registration that was not processed. */
void registration_limiter_refund(struct request *r);

#endif
