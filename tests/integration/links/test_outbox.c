#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/links/outbox.h"
#include "tests/integration/links/link_fixture.h"
#include "tests/support/test.h"

struct fixture {
	struct test_database *db;
	struct pg_conn *relay;
	struct pg_conn *writers[3];
	struct link link;
};

static int set_up(void **state)
{
	struct fixture *f = mem_zero(sizeof(*f));
	f->db = test_database_new();
	f->relay = test_database_connect(f->db, "waymark_links_api");
	for (size_t i = 0; i < 3; i++)
		f->writers[i] = test_database_connect(f->db, "waymark_links_api");
	test_database_run(f->db,
	                  "INSERT INTO users (email, password_hash) VALUES ('a@example.com', 'x')");
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	pg_conn_close(f->relay);
	for (size_t i = 0; i < 3; i++)
		pg_conn_close(f->writers[i]);
	test_database_close(f->db);
	free(f);
	return 0;
}

static int truncate_tables(void **state)
{
	struct fixture *f = *state;
	test_database_run(
		f->db,
		"TRUNCATE outbox, link_tombstones, link_aliases, link_visit_limits, shares, link_history, "
		"link_notes, dead_links, links");
	return 0;
}

static enum err create(struct pg_conn *conn, const char *slug, struct link *out)
{
	const struct link_write_new new_link = { .slug = slug,
		                                 .original_url = "https://example.com/",
		                                 .redirect_status = 302,
		                                 .workspace_id = 1 };
	enum err err = pg_conn_begin(conn);
	if (err == OK)
		err = link_fixture_add(conn, &new_link, out);
	return err == OK ? pg_conn_commit(conn) : err;
}

/* Raises the version in the open transaction. */
static enum err touch(struct pg_conn *conn, int64_t id, struct link *scratch)
{
	enum err err = link_store_lock(conn, id, 1, scratch);
	return err == OK ? link_fixture_update(conn, scratch, LINK_CHANGE_UPDATED) : err;
}

/* As the relay does after Redis has stored each row, and then Kafka. */
static enum err finish(struct pg_conn *conn, struct outbox_batch *batch)
{
	for (size_t i = 0; i < batch->count; i++)
		batch->rows[i].cached = true;
	return outbox_set_published(conn, batch);
}

static int64_t version_of(const struct outbox_row *row)
{
	struct link_event *event = mem_zero(sizeof(*event));
	assert_int_equal(link_event_decode(row->payload, row->payload_len, event), OK);
	int64_t version = event->link.entry.version;
	free(event);
	return version;
}

TEST_CASE(reads_rows_in_order_up_to_the_limit_until_redis_and_kafka_have_them)
{
	struct fixture *f = *state;
	const char *const slugs[] = { "one", "two", "three" };
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(create(f->writers[0], slugs[i], &f->link), OK);
	struct outbox_batch batch;
	for (int twice = 0; twice < 2; twice++) {
		assert_int_equal(outbox_read(f->relay, 2, 0, &batch), OK);
		assert_int_equal(batch.count, 2);
		assert_string_equal(batch.rows[0].slug, "one");
		assert_string_equal(batch.rows[1].slug, "two");
		assert_true(batch.rows[0].created_at_us > INT64_C(1500000000000000));
		if (twice == 0)
			outbox_batch_clear(&batch);
	}
	assert_int_equal(finish(f->relay, &batch), OK);
	outbox_batch_clear(&batch);
	assert_int_equal(outbox_read(f->relay, 2, 0, &batch), OK);
	assert_int_equal(batch.count, 1);
	assert_string_equal(batch.rows[0].slug, "three");
	assert_int_equal(finish(f->relay, &batch), OK);
	outbox_batch_clear(&batch);
	assert_int_equal(outbox_read(f->relay, 2, 0, &batch), OK);
	assert_int_equal(batch.count, 0);
	assert_int_equal(finish(f->relay, &batch), OK);
	outbox_batch_clear(&batch);
}

