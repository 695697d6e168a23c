/* PostgreSQL comes and goes, and connections end at the worst moments: counted is what was clicked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>
#include <poll.h>

#include "tests/integration/analytics-consumer/commit_fault_proxy.h"
#include "tests/integration/analytics-consumer/world.h"

static void produce_clicks(struct world *world, int count)
{
	for (int i = 0; i < count; i++) {
		struct redirect_event click = world_click(1 + i % 17, (uint32_t)i);
		world_produce(world, &click);
	}
	world_flush(world);
}

static void starts_before_postgres(void **state)
{
	struct world *world = *state;
	world_make_topics(world);
	struct tcp_proxy *proxy = net_fixture_proxy(world->pg_url, sizeof(world->pg_url));
	tcp_proxy_set(proxy, TCP_PROXY_REFUSE);
	struct ingest *ingest = world_start(world);
	produce_clicks(world, 500);
	assert_int_equal(world_counted(world), 0);
	tcp_proxy_set(proxy, TCP_PROXY_FORWARD);
	world_await_counted(world, 500);
	world_stop(world, ingest);
	world_assert_books(world, 500);
	world_close_pool(world);
	tcp_proxy_free(proxy);
}

static void keeps_its_batch_while_postgres_is_frozen(void **state)
{
	struct world *world = *state;
	world_make_topics(world);
	struct tcp_proxy *proxy = net_fixture_proxy(world->pg_url, sizeof(world->pg_url));
	struct ingest *ingest = world_start(world);
	produce_clicks(world, 500);
	world_await_counted(world, 500);
	tcp_proxy_set(proxy, TCP_PROXY_FREEZE);
	produce_clicks(world, 5000);
	assert_int_equal(world_counted(world), 500);
	tcp_proxy_set(proxy, TCP_PROXY_FORWARD);
	world_await_counted(world, 5500);
	world_stop(world, ingest);
	world_assert_books(world, 5500);
	world_close_pool(world);
	tcp_proxy_free(proxy);
}

struct reading {
	struct metrics *metrics;
	int64_t count;
};

static bool has_read(void *ctx)
{
	const struct reading *reading = ctx;
	return net_fixture_metric(reading->metrics, "waymark_events_read_total") >= reading->count;
}

static void gathers_one_batch_more_while_the_one_before_waits_for_postgres(void **state)
{
	enum { BATCH = 200 };
	struct world *world = *state;
	world_make_topics(world);
	struct tcp_proxy *proxy = net_fixture_proxy(world->pg_url, sizeof(world->pg_url));
	world->config.metrics = metrics_new();
	world->config.batch_events = BATCH;
	struct ingest *ingest = world_start(world);
	produce_clicks(world, 1);
	world_await_counted(world, 1);
	tcp_proxy_set(proxy, TCP_PROXY_FREEZE);
	produce_clicks(world, 4 * BATCH);
	/* More than the one that waits, which may have been closed by its time, and no more than two: nothing piles up. */
	struct reading reading = { world->config.metrics, 1 + BATCH + 1 };
	net_fixture_wait(has_read, &reading, WORLD_DEADLINE_MS);
	assert_int_equal(world_counted(world), 1);
	assert_true(net_fixture_metric(reading.metrics, "waymark_events_read_total") <= 1 + 2 * BATCH);
	tcp_proxy_set(proxy, TCP_PROXY_FORWARD);
	world_await_counted(world, 1 + 4 * BATCH);
	world_stop(world, ingest);
	world_assert_books(world, 1 + 4 * BATCH);
	world_close_pool(world);
	metrics_free(reading.metrics);
	world->config.metrics = NULL;
	tcp_proxy_free(proxy);
}

static void counts_once_while_connections_are_cut(void **state)
{
	enum { CUTS = 150, CLICKS_PER_CUT = 60 };
	struct world *world = *state;
	world_make_topics(world);
	struct tcp_proxy *proxy = net_fixture_proxy(world->pg_url, sizeof(world->pg_url));
	world->config.batch_ms = 2;
	struct ingest *ingest = world_start(world);
	produce_clicks(world, 1);
	world_await_counted(world, 1);
	for (int cut = 0; cut < CUTS; cut++) {
		produce_clicks(world, CLICKS_PER_CUT);
		/* Not waiting for anything: any moment of a transaction is as good as another. */
		poll(NULL, 0, cut % 23);
		tcp_proxy_cut(proxy);
	}
	world_await_counted(world, 1 + CUTS * CLICKS_PER_CUT);
	world_stop(world, ingest);
	world_assert_books(world, 1 + CUTS * CLICKS_PER_CUT);
	world_close_pool(world);
	tcp_proxy_free(proxy);
}

static void counts_once_when_nobody_knows_what_became_of_a_commit(void **state)
{
	struct world *world = *state;
	world_make_topics(world);
	struct commit_fault_proxy *cutter = commit_fault_proxy_new(world->pg_url, sizeof(world->pg_url));
	world->config.batch_ms = 2;
	struct ingest *ingest = world_start(world);
	int clicks = 0;
	while (commit_fault_proxy_lost_replies(cutter) < 20) {
		produce_clicks(world, 50);
		clicks += 50;
		world_await_counted(world, clicks);
	}
	world_assert_books(world, clicks);
	assert_true(commit_fault_proxy_lost_requests(cutter) >= 19);
	/* Found out, not tried again: the fence alone would have thrown these batches away. */
	assert_true(net_fixture_logged(world->fixture, "batch_in_doubt_was_stored") >= 19);
	assert_int_equal(net_fixture_logged(world->fixture, "batch_fenced"), 0);
	size_t published = world_read(world, world->visits, (size_t)clicks);
	assert_int_equal(published, clicks);
	world_stop(world, ingest);
	world_close_pool(world);
	commit_fault_proxy_free(cutter);
}

static void ends_at_once_while_postgres_is_away(void **state)
{
	struct world *world = *state;
	world_make_topics(world);
	struct tcp_proxy *proxy = net_fixture_proxy(world->pg_url, sizeof(world->pg_url));
	struct ingest *ingest = world_start(world);
	produce_clicks(world, 100);
	world_await_counted(world, 100);
	tcp_proxy_set(proxy, TCP_PROXY_REFUSE);
	produce_clicks(world, 100);
	int64_t began_ms = net_fixture_now_ms();
	world_stop(world, ingest);
	assert_true(net_fixture_now_ms() - began_ms < 15000);
	tcp_proxy_set(proxy, TCP_PROXY_FORWARD);
	ingest = world_start(world);
	world_await_counted(world, 200);
	world_stop(world, ingest);
	world_assert_books(world, 200);
	world_close_pool(world);
	tcp_proxy_free(proxy);
}

int main(void)
{
#define IN_A_WORLD(test) cmocka_unit_test_setup_teardown(test, world_open, world_close)
	const struct CMUnitTest tests[] = {
		IN_A_WORLD(starts_before_postgres),
		IN_A_WORLD(keeps_its_batch_while_postgres_is_frozen),
		IN_A_WORLD(gathers_one_batch_more_while_the_one_before_waits_for_postgres),
		IN_A_WORLD(counts_once_while_connections_are_cut),
		IN_A_WORLD(counts_once_when_nobody_knows_what_became_of_a_commit),
		IN_A_WORLD(ends_at_once_while_postgres_is_away),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
