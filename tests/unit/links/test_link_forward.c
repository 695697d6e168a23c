#include <stdio.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/mem.h"
#include "lib/links/link_forward.h"
#include "tests/support/test.h"

struct example {
	const char *destination;
	/* Of a query: without "?". */
	const char *typed;
	const char *expected;
};

static void expect(bool is_query, const struct example *examples, size_t count)
{
	struct strbuf out;
	strbuf_init(&out, LINK_FORWARD_BYTES_MAX);
	for (size_t i = 0; i < count; i++) {
		const struct example *e = &examples[i];
		link_forward_build(e->destination, is_query ? e->typed : "",
		                   is_query ? "" : e->typed, is_query, !is_query, &out);
		if (strcmp(out.data, e->expected) != 0)
			fail_msg("%s and %s give %s", e->destination, e->typed, out.data);
	}
	strbuf_clear(&out);
}

#define EXPECT(is_query, ...)                                                                      \
	expect(is_query, (const struct example[]){ __VA_ARGS__ },                                  \
	       sizeof((const struct example[]){ __VA_ARGS__ }) / sizeof(struct example))
#define EXPECT_QUERY(...) EXPECT(true, __VA_ARGS__)
#define EXPECT_PATH(...) EXPECT(false, __VA_ARGS__)

/* Prints nothing: the destination must stay as it is. */
static void expect_kept(bool is_query, const char *destination, const char *typed)
{
	EXPECT(is_query, { destination, typed, destination });
}

/* --- the query --- */

TEST_CASE(adds_the_query_before_the_fragment)
{
	EXPECT_QUERY({ "https://a.example/", "", "https://a.example/" },
	             { "https://a.example/", "a=1", "https://a.example/?a=1" },
	             { "https://a.example/?", "a=1", "https://a.example/?a=1" },
	             { "https://a.example/x#f?g", "a=1&b", "https://a.example/x?a=1&b#f?g" },
	             { "https://a.example/x?k=v#f", "&&a=1&&", "https://a.example/x?k=v&a=1#f" },
	             { "https://a.example/?k=v&&l", "", "https://a.example/?k=v&&l" },
	             { "https://a.example", "a", "https://a.example?a" },
	             { "shop://items/7", "a=1", "shop://items/7?a=1" });
}

TEST_CASE(the_visitors_parameter_replaces_all_of_its_name)
{
	EXPECT_QUERY({ "https://a.example/?a=1&b=2&a=3", "a=4", "https://a.example/?b=2&a=4" },
	             { "https://a.example/?a=1", "a=2&a=3", "https://a.example/?a=2&a=3" },
	             { "https://a.example/?a=1", "a", "https://a.example/?a" },
	             { "https://a.example/?a+b=1&c", "a%20b=2", "https://a.example/?c&a%20b=2" },
	             { "https://a.example/?%61=1", "a=2", "https://a.example/?a=2" },
	             { "https://a.example/?A=1&ab=1", "a=2", "https://a.example/?A=1&ab=1&a=2" },
	             { "https://a.example/?%zz=1", "%zz=2", "https://a.example/?%25zz=2" },
	             { "https://a.example/?=1&x", "=2", "https://a.example/?x&=2" });
}

TEST_CASE(merges_queries_as_shlink_and_dub_do)
{
	EXPECT_QUERY({ "https://a.example?foo=bar", "foo=overwritten&another=param",
	               "https://a.example?foo=overwritten&another=param" },
	             { "https://a.example/oss?ref=dub", "ref=dub.co",
	               "https://a.example/oss?ref=dub.co" });
}

TEST_CASE(the_mark_of_a_scan_is_taken_off)
{
	EXPECT_QUERY({ "https://a.example/", "qr=1", "https://a.example/" },
	             { "https://a.example/?qr=7", "qr=1", "https://a.example/?qr=7" },
	             { "https://a.example/", "qr=1&a=1&qr=1", "https://a.example/?a=1" },
	             { "https://a.example/", "qr=2&qr&QR=1", "https://a.example/?qr=2&qr&QR=1" });
	assert_true(link_forward_is_scan("qr=1"));
	assert_true(link_forward_is_scan("a=1&qr=1&b"));
	assert_false(link_forward_is_scan(""));
	assert_false(link_forward_is_scan("qr=11&xqr=1&qr&Qr=1"));
}

