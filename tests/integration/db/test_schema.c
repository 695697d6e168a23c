#include <pthread.h>
#include <stdint.h>

#include "lib/base/entropy.h"
#include "lib/base/mem.h"
#include "tests/integration/backend/backend_fixture.h"
#include "tests/support/test.h"

static enum err insert_link(struct pg_conn *conn, const char *slug)
{
	struct pg_params p = { 0 };
	pg_params_text(&p, slug);
	return pg_conn_query(
		conn,
		"INSERT INTO links (slug, link_type, original_url, expires_at) "
		"VALUES ($1, 'TEMPORARY', 'https://example.com/', now() + interval '8 hours')",
		&p, NULL);
}

/* Inside the caller's transaction. */
static void purge_link(struct pg_conn *conn, const char *slug)
{
	struct pg_params p = { 0 };
	pg_params_text(&p, slug);
	struct pg_result *rows = NULL;
	assert_int_equal(
		pg_conn_query(conn,
	                      "WITH gone AS (DELETE FROM links WHERE slug = $1 RETURNING *) "
	                      "INSERT INTO link_tombstones (slug, link_id, last_state, version) "
	                      "SELECT slug, id, state, version FROM gone",
	                      &p, &rows),
		OK);
	assert_int_equal(pg_result_changed(rows), 1);
	pg_result_free(rows);
}

TEST_CASE(never_accepts_the_slug_of_a_purged_link_again)
{
	const struct backend_fixture *f = *state;
	struct pg_conn *conn = backend_fixture_pg(f);
	assert_int_equal(insert_link(conn, f->unique), OK);
	assert_int_equal(insert_link(conn, f->unique), ERR_CONFLICT);
	assert_string_equal(pg_conn_constraint(conn), "links_slug_key");
	assert_int_equal(pg_conn_begin(conn), OK);
	purge_link(conn, f->unique);
	assert_int_equal(pg_conn_commit(conn), OK);
	assert_int_equal(insert_link(conn, f->unique), ERR_CONFLICT);
	assert_string_equal(pg_conn_constraint(conn), "links_slug_key");
	pg_conn_close(conn);
}

TEST_CASE(refuses_a_slug_that_differs_by_case_alone)
{
	struct pg_conn *conn = backend_fixture_pg(*state);
	char slug[2][12] = { "", "" };
	entropy_text("abcdefghijklmnopqrstuvwxyz", slug[0], 10);
	snprintf(slug[1], sizeof(slug[1]), "%s", slug[0]);
	slug[1][0] = (char)(slug[1][0] - 'a' + 'A');
	assert_int_equal(insert_link(conn, slug[0]), OK);
	assert_int_equal(insert_link(conn, slug[1]), ERR_CONFLICT);
	assert_string_equal(pg_conn_constraint(conn), "links_slug_key");
	pg_conn_close(conn);
}

struct inserter {
	struct pg_conn *conn;
	const char *slug;
	enum err err;
	char constraint[64];
};

static void *insert_in_thread(void *arg)
{
	struct inserter *i = arg;
	i->err = insert_link(i->conn, i->slug);
	snprintf(i->constraint, sizeof(i->constraint), "%s", pg_conn_constraint(i->conn));
	return NULL;
}

struct waiting {
	struct pg_conn *observer;
	int64_t pid;
};

static bool waits_for_a_lock(void *ctx)
{
	const struct waiting *w = ctx;
	struct pg_params p = { 0 };
	pg_params_int(&p, w->pid);
	return backend_fixture_query_int(
		       w->observer,
		       "SELECT count(*) FROM pg_stat_activity WHERE pid = $1::int AND wait_event_type = 'Lock'",
		       &p) == 1;
}

/* Inserts a slug while an uncommitted transaction purges it. */
static void insert_during_purge(const struct backend_fixture *f, bool commits)
{
	struct pg_conn *purger = backend_fixture_pg(f);
	struct inserter inserter = { .conn = backend_fixture_pg(f), .slug = f->unique };
	struct waiting waiting = { backend_fixture_pg(f),
		                   backend_fixture_query_int(inserter.conn,
		                                             "SELECT pg_backend_pid()", NULL) };
	pthread_t thread;
	assert_int_equal(insert_link(purger, f->unique), OK);
	assert_int_equal(pg_conn_begin(purger), OK);
	purge_link(purger, f->unique);
	assert_int_equal(pthread_create(&thread, NULL, insert_in_thread, &inserter), 0);
	backend_fixture_wait(waits_for_a_lock, &waiting, TEST_DEADLINE_MS);
	if (commits)
		assert_int_equal(pg_conn_commit(purger), OK);
	else
		pg_conn_rollback(purger);
	pthread_join(thread, NULL);
	assert_int_equal(inserter.err, ERR_CONFLICT);
	assert_string_equal(inserter.constraint, "links_slug_key");
	pg_conn_close(inserter.conn);
	pg_conn_close(waiting.observer);
	pg_conn_close(purger);
}

TEST_CASE(refuses_an_insert_that_waited_for_a_purge)
{
	insert_during_purge(*state, true);
}

TEST_CASE(refuses_an_insert_that_waited_for_a_purge_that_rolled_back)
{
	insert_during_purge(*state, false);
}

