#include "services/links-api/outbox/database_epoch_store.h"

enum err database_epoch_store_adopt(struct pg_conn *conn, struct database_epoch *out)
{
	struct pg_result *rows = NULL;
	enum err err = pg_conn_query(
		conn, "SELECT epoch, link_version_base FROM database_epoch_adopt()", NULL, &rows);
	if (err == OK && pg_result_count(rows) != 1)
		err = ERR_INTERNAL;
	if (err == OK)
		*out = (struct database_epoch){ .number = pg_result_int(rows, 0, 0),
			                        .link_version_base = pg_result_int(rows, 0, 1) };
	pg_result_free(rows);
	return err;
}
