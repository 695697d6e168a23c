/* What visitors type, and programs make of it: marks behind a slug, case, methods. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/integration/redirector/fixture.h"
#include "tests/support/test.h"

#define EVENTS "waymark_events_accepted_total"
#define FROM_POSTGRES "waymark_link_lookups_total{level=\"postgres\"}"
#define FROM_MEMORY "waymark_link_lookups_total{level=\"memory\"}"

static void raise_case(char *text)
{
	for (; *text; text++)
		if (*text >= 'a' && *text <= 'z')
			*text = (char)(*text - 'a' + 'A');
}

/* The status of "METHOD /{before}{slug}{after}", the slug in upper case if is_upper. */
static unsigned request(struct fixture *f, const char *method, const char *before, const char *name,
                        bool is_upper, const char *after)
{
	char line[256], slug[SLUG_SIZE];
	fixture_slug(f, name, slug);
	if (is_upper)
		raise_case(slug);
	snprintf(line, sizeof(line), "%s /%s%s%s", method, before, slug, after);
	return fixture_request(f, line, "");
}

TEST_CASE(follows_a_link_whatever_mark_stands_behind_its_slug)
{
	struct fixture *f = *state;
	f->config.memory_ttl_ms = 60000;
	fixture_add_link(f, "spring");
	fixture_start(f);
	static const char *const endings[] = {
		".",
		",",
		")",
		"!",
		"%E2%80%9D",
		"%20",
		"//",
		"%E2%80%8B",
		"\xe2\x80\x9d",
		"%E3%80%82",
		").",
		"&utm_source=x",
		"%3Futm_source=x",
		"%0D%0A",
		"%C2%A0",
		"'",
	};
	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		if (request(f, "GET", "", "spring", false, endings[i]) != 302)
			fail_msg("%s is answered with %u", endings[i], f->answer.status);
		fixture_assert_header(f, "Location", "https://example.com/spring");
	}
	assert_int_equal(request(f, "GET", "/", "spring", false, ""), 302);
	assert_int_equal(request(f, "HEAD", "/r//", "spring", true, "%E2%80%9D"), 302);
	assert_int_equal(request(f, "GET", "", "spring", false, "/more"), 404);
	assert_int_equal(request(f, "GET", "", "spring", false, "%C3%A4"), 404);
	assert_int_equal(fixture_metric(f, FROM_POSTGRES), 1);
}

TEST_CASE(finds_a_chosen_slug_in_either_case_as_one_link)
{
	struct fixture *f = *state;
	f->config.memory_ttl_ms = 60000;
	fixture_add_link(f, "Sale");
	fixture_start(f);
	assert_int_equal(request(f, "GET", "", "sale", true, ""), 302);
	assert_int_equal(request(f, "GET", "", "sale", false, ""), 302);
	assert_int_equal(request(f, "GET", "", "Sale", false, ""), 302);
	fixture_assert_header(f, "Location", "https://example.com/Sale");
	assert_int_equal(fixture_metric(f, FROM_POSTGRES), 1);
	assert_int_equal(fixture_metric(f, FROM_MEMORY), 2);
	struct link_entry entry;
	assert_int_equal(fixture_read_redis(f, "sale", &entry), LINK_CACHE_ENTRY);
	char slug[SLUG_SIZE];
	assert_string_equal(entry.slug, fixture_slug(f, "Sale", slug));
}

/* Found in PostgreSQL, in Redis and in memory alike. */
TEST_CASE(finds_a_random_slug_only_as_it_is)
{
	struct fixture *f = *state;
	f->config.memory_ttl_ms = 60000;
	fixture_add_link(f, "aBc1234");
	fixture_change_link(f, "aBc1234", "slug_chosen = false");
	fixture_start(f);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(request(f, "GET", "", "abc1234", true, ""), 404);
		assert_int_equal(request(f, "GET", "", "abc1234", false, ""), 404);
		assert_int_equal(request(f, "GET", "", "aBc1234", false, ""), 302);
	}
	assert_int_equal(fixture_metric(f, EVENTS), 3);
}

/* kind: "f" or "e", because the tests share a database. */
static void follow_both_of_a_pair(struct fixture *f, const char *kind)
{
	char pair[8], other[8], third[8], sql[512], slug[SLUG_SIZE];
	snprintf(pair, sizeof(pair), "%s-pair", kind);
	snprintf(other, sizeof(other), "%s-Pair", kind);
	snprintf(third, sizeof(third), "%s-PAIR", kind);
	f->config.memory_ttl_ms = 60000;
	fixture_add_link(f, pair);
	fixture_change_link(f, pair, "slug_exact = true");
	snprintf(
		sql, sizeof(sql),
		"INSERT INTO links (slug, slug_exact, link_type, original_url, workspace_id) SELECT '%s', "
		"true, 'PERMANENT', 'https://example.com/other', min(id) FROM users",
		fixture_slug(f, other, slug));
	test_database_run(f->database, sql);
	fixture_add_link(f, kind);
	fixture_start(f);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(request(f, "GET", "", pair, false, ""), 302);
		fixture_assert_header(f, "Location",
		                      *kind == 'f' ? "https://example.com/f-pair"
		                                   : "https://example.com/e-pair");
		assert_int_equal(request(f, "GET", "", other, false, ","), 302);
		fixture_assert_header(f, "Location", "https://example.com/other");
		assert_int_equal(request(f, "GET", "", third, false, ""), 404);
		assert_int_equal(request(f, "GET", "", kind, true, ""), 302);
	}
}

