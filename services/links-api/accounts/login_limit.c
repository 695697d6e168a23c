#include "services/links-api/accounts/login_limit.h"

#include <ctype.h>
#include <string.h>

#include "services/links-api/accounts/user_store.h"
#include "services/links-api/answer.h"

#define ACCOUNT_WINDOW_S (15 * 60)
#define NETWORK_WINDOW_S (60 * 60)

static struct rate_limit_rule account_rule(const struct request *r)
{
	return (struct rate_limit_rule){
		.name = "login",
		.detail = "Too many wrong passwords for this account; please try again later.",
		.max = r->api->config->login_failures,
		.window_s = ACCOUNT_WINDOW_S,
	};
}

static struct rate_limit_rule network_rule(const struct request *r)
{
	return (struct rate_limit_rule){
		.name = "login-network",
		.detail = "Too many wrong passwords from your network; please try again later.",
		.max = r->api->config->login_failures_per_network,
		.window_s = NETWORK_WINDOW_S,
	};
}

static void name_account(const char *email, struct login_limit *limit)
{
	char lower[USER_EMAIL_SIZE] = "";
	size_t len = strnlen(email, USER_EMAIL_MAX);
	for (size_t i = 0; i < len; i++)
		lower[i] = (char)tolower((unsigned char)email[i]);
	uint8_t digest[DIGEST_SIZE];
	digest_sha256(lower, len, digest);
	digest_hex(digest, sizeof(digest), limit->account);
}

enum err login_limit_take(struct request *r, const char *email, struct login_limit *out)
{
	struct rate_limit_rule network = network_rule(r);
	struct rate_limit_rule account = account_rule(r);
	struct login_limit limit;
	int64_t reset_s = 0;
	name_account(email, &limit);
	request_network(r, limit.network);
	if (rate_limit_take(r->api->redis, &network, limit.network, &reset_s) != OK) {
		answer_limited(r, &network, reset_s);
		return ERR_LIMIT;
	}
	if (rate_limit_take(r->api->redis, &account, limit.account, &reset_s) != OK) {
		rate_limit_give_back(r->api->redis, &network, limit.network);
		answer_limited(r, &account, reset_s);
		return ERR_LIMIT;
	}
	*out = limit;
	return OK;
}

void login_limit_give_back(const struct request *r, const struct login_limit *limit)
{
	struct rate_limit_rule network = network_rule(r);
	struct rate_limit_rule account = account_rule(r);
	rate_limit_give_back(r->api->redis, &account, limit->account);
	rate_limit_give_back(r->api->redis, &network, limit->network);
}
