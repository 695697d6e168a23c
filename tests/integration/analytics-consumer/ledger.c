#include "tests/integration/analytics-consumer/ledger.h"

#include <stdint.h>

#include "lib/clicks/visit_dimension.h"
#include "tests/support/test.h"

#define SUMS                                                                                       \
	"count(*) FILTER (WHERE NOT is_bot) AS humans, count(*) FILTER (WHERE is_bot) AS bots, "   \
	"count(*) FILTER (WHERE is_unique) AS uniques FROM visit_log "
#define FACT(NAME, name) ", ('" #name "', " #name ")"
#define ENTRIES_OF_A_VISIT                                                                              \
	", LATERAL (VALUES ('quarters', "                                                               \
	"(floor(extract(epoch FROM occurred_at))::bigint / 900 % 96)::text)" VISIT_DIMENSION_ROLLED_UP( \
		FACT) ") AS fact (dimension, value) WHERE value <> '' "
#define STORED_SUMS                                                                                \
	"sum(humans)::bigint AS humans, sum(bots)::bigint AS bots, sum(uniques)::bigint AS uniques "
#define COUNT_DIFFERENCES(log, stored, keys)                                                       \
	"SELECT count(*) FROM (" log ") AS log FULL JOIN (" stored ") AS stored USING (" keys ") " \
	"WHERE (log.humans, log.bots, log.uniques) IS DISTINCT FROM (stored.humans, stored.bots, stored.uniques)"

static const char statistics_sql[] = COUNT_DIFFERENCES(
	"SELECT link_id, " SUMS "GROUP BY link_id",
	"SELECT link_id, visit_count AS humans, bot_count AS bots, unique_visitors AS uniques "
	"FROM link_statistics WHERE link_id > 0",
	"link_id");

#define HOUR "date_trunc('hour', occurred_at, 'UTC')"
static const char hours_sql[] =
	COUNT_DIFFERENCES("SELECT link_id, dimension, " HOUR
                          " AS hour, value, " SUMS ENTRIES_OF_A_VISIT "GROUP BY 1, 2, 3, 4",
                          "SELECT link_id, dimension, hour, value, " STORED_SUMS
                          "FROM rollup_hour_entries GROUP BY 1, 2, 3, 4",
                          "link_id, dimension, hour, value");
static const char hour_totals_sql[] = COUNT_DIFFERENCES(
	"SELECT link_id, " HOUR " AS hour, " SUMS "GROUP BY 1, 2",
	"SELECT link_id, hour, " STORED_SUMS
	"FROM (SELECT link_id, hour, humans, bots, uniques FROM rollup_hour "
	"UNION ALL SELECT link_id, hour, humans, bots, uniques FROM rollup_delta) AS rows GROUP BY 1, 2",
	"link_id, hour");
static const char days_sql[] = COUNT_DIFFERENCES(
	"SELECT link_id, dimension, day, value, " SUMS ENTRIES_OF_A_VISIT "GROUP BY 1, 2, 3, 4",
	"SELECT link_id, dimension, day, value, " STORED_SUMS
	"FROM rollup_day_entries GROUP BY 1, 2, 3, 4",
	"link_id, dimension, day, value");
static const char day_totals_sql[] = COUNT_DIFFERENCES(
	"SELECT link_id, day, " SUMS "GROUP BY 1, 2",
	"SELECT link_id, day, " STORED_SUMS
	"FROM (SELECT link_id, day, humans, bots, uniques FROM rollup_day UNION ALL "
	"SELECT link_id, (hour AT TIME ZONE 'UTC')::date, humans, bots, uniques FROM rollup_delta) AS rows "
	"GROUP BY 1, 2",
	"link_id, day");

/* Of accounts, by the owner that a visit was counted for. */
static const char account_hours_sql[] = COUNT_DIFFERENCES(
	"SELECT workspace_id AS workspace_id, dimension, " HOUR
	" AS hour, value, " SUMS ENTRIES_OF_A_VISIT "AND workspace_id <> 0 GROUP BY 1, 2, 3, 4",
	"SELECT workspace_id, dimension, hour, value, " STORED_SUMS
	"FROM rollup_workspace_hour_entries GROUP BY 1, 2, 3, 4",
	"workspace_id, dimension, hour, value");
static const char account_days_sql[] = COUNT_DIFFERENCES(
	"SELECT workspace_id AS workspace_id, dimension, day, value, " SUMS ENTRIES_OF_A_VISIT
	"AND workspace_id <> 0 GROUP BY 1, 2, 3, 4",
	"SELECT workspace_id, dimension, day, value, " STORED_SUMS
	"FROM rollup_workspace_day_entries GROUP BY 1, 2, 3, 4",
	"workspace_id, dimension, day, value");

void ledger_assert_equal(struct test_database *db)
{
	assert_int_equal(test_database_ask(db, statistics_sql), 0);
	assert_int_equal(test_database_ask(db, hours_sql), 0);
	assert_int_equal(test_database_ask(db, hour_totals_sql), 0);
	assert_int_equal(test_database_ask(db, days_sql), 0);
	assert_int_equal(test_database_ask(db, day_totals_sql), 0);
	ledger_assert_accounts_equal(db);
}

void ledger_assert_accounts_equal(struct test_database *db)
{
	assert_int_equal(test_database_ask(db, account_hours_sql), 0);
	assert_int_equal(test_database_ask(db, account_days_sql), 0);
}
