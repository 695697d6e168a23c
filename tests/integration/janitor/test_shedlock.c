#include <stdint.h>
#include <stdio.h>

#include "services/janitor/schedule.h"
#include "tests/integration/janitor/janitor_fixture.h"
#include "tests/integration/janitor/lock_contention.h"
#include "tests/support/clock_fake.h"
#include "tests/support/test.h"

/*
 * The cases of ShedLock's own test suite, applied to our lock. Each case is one test, with
 * ShedLock's name in our spelling. Where ShedLock throws an exception, our lock returns ERR_INVALID
 * or ERR_CONFLICT.
 */

#define LONG_MS 300000
#define SHORT_MS 50
#define OTHER_NAME "another name"

static enum err acquire(struct janitor_fixture *f, struct fenced_lock *lock, const char *name,
                        int64_t at_most_ms)
{
	assert_int_equal(fenced_lock_init(lock, name, "the same name on each host"), OK);
	return fenced_lock_acquire(lock, f->conn, at_most_ms);
}

static struct fenced_lock held(struct janitor_fixture *f, int64_t at_most_ms)
{
	struct fenced_lock lock;
	assert_int_equal(acquire(f, &lock, "shed", at_most_ms), OK);
	return lock;
}

static void release(struct janitor_fixture *f, struct fenced_lock *lock)
{
	assert_int_equal(fenced_lock_release(lock, f->conn, 0), OK);
}

static bool is_free(struct janitor_fixture *f)
{
	return test_database_ask(f->db, "SELECT count(*) FROM shedlock WHERE name = 'shed' AND "
	                                "lock_until > timezone('utc', clock_timestamp())") == 0;
}

static void await_free(struct janitor_fixture *f)
{
	test_database_await(f->db,
	                    "SELECT count(*) FROM shedlock WHERE name = 'shed' AND "
	                    "lock_until <= timezone('utc', clock_timestamp())",
	                    1, TEST_DEADLINE_MS);
}

static void assert_taken(struct janitor_fixture *f)
{
	struct fenced_lock other;
	assert_int_equal(acquire(f, &other, "shed", LONG_MS), ERR_CONFLICT);
	assert_false(is_free(f));
}

/* --- AbstractLockProviderIntegrationTest --- */

TEST_CASE(should_create_lock)
{
	struct janitor_fixture *f = *state;
	struct fenced_lock lock = held(f, LONG_MS);
	assert_false(is_free(f));
	release(f, &lock);
	assert_true(is_free(f));
}

TEST_CASE(should_not_return_second_lock)
{
	struct janitor_fixture *f = *state;
	held(f, LONG_MS);
	assert_taken(f);
}

TEST_CASE(should_create_two_independent_locks)
{
	struct janitor_fixture *f = *state;
	struct fenced_lock one = held(f, LONG_MS), two;
	assert_int_equal(acquire(f, &two, OTHER_NAME, LONG_MS), OK);
	release(f, &one);
	assert_int_equal(acquire(f, &one, OTHER_NAME, LONG_MS), ERR_CONFLICT);
	release(f, &two);
}

TEST_CASE(should_lock_twice_in_a_row)
{
	struct janitor_fixture *f = *state;
	struct fenced_lock lock = held(f, LONG_MS);
	release(f, &lock);
	lock = held(f, LONG_MS);
	release(f, &lock);
}

TEST_CASE(should_timeout)
{
	struct janitor_fixture *f = *state;
	held(f, SHORT_MS);
	await_free(f);
	held(f, LONG_MS);
}

TEST_CASE(should_be_able_to_lock_right_after_unlock)
{
	struct janitor_fixture *f = *state;
	for (int i = 0; i < 10; i++) {
		struct fenced_lock lock = held(f, LONG_MS);
		assert_taken(f);
		release(f, &lock);
	}
}

TEST_CASE(fuzz_test_should_pass)
{
	lock_contention_run(*state, LOCK_CONTENTION_PLAIN);
}

TEST_CASE(should_lock_at_least_for)
{
	struct janitor_fixture *f = *state;
	int64_t started_us = clock_steady_us(clock_system());
	struct fenced_lock lock = held(f, LONG_MS);
	assert_int_equal(fenced_lock_release(&lock, f->conn, 2000), OK);
	assert_taken(f);
	await_free(f);
	assert_true(clock_steady_us(clock_system()) - started_us >= 1990 * CLOCK_US_PER_MS);
	held(f, LONG_MS);
}

