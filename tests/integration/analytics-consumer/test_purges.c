/* A purged link's counts go soon after its event, and nobody else's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/mem.h"
#include "lib/links/link_event.h"
#include "lib/net/kafka_producer.h"
#include "services/analytics-consumer/purge_consumer.h"
#include "services/analytics-consumer/purge_store.h"
#include "tests/integration/net/kafka_fixture.h"
#include "tests/integration/net/net_fixture.h"
#include "tests/support/test_database.h"

#define PARTITIONS 3
#define DEADLINE_MS 60000
/* Of each of the links 1 to 9: 2 quarters, 2 hours, 1 total of a day, 1 value of it, 1 row of statistics. */
#define ROWS_PER_LINK 7

#define COUNTED(where)                                                                                                 \
	"SELECT (SELECT count(*) FROM visit_rollup_quarter WHERE " where ") + "                                        \
	"(SELECT count(*) FROM visit_rollup_hour WHERE " where ") + "                                                  \
	"(SELECT count(*) FROM visit_total_day WHERE " where ") + "                                                    \
	"(SELECT count(*) FROM visit_rollup_day WHERE " where ") + "                                                   \
	"(SELECT count(*) FROM link_statistics WHERE " where ")"

struct world {
	struct net_fixture *f;
	struct test_database *db;
	char pg_url[TEST_DATABASE_URL_SIZE];
	struct pg_pool *pool;
	struct kafka_producer *producer;
	struct purge_consumer *follower;
};

static int open_world(void **state)
{
	struct world *w = mem_zero(sizeof(*w));
	if (net_fixture_set_up((void **)&w->f) != 0)
		return -1;
	w->db = test_database_new();
	test_database_url(w->db, "waymark_consumer", w->pg_url);
	const struct kafka_producer_config producer = {
		.kafka = &w->f->kafka, .queue_max = 10000, .queue_bytes_max = (size_t)16 << 20, .log = w->f->log
	};
	assert_int_equal(kafka_producer_new(&producer, &w->producer), OK);
	*state = w;
	return 0;
}

static void stop(struct world *w)
{
	purge_consumer_stop(w->follower);
	w->follower = NULL;
	pg_pool_free(w->pool);
	w->pool = NULL;
}

static int close_world(void **state)
{
	struct world *w = *state;
	stop(w);
	kafka_producer_free(w->producer);
	test_database_drop(w->db);
	net_fixture_tear_down((void **)&w->f);
	free(w);
	return 0;
}

static void start(struct world *w)
{
	const struct pg_pool_config pool = { .url = w->pg_url,
		                             .application_name = "test",
		                             .max = 1,
		                             .wait_ms = 5000,
		                             .connect_timeout_ms = 5000,
		                             .statement_timeout_ms = 1000,
		                             .clock = clock_system(),
		                             .log = w->f->log };
	w->pool = pg_pool_new(&pool);
	const struct purge_consumer_config config = { .kafka = &w->f->kafka,
		                                      .group = w->f->unique,
		                                      .topic = w->f->unique,
		                                      .session_timeout_ms = 6000,
		                                      .pool = w->pool,
		                                      .clock = clock_system(),
		                                      .log = w->f->log };
	assert_int_equal(purge_consumer_start(&config, &w->follower), OK);
}

/* Nine links and what was counted of them, and the platform's row. */
static void count_clicks(struct world *w)
{
	test_database_run(w->db, "INSERT INTO links (slug, link_type, original_url, expires_at) "
	                         "SELECT 'link-' || i, 'TEMPORARY', 'https://example.com/', now() + interval '8 hours' "
	                         "FROM generate_series(1, 9) AS i");
	test_database_run(w->db, "INSERT INTO visit_rollup_quarter (link_id, bucket, humans) "
	                         "SELECT id, date_trunc('hour', now()) - q * interval '15 minutes', 1 "
	                         "FROM links, generate_series(0, 1) AS q");
	test_database_run(w->db, "INSERT INTO visit_rollup_hour (link_id, dimension, bucket, value, humans) "
	                         "SELECT id, d, date_trunc('hour', now()), 'x', 2 "
	                         "FROM links, unnest('{country,os}'::visit_dimension[]) AS d");
	test_database_run(w->db, "INSERT INTO visit_rollup_day (link_id, dimension, day, value, humans) "
	                         "SELECT id, 'os', current_date, 'x', 2 FROM links");
	test_database_run(w->db,
	                  "INSERT INTO visit_total_day (link_id, day, humans) SELECT id, current_date, 2 FROM links");
	test_database_run(w->db, "INSERT INTO link_statistics (link_id, visit_count) "
	                         "SELECT id, 2 FROM links UNION SELECT 0, 18");
	test_database_run(
		w->db, "INSERT INTO visit_log (day, event_id, occurred_at, link_id, slug, status, latency_us, is_bot) "
		       "SELECT current_date, gen_random_uuid(), now(), id, slug, 302, 1, false FROM links");
}

