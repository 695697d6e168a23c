#include "services/links-api/identity/authentication.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "lib/base/array.h"
#include "lib/base/mem.h"
#include "lib/base/number.h"
#include "services/links-api/http/response.h"
#include "services/links-api/identity/access_token.h"
#include "services/links-api/identity/api_key_store.h"
#include "services/links-api/identity/login_needs.h"
#include "services/links-api/identity/membership.h"
#include "services/links-api/identity/session.h"
#include "services/links-api/identity/share.h"

#define DETAIL_SIZE (128 + SCOPE_LIST_SIZE)

/* The token of a Bearer header, or NULL. */
static const char *bearer_token(const char *header)
{
	static const char scheme[] = "Bearer ";
	if (!header || strncasecmp(header, scheme, strlen(scheme)) != 0)
		return NULL;
	header += strlen(scheme);
	return header + strspn(header, " ");
}

static enum request_auth read_key(struct request *r, const char *text)
{
	r->credentials.kind = REQUEST_API_KEY;
	if (!secret_is_well_formed(text, SECRET_API_KEY))
		return REQUEST_AUTH_INVALID;
	secret_hash(text, r->credentials.hash);
	return REQUEST_AUTH_VALID;
}

static enum request_auth read_token(struct request *r, const char *text)
{
	const struct access_token_secrets *secrets = r->api->secrets;
	struct access_token_claims claims;
	for (size_t i = 0; i < secrets->count; i++) {
		enum err err = access_token_verify(access_token_secret(secrets, i), text,
		                                   request_now_us(r), &claims);
		r->credentials.is_expired |= err == ERR_LIMIT;
		if (err != OK)
			continue;
		r->credentials.user_id = claims.user_id;
		r->credentials.generation = claims.generation;
		memcpy(r->credentials.token_id, claims.id, sizeof(r->credentials.token_id));
		return REQUEST_AUTH_VALID;
	}
	return REQUEST_AUTH_INVALID;
}

/* Only the access token of a share counts: a share must not depend on who else is logged in. */
static enum request_auth read_share_token(struct request *r)
{
	const struct access_token_secrets *secrets = r->api->secrets;
	const char *text = bearer_token(http_exchange_joined_header(r->exchange, "Authorization"));
	r->credentials.kind = REQUEST_SHARE;
	if (!text)
		return REQUEST_AUTH_MISSING;
	for (size_t i = 0; i < secrets->count; i++) {
		enum err err = access_token_verify_for_share(access_token_secret(secrets, i), text,
		                                             request_now_us(r), r->credentials.hash,
		                                             &r->credentials.generation);
		if (err == OK)
			return REQUEST_AUTH_VALID;
		r->credentials.is_expired |= err == ERR_LIMIT;
	}
	return REQUEST_AUTH_INVALID;
}

/*
 * --- does a request with a session come from our own pages? ---
 *
 * Browsers name the sender in Sec-Fetch-Site, which scripts cannot set. Browsers that do not, and
 * all browsers on plain HTTP, name it in Origin. Anything else could be cross-site request forgery.
 *
 *   Sec-Fetch-Site          GET, HEAD    writes
 *   same-origin             yes          yes
 *   none (typed address)    yes          no
 *   anything else           no           no
 *   absent                  if Origin is absent or is our own    if Origin is our own
 */

/* The rest of origin after its scheme, or NULL. */
static const char *skip_scheme(const char *origin, bool needs_https)
{
	static const char https[] = "https://", http[] = "http://";
	if (strncmp(origin, https, strlen(https)) == 0)
		return origin + strlen(https);
	if (!needs_https && strncmp(origin, http, strlen(http)) == 0)
		return origin + strlen(http);
	return NULL;
}

static bool is_own_origin(const struct request *r, const char *origin, bool needs_https)
{
	const char *host = http_exchange_header(r->exchange, "Host");
	const char *sender = skip_scheme(origin, needs_https);
	return sender && host && *sender && strcasecmp(sender, host) == 0;
}

