#include <stdint.h>

#include "lib/postgres/pg_pool.h"
#include "tests/integration/backend/backend_fixture.h"
#include "tests/support/test.h"

#define WAIT_MS 100
#define TIMEOUT_MS TEST_DEADLINE_MS

/* One connection, so reads use the connection that wrote. */
static struct pg_pool *new_pool(const struct backend_fixture *f)
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

static struct pg_conn *acquire(struct pg_pool *pool)
{
	struct pg_conn *conn = NULL;
	assert_int_equal(pg_pool_acquire(pool, &conn), OK);
	return conn;
}

struct insert_work {
	int times;
	/* What the work returns. */
	enum err end;
};

static enum err insert(void *ctx, struct pg_conn *conn)
{
	struct insert_work *insert_work = ctx;
	insert_work->times++;
	enum err err = pg_conn_query(conn, "INSERT INTO t VALUES (1)", NULL, NULL);
	return err == OK ? insert_work->end : err;
}

static enum err insert_twice(void *ctx, struct pg_conn *conn)
{
	enum err err = insert(ctx, conn);
	return err == OK ? insert(ctx, conn) : err;
}

/* Like a caller that ignores an error. */
static enum err ignore_failure(void *ctx, struct pg_conn *conn)
{
	(void)insert_twice(ctx, conn);
	return OK;
}

static int64_t rows_in(struct pg_pool *pool)
{
	struct pg_conn *conn = acquire(pool);
	assert_false(pg_conn_in_transaction(conn));
	int64_t count = backend_fixture_query_int(conn, "SELECT count(*) FROM t", NULL);
	pg_pool_release(pool, conn);
	return count;
}

static struct pg_pool *new_table(const struct backend_fixture *f)
{
	struct pg_pool *pool = new_pool(f);
	struct pg_conn *conn = acquire(pool);
	assert_int_equal(pg_conn_script(conn, "CREATE TEMP TABLE t (a int UNIQUE)"), OK);
	pg_pool_release(pool, conn);
	return pool;
}

TEST_CASE(commits_on_ok_and_rolls_back_otherwise)
{
	struct pg_pool *pool = new_table(*state);
	struct insert_work failing = { .end = ERR_INVALID };
	assert_int_equal(pg_pool_transact(pool, insert, &failing), ERR_INVALID);
	assert_int_equal(rows_in(pool), 0);
	struct insert_work twice = { .end = OK };
	assert_int_equal(pg_pool_transact(pool, insert_twice, &twice), ERR_CONFLICT);
	assert_int_equal(twice.times, 2);
	assert_int_equal(rows_in(pool), 0);
	struct insert_work good = { .end = OK };
	assert_int_equal(pg_pool_transact(pool, insert, &good), OK);
	assert_int_equal(rows_in(pool), 1);
	assert_int_equal(failing.times + good.times, 2);
	pg_pool_free(pool);
}

TEST_CASE(never_returns_ok_after_a_rollback_by_the_server)
{
	struct pg_pool *pool = new_table(*state);
	struct insert_work insert_work = { .end = OK };
	assert_int_not_equal(pg_pool_transact(pool, ignore_failure, &insert_work), OK);
	assert_int_equal(rows_in(pool), 0);
	pg_pool_free(pool);
}

TEST_CASE(leaves_no_transaction_open)
{
	struct pg_pool *pool = new_table(*state);
	struct pg_conn *conn = acquire(pool);
	struct insert_work failing = { .end = ERR_NOT_FOUND };
	assert_int_equal(pg_pool_transact_on(conn, insert, &failing), ERR_NOT_FOUND);
	assert_false(pg_conn_in_transaction(conn));
	struct insert_work good = { .end = OK };
	assert_int_equal(pg_pool_transact_on(conn, insert, &good), OK);
	assert_false(pg_conn_in_transaction(conn));
	pg_pool_release(pool, conn);
	assert_int_equal(rows_in(pool), 1);
	pg_pool_free(pool);
}

TEST_CASE(returns_unavailable_without_a_connection)
{
	struct pg_pool *pool = new_table(*state);
	struct pg_conn *conn = acquire(pool);
	struct insert_work insert_work = { .end = OK };
	assert_int_equal(pg_pool_transact(pool, insert, &insert_work), ERR_UNAVAILABLE);
	assert_int_equal(insert_work.times, 0);
	pg_pool_release(pool, conn);
	struct insert_work full = { .end = ERR_LIMIT };
	assert_int_equal(pg_pool_transact(pool, insert, &full), ERR_LIMIT);
	pg_pool_free(pool);
}

TEST_MAIN(.set_up = backend_fixture_set_up, .tear_down = backend_fixture_tear_down)
