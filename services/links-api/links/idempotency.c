#include "services/links-api/links/idempotency.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/postgres/sql_column.h"
#include "services/links-api/http/rate_limit.h"
#include "services/links-api/http/response.h"
#include "services/links-api/links/link_cache_update.h"

#define TRIES_MAX 5
#define KEY_MAX 255
#define SCOPED_KEY_SIZE (CLIENT_IP_NETWORK_SIZE + 2 * DIGEST_SIZE + KEY_MAX + 48)
#define TTL_S 86400
/* Stored bytes are counted in intervals; one counts until a day after its end. */
#define INTERVAL_S 300
#define COUNTED_S (TTL_S + INTERVAL_S)
/* What a row takes beside its body and slugs: hashes, headers, time, index entries. */
#define ROW_BYTES 256
/*
 * 1,000 links that are found again: an expired_url of 8 KB, notes of 8 KB and tags of 4 KB each,
 * beside the 2 MiB of the request.
 */
#define BODY_BYTES_MAX ((size_t)32 * 1024 * 1024)

/* --- the key --- */

static bool is_valid_key(const char *text)
{
	size_t len = strlen(text);
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '!' || text[i] > '~')
			return false;
	}
	return len >= 1 && len <= KEY_MAX;
}

/*
 * Two users, workspaces or networks may use the same key for different requests. An API key that is
 * limited to tags sees no response to a request without that limit.
 */
static void scope_key(const struct request *r, const char *key, char out[static SCOPED_KEY_SIZE])
{
	char network[CLIENT_IP_NETWORK_SIZE] = "", tags[2 * DIGEST_SIZE + 1] = "";
	uint8_t digest[DIGEST_SIZE];
	if (r->user_id == 0)
		request_network(r, network);
	if (r->tags) {
		digest_sha256(r->tags, strlen(r->tags), digest);
		digest_hex(digest, DIGEST_SIZE, tags);
	}
	snprintf(out, SCOPED_KEY_SIZE, "%" PRId64 " %" PRId64 " %s%s\n%s", r->user_id,
	         r->workspace_id, network, tags, key);
}

/*
 * Hashes the route instead of the path: /api/urls is an alias of /api/links. The client's key, which is
 * not stored, keeps who reads the table from guessing a password in the body.
 */
static void hash_request(const struct request *r, const char *key, uint8_t out[static DIGEST_SIZE])
{
	size_t body_len;
	const char *body = http_exchange_body(r->exchange, &body_len);
	uint8_t body_hash[DIGEST_SIZE];
	digest_hmac_sha256(key, strlen(key), body, body_len, body_hash);
	const char *route = r->match.route->pattern;
	digest_hmac_sha256(body_hash, sizeof(body_hash), route, strlen(route), out);
}

enum err idempotency_init(struct idempotency *i, struct request *r)
{
	static const char lookup_label[] = "waymark idempotency key";
	bool is_post = http_exchange_method(r->exchange) == HTTP_POST;
	const char *header =
		is_post ? http_exchange_joined_header(r->exchange, "Idempotency-Key") : NULL;
	*i = (struct idempotency){ .request = r,
		                   .has_key = header != NULL,
		                   .rule = rate_limit_rule_of(r->api->config,
		                                              LIMITS_IDEMPOTENCY_BYTES) };
	i->rule.window_s = COUNTED_S;
	if (header && !is_valid_key(header)) {
		response_problem(r, 400, "idempotency-key",
		                 "Idempotency-Key must be 1 to 255 visible ASCII characters.");
		return ERR_INVALID;
	}
	if (header) {
		/* A copy: reading another header invalidates header. */
		char key[KEY_MAX + 1];
		char scoped[SCOPED_KEY_SIZE];
		snprintf(key, sizeof(key), "%s", header);
		scope_key(r, key, scoped);
		digest_hmac_sha256(lookup_label, strlen(lookup_label), scoped, strlen(scoped),
		                   i->key_hash);
		hash_request(r, key, i->request_hash);
	}
	strbuf_init(&i->response.body, BODY_BYTES_MAX);
	return OK;
}

static void clear_slugs(struct idempotency *i)
{
	free(i->slugs);
	i->slugs = NULL;
	i->slug_count = 0;
}

void idempotency_clear(struct idempotency *i)
{
	strbuf_clear(&i->response.body);
	clear_slugs(i);
}

/* --- stored responses --- */

/*
 * Locks the key until the transaction ends. ERR_LIMIT: another transaction holds it. An advisory
 * lock instead of an uncommitted row: the second request fails at once, without waiting.
 */
static enum err lock(const struct idempotency *i)
{
	int64_t number;
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	memcpy(&number, i->key_hash, sizeof(number));
	pg_params_int(&params, number);
	enum err err =
		pg_conn_query(i->conn, "SELECT pg_try_advisory_xact_lock($1)", &params, &rows);
	if (err == OK && !pg_result_bool(rows, 0, 0))
		err = ERR_LIMIT;
	pg_result_free(rows);
	return err;
}

