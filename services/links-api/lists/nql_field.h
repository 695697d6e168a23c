/*
 * Pure. The fields that a filter may name, and how PostgreSQL knows them. Nothing else of a filter but these words gets
 * into SQL; values travel as parameters.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LISTS_NQL_FIELD_H
#define WAYMARK_SERVICES_LINKS_API_LISTS_NQL_FIELD_H

#include <stdbool.h>
#include <stddef.h>

enum nql_field_type {
	NQL_FIELD_TEXT,      /* equal, contains, one of */
	NQL_FIELD_NUMBER,    /* compares, too */
	NQL_FIELD_TIME,      /* the same; RFC 3339, or a date: its beginning in UTC */
	NQL_FIELD_STATE,     /* the words of enum link_state */
	NQL_FIELD_LINK_TYPE, /* the words of enum link_type */
	NQL_FIELD_TAGS,      /* equal: has the tag; contains: has one that contains it */
};

struct nql_field {
	const char *name;
	enum nql_field_type type;
	bool is_nullable;
	bool needs_ranking; /* of the table link_ranking, joined to links */
	bool is_searched;   /* part of what links_search_idx is made of */
	const char *sql;    /* an expression over a row of links (and link_ranking) */
};

/* NULL: there is no field of that name. */
const struct nql_field *nql_field_find(const char *name, size_t len);

/* All of them. */
const struct nql_field *nql_field_table(size_t *count);

#endif
