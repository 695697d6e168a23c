#include "services/links-api/access/authentication.h"

#include <string.h>
#include <strings.h>

#include "services/links-api/access/access_token.h"
#include "services/links-api/access/api_key_store.h"
#include "services/links-api/accounts/user_store.h"
#include "services/links-api/answer.h"
#include "services/links-api/routes.h"

/* What follows "Bearer", or NULL. */
static const char *bearer(const char *header)
{
	static const char scheme[] = "Bearer ";
	if (!header || strncasecmp(header, scheme, strlen(scheme)) != 0)
		return NULL;
	header += strlen(scheme);
	return header + strspn(header, " ");
}

static enum request_login read_key(struct request *r, const char *text)
{
	r->proof.is_key = true;
	return api_key_hash(text, r->proof.key_hash) ? REQUEST_LOGIN_GOOD : REQUEST_LOGIN_BAD;
}

static enum request_login read_token(struct request *r, const char *text)
{
	const struct secret_list *secrets = &r->api->secrets;
	struct access_token_claims claims;
	for (size_t i = 0; i < secrets->count; i++) {
		if (access_token_verify(secret_list_get(secrets, i), text, request_now_us(r), &claims) != OK)
			continue;
		r->proof.user_id = claims.user_id;
		r->proof.generation = claims.generation;
		return REQUEST_LOGIN_GOOD;
	}
	return REQUEST_LOGIN_BAD;
}

enum request_login authentication_read(struct request *r)
{
	const char *text = bearer(http_exchange_joined_header(r->exchange, "Authorization"));
	if (text)
		return api_key_is_meant(text) ? read_key(r, text) : read_token(r, text);
	text = http_exchange_joined_header(r->exchange, "X-Api-Key");
	return text ? read_key(r, text) : REQUEST_LOGIN_MISSING;
}

static enum err prove_key_on(struct request *r, struct pg_conn *conn)
{
	struct api_key key;
	enum err err = api_key_store_use(conn, r->proof.key_hash, request_now_us(r), &key);
	if (err != OK)
		return err;
	r->user_id = key.user_id;
	r->key_id = key.id;
	r->scopes = key.scopes;
	return OK;
}

static enum err prove_on(struct request *r, struct pg_conn *conn, enum request_login *login)
{
	struct user_standing standing;
	enum err err = OK;
	r->user_id = r->proof.user_id;
	r->scopes = SCOPE_ALL;
	if (r->proof.is_key)
		err = prove_key_on(r, conn);
	if (err == OK)
		err = user_store_get_standing(conn, r->user_id, &standing);
	if (err != OK)
		return err;
	r->role = standing.role;
	if (!r->proof.is_key && r->proof.generation != standing.token_generation)
		return ERR_NOT_FOUND;
	*login = standing.blocked ? REQUEST_LOGIN_BLOCKED : REQUEST_LOGIN_GOOD;
	return OK;
}

enum err authentication_prove(struct request *r, enum request_login *login)
{
	struct pg_conn *conn = NULL;
	enum err err = pg_pool_take(r->api->pg, &conn);
	if (err != OK)
		return err;
	err = prove_on(r, conn, login);
	pg_pool_give(r->api->pg, conn);
	if (err == ERR_NOT_FOUND)
		*login = REQUEST_LOGIN_BAD;
	return err == ERR_NOT_FOUND ? OK : err;
}

static unsigned scope_of(unsigned right)
{
	switch ((enum routes_right)right) {
	case ROUTES_RIGHT_LINKS_READ:
		return SCOPE_LINKS_READ;
	case ROUTES_RIGHT_LINKS_WRITE:
		return SCOPE_LINKS_WRITE;
	case ROUTES_RIGHT_STATS_READ:
		return SCOPE_STATS_READ;
	default:
		return 0;
	}
}

static enum http_progress answer_scope_needed(struct request *r)
{
	http_exchange_add_fixed_header(r->exchange, "WWW-Authenticate",
	                               "Bearer realm=\"waymark\", error=\"insufficient_scope\"");
	return answer_problem(r, 403, "scope", "The API key does not have the scope that this needs.");
}

bool authentication_permits(struct request *r, unsigned right)
{
	if (right == ROUTES_RIGHT_ADMIN) {
		if (!request_is_admin(r))
			answer_problem(r, 403, "forbidden", "This is for administrators, after a login.");
		return request_is_admin(r);
	}
	bool permitted = r->key_id == 0 || (r->scopes & scope_of(right));
	if (!permitted)
		answer_scope_needed(r);
	return permitted;
}

enum http_progress authentication_refuse(struct request *r, enum request_login login)
{
	if (login == REQUEST_LOGIN_BLOCKED)
		return answer_problem(r, 403, "blocked", "This account has been blocked by an administrator.");
	return answer_login_needed(r, login);
}
