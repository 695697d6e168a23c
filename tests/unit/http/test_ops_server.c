#include <stdint.h>
#include <string.h>

#include "lib/http/ops_server.h"
#include "tests/support/test.h"
#include "tests/unit/http/http_fixture.h"

struct ops {
	struct ops_server *server;
	/* Only its port is used. */
	struct http_fixture client;
	struct metrics *metrics;
	_Atomic unsigned postgres, redis, links_in_memory;
	struct ops_server_check checks[2];
};

static bool is_set(void *ctx)
{
	return atomic_load((_Atomic unsigned *)ctx) != 0;
}

static int64_t forty_two(void *ctx)
{
	(void)ctx;
	return 42;
}

static void start_with_counts(struct ops *o, const struct ops_server_count *counts, size_t count)
{
	*o = (struct ops){ .postgres = 1, .redis = 1, .metrics = metrics_new() };
	o->checks[0] = (struct ops_server_check){ "postgres", is_set, &o->postgres, NULL };
	o->checks[1] = (struct ops_server_check){ "redis", is_set, &o->redis, NULL };
	struct ops_server_config config = { .checks = o->checks,
		                            .check_count = 2,
		                            .counts = counts,
		                            .count_count = count,
		                            .metrics = o->metrics,
		                            .clock = clock_system() };
	assert_int_equal(ops_server_start(&config, &o->server), OK);
	o->client.port = ops_server_port(o->server);
}

static void start(struct ops *o)
{
	start_with_counts(o, NULL, 0);
}

static void stop(struct ops *o)
{
	ops_server_stop(o->server);
	metrics_free(o->metrics);
}

static void check(const struct ops *o, const char *request, unsigned status, const char *body)
{
	struct http_fixture_response response;
	http_fixture_request(&o->client, request, &response);
	assert_int_equal(response.status, status);
	if (body != NULL)
		assert_string_equal(response.body, body);
}

#define LIVE "GET /livez HTTP/1.1\r\nHost: a\r\n\r\n"
#define READY "GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n"

TEST_CASE(names_the_failing_checks)
{
	struct ops o;
	start(&o);
	check(&o, READY, 200, "{\"status\":\"ready\",\"failing\":[]}");
	atomic_store(&o.redis, 0);
	check(&o, READY, 503, "{\"status\":\"unready\",\"failing\":[\"redis\"]}");
	atomic_store(&o.postgres, 0);
	check(&o, READY, 503, "{\"status\":\"unready\",\"failing\":[\"postgres\",\"redis\"]}");
	check(&o, LIVE, 200, "{\"status\":\"live\"}");
	atomic_store(&o.redis, 1);
	atomic_store(&o.postgres, 1);
	check(&o, READY, 200, NULL);
	stop(&o);
}

TEST_CASE(says_its_counts_beside_the_checks)
{
	struct ops o;
	const struct ops_server_count counts[] = { { "events_queued", forty_two, NULL },
		                                   { "events_dropped", forty_two, NULL } };
	start_with_counts(&o, counts, 2);
	check(&o, READY, 200,
	      "{\"status\":\"ready\",\"failing\":[],\"events_queued\":42,\"events_dropped\":42}");
	stop(&o);
}

TEST_CASE(is_live_but_not_ready_while_draining)
{
	struct ops o;
	start(&o);
	ops_server_set_draining(o.server);
	check(&o, READY, 503, "{\"status\":\"unready\",\"failing\":[\"draining\"]}");
	check(&o, LIVE, 200, NULL);
	stop(&o);
}

TEST_CASE(shows_the_metrics)
{
	struct ops o;
	start(&o);
	struct metric *counter = metrics_counter(o.metrics, "waymark_test_total", "Tests.", NULL);
	metrics_add(counter, 42);
	struct http_fixture_response response;
	char value[64];
	http_fixture_request(&o.client, "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n", &response);
	assert_int_equal(response.status, 200);
	assert_non_null(strstr(response.body, "\nwaymark_test_total 42\n"));
	assert_string_equal(http_fixture_header(&response, "Content-Type", value, sizeof(value)),
	                    "text/plain; version=0.0.4; charset=utf-8");
	stop(&o);
}

static void assert_shown(const struct ops *o, const char *line)
{
	struct http_fixture_response response;
	http_fixture_request(&o->client, "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n", &response);
	assert_int_equal(response.status, 200);
	assert_non_null(strstr(response.body, line));
}

TEST_CASE(shows_readiness_in_the_metrics)
{
	struct ops o;
	start(&o);
	assert_shown(&o, "\nwaymark_ready 1\n");
	o.postgres = 0;
	assert_shown(&o, "\nwaymark_ready 0\n");
	o.postgres = 1;
	ops_server_set_draining(o.server);
	assert_shown(&o, "\nwaymark_ready 0\n");
	stop(&o);
}

static bool has_links_in_memory(void *ctx)
{
	return is_set(&((struct ops *)ctx)->links_in_memory);
}

static bool is_redis_set(void *ctx)
{
	return is_set(&((struct ops *)ctx)->redis);
}

TEST_CASE(stays_ready_while_a_failing_check_only_degrades)
{
	struct ops o;
	start(&o);
	o.checks[1] = (struct ops_server_check){ "redis", is_redis_set, &o, has_links_in_memory };
	atomic_store(&o.links_in_memory, 1);
	assert_shown(&o, "\nwaymark_degraded 0\n");
	atomic_store(&o.redis, 0);
	check(&o, READY, 200, "{\"status\":\"degraded\",\"failing\":[\"redis\"]}");
	assert_shown(&o, "\nwaymark_ready 1\n");
	assert_shown(&o, "\nwaymark_degraded 1\n");
	atomic_store(&o.postgres, 0);
	check(&o, READY, 503, "{\"status\":\"unready\",\"failing\":[\"postgres\",\"redis\"]}");
	assert_shown(&o, "\nwaymark_degraded 0\n");
	atomic_store(&o.postgres, 1);
	atomic_store(&o.links_in_memory, 0);
	check(&o, READY, 503, "{\"status\":\"unready\",\"failing\":[\"redis\"]}");
	atomic_store(&o.links_in_memory, 1);
	ops_server_set_draining(o.server);
	check(&o, READY, 503, "{\"status\":\"unready\",\"failing\":[\"draining\",\"redis\"]}");
	stop(&o);
}

TEST_CASE(rejects_other_paths_and_methods)
{
	struct ops o;
	start(&o);
	struct http_fixture_response response;
	char value[64];
	check(&o, "GET / HTTP/1.1\r\nHost: a\r\n\r\n", 404, NULL);
	check(&o, "GET /livez/ HTTP/1.1\r\nHost: a\r\n\r\n", 404, NULL);
	http_fixture_request(&o.client, "POST /livez HTTP/1.1\r\nHost: a\r\n\r\n", &response);
	assert_int_equal(response.status, 405);
	assert_string_equal(http_fixture_header(&response, "Allow", value, sizeof(value)),
	                    "GET, HEAD");
	check(&o, "POST /livez HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx", 413, NULL);
	check(&o, "HEAD /readyz HTTP/1.1\r\nHost: a\r\n\r\n", 200, NULL);
	stop(&o);
}

TEST_MAIN()
