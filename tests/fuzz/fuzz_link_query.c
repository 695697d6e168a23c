/*
 * Untrusted queries of GET, PATCH and DELETE /api/links. Every value of an accepted query is within
 * its bounds. A cursor built from it parses back to the same position.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/base/utf8.h"
#include "services/links-api/lists/link_list_params.h"
#include "services/links-api/lists/link_search.h"

#define CALLER 7

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void require_a_search(const char *q)
{
	struct link_search search;
	link_search_init(&search, q);
	link_search_choose(&search, 0);
	bool *kept = mem_array(strlen(q) + 1, sizeof(*kept));
	link_search_mark(&search, kept);
	size_t asked = 0;
	for (size_t i = 0; i < search.count; i++) {
		const struct link_search_trigram *t = &search.trigrams[i];
		require(t->at + LINK_SEARCH_TRIGRAM_BYTES <= strlen(q));
		asked += t->is_used;
		require(!t->is_used || (kept[t->at] && kept[t->at + 2]));
	}
	require(asked <= LINK_SEARCH_USED_MAX && (asked > 0) == (search.count > 0));
	free(kept);
}

static void require_in_bounds(const struct link_list_params *query)
{
	require(query->page >= 0 && query->page <= LINK_LIST_PARAMS_PAGE_MAX);
	require(query->limit >= 1 && query->limit <= LINK_LIST_PARAMS_LIMIT_MAX);
	require(query->page > 0 || query->after.id > 0);
	require(query->workspace_id > 0 || query->workspace_id == -1);
	require(query->has_workspace || query->workspace_id == CALLER);
	require(utf8_is_valid(query->q, strlen(query->q)) &&
	        utf8_is_valid(query->tag, strlen(query->tag)));
	require(!query->has_filter || query->filter.node_count > 0);
	require(strlen(query->query_key) < sizeof(query->query_key) - 1);
	require_a_search(query->q);
}

static void require_a_cursor(const struct link_list_params *query)
{
	char cursor[LINK_LIST_PARAMS_CURSOR_SIZE];
	struct link_list_params_cursor place = { .key = (int64_t)strlen(query->query_key),
		                                 .id = query->limit },
				       read;
	link_list_params_format_cursor(&place, query->query_key, cursor);
	require(link_list_params_parse_cursor(cursor, query->query_key, &read) == OK);
	require(read.key == place.key && read.id == place.id);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = mem_text_n((const char *)data, size);
	struct link_list_params *query = mem_zero(sizeof(*query));
	for (enum link_list_params_kind kind = LINK_LIST_PARAMS_LIST;
	     kind <= LINK_LIST_PARAMS_CHANGE; kind++) {
		struct http_problem_fields wrong = { 0 };
		if (link_list_params_read(text, kind, CALLER, query, &wrong) != OK) {
			require(wrong.count > 0);
			continue;
		}
		require_in_bounds(query);
		require_a_cursor(query);
		require(kind != LINK_LIST_PARAMS_CHANGE || query->has_filter);
	}
	free(query);
	free(text);
	return 0;
}