/* Runs a query about one day, which returns one number. */
static int64_t ask_of_day(struct pg_conn *conn, const char *sql, int32_t day)
{
	struct pg_params p = { 0 };
	pg_params_day(&p, day);
	return backend_fixture_query_int(conn, sql, &p);
}

static enum err insert_visit(struct pg_conn *conn, int32_t day)
{
	uint8_t id[ENTROPY_UUID_SIZE];
	char text[ENTROPY_UUID_TEXT_SIZE];
	entropy_uuid4(id);
	entropy_uuid_format(id, text);
	struct pg_params p = { 0 };
	pg_params_day(&p, day);
	pg_params_text(&p, text);
	return pg_conn_query(
		conn,
		"INSERT INTO visit_log (day, event_id, occurred_at, link_id, slug, status, latency_us, is_bot) "
		"VALUES ($1::date, $2::uuid, $1::date, 1, 'x', 302, 100, false)",
		&p, NULL);
}

static int32_t unique_day(void)
{
	return 100000 + (int32_t)entropy_below(200000) * 2;
}

static void drop_partition(struct pg_conn *conn, int32_t day)
{
	struct pg_params p = { 0 };
	struct pg_result *rows = NULL;
	pg_params_day(&p, day);
	assert_int_equal(pg_conn_query_once(
				 conn,
				 "SELECT 'DROP TABLE visit_log_' || to_char($1::date, 'YYYYMMDD')",
				 &p, &rows),
	                 OK);
	assert_int_equal(pg_conn_script(conn, pg_result_text(rows, 0, 0)), OK);
	pg_result_free(rows);
}

#define WRITERS 3
#define VISITS_EACH 30
#define ATTEMPTS 10

struct writer {
	pthread_barrier_t *start;
	struct pg_conn *conn;
	int32_t day;
	/* The first failure. */
	enum err err;
};

static void *write_visits(void *arg)
{
	struct writer *w = arg;
	pthread_barrier_wait(w->start);
	for (int i = 0; i < VISITS_EACH && w->err == OK; i++)
		w->err = insert_visit(w->conn, w->day);
	return NULL;
}

/* The partition is made before, between or after the first visits of its day. */
TEST_CASE(accepts_every_visit_while_a_partition_is_created)
{
	const struct backend_fixture *f = *state;
	struct pg_conn *conn = backend_fixture_pg(f);
	for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
		int32_t day = unique_day();
		struct writer writers[WRITERS];
		pthread_t threads[WRITERS];
		pthread_barrier_t start;
		pthread_barrier_init(&start, NULL, WRITERS + 1);
		for (int i = 0; i < WRITERS; i++) {
			writers[i] = (struct writer){ &start, backend_fixture_pg(f), day, OK };
			assert_int_equal(
				pthread_create(&threads[i], NULL, write_visits, &writers[i]), 0);
		}
		pthread_barrier_wait(&start);
		int64_t made =
			ask_of_day(conn, "SELECT visit_log_make_partition($1::date)::int", day);
		for (int i = 0; i < WRITERS; i++) {
			pthread_join(threads[i], NULL);
			assert_int_equal(writers[i].err, OK);
			pg_conn_close(writers[i].conn);
		}
		pthread_barrier_destroy(&start);
		assert_int_equal(ask_of_day(conn,
		                            "SELECT count(*) FROM visit_log WHERE day = $1::date",
		                            day),
		                 WRITERS * VISITS_EACH);
		assert_int_equal(made, 1);
		drop_partition(conn, day);
	}
	pg_conn_close(conn);
}

struct maker {
	struct pg_conn *conn;
	int32_t day;
	enum err err;
	int64_t made;
};

static void *make_partition(void *arg)
{
	struct maker *m = arg;
	struct pg_params p = { 0 };
	struct pg_result *rows = NULL;
	pg_params_day(&p, m->day);
	m->err =
		pg_conn_query(m->conn, "SELECT visit_log_make_partition($1::date)::int", &p, &rows);
	m->made = pg_result_int(rows, 0, 0);
	pg_result_free(rows);
	return NULL;
}

TEST_CASE(creates_a_partition_once_in_two_concurrent_calls)
{
	const struct backend_fixture *f = *state;
	for (int attempt = 0; attempt < 10; attempt++) {
		struct maker makers[2];
		pthread_t threads[2];
		int32_t day = unique_day();
		for (int i = 0; i < 2; i++)
			makers[i] = (struct maker){ backend_fixture_pg(f), day, OK, 0 };
		for (int i = 0; i < 2; i++)
			assert_int_equal(
				pthread_create(&threads[i], NULL, make_partition, &makers[i]), 0);
		for (int i = 0; i < 2; i++) {
			pthread_join(threads[i], NULL);
			assert_int_equal(makers[i].err, OK);
		}
		assert_int_equal(makers[0].made + makers[1].made, 1);
		drop_partition(makers[0].conn, day);
		for (int i = 0; i < 2; i++)
			pg_conn_close(makers[i].conn);
	}
}

TEST_MAIN(.set_up = backend_fixture_set_up, .tear_down = backend_fixture_tear_down)
