#include "services/links-api/request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/mem.h"
#include "lib/base/number.h"
#include "lib/links/link_store.h"
#include "services/links-api/accounts/audit_store.h"
#include "services/links-api/answer.h"

static void release(void *state)
{
	struct request *r = state;
	if (r->errand)
		r->release_errand(r->errand);
	free(r);
}

struct request *request_new(const struct api *api, struct http_exchange *x)
{
	struct request *r = mem_zero(sizeof(*r));
	r->api = api;
	r->exchange = x;
	http_exchange_set_state(x, r, release);
	return r;
}

int64_t request_now_us(const struct request *r)
{
	return clock_now_us(r->api->clock);
}

bool request_is_admin(const struct request *r)
{
	return r->role == USER_ROLE_ADMIN && r->key_id == 0;
}

int64_t request_owner(const struct request *r)
{
	return request_is_admin(r) ? LINK_STORE_ANY_OWNER : r->user_id;
}

enum err request_audit(const struct request *r, struct pg_conn *conn, const char *action, const char *subject_type,
                       int64_t subject_id, const struct json *details)
{
	const struct audit_entry entry = {
		.actor_id = r->user_id,
		.key_id = r->key_id,
		.action = action,
		.subject_type = subject_type,
		.subject_id = subject_id,
		.request_id = http_exchange_request_id(r->exchange),
		.details = details,
	};
	return audit_store_add(conn, &entry);
}

/*
 * Accepts parameters after the type. JSON is always UTF-8, so a charset parameter changes nothing.
 */
static bool is_json(const char *content_type)
{
	static const char json[] = "application/json";
	if (!content_type || strncasecmp(content_type, json, strlen(json)) != 0)
		return false;
	content_type += strlen(json);
	content_type += strspn(content_type, " \t");
	return *content_type == '\0' || *content_type == ';';
}

/* An empty body still needs "Content-Length: 0". */
static bool has_length(const struct request *r)
{
	return http_exchange_header(r->exchange, "Content-Length") ||
	       http_exchange_header(r->exchange, "Transfer-Encoding");
}

static bool is_encoded(const struct request *r)
{
	const char *encoding = http_exchange_header(r->exchange, "Content-Encoding");
	return encoding && *encoding && strcasecmp(encoding, "identity") != 0;
}

/* True if there is a body in a supported encoding and type. If false, the response is complete. */
static bool check_body_headers(struct request *r)
{
	if (!has_length(r)) {
		answer_problem(r, 411, NULL, "The request needs a body and a Content-Length header.");
		return false;
	}
	if (is_encoded(r)) {
		http_exchange_add_fixed_header(r->exchange, "Accept-Encoding", "identity");
		answer_problem(r, 415, NULL, "Send the body without Content-Encoding.");
		return false;
	}
	if (is_json(http_exchange_header(r->exchange, "Content-Type")))
		return true;
	http_exchange_add_fixed_header(r->exchange, "Accept", "application/json");
	answer_problem(r, 415, NULL, "The body must be JSON with Content-Type: application/json.");
	return false;
}

struct json *request_read_body(struct request *r)
{
	if (!check_body_headers(r))
		return NULL;
	size_t len;
	const char *text = http_exchange_body(r->exchange, &len);
	char reason[JSON_REASON_SIZE];
	struct json *body = NULL;
	if (json_parse(text, len, &body, reason) != OK) {
		char detail[JSON_REASON_SIZE + 32];
		snprintf(detail, sizeof(detail), "The body is not valid JSON: %s.", reason);
		answer_problem(r, 400, "json", detail);
		return NULL;
	}
	if (json_type(body) != JSON_OBJECT) {
		answer_problem(r, 400, "json", "The body must be a JSON object.");
		json_free(body);
		return NULL;
	}
	return body;
}

int64_t request_id_of_path(const struct request *r)
{
	int64_t id;
	const char *text = r->match.params[0];
	return text[0] != '0' && number_parse(text, 1, INT64_MAX, &id) == OK ? id : 0;
}

void request_network(const struct request *r, char out[static CLIENT_IP_NETWORK_SIZE])
{
	struct client_ip peer = http_exchange_peer(r->exchange);
	const char *forwarded_for = http_exchange_joined_header(r->exchange, "X-Forwarded-For");
	struct client_ip ip = client_ip_of_request(&peer, forwarded_for, &r->api->trusted);
	client_ip_network(&ip, out);
	if (!*out)
		snprintf(out, CLIENT_IP_NETWORK_SIZE, "unknown");
}
