#include <stdint.h>
#include <string.h>

#include "lib/http/http_router.h"
#include "tests/support/test.h"

static const struct http_route routes[] = {
	{ .method = HTTP_GET, .pattern = "/", .right = 1 },
	{ .method = HTTP_GET, .pattern = "/api/links", .right = 2 },
	{ .method = HTTP_POST, .pattern = "/api/links", .right = 3 },
	{ .method = HTTP_POST, .pattern = "/api/links/public", .right = 4 },
	{ .method = HTTP_GET, .pattern = "/api/links/{id}", .right = 5 },
	{ .method = HTTP_PATCH, .pattern = "/api/links/{id}", .right = 6 },
	{ .method = HTTP_DELETE, .pattern = "/api/links/{id}", .right = 7 },
	{ .method = HTTP_GET, .pattern = "/api/links/{id}/stats/{dimension}", .right = 8 },
	{ .method = HTTP_PUT, .pattern = "/{a}/{b}/{c}", .right = 9 },
	{ .method = HTTP_GET, .pattern = "/app/{path...}", .right = 10 },
	{ .method = HTTP_GET, .pattern = "/odd/{path...}/more", .right = 11 },
};

static enum err find(enum http_method method, const char *path, struct http_match *match)
{
	return http_router_find(routes, sizeof(routes) / sizeof(routes[0]), method, path, match);
}

static void check(enum http_method method, const char *path, unsigned right)
{
	struct http_match match;
	if (find(method, path, &match) != OK)
		fail_msg("%s is not found", path);
	assert_int_equal(match.route->right, right);
}

TEST_CASE(finds_the_route_of_a_path_and_method)
{
	check(HTTP_GET, "/", 1);
	check(HTTP_GET, "/api/links", 2);
	check(HTTP_HEAD, "/api/links", 2);
	check(HTTP_POST, "/api/links", 3);
	check(HTTP_POST, "/api/links/public", 4);
	check(HTTP_GET, "/api/links/public", 5);
	check(HTTP_DELETE, "/api/links/12", 7);
}

TEST_CASE(finds_the_route_of_a_path_of_any_depth)
{
	struct http_match match;
	char deep[200] = "/app/";
	memset(deep + 5, 'x', sizeof(deep) - 6);
	check(HTTP_GET, "/app/", 10);
	check(HTTP_HEAD, "/app/links", 10);
	check(HTTP_GET, "/app/a/b//c/", 10);
	check(HTTP_GET, deep, 10);
	assert_int_equal(find(HTTP_GET, "/app", &match), ERR_NOT_FOUND);
	assert_int_equal(find(HTTP_GET, "/apps/", &match), ERR_NOT_FOUND);
	assert_int_equal(find(HTTP_POST, "/app/x", &match), ERR_CONFLICT);
	check(HTTP_GET, "/odd/x/more", 11);
	assert_int_equal(find(HTTP_GET, "/odd/x", &match), ERR_NOT_FOUND);
}

TEST_CASE(returns_raw_parameters_in_order)
{
	struct http_match match;
	assert_int_equal(find(HTTP_GET, "/api/links/4%2f2/stats/c%00d", &match), OK);
	assert_string_equal(match.params[0], "4%2f2");
	assert_string_equal(match.params[1], "c%00d");
	assert_string_equal(match.params[2], "");
	assert_int_equal(find(HTTP_PUT, "/1/2/3", &match), OK);
	assert_string_equal(match.params[2], "3");
}

TEST_CASE(reports_unknown_paths)
{
	static const char *const paths[] = {
		"",
		"x",
		"//",
		"/api",
		"/api/",
		"/api/links/",
		"/api/links//",
		"/api/links/1/",
		"/api/links/1/stats",
		"/API/links",
		"api/links",
		"/api/links/1/stats/",
		"/api/links/1/stats//",
	};
	struct http_match match;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		if (find(HTTP_GET, paths[i], &match) != ERR_NOT_FOUND)
			fail_msg("found \"%s\"", paths[i]);
}

TEST_CASE(bounds_parameters)
{
	char path[128] = "/api/links/";
	size_t at = strlen(path);
	memset(path + at, '1', HTTP_ROUTER_PARAM_SIZE - 1);
	struct http_match match;
	assert_int_equal(find(HTTP_GET, path, &match), OK);
	assert_int_equal(strlen(match.params[0]), HTTP_ROUTER_PARAM_SIZE - 1);
	path[at + HTTP_ROUTER_PARAM_SIZE - 1] = '1';
	assert_int_equal(find(HTTP_GET, path, &match), ERR_NOT_FOUND);
}

TEST_CASE(lists_the_methods_of_a_path)
{
	struct http_match match;
	assert_int_equal(find(HTTP_PUT, "/api/links/12", &match), OK); /* the last route */
	assert_int_equal(find(HTTP_PUT, "/api/links", &match), ERR_CONFLICT);
	assert_string_equal(match.allow, "GET, HEAD, POST");
	assert_int_equal(find(HTTP_OTHER, "/api/links/public", &match), ERR_CONFLICT);
	assert_string_equal(match.allow, "GET, HEAD, POST, PUT, PATCH, DELETE");
	assert_int_equal(find(HTTP_OPTIONS, "/", &match), ERR_CONFLICT);
	assert_string_equal(match.allow, "GET, HEAD");
	assert_int_equal(find(HTTP_HEAD, "/1/2/3", &match), ERR_CONFLICT);
	assert_string_equal(match.allow, "PUT");
}

TEST_MAIN()
