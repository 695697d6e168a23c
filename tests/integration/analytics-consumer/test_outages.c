/*
 * PostgreSQL fails and recovers, and connections break at the worst moments. Every click is counted
 * once.
 */
#include <poll.h>
#include <stdint.h>

#include "tests/integration/analytics-consumer/commit_fault_proxy.h"
#include "tests/integration/analytics-consumer/consumer_fixture.h"
#include "tests/support/test.h"

TEST_CASE(starts_before_postgres_is_up)
{
	struct consumer_fixture *fixture = *state;
	struct tcp_proxy *proxy = backend_fixture_proxy(fixture->pg_url, sizeof(fixture->pg_url));
	tcp_proxy_set_mode(proxy, TCP_PROXY_REFUSE);
	struct ingest *ingest = consumer_fixture_start(fixture);
	consumer_fixture_produce_clicks(fixture, 500);
	assert_int_equal(consumer_fixture_counted(fixture), 0);
	tcp_proxy_set_mode(proxy, TCP_PROXY_FORWARD);
	consumer_fixture_await_counted(fixture, 500);
	consumer_fixture_stop(fixture, ingest);
	consumer_fixture_assert_ledger(fixture, 500);
	consumer_fixture_close_pool(fixture);
	tcp_proxy_free(proxy);
}

TEST_CASE(keeps_its_batch_while_postgres_is_frozen)
{
	struct consumer_fixture *fixture = *state;
	struct tcp_proxy *proxy = backend_fixture_proxy(fixture->pg_url, sizeof(fixture->pg_url));
	struct ingest *ingest = consumer_fixture_start(fixture);
	consumer_fixture_produce_clicks(fixture, 500);
	consumer_fixture_await_counted(fixture, 500);
	tcp_proxy_set_mode(proxy, TCP_PROXY_FREEZE);
	consumer_fixture_produce_clicks(fixture, 5000);
	assert_int_equal(consumer_fixture_counted(fixture), 500);
	tcp_proxy_set_mode(proxy, TCP_PROXY_FORWARD);
	consumer_fixture_await_counted(fixture, 5500);
	consumer_fixture_stop(fixture, ingest);
	consumer_fixture_assert_ledger(fixture, 5500);
	consumer_fixture_close_pool(fixture);
	tcp_proxy_free(proxy);
}

struct reading {
	struct metrics *metrics;
	int64_t count;
};

static bool has_read(void *ctx)
{
	const struct reading *reading = ctx;
	return backend_fixture_metric(reading->metrics, "waymark_events_read_total") >=
	       reading->count;
}

struct marking {
	const struct consumer_fixture *fixture;
	int64_t before_us;
};

static int64_t newest_mark_us(const struct consumer_fixture *fixture)
{
	return test_database_ask(fixture->database, "SELECT (extract(epoch FROM max(as_of)) * "
	                                            "1000000)::bigint FROM consumer_offsets");
}

static bool has_marked(void *ctx)
{
	const struct marking *marking = ctx;
	return newest_mark_us(marking->fixture) > marking->before_us;
}

/*
 * Every second the consumer stores that it has reached the ends. Frozen in that statement it would
 * read nothing more.
 */
static void wait_for_mark(const struct consumer_fixture *fixture)
{
	struct marking marking = { fixture, newest_mark_us(fixture) };
	backend_fixture_wait(has_marked, &marking, CONSUMER_FIXTURE_DEADLINE_MS);
}

TEST_CASE(gathers_only_one_more_batch_while_postgres_is_frozen)
{
	enum { BATCH = 200 };
	struct consumer_fixture *fixture = *state;
	struct tcp_proxy *proxy = backend_fixture_proxy(fixture->pg_url, sizeof(fixture->pg_url));
	fixture->config.metrics = metrics_new();
	fixture->config.batch_events = BATCH;
	struct ingest *ingest = consumer_fixture_start(fixture);
	consumer_fixture_produce_clicks(fixture, 1);
	consumer_fixture_await_counted(fixture, 1);
	wait_for_mark(fixture);
	tcp_proxy_set_mode(proxy, TCP_PROXY_FREEZE);
	consumer_fixture_produce_clicks(fixture, 4 * BATCH);
	/*
	 * More than the waiting batch, which its timer may have closed early, but never more than
	 * two batches.
	 */
	struct reading reading = { fixture->config.metrics, 1 + BATCH + 1 };
	backend_fixture_wait(has_read, &reading, CONSUMER_FIXTURE_DEADLINE_MS);
	assert_int_equal(consumer_fixture_counted(fixture), 1);
	assert_true(backend_fixture_metric(reading.metrics, "waymark_events_read_total") <=
	            1 + 2 * BATCH);
	tcp_proxy_set_mode(proxy, TCP_PROXY_FORWARD);
	consumer_fixture_await_counted(fixture, 1 + 4 * BATCH);
	consumer_fixture_stop(fixture, ingest);
	consumer_fixture_assert_ledger(fixture, 1 + 4 * BATCH);
	consumer_fixture_close_pool(fixture);
	metrics_free(reading.metrics);
	fixture->config.metrics = NULL;
	tcp_proxy_free(proxy);
}