static enum err read_response(const struct pg_result *rows, struct idempotency_response *out)
{
	out->status = (unsigned)pg_result_int(rows, 0, 1);
	snprintf(out->location, sizeof(out->location), "%s", pg_result_text(rows, 0, 2));
	snprintf(out->etag, sizeof(out->etag), "%s", pg_result_text(rows, 0, 3));
	strbuf_reset(&out->body);
	strbuf_add_text(&out->body, pg_result_text(rows, 0, 4));
	return strbuf_status(&out->body);
}

/* One row per slug; only the first one carries the body. ERR_NOT_FOUND: nothing is stored. */
static enum err read_stored(struct idempotency *i)
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	uint8_t request_hash[DIGEST_SIZE];
	pg_params_bytes(&params, i->key_hash, DIGEST_SIZE);
	pg_params_int(&params, TTL_S);
	enum err err = pg_conn_query(
		i->conn,
		"SELECT request_hash, status, location, etag, "
		"CASE WHEN COALESCE(place, 1) = 1 THEN body END, slug "
		"FROM idempotency_keys LEFT JOIN unnest(slugs) WITH ORDINALITY AS described (slug, place) "
		"ON true WHERE key_hash = $1 "
		"AND created_at > clock_timestamp() - $2::bigint * interval '1 second' ORDER BY place",
		&params, &rows);
	size_t count = pg_result_count(rows);
	if (err == OK && count == 0)
		err = ERR_NOT_FOUND;
	if (err == OK)
		err = read_response(rows, &i->response);
	if (err == OK) {
		pg_result_bytes(rows, 0, 0, request_hash, DIGEST_SIZE);
		i->state = digest_equal(request_hash, i->request_hash) ? IDEMPOTENCY_REPLAY
		                                                       : IDEMPOTENCY_MISMATCH;
		i->slugs = mem_array(count, sizeof(*i->slugs));
		for (size_t n = 0; n < count && !pg_result_is_null(rows, n, 5); n++)
			snprintf(i->slugs[i->slug_count++], SLUG_SIZE, "%s",
			         pg_result_text(rows, n, 5));
	}
	pg_result_free(rows);
	return err;
}

/* Anonymous requests are limited by the links that they create. */
static bool is_limited(const struct idempotency *i)
{
	return i->request->user_id != 0 && i->rule.max != ENV_UNLIMITED;
}

/* The state is IDEMPOTENCY_FULL if the user has stored all that is allowed. */
static enum err check_use(struct idempotency *i)
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	int64_t now_us = request_now_us(i->request);
	if (!is_limited(i))
		return OK;
	pg_params_int(&params, i->request->user_id);
	pg_params_time(&params, now_us - COUNTED_S * CLOCK_US_PER_S);
	enum err err = pg_conn_query(
		i->conn,
		"SELECT COALESCE(sum(bytes), 0)::bigint, min(since) FROM idempotency_uses "
		"WHERE user_id = $1 AND since > $2",
		&params, &rows);
	if (err == OK && pg_result_int(rows, 0, 0) >= i->rule.max) {
		i->state = IDEMPOTENCY_FULL;
		i->reset_s = COUNTED_S - (now_us - pg_result_time(rows, 0, 1)) / CLOCK_US_PER_S;
	}
	pg_result_free(rows);
	return err;
}

static enum err look_up(struct idempotency *i)
{
	i->state = IDEMPOTENCY_NEW;
	if (!i->has_key)
		return OK;
	enum err err = lock(i);
	if (err == OK)
		err = read_stored(i);
	if (err == ERR_NOT_FOUND)
		return check_use(i);
	if (err == ERR_LIMIT) {
		i->state = IDEMPOTENCY_IN_FLIGHT;
		return OK;
	}
	return err;
}

/* Replaces an expired row of the same key. */
static enum err insert(const struct idempotency *i, struct sql_column *slugs)
{
	const struct idempotency_response *response = &i->response;
	struct pg_params params = { 0 };
	pg_params_bytes(&params, i->key_hash, DIGEST_SIZE);
	pg_params_bytes(&params, i->request_hash, DIGEST_SIZE);
	pg_params_int(&params, response->status);
	pg_params_text(&params, response->location);
	pg_params_text(&params, response->etag);
	pg_params_text(&params, response->body.data);
	enum err err = sql_column_param(slugs, &params);
	if (err != OK)
		return err;
	return pg_conn_query(
		i->conn,
		"INSERT INTO idempotency_keys "
		"(key_hash, request_hash, status, location, etag, body, slugs) "
		"VALUES ($1, $2, $3, $4, $5, $6, $7::text[]) ON CONFLICT (key_hash) DO UPDATE "
		"SET (request_hash, status, location, etag, body, slugs, created_at) = "
		"(EXCLUDED.request_hash, EXCLUDED.status, EXCLUDED.location, EXCLUDED.etag, "
		"EXCLUDED.body, EXCLUDED.slugs, EXCLUDED.created_at)",
		&params, NULL);
}

