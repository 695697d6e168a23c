#include <stdint.h>
#include <string.h>

#include "lib/base/array.h"
#include "services/links-api/documents/document.h"
#include "tests/support/test.h"

static const struct web_file table[] = {
	{ "assets/a-1.js",
	  "text/javascript",
	  { { "plain", 5, "\"p\"" }, { "gzip", 4, "\"g\"" }, { "br", 2, "\"b\"" } } },
	{ "assets/b-2.png", "image/png", { { "png", 3, "\"i\"" }, { 0 }, { 0 } } },
	{ "index.html", "text/html", { { "page", 4, "\"x\"" }, { "z", 1, "\"z\"" }, { 0 } } },
	{ "robots.txt", "text/plain", { { "text", 4, "\"t\"" }, { 0 }, { 0 } } },
};
static const struct web_files files = { table, ARRAY_SIZE(table) };

TEST_CASE(finds_files_and_shows_the_index_for_pages)
{
	static const struct {
		/* NULL = not found. */
		const char *path, *found;
	} cases[] = {
		{ "", "index.html" },
		{ "index.html", "index.html" },
		{ "links", "index.html" },
		{ "links/", "index.html" },
		{ "links/7/stats", "index.html" },
		{ "v1.2/links", "index.html" },
		{ "assets/", "index.html" },
		{ "assets/a-1.js", "assets/a-1.js" },
		{ "robots.txt", "robots.txt" },
		{ "a-1.js", NULL },
		{ "assets/a-2.js", NULL },
		{ "assets/../index.html", NULL },
		{ "../etc/pass.wd", NULL },
		{ "/index.html", NULL },
		{ ".", NULL },
		{ "links/7.", NULL },
		{ "Index.html", NULL },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct document found;
		enum err err = document_find(&files, cases[i].path, NULL, &found);
		if (err != (cases[i].found ? OK : ERR_NOT_FOUND))
			fail_msg("%s: %s", cases[i].path, err_name(err));
		if (cases[i].found)
			assert_string_equal(found.name, cases[i].found);
	}
}

TEST_CASE(sends_the_coding_that_the_client_prefers)
{
	static const struct {
		/* NULL = none. */
		const char *accept, *wanted;
	} cases[] = {
		{ NULL, NULL },
		{ "", NULL },
		{ "identity", NULL },
		{ "deflate", NULL },
		{ "gzip", "gzip" },
		{ "br", "br" },
		{ "gzip, deflate, br, zstd", "br" },
		{ "GZIP, BR", "br" },
		{ "*", "br" },
		{ "gzip;q=1.0, br;q=0.5", "gzip" },
		{ "gzip;q=0.2, br;q=0.5", "br" },
		{ "br;q=0, gzip", "gzip" },
		{ "br;q=0, gzip;q=0", NULL },
		{ "br;q=0, *", "gzip" },
		{ "*;q=0", NULL },
		{ "br;q=x", NULL },
		{ "bro, gzipped", NULL },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct document found;
		assert_int_equal(document_find(&files, "assets/a-1.js", cases[i].accept, &found),
		                 OK);
		const char *wanted = cases[i].wanted ? cases[i].wanted : "plain";
		if (strcmp(found.bytes, wanted) != 0)
			fail_msg("%s: %s", cases[i].accept, found.bytes);
		assert_int_equal(found.len, strlen(wanted));
		if (cases[i].wanted)
			assert_string_equal(compression_name(found.coding), wanted);
		else
			assert_int_equal(found.coding, COMPRESSION_NONE);
	}
}

TEST_CASE(sends_a_file_as_it_is_if_it_has_no_compressed_form)
{
	struct document found;
	assert_int_equal(document_find(&files, "assets/b-2.png", "br, gzip", &found), OK);
	assert_int_equal(found.coding, COMPRESSION_NONE);
	assert_string_equal(found.etag, "\"i\"");
	assert_int_equal(document_find(&files, "", "br, gzip", &found), OK);
	assert_int_equal(found.coding, COMPRESSION_GZIP);
	assert_string_equal(found.etag, "\"z\"");
}

TEST_CASE(only_hashed_names_are_immutable)
{
	struct document found;
	assert_int_equal(document_find(&files, "assets/a-1.js", NULL, &found), OK);
	assert_true(found.is_immutable);
	assert_int_equal(document_find(&files, "assets/x", NULL, &found), OK);
	assert_false(found.is_immutable);
	assert_int_equal(document_find(&files, "robots.txt", NULL, &found), OK);
	assert_false(found.is_immutable);
}

TEST_MAIN()
