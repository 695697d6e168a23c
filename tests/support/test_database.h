/*
 * One thread at a time. A database of a test's own in the server that PG_URL names, migrated, and connections to it
 * with the rights of a service. Every failure ends the test.
 */
#ifndef WAYMARK_TESTS_SUPPORT_TEST_DATABASE_H
#define WAYMARK_TESTS_SUPPORT_TEST_DATABASE_H

#include "lib/net/pg_conn.h"

#define TEST_DATABASE_URL_SIZE 1024

struct test_database;

struct test_database *test_database_new(void);
/* As it was before the migration of that number: one that stands behind it changes a database with rows in it. */
struct test_database *test_database_new_before(int64_t version);
/* Applies the migrations from that number on. */
void test_database_migrate(struct test_database *db, int64_t version);
/* Ends whoever is still connected. */
void test_database_drop(struct test_database *db);

/*
 * A URL with the rights of a role of db/migrations/0001_roles.sql ("waymark_janitor"); NULL = the owner. For programs
 * and pools; out has TEST_DATABASE_URL_SIZE bytes.
 */
void test_database_url(const struct test_database *db, const char *role, char *out);

/* A connection with those rights; close it with pg_conn_close. */
struct pg_conn *test_database_connect(const struct test_database *db, const char *role);

/* Runs a literal statement as the owner. */
void test_database_run(struct test_database *db, const char *sql);
/* The same, and gives its first value as a number. */
int64_t test_database_ask(struct test_database *db, const char *sql);

/* Asks again and again until the answer is wanted; after timeout_ms the test fails. */
void test_database_await(struct test_database *db, const char *sql, int64_t wanted, int64_t timeout_ms);

#endif
