/*
 * Pure. The SQL conditions of a search. A search covers slug, original URL and title, joined by
 * line feeds. None of the three contains a line feed, so a match in the joined text is a match in
 * one of them.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LISTS_LINK_SEARCH_SQL_H
#define WAYMARK_SERVICES_LINKS_API_LISTS_LINK_SEARCH_SQL_H

#include <stdbool.h>

#include "lib/base/strbuf.h"
#include "lib/postgres/pg_params.h"
#include "services/links-api/lists/link_search.h"
#include "services/links-api/lists/sql_texts.h"

/* False if links_search_idx cannot help: the text has fewer than three usable characters. */
bool link_search_sql_has_index(const struct link_search *search);

/*
 * Appends " AND (…)": a condition that the index evaluates. It is true for every link that contains
 * the text or other, and for some more; other "": the text alone. Appends nothing if the index
 * cannot help.
 */
void link_search_sql_add_index(const struct link_search *search, const char *other,
                               struct strbuf *sql, struct pg_params *params,
                               struct sql_texts *texts);

/*
 * Appends " AND (…)": true for exactly the links that contain text or other, ignoring case; other
 * "": text alone. Uses no index.
 */
void link_search_sql_add_exact(const char *text, const char *other, struct strbuf *sql,
                               struct pg_params *params, struct sql_texts *texts);

#endif
