#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "lib/base/mem.h"
#include "lib/postgres/fenced_lock.h"
#include "tests/integration/backend/backend_fixture.h"
#include "tests/support/test.h"

#define LONG_MS 60000
#define SHORT_MS 100

static struct fenced_lock new_lock(const struct backend_fixture *f, const char *holder)
{
	struct fenced_lock lock;
	assert_int_equal(fenced_lock_init(&lock, f->unique, holder), OK);
	return lock;
}

struct attempt {
	struct fenced_lock *lock;
	struct pg_conn *conn;
	int64_t at_most_ms;
};

static bool acquires(void *ctx)
{
	const struct attempt *a = ctx;
	enum err err = fenced_lock_acquire(a->lock, a->conn, a->at_most_ms);
	assert_true(err == OK || err == ERR_CONFLICT);
	return err == OK;
}

/* Waits until the lock has expired, and acquires it. */
static void acquire_when_expired(struct fenced_lock *lock, struct pg_conn *conn, int64_t at_most_ms)
{
	struct attempt a = { lock, conn, at_most_ms };
	backend_fixture_wait(acquires, &a, TEST_DEADLINE_MS);
}

TEST_CASE_WITH(has_one_holder_at_a_time, backend_fixture_set_up, backend_fixture_tear_down)
{
	struct pg_conn *conn = backend_fixture_pg(*state);
	struct fenced_lock a = new_lock(*state, "a");
	struct fenced_lock b = new_lock(*state, "b");
	assert_int_equal(fenced_lock_acquire(&a, conn, LONG_MS), OK);
	assert_int_equal(a.fence, 1);
	assert_int_equal(fenced_lock_acquire(&b, conn, LONG_MS), ERR_CONFLICT);
	assert_int_equal(b.fence, 0);
	/* The same holder name does not help, because it may belong to another process. */
	struct fenced_lock again = new_lock(*state, "a");
	assert_int_equal(fenced_lock_acquire(&again, conn, LONG_MS), ERR_CONFLICT);
	assert_int_equal(fenced_lock_release(&a, conn, 0), OK);
	assert_int_equal(a.fence, 0);
	assert_int_equal(fenced_lock_acquire(&b, conn, LONG_MS), OK);
	assert_int_equal(b.fence, 2);
	pg_conn_close(conn);
}

TEST_CASE_WITH(a_stale_holder_cannot_extend_or_release, backend_fixture_set_up,
               backend_fixture_tear_down)
{
	struct pg_conn *conn = backend_fixture_pg(*state);
	/* Same holder name: only the fencing token distinguishes them. */
	struct fenced_lock stale = new_lock(*state, "twin");
	struct fenced_lock owner = new_lock(*state, "twin");
	struct fenced_lock third = new_lock(*state, "third");
	assert_int_equal(fenced_lock_acquire(&stale, conn, SHORT_MS), OK);
	acquire_when_expired(&owner, conn, LONG_MS);
	assert_int_equal(fenced_lock_extend(&stale, conn, LONG_MS), ERR_CONFLICT);
	assert_int_equal(fenced_lock_release(&stale, conn, 0), OK);
	assert_int_equal(fenced_lock_acquire(&third, conn, LONG_MS), ERR_CONFLICT);
	assert_int_equal(fenced_lock_extend(&owner, conn, LONG_MS), OK);
	pg_conn_close(conn);
}

static bool has_expired(void *ctx)
{
	const struct attempt *a = ctx;
	struct pg_params p = { 0 };
	pg_params_text(&p, a->lock->name);
	return backend_fixture_query_int(
		       a->conn,
		       "SELECT (lock_until <= clock_timestamp())::int FROM shedlock WHERE name = $1",
		       &p) == 1;
}

TEST_CASE_WITH(is_never_held_longer_than_the_maximum, backend_fixture_set_up,
               backend_fixture_tear_down)
{
	struct pg_conn *conn = backend_fixture_pg(*state);
	struct fenced_lock a = new_lock(*state, "a");
	struct fenced_lock b = new_lock(*state, "b");
	assert_int_equal(fenced_lock_acquire(&a, conn, SHORT_MS), OK);
	assert_int_equal(fenced_lock_release(&a, conn, LONG_MS), OK);
	acquire_when_expired(&b, conn, LONG_MS);
	pg_conn_close(conn);
}

struct contender {
	struct fenced_lock *lock;
	struct pg_conn *conn;
	enum err err;
	_Atomic bool done;
};

