#include "services/links-api/links/link_quota.h"

#include "lib/base/clock.h"
#include "services/links-api/http/rate_limit.h"
#include "services/links-api/http/response.h"
#include "services/links-api/identity/user_store.h"

#define WINDOW_S 86400
/* The table link_quota_uses has one row per sponsor and interval. */
#define INTERVAL_S 300
/* A creation counts until its whole interval has left the window. */
#define COUNTED_S (WINDOW_S + INTERVAL_S)
#define INTERVAL_US (INTERVAL_S * CLOCK_US_PER_S)

static int64_t interval_start(int64_t time_us)
{
	return time_us - time_us % INTERVAL_US;
}

/* *oldest_us: the start of the oldest interval that counts, 0 if there is none. */
static enum err count_uses(struct pg_conn *conn, int64_t user_id, int64_t after_us, int64_t *links,
                           int64_t *oldest_us)
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

static enum err add_use(struct pg_conn *conn, int64_t user_id, int64_t now_us, int64_t links)
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

/*
 * Without a default limit, the first read takes no lock: creations in workspaces without a limit do not
 * wait for each other.
 */
static enum err read_max(const struct request *r, struct pg_conn *conn, bool must_lock,
                         int64_t *max)
{
	const int64_t fallback = r->api->config->links_per_day;
	int64_t own = USER_STORE_NO_QUOTA;
	enum err err = OK;
	bool is_locked = must_lock || fallback != ENV_UNLIMITED;
	if (!is_locked) {
		err = user_store_get_quota(conn, r->sponsor_id, &own);
		is_locked = own != USER_STORE_NO_QUOTA && own != ENV_UNLIMITED;
	}
	if (err == OK && is_locked)
		err = user_store_lock_quota(conn, r->sponsor_id, &own);
	if (err == OK)
		*max = own == USER_STORE_NO_QUOTA ? fallback : own;
	return err;
}

/* Seconds until the links of the interval that contains time_us no longer count, rounded up. */
static int64_t reset_s(int64_t time_us, int64_t now_us)
{
	int64_t end_us = interval_start(time_us) + COUNTED_S * CLOCK_US_PER_S;
	return (end_us - now_us + CLOCK_US_PER_S - 1) / CLOCK_US_PER_S;
}

enum err link_quota_read(const struct request *r, struct pg_conn *conn, bool must_lock,
                         struct link_quota *out)
{
	int64_t max = 0, used = 0, oldest_us = 0;
	int64_t now_us = request_now_us(r);
	enum err err = read_max(r, conn, must_lock, &max);
	if (err == OK && max != ENV_UNLIMITED)
		err = count_uses(conn, r->sponsor_id, now_us - WINDOW_S * CLOCK_US_PER_S, &used,
		                 &oldest_us);
	if (err != OK)
		return err;
	out->rule = rate_limit_rule_of(r->api->config, LIMITS_LINKS);
	out->rule.max = max;
	out->rule.window_s = COUNTED_S;
	out->state.left = max > used ? max - used : 0;
	/* Without older links, those of this request are the first to leave the window. */
	out->state.reset_s = reset_s(oldest_us ? oldest_us : now_us, now_us);
	return OK;
}

enum err link_quota_use(const struct request *r, struct pg_conn *conn, struct link_quota *quota,
                        int64_t links)
{
	if (quota->rule.max == ENV_UNLIMITED || links == 0)
		return OK;
	quota->state.left -= links;
	return add_use(conn, r->sponsor_id, request_now_us(r), links);
}

static void set_number(struct json *object, const char *name, bool is_limited, int64_t number)
{
	if (is_limited)
		json_set_int(object, name, number);
	else
		json_set_null(object, name);
}

enum http_progress link_quota_get(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	struct pg_conn *conn = NULL;
	struct link_quota quota;
	enum err err = pg_pool_acquire(r->api->pg, &conn);
	if (err != OK)
		return response_failure(r, err);
	err = link_quota_read(r, conn, false, &quota);
	pg_pool_release(r->api->pg, conn);
	if (err == ERR_NOT_FOUND)
		return response_unauthorized(r, REQUEST_AUTH_INVALID);
	if (err != OK)
		return response_failure(r, err);
	struct json *answer = json_new_object();
	bool is_limited = quota.rule.max != ENV_UNLIMITED;
	set_number(answer, "limit", is_limited, quota.rule.max);
	set_number(answer, "left", is_limited, quota.state.left);
	set_number(answer, "reset_s", is_limited, quota.state.reset_s);
	return response_json(r, 200, answer);
}
