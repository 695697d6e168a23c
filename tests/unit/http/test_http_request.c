#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/clock_fake.h"
#include "tests/support/test.h"
#include "tests/unit/http/http_fixture.h"

#define ASK "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

/* A fixture whose handlers block until the test sets open. */
struct blocking_fixture {
	/* First: the handler's ctx. */
	struct http_fixture f;
	_Atomic unsigned working;
	_Atomic unsigned open;
	_Atomic unsigned released;
	_Atomic unsigned wrong_thread;
	pthread_t loop_thread;
	struct http_exchange *_Atomic pending;
};

static enum http_progress work_until_open(void *ctx, struct http_exchange *x)
{
	struct blocking_fixture *g = ctx;
	if (strcmp(http_exchange_path(x), "/quick") == 0)
		return HTTP_COMPLETE;
	if (!http_exchange_is_on_worker(x)) {
		g->loop_thread = pthread_self();
		return HTTP_NEEDS_WORKER;
	}
	if (pthread_equal(pthread_self(), g->loop_thread))
		atomic_fetch_add(&g->wrong_thread, 1);
	atomic_fetch_add(&g->working, 1);
	if (!http_fixture_wait_for(&g->open, 1))
		http_exchange_set_status(x, 500);
	return HTTP_COMPLETE;
}

TEST_CASE(runs_blocking_handlers_on_workers)
{
	struct blocking_fixture g = { 0 };
	struct http_fixture_response response;
	http_fixture_start(&g.f, http_fixture_config(), work_until_open);
	int blocked = http_fixture_connect(&g.f);
	assert_true(http_fixture_send_text(blocked, ASK));
	assert_true(http_fixture_wait_for(&g.working, 1));
	for (unsigned i = 0; i < 20; i++) { /* the loop still serves requests */
		http_fixture_request(&g.f, "GET /quick HTTP/1.1\r\nHost: a\r\n\r\n", &response);
		assert_int_equal(response.status, 200);
	}
	atomic_store(&g.open, 1);
	int64_t opened_ms = http_fixture_now_ms();
	http_fixture_read_response(blocked, true, &response);
	assert_int_equal(response.status, 200);
	/* The loop was woken, it did not time out. */
	test_speed_at_most(http_fixture_now_ms() - opened_ms, 900, "ms");
	close(blocked);
	assert_int_equal(atomic_load(&g.wrong_thread), 0);
	http_fixture_stop(&g.f, 1000);
}

TEST_CASE(sends_503_when_too_many_requests_wait_for_a_worker)
{
	struct blocking_fixture g = { 0 };
	struct http_server_config config = http_fixture_config();
	config.workers = 1;
	config.worker_queue = 2;
	http_fixture_start(&g.f, config, work_until_open);
	int fds[4];
	for (unsigned i = 0; i < 4; i++) { /* one runs, two wait */
		fds[i] = http_fixture_connect(&g.f);
		assert_true(http_fixture_send_text(fds[i], ASK));
		assert_true(http_fixture_wait_for(i == 0 ? &g.working : &g.f.calls,
		                                  i == 0 ? 1 : i + 2));
	}
	struct http_fixture_response response;
	char value[64];
	http_fixture_read_response(fds[3], true, &response);
	assert_int_equal(response.status, 503);
	assert_string_equal(http_fixture_header(&response, "Retry-After", value, sizeof(value)),
	                    "1");
	atomic_store(&g.open, 1);
	for (unsigned i = 0; i < 3; i++) {
		http_fixture_read_response(fds[i], true, &response);
		assert_int_equal(response.status, 200);
	}
	for (unsigned i = 0; i < 4; i++)
		close(fds[i]);
	http_fixture_stop(&g.f, 1000);
}

/* The second request waits for 1.2 s and the third for 0.6 s until the worker is free. */
TEST_CASE(sends_503_to_a_request_that_waited_too_long_for_a_worker)
{
	struct blocking_fixture g = { 0 };
	struct clock_fake clock;
	clock_fake_init(&clock, 0);
	struct http_server_config config = http_fixture_config();
	config.workers = 1;
	config.worker_wait_ms = 1000;
	config.clock = &clock.clock;
	http_fixture_start(&g.f, config, work_until_open);
	int fds[3];
	for (unsigned i = 0; i < 3; i++) {
		fds[i] = http_fixture_connect(&g.f);
		assert_true(http_fixture_send_text(fds[i], ASK));
		assert_true(http_fixture_wait_for(i == 0 ? &g.working : &g.f.calls,
		                                  i == 0 ? 1 : i + 2));
		clock_fake_advance(&clock, i == 0 ? 0 : 600 * CLOCK_US_PER_MS);
	}
	atomic_store(&g.open, 1);
	static const unsigned statuses[] = { 200, 503, 200 };
	for (unsigned i = 0; i < 3; i++) {
		struct http_fixture_response response;
		char value[64];
		http_fixture_read_response(fds[i], true, &response);
		assert_int_equal(response.status, statuses[i]);
		assert_string_equal(
			http_fixture_header(&response, "Retry-After", value, sizeof(value)),
			i == 1 ? "1" : "");
		close(fds[i]);
	}
	assert_int_equal(atomic_load(&g.working), 2); /* the handler never saw the overdue one */
	http_fixture_stop(&g.f, 1000);
}

