#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "services/redirector/config.h"
#include "tests/support/test.h"

static struct config config;

static void set_required(void)
{
	clearenv();
	setenv("PG_URL", "postgresql://u:p@127.0.0.1:5432/waymark", 1);
	setenv("REDIS_URL", "redis://127.0.0.1:6379", 1);
	setenv("KAFKA_BROKERS", "127.0.0.1:9092", 1);
	setenv("PUBLIC_BASE_URL", "https://sho.rt", 1);
	setenv("JOURNAL_DIR", "/tmp/waymark-journal-of-no-process", 1);
}

static void assert_refuses(const char *name, const char *value)
{
	struct strbuf problems;
	strbuf_init(&problems, 65536);
	set_required();
	setenv(name, value, 1);
	memset(&config, 'j', sizeof(config)); /* as the stack of main may hold garbage */
	assert_int_equal(program_read(&config_program, &config, &problems), 1);
	assert_int_equal(config.feed_fresh_us, 0);
	assert_memory_equal(problems.data, name, strlen(name));
	strbuf_clear(&problems);
}

TEST_CASE(requires_only_the_stores_the_brokers_the_public_url_and_the_journal)
{
	struct strbuf problems;
	strbuf_init(&problems, 65536);
	set_required();
	assert_int_equal(program_read(&config_program, &config, &problems), 0);
	assert_string_equal(problems.data, "");
	assert_int_equal(config.http_port, 8080);
	assert_int_equal(config.memory_ttl_ms, 1000);
	assert_int_equal(config.unknown_slugs_per_minute, 60);
	assert_int_equal(config.http_connections_per_ip, 1000);
	assert_string_equal(config.redirect_cache_control, "private, no-store");
	assert_string_equal(config.root_url, "");
	assert_int_equal(config.log_level, LOG_INFO);
	assert_int_equal(config_trusted_proxies(&config).count, 0);
	strbuf_clear(&problems);
}

TEST_CASE(names_each_malformed_variable)
{
	assert_refuses("PG_URL", "postgresql://[");
	assert_refuses("REDIS_URL", "http://127.0.0.1");
	assert_refuses("PUBLIC_BASE_URL", "sho.rt");
	assert_refuses("PUBLIC_BASE_URL", "https://sho.rt/a b");
	assert_refuses("PUBLIC_BASE_URL", "https://sho.rt/r");
	assert_refuses("PUBLIC_BASE_URL", "https://sho.rt//");
	assert_refuses("PUBLIC_BASE_URL", "https://sho.rt:8443/r/");
	assert_refuses("PUBLIC_BASE_URL", "https://sho.rt?a");
	assert_refuses("PUBLIC_BASE_URL", "https://sho.rt/#a");
	assert_refuses("ROOT_URL", "javascript:alert(1)");
	assert_refuses("ROOT_URL", "https://a.example/\r\nSet-Cookie: x=1");
	assert_refuses("REDIRECT_CACHE_CONTROL", "private\nX: y");
	assert_refuses("TRUSTED_PROXIES", "10.0.0.0/8, nonsense");
	assert_refuses("TRUSTED_PROXIES", "10.0.0.0/8, 0.0.0.0/0");
	assert_refuses("TRUSTED_PROXIES", "::/0");
	assert_refuses("LOG_LEVEL", "loud");
	assert_refuses("HTTP_PORT", "70000");
	assert_refuses("DRAIN_MS", "1");
	assert_refuses("HTTP_ADDRESS", "localhost");
	assert_refuses("OPS_ADDRESS", "127.0.0.1:9090");
	assert_refuses("MEMORY_CACHE_BYTES", "1");
}

TEST_CASE(accepts_a_journal_of_many_gigabytes)
{
	struct strbuf problems;
	strbuf_init(&problems, 65536);
	set_required();
	setenv("JOURNAL_MAX_BYTES", "17179869184", 1);
	assert_int_equal(program_read(&config_program, &config, &problems), 0);
	assert_int_equal(config.journal_max_bytes, INT64_C(17179869184));
	strbuf_clear(&problems);
	assert_refuses("JOURNAL_MAX_BYTES", "137438953472");
}

TEST_CASE(parses_the_networks_of_trusted_proxies)
{
	struct strbuf problems;
	strbuf_init(&problems, 65536);
	set_required();
	setenv("TRUSTED_PROXIES", "10.0.0.0/8, fd00::/8", 1);
	assert_int_equal(program_read(&config_program, &config, &problems), 0);
	assert_int_equal(config_trusted_proxies(&config).count, 2);
	strbuf_clear(&problems);
}

TEST_MAIN()
