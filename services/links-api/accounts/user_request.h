/* Parses a change to an account: {blocked?, role?, links_per_day? (null: the default)}. Pure. */
#ifndef WAYMARK_SERVICES_LINKS_API_ACCOUNTS_USER_REQUEST_H
#define WAYMARK_SERVICES_LINKS_API_ACCOUNTS_USER_REQUEST_H

#include "lib/http/http_problem.h"
#include "lib/json/json.h"
#include "services/links-api/identity/user_store.h"

#define USER_REQUEST_LINKS_PER_DAY_MAX INT64_C(1000000000)

/* ERR_INVALID: wrong lists every invalid member. */
enum err user_request_read(const struct json *object, struct user_change *out,
                           struct http_problem_fields *wrong) MUST_CHECK;

#endif
