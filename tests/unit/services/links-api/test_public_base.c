#include <stdint.h>
#include <string.h>

#include "lib/links/host_policy.h"
#include "services/links-api/destinations/destination.h"
#include "services/links-api/destinations/public_base.h"
#include "tests/support/test.h"

static struct public_base base_of(const char *url)
{
	struct public_base base;
	const char *reason = NULL;
	if (public_base_init(&base, url, &reason) != OK)
		fail_msg("%s was rejected: %s", url, reason);
	return base;
}

static bool owns(const struct public_base *base, const char *url)
{
	struct destination parsed;
	const char *reason = NULL;
	assert_int_equal(destination_parse(url, strlen(url), &parsed, &reason), OK);
	return public_base_owns(base, &parsed.host, parsed.port);
}

TEST_CASE(builds_short_urls)
{
	static const struct {
		const char *base, *short_url;
	} examples[] = {
		{ "https://wm.example", "https://wm.example/abc" },
		{ "https://WM.example/", "https://wm.example/abc" },
		{ "https://wm.example/./", "https://wm.example/abc" },
		{ "https://wm.example:443", "https://wm.example/abc" },
		{ "http://127.0.0.1:8080", "http://127.0.0.1:8080/abc" },
	};
	for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
		struct public_base base = base_of(examples[i].base);
		char out[PUBLIC_BASE_SHORT_URL_SIZE];
		public_base_short_url(&base, "abc", out);
		assert_string_equal(out, examples[i].short_url);
	}
}

TEST_CASE(finds_what_follows_the_base)
{
	static const struct {
		const char *base, *text, *rest;
	} examples[] = {
		{ "https://wm.example", "https://wm.example/abc?x=1", "abc?x=1" },
		{ "https://wm.example", "WM.example/abc", "abc" },
		{ "https://wm.example", "https://wm.example/", NULL },
		{ "https://wm.example", "wm.example", NULL },
		{ "https://wm.example", "https://wm.example.org/abc", NULL },
		{ "https://wm.example", "http://wm.example/abc", NULL },
		{ "https://wm.example", "/abc", NULL },
		{ "https://wm.example:8443", "wm.example:8443/abc", "abc" },
		{ "https://wm.example:8443", "wm.example/abc", NULL },
	};
	for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
		struct public_base base = base_of(examples[i].base);
		const char *rest = public_base_skip(&base, examples[i].text);
		if (examples[i].rest)
			assert_string_equal(rest, examples[i].rest);
		else
			assert_null(rest);
	}
}

TEST_CASE(refuses_urls_that_a_slug_cannot_follow)
{
	static const char *const refused[] = {
		"",
		"wm.example",
		"ftp://wm.example",
		"https://wm.example/?a",
		"https://wm.example/#a",
		"https://u@wm.example",
		"https://wm.example/r",
		"https://wm.example/r/",
		"https://wm.example//",
		"https://wm.example/%2F",
		"https://wm.example:8443/r",
		"https://wm.example/;v=1",
		"http://127.0.0.1:8080/go/",
	};
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		struct public_base base;
		const char *reason = NULL;
		assert_int_equal(public_base_init(&base, refused[i], &reason), ERR_INVALID);
		assert_non_null(reason);
	}
}

TEST_CASE(owns_its_name_in_every_spelling)
{
	struct public_base base = base_of("https://wm.example");
	assert_true(owns(&base, "https://wm.example/abc"));
	assert_true(owns(&base, "http://WM.EXAMPLE:8080/"));
	assert_true(owns(&base, "http://wm.example./"));
	assert_true(owns(&base, "http://%77m.example/"));
	assert_true(owns(&base, "http://ｗｍ.example/"));
	assert_false(owns(&base, "http://a.wm.example/"));
	assert_false(owns(&base, "http://wm.example.com/"));
}

TEST_CASE(owns_an_address_on_its_own_port_only)
{
	struct public_base base = base_of("http://127.0.0.1:8080");
	assert_true(owns(&base, "http://127.0.0.1:8080/abc"));
	assert_true(owns(&base, "http://0x7f.1:8080/abc"));
	assert_false(owns(&base, "http://127.0.0.1:3000/"));
}

TEST_CASE(owns_an_ipv4_address_wrapped_in_ipv6)
{
	struct public_base base = base_of("http://127.0.0.1:8080");
	assert_true(owns(&base, "http://[::ffff:127.0.0.1]:8080/"));
	assert_true(owns(&base, "http://[::ffff:7f00:1]:8080/"));
	assert_true(owns(&base, "http://[64:ff9b::7f00:1]:8080/"));
	assert_false(owns(&base, "http://[::ffff:127.0.0.2]:8080/"));
	assert_false(owns(&base, "http://[::ffff:127.0.0.1]:3000/"));
	struct public_base wrapped = base_of("http://[::ffff:127.0.0.1]:8080");
	assert_true(owns(&wrapped, "http://127.0.0.1:8080/abc"));

	struct host_policy *aliases = NULL;
	struct public_base named = base_of("https://wm.example");
	assert_int_equal(public_base_parse_aliases("203.0.113.7", &aliases), OK);
	named.aliases = aliases;
	assert_true(owns(&named, "http://[::ffff:203.0.113.7]/"));
	assert_false(owns(&named, "http://[::ffff:203.0.113.8]/"));
	host_policy_free(aliases);
}

TEST_MAIN()
