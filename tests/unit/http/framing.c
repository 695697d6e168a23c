#include "tests/unit/http/framing.h"

#include <ctype.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "lib/base/strbuf.h"
#include "tests/support/test.h"

/*
 * Placeholders: $m is the method, $v the minor version, $r3(x) is xxx. With HTTP/1.0 the server reads
 * what follows only if the connection is kept.
 */
#define LINE "$m /first HTTP/1.$v\r\n"
#define LINE_1_0 "$m /first HTTP/1.0\r\n"
#define LINE_1_1 "$m /first HTTP/1.1\r\n"
#define KEEP "Connection: keep-alive\r\n"
#define HOST "Host: a\r\n" KEEP
#define END "\r\n"
#define CHUNKED LINE_1_1 HOST "Transfer-Encoding: chunked\r\n" END

/* Follows each bad request. The rules know its length: 33. */
#define HIDDEN "GET /hidden HTTP/1.1\r\nHost: a\r\n\r\n"
#define BARRIER "GET " FRAMING_BARRIER " HTTP/1.1\r\nHost: a\r\n\r\n"
#define BYTES_MAX 65536
#define VARIANTS 8

struct rule {
	unsigned status;
	/* Of every variant; NULL: each has another. */
	const char *method;
	/* With placeholders. It may contain NULs. */
	const char *text;
	size_t len;
	/* The head is plain, and the chunks are malformed. */
	bool is_chunked;
	/* Of a good request, as the handler sees it. */
	size_t body_len;
};

#define RULE(status, method, text, ...)                                                            \
	{                                                                                          \
		status, method, text, sizeof(text) - 1, __VA_ARGS__                                \
	}
#define BAD(status, text) RULE(status, NULL, text, false, 0)
#define BAD_OF(method, status, text) RULE(status, #method, text, false, 0)
#define CHUNKS(status, text) RULE(status, "POST", CHUNKED text, true, 0)
#define CHUNKS_OF_GET(status, text) RULE(status, "GET", CHUNKED text, true, 0)
#define GOOD(body_len, text) RULE(200, NULL, text, false, body_len)

