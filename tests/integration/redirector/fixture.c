#include "tests/integration/redirector/fixture.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/entropy.h"
#include "lib/base/mem.h"
#include "lib/links/link_extras.h"
#include "tests/support/test.h"

#define METRICS_MAX ((size_t)1024 * 1024)

static const char *require_environment(const char *name)
{
	const char *value = getenv(name);
	if (!value)
		fail_msg("%s is not set: run this test through tests/support/in-stack backends",
		         name);
	return value;
}

static bool has_timed_out(int64_t began_ms)
{
	int64_t waited_ms = http_fixture_now_ms() - began_ms;
	/* With sanitizers, rendering the metrics takes milliseconds: a long wait looks seldom. */
	int64_t pause_ms = waited_ms / 4;
	poll(NULL, 0, pause_ms < 5 ? 5 : pause_ms > 100 ? 100 : (int)pause_ms);
	return waited_ms > FIXTURE_TIMEOUT_MS;
}

int fixture_group_set_up(void **state)
{
	struct fixture *f = mem_zero(sizeof(*f));
	f->database = test_database_new();
	test_database_run(
		f->database,
		"INSERT INTO users (email, password_hash) VALUES ('owner@example.com', 'x')");
	entropy_text("abcdefghijklmnopqrstuvwxyz0123456789", f->prefix, 8);
	f->log = log_new("test", LOG_ERROR, 2);
	f->redis_server = test_redis_new();
	test_redis_url(f->redis_server, f->own_redis_url);
	f->announcer = test_announcer_new(f->own_redis_url);
	*state = f;
	return 0;
}

int fixture_group_tear_down(void **state)
{
	struct fixture *f = *state;
	test_database_close(f->database);
	test_announcer_free(f->announcer);
	test_redis_free(f->redis_server);
	log_free(f->log);
	free(f);
	return 0;
}

static void reset_config(struct fixture *f)
{
	struct strbuf problems;
	strbuf_init(&problems, 65536);
	setenv("PUBLIC_BASE_URL", "https://sho.rt", 1);
	setenv("JOURNAL_DIR", f->journal_dir, 1);
	require_environment("PG_URL");
	memset(&f->config, 0, sizeof(f->config));
	if (env_read(config_program.vars, config_program.var_count, &f->config, &problems) != 0)
		fail_msg("%s", problems.data);
	strbuf_clear(&problems);
	test_database_url(f->database, "waymark_redirector", f->config.pg_url);
	f->config.http_port = f->config.ops_port = 0;
	/* On a busy machine a store may need longer than visitors would wait for it. */
	f->config.redis_timeout_ms = FIXTURE_TIMEOUT_MS;
	f->config.pg_wait_ms = 2 * FIXTURE_TIMEOUT_MS;
	f->config.pg_statement_timeout_ms = FIXTURE_TIMEOUT_MS;
	f->config.memory_cache_bytes = (int64_t)1024 * 1024;
	f->config.memory_ttl_ms = 0;
	f->config.unknown_slugs_per_minute = ENV_UNLIMITED;
	f->config.drain_ms = 5000;
	/* The shared topic contains watermarks of other tests' databases. */
	snprintf(f->config.link_feed_topic, sizeof(f->config.link_feed_topic), CONFIG_NO_TOPIC);
	snprintf(f->config.trusted_proxies, sizeof(f->config.trusted_proxies), "127.0.0.0/8");
}

static void await_redis_validity(struct fixture *f)
{
	struct link_entry entry;
	int64_t began_ms = http_fixture_now_ms();
	while (fixture_read_redis(f, "validity", &entry) == LINK_CACHE_UNAVAILABLE) {
		if (has_timed_out(began_ms))
			fail_msg("Redis is still not valid");
	}
}

static int64_t shifted_now_us(const struct clock *self)
{
	return clock_now_us(clock_system()) +
	       atomic_load(&((const struct fixture_clock *)self)->shift_us);
}

static int64_t steady_us(const struct clock *self)
{
	return clock_steady_us(clock_system()) / ((const struct fixture_clock *)self)->slowness;
}

