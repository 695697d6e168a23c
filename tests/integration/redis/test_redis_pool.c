#include <pthread.h>
#include <stdint.h>

#include "lib/base/mem.h"
#include "lib/redis/redis_pool.h"
#include "tests/integration/backend/backend_fixture.h"
#include "tests/support/test.h"
#include "tests/support/test_redis.h"

/* Long enough for a responding Redis on a busy machine. */
#define TIMEOUT_MS 5000
/* For a Redis that does not respond. */
#define SHORT_TIMEOUT_MS 200
/* The allowance for a busy machine. */
#define SLACK_MS 3000

static struct redis_pool *new_pool_with(const struct backend_fixture *f, size_t max,
                                        int64_t timeout_ms, struct metrics *metrics)
{
	struct redis_pool *pool = NULL;
	assert_int_equal(redis_pool_new(&(struct redis_pool_config){ .url = f->redis_url,
	                                                             .max = max,
	                                                             .timeout_ms = timeout_ms,
	                                                             .clock = clock_system(),
	                                                             .log = f->log,
	                                                             .metrics = metrics },
	                                &pool),
	                 OK);
	return pool;
}

static struct redis_pool *new_pool(const struct backend_fixture *f, size_t max)
{
	return new_pool_with(f, max, TIMEOUT_MS, NULL);
}

static bool is_reachable(void *pool)
{
	return redis_pool_is_reachable(pool);
}

static enum err ping(struct redis_pool *pool)
{
	const struct redis_arg args[] = { REDIS_TEXT("PING") };
	return redis_pool_call(pool, args, 1, NULL, NULL);
}

static bool works(void *pool)
{
	return ping(pool) == OK;
}

TEST_CASE(stores_and_reads_any_bytes)
{
	const struct backend_fixture *f = *state;
	struct redis_pool *pool = new_pool(f, 2);
	char value[256];
	for (int i = 0; i < 256; i++)
		value[i] = (char)i;
	const struct redis_arg set[] = { REDIS_TEXT("SET"),
		                         REDIS_TEXT(f->unique),
		                         { value, sizeof(value) },
		                         REDIS_TEXT("PX"),
		                         REDIS_TEXT("60000") };
	assert_int_equal(redis_pool_call(pool, set, 5, NULL, NULL), OK);
	const struct redis_arg get[] = { REDIS_TEXT("GET"), REDIS_TEXT(f->unique) };
	struct redis_reply *reply = NULL;
	assert_int_equal(redis_pool_call(pool, get, 2, &reply, NULL), OK);
	size_t len = 0;
	const char *bytes = redis_reply_bytes(reply, &len);
	assert_int_equal(len, sizeof(value));
	assert_memory_equal(bytes, value, sizeof(value));
	redis_reply_free(reply);
	redis_pool_free(pool);
}

TEST_CASE(distinguishes_the_types_of_replies)
{
	const struct backend_fixture *f = *state;
	struct redis_pool *pool = new_pool(f, 2);
	struct redis_reply *reply = NULL;
	const struct redis_arg get[] = { REDIS_TEXT("GET"), REDIS_TEXT(f->unique) };
	assert_int_equal(redis_pool_call(pool, get, 2, &reply, NULL), OK);
	assert_null(redis_reply_bytes(reply, NULL));
	assert_int_equal(redis_reply_int(reply), 0);
	redis_reply_free(reply);
	const struct redis_arg count[] = { REDIS_TEXT("INCRBY"), REDIS_TEXT(f->unique),
		                           REDIS_TEXT("-7") };
	assert_int_equal(redis_pool_call(pool, count, 3, &reply, NULL), OK);
	assert_int_equal(redis_reply_int(reply), -7);
	redis_reply_free(reply);
	const struct redis_arg many[] = { REDIS_TEXT("MGET"), REDIS_TEXT(f->unique),
		                          REDIS_TEXT("no such key") };
	assert_int_equal(redis_pool_call(pool, many, 3, &reply, NULL), OK);
	assert_int_equal(redis_reply_count(reply), 2);
	assert_string_equal(redis_reply_bytes(redis_reply_at(reply, 0), NULL), "-7");
	assert_non_null(redis_reply_at(reply, 1));
	assert_null(redis_reply_bytes(redis_reply_at(reply, 1), NULL));
	assert_null(redis_reply_at(reply, 2));
	redis_reply_free(reply);
	redis_pool_free(pool);
}

