#include "lib/links/visit_limit.h"

static enum err remove_limit(struct pg_conn *conn, int64_t link_id)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, link_id);
	return pg_conn_query(conn, "DELETE FROM link_visit_limits WHERE link_id = $1", &params,
	                     NULL);
}

enum err visit_limit_set(struct pg_conn *conn, int64_t link_id, int64_t max_visits)
{
	if (max_visits == 0)
		return remove_limit(conn, link_id);
	struct pg_params params = { 0 };
	pg_params_int(&params, link_id);
	pg_params_int(&params, max_visits);
	return pg_conn_query(
		conn,
		"INSERT INTO link_visit_limits (link_id, max_visits, taken) VALUES ($1, $2, "
		"coalesce((SELECT visit_count FROM link_statistics WHERE link_id = $1), 0)) "
		"ON CONFLICT (link_id) DO UPDATE SET max_visits = excluded.max_visits "
		"WHERE link_visit_limits.max_visits <> excluded.max_visits",
		&params, NULL);
}

enum err visit_limit_left(struct pg_conn *conn, int64_t link_id, int64_t *left)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, link_id);
	pg_params_int(&params, VISIT_LIMIT_NONE);
	return pg_conn_query_int(conn,
	                         "SELECT coalesce((SELECT max_visits - least(taken, max_visits) "
	                         "FROM link_visit_limits WHERE link_id = $1), $2)",
	                         &params, left);
}

enum err visit_limit_taken(struct pg_conn *conn, int64_t link_id, int64_t *taken)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, link_id);
	return pg_conn_query_int(
		conn,
		"SELECT coalesce((SELECT taken FROM link_visit_limits WHERE link_id = $1), "
		"(SELECT visit_count FROM link_statistics WHERE link_id = $1), 0)",
		&params, taken);
}

/*
 * The row is locked first, so that what is added to taken and what is granted come from the same
 * version of it. A limit that is used up is not written again.
 */
enum err visit_limit_take(struct pg_conn *conn, int64_t link_id, int64_t wanted, int64_t *granted)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, link_id);
	pg_params_int(&params, wanted);
	enum err err = pg_conn_query_int(
		conn,
		"WITH held AS (SELECT link_id, max_visits, taken FROM link_visit_limits "
		"WHERE link_id = $1 FOR UPDATE), "
		"given AS (UPDATE link_visit_limits AS limits "
		"SET taken = least(held.max_visits, held.taken + $2) FROM held "
		"WHERE limits.link_id = held.link_id AND held.taken < held.max_visits "
		"RETURNING limits.taken - held.taken AS visits) "
		"SELECT coalesce((SELECT visits FROM given), 0) FROM held",
		&params, granted);
	if (err != ERR_NOT_FOUND)
		return err;
	*granted = wanted;
	return OK;
}
