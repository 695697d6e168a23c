#include "services/links-api/accounts/login_limiter.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "services/links-api/accounts/known_network.h"
#include "services/links-api/accounts/password_queue.h"
#include "services/links-api/http/response.h"
#include "services/links-api/identity/user_store.h"

#define ACCOUNT_WINDOW_S (15 * 60)
#define NETWORK_WINDOW_S (60 * 60)
#define RESERVATION_S_MIN 30

/* --- what an attempt counts for --- */

static struct login_limiter_place *add_place(struct login_attempt *attempt,
                                             const struct rate_limit_rule *rule)
{
	struct login_limiter_place *place = &attempt->places[attempt->count++];
	place->rule = *rule;
	return place;
}

static void add_account_and_network(const struct request *r, const char *account,
                                    const char *network, struct login_attempt *attempt)
{
	const struct rate_limit_rule rule = {
		.name = "login",
		.detail = "Too many wrong passwords for this account or share from your network.",
		.max = r->api->config->login_failures,
		.window_s = ACCOUNT_WINDOW_S,
	};
	struct login_limiter_place *place = add_place(attempt, &rule);
	snprintf(place->subject, sizeof(place->subject), "%s:%s", account, network);
}

static void add_network(const struct request *r, const char *network, struct login_attempt *attempt)
{
	const struct rate_limit_rule rule = {
		.name = "login-network",
		.detail = "Too many wrong passwords from your network.",
		.max = r->api->config->login_failures_per_network,
		.window_s = NETWORK_WINDOW_S,
	};
	struct login_limiter_place *place = add_place(attempt, &rule);
	snprintf(place->subject, sizeof(place->subject), "%s", network);
}

static void add_account(const struct request *r, const char *account, struct login_attempt *attempt)
{
	const struct rate_limit_rule rule = {
		.name = "login-account",
		.detail =
			"Too many wrong passwords for this account or share. Use a network where the "
			"password was right before, or wait.",
		.max = r->api->config->login_failures_per_account,
		.window_s = ACCOUNT_WINDOW_S,
	};
	struct login_limiter_place *place = add_place(attempt, &rule);
	snprintf(place->subject, sizeof(place->subject), "%s", account);
}

static void add_token(const struct request *r, struct login_attempt *attempt)
{
	const struct rate_limit_rule rule = {
		.name = "password",
		.detail = "Too many wrong passwords with this access token or session.",
		.max = r->api->config->login_failures,
		.window_s = ACCOUNT_WINDOW_S,
	};
	struct login_limiter_place *place = add_place(attempt, &rule);
	snprintf(place->subject, sizeof(place->subject), "%s", r->credentials.token_id);
}

static void set_account(const char *email, char account[static 2 * DIGEST_SIZE + 1])
{
	char lower[USER_EMAIL_SIZE] = "";
	size_t len = strnlen(email, USER_EMAIL_MAX);
	for (size_t i = 0; i < len; i++)
		lower[i] = (char)tolower((unsigned char)email[i]);
	uint8_t digest[DIGEST_SIZE];
	digest_sha256(lower, len, digest);
	digest_hex(digest, sizeof(digest), account);
}

/* --- the attempt --- */

/* Longer than an attempt can wait in the queue and be checked: a hash takes less than a second. */
static int64_t reservation_s(const struct config *config)
{
	return RESERVATION_S_MIN + config->password_queue / config->password_threads;
}

static void release(const struct request *r, const struct login_attempt *attempt, size_t count,
                    bool counts)
{
	for (size_t i = count; i-- > 0;) {
		const struct login_limiter_place *place = &attempt->places[i];
		rate_limit_end_reservation(r->api->limits, &place->rule, place->subject,
		                           &place->reservation, counts);
	}
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

static enum err reserve(struct request *r, struct login_attempt *attempt)
{
	int64_t hold_s = reservation_s(r->api->config);
	for (size_t i = 0; i < attempt->count; i++) {
		struct login_limiter_place *place = &attempt->places[i];
		int64_t reset_s = 0;
		enum err err = rate_limit_reserve(r->api->limits, &place->rule, place->subject,
		                                  hold_s, &place->reservation, &reset_s);
		if (err == OK)
			continue;
		release(r, attempt, i, false);
		return refuse(r, err, &place->rule, reset_s);
	}
	return OK;
}

enum err login_limiter_begin(struct request *r, const char *email, struct login_attempt *out)
{
	struct login_attempt attempt = { 0 };
	char account[sizeof(attempt.account)];
	char network[CLIENT_IP_NETWORK_SIZE];
	set_account(email, account);
	request_network(r, network);
	memcpy(attempt.account, account, sizeof(account));
	bool is_known = known_network_is_known(r, account);
	add_account_and_network(r, account, network, &attempt);
	if (!is_known) {
		add_network(r, network, &attempt);
		add_account(r, account, &attempt);
	}
	enum err err = reserve(r, &attempt);
	if (err != OK)
		return err;
	attempt.has_priority = is_known && attempt.places[0].reservation.others == 0;
	*out = attempt;
	return OK;
}

enum err login_limiter_begin_with_token(struct request *r, struct login_attempt *out)
{
	struct login_attempt attempt = { 0 };
	add_token(r, &attempt);
	enum err err = reserve(r, &attempt);
	if (err != OK)
		return err;
	attempt.has_priority = attempt.places[0].reservation.others == 0;
	*out = attempt;
	return OK;
}

void login_limiter_end(struct request *r, const struct login_attempt *attempt,
                       enum login_result result)
{
	release(r, attempt, attempt->count, result == LOGIN_RESULT_WRONG);
	if (result == LOGIN_RESULT_RIGHT && *attempt->account)
		known_network_remember(r, attempt->account);
}

void login_limiter_record_registration(struct request *r, const char *email)
{
	char account[2 * DIGEST_SIZE + 1];
	set_account(email, account);
	known_network_remember(r, account);
}
