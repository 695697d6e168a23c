/* Pure. Cells of CSV, which spreadsheets open (RFC 4180). */
#ifndef WAYMARK_SERVICES_LINKS_API_STATISTICS_CSV_CELL_H
#define WAYMARK_SERVICES_LINKS_API_STATISTICS_CSV_CELL_H

#include "lib/base/strbuf.h"

/*
 * Appends a cell. Referrers and campaigns are untrusted: an apostrophe stands before what a
 * spreadsheet would run as a formula (=, +, -, @ and their wide forms) at the start of the text,
 * and behind a comma, semicolon, tab or line end, where a spreadsheet with another separator
 * begins a cell. The dashboard has the same rules (csvCell of csv.ts); the examples for both are
 * tests/support/csv_cells.json.
 */
void csv_cell_add(struct strbuf *out, const char *text);

#endif