static bool is_same_origin(const struct request *r)
{
	struct http_exchange *x = r->exchange;
	enum http_method method = http_exchange_method(x);
	bool is_read = method == HTTP_GET || method == HTTP_HEAD;
	const char *site = http_exchange_joined_header(x, "Sec-Fetch-Site");
	if (site)
		return strcmp(site, "same-origin") == 0 || (is_read && strcmp(site, "none") == 0);
	const char *origin = http_exchange_joined_header(x, "Origin");
	return origin ? is_own_origin(r, origin, r->api->is_https) : is_read;
}

/*
 * Our own page sent it over plain HTTP, where browsers keep no cookie of a server with HTTPS. On
 * localhost they do, and send Sec-Fetch-Site.
 */
static bool lacks_https(const struct request *r)
{
	if (!r->api->is_https || http_exchange_joined_header(r->exchange, "Sec-Fetch-Site"))
		return false;
	const char *origin = http_exchange_joined_header(r->exchange, "Origin");
	return origin && is_own_origin(r, origin, false) && !is_own_origin(r, origin, true);
}

static enum request_auth read_session(struct request *r)
{
	enum err err = session_read_cookie(r, r->credentials.hash);
	if (err == ERR_NOT_FOUND)
		return REQUEST_AUTH_MISSING;
	r->credentials.kind = REQUEST_SESSION;
	if (!is_same_origin(r))
		return REQUEST_AUTH_CROSS_SITE;
	return err == OK ? REQUEST_AUTH_VALID : REQUEST_AUTH_INVALID;
}

enum request_auth authentication_read(struct request *r)
{
	if (r->match.route->right == PERMISSION_SHARED)
		return read_share_token(r);
	const char *text = bearer_token(http_exchange_joined_header(r->exchange, "Authorization"));
	if (text)
		return secret_has_prefix(text, SECRET_API_KEY) ? read_key(r, text)
		                                               : read_token(r, text);
	text = http_exchange_joined_header(r->exchange, "X-Api-Key");
	return text ? read_key(r, text) : read_session(r);
}

/* What each permission needs. */
static const struct rule {
	/* Of an API key; 0 = no key has it. */
	unsigned scope;
	/* In the workspace; WORKSPACE_STRANGER = it belongs to no workspace. */
	enum workspace_role least;
} rules[] = {
	[PERMISSION_ACCOUNT] = { 0, WORKSPACE_STRANGER },
	[PERMISSION_LINKS_READ] = { SCOPE_LINKS_READ, WORKSPACE_VIEWER },
	[PERMISSION_LINKS_WRITE] = { SCOPE_LINKS_WRITE, WORKSPACE_EDITOR },
	[PERMISSION_LINKS_MOVE] = { 0, WORKSPACE_EDITOR },
	[PERMISSION_STATS_READ] = { SCOPE_STATS_READ, WORKSPACE_VIEWER },
	[PERMISSION_VISITS_READ] = { SCOPE_VISITS_READ, WORKSPACE_VIEWER },
	[PERMISSION_SHARES_READ] = { SCOPE_SHARES_READ, WORKSPACE_VIEWER },
	[PERMISSION_SHARES_WRITE] = { SCOPE_SHARES_WRITE, WORKSPACE_EDITOR },
	[PERMISSION_KEYS_READ] = { SCOPE_KEYS_READ, WORKSPACE_EDITOR },
	[PERMISSION_KEYS_WRITE] = { SCOPE_KEYS_WRITE, WORKSPACE_EDITOR },
	[PERMISSION_WORKSPACE_READ] = { SCOPE_WORKSPACE_READ, WORKSPACE_VIEWER },
	[PERMISSION_WORKSPACE_AUDIT] = { SCOPE_WORKSPACE_READ, WORKSPACE_ADMIN },
	[PERMISSION_WORKSPACE_LEAVE] = { SCOPE_WORKSPACE_WRITE, WORKSPACE_VIEWER },
	[PERMISSION_WORKSPACE_WRITE] = { SCOPE_WORKSPACE_WRITE, WORKSPACE_ADMIN },
	[PERMISSION_WORKSPACE_OWN] = { 0, WORKSPACE_OWNER },
	[PERMISSION_ADMIN_READ] = { SCOPE_ADMIN_READ, WORKSPACE_STRANGER },
	[PERMISSION_ADMIN_WRITE] = { SCOPE_ADMIN_WRITE, WORKSPACE_STRANGER },
};

