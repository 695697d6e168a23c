#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "lib/redis/redis_url.h"
#include "tests/support/test.h"

TEST_CASE(parses_every_part)
{
	struct redis_url url;
	assert_int_equal(redis_url_parse("redis://ann:p%40ss%3a%2F@cache.example:6380/15", &url),
	                 OK);
	assert_string_equal(url.user, "ann");
	assert_string_equal(url.password, "p@ss:/");
	assert_string_equal(url.host, "cache.example");
	assert_int_equal(url.port, 6380);
	assert_int_equal(url.db, 15);
}

TEST_CASE(uses_defaults_for_missing_parts)
{
	struct redis_url url;
	assert_int_equal(redis_url_parse("redis://127.0.0.1", &url), OK);
	assert_string_equal(url.user, "");
	assert_string_equal(url.password, "");
	assert_int_equal(url.port, 6379);
	assert_int_equal(url.db, 0);
	assert_int_equal(redis_url_parse("redis://:secret@h:1/", &url), OK);
	assert_string_equal(url.user, "");
	assert_string_equal(url.password, "secret");
}

TEST_CASE(parses_an_ipv6_host_in_brackets)
{
	struct redis_url url;
	assert_int_equal(redis_url_parse("redis://[::1]:6390/2", &url), OK);
	assert_string_equal(url.host, "::1");
	assert_int_equal(url.port, 6390);
	assert_int_equal(redis_url_parse("redis://[fd00::2]", &url), OK);
	assert_string_equal(url.host, "fd00::2");
	assert_int_equal(url.port, 6379);
}

TEST_CASE(splits_at_the_last_at_sign)
{
	struct redis_url url;
	assert_int_equal(redis_url_parse("redis://u:p@ss@host:1", &url), OK);
	assert_string_equal(url.password, "p@ss");
	assert_string_equal(url.host, "host");
}

TEST_CASE(parses_the_path_of_a_unix_socket)
{
	struct redis_url url;
	assert_int_equal(redis_url_parse("unix:///run/redis/redis.sock", &url), OK);
	assert_string_equal(url.socket, "/run/redis/redis.sock");
	assert_int_equal(url.db, 0);
	assert_int_equal(redis_url_parse("UNIX://ann:p%2F?@/run/a%3Fb%20c.sock?db=15", &url), OK);
	assert_string_equal(url.socket, "/run/a?b c.sock");
	assert_string_equal(url.user, "ann");
	assert_string_equal(url.password, "p/?");
	assert_int_equal(url.db, 15);
	assert_int_equal(redis_url_parse("Redis://h:1", &url), OK);
	assert_string_equal(url.socket, "");
	assert_false(url.is_tls);
	assert_int_equal(redis_url_parse("Rediss://h:1", &url), OK);
	assert_true(url.is_tls);
}

TEST_CASE(rejects_malformed_urls)
{
	static const char *const wrong[] = {
		"",
		"redis:/h",
		"rediss://",
		"valkeys://h:1",
		"http://h:1",
		"redis://",
		"redis://:6379",
		"redis://h:",
		"redis://h:0",
		"redis://h:65536",
		"redis://h:12x",
		"redis://h:+1",
		"redis://h:1/x",
		"redis://h:1/1024",
		"redis://h:1/-1",
		"redis://h:1/1/2",
		"redis://user@h:1",
		"redis://user:@h:1",
		"redis://u:%zz@h:1",
		"redis://u:%0",
		"redis://u:%00@h:1",
		"redis://u:a%4@h:1",
		"redis://[::1",
		"redis://[]:1",
		"redis://[::1]x:1",
		"redis://h:1?db=1",
		"redis://h1:26379,h2:26379",
		"unix:/run/r.sock",
		"unix://",
		"unix://run/r.sock",
		"unix://ann@/run/r.sock",
		"unix:///run/r.sock?db=x",
		"unix:///run/r.sock?db=1024",
		"unix:///run/r.sock?password=p",
		"unix:///run/%00.sock",
	};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct redis_url url = { .port = 7 };
		if (redis_url_parse(wrong[i], &url) != ERR_INVALID)
			fail_msg("took %s", wrong[i]);
		assert_int_equal(url.port, 7);
	}
}

TEST_CASE(names_the_server_without_its_password)
{
	static const char *const urls[][2] = {
		{ "redis://u:sesame@cache.example.com:1", "cache.example.com:1" },
		{ "redis://[::1]", "[::1]:6379" },
		{ "unix://:sesame@/run/r.sock", "/run/r.sock" },
	};
	for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
		struct redis_url url;
		char text[REDIS_URL_ADDRESS_SIZE];
		assert_int_equal(redis_url_parse(urls[i][0], &url), OK);
		assert_string_equal(redis_url_address(&url, text), urls[i][1]);
	}
}

TEST_CASE(rejects_parts_that_are_too_long)
{
	struct redis_url url;
	char text[4096];
	snprintf(text, sizeof(text), "redis://%0*d:1", 255, 0);
	assert_int_equal(redis_url_parse(text, &url), OK);
	snprintf(text, sizeof(text), "redis://%0*d:1", 256, 0);
	assert_int_equal(redis_url_parse(text, &url), ERR_INVALID);
	snprintf(text, sizeof(text), "redis://u:%0*d@h:1", 1024, 0);
	assert_int_equal(redis_url_parse(text, &url), OK);
	snprintf(text, sizeof(text), "redis://u:%0*d@h:1", 1025, 0);
	assert_int_equal(redis_url_parse(text, &url), ERR_INVALID);
	snprintf(text, sizeof(text), "unix:///%0*d", 106, 0);
	assert_int_equal(redis_url_parse(text, &url), OK);
	snprintf(text, sizeof(text), "unix:///%0*d", 107, 0);
	assert_int_equal(redis_url_parse(text, &url), ERR_INVALID);
}

TEST_MAIN()
