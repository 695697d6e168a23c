#include "services/links-api/http/request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/mem.h"
#include "lib/base/number.h"
#include "lib/links/link_store.h"
#include "services/links-api/http/response.h"

static void release(void *state)
{
	struct request *r = state;
	if (r->handler_state)
		r->release_handler_state(r->handler_state);
	free(r->share);
	free(r->tags);
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

struct pg_pool *request_pg(const struct request *r)
{
	return r->is_heavy ? r->api->heavy_pg : r->api->pg;
}

/*
 * Accounts are odd and networks even, so that they never meet; 0 would be no flow. The highest bit
 * distinguishes networks, and the readers of an account's shares, from accounts.
 */
#define STRANGERS ((uint64_t)1 << 63)

uint64_t request_flow(const struct request *r, int64_t user_id)
{
	uint64_t flow;
	char network[CLIENT_IP_NETWORK_SIZE];
	uint8_t hash[DIGEST_SIZE];
	if (user_id != 0)
		return (uint64_t)user_id << 1 | 1;
	request_network(r, network);
	digest_sha256(network, strlen(network), hash);
	memcpy(&flow, hash, sizeof(flow));
	return flow << 1 | STRANGERS;
}

uint64_t request_readers_flow(int64_t sponsor_id)
{
	return (uint64_t)sponsor_id << 1 | 1 | STRANGERS;
}

bool request_is_admin(const struct request *r)
{
	return r->has_admin_role && r->key_id == 0;
}

bool request_may_access_links_of(const struct request *r, int64_t workspace_id)
{
	return workspace_id == r->workspace_id || request_is_admin(r);
}

int64_t request_workspaces(const struct request *r)
{
	bool is_of_all = request_is_admin(r) && r->named_workspace_id == 0;
	return is_of_all ? LINK_STORE_ANY_WORKSPACE : r->workspace_id;
}

bool request_sees_tags(const struct request *r, const struct link_tags *tags)
{
	const char *tag = r->tags;
	while (tag) {
		size_t len = strcspn(tag, "\x1f");
		for (size_t i = 0; i < tags->count; i++)
			if (strncmp(tags->tag[i], tag, len) == 0 && tags->tag[i][len] == '\0')
				return true;
		tag = tag[len] ? tag + len + 1 : NULL;
	}
	return !r->tags;
}

enum err request_check_link(const struct request *r, enum err err, struct link *link)
{
	if (err != OK || request_sees_tags(r, &link->tags))
		return err;
	memset(link, 0, sizeof(*link));
	return ERR_NOT_FOUND;
}

int64_t request_path_id(const struct request *r)
{
	int64_t id;
	const char *text = r->match.params[0];
	if (r->named_link_id)
		return r->named_link_id;
	return text[0] != '0' && number_parse(text, 1, INT64_MAX, &id) == OK ? id : 0;
}

void request_network(const struct request *r, char out[static CLIENT_IP_NETWORK_SIZE])
{
	struct client_ip ip = http_exchange_client_ip(r->exchange);
	client_ip_network(&ip, out);
	if (!*out)
		snprintf(out, CLIENT_IP_NETWORK_SIZE, "unknown");
}

/* --- the body --- */

/* Accepts parameters. JSON is always UTF-8, so a charset parameter changes nothing. */
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

static bool is_empty(const struct request *r)
{
	size_t len;
	http_exchange_body(r->exchange, &len);
	return len == 0;
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
		response_problem(
			r, 411, NULL,
			"The request has no body. Send a JSON object with a Content-Length header.");
		return false;
	}
	if (is_encoded(r)) {
		http_exchange_add_fixed_header(r->exchange, "Accept-Encoding", "identity");
		response_problem(r, 415, NULL, "Send the body without Content-Encoding.");
		return false;
	}
	if (is_empty(r)) {
		response_problem(r, 400, "json",
		                 "The body is empty. Send a JSON object with Content-Type: "
		                 "application/json.");
		return false;
	}
	if (is_json(http_exchange_header(r->exchange, "Content-Type")))
		return true;
	http_exchange_add_fixed_header(r->exchange, "Accept", "application/json");
	response_problem(r, 415, NULL,
	                 "The body must be JSON with Content-Type: application/json.");
	return false;
}

bool request_body_check_type(struct request *r)
{
	size_t len;
	http_exchange_body(r->exchange, &len);
	return len == 0 || check_body_headers(r);
}

struct json *request_body_read(struct request *r)
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
		response_problem(r, 400, "json", detail);
		return NULL;
	}
	if (json_type(body) != JSON_OBJECT) {
		response_problem(r, 400, "json", "The body must be a JSON object.");
		json_free(body);
		return NULL;
	}
	return body;
}
