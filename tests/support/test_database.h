/*
 * A migrated database for one test on the server of PG_URL, and connections to it with the rights
 * of a service. Every failure aborts the test. One thread at a time.
 */
#ifndef WAYMARK_TESTS_SUPPORT_TEST_DATABASE_H
#define WAYMARK_TESTS_SUPPORT_TEST_DATABASE_H

#include "lib/postgres/pg_conn.h"

#define TEST_DATABASE_URL_SIZE 1024

struct test_database;

/* A copy of waymark_migrated (tests/support/in-own-stack, shared-stack). */
struct test_database *test_database_new(void);
/*
 * The database stays until its server is gone. Dropping it would delete some 500 files, and ext4
 * takes up to 0.4 s of CPU to create the next 500, as it looks for inodes not deleted lately.
 */
void test_database_close(struct test_database *db);

/*
 * A URL with the rights of a role of db/migrations/0001_roles.sql ("waymark_janitor"); NULL = the
 * owner. For programs and pools. out must have room for TEST_DATABASE_URL_SIZE bytes.
 */
void test_database_url(const struct test_database *db, const char *role, char *out);

/* A connection with those rights; close it with pg_conn_close. */
struct pg_conn *test_database_connect(const struct test_database *db, const char *role);

/* Runs a statement as the owner. */
void test_database_run(struct test_database *db, const char *sql);
/* The same, and returns its first value as a number. */
int64_t test_database_ask(struct test_database *db, const char *sql);

/* Repeats the query until it gives wanted. Fails the test after timeout_ms. */
void test_database_await(struct test_database *db, const char *sql, int64_t wanted,
                         int64_t timeout_ms);

#endif
