/*
 * One thread at a time. For tests: a redirector in this process with a database of its own, and a visitor. Redis is the
 * f's own too, with somebody who announces its generation; slugs begin with a word of the f's own, as all tests
 * share one Kafka. Every failure ends the test.
 */
#ifndef WAYMARK_TESTS_INTEGRATION_REDIRECTOR_FIXTURE_H
#define WAYMARK_TESTS_INTEGRATION_REDIRECTOR_FIXTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/links/link_cache.h"
#include "services/redirector/redirector.h"
#include "tests/support/test_announcer.h"
#include "tests/support/test_database.h"
#include "tests/support/test_folder.h"
#include "tests/support/test_redis.h"
#include "tests/unit/net/http_fixture.h"

#define FIXTURE_TIMEOUT_MS 15000

/* Nobody listens there. */
#define FIXTURE_UNREACHABLE_PG "postgresql://nobody@127.0.0.1:1/nothing"
#define FIXTURE_UNREACHABLE_REDIS "redis://127.0.0.1:1"
#define FIXTURE_UNREACHABLE_KAFKA "127.0.0.1:1"

struct fixture {
	struct test_database *database;
	struct log *log;
	struct metrics *metrics;
	struct test_redis *redis_server; /* nobody else's */
	char own_redis_url[TEST_REDIS_URL_SIZE];
	struct test_announcer *announcer;
	struct redis_pool *redis; /* the test's own way to Redis */
	struct link_cache *link_cache;
	struct config config;      /* change it before fixture_start */
	const struct clock *clock; /* the redirector's; the system's unless the test sets another */
	struct redirector *redirector;
	struct http_fixture server; /* for the client functions of http_fixture.h: its port alone is set */
	struct http_fixture_answer answer;
	char prefix[9];
	char journal_dir[TEST_FOLDER_SIZE];
};

/* Group set-up and tear-down. */
int fixture_group_set_up(void **state);
int fixture_group_tear_down(void **state);

/*
 * Test set-up and tear-down: a default configuration (memory of 1 MiB that forgets at once); ends what the test
 * started.
 */
int fixture_set_up(void **state);
int fixture_tear_down(void **state);

void fixture_start(struct fixture *f);

/* "k3f9-name", of this f alone; name is at most 20 bytes. */
const char *fixture_slug(const struct fixture *f, const char *name, char out[static SLUG_SIZE]);

/* An ACTIVE link in PostgreSQL alone, which leads to https://example.com/<name>. */
void fixture_add_link(struct fixture *f, const char *name);
/* Runs an UPDATE links SET <change>, version = version + 1 of that link in PostgreSQL alone. */
void fixture_change_link(struct fixture *f, const char *name, const char *change);

/* Puts that link into Redis with a version and https://example.com/<destination>, as links-api would. */
void fixture_fill_redis(struct fixture *f, const char *name, int64_t version, const char *destination);
enum link_cache_answer fixture_read_redis(struct fixture *f, const char *name, struct link_entry *out);
void fixture_delete_from_redis(struct fixture *f, const char *name);

/* GET /<slug of name> with more header lines (each ended by CRLF); the answer is in f->answer. Gives the status. */
unsigned fixture_get_link(struct fixture *f, const char *name, const char *headers);
/* The same for any request line: "POST /abc". */
unsigned fixture_request(struct fixture *f, const char *method_and_target, const char *headers);
void fixture_assert_header(struct fixture *f, const char *name, const char *value);

/* The value of a series as /metrics shows it: "waymark_link_lookups_total{level=\"redis\"}". */
double fixture_metric(struct fixture *f, const char *series);
void fixture_await_metric(struct fixture *f, const char *series, double at_least);

/* Whether /readyz of the redirector answers 200 within the deadline (or 503, if ready is false). */
void fixture_await_ready(struct fixture *f, bool ready);

#endif
