#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "services/links-api/destinations/destination.h"
#include "tests/support/test.h"

struct example {
	const char *input;
	/* NULL: rejected. */
	const char *normal;
};

static void check(const struct example *examples, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct destination parsed = { 0 };
		const char *reason = NULL;
		/* A copy without the NUL lets AddressSanitizer detect reading too far. */
		size_t len = strlen(examples[i].input);
		char *exact = mem_copy(examples[i].input, len);
		enum err err = destination_parse(exact, len, &parsed, &reason);
		free(exact);
		if (err == OK && !examples[i].normal)
			fail_msg("%s was accepted as %s", examples[i].input, parsed.url);
		if (err != OK && examples[i].normal)
			fail_msg("%s was rejected: %s", examples[i].input, reason);
		if (err == OK)
			assert_string_equal(parsed.url, examples[i].normal);
		else
			assert_string_not_equal(destination_code(reason), "malformed");
	}
}
#define CHECK(examples) check((examples), sizeof(examples) / sizeof((examples)[0]))

/* Expected values come from browsers' algorithm (WHATWG URL standard, Node.js 20). */
TEST_CASE(writes_the_same_form_as_browsers)
{
	static const struct example examples[] = {
		{ "https://example.com/", "https://example.com/" },
		{ "https://example.com", "https://example.com/" },
		{ "HTTPS://EXAMPLE.com/Path", "https://example.com/Path" },
		{ "http://example.com:80/", "http://example.com/" },
		{ "https://example.com:443/", "https://example.com/" },
		{ "http://example.com:443/", "http://example.com:443/" },
		{ "http://example.com:/", "http://example.com/" },
		{ "http://example.com:08080/", "http://example.com:8080/" },
		{ "http://example.com:65535/", "http://example.com:65535/" },
		{ "http://example.com?a=b", "http://example.com/?a=b" },
		{ "http://example.com#a", "http://example.com/#a" },
		{ "http://example.com/?", "http://example.com/?" },
		{ "http://example.com/a/./b/../c", "http://example.com/a/c" },
		{ "http://example.com/a/..", "http://example.com/" },
		{ "http://example.com/a/.", "http://example.com/a/" },
		{ "http://example.com/../../a", "http://example.com/a" },
		{ "http://example.com/%2e%2E/a", "http://example.com/a" },
		{ "http://example.com/.%2e/a", "http://example.com/a" },
		{ "http://example.com//a//b", "http://example.com//a//b" },
		{ "http://example.com/...", "http://example.com/..." },
		{ "http://example.com/ü?ü#ü", "http://example.com/%C3%BC?%C3%BC#%C3%BC" },
		{ "http://example.com/😀", "http://example.com/%F0%9F%98%80" },
		{ "http://example.com/\"<>`{}^", "http://example.com/%22%3C%3E%60%7B%7D%5E" },
		{ "http://example.com/?'\"<>", "http://example.com/?%27%22%3C%3E" },
		{ "http://example.com/#\"<>`", "http://example.com/#%22%3C%3E%60" },
		{ "http://example.com/a[1]|b?a[]=1|2", "http://example.com/a[1]|b?a[]=1|2" },
		{ "http://example.com/;a=1,b@c:d!$&'()*+",
		  "http://example.com/;a=1,b@c:d!$&'()*+" },
		{ "http://example.com/?a=b?c/d", "http://example.com/?a=b?c/d" },
		{ "http://example.com/a#b#c?d", "http://example.com/a#b#c?d" },
		{ "http://user.example/@home", "http://user.example/@home" },
	};
	CHECK(examples);
}

