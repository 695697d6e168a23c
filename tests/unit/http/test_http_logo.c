#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "lib/http/http_logo.h"
#include "tests/support/test.h"
#include "tests/unit/http/http_fixture.h"

#define SVG "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 1 1\"/>"

static enum err read_bytes(const void *bytes, size_t len, struct strbuf *problems,
                           struct http_logo **out)
{
	char path[] = "/tmp/logo-XXXXXX";
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), len);
	close(fd);
	strbuf_init(problems, 1000);
	enum err err = http_logo_read(path, problems, out);
	unlink(path);
	return err;
}

static void assert_type(const char *bytes, size_t len, const char *type)
{
	struct strbuf problems;
	struct http_logo *logo = NULL;
	assert_int_equal(read_bytes(bytes, len, &problems, &logo), type ? OK : ERR_INVALID);
	if (!type)
		assert_string_equal(problems.data,
		                    "OPERATOR_LOGO_FILE: must be a PNG, JPEG, WebP or SVG\n");
	http_logo_free(logo);
	strbuf_clear(&problems);
}

TEST_CASE(takes_pictures_alone)
{
	(void)state;
	static const struct {
		const char *bytes, *type;
	} files[] = {
		{ "\x89PNG\r\n\x1a\n…", "image/png" },
		{ "\xff\xd8\xff\xe0…", "image/jpeg" },
		{ "RIFF1234WEBPVP8 ", "image/webp" },
		{ SVG, "image/svg+xml" },
		{ "\xef\xbb\xbf<?xml version=\"1.0\"?>\n<!-- > -->\n<!DOCTYPE svg>\n<svg\n/>",
		  "image/svg+xml" },
		{ "", NULL },
		{ "RIFF1234WAVE", NULL },
		{ "GIF89a", NULL },
		{ "<!doctype html><script>alert(1)</script><svg>", NULL },
		{ "<svgs>", NULL },
		{ "<svg>\xff</svg>", NULL },
		{ "<!-- ", NULL },
	};
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		assert_type(files[i].bytes, strlen(files[i].bytes), files[i].type);
	assert_type("<svg >\0</svg>", 13, NULL);
}

TEST_CASE(takes_at_most_64_kib)
{
	(void)state;
	struct strbuf problems;
	struct http_logo *logo = NULL;
	size_t size = HTTP_LOGO_BYTES_MAX + 1;
	char *bytes = calloc(1, size);
	memcpy(bytes, "\xff\xd8\xff", 4);
	assert_int_equal(read_bytes(bytes, size - 1, &problems, &logo), OK);
	http_logo_free(logo);
	strbuf_clear(&problems);
	assert_int_equal(read_bytes(bytes, size, &problems, &logo), ERR_INVALID);
	assert_string_equal(problems.data, "OPERATOR_LOGO_FILE: must have at most 64 KiB\n");
	strbuf_clear(&problems);
	free(bytes);
}

TEST_CASE(without_a_file_there_is_none)
{
	(void)state;
	struct strbuf problems;
	struct http_logo *logo = NULL;
	strbuf_init(&problems, 1000);
	assert_int_equal(http_logo_read("", &problems, &logo), OK);
	assert_null(logo);
	assert_string_equal(http_logo_path(NULL), "");
	assert_int_equal(http_logo_check("/no/logo", &problems), 1);
	assert_non_null(strstr(problems.data, "OPERATOR_LOGO_FILE: "));
	assert_non_null(strstr(problems.data, "No such file"));
	strbuf_clear(&problems);
}

/* The handler of the fixture has no context of its own. */
static const struct http_logo *the_logo;

static enum http_progress respond(void *ctx, struct http_exchange *x)
{
	(void)ctx;
	if (!http_logo_respond(the_logo, x))
		http_exchange_set_status(x, 404);
	return HTTP_COMPLETE;
}

static void assert_header(const struct http_fixture_response *answer, const char *name,
                          const char *wanted)
{
	char value[128];
	assert_string_equal(http_fixture_header(answer, name, value, sizeof(value)), wanted);
}

TEST_CASE(is_served_at_its_own_path_where_it_can_do_no_harm)
{
	(void)state;
	struct http_fixture server = { 0 };
	struct http_fixture_response *answer = calloc(1, sizeof(*answer));
	struct strbuf problems;
	struct http_logo *logo = NULL;
	char request[128];
	assert_int_equal(read_bytes(SVG, strlen(SVG), &problems, &logo), OK);
	strbuf_clear(&problems);
	assert_int_equal(strlen(http_logo_path(logo)), strlen("/assets/logo-0123456789abcdef"));
	the_logo = logo;
	http_fixture_start(&server, http_fixture_config(), respond);
	snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: a\r\n\r\n",
	         http_logo_path(logo));
	http_fixture_request(&server, request, answer);
	assert_int_equal(answer->status, 200);
	assert_string_equal(answer->body, SVG);
	assert_header(answer, "Content-Type", "image/svg+xml");
	assert_header(answer, "Cache-Control", "public, max-age=31536000, immutable");
	assert_header(answer, "X-Content-Type-Options", "nosniff");
	assert_header(answer, "Content-Security-Policy",
	              "default-src 'none'; style-src 'unsafe-inline'; sandbox");
	http_fixture_request(&server, "GET /assets/logo-0 HTTP/1.1\r\nHost: a\r\n\r\n", answer);
	assert_int_equal(answer->status, 404);
	http_fixture_stop(&server, 1000);
	http_logo_free(logo);
	free(answer);
}

TEST_MAIN()
