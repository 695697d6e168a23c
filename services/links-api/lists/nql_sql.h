/*
 * One thread at a time. Translates a filter into an SQL condition on links, and on link_ranking if
 * nql_needs_ranking. Each value becomes a parameter. The SQL text contains only expressions from
 * the table of fields and parameter numbers.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LISTS_NQL_SQL_H
#define WAYMARK_SERVICES_LINKS_API_LISTS_NQL_SQL_H

#include "lib/base/strbuf.h"
#include "lib/postgres/pg_params.h"
#include "services/links-api/lists/nql.h"
#include "services/links-api/lists/sql_texts.h"

/* The maximal number of parameters of a filter: two for each term. */
#define NQL_SQL_PARAMS_MAX (2 * NQL_TERMS_MAX)

/* Appends "(…)". filter and texts must live until the statement has run. */
void nql_sql_add(const struct nql *filter, struct strbuf *sql, struct pg_params *params,
                 struct sql_texts *texts);

#endif
