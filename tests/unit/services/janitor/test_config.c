#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "services/janitor/config.h"

#define PROBLEMS_MAX 4096

static int set_up(void **state)
{
	(void)state;
	clearenv();
	setenv("PG_URL", "postgresql://janitor@127.0.0.1/waymark", 1);
	return 0;
}

static int start(struct config *config)
{
	char *argv[] = { (char *)(uintptr_t) "janitor", NULL };
	return program_start(&config_program, 1, argv, config);
}

static void has_the_documented_defaults(void **state)
{
	(void)state;
	struct config config;
	assert_int_equal(start(&config), PROGRAM_RUN);
	assert_int_equal(config.ops_port, 9090);
	assert_int_equal(config.expiry_period_s, 900);
	assert_int_equal(config.expiry_first_delay_s, 60);
	assert_int_equal(config.expired_grace_s, 900);
	assert_int_equal(config.deleted_grace_s, 0);
	assert_int_equal(config.partitions_period_s, 3600);
	assert_int_equal(config.partitions_first_delay_s, 0);
	assert_int_equal(config.salts_period_s, 3600);
	assert_int_equal(config.salts_first_delay_s, 0);
	assert_int_equal(config.lock_at_least_s, 600);
	assert_int_equal(config.lock_at_most_s, 840);
	assert_false(config.destination_checks);
	assert_int_equal(config.destinations_per_s, 5);
	assert_int_equal(config.destination_recheck_s, 86400);
	assert_int_equal(config.destination_retry_s, 900);
	assert_int_equal(config.log_level, LOG_INFO);
}

static void takes_every_period_down_to_a_second(void **state)
{
	(void)state;
	struct config config;
	const char *const names[] = { "EXPIRY_PERIOD_S", "PARTITIONS_PERIOD_S", "SALTS_PERIOD_S", "LOCK_AT_LEAST_S",
		                      "LOCK_AT_MOST_S" };
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		setenv(names[i], "1", 1);
	assert_int_equal(start(&config), PROGRAM_RUN);
	assert_int_equal(config.expiry_period_s, 1);
	assert_int_equal(config.salts_period_s, 1);
	setenv("EXPIRY_PERIOD_S", "0", 1);
	assert_int_equal(start(&config), PROGRAM_EXIT_USAGE);
}

static void needs_an_address_of_postgresql(void **state)
{
	(void)state;
	struct config config;
	unsetenv("PG_URL");
	assert_int_equal(start(&config), PROGRAM_EXIT_USAGE);
	setenv("PG_URL", "postgresql://[::1/waymark", 1);
	assert_int_equal(start(&config), PROGRAM_EXIT_USAGE);
}

static void assert_refused(const char *name, const char *value, const char *problem)
{
	struct config config;
	struct strbuf problems;
	setenv(name, value, 1);
	strbuf_init(&problems, PROBLEMS_MAX);
	assert_int_equal(program_read(&config_program, &config, &problems), 1);
	assert_string_equal(problems.data, problem);
	strbuf_clear(&problems);
	unsetenv(name);
}

static void names_variables_that_contradict_each_other(void **state)
{
	(void)state;
	assert_refused("LOCK_AT_MOST_S", "599", "LOCK_AT_LEAST_S: is more than LOCK_AT_MOST_S\n");
	assert_refused("VISITORS_KEEP_S", "86399", "VISITORS_KEEP_S: is less than SALTS_KEEP_S\n");
	assert_refused("DESTINATION_RESOLVERS", "dns.example", "DESTINATION_RESOLVERS: is no list of DNS servers\n");
	assert_refused("LOG_LEVEL", "loud", "LOG_LEVEL: \"loud\" is none of debug, info, warning, error\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(has_the_documented_defaults, set_up),
		cmocka_unit_test_setup(takes_every_period_down_to_a_second, set_up),
		cmocka_unit_test_setup(needs_an_address_of_postgresql, set_up),
		cmocka_unit_test_setup(names_variables_that_contradict_each_other, set_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
