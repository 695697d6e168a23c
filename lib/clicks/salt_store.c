#include "lib/clicks/salt_store.h"

#include <string.h>

#include "lib/base/entropy.h"

/* The part of a user agent that an event carries. */
#define USER_AGENT_MAX 512

enum err salt_store_read(struct pg_conn *conn, int32_t first, int32_t last, struct salt *salts,
                         size_t *count)
{
	struct pg_params params = { 0 };
	pg_params_day(&params, first);
	pg_params_day(&params, last);
	struct pg_result *rows = NULL;
	enum err err = pg_conn_query(conn,
	                             "SELECT day - DATE '1970-01-01', salt FROM visitor_salts "
	                             "WHERE day BETWEEN $1 AND $2 ORDER BY day",
	                             &params, &rows);
	if (err == OK) {
		*count = pg_result_count(rows);
		for (size_t i = 0; i < *count; i++) {
			salts[i].day = (int32_t)pg_result_int(rows, i, 0);
			pg_result_bytes(rows, i, 1, salts[i].bytes, sizeof(salts[i].bytes));
		}
	}
	pg_result_free(rows);
	return err;
}

static enum err execute(struct pg_conn *conn, const char *sql, const struct pg_params *params,
                        int64_t *changed)
{
	struct pg_result *rows = NULL;
	enum err err = pg_conn_query(conn, sql, params, &rows);
	if (err == OK)
		*changed = pg_result_changed(rows);
	pg_result_free(rows);
	return err;
}

enum err salt_store_create_missing(struct pg_conn *conn, int32_t first, int32_t last,
                                   int64_t *created)
{
	int64_t all = 0;
	for (int32_t day = first; day <= last; day++) {
		uint8_t salt[VISITOR_SALT_SIZE];
		entropy_fill(salt, sizeof(salt));
		struct pg_params params = { 0 };
		pg_params_day(&params, day);
		pg_params_bytes(&params, salt, sizeof(salt));
		int64_t one;
		enum err err = execute(
			conn,
			"INSERT INTO visitor_salts (day, salt) VALUES ($1, $2) ON CONFLICT DO NOTHING",
			&params, &one);
		if (err != OK)
			return err;
		all += one;
	}
	*created = all;
	return OK;
}

enum err salt_store_delete_before(struct pg_conn *conn, int32_t before_day, int64_t *deleted)
{
	struct pg_params params = { 0 };
	pg_params_day(&params, before_day);
	return execute(conn, "DELETE FROM visitor_salts WHERE day < $1", &params, deleted);
}

void salt_store_visitor_hash(const struct digest_hmac_key *salt, const struct client_ip *ip,
                             const char *user_agent, uint8_t out[static DIGEST_SIZE])
{
	/* The address has a fixed length, so different visitors never hash the same bytes. */
	uint8_t bytes[sizeof(ip->bytes) + USER_AGENT_MAX];
	memcpy(bytes, ip->bytes, sizeof(ip->bytes));
	size_t len = user_agent ? strnlen(user_agent, USER_AGENT_MAX) : 0;
	if (len > 0)
		memcpy(bytes + sizeof(ip->bytes), user_agent, len);
	digest_hmac_sha256_with(salt, bytes, sizeof(ip->bytes) + len, out);
}