enum workspace_role authentication_least_role(unsigned permission)
{
	return rules[permission].least;
}

unsigned authentication_usable_scopes(enum workspace_role role, bool is_admin)
{
	unsigned scopes = 0;
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		bool is_usable =
			rules[i].least == WORKSPACE_STRANGER ? is_admin : role >= rules[i].least;
		/* Whoever may only leave cannot use a key for the workspace. */
		if (is_usable && i != PERMISSION_WORKSPACE_LEAVE)
			scopes |= rules[i].scope;
	}
	return scopes;
}

static enum err load_key(struct request *r, struct pg_conn *conn, int64_t *workspace_id)
{
	struct api_key key;
	enum err err = api_key_store_use(conn, r->credentials.hash, request_now_us(r), &key,
	                                 &r->credentials.is_expired);
	if (err != OK)
		return err;
	r->user_id = key.created_by;
	r->key_id = key.id;
	r->scopes = key.scopes;
	r->tags = *key.tags ? mem_text(key.tags) : NULL;
	*workspace_id = key.workspace_id;
	return OK;
}

/* Wrong passwords that are sent with a session count for it. */
static enum err load_session(struct request *r, struct pg_conn *conn)
{
	struct session session;
	enum err err = session_use(conn, r->credentials.hash, &session);
	if (err != OK)
		return err;
	r->user_id = session.user_id;
	r->session_id = session.id;
	r->is_by_provider = session.is_by_provider;
	snprintf(r->credentials.token_id, sizeof(r->credentials.token_id), "session:%" PRId64,
	         session.id);
	return OK;
}

/* workspace_id: that of an API key. */
static enum err load_credentials(struct request *r, struct pg_conn *conn, int64_t *workspace_id)
{
	switch (r->credentials.kind) {
	case REQUEST_API_KEY:
		return load_key(r, conn, workspace_id);
	case REQUEST_SESSION:
		return load_session(r, conn);
	case REQUEST_ACCESS_TOKEN:
	case REQUEST_SHARE:
		break;
	}
	r->user_id = r->credentials.user_id;
	return OK;
}

/* The reader of a share has no account: user_id stays 0. */
static enum err load_share(struct request *r, struct pg_conn *conn, enum request_auth *login)
{
	char password_hash[PASSWORD_HASH_SIZE];
	r->share = mem_zero(sizeof(*r->share));
	enum err err = share_find(conn, r->credentials.hash, r->share, password_hash);
	if (err == OK && r->share->password_generation == r->credentials.generation)
		*login = REQUEST_AUTH_VALID;
	return err;
}

/*
 * Where the request acts. No membership is no error here: what the request may do is decided by
 * authentication_authorize, which says as little about other workspaces as about none.
 */
static enum err set_workspace(struct request *r, struct pg_conn *conn, int64_t of_key,
                              const struct membership_person *person)
{
	struct membership at = person->membership;
	int64_t named = r->named_workspace_id;
	/* A key ends with the membership of its maker. */
	if (of_key && at.workspace_id == 0)
		return ERR_NOT_FOUND;
	if ((of_key && named && named != of_key) ||
	    authentication_least_role(r->match.route->right) == WORKSPACE_STRANGER)
		return OK;
	if (request_is_admin(r) && named && at.role < WORKSPACE_OWNER) {
		enum err err = membership_find_as_admin(conn, named, &at);
		if (err != OK && err != ERR_NOT_FOUND)
			return err;
	}
	r->is_workspace_ambiguous = person->is_ambiguous;
	r->workspace_id = at.workspace_id;
	r->role = at.role;
	r->sponsor_id = at.sponsor_id;
	r->is_workspace_deleted = at.is_deleted;
	r->workspace_requires_second_factor = at.requires_second_factor;
	r->default_forward_query = at.default_forward_query;
	r->default_forward_path = at.default_forward_path;
	return OK;
}

