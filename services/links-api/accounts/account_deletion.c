#include "services/links-api/accounts/account_deletion.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/http/http_problem.h"
#include "lib/postgres/pg_pool.h"
#include "services/links-api/http/response.h"
#include "services/links-api/identity/audit_store.h"
#include "services/links-api/identity/user_store.h"
#include "services/links-api/workspaces/member_change.h"
#include "services/links-api/workspaces/workspace_closing.h"

struct deletion {
	const struct request *request;
	int64_t user_id;
	/* NULL = an administrator deletes it. */
	const char *hash;
	/* Of the last owner; its result. */
	char *names;
	/* That end with the account. */
	int64_t *ended;
	size_t ended_count;
};

/* "Sales (7), Press (9)", as far as there is room. */
static void add_name(struct deletion *d, const struct workspace *workspace)
{
	size_t len = strlen(d->names);
	char name[WORKSPACE_STORE_NAME_SIZE + 32];
	int size = snprintf(name, sizeof(name), "%s%s (%" PRId64 ")", len > 0 ? ", " : "",
	                    workspace->name, workspace->id);
	if (len + (size_t)size < ACCOUNT_DELETION_NAMES_SIZE)
		memcpy(d->names + len, name, (size_t)size + 1);
}

static enum err end(struct deletion *d, struct pg_conn *conn, const struct workspace *workspace)
{
	d->ended[d->ended_count++] = workspace->id;
	enum err err = workspace_closing_begin(conn, workspace->id);
	return err == ERR_NOT_FOUND ? OK : err; /* it is deleted already */
}

static enum err leave(struct deletion *d, struct pg_conn *conn, const struct workspace *workspace)
{
	struct member_change change = { .user_id = d->user_id,
		                        .is_self = true,
		                        .held = workspace->role };
	enum err err = OK;
	if (workspace->members == 1) {
		change.held = WORKSPACE_STRANGER;
		err = end(d, conn, workspace);
	}
	if (err == OK)
		err = member_change_write(d->request, conn, workspace, &change);
	/* Nobody needs an owner of a workspace that is deleted. */
	if (change.is_last_owner && workspace->deleted_at_us)
		return workspace_store_set_role(conn, workspace->id, change.user_id,
		                                WORKSPACE_STRANGER);
	if (!change.is_last_owner && err != ERR_INVALID)
		return err;
	add_name(d, workspace);
	return OK;
}

/* Locks them in the order of ids, before the account, as changes of members do. */
static enum err leave_all(struct deletion *d, struct pg_conn *conn)
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	struct workspace workspace;
	pg_params_int(&params, d->user_id);
	enum err err = pg_conn_query(
		conn,
		"SELECT " WORKSPACE_STORE_COLUMNS(
			"m.role") " FROM members m JOIN workspaces w ON w.id = m.workspace_id "
				  "WHERE m.user_id = $1 ORDER BY w.id FOR NO KEY UPDATE OF w",
		&params, &rows);
	d->ended = mem_array(pg_result_count(rows), sizeof(*d->ended));
	for (size_t i = 0; err == OK && i < pg_result_count(rows); i++) {
		workspace_store_read(rows, i, &workspace);
		err = leave(d, conn, &workspace);
	}
	pg_result_free(rows);
	return err == OK && *d->names ? ERR_CONFLICT : err;
}

/* ERR_INVALID: the caller is no administrator any more. */
static enum err lock_caller_and(int64_t user_id, const struct request *r, struct pg_conn *conn,
                                bool *another_stays)
{
	enum err err = user_store_lock_admin(conn, r->user_id, user_id);
	*another_stays = err == OK;
	return err == ERR_NOT_FOUND ? ERR_INVALID : err;
}

/*
 * An administrator may only leave if another one stays. If the account became one after
 * authentication, or joined a workspace just now, the request must be repeated.
 */
static enum err erase(const struct deletion *deletion, struct pg_conn *conn)
{
	const struct request *r = deletion->request;
	struct pg_params params = { 0 };
	int64_t left = 0;
	bool is_admin = r->has_admin_role;
	bool another_stays = false;
	bool was_admin = false;
	enum err err = OK;
	if (!deletion->hash)
		err = lock_caller_and(deletion->user_id, r, conn, &another_stays);
	else if (is_admin)
		err = user_store_lock_admins(conn, r->user_id, &another_stays);
	if (err == OK)
		err = user_store_erase(conn, deletion->user_id, deletion->hash, &was_admin);
	if (err == OK && was_admin && !another_stays)
		return is_admin ? ERR_CONFLICT : ERR_UNAVAILABLE;
	pg_params_int(&params, deletion->user_id);
	if (err == OK)
		err = pg_conn_query_int(conn, "SELECT count(*) FROM members WHERE user_id = $1",
		                        &params, &left);
	return err == OK && left > 0 ? ERR_UNAVAILABLE : err;
}

static enum err delete_account_on(void *ctx, struct pg_conn *conn)
{
	struct deletion *deletion = ctx;
	const struct request *r = deletion->request;
	enum err err = leave_all(deletion, conn);
	if (err == OK)
		err = erase(deletion, conn);
	if (err == OK)
		err = audit_store_record(r, conn, "user.delete", AUDIT_STORE_USER,
		                         deletion->user_id, NULL);
	return err;
}

enum err account_deletion_run(const struct request *r, int64_t user_id, const char *hash,
                              char names[static ACCOUNT_DELETION_NAMES_SIZE])
{
	struct deletion deletion = {
		.request = r, .user_id = user_id, .hash = hash, .names = names
	};
	size_t done = 0;
	names[0] = '\0';
	enum err err = pg_pool_transact(r->api->pg, delete_account_on, &deletion);
	/* A restored database has the account again; the log then says which to delete. */
	if (err == OK)
		log_info(r->api->log, "account_deleted", LOG_INT("user_id", user_id));
	for (size_t i = 0; err == OK && i < deletion.ended_count; i++)
		done = workspace_closing_run(r, deletion.ended[i], done);
	free(deletion.ended);
	return err;
}

enum http_progress account_deletion_send_last_owner(struct request *r, const char *names)
{
	char detail[RESPONSE_DETAIL_SIZE];
	snprintf(detail, sizeof(detail),
	         "Others need this account as the owner of %s. Make another member an owner, or "
	         "delete the workspace, first.",
	         names);
	struct http_problem_fields fields = { 0 };
	http_problem_add_field(&fields, "", "last-owner", "%s", detail);
	struct json *problem = http_problem_new(409, "last-owner", detail,
	                                        http_exchange_request_id(r->exchange), &fields);
	json_set_text(problem, "workspaces", names);
	return http_problem_send(r->exchange, 409, problem);
}
