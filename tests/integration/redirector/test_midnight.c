/* Visitor hashes around midnight (UTC) by redirectors whose clocks differ slightly. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/clicks/redirect_batch.h"
#include "lib/clicks/salt_store.h"
#include "services/redirector/events/click.h"
#include "tests/integration/redirector/event_reader.h"
#include "tests/integration/redirector/fixture.h"
#include "tests/support/clock_fake.h"
#include "tests/support/test.h"

#define REDIRECTORS 2
#define VISITORS 3
#define APART_US (200 * CLOCK_US_PER_MS) /* the difference of the clocks */
#define BEFORE_US (500 * CLOCK_US_PER_MS)
#define EVENTS_MAX 20000
#define NAME_SIZE 24
#define WITHOUT_HASH "waymark_events_without_visitor_hash_total"

static void set_clock(struct fixture *instance, int64_t now_us)
{
	fixture_shift_clock(instance, now_us - clock_now_us(clock_system()));
}

/* The redirectors share one database. */
struct midnight {
	struct fixture instances[REDIRECTORS];
	/* Of the day before midnight, the day after it and the next. */
	struct salt salts[3];
	int64_t at_us;
	size_t requested;
	struct event_read events[EVENTS_MAX];
};

static struct pg_conn *owner(struct fixture *f)
{
	return test_database_connect(f->database, NULL);
}

static void create_salts(struct fixture *f, int32_t first, int32_t last, struct salt *salts)
{
	struct pg_conn *conn = owner(f);
	int64_t made = 0;
	size_t count = 0;
	test_database_run(f->database, "DELETE FROM visitor_salts");
	assert_int_equal(salt_store_create_missing(conn, first, last, &made), OK);
	assert_int_equal(salt_store_read(conn, first, last, salts, &count), OK);
	assert_int_equal(count, last - first + 1);
	pg_conn_close(conn);
}

static void get_link(struct midnight *m, struct fixture *instance, const char *name, int visitor)
{
	char headers[128];
	snprintf(headers, sizeof(headers),
	         "X-Forwarded-For: 203.0.113.%d\r\nUser-Agent: Firefox\r\n", visitor);
	assert_int_equal(fixture_get_link(instance, name, headers), 302);
	m->requested++;
}

/* One request of each visitor to each redirector. */
static void get_links(struct midnight *m, char names[VISITORS][NAME_SIZE])
{
	for (int i = 0; i < REDIRECTORS * VISITORS; i++)
		get_link(m, &m->instances[i % REDIRECTORS], names[i / REDIRECTORS],
		         i / REDIRECTORS);
}

static void await_salts(struct midnight *m, struct fixture *instance)
{
	double without;
	int64_t began_ms = http_fixture_now_ms();
	do {
		without = fixture_metric(instance, WITHOUT_HASH);
		get_link(m, instance, "warmup", 1);
		assert_true(http_fixture_now_ms() - began_ms < FIXTURE_TIMEOUT_MS);
	} while (fixture_metric(instance, WITHOUT_HASH) > without);
}

static void start(struct fixture *instance, struct fixture *f, int64_t now_us)
{
	*instance = *f;
	set_clock(instance, now_us);
	instance->metrics = metrics_new();
	test_folder_make(instance->journal_dir);
	memcpy(instance->config.journal_dir, instance->journal_dir, sizeof(instance->journal_dir));
	instance->config.drain_ms = FIXTURE_TIMEOUT_MS;
	fixture_start(instance);
}

static void stop(struct fixture *instance)
{
	assert_int_equal(redirector_drain(instance->redirector), OK);
	redirector_free(instance->redirector);
	metrics_free(instance->metrics);
	test_folder_remove(instance->journal_dir);
}

static bool is_over(const struct midnight *m)
{
	for (size_t i = 0; i < REDIRECTORS; i++) {
		if (clock_now_us(&m->instances[i].clock.clock) < m->at_us + BEFORE_US)
			return false;
	}
	return true;
}

/* Each event has the visitor's hash for the day of its own timestamp. */
static void assert_hash(const struct midnight *m, const struct redirect_event *event, int visitor)
{
	int32_t day = clock_utc_day(event->occurred_at_us);
	const struct salt *salt = &m->salts[day - m->salts[0].day];
	struct digest_hmac_key key;
	struct client_ip ip;
	uint8_t hash[DIGEST_SIZE];
	char address[32];
	snprintf(address, sizeof(address), "203.0.113.%d", visitor);
	assert_int_equal(client_ip_parse(address, strlen(address), &ip), OK);
	digest_hmac_key_init(&key, salt->bytes, sizeof(salt->bytes));
	salt_store_visitor_hash(&key, &ip, "Firefox", hash);
	assert_true(event->has_visitor_hash);
	assert_memory_equal(event->visitor_hash, hash, DIGEST_SIZE);
}

