/*
 * Pure. Validates the JSON bodies that create or change a link:
 *   create         {original_url, slug?, redirect_status?, starts_at?, expires_at?, expired_url?,
 *                  title?, tags?, notes?, external_id?, utm_…?, reuse?} and extras
 *                  (link_extras_request.h)
 *   create public  without a login: the same, without starts_at, expires_at, notes, external_id, reuse
 *                  and extras
 *   change         any of original_url, slug, redirect_status, starts_at, expires_at, expired_url,
 *                  title, tags (or add_tags and remove_tags), notes, external_id, state, utm_… and extras
 * URLs are normalized (destination.h).
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LINKS_LINK_REQUEST_H
#define WAYMARK_SERVICES_LINKS_API_LINKS_LINK_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/http/http_problem.h"
#include "lib/json/json.h"
#include "lib/links/link.h"
#include "services/links-api/destinations/public_base.h"
#include "services/links-api/links/link_extras_request.h"
#include "services/links-api/links/link_write.h"

struct utm;

enum link_request_kind {
	LINK_REQUEST_CREATE = 1,
	LINK_REQUEST_CREATE_PUBLIC = 2,
	LINK_REQUEST_CHANGE = 4,
};

/* The members that the body contains. */
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
	LINK_REQUEST_NOTES = 512,
	LINK_REQUEST_STARTS_AT = 1024,
	LINK_REQUEST_ADD_TAGS = 2048,
	LINK_REQUEST_REMOVE_TAGS = 4096,
	LINK_REQUEST_EXTERNAL_ID = 8192,
	LINK_REQUEST_UTM = 16384,
	LINK_REQUEST_EXTRAS = 32768,
};

struct link_request {
	/* Bits of enum link_request_member. */
	unsigned members;
	/* Owned; of a creation never NULL. */
	char *original_url;
	char slug[SLUG_SIZE];
	/* A new link is found only by its slug as it is. */
	bool is_slug_exact;
	uint16_t redirect_status;
	/* 0 = null. */
	int64_t starts_at_us;
	/* 0 = null. */
	int64_t expires_at_us;
	/* Owned; NULL = null. */
	char *expired_url;
	char title[LINK_TITLE_SIZE];
	/* All; with LINK_REQUEST_ADD_TAGS those to add. */
	struct link_tags tags;
	/* Owned; NULL = none. */
	struct link_tags *removed_tags;
	/* Owned; NULL = none. */
	char *notes;
	/* "" = null. */
	char external_id[LINK_EXTERNAL_ID_SIZE];
	/* ACTIVE or DISABLED. */
	enum link_state state;
	/* Return the caller's ACTIVE link to the same destination, if there is one. */
	bool reuse;
	/* To be applied to the destination that the link has; owned. NULL = none, or already applied. */
	struct utm *utm;
	/* Of original_url with utm. */
	size_t destination_bytes_max;
	struct link_extras_request extras;
};

/*
 * ERR_INVALID: wrong lists every invalid member: unknown, of the wrong type, not allowed for this
 * kind, reserved, too long, in the past and so on. base: the service's own address and the blocked
 * hosts, which a destination must not point to. If OK, release *out with link_request_clear.
 */
enum err link_request_read(const struct json *object, enum link_request_kind kind,
                           const struct public_base *base, int64_t now_us, struct link_request *out,
                           struct http_problem_fields *wrong) MUST_CHECK;

void link_request_clear(struct link_request *request);

/* What a new slug is, before anybody asks who uses it. */
enum link_request_slug {
	LINK_REQUEST_SLUG_ALLOWED,
	LINK_REQUEST_SLUG_RESERVED,
	LINK_REQUEST_SLUG_INVALID,
};
enum link_request_slug link_request_judge_slug(const struct public_base *base, const char *slug);

/* Reports what a request for many links cannot have: what takes long, or belongs to one link. */
void link_request_reject_in_bulk(const struct json *object, struct http_problem_fields *wrong);

/*
 * The input of link_write_create. slug NULL = a random one. Borrows from request. extras: packed
 * (link_extras_request_pack).
 */
struct link_write_new link_request_new_link(const struct link_request *request,
                                            int64_t workspace_id);

/*
 * Reads the external_id, or the slug, that is the rest of a path, one segment as of a tag below.
 * ERR_NOT_FOUND: no link can have it.
 */
enum err link_request_read_external_id_path(const char *segment,
                                            char out[static LINK_EXTERNAL_ID_SIZE]) MUST_CHECK;
enum err link_request_read_slug_path(const char *segment, char out[static SLUG_SIZE]) MUST_CHECK;

/* --- what a request says about a tag: its name in the path, and the body {name?, color?} --- */

#define TAG_COLOR_SIZE 8 /* "#1b7f4d" */

struct link_request_tag {
	bool has_name, has_color;
	char name[LINK_TAG_SIZE];
	/* Lower case; "" = null. */
	char color[TAG_COLOR_SIZE];
};

/*
 * Reads the name from the rest of a path: one segment, percent-encoded, in which "+" is a plus sign.
 * ERR_NOT_FOUND: no tag can have this name.
 */
enum err link_request_read_tag_path(const char *segment, char out[static LINK_TAG_SIZE]) MUST_CHECK;

/* ERR_INVALID: wrong lists every invalid member. */
enum err link_request_read_tag(const struct json *object, struct link_request_tag *out,
                               struct http_problem_fields *wrong) MUST_CHECK;

#endif
