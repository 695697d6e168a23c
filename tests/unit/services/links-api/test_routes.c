#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/mem.h"
#include "lib/links/slug.h"
#include "services/links-api/destinations/public_base.h"
#include "services/links-api/http/api.h"
#include "services/links-api/identity/access_token.h"
#include "services/links-api/route_table.h"
#include "services/links-api/routes.h"
#include "tests/support/test.h"
#include "tests/unit/http/http_fixture.h"

#define SECRET "0123456789abcdef0123456789abcdef"

/* The whole API behind a real server, for requests that must not reach the stores. */
struct fixture {
	struct config config;
	struct metrics *metrics;
	struct api *api;
	struct http_server *server;
	struct http_fixture client;
	struct http_fixture_response answer;
};

static struct config make_config(void)
{
	return (struct config){
		.pg_url = "postgresql://127.0.0.1:1/none",
		.pg_connections = 2,
		.pg_statement_timeout_ms = 1000,
		.pg_heavy_connections = 1,
		.pg_heavy_statement_timeout_ms = 1000,
		.redis_url = "redis://127.0.0.1:1",
		.redis_connections = 1,
		.redis_timeout_ms = 100,
		.public_base_url = "https://wm.example",
		.cors_origins = "https://app.example",
		.jwt_secret = SECRET,
		.password_threads = 1,
		.password_queue = 1,
		.hosts_check_ms = 1000,
		.registration = "open",
		.anonymous_links = true,
		.public_stats = true,
		.links_per_day = 100,
		.requests_per_minute = ENV_UNLIMITED,
		.bulk_links_per_minute = ENV_UNLIMITED,
		.idempotency_bytes_per_day = ENV_UNLIMITED,
		.accounts_per_hour = ENV_UNLIMITED,
		.login_failures_per_account = ENV_UNLIMITED,
		.login_failures_per_network = ENV_UNLIMITED,
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
	http.error_response = routes_send_error;
	http.observer = routes_log;
	http.heavy_workers = 1;
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

/* A path that matches a pattern: "/api/links/{id}" → "/api/links/7". */
static void make_path(const char *pattern, char out[static 128])
{
	const char *placeholder = strchr(pattern, '{');
	if (!placeholder)
		snprintf(out, 128, "%s", pattern);
	else
		snprintf(out, 128, "%.*s7%s", (int)(placeholder - pattern), pattern,
		         strchr(placeholder, '}') + 1);
}

static const char *method_of(const struct http_route *route)
{
	static const char *const names[] = { "GET",   "HEAD",   "POST",   "PUT",
		                             "PATCH", "DELETE", "OPTIONS" };
	return names[route->method];
}

static const struct http_fixture_response *send_request(struct fixture *f, const char *method,
                                                        const char *path, const char *headers)
{
	char request[8192];
	snprintf(request, sizeof(request),
	         "%s %s HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 0\r\n%s\r\n",
	         method, path, headers);
	http_fixture_request(&f->client, request, &f->answer);
	return &f->answer;
}

static void assert_header(const struct fixture *f, const char *name, const char *value)
{
	char found[256];
	http_fixture_header(&f->answer, name, found, sizeof(found));
	assert_string_equal(found, value);
}

/* Changes PUBLIC_BASE_URL; no request is running. */
static void set_base(struct fixture *f, const char *url)
{
	const char *reason;
	assert_int_equal(public_base_init(f->api->base, url, &reason), OK);
	f->api->is_https = strncmp(url, "https:", 6) == 0;
}

static bool is_public(const struct http_route *route)
{
	static const char list[] =
		",POST /api/auth/register,POST /api/auth/login,"
		"GET /api/auth/session,POST /api/auth/session,POST /api/shared/access,"
		"POST /api/invitations/look,"
		"GET /api/auth/oidc/{provider},GET /api/auth/oidc/{provider}/callback,"
		"POST /api/auth/password-reset,POST /api/auth/password-reset/request,"
		"POST /api/links/public,GET /assets/{file},GET /report,POST /report,"
		"GET /api/instance,GET /api/stats,GET /openapi.json,GET /docs,GET /docs/{file},"
		"GET /docs/runbook/{title},GET /problems,GET /problems/{kind},GET /,GET /app,GET /app/{path...},";
	char name[128];
	snprintf(name, sizeof(name), ",%s %s,", method_of(route), route->pattern);
	return strstr(list, name) != NULL;
}

TEST_CASE(only_public_routes_work_without_a_token)
{
	struct fixture *f = *state;
	size_t count;
	const struct http_route *routes = route_table_rows(&count);
	size_t open = 0;
	for (size_t i = 0; i < count; i++) {
		char path[128];
		make_path(routes[i].pattern, path);
		unsigned status =
			send_request(f, method_of(&routes[i]), path, "If-None-Match: *\r\n")
				->status;
		if ((status == 401) == is_public(&routes[i]))
			fail_msg("%s %s returned %u", method_of(&routes[i]), path, status);
		assert_header(f, "Cache-Control", status == 304 ? "public, no-cache" : "no-store");
		if (status == 401)
			assert_header(f, "WWW-Authenticate", "Bearer realm=\"waymark\"");
		open += is_public(&routes[i]);
	}
	assert_int_equal(open, 25);
}

TEST_CASE(the_alias_of_links_needs_a_token_too)
{
	struct fixture *f = *state;
	assert_int_equal(send_request(f, "GET", "/api/urls", "")->status, 401);
	assert_int_equal(send_request(f, "GET", "/api/urls/7", "")->status, 401);
	assert_int_equal(send_request(f, "POST", "/api/urls/7/restore", "")->status, 401);
	assert_int_equal(send_request(f, "POST", "/api/urls/public", "")->status, 400);
	assert_int_equal(send_request(f, "GET", "/api/urlsx", "")->status, 404);
}

TEST_CASE(invalid_tokens_are_refused_and_valid_ones_reach_the_handler)
{
	struct fixture *f = *state;
	char token[ACCESS_TOKEN_SIZE];
	char header[ACCESS_TOKEN_SIZE + 64];
	assert_int_equal(access_token_issue(SECRET, 1, 0, clock_now_us(clock_system()), token), OK);
	static const char *const good[] = { "Bearer", "bearer", "BEARER" };
	for (size_t i = 0; i < 3; i++) {
		snprintf(header, sizeof(header), "Authorization: %s %s\r\n", good[i], token);
		assert_int_equal(send_request(f, "GET", "/api/auth/me", header)->status, 503);
		assert_header(f, "Retry-After", "1");
	}
	static const char *const bad[] = { "Bearer %sx", "Bearer x%s", "Bearer",      "Basic %s",
		                           "Bearer,%s",  "%s",         "Bearer a.b.c" };
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char value[ACCESS_TOKEN_SIZE + 32] = "";
		const char *placeholder = strstr(bad[i], "%s");
		if (placeholder)
			snprintf(value, sizeof(value), "%.*s%s%s", (int)(placeholder - bad[i]),
			         bad[i], token, placeholder + 2);
		else
			snprintf(value, sizeof(value), "%s", bad[i]);
		snprintf(header, sizeof(header), "Authorization: %s\r\n", value);
		if (send_request(f, "GET", "/api/auth/me", header)->status != 401)
			fail_msg("%s returned %u", bad[i], f->answer.status);
	}
}

TEST_CASE(unknown_paths_are_404_and_unknown_methods_are_405_with_allow)
{
	struct fixture *f = *state;
	static const char *const unknown[] = {
		"/apps",          "/api",       "/api/",       "/api/links/", "/api/links//stats",
		"/api/links/7/x", "/API/links", "/api/%6cinks"
	};
	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
		assert_int_equal(send_request(f, "GET", unknown[i], "")->status, 404);
		assert_header(f, "Content-Type", "application/problem+json");
	}
	assert_int_equal(send_request(f, "PUT", "/api/links/7", "")->status, 405);
	assert_header(f, "Allow", "GET, HEAD, PATCH, DELETE, OPTIONS");
	assert_int_equal(send_request(f, "PUT", "/api/links", "")->status, 405);
	assert_header(f, "Allow", "GET, HEAD, POST, PATCH, DELETE, OPTIONS");
	assert_int_equal(send_request(f, "BREW", "/api/stats", "")->status, 405);
	assert_int_equal(send_request(f, "PATCH", "/api/links/public", "")->status, 405);
	assert_header(f, "Allow", "POST, OPTIONS");
}