static enum http_progress return_pending(void *ctx, struct http_exchange *x)
{
	struct blocking_fixture *g = ctx;
	http_exchange_set_body(x, "text/plain", "begun", 5);
	atomic_store(&g->pending, x);
	return HTTP_PENDING;
}

static void *complete(void *arg)
{
	struct blocking_fixture *g = arg;
	while (atomic_load(&g->open) == 0) {
		struct http_exchange *x = atomic_exchange(&g->pending, NULL);
		if (x == NULL)
			continue;
		http_exchange_set_body(x, "text/plain", "completed", 9);
		http_exchange_resume(x);
	}
	return NULL;
}

/* The other thread resumes at once, so it often runs before the loop suspends the connection. */
TEST_CASE(sends_a_pending_response_when_another_thread_resumes_it)
{
	struct blocking_fixture g = { 0 };
	http_fixture_start(&g.f, http_fixture_config(), return_pending);
	pthread_t thread;
	assert_int_equal(pthread_create(&thread, NULL, complete, &g), 0);
	int fd = http_fixture_connect(&g.f);
	int64_t began_ms = http_fixture_now_ms();
	for (unsigned i = 0; i < 2000; i++) {
		struct http_fixture_response response;
		assert_true(http_fixture_send_text(fd, ASK));
		http_fixture_read_response(fd, true, &response);
		assert_int_equal(response.status, 200);
		assert_string_equal(response.body, "completed");
	}
	test_speed_at_most(http_fixture_now_ms() - began_ms, 20000, "ms");
	close(fd);
	atomic_store(&g.open, 1);
	pthread_join(thread, NULL);
	http_fixture_stop(&g.f, 1000);
}

static enum http_progress resume_at_once(void *ctx, struct http_exchange *x)
{
	(void)ctx;
	http_exchange_set_body(x, "text/plain", "at once", 7);
	http_exchange_resume(x);
	return HTTP_PENDING;
}

TEST_CASE(sends_a_response_that_was_resumed_before_it_was_pending)
{
	struct http_fixture f;
	struct http_fixture_response response;
	http_fixture_start(&f, http_fixture_config(), resume_at_once);
	http_fixture_request(&f, ASK, &response);
	assert_string_equal(response.body, "at once");
	http_fixture_stop(&f, 1000);
}

static void count_release(void *state)
{
	atomic_fetch_add((_Atomic unsigned *)state, 1);
}

static enum http_progress pend_on_worker(void *ctx, struct http_exchange *x)
{
	struct blocking_fixture *g = ctx;
	if (!http_exchange_is_on_worker(x)) {
		http_exchange_set_state(x, &g->released, count_release);
		return HTTP_NEEDS_WORKER;
	}
	atomic_store(&g->pending, x);
	return HTTP_PENDING;
}

TEST_CASE(survives_clients_that_close_while_they_wait)
{
	struct blocking_fixture g = { 0 };
	http_fixture_start(&g.f, http_fixture_config(), pend_on_worker);
	for (unsigned i = 0; i < 50; i++) {
		int fd = http_fixture_connect(&g.f);
		assert_true(http_fixture_send_text(fd, ASK));
		struct http_exchange *x = NULL;
		int64_t until_ms = http_fixture_now_ms() + HTTP_FIXTURE_DEADLINE_MS;
		while ((x = atomic_exchange(&g.pending, NULL)) == NULL)
			assert_true(http_fixture_now_ms() < until_ms);
		close(fd);
		http_exchange_set_body(x, "text/plain", "too late", 8);
		http_exchange_resume(x);
		assert_true(http_fixture_wait_for(&g.released, i + 1));
	}
	http_fixture_stop(&g.f, 1000);
	assert_int_equal(atomic_load(&g.released), 50);
}

static enum http_progress always_block(void *ctx, struct http_exchange *x)
{
	(void)ctx;
	(void)x;
	return HTTP_NEEDS_WORKER;
}

TEST_CASE(sends_500_for_handlers_that_break_the_rules)
{
	int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
	struct log *log = log_new("test", LOG_ERROR, nowhere);
	for (size_t workers = 0; workers < 2; workers++) {
		struct http_fixture f;
		struct http_fixture_response response;
		struct http_server_config config = http_fixture_config();
		config.workers = workers;
		config.log = log;
		http_fixture_start(&f, config, always_block);
		http_fixture_request(&f, ASK, &response);
		assert_int_equal(response.status, 500);
		http_fixture_stop(&f, 1000);
	}
	log_free(log);
	close(nowhere);
}

TEST_MAIN()