static enum err load_caller(struct request *r, struct pg_conn *conn, enum request_auth *login)
{
	struct membership_person person;
	int64_t of_key = 0;
	r->scopes = SCOPE_ALL;
	enum err err = load_credentials(r, conn, &of_key);
	if (err == OK)
		err = membership_find(conn, r->user_id, of_key ? of_key : r->named_workspace_id,
		                      &person);
	if (err != OK)
		return err;
	r->has_admin_role = person.is_admin;
	bool has_password = r->key_id == 0 && !r->is_by_provider;
	r->lacks_second_factor = has_password && !person.has_second_factor;
	r->lacks_confirmed_address = has_password && !person.has_confirmed_address;
	if (r->credentials.kind == REQUEST_ACCESS_TOKEN &&
	    r->credentials.generation != person.token_generation)
		return ERR_NOT_FOUND;
	*login = person.is_blocked ? REQUEST_AUTH_BLOCKED : REQUEST_AUTH_VALID;
	return set_workspace(r, conn, of_key, &person);
}

enum err authentication_verify(struct request *r, enum request_auth *login)
{
	struct pg_conn *conn = NULL;
	enum err err = pg_pool_acquire(r->api->pg, &conn);
	if (err != OK)
		return err;
	err = r->credentials.kind == REQUEST_SHARE ? load_share(r, conn, login)
	                                           : load_caller(r, conn, login);
	pg_pool_release(r->api->pg, conn);
	if (err == ERR_NOT_FOUND)
		*login = REQUEST_AUTH_INVALID;
	return err == ERR_NOT_FOUND ? OK : err;
}

static enum http_progress send_scope_missing(struct request *r, unsigned scope)
{
	char detail[DETAIL_SIZE], name[SCOPE_LIST_SIZE];
	api_key_join_scopes(scope, name);
	snprintf(detail, sizeof(detail),
	         "The API key lacks the scope %s, which this endpoint requires.", name);
	http_exchange_add_fixed_header(r->exchange, "WWW-Authenticate",
	                               "Bearer realm=\"waymark\", error=\"insufficient_scope\"");
	return response_problem(r, 403, "scope", detail);
}

static enum http_progress send_no_workspace(struct request *r)
{
	if (r->named_workspace_id)
		return response_not_found(r);
	if (r->is_workspace_ambiguous)
		return response_problem(r, 400, "which-workspace",
		                        "You are in several workspaces. Name one in the path: "
		                        "/api/workspaces/{id}/… GET /api/workspaces lists them.");
	return response_problem(r, 403, "no-workspace",
	                        "You are in no workspace. Ask for an invitation, or make one.");
}

static enum http_progress send_role_too_low(struct request *r, enum workspace_role least)
{
	char detail[DETAIL_SIZE];
	snprintf(detail, sizeof(detail),
	         "In this workspace you are %s; this endpoint requires %s or more.",
	         membership_role_name(r->role), membership_role_name(least));
	return response_problem(r, 403, "role", detail);
}

/* False: the response is complete. */
static bool is_in_workspace(struct request *r, unsigned permission)
{
	if (r->role == WORKSPACE_STRANGER) {
		send_no_workspace(r);
		return false;
	}
	bool is_kept =
		permission == PERMISSION_WORKSPACE_READ || permission == PERMISSION_WORKSPACE_OWN;
	if (r->is_workspace_deleted && !is_kept)
		response_problem(r, 409, "workspace-deleted",
		                 "This workspace is being deleted. Its owners can restore it.");
	return !r->is_workspace_deleted || is_kept;
}

