/* HTTP_PENDING_HERE: a guest of the loop's own thread completes what its handler has left open. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/unit/net/http_fixture.h"

#define ASK "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
#define WAITING_MAX 64

/* A desk: handlers leave exchanges there, the guest takes them up in a later turn, when it is told that it may. */
struct desk {
	struct http_fixture f; /* first: it is the handler's ctx */
	struct http_guest guest;
	struct http_exchange *waiting[WAITING_MAX];
	unsigned count;
	int bell;               /* an eventfd that makes the guest readable */
	_Atomic bool is_closed; /* the guest leaves everything lying */
	_Atomic unsigned left;  /* exchanges on the desk */
	_Atomic unsigned completed;
	_Atomic unsigned abandoned;
	_Atomic unsigned released;
	_Atomic unsigned turns;
	bool sends_away;
	struct http_exchange *_Atomic away; /* given to another thread */
	_Atomic bool is_over;
};

static void ring(struct desk *d)
{
	uint64_t one = 1;
	assert_int_equal(write(d->bell, &one, sizeof(one)), sizeof(one));
}

static void complete(struct desk *d, struct http_exchange *x)
{
	atomic_fetch_add(http_exchange_is_abandoned(x) ? &d->abandoned : &d->completed, 1);
	http_exchange_set_body(x, "text/plain", "completed", 9);
	http_exchange_resume(x);
}

static void *complete_elsewhere(void *arg)
{
	struct desk *d = arg;
	while (!atomic_load(&d->is_over)) {
		struct http_exchange *x = atomic_exchange(&d->away, NULL);
		if (x != NULL)
			complete(d, x);
	}
	return NULL;
}

static void send_away(struct desk *d, struct http_exchange *x)
{
	http_exchange_leave_loop(x);
	atomic_store(&d->away, x);
}

static void work_off(struct desk *d)
{
	unsigned count = d->count;
	d->count = 0;
	atomic_store(&d->left, 0);
	for (unsigned i = 0; i < count; i++)
		if (d->sends_away)
			send_away(d, d->waiting[i]);
		else
			complete(d, d->waiting[i]);
}

static void *enter(void *ctx)
{
	return ctx;
}

static int descriptor(void *state, short *events)
{
	*events = POLLIN;
	return ((struct desk *)state)->bell;
}

static int64_t no_deadline(void *state)
{
	(void)state;
	return INT64_MAX;
}

static void receive(void *state, bool is_readable)
{
	struct desk *d = state;
	uint64_t rings;
	atomic_fetch_add(&d->turns, 1);
	if (!is_readable || atomic_load(&d->is_closed))
		return;
	assert_int_equal(read(d->bell, &rings, sizeof(rings)), sizeof(rings));
	work_off(d);
}

/* As a connection does that breaks: everybody is told at once. */
static void leave(void *state)
{
	work_off(state);
}

static void nothing(void *state)
{
	(void)state;
}

static void count_release(void *state)
{
	atomic_fetch_add((_Atomic unsigned *)state, 1);
}

static enum http_progress leave_on_desk(void *ctx, struct http_exchange *x)
{
	struct desk *d = ctx;
	assert_true(d->count < WAITING_MAX);
	http_exchange_set_state(x, &d->released, count_release);
	d->waiting[d->count++] = x;
	atomic_fetch_add(&d->left, 1);
	if (!atomic_load(&d->is_closed))
		ring(d);
	return HTTP_PENDING_HERE;
}

static void start(struct desk *d, http_handler handler)
{
	*d = (struct desk){ .bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) };
	d->guest = (struct http_guest){ enter, descriptor, no_deadline, receive, nothing, leave, d };
	struct http_server_config config = http_fixture_config();
	config.guest = &d->guest;
	http_fixture_start(&d->f, config, handler);
}

static void stop(struct desk *d)
{
	http_fixture_stop(&d->f, 200);
	close(d->bell);
}

static void expect_completed(int fd)
{
	struct http_fixture_answer answer;
	http_fixture_read_answer(fd, true, &answer);
	assert_int_equal(answer.status, 200);
	assert_string_equal(answer.body, "completed");
}

static void answers_what_the_guest_completes(void **state)
{
	(void)state;
	struct desk d;
	start(&d, leave_on_desk);
	int fd = http_fixture_connect(&d.f);
	for (unsigned i = 0; i < 2000; i++) {
		assert_true(http_fixture_send_text(fd, ASK));
		expect_completed(fd);
	}
	assert_true(http_fixture_send_text(fd, ASK ASK ASK)); /* one after the other, each with an answer of its own */
	for (unsigned i = 0; i < 3; i++)
		expect_completed(fd);
	close(fd);
	assert_true(http_fixture_wait_for(&d.released, 2003));
	assert_int_equal(atomic_load(&d.f.calls), 2003);
	stop(&d);
}

