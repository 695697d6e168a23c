/*
 * One API request: the caller, the matched route and the body. Handlers receive it as ctx. Not
 * thread-safe: one thread at a time per exchange.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_HTTP_REQUEST_H
#define WAYMARK_SERVICES_LINKS_API_HTTP_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/digest.h"
#include "lib/base/entropy.h"
#include "lib/http/http_router.h"
#include "lib/http/http_server.h"
#include "lib/json/json.h"
#include "services/links-api/http/api.h"

struct link;
struct link_tags;
struct share;

enum request_auth {
	REQUEST_AUTH_VALID,
	REQUEST_AUTH_MISSING,
	REQUEST_AUTH_INVALID,
	REQUEST_AUTH_BLOCKED,    /* by an administrator */
	REQUEST_AUTH_CROSS_SITE, /* a session, and another site may have sent the request */
};

/* What a person is in a workspace; each role may do what the ones before it may. */
enum workspace_role {
	WORKSPACE_STRANGER,
	WORKSPACE_VIEWER, /* links and statistics */
	WORKSPACE_EDITOR, /* all links */
	WORKSPACE_ADMIN,  /* members below owner, the workspace */
	WORKSPACE_OWNER,  /* owners, the end of the workspace */
};

enum request_credentials_kind {
	REQUEST_ACCESS_TOKEN,
	REQUEST_API_KEY,
	REQUEST_SESSION,
	REQUEST_SHARE,
};

/* The credentials that a request carries, before the database confirms them. */
struct request_credentials {
	enum request_credentials_kind kind;
	/* Of an access token. */
	int64_t user_id, generation;
	/* "" = an API key. */
	char token_id[ENTROPY_UUID_TEXT_SIZE];
	/* Of an API key, of a session, or of the token of a share. */
	uint8_t hash[DIGEST_SIZE];
	/* They were valid once: an access token, or an API key. */
	bool is_expired;
};

struct request {
	const struct api *api;
	struct http_exchange *exchange;
	/* Route is NULL if no route matched. */
	struct http_match match;
	/* The workspace that the path names: /api/workspaces/7/… (routes.h); 0 = none. */
	int64_t named_workspace_id;
	/* The link that the path names otherwise than by {id} (links/link_find.h); 0 = none. */
	int64_t named_link_id;
	/* Of an API key, its maker. 0 = anonymous, or not authenticated yet. */
	int64_t user_id;
	/* Where the request acts, and what the person is there. 0 = in no workspace. */
	int64_t workspace_id;
	enum workspace_role role;
	/* Whose limits workspace_id uses up. */
	int64_t sponsor_id;
	/* Its deletion has begun. */
	bool is_workspace_deleted;
	bool workspace_requires_second_factor;
	/* Of new links in workspace_id that do not say it themselves. */
	bool default_forward_query, default_forward_path;
	/* The session of a login through a provider. */
	bool is_by_provider;
	/* The caller has none, and has logged in with a password. */
	bool lacks_second_factor;
	/* The same for a confirmed address. */
	bool lacks_confirmed_address;
	/* The path names no workspace, and the person has several. */
	bool is_workspace_ambiguous;
	/* The response has the ETag of a resource. */
	bool has_etag;
	/* The API key that was used; 0 = an access token or a session. */
	int64_t key_id;
	/* 0 = an access token or an API key. */
	int64_t session_id;
	/* user_id. */
	bool has_admin_role;
	/* SCOPE_…; access tokens and sessions have all of them. */
	unsigned scopes;
	/*
	 * The tags to which the API key is limited, separated by U+001F: it sees and changes only links
	 * that have one of them. NULL = not limited. Owned.
	 */
	char *tags;
	/* What the reader of a share may see; NULL = no share. */
	struct share *share;
	struct request_credentials credentials;
	/* The database has confirmed the credentials and the permission. */
	bool is_authorized;
	/* Runs on a heavy worker. */
	bool is_heavy;
	/* Owned by the handler until the exchange ends; NULL = none. */
	void *handler_state;
	void (*release_handler_state)(void *handler_state);
};

/* The request belongs to the exchange and ends with it. */
struct request *request_new(const struct api *api, struct http_exchange *x);

int64_t request_now_us(const struct request *r);

/*
 * The connections for the handler's statements: those with short timeouts if the request runs on a
 * heavy worker, so that statements that take long never keep others waiting.
 */
struct pg_pool *request_pg(const struct request *r);

/* Whose share of workers and memory this is: the account's, or the network's if user_id is 0. */
uint64_t request_flow(const struct request *r, int64_t user_id);

/*
 * The flow of all readers of the shares of a sponsor's workspaces together. It is not the sponsor's
 * own: many readers delay nobody who has an account.
 */
uint64_t request_readers_flow(int64_t sponsor_id);

/*
 * True for an access token or a session of an administrator. API keys never have administrator
 * rights: they act in their workspace only.
 */
bool request_is_admin(const struct request *r);

/* True if the caller may list and change the links of this workspace (LINK_STORE_ANY_WORKSPACE: all). */
bool request_may_access_links_of(const struct request *r, int64_t workspace_id);

/*
 * For link_store: the workspace of the request, or LINK_STORE_ANY_WORKSPACE for an administrator whose
 * path names none.
 */
int64_t request_workspaces(const struct request *r);

/*
 * True unless the API key is limited to tags and a link with these has none of them. To the key, such a
 * link does not exist.
 */
bool request_sees_tags(const struct request *r, const struct link_tags *tags);

/*
 * After reading a link, with this error: passes it on. ERR_NOT_FOUND also: the request does not see the
 * link, and *link is cleared.
 */
enum err request_check_link(const struct request *r, enum err err, struct link *link) MUST_CHECK;

/* The SQL of the same for a row of links. parameter: "$3", the text of the request's tags or NULL. */
#define REQUEST_SEES_TAGS(tags, parameter)                                                         \
	"(" parameter "::text IS NULL OR " tags " && string_to_array(" parameter                   \
	"::text, E'\\x1f'))"

/*
 * Returns the {id} of the path, or 0 if it is not a valid id. Leading zeros are invalid. Of a path that
 * names a link otherwise, its id once that is found.
 */
int64_t request_path_id(const struct request *r);

/* The client's network ("203.0.113.0/24"); "unknown": a trusted proxy sent no address. */
void request_network(const struct request *r, char out[static CLIENT_IP_NETWORK_SIZE]);

/*
 * Parses the body, which must be a JSON object. Release it with json_free. NULL: the request is
 * invalid and the response is already complete (400, 411 or 415).
 */
struct json *request_body_read(struct request *r);

/* True if there is no body, or its type is JSON. False: the response is complete (415). */
bool request_body_check_type(struct request *r);

#endif
