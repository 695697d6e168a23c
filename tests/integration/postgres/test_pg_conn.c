#include <pthread.h>
#include <stdint.h>
#include <unistd.h>

#include "lib/base/mem.h"
#include "tests/integration/backend/backend_fixture.h"
#include "tests/support/test.h"

TEST_CASE(round_trips_every_type)
{
	struct pg_conn *conn = backend_fixture_pg(*state);
	const uint8_t bytes[] = { 0, 1, '\\', 0xff };
	struct pg_params p = { 0 };
	pg_params_text(&p, "späte \"Grüße\"");
	pg_params_int(&p, INT64_MIN);
	pg_params_text(&p, "0.1");
	pg_params_bool(&p, true);
	pg_params_bytes(&p, bytes, sizeof(bytes));
	pg_params_time(&p, INT64_C(1795161600123456));
	pg_params_day(&p, 20777);
	pg_params_null(&p);
	struct pg_result *rows = NULL;
	assert_int_equal(
		pg_conn_query(
			conn,
			"SELECT $1::text, $2::bigint, $3::double precision, $4::boolean, $5::bytea, "
			"$6::timestamptz, $7::date - date '1970-01-01', $8::text",
			&p, &rows),
		OK);
	assert_int_equal(pg_result_count(rows), 1);
	assert_string_equal(pg_result_text(rows, 0, 0), "späte \"Grüße\"");
	assert_true(pg_result_int(rows, 0, 1) == INT64_MIN);
	assert_true(pg_result_double(rows, 0, 2) == 0.1);
	assert_true(pg_result_bool(rows, 0, 3));
	uint8_t back[8] = { 0 };
	assert_int_equal(pg_result_bytes(rows, 0, 4, back, sizeof(back)), sizeof(bytes));
	assert_memory_equal(back, bytes, sizeof(bytes));
	assert_true(pg_result_time(rows, 0, 5) == INT64_C(1795161600123456));
	assert_int_equal(pg_result_int(rows, 0, 6), 20777);
	assert_true(pg_result_is_null(rows, 0, 7));
	assert_string_equal(pg_result_text(rows, 0, 7), "");
	pg_result_free(rows);
	pg_conn_close(conn);
}

TEST_CASE(reads_times_before_1970_whole_seconds_and_infinity)
{
	struct pg_conn *conn = backend_fixture_pg(*state);
	struct pg_result *rows = NULL;
	assert_int_equal(
		pg_conn_query(
			conn,
			"SELECT timestamptz '2026-11-20 10:00:00+02', timestamptz 'infinity', "
			"timestamptz '-infinity', NULL::timestamptz, timestamptz '2026-11-20 08:00:00.5Z'",
			NULL, &rows),
		OK);
	assert_true(pg_result_time(rows, 0, 0) == INT64_C(1795161600000000));
	assert_true(pg_result_time(rows, 0, 1) == INT64_MAX);
	assert_true(pg_result_time(rows, 0, 2) == INT64_MIN);
	assert_true(pg_result_time(rows, 0, 3) == 0);
	assert_true(pg_result_time(rows, 0, 4) == INT64_C(1795161600500000));
	pg_result_free(rows);
	pg_conn_close(conn);
}

TEST_CASE(reads_missing_cells_as_null)
{
	struct pg_conn *conn = backend_fixture_pg(*state);
	struct pg_result *rows = NULL;
	assert_int_equal(pg_conn_query(conn, "SELECT 1 WHERE false", NULL, &rows), OK);
	assert_int_equal(pg_result_count(rows), 0);
	assert_true(pg_result_is_null(rows, 0, 0));
	assert_int_equal(pg_result_int(rows, 7, 7), 0);
	assert_int_equal(pg_result_count(NULL), 0);
	pg_result_free(rows);
	pg_result_free(NULL);
	pg_conn_close(conn);
}

struct streamed {
	int64_t count, sum;
	/* Fails at this number. */
	int64_t stop_at;
};

static enum err add_streamed(void *ctx, const struct pg_result *row)
{
	struct streamed *streamed = ctx;
	assert_int_equal(pg_result_count(row), 1);
	if (pg_result_int(row, 0, 0) == streamed->stop_at)
		return ERR_NOT_FOUND;
	streamed->count++;
	streamed->sum += pg_result_int(row, 0, 0);
	return OK;
}

