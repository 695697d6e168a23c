#include "services/links-api/links/link_history_store.h"

#include <string.h>

enum err link_history_store_set_actor(struct pg_conn *conn, int64_t actor_id, int64_t key_id)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, actor_id);
	pg_params_int(&params, key_id);
	return pg_conn_query(conn,
	                     "SELECT set_config('waymark.actor_id', $1::bigint::text, true), "
	                     "set_config('waymark.key_id', "
	                     "COALESCE(NULLIF($2::bigint, 0)::text, ''), true)",
	                     &params, NULL);
}

/* A key acts for the owner alone. Nobody but the janitor makes a link EXPIRED. */
#define TYPE_OF_ACTOR                                                                               \
	"CASE WHEN c.key_id IS NOT NULL THEN 'api_key' WHEN c.actor_id = $2 THEN 'user' "           \
	"WHEN c.actor_id IS NOT NULL THEN 'administrator' WHEN c.change = 'expired' THEN 'system' " \
	"ELSE 'unknown' END"

enum column { VERSION, AT, CHANGE, TYPE, KEY_ID, KEY_NAME, FIELDS };

static struct json *read_actor(const struct pg_result *rows, size_t row)
{
	struct json *by = json_new_object();
	json_set_text(by, "type", pg_result_text(rows, row, TYPE));
	if (pg_result_is_null(rows, row, KEY_ID))
		json_set_null(by, "key_id");
	else
		json_set_int(by, "key_id", pg_result_int(rows, row, KEY_ID));
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

enum err link_history_store_list(struct pg_conn *conn, const struct link_history_query *query,
                                 struct json **changes, int64_t *last_version)
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	pg_params_int(&params, query->link_id);
	pg_params_int(&params, query->owner_id);
	pg_params_int(&params, query->before);
	pg_params_int(&params, query->limit);
	enum err err = pg_conn_query(conn,
	                             "SELECT c.version, c.at, c.change, " TYPE_OF_ACTOR
	                             ", c.key_id, k.name, c.fields FROM link_history c "
	                             "LEFT JOIN api_keys k ON k.id = c.key_id AND k.user_id = $2 "
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
