/*
 * Sorting the default partition while a consumer counts clicks: no click is lost, counted twice or
 * delayed.
 */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

#include "services/janitor/retention/partition_store.h"
#include "services/janitor/retention/partitions.h"
#include "tests/integration/janitor/time_fixture.h"
#include "tests/support/test.h"

#define ROUNDS 3
#define OF_TODAY 6500 /* more than the janitor moves without sorting */
#define OF_YESTERDAY 500
#define TOO_NEW 10
#define OF_A_ROUND (OF_TODAY + OF_YESTERDAY + TOO_NEW)
#define FRESH 40   /* clicks in a batch */
#define REPEATS 10 /* of rows that were stored before */
#define STALL_MAX_MS 3000
#define DEADLINE_MS 60000
#define ATTEMPTS 40 /* of the janitor, which gives up when the consumer holds the locks */

/* Counts batches until stop is set, and checks the size of the log after each. */
struct feeder {
	struct time_fixture *t;
	struct pg_conn *reader;
	pthread_t thread;
	_Atomic bool stop;
	_Atomic bool has_ended;
	_Atomic int batches;
	enum err err;
	enum err janitor; /* the result of the janitor's run */
	int there;        /* rows inserted directly, which the consumer did not count */
	int64_t fresh;
	int64_t wrong_sizes; /* checks at which the log did not have the expected number of rows */
	int64_t longest_us;
	uint32_t next_repeat;
};

static void set_id_of_a_row(struct redirect_event *click, uint32_t i)
{
	memset(click->event_id, 0, sizeof(click->event_id));
	for (size_t byte = 0; byte < sizeof(i); byte++)
		click->event_id[sizeof(click->event_id) - 1 - byte] = (uint8_t)(i >> 8 * byte);
}

static void take_batch(struct feeder *f)
{
	int64_t now_us = clock_now_us(&f->t->clock.clock);
	struct redirect_event click;
	for (uint32_t i = 0; i < FRESH + REPEATS; i++) {
		click = consumer_fixture_click(1 + i % 5, i);
		click.occurred_at_us = now_us;
		if (i >= FRESH)
			set_id_of_a_row(&click, 1 + f->next_repeat++ * 7919 % OF_TODAY +
			                                (uint32_t)(f->there - OF_A_ROUND));
		partition_owner_add(&f->t->owner, 0, f->t->offset++, &click);
	}
	/* The last click twice. */
	partition_owner_add(&f->t->owner, 0, f->t->offset++, &click);
}

static int64_t count_log(struct feeder *f)
{
	struct pg_result *rows = NULL;
	f->err = pg_conn_query(f->reader, "SELECT count(*) FROM visit_log", NULL, &rows);
	int64_t count = pg_result_int(rows, 0, 0);
	pg_result_free(rows);
	return count;
}

static void *feed(void *arg)
{
	struct feeder *f = arg;
	const struct clock *clock = clock_system();
	while (!atomic_load(&f->stop) && f->err == OK) {
		take_batch(f);
		int64_t began_us = clock_steady_us(clock);
		f->err = partition_owner_store(&f->t->owner);
		int64_t took_us = clock_steady_us(clock) - began_us;
		f->longest_us = took_us > f->longest_us ? took_us : f->longest_us;
		f->fresh += batch_sum(&f->t->owner.batch).humans;
		partition_owner_begin_batch(&f->t->owner);
		if (f->err == OK && count_log(f) != f->there + f->fresh)
			f->wrong_sizes++;
		atomic_fetch_add(&f->batches, 1);
	}
	atomic_store(&f->has_ended, true);
	return NULL;
}

static void await_batches(struct feeder *f, int more)
{
	int wanted = atomic_load(&f->batches) + more;
	int64_t deadline_us = clock_steady_us(clock_system()) + DEADLINE_MS * CLOCK_US_PER_MS;
	while (atomic_load(&f->batches) < wanted && !atomic_load(&f->has_ended) &&
	       clock_steady_us(clock_system()) < deadline_us)
		poll(NULL, 0, 1);
}

static void add_rows(struct feeder *f, int count, int days_from_today)
{
	char sql[512];
	snprintf(
		sql, sizeof(sql),
		"INSERT INTO visit_log (day, event_id, occurred_at, link_id, slug, status, latency_us, is_bot) "
		"SELECT DATE '1970-01-01' + %d, ('00000000-0000-0000-0000-' || lpad(to_hex(i), 12, '0'))::uuid, "
		"clock_timestamp(), 1, 'a', 302, 1, false FROM generate_series(%d, %d) AS i",
		time_fixture_today(f->t) + days_from_today, f->there + 1, f->there + count);
	test_database_run(f->t->world->database, sql);
	f->there += count;
}

