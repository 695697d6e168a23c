/*
 * Pure. A position in the list of a link's visits as text: "1763625600123456_018f…". Clients send
 * it back to get the next page.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_STATISTICS_VISIT_CURSOR_H
#define WAYMARK_SERVICES_LINKS_API_STATISTICS_VISIT_CURSOR_H

#include "services/links-api/statistics/visit_page.h"

#define VISIT_CURSOR_SIZE 64

void visit_cursor_format(const struct visit_page_cursor *place, char out[static VISIT_CURSOR_SIZE]);

/* ERR_INVALID: text does not come from visit_cursor_format. */
enum err visit_cursor_parse(const char *text, struct visit_page_cursor *out) MUST_CHECK;

#endif
