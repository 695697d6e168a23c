/*
 * One thread at a time, as its exchange. One request on its way through links-api: who asks, what for, and with which
 * body. Handlers get it as their ctx.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_REQUEST_H
#define WAYMARK_SERVICES_LINKS_API_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/digest.h"
#include "lib/net/http_router.h"
#include "lib/net/http_server.h"
#include "lib/net/json.h"
#include "services/links-api/access/scope.h"
#include "services/links-api/accounts/user_role.h"
#include "services/links-api/api.h"

enum request_login {
	REQUEST_LOGIN_GOOD,
	REQUEST_LOGIN_MISSING,
	REQUEST_LOGIN_BAD,
	REQUEST_LOGIN_BLOCKED, /* by an admin */
};

/* What a request showed for itself, before the database was asked. */
struct request_proof {
	bool is_key;
	int64_t user_id, generation;   /* of an access token */
	uint8_t key_hash[DIGEST_SIZE]; /* of an API key */
};

struct request {
	const struct api *api;
	struct http_exchange *exchange;
	struct http_match match; /* route NULL: none was found */
	int64_t user_id;         /* 0 = nobody, or nobody knows */
	int64_t key_id;          /* the API key that he came with; 0 = a login */
	enum user_role role;     /* of user_id */
	unsigned scopes;         /* SCOPE_…; a login has them all */
	struct request_proof proof;
	void *errand; /* what a handler keeps until the end of the exchange; NULL = nothing */
	void (*release_errand)(void *errand);
};

/* Belongs to the exchange from here on and ends with it. */
struct request *request_new(const struct api *api, struct http_exchange *x);

int64_t request_now_us(const struct request *r);

/* A login of an admin. His API keys are no admins: they act for his own links alone. */
bool request_is_admin(const struct request *r);

/* Whose links the caller may touch, as link_store asks: his own id, or LINK_STORE_ANY_OWNER for an admin. */
int64_t request_owner(const struct request *r);

/*
 * Writes into the audit log, in the transaction of the change, that the caller did action ("link.create") to a subject.
 * details are borrowed; NULL = none. What may be in them: audit_store.h.
 */
enum err request_audit(const struct request *r, struct pg_conn *conn, const char *action, const char *subject_type,
                       int64_t subject_id, const struct json *details) MUST_CHECK;

/*
 * The body, a JSON object; release with json_free. NULL: it is none, and the request has been answered (400, 411, 415).
 */
struct json *request_read_body(struct request *r);

/* The {id} of the path; 0 if it is none. An id has one spelling: without zeros before it. */
int64_t request_id_of_path(const struct request *r);

/* The network ("203.0.113.0/24") that the request came from, "unknown" if a trusted proxy did not tell. */
void request_network(const struct request *r, char out[static CLIENT_IP_NETWORK_SIZE]);

#endif
