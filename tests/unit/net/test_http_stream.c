/* http_exchange_set_source: bodies that workers make piece by piece while they are being sent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/mem.h"
#include "tests/unit/net/http_fixture.h"

#define ASK "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
#define BIG_PIECE (1 << 20)
#define CROWD 12

/* What a handler's source gives. */
struct spring {
	struct http_fixture f; /* first: it is the handler's ctx */
	int pieces;            /* behind the first, which the handler sets */
	size_t piece_bytes;    /* 0: "<n>\n", every third one empty */
	bool breaks;           /* instead of the last */
	bool begins_on_worker;
	_Atomic bool is_stuck; /* the source waits as long as this is true */
	_Atomic unsigned made, begun, ended;
};

struct stream {
	struct spring *spring;
	int next;
};

static void end_stream(void *state)
{
	struct stream *stream = state;
	atomic_fetch_add(&stream->spring->ended, 1);
	free(stream);
}

static enum http_piece flow(void *arg, struct strbuf *out)
{
	struct stream *stream = arg;
	struct spring *spring = stream->spring;
	while (atomic_load(&spring->is_stuck))
		poll(NULL, 0, 1);
	atomic_fetch_add(&spring->made, 1);
	int n = ++stream->next;
	if (spring->piece_bytes > 0) {
		char *bytes = mem_zero(spring->piece_bytes);
		strbuf_add(out, memset(bytes, 'x', spring->piece_bytes), spring->piece_bytes);
		free(bytes);
	} else if (n % 3 != 0) {
		strbuf_add_format(out, "%d\n", n);
	}
	if (n < spring->pieces)
		return HTTP_PIECE_MORE;
	return spring->breaks ? HTTP_PIECE_BROKEN : HTTP_PIECE_LAST;
}

static enum http_progress begin_stream(void *ctx, struct http_exchange *x)
{
	struct spring *spring = ctx;
	if (spring->begins_on_worker && !http_exchange_on_worker(x))
		return HTTP_BLOCKS;
	struct stream *stream = mem_zero(sizeof(*stream));
	stream->spring = spring;
	atomic_fetch_add(&spring->begun, 1);
	http_exchange_set_state(x, stream, end_stream);
	http_exchange_set_body(x, "text/plain", "0\n", 2);
	http_exchange_set_source(x, flow, stream);
	return HTTP_ANSWERED;
}

static void start(struct spring *spring, struct http_server_config config)
{
	http_fixture_start(&spring->f, config, begin_stream);
}

static int connect_and_ask(const struct spring *spring, const char *request)
{
	int fd = http_fixture_connect(&spring->f);
	assert_true(http_fixture_send_text(fd, request));
	return fd;
}

/* The body that chunks make, in place; false: the last chunk is missing. */
static bool join_chunks(char *body)
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

