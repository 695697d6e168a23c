#include "services/links-api/links/link_details.h"

#include <stdint.h>

#include "lib/links/link_check_store.h"
#include "lib/links/visit_limit.h"
#include "services/links-api/http/request.h"
#include "tests/integration/links/link_fixture.h"
#include "tests/support/test.h"

#define MISSING 999999999

static int64_t make(struct link_fixture *f, const char *slug)
{
	link_fixture_make(f, slug);
	return f->link.entry.id;
}

static void assert_text(const char *text, const char *wanted)
{
	if (wanted)
		assert_string_equal(text, wanted);
	else
		assert_null(text);
}

TEST_CASE(each_link_has_its_own_in_the_order_of_the_ids)
{
	struct link_fixture *f = *state;
	int64_t plain = make(f, "plain"), full = make(f, "full"), foreign = make(f, "foreign");
	static const char *const filled[] = {
		"INSERT INTO link_statistics (link_id, visit_count, bot_count) "
		"SELECT id, 7, 90 FROM links WHERE slug = 'full'",
		"INSERT INTO link_visit_limits (link_id, max_visits, taken) "
		"SELECT id, 10, CASE slug WHEN 'full' THEN 8 ELSE 13 END FROM links WHERE slug <> 'plain'",
		"INSERT INTO link_notes (link_id, notes) SELECT id, slug FROM links WHERE slug <> 'plain'",
		"UPDATE links SET destination_status = 404 WHERE slug = 'full'",
		"UPDATE links SET workspace_id = 2 WHERE slug = 'foreign'",
	};
	for (size_t i = 0; i < sizeof(filled) / sizeof(filled[0]); i++)
		test_database_run(f->db, filled[i]);
	const int64_t ids[] = { full, MISSING, foreign, plain, full };
	static const struct {
		int64_t visits, bots, left;
		int status;
		const char *notes;
	} wanted[] = { { 7, 90, 2, 404, "full" },
		       { 0, 0, VISIT_LIMIT_NONE, LINK_CHECK_NEVER, NULL },
		       { 0, 0, 0, LINK_CHECK_NEVER, NULL },
		       { 0, 0, VISIT_LIMIT_NONE, LINK_CHECK_NEVER, "" },
		       { 7, 90, 2, 404, "full" } };
	const struct request reader = { .workspace_id = 1 };
	struct link_details details = { 0 };
	assert_int_equal(link_details_read(&details, &reader, f->api, ids, 5), OK);
	for (size_t i = 0; i < 5; i++) {
		assert_int_equal(details.of[i].visit_count, wanted[i].visits);
		assert_int_equal(details.of[i].bot_count, wanted[i].bots);
		assert_int_equal(details.of[i].visits_left, wanted[i].left);
		assert_int_equal(details.of[i].destination_status, wanted[i].status);
		assert_text(details.of[i].notes, wanted[i].notes);
	}
	assert_int_equal(link_details_read(&details, &reader, f->api, ids, 0), OK);
	assert_int_equal(details.count, 0);
	link_details_clear(&details);
}

TEST_MAIN(.group_set_up = link_fixture_set_up, .group_tear_down = link_fixture_tear_down,
          .set_up = link_fixture_empty)
