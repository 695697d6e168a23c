/*
 * One thread at a time. A fixture with a fake clock that can be advanced by months. It has a
 * database, the janitor's tasks, which follow that clock, and a consumer that counts clicks of any
 * day. PostgreSQL's own clock is not changed.
 */
#ifndef WAYMARK_TESTS_INTEGRATION_JANITOR_TIME_FIXTURE_H
#define WAYMARK_TESTS_INTEGRATION_JANITOR_TIME_FIXTURE_H

#include "services/janitor/tasks/run.h"
#include "tests/integration/analytics-consumer/consumer_fixture.h"
#include "tests/integration/analytics-consumer/partition_owner.h"
#include "tests/support/clock_fake.h"

#define TIME_FIXTURE_START 19600 /* 2023-08-31, at midnight */
#define TIME_FIXTURE_KEEP_DAYS 30
#define TIME_FIXTURE_BATCH 2000 /* the most clicks in one batch */

struct time_fixture {
	struct consumer_fixture *world;
	struct partition_owner owner;
	struct clock_fake clock;
	struct config config;
	struct shutdown *shutdown;
	/* With the janitor's rights. */
	struct pg_conn *conn;
	/* With the rights of the database's owner. */
	struct pg_conn *reader;
	struct fenced_lock lock;
	struct run run;
	/* Of the next click. */
	int64_t offset;
	/* That must be counted. */
	int64_t clicks;
	/* Of those, in the current batch. */
	int64_t in_batch;
};

/* For cmocka; *state is the fixture. */
int time_fixture_set_up(void **state);
int time_fixture_tear_down(void **state);

int32_t time_fixture_today(const struct time_fixture *t);

/* Advances the clock. */
void time_fixture_advance(struct time_fixture *t, int64_t by_us);

/*
 * Adds a click of that day to the batch, which must be counted. Returns it, for
 * time_fixture_repeat.
 */
struct redirect_event time_fixture_click(struct time_fixture *t, int32_t day);
/* Adds the click to the batch again. It must not be counted. */
void time_fixture_repeat(struct time_fixture *t, const struct redirect_event *click);
/* Stores the batch as the consumer does. The first attempt must succeed. */
void time_fixture_store(struct time_fixture *t);

/* Runs a task, which must succeed; returns the number of rows that it changed. */
int64_t time_fixture_run(struct time_fixture *t,
                         enum err (*task)(struct run *run, int64_t *changed));

int64_t time_fixture_ask(struct time_fixture *t, const char *sql);

/* Asserts that statistics and roll-ups count every click once. */
void time_fixture_assert_counted(struct time_fixture *t);

#endif
