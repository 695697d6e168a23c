#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <stdio.h>
#include <unistd.h>

#include "tests/unit/net/http_fixture.h"

/* What an attacker wants to have executed behind the first request. */
#define HIDDEN "GET /hidden HTTP/1.1\r\nHost: a\r\n\r\n"
#define HIDDEN_LEN "34"

struct attack {
	const char *name;
	const char *bytes;
	size_t len;
};

#define ATTACK(name_, bytes_)                                                                                          \
	{                                                                                                              \
		.name = (name_), .bytes = (bytes_), .len = sizeof(bytes_) - 1                                          \
	}
#define POST "POST / HTTP/1.1\r\nHost: a\r\n"
#define GET "GET / HTTP/1.1\r\nHost: a\r\n"
#define CHUNKED_END "0\r\n\r\n" HIDDEN

static const struct attack attacks[] = {
	ATTACK("two Content-Lengths that differ",
	       POST "Content-Length: 0\r\nContent-Length: " HIDDEN_LEN "\r\n\r\n" HIDDEN),
	ATTACK("two Content-Lengths, the larger first",
	       POST "Content-Length: " HIDDEN_LEN "\r\nContent-Length: 0\r\n\r\n" HIDDEN),
	ATTACK("two Content-Lengths that agree", POST "Content-Length: 0\r\nContent-Length: 0\r\n\r\n" HIDDEN),
	ATTACK("a list of Content-Lengths", POST "Content-Length: 0, " HIDDEN_LEN "\r\n\r\n" HIDDEN),
	ATTACK("a list of equal Content-Lengths", POST "Content-Length: 0, 0\r\n\r\n" HIDDEN),
	ATTACK("a negative Content-Length", POST "Content-Length: -1\r\n\r\n" HIDDEN),
	ATTACK("a Content-Length with a plus", POST "Content-Length: +0\r\n\r\n" HIDDEN),
	ATTACK("a hexadecimal Content-Length", POST "Content-Length: 0x22\r\n\r\n" HIDDEN),
	ATTACK("an empty Content-Length", POST "Content-Length:\r\n\r\n" HIDDEN),
	ATTACK("a Content-Length with letters", POST "Content-Length: 0a\r\n\r\n" HIDDEN),
	ATTACK("a Content-Length with a trailing space", POST "Content-Length: 0 \r\n\r\n" HIDDEN),
	ATTACK("a quoted Content-Length", POST "Content-Length: \"0\"\r\n\r\n" HIDDEN),
	ATTACK("a Content-Length with a decimal point", POST "Content-Length: 0.0\r\n\r\n" HIDDEN),
	ATTACK("a space before the colon of Content-Length", POST "Content-Length : " HIDDEN_LEN "\r\n\r\n" HIDDEN),
	ATTACK("a tab before the colon of Content-Length", POST "Content-Length\t: " HIDDEN_LEN "\r\n\r\n" HIDDEN),
	ATTACK("a Content-Length that begins with a space",
	       POST "X: y\r\n Content-Length: " HIDDEN_LEN "\r\n\r\n" HIDDEN),
	ATTACK("Content-Length and Transfer-Encoding",
	       POST "Content-Length: 39\r\nTransfer-Encoding: chunked\r\n\r\n" CHUNKED_END),
	ATTACK("Transfer-Encoding and Content-Length",
	       POST "Transfer-Encoding: chunked\r\nContent-Length: 39\r\n\r\n" CHUNKED_END),
	ATTACK("Transfer-Encoding in HTTP/1.0", "POST / HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n"
	                                        "Transfer-Encoding: chunked\r\n\r\n" CHUNKED_END),
	ATTACK("two Transfer-Encodings",
	       POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n" CHUNKED_END),
	ATTACK("chunked twice", POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n" CHUNKED_END),
	ATTACK("a list of codings", POST "Transfer-Encoding: gzip, chunked\r\n\r\n" CHUNKED_END),
	ATTACK("chunked before another coding", POST "Transfer-Encoding: chunked, identity\r\n\r\n" CHUNKED_END),
	ATTACK("an unknown coding", POST "Transfer-Encoding: xchunked\r\n\r\n" CHUNKED_END),
	ATTACK("the coding identity", POST "Transfer-Encoding: identity\r\n\r\n" HIDDEN),
	ATTACK("an empty coding", POST "Transfer-Encoding:\r\n\r\n" CHUNKED_END),
	ATTACK("chunked with a trailing space", POST "Transfer-Encoding: chunked \r\n\r\n" CHUNKED_END),
	ATTACK("chunked with a parameter", POST "Transfer-Encoding: chunked;q=1\r\n\r\n" CHUNKED_END),
	ATTACK("chunked with a vertical tab", POST "Transfer-Encoding: \vchunked\r\n\r\n" CHUNKED_END),
	ATTACK("chunked in quotes", POST "Transfer-Encoding: \"chunked\"\r\n\r\n" CHUNKED_END),
	ATTACK("a space before the colon of Transfer-Encoding", POST "Transfer-Encoding : chunked\r\n\r\n" CHUNKED_END),
	ATTACK("a folded Transfer-Encoding", POST "Transfer-Encoding:\r\n chunked\r\n\r\n" CHUNKED_END),
	ATTACK("a folded header", POST "X: a\r\n b\r\nContent-Length: 0\r\n\r\n" HIDDEN),
	ATTACK("a header folded by a tab", POST "X: a\r\n\tb\r\n\r\n" HIDDEN),
	ATTACK("a folded last header", GET "X: a\r\n b\r\n\r\n" HIDDEN),
	ATTACK("a bare LF after a header", POST "X: a\nContent-Length: " HIDDEN_LEN "\r\n\r\n" HIDDEN),
	ATTACK("a bare LF after the request line", "GET / HTTP/1.1\nHost: a\r\n\r\n" HIDDEN),
	ATTACK("a bare LF as the empty line", GET "X: a\r\n\n" HIDDEN),
	ATTACK("bare LFs everywhere", "GET / HTTP/1.1\nHost: a\n\n" HIDDEN),
	ATTACK("a bare CR in a value", POST "X: a\rContent-Length: " HIDDEN_LEN "\r\n\r\n" HIDDEN),
	ATTACK("a NUL in a value", POST "X: a\0b\r\nContent-Length: 0\r\n\r\n" HIDDEN),
	ATTACK("a NUL that hides the end of a Content-Length", POST "Content-Length: 0\0" HIDDEN_LEN "\r\n\r\n" HIDDEN),
	ATTACK("two NULs at the end of a value", POST "X: a\0\0\r\n\r\n" HIDDEN),
	ATTACK("a NUL in a name", POST "X\0Y: a\r\n\r\n" HIDDEN),
	ATTACK("a NUL in the target", "GET /a\0b HTTP/1.1\r\nHost: a\r\n\r\n" HIDDEN),
	ATTACK("a control byte in a value", GET "X: a\001b\r\n\r\n" HIDDEN),
	ATTACK("DEL in a value", GET "X: a\177b\r\n\r\n" HIDDEN),
	ATTACK("a control byte in the target", "GET /a\001b HTTP/1.1\r\nHost: a\r\n\r\n" HIDDEN),
	ATTACK("a tab in the target", "GET /a\tb HTTP/1.1\r\nHost: a\r\n\r\n" HIDDEN),
	ATTACK("a space in the target", "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n" HIDDEN),
	ATTACK("a space in the query", "GET /?a b HTTP/1.1\r\nHost: a\r\n\r\n" HIDDEN),
	ATTACK("a control byte in the query", "GET /?a\001b HTTP/1.1\r\nHost: a\r\n\r\n" HIDDEN),
	ATTACK("a NUL in the query", "GET /?a\0b HTTP/1.1\r\nHost: a\r\n\r\n" HIDDEN),
	ATTACK("two spaces after the method", "GET  / HTTP/1.1\r\nHost: a\r\n\r\n" HIDDEN),
	ATTACK("two spaces before the version", "GET /  HTTP/1.1\r\nHost: a\r\n\r\n" HIDDEN),
	ATTACK("a space after the version", "GET / HTTP/1.1 \r\nHost: a\r\n\r\n" HIDDEN),
	ATTACK("a method that is not a token", "GE(T / HTTP/1.1\r\nHost: a\r\n\r\n" HIDDEN),
	ATTACK("an endless method", "GETGETGETGETGETGETGETGETGETGETGETGETGET / HTTP/1.1\r\nHost: a\r\n\r\n" HIDDEN),
	ATTACK("HTTP/1.2", "GET / HTTP/1.2\r\nHost: a\r\n\r\n" HIDDEN),
	ATTACK("HTTP in small letters", "GET / http/1.1\r\nHost: a\r\n\r\n" HIDDEN),
	ATTACK("no version", "GET /\r\nHost: a\r\n\r\n" HIDDEN),
	ATTACK("two Hosts", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n" HIDDEN),
	ATTACK("two equal Hosts", "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n" HIDDEN),
	ATTACK("two Hosts in HTTP/1.0", "GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n" HIDDEN),
	ATTACK("no Host in HTTP/1.1", "GET / HTTP/1.1\r\nX: y\r\n\r\n" HIDDEN),
	ATTACK("no header at all in HTTP/1.1", "GET / HTTP/1.1\r\n\r\n" HIDDEN),
	ATTACK("a Host with a path", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n" HIDDEN),
	ATTACK("a Host with a user", "GET / HTTP/1.1\r\nHost: u@a\r\n\r\n" HIDDEN),
	ATTACK("a list of Hosts", "GET / HTTP/1.1\r\nHost: a, b\r\n\r\n" HIDDEN),
	ATTACK("a space before the colon of Host", "GET / HTTP/1.1\r\nHost : a\r\nHost: a\r\n\r\n" HIDDEN),
	ATTACK("a header without a name", GET ": x\r\n\r\n" HIDDEN),
	ATTACK("a header without a colon", GET "X\r\n\r\n" HIDDEN),
	ATTACK("a header's name with a slash", GET "X/Y: z\r\n\r\n" HIDDEN),
	ATTACK("a header's name with UTF-8", GET "\303\244: z\r\n\r\n" HIDDEN),
	ATTACK("a first header that begins with a space", "GET / HTTP/1.1\r\n Host: a\r\nHost: a\r\n\r\n" HIDDEN),
	ATTACK("a target that is not a path", "GET a HTTP/1.1\r\nHost: a\r\n\r\n" HIDDEN),
	ATTACK("the target of CONNECT", "CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n" HIDDEN),
	ATTACK("a chunk's size that is not a number", POST "Transfer-Encoding: chunked\r\n\r\nx\r\n" HIDDEN),
	ATTACK("a chunk's size with a sign", POST "Transfer-Encoding: chunked\r\n\r\n+0\r\n\r\n" HIDDEN),
	ATTACK("a chunk's size with 0x", POST "Transfer-Encoding: chunked\r\n\r\n0x0\r\n\r\n" HIDDEN),
	ATTACK("a chunk's size with a space", POST "Transfer-Encoding: chunked\r\n\r\n0 \r\n\r\n" HIDDEN),
	ATTACK("a chunk that is longer than its size",
	       POST "Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n" HIDDEN),
};

static void check(const struct http_fixture *f, const struct attack *attack)
{
	char answer[16384];
	int fd = http_fixture_connect(f);
	assert_true(http_fixture_send(fd, attack->bytes, attack->len));
	if (!http_fixture_read_to_end(fd, answer, sizeof(answer), HTTP_FIXTURE_DEADLINE_MS))
		fail_msg("%s: the connection stays open after \"%s\"", attack->name, answer);
	close(fd);
	if (strncmp(answer, "HTTP/1.1 400 ", 13) != 0)
		fail_msg("%s: answered with \"%s\"", attack->name, answer);
	if (http_fixture_count(answer, "HTTP/1.1 ") != 1)
		fail_msg("%s: more than one answer: \"%s\"", attack->name, answer);
	if (strstr(answer, "\r\nConnection: close\r\n") == NULL)
		fail_msg("%s: does not say that it closes: \"%s\"", attack->name, answer);
}

static void refuses_every_request_whose_end_is_in_doubt(void **state)
{
	(void)state;
	struct http_fixture f;
	http_fixture_start(&f, http_fixture_config(), NULL);
	for (size_t i = 0; i < sizeof(attacks) / sizeof(attacks[0]); i++) {
		check(&f, &attacks[i]);
		if (atomic_load(&f.calls) != 0)
			fail_msg("%s: a request was executed", attacks[i].name);
	}
	print_message("%zu attacks refused\n", sizeof(attacks) / sizeof(attacks[0]));
	http_fixture_stop(&f, 1000);
}

/* The same bytes must not be read otherwise when they arrive in pieces. */
static void refuses_them_when_they_arrive_byte_by_byte(void **state)
{
	(void)state;
	struct http_fixture f;
	http_fixture_start(&f, http_fixture_config(), NULL);
	for (size_t i = 0; i < sizeof(attacks) / sizeof(attacks[0]); i++) {
		int fd = http_fixture_connect(&f);
		size_t sent = 0;
		while (sent < attacks[i].len && http_fixture_send(fd, attacks[i].bytes + sent, 1))
			sent++;
		char answer[16384];
		assert_true(http_fixture_read_to_end(fd, answer, sizeof(answer), HTTP_FIXTURE_DEADLINE_MS));
		if (strncmp(answer, "HTTP/1.1 400 ", 13) != 0 || http_fixture_count(answer, "HTTP/1.1 ") != 1)
			fail_msg("%s: answered with \"%s\"", attacks[i].name, answer);
		close(fd);
	}
	assert_int_equal(atomic_load(&f.calls), 0);
	http_fixture_stop(&f, 1000);
}

static void closes_without_an_answer_what_is_not_a_request_line(void **state)
{
	(void)state;
	struct http_fixture f;
	http_fixture_start(&f, http_fixture_config(), NULL);
	const char *const noise[] = { "GET\r\n\r\n" HIDDEN, " / HTTP/1.1\r\nHost: a\r\n\r\n" HIDDEN,
		                      "\x16\x03\x01\r\n" HIDDEN };
	for (size_t i = 0; i < sizeof(noise) / sizeof(noise[0]); i++) {
		char answer[1024];
		int fd = http_fixture_connect(&f);
		assert_true(http_fixture_send_text(fd, noise[i]));
		assert_true(http_fixture_read_to_end(fd, answer, sizeof(answer), HTTP_FIXTURE_DEADLINE_MS));
		assert_string_equal(answer, "");
		close(fd);
	}
	assert_int_equal(atomic_load(&f.calls), 0);
	http_fixture_stop(&f, 1000);
}

static void says_505_to_other_major_versions(void **state)
{
	(void)state;
	struct http_fixture f;
	struct http_fixture_answer answer;
	http_fixture_start(&f, http_fixture_config(), NULL);
	http_fixture_ask(&f, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", &answer);
	assert_int_equal(answer.status, 505);
	http_fixture_ask(&f, "GET / HTTP/0.9\r\n\r\n", &answer);
	assert_int_equal(answer.status, 505);
	assert_int_equal(atomic_load(&f.calls), 0);
	http_fixture_stop(&f, 1000);
}

static void accepts_plain_requests_of_every_shape(void **state)
{
	(void)state;
	static const char *const requests[] = {
		"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET / HTTP/1.1\r\nHost:a\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: \t a\r\n\r\n",
		"GET / HTTP/1.1\r\nHost:\r\n\r\n",
		"GET / HTTP/1.1\r\nhost: [::1]:8080\r\nX:\r\nY:   \r\nZ: a b\tc\r\n\r\n",
		"GET /?a=1&b=2&&c&=d HTTP/1.1\r\nHost: a\r\nCookie: a=b; c=d\r\nCookie: e=f\r\n\r\n",
		"\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET / HTTP/1.0\r\n\r\n",
		"GET / HTTP/1.0\r\nHost: a\r\n\r\n",
		"GET http://a/b?c HTTP/1.1\r\nHost: a\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc",
		"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 003\r\n\r\nabc",
		"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\nT: u\r\n\r\n",
		"BREW / HTTP/1.1\r\nHost: a\r\nX: \303\244\r\n\r\n",
	};
	struct http_fixture f;
	http_fixture_start(&f, http_fixture_config(), NULL);
	for (unsigned i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		struct http_fixture_answer answer;
		http_fixture_ask(&f, requests[i], &answer);
		if (answer.status != 200)
			fail_msg("\"%s\" is answered with %u: %s", requests[i], answer.status, answer.body);
		assert_int_equal(atomic_load(&f.calls), i + 1);
	}
	http_fixture_stop(&f, 1000);
}

/* Reading a long head grows the library's buffer: its pieces must still be found where they belong. */
static void accepts_long_heads_in_small_pieces(void **state)
{
	(void)state;
	struct http_fixture f;
	http_fixture_start(&f, http_fixture_config(), NULL);
	char request[16384];
	int len = snprintf(request, sizeof(request), "GET /%0*d?%0*d HTTP/1.1\r\nHost: a\r\n", 900, 1, 900, 2);
	for (unsigned i = 0; i < 60; i++)
		len += snprintf(request + len, sizeof(request) - (size_t)len, "X-%u: %0*u\r\n", i, (int)i + 40, i);
	len += snprintf(request + len, sizeof(request) - (size_t)len, "\r\n");
	int fd = http_fixture_connect(&f);
	assert_in_range(len, 6000, 8192);
	for (int sent = 0; sent < len; sent += 397)
		assert_true(http_fixture_send(fd, request + sent, (size_t)(len - sent < 397 ? len - sent : 397)));
	struct http_fixture_answer answer;
	http_fixture_read_answer(fd, true, &answer);
	assert_int_equal(answer.status, 200);
	close(fd);
	http_fixture_stop(&f, 1000);
}

/* Pipelined requests share the library's buffer with what comes after them. */
static void accepts_pipelined_requests(void **state)
{
	(void)state;
	struct http_fixture f;
	http_fixture_start(&f, http_fixture_config(), NULL);
	int fd = http_fixture_connect(&f);
	static const char burst[] =
		"GET /1?a=b HTTP/1.1\r\nHost: a\r\n\r\nPOST /2 HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nxy"
		"POST /3 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nz\r\n0\r\n\r\n"
		"GET /4 HTTP/1.1\r\nHost: a\r\n\r\n";
	assert_true(http_fixture_send(fd, burst, sizeof(burst) - 1));
	const char *const expected[] = { "GET /1 ?a=b", "POST /2 ?", "POST /3 ?", "GET /4 ?" };
	for (unsigned i = 0; i < 4; i++) {
		struct http_fixture_answer answer;
		http_fixture_read_answer(fd, true, &answer);
		assert_int_equal(answer.status, 200);
		assert_string_equal(answer.body, expected[i]);
	}
	close(fd);
	assert_int_equal(atomic_load(&f.calls), 4);
	http_fixture_stop(&f, 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refuses_every_request_whose_end_is_in_doubt),
		cmocka_unit_test(refuses_them_when_they_arrive_byte_by_byte),
		cmocka_unit_test(closes_without_an_answer_what_is_not_a_request_line),
		cmocka_unit_test(says_505_to_other_major_versions),
		cmocka_unit_test(accepts_plain_requests_of_every_shape),
		cmocka_unit_test(accepts_long_heads_in_small_pieces),
		cmocka_unit_test(accepts_pipelined_requests),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