TEST_CASE(streams_rows_and_errors)
{
	static const char numbers[] =
		"SELECT n + 0 / (n - $1::bigint) FROM generate_series(1, 5000) AS n";
	struct pg_conn *conn = backend_fixture_pg(*state);
	struct pg_params p = { 0 };
	struct streamed all = { 0 };
	pg_params_int(&p, 0);
	assert_int_equal(pg_conn_stream(conn, numbers, &p, add_streamed, &all), OK);
	assert_int_equal(all.count, 5000);
	assert_int_equal(all.sum, 5000 * 5001 / 2);
	/* The server fails after some rows, and so does the caller. The connection stays usable. */
	struct pg_params half = { 0 };
	struct streamed some = { 0 };
	pg_params_int(&half, 2500);
	assert_int_equal(pg_conn_stream(conn, numbers, &half, add_streamed, &some), ERR_INVALID);
	struct streamed stopped = { .stop_at = 7 };
	assert_int_equal(pg_conn_stream(conn, numbers, &p, add_streamed, &stopped), ERR_NOT_FOUND);
	assert_int_equal(stopped.count, 6);
	assert_true(pg_conn_is_usable(conn));
	assert_int_equal(backend_fixture_query_int(conn, "SELECT 1", NULL), 1);
	pg_conn_close(conn);
}

TEST_CASE(prepares_a_statement_once)
{
	struct pg_conn *conn = backend_fixture_pg(*state);
	for (int i = 0; i < 3; i++) {
		struct pg_params p = { 0 };
		pg_params_int(&p, i);
		assert_int_equal(pg_conn_query(conn, "SELECT $1::int AS prepared_once", &p, NULL),
		                 OK);
	}
	assert_int_equal(backend_fixture_query_int(
				 conn,
				 "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE "
				 "'%prepared_once%' AND from_sql = false AND name <> ''",
				 NULL),
	                 1);
	pg_conn_close(conn);
}

TEST_CASE(runs_further_statements_unprepared)
{
	struct pg_conn *conn = backend_fixture_pg(*state);
	char texts[200][32];
	for (int i = 0; i < 200; i++) {
		struct pg_result *rows = NULL;
		snprintf(texts[i], sizeof(texts[i]), "SELECT %d", i);
		assert_int_equal(pg_conn_query(conn, texts[i], NULL, &rows), OK);
		assert_int_equal(pg_result_int(rows, 0, 0), i);
		pg_result_free(rows);
	}
	pg_conn_close(conn);
}

TEST_CASE(reports_why_a_statement_failed)
{
	struct pg_conn *conn = backend_fixture_pg(*state);
	assert_int_equal(
		pg_conn_script(conn,
	                       "CREATE TEMP TABLE t (a int CONSTRAINT t_a_small CHECK (a < 10), "
	                       "CONSTRAINT t_a_once UNIQUE (a))"),
		OK);
	assert_int_equal(pg_conn_query(conn, "INSERT INTO t VALUES (1)", NULL, NULL), OK);
	assert_int_equal(pg_conn_query(conn, "INSERT INTO t VALUES (1)", NULL, NULL), ERR_CONFLICT);
	assert_string_equal(pg_conn_constraint(conn), "t_a_once");
	assert_int_equal(pg_conn_query(conn, "INSERT INTO t VALUES (10)", NULL, NULL), ERR_INVALID);
	assert_string_equal(pg_conn_constraint(conn), "t_a_small");
	struct pg_params p = { 0 };
	pg_params_text(&p, "\xff");
	assert_int_equal(pg_conn_query(conn, "SELECT $1::text", &p, NULL), ERR_INVALID);
	assert_string_equal(pg_conn_constraint(conn), "");
	assert_int_equal(pg_conn_query(conn, "SELECT 1/0", NULL, NULL), ERR_INVALID);
	assert_int_equal(backend_fixture_logged(*state, "postgres_statement_failed"), 0);
	assert_int_equal(pg_conn_query(conn, "SELEKT 1", NULL, NULL), ERR_INTERNAL);
	assert_int_equal(backend_fixture_logged(*state, "postgres_statement_failed"), 1);
	assert_true(pg_conn_is_usable(conn));
	pg_conn_close(conn);
}

