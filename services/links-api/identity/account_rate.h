/*
 * How fast an account may use the API, whatever it calls and however it authenticates:
 * REQUESTS_PER_MINUTE, and BULK_LINKS_PER_MINUTE for the links of bulk requests. All access tokens
 * and API keys of an account share both limits. Readers of a share have REQUESTS_PER_MINUTE of
 * their own, per share and network, and use up nothing of the account's. Not thread-safe: one
 * thread at a time per request.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_IDENTITY_ACCOUNT_RATE_H
#define WAYMARK_SERVICES_LINKS_API_IDENTITY_ACCOUNT_RATE_H

#include <stdbool.h>
#include <stdint.h>

#include "services/links-api/http/request.h"

/*
 * Counts an authenticated request, and adds the RateLimit headers to its response. False: the
 * response is complete (429).
 */
bool account_rate_take_request(struct request *r);

/*
 * Counts the links of a bulk request. It passes while one is left, and all of its links count.
 * False: the response is complete (429).
 */
bool account_rate_take_bulk(struct request *r, int64_t links);

#endif
