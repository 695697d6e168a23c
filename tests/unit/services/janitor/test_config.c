#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "services/janitor/tasks/config.h"
#include "tests/support/test.h"

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

static void assert_times(struct task_times times, int64_t period_s, int64_t first_delay_s,
                         int64_t at_least_s, int64_t at_most_s)
{
	assert_int_equal(times.period_s, period_s);
	assert_int_equal(times.first_delay_s, first_delay_s);
	assert_int_equal(times.at_least_s, at_least_s);
	assert_int_equal(times.at_most_s, at_most_s);
}

TEST_CASE(has_the_documented_defaults)
{
	struct config config;
	assert_int_equal(start(&config), PROGRAM_RUN);
	assert_int_equal(config.ops_port, 9090);
	assert_times(config.expiry, 900, 60, 600, 840);
	assert_times(config.partitions, 3600, 0, 10, 60);
	assert_times(config.salts, 3600, 0, 10, 60);
	assert_int_equal(config.expired_grace_s, 2592000);
	assert_int_equal(config.expired_keep_days, 400);
	assert_int_equal(config.deleted_grace_s, 604800);
	assert_times(config.retention, 86400, 300, 10, 60);
	assert_times(config.rollups, 20, 10, 5, 60);
	assert_int_equal(config.retention.after_midnight_s, 10800);
	assert_int_equal(config.salts_keep_s, 86400);
	assert_int_equal(config.visit_log_keep_days, 400);
	assert_int_equal(config.clock_skew_max_s, 21600);
	assert_false(config.destination_checks);
	assert_int_equal(config.destinations_per_s, 5);
	assert_int_equal(config.destination_recheck_s, 86400);
	assert_int_equal(config.destination_retry_s, 900);
	assert_int_equal(config.log_level, LOG_INFO);
}

TEST_CASE(the_times_of_expiry_can_be_set)
{
	struct config config;
	setenv("EXPIRY_PERIOD_S", "1", 1);
	setenv("EXPIRY_FIRST_DELAY_S", "2", 1);
	setenv("LOCK_AT_LEAST_S", "0", 1);
	setenv("LOCK_AT_MOST_S", "3", 1);
	assert_int_equal(start(&config), PROGRAM_RUN);
	assert_times(config.expiry, 1, 2, 0, 3);
	assert_times(config.partitions, 3600, 0, 10, 60);
	setenv("EXPIRY_PERIOD_S", "0", 1);
	assert_int_equal(start(&config), PROGRAM_EXIT_USAGE);
}

TEST_CASE(requires_a_valid_postgresql_url)
{
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

TEST_CASE(names_invalid_and_contradictory_variables)
{
	assert_refused("LOCK_AT_MOST_S", "599",
	               "LOCK_AT_LEAST_S: must not exceed LOCK_AT_MOST_S\n");
	assert_refused(
		"DESTINATION_RESOLVERS", "dns.example",
		"DESTINATION_RESOLVERS: \"dns.example\" is not the IP address of a DNS server, or its port is not "
		"from 1 to 65535\n");
	assert_refused("LOG_LEVEL", "loud",
	               "LOG_LEVEL: \"loud\" is not one of debug, info, warning, error\n");
}

TEST_MAIN(.set_up = set_up)
