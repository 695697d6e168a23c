#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "services/links-api/identity/audit_store.h"
#include "tests/support/test.h"
#include "tests/support/test_database.h"

struct fixture {
	struct test_database *db;
	struct pg_conn *conn;
};

static int set_up(void **state)
{
	struct fixture *f = mem_zero(sizeof(*f));
	f->db = test_database_new();
	f->conn = test_database_connect(f->db, "waymark_links_api");
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

TEST_CASE(records_actor_action_and_subject)
{
	struct fixture *f = *state;
	struct json *details = json_new_object();
	json_set_text(details, "slug", "it's \"this\"");
	const struct audit_entry entry = {
		.actor_id = 7,
		.key_id = 8,
		.action = "link.create",
		.subject_type = "link",
		.subject_id = 9,
		.request_id = "r-1",
		.details = details,
	};
	assert_int_equal(audit_store_add(f->conn, &entry), OK);
	json_free(details);
	assert_int_equal(
		test_database_ask(
			f->db,
			"SELECT count(*) FROM audit_log WHERE actor_id = 7 AND key_id = 8 "
			"AND action = 'link.create' AND subject_type = 'link' AND subject_id = 9 "
			"AND request_id = 'r-1' AND details = '{\"slug\": \"it''s \\\"this\\\"\"}' "
			"AND at > clock_timestamp() - interval '1 minute'"),
		1);
}

TEST_CASE(records_null_without_an_actor)
{
	struct fixture *f = *state;
	const struct audit_entry entry = { .action = "user.update",
		                           .subject_type = "user",
		                           .subject_id = 1 };
	assert_int_equal(audit_store_add(f->conn, &entry), OK);
	assert_int_equal(
		test_database_ask(f->db,
	                          "SELECT count(*) FROM audit_log WHERE actor_id IS NULL "
	                          "AND key_id IS NULL AND request_id = '' AND details = '{}'"),
		1);
}

TEST_CASE(rejects_details_beyond_the_limit)
{
	struct fixture *f = *state;
	char long_text[AUDIT_STORE_DETAILS_BYTES_MAX];
	memset(long_text, 'x', sizeof(long_text) - 1);
	long_text[sizeof(long_text) - 1] = '\0';
	struct json *details = json_new_object();
	json_set_text(details, "slug", long_text);
	const struct audit_entry entry = { .actor_id = 5,
		                           .action = "link.create",
		                           .subject_type = "link",
		                           .subject_id = 1,
		                           .details = details };
	assert_int_equal(audit_store_add(f->conn, &entry), ERR_LIMIT);
	json_free(details);
	assert_int_equal(
		test_database_ask(f->db, "SELECT count(*) FROM audit_log WHERE actor_id = 5"), 0);
}

TEST_CASE(links_api_cannot_change_or_delete_entries)
{
	struct fixture *f = *state;
	pg_conn_set_log(f->conn, NULL);
	assert_int_equal(pg_conn_query(f->conn, "DELETE FROM audit_log", NULL, NULL), ERR_INTERNAL);
	assert_int_equal(pg_conn_query(f->conn, "UPDATE audit_log SET actor_id = 1", NULL, NULL),
	                 ERR_INTERNAL);
}

TEST_MAIN(.group_set_up = set_up, .group_tear_down = tear_down)
