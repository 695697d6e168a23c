/*
 * One thread at a time per lock. A lock among processes on ShedLock's table (name, lock_until, locked_at, locked_by),
 * with a fence number that rises at each acquisition. Times are the database's (clock_timestamp()), so the holders'
 * clocks do not matter. Each statement is a transaction of its own unless it says otherwise. Table: shedlock.
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

/* ERR_INVALID: a name or holder that is empty or too long. holder should be unique per process start. */
enum err fenced_lock_init(struct fenced_lock *lock, const char *name, const char *holder) MUST_CHECK;

/* OK: held for at_most_ms. ERR_CONFLICT: somebody else holds it. */
enum err fenced_lock_acquire(struct fenced_lock *lock, struct pg_conn *conn, int64_t at_most_ms) MUST_CHECK;

/* Holds it for at_most_ms from now. ERR_CONFLICT: it has run out or been taken; nothing was changed. */
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

#endif
