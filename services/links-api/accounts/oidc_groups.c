#include "services/links-api/accounts/oidc_groups.h"

#include <inttypes.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/strbuf.h"
#include "services/links-api/identity/audit_store.h"
#include "services/links-api/identity/oidc_token.h"
#include "services/links-api/workspaces/invitation.h"

/* Workspaces that the groups of one person may give roles in. */
#define ROLES_MAX WORKSPACE_STORE_MEMBERSHIPS_MAX

static enum err change(struct pg_conn *conn, const char *sql, const struct pg_params *params,
                       bool *is_changed)
{
	struct pg_result *rows = NULL;
	enum err err = pg_conn_query(conn, sql, params, &rows);
	*is_changed = err == OK && pg_result_changed(rows) > 0;
	pg_result_free(rows);
	return err;
}

struct wanted {
	int64_t workspace_id;
	/* Index of roles. */
	size_t role;
};

static const char *const roles[] = { "viewer", "editor", "admin" };

static size_t rank_of(const char *role)
{
	size_t rank = 0;
	for (size_t i = 0; i < ARRAY_SIZE(roles); i++)
		rank = strcmp(roles[i], role) == 0 ? i : rank;
	return rank;
}

/* Two groups may give roles in one workspace: the higher one counts. */
static void want(struct wanted wanted[static ROLES_MAX], size_t *count, const struct json *given)
{
	int64_t id = json_int(json_get(given, "workspace_id"));
	size_t rank = rank_of(json_text(json_get(given, "role"), NULL));
	for (size_t i = 0; i < *count; i++) {
		if (wanted[i].workspace_id != id)
			continue;
		wanted[i].role = rank > wanted[i].role ? rank : wanted[i].role;
		return;
	}
	if (*count < ROLES_MAX)
		wanted[(*count)++] = (struct wanted){ .workspace_id = id, .role = rank };
}

static size_t find_wanted(const struct oidc_provider *provider, const struct json *claims,
                          struct wanted wanted[static ROLES_MAX])
{
	size_t count = 0;
	const char *group;
	struct json *given;
	const struct json *all = provider->workspace_roles;
	for (size_t at = all ? json_next(all, 0, &group, &given) : 0; at;
	     at = json_next(all, at, &group, &given))
		if (oidc_token_has(claims, provider->groups_claim, group))
			want(wanted, &count, given);
	return count;
}

static enum err record(struct pg_conn *conn, const struct request *r, const char *action,
                       int64_t workspace_id, int64_t user_id)
{
	const struct audit_entry entry = {
		.workspace_id = workspace_id,
		.actor_id = user_id,
		.action = action,
		.subject_type = AUDIT_STORE_USER,
		.subject_id = user_id,
		.request_id = http_exchange_request_id(r->exchange),
	};
	return audit_store_add(conn, &entry);
}

/* As workspace_store_add_member, but groups change what groups gave. */
static enum err give_role(struct pg_conn *conn, const struct request *r,
                          const struct oidc_identity *identity, const struct wanted *wanted)
{
	struct workspace workspace;
	struct pg_params params = { 0 };
	bool is_changed = false;
	enum err err = workspace_store_lock(conn, wanted->workspace_id, &workspace);
	if (err != OK || workspace.deleted_at_us)
		return err == ERR_NOT_FOUND ? OK : err;
	pg_params_int(&params, wanted->workspace_id);
	pg_params_int(&params, identity->user_id);
	pg_params_text(&params, roles[wanted->role]);
	pg_params_int(&params, identity->id);
	pg_params_int(&params, WORKSPACE_STORE_MEMBERS_MAX);
	pg_params_int(&params, WORKSPACE_STORE_MEMBERSHIPS_MAX);
	err = change(
		conn,
		"INSERT INTO members (workspace_id, user_id, role, identity_id) SELECT $1, $2, $3, $4 "
		"WHERE (SELECT count(*) FROM members WHERE workspace_id = $1 AND user_id <> $2) < $5 "
		"AND (SELECT count(*) FROM members WHERE user_id = $2 AND workspace_id <> $1) < $6 "
		"ON CONFLICT (workspace_id, user_id) DO UPDATE SET role = EXCLUDED.role "
		"WHERE members.identity_id = EXCLUDED.identity_id AND members.role <> EXCLUDED.role",
		&params, &is_changed);
	if (err != OK || !is_changed)
		return err;
	err = invitation_end_void(r, conn, wanted->workspace_id, identity->user_id);
	return err == OK ? record(conn, r, "member.groups", wanted->workspace_id, identity->user_id)
	                 : err;
}