TEST_CASE(bodies_must_be_json_objects_with_the_right_content_type)
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
		snprintf(
			request, sizeof(request),
			"POST /api/auth/login HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: %s\r\n"
			"Content-Length: %zu\r\n\r\n%s",
			examples[i].content_type, strlen(examples[i].body), examples[i].body);
		http_fixture_request(&f->client, request, &f->answer);
		if (f->answer.status != examples[i].status)
			fail_msg("%s %s returned %u", examples[i].content_type, examples[i].body,
			         f->answer.status);
		assert_header(f, "Content-Type", "application/problem+json");
		if (f->answer.status == 415)
			assert_header(f, "Accept", "application/json");
		bool is_empty = examples[i].body[0] == '\0';
		assert_int_equal(is_empty, strstr(f->answer.body, "The body is empty.") != NULL);
	}
}

TEST_CASE(every_response_forbids_caching_and_requires_tls)
{
	struct fixture *f = *state;
	static const char *const paths[] = { "/api/stats", "/api/auth/me", "/nothing",
		                             "/api/links/7", "/%" };
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		send_request(f, i == 3 ? "PUT" : "GET", paths[i], "");
		assert_header(f, "Cache-Control", "no-store");
		assert_header(f, "X-Content-Type-Options", "nosniff");
		assert_header(f, "Strict-Transport-Security", "max-age=31536000");
	}
	static const char smuggled[] = "GET /api/stats HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n";
	http_fixture_request(&f->client, smuggled, &f->answer);
	assert_int_equal(f->answer.status, 400);
	assert_header(f, "Strict-Transport-Security", "max-age=31536000");
	set_base(f, "http://wm.example");
	send_request(f, "GET", "/api/stats", "");
	assert_header(f, "Strict-Transport-Security", "");
	set_base(f, "https://wm.example");
}

