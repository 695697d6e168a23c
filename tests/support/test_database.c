#include "tests/support/test_database.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/entropy.h"
#include "lib/base/mem.h"

#define TIMEOUT_MS 300000
#define POLL_MS 20

struct test_database {
	char name[64];
	struct log *log;
	struct pg_conn *owner;
};

static void require(enum err err, const char *what)
{
	if (err == OK)
		return;
	fprintf(stderr, "test_database: %s: %s\n", what, err_name(err));
	abort();
}

static const char *admin_url(void)
{
	const char *url = getenv("ADMIN_PG_URL");
	if (!url)
		url = getenv("PG_URL");
	require(url ? OK : ERR_NOT_FOUND, "PG_URL");
	return url;
}

void test_database_url(const struct test_database *db, const char *role, char *out)
{
	const char *url = admin_url();
	const char *name = strrchr(url, '/');
	require(name ? OK : ERR_INVALID, "PG_URL has no database");
	snprintf(out, TEST_DATABASE_URL_SIZE, "%.*s/%s%s%s", (int)(name - url), url, db->name,
	         role ? "?options=-crole%3D" : "", role ? role : "");
}

struct pg_conn *test_database_connect(const struct test_database *db, const char *role)
{
	char url[TEST_DATABASE_URL_SIZE];
	struct pg_conn *conn = NULL;
	test_database_url(db, role, url);
	require(pg_conn_open(url, "test", TIMEOUT_MS, TIMEOUT_MS, db->log, &conn), "connect");
	return conn;
}

static void create_database(const struct test_database *db)
{
	struct pg_conn *admin = NULL; /* to the database in PG_URL */
	char sql[128];
	require(pg_conn_open(admin_url(), "test", TIMEOUT_MS, TIMEOUT_MS, db->log, &admin),
	        "connect");
	snprintf(sql, sizeof(sql), "CREATE DATABASE %s TEMPLATE waymark_migrated", db->name);
	require(pg_conn_query_once(admin, sql, NULL, NULL), sql);
	pg_conn_close(admin);
}

struct test_database *test_database_new(void)
{
	struct test_database *db = mem_zero(sizeof(*db));
	char suffix[17];
	entropy_text("abcdefghijklmnopqrstuvwxyz0123456789", suffix, sizeof(suffix) - 1);
	snprintf(db->name, sizeof(db->name), "test_%s", suffix);
	db->log = log_new("test", LOG_WARNING, 2);
	create_database(db);
	db->owner = test_database_connect(db, NULL);
	return db;
}

void test_database_close(struct test_database *db)
{
	pg_conn_close(db->owner);
	log_free(db->log);
	free(db);
}

void test_database_run(struct test_database *db, const char *sql)
{
	require(pg_conn_query_once(db->owner, sql, NULL, NULL), sql);
}

int64_t test_database_ask(struct test_database *db, const char *sql)
{
	struct pg_result *rows = NULL;
	require(pg_conn_query_once(db->owner, sql, NULL, &rows), sql);
	int64_t value = pg_result_int(rows, 0, 0);
	pg_result_free(rows);
	return value;
}

void test_database_await(struct test_database *db, const char *sql, int64_t wanted,
                         int64_t timeout_ms)
{
	int64_t deadline_us = clock_steady_us(clock_system()) + timeout_ms * CLOCK_US_PER_MS;
	int64_t value;
	while ((value = test_database_ask(db, sql)) != wanted) {
		if (clock_steady_us(clock_system()) > deadline_us) {
			fprintf(stderr, "test_database: after %lld ms %s gives %lld, not %lld\n",
			        (long long)timeout_ms, sql, (long long)value, (long long)wanted);
			abort();
		}
		poll(NULL, 0, POLL_MS);
	}
}
