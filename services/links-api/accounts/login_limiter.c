#include "services/links-api/accounts/login_limiter.h"

#include <ctype.h>
#include <string.h>

#include "lib/base/entropy.h"
#include "services/links-api/accounts/password_queue.h"
#include "services/links-api/accounts/user_store.h"
#include "services/links-api/response.h"

#define ACCOUNT_WINDOW_S (15 * 60)
#define NETWORK_WINDOW_S (60 * 60)
#define RESERVATION_S_MIN 30

static struct rate_limit_rule account_rule(const struct request *r)
{
	return (struct rate_limit_rule){
		.name = "login",
		.detail = "Too many wrong passwords for this account. Try again later.",
		.max = r->api->config->login_failures,
		.window_s = ACCOUNT_WINDOW_S,
	};
}

static struct rate_limit_rule network_rule(const struct request *r)
{
	return (struct rate_limit_rule){
		.name = "login-network",
		.detail = "Too many wrong passwords from your network. Try again later.",
		.max = r->api->config->login_failures_per_network,
		.window_s = NETWORK_WINDOW_S,
	};
}

static void set_attempt_id(struct login_attempt *limit)
{
	uint8_t random[RATE_LIMIT_ID_MAX / 2];
	entropy_fill(random, sizeof(random));
	digest_hex(random, sizeof(random), limit->id);
}

static void set_account(const char *email, struct login_attempt *limit)
{
	char lower[USER_EMAIL_SIZE] = "";
	size_t len = strnlen(email, USER_EMAIL_MAX);
	for (size_t i = 0; i < len; i++)
		lower[i] = (char)tolower((unsigned char)email[i]);
	uint8_t digest[DIGEST_SIZE];
	digest_sha256(lower, len, digest);
	digest_hex(digest, sizeof(digest), limit->account);
}

/* Longer than an attempt can wait in the queue and be checked: a hash takes less than a second. */
static int64_t reservation_s(const struct config *config)
{
	return RESERVATION_S_MIN + config->password_queue / config->password_threads;
}

static enum err refuse(struct request *r, enum err err, const struct rate_limit_rule *rule,
                       int64_t reset_s)
{
	if (err == ERR_LIMIT)
		response_rate_limited(r, rule, reset_s);
	else
		password_queue_send_busy(r);
	return ERR_LIMIT;
}

enum err login_limiter_begin(struct request *r, const char *email, struct login_attempt *out)
{
	struct rate_limit_rule network = network_rule(r);
	struct rate_limit_rule account = account_rule(r);
	struct login_attempt limit = { 0 };
	int64_t reset_s = 0;
	set_attempt_id(&limit);
	set_account(email, &limit);
	request_network(r, limit.network);
	enum err err = rate_limit_reserve(r->api->redis, &network, limit.network, limit.id,
	                                  reservation_s(r->api->config), &reset_s);
	if (err != OK)
		return refuse(r, err, &network, reset_s);
	err = rate_limit_reserve(r->api->redis, &account, limit.account, limit.id,
	                         reservation_s(r->api->config), &reset_s);
	if (err != OK) {
		rate_limit_end_reservation(r->api->redis, &network, limit.network, limit.id, false);
		return refuse(r, err, &account, reset_s);
	}
	*out = limit;
	return OK;
}

void login_limiter_end(const struct request *r, const struct login_attempt *limit, bool was_wrong)
{
	struct rate_limit_rule network = network_rule(r);
	struct rate_limit_rule account = account_rule(r);
	rate_limit_end_reservation(r->api->redis, &account, limit->account, limit->id, was_wrong);
	rate_limit_end_reservation(r->api->redis, &network, limit->network, limit->id, was_wrong);
}