/* Beside the payload, which goes to Kafka: there is no byte of them in it. */
TEST_CASE(keeps_extras_for_redis_beside_the_event)
{
	struct fixture *f = *state;
	struct link_event *event = mem_zero(sizeof(*event));
	struct outbox_batch batch;
	uint8_t extras[LINK_EXTRAS_BYTES_MAX];
	memset(extras, 0xe7, sizeof(extras));
	extras[1] = '\0';
	struct link_write_new new_link = link_fixture_plain("rich");
	new_link.extras = extras;
	new_link.extras_len = sizeof(extras);
	assert_int_equal(create(f->writers[0], "plain", &f->link), OK);
	assert_int_equal(link_fixture_create(f->writers[0], &new_link, &f->link), OK);
	assert_int_equal(outbox_read_uncached(f->relay, 2, &batch), OK);
	assert_null(batch.rows[0].extras);
	assert_int_equal(outbox_row_event(&batch.rows[0], event), OK);
	assert_false(event->link.entry.lacks_extras);
	assert_int_equal(event->link.entry.extras_len, 0);
	assert_null(memmem(batch.rows[1].payload, batch.rows[1].payload_len, extras + 2, 4));
	assert_int_equal(outbox_row_event(&batch.rows[1], event), OK);
	assert_false(event->link.entry.lacks_extras);
	assert_int_equal(event->link.entry.extras_len, sizeof(extras));
	assert_memory_equal(event->link.entry.extras, extras, sizeof(extras));
	/* Of a row without them the link still lacks them. */
	batch.rows[1].extras_len = 0;
	assert_int_equal(outbox_row_event(&batch.rows[1], event), OK);
	assert_true(event->link.entry.lacks_extras);
	outbox_batch_clear(&batch);
	test_database_run(f->db, "UPDATE outbox SET cached = true");
	assert_int_equal(outbox_read(f->relay, 2, 0, &batch), OK);
	assert_null(batch.rows[1].extras);
	outbox_batch_clear(&batch);
	free(event);
}

static void assert_waiting(struct fixture *f, int64_t for_kafka, int64_t for_redis)
{
	struct outbox_lag lag = { -1, -1, -1, -1 };
	assert_int_equal(outbox_lag(f->relay, &lag), OK);
	assert_int_equal(lag.unpublished, for_kafka);
	assert_int_equal(lag.uncached, for_redis);
}

TEST_CASE(keeps_published_rows_until_redis_has_them_too)
{
	struct fixture *f = *state;
	struct outbox_batch batch;
	assert_int_equal(create(f->writers[0], "cached", &f->link), OK);
	assert_int_equal(create(f->writers[0], "uncached", &f->link), OK);
	assert_int_equal(outbox_read(f->relay, 2, 0, &batch), OK);
	assert_int_equal(batch.count, 2);
	batch.rows[0].cached = true;
	assert_int_equal(outbox_set_published(f->relay, &batch), OK);
	outbox_batch_clear(&batch);
	assert_waiting(f, 0, 1);
	assert_int_equal(outbox_read(f->relay, 2, 0, &batch), OK);
	assert_int_equal(batch.count, 0);
	outbox_batch_clear(&batch);
	assert_int_equal(outbox_read_uncached(f->relay, 2, &batch), OK);
	assert_int_equal(batch.count, 1);
	assert_string_equal(batch.rows[0].slug, "uncached");
	assert_false(batch.rows[0].cached);
	assert_int_equal(version_of(&batch.rows[0]), 1);
	assert_int_equal(outbox_set_cached(f->relay, &batch), OK);
	assert_waiting(f, 0, 1);
	batch.rows[0].cached = true;
	assert_int_equal(outbox_set_cached(f->relay, &batch), OK);
	outbox_batch_clear(&batch);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM outbox"), 0);
}

TEST_CASE(keeps_cached_rows_until_kafka_has_them_too)
{
	struct fixture *f = *state;
	struct outbox_batch batch;
	assert_int_equal(create(f->writers[0], "cached", &f->link), OK);
	assert_int_equal(outbox_read_uncached(f->relay, 2, &batch), OK);
	batch.rows[0].cached = true;
	assert_int_equal(outbox_set_cached(f->relay, &batch), OK);
	outbox_batch_clear(&batch);
	assert_waiting(f, 1, 0);
	assert_int_equal(outbox_read(f->relay, 2, 0, &batch), OK);
	assert_int_equal(batch.count, 1);
	assert_true(batch.rows[0].cached);
	/* A reader with an older view must not make it wait forever. */
	batch.rows[0].cached = false;
	assert_int_equal(outbox_set_published(f->relay, &batch), OK);
	outbox_batch_clear(&batch);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM outbox"), 0);
}

