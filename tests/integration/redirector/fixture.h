/*
 * One thread at a time. For tests: a redirector in this process, with a database and a Redis of its
 * own, and an HTTP client as its visitor. A test_announcer announces the generation of Redis in
 * place of the outbox relay. All tests share one Kafka, so slugs begin with a prefix that is unique
 * to the fixture. Every failure ends the test.
 *
 *       fixture_add_link(f, "moved");
 *       fixture_start(f);
 *       assert_int_equal(fixture_get_link(f, "moved", ""), 302);
 *       fixture_assert_header(f, "Location", "https://example.com/moved");
 */
#ifndef WAYMARK_TESTS_INTEGRATION_REDIRECTOR_FIXTURE_H
#define WAYMARK_TESTS_INTEGRATION_REDIRECTOR_FIXTURE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/links/link_cache.h"
#include "services/redirector/redirector.h"
#include "tests/support/test_announcer.h"
#include "tests/support/test_database.h"
#include "tests/support/test_folder.h"
#include "tests/support/test_redis.h"
#include "tests/unit/http/http_fixture.h"

#define FIXTURE_TIMEOUT_MS 300000
#define FIXTURE_SLOWNESS 100

struct Waymark__V1__LinkExtras;

/* Addresses without a server. */
#define FIXTURE_UNREACHABLE_PG "postgresql://nobody@127.0.0.1:1/nothing"
#define FIXTURE_UNREACHABLE_REDIS "redis://127.0.0.1:1"
#define FIXTURE_UNREACHABLE_KAFKA "127.0.0.1:1"

/* The system clock. A test can shift its wall time and slow its steady time down. */
struct fixture_clock {
	struct clock clock;
	_Atomic int64_t shift_us;
	/* 1: real time. */
	int64_t slowness;
};

struct fixture {
	struct test_database *database;
	struct log *log;
	struct metrics *metrics;
	struct test_redis *redis_server;
	char own_redis_url[TEST_REDIS_URL_SIZE];
	struct test_announcer *announcer;
	/* The test's own connection to Redis. */
	struct redis_pool *redis;
	/* The test's own; a slow clock keeps it valid. */
	struct link_cache *link_cache;
	/* Change it before fixture_start. */
	struct config config;
	/* Of the redirector. */
	struct fixture_clock clock;
	/* Of link_cache. */
	struct fixture_clock slow_clock;
	struct redirector *redirector;
	/* For the client functions of http_fixture.h; only the port is set. */
	struct http_fixture server;
	struct http_fixture_response answer;
	char prefix[9];
	char journal_dir[TEST_FOLDER_SIZE];
};

/* Set-up and tear-down of a group. */
int fixture_group_set_up(void **state);
int fixture_group_tear_down(void **state);

/* Set-up and tear-down of a test. By default entries in memory expire at once. */
int fixture_set_up(void **state);
int fixture_tear_down(void **state);

void fixture_start(struct fixture *f);
/*
 * The redirector's steady time passes FIXTURE_SLOWNESS times slower, so that a busy machine does
 * not exceed its timeouts. Call it before fixture_start.
 */
void fixture_slow_clock(struct fixture *f);
/* The redirector's wall time from now on: that of the system plus shift_us. Any thread. */
void fixture_shift_clock(struct fixture *f, int64_t shift_us);

/* "k3f9-name", unique to this fixture. name is at most 20 bytes. */
const char *fixture_slug(const struct fixture *f, const char *name, char out[static SLUG_SIZE]);

/* Adds an ACTIVE link to https://example.com/<name> to PostgreSQL only. */
void fixture_add_link(struct fixture *f, const char *name);
/* The same with extras, and with more columns: "redirect_status = 301", or "". */
void fixture_add_link_with(struct fixture *f, const char *name,
                           const struct Waymark__V1__LinkExtras *extras, const char *columns);
/* Runs UPDATE links SET <change>, version = version + 1 for that link in PostgreSQL only. */
void fixture_change_link(struct fixture *f, const char *name, const char *change);

/* Writes that link to Redis with a version and a destination, like links-api. */
void fixture_fill_redis(struct fixture *f, const char *name, int64_t version,
                        const char *destination);
enum link_cache_result fixture_read_redis(struct fixture *f, const char *name,
                                          struct link_entry *out);
void fixture_delete_from_redis(struct fixture *f, const char *name);

/* GET /<slug> with extra header lines, each ending in CRLF. Returns the status; see also f->answer.
 */
unsigned fixture_get_link(struct fixture *f, const char *name, const char *headers);
/* The same for any method and target: "POST /abc". */
unsigned fixture_request(struct fixture *f, const char *method_and_target, const char *headers);
void fixture_assert_header(struct fixture *f, const char *name, const char *value);

/* The value of a series as in /metrics: "waymark_link_lookups_total{level=\"redis\"}". */
double fixture_metric(struct fixture *f, const char *series);
void fixture_await_metric(struct fixture *f, const char *series, double at_least);

/* Waits until /readyz of the redirector answers 200, or 503 if ready is false. */
void fixture_await_ready(struct fixture *f, bool ready);

#endif
