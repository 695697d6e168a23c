/* Pure. Converts the text of a value to the type of its field. */
#ifndef WAYMARK_SERVICES_LINKS_API_LISTS_NQL_VALUE_H
#define WAYMARK_SERVICES_LINKS_API_LISTS_NQL_VALUE_H

#include "services/links-api/lists/nql.h"

/*
 * Fills is_null and number of out. is_bare: the value was not quoted, so that null means NULL.
 * Returns NULL if the value is valid, otherwise what it must be: "a whole number".
 */
const char *nql_value_read(const struct nql_node *term, const char *text, bool is_bare,
                           struct nql_value *out);

#endif
