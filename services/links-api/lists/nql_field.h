/*
 * Pure. The fields of a filter and their SQL expressions. Only these expressions become part of the
 * SQL; values are parameters.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LISTS_NQL_FIELD_H
#define WAYMARK_SERVICES_LINKS_API_LISTS_NQL_FIELD_H

#include <stdbool.h>
#include <stddef.h>

enum nql_field_type {
	NQL_FIELD_TEXT,      /* supports equal, contains and one of */
	NQL_FIELD_NUMBER,    /* supports equal, one of and comparisons */
	NQL_FIELD_TIME,      /* as numbers; RFC 3339, or a date: its first moment in UTC */
	NQL_FIELD_STATE,     /* names of enum link_state */
	NQL_FIELD_LINK_TYPE, /* names of enum link_type */
	NQL_FIELD_TAGS,      /* equal: has the tag; contains: one tag contains the text */
};

struct nql_field {
	const char *name;
	enum nql_field_type type;
	bool is_nullable;
	/* A column of link_ranking, joined to links. */
	bool needs_ranking;
	/* Part of the text in links_search_idx. */
	bool is_searched;
	/* An expression over a row of links (and link_ranking). */
	const char *sql;
};

/* NULL = unknown field. */
const struct nql_field *nql_field_find(const char *name, size_t len);

#endif
