#include "services/links-api/links/idempotency_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/mem.h"
#include "lib/postgres/sql_column.h"

void idempotency_store_clear(struct idempotency_row *row)
{
	free(row->slugs);
	*row = (struct idempotency_row){ 0 };
}

/*
 * An advisory lock instead of an uncommitted row: the second request fails at once, without
 * waiting.
 */
static enum err lock(struct pg_conn *conn, const uint8_t key_hash[static DIGEST_SIZE])
{
	int64_t number;
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	memcpy(&number, key_hash, sizeof(number));
	pg_params_int(&params, number);
	enum err err = pg_conn_query(conn, "SELECT pg_try_advisory_xact_lock($1)", &params, &rows);
	if (err == OK && !pg_result_bool(rows, 0, 0))
		err = ERR_LIMIT;
	pg_result_free(rows);
	return err;
}

static enum err read_response(const struct pg_result *rows, struct stored_response *out)
{
	out->status = (unsigned)pg_result_int(rows, 0, 1);
	snprintf(out->location, sizeof(out->location), "%s", pg_result_text(rows, 0, 2));
	snprintf(out->etag, sizeof(out->etag), "%s", pg_result_text(rows, 0, 3));
	strbuf_reset(&out->body);
	strbuf_add_text(&out->body, pg_result_text(rows, 0, 4));
	return strbuf_status(&out->body);
}

/* One row per slug. Only the first one carries the body. */
static enum err read(struct pg_conn *conn, const uint8_t key_hash[static DIGEST_SIZE],
                     struct idempotency_row *out, struct stored_response *response)
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	pg_params_bytes(&params, key_hash, DIGEST_SIZE);
	pg_params_int(&params, IDEMPOTENCY_STORE_TTL_S);
	enum err err = pg_conn_query(
		conn,
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
		err = read_response(rows, response);
	if (err == OK) {
		pg_result_bytes(rows, 0, 0, out->request_hash, DIGEST_SIZE);
		out->slugs = mem_array(count, sizeof(*out->slugs));
		for (size_t i = 0; i < count && !pg_result_is_null(rows, i, 5); i++)
			snprintf(out->slugs[out->slug_count++], SLUG_SIZE, "%s",
			         pg_result_text(rows, i, 5));
	}
	pg_result_free(rows);
	return err;
}

enum err idempotency_store_acquire(struct pg_conn *conn, const uint8_t key_hash[static DIGEST_SIZE],
                                   struct idempotency_row *out, struct stored_response *response)
{
	struct idempotency_row row = { 0 };
	enum err err = lock(conn, key_hash);
	if (err == OK)
		err = read(conn, key_hash, &row, response);
	if (err == OK)
		*out = row;
	return err;
}

enum err idempotency_store_save(struct pg_conn *conn, const uint8_t key_hash[static DIGEST_SIZE],
                                const struct idempotency_row *row,
                                const struct stored_response *response)
{
	struct pg_params params = { 0 };
	struct sql_column slugs;
	sql_column_init_for(&slugs, SQL_COLUMN_TEXT, row->slug_count, SLUG_SIZE);
	for (size_t i = 0; i < row->slug_count; i++)
		sql_column_add_text(&slugs, row->slugs[i]);
	pg_params_bytes(&params, key_hash, DIGEST_SIZE);
	pg_params_bytes(&params, row->request_hash, DIGEST_SIZE);
	pg_params_int(&params, response->status);
	pg_params_text(&params, response->location);
	pg_params_text(&params, response->etag);
	pg_params_text(&params, response->body.data);
	enum err err = sql_column_param(&slugs, &params);
	if (err == OK)
		err = pg_conn_query(
			conn,
			"INSERT INTO idempotency_keys "
			"(key_hash, request_hash, status, location, etag, body, slugs) "
			"VALUES ($1, $2, $3, $4, $5, $6, $7::text[]) ON CONFLICT (key_hash) DO UPDATE "
			"SET (request_hash, status, location, etag, body, slugs, created_at) = "
			"(EXCLUDED.request_hash, EXCLUDED.status, EXCLUDED.location, EXCLUDED.etag, "
			"EXCLUDED.body, EXCLUDED.slugs, EXCLUDED.created_at)",
			&params, NULL);
	sql_column_clear(&slugs);
	return err;
}

enum err idempotency_store_count_use(struct pg_conn *conn, int64_t user_id, int64_t now_us,
                                     int64_t *bytes, int64_t *oldest_us)
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	pg_params_int(&params, user_id);
	pg_params_time(&params, now_us - IDEMPOTENCY_STORE_COUNTED_S * CLOCK_US_PER_S);
	enum err err = pg_conn_query(
		conn,
		"SELECT COALESCE(sum(bytes), 0)::bigint, min(since) FROM idempotency_uses "
		"WHERE user_id = $1 AND since > $2",
		&params, &rows);
	if (err == OK) {
		*bytes = pg_result_int(rows, 0, 0);
		*oldest_us = pg_result_time(rows, 0, 1);
	}
	pg_result_free(rows);
	return err;
}

enum err idempotency_store_add_use(struct pg_conn *conn, int64_t user_id, int64_t now_us,
                                   int64_t bytes)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, user_id);
	pg_params_time(&params, now_us - now_us % (IDEMPOTENCY_STORE_INTERVAL_S * CLOCK_US_PER_S));
	pg_params_int(&params, bytes);
	return pg_conn_query(
		conn,
		"INSERT INTO idempotency_uses AS u (user_id, since, bytes) VALUES ($1, $2, $3) "
		"ON CONFLICT (user_id, since) DO UPDATE SET bytes = u.bytes + EXCLUDED.bytes",
		&params, NULL);
}