static enum err add_use(const struct idempotency *i, size_t bytes)
{
	struct pg_params params = { 0 };
	int64_t now_us = request_now_us(i->request);
	pg_params_int(&params, i->request->user_id);
	pg_params_time(&params, now_us - now_us % (INTERVAL_S * CLOCK_US_PER_S));
	pg_params_int(&params, (int64_t)bytes);
	return pg_conn_query(
		i->conn,
		"INSERT INTO idempotency_uses AS u (user_id, since, bytes) VALUES ($1, $2, $3) "
		"ON CONFLICT (user_id, since) DO UPDATE SET bytes = u.bytes + EXCLUDED.bytes",
		&params, NULL);
}

enum err idempotency_save(struct idempotency *i, char (*slugs)[SLUG_SIZE], size_t slug_count)
{
	struct sql_column column;
	if (!i->has_key)
		return OK;
	sql_column_init_for(&column, SQL_COLUMN_TEXT, slug_count, SLUG_SIZE);
	for (size_t n = 0; n < slug_count; n++)
		sql_column_add_text(&column, slugs[n]);
	enum err err = insert(i, &column);
	sql_column_clear(&column);
	if (err != OK || !is_limited(i))
		return err;
	return add_use(i, ROW_BYTES + i->response.body.len + slug_count * SLUG_SIZE);
}

/* --- the transaction --- */

/* On error, no connection is held. The pool's ERR_LIMIT would mislead the handlers. */
static enum err begin(struct idempotency *i)
{
	struct pg_pool *pool = i->request->api->pg;
	i->conn = NULL;
	clear_slugs(i);
	enum err err = pg_pool_acquire(pool, &i->conn);
	if (err != OK)
		return err == ERR_LIMIT ? ERR_UNAVAILABLE : err;
	err = pg_conn_begin(i->conn);
	if (err != OK) {
		pg_pool_release(pool, i->conn);
		i->conn = NULL;
	}
	return err;
}

/* Commits if err is OK, rolls back otherwise, and returns the connection to the pool. */
static enum err end(struct idempotency *i, enum err err)
{
	if (!i->conn)
		return err;
	if (err == OK)
		err = pg_conn_commit(i->conn);
	if (err != OK)
		pg_conn_rollback(i->conn);
	pg_pool_release(i->request->api->pg, i->conn);
	i->conn = NULL;
	return err;
}

enum err idempotency_run(struct idempotency *i, idempotency_work execute, void *ctx)
{
	enum err err = ERR_CONFLICT;
	for (int tries = 0; err == ERR_CONFLICT && tries < TRIES_MAX; tries++) {
		err = begin(i);
		if (err == OK)
			err = look_up(i);
		if (err == OK && i->state == IDEMPOTENCY_NEW)
			err = execute(ctx, i);
		err = end(i, err);
	}
	return err;
}

enum err idempotency_set_response(struct idempotency *i, unsigned status, struct json *body)
{
	i->response.status = status;
	strbuf_reset(&i->response.body);
	json_write(body, &i->response.body);
	json_free(body);
	return strbuf_status(&i->response.body);
}

/* --- answers --- */

enum http_progress idempotency_send_response(const struct idempotency *i)
{
	const struct idempotency_response *response = &i->response;
	struct http_exchange *x = i->request->exchange;
	if ((*response->location &&
	     http_exchange_add_header(x, "Location", response->location) != OK) ||
	    (*response->etag && http_exchange_add_header(x, "ETag", response->etag) != OK))
		return response_failure(i->request, ERR_INTERNAL);
	i->request->has_etag = *response->etag != '\0';
	http_exchange_set_status(x, response->status);
	response_set_body(i->request, "application/json", response->body.data, response->body.len);
	return HTTP_COMPLETE;
}

static void update_cache(const struct idempotency *i)
{
	const char **slugs = mem_array(i->slug_count, sizeof(*slugs));
	for (size_t n = 0; n < i->slug_count; n++)
		slugs[n] = i->slugs[n];
	if (!link_cache_update_is_relayed(i->request->api, slugs, i->slug_count))
		link_cache_update_bulk(i->request->api, slugs, i->slug_count);
	free(slugs);
}

enum http_progress idempotency_answer(const struct idempotency *i)
{
	struct request *r = i->request;
	if (i->state == IDEMPOTENCY_FULL)
		return response_rate_limited(r, &i->rule, i->reset_s);
	if (i->state == IDEMPOTENCY_MISMATCH)
		return response_problem(
			r, 422, "idempotency-key-reused",
			"This Idempotency-Key was already used with a different path or body. Use a new key.");
	if (i->state == IDEMPOTENCY_IN_FLIGHT) {
		http_exchange_add_fixed_header(r->exchange, "Retry-After", "1");
		return response_problem(
			r, 409, "idempotency-key-in-flight",
			"A request with this Idempotency-Key is still in progress. Retry later.");
	}
	update_cache(i);
	http_exchange_add_fixed_header(r->exchange, "Idempotency-Replayed", "true");
	return idempotency_send_response(i);
}
