#include <poll.h>
#include <stdint.h>

#include "lib/redis/redis_pipeline.h"
#include "tests/integration/backend/backend_fixture.h"
#include "tests/support/test.h"

#define TIMEOUT_MS 100
#define CALLS 5000

/* The results of the calls of one test. */
struct results {
	struct redis_pipeline *pipeline;
	size_t replied;
	size_t failed;
	bool is_in_order;
	uint64_t run_id;
};

static struct redis_pipeline *new_pipeline(const struct backend_fixture *f, size_t in_flight_max,
                                           int64_t timeout_ms)
{
	struct redis_pipeline *p = NULL;
	assert_int_equal(
		redis_pipeline_new(&(struct redis_pipeline_config){ .url = f->redis_url,
	                                                            .timeout_ms = timeout_ms,
	                                                            .in_flight_max = in_flight_max,
	                                                            .clock = clock_system(),
	                                                            .log = f->log },
	                           &p),
		OK);
	return p;
}

/* One turn of a loop without other work. */
static void run_turn(struct redis_pipeline *p)
{
	struct pollfd entry = { .fd = -1 };
	entry.fd = redis_pipeline_descriptor(p, &entry.events);
	poll(&entry, 1, 5);
	redis_pipeline_receive(p, (entry.revents & (POLLIN | POLLERR | POLLHUP)) != 0);
	redis_pipeline_send(p);
}

static void on_echo(void *ctx, const struct redis_reply *reply, uint64_t run_id)
{
	struct results *results = ctx;
	assert_int_equal(run_id != 0, reply != NULL);
	results->run_id = run_id;
	size_t len = 0;
	const char *bytes = redis_reply_bytes(reply, &len);
	if (!reply)
		results->failed++;
	else
		results->is_in_order = results->is_in_order && bytes &&
		                       strtoull(bytes, NULL, 10) == results->replied++;
}

static enum err echo(struct redis_pipeline *p, size_t number, struct results *results)
{
	char text[24];
	snprintf(text, sizeof(text), "%zu", number);
	const struct redis_arg args[] = { REDIS_TEXT("ECHO"), REDIS_TEXT(text) };
	return redis_pipeline_call(p, args, 2, on_echo, results);
}

/* A call that is too late on a busy machine is no failure of the test: the next one may be in time.
 */
static bool is_connected(void *ctx)
{
	struct results *results = ctx;
	size_t before = results->replied;
	results->failed = 0;
	if (echo(results->pipeline, results->replied, results) != OK)
		return false;
	while (results->replied == before && results->failed == 0)
		run_turn(results->pipeline);
	return results->failed == 0;
}

TEST_CASE(completes_calls_in_order)
{
	struct redis_pipeline *p = new_pipeline(*state, CALLS, TEST_DEADLINE_MS);
	struct results results = { .pipeline = p, .is_in_order = true };
	backend_fixture_wait(is_connected, &results, TEST_DEADLINE_MS);
	size_t first = results.replied;
	for (size_t i = 0; i < CALLS; i++)
		assert_int_equal(echo(p, first + i, &results), OK);
	assert_int_equal(echo(p, 0, &results), ERR_LIMIT);
	while (results.replied < first + CALLS && results.failed == 0)
		run_turn(p);
	assert_int_equal(results.failed, 0);
	assert_true(results.is_in_order);
	assert_int_equal(redis_pipeline_deadline_us(p), INT64_MAX);
	redis_pipeline_free(p);
}