TEST_CASE(escapes_in_a_query_what_browsers_and_strict_parsers_escape)
{
	EXPECT_QUERY({ "https://a.example/", "a=\"<>'\\^`{|}[] #",
	               "https://a.example/"
	               "?a=%22%3C%3E%27%5C%5E%60%7B%7C%7D%5B%5D%20%23" },
	             { "https://a.example/", "a=%0d%0aX:1\r\n\t\x01\x7f",
	               "https://a.example/"
	               "?a=%0d%0aX:1%0D%0A%09%01%7F" },
	             { "https://a.example/", "\xc3\xbc=\xff", "https://a.example/?%C3%BC=%FF" },
	             { "https://a.example/", "a=%&b=%4&c=%zz&d=%41",
	               "https://a.example/"
	               "?a=%25&b=%254&c=%25zz&d=%41" },
	             { "https://a.example/", "a=-._~!$()*+,;=:@/?",
	               "https://a.example/"
	               "?a=-._~!$()*+,;=:@/?" });
}

/* --- the path --- */

TEST_CASE(adds_the_rest_of_the_path_behind_the_destinations)
{
	EXPECT_PATH({ "https://a.example/", "", "https://a.example/" },
	            { "https://a.example/", "/b/c", "https://a.example/b/c" },
	            { "https://a.example", "/b", "https://a.example/b" },
	            { "https://a.example/x", "/b/", "https://a.example/x/b/" },
	            { "https://a.example/x/", "/b", "https://a.example/x/b" },
	            { "https://a.example/x?k=v#f", "/b", "https://a.example/x/b?k=v#f" },
	            { "https://a.example?k", "/b", "https://a.example/b?k" },
	            { "shop://", "/b", "shop:///b" }, { "shop://items", "/7", "shop://items/7" });
}

TEST_CASE(leaves_out_empty_segments)
{
	EXPECT_PATH({ "https://a.example/x", "/", "https://a.example/x" },
	            { "https://a.example/x", "///", "https://a.example/x" },
	            { "https://a.example/", "//evil.example/", "https://a.example/evil.example/" },
	            { "https://a.example", "//evil.example", "https://a.example/evil.example" },
	            { "https://a.example/x/", "//b///c//", "https://a.example/x/b/c/" });
}

TEST_CASE(escapes_in_a_path_what_could_end_it)
{
	EXPECT_PATH(
		{ "https://a.example/", "/b?c#d", "https://a.example/b%3Fc%23d" },
		{ "https://a.example/", "/\\evil.example", "https://a.example/%5Cevil.example" },
		{ "https://a.example", "/@evil.example:80", "https://a.example/@evil.example:80" },
		{ "https://a.example/", "/b%2Fc%5cd%40%3f", "https://a.example/b%2Fc%5cd%40%3f" },
		{ "https://a.example/", "/\xc3\xbc\xff%fe", "https://a.example/%C3%BC%FF%fe" },
		{ "https://a.example/", "/50%/%zz/%4", "https://a.example/50%25/%25zz/%254" },
		{ "https://a.example/", "/a b\"<>^`{|}'",
	          "https://a.example/"
	          "a%20b%22%3C%3E%5E%60%7B%7C%7D'" });
}

TEST_CASE(a_path_that_climbs_for_anybody_is_not_forwarded)
{
	const char *const rests[] = {
		"/..",
		"/../",
		"/b/../c",
		"/.",
		"/b/./c",
		"/%2e%2e/b",
		"/%2E.",
		"/.%2e",
		"/%2e",
		"/b/..%2fc",
		"/..%5cb",
		"/..\\b",
		"/b%2f..",
		"/b%5C%2E%2e",
		"/%252e%252e/b",
		"/..%252fb",
		"/%25252e.",
		"/..;/b",
		"/..;x=1",
		"/.;",
		"/%c0%ae.",
		"/%c0%ae%c0%ae",
		"/\xc0\xae\xc0\xae",
		"/%c1%9c",
		"/%e0%80%af",
		"/%f0%80%80%af",
		"/..%3b/b",
		"/%2525252525252e",
	};
	for (size_t i = 0; i < ARRAY_SIZE(rests); i++)
		expect_kept(false, "https://a.example/x", rests[i]);
}

