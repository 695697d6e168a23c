/*
 * One thread at a time, as its exchange. One request on its way through links-api: who asks, what for, and with which
 * body. Handlers get it as their ctx.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_REQUEST_H
#define WAYMARK_SERVICES_LINKS_API_REQUEST_H

#include <stdint.h>

#include "lib/net/http_router.h"
#include "lib/net/http_server.h"
#include "lib/net/json.h"
#include "services/links-api/api.h"

struct request {
	const struct api *api;
	struct http_exchange *exchange;
	struct http_match match; /* route NULL: none was found */
	int64_t user_id;         /* 0 = nobody, or nobody knows */
	void *errand;            /* what a handler keeps until the end of the exchange; NULL = nothing */
	void (*release_errand)(void *errand);
};

/* Belongs to the exchange from here on and ends with it. */
struct request *request_new(const struct api *api, struct http_exchange *x);

int64_t request_now_us(const struct request *r);

enum request_login { REQUEST_LOGIN_GOOD, REQUEST_LOGIN_MISSING, REQUEST_LOGIN_BAD };

/* Reads "Authorization: Bearer <access token>"; fills user_id. */
enum request_login request_authenticate(struct request *r);

/*
 * The body, a JSON object; release with json_free. NULL: it is none, and the request has been answered (400, 411, 415).
 */
struct json *request_read_body(struct request *r);

/* The {id} of the path; 0 if it is none. */
int64_t request_id_of_path(const struct request *r);

/* The network ("203.0.113.0/24") that the request came from, "unknown" if a trusted proxy did not tell. */
void request_network(const struct request *r, char out[static CLIENT_IP_NETWORK_SIZE]);

#endif
