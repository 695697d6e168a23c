#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "lib/base/mem.h"
#include "lib/postgres/pg_pool.h"
#include "tests/integration/backend/backend_fixture.h"
#include "tests/support/test.h"

#define STATEMENT_TIMEOUT_MS TEST_DEADLINE_MS
#define CONNECT_TIMEOUT_MS TEST_DEADLINE_MS
/* For a server that does not respond. */
#define SHORT_STATEMENT_TIMEOUT_MS 1000
#define SHORT_CONNECT_TIMEOUT_MS 5000
#define WAIT_MS 200
/* The allowance for a busy machine. */
#define SLACK_MS 3000

static struct pg_pool *new_pool(const struct backend_fixture *f, size_t max, int64_t wait_ms,
                                struct metrics *metrics)
{
	return pg_pool_new(&(struct pg_pool_config){
		.url = f->pg_url,
		.application_name = f->unique,
		.max = max,
		.wait_ms = wait_ms,
		.connect_timeout_ms = CONNECT_TIMEOUT_MS,
		.statement_timeout_ms = STATEMENT_TIMEOUT_MS,
		.clock = clock_system(),
		.log = f->log,
		.metrics = metrics,
	});
}

static bool is_reachable(void *pool)
{
	return pg_pool_is_reachable(pool);
}

static bool is_unreachable(void *pool)
{
	return !pg_pool_is_reachable(pool);
}

/* Acquires a connection and runs a query. */
static enum err use_connection(struct pg_pool *pool)
{
	struct pg_conn *conn = NULL;
	enum err err = pg_pool_acquire(pool, &conn);
	if (err != OK)
		return err;
	err = pg_conn_query(conn, "SELECT 1", NULL, NULL);
	pg_pool_release(pool, conn);
	return err;
}

static bool works(void *pool)
{
	return use_connection(pool) == OK;
}

TEST_CASE(reuses_one_connection)
{
	const struct backend_fixture *f = *state;
	struct pg_pool *pool = new_pool(f, 4, WAIT_MS, NULL);
	struct pg_conn *other = backend_fixture_pg(f);
	struct pg_params p = { 0 };
	pg_params_text(&p, f->unique);
	for (int i = 0; i < 10; i++)
		assert_int_equal(use_connection(pool), OK);
	backend_fixture_wait(is_reachable, pool, TEST_DEADLINE_MS);
	/* The second connection belongs to the health check. */
	assert_in_range(backend_fixture_query_int(
				other,
				"SELECT count(*) FROM pg_stat_activity WHERE application_name = $1",
				&p),
	                1, 2);
	pg_conn_close(other);
	pg_pool_free(pool);
}

TEST_CASE(bounds_the_time_of_waiters)
{
	const struct backend_fixture *f = *state;
	struct metrics *metrics = metrics_new();
	struct pg_pool *pool = new_pool(f, 2, WAIT_MS, metrics);
	struct pg_conn *conns[3] = { NULL };
	assert_int_equal(pg_pool_acquire(pool, &conns[0]), OK);
	assert_int_equal(pg_pool_acquire(pool, &conns[1]), OK);
	int64_t begun_ms = backend_fixture_now_ms();
	assert_int_equal(pg_pool_acquire(pool, &conns[2]), ERR_LIMIT);
	int64_t took_ms = backend_fixture_now_ms() - begun_ms;
	assert_true(took_ms >= 190);
	test_speed_at_most(took_ms, 2000, "ms");
	assert_int_equal(backend_fixture_metric(metrics, "waymark_postgres_connections_busy"), 2);
	assert_int_equal(backend_fixture_metric(metrics, "waymark_postgres_wait_timeouts_total"),
	                 1);
	pg_pool_release(pool, conns[0]);
	assert_int_equal(pg_pool_acquire(pool, &conns[2]), OK);
	pg_pool_release(pool, conns[1]);
	pg_pool_release(pool, conns[2]);
	pg_pool_free(pool);
	metrics_free(metrics);
}

/* Many threads that all need the only connection. */
struct waiters {
	struct pg_pool *pool;
	_Atomic int refused, served;
};

static void *acquire_only_connection(void *arg)
{
	struct waiters *waiters = arg;
	struct pg_conn *conn = NULL;
	enum err err = pg_pool_acquire(waiters->pool, &conn);
	if (err == OK)
		pg_pool_release(waiters->pool, conn);
	waiters->served += err == OK;
	waiters->refused += err == ERR_LIMIT;
	return NULL;
}

static bool all_but_two_are_rejected(void *ctx)
{
	return ((struct waiters *)ctx)->refused == 6;
}

