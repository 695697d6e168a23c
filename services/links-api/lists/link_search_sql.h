/*
 * Pure. The conditions of a search in SQL. A search looks in what stands one behind the other in a link: slug, target and
 * title, with line ends between them, which none of them has. Whatever is found in one of them is found in the whole.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LISTS_LINK_SEARCH_SQL_H
#define WAYMARK_SERVICES_LINKS_API_LISTS_LINK_SEARCH_SQL_H

#include <stdbool.h>

#include "lib/base/strbuf.h"
#include "lib/net/pg_params.h"
#include "services/links-api/lists/link_search.h"
#include "services/links-api/lists/sql_texts.h"

/* Whether links_search_idx can be asked at all: not for less than three characters. */
bool link_search_sql_has_index(const struct link_search *search);

/* Adds " AND …", which the index answers and which holds for all that contain the text, and for others. Or nothing. */
void link_search_sql_add_index(const struct link_search *search, struct strbuf *sql, struct pg_params *params,
                               struct sql_texts *texts);

/* Adds " AND …", which holds for all that contain text, in any case, and which no index answers. */
void link_search_sql_add_exact(const char *text, struct strbuf *sql, struct pg_params *params, struct sql_texts *texts);

#endif
