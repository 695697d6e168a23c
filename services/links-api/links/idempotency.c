#include "services/links-api/links/idempotency.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "services/links-api/http/limits.h"
#include "services/links-api/http/response.h"

/* What a row takes beside its body and slugs: hashes, headers, time, index entries. */
#define ROW_BYTES 256
#define SCOPED_KEY_SIZE (CLIENT_IP_NETWORK_SIZE + IDEMPOTENCY_KEY_MAX + 32)

static bool is_valid_key(const char *text)
{
	size_t len = strlen(text);
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '!' || text[i] > '~')
			return false;
	}
	return len >= 1 && len <= IDEMPOTENCY_KEY_MAX;
}

/* Two users, or two networks, may use the same key for different requests. */
static void scope_key(const struct request *r, const char *key, char out[static SCOPED_KEY_SIZE])
{
	char network[CLIENT_IP_NETWORK_SIZE] = "";
	if (r->user_id == 0)
		request_network(r, network);
	snprintf(out, SCOPED_KEY_SIZE, "%" PRId64 " %s\n%s", r->user_id, network, key);
}

/* Hashes the route instead of the path: /api/urls is an alias of /api/links. */
static void hash_request(const struct request *r, uint8_t out[static DIGEST_SIZE])
{
	size_t body_len;
	const char *body = http_exchange_body(r->exchange, &body_len);
	uint8_t body_hash[DIGEST_SIZE];
	digest_sha256(body, body_len, body_hash);
	const char *route = r->match.route->pattern;
	digest_hmac_sha256(body_hash, sizeof(body_hash), route, strlen(route), out);
}

enum err idempotency_read(struct request *r, struct idempotency *out)
{
	static const char lookup_label[] = "waymark idempotency key";
	const char *header = http_exchange_joined_header(r->exchange, "Idempotency-Key");
	*out = (struct idempotency){ .has_key = header != NULL,
		                     .user_id = r->user_id,
		                     .now_us = request_now_us(r),
		                     .rule = limits_rule(r->api->config,
		                                         LIMITS_IDEMPOTENCY_BYTES) };
	out->rule.window_s = IDEMPOTENCY_STORE_COUNTED_S;
	if (!header)
		return OK;
	if (!is_valid_key(header))
		return ERR_INVALID;
	char key[IDEMPOTENCY_KEY_MAX + 1]; /* a copy: reading another header invalidates header */
	char scoped[SCOPED_KEY_SIZE];
	snprintf(key, sizeof(key), "%s", header);
	scope_key(r, key, scoped);
	digest_hmac_sha256(lookup_label, strlen(lookup_label), scoped, strlen(scoped),
	                   out->key_hash);
	hash_request(r, out->request_hash);
	return OK;
}

/* Anonymous requests are limited by the links that they create. */
static bool is_limited(const struct idempotency *i)
{
	return i->user_id != 0 && i->rule.max > 0;
}

static enum err check_use(struct idempotency *i, struct pg_conn *conn,
                          enum idempotency_state *state)
{
	int64_t bytes = 0, oldest_us = 0;
	if (!is_limited(i))
		return OK;
	enum err err = idempotency_store_count_use(conn, i->user_id, i->now_us, &bytes, &oldest_us);
	if (err != OK || bytes < i->rule.max)
		return err;
	int64_t age_s = (i->now_us - oldest_us) / CLOCK_US_PER_S;
	i->state = (struct rate_limit_state){ .reset_s = i->rule.window_s - age_s };
	*state = IDEMPOTENCY_FULL;
	return OK;
}

enum err idempotency_begin(struct idempotency *i, struct pg_conn *conn,
                           enum idempotency_state *state, struct stored_response *response,
                           struct idempotency_row *row)
{
	*state = IDEMPOTENCY_NEW;
	if (!i->has_key)
		return OK;
	enum err err = idempotency_store_acquire(conn, i->key_hash, row, response);
	if (err == ERR_NOT_FOUND)
		return check_use(i, conn, state);
	if (err == ERR_LIMIT) {
		*state = IDEMPOTENCY_IN_FLIGHT;
		return OK;
	}
	if (err != OK)
		return err;
	*state = digest_equal(row->request_hash, i->request_hash) ? IDEMPOTENCY_REPLAY
	                                                          : IDEMPOTENCY_MISMATCH;
	return OK;
}

enum err idempotency_save(const struct idempotency *i, struct pg_conn *conn,
                          const struct stored_response *response, char (*slugs)[SLUG_SIZE],
                          size_t slug_count)
{
	if (!i->has_key)
		return OK;
	struct idempotency_row row = { .slugs = slugs, .slug_count = slug_count };
	memcpy(row.request_hash, i->request_hash, DIGEST_SIZE);
	enum err err = idempotency_store_save(conn, i->key_hash, &row, response);
	size_t bytes = ROW_BYTES + response->body.len + slug_count * SLUG_SIZE;
	if (err == OK && is_limited(i))
		err = idempotency_store_add_use(conn, i->user_id, i->now_us, (int64_t)bytes);
	return err;
}

enum http_progress idempotency_answer_bad_key(struct request *r)
{
	return response_problem(r, 400, "idempotency-key",
	                        "Idempotency-Key must be 1 to 255 visible ASCII characters.");
}

enum http_progress idempotency_answer_conflict(struct request *r, const struct idempotency *i,
                                               enum idempotency_state state)
{
	if (state == IDEMPOTENCY_FULL)
		return response_rate_limited(r, &i->rule, i->state.reset_s);
	if (state == IDEMPOTENCY_MISMATCH)
		return response_problem(
			r, 422, "idempotency-key-reused",
			"This Idempotency-Key was already used with a different path or body. Use a new key.");
	http_exchange_add_fixed_header(r->exchange, "Retry-After", "1");
	return response_problem(
		r, 409, "idempotency-key-in-flight",
		"A request with this Idempotency-Key is still in progress. Retry later.");
}
