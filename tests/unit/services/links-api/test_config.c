#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "services/links-api/http/config.h"
#include "tests/support/test.h"

static struct config config;

static void set_required(void)
{
	clearenv();
	setenv("PG_URL", "postgresql://u:p@127.0.0.1:5432/waymark", 1);
	setenv("REDIS_URL", "redis://127.0.0.1:6379", 1);
	setenv("KAFKA_BROKERS", "127.0.0.1:9092", 1);
	setenv("PUBLIC_BASE_URL", "https://wm.example", 1);
	setenv("JWT_SECRET", "0123456789abcdef0123456789abcdef", 1);
}

static void assert_refuses(const char *name, const char *value)
{
	struct strbuf problems;
	strbuf_init(&problems, 65536);
	set_required();
	setenv(name, value, 1);
	if (program_read(&config_program, &config, &problems) != 1 ||
	    strncmp(problems.data, name, strlen(name)) != 0)
		fail_msg("%s=%s: %s", name, value, problems.data);
	strbuf_clear(&problems);
}

TEST_CASE(requires_only_stores_brokers_base_url_and_secret)
{
	struct strbuf problems;
	strbuf_init(&problems, 65536);
	set_required();
	assert_int_equal(program_read(&config_program, &config, &problems), 0);
	assert_string_equal(problems.data, "");
	assert_int_equal(config.links_per_day, 1000);
	assert_int_equal(config.outbox_low_priority_per_second, 2000);
	assert_int_equal(config.anonymous_links_per_hour, 20);
	assert_int_equal(config.login_failures, 10);
	assert_int_equal(config.password_hash_cost, 12);
	assert_int_equal(config.http_connections_per_ip, 128);
	assert_int_equal(config.log_level, LOG_INFO);
	clearenv();
	strbuf_reset(&problems);
	assert_int_equal(program_read(&config_program, &config, &problems), 5);
	strbuf_clear(&problems);
}

TEST_CASE(zero_is_none_where_that_can_be_meant_and_refused_elsewhere)
{
	static const char *const rates[] = {
		"REQUESTS_PER_MINUTE",        "BULK_LINKS_PER_MINUTE",
		"IDEMPOTENCY_BYTES_PER_DAY",  "ACCOUNTS_PER_HOUR",
		"ANONYMOUS_LINKS_PER_HOUR",   "LOGIN_FAILURES",
		"LOGIN_FAILURES_PER_ACCOUNT", "LOGIN_FAILURES_PER_NETWORK",
		"HTTP_CONNECTIONS_PER_IP",
	};
	struct strbuf problems;
	strbuf_init(&problems, 65536);
	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++)
		assert_refuses(rates[i], "0");
	set_required();
	setenv("LINKS_PER_DAY", "0", 1);
	setenv("LIVE_STREAMS", "0", 1);
	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++)
		setenv(rates[i], "unlimited", 1);
	assert_int_equal(program_read(&config_program, &config, &problems), 0);
	assert_int_equal(config.links_per_day, 0);
	assert_true(config.accounts_per_hour == ENV_UNLIMITED);
	strbuf_clear(&problems);
}

TEST_CASE(refuses_a_secret_under_32_bytes_without_printing_it)
{
	struct strbuf problems;
	strbuf_init(&problems, 65536);
	set_required();
	setenv("JWT_SECRET", "0123456789abcdef0123456789abcde", 1);
	assert_int_equal(program_read(&config_program, &config, &problems), 1);
	assert_memory_equal(problems.data, "JWT_SECRET", strlen("JWT_SECRET"));
	assert_null(strstr(problems.data, "0123456789"));
	strbuf_clear(&problems);
}

TEST_CASE(refuses_malformed_values)
{
	assert_refuses("PG_URL", "postgresql://[");
	assert_refuses("REDIS_URL", "127.0.0.1:6379");
	assert_refuses("SECOND_FACTOR", "on");
	assert_refuses("DASHBOARD_URL", "api.sho.rt");
	assert_refuses("PUBLIC_BASE_URL", "wm.example");
	assert_refuses("PUBLIC_BASE_URL", "https://wm.example/?a=b");
	assert_refuses("PUBLIC_BASE_URL", "https://user@wm.example");
	assert_refuses("TRUSTED_PROXIES", "10.0.0.0/33");
	assert_refuses("LOG_LEVEL", "loud");
	assert_refuses("HTTP_PORT", "65536");
	assert_refuses("HTTP_ADDRESS", "localhost");
	assert_refuses("OPS_ADDRESS", "127.0.0.1:9090");
	assert_refuses("LINKS_PER_DAY", "-1");
	assert_refuses("PASSWORD_THREADS", "0");
}

TEST_MAIN()
