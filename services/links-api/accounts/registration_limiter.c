#include "services/links-api/accounts/registration_limiter.h"

#include "services/links-api/answer.h"
#include "services/links-api/rate_limit.h"

#define WINDOW_S (60 * 60)

static struct rate_limit_rule rule(const struct request *r)
{
	return (struct rate_limit_rule){
		.name = "accounts",
		.detail = "Too many registrations from your network. Try again later.",
		.max = r->api->config->accounts_per_hour,
		.window_s = WINDOW_S,
	};
}

enum err registration_limiter_take(struct request *r)
{
	struct rate_limit_rule limit = rule(r);
	char network[CLIENT_IP_NETWORK_SIZE];
	int64_t reset_s = 0;
	request_network(r, network);
	enum err err = rate_limit_take(r->api->redis, &limit, network, &reset_s);
	if (err != OK)
		answer_limited(r, &limit, reset_s);
	return err;
}

void registration_limiter_refund(struct request *r)
{
	struct rate_limit_rule limit = rule(r);
	char network[CLIENT_IP_NETWORK_SIZE];
	request_network(r, network);
	rate_limit_give_back(r->api->redis, &limit, network);
}
