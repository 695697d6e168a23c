#include <stdint.h>
#include <string.h>

#include "services/links-api/links/slug_allocator.h"
#include "tests/support/test.h"
#include "tests/support/test_database.h"

static struct test_database *db;
static struct pg_conn *conn;

static int set_up(void **state)
{
	(void)state;
	db = test_database_new();
	conn = test_database_connect(db, "waymark_links_api");
	test_database_run(db,
	                  "INSERT INTO users (email, password_hash) VALUES ('a@example.com', 'x')");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	pg_conn_close(conn);
	test_database_close(db);
	return 0;
}

static int empty(void **state)
{
	(void)state;
	test_database_run(db, "TRUNCATE outbox, shares, link_history, link_notes, link_aliases, "
	                      "link_visit_limits, dead_links, links");
	return 0;
}

/* Always the same slug for a length: the second link of that length collides. */
static void first_of_length(char out[static SLUG_SIZE], size_t length)
{
	memset(out, 'a', length);
	out[length] = '\0';
}

static enum err create(const char *slug, slug_allocator_source source, struct link *out)
{
	struct slug_allocator_item item = {
		.requested = { .slug = slug,
		               .original_url = "https://example.com/",
		               .redirect_status = 302,
		               .workspace_id = 1 },
		.link = out,
	};
	assert_int_equal(pg_conn_begin(conn), OK);
	assert_int_equal(slug_allocator_create(conn, &item, source), OK);
	assert_int_equal(pg_conn_commit(conn), OK);
	return item.err;
}

TEST_CASE(random_slugs_have_seven_characters)
{
	struct link link;
	for (int i = 0; i < 50; i++) {
		assert_int_equal(create(NULL, slug_random, &link), OK);
		assert_int_equal(strlen(link.entry.slug), SLUG_RANDOM_LENGTH);
	}
	assert_int_equal(test_database_ask(db, "SELECT count(DISTINCT slug) FROM links"), 50);
}

TEST_CASE(a_random_slug_grows_if_all_tries_of_its_length_are_used)
{
	struct link link;
	for (size_t length = SLUG_RANDOM_LENGTH; length <= SLUG_ALLOCATOR_LENGTH_MAX; length++) {
		assert_int_equal(create(NULL, first_of_length, &link), OK);
		assert_int_equal(strlen(link.entry.slug), length);
	}
	assert_int_equal(create(NULL, first_of_length, &link), ERR_LIMIT);
	assert_int_equal(test_database_ask(db, "SELECT count(*) FROM links"), 6);
	assert_int_equal(test_database_ask(db, "SELECT count(*) FROM outbox"), 6);
}

TEST_CASE(a_requested_slug_is_not_replaced_by_another)
{
	struct link link;
	assert_int_equal(create("mine", slug_random, &link), OK);
	assert_string_equal(link.entry.slug, "mine");
	assert_int_equal(create("mine", slug_random, &link), ERR_CONFLICT);
	assert_int_equal(test_database_ask(db, "SELECT count(*) FROM links"), 1);
}

TEST_MAIN(.group_set_up = set_up, .group_tear_down = tear_down, .set_up = empty)