TEST_CASE(only_listed_origins_may_read_responses_and_errors)
{
	struct fixture *f = *state;
	static const char *const paths[] = { "/api/stats", "/api/auth/me", "/nothing" };
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		send_request(f, "GET", paths[i], "Origin: https://app.example\r\n");
		assert_header(f, "Access-Control-Allow-Origin", "https://app.example");
		assert_non_null(strstr(f->answer.head,
		                       "Access-Control-Expose-Headers: Content-Disposition, ETag"));
		assert_header(f, "Vary", "Origin");
		send_request(f, "GET", paths[i], "Origin: https://app.example.evil\r\n");
		assert_header(f, "Access-Control-Allow-Origin", "");
		assert_header(f, "Vary", "Origin");
		send_request(f, "GET", paths[i], "");
		assert_header(f, "Access-Control-Allow-Origin", "");
		assert_header(f, "Vary", "Origin");
	}
	assert_null(strstr(f->answer.head, "Allow-Credentials"));
}

#define PREFLIGHT                                                                                  \
	"Access-Control-Request-Method: PATCH\r\nAccess-Control-Request-Headers: authorization\r\n"

TEST_CASE(a_preflight_from_a_listed_origin_gets_methods_and_headers)
{
	struct fixture *f = *state;
	assert_int_equal(send_request(f, "OPTIONS", "/api/links/7",
	                              "Origin: https://app.example\r\n" PREFLIGHT)
	                         ->status,
	                 204);
	assert_header(f, "Access-Control-Allow-Origin", "https://app.example");
	assert_header(f, "Access-Control-Allow-Methods", "GET, HEAD, PATCH, DELETE, OPTIONS");
	assert_header(f, "Access-Control-Max-Age", "600");
	assert_non_null(strstr(f->answer.head,
	                       "Access-Control-Allow-Headers: Authorization, Content-Type"));
	assert_int_equal(send_request(f, "OPTIONS", "/api/links/7",
	                              "Origin: https://evil.example\r\n" PREFLIGHT)
	                         ->status,
	                 204);
	assert_header(f, "Access-Control-Allow-Origin", "");
	assert_header(f, "Access-Control-Allow-Methods", "");
	assert_header(f, "Allow", "GET, HEAD, PATCH, DELETE, OPTIONS");
	assert_int_equal(send_request(f, "OPTIONS", "/api/links/7", "")->status, 204);
	assert_header(f, "Allow", "GET, HEAD, PATCH, DELETE, OPTIONS");
	assert_int_equal(
		send_request(f, "OPTIONS", "/nothing", "Origin: https://app.example\r\n" PREFLIGHT)
			->status,
		404);
}

