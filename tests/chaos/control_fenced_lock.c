/*
 * Control: fenced_lock for a janitor that never checks its lock. The harness of test_janitors.py
 * must detect it.
 */
#define fenced_lock_check fenced_lock_check_row
#define fenced_lock_extend fenced_lock_extend_row
#include "lib/postgres/fenced_lock.c" // NOLINT(bugprone-suspicious-include)
#undef fenced_lock_check
#undef fenced_lock_extend

enum err fenced_lock_check(const struct fenced_lock *lock, struct pg_conn *conn);
enum err fenced_lock_extend(struct fenced_lock *lock, struct pg_conn *conn, int64_t at_most_ms);

enum err fenced_lock_check(const struct fenced_lock *lock, struct pg_conn *conn)
{
	enum err err = fenced_lock_check_row(lock, conn);
	return err == ERR_CONFLICT ? OK : err;
}

enum err fenced_lock_extend(struct fenced_lock *lock, struct pg_conn *conn, int64_t at_most_ms)
{
	enum err err = fenced_lock_extend_row(lock, conn, at_most_ms);
	return err == ERR_CONFLICT ? OK : err;
}