TEST_CASE(reports_an_error_reply_and_continues)
{
	const struct backend_fixture *f = *state;
	struct redis_pool *pool = new_pool(f, 1);
	const struct redis_arg wrong[] = { REDIS_TEXT("INCRBY"), REDIS_TEXT(f->unique),
		                           REDIS_TEXT("x") };
	struct redis_reply *reply = NULL;
	for (int i = 0; i < 5; i++)
		assert_int_equal(redis_pool_call(pool, wrong, 3, &reply, NULL), ERR_INTERNAL);
	assert_null(reply);
	assert_in_range(backend_fixture_logged(f, "redis_error_reply"), 1, 2);
	assert_int_equal(ping(pool), OK);
	redis_pool_free(pool);
}

static const char set_if_newer[] =
	"local old = tonumber(redis.call('GET', KEYS[1]) or '0') "
	"if tonumber(ARGV[1]) <= old then return 0 end "
	"redis.call('SET', KEYS[1], ARGV[1], 'PX', 60000) return {ARGV[1], ARGV[2]}";

TEST_CASE(runs_a_script_with_keys_and_values)
{
	const struct backend_fixture *f = *state;
	struct redis_pool *pool = new_pool(f, 1);
	for (int i = 0; i < 3; i++) {
		struct redis_reply *reply = NULL;
		const char version[] = { (char)('1' + i), '\0' };
		const struct redis_arg args[] = { REDIS_TEXT(f->unique),
			                          REDIS_TEXT(version),
			                          { "a\0b", 3 } };
		assert_int_equal(redis_pool_script(pool, set_if_newer, 1, args, 3, &reply, NULL),
		                 OK);
		size_t len = 0;
		assert_string_equal(redis_reply_bytes(redis_reply_at(reply, 0), NULL), version);
		assert_memory_equal(redis_reply_bytes(redis_reply_at(reply, 1), &len), "a\0b", 3);
		assert_int_equal(len, 3);
		redis_reply_free(reply);
		assert_int_equal(redis_pool_script(pool, set_if_newer, 1, args, 3, &reply, NULL),
		                 OK);
		assert_int_equal(redis_reply_count(reply), 0);
		redis_reply_free(reply);
	}
	assert_int_equal(backend_fixture_logged(f, "redis_error_reply"), 0);
	redis_pool_free(pool);
}

TEST_CASE(reports_an_error_in_a_script)
{
	struct redis_pool *pool = new_pool(*state, 1);
	assert_int_equal(redis_pool_script(pool, "this is not lua", 0, NULL, 0, NULL, NULL),
	                 ERR_INTERNAL);
	assert_int_equal(
		redis_pool_script(pool, "return redis.call('NONSENSE')", 0, NULL, 0, NULL, NULL),
		ERR_INTERNAL);
	assert_int_equal(ping(pool), OK);
	redis_pool_free(pool);
}

TEST_CASE(selects_the_database_of_the_url)
{
	struct backend_fixture *f = *state;
	struct redis_pool *first = new_pool(f, 1);
	snprintf(f->redis_url + strlen(f->redis_url), 4, "/9");
	struct redis_pool *ninth = new_pool(f, 1);
	const struct redis_arg set[] = { REDIS_TEXT("SET"), REDIS_TEXT(f->unique), REDIS_TEXT("x"),
		                         REDIS_TEXT("PX"), REDIS_TEXT("60000") };
	const struct redis_arg get[] = { REDIS_TEXT("GET"), REDIS_TEXT(f->unique) };
	struct redis_reply *reply = NULL;
	assert_int_equal(redis_pool_call(ninth, set, 5, NULL, NULL), OK);
	assert_int_equal(redis_pool_call(first, get, 2, &reply, NULL), OK);
	assert_null(redis_reply_bytes(reply, NULL));
	redis_reply_free(reply);
	redis_pool_free(first);
	redis_pool_free(ninth);
}

