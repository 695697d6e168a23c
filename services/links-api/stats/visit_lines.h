/*
 * One thread at a time. Single visits as text: an object, a line of JSON, a line of CSV. Names and order are those of
 * visit_page_columns.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_STATS_VISIT_LINES_H
#define WAYMARK_SERVICES_LINKS_API_STATS_VISIT_LINES_H

#include "lib/base/strbuf.h"
#include "lib/net/json.h"
#include "lib/net/pg_result.h"

/* The caller owns it. */
struct json *visit_lines_object(const struct pg_result *rows, size_t row);

/* One object and a line feed (NDJSON). */
void visit_lines_add_json(struct strbuf *out, const struct pg_result *rows, size_t row);

/*
 * RFC 4180: CRLF, quotes where they are needed. A text that a spreadsheet would take for a formula (=, +, -, @, tab or
 * CR first) gets an apostrophe before it: referrers and campaigns come from strangers.
 */
void visit_lines_add_csv_header(struct strbuf *out);
void visit_lines_add_csv(struct strbuf *out, const struct pg_result *rows, size_t row);

#endif
