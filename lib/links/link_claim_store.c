#include "lib/links/link_claim_store.h"

#include "lib/links/link_row.h"

enum err link_claim_store_lock(struct pg_conn *conn, const char *slug,
                               const uint8_t claim_token_hash[static DIGEST_SIZE], struct link *out)
{
	struct pg_params params = { 0 };
	pg_params_text(&params, slug);
	pg_params_bytes(&params, claim_token_hash, DIGEST_SIZE);
	return link_row_query(
		conn, "SELECT " LINK_ROW_COLUMNS " FROM links WHERE slug = $1 AND claim_token_hash = $2 FOR UPDATE",
		&params, out);
}

enum err link_claim_store_take(struct pg_conn *conn, struct link *link, int64_t owner_id)
{
	struct link claimed;
	struct pg_params params = { 0 };
	pg_params_int(&params, link->entry.id);
	pg_params_int(&params, link->entry.version);
	pg_params_int(&params, owner_id);
	enum err err = link_row_query(conn,
	                              "UPDATE links SET version = version + 1, link_type = 'PERMANENT', owner_id = $3, "
	                              "expires_at = NULL, updated_at = clock_timestamp() "
	                              "WHERE id = $1 AND version = $2 AND owner_id IS NULL "
	                              "RETURNING " LINK_ROW_COLUMNS,
	                              &params, &claimed);
	if (err == ERR_NOT_FOUND)
		return ERR_CONFLICT;
	if (err == OK)
		err = link_row_add_event(conn, &claimed, LINK_CHANGE_CLAIMED);
	if (err == OK)
		*link = claimed;
	return err;
}
