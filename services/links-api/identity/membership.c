#include "services/links-api/identity/membership.h"

#include <string.h>

#include "lib/base/array.h"

static const char *const role_names[] = {
	[WORKSPACE_VIEWER] = "viewer",
	[WORKSPACE_EDITOR] = "editor",
	[WORKSPACE_ADMIN] = "admin",
	[WORKSPACE_OWNER] = "owner",
};

const char *membership_role_name(enum workspace_role role)
{
	return role_names[role];
}

enum err membership_parse_role(const char *name, enum workspace_role *role)
{
	for (size_t i = WORKSPACE_VIEWER; i < ARRAY_SIZE(role_names); i++) {
		if (strcmp(name, role_names[i]) != 0)
			continue;
		*role = (enum workspace_role)i;
		return OK;
	}
	return ERR_INVALID;
}

/*
 * Columns from first on: workspace, sponsor, role, is it deleted, does it require a second factor, do
 * its new links forward the query, and the path.
 */
static enum err read_membership(const struct pg_result *rows, int first, struct membership *out)
{
	out->workspace_id = pg_result_int(rows, 0, first);
	out->sponsor_id = pg_result_int(rows, 0, first + 1);
	out->is_deleted = pg_result_bool(rows, 0, first + 3);
	out->requires_second_factor = pg_result_bool(rows, 0, first + 4);
	out->default_forward_query = pg_result_bool(rows, 0, first + 5);
	out->default_forward_path = pg_result_bool(rows, 0, first + 6);
	return membership_parse_role(pg_result_text(rows, 0, first + 2), &out->role) == OK
	               ? OK
	               : ERR_INTERNAL;
}

enum { IS_ADMIN, IS_BLOCKED, GENERATION, HAS_SECOND_FACTOR, HAS_CONFIRMED_ADDRESS, WORKSPACE };

static enum err read_person(const struct pg_result *rows, int64_t user_id,
                            struct membership_person *out)
{
	size_t count = pg_result_count(rows);
	struct membership_person person = { 0 };
	if (count == 0)
		return ERR_NOT_FOUND;
	person.is_admin = pg_result_bool(rows, 0, IS_ADMIN);
	person.is_blocked = pg_result_bool(rows, 0, IS_BLOCKED);
	person.token_generation = pg_result_int(rows, 0, GENERATION);
	person.has_second_factor = pg_result_bool(rows, 0, HAS_SECOND_FACTOR);
	person.has_confirmed_address = pg_result_bool(rows, 0, HAS_CONFIRMED_ADDRESS);
	bool is_first = pg_result_int(rows, 0, WORKSPACE) == user_id;
	person.is_ambiguous = count > 1 && !is_first;
	enum err err = OK;
	if (!person.is_ambiguous && !pg_result_is_null(rows, 0, WORKSPACE))
		err = read_membership(rows, WORKSPACE, &person.membership);
	if (err == OK)
		*out = person;
	return err;
}

enum err membership_find(struct pg_conn *conn, int64_t user_id, int64_t wanted,
                         struct membership_person *out)
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	pg_params_int(&params, user_id);
	pg_params_int(&params, wanted);
	enum err err = pg_conn_query(
		conn,
		"SELECT u.role = 'admin', u.blocked, u.token_generation, "
		"u.totp_confirmed_at IS NOT NULL, u.email_confirmed_at IS NOT NULL, found.* FROM users u "
		"LEFT JOIN LATERAL (SELECT w.id, w.sponsor_id, m.role, w.deleted_at IS NOT NULL, "
		"w.requires_second_factor, w.default_forward_query, w.default_forward_path FROM members m JOIN workspaces w ON w.id = m.workspace_id WHERE m.user_id = u.id "
		"AND CASE WHEN $2::bigint = 0 THEN w.deleted_at IS NULL ELSE w.id = $2::bigint END "
		"ORDER BY w.id <> u.id LIMIT 2) AS found ON true "
		"WHERE u.id = $1 AND u.deleted_at IS NULL",
		&params, &rows);
	if (err == OK)
		err = read_person(rows, user_id, out);
	pg_result_free(rows);
	return err;
}

enum err membership_find_as_admin(struct pg_conn *conn, int64_t workspace_id,
                                  struct membership *out)
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	pg_params_int(&params, workspace_id);
	enum err err = pg_conn_query(
		conn,
		"SELECT id, sponsor_id, 'owner', deleted_at IS NOT NULL, requires_second_factor, "
		"default_forward_query, default_forward_path "
		"FROM workspaces WHERE id = $1",
		&params, &rows);
	if (err == OK)
		err = pg_result_count(rows) == 1 ? read_membership(rows, 0, out) : ERR_NOT_FOUND;
	pg_result_free(rows);
	return err;
}

enum err membership_lock_workspace(struct pg_conn *conn, int64_t workspace_id)
{
	int64_t sponsor_id;
	struct pg_params params = { 0 };
	pg_params_int(&params, workspace_id);
	return pg_conn_query_int(
		conn,
		"SELECT u.id FROM workspaces w JOIN users u ON u.id = w.sponsor_id "
		"WHERE w.id = $1 AND w.deleted_at IS NULL AND u.deleted_at IS NULL FOR NO KEY UPDATE OF u",
		&params, &sponsor_id);
}
