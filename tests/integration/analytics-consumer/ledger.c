#include "tests/integration/analytics-consumer/ledger.h"

#include <stdint.h>

#include "tests/support/test.h"

#define SUMS                                                                                       \
	"count(*) FILTER (WHERE NOT is_bot) AS humans, count(*) FILTER (WHERE is_bot) AS bots, "   \
	"count(*) FILTER (WHERE is_unique) AS uniques FROM visit_log "
#define VALUES_OF_A_VISIT                                                                                            \
	", LATERAL (VALUES ('country', country), ('city', city), ('region', region), ('referrer', referrer_host), "  \
	"('browser', browser), ('os', os), ('device', device), ('language', language), ('utm_source', utm_source), " \
	"('utm_medium', utm_medium), ('utm_campaign', utm_campaign)) AS fact (dimension, value) WHERE value <> '' "
#define COUNT_DIFFERENCES(log, stored, keys)                                                       \
	"SELECT count(*) FROM (" log ") AS log FULL JOIN (" stored ") AS stored USING (" keys ") " \
	"WHERE (log.humans, log.bots, log.uniques) IS DISTINCT FROM (stored.humans, stored.bots, stored.uniques)"

static const char statistics_sql[] = COUNT_DIFFERENCES(
	"SELECT link_id, " SUMS "GROUP BY link_id",
	"SELECT link_id, visit_count AS humans, bot_count AS bots, unique_visitors AS uniques "
	"FROM link_statistics WHERE link_id > 0",
	"link_id");

static const char quarters_sql[] = COUNT_DIFFERENCES(
	"SELECT link_id, date_bin('15 minutes', occurred_at, 'epoch') AS bucket, " SUMS
	"GROUP BY 1, 2",
	"SELECT * FROM visit_rollup_quarter", "link_id, bucket");

static const char hours_sql[] = COUNT_DIFFERENCES(
	"SELECT link_id, dimension, date_bin('1 hour', occurred_at, 'epoch') AS bucket, value, " SUMS
		VALUES_OF_A_VISIT "GROUP BY 1, 2, 3, 4",
	"SELECT link_id, dimension::text, bucket, value, humans, bots, uniques FROM visit_rollup_hour",
	"link_id, dimension, bucket, value");

/* Only of finished days. */
static const char days_sql[] = COUNT_DIFFERENCES(
	"SELECT v.* FROM (SELECT link_id, dimension::visit_dimension, day, value, " SUMS
		VALUES_OF_A_VISIT
	"GROUP BY 1, 2, 3, 4) v, daily_rollup_progress f WHERE daily_rollup_has_value(f, link_id, day, dimension, value)",
	"SELECT d.* FROM visit_rollup_day d, daily_rollup_progress f "
	"WHERE daily_rollup_has_value(f, link_id, day, dimension, value)",
	"link_id, dimension, day, value");
static const char day_totals_sql[] = COUNT_DIFFERENCES(
	"SELECT v.* FROM (SELECT link_id, day, " SUMS "GROUP BY 1, 2) v, daily_rollup_progress f "
	"WHERE daily_rollup_has_total(f, link_id, day)",
	"SELECT t.* FROM visit_total_day t, daily_rollup_progress f WHERE daily_rollup_has_total(f, link_id, day)",
	"link_id, day");

void ledger_assert_equal(struct test_database *db)
{
	assert_int_equal(test_database_ask(db, statistics_sql), 0);
	assert_int_equal(test_database_ask(db, quarters_sql), 0);
	assert_int_equal(test_database_ask(db, hours_sql), 0);
	assert_int_equal(test_database_ask(db, days_sql), 0);
	assert_int_equal(test_database_ask(db, day_totals_sql), 0);
}
