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
		"SELECT most.*, coalesce(color, '') FROM (SELECT tag COLLATE \"C\" AS name, count(*) AS links, "
		"coalesce(sum(visit_count), 0)::bigint, coalesce(sum(bot_count), 0)::bigint "
		"FROM links LEFT JOIN link_statistics ON link_id = id, unnest(tags) AS tag "
		"WHERE owner_id = $1 AND state <> 'DELETED' GROUP BY 1 ORDER BY links DESC, name LIMIT $2"
		") AS most LEFT JOIN tag_colors ON owner_id = $1 AND tag = name ORDER BY name",
		&params, &rows);
	*count = err == OK ? pg_result_count(rows) : 0;
	for (size_t i = 0; i < *count; i++) {
		snprintf(tags[i].name, sizeof(tags[i].name), "%s", pg_result_text(rows, i, 0));
		tags[i].links = pg_result_int(rows, i, 1);
		tags[i].humans = pg_result_int(rows, i, 2);
		tags[i].bots = pg_result_int(rows, i, 3);
		snprintf(tags[i].color, sizeof(tags[i].color), "%s", pg_result_text(rows, i, 4));
	}
	pg_result_free(rows);
	return err;
}

enum err tag_store_get_color(struct pg_conn *conn, int64_t owner_id, const char *tag,
                             char color[static TAG_COLOR_SIZE])
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	pg_params_int(&params, owner_id);
	pg_params_text(&params, tag);
	enum err err =
		pg_conn_query(conn, "SELECT color FROM tag_colors WHERE owner_id = $1 AND tag = $2",
	                      &params, &rows);
	bool has_color = err == OK && pg_result_count(rows) == 1;
	snprintf(color, TAG_COLOR_SIZE, "%s", has_color ? pg_result_text(rows, 0, 0) : "");
	pg_result_free(rows);
	return err;
}

static enum err delete_color(struct pg_conn *conn, int64_t owner_id, const char *tag)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, owner_id);
	pg_params_text(&params, tag);
	return pg_conn_query(conn, "DELETE FROM tag_colors WHERE owner_id = $1 AND tag = $2",
	                     &params, NULL);
}

enum err tag_store_set_color(struct pg_conn *conn, int64_t owner_id, const char *tag,
                             const char *color)
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	if (!*color)
		return delete_color(conn, owner_id, tag);
	pg_params_int(&params, owner_id);
	pg_params_text(&params, tag);
	pg_params_text(&params, color);
	pg_params_int(&params, TAG_STORE_COLORS_MAX);
	enum err err = pg_conn_query(
		conn,
		"INSERT INTO tag_colors (owner_id, tag, color) SELECT $1, $2, $3 "
		"WHERE (SELECT count(*) FROM tag_colors WHERE owner_id = $1 AND tag <> $2) < $4 "
		"ON CONFLICT (owner_id, tag) DO UPDATE SET color = EXCLUDED.color",
		&params, &rows);
	if (err == OK && pg_result_changed(rows) == 0)
		err = ERR_CONFLICT;
	pg_result_free(rows);
	return err;
}

enum err tag_store_move_color(struct pg_conn *conn, int64_t owner_id, const char *from,
                              const char *to)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, owner_id);
	pg_params_text(&params, from);
	pg_params_text(&params, to);
	return pg_conn_query(
		conn,
		"WITH moved AS (DELETE FROM tag_colors WHERE owner_id = $1 AND tag = $2 RETURNING color) "
		"INSERT INTO tag_colors (owner_id, tag, color) SELECT $1, $3, color FROM moved "
		"ON CONFLICT (owner_id, tag) DO NOTHING",
		&params, NULL);
}
