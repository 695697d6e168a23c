/*
 * One thread at a time. A filter as a condition of SQL over links (and link_ranking, if nql_needs_ranking): words of
 * the table of fields and numbers of parameters alone; each value is a parameter.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LISTS_NQL_SQL_H
#define WAYMARK_SERVICES_LINKS_API_LISTS_NQL_SQL_H

#include "lib/base/strbuf.h"
#include "lib/net/pg_params.h"
#include "services/links-api/lists/nql.h"
#include "services/links-api/lists/sql_texts.h"

/* Parameters that a filter takes at most: two of each term. */
#define NQL_SQL_PARAMS_MAX (2 * NQL_TERMS_MAX)

/* Adds "(…)"; texts must live until the statement has run, and so must filter. */
void nql_sql_add(const struct nql *filter, struct strbuf *sql, struct pg_params *params, struct sql_texts *texts);

#endif