TEST_CASE(escapes_spaces_and_control_characters_as_browsers_do)
{
	static const struct example examples[] = {
		{ "http://example.com/a b/c  d?e f&g=h i#j k",
		  "http://example.com/a%20b/c%20%20d?e%20f&g=h%20i#j%20k" },
		{ "http://example.com/ / .. /a", "http://example.com/%20/%20..%20/a" },
		{ "http://example.com/a ?b #c ", "http://example.com/a%20?b%20#c" },
		{ "http://example.com/\x01\x7f?\x1f#\x08.", "http://example.com/%01%7F?%1F#%08." },
		{ "http://example.com/\xc2\x85?\xc2\xa0#\xe3\x80\x80",
		  "http://example.com/%C2%85?%C2%A0#%E3%80%80" },
		{ "http://example.com/\xe2\x80\x8b?\xef\xbb\xbf",
		  "http://example.com/%E2%80%8B?%EF%BB%BF" },
		{ "http://exa mple.com/", NULL },
		{ "http:// example.com/", NULL },
		{ "http://example.com /", NULL },
		{ "http://example.com:80 /", NULL },
		{ "http://example.com\x7f/", NULL },
		{ "http://example.com\x01/", NULL },
		{ "ht tp://example.com/", NULL },
		{ "http ://example.com/", NULL },
		{ "example.com/a b", NULL },
	};
	CHECK(examples);
}

TEST_CASE(drops_spaces_and_control_characters_at_the_ends_as_browsers_do)
{
	static const struct example examples[] = {
		{ " http://example.com/a ", "http://example.com/a" },
		{ "http://example.com/a\n", "http://example.com/a" },
		{ "http://example.com/a\r\n", "http://example.com/a" },
		{ "\t \x1b\x04http://example.com\x1f \r ", "http://example.com/" },
		{ "http://example.com/a%20 ", "http://example.com/a%20" },
		{ "http://example.com/?a= ", "http://example.com/?a=" },
		{ "http://example.com/# ", "http://example.com/#" },
		{ "http://example.com/\xc2\xa0", "http://example.com/%C2%A0" },
		{ "http://example.com/\x7f", "http://example.com/%7F" },
		{ "\xc2\xa0http://example.com/", NULL },
		{ "\xef\xbb\xbfhttp://example.com/", NULL },
		{ " \n ", NULL },
		{ "http:// ", NULL },
	};
	CHECK(examples);
}

/* Browsers leave them alone, and so do the programs that sign URLs. */
TEST_CASE(keeps_escapes_as_they_were_given)
{
	static const struct example examples[] = {
		{ "http://example.com/%7euser/%41%2d", "http://example.com/%7euser/%41%2d" },
		{ "http://example.com/%7E%2D%5F%2e%2E%2e",
		  "http://example.com/%7E%2D%5F%2e%2E%2e" },
		{ "http://example.com/%c3%bc%2f%3f", "http://example.com/%c3%bc%2f%3f" },
		{ "http://example.com/?q=%7e%2b+%20&sig=%2fA%3d%3D",
		  "http://example.com/?q=%7e%2b+%20&sig=%2fA%3d%3D" },
		{ "http://example.com/#%41%7e", "http://example.com/#%41%7e" },
		{ "http://example.com/%25%34%31", "http://example.com/%25%34%31" },
		{ "http://example.com/%00%0d%0a", "http://example.com/%00%0d%0a" },
		{ "http://example.com/a%2e/%2e%2e%2e/.%2e%2fb",
		  "http://example.com/a%2e/%2e%2e%2e/.%2e%2fb" },
		{ "http://example.com/a/%2e/b/%2E%2e/c/%2e", "http://example.com/a/c/" },
		{ "http://example.com/a/b/.%2E", "http://example.com/a/" },
		{ "http://ex%61mple.com/%61", "http://example.com/%61" },
	};
	CHECK(examples);
}

TEST_CASE(keeps_a_percent_sign_that_begins_no_escape)
{
	static const struct example examples[] = {
		{ "http://example.com/%", "http://example.com/%" },
		{ "http://example.com/%4", "http://example.com/%4" },
		{ "http://example.com/%zz%", "http://example.com/%zz%" },
		{ "http://example.com/%%41", "http://example.com/%%41" },
		{ "http://example.com/%2%35", "http://example.com/%2%35" },
		{ "http://example.com/?q=100%&n=5%25", "http://example.com/?q=100%&n=5%25" },
		{ "http://example.com/#50%", "http://example.com/#50%" },
		{ "http://example.com/100%\u00fc", "http://example.com/100%%C3%BC" },
		{ "http://example.com%/", NULL },
	};
	CHECK(examples);
}

