/*
 * Pure. What a value of a filter means for the field that it stands at.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LISTS_NQL_VALUE_H
#define WAYMARK_SERVICES_LINKS_API_LISTS_NQL_VALUE_H

#include "services/links-api/lists/nql.h"

/*
 * Fills is_null and number of out. is_bare: it was not quoted, so that null means none. NULL: it is right; otherwise
 * what it must be: "a number".
 */
const char *nql_value_read(const struct nql_node *term, const char *text, bool is_bare, struct nql_value *out);

#endif