static const struct rule bad_rules[] = {
	BAD(400, LINE HOST "Content-Length: 0\r\nContent-Length: 33\r\n" END),
	BAD(400, LINE HOST "Content-Length: 33\r\nContent-Length: 0\r\n" END),
	BAD(400, LINE HOST "Content-Length: 0\r\nContent-Length: 0\r\n" END),
	BAD(400, LINE HOST "Content-Length: 33\r\nContent-Length: 33\r\n" END),
	BAD(400, LINE HOST "Content-Length: 0\r\nContent-Length: 0\r\nContent-Length: 33\r\n" END),
	BAD(400, LINE HOST "Content-Length: 33\r\nContent-Length:\r\n" END),
	BAD(400, LINE HOST "Content-Length: 0\r\nContent-Length: x\r\n" END),
	BAD(400, LINE HOST "Content-Length: 0, 33\r\n" END),
	BAD(400, LINE HOST "Content-Length: 0, 0\r\n" END),
	BAD(400, LINE HOST "Content-Length: 0,33\r\n" END),
	BAD(400, LINE HOST "Content-Length: 0,\r\n" END),
	BAD(400, LINE HOST "Content-Length: -1\r\n" END),
	BAD(400, LINE HOST "Content-Length: -0\r\n" END),
	BAD(400, LINE HOST "Content-Length: +0\r\n" END),
	BAD(400, LINE HOST "Content-Length: 0x22\r\n" END),
	BAD(400, LINE HOST "Content-Length: 0a\r\n" END),
#if MHD_VERSION < 0x01000000 /* later ones follow RFC 9110, 5.5 */
	BAD(400, LINE HOST "Content-Length: 0 \r\n" END),
	BAD(400, LINE HOST "Content-Length: 0\t\r\n" END),
#endif
	BAD(400, LINE HOST "Content-Length: \"0\"\r\n" END),
	BAD(400, LINE HOST "Content-Length: 0.0\r\n" END),
	BAD(400, LINE HOST "Content-Length: 0e0\r\n" END),
	BAD(400, LINE HOST "Content-Length: 0 0\r\n" END),
	BAD(400, LINE HOST "Content-Length: 0;\r\n" END),
	BAD(400, LINE HOST "Content-Length: 0000000000000000000\r\n" END),
	BAD(400, LINE HOST "Content-Length: \v0\r\n" END),
	BAD(400, LINE HOST "Content-Length: \302\2400\r\n" END),
	BAD(400, LINE HOST "Content-Length: \331\240\r\n" END),
	BAD(400, LINE HOST "Content-Length:\r\n" END),
	BAD(400, LINE HOST "Content-Length: \t \r\n" END),
	BAD(400, LINE HOST "Content-Length : 33\r\n" END),
	BAD(400, LINE HOST "Content-Length\t: 33\r\n" END),
	BAD(400, LINE HOST "X: y\r\n Content-Length: 33\r\n" END),
	BAD(400, LINE HOST "Content -Length: 33\r\n" END),
	BAD(400, LINE HOST "Content-Length: 38\r\nTransfer-Encoding: chunked\r\n" END "0\r\n\r\n"),
	BAD(400, LINE HOST "Transfer-Encoding: chunked\r\nContent-Length: 38\r\n" END "0\r\n\r\n"),
	BAD(400, LINE HOST "Content-Length: 0\r\nTransfer-Encoding: chunked\r\n" END "0\r\n\r\n"),
	BAD(400, LINE HOST "Content-Length: 38\r\nTransfer-Encoding: xchunked\r\n" END "0\r\n\r\n"),
	BAD(400, LINE HOST "Content-Length: 0\r\nTransfer-Encoding: identity\r\n" END),
	BAD(400, LINE_1_0 HOST "Transfer-Encoding: chunked\r\n" END "0\r\n\r\n"),
	BAD(400, LINE_1_0 HOST "Transfer-Encoding: gzip\r\n" END),
	BAD(400, LINE HOST "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n" END
	                   "0\r\n\r\n"),
	BAD(400, LINE HOST "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n" END
	                   "0\r\n\r\n"),
	BAD(400, LINE HOST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n" END
	                   "0\r\n\r\n"),
	BAD(400, LINE HOST "Transfer-Encoding: gzip, chunked\r\n" END "0\r\n\r\n"),
	BAD(400, LINE HOST "Transfer-Encoding: chunked, identity\r\n" END "0\r\n\r\n"),
	BAD(400, LINE HOST "Transfer-Encoding: chunked, chunked\r\n" END "0\r\n\r\n"),
	BAD(400, LINE HOST "Transfer-Encoding: , chunked\r\n" END "0\r\n\r\n"),
	BAD(400, LINE HOST "Transfer-Encoding: chunked,\r\n" END "0\r\n\r\n"),
	BAD(400, LINE HOST "Transfer-Encoding: xchunked\r\n" END "0\r\n\r\n"),
	BAD(400, LINE HOST "Transfer-Encoding: chunkedx\r\n" END "0\r\n\r\n"),
	BAD(400, LINE HOST "Transfer-Encoding: gzip\r\n" END "0\r\n\r\n"),
	BAD(400, LINE HOST "Transfer-Encoding: deflate\r\n" END "0\r\n\r\n"),
	BAD(400, LINE HOST "Transfer-Encoding: identity\r\n" END "0\r\n\r\n"),
#if MHD_VERSION < 0x01000000
	BAD(400, LINE HOST "Transfer-Encoding: chunked \r\n" END "0\r\n\r\n"),
	BAD(400, LINE HOST "Transfer-Encoding: chunked\t\r\n" END "0\r\n\r\n"),
#endif
	BAD(400, LINE HOST "Transfer-Encoding: chunked;q=1\r\n" END "0\r\n\r\n"),
	BAD(400, LINE HOST "Transfer-Encoding: \vchunked\r\n" END "0\r\n\r\n"),
	BAD(400, LINE HOST "Transfer-Encoding: \"chunked\"\r\n" END "0\r\n\r\n"),
	BAD(400, LINE HOST "Transfer-Encoding: \x01"
	                   "chunked\r\n" END "0\r\n\r\n"),
	BAD(400, LINE HOST "Transfer-Encoding: (chunked)\r\n" END "0\r\n\r\n"),
	BAD(400, LINE HOST "Transfer-Encoding: chunked\240\r\n" END "0\r\n\r\n"),
	BAD(400, LINE HOST "Transfer-Encoding:\r\n" END "0\r\n\r\n"),
	BAD(400, LINE HOST "Transfer-Encoding : chunked\r\n" END "0\r\n\r\n"),
	BAD(400, LINE HOST "Transfer-Encoding\t: chunked\r\n" END "0\r\n\r\n"),
	BAD(400, LINE HOST "Transfer-Encoding:\r\n chunked\r\n" END "0\r\n\r\n"),
	BAD(400, LINE HOST "X: y\r\n Transfer-Encoding: chunked\r\n" END "0\r\n\r\n"),
	BAD(400, LINE HOST "X: a\r\n b\r\nContent-Length: 0\r\n" END),
	BAD(400, LINE HOST "X: a\r\n\tb\r\n" END),
	BAD(400, LINE HOST "X: a\r\n \r\n" END),
	BAD(400, LINE HOST "X: a\nContent-Length: 33\r\n" END),
	BAD(400, "$m /first HTTP/1.$v\n" HOST END),
	BAD(400, LINE HOST "\n"),
	BAD(400, "$m /first HTTP/1.$v\n" HOST "X: y\n\n"),
	BAD(400, LINE HOST "X: a\rContent-Length: 33\r\n" END),
	BAD(400, LINE HOST "X: a\0b\r\nContent-Length: 0\r\n" END),
	BAD(400, LINE HOST "Content-Length: 0\0"
	                   "33\r\n" END),
	BAD(400, LINE HOST "X: a\0\0\r\n" END),
	BAD(400, LINE HOST "X\0Y: a\r\n" END),
	BAD(400, "$m /a\0b HTTP/1.$v\r\n" HOST END),
	BAD(400, "$m /?a\0b HTTP/1.$v\r\n" HOST END),
	BAD(400, "GE\0T / HTTP/1.$v\r\n" HOST END),
	BAD(400, LINE HOST "X: a\001\"b\r\n" END),
	BAD(400, "$m /a\001/b HTTP/1.$v\r\n" HOST END),
	BAD(400, LINE HOST "X: a\177\"b\r\n" END),
	BAD(400, "$m /a\177/b HTTP/1.$v\r\n" HOST END),
	BAD(400, LINE HOST "X: a\033\"b\r\n" END),
	BAD(400, "$m /a\033/b HTTP/1.$v\r\n" HOST END),
	BAD(400, LINE HOST "X: a\v\"b\r\n" END),
	BAD(400, "$m /a\v/b HTTP/1.$v\r\n" HOST END),
	BAD(400, LINE HOST "X: a\f\"b\r\n" END),
	BAD(400, "$m /a\f/b HTTP/1.$v\r\n" HOST END),
	BAD(400, "$m /a\tb HTTP/1.$v\r\n" HOST END),
	BAD(400, "$m /a b HTTP/1.$v\r\n" HOST END),
	BAD(400, "$m /?a b HTTP/1.$v\r\n" HOST END),
	BAD(400, "$m /?a\001/b HTTP/1.$v\r\n" HOST END),
	BAD(400, "$m  /first HTTP/1.$v\r\n" HOST END),
	BAD(400, "$m\t/first HTTP/1.$v\r\n" HOST END),
	BAD(400, "$m /first  HTTP/1.$v\r\n" HOST END),
	BAD(400, "$m /first HTTP/1.$v \r\n" HOST END),
	BAD(400, "GE(T /first HTTP/1.$v\r\n" HOST END),
	BAD(400, "GET: /first HTTP/1.$v\r\n" HOST END),
	BAD(400, "GETGETGETGETGETGETGETGETGETGETGETGETGET /first HTTP/1.$v\r\n" HOST END),
	BAD(400, "$m /first HTTP/1.2\r\n" HOST END),
	BAD(400, "$m /first HTTP/1.01\r\n" HOST END),
	BAD(400, "$m /first HTTP/1.1x\r\n" HOST END),
	BAD(400, "$m /first http/1.$v\r\n" HOST END),
	BAD(400, "$m /first\r\n" HOST END),
	BAD(400, LINE KEEP "Host: a\r\nHost: b\r\n" END),
	BAD(400, LINE KEEP "Host: a\r\nHost: a\r\n" END),
	BAD(400, LINE KEEP "Host: a\r\nHost:\r\n" END),
	BAD(400, LINE KEEP "Host: a\r\nHost: b\r\nHost: c\r\n" END),
	BAD(400, LINE_1_1 "X: y\r\n" END),
	BAD(400, "$m /first HTTP/1.1\r\n\r\n"),
	BAD(400, "$m http://a/first HTTP/1.1\r\n" END),
	BAD(400, LINE KEEP "Host: a/b\r\n" END),
	BAD(400, LINE KEEP "Host: u@a\r\n" END),
	BAD(400, LINE KEEP "Host: a?b\r\n" END),
	BAD(400, LINE KEEP "Host: a#b\r\n" END),
	BAD(400, LINE KEEP "Host: a\\b\r\n" END),
	BAD(400, LINE KEEP "Host: \"a\"\r\n" END),
	BAD(400, LINE KEEP "Host: a b\r\n" END),
	BAD(400, LINE KEEP "Host: a, b\r\n" END),
	BAD(400, LINE KEEP "Host: <a>\r\n" END),
	BAD(400, LINE HOST "Host : a\r\n" END),
	BAD(400, LINE KEEP "Host : a\r\n" END),
	BAD(400, LINE HOST ": x\r\n" END),
	BAD(400, LINE HOST "X\r\n" END),
	BAD(400, LINE HOST "X : y\r\n" END),
	BAD(400, LINE HOST "X/Y: z\r\n" END),
	BAD(400, LINE HOST "X(Y: z\r\n" END),
	BAD(400, LINE HOST "\303\244: z\r\n" END),
	BAD(400, LINE " X: y\r\n" HOST END),
	BAD(400, LINE HOST "X: a\r\n b\r\n" END),
	BAD(400, "$m a HTTP/1.$v\r\n" HOST END),
	BAD(400, "$m * HTTP/1.$v\r\n" HOST END),
	BAD(400, "CONNECT a:80 HTTP/1.$v\r\n" HOST END),
	BAD(400, "$m ftp://a/first HTTP/1.$v\r\n" HOST END),
	CHUNKS(400, "x\r\n"),
	CHUNKS(400, "+0\r\n\r\n"),
	CHUNKS(400, "-1\r\n\r\n"),
	CHUNKS(400, "0x0\r\n\r\n"),
	CHUNKS(400, "0 \r\n\r\n"),
	CHUNKS(400, "\r\n\r\n"),
	CHUNKS(413, "10000000000000000\r\n\r\n"),
	CHUNKS(400, "1\r\nab\r\n0\r\n\r\n"),
	CHUNKS(400, "1\r\na0\r\n\r\n"),
	BAD_OF(POST, 413, LINE HOST "Content-Length: 16385\r\n" END),
	BAD(413, LINE HOST "Content-Length: 999999999999999999\r\n" END),
	BAD_OF(GET, 413, LINE HOST "Content-Length: 1025\r\n" END),
	CHUNKS_OF_GET(413, "401\r\n$r1025(x)\r\n0\r\n\r\n"),
	BAD(414, "$m /$r4096(a) HTTP/1.$v\r\n" HOST END),
	BAD(414, "$m /$r19999(a) HTTP/1.$v\r\n" HOST END),
	BAD(431, LINE HOST "$r70(X: y\r\n)" END),
	BAD(431, LINE HOST
	    "$r50(X-Filler: abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz\r\n)" END),
};

