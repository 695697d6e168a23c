#include "services/links-api/stats_handlers.h"

#include "lib/links/link_store.h"
#include "services/links-api/answer.h"
#include "services/links-api/stats_json.h"

struct link_totals {
	struct link link;
	struct statistics statistics;
	int64_t as_of_us;
};

static enum err read_link_on(const struct request *r, struct pg_conn *conn, struct link_totals *totals)
{
	enum err err = link_store_get(conn, request_id_of_path(r), r->user_id, &totals->link);
	if (err == OK && totals->link.entry.state == LINK_STATE_DELETED)
		err = ERR_NOT_FOUND;
	/* as_of first: what is counted between the two questions may be in the totals already, but is never missing. */
	if (err == OK)
		err = statistics_store_as_of(conn, &totals->as_of_us);
	if (err == OK)
		err = statistics_store_get(conn, totals->link.entry.id, &totals->statistics);
	return err;
}

enum http_progress stats_handlers_link(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	struct link_totals totals;
	struct pg_conn *conn = NULL;
	enum err err = pg_pool_take(r->api->pg, &conn);
	if (err != OK)
		return answer_failure(r, err);
	err = read_link_on(r, conn, &totals);
	pg_pool_give(r->api->pg, conn);
	if (err == ERR_NOT_FOUND)
		return answer_not_found(r);
	if (err != OK)
		return answer_failure(r, err);
	return answer_json(r, 200, stats_json_of_link(&totals.statistics, totals.as_of_us, request_now_us(r)));
}

enum http_progress stats_handlers_platform(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	struct statistics statistics;
	int64_t total_links;
	struct pg_conn *conn = NULL;
	enum err err = pg_pool_take(r->api->pg, &conn);
	if (err != OK)
		return answer_failure(r, err);
	err = link_store_count(conn, &total_links);
	if (err == OK)
		err = statistics_store_get(conn, STATISTICS_STORE_PLATFORM, &statistics);
	pg_pool_give(r->api->pg, conn);
	if (err != OK)
		return answer_failure(r, err);
	return answer_json(r, 200, stats_json_of_platform(total_links, &statistics));
}