static void bury(struct world *w, const char *slug)
{
	char sql[400];
	snprintf(sql, sizeof(sql),
	         "WITH gone AS (DELETE FROM links WHERE slug = '%s' RETURNING *) "
	         "INSERT INTO link_tombstones (slug, link_id, last_state, version) "
	         "SELECT slug, id, state, version FROM gone",
	         slug);
	test_database_run(w->db, sql);
}

static void send_bytes(struct world *w, const char *slug, const void *bytes, size_t len)
{
	const struct kafka_record record = {
		.topic = w->f->unique, .key = slug, .key_len = strlen(slug), .value = bytes, .value_len = len
	};
	assert_int_equal(kafka_producer_send(w->producer, &record), OK);
	assert_int_equal(kafka_producer_flush(w->producer, DEADLINE_MS), OK);
}

static void send_change(struct world *w, const char *slug, enum link_change change)
{
	struct link_event *event = mem_zero(sizeof(*event));
	struct strbuf bytes;
	*event = (struct link_event){ .event_id = { 1 }, .occurred_at_us = 1, .change = change };
	event->link =
		(struct link){ .type = LINK_TYPE_PERMANENT, .owner_id = 1, .created_at_us = 1, .updated_at_us = 1 };
	event->link.entry = (struct link_entry){ .id = 1,
		                                 .version = 2,
		                                 .state = LINK_STATE_DELETED,
		                                 .redirect_status = 302,
		                                 .original_url = "https://example.com/" };
	snprintf(event->link.entry.slug, sizeof(event->link.entry.slug), "%s", slug);
	strbuf_init(&bytes, LINK_EVENT_BYTES_MAX);
	link_event_encode(event, &bytes);
	send_bytes(w, slug, bytes.data, bytes.len);
	strbuf_clear(&bytes);
	free(event);
}

static void assert_untouched(struct world *w, int64_t links)
{
	assert_int_equal(test_database_ask(w->db, COUNTED("link_id IN (SELECT id FROM links)")), links * ROWS_PER_LINK);
	assert_int_equal(test_database_ask(w->db, "SELECT visit_count FROM link_statistics WHERE link_id = 0"), 18);
	assert_int_equal(test_database_ask(w->db, "SELECT count(*) FROM visit_log"), 9);
}

#define PURGED "link_id IN (SELECT link_id FROM link_tombstones)"

static void forgets_a_purged_link_and_leaves_the_visit_log(void **state)
{
	struct world *w = *state;
	kafka_fixture_make_topic(w->f, PARTITIONS);
	count_clicks(w);
	start(w);
	/* Nothing is known of a mark, of what is no event, and of links that only changed. */
	send_bytes(w, "~", NULL, 0);
	send_bytes(w, "link-7", "no event", 8);
	send_change(w, "link-8", LINK_CHANGE_DELETED);
	bury(w, "link-1");
	assert_int_equal(test_database_ask(w->db, COUNTED(PURGED)), ROWS_PER_LINK);
	send_change(w, "link-1", LINK_CHANGE_PURGED);
	test_database_await(w->db, COUNTED(PURGED), 0, DEADLINE_MS);
	assert_untouched(w, 8);
}

static void asks_postgres_what_has_become_of_a_slug(void **state)
{
	struct world *w = *state;
	kafka_fixture_make_topic(w->f, 1);
	count_clicks(w);
	start(w);
	send_change(w, "link-4", LINK_CHANGE_PURGED);
	send_bytes(w, "link-5", NULL, 0);
	/* Compaction left the key of this one. */
	bury(w, "link-3");
	send_bytes(w, "link-3", NULL, 0);
	test_database_await(w->db, COUNTED(PURGED), 0, DEADLINE_MS);
	assert_untouched(w, 8);
}

static void forgets_what_was_purged_while_nobody_followed(void **state)
{
	struct world *w = *state;
	kafka_fixture_make_topic(w->f, PARTITIONS);
	count_clicks(w);
	bury(w, "link-6");
	send_change(w, "link-6", LINK_CHANGE_PURGED);
	start(w);
	test_database_await(w->db, "SELECT count(*) FROM consumer_offsets WHERE next_offset = 1", 1, DEADLINE_MS);
	assert_int_equal(test_database_ask(w->db, COUNTED(PURGED)), 0);
	stop(w);
	for (int i = 1; i <= 5; i++) {
		char slug[SLUG_SIZE];
		snprintf(slug, sizeof(slug), "link-%d", i);
		bury(w, slug);
		send_change(w, slug, LINK_CHANGE_PURGED);
	}
	/* What is behind the stored place is not asked for again. */
	test_database_run(
		w->db,
		"INSERT INTO link_statistics (link_id) SELECT link_id FROM link_tombstones WHERE slug = 'link-6'");
	start(w);
	test_database_await(w->db, COUNTED(PURGED), 1, DEADLINE_MS);
	test_database_await(w->db, "SELECT sum(next_offset)::bigint FROM consumer_offsets", 6, DEADLINE_MS);
	assert_int_equal(test_database_ask(w->db, COUNTED(PURGED)), 1);
	assert_untouched(w, 3);
}

