#include "services/links-api/http/request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/base/number.h"
#include "lib/links/link_store.h"

static void release(void *state)
{
	struct request *r = state;
	if (r->handler_state)
		r->release_handler_state(r->handler_state);
	free(r->share);
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
 * distinguishes the readers of an account's shares from the account.
 */
void request_set_flow(const struct request *r, int64_t user_id)
{
	uint64_t flow = (uint64_t)user_id << 1 | 1;
	if (user_id == 0) {
		char network[CLIENT_IP_NETWORK_SIZE];
		uint8_t hash[DIGEST_SIZE];
		request_network(r, network);
		digest_sha256(network, strlen(network), hash);
		memcpy(&flow, hash, sizeof(flow));
		flow = (flow << 1) | ((uint64_t)1 << 63);
	}
	http_exchange_set_flow(r->exchange, flow);
}

void request_set_readers_flow(const struct request *r, int64_t owner_id)
{
	http_exchange_set_flow(r->exchange, (uint64_t)owner_id << 1 | 1 | (uint64_t)1 << 63);
}

bool request_is_admin(const struct request *r)
{
	return r->has_admin_role && r->key_id == 0;
}

bool request_may_access_links_of(const struct request *r, int64_t owner_id)
{
	return owner_id == r->user_id || request_is_admin(r);
}

int64_t request_owner(const struct request *r)
{
	return request_is_admin(r) ? LINK_STORE_ANY_OWNER : r->user_id;
}

int64_t request_path_id(const struct request *r)
{
	int64_t id;
	const char *text = r->match.params[0];
	return text[0] != '0' && number_parse(text, 1, INT64_MAX, &id) == OK ? id : 0;
}

void request_network(const struct request *r, char out[static CLIENT_IP_NETWORK_SIZE])
{
	struct client_ip ip = http_exchange_client_ip(r->exchange);
	client_ip_network(&ip, out);
	if (!*out)
		snprintf(out, CLIENT_IP_NETWORK_SIZE, "unknown");
}
