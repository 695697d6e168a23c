/*
 * A client that is in the middle of a COPY and sends nothing more looks to the server like one that
 * is frozen within a statement.
 */
#include "lib/postgres/pg_pool.h"
#include "tests/integration/backend/backend_fixture.h"
#include "tests/support/test.h"

#define STATEMENT_TIMEOUT_MS 500
#define ATTEMPTS_MAX 20

static struct pg_pool *new_pool(const struct backend_fixture *f)
{
	return pg_pool_new(&(struct pg_pool_config){
		.url = f->pg_url,
		.application_name = f->unique,
		.max = 1,
		.wait_ms = TEST_DEADLINE_MS,
		.connect_timeout_ms = TEST_DEADLINE_MS,
		.statement_timeout_ms = STATEMENT_TIMEOUT_MS,
		.clock = clock_system(),
		.log = f->log,
	});
}

/* The lock of this test run, so that it meets no other. */
static void add_lock(struct pg_params *p, const struct backend_fixture *f)
{
	pg_params_text(p, f->unique);
}

#define LOCK "SELECT pg_advisory_xact_lock(hashtext($1))"

/* Returns a client that has the lock, and whose next message the server awaits. */
static struct pg_conn *freeze(const struct backend_fixture *f, const char *application_name)
{
	struct pg_conn *conn = NULL;
	struct pg_params p = { 0 };
	add_lock(&p, f);
	assert_int_equal(pg_conn_open(f->pg_url, application_name, TEST_DEADLINE_MS,
	                              TEST_DEADLINE_MS, NULL, &conn),
	                 OK);
	assert_int_equal(pg_conn_script(conn, "CREATE TEMP TABLE t (a int)"), OK);
	assert_int_equal(pg_conn_begin(conn), OK);
	assert_int_equal(pg_conn_query(conn, LOCK, &p, NULL), OK);
	assert_int_equal(pg_conn_query_once(conn, "COPY t FROM STDIN", NULL, NULL), ERR_INTERNAL);
	return conn;
}

static enum err lock(const struct backend_fixture *f, struct pg_pool *pool)
{
	struct pg_conn *conn = NULL;
	struct pg_params p = { 0 };
	add_lock(&p, f);
	assert_int_equal(pg_pool_acquire(pool, &conn), OK);
	enum err err = pg_conn_query(conn, LOCK, &p, NULL);
	pg_pool_release(pool, conn);
	return err;
}

TEST_CASE(ends_a_frozen_client_of_the_same_service)
{
	const struct backend_fixture *f = *state;
	struct pg_pool *pool = new_pool(f);
	struct pg_conn *frozen = freeze(f, f->unique);
	enum err err = ERR_LIMIT;
	for (int i = 0; i < ATTEMPTS_MAX && err == ERR_LIMIT; i++)
		err = lock(f, pool);
	assert_int_equal(err, OK);
	pg_conn_close(frozen);
	pg_pool_free(pool);
}

TEST_CASE(leaves_others_alone)
{
	const struct backend_fixture *f = *state;
	struct pg_pool *pool = new_pool(f);
	struct pg_conn *other = freeze(f, "psql");
	/* More than twice the statement timeout. */
	for (int i = 0; i < 4; i++)
		assert_int_equal(lock(f, pool), ERR_LIMIT);
	pg_conn_close(other);
	enum err err = ERR_LIMIT;
	for (int i = 0; i < ATTEMPTS_MAX && err == ERR_LIMIT; i++)
		err = lock(f, pool);
	assert_int_equal(err, OK);
	pg_pool_free(pool);
}

TEST_MAIN(.set_up = backend_fixture_set_up, .tear_down = backend_fixture_tear_down)