TEST_CASE(connects_by_a_unix_socket_and_with_a_long_password)
{
	struct backend_fixture *f = *state;
	struct test_redis *redis = test_redis_new();
	char password[1025] = "", command[1100], url[1200];
	memset(password, 'p', sizeof(password) - 1);
	snprintf(command, sizeof(command), "CONFIG SET requirepass %s", password);
	test_redis_run(redis, command);
	snprintf(url, sizeof(url), "unix://:%s@%s?db=3", password, test_redis_socket(redis));
	struct redis_pool *pool = NULL;
	struct redis_pool_config config = { .url = url,
		                            .max = 1,
		                            .timeout_ms = TIMEOUT_MS,
		                            .clock = clock_system(),
		                            .log = f->log };
	assert_int_equal(redis_pool_new(&config, &pool), OK);
	assert_int_equal(ping(pool), OK);
	redis_pool_free(pool);
	url[strlen("unix://:")] = 'q';
	assert_int_equal(redis_pool_new(&config, &pool), OK);
	assert_int_equal(ping(pool), ERR_UNAVAILABLE);
	redis_pool_free(pool);
	test_redis_free(redis);
}

TEST_CASE(does_not_connect_with_a_wrong_password)
{
	struct backend_fixture *f = *state;
	char port[64];
	snprintf(port, sizeof(port), "%s", f->redis_url + strlen("redis://"));
	snprintf(f->redis_url, sizeof(f->redis_url), "redis://nobody:sesame@%s", port);
	struct redis_pool *pool = new_pool(f, 1);
	assert_int_equal(ping(pool), ERR_UNAVAILABLE);
	assert_int_equal(backend_fixture_logged(f, "sesame"), 0);
	redis_pool_free(pool);
}

static bool has_logged_the_outage(void *fixture)
{
	return backend_fixture_logged(fixture, "redis_cannot_connect") > 0;
}

TEST_CASE(starts_without_redis_and_connects_later)
{
	struct backend_fixture *f = *state;
	struct tcp_proxy *proxy = backend_fixture_proxy(f->redis_url, sizeof(f->redis_url));
	tcp_proxy_set_mode(proxy, TCP_PROXY_REFUSE);
	struct redis_pool *pool = new_pool(f, 2);
	for (int i = 0; i < 100; i++)
		assert_int_equal(ping(pool), ERR_UNAVAILABLE);
	assert_false(redis_pool_is_reachable(pool));
	backend_fixture_wait(has_logged_the_outage, f, TEST_DEADLINE_MS);
	assert_in_range(backend_fixture_logged(f, "redis_cannot_connect"), 1, 2);
	assert_int_equal(backend_fixture_logged(f, f->redis_url + strlen("redis://")),
	                 backend_fixture_logged(f, "redis_cannot_connect"));
	tcp_proxy_set_mode(proxy, TCP_PROXY_FORWARD);
	backend_fixture_wait(works, pool, TEST_DEADLINE_MS);
	redis_pool_free(pool);
	tcp_proxy_free(proxy);
}

TEST_CASE(replaces_an_idle_connection_that_redis_closed)
{
	struct redis_pool *pool = new_pool(*state, 1);
	struct redis_pool *other = new_pool(*state, 1);
	const struct redis_arg id[] = { REDIS_TEXT("CLIENT"), REDIS_TEXT("ID") };
	for (int i = 0; i < 10; i++) {
		struct redis_reply *reply = NULL;
		char number[24];
		assert_int_equal(redis_pool_call(pool, id, 2, &reply, NULL), OK);
		snprintf(number, sizeof(number), "%lld", (long long)redis_reply_int(reply));
		redis_reply_free(reply);
		const struct redis_arg kill[] = { REDIS_TEXT("CLIENT"), REDIS_TEXT("KILL"),
			                          REDIS_TEXT("ID"), REDIS_TEXT(number) };
		assert_int_equal(redis_pool_call(other, kill, 4, &reply, NULL), OK);
		assert_int_equal(redis_reply_int(reply), 1);
		redis_reply_free(reply);
		assert_int_equal(ping(pool), OK);
	}
	redis_pool_free(other);
	redis_pool_free(pool);
}