/* --- AbstractExtensibleLockProviderIntegrationTest --- */

TEST_CASE(should_be_able_to_extend_lock)
{
	struct janitor_fixture *f = *state;
	struct fenced_lock lock = held(f, 3000);
	test_database_run(
		f->db,
		"CREATE TABLE before AS SELECT lock_until FROM shedlock WHERE name = 'shed'");
	assert_int_equal(fenced_lock_extend(&lock, f->conn, LONG_MS), OK);
	test_database_await(
		f->db,
		"SELECT count(*) FROM before WHERE lock_until < timezone('utc', clock_timestamp())",
		1, TEST_DEADLINE_MS);
	assert_taken(f);
	release(f, &lock);
	assert_true(is_free(f));
}

TEST_CASE(should_not_be_able_to_extend_unlocked_lock)
{
	struct janitor_fixture *f = *state;
	struct fenced_lock lock = held(f, LONG_MS), copy = lock;
	release(f, &lock);
	assert_int_equal(fenced_lock_extend(&lock, f->conn, LONG_MS), ERR_CONFLICT);
	assert_int_equal(fenced_lock_extend(&copy, f->conn, LONG_MS), ERR_CONFLICT);
	assert_true(is_free(f));
}

TEST_CASE(should_not_be_able_to_extend_expired_lock)
{
	struct janitor_fixture *f = *state;
	struct fenced_lock lock = held(f, 1);
	await_free(f);
	assert_int_equal(fenced_lock_extend(&lock, f->conn, LONG_MS), ERR_CONFLICT);
	assert_true(is_free(f));
}

TEST_CASE(should_be_able_to_extend_at_least)
{
	struct janitor_fixture *f = *state;
	struct fenced_lock lock = held(f, 10000);
	assert_int_equal(fenced_lock_extend(&lock, f->conn, 10000), OK);
	assert_int_equal(fenced_lock_release(&lock, f->conn, 9000), OK);
	assert_taken(f);
}

TEST_CASE(lock_can_not_be_extended_twice)
{
	struct janitor_fixture *f = *state;
	struct fenced_lock lock = held(f, LONG_MS), before = lock;
	assert_int_equal(fenced_lock_extend(&lock, f->conn, LONG_MS), OK);
	assert_int_equal(fenced_lock_extend(&before, f->conn, LONG_MS), ERR_CONFLICT);
	assert_int_equal(fenced_lock_extend(&lock, f->conn, LONG_MS), OK);
}

TEST_CASE(lock_can_not_be_unlocked_after_extending)
{
	struct janitor_fixture *f = *state;
	struct fenced_lock lock = held(f, LONG_MS), before = lock;
	assert_int_equal(fenced_lock_extend(&lock, f->conn, LONG_MS), OK);
	release(f, &before);
	assert_taken(f);
	release(f, &lock);
	assert_true(is_free(f));
}

/* --- AbstractStorageBasedLockProviderIntegrationTest --- */

/* A new process has no memory of the row and uses it as it is. */
TEST_CASE(lock_should_survive_cache_clearing_in_the_middle)
{
	struct janitor_fixture *f = *state;
	struct fenced_lock lock = held(f, LONG_MS);
	pg_conn_close(f->conn);
	f->conn = test_database_connect(f->db, "waymark_janitor");
	assert_taken(f);
	release(f, &lock);
	assert_true(is_free(f));
}

/* --- AbstractJdbcLockProviderIntegrationTest --- */

TEST_CASE(should_create_lock_if_record_already_exists)
{
	struct janitor_fixture *f = *state;
	test_database_run(
		f->db,
		"INSERT INTO shedlock (name, lock_until, locked_at, locked_by) "
		"SELECT 'shed', ago, ago, 'me' FROM "
		"(SELECT timezone('utc', clock_timestamp()) - interval '1 day') AS day (ago)");
	assert_true(is_free(f));
	struct fenced_lock lock = held(f, LONG_MS);
	assert_taken(f);
	release(f, &lock);
	assert_true(is_free(f));
}

TEST_CASE(fuzz_test_should_work_with_transaction)
{
	lock_contention_run(*state, LOCK_CONTENTION_IN_A_TRANSACTION);
}

TEST_CASE(should_not_fail_if_key_name_too_long)
{
	struct janitor_fixture *f = *state;
	struct fenced_lock lock;
	char name[FENCED_LOCK_NAME_MAX + 2];
	memset(name, 'n', sizeof(name) - 1);
	name[FENCED_LOCK_NAME_MAX + 1] = '\0';
	assert_int_equal(fenced_lock_init(&lock, name, "me"), ERR_INVALID);
	assert_int_equal(acquire(f, &lock, name + 1, LONG_MS), OK);
	assert_int_equal(acquire(f, &lock, name + 1, LONG_MS), ERR_CONFLICT);
}

