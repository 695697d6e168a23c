#include "services/links-api/identity/audit_store.h"

#include <string.h>

#include "lib/base/strbuf.h"
#include "lib/postgres/pg_pool.h"
#include "services/links-api/http/request.h"

static enum err write_details(const struct audit_entry *entry, struct strbuf *out)
{
	strbuf_init(out, AUDIT_STORE_DETAILS_BYTES_MAX + 1);
	if (entry->details)
		json_write(entry->details, out);
	return strbuf_status(out);
}

enum err audit_store_add(struct pg_conn *conn, const struct audit_entry *entry)
{
	struct strbuf details;
	struct pg_params params = { 0 };
	enum err err = write_details(entry, &details);
	pg_params_int(&params, entry->actor_id);
	pg_params_int(&params, entry->key_id);
	pg_params_text(&params, entry->action);
	pg_params_text(&params, entry->subject_type);
	pg_params_text(&params, entry->request_id ? entry->request_id : "");
	pg_params_text(&params, entry->details ? details.data : "{}");
	pg_params_int(&params, entry->subject_id);
	pg_params_int(&params, entry->workspace_id);
	if (err == OK)
		err = pg_conn_query(
			conn,
			"INSERT INTO audit_log "
			"(actor_id, key_id, action, subject_type, request_id, details, subject_id, workspace_id) "
			"VALUES (NULLIF($1::bigint, 0), NULLIF($2::bigint, 0), $3, $4, $5, $6::jsonb, $7, "
			"NULLIF($8::bigint, 0))",
			&params, NULL);
	strbuf_clear(&details);
	return err;
}

enum err audit_store_record(const struct request *r, struct pg_conn *conn, const char *action,
                            const char *subject_type, int64_t subject_id,
                            const struct json *details)
{
	const struct audit_entry entry = {
		.workspace_id = r->workspace_id,
		.actor_id = r->user_id,
		.key_id = r->key_id,
		.action = action,
		.subject_type = subject_type,
		.subject_id = subject_id,
		.request_id = http_exchange_request_id(r->exchange),
		.details = details,
	};
	return audit_store_add(conn, &entry);
}

struct deletion {
	const struct request *request;
	int64_t id, belongs_to;
	const char *sql, *action, *subject_type;
};

static enum err delete_on(void *ctx, struct pg_conn *conn)
{
	const struct deletion *d = ctx;
	struct pg_params params = { 0 };
	int64_t link_id = 0;
	pg_params_int(&params, d->id);
	pg_params_int(&params, d->belongs_to);
	if (d->request->tags)
		pg_params_text(&params, d->request->tags);
	enum err err = pg_conn_query_int(conn, d->sql, &params, &link_id);
	if (err != OK)
		return err;
	struct json *details = json_new_object();
	if (link_id)
		json_set_int(details, "link_id", link_id);
	err = audit_store_record(d->request, conn, d->action, d->subject_type, d->id, details);
	json_free(details);
	return err;
}

enum err audit_store_delete(const struct request *r, int64_t id, int64_t belongs_to,
                            const char *sql, const char *action, const char *subject_type)
{
	struct deletion deletion = { r, id, belongs_to, sql, action, subject_type };
	return pg_pool_transact(r->api->pg, delete_on, &deletion);
}

#define SQL_BYTES_MAX 2048
#define SELECT_ENTRIES                                                                             \
	"SELECT id, at, actor_id, key_id, action, subject_type, subject_id, request_id, details, " \
	"workspace_id FROM audit_log WHERE true"
/* Only for the entries of one page. Names are not stored: a deleted account has none. */
#define SELECT_NAMES                                                                                             \
	"SELECT page.*, (SELECT email FROM users WHERE users.id = actor_id), "                                   \
	"CASE subject_type WHEN 'user' THEN (SELECT email FROM users WHERE users.id = subject_id) "              \
	"WHEN 'workspace' THEN (SELECT name FROM workspaces WHERE workspaces.id = subject_id) "                  \
	"WHEN 'link' THEN (SELECT slug FROM links WHERE links.id = subject_id) "                                 \
	"WHEN 'key' THEN (SELECT name FROM api_keys WHERE api_keys.id = subject_id) "                            \
	"WHEN 'report' THEN (SELECT slug FROM abuse_reports WHERE abuse_reports.id = subject_id) "               \
	"WHEN 'invitation' THEN (SELECT email FROM invitations WHERE invitations.id = subject_id) "              \
	"WHEN 'share' THEN COALESCE((SELECT slug FROM links WHERE links.id = (details ->> 'link_id')::bigint), " \
	"(SELECT tag FROM shares WHERE shares.id = subject_id)) END "                                            \
	", (SELECT name FROM workspaces WHERE workspaces.id = page.workspace_id) "                               \
	"FROM (%s) AS page ORDER BY page.id DESC"

