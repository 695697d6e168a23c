#include "lib/http/http_router.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char *const method_names[] = {
	[HTTP_GET] = "GET",         [HTTP_HEAD] = "HEAD",   [HTTP_POST] = "POST",
	[HTTP_PUT] = "PUT",         [HTTP_PATCH] = "PATCH", [HTTP_DELETE] = "DELETE",
	[HTTP_OPTIONS] = "OPTIONS", [HTTP_OTHER] = "",
};

const char *http_router_method_name(enum http_method method)
{
	return method_names[method];
}

/* Whether a path segment matches a pattern segment. The value of a "{name}" is copied to params. */
static bool segment_matches(const char *pattern, size_t pattern_len, const char *path,
                            size_t path_len, size_t *param, char params[][HTTP_ROUTER_PARAM_SIZE])
{
	if (pattern_len == 0 || pattern[0] != '{')
		return pattern_len == path_len && memcmp(pattern, path, path_len) == 0;
	if (path_len == 0 || path_len >= HTTP_ROUTER_PARAM_SIZE || *param == HTTP_ROUTER_PARAMS_MAX)
		return false;
	memcpy(params[*param], path, path_len);
	params[(*param)++][path_len] = '\0';
	return true;
}

/* Whether the rest of a pattern is a "{name...}". */
static bool matches_rest(const char *pattern)
{
	static const char ending[] = "...}";
	size_t len = strlen(pattern);
	return pattern[0] == '{' && len >= sizeof(ending) &&
	       strcmp(pattern + len - (sizeof(ending) - 1), ending) == 0 && !strchr(pattern, '/');
}

static bool path_matches(const char *pattern, const char *path,
                         char params[][HTTP_ROUTER_PARAM_SIZE])
{
	size_t param = 0;
	while (*pattern == '/' && *path == '/') {
		pattern++;
		path++;
		if (matches_rest(pattern))
			return true;
		size_t pattern_len = strcspn(pattern, "/");
		size_t path_len = strcspn(path, "/");
		if (!segment_matches(pattern, pattern_len, path, path_len, &param, params))
			return false;
		pattern += pattern_len;
		path += path_len;
	}
	return *pattern == '\0' && *path == '\0';
}

static void allow(char list[static HTTP_ROUTER_ALLOW_SIZE], enum http_method method)
{
	size_t len = strlen(list);
	snprintf(list + len, HTTP_ROUTER_ALLOW_SIZE - len, "%s%s", len > 0 ? ", " : "",
	         method_names[method]);
	if (method == HTTP_GET)
		allow(list, HTTP_HEAD);
}

enum err http_router_find(const struct http_route *routes, size_t count, enum http_method method,
                          const char *path, struct http_match *match)
{
	enum http_method wanted = method == HTTP_HEAD ? HTTP_GET : method;
	unsigned allowed = 0;
	for (size_t i = 0; i < count; i++) {
		char params[HTTP_ROUTER_PARAMS_MAX][HTTP_ROUTER_PARAM_SIZE] = { { 0 } };
		if (!path_matches(routes[i].pattern, path, params))
			continue;
		if (routes[i].method == wanted) {
			*match = (struct http_match){ .route = &routes[i] };
			memcpy(match->params, params, sizeof(params));
			return OK;
		}
		allowed |= 1U << routes[i].method;
	}
	if (allowed == 0)
		return ERR_NOT_FOUND;
	*match = (struct http_match){ 0 };
	for (enum http_method m = HTTP_GET; m < HTTP_OTHER; m++)
		if (allowed & (1U << m))
			allow(match->allow, m);
	return ERR_CONFLICT;
}