TEST_CASE(ends_every_call_in_time_when_redis_freezes_and_recovers)
{
	struct backend_fixture *f = *state;
	struct tcp_proxy *proxy = backend_fixture_proxy(f->redis_url, sizeof(f->redis_url));
	struct redis_pipeline *p = new_pipeline(f, CALLS, TIMEOUT_MS);
	struct results results = { .pipeline = p, .is_in_order = true };
	backend_fixture_wait(is_connected, &results, TEST_DEADLINE_MS);
	tcp_proxy_set_mode(proxy, TCP_PROXY_FREEZE);
	int64_t begun_ms = backend_fixture_now_ms();
	for (size_t i = 0; i < 10; i++)
		assert_int_equal(echo(p, i, &results), OK);
	while (results.failed < 10)
		run_turn(p);
	int64_t took_ms = backend_fixture_now_ms() - begun_ms;
	assert_true(took_ms >= TIMEOUT_MS - 1);
	test_speed_at_most(took_ms, TIMEOUT_MS + 3000, "ms");
	assert_int_equal(echo(p, 0, &results), ERR_UNAVAILABLE);
	assert_int_equal(redis_pipeline_descriptor(p, &(short){ 0 }), -1);
	tcp_proxy_set_mode(proxy, TCP_PROXY_FORWARD);
	results = (struct results){ .pipeline = p, .is_in_order = true };
	backend_fixture_wait(is_connected, &results, TEST_DEADLINE_MS);
	assert_true(results.is_in_order);
	redis_pipeline_free(p);
	tcp_proxy_free(proxy);
}

TEST_CASE(ends_open_calls_when_the_connection_is_cut)
{
	struct backend_fixture *f = *state;
	struct tcp_proxy *proxy = backend_fixture_proxy(f->redis_url, sizeof(f->redis_url));
	struct redis_pipeline *p = new_pipeline(f, CALLS, TEST_DEADLINE_MS);
	struct results results = { .pipeline = p, .is_in_order = true };
	backend_fixture_wait(is_connected, &results, TEST_DEADLINE_MS);
	tcp_proxy_set_mode(proxy, TCP_PROXY_REFUSE);
	enum err err = echo(p, results.replied, &results);
	for (int64_t begun_ms = backend_fixture_now_ms(); err == OK && results.failed == 0;) {
		run_turn(p);
		assert_true(backend_fixture_now_ms() - begun_ms < TEST_DEADLINE_MS);
	}
	assert_int_equal(echo(p, 0, &results), ERR_UNAVAILABLE);
	tcp_proxy_set_mode(proxy, TCP_PROXY_FORWARD);
	results = (struct results){ .pipeline = p, .is_in_order = true };
	backend_fixture_wait(is_connected, &results, TEST_DEADLINE_MS);
	redis_pipeline_free(p);
	tcp_proxy_free(proxy);
}

TEST_CASE(ends_open_calls_when_freed)
{
	struct redis_pipeline *p = new_pipeline(*state, CALLS, TEST_DEADLINE_MS);
	struct results results = { .pipeline = p, .is_in_order = true };
	backend_fixture_wait(is_connected, &results, TEST_DEADLINE_MS);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(echo(p, i, &results), OK);
	redis_pipeline_free(p);
	assert_int_equal(results.failed, 3);
}

TEST_CASE(reconnects_when_another_run_id_is_required)
{
	struct redis_pipeline *p = new_pipeline(*state, CALLS, TEST_DEADLINE_MS);
	struct results results = { .pipeline = p, .is_in_order = true };
	backend_fixture_wait(is_connected, &results, TEST_DEADLINE_MS);
	redis_pipeline_require_run_id(p, results.run_id);
	assert_int_equal(echo(p, results.replied, &results), OK);
	while (results.replied < 2)
		run_turn(p);
	redis_pipeline_require_run_id(p, results.run_id + 1);
	assert_int_equal(echo(p, results.replied, &results), OK);
	run_turn(p);
	assert_int_equal(results.failed, 1);
	assert_int_equal(redis_pipeline_descriptor(p, &(short){ 0 }), -1);
	results = (struct results){ .pipeline = p, .is_in_order = true };
	backend_fixture_wait(is_connected, &results, TEST_DEADLINE_MS);
	redis_pipeline_free(p);
}

TEST_MAIN(.set_up = backend_fixture_set_up, .tear_down = backend_fixture_tear_down)
