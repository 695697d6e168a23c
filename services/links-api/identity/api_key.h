/*
 * API keys and what they may do: scopes and tags, their requests and their JSON. A key acts for its maker,
 * in one workspace, with at most the role that the maker has there now. One that another key made ends
 * with that key. Pure.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_IDENTITY_API_KEY_H
#define WAYMARK_SERVICES_LINKS_API_IDENTITY_API_KEY_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/http/http_problem.h"
#include "lib/json/json.h"
#include "lib/links/link.h"
#include "services/links-api/http/request.h"

/* Bit flags, in the order of their names in api_key.c. Access tokens and sessions have all. */
#define SCOPE_LINKS_READ (1U << 0)
#define SCOPE_LINKS_WRITE (1U << 1)
#define SCOPE_STATS_READ (1U << 2)
#define SCOPE_VISITS_READ (1U << 3)
#define SCOPE_SHARES_READ (1U << 4)
#define SCOPE_SHARES_WRITE (1U << 5)
#define SCOPE_KEYS_READ (1U << 6)
#define SCOPE_KEYS_WRITE (1U << 7)
#define SCOPE_WORKSPACE_READ (1U << 8)
#define SCOPE_WORKSPACE_WRITE (1U << 9)
#define SCOPE_ADMIN_READ (1U << 10)
#define SCOPE_ADMIN_WRITE (1U << 11)
#define SCOPE_COUNT 12
#define SCOPE_ALL ((1U << SCOPE_COUNT) - 1)
#define SCOPE_LIST_SIZE 192 /* fits all names, separated by commas */

#define API_KEY_KEYS_MAX 100 /* per sponsor */
#define API_KEY_NAME_CHARS_MAX 100
#define API_KEY_NAME_SIZE (API_KEY_NAME_CHARS_MAX * 4 + 1)
#define API_KEY_HINT_LENGTH 7
#define API_KEY_TAGS_SIZE (LINK_TAGS_MAX * LINK_TAG_SIZE)
/* After a rotation. */
#define API_KEY_OVERLAP_S_MAX (30 * 86400)

/* About 5 KB. */
struct api_key {
	int64_t id;
	int64_t workspace_id;
	/* A user. */
	int64_t created_by;
	/* The API key that made it, and with which it ends; 0 = a person made it. */
	int64_t made_by_key;
	/* SCOPE_… */
	unsigned scopes;
	/* To which it is limited, separated by U+001F; "" = not limited. */
	char tags[API_KEY_TAGS_SIZE];
	char name[API_KEY_NAME_SIZE];
	/* The first characters of the secret. */
	char hint[API_KEY_HINT_LENGTH + 1];
	/* 0 = never. */
	int64_t expires_at_us;
	/* Until then the secret before the last rotation works as well; 0 = it does not. */
	int64_t old_secret_until_us;
	/* To the minute; 0 = never. */
	int64_t last_used_at_us;
	int64_t created_at_us;
};

/* "links:read,stats:read". */
void api_key_join_scopes(unsigned scopes, char out[static SCOPE_LIST_SIZE]);
/* Unknown names are left out. */
unsigned api_key_split_scopes(const char *list);

/* Whether a key that is limited to these tags sees no link that one with those limits does not see. */
bool api_key_is_limited_within(const char *tags, const char *limits);

/* What a request changes of a key. */
struct api_key_change {
	bool has_name, has_scopes, has_tags, has_expiry;
	/* The key with the new values. */
	struct api_key to;
	/* The user who takes the key over; 0 = nobody. */
	int64_t created_by;
};

/*
 * Both list every invalid member in wrong: unknown, missing, of the wrong type, an unknown or
 * repeated scope or tag, or an expiry that is not in the future. ERR_INVALID: there are some.
 */
/* Reads a key to create: {name, scopes: ["links:read", …], tags?, expires_at?}. */
enum err api_key_read_body(const struct json *object, int64_t now_us, struct api_key *out,
                           struct http_problem_fields *wrong) MUST_CHECK;
/* Reads a change of from: any of these members, and created_by. */
enum err api_key_read_change(const struct json *object, int64_t now_us, const struct api_key *from,
                             struct api_key_change *out,
                             struct http_problem_fields *wrong) MUST_CHECK;

/* Reports what the key would have beyond limit: scopes, links, time. */
void api_key_check_within(const struct api_key *key, const struct api_key *limit,
                          struct http_problem_fields *wrong);

/* What the maker of a key is now. */
struct api_key_maker {
	/* In the workspace of the key; WORKSPACE_STRANGER = no member any more. */
	enum workspace_role role;
	/* Or deleted. */
	bool is_blocked;
	/* Of the instance. */
	bool is_admin;
	/* Borrowed; NULL = deleted. */
	const char *email;
};

/*
 * {id, name, scopes, tags, hint, state, unusable_scopes, created_by, created_by_email, made_by_key,
 * expires_at, old_secret_until, last_used_at, created_at}. The caller owns the result.
 */
struct json *api_key_json(const struct api_key *key, const struct api_key_maker *maker,
                          int64_t now_us);

#endif