TEST_CASE(survives_a_restart_of_redis)
{
	struct backend_fixture *f = *state;
	struct tcp_proxy *proxy = backend_fixture_proxy(f->redis_url, sizeof(f->redis_url));
	struct metrics *metrics = metrics_new();
	struct redis_pool *pool = new_pool_with(f, 2, TIMEOUT_MS, metrics);
	backend_fixture_wait(works, pool, TEST_DEADLINE_MS);
	tcp_proxy_set_mode(proxy, TCP_PROXY_REFUSE);
	assert_int_equal(ping(pool), ERR_UNAVAILABLE);
	/* During an outage callers do not connect. */
	for (int i = 0; i < 1000; i++)
		assert_int_equal(ping(pool), ERR_UNAVAILABLE);
	assert_in_range(backend_fixture_metric(metrics, "waymark_redis_connect_failures_total"), 1,
	                50);
	tcp_proxy_set_mode(proxy, TCP_PROXY_FORWARD);
	backend_fixture_wait(works, pool, TEST_DEADLINE_MS);
	redis_pool_free(pool);
	tcp_proxy_free(proxy);
	metrics_free(metrics);
}

struct caller {
	struct redis_pool *pool;
	/* Sum over all calls. */
	int64_t waited_ms;
	int succeeded;
};

static void *call_during_freeze(void *arg)
{
	struct caller *s = arg;
	for (int i = 0; i < 20000; i++) {
		int64_t begun_ms = backend_fixture_now_ms();
		s->succeeded += ping(s->pool) == OK;
		s->waited_ms += backend_fixture_now_ms() - begun_ms;
	}
	return NULL;
}

TEST_CASE(costs_callers_one_timeout_when_redis_freezes)
{
	struct backend_fixture *f = *state;
	struct tcp_proxy *proxy = backend_fixture_proxy(f->redis_url, sizeof(f->redis_url));
	struct redis_pool *pool = new_pool_with(f, 4, SHORT_TIMEOUT_MS, NULL);
	backend_fixture_wait(works, pool, TEST_DEADLINE_MS);
	tcp_proxy_set_mode(proxy, TCP_PROXY_FREEZE);
	struct caller sufferers[8];
	pthread_t threads[8];
	for (int i = 0; i < 8; i++) {
		sufferers[i] = (struct caller){ .pool = pool };
		assert_int_equal(
			pthread_create(&threads[i], NULL, call_during_freeze, &sufferers[i]), 0);
	}
	int64_t most_ms = 0;
	for (int i = 0; i < 8; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(sufferers[i].succeeded, 0);
		/* A timeout per call would add up to more than an hour. */
		assert_in_range(sufferers[i].waited_ms, 0, TEST_DEADLINE_MS);
		if (sufferers[i].waited_ms > most_ms)
			most_ms = sufferers[i].waited_ms;
	}
	test_speed_at_most(most_ms, 5 * SHORT_TIMEOUT_MS + SLACK_MS, "ms");
	assert_false(redis_pool_is_reachable(pool));
	tcp_proxy_set_mode(proxy, TCP_PROXY_FORWARD);
	backend_fixture_wait(works, pool, TEST_DEADLINE_MS);
	redis_pool_free(pool);
	tcp_proxy_free(proxy);
}

TEST_CASE(detects_a_dead_redis_without_callers)
{
	struct backend_fixture *f = *state;
	struct tcp_proxy *proxy = backend_fixture_proxy(f->redis_url, sizeof(f->redis_url));
	struct redis_pool *pool = new_pool_with(f, 1, SHORT_TIMEOUT_MS, NULL);
	backend_fixture_wait(is_reachable, pool, TEST_DEADLINE_MS);
	tcp_proxy_set_mode(proxy, TCP_PROXY_FREEZE);
	int64_t begun_ms = backend_fixture_now_ms();
	while (redis_pool_is_reachable(pool)) {
		assert_true(backend_fixture_now_ms() - begun_ms < TEST_DEADLINE_MS);
		test_pause();
	}
	test_speed_at_most(backend_fixture_now_ms() - begun_ms, SLACK_MS, "ms");
	tcp_proxy_set_mode(proxy, TCP_PROXY_FORWARD);
	backend_fixture_wait(is_reachable, pool, TEST_DEADLINE_MS);
	redis_pool_free(pool);
	tcp_proxy_free(proxy);
}

