#include "services/links-api/links/link_quota_store.h"

#include "lib/base/clock.h"

#define INTERVAL_US (LINK_QUOTA_STORE_INTERVAL_S * CLOCK_US_PER_S)

static int64_t interval_start(int64_t time_us)
{
	return time_us - time_us % INTERVAL_US;
}

enum err link_quota_store_count(struct pg_conn *conn, int64_t user_id, int64_t after_us,
                                int64_t *links, int64_t *oldest_us)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, user_id);
	pg_params_time(&params, interval_start(after_us));
	struct pg_result *rows = NULL;
	enum err err = pg_conn_query(
		conn,
		"SELECT COALESCE(sum(links), 0)::bigint, min(since) FROM link_quota_uses WHERE user_id = $1 AND since >= $2",
		&params, &rows);
	if (err == OK) {
		*links = pg_result_int(rows, 0, 0);
		*oldest_us = pg_result_time(rows, 0, 1);
	}
	pg_result_free(rows);
	return err;
}

enum err link_quota_store_add(struct pg_conn *conn, int64_t user_id, int64_t now_us, int64_t links)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, user_id);
	pg_params_time(&params, interval_start(now_us));
	pg_params_int(&params, links);
	return pg_conn_query(
		conn,
		"INSERT INTO link_quota_uses AS q (user_id, since, links) VALUES ($1, $2, $3) "
		"ON CONFLICT (user_id, since) DO UPDATE SET links = q.links + EXCLUDED.links",
		&params, NULL);
}
