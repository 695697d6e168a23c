/* The counts of a purged link are deleted soon after its event, and no others. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/mem.h"
#include "lib/kafka/kafka_producer.h"
#include "lib/links/link_event.h"
#include "services/analytics-consumer/ingest/purge_consumer.h"
#include "services/analytics-consumer/storage/rollup.h"
#include "tests/integration/backend/backend_fixture.h"
#include "tests/integration/kafka/kafka_fixture.h"
#include "tests/support/test.h"
#include "tests/support/test_database.h"

#define PARTITIONS 3
#define DEADLINE_MS 300000
/* Each of the links 1 to 9 has 3 deltas, 2 hours, 1 day and 1 row of statistics. */
#define ROWS_PER_LINK 7

#define COUNTED(where)                                                                             \
	"SELECT (SELECT count(*) FROM rollup_delta WHERE " where ") + "                            \
	"(SELECT count(*) FROM rollup_hour WHERE " where ") + "                                    \
	"(SELECT count(*) FROM rollup_day WHERE " where ") + "                                     \
	"(SELECT count(*) FROM link_statistics WHERE " where ")"

struct fixture {
	struct backend_fixture *backend;
	struct test_database *db;
	char pg_url[TEST_DATABASE_URL_SIZE];
	struct pg_pool *pool;
	struct kafka_producer *producer;
	struct purge_consumer *follower;
};

static int set_up(void **state)
{
	struct fixture *f = mem_zero(sizeof(*f));
	if (backend_fixture_set_up((void **)&f->backend) != 0)
		return -1;
	f->db = test_database_new();
	test_database_url(f->db, "waymark_consumer", f->pg_url);
	const struct kafka_producer_config producer = { .kafka = &f->backend->kafka,
		                                        .queue_max = 10000,
		                                        .queue_bytes_max = (size_t)16 << 20,
		                                        .log = f->backend->log };
	assert_int_equal(kafka_producer_new(&producer, &f->producer), OK);
	*state = f;
	return 0;
}

static void stop(struct fixture *f)
{
	purge_consumer_stop(f->follower);
	f->follower = NULL;
	pg_pool_free(f->pool);
	f->pool = NULL;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	stop(f);
	kafka_producer_free(f->producer);
	test_database_close(f->db);
	backend_fixture_tear_down((void **)&f->backend);
	free(f);
	return 0;
}

static void start(struct fixture *f)
{
	const struct pg_pool_config pool = { .url = f->pg_url,
		                             .application_name = "test",
		                             .max = 1,
		                             .wait_ms = 5000,
		                             .connect_timeout_ms = 5000,
		                             .statement_timeout_ms = 1000,
		                             .clock = clock_system(),
		                             .log = f->backend->log };
	f->pool = pg_pool_new(&pool);
	const struct purge_consumer_config config = { .kafka = &f->backend->kafka,
		                                      .group = f->backend->unique,
		                                      .topic = f->backend->unique,
		                                      .session_timeout_ms = 30000,
		                                      .pool = f->pool,
		                                      .clock = clock_system(),
		                                      .log = f->backend->log };
	assert_int_equal(purge_consumer_start(&config, &f->follower), OK);
}