TEST_CASE(skips_rows_that_wait_for_redis_but_none_that_wait_for_kafka)
{
	struct fixture *f = *state;
	int64_t count = -1;
	test_database_run(f->db, "INSERT INTO outbox (slug, payload, published) "
	                         "SELECT 'a', 'x', n <= 3 FROM generate_series(1, 5) n");
	assert_int_equal(outbox_skip_uncached(f->relay, 4, &count), OK);
	assert_int_equal(count, 4);
	assert_waiting(f, 2, 1);
	assert_int_equal(outbox_skip_uncached(f->relay, 4, &count), OK);
	assert_int_equal(count, 1);
	assert_waiting(f, 2, 0);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM outbox"), 2);
	assert_int_equal(outbox_skip_uncached(f->relay, 4, &count), OK);
	assert_int_equal(count, 0);
}

TEST_CASE(reports_the_lag_of_the_relay)
{
	struct fixture *f = *state;
	struct outbox_lag lag = { -1, -1, -1, -1 };
	assert_int_equal(outbox_lag(f->relay, &lag), OK);
	assert_int_equal(lag.oldest_us, 0);
	assert_waiting(f, 0, 0);
	assert_int_equal(create(f->writers[0], "waits", &f->link), OK);
	test_database_run(f->db, "UPDATE outbox SET created_at = created_at - interval '5 s'");
	assert_int_equal(outbox_lag(f->relay, &lag), OK);
	assert_in_range(lag.oldest_us, 5000000, 60000000);
	assert_waiting(f, 1, 1);
	test_database_run(f->db, "UPDATE outbox SET published = true");
	assert_int_equal(outbox_lag(f->relay, &lag), OK);
	assert_int_equal(lag.oldest_us, 0);
}

TEST_CASE(a_commit_wakes_the_relay_and_nothing_before_does)
{
	struct fixture *f = *state;
	struct pg_conn *ear = test_database_connect(f->db, "waymark_links_api");
	const struct link_write_new new_link = { .slug = "loud",
		                                 .original_url = "https://example.com/",
		                                 .redirect_status = 302,
		                                 .workspace_id = 1 };
	assert_int_equal(pg_conn_query(ear, "LISTEN " OUTBOX_CHANNEL, NULL, NULL), OK);
	assert_int_equal(pg_conn_begin(f->writers[0]), OK);
	assert_int_equal(link_fixture_add(f->writers[0], &new_link, &f->link), OK);
	assert_int_equal(pg_conn_wait_notification(ear, 50), ERR_NOT_FOUND);
	assert_int_equal(pg_conn_commit(f->writers[0]), OK);
	assert_int_equal(pg_conn_wait_notification(ear, TEST_DEADLINE_MS), OK);
	pg_conn_close(ear);
}

/* Adds an expiry or purge event as the janitor does. */
static void add_low_priority(struct fixture *f, struct pg_conn *conn, const char *slug,
                             int64_t version, enum link_change change)
{
	struct outbox_bulk bundle;
	struct link_event *event = mem_zero(sizeof(*event));
	*event = (struct link_event){ .occurred_at_us = 1, .change = change, .link = f->link };
	snprintf(event->link.entry.slug, sizeof(event->link.entry.slug), "%s", slug);
	event->link.entry.version = version;
	outbox_bulk_init(&bundle, change == LINK_CHANGE_PURGED ? OUTBOX_PURGE : OUTBOX_BACKGROUND,
	                 1);
	outbox_bulk_add(&bundle, event);
	assert_int_equal(outbox_bulk_insert(&bundle, conn), OK);
	outbox_bulk_clear(&bundle);
	free(event);
}

static void assert_slugs(struct fixture *f, size_t limit, size_t low_priority_limit,
                         const char *const *slugs, size_t count)
{
	struct outbox_batch batch;
	assert_int_equal(outbox_read(f->relay, limit, low_priority_limit, &batch), OK);
	assert_int_equal(batch.count, count);
	for (size_t i = 0; i < count; i++)
		assert_string_equal(batch.rows[i].slug, slugs[i]);
	outbox_batch_clear(&batch);
}

