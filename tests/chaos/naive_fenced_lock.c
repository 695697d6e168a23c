/*
 * A janitor that believes to have its lock as long as it works: the linker puts these in the place of fenced_lock_check and
 * fenced_lock_extend (--wrap). The rig of test_janitors.py must find it out.
 */
#include "lib/net/fenced_lock.h"

enum err __wrap_fenced_lock_check(const struct fenced_lock *lock, struct pg_conn *conn);
enum err __wrap_fenced_lock_extend(struct fenced_lock *lock, struct pg_conn *conn, int64_t at_most_ms);

enum err __wrap_fenced_lock_check(const struct fenced_lock *lock, struct pg_conn *conn)
{
	(void)lock;
	(void)conn;
	return OK;
}

enum err __wrap_fenced_lock_extend(struct fenced_lock *lock, struct pg_conn *conn, int64_t at_most_ms)
{
	(void)lock;
	(void)conn;
	(void)at_most_ms;
	return OK;
}
