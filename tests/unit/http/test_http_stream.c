/* Bodies that are read chunk by chunk while they are sent, by workers or by the loop. */
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/mem.h"
#include "tests/support/clock_fake.h"
#include "tests/support/test.h"
#include "tests/unit/http/http_fixture.h"

#define ASK "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
#define BIG_CHUNK (1 << 20)
#define CROWD 12

/* What the body reader of a handler returns. */
struct stream_fixture {
	/* First: the handler's ctx. */
	struct http_fixture f;
	/* After the first, which the handler sets. */
	int chunks;
	/* 0: "<n>\n", and every third chunk is empty. */
	size_t chunk_bytes;
	/* Instead of the last chunk. */
	bool fails;
	bool starts_on_worker;
	/* The body reader waits while this is true. */
	_Atomic bool is_blocked;
	_Atomic unsigned made, started, ended;
	/* The body reader takes 10 s of it; may be NULL. */
	struct clock_fake *clock;
	_Atomic int64_t taking_us;
};

struct stream {
	struct stream_fixture *stream_fixture;
	const struct http_exchange *exchange;
	int next;
};

static void end_stream(void *state)
{
	struct stream *stream = state;
	atomic_fetch_add(&stream->stream_fixture->ended, 1);
	free(stream);
}

static enum http_chunk read_chunk(void *arg, struct strbuf *out)
{
	struct stream *stream = arg;
	struct stream_fixture *stream_fixture = stream->stream_fixture;
	while (atomic_load(&stream_fixture->is_blocked))
		poll(NULL, 0, 1);
	atomic_fetch_add(&stream_fixture->made, 1);
	if (stream_fixture->clock) {
		atomic_store(&stream_fixture->taking_us, http_exchange_taking_us(stream->exchange));
		clock_fake_advance(stream_fixture->clock, 10 * CLOCK_US_PER_S);
	}
	int n = ++stream->next;
	if (stream_fixture->chunk_bytes > 0) {
		char *bytes = mem_zero(stream_fixture->chunk_bytes);
		strbuf_add(out, memset(bytes, 'x', stream_fixture->chunk_bytes),
		           stream_fixture->chunk_bytes);
		free(bytes);
	} else if (n % 3 != 0) {
		strbuf_add_format(out, "%d\n", n);
	}
	if (n < stream_fixture->chunks)
		return HTTP_CHUNK_MORE;
	return stream_fixture->fails ? HTTP_CHUNK_FAILED : HTTP_CHUNK_LAST;
}

static enum http_progress start_stream(void *ctx, struct http_exchange *x)
{
	struct stream_fixture *stream_fixture = ctx;
	if (stream_fixture->starts_on_worker && !http_exchange_is_on_worker(x))
		return HTTP_NEEDS_WORKER;
	struct stream *stream = mem_zero(sizeof(*stream));
	stream->stream_fixture = stream_fixture;
	stream->exchange = x;
	atomic_fetch_add(&stream_fixture->started, 1);
	http_exchange_set_state(x, stream, end_stream);
	http_exchange_set_body(x, "text/plain", "0\n", 2);
	http_exchange_set_body_reader(x, read_chunk, stream);
	return HTTP_COMPLETE;
}

static void start(struct stream_fixture *stream_fixture, struct http_server_config config)
{
	http_fixture_start(&stream_fixture->f, config, start_stream);
}

static int connect_and_request(const struct stream_fixture *stream_fixture, const char *request)
{
	int fd = http_fixture_connect(&stream_fixture->f);
	assert_true(http_fixture_send_text(fd, request));
	return fd;
}

/* Decodes a chunked body in place. False: the last chunk is missing. */
static bool decode_chunks(char *body)
{
	char *out = body;
	for (char *at = body;;) {
		char *rest;
		size_t len = strtoul(at, &rest, 16);
		if (rest == at || strncmp(rest, "\r\n", 2) != 0)
			return false;
		if (len == 0) {
			*out = '\0';
			return true;
		}
		memmove(out, rest + 2, len);
		out += len;
		at = rest + 2 + len + 2;
	}
}