TEST_CASE(reads_low_priority_rows_last_and_in_portions)
{
	struct fixture *f = *state;
	const char *const all[] = { "first", "second", "marked", "purged" };
	assert_int_equal(create(f->writers[0], "first", &f->link), OK);
	add_low_priority(f, f->writers[1], "marked", 2, LINK_CHANGE_EXPIRED);
	add_low_priority(f, f->writers[1], "purged", 3, LINK_CHANGE_PURGED);
	assert_int_equal(create(f->writers[0], "second", &f->link), OK);
	assert_slugs(f, 10, 10, all, 4);
	assert_slugs(f, 10, 1, all, 3);
	assert_slugs(f, 10, 0, all, 2);
	/* Urgent rows may remain, and a purge might belong after them. */
	assert_slugs(f, 2, 10, all, 2);
	struct outbox_lag lag;
	assert_int_equal(outbox_lag(f->relay, &lag), OK);
	assert_int_equal(lag.unpublished, 2);
	assert_int_equal(lag.low_priority, 2);
}

TEST_CASE(an_expiry_event_goes_before_a_later_change)
{
	struct fixture *f = *state;
	const char *const hurried[] = { "changed", "changed", "changed" };
	assert_int_equal(create(f->writers[0], "changed", &f->link), OK);
	int64_t id = f->link.entry.id;
	add_low_priority(f, f->writers[1], "changed", 2, LINK_CHANGE_EXPIRED);
	add_low_priority(f, f->writers[1], "other", 2, LINK_CHANGE_EXPIRED);
	test_database_run(f->db, "UPDATE links SET version = 2");
	assert_int_equal(pg_conn_begin(f->writers[0]), OK);
	assert_int_equal(touch(f->writers[0], id, &f->link), OK);
	assert_int_equal(pg_conn_commit(f->writers[0]), OK);
	assert_slugs(f, 10, 0, hurried, 3);
	struct outbox_batch batch;
	assert_int_equal(outbox_read(f->relay, 10, 0, &batch), OK);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(version_of(&batch.rows[i]), i + 1);
	outbox_batch_clear(&batch);
}

TEST_CASE(low_priority_rows_wait_for_redis_only_after_kafka_has_them)
{
	struct fixture *f = *state;
	struct outbox_batch batch;
	const char *slug = "purged-later";
	int64_t count = -1;
	bool is_cached = false;
	assert_int_equal(create(f->writers[0], "cached", &f->link), OK);
	test_database_run(f->db, "UPDATE outbox SET cached = true");
	add_low_priority(f, f->writers[1], slug, 2, LINK_CHANGE_PURGED);
	assert_waiting(f, 1, 0);
	assert_int_equal(outbox_are_cached(f->relay, &slug, 1, &is_cached), OK);
	assert_true(is_cached);
	assert_int_equal(outbox_skip_uncached(f->relay, 10, &count), OK);
	assert_int_equal(count, 0);
	assert_int_equal(outbox_read(f->relay, 10, 10, &batch), OK);
	assert_int_equal(outbox_set_published(f->relay, &batch), OK);
	outbox_batch_clear(&batch);
	assert_waiting(f, 0, 1);
	assert_int_equal(outbox_read_uncached(f->relay, 10, &batch), OK);
	assert_int_equal(batch.count, 1);
	outbox_batch_clear(&batch);
	assert_int_equal(outbox_skip_uncached(f->relay, 10, &count), OK);
	assert_int_equal(count, 1);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM outbox"), 0);
}

/*
 * Transaction IDs do not follow versions: a janitor's batch gets its ID before it reaches the link.
 * Here transactions whose IDs are in reverse order write the versions 2 and 3, while a third
 * transaction in between stays open.
 */
TEST_CASE(reads_versions_in_order_regardless_of_transaction_ids)
{
	struct fixture *f = *state;
	struct pg_conn *early = f->writers[0], *endless = f->writers[1], *late = f->writers[2];
	assert_int_equal(create(late, "turned", &f->link), OK);
	int64_t id = f->link.entry.id;
	assert_int_equal(pg_conn_begin(early), OK);
	assert_int_equal(pg_conn_query(early, "SELECT pg_current_xact_id()", NULL, NULL), OK);
	assert_int_equal(pg_conn_begin(endless), OK);
	assert_int_equal(pg_conn_query(endless, "SELECT pg_current_xact_id()", NULL, NULL), OK);

	assert_int_equal(pg_conn_begin(late), OK);
	assert_int_equal(touch(late, id, &f->link), OK);
	assert_int_equal(pg_conn_commit(late), OK);
	assert_int_equal(touch(early, id, &f->link), OK);
	assert_int_equal(pg_conn_commit(early), OK);

	struct outbox_batch batch;
	assert_int_equal(outbox_read(f->relay, 10, 0, &batch), OK);
	assert_int_equal(batch.count, 3);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(version_of(&batch.rows[i]), i + 1);
	outbox_batch_clear(&batch);
	pg_conn_rollback(endless);
}

