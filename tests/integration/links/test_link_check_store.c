#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/links/link_check_store.h"
#include "lib/links/link_store.h"
#include "services/links-api/http/request.h"
#include "services/links-api/links/link_details.h"
#include "tests/integration/links/link_fixture.h"
#include "tests/support/test.h"

#define ROOM 10
#define LEASE_S 600

static size_t claim(struct link_fixture *f, int64_t limit, struct link_check_due *out)
{
	size_t count;
	assert_int_equal(link_check_store_claim(f->janitor, limit, LEASE_S, out, &count), OK);
	return count;
}

static struct link_detail get_detail(struct link_fixture *f, int64_t id)
{
	const struct request reader = { .workspace_id = 1 };
	struct link_details details = { 0 };
	assert_int_equal(link_details_read(&details, &reader, f->api, &id, 1), OK);
	struct link_detail detail = details.of[0];
	link_details_clear(&details);
	detail.notes = NULL;
	return detail;
}

TEST_CASE(stores_a_result_without_changing_the_link)
{
	struct link_fixture *f = *state;
	struct link_check_due due;
	link_fixture_make(f, "a");
	struct link before = f->link;
	int64_t events = test_database_ask(f->db, "SELECT count(*) FROM outbox");
	assert_int_equal(get_detail(f, before.entry.id).destination_status, LINK_CHECK_NEVER);
	assert_int_equal(get_detail(f, before.entry.id).last_checked_at_us, 0);
	assert_int_equal(claim(f, 1, &due), 1);
	assert_int_equal(due.link_id, before.entry.id);
	assert_string_equal(due.url, before.entry.original_url);
	assert_int_equal(link_check_store_write(f->janitor, &due, 404, 3, 900), OK);

	assert_int_equal(get_detail(f, before.entry.id).destination_status, 404);
	assert_true(get_detail(f, before.entry.id).last_checked_at_us > before.created_at_us);
	struct link after;
	assert_int_equal(link_store_get(f->api, before.entry.id, 1, &after), OK);
	assert_int_equal(after.entry.version, before.entry.version);
	assert_int_equal(after.updated_at_us, before.updated_at_us);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM outbox"), events);
	assert_int_equal(test_database_ask(f->db, "SELECT failed_checks FROM links"), 3);
	assert_int_equal(claim(f, 1, &due), 0);
}

/* keep: of link_keeping, in seconds, or 0 for a link that has not ended. */
static void assert_purged_after(struct link_fixture *f, const char *change, int64_t keep_s)
{
	char sql[256];
	snprintf(sql, sizeof(sql), "UPDATE links SET state_since = '2026-01-01T00:00:00Z', %s",
	         change);
	test_database_run(f->db, sql);
	const int64_t ended_us = INT64_C(1767225600000000);
	int64_t id = test_database_ask(f->db, "SELECT id FROM links");
	assert_int_equal(get_detail(f, id).purge_at_us, keep_s ? ended_us + keep_s * 1000000 : 0);
}

TEST_CASE(says_when_a_link_that_has_ended_is_purged)
{
	struct link_fixture *f = *state;
	const struct link_store_keep keep = { .temporary_s = 1, .expired_s = 2, .deleted_s = 3 };
	int64_t changed;
	link_fixture_make(f, "a");
	assert_purged_after(f, "state = 'EXPIRED', expires_at = clock_timestamp()", 0);
	assert_int_equal(link_store_set_keep(f->janitor, &keep, &changed), OK);
	assert_int_equal(changed, 1);
	assert_int_equal(link_store_set_keep(f->janitor, &keep, &changed), OK);
	assert_int_equal(changed, 0);
	assert_purged_after(f, "state = 'EXPIRED'", 2);
	assert_purged_after(f, "state = 'DELETED'", 3);
	assert_purged_after(f, "state = 'ACTIVE', expires_at = '2026-01-01T00:00:00Z'", 2);
	assert_purged_after(f, "expires_at = clock_timestamp() + interval '1 h'", 0);
	assert_purged_after(f, "state = 'EXPIRED', link_type = 'TEMPORARY', workspace_id = NULL",
	                    1);
	test_database_run(f->db, "TRUNCATE link_keeping");
}

