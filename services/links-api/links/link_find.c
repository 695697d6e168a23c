#include "services/links-api/links/link_find.h"

#include <string.h>

#include "lib/links/link_aliases.h"
#include "lib/links/link_row.h"
#include "lib/postgres/pg_pool.h"
#include "lib/postgres/sql_column.h"
#include "services/links-api/http/handlers.h"
#include "services/links-api/http/request.h"
#include "services/links-api/http/response.h"
#include "services/links-api/links/link_request.h"

#define SLUG_PART "/by-slug/"
#define NEW_SLUG_PART "/slugs/"
#define EXTERNAL_ID_PART "/by-external-id/"

enum err link_find_slug(struct pg_conn *conn, int64_t workspace_id, const char *slug, int64_t *id)
{
	struct pg_params params = { 0 };
	pg_params_text(&params, slug);
	pg_params_int(&params, workspace_id);
	return pg_conn_query_int(conn,
	                         "SELECT id FROM links WHERE " LINK_ALIASES_ANSWER_TO(
					 "$1") " AND (workspace_id = $2 OR $2::bigint = -1)",
	                         &params, id);
}

enum err link_find_alias(struct pg_conn *conn, const char *text, int64_t *id)
{
	struct pg_params params = { 0 };
	*id = 0;
	if (!slug_is_valid(text, strlen(text)))
		return OK;
	pg_params_text(&params, text);
	enum err err = pg_conn_query_int(
		conn, "SELECT link_id FROM link_aliases WHERE " LINK_ROW_ANSWERS_TO("$1"), &params,
		id);
	return err == ERR_NOT_FOUND ? OK : err;
}

static enum err find_names(struct pg_conn *conn, const struct request *r, int64_t workspace_id,
                           const char *const *names, size_t count, const char *sql,
                           struct link_find_name *out)
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	struct sql_column column;
	if (count == 0)
		return OK;
	sql_column_init_for(&column, SQL_COLUMN_TEXT, count, LINK_EXTERNAL_ID_SIZE);
	for (size_t i = 0; i < count; i++)
		sql_column_add_text(&column, names[i]);
	enum err err = sql_column_param(&column, &params);
	pg_params_int(&params, workspace_id);
	pg_params_text(&params, r->tags);
	pg_params_bool(&params, r->api->base->is_slug_exact);
	if (err == OK)
		err = pg_conn_query(conn, sql, &params, &rows);
	if (err == OK && pg_result_count(rows) != count)
		err = ERR_INTERNAL;
	for (size_t i = 0; err == OK && i < count; i++)
		out[i] = (struct link_find_name){ pg_result_bool(rows, i, 0),
			                          pg_result_int(rows, i, 1),
			                          pg_result_bool(rows, i, 2) };
	sql_column_clear(&column);
	pg_result_free(rows);
	return err;
}

#define FOLDED "lower(name COLLATE \"C\")"

/* As links_refuse_used_slug in db/migrations refuses it. */
enum err link_find_slugs(struct pg_conn *conn, const struct request *r, int64_t workspace_id,
                         const char *const *slugs, size_t count, struct link_find_name *out)
{
	return find_names(
		conn, r, workspace_id, slugs, count,
		"SELECT clash.id IS NOT NULL, coalesce(clash.own, 0), coalesce(clash.gone, false) "
		"FROM unnest($1::text[]) WITH ORDINALITY AS wanted (name, place) LEFT JOIN LATERAL ("
		"WITH used AS (SELECT id, slug, slug_exact FROM links WHERE slug_key IN (" FOLDED
		", '=' || name) UNION ALL SELECT id, slug, slug_exact FROM links WHERE slug_exact "
		"AND lower(slug) = " FOLDED
		" UNION ALL SELECT link_id, slug, slug_exact FROM link_aliases WHERE lower(slug) = " FOLDED
		" UNION ALL SELECT 0, slug, slug_exact FROM link_tombstones WHERE lower(slug) = " FOLDED
		") SELECT used.id, links.id AS own, state = 'DELETED' AS gone FROM used "
		"LEFT JOIN links ON links.id = used.id AND workspace_id = $2 AND " REQUEST_SEES_TAGS(
			"tags",
			"$3") " WHERE used.slug = name OR NOT (used.slug_exact AND $4) "
			      "ORDER BY own DESC NULLS LAST LIMIT 1) AS clash ON true ORDER BY place",
		out);
}

