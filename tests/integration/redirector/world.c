#include "tests/integration/redirector/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/base/entropy.h"
#include "lib/base/mem.h"

#define METRICS_MAX ((size_t)1024 * 1024)

static const char *of_environment(const char *name)
{
	const char *value = getenv(name);
	if (!value)
		fail_msg("%s is not set: run me through tests/support/in-stack backends", name);
	return value;
}

static bool is_late(int64_t began_ms)
{
	usleep(2000); /* between two looks */
	return http_fixture_now_ms() - began_ms > WORLD_DEADLINE_MS;
}

int world_open(void **state)
{
	struct world *world = mem_zero(sizeof(*world));
	world->database = test_database_new();
	test_database_run(world->database,
	                  "INSERT INTO users (email, password_hash) VALUES ('owner@example.com', 'x')");
	entropy_text("abcdefghijklmnopqrstuvwxyz0123456789", world->prefix, 8);
	world->log = log_new("test", LOG_ERROR, 2);
	world->redis_server = test_redis_new();
	test_redis_url(world->redis_server, world->own_redis_url);
	world->announcer = test_announcer_new(world->own_redis_url);
	*state = world;
	return 0;
}

int world_close(void **state)
{
	struct world *world = *state;
	test_database_drop(world->database);
	test_announcer_free(world->announcer);
	test_redis_free(world->redis_server);
	log_free(world->log);
	free(world);
	return 0;
}

static void reset_config(struct world *world)
{
	struct strbuf problems;
	strbuf_init(&problems, 65536);
	setenv("PUBLIC_BASE_URL", "https://sho.rt", 1);
	setenv("JOURNAL_DIR", world->journal_dir, 1);
	of_environment("PG_URL");
	memset(&world->config, 0, sizeof(world->config));
	if (env_read(config_program.vars, config_program.var_count, &world->config, &problems) != 0)
		fail_msg("%s", problems.data);
	strbuf_clear(&problems);
	test_database_url(world->database, "waymark_redirector", world->config.pg_url);
	world->config.http_port = world->config.ops_port = 0;
	world->config.memory_cache_bytes = (int64_t)1024 * 1024;
	world->config.memory_ttl_ms = 0;
	world->config.unknown_slugs_per_minute = 0;
	world->config.drain_s = 5;
	/* The shared topic has the marks of other tests' relays, whose databases are not ours. */
	snprintf(world->config.link_feed_topic, sizeof(world->config.link_feed_topic), CONFIG_NO_TOPIC);
	snprintf(world->config.trusted_proxies, sizeof(world->config.trusted_proxies), "127.0.0.0/8");
}

static void await_trust(struct world *world)
{
	struct link_entry entry;
	int64_t began_ms = http_fixture_now_ms();
	while (world_ask_redis(world, "trust", &entry) == LINK_CACHE_AWAY) {
		if (is_late(began_ms))
			fail_msg("Redis goes on not being trusted");
	}
}

int world_reset(void **state)
{
	struct world *world = *state;
	world->metrics = metrics_new();
	world->clock = clock_system();
	test_folder_make(world->journal_dir);
	struct redis_pool_config redis = {
		.url = world->own_redis_url,
		.max = 2,
		.timeout_ms = 2000,
		.clock = clock_system(),
		.log = world->log,
	};
	assert_int_equal(redis_pool_new(&redis, &world->redis), OK);
	world->link_cache = link_cache_new(
		&(struct link_cache_config){ .redis = world->redis, .clock = clock_system(), .log = world->log });
	await_trust(world);
	reset_config(world);
	snprintf(world->config.redis_url, sizeof(world->config.redis_url), "%s", world->own_redis_url);
	return 0;
}

int world_stop(void **state)
{
	struct world *world = *state;
	if (world->redirector) {
		/* Tests that leave Kafka unreachable cannot flush. */
		enum err e = redirector_drain(world->redirector);
		(void)e;
		redirector_free(world->redirector);
		world->redirector = NULL;
	}
	link_cache_free(world->link_cache);
	redis_pool_free(world->redis);
	metrics_free(world->metrics);
	test_folder_remove(world->journal_dir);
	return 0;
}

void world_start(struct world *world)
{
	assert_int_equal(redirector_new(&world->config, world->clock, world->log, world->metrics, &world->redirector),
	                 OK);
	assert_int_equal(redirector_serve(world->redirector), OK);
	world->door.port = redirector_http_port(world->redirector);
	if (strcmp(world->config.redis_url, world->own_redis_url) == 0)
		world_await_metric(world, "waymark_link_cache_trusted", 1);
}

