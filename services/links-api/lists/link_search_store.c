#include "services/links-api/lists/link_search_store.h"

#include <string.h>

#include "services/links-api/lists/sql_texts.h"

static void set_count(struct link_search *search, const char *name, int64_t links)
{
	for (size_t i = 0; i < search->count; i++) {
		if (strcmp(search->trigrams[i].name, name) == 0)
			search->trigrams[i].links = links;
	}
}

enum err link_search_store_count(struct pg_conn *conn, struct link_search *search, int64_t *all)
{
	const char *names[LINK_SEARCH_TRIGRAMS_MAX];
	struct sql_texts texts = { 0 };
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	for (size_t i = 0; i < search->count; i++)
		names[i] = search->trigrams[i].name;
	pg_params_text(&params, sql_texts_array(&texts, names, search->count));
	enum err err = pg_conn_query(
		conn,
		"SELECT NULL, links FROM link_search_count UNION ALL "
		"SELECT trigram, links FROM link_search_trigrams WHERE trigram = ANY ($1)",
		&params, &rows);
	*all = 0;
	for (size_t i = 0; i < pg_result_count(rows); i++) {
		if (pg_result_is_null(rows, i, 0))
			*all = pg_result_int(rows, i, 1);
		else
			set_count(search, pg_result_text(rows, i, 0), pg_result_int(rows, i, 1));
	}
	search->is_counted = *all > 0;
	pg_result_free(rows);
	sql_texts_clear(&texts);
	return err;
}