TEST_CASE(rejects_too_many_parameters)
{
	struct pg_conn *conn = backend_fixture_pg(*state);
	struct pg_params p = { 0 };
	for (int i = 0; i <= PG_PARAMS_MAX; i++)
		pg_params_int(&p, i);
	assert_int_equal(pg_conn_query(conn, "SELECT 1", &p, NULL), ERR_INTERNAL);
	assert_true(pg_conn_is_usable(conn));
	pg_conn_close(conn);
}

TEST_CASE(counts_changed_rows)
{
	struct pg_conn *conn = backend_fixture_pg(*state);
	struct pg_result *rows = NULL;
	assert_int_equal(
		pg_conn_script(
			conn,
			"CREATE TEMP TABLE t (a int); INSERT INTO t SELECT generate_series(1, 7)"),
		OK);
	assert_int_equal(pg_conn_query(conn, "UPDATE t SET a = a + 1 WHERE a > 3", NULL, &rows),
	                 OK);
	assert_int_equal(pg_result_changed(rows), 4);
	pg_result_free(rows);
	pg_conn_close(conn);
}

TEST_CASE(returns_the_one_number_of_a_statement)
{
	struct pg_conn *conn = backend_fixture_pg(*state);
	int64_t number = 5;
	assert_int_equal(pg_conn_query_int(conn, "SELECT 7", NULL, &number), OK);
	assert_int_equal(number, 7);
	assert_int_equal(pg_conn_query_int(conn, "SELECT 8 WHERE false", NULL, &number),
	                 ERR_NOT_FOUND);
	assert_int_equal(pg_conn_query_int(conn, "SELECT generate_series(8, 9)", NULL, &number),
	                 ERR_NOT_FOUND);
	assert_int_equal(pg_conn_query_int(conn, "SELECT 'a'::text::int", NULL, &number),
	                 ERR_INVALID);
	assert_int_equal(number, 7);
	pg_conn_close(conn);
}

TEST_CASE(ends_a_statement_after_its_timeout_and_continues)
{
	const struct backend_fixture *f = *state;
	struct pg_conn *conn = NULL;
	assert_int_equal(pg_conn_open(f->pg_url, "test", 5000, 2000, f->log, &conn), OK);
	int64_t begun_ms = backend_fixture_now_ms();
	assert_int_equal(pg_conn_query(conn, "SELECT pg_sleep(30)", NULL, NULL), ERR_LIMIT);
	int64_t took_ms = backend_fixture_now_ms() - begun_ms;
	assert_true(took_ms >= 1990);
	test_speed_at_most(took_ms, 5000, "ms");
	assert_true(pg_conn_is_usable(conn));
	assert_int_equal(backend_fixture_query_int(conn, "SELECT 5", NULL), 5);
	pg_conn_close(conn);
}

TEST_CASE(closes_the_connection_a_second_after_the_timeout)
{
	struct backend_fixture *f = *state;
	struct tcp_proxy *proxy = backend_fixture_proxy(f->pg_url, sizeof(f->pg_url));
	struct pg_conn *conn = NULL;
	assert_int_equal(pg_conn_open(f->pg_url, "test", 5000, 100, f->log, &conn), OK);
	tcp_proxy_set_mode(proxy, TCP_PROXY_FREEZE);
	int64_t begun_ms = backend_fixture_now_ms();
	assert_int_equal(pg_conn_query(conn, "SELECT 1", NULL, NULL), ERR_UNAVAILABLE);
	int64_t took_ms = backend_fixture_now_ms() - begun_ms;
	assert_true(took_ms >= 1090);
	test_speed_at_most(took_ms, 3000, "ms");
	assert_false(pg_conn_is_usable(conn));
	assert_true(pg_conn_timed_out(conn));
	assert_int_equal(pg_conn_query(conn, "SELECT 1", NULL, NULL), ERR_UNAVAILABLE);
	pg_conn_close(conn);
	assert_int_equal(backend_fixture_logged(f, "postgres_timed_out"), 1);
	tcp_proxy_free(proxy);
}