static void init_clock(struct fixture_clock *clock, int64_t slowness)
{
	clock->clock = (struct clock){ .now_us = shifted_now_us, .steady_us = steady_us };
	clock->slowness = slowness;
	atomic_store(&clock->shift_us, 0);
}

void fixture_slow_clock(struct fixture *f)
{
	f->clock.slowness = FIXTURE_SLOWNESS;
}

void fixture_shift_clock(struct fixture *f, int64_t shift_us)
{
	atomic_store(&f->clock.shift_us, shift_us);
}

int fixture_set_up(void **state)
{
	struct fixture *f = *state;
	f->metrics = metrics_new();
	init_clock(&f->clock, 1);
	init_clock(&f->slow_clock, FIXTURE_SLOWNESS);
	test_folder_make(f->journal_dir);
	struct redis_pool_config redis = {
		.url = f->own_redis_url,
		.max = 2,
		.timeout_ms = 2000,
		.clock = clock_system(),
		.log = f->log,
	};
	assert_int_equal(redis_pool_new(&redis, &f->redis), OK);
	f->link_cache = link_cache_new(&(struct link_cache_config){
		.redis = f->redis, .clock = &f->slow_clock.clock, .log = f->log });
	await_redis_validity(f);
	reset_config(f);
	snprintf(f->config.redis_url, sizeof(f->config.redis_url), "%s", f->own_redis_url);
	return 0;
}

int fixture_tear_down(void **state)
{
	struct fixture *f = *state;
	if (f->redirector) {
		/* The flush fails in tests whose Kafka is unreachable. */
		enum err err = redirector_drain(f->redirector);
		(void)err;
		redirector_free(f->redirector);
		f->redirector = NULL;
	}
	link_cache_free(f->link_cache);
	redis_pool_free(f->redis);
	metrics_free(f->metrics);
	test_folder_remove(f->journal_dir);
	return 0;
}

void fixture_start(struct fixture *f)
{
	assert_int_equal(
		redirector_new(&f->config, &f->clock.clock, f->log, f->metrics, &f->redirector),
		OK);
	assert_int_equal(redirector_serve(f->redirector), OK);
	f->server.port = redirector_http_port(f->redirector);
	if (strcmp(f->config.redis_url, f->own_redis_url) == 0)
		fixture_await_metric(f, "waymark_link_cache_valid", 1);
}

const char *fixture_slug(const struct fixture *f, const char *name, char out[static SLUG_SIZE])
{
	snprintf(out, SLUG_SIZE, "%s-%.20s", f->prefix, name);
	return out;
}

void fixture_add_link(struct fixture *f, const char *name)
{
	char sql[1024];
	char slug[SLUG_SIZE];
	snprintf(sql, sizeof(sql),
	         "INSERT INTO links (slug, link_type, original_url, workspace_id) "
	         "SELECT '%s', 'PERMANENT', 'https://example.com/%s', min(id) FROM users",
	         fixture_slug(f, name, slug), name);
	test_database_run(f->database, sql);
}

void fixture_add_link_with(struct fixture *f, const char *name,
                           const struct Waymark__V1__LinkExtras *extras, const char *columns)
{
	uint8_t bytes[LINK_EXTRAS_BYTES_MAX];
	size_t len = 0;
	char slug[SLUG_SIZE];
	const char *problem = "";
	struct strbuf sql;
	if (link_extras_check(extras, &problem) != OK)
		fail_msg("the extras of %s are wrong: %s", name, problem);
	assert_int_equal(link_extras_pack(extras, bytes, &len), OK);
	fixture_add_link(f, name);
	strbuf_init(&sql, 4 * LINK_EXTRAS_BYTES_MAX);
	strbuf_add_format(&sql, "UPDATE links SET %s%sfeatures = %u, extras = '\\x", columns,
	                  columns[0] ? ", " : "", link_extras_features(extras));
	for (size_t i = 0; i < len; i++)
		strbuf_add_format(&sql, "%02x", bytes[i]);
	strbuf_add_format(&sql, "' WHERE slug = '%s'", fixture_slug(f, name, slug));
	test_database_run(f->database, sql.data);
	strbuf_clear(&sql);
}

