/*
 * Parses the bodies of requests about shares: {link_id | tag, title?, password?, expires_at?} of a
 * new share, and {token, password?} of a reader. Pure.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_ACCOUNTS_SHARE_REQUEST_H
#define WAYMARK_SERVICES_LINKS_API_ACCOUNTS_SHARE_REQUEST_H

#include "lib/http/http_problem.h"
#include "lib/json/json.h"
#include "services/links-api/identity/share_store.h"

/*
 * Fills link_id or tag, title and expires_at_us. password: "" = none. ERR_INVALID: wrong lists every
 * invalid member.
 */
enum err share_request_read(const struct json *object, int64_t now_us, struct share *out,
                            char password[static PASSWORD_SIZE],
                            struct http_problem_fields *wrong) MUST_CHECK;

/* The hash of the token, and the password or "". ERR_INVALID: wrong lists every invalid member. */
enum err share_request_read_access(const struct json *object,
                                   uint8_t token_hash[static DIGEST_SIZE],
                                   char password[static PASSWORD_SIZE],
                                   struct http_problem_fields *wrong) MUST_CHECK;

#endif
