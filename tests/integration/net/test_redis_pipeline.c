#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>
#include <poll.h>

#include "lib/net/redis_pipeline.h"
#include "tests/integration/net/net_fixture.h"

#define TIMEOUT_MS 100
#define CALLS 5000

/* What was told of the calls of one test, in the order of telling. */
struct told {
	struct redis_pipeline *pipeline;
	size_t answered;
	size_t away;
	bool is_in_order;
	uint64_t server;
};

static struct redis_pipeline *new_pipeline(const struct net_fixture *f, size_t in_flight_max)
{
	struct redis_pipeline *p = NULL;
	assert_int_equal(redis_pipeline_new(&(struct redis_pipeline_config){ .url = f->redis_url,
	                                                                     .timeout_ms = TIMEOUT_MS,
	                                                                     .in_flight_max = in_flight_max,
	                                                                     .clock = clock_system(),
	                                                                     .log = f->log },
	                                    &p),
	                 OK);
	return p;
}

/* One turn of a loop that has nothing else to do. */
static void take_turn(struct redis_pipeline *p)
{
	struct pollfd entry = { .fd = -1 };
	entry.fd = redis_pipeline_descriptor(p, &entry.events);
	poll(&entry, 1, 5);
	redis_pipeline_receive(p, (entry.revents & (POLLIN | POLLERR | POLLHUP)) != 0);
	redis_pipeline_send(p);
}

static void take_echo(void *ctx, const struct redis_reply *reply, uint64_t server)
{
	struct told *told = ctx;
	assert_int_equal(server != 0, reply != NULL);
	told->server = server;
	size_t len = 0;
	const char *bytes = redis_reply_bytes(reply, &len);
	if (!reply)
		told->away++;
	else
		told->is_in_order = told->is_in_order && bytes && strtoull(bytes, NULL, 10) == told->answered++;
}

static enum err echo(struct redis_pipeline *p, size_t number, struct told *told)
{
	char text[24];
	snprintf(text, sizeof(text), "%zu", number);
	const struct redis_arg args[] = { REDIS_TEXT("ECHO"), REDIS_TEXT(text) };
	return redis_pipeline_call(p, args, 2, take_echo, told);
}

static bool is_connected(void *ctx)
{
	struct told *told = ctx;
	size_t before = told->answered + told->away;
	if (echo(told->pipeline, told->answered, told) != OK)
		return false;
	while (told->answered + told->away == before)
		take_turn(told->pipeline);
	return told->away == 0;
}

static void hands_replies_out_in_the_order_of_the_calls(void **state)
{
	struct redis_pipeline *p = new_pipeline(*state, CALLS);
	struct told told = { .pipeline = p, .is_in_order = true };
	net_fixture_wait(is_connected, &told, 5000);
	size_t first = told.answered;
	for (size_t i = 0; i < CALLS; i++)
		assert_int_equal(echo(p, first + i, &told), OK);
	assert_int_equal(echo(p, 0, &told), ERR_LIMIT);
	while (told.answered < first + CALLS && told.away == 0)
		take_turn(p);
	assert_int_equal(told.away, 0);
	assert_true(told.is_in_order);
	assert_int_equal(redis_pipeline_deadline_us(p), INT64_MAX);
	redis_pipeline_free(p);
}

static void ends_every_call_in_time_when_redis_freezes_and_comes_back(void **state)
{
	struct net_fixture *f = *state;
	struct tcp_proxy *proxy = net_fixture_proxy(f->redis_url, sizeof(f->redis_url));
	struct redis_pipeline *p = new_pipeline(f, CALLS);
	struct told told = { .pipeline = p, .is_in_order = true };
	net_fixture_wait(is_connected, &told, 5000);
	tcp_proxy_set(proxy, TCP_PROXY_FREEZE);
	int64_t begun_ms = net_fixture_now_ms();
	for (size_t i = 0; i < 10; i++)
		assert_int_equal(echo(p, i, &told), OK);
	while (told.away < 10)
		take_turn(p);
	assert_in_range(net_fixture_now_ms() - begun_ms, TIMEOUT_MS - 1, TIMEOUT_MS + 3000);
	assert_int_equal(echo(p, 0, &told), ERR_UNAVAILABLE);
	assert_int_equal(redis_pipeline_descriptor(p, &(short){ 0 }), -1);
	tcp_proxy_set(proxy, TCP_PROXY_FORWARD);
	told = (struct told){ .pipeline = p, .is_in_order = true };
	net_fixture_wait(is_connected, &told, 5000);
	assert_true(told.is_in_order);
	redis_pipeline_free(p);
	tcp_proxy_free(proxy);
}

