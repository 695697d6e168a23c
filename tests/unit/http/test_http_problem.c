#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/http/http_problem.h"
#include "lib/json/json.h"
#include "tests/support/test.h"
#include "tests/unit/http/http_fixture.h"

#define ASK(path) "GET " path " HTTP/1.1\r\nHost: a\r\nX-Request-Id: id-1\r\n\r\n"

static enum http_progress response(void *ctx, struct http_exchange *x)
{
	(void)ctx;
	const char *path = http_exchange_path(x);
	if (strcmp(path, "/plain") == 0)
		return http_problem_respond(x, 404, NULL, NULL, NULL);
	struct http_problem_fields fields = { 0 };
	if (strcmp(path, "/many") == 0)
		for (unsigned i = 0; i < HTTP_PROBLEM_FIELDS_MAX + 10; i++)
			http_problem_add_field(&fields, "/tags", "number", "tag %u %0*d", i, 300,
			                       1);
	http_problem_add_field(&fields, "/original_url", "too-long", "is %d bytes longer than %d",
	                       3, 2048);
	http_problem_add_field(&fields, "/slug", "taken", "is taken: \"%s\"", "a\\b");
	return http_problem_respond(x, 400, "validation", "Two fields are wrong.", &fields);
}

TEST_CASE(writes_every_invalid_field)
{
	struct http_fixture f;
	struct http_fixture_response got;
	char value[64];
	http_fixture_start(&f, http_fixture_config(), response);
	http_fixture_request(&f, ASK("/fields"), &got);
	assert_int_equal(got.status, 400);
	assert_string_equal(http_fixture_header(&got, "Content-Type", value, sizeof(value)),
	                    "application/problem+json");
	assert_string_equal(
		got.body,
		"{\"type\":\"/problems/validation\",\"title\":\"Bad Request\",\"status\":400,"
		"\"detail\":\"Two fields are wrong.\",\"instance\":\"id-1\",\"errors\":["
		"{\"pointer\":\"/original_url\",\"code\":\"too-long\",\"detail\":\"is 3 bytes longer than 2048\"},"
		"{\"pointer\":\"/slug\",\"code\":\"taken\",\"detail\":\"is taken: \\\"a\\\\b\\\"\"}]}");
	http_fixture_stop(&f, 1000);
}

TEST_CASE(omits_unknown_members)
{
	struct http_fixture f;
	struct http_fixture_response got;
	http_fixture_start(&f, http_fixture_config(), response);
	http_fixture_request(&f, ASK("/plain"), &got);
	assert_int_equal(got.status, 404);
	assert_string_equal(
		got.body,
		"{\"type\":\"/problems/no-such-endpoint\",\"title\":\"Not Found\",\"status\":404,\"instance\":\"id-1\"}");
	http_fixture_stop(&f, 1000);
}

TEST_CASE(drops_fields_beyond_the_maximum)
{
	struct http_fixture f;
	struct http_fixture_response got;
	http_fixture_start(&f, http_fixture_config(), response);
	http_fixture_request(&f, ASK("/many"), &got);
	assert_int_equal(got.status, 400);
	struct json *problem = NULL;
	char reason[JSON_REASON_SIZE];
	assert_int_equal(json_parse(got.body, got.body_len, &problem, reason), OK);
	assert_int_equal(json_count(json_get(problem, "errors")), HTTP_PROBLEM_FIELDS_MAX);
	json_free(problem);
	http_fixture_stop(&f, 1000);
}

TEST_CASE(returns_the_title_of_each_status)
{
	static const struct {
		unsigned status;
		const char *title;
	} wanted[] = { { 400, "Bad Request" },
		       { 410, "Gone" },
		       { 413, "Content Too Large" },
		       { 414, "URI Too Long" },
		       { 422, "Unprocessable Content" },
		       { 428, "Precondition Required" },
		       { 429, "Too Many Requests" },
		       { 431, "Request Header Fields Too Large" },
		       { 451, "Unavailable For Legal Reasons" },
		       { 503, "Service Unavailable" } };
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		struct json *problem = http_problem_new(wanted[i].status, NULL, NULL, "id-1", NULL);
		assert_string_equal(json_text(json_get(problem, "title"), NULL), wanted[i].title);
		json_free(problem);
	}
}

TEST_MAIN()