/* ERR_LIMIT: the consumer held the locks for longer than the janitor waits. */
static enum err begin_sorting(struct pg_conn *conn, const struct partition_store_window *window)
{
	enum err err = pg_conn_begin(conn);
	if (err == OK)
		err = partition_store_sort_begin(conn, window);
	if (err == OK)
		return pg_conn_commit(conn);
	pg_conn_rollback(conn);
	return err;
}

/* Leaves the state of a janitor that was killed while copying. */
static enum err sort_halfway(struct feeder *f)
{
	int32_t today = time_fixture_today(f->t);
	const struct partition_store_window window = { today - TIME_FIXTURE_KEEP_DAYS, today,
		                                       today + PARTITIONS_AHEAD_DAYS };
	struct pg_conn *conn = test_database_connect(f->t->world->database, "waymark_janitor");
	int64_t rows = 0;
	enum err err = ERR_LIMIT;
	for (int i = 0; i < ATTEMPTS && err == ERR_LIMIT; i++)
		err = begin_sorting(conn, &window);
	for (int i = 0; err == OK && i < 5; i++)
		err = partition_store_sort_copy(conn, 1000, &rows);
	pg_conn_close(conn);
	return err;
}

/* Retries while the consumer holds the locks. */
static enum err run_until_done(struct time_fixture *t)
{
	int64_t changed = 0;
	enum err err = ERR_LIMIT;
	for (int i = 0; i < ATTEMPTS && err == ERR_LIMIT; i++)
		err = partitions_run(&t->run, &changed);
	return err;
}

/*
 * Asserts nothing while the feeder thread runs. Returns the number of rows noted for catching up.
 */
static int64_t sort_beside_feeder(struct feeder *f)
{
	assert_int_equal(pthread_create(&f->thread, NULL, feed, f), 0);
	await_batches(f, 3);
	f->janitor = sort_halfway(f);
	await_batches(f, 3);
	int64_t noted = time_fixture_ask(f->t, "SELECT count(*) FROM visit_log_unsorted");
	if (f->janitor == OK)
		f->janitor = run_until_done(f->t);
	await_batches(f, 3);
	atomic_store(&f->stop, true);
	pthread_join(f->thread, NULL);
	atomic_store(&f->stop, false);
	atomic_store(&f->has_ended, false);
	return noted;
}

static void assert_sorted(struct feeder *f)
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	pg_params_day(&params, time_fixture_today(f->t));
	assert_int_equal(
		pg_conn_query(
			f->reader,
			"SELECT (SELECT count(*) FROM visit_log_default WHERE day <= $1::date + 7), "
			"(SELECT count(*) FROM visit_log_unsorted), (SELECT count(*) FROM visit_log), "
			"(SELECT count(*) FROM visit_log WHERE tableoid = to_regclass('visit_log_' || "
			"to_char($1::date - 1, 'YYYYMMDD')))",
			&params, &rows),
		OK);
	assert_int_equal(pg_result_int(rows, 0, 0), 0);
	assert_int_equal(pg_result_int(rows, 0, 1), 0);
	assert_int_equal(pg_result_int(rows, 0, 2), f->there + f->fresh);
	assert_int_equal(pg_result_int(rows, 0, 3), OF_YESTERDAY);
	pg_result_free(rows);
}

/* A consumer that has not met a repeated click yet, so that it does not search for them. */
static void take_over(struct time_fixture *t)
{
	partition_owner_close(&t->owner);
	partition_owner_open(&t->owner, t->world, t->offset);
}

TEST_CASE(sorts_a_large_default_partition_while_clicks_and_repeats_arrive)
{
	struct time_fixture *t = *state;
	struct feeder f = { .t = t, .reader = test_database_connect(t->world->database, NULL) };
	for (int round = 0; round < ROUNDS; round++) {
		take_over(t);
		/* Beyond the days that already have a partition. */
		time_fixture_advance(t, (PARTITIONS_AHEAD_DAYS + 2) * CLOCK_US_PER_DAY);
		add_rows(&f, OF_TODAY, 0);
		add_rows(&f, OF_YESTERDAY, -1);
		add_rows(&f, TOO_NEW, 1000);
		int64_t noted = sort_beside_feeder(&f);
		assert_int_equal(f.err, OK);
		assert_int_equal(f.janitor, OK);
		assert_true(noted >= 3 * FRESH);
		assert_int_equal(f.wrong_sizes, 0);
		assert_sorted(&f);
	}
	assert_int_equal(f.fresh, (int64_t)FRESH * atomic_load(&f.batches));
	assert_int_equal(consumer_fixture_counted(t->world), f.fresh);
	print_message("sorted %d rows beside %d batches: longest batch %lld ms\n", f.there,
	              atomic_load(&f.batches), (long long)(f.longest_us / CLOCK_US_PER_MS));
	test_speed_at_most(f.longest_us, STALL_MAX_MS * CLOCK_US_PER_MS, "us");
	pg_conn_close(f.reader);
}

TEST_MAIN(.set_up = time_fixture_set_up, .tear_down = time_fixture_tear_down)
