#include <poll.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/redis/redis_pipeline.h"
#include "lib/redis/redis_pool.h"
#include "lib/redis/redis_tls.h"
#include "tests/integration/backend/backend_fixture.h"
#include "tests/support/test.h"
#include "tests/support/test_redis.h"

#define SHORT_TIMEOUT_MS 200
#define CALLS 5000

/* Many TLS records. */
#define LARGE (1U << 20)

static enum err open_at(const struct redis_url *url, const char *ca_file, int64_t timeout_ms,
                        char why[static 128])
{
	struct redis_conn *conn = NULL;
	enum err err = redis_conn_open(url, ca_file, timeout_ms, &conn, why, 128);
	redis_conn_close(conn);
	return err;
}

static struct redis_url url_of(const struct test_redis *redis)
{
	char text[TEST_REDIS_URL_SIZE];
	struct redis_url url;
	test_redis_url(redis, text);
	assert_int_equal(redis_url_parse(text, &url), OK);
	return url;
}

TEST_CASE(stores_and_reads_a_large_value)
{
	struct backend_fixture *f = *state;
	struct test_redis *redis = test_redis_new_with_tls();
	struct redis_pool *pool = NULL;
	test_redis_url(redis, f->redis_url);
	assert_int_equal(
		redis_pool_new(
			&(struct redis_pool_config){ .url = f->redis_url,
	                                             .ca_file = test_redis_certificate(redis),
	                                             .max = 2,
	                                             .timeout_ms = TEST_DEADLINE_MS,
	                                             .clock = clock_system(),
	                                             .log = f->log },
			&pool),
		OK);
	char *value = mem_array(LARGE, 1);
	for (size_t i = 0; i < LARGE; i++)
		value[i] = (char)(i * 7 + i / 251);
	const struct redis_arg set[] = { REDIS_TEXT("SET"), REDIS_TEXT("large"), { value, LARGE } };
	const struct redis_arg get[] = { REDIS_TEXT("GET"), REDIS_TEXT("large") };
	struct redis_reply *reply = NULL;
	size_t len = 0;
	assert_int_equal(redis_pool_call(pool, set, 3, NULL, NULL), OK);
	assert_int_equal(redis_pool_call(pool, get, 2, &reply, NULL), OK);
	const char *got = redis_reply_bytes(reply, &len);
	assert_int_equal(len, LARGE);
	assert_memory_equal(got, value, LARGE);
	redis_reply_free(reply);
	free(value);
	redis_pool_free(pool);
	test_redis_free(redis);
}

struct results {
	size_t replied, failed;
};

static void on_echo(void *ctx, const struct redis_reply *reply, uint64_t run_id)
{
	struct results *results = ctx;
	(void)run_id;
	const char *bytes = redis_reply_bytes(reply, NULL);
	if (bytes && strtoull(bytes, NULL, 10) == results->replied)
		results->replied++;
	else
		results->failed++;
}

static void run_turn(struct redis_pipeline *p)
{
	struct pollfd entry = { .fd = -1 };
	entry.fd = redis_pipeline_descriptor(p, &entry.events);
	poll(&entry, 1, 5);
	redis_pipeline_receive(p, (entry.revents & (POLLIN | POLLERR | POLLHUP)) != 0);
	redis_pipeline_send(p);
}

TEST_CASE(completes_the_calls_of_a_pipeline_in_order)
{
	struct backend_fixture *f = *state;
	struct test_redis *redis = test_redis_new_with_tls();
	struct redis_pipeline *p = NULL;
	struct results results = { 0 };
	test_redis_url(redis, f->redis_url);
	assert_int_equal(
		redis_pipeline_new(
			&(struct redis_pipeline_config){ .url = f->redis_url,
	                                                 .ca_file = test_redis_certificate(redis),
	                                                 .timeout_ms = TEST_DEADLINE_MS,
	                                                 .in_flight_max = CALLS,
	                                                 .clock = clock_system(),
	                                                 .log = f->log },
			&p),
		OK);
	for (size_t i = 0; i < CALLS;) {
		char number[24];
		snprintf(number, sizeof(number), "%zu", i);
		const struct redis_arg args[] = { REDIS_TEXT("ECHO"), REDIS_TEXT(number) };
		if (redis_pipeline_call(p, args, 2, on_echo, &results) == OK)
			i++;
		else
			run_turn(p);
	}
	while (results.replied < CALLS && results.failed == 0)
		run_turn(p);
	assert_int_equal(results.failed, 0);
	redis_pipeline_free(p);
	test_redis_free(redis);
}

TEST_CASE(refuses_a_certificate_of_another_host_or_authority)
{
	struct test_redis *redis = test_redis_new_with_tls(), *other = test_redis_new_with_tls();
	struct redis_url url = url_of(redis);
	const char *own = test_redis_certificate(redis);
	char why[128];
	assert_int_equal(open_at(&url, own, TEST_DEADLINE_MS, why), OK);
	assert_int_equal(open_at(&url, test_redis_certificate(other), TEST_DEADLINE_MS, why),
	                 ERR_UNAVAILABLE);
	assert_non_null(strstr(why, "certificate verify failed: self-signed certificate"));
	assert_int_equal(open_at(&url, NULL, TEST_DEADLINE_MS, why), ERR_UNAVAILABLE);
	assert_non_null(strstr(why, "certificate verify failed: self-signed certificate"));
	snprintf(url.host, sizeof(url.host), "localhost");
	assert_int_equal(open_at(&url, own, TEST_DEADLINE_MS, why), ERR_UNAVAILABLE);
	assert_non_null(strstr(why, "certificate verify failed: hostname mismatch"));
	test_redis_free(redis);
	test_redis_free(other);
}

/* A server without TLS is as silent: it waits for the end of a line. */
TEST_CASE(gives_up_a_handshake_in_time)
{
	struct test_redis *redis = test_redis_new_with_tls();
	const struct redis_url url = url_of(redis);
	char why[128];
	test_redis_freeze(redis);
	int64_t begun_ms = backend_fixture_now_ms();
	assert_int_equal(open_at(&url, NULL, SHORT_TIMEOUT_MS, why), ERR_UNAVAILABLE);
	test_speed_at_most(backend_fixture_now_ms() - begun_ms, SHORT_TIMEOUT_MS + 3000, "ms");
	assert_string_equal(why, "no reply in time");
	test_redis_thaw(redis);
	test_redis_free(redis);
}

TEST_CASE(checks_the_file_of_authorities)
{
	struct test_redis *redis = test_redis_new_with_tls();
	struct strbuf problems;
	strbuf_init(&problems, 4096);
	const char *own = test_redis_certificate(redis);
	assert_int_equal(redis_tls_check("rediss://h:1", own, &problems), 0);
	assert_int_equal(redis_tls_check("redis://h:1", "", &problems), 0);
	assert_int_equal(redis_tls_check("redis://h:1", own, &problems), 1);
	assert_non_null(strstr(problems.data, "is not used"));
	assert_int_equal(redis_tls_check("rediss://h:1", "/nowhere", &problems), 1);
	assert_int_equal(redis_tls_check("rediss://h:1", "/etc/hostname", &problems), 1);
	assert_non_null(strstr(problems.data, "has no PEM certificates"));
	strbuf_clear(&problems);
	test_redis_free(redis);
}

TEST_MAIN(.set_up = backend_fixture_set_up, .tear_down = backend_fixture_tear_down)
