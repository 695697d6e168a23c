#include "services/janitor/destinations/host_store.h"

static enum err reserve_now(struct pg_conn *conn, const char *host, int64_t *delay_ms)
{
	struct pg_params params = { 0 };
	pg_params_text(&params, host);
	pg_params_int(&params, HOST_STORE_ROBOTS_S);
	return pg_conn_query_int(
		conn,
		"UPDATE destination_hosts SET free_at = clock_timestamp() + crawl_delay_ms * interval '1 ms' "
		"WHERE host = $1 AND free_at <= clock_timestamp() "
		"AND robots_read_at > clock_timestamp() - $2::bigint * interval '1 second' RETURNING crawl_delay_ms",
		&params, delay_ms);
}

/* Each caller gets a time of its own, so that a host's links do not all come back at once. */
static enum err enqueue(struct pg_conn *conn, const char *host, int64_t *wait_ms)
{
	struct pg_params params = { 0 };
	pg_params_text(&params, host);
	pg_params_int(&params, HOST_STORE_SLACK_MS);
	return pg_conn_query_int(
		conn,
		"UPDATE destination_hosts SET queue_until = greatest(queue_until, free_at) + "
		"(crawl_delay_ms + $2::bigint) * interval '1 ms' "
		"WHERE host = $1 AND free_at > clock_timestamp() RETURNING greatest(0, ceil(1000 * extract(epoch FROM "
		"queue_until - clock_timestamp())) - crawl_delay_ms - $2::bigint)::bigint",
		&params, wait_ms);
}

enum err host_store_reserve(struct pg_conn *conn, const char *host,
                            struct host_store_reservation *out)
{
	struct host_store_reservation reservation = { .status = HOST_STORE_RESERVED };
	enum err err = reserve_now(conn, host, &reservation.delay_ms);
	if (err == ERR_NOT_FOUND) {
		reservation.status = HOST_STORE_WAIT;
		err = enqueue(conn, host, &reservation.wait_ms);
	}
	if (err == ERR_NOT_FOUND) {
		reservation.status = HOST_STORE_UNKNOWN;
		err = OK;
	}
	if (err == OK)
		*out = reservation;
	return err;
}

enum err host_store_save_robots(struct pg_conn *conn, const char *host, int64_t delay_ms)
{
	struct pg_params params = { 0 };
	pg_params_text(&params, host);
	pg_params_int(&params, delay_ms);
	return pg_conn_query(
		conn,
		"INSERT INTO destination_hosts (host, crawl_delay_ms, free_at, queue_until) "
		"SELECT $1, $2::bigint, free_at, free_at "
		"FROM (SELECT clock_timestamp() + $2::bigint * interval '1 ms' AS free_at) AS next "
		"ON CONFLICT (host) DO UPDATE SET crawl_delay_ms = EXCLUDED.crawl_delay_ms, "
		"robots_read_at = clock_timestamp(), free_at = EXCLUDED.free_at, "
		"queue_until = greatest(destination_hosts.queue_until, EXCLUDED.queue_until)",
		&params, NULL);
}

enum err host_store_delete_stale(struct pg_conn *conn, int64_t limit)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, limit);
	return pg_conn_query(
		conn,
		"DELETE FROM destination_hosts WHERE host IN (SELECT host FROM destination_hosts "
		"WHERE robots_read_at < clock_timestamp() - interval '2 days' "
		"AND free_at < clock_timestamp() LIMIT $1)",
		&params, NULL);
}
