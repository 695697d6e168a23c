#include <stdint.h>
#include <string.h>

#include "lib/clicks/visit_event.h"
#include "services/links-api/live/live_visits.h"
#include "tests/support/test.h"

static int64_t add(struct live_visits *visits, int64_t workspace_id, int64_t offset)
{
	struct visit_event event = { .event_id = { 1 },
		                     .occurred_at_us = 1,
		                     .link_id = 7,
		                     .slug = "abc",
		                     .country = "DE",
		                     .status = 302,
		                     .latency_us = 1500,
		                     .workspace_id = workspace_id };
	struct strbuf bytes;
	strbuf_init(&bytes, VISIT_EVENT_BYTES_MAX);
	visit_event_encode(&event, &bytes);
	int64_t owner = live_visits_add(visits, 1, offset, bytes.data, bytes.len);
	strbuf_clear(&bytes);
	return owner;
}

TEST_CASE(keeps_visits_that_have_an_owner)
{
	struct live_visits *visits = live_visits_new();
	assert_int_equal(add(visits, 5, 0), 5);
	assert_int_equal(add(visits, 0, 1), 0);
	assert_int_equal(live_visits_add(visits, 1, 2, "\xff", 1), 0);
	assert_int_equal(live_visits_add(visits, 1, 2, NULL, 0), 0);
	assert_int_equal(add(visits, 6, 3), 6);
	assert_int_equal(live_visits_end(visits) - live_visits_first(visits), 2);
	struct live_visit *visit = live_visits_get(visits, live_visits_first(visits) + 1);
	assert_int_equal(visit->workspace_id, 6);
	assert_int_equal(visit->offset, 3);
	const char *json = live_visits_json(visits, visit);
	assert_non_null(strstr(json, "\"link_id\":7"));
	assert_non_null(strstr(json, "\"country\":\"DE\""));
	assert_non_null(strstr(json, "\"latency_ms\":1.5"));
	assert_ptr_equal(live_visits_json(visits, visit), json);
	live_visits_free(visits);
}

TEST_CASE(drops_the_oldest_and_knows_where)
{
	struct live_visits *visits = live_visits_new();
	for (int64_t i = 0; i < LIVE_VISITS_MAX + 10; i++)
		assert_int_equal(add(visits, 5, 2 * i), 5);
	assert_int_equal(live_visits_end(visits) - live_visits_first(visits), LIVE_VISITS_MAX);
	assert_int_equal(live_visits_get(visits, live_visits_first(visits))->offset, 20);
	assert_true(live_visits_dropped(visits, 1, 18));
	assert_false(live_visits_dropped(visits, 1, 19));
	assert_false(live_visits_dropped(visits, 0, 0));
	live_visits_clear(visits);
	assert_int_equal(live_visits_first(visits), live_visits_end(visits));
	assert_false(live_visits_dropped(visits, 1, 0));
	live_visits_free(visits);
}

TEST_MAIN()
