#include "lib/postgres/fenced_lock.h"

/*
 * clock_timestamp(), because now() is the start of the transaction and the statement may have
 * waited for the row. UTC, as ShedLock writes it.
 */
#define NOW "timezone('utc', clock_timestamp())"
#define IN_MS(parameter) NOW " + " parameter "::bigint * interval '1 ms'"
/* Compares the holder too: a program that uses ShedLock leaves the fencing token unchanged. */
#define IS_HELD "name = $1 AND fence = $2 AND locked_by = $3 AND lock_until > " NOW

enum err fenced_lock_init(struct fenced_lock *lock, const char *name, const char *holder)
{
	size_t name_len = strlen(name);
	size_t holder_len = strlen(holder);
	if (name_len == 0 || name_len > FENCED_LOCK_NAME_MAX || holder_len == 0 ||
	    holder_len > FENCED_LOCK_HOLDER_MAX)
		return ERR_INVALID;
	*lock = (struct fenced_lock){ .fence = 0 };
	memcpy(lock->name, name, name_len + 1);
	memcpy(lock->holder, holder, holder_len + 1);
	return OK;
}

/* Runs a statement of one number. No row: ERR_CONFLICT. value may be NULL. */
static enum err run(struct pg_conn *conn, const char *sql, const struct pg_params *params,
                    int64_t *value)
{
	int64_t ignored;
	enum err err = pg_conn_query_int(conn, sql, params, value ? value : &ignored);
	return err == ERR_NOT_FOUND ? ERR_CONFLICT : err;
}

static void add_holder(struct pg_params *p, const struct fenced_lock *lock)
{
	pg_params_text(p, lock->name);
	pg_params_int(p, lock->fence);
	pg_params_text(p, lock->holder);
}

enum err fenced_lock_acquire(struct fenced_lock *lock, struct pg_conn *conn, int64_t at_most_ms)
{
	if (at_most_ms <= 0 || pg_conn_in_transaction(conn))
		return ERR_INVALID;
	struct pg_params p = { 0 };
	pg_params_text(&p, lock->name);
	pg_params_text(&p, lock->holder);
	pg_params_int(&p, at_most_ms);
	int64_t fence = 0;
	lock->fence = 0;
	enum err err = run(
		conn,
		"INSERT INTO shedlock AS s (name, lock_until, locked_at, locked_by, fence) "
		"VALUES ($1, " IN_MS("$3") ", " NOW ", $2, 1) ON CONFLICT (name) DO UPDATE SET "
					   "lock_until = " IN_MS(
						   "$3") ", locked_at = " NOW
							 ", locked_by = $2, fence = s.fence + 1 "
							 "WHERE s.lock_until <= " NOW
							 " RETURNING fence",
		&p, &fence);
	if (err == OK)
		lock->fence = fence;
	return err;
}

enum err fenced_lock_extend(struct fenced_lock *lock, struct pg_conn *conn, int64_t at_most_ms)
{
	if (at_most_ms <= 0 || pg_conn_in_transaction(conn))
		return ERR_INVALID;
	/* Rows that ShedLock wrote have token 0, so an unheld lock would match them. */
	if (lock->fence == 0)
		return ERR_CONFLICT;
	struct pg_params p = { 0 };
	add_holder(&p, lock);
	pg_params_int(&p, at_most_ms);
	int64_t fence = 0;
	enum err err = run(conn,
	                   "UPDATE shedlock SET lock_until = " IN_MS("$4") ", fence = fence + 1 "
	                                                                   "WHERE " IS_HELD
	                                                                   " RETURNING fence",
	                   &p, &fence);
	if (err == OK)
		lock->fence = fence;
	return err;
}

enum err fenced_lock_release(struct fenced_lock *lock, struct pg_conn *conn, int64_t at_least_ms)
{
	if (pg_conn_in_transaction(conn))
		return ERR_INVALID;
	if (lock->fence == 0)
		return OK;
	struct pg_params p = { 0 };
	add_holder(&p, lock);
	pg_params_int(&p, at_least_ms);
	enum err err = run(conn,
	                   "UPDATE shedlock SET lock_until = least(lock_until, "
	                   "greatest(" NOW ", locked_at + $4::bigint * interval '1 ms')) "
	                   "WHERE " IS_HELD " RETURNING fence",
	                   &p, NULL);
	if (err == OK || err == ERR_CONFLICT) {
		lock->fence = 0;
		return OK;
	}
	return err;
}

static enum err check(const struct fenced_lock *lock, struct pg_conn *conn, const char *sql)
{
	if (lock->fence == 0)
		return ERR_CONFLICT;
	struct pg_params p = { 0 };
	add_holder(&p, lock);
	return run(conn, sql, &p, NULL);
}

enum err fenced_lock_check(const struct fenced_lock *lock, struct pg_conn *conn)
{
	return check(lock, conn, "SELECT fence FROM shedlock WHERE " IS_HELD " FOR SHARE");
}

enum err fenced_lock_confirm(const struct fenced_lock *lock, struct pg_conn *conn)
{
	return check(lock, conn, "SELECT fence FROM shedlock WHERE " IS_HELD);
}

enum err fenced_lock_query(const struct fenced_lock *lock, struct pg_conn *conn,
                           struct fenced_lock_state *out)
{
	struct pg_params p = { 0 };
	pg_params_text(&p, lock->name);
	struct pg_result *rows = NULL;
	/* Rounded up, so a caller that waits this long does not return too early. */
	enum err err =
		pg_conn_query(conn,
	                      "SELECT ceil(extract(epoch FROM lock_until - now) * 1000)::bigint, "
	                      "ceil(extract(epoch FROM now - locked_at) * 1000)::bigint "
	                      "FROM shedlock, (SELECT " NOW ") AS clock (now) WHERE name = $1",
	                      &p, &rows);
	if (err == OK && pg_result_count(rows) == 0)
		err = ERR_NOT_FOUND;
	if (err == OK)
		*out = (struct fenced_lock_state){ pg_result_int(rows, 0, 0),
			                           pg_result_int(rows, 0, 1) };
	pg_result_free(rows);
	return err;
}
