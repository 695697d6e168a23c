#include "services/links-api/health/health_store.h"

#include <stdio.h>

#include "lib/clicks/statistics_store.h"

static enum err read_halted(struct pg_conn *conn, struct health_backlog *out)
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	pg_params_int(&params, HEALTH_STORE_HALTED_MAX);
	enum err err = pg_conn_query(
		conn,
		"SELECT topic, partition, halted_at, left(coalesce(halt_reason, ''), 60) "
		"FROM consumer_offsets WHERE halted_at IS NOT NULL ORDER BY topic, partition LIMIT $1",
		&params, &rows);
	out->halted_count = err == OK ? pg_result_count(rows) : 0;
	for (size_t i = 0; i < out->halted_count; i++) {
		struct health_partition *halted = &out->halted[i];
		snprintf(halted->topic, sizeof(halted->topic), "%s", pg_result_text(rows, i, 0));
		halted->partition = pg_result_int(rows, i, 1);
		halted->halted_at_us = pg_result_time(rows, i, 2);
		snprintf(halted->reason, sizeof(halted->reason), "%s", pg_result_text(rows, i, 3));
	}
	pg_result_free(rows);
	return err;
}

/* Times of the table are UTC without a zone. */
static enum err read_locks(struct pg_conn *conn, struct health_backlog *out)
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	pg_params_int(&params, HEALTH_STORE_LOCKS_MAX);
	enum err err = pg_conn_query(
		conn,
		"SELECT name, locked_by, locked_at AT TIME ZONE 'UTC', lock_until AT TIME ZONE 'UTC' "
		"FROM shedlock WHERE name LIKE 'waymark%' ORDER BY name LIMIT $1",
		&params, &rows);
	out->lock_count = err == OK ? pg_result_count(rows) : 0;
	for (size_t i = 0; i < out->lock_count; i++) {
		struct health_lock *lock = &out->locks[i];
		snprintf(lock->name, sizeof(lock->name), "%s", pg_result_text(rows, i, 0));
		snprintf(lock->holder, sizeof(lock->holder), "%s", pg_result_text(rows, i, 1));
		lock->locked_at_us = pg_result_time(rows, i, 2);
		lock->locked_until_us = pg_result_time(rows, i, 3);
	}
	pg_result_free(rows);
	return err;
}

static int64_t time_or_zero(const struct pg_result *rows, int column)
{
	return pg_result_is_null(rows, 0, column) ? 0 : pg_result_time(rows, 0, column);
}

/* Every count has a bound, and every minimum an index or the rows of such a count. */
static enum err read_backlog(struct pg_conn *conn, struct health_backlog *out)
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	pg_params_int(&params, HEALTH_STORE_COUNTED_MAX);
	enum err err = pg_conn_query(
		conn,
		"SELECT clock_timestamp(), (SELECT count(*) FROM consumer_offsets), "
		"deltas.n, deltas.oldest, "
		"(SELECT count(*) FROM (SELECT FROM links WHERE state = 'ACTIVE' "
		"AND expires_at < clock_timestamp() LIMIT $1) AS expired), "
		"(SELECT count(*) FROM (SELECT FROM links WHERE state IN ('EXPIRED', 'DELETED') "
		"LIMIT $1) AS ended), "
		"least((SELECT min(state_since) FROM links WHERE state = 'EXPIRED'), "
		"(SELECT min(state_since) FROM links WHERE state = 'DELETED')), "
		"(SELECT max(version) FROM schema_migrations) "
		"FROM (SELECT count(*) AS n, min(hour) AS oldest "
		"FROM (SELECT hour FROM rollup_delta LIMIT $1) AS first) AS deltas",
		&params, &rows);
	if (err == OK) {
		out->now_us = pg_result_time(rows, 0, 0);
		out->partitions = pg_result_int(rows, 0, 1);
		out->deltas = pg_result_int(rows, 0, 2);
		out->oldest_delta_hour_us = time_or_zero(rows, 3);
		out->overdue_expiries = pg_result_int(rows, 0, 4);
		out->to_purge = pg_result_int(rows, 0, 5);
		out->oldest_to_purge_us = time_or_zero(rows, 6);
		out->schema_version = pg_result_int(rows, 0, 7);
	}
	pg_result_free(rows);
	return err;
}

enum err health_store_read(struct pg_conn *conn, struct health_backlog *out)
{
	enum err err = statistics_store_as_of(conn, &out->as_of_us);
	if (err == OK)
		err = read_backlog(conn, out);
	if (err == OK)
		err = outbox_lag(conn, &out->outbox);
	if (err == OK)
		err = read_halted(conn, out);
	return err == OK ? read_locks(conn, out) : err;
}
