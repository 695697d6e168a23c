#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "services/janitor/links/links.h"
#include "services/janitor/retention/days.h"
#include "tests/integration/janitor/janitor_fixture.h"
#include "tests/support/clock_fake.h"
#include "tests/support/test.h"

/* The lock expires and another janitor acquires it, while the first holder was frozen. */
TEST_CASE(changes_nothing_after_another_janitor_acquired_the_lock)
{
	struct janitor_fixture *f = *state;
	janitor_fixture_add_links(
		f, "'ACTIVE', clock_timestamp(), clock_timestamp() - interval '1 s'");
	test_database_run(f->db, "UPDATE shedlock SET lock_until = clock_timestamp()");
	struct fenced_lock other;
	struct pg_conn *conn = test_database_connect(f->db, "waymark_janitor");
	/* Both holders have the same name: only the fencing token differs. */
	assert_int_equal(fenced_lock_init(&other, "test", "this"), OK);
	struct run fresh = janitor_fixture_new_run(f, conn, &other, 60000);
	assert_int_equal(run_start(&fresh), OK);

	int64_t changed = 0;
	assert_int_equal(links_expire(&f->run, &changed), ERR_CONFLICT);
	assert_int_equal(days_make_salts(&f->run, &changed), ERR_CONFLICT);
	assert_int_equal(days_make_partitions(&f->run, &changed), ERR_CONFLICT);
	assert_int_equal(fenced_lock_release(&f->lock, f->conn, 0), OK);
	assert_int_equal(changed, 0);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM outbox"), 0);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM visitor_salts"), 0);
	assert_int_equal(test_database_ask(f->db, janitor_fixture_count_partitions), 0);

	assert_int_equal(links_expire(&fresh, &changed), OK);
	assert_int_equal(changed, 2500);
	pg_conn_close(conn);
}

TEST_CASE(changes_nothing_after_the_lock_expired)
{
	struct janitor_fixture *f = *state;
	int64_t changed = 0;
	test_database_run(f->db, "UPDATE shedlock SET lock_until = clock_timestamp()");
	assert_int_equal(days_make_salts(&f->run, &changed), ERR_CONFLICT);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM visitor_salts"), 0);
}

/* The standby that became the primary has a clock that is an hour behind. */
TEST_CASE(a_new_epoch_ends_the_locks_and_waits_of_a_server_whose_clock_was_ahead)
{
	struct janitor_fixture *f = *state;
	int64_t changed = 0;
	struct fenced_lock lock;
	test_database_run(
		f->db,
		"UPDATE shedlock SET lock_until = lock_until + interval '1 h', locked_at = locked_at + interval '1 h'");
	test_database_run(
		f->db,
		"INSERT INTO destination_hosts (host, crawl_delay_ms, free_at, queue_until) "
		"SELECT 'a.example', 10000, t, t FROM (SELECT clock_timestamp() + interval '1 h' AS t) AS later");
	assert_int_equal(fenced_lock_init(&lock, "test", "another"), OK);
	struct run other = janitor_fixture_new_run(f, f->conn, &lock, 60000);
	assert_int_equal(run_start(&other), ERR_CONFLICT);
	test_database_run(f->db, "UPDATE database_epoch SET timeline = timeline - 1");
	assert_int_equal(test_database_ask(f->db, "SELECT (database_epoch_adopt()).epoch"), 2);
	assert_int_equal(days_make_salts(&f->run, &changed), ERR_CONFLICT);
	assert_int_equal(run_start(&other), OK);
	assert_int_equal(days_make_salts(&other, &changed), OK);
	assert_int_equal(
		test_database_ask(f->db,
	                          "SELECT count(*) FROM destination_hosts WHERE greatest(free_at, "
	                          "queue_until) <= clock_timestamp() + interval '10 s'"),
		1);
}

static const char lock_is_long[] =
	"SELECT CASE WHEN lock_until > clock_timestamp() + interval '50 s' THEN 1 ELSE 0 END FROM shedlock";

TEST_CASE(extends_the_lock_when_half_of_its_time_is_over)
{
	struct janitor_fixture *f = *state;
	int64_t changed = 0;
	test_database_run(f->db,
	                  "UPDATE shedlock SET lock_until = clock_timestamp() + interval '10 s'");
	assert_int_equal(days_make_salts(&f->run, &changed), OK);
	assert_int_equal(test_database_ask(f->db, lock_is_long), 0);
	clock_fake_advance(&f->clock, JANITOR_FIXTURE_LOCK_MS / 2 * CLOCK_US_PER_MS);
	assert_int_equal(days_make_salts(&f->run, &changed), OK);
	assert_int_equal(test_database_ask(f->db, lock_is_long), 1);
}

struct contender {
	struct janitor_fixture *f;
	struct pg_conn *conn;
	int64_t batches;
	bool overlapped;
};

/*
 * Fails if another contender is in here at the same time. Counted in this process: PostgreSQL
 * releases an advisory lock a moment after the end of its transaction is visible to others.
 */
static enum err assert_alone(const struct run *run, int64_t *changed)
{
	static atomic_int inside;
	bool is_alone = atomic_fetch_add(&inside, 1) == 0;
	enum err err = pg_conn_query(run->conn, "SELECT pg_sleep(0.03)", NULL, NULL);
	atomic_fetch_sub(&inside, 1);
	*changed = 1;
	return is_alone ? err : ERR_LIMIT;
}

/* Repeatedly works for longer than its lock lasts, and never releases it. */
static void *contend(void *arg)
{
	struct contender *c = arg;
	struct fenced_lock lock;
	if (fenced_lock_init(&lock, "contended", "the same name") != OK)
		return NULL;
	struct run run = janitor_fixture_new_run(c->f, c->conn, &lock, RUN_AT_MOST_MS_MIN);
	int64_t deadline_us = clock_steady_us(clock_system()) + TEST_DEADLINE_US;
	while (c->batches < 20 && !c->overlapped && clock_steady_us(clock_system()) < deadline_us) {
		if (run_start(&run) != OK)
			continue;
		enum err err;
		do {
			err = run_batch(&run, assert_alone, &c->batches);
		} while (err == OK && clock_steady_us(clock_system()) < deadline_us);
		c->overlapped = err == ERR_LIMIT;
	}
	return NULL;
}

TEST_CASE(never_runs_two_janitors_at_once)
{
	struct janitor_fixture *f = *state;
	struct contender contenders[3];
	pthread_t threads[3];
	for (size_t i = 0; i < 3; i++) {
		contenders[i] = (struct contender){ .f = f };
		contenders[i].conn = test_database_connect(f->db, "waymark_janitor");
		assert_int_equal(pthread_create(&threads[i], NULL, contend, &contenders[i]), 0);
	}
	for (size_t i = 0; i < 3; i++) {
		pthread_join(threads[i], NULL);
		pg_conn_close(contenders[i].conn);
	}
	for (size_t i = 0; i < 3; i++) {
		assert_false(contenders[i].overlapped);
		assert_true(contenders[i].batches >= 20);
	}
}

TEST_MAIN(.set_up = janitor_fixture_set_up, .tear_down = janitor_fixture_tear_down)
