#include <stdlib.h>

#include "lib/base/clock.h"
#include "services/links-api/links/link_zone.h"
#include "tests/support/test.h"

#define NOW_US INT64_C(1795161600000000) /* 2026-11-20T08:00:00Z */
#define HOUR_S 3600

/* A zone whose offset is an hour, or two from the first to the second moment. */
struct zone {
	int64_t begin_s, end_s;
	int questions;
};

static enum err answer(void *ctx, const int64_t *starts, size_t count, int64_t step_s, size_t steps,
                       int32_t *out)
{
	struct zone *zone = ctx;
	zone->questions++;
	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; k < steps; k++) {
			int64_t at_s = starts[i] + (int64_t)k * step_s;
			*out++ = at_s >= zone->begin_s && at_s < zone->end_s ? 2 * HOUR_S : HOUR_S;
		}
	}
	return OK;
}

static Waymark__V1__LinkZone find(struct zone *zone)
{
	Waymark__V1__LinkZone found = WAYMARK__V1__LINK_ZONE__INIT;
	assert_int_equal(link_zone_find(answer, zone, NOW_US, &found), OK);
	return found;
}

static void clear(Waymark__V1__LinkZone *zone)
{
	free(zone->since_s);
	free(zone->offset_s);
}

TEST_CASE(finds_when_clocks_change)
{
	struct zone zone = { 1806195600, 1824944400, 0 }; /* 01:00Z on days of 2027 */
	Waymark__V1__LinkZone found = find(&zone);
	assert_int_equal(found.n_since_s, 3);
	assert_int_equal(found.n_offset_s, 3);
	assert_int_equal(found.since_s[0], 0);
	assert_int_equal(found.offset_s[0], HOUR_S);
	assert_int_equal(found.since_s[1], zone.begin_s);
	assert_int_equal(found.offset_s[1], 2 * HOUR_S);
	assert_int_equal(found.since_s[2], zone.end_s);
	assert_int_equal(found.offset_s[2], HOUR_S);
	clear(&found);
}

TEST_CASE(a_zone_whose_clocks_stay_needs_one_question)
{
	struct zone zone = { 0, 0, 0 };
	Waymark__V1__LinkZone found = find(&zone);
	assert_int_equal(zone.questions, 1);
	assert_int_equal(found.n_since_s, 1);
	clear(&found);
}

TEST_CASE(knows_the_offset_of_yesterday)
{
	struct zone zone = { 0, NOW_US / CLOCK_US_PER_S - 2 * HOUR_S, 0 };
	Waymark__V1__LinkZone found = find(&zone);
	assert_int_equal(found.n_since_s, 2);
	assert_int_equal(found.offset_s[0], 2 * HOUR_S);
	assert_int_equal(found.since_s[1], zone.end_s);
	clear(&found);
}

TEST_MAIN()
