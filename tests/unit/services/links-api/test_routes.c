#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "services/links-api/access_token.h"
#include "services/links-api/api.h"
#include "services/links-api/routes.h"
#include "tests/unit/net/http_fixture.h"

#define SECRET "0123456789abcdef0123456789abcdef"

/* The whole API behind a real server, its stores away: what a request gets that never should reach them. */
struct fixture {
	struct config config;
	struct metrics *metrics;
	struct api *api;
	struct http_server *server;
	struct http_fixture client;
	struct http_fixture_answer answer;
};

static struct config make_config(void)
{
	return (struct config){
		.pg_url = "postgresql://127.0.0.1:1/none",
		.pg_connections = 2,
		.pg_statement_timeout_ms = 1000,
		.redis_url = "redis://127.0.0.1:1",
		.redis_connections = 1,
		.redis_timeout_ms = 100,
		.public_base_url = "https://wm.example",
		.jwt_secret = SECRET,
		.password_threads = 1,
		.password_queue = 1,
		.links_per_day = 100,
		.anonymous_links_per_hour = 20,
		.login_failures = 10,
	};
}

static int set_up(void **state)
{
	struct fixture *f = mem_zero(sizeof(*f));
	f->config = make_config();
	f->metrics = metrics_new();
	assert_int_equal(api_new(&f->config, NULL, f->metrics, &f->api), OK);
	struct http_server_config http = http_fixture_config();
	http.handler = routes_handle;
	http.refusal = routes_refuse;
	http.observer = routes_log;
	http.ctx = f->api;
	http.metrics = f->metrics;
	assert_int_equal(http_server_start(&http, &f->server), OK);
	f->client.port = http_server_port(f->server);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	http_server_stop(f->server, 1000);
	api_free(f->api);
	metrics_free(f->metrics);
	free(f);
	return 0;
}

/* A pattern as a path: "/api/links/{id}" → "/api/links/7". */
static void path_of(const char *pattern, char out[static 128])
{
	const char *hole = strchr(pattern, '{');
	if (!hole)
		snprintf(out, 128, "%s", pattern);
	else
		snprintf(out, 128, "%.*s7%s", (int)(hole - pattern), pattern, strchr(hole, '}') + 1);
}

static const char *method_of(const struct http_route *route)
{
	static const char *const names[] = { "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS" };
	return names[route->method];
}

static const struct http_fixture_answer *ask(struct fixture *f, const char *method, const char *path,
                                             const char *headers)
{
	char request[8192];
	snprintf(request, sizeof(request),
	         "%s %s HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 0\r\n%s\r\n", method, path,
	         headers);
	http_fixture_ask(&f->client, request, &f->answer);
	return &f->answer;
}

static void assert_header(const struct fixture *f, const char *name, const char *value)
{
	char found[256];
	http_fixture_header(&f->answer, name, found, sizeof(found));
	assert_string_equal(found, value);
}

static bool is_public(const struct http_route *route)
{
	static const char *const list[] = {
		"POST /api/auth/register",
		"POST /api/auth/login",
		"POST /api/links/public",
		"GET /api/stats",
	};
	char name[128];
	snprintf(name, sizeof(name), "%s %s", method_of(route), route->pattern);
	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		if (strcmp(list[i], name) == 0)
			return true;
	return false;
}

static void only_the_public_routes_answer_without_a_token(void **state)
{
	struct fixture *f = *state;
	size_t count;
	const struct http_route *routes = routes_table(&count);
	size_t open = 0;
	for (size_t i = 0; i < count; i++) {
		char path[128];
		path_of(routes[i].pattern, path);
		unsigned status = ask(f, method_of(&routes[i]), path, "")->status;
		if ((status == 401) == is_public(&routes[i]))
			fail_msg("%s %s answers %u", method_of(&routes[i]), path, status);
		assert_header(f, "Cache-Control", "no-store");
		if (status == 401)
			assert_header(f, "WWW-Authenticate", "Bearer realm=\"waymark\"");
		open += is_public(&routes[i]);
	}
	assert_int_equal(open, 4);
}

static void the_other_name_of_links_is_shut_as_well(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(ask(f, "GET", "/api/urls", "")->status, 401);
	assert_int_equal(ask(f, "GET", "/api/urls/7", "")->status, 401);
	assert_int_equal(ask(f, "POST", "/api/urls/7/restore", "")->status, 401);
	assert_int_equal(ask(f, "POST", "/api/urls/public", "")->status, 415);
	assert_int_equal(ask(f, "GET", "/api/urlsx", "")->status, 404);
}

