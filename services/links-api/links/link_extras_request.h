/*
 * Reads the members of a body that are extras of a link (lib/links/link_extras.h), and applies them:
 *   rules          [{name, when, then, url?, fallback_url?}]
 *   split          {variants: [{name, url, weight}], winner?}
 *   forward_query, forward_path    true or false
 *   max_visits     a number of people
 *   password       4 characters to 72 bytes
 *   preview        {title?, description?, image_url?}
 * null stands for none. A member that is missing leaves what the link has. Pure but for the host guard
 * of destinations.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LINKS_LINK_EXTRAS_REQUEST_H
#define WAYMARK_SERVICES_LINKS_API_LINKS_LINK_EXTRAS_REQUEST_H

#include <stdbool.h>

#include "lib/base/err.h"
#include "lib/base/password.h"
#include "lib/http/http_problem.h"
#include "lib/json/json.h"
#include "lib/links/link_extras.h"
#include "services/links-api/destinations/public_base.h"

#define LINK_EXTRAS_REQUEST_PASSWORD_CHARS_MIN 4

/* The members that a body has. */
enum link_extras_member {
	LINK_EXTRAS_RULES = 1,
	LINK_EXTRAS_SPLIT = 2,
	LINK_EXTRAS_FORWARD_QUERY = 4,
	LINK_EXTRAS_FORWARD_PATH = 8,
	LINK_EXTRAS_MAX_VISITS = 16,
	LINK_EXTRAS_PASSWORD = 32,
	LINK_EXTRAS_PREVIEW = 64,
};

struct link_extras_request {
	/* Bits of enum link_extras_member. */
	unsigned members;
	/* What they say; owned, all of it by malloc; NULL = members is 0. */
	struct Waymark__V1__LinkExtras *extras;
	/* The new one; "" = none. */
	char password[PASSWORD_SIZE];
	/* Of a new link, by link_extras_request_pack; owned. */
	uint8_t *packed;
	uint16_t packed_len;
	/* Bits of enum link_feature. */
	unsigned features;
};

/*
 * Adds what is wrong to wrong. The zones of rules have no transitions yet (link_zone.h). Release *out
 * with link_extras_request_clear, whatever was wrong.
 */
void link_extras_request_read(const struct json *object, const struct public_base *base,
                              struct link_extras_request *out, struct http_problem_fields *wrong);

/* Overwrites the password. */
void link_extras_request_clear(struct link_extras_request *request);

/* True if a password waits for link_extras_request_hash. */
static inline bool link_extras_request_needs_hash(const struct link_extras_request *request)
{
	return request->password[0] != '\0';
}

/* Hashes the password, in a password thread. ERR_INTERNAL: as password_hash. */
enum err link_extras_request_hash(struct link_extras_request *request) MUST_CHECK;

/*
 * Writes the extras that the link has after the request, and its features; extras_len becomes 0 if none
 * are left. ERR_LIMIT: they would take more than LINK_EXTRAS_BYTES_MAX. ERR_INTERNAL: what the link has,
 * or what the request says, breaks the bounds of link_extras.h.
 */
enum err link_extras_request_apply(const struct link_extras_request *request,
                                   struct link *link) MUST_CHECK;

/*
 * Packs those of a new link. forward_query, forward_path: what it has if the request does not say it.
 * Errors of link_extras_request_apply.
 */
enum err link_extras_request_pack(struct link_extras_request *request, bool forward_query,
                                  bool forward_path) MUST_CHECK;

/* What a problem says about ERR_LIMIT. */
#define LINK_EXTRAS_REQUEST_TOO_LARGE                                                              \
	"rules, split and preview together take more than 8,192 bytes when they are stored"

#endif