/* Inserts nine links with counts, and the platform's row. */
static void count_clicks(struct fixture *f)
{
	test_database_run(
		f->db,
		"INSERT INTO links (slug, link_type, original_url, expires_at) "
		"SELECT 'link-' || i, 'TEMPORARY', 'https://example.com/', now() + interval '8 hours' "
		"FROM generate_series(1, 9) AS i");
	test_database_run(
		f->db, "INSERT INTO rollup_delta (link_id, hour, entries, humans, bots, uniques) "
		       "SELECT id, date_trunc('hour', now()), 0, 1, 0, 0 "
		       "FROM links, generate_series(1, 3)");
	test_database_run(f->db,
	                  "INSERT INTO rollup_hour (link_id, hour, humans, bots, uniques) "
	                  "SELECT id, date_trunc('hour', now()) - n * interval '1 hour', 1, 0, 0 "
	                  "FROM links, generate_series(1, 2) AS n");
	test_database_run(f->db, "INSERT INTO rollup_day (link_id, day, humans, bots, uniques) "
	                         "SELECT id, current_date, 2, 0, 0 FROM links");
	test_database_run(f->db, "INSERT INTO link_statistics (link_id, visit_count) "
	                         "SELECT id, 2 FROM links UNION SELECT 0, 18");
	test_database_run(
		f->db,
		"INSERT INTO visit_log (day, event_id, occurred_at, link_id, slug, status, latency_us, is_bot) "
		"SELECT current_date, gen_random_uuid(), now(), id, slug, 302, 1, false FROM links");
}

static void purge(struct fixture *f, const char *slug)
{
	char sql[400];
	snprintf(sql, sizeof(sql),
	         "WITH gone AS (DELETE FROM links WHERE slug = '%s' RETURNING *) "
	         "INSERT INTO link_tombstones (slug, link_id, last_state, version) "
	         "SELECT slug, id, state, version FROM gone",
	         slug);
	test_database_run(f->db, sql);
}

static void send_bytes(struct fixture *f, const char *slug, const void *bytes, size_t len)
{
	const struct kafka_record record = { .topic = f->backend->unique,
		                             .key = slug,
		                             .key_len = strlen(slug),
		                             .value = bytes,
		                             .value_len = len };
	assert_int_equal(kafka_producer_send(f->producer, &record), OK);
	assert_int_equal(kafka_producer_flush(f->producer, DEADLINE_MS), OK);
}

static void send_change(struct fixture *f, const char *slug, enum link_change change)
{
	struct link_event *event = mem_zero(sizeof(*event));
	struct strbuf bytes;
	*event = (struct link_event){ .event_id = { 1 }, .occurred_at_us = 1, .change = change };
	event->link = (struct link){ .type = LINK_TYPE_PERMANENT,
		                     .workspace_id = 1,
		                     .created_at_us = 1,
		                     .updated_at_us = 1 };
	event->link.entry = (struct link_entry){ .id = 1,
		                                 .version = 2,
		                                 .state = LINK_STATE_DELETED,
		                                 .redirect_status = 302,
		                                 .original_url = "https://example.com/" };
	snprintf(event->link.entry.slug, sizeof(event->link.entry.slug), "%s", slug);
	strbuf_init(&bytes, LINK_EVENT_BYTES_MAX);
	link_event_encode(event, &bytes);
	send_bytes(f, slug, bytes.data, bytes.len);
	strbuf_clear(&bytes);
	free(event);
}

static void assert_others_untouched(struct fixture *f, int64_t links)
{
	assert_int_equal(test_database_ask(f->db, COUNTED("link_id IN (SELECT id FROM links)")),
	                 links * ROWS_PER_LINK);
	assert_int_equal(
		test_database_ask(f->db,
	                          "SELECT visit_count FROM link_statistics WHERE link_id = 0"),
		18);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM visit_log"), 9);
}

#define PURGED "link_id IN (SELECT link_id FROM link_tombstones)"

TEST_CASE(deletes_the_counts_of_a_purged_link_but_not_its_visits)
{
	struct fixture *f = *state;
	kafka_fixture_create_topic(f->backend, PARTITIONS);
	count_clicks(f);
	start(f);
	/* A foreign key, a malformed event and a change that is not a purge have no effect. */
	send_bytes(f, "~", NULL, 0);
	send_bytes(f, "link-7", "no event", 8);
	send_change(f, "link-8", LINK_CHANGE_DELETED);
	purge(f, "link-1");
	assert_int_equal(test_database_ask(f->db, COUNTED(PURGED)), ROWS_PER_LINK);
	send_change(f, "link-1", LINK_CHANGE_PURGED);
	test_database_await(f->db, COUNTED(PURGED), 0, DEADLINE_MS);
	assert_others_untouched(f, 8);
}

