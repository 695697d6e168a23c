#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "services/redirector/page.h"
#include "tests/unit/net/http_fixture.h"

static void shows_a_page_to_browsers(void **state)
{
	(void)state;
	assert_true(page_is_wanted("text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"));
	assert_true(page_is_wanted("text/html"));
	assert_true(page_is_wanted("TEXT/HTML; charset=utf-8"));
	assert_true(page_is_wanted("application/json;q=0.5, text/html;q=0.9"));
	assert_true(page_is_wanted("application/json, text/html"));
}

static void tells_a_problem_to_programs(void **state)
{
	(void)state;
	assert_false(page_is_wanted(NULL));
	assert_false(page_is_wanted(""));
	assert_false(page_is_wanted("*/*"));
	assert_false(page_is_wanted("application/json"));
	assert_false(page_is_wanted("application/problem+json, text/html;q=0.5"));
	assert_false(page_is_wanted("text/html;q=0"));
	assert_false(page_is_wanted("text/htmlish"));
	assert_false(page_is_wanted(", ,,"));
}

/* "/404" is answered with the page of 404. */
static enum http_progress answer_as_the_path_says(void *ctx, struct http_exchange *x)
{
	(void)ctx;
	return page_answer(x, (unsigned)strtoul(http_exchange_path(x) + 1, NULL, 10), "A detail.");
}

struct world {
	struct http_fixture server;
	struct http_fixture_answer answer;
};

static void ask(struct world *world, unsigned status, const char *accept)
{
	char request[256];
	snprintf(request, sizeof(request), "GET /%u HTTP/1.1\r\nHost: a\r\nAccept: %s\r\n\r\n", status, accept);
	http_fixture_ask(&world->server, request, &world->answer);
	assert_int_equal(world->answer.status, status);
}

static int open_world(void **state)
{
	struct world *world = calloc(1, sizeof(*world));
	http_fixture_start(&world->server, http_fixture_config(), answer_as_the_path_says);
	*state = world;
	return 0;
}

static int close_world(void **state)
{
	struct world *world = *state;
	http_fixture_stop(&world->server, 1000);
	free(world);
	return 0;
}

static void has_a_whole_page_for_each_status_that_visitors_see(void **state)
{
	struct world *world = *state;
	const unsigned statuses[] = { 400, 404, 405, 408, 410, 414, 429, 500, 503 };
	for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
		char value[256];
		ask(world, statuses[i], "text/html");
		assert_string_equal(http_fixture_header(&world->answer, "Content-Type", value, sizeof(value)),
		                    "text/html; charset=utf-8");
		assert_non_null(strstr(world->answer.body, "<!doctype html>"));
		assert_non_null(strstr(world->answer.body, "<html lang=\"en\">"));
		assert_non_null(strstr(world->answer.body, "<title>"));
		assert_non_null(strstr(world->answer.body, "</html>"));
		/* nothing from elsewhere */
		assert_null(strstr(world->answer.body, "://"));
		assert_null(strstr(world->answer.body, "<script"));
		snprintf(value, sizeof(value), ">%u<", statuses[i]);
		assert_non_null(strstr(world->answer.body, value));
	}
}

static void keeps_errors_out_of_caches_and_indexes(void **state)
{
	struct world *world = *state;
	const char *const accepts[] = { "text/html", "*/*" };
	for (size_t i = 0; i < 2; i++) {
		char value[256];
		ask(world, 404, accepts[i]);
		assert_string_equal(http_fixture_header(&world->answer, "Cache-Control", value, sizeof(value)),
		                    "no-store");
		assert_string_equal(http_fixture_header(&world->answer, "X-Robots-Tag", value, sizeof(value)),
		                    "noindex, nofollow");
		assert_string_equal(http_fixture_header(&world->answer, "Vary", value, sizeof(value)), "Accept");
	}
}

static void writes_a_problem_for_programs_and_for_statuses_without_a_page(void **state)
{
	struct world *world = *state;
	char value[256];
	ask(world, 410, "application/json");
	assert_string_equal(http_fixture_header(&world->answer, "Content-Type", value, sizeof(value)),
	                    "application/problem+json");
	assert_non_null(strstr(world->answer.body, "\"status\":410"));
	assert_non_null(strstr(world->answer.body, "A detail."));
	ask(world, 431, "text/html");
	assert_string_equal(http_fixture_header(&world->answer, "Content-Type", value, sizeof(value)),
	                    "application/problem+json");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shows_a_page_to_browsers),
		cmocka_unit_test(tells_a_problem_to_programs),
		cmocka_unit_test(has_a_whole_page_for_each_status_that_visitors_see),
		cmocka_unit_test(keeps_errors_out_of_caches_and_indexes),
		cmocka_unit_test(writes_a_problem_for_programs_and_for_statuses_without_a_page),
	};
	return cmocka_run_group_tests(tests, open_world, close_world);
}