static void reads_from_the_beginning_where_its_place_is_gone(void **state)
{
	struct world *w = *state;
	kafka_fixture_make_topic(w->f, 1);
	count_clicks(w);
	char sql[300];
	snprintf(sql, sizeof(sql),
	         "INSERT INTO consumer_offsets (topic, partition, next_offset) VALUES ('%s', 0, 1000)", w->f->unique);
	test_database_run(w->db, sql);
	bury(w, "link-9");
	send_change(w, "link-9", LINK_CHANGE_PURGED);
	start(w);
	test_database_await(w->db, COUNTED(PURGED), 0, DEADLINE_MS);
	assert_true(net_fixture_logged(w->f, "\"purges_read_from_the_beginning\"") > 0);
	assert_untouched(w, 8);
}

static bool has_timed_out(void *ctx)
{
	struct world *w = ctx;
	return net_fixture_logged(w->f, "\"57014\"") > 0;
}

static void tries_again_while_postgres_does_not_answer(void **state)
{
	struct world *w = *state;
	kafka_fixture_make_topic(w->f, 1);
	count_clicks(w);
	bury(w, "link-1");
	struct pg_conn *reader = test_database_connect(w->db, NULL);
	assert_int_equal(pg_conn_begin(reader), OK);
	assert_int_equal(pg_conn_query(reader, "LOCK TABLE visit_rollup_day IN SHARE MODE", NULL, NULL), OK);
	start(w);
	send_change(w, "link-1", LINK_CHANGE_PURGED);
	net_fixture_wait(has_timed_out, w, DEADLINE_MS);
	assert_int_equal(test_database_ask(w->db, COUNTED(PURGED)), ROWS_PER_LINK);
	assert_int_equal(pg_conn_commit(reader), OK);
	pg_conn_close(reader);
	test_database_await(w->db, COUNTED(PURGED), 0, DEADLINE_MS);
	assert_untouched(w, 8);
}

/* One transaction of the follower's. */
static void *forget_some(void *conn)
{
	struct sql_column slugs;
	int64_t rows = 0;
	sql_column_init(&slugs, SQL_COLUMN_TEXT, 1024);
	sql_column_add_text(&slugs, "link-1");
	assert_int_equal(purge_store_delete_some(conn, &slugs, &rows), OK);
	sql_column_clear(&slugs);
	return NULL;
}

static void leaves_a_click_that_is_counted_meanwhile_where_the_sweep_finds_it(void **state)
{
	struct world *w = *state;
	count_clicks(w);
	int64_t id = test_database_ask(w->db, "SELECT id FROM links WHERE slug = 'link-1'");
	struct pg_params p = { 0 };
	pg_params_int(&p, id);
	bury(w, "link-1");
	/* In the order of visit_store.c. */
	struct pg_conn *counter = test_database_connect(w->db, "waymark_consumer");
	assert_int_equal(pg_conn_begin(counter), OK);
	assert_int_equal(pg_conn_query(counter,
	                               "INSERT INTO visit_rollup_hour (link_id, dimension, bucket, value, humans) "
	                               "VALUES ($1, 'city', date_trunc('hour', now()), 'Bonn', 1)",
	                               &p, NULL),
	                 OK);
	assert_int_equal(
		pg_conn_query(counter, "UPDATE link_statistics SET visit_count = 3 WHERE link_id = $1", &p, NULL), OK);
	struct pg_conn *forgetter = test_database_connect(w->db, "waymark_consumer");
	pthread_t thread;
	assert_int_equal(pthread_create(&thread, NULL, forget_some, forgetter), 0);
	test_database_await(w->db,
	                    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND "
	                    "wait_event_type = 'Lock'",
	                    1, DEADLINE_MS);
	assert_int_equal(pg_conn_commit(counter), OK);
	assert_int_equal(pthread_join(thread, NULL), 0);
	pg_conn_close(forgetter);
	pg_conn_close(counter);
	assert_int_equal(
		test_database_ask(w->db, "SELECT count(*) FROM visit_rollup_hour AS r WHERE " PURGED
	                                 " AND EXISTS (SELECT FROM link_statistics AS s WHERE s.link_id = r.link_id)"),
		1);
	assert_int_equal(test_database_ask(w->db, "SELECT statistics_forget_purged(1000)"), 2);
	assert_int_equal(test_database_ask(w->db, COUNTED(PURGED)), 0);
	assert_untouched(w, 8);
}

int main(void)
{
#define IN_A_WORLD(test) cmocka_unit_test_setup_teardown(test, open_world, close_world)
	const struct CMUnitTest tests[] = {
		IN_A_WORLD(forgets_a_purged_link_and_leaves_the_visit_log),
		IN_A_WORLD(asks_postgres_what_has_become_of_a_slug),
		IN_A_WORLD(forgets_what_was_purged_while_nobody_followed),
		IN_A_WORLD(reads_from_the_beginning_where_its_place_is_gone),
		IN_A_WORLD(tries_again_while_postgres_does_not_answer),
		IN_A_WORLD(leaves_a_click_that_is_counted_meanwhile_where_the_sweep_finds_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
