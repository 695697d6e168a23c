#include "lib/links/issued_slugs.h"

#include <stdio.h>
#include <string.h>

enum err issued_slugs_next(struct pg_conn *conn, struct issued_slugs *page)
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	pg_params_text(&params, page->last);
	pg_params_int(&params, ISSUED_SLUGS_PAGE);
	enum err err = pg_conn_query(conn, "SELECT slug FROM links WHERE slug > $1 ORDER BY slug LIMIT $2", &params, &rows);
	if (err == OK) {
		page->count = pg_result_count(rows);
		for (size_t i = 0; i < page->count; i++)
			snprintf(page->slugs[i], SLUG_SIZE, "%s", pg_result_text(rows, i, 0));
		if (page->count > 0)
			memcpy(page->last, page->slugs[page->count - 1], SLUG_SIZE);
	}
	pg_result_free(rows);
	return err;
}