TEST_CASE(keeps_a_pair_that_differs_by_case_alone_as_it_is)
{
	follow_both_of_a_pair(*state, "f");
}

TEST_CASE(finds_links_of_both_kinds_while_slug_case_is_exact)
{
	struct fixture *f = *state;
	snprintf(f->config.slug_case, sizeof(f->config.slug_case), "exact");
	follow_both_of_a_pair(f, "e");
}

TEST_CASE(an_unknown_slug_is_one_miss_and_one_query_whatever_was_tried)
{
	struct fixture *f = *state;
	f->config.unknown_slugs_per_minute = 3;
	fixture_slow_clock(f);
	fixture_start(f);
	const char *const targets[] = { "GET /Un-Known,", "GET //un-known2&utm_source=x",
		                        "POST /UNKNOWN3%E2%80%9D" };
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(fixture_request(f, targets[i], "X-Forwarded-For: 203.0.113.7\r\n"),
		                 404);
	assert_int_equal(fixture_metric(f, FROM_POSTGRES), 3);
	assert_int_equal(fixture_request(f, "GET /Un-Known4.", "X-Forwarded-For: 203.0.113.7\r\n"),
	                 429);
}

/* --- methods --- */

static void send(struct fixture *f, int fd, const char *method, const char *name,
                 const char *headers)
{
	char text[512], slug[SLUG_SIZE];
	snprintf(text, sizeof(text), "%s /%s HTTP/1.1\r\nHost: sho.rt\r\n%s\r\n", method,
	         fixture_slug(f, name, slug), headers);
	assert_true(http_fixture_send_text(fd, text));
}

/* Answered before a byte of the body is sent. The connection closes then. */
static void assert_answered_unread(struct fixture *f, const char *method, const char *name,
                                   const char *headers, unsigned status)
{
	int fd = http_fixture_connect(&f->server);
	send(f, fd, method, name, headers);
	http_fixture_read_response(fd, true, &f->answer);
	close(fd);
	if (f->answer.status != status)
		fail_msg("%s %s is answered with %u", method, headers, f->answer.status);
	assert_null(strstr(f->answer.head, "100 Continue"));
}

TEST_CASE(redirects_every_method_by_307_and_308_whatever_the_body)
{
	struct fixture *f = *state;
	fixture_add_link(f, "kept");
	fixture_change_link(f, "kept", "redirect_status = 307");
	fixture_add_link(f, "moved");
	fixture_change_link(f, "moved", "redirect_status = 308");
	fixture_start(f);
	static const char *const methods[] = { "POST", "PUT", "PATCH", "DELETE" };
	static const char *const headers[] = {
		"",
		"Content-Length: 3\r\n",
		"Content-Length: 1000000000\r\n",
		"Content-Length: 100000\r\nExpect: 100-continue\r\n",
		"Transfer-Encoding: chunked\r\n",
		"Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n",
	};
	unsigned count = 0;
	for (size_t m = 0; m < sizeof(methods) / sizeof(methods[0]); m++) {
		for (size_t h = 0; h < sizeof(headers) / sizeof(headers[0]); h++) {
			assert_answered_unread(f, methods[m], "kept", headers[h], 307);
			fixture_assert_header(f, "Location", "https://example.com/kept");
			assert_answered_unread(f, methods[m], "moved", headers[h], 308);
			count += 2;
		}
	}
	assert_answered_unread(f, "OPTIONS", "kept", "", 307);
	assert_answered_unread(f, "PROPFIND", "kept", "", 307);
	assert_int_equal(fixture_metric(f, EVENTS), count + 2);
}

TEST_CASE(refuses_other_methods_of_links_that_do_not_keep_them)
{
	struct fixture *f = *state;
	fixture_add_link(f, "found");
	fixture_start(f);
	for (int i = 0; i < 2; i++) {
		assert_answered_unread(f, "POST", "found", "Content-Length: 1000000000\r\n", 405);
		fixture_assert_header(f, "Allow", "GET, HEAD");
	}
	assert_answered_unread(f, "POST", "missing", "Content-Length: 1000000000\r\n", 404);
	assert_int_equal(fixture_metric(f, EVENTS), 0);
}

/* A client that sends its whole body before it reads still gets the answer. */
TEST_CASE(answers_a_client_that_sends_all_of_its_body_first)
{
	struct fixture *f = *state;
	static char body[256 * 1024];
	fixture_add_link(f, "eager");
	fixture_change_link(f, "eager", "redirect_status = 307");
	fixture_start(f);
	memset(body, 'x', sizeof(body));
	int fd = http_fixture_connect(&f->server);
	send(f, fd, "POST", "eager", "Content-Length: 262144\r\n");
	(void)http_fixture_send(fd, body, sizeof(body));
	http_fixture_read_response(fd, true, &f->answer);
	close(fd);
	assert_int_equal(f->answer.status, 307);
}

TEST_MAIN(.group_set_up = fixture_group_set_up, .group_tear_down = fixture_group_tear_down,
          .set_up = fixture_set_up, .tear_down = fixture_tear_down)
