#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>

#include "lib/net/pg_transaction.h"
#include "tests/integration/net/net_fixture.h"

#define WAIT_MS 100
#define TIMEOUT_MS 3000

/* One connection, so that what is read is read over the one that wrote. */
static struct pg_pool *new_pool(const struct net_fixture *f)
{
	return pg_pool_new(&(struct pg_pool_config){
		.url = f->pg_url,
		.application_name = f->unique,
		.max = 1,
		.wait_ms = WAIT_MS,
		.connect_timeout_ms = TIMEOUT_MS,
		.statement_timeout_ms = TIMEOUT_MS,
		.clock = clock_system(),
		.log = f->log,
	});
}

static struct pg_conn *take(struct pg_pool *pool)
{
	struct pg_conn *conn = NULL;
	assert_int_equal(pg_pool_take(pool, &conn), OK);
	return conn;
}

struct errand {
	int times;
	enum err end; /* what the work says */
};

static enum err insert(void *ctx, struct pg_conn *conn)
{
	struct errand *errand = ctx;
	errand->times++;
	enum err err = pg_conn_query(conn, "INSERT INTO t VALUES (1)", NULL, NULL);
	return err == OK ? errand->end : err;
}

static enum err insert_twice(void *ctx, struct pg_conn *conn)
{
	enum err err = insert(ctx, conn);
	return err == OK ? insert(ctx, conn) : err;
}

/* As one does who does not look at each result. */
static enum err swallow_a_failure(void *ctx, struct pg_conn *conn)
{
	(void)insert_twice(ctx, conn);
	return OK;
}

static int64_t rows_in(struct pg_pool *pool)
{
	struct pg_conn *conn = take(pool);
	assert_false(pg_conn_in_transaction(conn));
	int64_t count = net_fixture_ask(conn, "SELECT count(*) FROM t", NULL);
	pg_pool_give(pool, conn);
	return count;
}

static struct pg_pool *new_table(const struct net_fixture *f)
{
	struct pg_pool *pool = new_pool(f);
	struct pg_conn *conn = take(pool);
	assert_int_equal(pg_conn_script(conn, "CREATE TEMP TABLE t (a int UNIQUE)"), OK);
	pg_pool_give(pool, conn);
	return pool;
}

static void keeps_what_ends_well_and_nothing_else(void **state)
{
	struct pg_pool *pool = new_table(*state);
	struct errand failing = { .end = ERR_INVALID };
	assert_int_equal(pg_transaction_run(pool, insert, &failing), ERR_INVALID);
	assert_int_equal(rows_in(pool), 0);
	struct errand twice = { .end = OK };
	assert_int_equal(pg_transaction_run(pool, insert_twice, &twice), ERR_CONFLICT);
	assert_int_equal(twice.times, 2);
	assert_int_equal(rows_in(pool), 0);
	struct errand good = { .end = OK };
	assert_int_equal(pg_transaction_run(pool, insert, &good), OK);
	assert_int_equal(rows_in(pool), 1);
	assert_int_equal(failing.times + good.times, 2);
	pg_pool_free(pool);
}

static void never_says_ok_to_what_the_server_took_back(void **state)
{
	struct pg_pool *pool = new_table(*state);
	struct errand errand = { .end = OK };
	assert_int_not_equal(pg_transaction_run(pool, swallow_a_failure, &errand), OK);
	assert_int_equal(rows_in(pool), 0);
	pg_pool_free(pool);
}

static void leaves_the_connection_in_no_transaction(void **state)
{
	struct pg_pool *pool = new_table(*state);
	struct pg_conn *conn = take(pool);
	struct errand failing = { .end = ERR_NOT_FOUND };
	assert_int_equal(pg_transaction_on(conn, insert, &failing), ERR_NOT_FOUND);
	assert_false(pg_conn_in_transaction(conn));
	struct errand good = { .end = OK };
	assert_int_equal(pg_transaction_on(conn, insert, &good), OK);
	assert_false(pg_conn_in_transaction(conn));
	pg_pool_give(pool, conn);
	assert_int_equal(rows_in(pool), 1);
	pg_pool_free(pool);
}

static void does_nothing_without_a_connection_and_does_not_call_that_a_limit(void **state)
{
	struct pg_pool *pool = new_table(*state);
	struct pg_conn *conn = take(pool);
	struct errand errand = { .end = OK };
	assert_int_equal(pg_transaction_run(pool, insert, &errand), ERR_UNAVAILABLE);
	assert_int_equal(errand.times, 0);
	pg_pool_give(pool, conn);
	struct errand full = { .end = ERR_LIMIT };
	assert_int_equal(pg_transaction_run(pool, insert, &full), ERR_LIMIT);
	pg_pool_free(pool);
}

#define WITH_FIXTURE(test) cmocka_unit_test_setup_teardown(test, net_fixture_set_up, net_fixture_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_FIXTURE(keeps_what_ends_well_and_nothing_else),
		WITH_FIXTURE(never_says_ok_to_what_the_server_took_back),
		WITH_FIXTURE(leaves_the_connection_in_no_transaction),
		WITH_FIXTURE(does_nothing_without_a_connection_and_does_not_call_that_a_limit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