/* Expected values come from Chromium's rules (UTS 46 of Unicode 15.1 and later). */
TEST_CASE(reads_international_hosts_as_browsers_do)
{
	static const struct example examples[] = {
		{ "https://i❤.ws/", "https://xn--i-7iq.ws/" },
		{ "https://xn--ls8h.la/", "https://xn--ls8h.la/" },
		{ "https://💩.la/", "https://xn--ls8h.la/" },
		{ "https://☃.net/", "https://xn--n3h.net/" },
		{ "https://I❤️.ws/", "https://xn--i-7iq.ws/" },
		{ "https://♥.example/", "https://xn--g6h.example/" },
		{ "https://√.example/", "https://xn--19g.example/" },
		{ "https://FAẞ.de/", "https://xn--fa-hia.de/" },
		{ "https://faß.de/", "https://xn--fa-hia.de/" },
		{ "https://fass.de/", "https://fass.de/" },
		{ "https://ẞ.ẞẞ.de/", "https://xn--zca.xn--zcaa.de/" },
		{ "https://βόλος.com/", "https://xn--nxasmm1c.com/" },
		{ "https://नी\u200d.example/", NULL },
		{ "https://क्\u200dष.example/", "https://xn--11b2ezcw70k.example/" },
		{ "https://a\u200db.example/", NULL },
		{ "https://xn--\u00fc.de/", NULL },
		{ "https://\u0378.example/", NULL },
		{ "https://a\ufffdb.example/", NULL },
		{ "https://\u0301a.example/", NULL },
	};
	CHECK(examples);
}

TEST_CASE(reads_hosts_as_browsers_do)
{
	static const struct example examples[] = {
		{ "http://münchen.example/", "http://xn--mnchen-3ya.example/" },
		{ "http://MÜNCHEN.example/", "http://xn--mnchen-3ya.example/" },
		{ "http://faß.example/", "http://xn--fa-hia.example/" },
		{ "http://xn--mnchen-3ya.example/", "http://xn--mnchen-3ya.example/" },
		{ "http://例え.テスト/", "http://xn--r8jz45g.xn--zckzah/" },
		{ "http://a。example/", "http://a.example/" },
		{ "http://ｅｘａｍｐｌｅ.com/", "http://example.com/" },
		{ "http://ex%61mple.com/", "http://example.com/" },
		{ "http://%C3%BC.example/", "http://xn--tda.example/" },
		{ "http://ex\u00adample.com/", "http://example.com/" },
		{ "http://example.com./", "http://example.com./" },
		{ "http://a_b.example/", "http://a_b.example/" },
		{ "http://r3---sn-x.example/", "http://r3---sn-x.example/" },
		{ "http://-a-.example/", "http://-a-.example/" },
		{ "http://localhost:3000/", "http://localhost:3000/" },
		{ "http://127.0.0.1/", "http://127.0.0.1/" },
		{ "http://0x7f.1/", "http://127.0.0.1/" },
		{ "http://2130706433/", "http://127.0.0.1/" },
		{ "http://0177.0.0.01/", "http://127.0.0.1/" },
		{ "http://１２７.0.0.1/", "http://127.0.0.1/" },
		{ "http://1.2.3/", "http://1.2.0.3/" },
		{ "http://1.2.3.4./", "http://1.2.3.4/" },
		{ "http://0x/", "http://0.0.0.0/" },
		{ "http://[::1]/", "http://[::1]/" },
		{ "http://[0:0:0:0:0:0:0:0]:8080/", "http://[::]:8080/" },
		{ "http://[1:0:0:2:0:0:0:3]/", "http://[1:0:0:2::3]/" },
		{ "http://[::FFFF:1.2.3.4]/", "http://[::ffff:102:304]/" },
		{ "http://[2001:DB8::1]/", "http://[2001:db8::1]/" },
	};
	CHECK(examples);
}

