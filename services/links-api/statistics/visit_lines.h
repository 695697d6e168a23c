/*
 * One thread at a time. Formats one visit as a JSON object, a line of NDJSON or a line of CSV.
 * Names and order of the fields are those of visit_page_columns.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_STATISTICS_VISIT_LINES_H
#define WAYMARK_SERVICES_LINKS_API_STATISTICS_VISIT_LINES_H

#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/postgres/pg_result.h"

/* The caller owns the result. */
struct json *visit_lines_object(const struct pg_result *rows, size_t row);

/* Appends one object and a line feed (NDJSON). */
void visit_lines_add_json(struct strbuf *out, const struct pg_result *rows, size_t row);

/* CSV as in RFC 4180: CRLF, and quotes where they are needed. */
void visit_lines_add_csv_header(struct strbuf *out);
void visit_lines_add_csv(struct strbuf *out, const struct pg_result *rows, size_t row);

/*
 * Appends a cell of CSV. Referrers and campaigns are untrusted: an apostrophe stands before what a
 * spreadsheet would run as a formula (=, +, -, @ and their wide forms) at the start of the text,
 * and behind a comma, semicolon, tab or line end, where a spreadsheet with another separator
 * begins a cell. The dashboard has the same rules (csvCell of csv.ts); the examples for both are
 * tests/support/csv_cells.json.
 */
void visit_lines_add_csv_text(struct strbuf *out, const char *text);

#endif
