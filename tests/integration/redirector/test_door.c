#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/integration/redirector/world.h"

static void leads_by_the_links_status_with_what_browsers_and_robots_need(void **state)
{
	struct world *world = *state;
	world_add_link(world, "moved");
	world_change_link(world, "moved", "redirect_status = 308");
	world_start(world);
	assert_int_equal(world_follow(world, "moved", ""), 308);
	world_assert_header(world, "Location", "https://example.com/moved");
	world_assert_header(world, "Cache-Control", "private, no-store");
	world_assert_header(world, "X-Robots-Tag", "noindex, nofollow");
	world_assert_header(world, "Content-Length", "0");
}

static void answers_below_the_prefix_and_to_head(void **state)
{
	struct world *world = *state;
	char target[64];
	char slug[SLUG_SIZE];
	world_add_link(world, "both");
	world_start(world);
	snprintf(target, sizeof(target), "GET /r/%s", world_slug(world, "both", slug));
	assert_int_equal(world_ask(world, target, ""), 302);
	snprintf(target, sizeof(target), "HEAD /%s", slug);
	assert_int_equal(world_ask(world, target, ""), 302);
	world_assert_header(world, "Location", "https://example.com/both");
	assert_int_equal(world_metric(world, "waymark_events_accepted_total"), 2);
}

static void sends_the_cache_control_that_was_configured(void **state)
{
	struct world *world = *state;
	snprintf(world->config.redirect_cache_control, sizeof(world->config.redirect_cache_control), "max-age=60");
	world_add_link(world, "cached");
	world_start(world);
	world_follow(world, "cached", "");
	world_assert_header(world, "Cache-Control", "max-age=60");
}

static void tells_which_methods_it_answers(void **state)
{
	struct world *world = *state;
	world_start(world);
	const char *const methods[] = { "POST /abc", "DELETE /abc", "OPTIONS /", "PUT /robots.txt" };
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		assert_int_equal(world_ask(world, methods[i], ""), 405);
		world_assert_header(world, "Allow", "GET, HEAD");
	}
}

static void tells_robots_and_greets_at_the_root(void **state)
{
	struct world *world = *state;
	world_start(world);
	assert_int_equal(world_ask(world, "GET /robots.txt", ""), 200);
	assert_string_equal(world->answer.body, "User-agent: *\nDisallow:\n");
	assert_int_equal(world_ask(world, "GET /", ""), 200);
	assert_non_null(strstr(world->answer.body, "https://sho.rt/"));
}

static void leads_from_the_root_if_it_was_configured_and_counts_no_visit(void **state)
{
	struct world *world = *state;
	snprintf(world->config.root_url, sizeof(world->config.root_url), "https://example.com/home");
	world_start(world);
	assert_int_equal(world_ask(world, "GET /", ""), 302);
	world_assert_header(world, "Location", "https://example.com/home");
	assert_int_equal(world_metric(world, "waymark_events_accepted_total"), 0);
}

static void never_looks_up_what_is_no_slug(void **state)
{
	struct world *world = *state;
	world_start(world);
	const char *const targets[] = { "GET /%61bc", "GET //abc", "GET /abc/", "GET /../abc",
		                        "GET /a/b/c", "GET /r/",   "GET /a.b" };
	for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++)
		assert_int_equal(world_ask(world, targets[i], ""), 404);
	assert_int_equal(world_metric(world, "waymark_link_lookups_total{level=\"postgres\"}"), 0);
	assert_int_equal(world_metric(world, "waymark_link_lookups_total{level=\"redis\"}"), 0);
}

static void stops_an_address_that_guesses_but_not_its_neighbour(void **state)
{
	struct world *world = *state;
	world->config.unknown_slugs_per_minute = 3;
	world_add_link(world, "known");
	world_start(world);
	for (int i = 0; i < 3; i++) {
		char name[24];
		snprintf(name, sizeof(name), "guess%d", i);
		assert_int_equal(world_follow(world, name, "X-Forwarded-For: 203.0.113.7\r\n"), 404);
	}
	assert_int_equal(world_follow(world, "guess9", "X-Forwarded-For: 203.0.113.7\r\n"), 429);
	world_assert_header(world, "Retry-After", "60");
	world_assert_header(world, "RateLimit", "\"unknown-slugs\";r=0;t=60");
	world_assert_header(world, "RateLimit-Policy", "\"unknown-slugs\";q=3;w=60");
	assert_int_equal(world_follow(world, "guess9", "X-Forwarded-For: 203.0.113.8\r\n"), 404);
	assert_int_equal(world_follow(world, "known", "X-Forwarded-For: 203.0.113.8\r\n"), 302);
}

static void still_leads_a_guessing_address_to_what_memory_knows(void **state)
{
	struct world *world = *state;
	world->config.unknown_slugs_per_minute = 1;
	world->config.memory_ttl_ms = 60000;
	world_add_link(world, "popular");
	world_start(world);
	assert_int_equal(world_follow(world, "popular", "X-Forwarded-For: 203.0.113.8\r\n"), 302);
	assert_int_equal(world_follow(world, "guess", "X-Forwarded-For: 203.0.113.7\r\n"), 404);
	assert_int_equal(world_follow(world, "guess", "X-Forwarded-For: 203.0.113.7\r\n"), 429);
	assert_int_equal(world_follow(world, "popular", "X-Forwarded-For: 203.0.113.7\r\n"), 302);
}

static void does_not_limit_a_proxy_that_hides_its_visitors(void **state)
{
	struct world *world = *state;
	world->config.unknown_slugs_per_minute = 1;
	world_start(world);
	for (int i = 0; i < 5; i++)
		assert_int_equal(world_follow(world, "hidden", ""), 404);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, world_reset, world_stop)
		TEST(leads_by_the_links_status_with_what_browsers_and_robots_need),
		TEST(answers_below_the_prefix_and_to_head),
		TEST(sends_the_cache_control_that_was_configured),
		TEST(tells_which_methods_it_answers),
		TEST(tells_robots_and_greets_at_the_root),
		TEST(leads_from_the_root_if_it_was_configured_and_counts_no_visit),
		TEST(never_looks_up_what_is_no_slug),
		TEST(stops_an_address_that_guesses_but_not_its_neighbour),
		TEST(still_leads_a_guessing_address_to_what_memory_knows),
		TEST(does_not_limit_a_proxy_that_hides_its_visitors),
	};
	return cmocka_run_group_tests(tests, world_open, world_close);
}
