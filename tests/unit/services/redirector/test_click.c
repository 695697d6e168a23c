#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "services/redirector/click.h"
#include "tests/unit/net/http_fixture.h"

static void takes_the_hints_of_browsers_for_a_prefetch(void **state)
{
	(void)state;
	assert_true(click_is_prefetch("prefetch", NULL, NULL));
	assert_true(click_is_prefetch("prefetch;prerender", NULL, NULL));
	assert_true(click_is_prefetch("Prefetch; anonymous-client-ip", NULL, NULL));
	assert_true(click_is_prefetch(NULL, "prefetch", NULL));
	assert_true(click_is_prefetch(NULL, "preview", NULL));
	assert_true(click_is_prefetch(NULL, NULL, "prefetch"));
}

static void takes_nothing_else_for_a_prefetch(void **state)
{
	(void)state;
	assert_false(click_is_prefetch(NULL, NULL, NULL));
	assert_false(click_is_prefetch("", "", ""));
	assert_false(click_is_prefetch("prefetching", NULL, NULL));
	assert_false(click_is_prefetch(NULL, "navigate", NULL));
	assert_false(click_is_prefetch(NULL, NULL, "preview"));
}

struct world {
	struct http_fixture server;
	struct http_fixture_answer answer;
	struct client_ip_ranges trusted;
	struct client_ip visitor;
	struct redirect_event event;
};

/* The handler gets the fixture, which is the world's first member. */
static enum http_progress look_at_the_visitor(void *ctx, struct http_exchange *x)
{
	struct world *world = ctx;
	world->visitor = click_visitor(x, &world->trusted);
	/* the text's length is what is tested: fill it with what must not show through */
	memset(&world->event, 0x5a, sizeof(world->event));
	struct client_ip nobody = { 0 };
	click_describe(x, &nobody, NULL, &world->event);
	return HTTP_ANSWERED;
}

static int open_world(void **state)
{
	struct world *world = calloc(1, sizeof(*world));
	http_fixture_start(&world->server, http_fixture_config(), look_at_the_visitor);
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

static void ask(struct world *world, const char *target, const char *headers)
{
	char *request = NULL;
	assert_true(asprintf(&request, "GET %s HTTP/1.1\r\nHost: sho.rt\r\n%s\r\n", target, headers) > 0);
	http_fixture_ask(&world->server, request, &world->answer);
	free(request);
	assert_int_equal(world->answer.status, 200);
}

static void assert_visitor(const struct world *world, const char *text)
{
	char shown[CLIENT_IP_TEXT_SIZE];
	client_ip_format(&world->visitor, shown);
	assert_string_equal(shown, text);
}

static void believes_nobody_who_is_not_a_trusted_proxy(void **state)
{
	struct world *world = *state;
	world->trusted.count = 0;
	ask(world, "/a", "X-Forwarded-For: 203.0.113.7\r\n");
	assert_visitor(world, "127.0.0.1");
}

static void believes_a_trusted_proxy_about_the_one_before_it(void **state)
{
	struct world *world = *state;
	assert_int_equal(client_ip_ranges_parse("127.0.0.0/8, 10.0.0.0/8", &world->trusted), OK);
	ask(world, "/a", "X-Forwarded-For: 203.0.113.7\r\n");
	assert_visitor(world, "203.0.113.7");
	ask(world, "/a", "X-Forwarded-For: 198.51.100.1, 203.0.113.7, 10.1.2.3\r\n");
	assert_visitor(world, "203.0.113.7");
	/* in two lines, of which the visitor wrote the first */
	ask(world, "/a", "X-Forwarded-For: 198.51.100.1\r\nX-Forwarded-For: 203.0.113.7\r\n");
	assert_visitor(world, "203.0.113.7");
}

static void knows_nobody_behind_a_proxy_that_does_not_tell(void **state)
{
	struct world *world = *state;
	assert_int_equal(client_ip_ranges_parse("127.0.0.0/8", &world->trusted), OK);
	ask(world, "/a", "");
	assert_false(world->visitor.known);
}

static void copies_what_the_visitor_sent(void **state)
{
	struct world *world = *state;
	ask(world, "/a?utm_source=x%20y&z",
	    "User-Agent: Firefox\r\nReferer: https://news.example/\r\n"
	    "Accept-Language: de-DE,de;q=0.8\r\nSec-Purpose: prefetch\r\n");
	assert_string_equal(world->event.user_agent, "Firefox");
	assert_string_equal(world->event.referrer, "https://news.example/");
	assert_string_equal(world->event.accept_language, "de-DE,de;q=0.8");
	assert_string_equal(world->event.host, "sho.rt");
	assert_string_equal(world->event.query, "utm_source=x%20y&z");
	assert_true(world->event.prefetch);
	assert_int_equal(world->event.method, REDIRECT_METHOD_GET);
}

static void leaves_empty_what_the_visitor_did_not_send(void **state)
{
	struct world *world = *state;
	ask(world, "/a", "");
	assert_string_equal(world->event.user_agent, "");
	assert_string_equal(world->event.referrer, "");
	assert_string_equal(world->event.accept_language, "");
	assert_string_equal(world->event.query, "");
	assert_string_equal(world->event.client_network, "");
	assert_false(world->event.prefetch);
	assert_false(world->event.has_visitor_hash);
}

static void cuts_and_cleans_what_is_too_long_or_no_text(void **state)
{
	struct world *world = *state;
	char headers[2048];
	char agent[1001] = { 0 };
	memset(agent, 'a', sizeof(agent) - 1);
	snprintf(headers, sizeof(headers), "User-Agent: %s\r\nReferer: a\xff\xe9\r\n", agent);
	ask(world, "/a", headers);
	assert_int_equal(strlen(world->event.user_agent), REDIRECT_EVENT_USER_AGENT_MAX);
	assert_string_equal(world->event.referrer, "a??");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_the_hints_of_browsers_for_a_prefetch),
		cmocka_unit_test(takes_nothing_else_for_a_prefetch),
		cmocka_unit_test(believes_nobody_who_is_not_a_trusted_proxy),
		cmocka_unit_test(believes_a_trusted_proxy_about_the_one_before_it),
		cmocka_unit_test(knows_nobody_behind_a_proxy_that_does_not_tell),
		cmocka_unit_test(copies_what_the_visitor_sent),
		cmocka_unit_test(leaves_empty_what_the_visitor_did_not_send),
		cmocka_unit_test(cuts_and_cleans_what_is_too_long_or_no_text),
	};
	return cmocka_run_group_tests(tests, open_world, close_world);
}