TEST_CASE(a_client_that_excludes_json_is_refused_before_any_change)
{
	struct fixture *f = *state;
	static const char json[] = "Content-Type: application/json\r\nAccept: ";
	static const char *const excluding_json[] = { "text/html", "application/json;q=0",
		                                      "application/xml, text/*" };
	static const char *const allowing_json[] = { "*/*", "application/*",
		                                     "text/html, application/json;q=0.1" };
	char headers[256];
	for (size_t i = 0; i < 3; i++) {
		snprintf(headers, sizeof(headers), "%s%s\r\n", json, excluding_json[i]);
		assert_int_equal(send_request(f, "POST", "/api/auth/login", headers)->status, 406);
		assert_header(f, "Content-Type", "application/problem+json");
		snprintf(headers, sizeof(headers), "%s%s\r\n", json, allowing_json[i]);
		assert_int_equal(send_request(f, "POST", "/api/auth/login", headers)->status, 400);
	}
}

TEST_CASE(a_body_needs_a_length_and_no_content_encoding)
{
	struct fixture *f = *state;
	http_fixture_request(&f->client,
	                     "POST /api/auth/login HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
	                     "Content-Type: application/json\r\n\r\n",
	                     &f->answer);
	assert_int_equal(f->answer.status, 411);
	assert_non_null(strstr(f->answer.body, "The request has no body. Send a JSON object"));
	static const char json[] = "Content-Type: application/json\r\nContent-Encoding: ";
	char headers[256];
	snprintf(headers, sizeof(headers), "%sgzip\r\n", json);
	assert_int_equal(send_request(f, "POST", "/api/auth/login", headers)->status, 415);
	assert_header(f, "Accept-Encoding", "identity");
	snprintf(headers, sizeof(headers), "%sidentity\r\n", json);
	assert_int_equal(send_request(f, "POST", "/api/auth/login", headers)->status, 400);
	assert_int_equal(send_request(f, "POST", "/api/auth/login", "")->status, 400);
	assert_non_null(strstr(f->answer.body, "The body is empty."));
}

static void assert_document(struct fixture *f, const char *path, const char *type,
                            const char *content)
{
	char tag[64];
	char header[128];
	assert_int_equal(send_request(f, "GET", path, "")->status, 200);
	assert_header(f, "Content-Type", type);
	assert_header(f, "Cache-Control", "public, no-cache");
	assert_non_null(strstr(f->answer.body, content));
	http_fixture_header(&f->answer, "ETag", tag, sizeof(tag));
	assert_int_equal(tag[0], '"');
	snprintf(header, sizeof(header), "If-None-Match: \"other\", %s\r\n", tag);
	assert_int_equal(send_request(f, "GET", path, header)->status, 304);
	assert_int_equal(send_request(f, "GET", path, "If-None-Match: \"other\"\r\n")->status, 200);
	snprintf(header, sizeof(header), "If-None-Match: \"other\"%s\r\n", tag);
	assert_int_equal(send_request(f, "GET", path, header)->status, 200);
}

TEST_CASE(the_openapi_document_and_its_page_are_embedded)
{
	struct fixture *f = *state;
	assert_document(f, "/docs", "text/html; charset=utf-8", "<title>Waymark links API</title>");
	char policy[512];
	send_request(f, "GET", "/docs", "");
	http_fixture_header(&f->answer, "Content-Security-Policy", policy, sizeof(policy));
	assert_non_null(strstr(policy, "default-src 'none'; script-src 'self'"));
	assert_null(strstr(f->answer.body, "//"));
	assert_int_equal(send_request(f, "GET", "/docs/reader", "")->status, 404);
	assert_int_equal(send_request(f, "GET", "/docs/openapi.json", "")->status, 404);
	assert_int_equal(send_request(f, "GET", "/docs/../docs/start.js", "")->status, 404);
}

