#include "tests/integration/janitor/time_fixture.h"

#include <stdint.h>
#include <stdlib.h>

#include "lib/base/mem.h"
#include "tests/support/clock_fake.h"
#include "tests/support/test.h"

#define LOCK_MS 600000

int time_fixture_set_up(void **state)
{
	struct time_fixture *t = mem_zero(sizeof(*t));
	if (consumer_fixture_open((void **)&t->world) != 0)
		return -1;
	partition_owner_open(&t->owner, t->world, 0);
	clock_fake_init(&t->clock, TIME_FIXTURE_START * CLOCK_US_PER_DAY);
	t->config = (struct config){ .salts_keep_s = 86400,
		                     .visit_log_keep_days = TIME_FIXTURE_KEEP_DAYS,
		                     .audit_log_keep_days = ENV_UNLIMITED,
		                     .audit_log_entries_max = ENV_UNLIMITED,
		                     .clock_skew_max_s = ENV_UNLIMITED };
	/* A simulated year has thousands of commits, and durability does not matter here. */
	test_database_run(
		t->world->database,
		"DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET synchronous_commit = off', "
		"current_database()); END $$");
	/* The clicked links must exist, or retention deletes their statistics. */
	test_database_run(t->world->database,
	                  "INSERT INTO links (slug, link_type, original_url, expires_at) "
	                  "SELECT 'link-' || i, 'TEMPORARY', 'https://example.com/', "
	                  "clock_timestamp() FROM generate_series(1, 5) AS i");
	t->shutdown = shutdown_new();
	t->conn = test_database_connect(t->world->database, "waymark_janitor");
	t->reader = test_database_connect(t->world->database, NULL);
	assert_int_equal(fenced_lock_init(&t->lock, "test", "time fixture"), OK);
	t->run = (struct run){ .config = &t->config,
		               .clock = &t->clock.clock,
		               .shutdown = t->shutdown,
		               .conn = t->conn,
		               .lock = &t->lock,
		               .at_most_ms = LOCK_MS };
	assert_int_equal(run_start(&t->run), OK);
	*state = t;
	return 0;
}

int time_fixture_tear_down(void **state)
{
	struct time_fixture *t = *state;
	partition_owner_close(&t->owner);
	pg_conn_close(t->conn);
	pg_conn_close(t->reader);
	shutdown_free(t->shutdown);
	consumer_fixture_close((void **)&t->world);
	free(t);
	return 0;
}

int32_t time_fixture_today(const struct time_fixture *t)
{
	return clock_utc_day(clock_now_us(&t->clock.clock));
}

/* The lock follows PostgreSQL's clock, on which little time passes, so it is never extended. */
void time_fixture_advance(struct time_fixture *t, int64_t by_us)
{
	clock_fake_advance(&t->clock, by_us);
	t->run.extend_at_us = INT64_MAX;
}

struct redirect_event time_fixture_click(struct time_fixture *t, int32_t day)
{
	struct redirect_event click =
		consumer_fixture_click(1 + t->clicks % 5, (uint32_t)t->clicks);
	int64_t into_day_us = clock_now_us(&t->clock.clock) % CLOCK_US_PER_DAY;
	click.occurred_at_us = day * CLOCK_US_PER_DAY + into_day_us;
	partition_owner_add(&t->owner, 0, t->offset++, &click);
	t->clicks++;
	t->in_batch++;
	return click;
}

void time_fixture_repeat(struct time_fixture *t, const struct redirect_event *click)
{
	partition_owner_add(&t->owner, 0, t->offset++, click);
}

void time_fixture_store(struct time_fixture *t)
{
	assert_int_equal(partition_owner_store(&t->owner), OK);
	assert_int_equal(batch_sum(&t->owner.batch).humans, t->in_batch);
	partition_owner_begin_batch(&t->owner);
	t->in_batch = 0;
}

int64_t time_fixture_run(struct time_fixture *t,
                         enum err (*task)(struct run *run, int64_t *changed))
{
	int64_t changed = 0;
	assert_int_equal(task(&t->run, &changed), OK);
	return changed;
}

int64_t time_fixture_ask(struct time_fixture *t, const char *sql)
{
	return test_database_ask(t->world->database, sql);
}

void time_fixture_assert_counted(struct time_fixture *t)
{
	assert_int_equal(consumer_fixture_counted(t->world), t->clicks);
	assert_int_equal(
		time_fixture_ask(
			t,
			"SELECT sum(humans)::bigint FROM rollup_hour_entries WHERE dimension = 'quarters'"),
		t->clicks);
}
