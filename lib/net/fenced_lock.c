#include "lib/net/fenced_lock.h"

enum err fenced_lock_init(struct fenced_lock *lock, const char *name, const char *holder)
{
	size_t name_len = strlen(name);
	size_t holder_len = strlen(holder);
	if (name_len == 0 || name_len > FENCED_LOCK_NAME_MAX || holder_len == 0 || holder_len > FENCED_LOCK_HOLDER_MAX)
		return ERR_INVALID;
	*lock = (struct fenced_lock){ .fence = 0 };
	memcpy(lock->name, name, name_len + 1);
	memcpy(lock->holder, holder, holder_len + 1);
	return OK;
}

/* Runs a statement that gives the lock's row if it is ours. No row: ERR_CONFLICT. */
static enum err run(struct pg_conn *conn, const char *sql, const struct pg_params *params, int64_t *value)
{
	struct pg_result *rows = NULL;
	enum err err = pg_conn_query(conn, sql, params, &rows);
	if (err == OK && pg_result_count(rows) != 1)
		err = ERR_CONFLICT;
	if (err == OK && value)
		*value = pg_result_int(rows, 0, 0);
	pg_result_free(rows);
	return err;
}

enum err fenced_lock_acquire(struct fenced_lock *lock, struct pg_conn *conn, int64_t at_most_ms)
{
	struct pg_params p = { 0 };
	pg_params_text(&p, lock->name);
	pg_params_text(&p, lock->holder);
	pg_params_int(&p, at_most_ms);
	int64_t fence = 0;
	lock->fence = 0;
	/* clock_timestamp() and not now(): the statement may have waited for a row lock. */
	enum err err = run(conn,
	                   "INSERT INTO shedlock AS s (name, lock_until, locked_at, locked_by, fence) "
	                   "VALUES ($1, clock_timestamp() + $3::bigint * interval '1 ms', clock_timestamp(), $2, 1) "
	                   "ON CONFLICT (name) DO UPDATE SET "
	                   "lock_until = clock_timestamp() + $3::bigint * interval '1 ms', "
	                   "locked_at = clock_timestamp(), locked_by = $2, fence = s.fence + 1 "
	                   "WHERE s.lock_until <= clock_timestamp() RETURNING fence",
	                   &p, &fence);
	if (err == OK)
		lock->fence = fence;
	return err;
}

/* Rows of other users of ShedLock have fence 0: without a fence of our own nothing may be asked. */
enum err fenced_lock_extend(struct fenced_lock *lock, struct pg_conn *conn, int64_t at_most_ms)
{
	if (lock->fence == 0)
		return ERR_CONFLICT;
	struct pg_params p = { 0 };
	pg_params_text(&p, lock->name);
	pg_params_int(&p, lock->fence);
	pg_params_int(&p, at_most_ms);
	return run(conn,
	           "UPDATE shedlock SET lock_until = clock_timestamp() + $3::bigint * interval '1 ms' "
	           "WHERE name = $1 AND fence = $2 AND lock_until > clock_timestamp() RETURNING fence",
	           &p, NULL);
}

enum err fenced_lock_release(struct fenced_lock *lock, struct pg_conn *conn, int64_t at_least_ms)
{
	if (lock->fence == 0)
		return OK;
	struct pg_params p = { 0 };
	pg_params_text(&p, lock->name);
	pg_params_int(&p, lock->fence);
	pg_params_int(&p, at_least_ms);
	/* By the fence and not by the holder, whose name may come again. */
	enum err err = run(conn,
	                   "UPDATE shedlock SET lock_until = least(lock_until, "
	                   "greatest(clock_timestamp(), locked_at + $3::bigint * interval '1 ms')) "
	                   "WHERE name = $1 AND fence = $2 AND lock_until > clock_timestamp() RETURNING fence",
	                   &p, NULL);
	if (err == OK || err == ERR_CONFLICT) {
		lock->fence = 0;
		return OK;
	}
	return err;
}

enum err fenced_lock_check(const struct fenced_lock *lock, struct pg_conn *conn)
{
	if (lock->fence == 0)
		return ERR_CONFLICT;
	struct pg_params p = { 0 };
	pg_params_text(&p, lock->name);
	pg_params_int(&p, lock->fence);
	return run(
		conn,
		"SELECT fence FROM shedlock WHERE name = $1 AND fence = $2 AND lock_until > clock_timestamp() FOR SHARE",
		&p, NULL);
}