static const struct rule good_rules[] = {
	GOOD(0, LINE HOST END),
	GOOD(0, LINE_1_0 KEEP END),
	GOOD(0, LINE KEEP "Host:\r\n" END),
	GOOD(0, LINE KEEP "Host: a \r\n" END),
	GOOD(0, LINE KEEP "Host: a:80\t \r\n" END),
	GOOD(0, LINE KEEP "Host: [::1]:8080\r\n" END),
	GOOD(0, "$m http://a/first HTTP/1.$v\r\n" HOST END),
	GOOD(0, "$m /first?a=1&b=2&&c&=d HTTP/1.$v\r\n" HOST END),
	GOOD(0, "\r\n$m /first HTTP/1.$v\r\n" HOST END),
	GOOD(0, LINE HOST "X:\r\nY:   \r\nZ: a b\tc\r\n" END),
	GOOD(0, LINE HOST "X: \303\244\377\r\n" END),
	GOOD(0, LINE HOST "Cookie: a=b; c=d\r\nCookie: e=f\r\n" END),
	GOOD(0, LINE HOST "$r55(X: y\r\n)" END),
	GOOD(0, LINE HOST "Content-Length: 0\r\n" END),
	GOOD(0, LINE HOST "Content-Length: 000\r\n" END),
	GOOD(5, LINE HOST "Content-Length: 5\r\n" END "hello"),
	GOOD(5, LINE HOST "Content-Length: 0005\r\n" END "hello"),
	GOOD(33, LINE HOST "Content-Length: 33\r\n" END "GET /hidden HTTP/1.1\r\nHost: a\r\n\r\n"),
	GOOD(9, LINE HOST "Content-Length: 9\r\n" END "\0\r\n\t\377\r\n\r\n"),
	GOOD(5, CHUNKED "5\r\nhello\r\n0\r\n\r\n"),
	GOOD(0, CHUNKED "0\r\n\r\n"),
	GOOD(10, LINE_1_1 HOST "Transfer-Encoding: Chunked\r\n" END "A\r\nhellohello\r\n0\r\n\r\n"),
	GOOD(5, CHUNKED "005\r\nhello\r\n00\r\n\r\n"),
#if MHD_VERSION <                                                                                  \
	0x01000000 /* 1.0.1 rejects what follows: it takes the LF for the chunk's first byte */
	GOOD(5, CHUNKED "5;x=y\r\nhello\r\n0;z\r\n\r\n"),
#endif
	GOOD(4, LINE_1_1 HOST "Transfer-Encoding: CHUNKED\r\n" END
	                      "1\r\na\r\n2\r\nbc\r\n1\r\nd\r\n0\r\n\r\n"),
	GOOD(3, CHUNKED "3\r\nabc\r\n0\r\nT: u\r\n\r\n"),
	GOOD(33, CHUNKED "21\r\nGET /hidden HTTP/1.1\r\nHost: a\r\n\r\n\r\n0\r\n\r\n"),
};