TEST_CASE(connects_within_the_timeout)
{
	struct backend_fixture *f = *state;
	struct tcp_proxy *proxy = backend_fixture_proxy(f->pg_url, sizeof(f->pg_url));
	struct pg_conn *conn = NULL;
	tcp_proxy_set_mode(proxy, TCP_PROXY_FREEZE);
	int64_t begun_ms = backend_fixture_now_ms();
	assert_int_equal(pg_conn_open(f->pg_url, "test", 300, 100, f->log, &conn), ERR_UNAVAILABLE);
	int64_t took_ms = backend_fixture_now_ms() - begun_ms;
	assert_true(took_ms >= 290);
	test_speed_at_most(took_ms, 2000, "ms");
	tcp_proxy_set_mode(proxy, TCP_PROXY_REFUSE);
	assert_int_equal(pg_conn_open(f->pg_url, "test", 300, 100, f->log, &conn), ERR_UNAVAILABLE);
	assert_null(conn);
	tcp_proxy_free(proxy);
}

TEST_CASE(never_logs_the_password)
{
	struct backend_fixture *f = *state;
	struct pg_conn *conn = NULL;
	assert_int_equal(
		pg_conn_open("postgresql://u:sesame@127.0.0.1:1/d", "test", 300, 0, f->log, &conn),
		ERR_UNAVAILABLE);
	assert_int_equal(pg_conn_open("postgresql://u:sesame@127.0.0.1:1/d?nonsense=1", "test", 300,
	                              0, f->log, &conn),
	                 ERR_UNAVAILABLE);
	assert_int_equal(backend_fixture_logged(f, "postgres_cannot_connect"), 2);
	assert_int_equal(backend_fixture_logged(f, "sesame"), 0);
}

TEST_CASE(checks_whether_a_url_is_valid)
{
	struct strbuf problems;
	strbuf_init(&problems, SIZE_MAX);
	assert_int_equal(
		pg_conn_url_check("postgresql://u:p@h:5432/d?application_name=x", &problems), 0);
	assert_int_equal(pg_conn_url_check("host=h dbname=d", &problems), 0);
	assert_int_equal(problems.len, 0);
	assert_int_equal(pg_conn_url_check("postgresql://h/d?nonsense=1", &problems), 1);
	assert_int_equal(pg_conn_url_check("nonsense", &problems), 1);
	assert_int_equal(pg_conn_url_check("postgresql://u:sesame@h:port/d", &problems), 1);
	assert_non_null(strstr(problems.data, "PG_URL: \"port\" is not a port"));
	assert_int_equal(pg_conn_url_check("postgresql://u:p%40@h/d", &problems), 0);
	assert_int_equal(pg_conn_url_check("postgresql://u:p@sesame@h/d", &problems), 1);
	assert_int_equal(pg_conn_url_check("postgresql://u:sesame/1@h/d", &problems), 1);
	assert_int_equal(pg_conn_url_check("postgresql://u:1/sesame@h/d", &problems), 1);
	assert_int_equal(pg_conn_url_check("postgresql://u:p?sesame@h/d", &problems), 1);
	assert_null(strstr(problems.data, "sesame"));
	setenv("PGSSLMODE", "verify-full", 1);
	assert_int_equal(pg_conn_url_check("postgresql://h/d?sslmode=verify-full", &problems), 0);
	assert_int_equal(pg_conn_url_check("postgresql://h/d?sslmode=require", &problems), 1);
	assert_non_null(strstr(problems.data, "\"require\" is its sslmode, and PGSSLMODE"));
	unsetenv("PGSSLMODE");
	setenv("PGSSLROOTCERT", "/nowhere.pem", 1);
	assert_int_equal(pg_conn_url_check("postgresql://h/d", &problems), 1);
	assert_non_null(strstr(problems.data, "PGSSLROOTCERT: /nowhere.pem cannot be read"));
	unsetenv("PGSSLROOTCERT");
	strbuf_clear(&problems);
}

