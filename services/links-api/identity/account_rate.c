#include "services/links-api/identity/account_rate.h"

#include <inttypes.h>
#include <stdio.h>

#include "lib/base/number.h"
#include "services/links-api/http/response.h"
#include "services/links-api/identity/share_store.h"

#define WINDOW_S 60
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

static bool take(struct request *r, const struct rate_limit_rule *rule, int64_t cost)
{
	char subject[SUBJECT_SIZE];
	struct rate_limit_state state;
	write_subject(r, subject);
	enum err err = rate_limit_take(r->api->limits, rule, subject, cost, &state);
	if (err == OK)
		response_add_limit(r, rule, &state);
	else
		response_rate_limited(r, rule, state.reset_s);
	return err == OK;
}

bool account_rate_take_request(struct request *r)
{
	const struct rate_limit_rule rule = {
		.name = "requests",
		.detail = r->share ? "Your network has read this share too often in a minute."
		                   : "Your account has sent too many requests in a minute.",
		.max = r->api->config->requests_per_minute,
		.window_s = WINDOW_S,
	};
	return take(r, &rule, 1);
}

bool account_rate_take_bulk(struct request *r, int64_t links)
{
	const struct rate_limit_rule rule = {
		.name = "bulk-links",
		.detail =
			"The bulk requests of your account contain too many links for one minute.",
		.max = r->api->config->bulk_links_per_minute,
		.window_s = WINDOW_S,
	};
	return take(r, &rule, links);
}