static void ends_what_waits_when_the_connection_is_cut(void **state)
{
	struct net_fixture *f = *state;
	struct tcp_proxy *proxy = net_fixture_proxy(f->redis_url, sizeof(f->redis_url));
	struct redis_pipeline *p = new_pipeline(f, CALLS);
	struct told told = { .pipeline = p, .is_in_order = true };
	net_fixture_wait(is_connected, &told, 5000);
	tcp_proxy_set(proxy, TCP_PROXY_REFUSE);
	enum err err = echo(p, told.answered, &told);
	for (int64_t begun_ms = net_fixture_now_ms(); err == OK && told.away == 0;) {
		take_turn(p);
		assert_in_range(net_fixture_now_ms() - begun_ms, 0, 3000);
	}
	assert_int_equal(echo(p, 0, &told), ERR_UNAVAILABLE);
	tcp_proxy_set(proxy, TCP_PROXY_FORWARD);
	told = (struct told){ .pipeline = p, .is_in_order = true };
	net_fixture_wait(is_connected, &told, 5000);
	redis_pipeline_free(p);
	tcp_proxy_free(proxy);
}

static void ends_what_waits_when_it_is_freed(void **state)
{
	struct redis_pipeline *p = new_pipeline(*state, CALLS);
	struct told told = { .pipeline = p, .is_in_order = true };
	net_fixture_wait(is_connected, &told, 5000);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(echo(p, i, &told), OK);
	redis_pipeline_free(p);
	assert_int_equal(told.away, 3);
}

static void leaves_a_server_that_is_not_the_one_demanded(void **state)
{
	struct redis_pipeline *p = new_pipeline(*state, CALLS);
	struct told told = { .pipeline = p, .is_in_order = true };
	net_fixture_wait(is_connected, &told, 5000);
	redis_pipeline_demand(p, told.server);
	assert_int_equal(echo(p, told.answered, &told), OK);
	while (told.answered < 2)
		take_turn(p);
	redis_pipeline_demand(p, told.server + 1);
	assert_int_equal(echo(p, told.answered, &told), OK);
	take_turn(p);
	assert_int_equal(told.away, 1);
	assert_int_equal(redis_pipeline_descriptor(p, &(short){ 0 }), -1);
	told = (struct told){ .pipeline = p, .is_in_order = true };
	net_fixture_wait(is_connected, &told, 5000);
	redis_pipeline_free(p);
}

static void refuses_a_url_of_another_form(void **state)
{
	struct net_fixture *f = *state;
	struct redis_pipeline *p = NULL;
	const struct redis_pipeline_config config = { .url = "http://127.0.0.1", .in_flight_max = 1, .log = f->log };
	assert_int_equal(redis_pipeline_new(&config, &p), ERR_INVALID);
}

#define WITH_FIXTURE(test) cmocka_unit_test_setup_teardown(test, net_fixture_set_up, net_fixture_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_FIXTURE(hands_replies_out_in_the_order_of_the_calls),
		WITH_FIXTURE(ends_every_call_in_time_when_redis_freezes_and_comes_back),
		WITH_FIXTURE(ends_what_waits_when_the_connection_is_cut),
		WITH_FIXTURE(ends_what_waits_when_it_is_freed),
		WITH_FIXTURE(leaves_a_server_that_is_not_the_one_demanded),
		WITH_FIXTURE(refuses_a_url_of_another_form),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