TEST_CASE(detects_that_an_idle_connection_was_closed)
{
	struct pg_conn *conn = backend_fixture_pg(*state);
	struct pg_conn *other = backend_fixture_pg(*state);
	struct pg_params p = { 0 };
	assert_true(pg_conn_is_alive(conn));
	pg_params_int(&p, backend_fixture_query_int(conn, "SELECT pg_backend_pid()", NULL));
	assert_int_equal(
		pg_conn_query(other, "SELECT pg_terminate_backend($1::int, 5000)", &p, NULL), OK);
	assert_false(pg_conn_is_alive(conn));
	assert_false(pg_conn_is_usable(conn));
	pg_conn_close(conn);
	pg_conn_close(other);
}

TEST_CASE(commits_and_rolls_back)
{
	struct pg_conn *conn = backend_fixture_pg(*state);
	assert_int_equal(pg_conn_script(conn, "CREATE TEMP TABLE t (a int)"), OK);
	assert_int_equal(pg_conn_begin(conn), OK);
	assert_int_equal(pg_conn_begin(conn), ERR_INTERNAL);
	assert_true(pg_conn_in_transaction(conn));
	assert_int_equal(pg_conn_query(conn, "INSERT INTO t VALUES (1)", NULL, NULL), OK);
	assert_int_equal(pg_conn_commit(conn), OK);
	assert_false(pg_conn_in_transaction(conn));
	assert_int_equal(pg_conn_commit(conn), ERR_INTERNAL);
	assert_int_equal(pg_conn_begin(conn), OK);
	assert_int_equal(pg_conn_query(conn, "INSERT INTO t VALUES (2)", NULL, NULL), OK);
	pg_conn_rollback(conn);
	pg_conn_rollback(conn);
	assert_int_equal(backend_fixture_query_int(conn, "SELECT sum(a) FROM t", NULL), 1);
	pg_conn_close(conn);
}

TEST_CASE(reports_a_failed_transaction_at_commit)
{
	struct pg_conn *conn = backend_fixture_pg(*state);
	assert_int_equal(pg_conn_begin(conn), OK);
	assert_int_equal(pg_conn_query(conn, "SELECT 1/0", NULL, NULL), ERR_INVALID);
	assert_int_equal(pg_conn_query(conn, "SELECT 1", NULL, NULL), ERR_INTERNAL);
	assert_int_equal(pg_conn_commit(conn), ERR_INTERNAL);
	assert_false(pg_conn_in_transaction(conn));
	assert_int_equal(backend_fixture_query_int(conn, "SELECT 1", NULL), 1);
	pg_conn_close(conn);
}

TEST_CASE(reports_a_deferred_constraint_at_commit)
{
	struct pg_conn *conn = backend_fixture_pg(*state);
	assert_int_equal(
		pg_conn_script(conn,
	                       "CREATE TEMP TABLE t (a int CONSTRAINT t_a_once UNIQUE DEFERRABLE "
	                       "INITIALLY DEFERRED)"),
		OK);
	assert_int_equal(pg_conn_begin(conn), OK);
	assert_int_equal(pg_conn_query(conn, "INSERT INTO t VALUES (1), (1)", NULL, NULL), OK);
	assert_int_equal(pg_conn_commit(conn), ERR_CONFLICT);
	assert_string_equal(pg_conn_constraint(conn), "t_a_once");
	assert_int_equal(backend_fixture_query_int(conn, "SELECT count(*) FROM t", NULL), 0);
	pg_conn_close(conn);
}

TEST_CASE(reports_an_unknown_outcome_when_a_commit_is_cut)
{
	struct backend_fixture *f = *state;
	struct tcp_proxy *proxy = backend_fixture_proxy(f->pg_url, sizeof(f->pg_url));
	struct pg_conn *conn = backend_fixture_pg(f);
	assert_int_equal(pg_conn_begin(conn), OK);
	tcp_proxy_cut(proxy);
	assert_int_equal(pg_conn_commit(conn), ERR_UNAVAILABLE);
	assert_false(pg_conn_is_usable(conn));
	assert_false(pg_conn_in_transaction(conn));
	pg_conn_rollback(conn);
	pg_conn_close(conn);
	tcp_proxy_free(proxy);
}

