/* The default partition is sorted while a consumer goes on counting: nothing lost, doubled or held up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "services/janitor/partition_store.h"
#include "services/janitor/partitions.h"
#include "tests/integration/janitor/time_traveller.h"

#define OF_TODAY 20000
#define OF_YESTERDAY 3000
#define TOO_NEW 10
#define THERE (OF_TODAY + OF_YESTERDAY + TOO_NEW)
#define FRESH 40   /* clicks in a batch */
#define REPEATS 10 /* of rows that were there before */
#define STALL_MAX_MS 3000
#define DEADLINE_MS 60000

/* Counts batches until it is told to end; after each it looks at the whole log. */
struct feeder {
	struct time_traveller *t;
	struct pg_conn *reader;
	pthread_t thread;
	atomic_bool stop;
	atomic_int batches;
	enum err err;
	int64_t fresh;
	int64_t wrong_looks; /* at which the log had more or fewer rows than were counted */
	int64_t longest_us;
	uint32_t next_repeat;
};

static void give_id_of_a_row(struct redirect_event *click, uint32_t i)
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
		click = world_click(1 + i % 5, i);
		click.occurred_at_us = now_us;
		if (i >= FRESH)
			give_id_of_a_row(&click, 1 + f->next_repeat++ * 7919 % OF_TODAY);
		owner_take(&f->t->owner, 0, f->t->offset++, &click);
	}
	/* The last one twice. */
	owner_take(&f->t->owner, 0, f->t->offset++, &click);
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
		f->err = owner_store(&f->t->owner);
		int64_t took_us = clock_steady_us(clock) - began_us;
		f->longest_us = took_us > f->longest_us ? took_us : f->longest_us;
		f->fresh += batch_sum(&f->t->owner.batch).humans;
		owner_go_on(&f->t->owner);
		if (f->err == OK && count_log(f) != THERE + f->fresh)
			f->wrong_looks++;
		atomic_fetch_add(&f->batches, 1);
	}
	return NULL;
}

static void await_batches(struct feeder *f, int more)
{
	int wanted = atomic_load(&f->batches) + more;
	int64_t deadline_us = clock_steady_us(clock_system()) + DEADLINE_MS * CLOCK_US_PER_MS;
	while (atomic_load(&f->batches) < wanted) {
		assert_true(clock_steady_us(clock_system()) < deadline_us);
		poll(NULL, 0, 1);
	}
}

static void add_rows(struct time_traveller *t, int first, int count, int days_from_today)
{
	char sql[512];
	snprintf(sql, sizeof(sql),
	         "INSERT INTO visit_log (day, event_id, occurred_at, link_id, slug, status, latency_us, is_bot) "
	         "SELECT DATE '1970-01-01' + %d, ('00000000-0000-0000-0000-' || lpad(to_hex(i), 12, '0'))::uuid, "
	         "clock_timestamp(), 1, 'a', 302, 1, false FROM generate_series(%d, %d) AS i",
	         time_traveller_today(t) + days_from_today, first, first + count - 1);
	test_database_run(t->world->database, sql);
}

/* As kill -9 in the middle of the copying leaves it. */
static void sort_halfway(struct time_traveller *t)
{
	int32_t today = time_traveller_today(t);
	const struct partition_store_window window = { today - 30, today, today + PARTITIONS_AHEAD_DAYS };
	struct pg_conn *conn = test_database_connect(t->world->database, "waymark_janitor");
	int64_t rows = 0;
	assert_int_equal(pg_conn_begin(conn), OK);
	assert_int_equal(partition_store_sort_begin(conn, &window), OK);
	assert_int_equal(pg_conn_commit(conn), OK);
	for (int i = 0; i < 7; i++)
		assert_int_equal(partition_store_sort_copy(conn, 1000, &rows), OK);
	assert_int_equal(rows, 1000);
	pg_conn_close(conn);
}

/* Gives how often it gave way to the consumer. */
static int run_until_done(struct time_traveller *t)
{
	int gave_way = 0;
	int64_t changed = 0;
	enum err err;
	while ((err = partitions_run(&t->run, &changed)) == ERR_LIMIT && gave_way < 20)
		gave_way++;
	assert_int_equal(err, OK);
	return gave_way;
}

static void sorts_a_crowded_default_partition_while_clicks_and_repeats_come_in(void **state)
{
	struct time_traveller *t = *state;
	struct feeder f = { .t = t, .reader = test_database_connect(t->world->database, NULL) };
	add_rows(t, 1, OF_TODAY, 0);
	add_rows(t, OF_TODAY + 1, OF_YESTERDAY, -1);
	add_rows(t, OF_TODAY + OF_YESTERDAY + 1, TOO_NEW, PARTITIONS_AHEAD_DAYS + 1);
	assert_int_equal(pthread_create(&f.thread, NULL, feed, &f), 0);
	await_batches(&f, 5);
	sort_halfway(t);
	await_batches(&f, 5);
	assert_true(time_traveller_ask(t, "SELECT count(*) FROM visit_log_unsorted") >= 5 * FRESH);
	int gave_way = run_until_done(t);
	await_batches(&f, 5);
	atomic_store(&f.stop, true);
	pthread_join(f.thread, NULL);
	pg_conn_close(f.reader);

	assert_int_equal(f.err, OK);
	assert_int_equal(f.fresh, (int64_t)FRESH * atomic_load(&f.batches));
	assert_int_equal(world_counted(t->world), f.fresh);
	assert_int_equal(f.wrong_looks, 0);
	assert_int_equal(time_traveller_ask(t, "SELECT count(*) FROM visit_log_default"), TOO_NEW);
	assert_int_equal(time_traveller_ask(t, "SELECT count(*) FROM visit_log_20230831"), OF_TODAY + f.fresh);
	assert_int_equal(time_traveller_ask(t, "SELECT count(*) FROM visit_log_20230830"), OF_YESTERDAY);
	assert_int_equal(time_traveller_ask(t, "SELECT count(*) FROM visit_log_unsorted"), 0);
	print_message("sorted %d rows beside %d batches: longest batch %lld ms, gave way %d times\n", THERE,
	              atomic_load(&f.batches), (long long)(f.longest_us / CLOCK_US_PER_MS), gave_way);
	assert_true(f.longest_us < STALL_MAX_MS * CLOCK_US_PER_MS);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, time_traveller_set_up, time_traveller_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(sorts_a_crowded_default_partition_while_clicks_and_repeats_come_in),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
