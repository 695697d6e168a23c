#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/clicks/salt_store.h"
#include "tests/support/test.h"
#include "tests/support/test_database.h"

struct fixture {
	struct test_database *db;
	struct pg_conn *janitor;
	struct pg_conn *redirector;
};

static int set_up(void **state)
{
	struct fixture *f = mem_zero(sizeof(*f));
	f->db = test_database_new();
	f->janitor = test_database_connect(f->db, "waymark_janitor");
	f->redirector = test_database_connect(f->db, "waymark_redirector");
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	pg_conn_close(f->janitor);
	pg_conn_close(f->redirector);
	test_database_close(f->db);
	free(f);
	return 0;
}

static int truncate_tables(void **state)
{
	struct fixture *f = *state;
	test_database_run(f->db, "TRUNCATE visitor_salts");
	return 0;
}

TEST_CASE(creates_a_different_salt_for_each_day)
{
	struct fixture *f = *state;
	int64_t made = -1;
	assert_int_equal(salt_store_create_missing(f->janitor, 20000, 20002, &made), OK);
	assert_int_equal(made, 3);
	struct salt salts[5];
	size_t count = 0;
	assert_int_equal(salt_store_read(f->redirector, 19999, 20003, salts, &count), OK);
	assert_int_equal(count, 3);
	static const uint8_t zeroes[VISITOR_SALT_SIZE];
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(salts[i].day, 20000 + (int32_t)i);
		assert_memory_not_equal(salts[i].bytes, zeroes, sizeof(zeroes));
	}
	assert_memory_not_equal(salts[0].bytes, salts[1].bytes, VISITOR_SALT_SIZE);
}

TEST_CASE(never_replaces_a_salt)
{
	struct fixture *f = *state;
	int64_t made = -1;
	struct salt before, after[3];
	size_t count = 0;
	assert_int_equal(salt_store_create_missing(f->janitor, 20001, 20001, &made), OK);
	assert_int_equal(salt_store_read(f->redirector, 20001, 20001, &before, &count), OK);
	assert_int_equal(salt_store_create_missing(f->janitor, 20000, 20002, &made), OK);
	assert_int_equal(made, 2);
	assert_int_equal(salt_store_read(f->redirector, 20000, 20002, after, &count), OK);
	assert_memory_equal(after[1].bytes, before.bytes, VISITOR_SALT_SIZE);
}

TEST_CASE(deletes_earlier_days_and_keeps_the_rest)
{
	struct fixture *f = *state;
	int64_t n = -1;
	assert_int_equal(salt_store_create_missing(f->janitor, 20000, 20002, &n), OK);
	assert_int_equal(salt_store_delete_before(f->janitor, 20001, &n), OK);
	assert_int_equal(n, 1);
	struct salt salts[3];
	size_t count = 0;
	assert_int_equal(salt_store_read(f->redirector, 20000, 20002, salts, &count), OK);
	assert_int_equal(count, 2);
	assert_int_equal(salts[0].day, 20001);
}

TEST_CASE(redirectors_may_only_read)
{
	struct fixture *f = *state;
	int64_t n = -1;
	pg_conn_set_log(f->redirector, NULL);
	assert_int_equal(salt_store_create_missing(f->redirector, 20000, 20000, &n), ERR_INTERNAL);
	assert_int_equal(salt_store_delete_before(f->redirector, 20001, &n), ERR_INTERNAL);
}

TEST_MAIN(.group_set_up = set_up, .group_tear_down = tear_down, .set_up = truncate_tables)
