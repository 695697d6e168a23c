#include <semaphore.h>
#include <stdatomic.h>

#include "lib/base/conn_pool.h"
#include "tests/support/test.h"

#define WAIT_MS TEST_DEADLINE_MS

/* Its one probe waits until it may answer. */
struct server {
	sem_t probed;
	sem_t may_answer;
	_Atomic bool refuses;
};

static enum err open_conn(void *ctx, bool for_health_check, void **conn)
{
	struct server *server = ctx;
	(void)for_health_check;
	*conn = server;
	return server->refuses ? ERR_UNAVAILABLE : OK;
}

static enum err probe(void *ctx, void *conn)
{
	struct server *server = ctx;
	(void)conn;
	sem_post(&server->probed);
	sem_wait(&server->may_answer);
	return OK;
}

static void close_conn(void *conn)
{
	(void)conn;
}

static bool yes(const void *conn)
{
	(void)conn;
	return true;
}

static bool no(const void *conn)
{
	(void)conn;
	return false;
}

static bool is_alive(void *conn)
{
	return yes(conn);
}

static const struct conn_pool_kind kind = {
	.open = open_conn,
	.close = close_conn,
	.is_alive = is_alive,
	.probe = probe,
	.is_usable = yes,
	.timed_out = no,
	.thread_name = "health",
	.event_reachable = "reachable_again",
	.event_unreachable = "cannot_connect",
};

TEST_CASE(does_not_trust_a_probe_that_began_before_the_outage)
{
	struct server server = { 0 };
	sem_init(&server.probed, 0, 0);
	sem_init(&server.may_answer, 0, 0);
	struct conn_pool *pool = conn_pool_new(&(struct conn_pool_config){
		.kind = &kind,
		.ctx = &server,
		.max = 1,
		.wait_ms = WAIT_MS,
		.connect_timeout_ms = WAIT_MS,
		.check_ms = WAIT_MS,
		.check_failing_ms = WAIT_MS,
		.clock = clock_system(),
	});
	void *conn = NULL;
	sem_wait(&server.probed);
	server.refuses = true;
	assert_int_equal(conn_pool_acquire(pool, &conn), ERR_UNAVAILABLE);
	sem_post(&server.may_answer);
	for (int i = 0; i < WAIT_MS / 10 && !conn_pool_is_down(pool, 0); i++)
		poll(NULL, 0, 10);
	assert_true(conn_pool_is_down(pool, 0));
	assert_false(conn_pool_is_reachable(pool));
	conn_pool_free(pool);
	sem_destroy(&server.probed);
	sem_destroy(&server.may_answer);
}

TEST_MAIN()
