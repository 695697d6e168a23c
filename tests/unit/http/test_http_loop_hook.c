/*
 * HTTP_PENDING_ON_LOOP: the loop hook completes what the handler started, in the thread of the
 * loop.
 */
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/test.h"
#include "tests/unit/http/http_fixture.h"

#define ASK "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
#define WAITING_MAX 64

/*
 * Handlers leave exchanges in waiting. The hook completes them in a later turn, when the test wakes
 * it.
 */
struct hook_fixture {
	/* First: the handler's ctx. */
	struct http_fixture f;
	struct http_loop_hook hook;
	struct http_exchange *waiting[WAITING_MAX];
	unsigned count;
	/* An eventfd that wakes the hook. */
	int event_fd;
	/* The hook completes nothing. */
	_Atomic bool is_paused;
	/* Exchanges in waiting. */
	_Atomic unsigned waiting_count;
	_Atomic unsigned completed;
	_Atomic unsigned abandoned;
	_Atomic unsigned released;
	_Atomic unsigned turns;
	bool uses_other_thread;
	/* For the other thread. */
	struct http_exchange *_Atomic handed_over;
	_Atomic bool is_stopping;
};

static void wake_hook(struct hook_fixture *d)
{
	uint64_t one = 1;
	assert_int_equal(write(d->event_fd, &one, sizeof(one)), sizeof(one));
}

static void complete(struct hook_fixture *d, struct http_exchange *x)
{
	atomic_fetch_add(http_exchange_is_abandoned(x) ? &d->abandoned : &d->completed, 1);
	http_exchange_set_body(x, "text/plain", "completed", 9);
	http_exchange_resume(x);
}

static void *run_other_thread(void *arg)
{
	struct hook_fixture *d = arg;
	while (!atomic_load(&d->is_stopping)) {
		struct http_exchange *x = atomic_exchange(&d->handed_over, NULL);
		if (x != NULL)
			complete(d, x);
	}
	return NULL;
}

static void hand_over(struct hook_fixture *d, struct http_exchange *x)
{
	http_exchange_suspend(x);
	atomic_store(&d->handed_over, x);
}

static void complete_all(struct hook_fixture *d)
{
	unsigned count = d->count;
	d->count = 0;
	atomic_store(&d->waiting_count, 0);
	for (unsigned i = 0; i < count; i++)
		if (d->uses_other_thread)
			hand_over(d, d->waiting[i]);
		else
			complete(d, d->waiting[i]);
}

static void *start_hook(void *ctx)
{
	return ctx;
}

static int descriptor(void *state, short *events)
{
	*events = POLLIN;
	return ((struct hook_fixture *)state)->event_fd;
}

static int64_t no_deadline(void *state)
{
	(void)state;
	return INT64_MAX;
}

static void before_requests(void *state, bool is_readable)
{
	struct hook_fixture *d = state;
	uint64_t rings;
	atomic_fetch_add(&d->turns, 1);
	if (!is_readable || atomic_load(&d->is_paused))
		return;
	assert_int_equal(read(d->event_fd, &rings, sizeof(rings)), sizeof(rings));
	complete_all(d);
}

/* Completes all exchanges at once, like a connection that breaks. */
static void stop_hook(void *state)
{
	complete_all(state);
}

static void after_requests(void *state)
{
	(void)state;
}

static void count_release(void *state)
{
	atomic_fetch_add((_Atomic unsigned *)state, 1);
}

static enum http_progress wait_for_hook(void *ctx, struct http_exchange *x)
{
	struct hook_fixture *d = ctx;
	assert_true(d->count < WAITING_MAX);
	http_exchange_set_state(x, &d->released, count_release);
	d->waiting[d->count++] = x;
	atomic_fetch_add(&d->waiting_count, 1);
	if (!atomic_load(&d->is_paused))
		wake_hook(d);
	return HTTP_PENDING_ON_LOOP;
}

static void start(struct hook_fixture *d, http_handler handler)
{
	*d = (struct hook_fixture){ .event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) };
	d->hook = (struct http_loop_hook){
		start_hook, descriptor, no_deadline, before_requests, after_requests, stop_hook, d
	};
	struct http_server_config config = http_fixture_config();
	config.loop_hook = &d->hook;
	http_fixture_start(&d->f, config, handler);
}

static void stop(struct hook_fixture *d)
{
	http_fixture_stop(&d->f, 200);
	close(d->event_fd);
}

static void expect_completed(int fd)
{
	struct http_fixture_response response;
	http_fixture_read_response(fd, true, &response);
	assert_int_equal(response.status, 200);
	assert_string_equal(response.body, "completed");
}

TEST_CASE(sends_what_the_hook_completes)
{
	struct hook_fixture d;
	start(&d, wait_for_hook);
	int fd = http_fixture_connect(&d.f);
	for (unsigned i = 0; i < 2000; i++) {
		assert_true(http_fixture_send_text(fd, ASK));
		expect_completed(fd);
	}
	assert_true(http_fixture_send_text(
		fd, ASK ASK ASK)); /* pipelined; each gets its own response */
	for (unsigned i = 0; i < 3; i++)
		expect_completed(fd);
	close(fd);
	assert_true(http_fixture_wait_for(&d.released, 2003));
	assert_int_equal(atomic_load(&d.f.calls), 2003);
	stop(&d);
}

