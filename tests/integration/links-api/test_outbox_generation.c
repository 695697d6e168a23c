#include <stdint.h>
#include <stdlib.h>

#include "lib/base/mem.h"
#include "services/links-api/outbox/outbox_generation.h"
#include "tests/support/test.h"
#include "tests/support/test_database.h"

#define LOCK "relay"
/* Exceeds INT64_MAX: the database stores server numbers as signed. */
#define SERVER UINT64_C(0xfedcba9876543210)

struct fixture {
	struct test_database *db;
	struct pg_conn *conn;
	struct fenced_lock lock;
};

static int set_up(void **state)
{
	struct fixture *f = mem_zero(sizeof(*f));
	f->db = test_database_new();
	f->conn = test_database_connect(f->db, "waymark_links_api");
	assert_int_equal(fenced_lock_init(&f->lock, LOCK, "test"), OK);
	assert_int_equal(fenced_lock_acquire(&f->lock, f->conn, 60000), OK);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	pg_conn_close(f->conn);
	test_database_close(f->db);
	free(f);
	return 0;
}

static void assert_stored(struct fixture *f, int64_t generation, uint64_t server)
{
	struct link_cache_epoch stored;
	assert_int_equal(outbox_generation_read(f->conn, &stored), OK);
	assert_int_equal(stored.generation, generation);
	assert_int_equal(stored.server, server);
}

TEST_CASE(rises_by_one_or_above_a_given_generation)
{
	struct fixture *f = *state;
	struct link_cache_epoch raised;
	assert_stored(f, 1, 0);
	assert_int_equal(outbox_generation_raise(f->conn, &f->lock, 0, SERVER, &raised), OK);
	assert_int_equal(raised.generation, 2);
	assert_int_equal(raised.server, SERVER);
	assert_stored(f, 2, SERVER);
	assert_int_equal(outbox_generation_raise(f->conn, &f->lock, 100, 7, &raised), OK);
	assert_stored(f, 101, 7);
	assert_int_equal(outbox_generation_raise(f->conn, &f->lock, 50, 7, &raised), OK);
	assert_stored(f, 102, 7);
}

TEST_CASE(cannot_be_raised_with_a_stale_lock)
{
	struct fixture *f = *state;
	struct link_cache_epoch raised;
	test_database_run(f->db, "UPDATE shedlock SET fence = fence + 1");
	assert_int_equal(outbox_generation_raise(f->conn, &f->lock, 0, SERVER, &raised),
	                 ERR_CONFLICT);
	assert_stored(f, 1, 0);
}

TEST_CASE(only_links_api_may_read_it)
{
	static const char *const others[] = { "waymark_redirector", "waymark_consumer",
		                              "waymark_janitor" };
	struct fixture *f = *state;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		struct link_cache_epoch stored;
		struct pg_conn *conn = test_database_connect(f->db, others[i]);
		pg_conn_set_log(conn, NULL);
		assert_int_equal(outbox_generation_read(conn, &stored), ERR_INTERNAL);
		pg_conn_close(conn);
	}
}

TEST_MAIN(.set_up = set_up, .tear_down = tear_down)