/* --- AbstractJdbcTemplateStorageAccessorTest, with the database's clock --- */

TEST_CASE(should_not_update_on_insert_if_previous_did_not_end)
{
	struct janitor_fixture *f = *state;
	held(f, 10000);
	test_database_run(f->db, "CREATE TABLE before AS SELECT * FROM shedlock");
	assert_taken(f);
	assert_int_equal(
		test_database_ask(f->db,
	                          "SELECT count(*) FROM (TABLE before EXCEPT TABLE shedlock) AS d"),
		0);
}

TEST_CASE(should_not_update_other_lock_configurations)
{
	struct janitor_fixture *f = *state;
	struct fenced_lock other;
	held(f, 10);
	assert_int_equal(acquire(f, &other, OTHER_NAME, 10), OK);
	test_database_run(f->db, "CREATE TABLE before AS SELECT * FROM shedlock");
	await_free(f);
	held(f, LONG_MS);
	assert_int_equal(test_database_ask(f->db,
	                                   "SELECT count(*) FROM shedlock JOIN before USING (name) "
	                                   "WHERE shedlock.lock_until > before.lock_until"),
	                 1);
	assert_int_equal(
		test_database_ask(f->db,
	                          "SELECT count(*) FROM (TABLE before EXCEPT TABLE shedlock) AS d "
	                          "WHERE name <> 'shed'"),
		0);
}

/* --- KeepAliveLockProviderTest: a run of the janitor keeps its lock alive --- */

static enum err no_work(const struct run *run, int64_t *changed)
{
	(void)run;
	*changed = 0;
	return OK;
}

static void batch_after(struct janitor_fixture *f, struct run *run, int64_t ms, enum err wanted)
{
	int64_t changed = 0;
	clock_fake_advance(&f->clock, ms * CLOCK_US_PER_MS);
	assert_int_equal(run_batch(run, no_work, &changed), wanted);
}

static struct run started(struct janitor_fixture *f, struct fenced_lock *lock)
{
	assert_int_equal(fenced_lock_init(lock, "shed", "me"), OK);
	struct run run = janitor_fixture_new_run(f, f->conn, lock, 60000);
	assert_int_equal(run_start(&run), OK);
	return run;
}

TEST_CASE(should_schedule_keep_alive_task)
{
	struct janitor_fixture *f = *state;
	struct fenced_lock lock;
	struct run run = started(f, &lock);
	batch_after(f, &run, 29999, OK);
	assert_int_equal(lock.fence, 1);
	batch_after(f, &run, 1, OK);
	assert_int_equal(lock.fence, 2);
	run_end(&run, true);
	assert_true(is_free(f));
	batch_after(f, &run, 100000, ERR_CONFLICT);
	assert_true(is_free(f));
}

TEST_CASE(should_extend_multiple_times)
{
	struct janitor_fixture *f = *state;
	struct fenced_lock lock;
	struct run run = started(f, &lock);
	for (int times = 1; times <= 3; times++) {
		batch_after(f, &run, 30000, OK);
		assert_int_equal(lock.fence, 1 + times);
	}
	run_end(&run, true);
	assert_true(is_free(f));
}

TEST_CASE(should_cancel_if_can_not_extend)
{
	struct janitor_fixture *f = *state;
	struct fenced_lock lock;
	struct run run = started(f, &lock);
	test_database_run(f->db, "UPDATE shedlock SET lock_until = locked_at WHERE name = 'shed'");
	batch_after(f, &run, 30000, ERR_CONFLICT);
	struct fenced_lock other = held(f, LONG_MS);
	batch_after(f, &run, 30000, ERR_CONFLICT);
	run_end(&run, true);
	assert_taken(f);
	assert_int_equal(other.fence, 2);
}

TEST_CASE(should_fail_for_short_lock_at_most_for)
{
	struct janitor_fixture *f = *state;
	struct run run = janitor_fixture_new_run(f, f->conn, &f->lock, RUN_AT_MOST_MS_MIN - 1);
	assert_int_equal(run_start(&run), ERR_INVALID);
}

/* --- KeepAliveLockProviderFuzzTest --- */