TEST_CASE(rejects_a_waiter_beyond_the_maximum_at_once)
{
	const struct backend_fixture *f = *state;
	struct waiters waiters = { 0 };
	waiters.pool = pg_pool_new(&(struct pg_pool_config){
		.url = f->pg_url,
		.application_name = f->unique,
		.max = 1,
		.waiters_max = 2,
		.wait_ms = 60000,
		.connect_timeout_ms = CONNECT_TIMEOUT_MS,
		.statement_timeout_ms = STATEMENT_TIMEOUT_MS,
		.clock = clock_system(),
		.log = f->log,
	});
	struct pg_conn *conn = NULL;
	pthread_t threads[8];
	assert_int_equal(pg_pool_acquire(waiters.pool, &conn), OK);
	for (int i = 0; i < 8; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, acquire_only_connection, &waiters), 0);
	backend_fixture_wait(all_but_two_are_rejected, &waiters, TEST_DEADLINE_MS);
	pg_pool_release(waiters.pool, conn);
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(waiters.served, 2);
	assert_int_equal(waiters.refused, 6);
	pg_pool_free(waiters.pool);
}

struct user {
	struct pg_pool *pool;
	/* The first error. */
	enum err err;
};

static void *use_repeatedly(void *arg)
{
	struct user *u = arg;
	for (int i = 0; i < 50 && u->err == OK; i++)
		u->err = use_connection(u->pool);
	return NULL;
}

TEST_CASE(gives_released_connections_to_waiters)
{
	struct pg_pool *pool = new_pool(*state, 2, 20000, NULL);
	struct user users[8];
	pthread_t threads[8];
	for (int i = 0; i < 8; i++) {
		users[i] = (struct user){ pool, OK };
		assert_int_equal(pthread_create(&threads[i], NULL, use_repeatedly, &users[i]), 0);
	}
	for (int i = 0; i < 8; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(users[i].err, OK);
	}
	pg_pool_free(pool);
}

TEST_CASE(rolls_back_an_open_transaction)
{
	const struct backend_fixture *f = *state;
	struct pg_pool *pool = new_pool(f, 1, WAIT_MS, NULL);
	struct pg_conn *conn = NULL;
	assert_int_equal(pg_pool_acquire(pool, &conn), OK);
	assert_int_equal(pg_conn_script(conn, "CREATE TEMP TABLE t (a int)"), OK);
	assert_int_equal(pg_conn_begin(conn), OK);
	assert_int_equal(pg_conn_query(conn, "INSERT INTO t VALUES (1)", NULL, NULL), OK);
	pg_pool_release(pool, conn);
	assert_int_equal(pg_pool_acquire(pool, &conn), OK);
	assert_false(pg_conn_in_transaction(conn));
	assert_int_equal(backend_fixture_query_int(conn, "SELECT count(*) FROM t", NULL), 0);
	pg_pool_release(pool, conn);
	pg_pool_free(pool);
}

TEST_CASE(replaces_connections_that_the_server_closed)
{
	const struct backend_fixture *f = *state;
	struct pg_pool *pool = new_pool(f, 3, WAIT_MS, NULL);
	struct pg_conn *conns[3];
	struct pg_conn *other = backend_fixture_pg(f);
	for (int i = 0; i < 3; i++)
		assert_int_equal(pg_pool_acquire(pool, &conns[i]), OK);
	for (int i = 0; i < 3; i++)
		pg_pool_release(pool, conns[i]);
	struct pg_params p = { 0 };
	pg_params_text(&p, f->unique);
	assert_int_equal(
		pg_conn_query(other,
	                      "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
	                      "WHERE application_name = $1",
	                      &p, NULL),
		OK);
	for (int i = 0; i < 10; i++)
		assert_int_equal(use_connection(pool), OK);
	pg_conn_close(other);
	pg_pool_free(pool);
}

TEST_CASE(reports_a_broken_connection_and_continues)
{
	const struct backend_fixture *f = *state;
	struct pg_pool *pool = new_pool(f, 1, WAIT_MS, NULL);
	struct pg_conn *conn = NULL;
	struct pg_conn *other = backend_fixture_pg(f);
	assert_int_equal(pg_pool_acquire(pool, &conn), OK);
	struct pg_params p = { 0 };
	pg_params_int(&p, backend_fixture_query_int(conn, "SELECT pg_backend_pid()", NULL));
	assert_int_equal(
		pg_conn_query(other, "SELECT pg_terminate_backend($1::int, 5000)", &p, NULL), OK);
	assert_int_equal(pg_conn_query(conn, "SELECT 1", NULL, NULL), ERR_UNAVAILABLE);
	pg_pool_release(pool, conn);
	assert_int_equal(use_connection(pool), OK);
	pg_conn_close(other);
	pg_pool_free(pool);
}

TEST_CASE(starts_without_a_server_and_connects_later)
{
	struct backend_fixture *f = *state;
	struct tcp_proxy *proxy = backend_fixture_proxy(f->pg_url, sizeof(f->pg_url));
	tcp_proxy_set_mode(proxy, TCP_PROXY_REFUSE);
	struct pg_pool *pool = new_pool(f, 2, WAIT_MS, NULL);
	assert_int_equal(use_connection(pool), ERR_UNAVAILABLE);
	assert_false(pg_pool_is_reachable(pool));
	tcp_proxy_set_mode(proxy, TCP_PROXY_FORWARD);
	backend_fixture_wait(works, pool, TEST_DEADLINE_MS);
	assert_true(pg_pool_is_reachable(pool));
	pg_pool_free(pool);
	tcp_proxy_free(proxy);
}

