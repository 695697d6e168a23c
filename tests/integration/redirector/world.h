/*
 * One thread at a time. For tests: a redirector in this process with a database of its own, and a visitor. Redis is the
 * world's own too, with somebody who announces its generation; slugs begin with a word of the world's own, as all tests
 * share one Kafka. Every failure ends the test.
 */
#ifndef WAYMARK_TESTS_INTEGRATION_REDIRECTOR_WORLD_H
#define WAYMARK_TESTS_INTEGRATION_REDIRECTOR_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/links/link_cache.h"
#include "services/redirector/redirector.h"
#include "tests/support/test_announcer.h"
#include "tests/support/test_database.h"
#include "tests/support/test_folder.h"
#include "tests/support/test_redis.h"
#include "tests/unit/net/http_fixture.h"

#define WORLD_DEADLINE_MS 15000

/* Nobody listens there. */
#define WORLD_NOWHERE_PG "postgresql://nobody@127.0.0.1:1/nothing"
#define WORLD_NOWHERE_REDIS "redis://127.0.0.1:1"
#define WORLD_NOWHERE_KAFKA "127.0.0.1:1"

struct world {
	struct test_database *database;
	struct log *log;
	struct metrics *metrics;
	struct test_redis *redis_server; /* nobody else's */
	char own_redis_url[TEST_REDIS_URL_SIZE];
	struct test_announcer *announcer;
	struct redis_pool *redis; /* the test's own way to Redis */
	struct link_cache *link_cache;
	struct config config;      /* change it before world_start */
	const struct clock *clock; /* the redirector's; the system's unless the test sets another */
	struct redirector *redirector;
	struct http_fixture door; /* for the client functions of http_fixture.h: its port alone is set */
	struct http_fixture_answer answer;
	char prefix[9];
	char journal_dir[TEST_FOLDER_SIZE];
};

/* Group set-up and tear-down. */
int world_open(void **state);
int world_close(void **state);

/*
 * Test set-up and tear-down: a default configuration (memory of 1 MiB that forgets at once); ends what the test
 * started.
 */
int world_reset(void **state);
int world_stop(void **state);

void world_start(struct world *world);

/* "k3f9-name", of this world alone; name is at most 20 bytes. */
const char *world_slug(const struct world *world, const char *name, char out[static SLUG_SIZE]);

/* An ACTIVE link in PostgreSQL alone, which leads to https://example.com/<name>. */
void world_add_link(struct world *world, const char *name);
/* Runs an UPDATE links SET <change>, version = version + 1 of that link in PostgreSQL alone. */
void world_change_link(struct world *world, const char *name, const char *change);

/* Puts that link into Redis with a version and https://example.com/<destination>, as links-api would. */
void world_tell_redis(struct world *world, const char *name, int64_t version, const char *destination);
enum link_cache_answer world_ask_redis(struct world *world, const char *name, struct link_entry *out);
void world_forget_in_redis(struct world *world, const char *name);

/* GET /<slug of name> with more header lines (each ended by CRLF); the answer is in world->answer. Gives the status. */
unsigned world_follow(struct world *world, const char *name, const char *headers);
/* The same for any request line: "POST /abc". */
unsigned world_ask(struct world *world, const char *method_and_target, const char *headers);
void world_assert_header(struct world *world, const char *name, const char *value);

/* The value of a series as /metrics shows it: "waymark_link_lookups_total{level=\"redis\"}". */
double world_metric(struct world *world, const char *series);
void world_await_metric(struct world *world, const char *series, double at_least);

/* Whether /readyz of the redirector answers 200 within the deadline (or 503, if ready is false). */
void world_await_ready(struct world *world, bool ready);

#endif
