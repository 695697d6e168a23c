/*
 * Single visits, newest first, page by page: the table visit_log. One table of columns defines the
 * fields for SQL, JSON and CSV. Hashes, networks and the serving instance are not shown.
 *
 * One thread at a time per connection.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_STATISTICS_VISIT_PAGE_H
#define WAYMARK_SERVICES_LINKS_API_STATISTICS_VISIT_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/postgres/pg_conn.h"
#include "services/links-api/statistics/statistics_range.h"
#include "services/links-api/statistics/visit_filter.h"

/* With the NUL. */
#define VISIT_PAGE_ID_SIZE 37
#define VISIT_PAGE_CURSOR_SIZE 64

enum visit_page_kind {
	VISIT_PAGE_TEXT,
	VISIT_PAGE_INT,
	VISIT_PAGE_REAL,
	VISIT_PAGE_BOOL,
	VISIT_PAGE_TIME
};

enum { VISIT_PAGE_COLUMN_ID, VISIT_PAGE_COLUMN_OCCURRED_AT, VISIT_PAGE_COLUMNS = 22 };

struct visit_page_column {
	const char *name;
	const char *sql;
	enum visit_page_kind kind;
};

extern const struct visit_page_column visit_page_columns[VISIT_PAGE_COLUMNS];

/* A position after the visit with this time and ID. */
struct visit_page_cursor {
	int64_t occurred_at_us;
	/* "": at the start. */
	char event_id[VISIT_PAGE_ID_SIZE];
};

struct visit_page_query {
	int64_t link_id;
	struct statistics_span span;
	const struct visit_filter *filter;
	struct visit_page_cursor after;
	size_t limit;
};

/*
 * Reads at most limit visits; rows has the columns in the order of visit_page_columns. Fewer than
 * limit: the last page. It searches the newest days first, so the cost of a page does not depend on
 * the length of the log.
 */
enum err visit_page_read(struct pg_conn *conn, const struct visit_page_query *query,
                         struct pg_result **rows) MUST_CHECK;

/* The cursor after a row. */
struct visit_page_cursor visit_page_cursor_of(const struct pg_result *rows, size_t row);

/* As text, which clients send back to get the next page: "1763625600123456_018f…". */
void visit_page_cursor_format(const struct visit_page_cursor *place,
                              char out[static VISIT_PAGE_CURSOR_SIZE]);

/* ERR_INVALID: text does not come from visit_page_cursor_format. */
enum err visit_page_cursor_parse(const char *text, struct visit_page_cursor *out) MUST_CHECK;

#endif
