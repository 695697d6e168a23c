/* Pure. Parameters of GET, PATCH and DELETE /api/links: which links, in which order, from where. */
#ifndef WAYMARK_SERVICES_LINKS_API_LISTS_LINK_LIST_PARAMS_H
#define WAYMARK_SERVICES_LINKS_API_LISTS_LINK_LIST_PARAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/http/http_problem.h"
#include "lib/links/link.h"
#include "services/links-api/lists/nql.h"

#define LINK_LIST_PARAMS_LIMIT_MAX 100
#define LINK_LIST_PARAMS_LIMIT_DEFAULT 20
#define LINK_LIST_PARAMS_PAGE_MAX 1000000
#define LINK_LIST_PARAMS_Q_CHARS_MAX 200
#define LINK_LIST_PARAMS_Q_SIZE (LINK_LIST_PARAMS_Q_CHARS_MAX * 4 + 1)
#define LINK_LIST_PARAMS_WORDS_MAX 8
#define LINK_LIST_PARAMS_QUERY_KEY_SIZE                                                            \
	(NQL_BYTES_MAX + LINK_LIST_PARAMS_Q_SIZE + LINK_TAG_SIZE + 96)

enum link_list_params_sort {
	LINK_LIST_PARAMS_CREATED_AT,
	LINK_LIST_PARAMS_HUMANS,
	LINK_LIST_PARAMS_LAST_VISITED_AT
};

#define LINK_LIST_PARAMS_CURSOR_SIZE 49

/*
 * A position in a list, which clients get as opaque text and send back for the next page. The text
 * holds the sort key and id of the last link, and a checksum over them and the query. It is
 * therefore invalid with another order, filter or workspace. It is not signed: a forged cursor only
 * returns links that the same client could get with a filter.
 */
struct link_list_params_cursor {
	/* The value of the sort column: a time in µs, or a count. */
	int64_t key;
	int64_t id;
};

/* About 14 KB: keep it on the heap. */
struct link_list_params {
	/* From 1; 0 = after a cursor. */
	int64_t page;
	int64_t limit;
	/* Visits of how many days stand beside each link; 0 = none. */
	int64_t days;
	/* If page is 0. */
	struct link_list_params_cursor after;
	enum link_list_params_sort sort;
	bool is_ascending;
	/* workspace= is present. */
	bool has_workspace;
	/* The caller by default; LINK_STORE_ANY_WORKSPACE = all users. */
	int64_t workspace_id;
	/* "" = no search. */
	char q[LINK_LIST_PARAMS_Q_SIZE];
	/*
	 * The words of q, one after the other with a NUL each, and "" at the end. A link matches if
	 * it contains each of them. Beyond LINK_LIST_PARAMS_WORDS_MAX, the rest is one word.
	 */
	char words[LINK_LIST_PARAMS_Q_SIZE + 1];
	/* A link that q names by an earlier slug: it matches as well. 0 = none; the caller sets it. */
	int64_t alias_link_id;
	/* "" = any tag. */
	char tag[LINK_TAG_SIZE];
	/*
	 * Of the API key of the request (struct request), which alone sees links with one of them: set it
	 * after link_list_params_read. NULL = all; borrowed.
	 */
	const char *key_tags;
	/* 0 = all but DELETED. */
	enum link_state state;
	/* Only those of the state, which is ACTIVE, that have used up max_visits. */
	bool is_used_up;
	bool has_filter;
	struct nql filter;
	/* For cursors: text of every parameter that selects or orders links. */
	char query_key[LINK_LIST_PARAMS_QUERY_KEY_SIZE];
};

enum link_list_params_kind {
	/* page or cursor, limit, days, sort, order, q, tag, state, filter, workspace */
	LINK_LIST_PARAMS_LIST,
	/* filter (required) and workspace */
	LINK_LIST_PARAMS_CHANGE,
};

/*
 * caller_id: the workspace unless workspace= is present. ERR_INVALID: wrong lists each unknown, duplicate
 * or invalid parameter, as "/page".
 */
enum err link_list_params_read(const char *query, enum link_list_params_kind kind,
                               int64_t caller_id, struct link_list_params *out,
                               struct http_problem_fields *wrong) MUST_CHECK;

/* Sets q and words. text may be part of q. */
void link_list_params_set_q(struct link_list_params *params, const char *text, size_t len);

/* Whether the query of GET /api/links searches (q, filter), which may take long. */
bool link_list_params_has_search(const char *query);

/* query_key: that of struct link_list_params. */
void link_list_params_format_cursor(const struct link_list_params_cursor *cursor,
                                    const char *query_key,
                                    char out[static LINK_LIST_PARAMS_CURSOR_SIZE]);

/* ERR_INVALID: text does not come from link_list_params_format_cursor with this query_key. */
enum err link_list_params_parse_cursor(const char *text, const char *query_key,
                                       struct link_list_params_cursor *out) MUST_CHECK;

#endif