static void *acquire_in_thread(void *arg)
{
	struct contender *t = arg;
	t->err = fenced_lock_acquire(t->lock, t->conn, LONG_MS);
	atomic_store(&t->done, true);
	return NULL;
}

static bool waits_for_a_lock(void *ctx)
{
	struct pg_params p = { 0 };
	pg_params_text(&p, "lock-contender");
	return backend_fixture_query_int(
		       ctx,
		       "SELECT count(*) FROM pg_stat_activity WHERE application_name = $1 "
		       "AND wait_event_type = 'Lock'",
		       &p) > 0;
}

TEST_CASE_WITH(blocks_contenders_until_the_checked_batch_commits, backend_fixture_set_up,
               backend_fixture_tear_down)
{
	const struct backend_fixture *f = *state;
	struct pg_conn *conn = backend_fixture_pg(f);
	struct pg_conn *observer = backend_fixture_pg(f);
	struct fenced_lock a = new_lock(f, "a");
	struct fenced_lock b = new_lock(f, "b");
	struct contender contender = { .lock = &b };
	assert_int_equal(
		pg_conn_open(f->pg_url, "lock-contender", 5000, 10000, f->log, &contender.conn),
		OK);
	assert_int_equal(fenced_lock_acquire(&a, conn, 2000), OK);
	assert_int_equal(pg_conn_begin(conn), OK);
	assert_int_equal(fenced_lock_check(&a, conn), OK);
	struct attempt attempt = { &a, observer, 0 };
	backend_fixture_wait(has_expired, &attempt, TEST_DEADLINE_MS);
	/* The lock has expired, but the batch runs: a contender waits for its commit. */
	pthread_t thread;
	assert_int_equal(pthread_create(&thread, NULL, acquire_in_thread, &contender), 0);
	backend_fixture_wait(waits_for_a_lock, observer, TEST_DEADLINE_MS);
	assert_false(atomic_load(&contender.done));
	assert_int_equal(pg_conn_commit(conn), OK);
	pthread_join(thread, NULL);
	assert_int_equal(contender.err, OK);
	assert_int_equal(b.fence, 2);
	pg_conn_close(contender.conn);
	pg_conn_close(observer);
	pg_conn_close(conn);
}

TEST_CASE_WITH(rejects_the_batch_of_a_stale_holder, backend_fixture_set_up,
               backend_fixture_tear_down)
{
	struct pg_conn *conn = backend_fixture_pg(*state);
	struct fenced_lock a = new_lock(*state, "a");
	struct fenced_lock b = new_lock(*state, "b");
	assert_int_equal(fenced_lock_acquire(&a, conn, SHORT_MS), OK);
	acquire_when_expired(&b, conn, LONG_MS);
	assert_int_equal(pg_conn_begin(conn), OK);
	assert_int_equal(fenced_lock_check(&a, conn), ERR_CONFLICT);
	pg_conn_rollback(conn);
	pg_conn_close(conn);
}

TEST_CASE_WITH(ignores_a_lock_that_was_never_held, backend_fixture_set_up,
               backend_fixture_tear_down)
{
	struct pg_conn *conn = backend_fixture_pg(*state);
	struct fenced_lock a = new_lock(*state, "a");
	/* A row as ShedLock writes it: without a fencing token. */
	struct pg_params p = { 0 };
	pg_params_text(&p, a.name);
	assert_int_equal(
		pg_conn_query(conn,
	                      "INSERT INTO shedlock (name, lock_until, locked_at, locked_by) "
	                      "VALUES ($1, now() + interval '1 hour', now(), 'java')",
	                      &p, NULL),
		OK);
	assert_int_equal(fenced_lock_extend(&a, conn, LONG_MS), ERR_CONFLICT);
	assert_int_equal(fenced_lock_check(&a, conn), ERR_CONFLICT);
	assert_int_equal(fenced_lock_release(&a, conn, 0), OK);
	assert_int_equal(fenced_lock_acquire(&a, conn, LONG_MS), ERR_CONFLICT);
	pg_conn_close(conn);
}

