#include "services/links-api/accounts/login_limiter.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/digest.h"
#include "services/links-api/accounts/password_queue.h"
#include "services/links-api/http/limits.h"
#include "services/links-api/http/response.h"
#include "services/links-api/identity/jwt_secrets.h"
#include "services/links-api/identity/user_store.h"

#define RESERVATION_S_MIN 30

/* --- what an attempt counts for --- */

__attribute__((format(printf, 4, 5))) static void add_place(const struct request *r,
                                                            enum limits_name name,
                                                            struct login_attempt *attempt,
                                                            const char *format, ...)
{
	struct login_limiter_place *place = &attempt->places[attempt->count++];
	place->rule = limits_rule(r->api->config, name);
	va_list args;
	va_start(args, format);
	vsnprintf(place->subject, sizeof(place->subject), format, args);
	va_end(args);
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

/*
 * --- networks from which an account has logged in during the last 30 days ---
 *
 * Redis holds a keyed hash of account and network under limit:known:{hash}, so it reveals neither.
 * Without Redis no network is known.
 */

#define KNOWN_S "2592000" /* 30 days */
#define KNOWN_PREFIX "limit:known:"
#define KNOWN_KEY_SIZE (sizeof(KNOWN_PREFIX) + 2 * DIGEST_SIZE)

/* Keyed with the secret that signs tokens: a new secret forgets all networks. */
static void make_key(struct request *r, const char *account, char key[static KNOWN_KEY_SIZE])
{
	const char *secret = jwt_secrets_get(r->api->secrets, 0);
	char network[CLIENT_IP_NETWORK_SIZE];
	char text[RATE_LIMIT_SUBJECT_MAX + sizeof(network) + 2];
	uint8_t digest[DIGEST_SIZE];
	char hex[2 * DIGEST_SIZE + 1];
	request_network(r, network);
	int len = snprintf(text, sizeof(text), "%s\n%s", account, network);
	digest_hmac_sha256(secret, strlen(secret), text, (size_t)len, digest);
	digest_hex(digest, sizeof(digest), hex);
	snprintf(key, KNOWN_KEY_SIZE, KNOWN_PREFIX "%s", hex);
}

static bool is_network_known(struct request *r, const char *account)
{
	char key[KNOWN_KEY_SIZE];
	size_t len = 0;
	make_key(r, account, key);
	const struct redis_arg args[] = { REDIS_TEXT("GET"), REDIS_TEXT(key) };
	struct redis_reply *reply = NULL;
	bool is_known = redis_pool_call(r->api->redis, args, 2, &reply, NULL) == OK &&
	                redis_reply_bytes(reply, &len);
	redis_reply_free(reply);
	return is_known;
}

static void remember_network(struct request *r, const char *account)
{
	char key[KNOWN_KEY_SIZE];
	make_key(r, account, key);
	const struct redis_arg args[] = { REDIS_TEXT("SET"), REDIS_TEXT(key), REDIS_TEXT("1"),
		                          REDIS_TEXT("EX"), REDIS_TEXT(KNOWN_S) };
	enum err err = redis_pool_call(r->api->redis, args, 5, NULL, NULL);
	(void)err; /* the network stays unknown */
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
	bool is_known = is_network_known(r, account);
	add_place(r, LIMITS_LOGIN, &attempt, "%s:%s", account, network);
	if (!is_known) {
		add_place(r, LIMITS_LOGIN_NETWORK, &attempt, "%s", network);
		add_place(r, LIMITS_LOGIN_ACCOUNT, &attempt, "%s", account);
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
	add_place(r, LIMITS_PASSWORD, &attempt, "%s", r->credentials.token_id);
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
		remember_network(r, attempt->account);
}

void login_limiter_record_registration(struct request *r, const char *email)
{
	char account[2 * DIGEST_SIZE + 1];
	set_account(email, account);
	remember_network(r, account);
}
