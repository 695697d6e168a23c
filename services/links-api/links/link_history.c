#include "services/links-api/links/link_history.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/mem.h"
#include "lib/base/number.h"
#include "lib/links/link_store.h"
#include "lib/postgres/sql_column.h"
#include "services/links-api/http/handlers.h"
#include "services/links-api/http/query_params.h"
#include "services/links-api/http/response.h"
#include "services/links-api/links/link_extras_json.h"

#define LIMIT_DEFAULT 20
#define LIMIT_MAX 100
/* More than the changes of any extras take. */
#define EXTRAS_JSON_MAX ((size_t)16 * LINK_EXTRAS_BYTES_MAX)

enum err link_history_begin(const struct request *r, struct pg_conn *conn)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, r->user_id);
	pg_params_int(&params, r->key_id);
	return pg_conn_query(conn,
	                     "SELECT set_config('waymark.actor_id', $1::bigint::text, true), "
	                     "set_config('waymark.key_id', "
	                     "COALESCE(NULLIF($2::bigint, 0)::text, ''), true)",
	                     &params, NULL);
}

/* --- extras --- */

void link_history_keep_extras(struct link_history_extras *extras, const struct link_entry *entry)
{
	link_history_clear_extras(extras);
	extras->len = entry->extras_len;
	if (extras->len > 0)
		extras->bytes = mem_copy(entry->extras, entry->extras_len);
}

void link_history_clear_extras(struct link_history_extras *extras)
{
	free(extras->bytes);
	*extras = (struct link_history_extras){ 0 };
}

static void add_fields(struct sql_column *ids, struct sql_column *fields, int64_t link_id,
                       struct json *changes)
{
	struct strbuf text;
	strbuf_init(&text, EXTRAS_JSON_MAX);
	json_write(changes, &text);
	json_free(changes);
	sql_column_add_int(ids, link_id);
	sql_column_add_text(fields, text.data);
	strbuf_clear(&text);
}

/* links.version and not that of the entry, which may be higher (link_row.h). */
static enum err write_fields(struct pg_conn *conn, struct sql_column *ids,
                             struct sql_column *fields)
{
	struct pg_params params = { 0 };
	enum err err = sql_column_param(ids, &params);
	if (err == OK)
		err = sql_column_param(fields, &params);
	return err == OK
	               ? pg_conn_query(
				 conn,
				 "UPDATE link_history h SET fields = h.fields || new.fields::jsonb "
				 "FROM unnest($1::bigint[], $2::text[]) AS new (id, fields) "
				 "JOIN links ON links.id = new.id "
				 "WHERE h.link_id = links.id AND h.version = links.version",
				 &params, NULL)
	               : err;
}

enum err link_history_add_extras(struct pg_conn *conn, const struct link_history_extras *before,
                                 const struct link *links, size_t count)
{
	struct sql_column ids, fields;
	sql_column_init_for(&ids, SQL_COLUMN_INT8, count, sizeof(int64_t));
	sql_column_init_for(&fields, SQL_COLUMN_TEXT, count, EXTRAS_JSON_MAX);
	for (size_t i = 0; i < count; i++) {
		struct json *changes =
			link_extras_json_changes(before[i].bytes, before[i].len, &links[i].entry);
		if (changes)
			add_fields(&ids, &fields, links[i].entry.id, changes);
	}
	enum err err = ids.count > 0 ? write_fields(conn, &ids, &fields) : OK;
	sql_column_clear(&ids);
	sql_column_clear(&fields);
	return err;
}

/* --- reading --- */

struct link_history_query {
	int64_t link_id;
	/* Of the link. */
	int64_t workspace_id;
	/* Only changes to lower versions; INT64_MAX = from the newest. */
	int64_t before;
	int64_t limit;
};

/* Nobody but the janitor makes a link EXPIRED. */
#define TYPE_OF_ACTOR                                                                                  \
	"CASE WHEN c.key_id IS NOT NULL THEN 'api_key' WHEN m.user_id IS NOT NULL THEN 'user' "        \
	"WHEN u.role = 'admin' THEN 'administrator' WHEN c.actor_id IS NOT NULL THEN 'former_member' " \
	"WHEN c.change = 'expired' THEN 'system' ELSE 'unknown' END"

enum column { VERSION, AT, CHANGE, TYPE, USER_ID, KEY_ID, KEY_NAME, FIELDS };

static void set_id(struct json *object, const char *name, const struct pg_result *rows, size_t row,
                   int column)
{
	if (pg_result_is_null(rows, row, column))
		json_set_null(object, name);
	else
		json_set_int(object, name, pg_result_int(rows, row, column));
}

static struct json *read_actor(const struct pg_result *rows, size_t row)
{
	struct json *by = json_new_object();
	json_set_text(by, "type", pg_result_text(rows, row, TYPE));
	set_id(by, "user_id", rows, row, USER_ID);
	set_id(by, "key_id", rows, row, KEY_ID);
	bool has_name = !pg_result_is_null(rows, row, KEY_NAME);
	json_set_text(by, "key_name", has_name ? pg_result_text(rows, row, KEY_NAME) : NULL);
	return by;
}

