#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "services/redirector/gate/visit_taker.h"
#include "tests/support/clock_fake.h"
#include "tests/support/test.h"
#include "tests/support/test_database.h"

#define WAITING_MAX 16384
#define TIMEOUT_MS 300000

struct fixture {
	struct test_database *database;
	char url[TEST_DATABASE_URL_SIZE];
	struct clock_fake clock;
	struct log *log;
	struct pg_pool *pool;
	struct metrics *metrics;
	struct visit_taker *taker;
	/* Holds a row. */
	struct pg_conn *owner;
	int64_t link_id;
	sem_t done;
	_Atomic int visits[LINK_GATE_VISITS];
};

static int group_set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	f->database = test_database_new();
	f->log = log_new("test", LOG_ERROR, 2);
	f->owner = test_database_connect(f->database, NULL);
	/* Each statement that takes leaves a row. */
	assert_int_equal(
		pg_conn_script(
			f->owner,
			"CREATE TABLE takes (link_id bigint);"
			"CREATE FUNCTION note_take() RETURNS trigger LANGUAGE plpgsql "
			"SECURITY DEFINER AS $$ BEGIN INSERT INTO takes VALUES (NEW.link_id); "
			"RETURN NULL; END $$;"
			"CREATE TRIGGER note_take AFTER UPDATE OF taken ON link_visit_limits "
			"FOR EACH ROW EXECUTE FUNCTION note_take();"),
		OK);
	*state = f;
	return 0;
}

static int group_tear_down(void **state)
{
	struct fixture *f = *state;
	pg_conn_close(f->owner);
	test_database_close(f->database);
	log_free(f->log);
	free(f);
	return 0;
}

/* Statements that end with the link's ID. */
static void run(struct fixture *f, const char *sql)
{
	char text[512];
	snprintf(text, sizeof(text), "%s %lld", sql, (long long)f->link_id);
	test_database_run(f->database, text);
}

static int64_t ask(struct fixture *f, const char *sql)
{
	char text[512];
	snprintf(text, sizeof(text), "%s %lld", sql, (long long)f->link_id);
	return test_database_ask(f->database, text);
}

static void start(struct fixture *f, const char *url)
{
	f->pool = pg_pool_new(&(struct pg_pool_config){ .url = url,
	                                                .application_name = "taker",
	                                                .max = LINK_GATE_CONNECTIONS,
	                                                .wait_ms = TIMEOUT_MS,
	                                                .connect_timeout_ms = TIMEOUT_MS,
	                                                .statement_timeout_ms = TIMEOUT_MS,
	                                                .clock = clock_system(),
	                                                .log = f->log });
	f->metrics = metrics_new();
	f->taker = visit_taker_new(f->pool, &f->clock.clock, f->metrics);
}

static int set_up(void **state)
{
	struct fixture *f = *state;
	clock_fake_init(&f->clock, 0);
	sem_init(&f->done, 0, 0);
	for (int i = 0; i < LINK_GATE_VISITS; i++)
		f->visits[i] = 0;
	f->link_id = test_database_ask(
		f->database,
		"INSERT INTO links (slug, link_type, expires_at, original_url) "
		"VALUES ('s' || md5(random()::text), 'TEMPORARY', 'infinity', 'https://example.com/') "
		"RETURNING id");
	run(f, "INSERT INTO link_visit_limits (link_id, max_visits) SELECT id, 100 FROM links "
	       "WHERE id =");
	test_database_url(f->database, "waymark_redirector", f->url);
	start(f, f->url);
	return 0;
}

static void stop(struct fixture *f)
{
	visit_taker_free(f->taker);
	metrics_free(f->metrics);
	pg_pool_free(f->pool);
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	stop(f);
	sem_destroy(&f->done);
	return 0;
}

static void on_done(void *ctx, struct http_exchange *x, enum link_gate_visit visit)
{
	struct fixture *f = ctx;
	(void)x;
	f->visits[visit]++;
	sem_post(&f->done);
}

static void visit(struct fixture *f, int64_t link_id, bool spends, int count)
{
	for (int i = 0; i < count; i++)
		visit_taker_take(f->taker, link_id, spends, NULL, on_done, f);
}

static void await(struct fixture *f, int count)
{
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += TIMEOUT_MS / 1000;
	for (int i = 0; i < count; i++)
		assert_int_equal(sem_timedwait(&f->done, &until), 0);
}

static void assert_visits(struct fixture *f, int taken, int used_up, int unknown)
{
	assert_int_equal(f->visits[LINK_GATE_VISIT_TAKEN], taken);
	assert_int_equal(f->visits[LINK_GATE_VISIT_USED_UP], used_up);
	assert_int_equal(f->visits[LINK_GATE_VISIT_UNKNOWN], unknown);
}

