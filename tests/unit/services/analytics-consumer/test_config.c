#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "services/analytics-consumer/config.h"
#include "tests/support/test.h"

static void set_valid_environment(void)
{
	clearenv();
	setenv("PG_URL", "postgresql://consumer@127.0.0.1/waymark", 1);
	setenv("KAFKA_BROKERS", "127.0.0.1:9092", 1);
}

/*
 * Returns the number of invalid variables. The list of problems must contain text; it may be NULL.
 */
static size_t count_problems(const char *text)
{
	struct config config;
	struct strbuf problems;
	strbuf_init(&problems, 10000);
	size_t wrong = program_read(&config_program, &config, &problems);
	if (text && !strstr(problems.data, text))
		print_error("no \"%s\" in:\n%s", text, problems.data);
	assert_true(!text || strstr(problems.data, text));
	strbuf_clear(&problems);
	return wrong;
}

TEST_CASE(requires_only_the_addresses_of_servers)
{
	set_valid_environment();
	assert_int_equal(count_problems(NULL), 0);
}

TEST_CASE(names_every_invalid_variable)
{
	static const struct {
		const char *name, *value, *problem;
	} cases[] = {
		{ "PG_URL", "postgresql://[", "PG_URL: is not a libpq connection string" },
		{ "GEOIP_DB", "/does/not/exist", "GEOIP_DB: /does/not/exist cannot be read: " },
		{ "UA_REGEXES", "/does/not/exist", "UA_REGEXES: /does/not/exist cannot be read: " },
		{ "GEOIP_DB", "/etc/passwd",
		  "GEOIP_DB: \"/etc/passwd\" is no country or city database" },
		{ "UA_REGEXES", "/etc", "UA_REGEXES: /etc cannot be read: Is a directory" },
		{ "CONSUMER_GROUP", "a group", "CONSUMER_GROUP: \"a group\" must be" },
		{ "LOG_LEVEL", "loud", "LOG_LEVEL: \"loud\" is not one of" },
		{ "BATCH_EVENTS", "0", "BATCH_EVENTS" },
		{ "BATCH_EVENTS", "100001", "BATCH_EVENTS" },
		{ "BATCH_MS", "x", "BATCH_MS" },
		{ "SESSION_TIMEOUT_MS", "999", "SESSION_TIMEOUT_MS" },
		{ "FACTS_CHECK_MS", "9", "FACTS_CHECK_MS" },
		{ "OPS_PORT", "65536", "OPS_PORT" },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		set_valid_environment();
		setenv(cases[i].name, cases[i].value, 1);
		assert_int_equal(count_problems(cases[i].problem), 1);
	}
}

TEST_MAIN()