TEST_CASE(refuses_urls_that_parsers_disagree_about)
{
	static const struct example examples[] = {
		{ "", NULL },
		{ "example.com", NULL },
		{ "//example.com/", NULL },
		{ "/a", NULL },
		{ "http:", NULL },
		{ "http:example.com", NULL },
		{ "http:/example.com", NULL },
		{ "http://", NULL },
		{ "http:///example.com", NULL },
		{ "http://?a", NULL },
		{ "http://:80/", NULL },
		{ "ftp://example.com/", NULL },
		{ "javascript:alert(1)", NULL },
		{ "data:text/html,x", NULL },
		{ "file:///etc/passwd", NULL },
		{ "httpss://example.com/", NULL },
		{ "http://exam\nple.com/", NULL },
		{ "ht\ntp://example.com/", NULL },
		{ "http://example.com/a\tb", NULL },
		{ "http://example.com/?a\r\n&b", NULL },
		{ "http://example.com/\nhttp://example.org/", NULL },
		{ "http://example.com/\xff", NULL },
		{ "https://example.com\\@evil.example/", NULL },
		{ "http:\\\\example.com\\", NULL },
		{ "http://example.com/?a\\b", NULL },
		{ "http://user@example.com/", NULL },
		{ "http://user:password@example.com/", NULL },
		{ "http://@example.com/", NULL },
		{ "http://example.com@evil.example/", NULL },
		{ "http://example.com:0/", NULL },
		{ "http://example.com:65536/", NULL },
		{ "http://example.com:99999999999999999999/", NULL },
		{ "http://example.com:8a/", NULL },
		{ "http://example.com:-1/", NULL },
		{ "http://example.com:80:80/", NULL },
	};
	CHECK(examples);
}

TEST_CASE(refuses_hosts_that_browsers_refuse)
{
	static const struct example examples[] = {
		{ "http://a..b/", NULL },
		{ "http://.a/", NULL },
		{ "http://./", NULL },
		{ "http://a../", NULL },
		{ "http://a%2fb/", NULL },
		{ "http://a%00b/", NULL },
		{ "http://a%zz/", NULL },
		{ "http://%ff.example/", NULL },
		{ "http://a／b.example/", NULL },
		{ "http://℀.example/", NULL },
		{ "http://a<b/", NULL },
		{ "http://a|b/", NULL },
		{ "http://a^b/", NULL },
		{ "http://a,b/", NULL },
		{ "http://\u00ad/", NULL },
		{ "http://xn--/", NULL },
		{ "http://xn--a.example/", NULL },
		{ "http://256.1.1.1/", NULL },
		{ "http://1.2.3.4.5/", NULL },
		{ "http://1..2/", NULL },
		{ "http://08.1/", NULL },
		{ "http://4294967296/", NULL },
		{ "http://1.2.65536/", NULL },
		{ "http://example.1/", NULL },
		{ "http://example.0x1/", NULL },
		{ "http://[::1/", NULL },
		{ "http://[]/", NULL },
		{ "http://[1::2::3]/", NULL },
		{ "http://[::1]a/", NULL },
		{ "http://[fe80::1%25eth0]/", NULL },
		{ "http://[v1.a]/", NULL },
		{ "http://::1/", NULL },
		{ "http://a]b/", NULL },
	};
	CHECK(examples);
}

static char *url_of_length(size_t path_len, char filler)
{
	static const char base[] = "http://example.com/";
	char *url = mem_zero(sizeof(base) + path_len);
	memcpy(url, base, sizeof(base) - 1);
	memset(url + sizeof(base) - 1, filler, path_len);
	return url;
}