/* Only the requested conditions: each has an index, which one generic plan would not use. */
static void add_number(struct strbuf *sql, struct pg_params *params, const char *condition,
                       int64_t value)
{
	if (value == 0)
		return;
	pg_params_int(params, value);
	strbuf_add_format(sql, " AND %s $%d", condition, params->count);
}

static void add_text(struct strbuf *sql, struct pg_params *params, const char *condition,
                     const char *value)
{
	if (!*value)
		return;
	pg_params_text(params, value);
	strbuf_add_format(sql, " AND %s $%d", condition, params->count);
}

static void set_id(struct json *entry, const char *name, const struct pg_result *rows, size_t row,
                   int column)
{
	if (pg_result_is_null(rows, row, column))
		json_set_null(entry, name);
	else
		json_set_int(entry, name, pg_result_int(rows, row, column));
}

static void set_name(struct json *entry, const char *name, const struct pg_result *rows, size_t row,
                     int column)
{
	bool is_null = pg_result_is_null(rows, row, column);
	json_set_text(entry, name, is_null ? NULL : pg_result_text(rows, row, column));
}

static struct json *read_entry(const struct pg_result *rows, size_t row)
{
	char reason[JSON_REASON_SIZE];
	const char *text = pg_result_text(rows, row, 8);
	struct json *details = NULL;
	struct json *entry = json_new_object();
	json_set_int(entry, "id", pg_result_int(rows, row, 0));
	json_set_time(entry, "at", pg_result_time(rows, row, 1));
	set_id(entry, "actor_id", rows, row, 2);
	set_name(entry, "actor_email", rows, row, 10);
	set_id(entry, "key_id", rows, row, 3);
	json_set_text(entry, "action", pg_result_text(rows, row, 4));
	json_set_text(entry, "subject_type", pg_result_text(rows, row, 5));
	json_set_int(entry, "subject_id", pg_result_int(rows, row, 6));
	set_name(entry, "subject_name", rows, row, 11);
	set_id(entry, "workspace_id", rows, row, 9);
	set_name(entry, "workspace_name", rows, row, 12);
	json_set_text(entry, "request_id", pg_result_text(rows, row, 7));
	bool is_json = json_parse(text, strlen(text), &details, reason) == OK;
	json_set(entry, "details", is_json ? details : json_new_object());
	return entry;
}

enum err audit_store_list(struct pg_conn *conn, const struct audit_query *query,
                          struct json **entries, int64_t *last_id)
{
	struct strbuf page, sql;
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	strbuf_init(&page, SQL_BYTES_MAX);
	strbuf_init(&sql, SQL_BYTES_MAX);
	strbuf_add_text(&page, SELECT_ENTRIES);
	add_number(&page, &params, "id <", query->before);
	add_number(&page, &params, "workspace_id =", query->workspace_id);
	add_number(&page, &params, "actor_id =", query->actor_id);
	add_text(&page, &params, "action =", query->action);
	add_text(&page, &params, "subject_type =", query->subject_type);
	add_number(&page, &params, "subject_id =", query->subject_id);
	pg_params_int(&params, query->limit);
	strbuf_add_format(&page, " ORDER BY id DESC LIMIT $%d", params.count);
	strbuf_add_format(&sql, SELECT_NAMES, page.data);
	enum err err = pg_conn_query_once(conn, sql.data, &params, &rows);
	strbuf_clear(&page);
	strbuf_clear(&sql);
	if (err != OK)
		return err;
	size_t count = pg_result_count(rows);
	struct json *list = json_new_array();
	for (size_t i = 0; i < count; i++)
		json_append(list, read_entry(rows, i));
	*entries = list;
	*last_id =
		count > 0 && (int64_t)count == query->limit ? pg_result_int(rows, count - 1, 0) : 0;
	pg_result_free(rows);
	return OK;
}