enum err link_find_external_ids(struct pg_conn *conn, const struct request *r, int64_t workspace_id,
                                const char *const *external_ids, size_t count,
                                struct link_find_name *out)
{
	return find_names(
		conn, r, workspace_id, external_ids, count,
		"SELECT id IS NOT NULL, CASE WHEN sees THEN id ELSE 0 END, coalesce(sees AND state = 'DELETED', false) "
		"FROM unnest($1::text[]) WITH ORDINALITY AS wanted (name, place) LEFT JOIN LATERAL ("
		"SELECT id, state, $4::boolean, " REQUEST_SEES_TAGS(
			"tags",
			"$3") " AS sees FROM links WHERE workspace_id = $2 "
			      "AND external_id = name COLLATE \"C\") AS named ON true ORDER BY place",
		out);
}

/* --- paths --- */

static const char *rest_of_path(const struct request *r, const char *part)
{
	return strstr(http_exchange_path(r->exchange), part) + strlen(part);
}

static enum err find_by_slug(struct request *r, struct pg_conn *conn)
{
	char slug[SLUG_SIZE];
	enum err err = link_request_read_slug_path(rest_of_path(r, SLUG_PART), slug);
	return err == OK ? link_find_slug(conn, request_workspaces(r), slug, &r->named_link_id)
	                 : err;
}

enum err link_find_read_external_id(const struct request *r, char out[static LINK_EXTERNAL_ID_SIZE])
{
	return link_request_read_external_id_path(rest_of_path(r, EXTERNAL_ID_PART), out);
}

static enum err find_by_external_id(struct request *r, struct pg_conn *conn)
{
	char text[LINK_EXTERNAL_ID_SIZE];
	const char *external_id = text;
	struct link_find_name found = { 0 };
	enum err err = link_find_read_external_id(r, text);
	if (err == OK)
		err = link_find_external_ids(conn, r, r->workspace_id, &external_id, 1, &found);
	if (err == OK && found.link_id == 0)
		err = ERR_NOT_FOUND;
	if (err == OK)
		r->named_link_id = found.link_id;
	return err;
}

/* Answers like GET /api/links/{id} of the link. */
static enum http_progress get(struct request *r,
                              enum err (*find)(struct request *r, struct pg_conn *conn))
{
	struct pg_conn *conn = NULL;
	enum err err = pg_pool_acquire(r->api->pg, &conn);
	if (err != OK)
		return response_failure(r, err);
	err = find(r, conn);
	pg_pool_release(r->api->pg, conn);
	if (err == ERR_NOT_FOUND)
		return response_link_not_found(r, false);
	return err == OK ? link_handlers_get(r, r->exchange) : response_failure(r, err);
}

enum http_progress link_find_by_slug(void *ctx, struct http_exchange *x)
{
	(void)x;
	return get(ctx, find_by_slug);
}

enum http_progress link_find_by_external_id(void *ctx, struct http_exchange *x)
{
	(void)x;
	return get(ctx, find_by_external_id);
}

/* --- whether a slug is free --- */

static enum http_progress answer_slug(struct request *r, const char *slug, const char *state,
                                      int64_t link_id)
{
	struct json *body = json_new_object();
	json_set_text(body, "slug", slug);
	json_set_text(body, "state", state);
	if (link_id)
		json_set_int(body, "link_id", link_id);
	else
		json_set_null(body, "link_id");
	return response_json(r, 200, body);
}

enum http_progress link_find_slug_state(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	struct pg_conn *conn = NULL;
	char text[SLUG_SIZE];
	const char *slug = text;
	struct link_find_name found = { 0 };
	if (link_request_read_slug_path(rest_of_path(r, NEW_SLUG_PART), text) != OK)
		return answer_slug(r, "", "invalid", 0);
	enum link_request_slug judged = link_request_judge_slug(r->api->base, slug);
	if (judged != LINK_REQUEST_SLUG_ALLOWED)
		return answer_slug(
			r, slug, judged == LINK_REQUEST_SLUG_RESERVED ? "reserved" : "invalid", 0);
	enum err err = pg_pool_acquire(r->api->pg, &conn);
	if (err != OK)
		return response_failure(r, err);
	err = link_find_slugs(conn, r, r->workspace_id, &slug, 1, &found);
	pg_pool_release(r->api->pg, conn);
	return err == OK ? answer_slug(r, slug, found.is_used ? "taken" : "free", found.link_id)
	                 : response_failure(r, err);
}
