/*
 * Single visits, page by page: the table visit_log, and each visit as a JSON object, a line of NDJSON
 * or a line of CSV. One table of columns defines the fields for all of them. Hashes, networks and the
 * serving instance are not shown.
 *
 * One thread at a time per connection.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_STATISTICS_VISIT_PAGE_H
#define WAYMARK_SERVICES_LINKS_API_STATISTICS_VISIT_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/postgres/pg_conn.h"
#include "lib/postgres/sql_column.h"
#include "services/links-api/statistics/statistics_range.h"
#include "services/links-api/statistics/visit_filter.h"

/* With the NUL. */
#define VISIT_PAGE_ID_SIZE 37
#define VISIT_PAGE_CURSOR_SIZE 64

/* Before all visits of a moment. */
#define VISIT_PAGE_NO_ID "00000000-0000-0000-0000-000000000000"

/* A position after the visit with this time and ID. */
struct visit_page_cursor {
	int64_t occurred_at_us;
	/* "": at the start. */
	char event_id[VISIT_PAGE_ID_SIZE];
};

struct visit_page_query {
	/* The visits of one link, newest first; 0 = of a workspace, oldest first. */
	int64_t link_id;
	/* For which they were counted. */
	int64_t workspace_id;
	/* Only of these links of the workspace (SQL_COLUMN_INT8); NULL = of all. */
	struct sql_column *link_ids;
	struct statistics_span span;
	const struct visit_filter *filter;
	struct visit_page_cursor after;
	size_t limit;
};

/* Where a page ends. */
struct visit_page_end {
	/* After the last visit of the page, or behind it, if none of those that follow matches. */
	struct visit_page_cursor next;
	/* No more visits follow in the span. */
	bool is_last;
};

/*
 * Reads at most limit visits; rows is for the functions below. The cost of a page does not depend on
 * the length of the log. Of a link it searches the newest days first. Of a workspace, whose filter may
 * match few of very many visits, a page looks at a bounded number of them: it may have fewer than limit,
 * even none, although it is not the last.
 */
enum err visit_page_read(struct pg_conn *conn, const struct visit_page_query *query,
                         struct pg_result **rows, struct visit_page_end *end) MUST_CHECK;

/* The cursor after a row. */
struct visit_page_cursor visit_page_cursor_of(const struct pg_result *rows, size_t row);

/* As text, which clients send back to get the next page: "1763625600123456_018f…". */
void visit_page_cursor_format(const struct visit_page_cursor *place,
                              char out[static VISIT_PAGE_CURSOR_SIZE]);

/* ERR_INVALID: text does not come from visit_page_cursor_format. */
enum err visit_page_cursor_parse(const char *text, struct visit_page_cursor *out) MUST_CHECK;

/* The caller owns the result. */
struct json *visit_page_object(const struct pg_result *rows, size_t row);

/* Appends one object and a line feed (NDJSON). */
void visit_page_add_json(struct strbuf *out, const struct pg_result *rows, size_t row);

/* CSV as in RFC 4180: CRLF, and quotes where they are needed. */
void visit_page_add_csv_header(struct strbuf *out);
void visit_page_add_csv(struct strbuf *out, const struct pg_result *rows, size_t row);

#endif
