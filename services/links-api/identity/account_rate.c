#include "services/links-api/identity/account_rate.h"

#include <inttypes.h>
#include <stdio.h>

#include "lib/base/number.h"
#include "services/links-api/http/limits.h"
#include "services/links-api/http/response.h"
#include "services/links-api/identity/share_store.h"

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
	const struct rate_limit_rule rule = limits_rule(r->api->config, name);
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

bool account_rate_take_request(struct request *r)
{
	return take(r, r->share ? LIMITS_SHARE_REQUESTS : LIMITS_REQUESTS, 1);
}

bool account_rate_take_bulk(struct request *r, int64_t links)
{
	return take(r, LIMITS_BULK_LINKS, links);
}