TEST_CASE(deletes_only_what_postgres_confirms_as_purged)
{
	struct fixture *f = *state;
	kafka_fixture_create_topic(f->backend, 1);
	count_clicks(f);
	start(f);
	send_change(f, "link-4", LINK_CHANGE_PURGED);
	send_bytes(f, "link-5", NULL, 0);
	/* Of this event compaction left only the key. */
	purge(f, "link-3");
	send_bytes(f, "link-3", NULL, 0);
	test_database_await(f->db, COUNTED(PURGED), 0, DEADLINE_MS);
	assert_others_untouched(f, 8);
}

TEST_CASE(the_end_of_an_alias_leaves_the_counts_of_its_link)
{
	struct fixture *f = *state;
	kafka_fixture_create_topic(f->backend, 1);
	count_clicks(f);
	start(f);
	test_database_run(f->db,
	                  "INSERT INTO link_tombstones (slug, link_id, last_state, version) "
	                  "SELECT 'link-2-before', id, state, 2 FROM links WHERE slug = 'link-2'");
	send_change(f, "link-2-before", LINK_CHANGE_PURGED);
	send_bytes(f, "link-2-before", NULL, 0);
	purge(f, "link-3");
	send_change(f, "link-3", LINK_CHANGE_PURGED);
	test_database_await(f->db,
	                    COUNTED("link_id = (SELECT link_id FROM link_tombstones "
	                            "WHERE slug = 'link-3')"),
	                    0, DEADLINE_MS);
	assert_others_untouched(f, 8);
	/* With the link its statistics go, whichever of its names comes first. */
	purge(f, "link-2");
	send_bytes(f, "link-2-before", NULL, 0);
	test_database_await(f->db, COUNTED(PURGED), 0, DEADLINE_MS);
	assert_others_untouched(f, 7);
}

TEST_CASE(deletes_links_that_were_purged_while_it_was_stopped)
{
	struct fixture *f = *state;
	kafka_fixture_create_topic(f->backend, PARTITIONS);
	count_clicks(f);
	purge(f, "link-6");
	send_change(f, "link-6", LINK_CHANGE_PURGED);
	start(f);
	test_database_await(f->db, "SELECT count(*) FROM consumer_offsets WHERE next_offset = 1", 1,
	                    DEADLINE_MS);
	assert_int_equal(test_database_ask(f->db, COUNTED(PURGED)), 0);
	stop(f);
	for (int i = 1; i <= 5; i++) {
		char slug[SLUG_SIZE];
		snprintf(slug, sizeof(slug), "link-%d", i);
		purge(f, slug);
		send_change(f, slug, LINK_CHANGE_PURGED);
	}
	/* Events before the stored offset are not read again. */
	test_database_run(
		f->db,
		"INSERT INTO link_statistics (link_id) SELECT link_id FROM link_tombstones WHERE slug = 'link-6'");
	start(f);
	test_database_await(f->db, COUNTED(PURGED), 1, DEADLINE_MS);
	test_database_await(f->db, "SELECT sum(next_offset)::bigint FROM consumer_offsets", 6,
	                    DEADLINE_MS);
	assert_int_equal(test_database_ask(f->db, COUNTED(PURGED)), 1);
	assert_others_untouched(f, 3);
}

TEST_CASE(reads_from_the_beginning_when_its_offset_is_gone)
{
	struct fixture *f = *state;
	kafka_fixture_create_topic(f->backend, 1);
	count_clicks(f);
	char sql[300];
	snprintf(
		sql, sizeof(sql),
		"INSERT INTO consumer_offsets (topic, partition, next_offset) VALUES ('%s', 0, 1000)",
		f->backend->unique);
	test_database_run(f->db, sql);
	purge(f, "link-9");
	send_change(f, "link-9", LINK_CHANGE_PURGED);
	start(f);
	test_database_await(f->db, COUNTED(PURGED), 0, DEADLINE_MS);
	assert_true(backend_fixture_logged(f->backend, "\"purges_read_from_the_beginning\"") > 0);
	assert_others_untouched(f, 8);
}