enum { WRITERS = 16, LINKS = 20, CHANGES = 100 };

struct writer {
	struct pg_conn *conn;
	const int64_t *ids;
	_Atomic int *left;
	unsigned seed;
	enum err result;
	struct link link;
};

static void *write_changes(void *arg)
{
	struct writer *w = arg;
	for (int i = 0; i < CHANGES && w->result == OK; i++) {
		w->result = pg_conn_begin(w->conn);
		/* Half of them get a transaction ID long before they lock the link. */
		if (w->result == OK && rand_r(&w->seed) % 2)
			w->result =
				pg_conn_query(w->conn, "SELECT pg_current_xact_id()", NULL, NULL);
		if (w->result == OK)
			w->result = touch(w->conn, w->ids[rand_r(&w->seed) % LINKS], &w->link);
		if (w->result == OK && rand_r(&w->seed) % 8 == 0)
			pg_conn_rollback(w->conn);
		else if (w->result == OK)
			w->result = pg_conn_commit(w->conn);
	}
	atomic_fetch_sub(w->left, 1);
	return NULL;
}

/* Reads, checks and removes one batch. The versions of each link must rise by one. */
static size_t relay_batch(struct fixture *f, const int64_t *ids, int64_t *versions)
{
	struct outbox_batch batch;
	struct link_event *event = mem_zero(sizeof(*event));
	assert_int_equal(outbox_read(f->relay, 37, 0, &batch), OK);
	for (size_t i = 0; i < batch.count; i++) {
		assert_int_equal(
			link_event_decode(batch.rows[i].payload, batch.rows[i].payload_len, event),
			OK);
		size_t place = (size_t)(event->link.entry.id - ids[0]);
		assert_true(place < LINKS);
		assert_int_equal(event->link.entry.version, versions[place] + 1);
		versions[place]++;
	}
	assert_int_equal(finish(f->relay, &batch), OK);
	size_t count = batch.count;
	outbox_batch_clear(&batch);
	free(event);
	return count;
}

TEST_CASE(keeps_every_change_in_order_with_sixteen_writers)
{
	struct fixture *f = *state;
	int64_t ids[LINKS], versions[LINKS] = { 0 };
	for (int i = 0; i < LINKS; i++) {
		char slug[SLUG_SIZE];
		snprintf(slug, sizeof(slug), "link-%d", i);
		assert_int_equal(create(f->writers[0], slug, &f->link), OK);
		ids[i] = f->link.entry.id;
		assert_int_equal(ids[i], ids[0] + i);
	}
	struct writer *writers = mem_array(WRITERS, sizeof(*writers));
	pthread_t threads[WRITERS];
	_Atomic int left = WRITERS;
	for (unsigned i = 0; i < WRITERS; i++) {
		writers[i] = (struct writer){ .ids = ids, .left = &left, .seed = i + 1 };
		writers[i].conn = test_database_connect(f->db, "waymark_links_api");
		assert_int_equal(pthread_create(&threads[i], NULL, write_changes, &writers[i]), 0);
	}
	bool ended;
	do {
		ended = atomic_load(&left) == 0;
	} while (relay_batch(f, ids, versions) > 0 || !ended);
	for (int i = 0; i < WRITERS; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(writers[i].result, OK);
		pg_conn_close(writers[i].conn);
	}
	int64_t published = 0;
	for (int i = 0; i < LINKS; i++)
		published += versions[i];
	assert_int_equal(published, test_database_ask(f->db, "SELECT sum(version) FROM links"));
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM outbox"), 0);
	free(writers);
}

TEST_CASE(the_janitor_may_only_add)
{
	struct fixture *f = *state;
	struct pg_conn *janitor = test_database_connect(f->db, "waymark_janitor");
	assert_int_equal(create(f->writers[0], "purged", &f->link), OK);
	add_low_priority(f, janitor, "purged", 2, LINK_CHANGE_EXPIRED);
	struct outbox_batch batch;
	pg_conn_set_log(janitor, NULL);
	assert_int_equal(outbox_read(janitor, 10, 0, &batch), ERR_INTERNAL);
	pg_conn_close(janitor);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM outbox"), 2);
}

TEST_MAIN(.group_set_up = set_up, .group_tear_down = tear_down, .set_up = truncate_tables)
