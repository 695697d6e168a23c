/*
 * Untrusted request lines. The first byte chooses the method, the rest is the target. A found route
 * must match its path. A method that a path does not have must give an Allow header with those that
 * it has. Queries are parsed, or rejected with the names of the invalid parameters.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "services/links-api/http/query_params.h"
#include "services/links-api/route_table.h"
#include "services/links-api/statistics/stats_request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static size_t segments_of(const char *path)
{
	size_t count = 0;
	for (; *path; path++)
		count += *path == '/';
	return count;
}

static void try_path(enum http_method method, const char *path)
{
	struct http_match match = { 0 };
	int64_t workspace_id = 0;
	enum err err = route_table_find(method, path, &match, &workspace_id);
	if (err == OK) {
		bool is_method = match.route->method == method ||
		                 (method == HTTP_HEAD && match.route->method == HTTP_GET);
		require(is_method && match.route->handler != NULL);
		require(workspace_id > 0 || segments_of(match.route->pattern) == segments_of(path));
	} else {
		require(err == ERR_NOT_FOUND || (err == ERR_CONFLICT && match.allow[0] != '\0'));
	}
}

static void try_query(const char *query)
{
	static const struct stats_request_terms terms = { ~0U, 10, 1000 };
	struct http_problem_fields wrong_number = { 0 }, wrong_stats = { 0 };
	int64_t number = 64;
	struct query_param param = { .name = "size", .number = &number, .min = 64, .max = 2048 };
	struct stats_request_params stats = { 0 };
	require((query_params_read(query, &param, 1, &wrong_number) == OK) ==
	        (wrong_number.count == 0));
	require(number >= param.min && number <= param.max);
	require((stats_request_read_params(query, &terms, &stats, &wrong_stats) == OK) ==
	        (wrong_stats.count == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	/* As the server passes it on: an absolute path without NUL, cut at its first "?". */
	char *target = mem_text_n((const char *)data + 1, size - 1);
	char *query = strchr(target, '?');
	if (query)
		*query++ = '\0';
	if (target[0] == '/')
		try_path((enum http_method)(data[0] % (HTTP_OTHER + 1)), target);
	try_query(query ? query : "");
	free(target);
	return 0;
}