static bool has_scope(struct request *r, unsigned scope)
{
	bool permitted = r->key_id == 0 || (r->scopes & scope);
	if (!permitted && scope == 0)
		response_problem(
			r, 403, "forbidden",
			"This endpoint requires an access token or a session, not an API key.");
	else if (!permitted)
		send_scope_missing(r, scope);
	return permitted;
}

bool authentication_authorize(struct request *r, unsigned permission)
{
	const struct rule *rule = &rules[permission];
	if (permission == PERMISSION_SHARED)
		return true; /* its credentials are for nothing else: read_share_token */
	if (rule->least != WORKSPACE_STRANGER && !is_in_workspace(r, permission))
		return false;
	if (!login_needs_are_met(r, rule->least != WORKSPACE_STRANGER) ||
	    !has_scope(r, rule->scope))
		return false;
	bool is_of_instance =
		permission == PERMISSION_ADMIN_READ || permission == PERMISSION_ADMIN_WRITE;
	if (is_of_instance && !r->has_admin_role) {
		response_problem(r, 403, "forbidden",
		                 "This endpoint requires an administrator of this server.");
		return false;
	}
	if (r->role < rule->least) {
		send_role_too_low(r, rule->least);
		return false;
	}
	return true;
}

static enum http_progress send_cross_site(struct request *r)
{
	if (lacks_https(r))
		return response_problem(r, 403, "https-required",
		                        "This server is used over HTTPS: open its page with "
		                        "https:// in the address.");
	metrics_add(r->api->cross_site_requests, 1);
	return response_problem(
		r, 403, "cross-site",
		"A request with a session must come from a page of this server: Sec-Fetch-Site must "
		"be same-origin, or Origin must name the Host. Programs use an API key.");
}

bool authentication_is_same_origin(struct request *r)
{
	bool is_own = is_same_origin(r);
	if (!is_own)
		send_cross_site(r);
	return is_own;
}

bool authentication_has_https(struct request *r)
{
	bool has_https = !lacks_https(r);
	if (!has_https)
		send_cross_site(r);
	return has_https;
}

enum http_progress authentication_send_error(struct request *r, enum request_auth login)
{
	if (login == REQUEST_AUTH_CROSS_SITE)
		return send_cross_site(r);
	if (login == REQUEST_AUTH_INVALID && r->credentials.kind == REQUEST_SESSION)
		session_clear_cookie(r);
	if (login == REQUEST_AUTH_BLOCKED)
		return response_problem(
			r, 403, "blocked",
			"An administrator of this server has blocked this account.");
	return response_unauthorized(r, login);
}

/* --- how fast --- */

#define SUBJECT_SIZE (sizeof("share::") + NUMBER_TEXT_SIZE + CLIENT_IP_NETWORK_SIZE)

/* The account, or the share and the network of its reader. */
static void write_subject(const struct request *r, char out[static SUBJECT_SIZE])
{
	if (!r->share) {
		snprintf(out, SUBJECT_SIZE, "%" PRId64, r->user_id);
		return;
	}
	char network[CLIENT_IP_NETWORK_SIZE];
	request_network(r, network);
	snprintf(out, SUBJECT_SIZE, "share:%" PRId64 ":%s", r->share->id, network);
}

static bool take(struct request *r, enum limits_name name, int64_t cost)
{
	const struct rate_limit_rule rule = rate_limit_rule_of(r->api->config, name);
	char subject[SUBJECT_SIZE];
	struct rate_limit_state state;
	write_subject(r, subject);
	enum err err = rate_limit_take(r->api->limits, &rule, subject, cost, &state);
	if (err == OK)
		response_add_limit(r, &rule, &state);
	else
		response_rate_limited(r, &rule, state.reset_s);
	return err == OK;
}

bool authentication_take_request(struct request *r)
{
	return take(r, r->share ? LIMITS_SHARE_REQUESTS : LIMITS_REQUESTS, 1);
}

bool authentication_take_bulk(struct request *r, int64_t links)
{
	return take(r, LIMITS_BULK_LINKS, links);
}