static struct json *read_change(const struct pg_result *rows, size_t row)
{
	char reason[JSON_REASON_SIZE];
	const char *text = pg_result_text(rows, row, FIELDS);
	struct json *fields = NULL;
	struct json *change = json_new_object();
	json_set_time(change, "at", pg_result_time(rows, row, AT));
	json_set_text(change, "change", pg_result_text(rows, row, CHANGE));
	json_set(change, "by", read_actor(rows, row));
	bool is_json = json_parse(text, strlen(text), &fields, reason) == OK;
	json_set(change, "fields", is_json ? fields : json_new_array());
	return change;
}

/*
 * Newest first, as JSON; the caller owns it. last_version: that of the last change if the page is
 * full, so that more may follow; otherwise 0.
 */
static enum err list_changes(struct pg_conn *conn, const struct link_history_query *query,
                             struct json **changes, int64_t *last_version)
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	pg_params_int(&params, query->link_id);
	pg_params_int(&params, query->workspace_id);
	pg_params_int(&params, query->before);
	pg_params_int(&params, query->limit);
	enum err err = pg_conn_query(
		conn,
		"SELECT c.version, c.at, c.change, " TYPE_OF_ACTOR
		", m.user_id, c.key_id, k.name, c.fields FROM link_history c "
		"LEFT JOIN members m ON m.workspace_id = $2 AND m.user_id = c.actor_id "
		"LEFT JOIN users u ON u.id = c.actor_id "
		"LEFT JOIN api_keys k ON k.id = c.key_id AND k.workspace_id = $2 "
		"WHERE c.link_id = $1 AND c.version < $3 "
		"ORDER BY c.version DESC LIMIT $4",
		&params, &rows);
	if (err != OK)
		return err;
	size_t count = pg_result_count(rows);
	struct json *list = json_new_array();
	for (size_t i = 0; i < count; i++)
		json_append(list, read_change(rows, i));
	*changes = list;
	*last_version = count > 0 && (int64_t)count == query->limit
	                        ? pg_result_int(rows, count - 1, VERSION)
	                        : 0;
	pg_result_free(rows);
	return OK;
}

static enum err read_params(const char *query, struct link_history_query *out,
                            struct http_problem_fields *wrong)
{
	*out = (struct link_history_query){ .before = INT64_MAX, .limit = LIMIT_DEFAULT };
	struct query_param params[] = {
		{ .name = "cursor", .number = &out->before, .min = 1, .max = INT64_MAX },
		{ .name = "limit", .number = &out->limit, .min = 1, .max = LIMIT_MAX },
	};
	return query_params_read(query, params, ARRAY_SIZE(params), wrong);
}

/* A deleted link is missing, as for GET /api/links/{id}. */
static enum err read_history(const struct request *r, struct link_history_query *query,
                             struct json **changes, int64_t *last_version, bool *is_deleted)
{
	struct link link;
	struct pg_conn *conn = NULL;
	enum err err = pg_pool_acquire(r->api->pg, &conn);
	if (err != OK)
		return err;
	err = link_store_get(conn, request_path_id(r), request_workspaces(r), &link);
	err = request_check_link(r, err, &link);
	*is_deleted = err == OK && link.entry.state == LINK_STATE_DELETED;
	if (*is_deleted)
		err = ERR_NOT_FOUND;
	if (err == OK) {
		query->link_id = link.entry.id;
		query->workspace_id = link.workspace_id;
		err = list_changes(conn, query, changes, last_version);
	}
	pg_pool_release(r->api->pg, conn);
	return err;
}

enum http_progress link_history_get(void *ctx, struct http_exchange *x)
{
	struct request *r = ctx;
	struct link_history_query query;
	struct http_problem_fields wrong = { 0 };
	struct json *changes = NULL;
	int64_t last_version = 0;
	bool is_deleted = false;
	if (read_params(http_exchange_query(x), &query, &wrong) != OK)
		return response_invalid_fields(r, &wrong);
	enum err err = read_history(r, &query, &changes, &last_version, &is_deleted);
	if (err == ERR_NOT_FOUND)
		return response_link_not_found(r, is_deleted);
	if (err != OK)
		return response_failure(r, err);
	char cursor[NUMBER_TEXT_SIZE];
	snprintf(cursor, sizeof(cursor), "%" PRId64, last_version);
	const struct pagination pagination = { .limit = query.limit,
		                               .total = PAGINATION_UNCOUNTED,
		                               .next_cursor = last_version ? cursor : NULL };
	struct json *answer = json_new_object();
	json_set(answer, "changes", changes);
	json_set(answer, "pagination", response_pagination_json(&pagination));
	return response_json(r, 200, answer);
}