/* The library says all the time that it has work then: the loop must neither spin nor stop for the others. */
static void others_are_served_while_one_is_in_line(void **state)
{
	(void)state;
	struct desk d;
	struct http_fixture_answer answer;
	start(&d, leave_on_desk);
	atomic_store(&d.is_closed, true);
	int waiting = http_fixture_connect(&d.f);
	assert_true(http_fixture_send_text(waiting, ASK));
	assert_true(http_fixture_wait_for(&d.left, 1));
	int64_t began_ms = http_fixture_now_ms();
	unsigned turns = atomic_load(&d.turns);
	for (unsigned i = 0; i < 50; i++) {
		http_fixture_ask(&d.f, "GET / HTTP/1.1\r\n\r\n", &answer);
		assert_int_equal(answer.status, 400);
	}
	int64_t took_ms = http_fixture_now_ms() - began_ms;
	assert_true(took_ms < 5000);
	assert_true(atomic_load(&d.turns) - turns <= (unsigned)took_ms + 50 * 10);
	atomic_store(&d.is_closed, false);
	ring(&d);
	expect_completed(waiting);
	close(waiting);
	stop(&d);
}

/* A reset, which the library notices at once, while nobody has suspended the connection. */
static void hang_up(int fd)
{
	struct linger now = { .l_onoff = 1, .l_linger = 0 };
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now)), 0);
	close(fd);
}

/* Each answer is a turn at least: the library has seen by then who has hung up. */
static void make_turns(struct desk *d)
{
	struct http_fixture_answer answer;
	for (unsigned i = 0; i < 5; i++)
		http_fixture_ask(&d->f, "GET / HTTP/1.1\r\n\r\n", &answer);
}

static void survives_visitors_that_hang_up_in_line(void **state)
{
	(void)state;
	struct desk d;
	start(&d, leave_on_desk);
	atomic_store(&d.is_closed, true);
	for (unsigned i = 0; i < 20; i++) {
		int fd = http_fixture_connect(&d.f);
		assert_true(http_fixture_send_text(fd, ASK));
		assert_true(http_fixture_wait_for(&d.left, i + 1));
		hang_up(fd);
	}
	make_turns(&d);
	assert_int_equal(atomic_load(&d.released), 0);
	atomic_store(&d.is_closed, false);
	ring(&d);
	assert_true(http_fixture_wait_for(&d.released, 20));
	assert_int_equal(atomic_load(&d.abandoned), 20);
	int fd = http_fixture_connect(&d.f); /* and their records are not given to anybody else before */
	assert_true(http_fixture_send_text(fd, ASK));
	expect_completed(fd);
	close(fd);
	stop(&d);
}

static void another_thread_may_complete_what_has_left_the_loop(void **state)
{
	(void)state;
	struct desk d;
	pthread_t thread;
	start(&d, leave_on_desk);
	d.sends_away = true;
	assert_int_equal(pthread_create(&thread, NULL, complete_elsewhere, &d), 0);
	int fd = http_fixture_connect(&d.f);
	for (unsigned i = 0; i < 1000; i++) {
		assert_true(http_fixture_send_text(fd, ASK));
		expect_completed(fd);
	}
	close(fd);
	atomic_store(&d.is_closed, true);
	/* A new one: one that was suspended before is not always watched by the library, which then answers a dead one. */
	fd = http_fixture_connect(&d.f);
	assert_true(http_fixture_send_text(fd, ASK));
	assert_true(http_fixture_wait_for(&d.left, 1));
	hang_up(fd);
	make_turns(&d);
	atomic_store(&d.is_closed, false);
	ring(&d);
	assert_true(http_fixture_wait_for(&d.released, 1001));
	assert_int_equal(atomic_load(&d.abandoned), 1);
	atomic_store(&d.is_over, true);
	pthread_join(thread, NULL);
	stop(&d);
}

static enum http_progress complete_at_once(void *ctx, struct http_exchange *x)
{
	struct desk *d = ctx;
	complete(d, x);
	return HTTP_PENDING_HERE;
}

static void may_be_completed_before_the_handler_returns(void **state)
{
	(void)state;
	struct desk d;
	start(&d, complete_at_once);
	int fd = http_fixture_connect(&d.f);
	assert_true(http_fixture_send_text(fd, ASK));
	expect_completed(fd);
	close(fd);
	stop(&d);
}

/* Of a server that stops: the guest gives everybody up when it leaves, those who were cut off among them. */
static void a_server_that_stops_ends_those_in_line(void **state)
{
	(void)state;
	struct desk d;
	start(&d, leave_on_desk);
	atomic_store(&d.is_closed, true);
	int fds[3];
	for (unsigned i = 0; i < 3; i++) {
		fds[i] = http_fixture_connect(&d.f);
		assert_true(http_fixture_send_text(fds[i], ASK));
		assert_true(http_fixture_wait_for(&d.left, i + 1));
	}
	stop(&d);
	assert_int_equal(atomic_load(&d.released), 3);
	for (unsigned i = 0; i < 3; i++)
		close(fds[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_what_the_guest_completes),
		cmocka_unit_test(others_are_served_while_one_is_in_line),
		cmocka_unit_test(survives_visitors_that_hang_up_in_line),
		cmocka_unit_test(another_thread_may_complete_what_has_left_the_loop),
		cmocka_unit_test(may_be_completed_before_the_handler_returns),
		cmocka_unit_test(a_server_that_stops_ends_those_in_line),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
