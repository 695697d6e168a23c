/*
 * Single visits, newest first, page by page: the table visit_log, and each visit as a JSON object,
 * a line of NDJSON or a line of CSV. One table of columns defines the fields for all of them.
 * Hashes, networks and the serving instance are not shown.
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
#include "services/links-api/statistics/statistics_range.h"
#include "services/links-api/statistics/visit_filter.h"

/* With the NUL. */
#define VISIT_PAGE_ID_SIZE 37
#define VISIT_PAGE_CURSOR_SIZE 64

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
 * Reads at most limit visits; rows is for the functions below. Fewer than limit: the last page. It
 * searches the newest days first, so the cost of a page does not depend on the length of the log.
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

/* The caller owns the result. */
struct json *visit_page_object(const struct pg_result *rows, size_t row);

/* Appends one object and a line feed (NDJSON). */
void visit_page_add_json(struct strbuf *out, const struct pg_result *rows, size_t row);

/* CSV as in RFC 4180: CRLF, and quotes where they are needed. */
void visit_page_add_csv_header(struct strbuf *out);
void visit_page_add_csv(struct strbuf *out, const struct pg_result *rows, size_t row);

/*
 * Appends a cell of CSV. Referrers and campaigns are untrusted: an apostrophe stands before what a
 * spreadsheet would run as a formula (=, +, -, @ and their wide forms) at the start of the text,
 * and behind a comma, semicolon, tab or line end, where a spreadsheet with another separator
 * begins a cell. The dashboard has the same rules (csvCell of csv.ts); the examples for both are
 * tests/support/csv_cells.json.
 */
void visit_page_add_csv_text(struct strbuf *out, const char *text);

#endif