static bool has_timed_out(void *ctx)
{
	struct fixture *f = ctx;
	return backend_fixture_logged(f->backend, "\"57014\"") > 0;
}

TEST_CASE(retries_while_postgres_does_not_respond)
{
	struct fixture *f = *state;
	kafka_fixture_create_topic(f->backend, 1);
	count_clicks(f);
	purge(f, "link-1");
	struct pg_conn *reader = test_database_connect(f->db, NULL);
	assert_int_equal(pg_conn_begin(reader), OK);
	assert_int_equal(pg_conn_query(reader, "LOCK TABLE rollup_day IN SHARE MODE", NULL, NULL),
	                 OK);
	start(f);
	send_change(f, "link-1", LINK_CHANGE_PURGED);
	backend_fixture_wait(has_timed_out, f, DEADLINE_MS);
	assert_int_equal(test_database_ask(f->db, COUNTED(PURGED)), ROWS_PER_LINK);
	assert_int_equal(pg_conn_commit(reader), OK);
	pg_conn_close(reader);
	test_database_await(f->db, COUNTED(PURGED), 0, DEADLINE_MS);
	assert_others_untouched(f, 8);
}

/* One transaction of the purge consumer. */
static void *delete_some(void *conn)
{
	struct sql_column slugs;
	int64_t rows = 0;
	sql_column_init(&slugs, SQL_COLUMN_TEXT, 1024);
	sql_column_add_text(&slugs, "link-1");
	assert_int_equal(rollup_delete_purged(conn, &slugs, &rows), OK);
	sql_column_clear(&slugs);
	return NULL;
}

TEST_CASE(leaves_a_click_counted_meanwhile_to_the_nightly_sweep)
{
	struct fixture *f = *state;
	count_clicks(f);
	int64_t id = test_database_ask(f->db, "SELECT id FROM links WHERE slug = 'link-1'");
	struct pg_params p = { 0 };
	pg_params_int(&p, id);
	purge(f, "link-1");
	/* In the same order as visit_store.c. */
	struct pg_conn *counter = test_database_connect(f->db, "waymark_consumer");
	assert_int_equal(pg_conn_begin(counter), OK);
	assert_int_equal(
		pg_conn_query(
			counter,
			"INSERT INTO rollup_delta (link_id, hour, entries, humans, bots, uniques) "
			"VALUES ($1, date_trunc('hour', now()), 0, 1, 0, 0)",
			&p, NULL),
		OK);
	assert_int_equal(
		pg_conn_query(counter,
	                      "UPDATE link_statistics SET visit_count = 3 WHERE link_id = $1", &p,
	                      NULL),
		OK);
	struct pg_conn *deleter = test_database_connect(f->db, "waymark_consumer");
	pthread_t thread;
	assert_int_equal(pthread_create(&thread, NULL, delete_some, deleter), 0);
	test_database_await(
		f->db,
		"SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND "
		"wait_event_type = 'Lock'",
		1, DEADLINE_MS);
	assert_int_equal(pg_conn_commit(counter), OK);
	assert_int_equal(pthread_join(thread, NULL), 0);
	pg_conn_close(deleter);
	pg_conn_close(counter);
	assert_int_equal(
		test_database_ask(
			f->db,
			"SELECT count(*) FROM rollup_delta AS r WHERE " PURGED
			" AND EXISTS (SELECT FROM link_statistics AS s WHERE s.link_id = r.link_id)"),
		1);
	assert_int_equal(test_database_ask(f->db, "SELECT statistics_delete_orphans(1000)"), 2);
	assert_int_equal(test_database_ask(f->db, COUNTED(PURGED)), 0);
	assert_others_untouched(f, 8);
}

TEST_MAIN(.set_up = set_up, .tear_down = tear_down)
