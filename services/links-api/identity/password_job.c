#include "services/links-api/identity/password_job.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/base/password.h"
#include "lib/postgres/pg_pool.h"
#include "services/links-api/http/rate_limit.h"
#include "services/links-api/http/response.h"
#include "services/links-api/identity/access_token.h"
#include "services/links-api/identity/second_factor.h"
#include "services/links-api/identity/user_store.h"

#define RESERVATION_S_MIN 30

/* --- what an attempt counts for --- */

__attribute__((format(printf, 3, 4))) static void add_place(struct password_job *job,
                                                            enum limits_name name,
                                                            const char *format, ...)
{
	struct password_job_place *place = &job->places[job->place_count++];
	place->rule = rate_limit_rule_of(job->request->api->config, name);
	va_list args;
	va_start(args, format);
	vsnprintf(place->subject, sizeof(place->subject), format, args);
	va_end(args);
}

static void make_subject(const char *name, char subject[static 2 * DIGEST_SIZE + 1])
{
	char lower[USER_EMAIL_SIZE] = "";
	size_t len = strnlen(name, USER_EMAIL_MAX);
	for (size_t i = 0; i < len; i++)
		lower[i] = (char)tolower((unsigned char)name[i]);
	uint8_t digest[DIGEST_SIZE];
	digest_sha256(lower, len, digest);
	digest_hex(digest, sizeof(digest), subject);
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
static void make_key(struct request *r, const char *subject, char key[static KNOWN_KEY_SIZE])
{
	const char *secret = access_token_secret(r->api->secrets, 0);
	char network[CLIENT_IP_NETWORK_SIZE];
	char text[RATE_LIMIT_SUBJECT_MAX + sizeof(network) + 2];
	uint8_t digest[DIGEST_SIZE];
	char hex[2 * DIGEST_SIZE + 1];
	request_network(r, network);
	int len = snprintf(text, sizeof(text), "%s\n%s", subject, network);
	digest_hmac_sha256(secret, strlen(secret), text, (size_t)len, digest);
	digest_hex(digest, sizeof(digest), hex);
	snprintf(key, KNOWN_KEY_SIZE, KNOWN_PREFIX "%s", hex);
}

static bool is_network_known(struct request *r, const char *subject)
{
	char key[KNOWN_KEY_SIZE];
	size_t len = 0;
	make_key(r, subject, key);
	const struct redis_arg args[] = { REDIS_TEXT("GET"), REDIS_TEXT(key) };
	struct redis_reply *reply = NULL;
	bool is_known = redis_pool_call(r->api->redis, args, 2, &reply, NULL) == OK &&
	                redis_reply_bytes(reply, &len);
	redis_reply_free(reply);
	return is_known;
}

static void remember_network(struct request *r, const char *subject)
{
	char key[KNOWN_KEY_SIZE];
	make_key(r, subject, key);
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

static void release(struct password_job *job, bool counts)
{
	for (; job->place_count > 0; job->place_count--) {
		const struct password_job_place *place = &job->places[job->place_count - 1];
		rate_limit_end_reservation(job->request->api->limits, &place->rule, place->subject,
		                           &place->reservation, counts);
	}
}

static void send_busy(struct request *r)
{
	http_exchange_add_fixed_header(r->exchange, "Retry-After", "1");
	response_problem(r, 429, "busy", "Too many password checks are waiting. Please retry.");
}

/* False: the response is complete, and nothing is reserved. */
static bool reserve(struct password_job *job)
{
	struct request *r = job->request;
	int64_t hold_s = reservation_s(r->api->config);
	size_t count = job->place_count;
	for (size_t i = 0; i < count; i++) {
		struct password_job_place *place = &job->places[i];
		int64_t reset_s = 0;
		enum err err = rate_limit_reserve(r->api->limits, &place->rule, place->subject,
		                                  hold_s, &place->reservation, &reset_s);
		if (err == OK)
			continue;
		job->place_count = i;
		release(job, false);
		if (err == ERR_LIMIT)
			response_rate_limited(r, &place->rule, reset_s);
		else
			send_busy(r);
		return false;
	}
	return true;
}

/*
 * Counts one registration of the network. An existing e-mail address counts too: the response
 * reveals the account and costs the same work. False: the response is complete.
 */
static bool take_registration(struct request *r)
{
	const struct rate_limit_rule limit = rate_limit_rule_of(r->api->config, LIMITS_ACCOUNTS);
	char network[CLIENT_IP_NETWORK_SIZE];
	struct rate_limit_state state;
	request_network(r, network);
	enum err err = rate_limit_take(r->api->limits, &limit, network, 1, &state);
	if (err != OK)
		response_rate_limited(r, &limit, state.reset_s);
	return err == OK;
}

static void refund_registration(struct request *r)
{
	const struct rate_limit_rule limit = rate_limit_rule_of(r->api->config, LIMITS_ACCOUNTS);
	char network[CLIENT_IP_NETWORK_SIZE];
	request_network(r, network);
	rate_limit_refund(r->api->limits, &limit, network);
}

/* False: the response is complete. *is_known: the name has been right from this network lately. */
static bool count(struct password_job *job, const char *name, bool *is_known)
{
	struct request *r = job->request;
	char network[CLIENT_IP_NETWORK_SIZE];
	switch (job->door) {
	case PASSWORD_DOOR_REGISTER:
		return take_registration(r);
	case PASSWORD_DOOR_TOKEN:
		add_place(job, LIMITS_PASSWORD, "%s", r->credentials.token_id);
		return reserve(job);
	case PASSWORD_DOOR_LOGIN:
	case PASSWORD_DOOR_SHARE:
		request_network(r, network);
		make_subject(name, job->subject);
		*is_known = is_network_known(r, job->subject);
		add_place(job, LIMITS_LOGIN, "%s:%s", job->subject, network);
		if (!*is_known) {
			add_place(job, LIMITS_LOGIN_NETWORK, "%s", network);
			add_place(job, LIMITS_LOGIN_ACCOUNT, "%s", job->subject);
		}
		return reserve(job);
	case PASSWORD_DOOR_NEW_GUARD:
	case PASSWORD_DOOR_RESET:
		break;
	}
	return true;
}

/* Nothing was checked or created, so nothing counts. */
static void abandon(struct password_job *job)
{
	release(job, false);
	if (job->door == PASSWORD_DOOR_REGISTER)
		refund_registration(job->request);
	send_busy(job->request);
}

/* --- the job --- */

void *password_job_new(struct request *r, size_t size)
{
	struct password_job *job = mem_zero(size);
	job->request = r;
	job->size = size;
	return job;
}

void password_job_free(void *state)
{
	const struct password_job *job = state;
	if (job->clear)
		job->clear(state);
	explicit_bzero(state, job->size);
	free(state);
}

static void finish(struct password_job *job)
{
	struct http_exchange *x = job->request->exchange;
	password_job_free(job);
	http_exchange_resume(x);
}

static void run_job(void *state)
{
	struct password_job *job = state;
	job->run(state);
	finish(job);
}

static void reject_job(void *state)
{
	abandon(state);
	finish(state);
}

static uint64_t flow_of(const struct password_job *job, int64_t account_id)
{
	return job->door == PASSWORD_DOOR_SHARE ? request_readers_flow(account_id)
	                                        : request_flow(job->request, account_id);
}

static size_t waiting_max(const struct password_job *job)
{
	size_t size = (size_t)job->request->api->config->password_queue;
	bool hashes_new =
		job->door == PASSWORD_DOOR_REGISTER || job->door == PASSWORD_DOOR_NEW_GUARD;
	return hashes_new ? (size + 1) / 2 : size - size / 4;
}

enum http_progress password_job_submit(void *state, enum password_door door, int64_t account_id,
                                       const char *name, void (*run)(void *state))
{
	struct password_job *job = state;
	bool is_known = false;
	job->door = door;
	job->run = run;
	if (!count(job, name, &is_known)) {
		password_job_free(job);
		return HTTP_COMPLETE;
	}
	const struct fair_queue_job queued = {
		.flow = flow_of(job, account_id),
		.is_first =
			door == PASSWORD_DOOR_TOKEN || (door == PASSWORD_DOOR_LOGIN && is_known),
		.run = run_job,
		.reject = reject_job,
		.arg = job,
	};
	if (worker_pool_submit_job(job->request->api->password_workers, &queued,
	                           waiting_max(job)) == OK)
		return HTTP_PENDING;
	abandon(job);
	password_job_free(job);
	return HTTP_COMPLETE;
}

bool password_job_matches(struct password_job *job, const char *password, const char *hash)
{
	struct request *r = job->request;
	bool is_right = password_matches(password, hash, r->api->config->password_hash_cost);
	release(job, !is_right);
	if (is_right && job->door == PASSWORD_DOOR_SHARE)
		remember_network(r, job->subject);
	return is_right;
}

/* ERR_NOT_FOUND: the code is wrong. */
static enum err use_code(const struct request *r, int64_t user_id,
                         const struct second_factor_code *code)
{
	struct pg_conn *conn = NULL;
	enum err err = pg_pool_acquire(r->api->pg, &conn);
	if (err == OK)
		err = second_factor_use(conn, user_id, code, request_now_us(r));
	pg_pool_release(r->api->pg, conn);
	return err;
}

static void add_code_places(struct password_job *job, const struct user *user, bool is_recovery)
{
	char network[CLIENT_IP_NETWORK_SIZE], subject[2 * DIGEST_SIZE + 1];
	request_network(job->request, network);
	make_subject(user->email, subject);
	add_place(job, LIMITS_CODE, "%" PRId64 ":%s", user->id, network);
	if (!is_recovery && !is_network_known(job->request, subject))
		add_place(job, LIMITS_CODE_ACCOUNT, "%" PRId64, user->id);
}

enum err password_job_use_code(struct password_job *job, const struct user *user, const char *typed)
{
	struct request *r = job->request;
	struct second_factor_code code;
	/* A text that is no code is no guess. */
	if (second_factor_parse(typed, &code) != OK)
		return ERR_NOT_FOUND;
	add_code_places(job, user, code.is_recovery);
	if (!reserve(job))
		return ERR_LIMIT;
	enum err err = use_code(r, user->id, &code);
	release(job, err == ERR_NOT_FOUND);
	if (err == ERR_NOT_FOUND)
		metrics_add(r->api->wrong_codes, 1);
	else if (err != OK)
		response_failure(r, err);
	return err;
}

void password_job_remember_network(struct request *r, const char *email)
{
	char subject[2 * DIGEST_SIZE + 1];
	make_subject(email, subject);
	remember_network(r, subject);
}