TEST_CASE(survives_a_restart_of_the_server)
{
	struct backend_fixture *f = *state;
	struct metrics *metrics = metrics_new();
	struct tcp_proxy *proxy = backend_fixture_proxy(f->pg_url, sizeof(f->pg_url));
	struct pg_pool *pool = new_pool(f, 2, WAIT_MS, metrics);
	assert_int_equal(use_connection(pool), OK);
	backend_fixture_wait(is_reachable, pool, TEST_DEADLINE_MS);
	tcp_proxy_set_mode(proxy, TCP_PROXY_REFUSE);
	assert_int_equal(use_connection(pool), ERR_UNAVAILABLE);
	backend_fixture_wait(is_unreachable, pool, TEST_DEADLINE_MS);
	/* During an outage callers do not connect, and the log stays short. */
	for (int i = 0; i < 1000; i++)
		assert_int_equal(use_connection(pool), ERR_UNAVAILABLE);
	assert_in_range(backend_fixture_metric(metrics, "waymark_postgres_connect_failures_total"),
	                1, 50);
	assert_in_range(backend_fixture_logged(f, "postgres_cannot_connect"), 0, 3);
	tcp_proxy_set_mode(proxy, TCP_PROXY_FORWARD);
	backend_fixture_wait(works, pool, TEST_DEADLINE_MS);
	assert_int_equal(backend_fixture_logged(f, "postgres_reachable_again"), 1);
	pg_pool_free(pool);
	tcp_proxy_free(proxy);
	metrics_free(metrics);
}

struct caller {
	struct pg_pool *pool;
	/* Sum over all calls. */
	int64_t waited_ms;
	int succeeded;
};

static void *call_during_freeze(void *arg)
{
	struct caller *s = arg;
	for (int i = 0; i < 2000; i++) {
		int64_t begun_ms = backend_fixture_now_ms();
		s->succeeded += use_connection(s->pool) == OK;
		s->waited_ms += backend_fixture_now_ms() - begun_ms;
	}
	return NULL;
}

TEST_CASE(costs_callers_one_timeout_when_the_server_freezes)
{
	struct backend_fixture *f = *state;
	struct tcp_proxy *proxy = backend_fixture_proxy(f->pg_url, sizeof(f->pg_url));
	struct pg_pool *pool = pg_pool_new(&(struct pg_pool_config){
		.url = f->pg_url,
		.application_name = f->unique,
		.max = 4,
		.wait_ms = WAIT_MS,
		.connect_timeout_ms = SHORT_CONNECT_TIMEOUT_MS,
		.statement_timeout_ms = SHORT_STATEMENT_TIMEOUT_MS,
		.clock = clock_system(),
		.log = f->log,
	});
	struct pg_conn *conns[4];
	for (int i = 0; i < 4; i++)
		assert_int_equal(pg_pool_acquire(pool, &conns[i]), OK);
	for (int i = 0; i < 4; i++)
		pg_pool_release(pool, conns[i]);
	backend_fixture_wait(is_reachable, pool, TEST_DEADLINE_MS);
	tcp_proxy_set_mode(proxy, TCP_PROXY_FREEZE);
	struct caller sufferers[4];
	pthread_t threads[4];
	for (int i = 0; i < 4; i++) {
		sufferers[i] = (struct caller){ .pool = pool };
		assert_int_equal(
			pthread_create(&threads[i], NULL, call_during_freeze, &sufferers[i]), 0);
	}
	int64_t most_ms = 0;
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(sufferers[i].succeeded, 0);
		/* A timeout per call would add up to half an hour. */
		assert_in_range(sufferers[i].waited_ms, 0, TEST_DEADLINE_MS);
		if (sufferers[i].waited_ms > most_ms)
			most_ms = sufferers[i].waited_ms;
	}
	test_speed_at_most(most_ms, SHORT_STATEMENT_TIMEOUT_MS + 1000 + SLACK_MS, "ms");
	assert_false(pg_pool_is_reachable(pool));
	tcp_proxy_set_mode(proxy, TCP_PROXY_FORWARD);
	backend_fixture_wait(works, pool, TEST_DEADLINE_MS);
	pg_pool_free(pool);
	tcp_proxy_free(proxy);
}

TEST_CASE(detects_a_dead_server_within_seconds_without_callers)
{
	struct backend_fixture *f = *state;
	struct tcp_proxy *proxy = backend_fixture_proxy(f->pg_url, sizeof(f->pg_url));
	struct pg_pool *pool = new_pool(f, 1, WAIT_MS, NULL);
	backend_fixture_wait(is_reachable, pool, TEST_DEADLINE_MS);
	tcp_proxy_set_mode(proxy, TCP_PROXY_REFUSE);
	backend_fixture_wait(is_unreachable, pool, TEST_DEADLINE_MS);
	tcp_proxy_set_mode(proxy, TCP_PROXY_FORWARD);
	backend_fixture_wait(is_reachable, pool, TEST_DEADLINE_MS);
	pg_pool_free(pool);
	tcp_proxy_free(proxy);
}

TEST_MAIN(.set_up = backend_fixture_set_up, .tear_down = backend_fixture_tear_down)
