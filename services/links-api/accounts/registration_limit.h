/*
 * One thread at a time, as its request. ACCOUNTS_PER_HOUR: accounts that a network may ask for in an hour. An address
 * that has an account counts as well: the answer tells that it has one, and costs as much.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_ACCOUNTS_REGISTRATION_LIMIT_H
#define WAYMARK_SERVICES_LINKS_API_ACCOUNTS_REGISTRATION_LIMIT_H

#include "lib/base/err.h"
#include "services/links-api/request.h"

/* ERR_LIMIT: there were as many already; this one was not counted, and the request has been answered with 429. */
enum err registration_limit_take(struct request *r) MUST_CHECK;

/* Nobody looked at what was taken. */
void registration_limit_give_back(struct request *r);

#endif
