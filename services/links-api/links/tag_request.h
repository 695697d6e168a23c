/* Pure. What a request says about a tag: its name in the path, and the body {name?, color?}. */
#ifndef WAYMARK_SERVICES_LINKS_API_LINKS_TAG_REQUEST_H
#define WAYMARK_SERVICES_LINKS_API_LINKS_TAG_REQUEST_H

#include <stdbool.h>

#include "lib/base/err.h"
#include "lib/http/http_problem.h"
#include "lib/json/json.h"
#include "lib/links/link.h"

#define TAG_COLOR_SIZE 8 /* "#1b7f4d" */

struct tag_request {
	bool has_name, has_color;
	char name[LINK_TAG_SIZE];
	/* Lower case; "" = null. */
	char color[TAG_COLOR_SIZE];
};

/*
 * Reads the name from the rest of a path: one segment, percent-encoded, in which "+" is a plus sign.
 * ERR_NOT_FOUND: no tag can have this name.
 */
enum err tag_request_read_path(const char *segment, char out[static LINK_TAG_SIZE]) MUST_CHECK;

/*
 * Copies text to out if a tag may have that name: 1 to 50 characters without control characters,
 * and neither "." nor "..", which clients remove from paths. Otherwise reports it at pointer.
 */
bool tag_request_take_name(const char *text, const char *pointer, char out[static LINK_TAG_SIZE],
                           struct http_problem_fields *wrong);

/* ERR_INVALID: wrong lists every invalid member. */
enum err tag_request_read(const struct json *object, struct tag_request *out,
                          struct http_problem_fields *wrong) MUST_CHECK;

#endif