TEST_CASE(a_path_with_a_control_byte_is_not_forwarded)
{
	const char *const rests[] = { "/a\r\nSet-Cookie: b",
		                      "/a%0d%0aSet-Cookie:b",
		                      "/%00",
		                      "/a\tb",
		                      "/.\t.",
		                      "/%09",
		                      "/\x7f",
		                      "/%250a" };
	for (size_t i = 0; i < ARRAY_SIZE(rests); i++)
		expect_kept(false, "https://a.example/x", rests[i]);
}

TEST_CASE(names_with_more_dots_are_forwarded)
{
	EXPECT_PATH({ "https://a.example/", "/...", "https://a.example/..." },
	            { "https://a.example/", "/a..", "https://a.example/a.." },
	            { "https://a.example/", "/..a/.b", "https://a.example/..a/.b" },
	            { "https://a.example/", "/;x/a;..", "https://a.example/;x/a;.." });
}

/* --- both --- */

TEST_CASE(forwards_only_what_the_link_says)
{
	struct strbuf out;
	strbuf_init(&out, LINK_FORWARD_BYTES_MAX);
	link_forward_build("https://a.example/x?k#f", "a=1", "/b", true, true, &out);
	assert_string_equal(out.data, "https://a.example/x/b?k&a=1#f");
	link_forward_build("https://a.example/x?k#f", "a=1", "/b", true, false, &out);
	assert_string_equal(out.data, "https://a.example/x?k&a=1#f");
	link_forward_build("https://a.example/x?k#f", "a=1", "/b", false, true, &out);
	assert_string_equal(out.data, "https://a.example/x/b?k#f");
	link_forward_build("https://a.example/x?k#f", "a=1", "/..", false, false, &out);
	assert_string_equal(out.data, "https://a.example/x?k#f");
	link_forward_build("https://a.example/x?k#f", "a=1", "/..", true, true, &out);
	assert_string_equal(out.data, "https://a.example/x?k#f");
	strbuf_clear(&out);
}

TEST_CASE(a_destination_without_slashes_stays_as_it_is)
{
	expect_kept(true, "mailto:a@a.example", "a=1");
	expect_kept(false, "tel:123", "/4");
}

TEST_CASE(what_is_too_much_is_not_forwarded)
{
	char *typed = mem_zero(2 * LINK_FORWARD_BYTES_MAX);
	char *destination = mem_zero(LINK_URL_SIZE);
	const char *const begin = "https://a.example/";
	size_t room = LINK_FORWARD_BYTES_MAX - strlen(begin) - 1;

	struct strbuf out;
	strbuf_init(&out, LINK_FORWARD_BYTES_MAX);
	memset(typed, 'a', room);
	link_forward_build(begin, typed, "", true, false, &out);
	assert_int_equal(out.len, LINK_FORWARD_BYTES_MAX);
	typed[room] = 'a';
	expect_kept(true, begin, typed);
	out.limit = LINK_FORWARD_BYTES_MAX + 1;
	link_forward_build(begin, typed, "", true, false, &out);
	assert_string_equal(out.data, begin);
	typed[0] = '/';
	memset(typed + 1, 'a', 2 * LINK_FORWARD_BYTES_MAX - 2);
	expect_kept(false, begin, typed);
	snprintf(destination, LINK_URL_SIZE, "%s", begin);
	memset(destination + strlen(begin), 'a', LINK_URL_MAX - strlen(begin));
	expect_kept(true, destination, typed);

	for (size_t i = 0; i < 100; i++)
		memcpy(typed + 2 * i, "a&", 3);
	link_forward_build(begin, typed, "", true, false, &out);
	assert_int_equal(out.len, strlen(begin) + 1 + 199);
	memcpy(typed + 200, "a", 2);
	expect_kept(true, begin, typed);
	strbuf_clear(&out);
	free(typed);
	free(destination);
}

TEST_MAIN()