/* Takes the roles that groups gave in other workspaces than these. */
static enum err take_roles(struct pg_conn *conn, const struct request *r,
                           const struct oidc_identity *identity, const struct wanted *wanted,
                           size_t count)
{
	struct strbuf kept;
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	strbuf_init(&kept, (size_t)ROLES_MAX * 24);
	for (size_t i = 0; i < count; i++)
		strbuf_add_format(&kept, "%s%" PRId64, i > 0 ? "," : "", wanted[i].workspace_id);
	pg_params_int(&params, identity->id);
	pg_params_text(&params, kept.data);
	enum err err = pg_conn_query(
		conn,
		"DELETE FROM members WHERE identity_id = $1 "
		"AND workspace_id <> ALL (string_to_array($2::text, ',')::bigint[]) RETURNING workspace_id",
		&params, &rows);
	for (size_t i = 0; err == OK && i < pg_result_count(rows); i++) {
		int64_t workspace_id = pg_result_int(rows, i, 0);
		err = record(conn, r, "member.groups", workspace_id, identity->user_id);
		if (err == OK)
			err = invitation_end_void(r, conn, workspace_id, identity->user_id);
	}
	pg_result_free(rows);
	strbuf_clear(&kept);
	return err;
}

static bool is_in_admin_group(const struct oidc_provider *provider, const struct json *claims)
{
	for (size_t i = 0; i < json_count(provider->admin_groups); i++)
		if (oidc_token_has(claims, provider->groups_claim,
		                   json_text(json_at(provider->admin_groups, i), NULL)))
			return true;
	return false;
}

/* Only whom the groups made an administrator are they who end that. */
static enum err apply_admin(struct pg_conn *conn, const struct request *r,
                            const struct oidc_identity *identity, bool is_admin)
{
	struct pg_params params = { 0 };
	bool is_changed = false;
	pg_params_int(&params, identity->user_id);
	pg_params_int(&params, identity->id);
	enum err err = change(
		conn,
		is_admin
			? "WITH given AS (UPDATE users SET role = 'admin', updated_at = clock_timestamp() "
			  "WHERE id = $1 AND role <> 'admin' RETURNING id) "
			  "UPDATE identities SET gives_admin = true FROM given WHERE identities.id = $2"
			: "WITH taken AS (UPDATE identities SET gives_admin = false "
			  "WHERE id = $2 AND gives_admin RETURNING user_id) "
			  "UPDATE users SET role = 'user', updated_at = clock_timestamp() FROM taken "
			  "WHERE users.id = $1 AND users.id = taken.user_id",
		&params, &is_changed);
	return err == OK && is_changed ? record(conn, r, "user.groups", 0, identity->user_id) : err;
}

enum err oidc_groups_apply(struct pg_conn *conn, const struct request *r,
                           const struct oidc_identity *identity,
                           const struct oidc_provider *provider, const struct json *claims)
{
	struct wanted wanted[ROLES_MAX];
	size_t count = find_wanted(provider, claims, wanted);
	enum err err = take_roles(conn, r, identity, wanted, count);
	for (size_t i = 0; err == OK && i < count; i++)
		err = give_role(conn, r, identity, &wanted[i]);
	if (err == OK)
		err = apply_admin(conn, r, identity,
		                  provider->admin_groups && is_in_admin_group(provider, claims));
	return err;
}