/* Holds the row, so that the statement of who comes next waits. */
static void hold(struct fixture *f)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, f->link_id);
	assert_int_equal(pg_conn_begin(f->owner), OK);
	assert_int_equal(
		pg_conn_query(f->owner,
	                      "SELECT FROM link_visit_limits WHERE link_id = $1 FOR UPDATE",
	                      &params, NULL),
		OK);
}

/* Until a statement of the taker waits for that row. */
static void await_blocked(struct fixture *f)
{
	test_database_await(f->database,
	                    "SELECT count(*) FROM pg_locks JOIN pg_stat_activity USING (pid) "
	                    "WHERE NOT granted AND datname = current_database()",
	                    1, TIMEOUT_MS);
}

TEST_CASE(a_crowd_takes_by_one_statement_after_the_other)
{
	struct fixture *f = *state;
	hold(f);
	visit(f, f->link_id, true, 1);
	await_blocked(f);
	visit(f, f->link_id, true, 150);
	visit(f, f->link_id, false, 10);
	pg_conn_rollback(f->owner);
	await(f, 161);
	assert_int_equal(ask(f, "SELECT taken FROM link_visit_limits WHERE link_id ="), 100);
	assert_int_equal(ask(f, "SELECT count(*) FROM takes WHERE link_id ="), 2);
	/* The bots were told as late as the last of the crowd. */
	assert_visits(f, 100, 51 + 10, 0);
}

TEST_CASE(bots_spend_nothing)
{
	struct fixture *f = *state;
	visit(f, f->link_id, false, 500);
	await(f, 500);
	assert_visits(f, 500, 0, 0);
	assert_int_equal(ask(f, "SELECT taken FROM link_visit_limits WHERE link_id ="), 0);
	run(f, "UPDATE link_visit_limits SET taken = 100 WHERE link_id =");
	clock_fake_advance(&f->clock, VISIT_TAKER_KNOWN_US);
	visit(f, f->link_id, false, 1);
	await(f, 1);
	assert_visits(f, 500, 1, 0);
}

TEST_CASE(what_is_used_up_is_known_for_a_while)
{
	struct fixture *f = *state;
	run(f, "UPDATE link_visit_limits SET taken = 100 WHERE link_id =");
	visit(f, f->link_id, true, 1);
	await(f, 1);
	run(f, "UPDATE link_visit_limits SET max_visits = 101 WHERE link_id =");
	visit(f, f->link_id, true, 5);
	await(f, 5);
	assert_visits(f, 0, 6, 0);
	clock_fake_advance(&f->clock, VISIT_TAKER_KNOWN_US);
	visit(f, f->link_id, true, 5);
	await(f, 5);
	assert_visits(f, 1, 10, 0);
}

TEST_CASE(a_link_whose_limit_was_removed_lets_everybody_in)
{
	struct fixture *f = *state;
	run(f, "DELETE FROM link_visit_limits WHERE link_id =");
	visit(f, f->link_id, true, 3);
	visit(f, f->link_id, false, 3);
	await(f, 6);
	assert_visits(f, 6, 0, 0);
}

TEST_CASE(one_link_does_not_wait_for_another_one)
{
	struct fixture *f = *state;
	int64_t held = f->link_id;
	hold(f);
	visit(f, held, true, 1);
	await_blocked(f);
	for (int64_t other = 1; other <= 50; other++)
		visit(f, held + 1000 + other, true, 1);
	await(f, 50);
	assert_visits(f, 50, 0, 0);
	pg_conn_rollback(f->owner);
	await(f, 1);
}

TEST_CASE(who_waits_is_bounded)
{
	struct fixture *f = *state;
	hold(f);
	visit(f, f->link_id, true, 1);
	await_blocked(f);
	visit(f, f->link_id, true, WAITING_MAX);
	await(f, 1);
	assert_visits(f, 0, 0, 1);
	pg_conn_rollback(f->owner);
	await(f, WAITING_MAX);
	assert_visits(f, 100, WAITING_MAX - 100, 1);
}

TEST_CASE(without_postgresql_nobody_knows)
{
	struct fixture *f = *state;
	stop(f);
	start(f, "postgresql://nobody@127.0.0.1:1/nothing");
	visit(f, f->link_id, true, 3);
	visit(f, f->link_id, false, 3);
	await(f, 6);
	assert_visits(f, 0, 0, 6);
}

/* A connection that ended while nobody used it costs no visit. */
TEST_CASE(a_connection_that_ended_is_replaced)
{
	struct fixture *f = *state;
	visit(f, f->link_id, true, 1);
	await(f, 1);
	test_database_run(f->database,
	                  "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE "
	                  "datname = current_database() AND application_name = 'taker'");
	visit(f, f->link_id, true, 1);
	await(f, 1);
	assert_visits(f, 2, 0, 0);
}

TEST_MAIN(.group_set_up = group_set_up, .group_tear_down = group_tear_down, .set_up = set_up,
          .tear_down = tear_down)