TEST_CASE(keep_alive_fuzz_test_should_pass)
{
	lock_contention_run(*state, LOCK_CONTENTION_KEPT_ALIVE);
}

/* --- LockConfigurationTest --- */

TEST_CASE(lock_at_least_until_should_be_before_or_equal_to_lock_at_most_until)
{
	struct janitor_fixture *f = *state;
	struct run run = janitor_fixture_new_run(f, f->conn, &f->lock, 5000);
	run.at_least_ms = 5001;
	assert_int_equal(run_start(&run), ERR_INVALID);
	assert_int_equal(fenced_lock_release(&f->lock, f->conn, 0), OK);
	run.at_least_ms = 5000;
	assert_int_equal(run_start(&run), OK);
}

TEST_CASE(lock_at_most_until_has_to_be_in_the_future)
{
	struct janitor_fixture *f = *state;
	struct fenced_lock lock;
	assert_int_equal(acquire(f, &lock, "shed", -1000), ERR_INVALID);
	assert_int_equal(acquire(f, &lock, "shed", 0), ERR_INVALID);
	lock = held(f, LONG_MS);
	assert_int_equal(fenced_lock_extend(&lock, f->conn, -1000), ERR_INVALID);
	assert_taken(f);
}

TEST_CASE(name_should_not_be_empty)
{
	struct fenced_lock lock;
	assert_int_equal(fenced_lock_init(&lock, "", "me"), ERR_INVALID);
}

/* --- PostgresJdbcTemplateLockProviderIntegrationTest --- */

/* The row holds UTC, whatever the time zones of the sessions that read, write or compare it. */
TEST_CASE(should_honor_timezone)
{
	struct janitor_fixture *f = *state;
	test_database_run(f->db, "SET timezone TO 'America/Los_Angeles'");
	assert_int_equal(pg_conn_query(f->conn, "SET timezone TO 'Asia/Kolkata'", NULL, NULL), OK);
	held(f, LONG_MS);
	assert_taken(f);
	/* ShedLock writes and compares it like this (usingDbTime). */
	assert_int_equal(test_database_ask(f->db,
	                                   "SELECT count(*) FROM shedlock WHERE name = 'shed' AND "
	                                   "lock_until <= timezone('utc', CURRENT_TIMESTAMP)"),
	                 0);
	assert_in_range(test_database_ask(f->db, "SELECT extract(epoch FROM lock_until - "
	                                         "timezone('utc', CURRENT_TIMESTAMP))::int "
	                                         "FROM shedlock WHERE name = 'shed'"),
	                LONG_MS / 1000 - 30, LONG_MS / 1000);
}

/* --- cases that ShedLock's JDBC provider fails: its unlock and extend compare only the holder ---
 */

TEST_CASE(unlocking_after_expiry_should_change_nothing)
{
	struct janitor_fixture *f = *state;
	struct fenced_lock stale = held(f, SHORT_MS), copy = stale;
	await_free(f);
	test_database_run(f->db, "CREATE TABLE before AS SELECT * FROM shedlock");
	release(f, &stale);
	assert_int_equal(
		test_database_ask(f->db,
	                          "SELECT count(*) FROM (TABLE before EXCEPT TABLE shedlock) AS d"),
		0);
	held(f, LONG_MS);
	release(f, &copy);
	assert_taken(f);
}

TEST_CASE(extending_after_expiry_should_fail)
{
	struct janitor_fixture *f = *state;
	struct fenced_lock stale = held(f, SHORT_MS);
	await_free(f);
	held(f, 10000);
	test_database_run(f->db, "CREATE TABLE before AS SELECT * FROM shedlock");
	assert_int_equal(fenced_lock_extend(&stale, f->conn, LONG_MS), ERR_CONFLICT);
	assert_int_equal(
		test_database_ask(f->db,
	                          "SELECT count(*) FROM (TABLE before EXCEPT TABLE shedlock) AS d"),
		0);
}

/* All tests share one database, because creating one per test would take most of the time. */
static int reset(void **state)
{
	struct janitor_fixture *f = *state;
	test_database_run(f->db, "TRUNCATE shedlock");
	test_database_run(f->db, "DROP TABLE IF EXISTS before");
	test_database_run(f->db, "SET timezone TO 'UTC'");
	return pg_conn_query(f->conn, "SET timezone TO 'UTC'", NULL, NULL) == OK ? 0 : -1;
}

TEST_MAIN(.group_set_up = janitor_fixture_set_up, .group_tear_down = janitor_fixture_tear_down,
          .set_up = reset)
