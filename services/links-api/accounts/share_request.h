/* Pure. What a request says of a share. */
#ifndef WAYMARK_SERVICES_LINKS_API_ACCOUNTS_SHARE_REQUEST_H
#define WAYMARK_SERVICES_LINKS_API_ACCOUNTS_SHARE_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/password.h"
#include "lib/http/http_problem.h"
#include "lib/json/json.h"
#include "services/links-api/identity/share.h"

/* About 80 KB: keep it on the heap. */
struct share_request {
	/* The members that it has. */
	bool has_title, has_text, has_range, has_expires_at, has_logo, has_password;
	/* Their values, and link_id or tag of a new share. */
	struct share share;
	struct share_logo logo;
	/* "" = none. */
	char password[PASSWORD_SIZE];
};

/*
 * {link_id | tag, title?, text?, range?, logo?, password?, expires_at?}; of a change without link_id and
 * tag. ERR_INVALID: wrong lists every invalid member.
 */
enum err share_request_read(const struct json *object, bool is_change, int64_t now_us,
                            struct share_request *out,
                            struct http_problem_fields *wrong) MUST_CHECK;

/* Gives the members that the request has to a share that there is. */
void share_request_apply(const struct share_request *request, struct share *share);

#endif
