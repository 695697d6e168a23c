#include "services/links-api/tags/tag_store.h"

#include <stdio.h>

enum err tag_store_list(struct pg_conn *conn, int64_t owner_id, size_t max, struct tag_count *tags,
                        size_t *count)
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	pg_params_int(&params, owner_id);
	pg_params_int(&params, (int64_t)max);
	enum err err = pg_conn_query(
		conn,
		"SELECT * FROM (SELECT tag COLLATE \"C\" AS name, count(*) AS links, "
		"coalesce(sum(visit_count), 0)::bigint, coalesce(sum(bot_count), 0)::bigint "
		"FROM links LEFT JOIN link_statistics ON link_id = id, unnest(tags) AS tag "
		"WHERE owner_id = $1 AND state <> 'DELETED' GROUP BY 1 ORDER BY links DESC, name LIMIT $2"
		") AS most ORDER BY name",
		&params, &rows);
	*count = err == OK ? pg_result_count(rows) : 0;
	for (size_t i = 0; i < *count; i++) {
		snprintf(tags[i].name, sizeof(tags[i].name), "%s", pg_result_text(rows, i, 0));
		tags[i].links = pg_result_int(rows, i, 1);
		tags[i].humans = pg_result_int(rows, i, 2);
		tags[i].bots = pg_result_int(rows, i, 3);
	}
	pg_result_free(rows);
	return err;
}