TEST_CASE(a_problem_type_links_to_its_own_section_only)
{
	struct fixture *f = *state;
	assert_document(f, "/problems/json", "text/html; charset=utf-8", "<!doctype html>");
	assert_null(strstr(f->answer.body, "validation"));
	assert_document(f, "/problems/busy", "text/html; charset=utf-8", "<!doctype html>");
	assert_non_null(strstr(f->answer.body, "<h1>busy</h1>\n<p>429 · "));
	assert_document(f, "/problems", "text/html; charset=utf-8", "<!doctype html>");
	assert_non_null(strstr(f->answer.body, "<a href=\"/problems/busy\">busy</a> 429"));
	static const char *const unknown[] = { "jso", "jsonx", "Problems", "%0a", "validation%20" };
	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
		char path[64];
		snprintf(path, sizeof(path), "/problems/%s", unknown[i]);
		assert_int_equal(send_request(f, "GET", path, "")->status, 404);
	}
}

TEST_CASE(without_postgresql_the_response_is_503)
{
	struct fixture *f = *state;
	assert_int_equal(send_request(f, "GET", "/api/stats", "")->status, 503);
	assert_header(f, "Retry-After", "1");
}

/* The current value of a counter; -1 = no such series. */
static long counter_value(const struct fixture *f, const char *series)
{
	struct strbuf text;
	char line[256];
	strbuf_init(&text, 1 << 20);
	metrics_render(f->metrics, &text);
	snprintf(line, sizeof(line), "\n%s ", series);
	const char *at = strstr(text.data, line);
	long count = at ? strtol(at + strlen(line), NULL, 10) : -1;
	strbuf_clear(&text);
	return count;
}

/*
 * Counters are updated after the response, so this waits. The pattern is counted, never the path.
 */
static void assert_counts(struct fixture *f, const char *method, const char *path,
                          const char *labels)
{
	char requests[160];
	char seconds[160];
	snprintf(requests, sizeof(requests), "waymark_api_requests_total{%s}", labels);
	snprintf(seconds, sizeof(seconds), "waymark_api_request_seconds_count{%.*s}",
	         (int)(strstr(labels, ",code") - labels), labels);
	long before = counter_value(f, requests);
	long timed_before = counter_value(f, seconds);
	assert_true(before >= 0);
	int64_t until_ms = http_fixture_now_ms() + HTTP_FIXTURE_DEADLINE_MS;
	send_request(f, method, path, "");
	while (counter_value(f, seconds) == timed_before && http_fixture_now_ms() < until_ms)
		usleep(1000);
	assert_int_equal(counter_value(f, requests), before + 1);
	assert_int_equal(counter_value(f, seconds), timed_before + 1);
}

TEST_CASE(each_request_is_counted_for_its_route)
{
	struct fixture *f = *state;
	assert_counts(f, "GET", "/api/links/7",
	              "method=\"GET\",route=\"/api/links/{id}\",code=\"4xx\"");
	assert_counts(f, "GET", "/api/urls/8",
	              "method=\"GET\",route=\"/api/links/{id}\",code=\"4xx\"");
	assert_counts(f, "DELETE", "/api/links/9",
	              "method=\"DELETE\",route=\"/api/links/{id}\",code=\"4xx\"");
	assert_counts(f, "GET", "/nobody/knows", "method=\"\",route=\"\",code=\"4xx\"");
	assert_counts(f, "GET", "/docs", "method=\"GET\",route=\"/docs\",code=\"2xx\"");
}

TEST_CASE(the_first_word_of_each_path_is_a_reserved_slug)
{
	size_t count;
	const struct http_route *table = route_table_rows(&count);
	for (size_t i = 0; i < count; i++) {
		char word[SLUG_SIZE];
		snprintf(word, sizeof(word), "%.*s", (int)strcspn(table[i].pattern + 1, "/.{"),
		         table[i].pattern + 1);
		if (*word && !slug_is_reserved(word))
			fail_msg("%s is not reserved, but %s begins with it", word,
			         table[i].pattern);
	}
}

TEST_MAIN(.group_set_up = set_up, .group_tear_down = tear_down)
