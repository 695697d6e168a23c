/*
 * One thread at a time. The fixture of the tests of the janitor's tasks: a database and a fake
 * clock per test, and a run with the janitor's rights that holds its lock.
 */
#ifndef WAYMARK_TESTS_INTEGRATION_JANITOR_JANITOR_FIXTURE_H
#define WAYMARK_TESTS_INTEGRATION_JANITOR_JANITOR_FIXTURE_H

#include "services/janitor/tasks/run.h"
#include "tests/support/clock_fake.h"
#include "tests/support/test_database.h"

#define JANITOR_FIXTURE_DAY 20000      /* 2024-10-04; the clock starts at noon */
#define JANITOR_FIXTURE_LOCK_MS 600000 /* far longer than a test takes */

struct janitor_fixture {
	struct test_database *db;
	struct pg_conn *conn;
	struct shutdown *shutdown;
	struct clock_fake clock;
	struct config config;
	struct fenced_lock lock;
	struct run run;
};

/* For cmocka. */
int janitor_fixture_set_up(void **state);
int janitor_fixture_tear_down(void **state);

/* A run over another connection and lock; not started. */
struct run janitor_fixture_new_run(struct janitor_fixture *f, struct pg_conn *conn,
                                   struct fenced_lock *lock, int64_t at_most_ms);

/* Runs a task, which must succeed; returns the number of rows that it changed. */
int64_t janitor_fixture_run_task(struct janitor_fixture *f,
                                 enum err (*task)(struct run *run, int64_t *changed));

/* Adds 2,500 links; columns are the SQL values of state, state_since and expires_at. */
void janitor_fixture_add_links(struct janitor_fixture *f, const char *columns);

/* SQL: the number of partitions of visit_log, without the default partition. */
extern const char janitor_fixture_count_partitions[];

#endif
