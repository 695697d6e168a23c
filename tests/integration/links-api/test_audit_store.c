#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "services/links-api/accounts/audit_store.h"
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
	test_database_drop(f->db);
	free(f);
	return 0;
}

static void records_actor_action_and_subject(void **state)
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

static void records_null_without_an_actor(void **state)
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

static void writes_one_entry_for_each_subject_of_a_bulk(void **state)
{
	struct fixture *f = *state;
	int64_t ids[AUDIT_STORE_SUBJECTS_MAX + 1];
	for (size_t i = 0; i <= AUDIT_STORE_SUBJECTS_MAX; i++)
		ids[i] = 1000 + (int64_t)i;
	const struct audit_entry entry = { .actor_id = 3,
		                           .action = "link.delete",
		                           .subject_type = "link" };
	assert_int_equal(audit_store_add_bulk(f->conn, &entry, ids, 0), OK);
	assert_int_equal(audit_store_add_bulk(f->conn, &entry, ids, AUDIT_STORE_SUBJECTS_MAX + 1),
	                 ERR_LIMIT);
	assert_int_equal(audit_store_add_bulk(f->conn, &entry, ids, AUDIT_STORE_SUBJECTS_MAX), OK);
	assert_int_equal(
		test_database_ask(
			f->db,
			"SELECT count(DISTINCT subject_id) FROM audit_log WHERE actor_id = 3 "
			"AND subject_id BETWEEN 1000 AND 1999"),
		AUDIT_STORE_SUBJECTS_MAX);
}

static void rejects_details_beyond_the_limit(void **state)
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

static void links_api_cannot_change_or_delete_entries(void **state)
{
	struct fixture *f = *state;
	pg_conn_set_log(f->conn, NULL);
	assert_int_equal(pg_conn_query(f->conn, "DELETE FROM audit_log", NULL, NULL), ERR_INTERNAL);
	assert_int_equal(pg_conn_query(f->conn, "UPDATE audit_log SET actor_id = 1", NULL, NULL),
	                 ERR_INTERNAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_actor_action_and_subject),
		cmocka_unit_test(records_null_without_an_actor),
		cmocka_unit_test(writes_one_entry_for_each_subject_of_a_bulk),
		cmocka_unit_test(rejects_details_beyond_the_limit),
		cmocka_unit_test(links_api_cannot_change_or_delete_entries),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