TEST_CASE(resets_everything_when_the_destination_changes)
{
	struct link_fixture *f = *state;
	struct link_check_due due, again;
	link_fixture_make(f, "a");
	assert_int_equal(claim(f, 1, &due), 1);
	assert_int_equal(link_check_store_write(f->janitor, &due, 200, 0, 900), OK);
	/* A changed title does not change the destination. */
	snprintf(f->link.title, sizeof(f->link.title), "new");
	assert_int_equal(link_fixture_update(f->api, &f->link, LINK_CHANGE_UPDATED), OK);
	assert_int_equal(get_detail(f, due.link_id).destination_status, 200);

	snprintf(f->link.entry.original_url, LINK_URL_SIZE, "https://other.example/");
	assert_int_equal(link_fixture_update(f->api, &f->link, LINK_CHANGE_UPDATED), OK);
	assert_int_equal(get_detail(f, due.link_id).destination_status, LINK_CHECK_NEVER);
	assert_int_equal(get_detail(f, due.link_id).last_checked_at_us, 0);
	/* A result for the old destination does not count for the new one. */
	assert_int_equal(link_check_store_write(f->janitor, &due, 404, 1, 900), OK);
	assert_int_equal(link_check_store_postpone(f->janitor, &due, 900000), OK);
	assert_int_equal(get_detail(f, due.link_id).destination_status, LINK_CHECK_NEVER);
	assert_int_equal(claim(f, 1, &again), 1);
	assert_string_equal(again.url, "https://other.example/");
	assert_int_equal(again.failures, 0);
}

TEST_CASE(claims_each_due_link_once_longest_overdue_first)
{
	struct link_fixture *f = *state;
	struct link_check_due *due = mem_array(ROOM, sizeof(*due));
	link_fixture_make(f, "late");
	int64_t late = f->link.entry.id;
	link_fixture_make(f, "never");
	int64_t never = f->link.entry.id;
	link_fixture_make(f, "later");
	test_database_run(
		f->db,
		"UPDATE links SET next_check_at = now() - interval '1 h' WHERE slug = 'late'");
	test_database_run(
		f->db,
		"UPDATE links SET next_check_at = now() + interval '1 h' WHERE slug = 'later'");
	assert_int_equal(claim(f, 1, due), 1);
	assert_int_equal(due[0].link_id, never);
	assert_int_equal(claim(f, ROOM, due), 1);
	assert_int_equal(due[0].link_id, late);
	assert_int_equal(claim(f, ROOM, due), 0);
	/* A postponed check is due again after the given time. */
	assert_int_equal(link_check_store_postpone(f->janitor, &due[0], 0), OK);
	assert_int_equal(claim(f, ROOM, due), 1);
	assert_int_equal(get_detail(f, late).destination_status, LINK_CHECK_NEVER);
	free(due);
}

TEST_CASE(skips_links_that_are_not_active)
{
	struct link_fixture *f = *state;
	struct link_check_due due;
	const enum link_state states[] = { LINK_STATE_DISABLED, LINK_STATE_EXPIRED,
		                           LINK_STATE_DELETED };
	for (size_t i = 0; i < 3; i++) {
		char slug[2] = { (char)('a' + i), '\0' };
		link_fixture_make(f, slug);
		link_fixture_change(f, f->link.entry.id, states[i], LINK_CHANGE_UPDATED);
	}
	link_fixture_make(f, "over");
	test_database_run(f->db, "UPDATE links SET expires_at = now() WHERE slug = 'over'");
	assert_int_equal(claim(f, 1, &due), 0);
}

TEST_MAIN(.group_set_up = link_fixture_set_up, .group_tear_down = link_fixture_tear_down,
          .set_up = link_fixture_empty)