static uint64_t run_id_of(struct redis_pool *pool)
{
	const struct redis_arg args[] = { REDIS_TEXT("PING") };
	uint64_t server = 0;
	struct redis_reply *reply = NULL;
	int64_t begun_ms = backend_fixture_now_ms();
	while (redis_pool_call(pool, args, 1, &reply, &server) != OK) {
		assert_true(backend_fixture_now_ms() - begun_ms < TEST_DEADLINE_MS);
		test_pause();
	}
	redis_reply_free(reply);
	return server;
}

TEST_CASE(distinguishes_a_server_from_its_next_run)
{
	struct backend_fixture *f = *state;
	struct test_redis *redis = test_redis_new();
	test_redis_url(redis, f->redis_url);
	struct redis_pool *pool = new_pool(f, 2);
	uint64_t first = run_id_of(pool);
	assert_int_not_equal(first, 0);
	assert_int_equal(run_id_of(pool), first);
	assert_int_equal(redis_pool_run_id(pool), first);
	test_redis_restart(redis);
	assert_int_not_equal(run_id_of(pool), first);
	assert_int_equal(redis_pool_run_id(pool), run_id_of(pool));
	redis_pool_free(pool);
	test_redis_free(redis);
}

/* A failover: the old server still responds on its open connections. */
TEST_CASE(switches_to_the_server_of_the_newest_connection)
{
	struct backend_fixture *f = *state;
	struct test_redis *old = test_redis_new(), *new = test_redis_new();
	test_redis_url(old, f->redis_url);
	struct tcp_proxy *proxy = backend_fixture_proxy(f->redis_url, sizeof(f->redis_url));
	struct redis_pool *pool = new_pool(f, 1);
	uint64_t first = run_id_of(pool);
	tcp_proxy_set_target(proxy, test_redis_port(new));
	assert_int_equal(run_id_of(pool), first);
	redis_pool_reconnect(pool);
	run_id_of(pool); /* the last use of that connection, unless the pool's own check was it */
	uint64_t second = run_id_of(pool);
	assert_int_not_equal(second, first);
	for (int i = 0; i < 5; i++)
		assert_int_equal(run_id_of(pool), second);
	redis_pool_free(pool);
	tcp_proxy_free(proxy);
	test_redis_free(old);
	test_redis_free(new);
}

static bool has_accepted(void *proxy)
{
	return tcp_proxy_accepted(proxy) > 0;
}

/* The pool's check may be connecting to the old server when the failover is noticed. */
TEST_CASE(ignores_a_connection_begun_before_a_reconnect)
{
	struct backend_fixture *f = *state;
	struct tcp_proxy *proxy = backend_fixture_proxy(f->redis_url, sizeof(f->redis_url));
	tcp_proxy_set_mode(proxy, TCP_PROXY_FREEZE);
	struct redis_pool *pool = new_pool(f, 1);
	backend_fixture_wait(has_accepted, proxy, TEST_DEADLINE_MS);
	redis_pool_reconnect(pool);
	tcp_proxy_set_mode(proxy, TCP_PROXY_FORWARD);
	backend_fixture_wait(is_reachable, pool, TEST_DEADLINE_MS);
	/* A second connection, after a timeout of the first, would count. */
	assert_true(redis_pool_run_id(pool) == 0 || tcp_proxy_accepted(proxy) > 1);
	redis_pool_free(pool);
	tcp_proxy_free(proxy);
}

TEST_MAIN(.set_up = backend_fixture_set_up, .tear_down = backend_fixture_tear_down)
