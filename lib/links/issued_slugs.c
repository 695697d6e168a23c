#include "lib/links/issued_slugs.h"

#include <stdio.h>
#include <string.h>

static void read_page(const struct pg_result *rows, struct issued_slugs *page)
{
	page->count = pg_result_count(rows);
	for (size_t i = 0; i < page->count; i++)
		snprintf(page->slugs[i], SLUG_SIZE, "%s", pg_result_text(rows, i, 0));
}

enum err issued_slugs_next(struct pg_conn *conn, struct issued_slugs *page)
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	pg_params_text(&params, page->last);
	pg_params_int(&params, ISSUED_SLUGS_PAGE);
	enum err err =
		pg_conn_query(conn, "SELECT slug FROM links WHERE slug > $1 ORDER BY slug LIMIT $2", &params, &rows);
	if (err == OK) {
		read_page(rows, page);
		if (page->count > 0)
			memcpy(page->last, page->slugs[page->count - 1], SLUG_SIZE);
	}
	pg_result_free(rows);
	return err;
}

enum err issued_slugs_newest_id(struct pg_conn *conn, int64_t *id)
{
	return pg_conn_query_int(conn, "SELECT COALESCE(max(id), 0) FROM links", NULL, id);
}

enum err issued_slugs_since(struct pg_conn *conn, int64_t *id, struct issued_slugs *page)
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	pg_params_int(&params, *id);
	pg_params_int(&params, ISSUED_SLUGS_PAGE);
	enum err err =
		pg_conn_query(conn, "SELECT slug, id FROM links WHERE id > $1 ORDER BY id LIMIT $2", &params, &rows);
	if (err == OK) {
		read_page(rows, page);
		if (page->count > 0)
			*id = pg_result_int(rows, page->count - 1, 1);
	}
	pg_result_free(rows);
	return err;
}
