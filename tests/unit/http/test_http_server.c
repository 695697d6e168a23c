#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/test.h"
#include "tests/unit/http/http_fixture.h"

#define ASK "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

struct slow_fixture {
	/* First: the handler's ctx. */
	struct http_fixture f;
	/* The worker may finish. */
	_Atomic unsigned open;
};

static enum http_progress work_until_open(void *ctx, struct http_exchange *x)
{
	struct slow_fixture *slow = ctx;
	if (!http_exchange_is_on_worker(x))
		return HTTP_NEEDS_WORKER;
	assert_true(http_fixture_wait_for(&slow->open, 1));
	http_exchange_set_body(x, "text/plain", "done", 4);
	return HTTP_COMPLETE;
}

/* Lets the worker finish once the server accepts no more connections. */
static void *open_when_rejected(void *arg)
{
	struct slow_fixture *slow = arg;
	struct sockaddr_in to = { .sin_family = AF_INET,
		                  .sin_port = htons(slow->f.port),
		                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int64_t until_ms = http_fixture_now_ms() + HTTP_FIXTURE_DEADLINE_MS;
	bool refused = false;
	while (!refused && http_fixture_now_ms() < until_ms) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		refused = connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0;
		close(fd);
	}
	atomic_store(&slow->open, refused ? 1 : 0);
	return NULL;
}

TEST_CASE(finishes_open_requests_when_it_stops)
{
	struct slow_fixture slow = { .open = 1 };
	http_fixture_start(&slow.f, http_fixture_config(), work_until_open);
	int idle = http_fixture_connect(&slow.f);
	int busy = http_fixture_connect(&slow.f);
	struct http_fixture_response response;
	assert_true(http_fixture_send_text(idle, ASK));
	http_fixture_read_response(idle, true, &response);
	atomic_store(&slow.open, 0);
	assert_true(http_fixture_send_text(busy, ASK));
	assert_true(http_fixture_wait_for(
		&slow.f.calls, 4)); /* two calls per request; the second is on a worker */

	pthread_t thread;
	assert_int_equal(pthread_create(&thread, NULL, open_when_rejected, &slow), 0);
	int64_t began_ms = http_fixture_now_ms();
	http_fixture_stop(&slow.f, 4 * HTTP_FIXTURE_DEADLINE_MS);
	assert_true(http_fixture_now_ms() - began_ms <
	            HTTP_FIXTURE_DEADLINE_MS); /* the idle one does not delay the stop */
	pthread_join(thread, NULL);
	http_fixture_read_response(busy, true, &response);
	assert_int_equal(response.status, 200);
	assert_string_equal(response.body, "done");
	assert_non_null(strstr(response.head, "Connection: close"));
	char rest[16];
	assert_true(http_fixture_read_to_end(busy, rest, sizeof(rest), HTTP_FIXTURE_DEADLINE_MS));
	assert_true(http_fixture_read_to_end(idle, rest, sizeof(rest), HTTP_FIXTURE_DEADLINE_MS));
	assert_string_equal(rest, "");
	close(busy);
	close(idle);
}

TEST_CASE(cuts_connections_when_the_drain_time_is_over)
{
	struct http_fixture f;
	http_fixture_start(&f, http_fixture_config(), NULL);
	int fd = http_fixture_connect(&f);
	assert_true(http_fixture_send_text(
		fd,
		"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n"));
	struct http_fixture_response response;
	http_fixture_read_response(fd, true, &response);
	assert_int_equal(response.status, 100);
	int64_t began_ms = http_fixture_now_ms();
	http_fixture_stop(&f, 200);
	int64_t took_ms = http_fixture_now_ms() - began_ms;
	assert_true(took_ms >= 150);
	test_speed_at_most(took_ms, 5000, "ms");
	char rest[16];
	assert_true(http_fixture_read_to_end(fd, rest, sizeof(rest), HTTP_FIXTURE_DEADLINE_MS));
	assert_string_equal(rest, "");
	close(fd);
}

TEST_CASE(serves_connections_that_the_kernel_accepted_before_the_stop)
{
	struct http_server_config config = http_fixture_config();
	config.connections = 300;
	struct http_fixture f;
	http_fixture_start(&f, config, NULL);
	enum { WAITING = 60 };
	int fds[WAITING];
	for (unsigned i = 0; i < WAITING; i++) {
		fds[i] = http_fixture_connect(&f);
		assert_true(http_fixture_send_text(fds[i], ASK));
	}
	http_fixture_stop(&f, 5000);
	for (unsigned i = 0; i < WAITING; i++) {
		struct http_fixture_response response;
		http_fixture_read_response(fds[i], true, &response);
		assert_int_equal(response.status, 200);
		close(fds[i]);
	}
	assert_int_equal(atomic_load(&f.calls), WAITING);
}