TEST_CASE(counts_once_while_connections_are_closed)
{
	enum { CUTS = 150, CLICKS_PER_CUT = 60 };
	struct consumer_fixture *fixture = *state;
	struct tcp_proxy *proxy = backend_fixture_proxy(fixture->pg_url, sizeof(fixture->pg_url));
	fixture->config.batch_ms = 2;
	struct ingest *ingest = consumer_fixture_start(fixture);
	consumer_fixture_produce_clicks(fixture, 1);
	consumer_fixture_await_counted(fixture, 1);
	for (int cut = 0; cut < CUTS; cut++) {
		consumer_fixture_produce_clicks(fixture, CLICKS_PER_CUT);
		/*
		 * Not a wait for a condition: spreads the failures over all moments of a
		 * transaction.
		 */
		poll(NULL, 0, cut % 23);
		tcp_proxy_cut(proxy);
	}
	consumer_fixture_await_counted(fixture, 1 + CUTS * CLICKS_PER_CUT);
	consumer_fixture_stop(fixture, ingest);
	consumer_fixture_assert_ledger(fixture, 1 + CUTS * CLICKS_PER_CUT);
	consumer_fixture_close_pool(fixture);
	tcp_proxy_free(proxy);
}

TEST_CASE(counts_once_when_the_outcome_of_a_commit_is_unknown)
{
	struct consumer_fixture *fixture = *state;
	struct commit_fault_proxy *proxy =
		commit_fault_proxy_new(fixture->pg_url, sizeof(fixture->pg_url));
	fixture->config.batch_ms = 2;
	struct ingest *ingest = consumer_fixture_start(fixture);
	int clicks = 0;
	while (commit_fault_proxy_lost_replies(proxy) < 20) {
		consumer_fixture_produce_clicks(fixture, 50);
		clicks += 50;
		consumer_fixture_await_counted(fixture, clicks);
	}
	consumer_fixture_assert_ledger(fixture, clicks);
	assert_true(commit_fault_proxy_lost_requests(proxy) >= 19);
	/* The outcome was looked up. The fence alone would have discarded these batches. */
	assert_true(backend_fixture_logged(fixture->backend, "batch_in_doubt_was_stored") >= 19);
	assert_int_equal(backend_fixture_logged(fixture->backend, "batch_fenced"), 0);
	size_t published = consumer_fixture_read(fixture, fixture->visits, (size_t)clicks);
	assert_int_equal(published, clicks);
	consumer_fixture_stop(fixture, ingest);
	consumer_fixture_close_pool(fixture);
	commit_fault_proxy_free(proxy);
}

TEST_CASE(stops_quickly_while_postgres_is_down)
{
	struct consumer_fixture *fixture = *state;
	struct tcp_proxy *proxy = backend_fixture_proxy(fixture->pg_url, sizeof(fixture->pg_url));
	struct ingest *ingest = consumer_fixture_start(fixture);
	consumer_fixture_produce_clicks(fixture, 100);
	consumer_fixture_await_counted(fixture, 100);
	tcp_proxy_set_mode(proxy, TCP_PROXY_REFUSE);
	consumer_fixture_produce_clicks(fixture, 100);
	int64_t began_ms = backend_fixture_now_ms();
	consumer_fixture_stop(fixture, ingest);
	test_speed_at_most(backend_fixture_now_ms() - began_ms, 15000, "ms");
	tcp_proxy_set_mode(proxy, TCP_PROXY_FORWARD);
	ingest = consumer_fixture_start(fixture);
	consumer_fixture_await_counted(fixture, 200);
	consumer_fixture_stop(fixture, ingest);
	consumer_fixture_assert_ledger(fixture, 200);
	consumer_fixture_close_pool(fixture);
	tcp_proxy_free(proxy);
}

TEST_MAIN(.set_up = consumer_fixture_open, .tear_down = consumer_fixture_close)