TEST_CASE(limits_the_length_of_the_normal_form_not_of_the_input)
{
	const size_t base = strlen("http://example.com/");
	struct destination parsed;
	const char *reason;

	char *longest = url_of_length(LINK_URL_MAX - base, 'a');
	assert_int_equal(destination_parse(longest, strlen(longest), &parsed, &reason), OK);
	char *too_long = url_of_length(LINK_URL_MAX - base + 1, 'a');
	assert_int_equal(destination_parse(too_long, strlen(too_long), &parsed, &reason),
	                 ERR_INVALID);
	assert_string_equal(reason, "must have at most 8192 bytes");
	char *grows = url_of_length(LINK_URL_MAX / 2, '"');
	assert_int_equal(destination_parse(grows, strlen(grows), &parsed, &reason), ERR_INVALID);

	char shrinks[3 * LINK_URL_MAX] = "http://example.com";
	while (strlen(shrinks) < LINK_URL_MAX + 100)
		memcpy(shrinks + strlen(shrinks), "/a/..", sizeof("/a/.."));
	assert_int_equal(destination_parse(shrinks, strlen(shrinks), &parsed, &reason), OK);
	assert_string_equal(parsed.url, "http://example.com/");
	free(longest);
	free(too_long);
	free(grows);
}

static enum err parse_host_of_labels(size_t count, size_t len)
{
	char url[1024] = "http://";
	for (size_t i = 0; i < count; i++) {
		size_t at = strlen(url);
		memset(url + at, 'a', len);
		url[at + len] = i + 1 < count ? '.' : '\0';
	}
	struct destination parsed;
	const char *reason;
	return destination_parse(url, strlen(url), &parsed, &reason);
}

TEST_CASE(refuses_names_longer_than_dns_allows)
{
	assert_int_equal(parse_host_of_labels(2, 63), OK);
	assert_int_equal(parse_host_of_labels(2, 64), ERR_INVALID);
	assert_int_equal(parse_host_of_labels(127, 1), OK);
	assert_int_equal(parse_host_of_labels(128, 1), ERR_INVALID);
}

TEST_CASE(reports_the_offsets_of_its_parts)
{
	static const char url[] = "https://Example.com:8443/a?b=c#d";
	struct destination parsed;
	const char *reason;
	assert_int_equal(destination_parse(url, strlen(url), &parsed, &reason), OK);
	assert_string_equal(parsed.host.text, "example.com");
	assert_false(parsed.host.is_address);
	assert_int_equal(parsed.port, 8443);
	assert_string_equal(parsed.url + parsed.path, "/a?b=c#d");
	assert_string_equal(parsed.url + parsed.query, "?b=c#d");
	assert_string_equal(parsed.url + parsed.fragment, "#d");
}

TEST_CASE(normalizing_a_normal_form_changes_nothing)
{
	static const char *const urls[] = {
		"http://example.com/%25%34%31?%25%37%65#%41",
		"http://[::ffff:1.2.3.4]:81/../..//a/./b/..",
		"https://ＭÜnchen.example./ü/%2e%2e/%7e?'ü#`",
	};
	for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
		struct destination once;
		struct destination twice;
		const char *reason;
		assert_int_equal(destination_parse(urls[i], strlen(urls[i]), &once, &reason), OK);
		assert_int_equal(destination_parse(once.url, strlen(once.url), &twice, &reason),
		                 OK);
		assert_string_equal(once.url, twice.url);
	}
}

/* RFC 5893 */
TEST_CASE(refuses_names_that_mix_writing_directions)
{
	static const struct example examples[] = {
		{ "https://\xd7\x90\xd7\x91.example/", "https://xn--4dbc.example/" },
		{ "https://\xd7\x90-\xd7\x91.example/", "https://xn----zhce.example/" },
		{ "https://a\xd7\x90.example/", NULL },
		{ "https://\xd7\x90"
		  "a.example/",
		  NULL },
		{ "https://0a.\xd7\x90.example/", NULL },
		{ "https://a-.\xd7\x90.example/", NULL },
		{ "https://\xd8\xa7\xd9\xa1"
		  "0.example/",
		  NULL },
		{ "https://\xda\xa1-\xe0\xb7\x8a.example/", NULL },
		{ "https://xn----xtc416c.example/", NULL },
	};
	CHECK(examples);
}

TEST_MAIN()