TEST_CASE(releases_the_locks_of_a_client_that_idles_in_a_transaction)
{
	const struct backend_fixture *f = *state;
	struct pg_conn *silent = NULL;
	struct pg_conn *other = backend_fixture_pg(f);
	struct pg_params p = { 0 };
	pg_params_text(&p, f->unique);
	assert_int_equal(pg_conn_open(f->pg_url, "test", 5000, 2000, f->log, &silent), OK);
	assert_int_equal(pg_conn_begin(silent), OK);
	assert_int_equal(
		pg_conn_query(silent, "SELECT pg_advisory_xact_lock(hashtext($1))", &p, NULL), OK);
	/* Waits for a lock on the server until the idle client has lost its lock. */
	assert_int_equal(pg_conn_query(other, "SELECT pg_advisory_lock(hashtext($1))", &p, NULL),
	                 OK);
	assert_int_equal(pg_conn_query(silent, "SELECT 1", NULL, NULL), ERR_UNAVAILABLE);
	assert_false(pg_conn_is_usable(silent));
	pg_conn_close(silent);
	pg_conn_close(other);
}

TEST_CASE(rejects_a_script_that_ends_the_transaction)
{
	struct pg_conn *conn = backend_fixture_pg(*state);
	assert_int_equal(pg_conn_begin(conn), OK);
	assert_int_equal(pg_conn_script(conn, "SELECT 1; COMMIT; SELECT 2"), ERR_INTERNAL);
	assert_non_null(strstr(pg_conn_message(conn), "transaction"));
	assert_false(pg_conn_is_usable(conn));
	pg_conn_close(conn);
}

struct notifier {
	struct pg_conn *conn;
	const char *channel;
};

static void *notify(void *arg)
{
	const struct notifier *n = arg;
	struct pg_params p = { 0 };
	pg_params_text(&p, n->channel);
	for (int i = 0; i < 3; i++)
		assert_int_equal(pg_conn_query(n->conn, "SELECT pg_notify($1, '')", &p, NULL), OK);
	return NULL;
}

TEST_CASE(wakes_up_on_a_notification)
{
	struct backend_fixture *f = *state;
	struct pg_conn *conn = backend_fixture_pg(f);
	struct notifier notifier = { backend_fixture_pg(f), f->unique };
	char listen[96];
	snprintf(listen, sizeof(listen), "LISTEN %s", f->unique);
	assert_int_equal(pg_conn_query_once(conn, listen, NULL, NULL), OK);
	assert_int_equal(pg_conn_wait_notification(conn, 0), ERR_NOT_FOUND);
	assert_int_equal(pg_conn_wait_notification(conn, 50), ERR_NOT_FOUND);
	pthread_t thread;
	assert_int_equal(pthread_create(&thread, NULL, notify, &notifier), 0);
	assert_int_equal(pg_conn_wait_notification(conn, TEST_DEADLINE_MS), OK);
	pthread_join(thread, NULL);
	/* A notification that arrives with the result of a statement is not lost either. */
	notify(&notifier);
	assert_int_equal(backend_fixture_query_int(conn, "SELECT 1", NULL), 1);
	assert_int_equal(pg_conn_wait_notification(conn, 0), OK);
	pg_conn_close(notifier.conn);
	pg_conn_close(conn);
}

TEST_CASE(detects_that_a_listening_connection_was_cut)
{
	struct backend_fixture *f = *state;
	struct tcp_proxy *proxy = backend_fixture_proxy(f->pg_url, sizeof(f->pg_url));
	struct pg_conn *conn = backend_fixture_pg(f);
	assert_int_equal(pg_conn_query_once(conn, "LISTEN nothing", NULL, NULL), OK);
	tcp_proxy_cut(proxy);
	assert_int_equal(pg_conn_wait_notification(conn, TEST_DEADLINE_MS), ERR_UNAVAILABLE);
	assert_false(pg_conn_is_usable(conn));
	assert_int_equal(pg_conn_wait_notification(conn, TEST_DEADLINE_MS), ERR_UNAVAILABLE);
	pg_conn_close(conn);
	tcp_proxy_free(proxy);
}

TEST_MAIN(.set_up = backend_fixture_set_up, .tear_down = backend_fixture_tear_down)
