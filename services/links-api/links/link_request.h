/*
 * Pure. What callers send to make or change a link, checked:
 *   {original_url, slug?, redirect_status?, expires_at?, expired_url?, title?, tags?, reuse?}     to create one
 *   the same without expires_at and reuse                                                 without a login
 *   any of original_url, redirect_status, expires_at, expired_url, title, tags, state     to change one
 * URLs come out in their normal form (destination.h).
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LINKS_LINK_REQUEST_H
#define WAYMARK_SERVICES_LINKS_API_LINKS_LINK_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/links/link.h"
#include "lib/links/link_store.h"
#include "lib/net/http_problem.h"
#include "lib/net/json.h"
#include "services/links-api/destinations/public_base.h"

enum link_request_kind {
	LINK_REQUEST_CREATE = 1,
	LINK_REQUEST_CREATE_PUBLIC = 2,
	LINK_REQUEST_CHANGE = 4,
};

/* Which members were there. */
enum link_request_member {
	LINK_REQUEST_ORIGINAL_URL = 1,
	LINK_REQUEST_SLUG = 2,
	LINK_REQUEST_REDIRECT_STATUS = 4,
	LINK_REQUEST_EXPIRES_AT = 8,
	LINK_REQUEST_EXPIRED_URL = 16,
	LINK_REQUEST_TITLE = 32,
	LINK_REQUEST_TAGS = 64,
	LINK_REQUEST_STATE = 128,
	LINK_REQUEST_REUSE = 256,
};

struct link_request {
	unsigned members; /* of enum link_request_member */
	char original_url[LINK_URL_SIZE];
	char slug[SLUG_SIZE];
	uint16_t redirect_status;
	int64_t expires_at_us;           /* 0 = null */
	char expired_url[LINK_URL_SIZE]; /* "" = null */
	char title[LINK_TITLE_SIZE];
	struct link_tags tags;
	enum link_state state; /* ACTIVE or DISABLED */
	bool reuse;            /* the caller's own ACTIVE link to the same destination will do */
};

/*
 * ERR_INVALID: wrong lists every wrong member: unknown, of the wrong type, not allowed for this kind, reserved, too
 * long, in the past, … base: what a destination must not point at.
 */
enum err link_request_read(const struct json *object, enum link_request_kind kind, const struct public_base *base,
                           int64_t now_us, struct link_request *out, struct http_problem_fields *wrong) MUST_CHECK;

/* What link_store needs to make it; slug NULL = a random one. Borrows from request. */
struct link_store_new link_request_new_link(const struct link_request *request, int64_t owner_id);

#endif