static void *enter_lame_duck(void *arg)
{
	http_server_enter_lame_duck(((struct http_fixture *)arg)->server, 1000);
	return NULL;
}

static void request_until_connection_closes(int fd)
{
	struct http_fixture_response response;
	int64_t until_ms = http_fixture_now_ms() + HTTP_FIXTURE_DEADLINE_MS;
	do {
		assert_true(http_fixture_now_ms() < until_ms);
		assert_true(http_fixture_send_text(fd, ASK));
		http_fixture_read_response(fd, true, &response);
		assert_int_equal(response.status, 200);
	} while (strstr(response.head, "Connection: close") == NULL);
	char rest[16];
	assert_true(http_fixture_read_to_end(fd, rest, sizeof(rest), HTTP_FIXTURE_DEADLINE_MS));
}

TEST_CASE(serves_requests_in_lame_duck_mode_and_closes_each_connection)
{
	struct http_fixture f;
	http_fixture_start(&f, http_fixture_config(), NULL);
	int kept = http_fixture_connect(&f);
	pthread_t thread;
	assert_int_equal(pthread_create(&thread, NULL, enter_lame_duck, &f), 0);
	request_until_connection_closes(kept);
	struct http_fixture_response response;
	int fresh = http_fixture_connect(&f);
	assert_true(http_fixture_send_text(fresh, ASK));
	http_fixture_read_response(fresh, true, &response);
	assert_int_equal(response.status, 200);
	assert_non_null(strstr(response.head, "Connection: close"));
	pthread_join(thread, NULL);
	http_fixture_stop(&f, 1000);
	close(kept);
	close(fresh);
}

/*
 * Like the redirector: each request waits for another thread, and the last ones arrive while the
 * server stops.
 */
struct batch_fixture {
	/* First: the handler's ctx. */
	struct http_fixture f;
	pthread_mutex_t lock;
	unsigned count;
	struct http_exchange *waiting[64];
	_Atomic unsigned ended;
};

static enum http_progress join_batch(void *ctx, struct http_exchange *x)
{
	struct batch_fixture *b = ctx;
	pthread_mutex_lock(&b->lock);
	b->waiting[b->count++] = x;
	pthread_mutex_unlock(&b->lock);
	return HTTP_PENDING;
}

static void *complete_batches(void *arg)
{
	struct batch_fixture *b = arg;
	while (atomic_load(&b->ended) == 0) {
		pthread_mutex_lock(&b->lock);
		for (unsigned i = 0; i < b->count; i++) {
			http_exchange_set_body(b->waiting[i], "text/plain", "batch", 5);
			http_exchange_resume(b->waiting[i]);
		}
		b->count = 0;
		pthread_mutex_unlock(&b->lock);
	}
	return NULL;
}

TEST_CASE(waits_for_pending_requests_when_it_stops)
{
	for (unsigned round = 0; round < 20; round++) {
		struct batch_fixture b = { .lock = PTHREAD_MUTEX_INITIALIZER };
		struct http_server_config config = http_fixture_config();
		config.loops = 2;
		http_fixture_start(&b.f, config, join_batch);
		int fds[32];
		for (unsigned i = 0; i < 32; i++) {
			fds[i] = http_fixture_connect(&b.f);
			assert_true(http_fixture_send_text(fds[i], ASK));
		}
		pthread_t thread;
		assert_int_equal(pthread_create(&thread, NULL, complete_batches, &b), 0);
		http_fixture_stop(&b.f, 4 * HTTP_FIXTURE_DEADLINE_MS);
		atomic_store(&b.ended, 1);
		pthread_join(thread, NULL);
		for (unsigned i = 0; i < 32; i++) {
			struct http_fixture_response response;
			http_fixture_read_response(fds[i], true, &response);
			assert_int_equal(response.status, 200);
			assert_string_equal(response.body, "batch");
			close(fds[i]);
		}
	}
}

TEST_CASE(fails_to_start_on_a_port_that_is_in_use)
{
	struct http_fixture f;
	http_fixture_start(&f, http_fixture_config(), NULL);
	struct http_server_config config = http_fixture_config();
	config.port = f.port;
	struct http_server *second = NULL;
	assert_int_equal(http_server_start(&config, &second), ERR_UNAVAILABLE);
	assert_null(second);
	http_fixture_stop(&f, 1000);
}

TEST_MAIN()
