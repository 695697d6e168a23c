#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "lib/postgres/pg_pool.h"
#include "tests/integration/backend/backend_fixture.h"
#include "tests/support/test.h"

#define STATEMENT_TIMEOUT_MS 5000
#define CONNECT_TIMEOUT_MS 5000
#define WAIT_MS 5000
#define TIMEOUT_MS TEST_DEADLINE_MS

static bool works(void *pool)
{
	struct pg_conn *conn = NULL;
	if (pg_pool_acquire(pool, &conn) != OK)
		return false;
	bool answered = pg_conn_query(conn, "SELECT 1", NULL, NULL) == OK;
	pg_pool_release(pool, conn);
	return answered;
}

#define SCHEMA_URL_SIZE 640

/* A pool that needs schema version 3. */
static struct pg_pool *new_pool(const struct backend_fixture *f, const char *url)
{
	return pg_pool_new(&(struct pg_pool_config){
		.url = url,
		.application_name = f->unique,
		.max = 2,
		.wait_ms = WAIT_MS,
		.connect_timeout_ms = CONNECT_TIMEOUT_MS,
		.statement_timeout_ms = STATEMENT_TIMEOUT_MS,
		.schema_version = 3,
		.clock = clock_system(),
		.log = f->log,
	});
}

/* The same for a schema of this test alone, at version before; 0: without the table. */
static struct pg_pool *new_pool_for_schema(const struct backend_fixture *f, struct pg_conn *owner,
                                           int64_t before, char *url)
{
	char sql[256];
	snprintf(sql, sizeof(sql), "CREATE SCHEMA %s", f->unique);
	assert_int_equal(pg_conn_script(owner, sql), OK);
	snprintf(sql, sizeof(sql), "CREATE TABLE %s.schema_migrations AS SELECT %d AS version",
	         f->unique, (int)before);
	if (before > 0)
		assert_int_equal(pg_conn_script(owner, sql), OK);
	snprintf(url, SCHEMA_URL_SIZE, "%s%coptions=-csearch_path%%3D%s", f->pg_url,
	         strchr(f->pg_url, '?') ? '&' : '?', f->unique);
	return new_pool(f, url);
}

static bool schema_is_unsupported(void *pool)
{
	return !pg_pool_is_schema_supported(pool);
}

TEST_CASE(treats_an_old_schema_as_an_unreachable_server)
{
	const struct backend_fixture *f = *state;
	struct pg_conn *owner = backend_fixture_pg(f);
	char url[SCHEMA_URL_SIZE];
	struct pg_pool *pool = new_pool_for_schema(f, owner, 2, url);
	assert_false(works(pool));
	backend_fixture_wait(schema_is_unsupported, pool, TIMEOUT_MS);
	assert_false(pg_pool_is_reachable(pool));
	for (int i = 0; i < 1000; i++)
		assert_false(works(pool));
	assert_in_range(backend_fixture_logged(f, "postgres_schema_too_old"), 1, 3);
	/* The migration runs. */
	char sql[256];
	snprintf(sql, sizeof(sql), "INSERT INTO %s.schema_migrations VALUES (3)", f->unique);
	assert_int_equal(pg_conn_script(owner, sql), OK);
	backend_fixture_wait(works, pool, TIMEOUT_MS);
	assert_true(pg_pool_is_schema_supported(pool));
	/* The version is not queried again. */
	snprintf(sql, sizeof(sql), "DROP SCHEMA %s CASCADE", f->unique);
	assert_int_equal(pg_conn_script(owner, sql), OK);
	struct pg_conn *conns[2];
	for (int i = 0; i < 2; i++)
		assert_int_equal(pg_pool_acquire(pool, &conns[i]), OK);
	for (int i = 0; i < 2; i++)
		pg_pool_release(pool, conns[i]);
	pg_pool_free(pool);
	pg_conn_close(owner);
}

TEST_CASE(waits_for_a_missing_schema)
{
	const struct backend_fixture *f = *state;
	struct pg_conn *owner = backend_fixture_pg(f);
	char url[SCHEMA_URL_SIZE];
	struct pg_pool *pool = new_pool_for_schema(f, owner, 0, url);
	assert_false(works(pool));
	backend_fixture_wait(schema_is_unsupported, pool, TIMEOUT_MS);
	char sql[256];
	snprintf(sql, sizeof(sql), "CREATE TABLE %s.schema_migrations AS SELECT 4 AS version",
	         f->unique);
	assert_int_equal(pg_conn_script(owner, sql), OK);
	backend_fixture_wait(works, pool, TIMEOUT_MS);
	snprintf(sql, sizeof(sql), "DROP SCHEMA %s CASCADE", f->unique);
	assert_int_equal(pg_conn_script(owner, sql), OK);
	pg_pool_free(pool);
	pg_conn_close(owner);
}

TEST_CASE(does_not_call_an_unseen_schema_too_old)
{
	struct backend_fixture *f = *state;
	struct tcp_proxy *proxy = backend_fixture_proxy(f->pg_url, sizeof(f->pg_url));
	tcp_proxy_set_mode(proxy, TCP_PROXY_REFUSE);
	struct pg_pool *pool = new_pool(f, f->pg_url);
	assert_false(works(pool));
	assert_true(pg_pool_is_schema_supported(pool));
	pg_pool_free(pool);
	tcp_proxy_free(proxy);
}

TEST_MAIN(.set_up = backend_fixture_set_up, .tear_down = backend_fixture_tear_down)