struct runner {
	const struct http_fixture *server;
	bool is_redirector;
	/* The connection of the barrier. */
	int barrier;
	struct framing_report *report;
	const struct rule *rule;
	const char *method;
	struct strbuf bytes;
};

/* Adds the text of $r: its number, and in parentheses what is repeated. Returns its length. */
static size_t add_repeated(struct strbuf *out, const char *text)
{
	char *begin;
	unsigned long times = strtoul(text, &begin, 10);
	size_t len = strcspn(begin, ")") - 1;
	while (times-- > 0)
		strbuf_add(out, begin + 1, len);
	return (size_t)(begin - text) + len + 2;
}

/* Variants differ in method, version, and the spelling of header names. */
static void make(struct runner *r, unsigned variant)
{
	static const char *const methods[] = { "GET", "POST", "HEAD", "BREW" };
	const struct rule *rule = r->rule;
	bool is_name = false, has_small_names = (variant + variant / 4) % 2 == 1;
	r->method = rule->method ? rule->method : methods[variant % 4];
	strbuf_init(&r->bytes, BYTES_MAX);
	for (size_t i = 0; i < rule->len; i++) {
		char c = rule->text[i];
		is_name = c == '\n' || (is_name && (isalnum((unsigned char)c) || c == '-'));
		if (is_name && has_small_names)
			c = (char)tolower((unsigned char)c);
		if (c != '$')
			strbuf_add_char(&r->bytes, c);
		else if (rule->text[++i] == 'm')
			strbuf_add_text(&r->bytes, r->method);
		else if (rule->text[i] == 'v')
			strbuf_add_char(&r->bytes, variant < 4 ? '1' : '0');
		else
			i += add_repeated(&r->bytes, rule->text + i + 1);
	}
	if (rule->status != 200)
		strbuf_add_text(&r->bytes, HIDDEN);
	assert_int_equal(strbuf_status(&r->bytes), OK);
}

