#include "services/links-api/audit_store.h"

#include "lib/base/strbuf.h"
#include "lib/net/sql_column.h"

#define COLUMN_HEADER 64
#define COLUMN_ROW 12

/* $1 to $6: what all entries of a statement have in common. */
static void add_common_params(struct pg_params *params, const struct audit_entry *entry, const struct strbuf *details)
{
	pg_params_int(params, entry->actor_id);
	pg_params_int(params, entry->key_id);
	pg_params_text(params, entry->action);
	pg_params_text(params, entry->subject_type);
	pg_params_text(params, entry->request_id ? entry->request_id : "");
	pg_params_text(params, entry->details ? details->data : "{}");
}

static enum err write_details(const struct audit_entry *entry, struct strbuf *out)
{
	strbuf_init(out, AUDIT_STORE_DETAILS_BYTES_MAX + 1);
	if (entry->details)
		json_write(entry->details, out);
	return strbuf_status(out);
}

#define INSERT                                                                                                         \
	"INSERT INTO audit_log (actor_id, key_id, action, subject_type, request_id, details, subject_id) "             \
	"SELECT NULLIF($1::bigint, 0), NULLIF($2::bigint, 0), $3, $4, $5, $6::jsonb, "

enum err audit_store_add(struct pg_conn *conn, const struct audit_entry *entry)
{
	struct strbuf details;
	struct pg_params params = { 0 };
	enum err err = write_details(entry, &details);
	add_common_params(&params, entry, &details);
	pg_params_int(&params, entry->subject_id);
	if (err == OK)
		err = pg_conn_query(conn, INSERT "$7::bigint", &params, NULL);
	strbuf_clear(&details);
	return err;
}

enum err audit_store_add_many(struct pg_conn *conn, const struct audit_entry *entry, const int64_t *subject_ids,
                              size_t count)
{
	if (count == 0)
		return OK;
	if (count > AUDIT_STORE_SUBJECTS_MAX)
		return ERR_LIMIT;
	struct strbuf details;
	struct sql_column ids;
	struct pg_params params = { 0 };
	enum err err = write_details(entry, &details);
	add_common_params(&params, entry, &details);
	sql_column_init(&ids, SQL_COLUMN_INT8, COLUMN_HEADER + count * COLUMN_ROW);
	for (size_t i = 0; i < count; i++)
		sql_column_add_int(&ids, subject_ids[i]);
	if (err == OK)
		err = sql_column_param(&ids, &params);
	if (err == OK)
		err = pg_conn_query(conn, INSERT "unnest($7::bigint[])", &params, NULL);
	sql_column_clear(&ids);
	strbuf_clear(&details);
	return err;
}