TEST_CASE(two_redirectors_hash_a_visitor_alike_across_midnight)
{
	static struct midnight m;
	struct fixture *f = *state;
	m.at_us = ((int64_t)clock_utc_day(clock_now_us(clock_system())) + 1) * CLOCK_US_PER_DAY;
	create_salts(f, clock_utc_day(m.at_us) - 1, clock_utc_day(m.at_us) + 1, m.salts);
	fixture_add_link(f, "warmup");
	char names[VISITORS][NAME_SIZE];
	for (int i = 0; i < VISITORS; i++) {
		snprintf(names[i], sizeof(names[i]), "visitor-%d", i);
		fixture_add_link(f, names[i]);
	}
	for (size_t i = 0; i < REDIRECTORS; i++) {
		start(&m.instances[i], f, m.at_us - CLOCK_US_PER_HOUR);
		await_salts(&m, &m.instances[i]);
	}
	/* No salt is read at midnight: both are cached already. */
	test_database_run(f->database, "ALTER TABLE visitor_salts RENAME TO away");
	m.requested = 0;
	/* On a busy machine few requests are just before midnight. */
	for (int i = 0; i < 2; i++)
		get_links(&m, names);
	set_clock(&m.instances[0], m.at_us - BEFORE_US);
	set_clock(&m.instances[1], m.at_us - BEFORE_US - APART_US);
	while (!is_over(&m) && m.requested < EVENTS_MAX / 2)
		get_links(&m, names);
	for (int i = 0; i < 2; i++)
		get_links(&m, names);
	for (size_t i = 0; i < REDIRECTORS; i++)
		stop(&m.instances[i]);
	test_database_run(f->database, "ALTER TABLE away RENAME TO visitor_salts");

	size_t each = m.requested / VISITORS, of_day[2] = { 0, 0 };
	for (int i = 0; i < VISITORS; i++) {
		char slug[SLUG_SIZE];
		event_reader_read(&(struct event_reader){ .kafka = &f->config.kafka,
		                                          .topic = REDIRECT_BATCH_TOPIC,
		                                          .slug = fixture_slug(f, names[i], slug),
		                                          .log = f->log },
		                  m.events, each);
		for (size_t k = 0; k < each; k++) {
			assert_hash(&m, &m.events[k].event, i);
			of_day[m.events[k].event.occurred_at_us >= m.at_us]++;
		}
	}
	print_message(
		"two redirectors across midnight, clocks 200 ms apart: %zu events before, %zu after\n",
		of_day[0], of_day[1]);
	assert_true(of_day[0] >= 10 && of_day[1] >= 10);
}

static struct salt_cache *make_cache(struct fixture *f, struct clock_fake *clock,
                                     struct pg_pool **pool)
{
	*pool = pg_pool_new(&(struct pg_pool_config){ .url = f->config.pg_url,
	                                              .application_name = "test",
	                                              .max = 1,
	                                              .wait_ms = 1000,
	                                              .connect_timeout_ms = FIXTURE_TIMEOUT_MS,
	                                              .statement_timeout_ms = FIXTURE_TIMEOUT_MS,
	                                              .clock = clock_system(),
	                                              .log = NULL,
	                                              .metrics = f->metrics });
	return click_salts_new(*pool, &clock->clock, f->log);
}

static void await_salt(struct salt_cache *cache, int64_t time_us, bool known)
{
	struct digest_hmac_key salt;
	int64_t began_ms = http_fixture_now_ms();
	while (click_salts_get(cache, time_us, &salt) != known) {
		assert_true(http_fixture_now_ms() - began_ms < FIXTURE_TIMEOUT_MS);
		test_pause();
	}
}

TEST_CASE(a_request_from_before_midnight_gets_its_days_salt_afterwards)
{
	struct fixture *f = *state;
	struct salt salts[3];
	struct clock_fake clock;
	struct pg_pool *pool = NULL;
	int64_t at_us = 20001 * CLOCK_US_PER_DAY;
	create_salts(f, 20000, 20002, salts);
	clock_fake_init(&clock, at_us);
	struct salt_cache *cache = make_cache(f, &clock, &pool);
	await_salt(cache, at_us, true);
	await_salt(cache, at_us - 1, true);
	await_salt(cache, at_us + CLOCK_US_PER_DAY - 1, true);
	await_salt(cache, at_us + CLOCK_US_PER_DAY, true);
	struct digest_hmac_key before, after;
	assert_true(click_salts_get(cache, at_us - 1, &before));
	assert_true(click_salts_get(cache, at_us, &after));
	assert_memory_not_equal(&before, &after, sizeof(before));
	click_salts_free(cache);
	pg_pool_free(pool);
}

TEST_CASE(no_salt_outlives_the_day_after_its_own_even_without_postgresql)
{
	struct fixture *f = *state;
	struct salt salt;
	struct clock_fake clock;
	struct pg_pool *pool = NULL;
	int64_t at_us = 20000 * CLOCK_US_PER_DAY;
	/* While tomorrow's salt is missing, the cache polls every second. */
	create_salts(f, 20000, 20000, &salt);
	clock_fake_init(&clock, at_us);
	struct salt_cache *cache = make_cache(f, &clock, &pool);
	await_salt(cache, at_us, true);
	test_database_run(f->database, "ALTER TABLE visitor_salts RENAME TO away");
	clock_fake_advance(&clock, 2 * CLOCK_US_PER_DAY);
	await_salt(cache, at_us, false);
	test_database_run(f->database, "ALTER TABLE away RENAME TO visitor_salts");
	click_salts_free(cache);
	pg_pool_free(pool);
}

TEST_MAIN(.group_set_up = fixture_group_set_up, .group_tear_down = fixture_group_tear_down,
          .set_up = fixture_set_up, .tear_down = fixture_tear_down)