void fixture_change_link(struct fixture *f, const char *name, const char *change)
{
	char sql[1024];
	char slug[SLUG_SIZE];
	snprintf(sql, sizeof(sql), "UPDATE links SET %s, version = version + 1 WHERE slug = '%s'",
	         change, fixture_slug(f, name, slug));
	test_database_run(f->database, sql);
}

void fixture_fill_redis(struct fixture *f, const char *name, int64_t version,
                        const char *destination)
{
	struct link_entry entry = {
		.id = 1, .version = version, .state = LINK_STATE_ACTIVE, .redirect_status = 302
	};
	fixture_slug(f, name, entry.slug);
	snprintf(entry.original_url, sizeof(entry.original_url), "https://example.com/%s",
	         destination);
	struct link_cache_reservation place;
	link_cache_reserve_for_change(f->link_cache, entry.slug, &place);
	assert_int_equal(link_cache_fill(f->link_cache, &place, &entry), OK);
}

enum link_cache_result fixture_read_redis(struct fixture *f, const char *name,
                                          struct link_entry *out)
{
	char slug[SLUG_SIZE];
	return link_cache_get(f->link_cache, fixture_slug(f, name, slug), out);
}

void fixture_delete_from_redis(struct fixture *f, const char *name)
{
	char slug[SLUG_SIZE];
	char key[SLUG_SIZE + 8];
	snprintf(key, sizeof(key), "link:%s", fixture_slug(f, name, slug));
	const struct redis_arg args[] = { REDIS_TEXT("DEL"), REDIS_TEXT(key) };
	assert_int_equal(redis_pool_call(f->redis, args, 2, NULL, NULL), OK);
}

unsigned fixture_request(struct fixture *f, const char *method_and_target, const char *headers)
{
	char request[4096];
	snprintf(request, sizeof(request), "%s HTTP/1.1\r\nHost: sho.rt\r\n%s\r\n",
	         method_and_target, headers);
	http_fixture_request(&f->server, request, &f->answer);
	return f->answer.status;
}

unsigned fixture_get_link(struct fixture *f, const char *name, const char *headers)
{
	char target[64];
	char slug[SLUG_SIZE];
	snprintf(target, sizeof(target), "GET /%s", fixture_slug(f, name, slug));
	return fixture_request(f, target, headers);
}

void fixture_assert_header(struct fixture *f, const char *name, const char *value)
{
	char found[4096];
	assert_string_equal(http_fixture_header(&f->answer, name, found, sizeof(found)), value);
}

double fixture_metric(struct fixture *f, const char *series)
{
	struct strbuf text;
	strbuf_init(&text, METRICS_MAX);
	strbuf_add_char(&text, '\n');
	metrics_render(f->metrics, &text);
	char line[256];
	snprintf(line, sizeof(line), "\n%s ", series);
	const char *found = strstr(text.data, line);
	if (!found)
		fail_msg("there is no metric %s", series);
	double value = found ? strtod(found + strlen(line), NULL) : 0;
	strbuf_clear(&text);
	return value;
}

void fixture_await_metric(struct fixture *f, const char *series, double at_least)
{
	int64_t began_ms = http_fixture_now_ms();
	while (fixture_metric(f, series) < at_least) {
		if (has_timed_out(began_ms))
			fail_msg("%s stays at %g, below %g", series, fixture_metric(f, series),
			         at_least);
	}
}

void fixture_await_ready(struct fixture *f, bool ready)
{
	struct http_fixture ops = { .port = redirector_ops_port(f->redirector) };
	unsigned wanted = ready ? 200 : 503;
	int64_t began_ms = http_fixture_now_ms();
	do {
		http_fixture_request(&ops, "GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n", &f->answer);
		if (f->answer.status != wanted && has_timed_out(began_ms))
			fail_msg("/readyz still answers %u", f->answer.status);
	} while (f->answer.status != wanted);
}
