#include <string.h>

#include "lib/base/array.h"
#include "lib/base/url.h"
#include "tests/support/test.h"

static void assert_part(struct url_part part, const char *wanted)
{
	if (!wanted) {
		assert_null(part.text);
		return;
	}
	assert_non_null(part.text);
	assert_int_equal(part.len, strlen(wanted));
	assert_memory_equal(part.text, wanted, part.len);
}

TEST_CASE(finds_every_part)
{
	static const struct {
		const char *url, *scheme, *user, *host, *port, *path, *query, *fragment;
	} cases[] = {
		{ "http://a", "http", NULL, "a", NULL, "", NULL, NULL },
		{ "a+b-c.1://u:p@h:1/x/y?q#f", "a+b-c.1", "u:p", "h", "1", "/x/y", "q", "f" },
		{ "http://a@b@h:", "http", "a@b", "h", "", "", NULL, NULL },
		{ "http://[::1]:8/", "http", NULL, "[::1]", "8", "/", NULL, NULL },
		{ "http://", "http", NULL, "", NULL, "", NULL, NULL },
		{ "http://h?a@b#?c", "http", NULL, "h", NULL, "", "a@b", "?c" },
		{ "http://h\\@evil/", "http", NULL, "h", NULL, "\\@evil/", NULL, NULL },
		{ "http://h#", "http", NULL, "h", NULL, "", NULL, "" },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct url url;
		assert_int_equal(url_split(cases[i].url, strlen(cases[i].url), &url), OK);
		assert_part(url.scheme, cases[i].scheme);
		assert_part(url.user, cases[i].user);
		assert_part(url.host, cases[i].host);
		assert_part(url.port, cases[i].port);
		assert_part(url.path, cases[i].path);
		assert_part(url.query, cases[i].query);
		assert_part(url.fragment, cases[i].fragment);
	}
}

TEST_CASE(refuses_what_has_no_single_reading)
{
	static const char *const wrong[] = {
		"",
		"a",
		"//h/",
		"http:/h",
		"http:h",
		"1http://h/",
		"ht tp://h/",
		"://h/",
		"http://[::1/",
		"http://[::1]x/",
		"http://a:b",
		"http://a:1:2",
		"http://::1/",
		"http://h:8 0/",
		"http://h:-1/",
	};
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct url url;
		if (url_split(wrong[i], strlen(wrong[i]), &url) != ERR_INVALID)
			fail_msg("took %s", wrong[i]);
	}
}

TEST_CASE(compares_parts_and_reads_ports)
{
	uint16_t port = 7;
	assert_true(url_part_is((struct url_part){ "HTTPx", 4 }, "http"));
	assert_false(url_part_is((struct url_part){ "http", 4 }, "https"));
	assert_int_equal(url_port((struct url_part){ "65535", 5 }, &port), OK);
	assert_int_equal(port, 65535);
	assert_int_equal(url_port((struct url_part){ "65536", 5 }, &port), ERR_INVALID);
	assert_int_equal(url_port((struct url_part){ "4294967376", 10 }, &port), ERR_INVALID);
	assert_int_equal(url_port((struct url_part){ "0", 1 }, &port), ERR_INVALID);
	assert_int_equal(url_port((struct url_part){ "", 0 }, &port), ERR_INVALID);
	assert_int_equal(url_port((struct url_part){ "8x", 2 }, &port), ERR_INVALID);
	assert_int_equal(port, 65535);
}

TEST_MAIN()