const char *world_slug(const struct world *world, const char *name, char out[static SLUG_SIZE])
{
	snprintf(out, SLUG_SIZE, "%s-%.20s", world->prefix, name);
	return out;
}

void world_add_link(struct world *world, const char *name)
{
	char sql[1024];
	char slug[SLUG_SIZE];
	snprintf(sql, sizeof(sql),
	         "INSERT INTO links (slug, link_type, original_url, owner_id) "
	         "SELECT '%s', 'PERMANENT', 'https://example.com/%s', min(id) FROM users",
	         world_slug(world, name, slug), name);
	test_database_run(world->database, sql);
}

void world_change_link(struct world *world, const char *name, const char *change)
{
	char sql[1024];
	char slug[SLUG_SIZE];
	snprintf(sql, sizeof(sql), "UPDATE links SET %s, version = version + 1 WHERE slug = '%s'", change,
	         world_slug(world, name, slug));
	test_database_run(world->database, sql);
}

void world_tell_redis(struct world *world, const char *name, int64_t version, const char *destination)
{
	struct link_entry entry = { .id = 1, .version = version, .state = LINK_STATE_ACTIVE, .redirect_status = 302 };
	world_slug(world, name, entry.slug);
	snprintf(entry.original_url, sizeof(entry.original_url), "https://example.com/%s", destination);
	struct link_cache_reservation place;
	link_cache_reserve_for_change(world->link_cache, entry.slug, &place);
	assert_int_equal(link_cache_fill(world->link_cache, &place, &entry), OK);
}

enum link_cache_answer world_ask_redis(struct world *world, const char *name, struct link_entry *out)
{
	char slug[SLUG_SIZE];
	return link_cache_get(world->link_cache, world_slug(world, name, slug), out);
}

void world_forget_in_redis(struct world *world, const char *name)
{
	char slug[SLUG_SIZE];
	char key[SLUG_SIZE + 8];
	snprintf(key, sizeof(key), "link:%s", world_slug(world, name, slug));
	const struct redis_arg args[] = { REDIS_TEXT("DEL"), REDIS_TEXT(key) };
	assert_int_equal(redis_pool_call(world->redis, args, 2, NULL), OK);
}

unsigned world_ask(struct world *world, const char *method_and_target, const char *headers)
{
	char request[4096];
	snprintf(request, sizeof(request), "%s HTTP/1.1\r\nHost: sho.rt\r\n%s\r\n", method_and_target, headers);
	http_fixture_ask(&world->door, request, &world->answer);
	return world->answer.status;
}

unsigned world_follow(struct world *world, const char *name, const char *headers)
{
	char target[64];
	char slug[SLUG_SIZE];
	snprintf(target, sizeof(target), "GET /%s", world_slug(world, name, slug));
	return world_ask(world, target, headers);
}

void world_assert_header(struct world *world, const char *name, const char *value)
{
	char found[4096];
	assert_string_equal(http_fixture_header(&world->answer, name, found, sizeof(found)), value);
}

double world_metric(struct world *world, const char *series)
{
	struct strbuf text;
	strbuf_init(&text, METRICS_MAX);
	strbuf_add_char(&text, '\n');
	metrics_render(world->metrics, &text);
	char line[256];
	snprintf(line, sizeof(line), "\n%s ", series);
	const char *found = strstr(text.data, line);
	if (!found)
		fail_msg("there is no metric %s", series);
	double value = found ? strtod(found + strlen(line), NULL) : 0;
	strbuf_clear(&text);
	return value;
}

void world_await_metric(struct world *world, const char *series, double at_least)
{
	int64_t began_ms = http_fixture_now_ms();
	while (world_metric(world, series) < at_least) {
		if (is_late(began_ms))
			fail_msg("%s stays at %g, below %g", series, world_metric(world, series), at_least);
	}
}

void world_await_ready(struct world *world, bool ready)
{
	struct http_fixture ops = { .port = redirector_ops_port(world->redirector) };
	unsigned wanted = ready ? 200 : 503;
	int64_t began_ms = http_fixture_now_ms();
	do {
		http_fixture_ask(&ops, "GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n", &world->answer);
		if (world->answer.status != wanted && is_late(began_ms))
			fail_msg("/readyz goes on answering %u", world->answer.status);
	} while (world->answer.status != wanted);
}
