/*
 * Pure. The query of GET /api/links and of PATCH /api/links: which links, in which order, from where on.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LISTS_LINK_QUERY_H
#define WAYMARK_SERVICES_LINKS_API_LISTS_LINK_QUERY_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/links/link.h"
#include "lib/net/http_problem.h"
#include "services/links-api/lists/link_cursor.h"
#include "services/links-api/lists/nql.h"

#define LINK_QUERY_LIMIT_MAX 100
#define LINK_QUERY_LIMIT_DEFAULT 20
#define LINK_QUERY_PAGE_MAX 1000000
#define LINK_QUERY_Q_CHARS_MAX 200
#define LINK_QUERY_Q_SIZE (LINK_QUERY_Q_CHARS_MAX * 4 + 1)
#define LINK_QUERY_QUESTION_SIZE (NQL_BYTES_MAX + LINK_QUERY_Q_SIZE + LINK_TAG_SIZE + 96)

enum link_query_sort { LINK_QUERY_CREATED_AT, LINK_QUERY_VISIT_COUNT, LINK_QUERY_LAST_VISITED_AT };

/* A value of about 14 KB: keep it on the heap. */
struct link_query {
	int64_t page; /* from 1; 0: behind a cursor */
	int64_t limit;
	struct link_cursor behind;
	enum link_query_sort sort;
	bool is_ascending;
	bool has_owner;            /* somebody asks for links by their owner */
	int64_t owner_id;          /* the caller unless given; LINK_STORE_ANY_OWNER: everybody's */
	char q[LINK_QUERY_Q_SIZE]; /* "": anything */
	char tag[LINK_TAG_SIZE];   /* "": any */
	enum link_state state;     /* 0: all but DELETED */
	bool has_filter;
	struct nql filter;
	char question[LINK_QUERY_QUESTION_SIZE]; /* for cursors: what decides about links and their order */
};

enum link_query_kind {
	LINK_QUERY_LIST,   /* page or cursor, limit, sort, order, q, tag, state, filter, owner */
	LINK_QUERY_CHANGE, /* filter, which has to be there, and owner */
};

/*
 * caller_id: whose links are meant if the query does not say. ERR_INVALID: wrong names each parameter that is unknown,
 * there twice or not what it may be, as "/page".
 */
enum err link_query_read(const char *query, enum link_query_kind kind, int64_t caller_id, struct link_query *out,
                         struct http_problem_fields *wrong) MUST_CHECK;

/* Whether it says nothing but page and limit. */
bool link_query_is_plain(const struct link_query *query);

#endif
