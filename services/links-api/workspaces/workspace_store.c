#include "services/links-api/workspaces/workspace_store.h"

#include <stdio.h>

#include "services/links-api/identity/membership.h"
#include "services/links-api/identity/user_store.h"

void workspace_store_read(const struct pg_result *rows, size_t row, struct workspace *out)
{
	*out = (struct workspace){
		.id = pg_result_int(rows, row, 0),
		.sponsor_id = pg_result_int(rows, row, 3),
		.requires_second_factor = pg_result_bool(rows, row, 4),
		.members = pg_result_int(rows, row, 5),
		.created_at_us = pg_result_time(rows, row, 6),
		.deleted_at_us = pg_result_time(rows, row, 7),
		.is_restoring = pg_result_bool(rows, row, 8),
		.default_forward_query = pg_result_bool(rows, row, 9),
		.default_forward_path = pg_result_bool(rows, row, 10),
	};
	snprintf(out->name, sizeof(out->name), "%s", pg_result_text(rows, row, 1));
	if (membership_parse_role(pg_result_text(rows, row, 2), &out->role) != OK)
		out->role = WORKSPACE_STRANGER;
}

static enum err query_one(struct pg_conn *conn, const char *sql, int64_t id, struct workspace *out)
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	pg_params_int(&params, id);
	enum err err = pg_conn_query(conn, sql, &params, &rows);
	if (err == OK && pg_result_count(rows) != 1)
		err = ERR_NOT_FOUND;
	if (err == OK)
		workspace_store_read(rows, 0, out);
	pg_result_free(rows);
	return err;
}

#define SELECT "SELECT " WORKSPACE_STORE_COLUMNS("''") " FROM workspaces w WHERE w.id = $1"

enum err workspace_store_get(struct pg_conn *conn, int64_t id, struct workspace *out)
{
	return query_one(conn, SELECT, id, out);
}

enum err workspace_store_lock(struct pg_conn *conn, int64_t id, struct workspace *out)
{
	return query_one(conn, SELECT " FOR NO KEY UPDATE OF w", id, out);
}

/* The lock of the person keeps the count exact until the transaction ends. */
static enum err check_room(struct pg_conn *conn, int64_t user_id)
{
	int64_t count = 0;
	struct pg_params params = { 0 };
	pg_params_int(&params, user_id);
	enum err err = user_store_lock(conn, user_id);
	if (err == OK)
		err = pg_conn_query_int(conn,
		                        "SELECT count(*) FROM workspaces WHERE sponsor_id = $1 "
		                        "AND (deleted_at IS NULL OR closing IS NOT NULL)",
		                        &params, &count);
	return err == OK && count >= WORKSPACE_STORE_SPONSORED_MAX ? ERR_INVALID : err;
}

enum err workspace_store_create(struct pg_conn *conn, int64_t user_id, const char *name,
                                int64_t *id)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, user_id);
	pg_params_text(&params, name);
	enum err err = check_room(conn, user_id);
	return err == OK ? pg_conn_query_int(
				   conn,
				   "WITH made AS (INSERT INTO workspaces (sponsor_id, name) "
				   "VALUES ($1, $2) RETURNING id) "
				   "INSERT INTO members (workspace_id, user_id, role) "
				   "SELECT id, $1, 'owner' FROM made RETURNING workspace_id",
				   &params, id)
	                 : err;
}

enum err workspace_store_change(struct pg_conn *conn, const struct workspace *workspace)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, workspace->id);
	pg_params_text(&params, workspace->name);
	pg_params_bool(&params, workspace->requires_second_factor);
	pg_params_bool(&params, workspace->default_forward_query);
	pg_params_bool(&params, workspace->default_forward_path);
	return pg_conn_query(conn,
	                     "UPDATE workspaces SET name = $2, requires_second_factor = $3, "
	                     "default_forward_query = $4, default_forward_path = $5 WHERE id = $1",
	                     &params, NULL);
}

/* --- members --- */

enum err workspace_store_role(struct pg_conn *conn, int64_t id, int64_t user_id,
                              enum workspace_role *out)
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	enum workspace_role role = WORKSPACE_STRANGER;
	pg_params_int(&params, id);
	pg_params_int(&params, user_id);
	enum err err = pg_conn_query(
		conn, "SELECT role FROM members WHERE workspace_id = $1 AND user_id = $2", &params,
		&rows);
	if (err == OK && pg_result_count(rows) == 1)
		err = membership_parse_role(pg_result_text(rows, 0, 0), &role);
	if (err == OK)
		*out = role;
	pg_result_free(rows);
	return err;
}

enum err workspace_store_other_owner(struct pg_conn *conn, int64_t id, int64_t user_id,
                                     int64_t *owner_id)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, id);
	pg_params_int(&params, user_id);
	return pg_conn_query_int(conn,
	                         "SELECT user_id FROM members WHERE workspace_id = $1 "
	                         "AND user_id <> $2 AND role = 'owner' "
	                         "ORDER BY created_at, user_id LIMIT 1",
	                         &params, owner_id);
}

enum err workspace_store_add_member(struct pg_conn *conn, int64_t id, int64_t user_id,
                                    enum workspace_role role)
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	pg_params_int(&params, id);
	pg_params_int(&params, user_id);
	pg_params_text(&params, membership_role_name(role));
	pg_params_int(&params, WORKSPACE_STORE_MEMBERS_MAX);
	pg_params_int(&params, WORKSPACE_STORE_MEMBERSHIPS_MAX);
	enum err err = user_store_lock(conn, user_id);
	if (err == OK)
		err = pg_conn_query(
			conn,
			"INSERT INTO members AS m (workspace_id, user_id, role) SELECT $1, $2, $3 "
			"WHERE (SELECT count(*) FROM members WHERE workspace_id = $1 AND user_id <> $2) < $4 "
			"AND (SELECT count(*) FROM members WHERE user_id = $2 AND workspace_id <> $1) < $5 "
			"ON CONFLICT (workspace_id, user_id) DO UPDATE SET role = m.role",
			&params, &rows);
	if (err == OK && pg_result_changed(rows) != 1)
		err = ERR_INVALID;
	pg_result_free(rows);
	return err;
}

enum err workspace_store_set_role(struct pg_conn *conn, int64_t id, int64_t user_id,
                                  enum workspace_role role)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, id);
	pg_params_int(&params, user_id);
	if (role == WORKSPACE_STRANGER)
		return pg_conn_query(conn,
		                     "DELETE FROM members WHERE workspace_id = $1 AND user_id = $2",
		                     &params, NULL);
	pg_params_text(&params, membership_role_name(role));
	return pg_conn_query(
		conn, "UPDATE members SET role = $3 WHERE workspace_id = $1 AND user_id = $2",
		&params, NULL);
}

enum err workspace_store_set_sponsor(struct pg_conn *conn, int64_t id, int64_t user_id)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, id);
	pg_params_int(&params, user_id);
	enum err err = check_room(conn, user_id);
	return err == OK
	               ? pg_conn_query(conn, "UPDATE workspaces SET sponsor_id = $2 WHERE id = $1",
	                               &params, NULL)
	               : err;
}
