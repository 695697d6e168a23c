#include "services/links-api/access/account_rate.h"

#include <inttypes.h>
#include <stdio.h>

#include "lib/base/number.h"
#include "services/links-api/response.h"

#define WINDOW_S 60

static bool take(struct request *r, const struct rate_limit_rule *rule, int64_t cost)
{
	char subject[NUMBER_TEXT_SIZE];
	struct rate_limit_state state;
	snprintf(subject, sizeof(subject), "%" PRId64, r->user_id);
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
		.detail = "Your account has sent too many requests in a minute.",
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
