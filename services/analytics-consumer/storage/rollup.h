/*
 * One thread at a time. Aggregates a batch of visits by link, hour, dimension and value, and adds
 * the sums to the roll-ups: one row of rollup_delta per link and hour, with a packed list per
 * dimension (db/migrations/0007_rollups.sql). Rows are only inserted, so writers never wait for each
 * other. The janitor folds them.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_STORAGE_ROLLUP_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_STORAGE_ROLLUP_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/clicks/visit_dimension.h"
#include "lib/postgres/pg_conn.h"
#include "lib/postgres/sql_column.h"
#include "services/analytics-consumer/facts/visit.h"

struct rollup_row {
	int64_t link_id;
	/* 0 = none. All visits of a link in a batch have the same. */
	int64_t workspace_id;
	/* Its start. */
	int64_t hour_us;
	/*
	 * Borrowed; never "", because unknown values have no row. Of VISIT_DIMENSION_QUARTERS it is
	 * the quarter of an hour of the UTC day, "0" to "95".
	 */
	const char *value;
	enum visit_dimension dimension;
	int32_t humans;
	int32_t bots;
	/* Unique visits (unique_visitors.h). */
	int32_t uniques;
};

struct rollup_rows {
	const struct rollup_row *rows;
	size_t count;
};

struct rollup;

struct rollup *rollup_new(size_t visits_max);
void rollup_free(struct rollup *rollup);

/*
 * Aggregates the new visits. Each key occurs once, in the order of (link_id, hour, dimension). Of a
 * dimension with more values than ROLLUP_LIST_VALUES_MAX, those that count most are kept, and
 * "(other)" follows as one more. The result is borrowed until the next call, and no longer than
 * visits.
 */
struct rollup_rows rollup_sum(struct rollup *rollup, const struct visit *visits, size_t count);

/* Pure. Makes the rows of rollup_insert from the sums of the new visits. */
enum err rollup_prepare(struct rollup *rollup, const struct visit *visits, size_t count) MUST_CHECK;
/* Adds the sums of the last rollup_prepare to the roll-ups, inside the caller's transaction. */
enum err rollup_insert(const struct rollup *rollup, struct pg_conn *conn) MUST_CHECK;

/*
 * Deletes some rows of the purged links that had these slugs: their roll-ups and statistics, but
 * neither their visits nor the platform's totals. Slugs of links that are not purged are ignored.
 * Runs in its own transaction. *rows: the number of deleted rows; 0 = none is left. ERR_CONFLICT,
 * ERR_LIMIT: transient, try again.
 */
enum err rollup_delete_purged(struct pg_conn *conn, struct sql_column *slugs,
                              int64_t *rows) MUST_CHECK;

#endif
