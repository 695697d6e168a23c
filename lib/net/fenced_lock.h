/*
 * One thread at a time per lock. A lock among processes on ShedLock's table (name, lock_until, locked_at, locked_by),
 * with a fence number that rises at each acquisition and extension. Others may use the table through ShedLock, even for
 * the same name. Times are the database's (clock_timestamp()), in UTC, so neither the holders' clocks nor their time
 * zones matter. Table: shedlock.
 *
 * What takes, extends and lets go is a transaction of its own: inside the caller's it is ERR_INVALID, for it would
 * count only from the commit on, and hold everybody up until then.
 */
#ifndef WAYMARK_LIB_NET_FENCED_LOCK_H
#define WAYMARK_LIB_NET_FENCED_LOCK_H

#include <stdint.h>

#include "lib/base/err.h"
#include "lib/net/pg_conn.h"

#define FENCED_LOCK_NAME_MAX 64
#define FENCED_LOCK_HOLDER_MAX 255

struct fenced_lock {
	char name[FENCED_LOCK_NAME_MAX + 1];
	char holder[FENCED_LOCK_HOLDER_MAX + 1];
	int64_t fence; /* 0 = not held */
};

/* ERR_INVALID: a name or holder that is empty or too long. holder must be unique per process start. */
enum err fenced_lock_init(struct fenced_lock *lock, const char *name, const char *holder) MUST_CHECK;

/* OK: held for at_most_ms, which is more than 0 (or ERR_INVALID). ERR_CONFLICT: somebody else holds it. */
enum err fenced_lock_acquire(struct fenced_lock *lock, struct pg_conn *conn, int64_t at_most_ms) MUST_CHECK;

/*
 * Holds it for at_most_ms from now, under a new fence: a copy of the lock from before is worth nothing any more.
 * ERR_CONFLICT: it has run out or been taken; nothing was changed.
 */
enum err fenced_lock_extend(struct fenced_lock *lock, struct pg_conn *conn, int64_t at_most_ms) MUST_CHECK;

/*
 * Lets it go, but not before at_least_ms after it was acquired. OK without changing anything if it has run out or been
 * taken.
 */
enum err fenced_lock_release(struct fenced_lock *lock, struct pg_conn *conn, int64_t at_least_ms) MUST_CHECK;

/*
 * Inside the caller's transaction: holds the lock's row FOR SHARE until the commit if it is still ours and has not run
 * out, so that nobody can take it meanwhile. ERR_CONFLICT: it is not: roll back.
 */
enum err fenced_lock_check(const struct fenced_lock *lock, struct pg_conn *conn) MUST_CHECK;

struct fenced_lock_state {
	int64_t left_ms;  /* until it runs out; not positive when it has */
	int64_t since_ms; /* since it was taken */
};

/* How the lock of that name stands, whoever has it; holds nobody up. ERR_NOT_FOUND: it was never taken. */
enum err fenced_lock_look(const struct fenced_lock *lock, struct pg_conn *conn,
                          struct fenced_lock_state *out) MUST_CHECK;

#endif
