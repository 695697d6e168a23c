/*
 * One thread at a time per lock. A lock between processes with a fencing token, in ShedLock's table
 * shedlock (name, lock_until, locked_at, locked_by, fence). The token rises at each acquisition and
 * extension, so a stale holder is rejected (fenced_lock_check). Other programs may use the table
 * through ShedLock, even for the same name. All times are the database's (clock_timestamp()) in
 * UTC, so the clocks and time zones of the holders do not matter.
 *
 *   err = fenced_lock_acquire(&lock, conn, 60000);
 *   ...
 *   err = pg_conn_begin(conn);
 *   err = fenced_lock_check(&lock, conn);    // each transaction that relies on the lock
 *
 * Acquire, extend and release are transactions of their own. In a transaction of the caller they
 * return ERR_INVALID: they would take effect only at its commit, and would block other processes
 * until then.
 */
#ifndef WAYMARK_LIB_POSTGRES_FENCED_LOCK_H
#define WAYMARK_LIB_POSTGRES_FENCED_LOCK_H

#include <stdint.h>

#include "lib/base/err.h"
#include "lib/postgres/pg_conn.h"

#define FENCED_LOCK_NAME_MAX 64
#define FENCED_LOCK_HOLDER_MAX 255

struct fenced_lock {
	char name[FENCED_LOCK_NAME_MAX + 1];
	char holder[FENCED_LOCK_HOLDER_MAX + 1];
	/* The fencing token; 0: not held. */
	int64_t fence;
};

/* holder must be unique per process start. ERR_INVALID: name or holder is empty or too long. */
enum err fenced_lock_init(struct fenced_lock *lock, const char *name,
                          const char *holder) MUST_CHECK;

/* OK: held for at_most_ms. ERR_CONFLICT: another holds it. ERR_INVALID also: at_most_ms <= 0. */
enum err fenced_lock_acquire(struct fenced_lock *lock, struct pg_conn *conn,
                             int64_t at_most_ms) MUST_CHECK;

/*
 * Holds the lock for at_most_ms from now under a new fencing token; older copies of lock become
 * stale. ERR_CONFLICT: the lock has expired or has another holder; nothing changes.
 */
enum err fenced_lock_extend(struct fenced_lock *lock, struct pg_conn *conn,
                            int64_t at_most_ms) MUST_CHECK;

/*
 * Releases the lock, but not before at_least_ms after it was acquired. OK without a change if it
 * has expired or has another holder.
 */
enum err fenced_lock_release(struct fenced_lock *lock, struct pg_conn *conn,
                             int64_t at_least_ms) MUST_CHECK;

/*
 * Checks in the caller's transaction that the lock is still held, and locks its row FOR SHARE until
 * the commit, so that no other holder can acquire it meanwhile. ERR_CONFLICT: it is not held any
 * more; roll back.
 */
enum err fenced_lock_check(const struct fenced_lock *lock, struct pg_conn *conn) MUST_CHECK;

/*
 * Whether the lock is still held, without locking its row. OK: no later holder has committed
 * anything that an earlier statement of the caller could have read. Errors as above.
 */
enum err fenced_lock_confirm(const struct fenced_lock *lock, struct pg_conn *conn) MUST_CHECK;

struct fenced_lock_state {
	/* Until it expires; zero or less: it has expired. */
	int64_t left_ms;
	/* Since it was acquired. */
	int64_t since_ms;
};

/* The state of the lock of that name, for any holder. ERR_NOT_FOUND: it was never acquired. */
enum err fenced_lock_query(const struct fenced_lock *lock, struct pg_conn *conn,
                           struct fenced_lock_state *out) MUST_CHECK;

#endif
