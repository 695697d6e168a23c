/*
 * One thread at a time per connection. How many links contain a trigram: the tables
 * link_search_count and link_search_trigrams, which the janitor fills from a sample
 * (docs/decisions/0028-link-lists-and-search.md). Errors of pg_conn_query pass through.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LISTS_LINK_SEARCH_STORE_H
#define WAYMARK_SERVICES_LINKS_API_LISTS_LINK_SEARCH_STORE_H

#include <stdint.h>

#include "lib/base/err.h"
#include "lib/postgres/pg_conn.h"
#include "services/links-api/lists/link_search.h"

/* Sets is_counted and the count of each trigram. *all: the number of links, 0 = not counted yet. */
enum err link_search_store_count(struct pg_conn *conn, struct link_search *search,
                                 int64_t *all) MUST_CHECK;

#endif