/* Acquires an expired lock as ShedLock's JDBC provider does, which ignores fencing tokens. */
TEST_CASE_WITH(is_lost_when_shedlock_acquires_it, backend_fixture_set_up, backend_fixture_tear_down)
{
	struct pg_conn *conn = backend_fixture_pg(*state);
	struct fenced_lock a = new_lock(*state, "a");
	struct attempt attempt = { &a, conn, 0 };
	struct pg_params p = { 0 };
	pg_params_text(&p, a.name);
	assert_int_equal(fenced_lock_acquire(&a, conn, SHORT_MS), OK);
	backend_fixture_wait(has_expired, &attempt, TEST_DEADLINE_MS);
	assert_int_equal(
		pg_conn_query(
			conn,
			"UPDATE shedlock SET lock_until = timezone('utc', CURRENT_TIMESTAMP) + "
			"interval '1 hour', locked_at = timezone('utc', CURRENT_TIMESTAMP), "
			"locked_by = 'java' WHERE name = $1",
			&p, NULL),
		OK);
	assert_int_equal(fenced_lock_check(&a, conn), ERR_CONFLICT);
	assert_int_equal(fenced_lock_extend(&a, conn, LONG_MS), ERR_CONFLICT);
	assert_int_equal(fenced_lock_release(&a, conn, 0), OK);
	assert_int_equal(
		backend_fixture_query_int(
			conn,
			"SELECT count(*) FROM shedlock WHERE name = $1 AND locked_by = 'java' AND "
			"lock_until > timezone('utc', clock_timestamp()) + interval '50 min'",
			&p),
		1);
	pg_conn_close(conn);
}

TEST_CASE_WITH(is_not_acquired_extended_or_released_inside_a_transaction, backend_fixture_set_up,
               backend_fixture_tear_down)
{
	struct pg_conn *conn = backend_fixture_pg(*state);
	struct pg_conn *other = backend_fixture_pg(*state);
	struct fenced_lock a = new_lock(*state, "a");
	struct fenced_lock b = new_lock(*state, "b");
	assert_int_equal(fenced_lock_acquire(&a, conn, LONG_MS), OK);
	assert_int_equal(pg_conn_begin(conn), OK);
	assert_int_equal(fenced_lock_acquire(&b, conn, LONG_MS), ERR_INVALID);
	assert_int_equal(fenced_lock_extend(&a, conn, LONG_MS), ERR_INVALID);
	assert_int_equal(fenced_lock_release(&a, conn, 0), ERR_INVALID);
	pg_conn_rollback(conn);
	assert_int_equal(fenced_lock_acquire(&b, other, LONG_MS), ERR_CONFLICT);
	assert_int_equal(fenced_lock_release(&a, conn, 0), OK);
	pg_conn_close(other);
	pg_conn_close(conn);
}

TEST_CASE_WITH(shows_its_state_to_any_process, backend_fixture_set_up, backend_fixture_tear_down)
{
	struct pg_conn *conn = backend_fixture_pg(*state);
	struct fenced_lock a = new_lock(*state, "a");
	struct fenced_lock b = new_lock(*state, "b");
	struct fenced_lock_state how;
	assert_int_equal(fenced_lock_query(&b, conn, &how), ERR_NOT_FOUND);
	assert_int_equal(fenced_lock_acquire(&a, conn, LONG_MS), OK);
	assert_int_equal(fenced_lock_query(&b, conn, &how), OK);
	assert_in_range(how.left_ms, LONG_MS / 2, LONG_MS);
	assert_in_range(how.since_ms, 0, TEST_DEADLINE_MS);
	assert_in_range(how.left_ms + how.since_ms, LONG_MS, LONG_MS + 2);
	/* Also while another transaction has locked the row. */
	struct pg_conn *other = backend_fixture_pg(*state);
	assert_int_equal(fenced_lock_release(&a, conn, 0), OK);
	assert_int_equal(pg_conn_begin(other), OK);
	struct pg_params p = { 0 };
	pg_params_text(&p, a.name);
	assert_int_equal(backend_fixture_query_int(
				 other, "SELECT 1 FROM shedlock WHERE name = $1 FOR UPDATE", &p),
	                 1);
	assert_int_equal(fenced_lock_query(&b, conn, &how), OK);
	assert_true(how.left_ms <= 0);
	pg_conn_close(other);
	pg_conn_close(conn);
}

TEST_CASE(rejects_names_that_are_too_long)
{
	struct fenced_lock lock;
	char name[FENCED_LOCK_NAME_MAX + 2];
	memset(name, 'n', sizeof(name));
	name[FENCED_LOCK_NAME_MAX + 1] = '\0';
	assert_int_equal(fenced_lock_init(&lock, name, "h"), ERR_INVALID);
	assert_int_equal(fenced_lock_init(&lock, name + 1, "h"), OK);
	assert_int_equal(fenced_lock_init(&lock, "", "h"), ERR_INVALID);
	assert_int_equal(fenced_lock_init(&lock, "n", ""), ERR_INVALID);
}

TEST_MAIN()
