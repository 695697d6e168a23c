#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/mem.h"
#include "services/links-api/health/health.h"
#include "services/links-api/outbox/outbox_session.h"
#include "tests/support/test.h"

#define NOW_US INT64_C(1795161600000000)

static struct health_backlog *healthy(void)
{
	struct health_backlog *b = mem_zero(sizeof(*b));
	b->now_us = NOW_US;
	b->as_of_us = NOW_US - CLOCK_US_PER_S;
	b->lock_count = 2;
	snprintf(b->locks[0].name, sizeof(b->locks[0].name), "waymark-expiry");
	b->locks[0].locked_at_us = NOW_US - CLOCK_US_PER_S;
	snprintf(b->locks[1].name, sizeof(b->locks[1].name), OUTBOX_SESSION_LOCK);
	b->locks[1].locked_until_us = NOW_US + CLOCK_US_PER_S;
	return b;
}

static void assert_problem_with_stores(struct health_backlog *b, struct health_stores stores,
                                       const char *wanted)
{
	struct health_report *report = mem_zero(sizeof(*report));
	struct json *json = health_json(report, b, stores);
	const struct json *problems = json_get(json, "problems");
	assert_int_equal(json_count(problems), wanted ? 1 : 0);
	if (wanted)
		assert_string_equal(json_text(json_get(json_at(problems, 0), "kind"), NULL),
		                    wanted);
	json_free(json);
	free(report);
	free(b);
}

/* wanted: the kind of the only problem; NULL: there is none. Frees b. */
static void assert_problem(struct health_backlog *b, const char *wanted)
{
	struct health_stores all = { .redis_is_reachable = true, .kafka_is_reachable = true };
	assert_problem_with_stores(b, all, wanted);
}

TEST_CASE(finds_no_problem_in_a_healthy_system)
{
	assert_problem(healthy(), NULL);
}

TEST_CASE(names_what_is_late)
{
	struct health_backlog *b = healthy();
	b->as_of_us = NOW_US - 61 * CLOCK_US_PER_S;
	assert_problem(b, "WaymarkCountingLagging");
	b = healthy();
	b->as_of_us = 0;
	assert_problem(b, "WaymarkCountingStalled");
	b = healthy();
	b->is_mail_late = true;
	assert_problem(b, "WaymarkMailFailing");
	b = healthy();
	b->outbox.oldest_us = 11 * CLOCK_US_PER_S;
	assert_problem(b, "WaymarkOutboxStale");
}

TEST_CASE(names_a_task_that_has_not_begun_for_longer_than_its_time)
{
	static const struct {
		const char *task;
		int64_t hours;
	} times[] = { { "waymark-expiry", 1 },     { "waymark-lists", 1 },
		      { "waymark-partitions", 3 }, { "waymark-retention", 49 },
		      { "waymark-rollups", 1 },    { "waymark-salts", 3 } };
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		for (int late_us = 0; late_us <= 1; late_us++) {
			struct health_backlog *b = healthy();
			snprintf(b->locks[0].name, sizeof(b->locks[0].name), "%s", times[i].task);
			b->locks[0].locked_at_us =
				NOW_US - times[i].hours * CLOCK_US_PER_HOUR - late_us;
			assert_problem(b, late_us ? "WaymarkJanitorTaskLate" : NULL);
		}
	}
}

TEST_CASE(names_a_relay_whose_lock_has_expired_or_is_missing)
{
	struct health_backlog *b = healthy();
	b->locks[1].locked_until_us = NOW_US - 1;
	assert_problem(b, "WaymarkOutboxRelayMissing");
	b = healthy();
	b->lock_count = 1;
	assert_problem(b, "WaymarkOutboxRelayMissing");
}

TEST_CASE(names_a_janitor_that_has_never_run)
{
	struct health_backlog *b = healthy();
	b->locks[0] = b->locks[1];
	b->lock_count = 1;
	assert_problem(b, "WaymarkJanitorTaskLate");
}

TEST_CASE(names_an_unreachable_redis_or_kafka)
{
	struct health_stores no_redis = { .kafka_is_reachable = true };
	struct health_stores no_kafka = { .redis_is_reachable = true };
	assert_problem_with_stores(healthy(), no_redis, "WaymarkRedisUnreachable");
	assert_problem_with_stores(healthy(), no_kafka, "WaymarkKafkaUnreachable");
}

TEST_MAIN()