static void wait_until_read(const struct runner *r)
{
	struct http_fixture_response response;
	for (int i = 0; i < 2; i++) {
		assert_true(http_fixture_send_text(r->barrier, BARRIER));
		http_fixture_read_response(r->barrier, true, &response);
		assert_int_equal(response.status, 200);
	}
}

/* A redirector answers other methods than GET and HEAD before the body, for an unknown slug. */
static bool is_unread(const struct runner *r)
{
	return r->is_redirector && (r->rule->is_chunked || r->rule->status == 413) &&
	       strcmp(r->method, "GET") != 0 && strcmp(r->method, "HEAD") != 0;
}

static const char *fault_of_bad(const struct runner *r, int fd, char *response, size_t size)
{
	unsigned status = is_unread(r)                              ? 404
	                  : r->is_redirector && r->rule->is_chunked ? 411
	                                                            : r->rule->status;
	r->report->unread += is_unread(r);
	char expected[16];
	snprintf(expected, sizeof(expected), "HTTP/1.1 %u ", status);
	bool ended = http_fixture_read_to_end(fd, response, size, HTTP_FIXTURE_DEADLINE_MS);
	size_t responses = http_fixture_count(response, "HTTP/1.1 ");
	/* 1.0 rejects most of them itself, and may reset the connection before its response is read. */
	if (MHD_VERSION >= 0x01000000 && ended && responses == 0)
		return NULL;
	r->report->smuggled += responses > 1;
	r->report->crashed += responses == 0;
	if (!ended)
		return "the connection stays open";
	if (strncmp(response, expected, strlen(expected)) != 0)
		return "the status is not the expected one";
	if (responses != 1)
		return "there is more than one response";
	if (!strstr(response, "\r\nConnection: close\r\n"))
		return "Connection: close is missing";
	if (status == 413 && strcmp(r->method, "HEAD") == 0 &&
	    strstr(response, "\r\n\r\n")[4] != '\0')
		return "HEAD gets a body";
	return NULL;
}

