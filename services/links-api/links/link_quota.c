#include "services/links-api/links/link_quota.h"

#include "services/links-api/http/limits.h"
#include "services/links-api/identity/user_store.h"
#include "services/links-api/links/link_quota_store.h"

#define WINDOW_S 86400
/* A creation counts until its whole interval has left the window. */
#define COUNTED_S (WINDOW_S + LINK_QUOTA_STORE_INTERVAL_S)

/*
 * Without a default limit, the first read takes no lock: creations by a user without a limit do not
 * wait for each other.
 */
static enum err read_max(const struct request *r, struct pg_conn *conn, bool must_lock,
                         int64_t *max)
{
	const int64_t fallback = r->api->config->links_per_day;
	int64_t own = USER_STORE_NO_QUOTA;
	enum err err = OK;
	bool is_locked = must_lock || fallback > 0;
	if (!is_locked) {
		err = user_store_get_quota(conn, r->user_id, &own);
		is_locked = own > 0;
	}
	if (err == OK && is_locked)
		err = user_store_lock_quota(conn, r->user_id, &own);
	if (err == OK)
		*max = own == USER_STORE_NO_QUOTA ? fallback : own;
	return err;
}

/* Seconds until the links of the interval that contains time_us no longer count, rounded up. */
static int64_t reset_s(int64_t time_us, int64_t now_us)
{
	const int64_t interval_us = LINK_QUOTA_STORE_INTERVAL_S * CLOCK_US_PER_S;
	int64_t end_us = time_us - time_us % interval_us + COUNTED_S * CLOCK_US_PER_S;
	return (end_us - now_us + CLOCK_US_PER_S - 1) / CLOCK_US_PER_S;
}

enum err link_quota_read(const struct request *r, struct pg_conn *conn, bool must_lock,
                         struct link_quota *out)
{
	int64_t max = 0, used = 0, oldest_us = 0;
	int64_t now_us = request_now_us(r);
	enum err err = read_max(r, conn, must_lock, &max);
	if (err == OK && max > 0)
		err = link_quota_store_count(conn, r->user_id, now_us - WINDOW_S * CLOCK_US_PER_S,
		                             &used, &oldest_us);
	if (err != OK)
		return err;
	out->rule = limits_rule(r->api->config, LIMITS_LINKS);
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
	if (quota->rule.max == 0 || links == 0)
		return OK;
	quota->state.left -= links;
	return link_quota_store_add(conn, r->user_id, request_now_us(r), links);
}