/*
 * The library reports work all the time then. The loop must neither spin nor starve other
 * connections.
 */
TEST_CASE(serves_others_while_one_is_pending)
{
	struct hook_fixture d;
	struct http_fixture_response response;
	start(&d, wait_for_hook);
	atomic_store(&d.is_paused, true);
	int waiting = http_fixture_connect(&d.f);
	assert_true(http_fixture_send_text(waiting, ASK));
	assert_true(http_fixture_wait_for(&d.waiting_count, 1));
	int64_t began_ms = http_fixture_now_ms();
	unsigned turns = atomic_load(&d.turns);
	for (unsigned i = 0; i < 50; i++) {
		http_fixture_request(&d.f, "GET / HTTP/1.1\r\n\r\n", &response);
		assert_int_equal(response.status, 400);
	}
	int64_t took_ms = http_fixture_now_ms() - began_ms;
	test_speed_at_most(took_ms, 5000, "ms");
	assert_true(atomic_load(&d.turns) - turns <= (unsigned)took_ms + 50 * 10);
	atomic_store(&d.is_paused, false);
	wake_hook(&d);
	expect_completed(waiting);
	close(waiting);
	stop(&d);
}

/* Resets the connection. The library notices that at once if the connection is not suspended. */
static void hang_up(int fd)
{
	struct linger now = { .l_onoff = 1, .l_linger = 0 };
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now)), 0);
	close(fd);
}

/* Each response takes at least one turn, so the library then has seen the closed connections. */
static void make_turns(struct hook_fixture *d)
{
	struct http_fixture_response response;
	for (unsigned i = 0; i < 5; i++)
		http_fixture_request(&d->f, "GET / HTTP/1.1\r\n\r\n", &response);
}

TEST_CASE(survives_clients_that_close_while_pending)
{
	struct hook_fixture d;
	start(&d, wait_for_hook);
	atomic_store(&d.is_paused, true);
	for (unsigned i = 0; i < 20; i++) {
		int fd = http_fixture_connect(&d.f);
		assert_true(http_fixture_send_text(fd, ASK));
		assert_true(http_fixture_wait_for(&d.waiting_count, i + 1));
		hang_up(fd);
	}
	make_turns(&d);
	assert_int_equal(atomic_load(&d.released), 0);
	atomic_store(&d.is_paused, false);
	wake_hook(&d);
	assert_true(http_fixture_wait_for(&d.released, 20));
	assert_int_equal(atomic_load(&d.abandoned), 20);
	int fd = http_fixture_connect(&d.f); /* their records are not used again before */
	assert_true(http_fixture_send_text(fd, ASK));
	expect_completed(fd);
	close(fd);
	stop(&d);
}

TEST_CASE(completes_a_suspended_exchange_in_another_thread)
{
	struct hook_fixture d;
	pthread_t thread;
	start(&d, wait_for_hook);
	d.uses_other_thread = true;
	assert_int_equal(pthread_create(&thread, NULL, run_other_thread, &d), 0);
	int fd = http_fixture_connect(&d.f);
	for (unsigned i = 0; i < 1000; i++) {
		assert_true(http_fixture_send_text(fd, ASK));
		expect_completed(fd);
	}
	close(fd);
	atomic_store(&d.is_paused, true);
	/*
	 * A new connection: the library does not always watch one that was suspended, and may
	 * respond to a closed one.
	 */
	fd = http_fixture_connect(&d.f);
	assert_true(http_fixture_send_text(fd, ASK));
	assert_true(http_fixture_wait_for(&d.waiting_count, 1));
	hang_up(fd);
	make_turns(&d);
	atomic_store(&d.is_paused, false);
	wake_hook(&d);
	assert_true(http_fixture_wait_for(&d.released, 1001));
	assert_int_equal(atomic_load(&d.abandoned), 1);
	atomic_store(&d.is_stopping, true);
	pthread_join(thread, NULL);
	stop(&d);
}

static enum http_progress complete_at_once(void *ctx, struct http_exchange *x)
{
	struct hook_fixture *d = ctx;
	complete(d, x);
	return HTTP_PENDING_ON_LOOP;
}

TEST_CASE(sends_a_response_completed_before_the_handler_returns)
{
	struct hook_fixture d;
	start(&d, complete_at_once);
	int fd = http_fixture_connect(&d.f);
	assert_true(http_fixture_send_text(fd, ASK));
	expect_completed(fd);
	close(fd);
	stop(&d);
}

/*
 * When the server stops, the hook completes every exchange, including those of connections that
 * were cut.
 */
TEST_CASE(completes_pending_exchanges_when_the_server_stops)
{
	struct hook_fixture d;
	start(&d, wait_for_hook);
	atomic_store(&d.is_paused, true);
	int fds[3];
	for (unsigned i = 0; i < 3; i++) {
		fds[i] = http_fixture_connect(&d.f);
		assert_true(http_fixture_send_text(fds[i], ASK));
		assert_true(http_fixture_wait_for(&d.waiting_count, i + 1));
	}
	stop(&d);
	assert_int_equal(atomic_load(&d.released), 3);
	for (unsigned i = 0; i < 3; i++)
		close(fds[i]);
}

TEST_MAIN()