static const char *fault_of_good(const struct runner *r, int fd)
{
	struct http_fixture_response response;
	char expected[64];
	bool has_body = strcmp(r->method, "HEAD") != 0;
	snprintf(expected, sizeof(expected), "%s %zu", r->method, r->rule->body_len);
	http_fixture_read_response(fd, has_body, &response);
	r->report->crashed += response.status == 0;
	if (response.status != 200 || (has_body && strcmp(response.body, expected) != 0))
		return "the response is not the expected one";
	if (!http_fixture_send_text(fd, BARRIER))
		return "the connection was not kept";
	http_fixture_read_response(fd, true, &response);
	return response.status == 200 ? NULL : "the connection was not kept";
}

/* first_piece 0: sends the request whole. */
static void send_case(struct runner *r, size_t first_piece)
{
	struct framing_report *report = r->report;
	char response[16384] = "";
	if (report->wrong > 0)
		return;
	int fd = http_fixture_connect(r->server);
	if (first_piece > 0) {
		assert_true(http_fixture_send(fd, r->bytes.data, first_piece));
		wait_until_read(r);
	}
	/* The server may have closed the connection after the first piece. */
	(void)http_fixture_send(fd, r->bytes.data + first_piece, r->bytes.len - first_piece);
	const char *fault = r->rule->status == 200
	                            ? fault_of_good(r, fd)
	                            : fault_of_bad(r, fd, response, sizeof(response));
	close(fd);
	report->cases++;
	if (fault) {
		report->wrong++;
		snprintf(report->first_wrong, sizeof(report->first_wrong),
		         "%s (first piece %zu)\n--- request\n%.700s\n--- response\n%.700s", fault,
		         first_piece, r->bytes.data, response);
	}
}

/* A cut may expose a bug at separators, and where a word begins or ends. */
static bool is_place_to_cut(const char *bytes, size_t at)
{
	return !isalnum((unsigned char)bytes[at]) || !isalnum((unsigned char)bytes[at - 1]);
}

static void send_in_two(struct runner *r, size_t cuts_max)
{
	size_t places = 0, place = 0;
	for (size_t at = 1; at < r->bytes.len; at++)
		places += is_place_to_cut(r->bytes.data, at);
	for (size_t at = 1; at < r->bytes.len; at++)
		if (is_place_to_cut(r->bytes.data, at) && place++ % (places / cuts_max + 1) == 0)
			send_case(r, at);
}

static void send_all(const struct http_fixture *server, bool is_redirector,
                     const struct rule *rules, size_t count, size_t cuts,
                     struct framing_report *report)
{
	struct runner r = { .server = server,
		            .is_redirector = is_redirector,
		            .barrier = http_fixture_connect(server),
		            .report = report };
	*report = (struct framing_report){ 0 };
	for (r.rule = rules; r.rule < rules + count; r.rule++)
		for (unsigned variant = 0; variant < VARIANTS; variant++) {
			make(&r, variant);
			send_case(&r, 0);
			if (variant == 0)
				send_in_two(&r, cuts);
			strbuf_clear(&r.bytes);
		}
	close(r.barrier);
}

void framing_send_bad(const struct http_fixture *server, bool is_redirector, size_t cuts,
                      struct framing_report *report)
{
	send_all(server, is_redirector, bad_rules, ARRAY_SIZE(bad_rules), cuts, report);
}

void framing_send_good(const struct http_fixture *server, size_t cuts,
                       struct framing_report *report)
{
	send_all(server, false, good_rules, ARRAY_SIZE(good_rules), cuts, report);
}