static void expect_numbers(const char *body, int last)
{
	char wanted[4096] = "0\n";
	for (int n = 1; n <= last; n++) {
		size_t len = strlen(wanted);
		if (n % 3 != 0)
			snprintf(wanted + len, sizeof(wanted) - len, "%d\n", n);
	}
	assert_string_equal(body, wanted);
}

TEST_CASE(sends_the_chunks_in_order_and_marks_their_end)
{
	struct stream_fixture stream_fixture = { .chunks = 100, .starts_on_worker = true };
	char response[16384];
	start(&stream_fixture, http_fixture_config());
	int fd = connect_and_request(&stream_fixture,
	                             "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
	assert_true(
		http_fixture_read_to_end(fd, response, sizeof(response), HTTP_FIXTURE_DEADLINE_MS));
	assert_non_null(strstr(response, "\r\nTransfer-Encoding: chunked\r\n"));
	char *body = strstr(response, "\r\n\r\n") + 4;
	assert_true(decode_chunks(body));
	expect_numbers(body, 100);
	close(fd);
	http_fixture_stop(&stream_fixture.f, 1000);
	assert_int_equal(atomic_load(&stream_fixture.ended), 1);
}

TEST_CASE(serves_the_next_request_of_the_connection)
{
	struct stream_fixture stream_fixture = { .chunks = 3 };
	char answers[16384];
	start(&stream_fixture, http_fixture_config());
	int fd = connect_and_request(&stream_fixture, ASK ASK
	                             "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
	assert_true(
		http_fixture_read_to_end(fd, answers, sizeof(answers), HTTP_FIXTURE_DEADLINE_MS));
	assert_int_equal(http_fixture_count(answers, "HTTP/1.1 200"), 3);
	assert_int_equal(http_fixture_count(answers, "\r\n0\r\n\r\n"), 3);
	close(fd);
	http_fixture_stop(&stream_fixture.f, 1000);
}

TEST_CASE(a_failed_body_has_no_last_chunk)
{
	struct stream_fixture stream_fixture = { .chunks = 4, .fails = true };
	char response[16384];
	start(&stream_fixture, http_fixture_config());
	int fd = connect_and_request(&stream_fixture, ASK);
	assert_true(
		http_fixture_read_to_end(fd, response, sizeof(response), HTTP_FIXTURE_DEADLINE_MS));
	assert_non_null(strstr(response, "2\n"));
	assert_false(decode_chunks(strstr(response, "\r\n\r\n") + 4));
	close(fd);
	http_fixture_stop(&stream_fixture.f, 1000);
	assert_int_equal(atomic_load(&stream_fixture.ended), 1);
}

TEST_CASE(an_http_1_0_client_reads_until_the_connection_ends)
{
	struct stream_fixture stream_fixture = { .chunks = 20 };
	char response[16384];
	start(&stream_fixture, http_fixture_config());
	int fd = connect_and_request(&stream_fixture, "GET / HTTP/1.0\r\nHost: a\r\n\r\n");
	assert_true(
		http_fixture_read_to_end(fd, response, sizeof(response), HTTP_FIXTURE_DEADLINE_MS));
	assert_null(strstr(response, "chunked"));
	expect_numbers(strstr(response, "\r\n\r\n") + 4, 20);
	close(fd);
	http_fixture_stop(&stream_fixture.f, 1000);
}

TEST_CASE(reads_no_chunk_before_the_last_one_was_sent)
{
	struct stream_fixture stream_fixture = { .chunks = 1000, .chunk_bytes = BIG_CHUNK };
	struct http_server_config config = http_fixture_config();
	config.idle_ms = 300;
	start(&stream_fixture, config);
	int fd = connect_and_request(&stream_fixture, ASK);
	/*
	 * The client does not read: the sockets buffer a few chunks, the rest is never read, and
	 * the connection ends.
	 */
	assert_true(http_fixture_wait_for(&stream_fixture.ended, 1));
	assert_true(atomic_load(&stream_fixture.made) < 32);
	close(fd);
	http_fixture_stop(&stream_fixture.f, 1000);
}

/* The client reads enough to satisfy TCP_USER_TIMEOUT, but not enough for idle_ms. */
TEST_CASE(cuts_a_client_that_reads_a_chunk_too_slowly)
{
	struct stream_fixture stream_fixture = { .chunks = 1000, .chunk_bytes = 8 * BIG_CHUNK };
	struct http_server_config config = http_fixture_config();
	config.idle_ms = 1000;
	start(&stream_fixture, config);
	int fd = connect_and_request(&stream_fixture, ASK);
	int64_t begun_ms = http_fixture_now_ms();
	char bytes[16384];
	while (atomic_load(&stream_fixture.ended) == 0 &&
	       http_fixture_now_ms() - begun_ms < HTTP_FIXTURE_DEADLINE_MS) {
		ssize_t len = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
		poll(NULL, 0, len >= 0 ? 20 : 5);
	}
	assert_int_equal(atomic_load(&stream_fixture.ended), 1);
	close(fd);
	http_fixture_stop(&stream_fixture.f, 1000);
}

TEST_CASE(allows_a_long_transfer_if_each_chunk_is_read_in_time)
{
	struct stream_fixture stream_fixture = { .chunks = 60, .chunk_bytes = BIG_CHUNK };
	struct http_server_config config = http_fixture_config();
	struct clock_fake clock;
	clock_fake_init(&clock, 0);
	config.clock = &clock.clock;
	config.idle_ms = 10000;
	start(&stream_fixture, config);
	int fd = connect_and_request(&stream_fixture, "GET / HTTP/1.0\r\nHost: a\r\n\r\n");
	char *bytes = mem_zero(BIG_CHUNK);
	size_t total = 0;
	for (ssize_t len; (len = recv(fd, bytes, BIG_CHUNK, MSG_WAITALL)) > 0; total += (size_t)len)
		clock_fake_advance(&clock, 2 * config.idle_ms * CLOCK_US_PER_MS / 60);
	assert_true(total > (size_t)60 * BIG_CHUNK);
	free(bytes);
	close(fd);
	http_fixture_stop(&stream_fixture.f, 1000);
}

TEST_CASE(survives_a_client_that_closes_while_a_chunk_is_read)
{
	struct stream_fixture stream_fixture = { .chunks = 1000, .is_blocked = true };
	start(&stream_fixture, http_fixture_config());
	int fd = connect_and_request(&stream_fixture, ASK);
	assert_true(http_fixture_wait_for(&stream_fixture.started, 1));
	close(fd);
	assert_int_equal(atomic_load(&stream_fixture.ended), 0);
	atomic_store(&stream_fixture.is_blocked, false);
	assert_true(http_fixture_wait_for(&stream_fixture.ended, 1));
	http_fixture_stop(&stream_fixture.f, 1000);
	assert_int_equal(atomic_load(&stream_fixture.ended), 1);
}

TEST_CASE(bodies_wait_when_the_worker_queue_is_full)
{
	struct stream_fixture stream_fixture = { .chunks = 60, .is_blocked = true };
	struct http_server_config config = http_fixture_config();
	config.workers = 1;
	config.worker_queue = 1;
	start(&stream_fixture, config);
	int fds[CROWD];
	char response[16384];
	for (int i = 0; i < CROWD; i++)
		fds[i] = connect_and_request(
			&stream_fixture, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
	assert_true(http_fixture_wait_for(&stream_fixture.started, CROWD));
	atomic_store(&stream_fixture.is_blocked, false);
	for (int i = 0; i < CROWD; i++) {
		assert_true(http_fixture_read_to_end(fds[i], response, sizeof(response),
		                                     HTTP_FIXTURE_DEADLINE_MS));
		char *body = strstr(response, "\r\n\r\n") + 4;
		assert_true(decode_chunks(body));
		expect_numbers(body, 60);
		close(fds[i]);
	}
	http_fixture_stop(&stream_fixture.f, 1000);
	assert_int_equal(atomic_load(&stream_fixture.ended), CROWD);
}

TEST_CASE(the_time_to_read_chunks_is_not_the_clients)
{
	struct clock_fake clock;
	struct stream_fixture stream_fixture = { .chunks = 5, .clock = &clock };
	struct http_server_config config = http_fixture_config();
	char response[16384];
	clock_fake_init(&clock, 0);
	config.clock = &clock.clock;
	start(&stream_fixture, config);
	int fd = connect_and_request(&stream_fixture,
	                             "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
	assert_true(
		http_fixture_read_to_end(fd, response, sizeof(response), HTTP_FIXTURE_DEADLINE_MS));
	close(fd);
	http_fixture_stop(&stream_fixture.f, 1000);
	assert_int_equal(atomic_load(&stream_fixture.made), 5);
	assert_int_equal(atomic_load(&stream_fixture.taking_us), 0);
}

/* While the clock goes on, the client reads some of a body that is larger than all buffers. */
TEST_CASE(counts_the_time_in_which_the_client_takes_chunks)
{
	static char bytes[BIG_CHUNK];
	struct clock_fake clock;
	struct stream_fixture stream_fixture = { .chunks = 1000000, .chunk_bytes = BIG_CHUNK };
	struct http_server_config config = http_fixture_config();
	clock_fake_init(&clock, 0);
	stream_fixture.clock = &clock;
	config.clock = &clock.clock;
	config.idle_ms = INT64_C(1000000000);
	start(&stream_fixture, config);
	int fd = connect_and_request(&stream_fixture, ASK);
	int64_t begun_ms = http_fixture_now_ms();
	while (atomic_load(&stream_fixture.taking_us) < 5 * CLOCK_US_PER_S) {
		assert_true(http_fixture_now_ms() - begun_ms < HTTP_FIXTURE_DEADLINE_MS);
		clock_fake_advance(&clock, CLOCK_US_PER_S);
		assert_true(recv(fd, bytes, sizeof(bytes), 0) > 0);
	}
	close(fd);
	http_fixture_stop(&stream_fixture.f, 0);
}

TEST_CASE(reads_no_chunk_for_head)
{
	struct stream_fixture stream_fixture = { .chunks = 5 };
	struct http_fixture_response response;
	start(&stream_fixture, http_fixture_config());
	int fd = connect_and_request(&stream_fixture, "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
	http_fixture_read_response(fd, false, &response);
	assert_int_equal(response.status, 200);
	close(fd);
	http_fixture_stop(&stream_fixture.f, 1000);
	assert_int_equal(atomic_load(&stream_fixture.made), 0);
}

TEST_CASE(draining_cuts_bodies_that_take_too_long)
{
	struct stream_fixture stream_fixture = { .chunks = 1000000, .chunk_bytes = BIG_CHUNK };
	start(&stream_fixture, http_fixture_config());
	int fd = connect_and_request(&stream_fixture, ASK);
	assert_true(http_fixture_wait_for(&stream_fixture.started, 1));
	int64_t begun_ms = http_fixture_now_ms();
	http_fixture_stop(&stream_fixture.f, 200);
	assert_true(http_fixture_now_ms() - begun_ms < HTTP_FIXTURE_DEADLINE_MS / 2);
	assert_int_equal(atomic_load(&stream_fixture.ended), 1);
	close(fd);
}

/* What a push reader shares with the thread that brings its chunks. */
struct push_fixture {
	/* First: the handler's ctx. */
	struct http_fixture f;
	/* Suspended, or about to be; NULL: not. */
	struct http_exchange *waits;
	pthread_mutex_t lock;
	/* Chunks; the last one ends the body. */
	int brought, last;
	_Atomic unsigned reads, ended;
};

static void end_push(void *state)
{
	struct push_fixture *push = state;
	atomic_fetch_add(&push->ended, 1);
}

/* Sends the number of each chunk that was brought, once. */
static enum http_chunk push_chunk(void *arg, struct strbuf *out)
{
	struct http_exchange *x = arg;
	struct push_fixture *push = http_exchange_state(x);
	atomic_fetch_add(&push->reads, 1);
	pthread_mutex_lock(&push->lock);
	if (push->brought > 0)
		strbuf_add_format(out, "%d\n", push->last);
	push->last += push->brought > 0;
	push->brought -= push->brought > 0;
	bool is_last = push->last > 100;
	push->waits = out->len == 0 && !is_last ? x : NULL;
	pthread_mutex_unlock(&push->lock);
	return is_last ? HTTP_CHUNK_LAST : HTTP_CHUNK_MORE;
}

static enum http_progress start_push(void *ctx, struct http_exchange *x)
{
	http_exchange_set_state(x, ctx, end_push);
	http_exchange_set_body(x, "text/plain", "", 0);
	http_exchange_set_push_reader(x, push_chunk, x);
	return HTTP_COMPLETE;
}

static void bring(struct push_fixture *push, int chunks)
{
	pthread_mutex_lock(&push->lock);
	push->brought += chunks;
	if (push->waits)
		http_exchange_resume(push->waits);
	push->waits = NULL;
	pthread_mutex_unlock(&push->lock);
}

TEST_CASE(a_push_reader_sends_what_another_thread_brings)
{
	struct push_fixture push = { .lock = PTHREAD_MUTEX_INITIALIZER };
	struct http_server_config config = http_fixture_config();
	char response[16384];
	config.workers = 0;
	http_fixture_start(&push.f, config, start_push);
	int fd = http_fixture_connect(&push.f);
	assert_true(http_fixture_send_text(
		fd, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"));
	assert_true(http_fixture_wait_for(&push.reads, 1));
	for (int i = 0; i < 101; i++)
		bring(&push, 1);
	assert_true(
		http_fixture_read_to_end(fd, response, sizeof(response), HTTP_FIXTURE_DEADLINE_MS));
	char *body = strstr(response, "\r\n\r\n") + 4;
	assert_true(decode_chunks(body));
	char wanted[1024] = "";
	for (int n = 0, len = 0; n <= 100; n++)
		len += snprintf(wanted + len, sizeof(wanted) - (size_t)len, "%d\n", n);
	assert_string_equal(body, wanted);
	close(fd);
	http_fixture_stop(&push.f, 1000);
	assert_int_equal(atomic_load(&push.ended), 1);
}

TEST_CASE(a_push_reader_is_not_asked_while_nothing_comes)
{
	struct push_fixture push = { .lock = PTHREAD_MUTEX_INITIALIZER };
	http_fixture_start(&push.f, http_fixture_config(), start_push);
	int fd = http_fixture_connect(&push.f);
	assert_true(http_fixture_send_text(fd, ASK));
	assert_true(http_fixture_wait_for(&push.reads, 1));
	struct stream_fixture other = { .chunks = 3 };
	start(&other, http_fixture_config());
	char answers[16384];
	int other_fd = connect_and_request(
		&other, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
	assert_true(http_fixture_read_to_end(other_fd, answers, sizeof(answers),
	                                     HTTP_FIXTURE_DEADLINE_MS));
	close(other_fd);
	http_fixture_stop(&other.f, 1000);
	assert_int_equal(atomic_load(&push.reads), 1);
	close(fd);
	bring(&push, 200); /* a client that has gone is noticed when bytes are sent */
	assert_true(http_fixture_wait_for(&push.ended, 1));
	http_fixture_stop(&push.f, 1000);
}

TEST_MAIN()