static void sends_the_pieces_in_their_order_and_says_where_they_end(void **state)
{
	(void)state;
	struct spring spring = { .pieces = 100, .begins_on_worker = true };
	char answer[16384];
	start(&spring, http_fixture_config());
	int fd = connect_and_ask(&spring, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
	assert_true(http_fixture_read_to_end(fd, answer, sizeof(answer), HTTP_FIXTURE_DEADLINE_MS));
	assert_non_null(strstr(answer, "\r\nTransfer-Encoding: chunked\r\n"));
	char *body = strstr(answer, "\r\n\r\n") + 4;
	assert_true(join_chunks(body));
	expect_numbers(body, 100);
	close(fd);
	http_fixture_stop(&spring.f, 1000);
	assert_int_equal(atomic_load(&spring.ended), 1);
}

static void serves_the_next_request_of_the_connection_behind_it(void **state)
{
	(void)state;
	struct spring spring = { .pieces = 3 };
	char answers[16384];
	start(&spring, http_fixture_config());
	int fd = connect_and_ask(&spring, ASK ASK "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
	assert_true(http_fixture_read_to_end(fd, answers, sizeof(answers), HTTP_FIXTURE_DEADLINE_MS));
	assert_int_equal(http_fixture_count(answers, "HTTP/1.1 200"), 3);
	assert_int_equal(http_fixture_count(answers, "\r\n0\r\n\r\n"), 3);
	close(fd);
	http_fixture_stop(&spring.f, 1000);
}

static void a_broken_body_has_no_end(void **state)
{
	(void)state;
	struct spring spring = { .pieces = 4, .breaks = true };
	char answer[16384];
	start(&spring, http_fixture_config());
	int fd = connect_and_ask(&spring, ASK);
	assert_true(http_fixture_read_to_end(fd, answer, sizeof(answer), HTTP_FIXTURE_DEADLINE_MS));
	assert_non_null(strstr(answer, "2\n"));
	assert_false(join_chunks(strstr(answer, "\r\n\r\n") + 4));
	close(fd);
	http_fixture_stop(&spring.f, 1000);
	assert_int_equal(atomic_load(&spring.ended), 1);
}

static void an_old_client_reads_until_the_connection_ends(void **state)
{
	(void)state;
	struct spring spring = { .pieces = 20 };
	char answer[16384];
	start(&spring, http_fixture_config());
	int fd = connect_and_ask(&spring, "GET / HTTP/1.0\r\nHost: a\r\n\r\n");
	assert_true(http_fixture_read_to_end(fd, answer, sizeof(answer), HTTP_FIXTURE_DEADLINE_MS));
	assert_null(strstr(answer, "chunked"));
	expect_numbers(strstr(answer, "\r\n\r\n") + 4, 20);
	close(fd);
	http_fixture_stop(&spring.f, 1000);
}

static void makes_no_piece_before_the_one_before_it_was_taken(void **state)
{
	(void)state;
	struct spring spring = { .pieces = 1000, .piece_bytes = BIG_PIECE };
	struct http_server_config config = http_fixture_config();
	config.idle_ms = 300;
	start(&spring, config);
	int fd = connect_and_ask(&spring, ASK);
	/* Nobody reads: sockets take a few pieces, the rest is never made, and the connection ends. */
	assert_true(http_fixture_wait_for(&spring.ended, 1));
	assert_true(atomic_load(&spring.made) < 32);
	close(fd);
	http_fixture_stop(&spring.f, 1000);
}

/* It takes enough to keep the kernel content, and not enough for us. */
static void a_client_that_takes_a_piece_too_slowly_is_cut(void **state)
{
	(void)state;
	struct spring spring = { .pieces = 1000, .piece_bytes = 8 * BIG_PIECE };
	struct http_server_config config = http_fixture_config();
	config.idle_ms = 1000;
	start(&spring, config);
	int fd = connect_and_ask(&spring, ASK);
	int64_t begun_ms = http_fixture_now_ms();
	char bytes[16384];
	while (atomic_load(&spring.ended) == 0 && http_fixture_now_ms() - begun_ms < HTTP_FIXTURE_DEADLINE_MS) {
		ssize_t len = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
		poll(NULL, 0, len >= 0 ? 20 : 5);
	}
	assert_int_equal(atomic_load(&spring.ended), 1);
	close(fd);
	http_fixture_stop(&spring.f, 1000);
}

static void a_client_that_takes_each_piece_in_time_may_take_long(void **state)
{
	(void)state;
	struct spring spring = { .pieces = 60, .piece_bytes = BIG_PIECE };
	struct http_server_config config = http_fixture_config();
	config.idle_ms = 1000;
	start(&spring, config);
	int fd = connect_and_ask(&spring, "GET / HTTP/1.0\r\nHost: a\r\n\r\n");
	char *bytes = mem_zero(BIG_PIECE);
	size_t total = 0;
	int64_t begun_ms = http_fixture_now_ms();
	for (ssize_t len; (len = recv(fd, bytes, BIG_PIECE, MSG_WAITALL)) > 0; total += (size_t)len)
		poll(NULL, 0, 20);
	assert_true(total > (size_t)60 * BIG_PIECE);
	assert_true(http_fixture_now_ms() - begun_ms > config.idle_ms);
	free(bytes);
	close(fd);
	http_fixture_stop(&spring.f, 1000);
}

static void a_client_may_hang_up_while_a_piece_is_being_made(void **state)
{
	(void)state;
	struct spring spring = { .pieces = 1000, .is_stuck = true };
	start(&spring, http_fixture_config());
	int fd = connect_and_ask(&spring, ASK);
	assert_true(http_fixture_wait_for(&spring.begun, 1));
	close(fd);
	assert_int_equal(atomic_load(&spring.ended), 0);
	atomic_store(&spring.is_stuck, false);
	assert_true(http_fixture_wait_for(&spring.ended, 1));
	http_fixture_stop(&spring.f, 1000);
	assert_int_equal(atomic_load(&spring.ended), 1);
}

static void bodies_wait_in_line_when_too_many_jobs_do(void **state)
{
	(void)state;
	struct spring spring = { .pieces = 60, .is_stuck = true };
	struct http_server_config config = http_fixture_config();
	config.workers = 1;
	config.worker_queue = 1;
	start(&spring, config);
	int fds[CROWD];
	char answer[16384];
	for (int i = 0; i < CROWD; i++)
		fds[i] = connect_and_ask(&spring, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
	assert_true(http_fixture_wait_for(&spring.begun, CROWD));
	atomic_store(&spring.is_stuck, false);
	for (int i = 0; i < CROWD; i++) {
		assert_true(http_fixture_read_to_end(fds[i], answer, sizeof(answer), HTTP_FIXTURE_DEADLINE_MS));
		char *body = strstr(answer, "\r\n\r\n") + 4;
		assert_true(join_chunks(body));
		expect_numbers(body, 60);
		close(fds[i]);
	}
	http_fixture_stop(&spring.f, 1000);
	assert_int_equal(atomic_load(&spring.ended), CROWD);
}

static void the_head_alone_asks_for_no_piece(void **state)
{
	(void)state;
	struct spring spring = { .pieces = 5 };
	struct http_fixture_answer answer;
	start(&spring, http_fixture_config());
	int fd = connect_and_ask(&spring, "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
	http_fixture_read_answer(fd, false, &answer);
	assert_int_equal(answer.status, 200);
	close(fd);
	http_fixture_stop(&spring.f, 1000);
	assert_int_equal(atomic_load(&spring.made), 0);
}

static void draining_ends_bodies_that_take_too_long(void **state)
{
	(void)state;
	struct spring spring = { .pieces = 1000000, .piece_bytes = BIG_PIECE };
	start(&spring, http_fixture_config());
	int fd = connect_and_ask(&spring, ASK);
	assert_true(http_fixture_wait_for(&spring.begun, 1));
	int64_t begun_ms = http_fixture_now_ms();
	http_fixture_stop(&spring.f, 200);
	assert_true(http_fixture_now_ms() - begun_ms < HTTP_FIXTURE_DEADLINE_MS / 2);
	assert_int_equal(atomic_load(&spring.ended), 1);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sends_the_pieces_in_their_order_and_says_where_they_end),
		cmocka_unit_test(serves_the_next_request_of_the_connection_behind_it),
		cmocka_unit_test(a_broken_body_has_no_end),
		cmocka_unit_test(an_old_client_reads_until_the_connection_ends),
		cmocka_unit_test(makes_no_piece_before_the_one_before_it_was_taken),
		cmocka_unit_test(a_client_that_takes_a_piece_too_slowly_is_cut),
		cmocka_unit_test(a_client_that_takes_each_piece_in_time_may_take_long),
		cmocka_unit_test(a_client_may_hang_up_while_a_piece_is_being_made),
		cmocka_unit_test(bodies_wait_in_line_when_too_many_jobs_do),
		cmocka_unit_test(the_head_alone_asks_for_no_piece),
		cmocka_unit_test(draining_ends_bodies_that_take_too_long),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