static void bad_tokens_are_refused_and_good_ones_reach_the_handler(void **state)
{
	struct fixture *f = *state;
	char token[ACCESS_TOKEN_SIZE];
	char header[ACCESS_TOKEN_SIZE + 64];
	assert_int_equal(access_token_issue(SECRET, 1, 0, clock_now_us(clock_system()), token), OK);
	static const char *const good[] = { "Bearer", "bearer", "BEARER" };
	for (size_t i = 0; i < 3; i++) {
		snprintf(header, sizeof(header), "Authorization: %s %s\r\n", good[i], token);
		assert_int_equal(ask(f, "GET", "/api/auth/me", header)->status, 503);
		assert_header(f, "Retry-After", "1");
	}
	static const char *const bad[] = { "Bearer %sx", "Bearer x%s", "Bearer",      "Basic %s",
		                           "Bearer,%s",  "%s",         "Bearer a.b.c" };
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char value[ACCESS_TOKEN_SIZE + 32] = "";
		const char *hole = strstr(bad[i], "%s");
		if (hole)
			snprintf(value, sizeof(value), "%.*s%s%s", (int)(hole - bad[i]), bad[i], token, hole + 2);
		else
			snprintf(value, sizeof(value), "%s", bad[i]);
		snprintf(header, sizeof(header), "Authorization: %s\r\n", value);
		if (ask(f, "GET", "/api/auth/me", header)->status != 401)
			fail_msg("%s answers %u", bad[i], f->answer.status);
	}
}

static void unknown_paths_are_404_and_unknown_methods_405_with_the_known_ones(void **state)
{
	struct fixture *f = *state;
	static const char *const unknown[] = {
		"/", "/api", "/api/", "/api/links/", "/api/links//stats", "/api/links/7/x", "/API/links", "/api/%6cinks"
	};
	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
		assert_int_equal(ask(f, "GET", unknown[i], "")->status, 404);
		assert_header(f, "Content-Type", "application/problem+json");
	}
	assert_int_equal(ask(f, "PUT", "/api/links/7", "")->status, 405);
	assert_header(f, "Allow", "GET, HEAD, PATCH, DELETE");
	assert_int_equal(ask(f, "DELETE", "/api/links", "")->status, 405);
	assert_header(f, "Allow", "GET, HEAD, POST, PATCH");
	assert_int_equal(ask(f, "BREW", "/api/stats", "")->status, 405);
	assert_int_equal(ask(f, "PATCH", "/api/links/public", "")->status, 405);
	assert_header(f, "Allow", "POST");
}

static void bodies_must_be_json_objects_and_say_so(void **state)
{
	struct fixture *f = *state;
	static const struct {
		const char *content_type, *body;
		unsigned status;
	} examples[] = {
		{ "text/plain", "{}", 415 },
		{ "application/x-www-form-urlencoded", "a=b", 415 },
		{ "application/jsonx", "{}", 415 },
		{ "application/json", "", 400 },
		{ "application/json", "[]", 400 },
		{ "application/json", "{\"email\":\"a@b\",\"email\":\"a@b\"}", 400 },
		{ "application/json", "{} x", 400 },
		{ "application/json", "{\"email\":\"\\u0000\"}", 400 },
		{ "application/json; charset=utf-8", "{}", 400 },
		{ "APPLICATION/JSON", "{}", 400 },
	};
	for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
		char request[1024];
		snprintf(request, sizeof(request),
		         "POST /api/auth/login HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: %s\r\n"
		         "Content-Length: %zu\r\n\r\n%s",
		         examples[i].content_type, strlen(examples[i].body), examples[i].body);
		http_fixture_ask(&f->client, request, &f->answer);
		if (f->answer.status != examples[i].status)
			fail_msg("%s %s answers %u", examples[i].content_type, examples[i].body, f->answer.status);
		assert_header(f, "Content-Type", "application/problem+json");
	}
}

static void without_postgresql_the_answer_is_503_and_not_an_error_of_ours(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(ask(f, "GET", "/api/stats", "")->status, 503);
	assert_header(f, "Retry-After", "1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_the_public_routes_answer_without_a_token),
		cmocka_unit_test(the_other_name_of_links_is_shut_as_well),
		cmocka_unit_test(bad_tokens_are_refused_and_good_ones_reach_the_handler),
		cmocka_unit_test(unknown_paths_are_404_and_unknown_methods_405_with_the_known_ones),
		cmocka_unit_test(bodies_must_be_json_objects_and_say_so),
		cmocka_unit_test(without_postgresql_the_answer_is_503_and_not_an_error_of_ours),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
