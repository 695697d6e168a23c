/*
 * One thread at a time. For tests: a database through which time is led by a clock of its own, a janitor's tasks that
 * go by that clock, and a consumer that counts clicks of any day. PostgreSQL's clock stays where it is.
 */
#ifndef WAYMARK_TESTS_INTEGRATION_JANITOR_TIME_TRAVELLER_H
#define WAYMARK_TESTS_INTEGRATION_JANITOR_TIME_TRAVELLER_H

#include "services/janitor/run.h"
#include "tests/integration/analytics-consumer/owner.h"
#include "tests/integration/analytics-consumer/world.h"

#define TIME_FIXTURE_START 19600 /* 2023-08-31, at midnight */
#define TIME_FIXTURE_KEEP_DAYS 30
#define TIME_FIXTURE_BATCH 2000 /* clicks that one batch takes at most */

struct time_fixture {
	struct world *world;
	struct owner owner;
	struct clock_fake clock;
	struct config config;
	struct shutdown *shutdown;
	struct pg_conn *conn;   /* with the janitor's rights */
	struct pg_conn *reader; /* the owner's */
	struct fenced_lock lock;
	struct run run;
	int64_t offset;  /* of the next click */
	int64_t clicks;  /* that have to be counted */
	int64_t at_hand; /* that the batch has of them */
};

/* For cmocka; *state is the traveller. */
int time_fixture_set_up(void **state);
int time_fixture_tear_down(void **state);

int32_t time_fixture_today(const struct time_fixture *t);

/* The clock goes on. */
void time_fixture_advance(struct time_fixture *t, int64_t by_us);

/* Puts a click of that day into the batch; it has to be counted. Gives it, for repeats. */
struct redirect_event time_fixture_click(struct time_fixture *t, int32_t day);
/* Puts it into the batch again; it must not be counted. */
void time_fixture_repeat(struct time_fixture *t, const struct redirect_event *click);
/* Stores the batch as the consumer does, which must succeed at once. */
void time_fixture_store(struct time_fixture *t);

/* Does a task, which must succeed; gives what it changed. */
int64_t time_fixture_run(struct time_fixture *t, enum err (*task)(struct run *run, int64_t *changed));

int64_t time_fixture_ask(struct time_fixture *t, const char *sql);

/* All books of the statistics have every click, once. */
void time_fixture_assert_counted(struct time_fixture *t);

#endif
