#include "services/links-api/accounts/account_deletion.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/mem.h"
#include "lib/base/thread.h"
#include "lib/links/link_cache_validity.h"
#include "lib/links/link_row.h"
#include "lib/links/outbox.h"
#include "lib/postgres/pg_pool.h"
#include "lib/postgres/sql_column.h"
#include "services/links-api/identity/audit_store.h"
#include "services/links-api/identity/user_store.h"
#include "services/links-api/links/link_audit.h"
#include "services/links-api/links/link_cache_update.h"

#define POLL_MS 5000
#define CACHE_POLL_US (20 * CLOCK_US_PER_MS)
#define CACHE_TIMEOUT_US (LINK_CACHE_VALIDITY_HEARTBEAT_AGE_MS * CLOCK_US_PER_MS)

/* --- batches of links --- */

/* Reads the next links and collects the IDs of those that are not DELETED yet. */
static enum err read_next(struct pg_conn *conn, struct account_deletion_cursor *cursor,
                          struct sql_column *ids)
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	pg_params_int(&params, cursor->workspace_id);
	pg_params_time(&params, cursor->created_at_us);
	pg_params_int(&params, cursor->id);
	pg_params_int(&params, ACCOUNT_DELETION_BATCH_MAX);
	enum err err = pg_conn_query(conn,
	                             "SELECT id, created_at, state <> 'DELETED' FROM links "
	                             "WHERE workspace_id = $1 AND (created_at, id) > ($2, $3) "
	                             "ORDER BY created_at, id LIMIT $4",
	                             &params, &rows);
	if (err != OK)
		return err;
	size_t count = pg_result_count(rows);
	for (size_t i = 0; i < count; i++)
		if (pg_result_bool(rows, i, 2))
			sql_column_add_int(ids, pg_result_int(rows, i, 0));
	cursor->is_over = count < ACCOUNT_DELETION_BATCH_MAX;
	if (count > 0) {
		cursor->id = pg_result_int(rows, count - 1, 0);
		cursor->created_at_us = pg_result_time(rows, count - 1, 1);
	}
	pg_result_free(rows);
	return OK;
}

static enum err add_events(const struct pg_result *rows, struct outbox_bulk *events,
                           struct account_deletion_batch *batch)
{
	struct link_event event;
	for (size_t i = 0; i < pg_result_count(rows); i++) {
		enum err err = link_row_read(rows, i, &event.link);
		if (err != OK)
			return err;
		link_row_to_event(&event.link, LINK_CHANGE_DELETED, &event);
		outbox_bulk_add(events, &event);
		batch->ids[batch->count++] = event.link.entry.id;
		snprintf(batch->last_slug, sizeof(batch->last_slug), "%s", event.link.entry.slug);
	}
	return OK;
}

/* Locks rows in the order of IDs, like every statement that locks several links. */
static enum err delete_rows(struct pg_conn *conn, struct sql_column *ids, struct pg_result **rows)
{
	struct pg_params params = { 0 };
	enum err err = sql_column_param(ids, &params);
	if (err != OK)
		return err;
	return pg_conn_query(
		conn,
		"WITH chosen AS (SELECT id FROM links WHERE id = ANY ($1::bigint[]) AND state <> 'DELETED' "
		"ORDER BY id FOR UPDATE) "
		"UPDATE links SET state = 'DELETED', version = version + 1, state_before_deletion = state, "
		"state_since = clock_timestamp(), updated_at = clock_timestamp() "
		"WHERE id = ANY (ARRAY(SELECT id FROM chosen)) RETURNING " LINK_ROW_COLUMNS,
		&params, rows);
}

enum err account_deletion_next(struct pg_conn *conn, struct account_deletion_cursor *cursor,
                               struct account_deletion_batch *batch)
{
	struct sql_column ids;
	struct outbox_bulk events;
	struct pg_result *rows = NULL;
	batch->count = 0;
	batch->last_slug[0] = '\0';
	sql_column_init_for(&ids, SQL_COLUMN_INT8, ACCOUNT_DELETION_BATCH_MAX, sizeof(int64_t));
	outbox_bulk_init(&events, OUTBOX_URGENT, ACCOUNT_DELETION_BATCH_MAX);
	enum err err = read_next(conn, cursor, &ids);
	if (err == OK && ids.count > 0)
		err = delete_rows(conn, &ids, &rows);
	if (err == OK)
		err = add_events(rows, &events, batch);
	if (err == OK)
		err = outbox_bulk_insert(&events, conn);
	outbox_bulk_clear(&events);
	sql_column_clear(&ids);
	pg_result_free(rows);
	return err;
}

/* --- accounts --- */

/* Progress within one account. A batch takes 4 KB. */
struct progress {
	const struct api *api;
	/* NULL in the background thread. */
	const char *request_id;
	struct account_deletion_cursor walk;
	struct account_deletion_batch step;
	bool is_grace_over;
	/* Rows of its figures that the last step deleted. */
	int64_t figures;
};

/* One entry for all links of the step. */
static enum err audit_step(const struct progress *p, struct pg_conn *conn)
{
	if (p->step.count == 0)
		return OK;
	struct json *details = json_new_object();
	json_set_text(details, "because", "user.delete");
	json_set_int(details, "links", (int64_t)p->step.count);
	const struct audit_entry entry = {
		.workspace_id = p->walk.workspace_id,
		.actor_id = p->walk.workspace_id,
		.action = link_audit_action(LINK_CHANGE_DELETED),
		.subject_type = AUDIT_STORE_WORKSPACE,
		.subject_id = p->walk.workspace_id,
		.request_id = p->request_id,
		.details = details,
	};
	enum err err = audit_store_add(conn, &entry);
	json_free(details);
	return err;
}

/* ERR_NOT_FOUND: another instance holds this account, or has finished it. */
static enum err delete_batch_on(void *ctx, struct pg_conn *conn)
{
	struct progress *p = ctx;
	int64_t id = 0;
	int64_t workspace_id = p->walk.workspace_id;
	enum err err = user_store_lock_deleting(conn, workspace_id - 1, 0, ACCOUNT_DELETION_GRACE_S,
	                                        &id, &p->is_grace_over);
	if (err == OK && id != workspace_id)
		err = ERR_NOT_FOUND;
	if (err == OK)
		err = account_deletion_next(conn, &p->walk, &p->step);
	return err == OK ? audit_step(p, conn) : err;
}

static enum err delete_batch(struct progress *p)
{
	return pg_pool_transact(p->api->pg, delete_batch_on, p);
}

/*
 * The relay works in order: once the last link of a batch is in the cache, all of them are. Does
 * not wait longer than a request waits for the cache after one change.
 */
static void wait_until_cached(const struct progress *p)
{
	const char *slug = p->step.last_slug;
	int64_t until_us = clock_steady_us(p->api->clock) + CACHE_TIMEOUT_US;
	while (p->step.count > 0 && !link_cache_update_is_relayed(p->api, &slug, 1) &&
	       clock_steady_us(p->api->clock) < until_us)
		usleep(CACHE_POLL_US);
}

struct deletion {
	const struct request *request;
	const char *hash;
};

/*
 * An administrator may only leave if another one stays. If the caller became one after
 * authentication, the request must be repeated.
 */
static enum err erase(const struct deletion *deletion, struct pg_conn *conn)
{
	const struct request *r = deletion->request;
	bool is_admin = r->has_admin_role;
	bool another_stays = false;
	bool was_admin = false;
	enum err err = is_admin ? user_store_lock_admins(conn, r->user_id, &another_stays) : OK;
	if (err == OK)
		err = user_store_erase(conn, r->user_id, deletion->hash, &was_admin);
	if (err == OK && was_admin && !another_stays)
		err = is_admin ? ERR_CONFLICT : ERR_UNAVAILABLE;
	return err;
}

static enum err delete_account_on(void *ctx, struct pg_conn *conn)
{
	const struct deletion *deletion = ctx;
	const struct request *r = deletion->request;
	enum err err = erase(deletion, conn);
	if (err == OK)
		err = audit_store_record(r, conn, "user.delete", AUDIT_STORE_USER, r->user_id,
		                         NULL);
	return err;
}

enum err account_deletion_run(const struct request *r, const char *hash)
{
	struct deletion deletion = { r, hash };
	enum err err = pg_pool_transact(r->api->pg, delete_account_on, &deletion);
	if (err != OK)
		return err;
	struct progress *p = mem_zero(sizeof(*p));
	*p = (struct progress){ .api = r->api,
		                .request_id = http_exchange_request_id(r->exchange) };
	p->walk.workspace_id = r->user_id;
	for (size_t done = 0; done < ACCOUNT_DELETION_SYNC_LINKS && !p->walk.is_over;
	     done += ACCOUNT_DELETION_BATCH_MAX) {
		if (delete_batch(p) != OK)
			break; /* the background thread continues */
		wait_until_cached(p);
	}
	free(p);
	return OK;
}

struct account_deletion {
	const struct api *api;
	struct thread *thread;
};

#define DELETE_SOME(table)                                                                         \
	"DELETE FROM " table " WHERE ctid = ANY (ARRAY(SELECT ctid FROM " table                    \
	" WHERE workspace_id = $1 LIMIT 500)) RETURNING 1"

/* A bounded number of rows. *deleted: how many; 0 = there are none. */
static enum err delete_some_figures(struct pg_conn *conn, int64_t workspace_id, int64_t *deleted)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, workspace_id);
	return pg_conn_query_int(
		conn,
		"WITH hours AS (" DELETE_SOME("rollup_workspace_hour") "), days AS (" DELETE_SOME(
			"rollup_workspace_day") ") SELECT (SELECT count(*) FROM hours) + (SELECT count(*) FROM days)",
		&params, deleted);
}

/* Deletes some of the account's figures; closes it when there are none. */
static enum err finish_on(void *ctx, struct pg_conn *conn)
{
	struct progress *p = ctx;
	int64_t id = 0;
	bool is_grace_over = false;
	enum err err = user_store_lock_deleting(conn, p->walk.workspace_id - 1, 0,
	                                        ACCOUNT_DELETION_GRACE_S, &id, &is_grace_over);
	if (err == OK && id != p->walk.workspace_id)
		err = ERR_NOT_FOUND;
	if (err == OK)
		err = delete_some_figures(conn, id, &p->figures);
	return err == OK && p->figures == 0 ? user_store_set_closed(conn, id) : err;
}

static void finish_account(struct account_deletion *deletion, struct progress *p)
{
	enum err err;
	do
		err = pg_pool_transact(p->api->pg, finish_on, p);
	while (err == OK && p->figures > 0 && !thread_is_stopping(deletion->thread));
	if (err == OK && p->figures == 0)
		log_info(p->api->log, "account_deleted", LOG_INT("user_id", p->walk.workspace_id));
}

/* Passes over all links of the account. After the grace period, no more links can appear. */
static void delete_links(struct account_deletion *deletion, struct progress *p)
{
	bool was_grace_over = true;
	enum err err = OK;
	while (err == OK && !p->walk.is_over && !thread_is_stopping(deletion->thread)) {
		err = delete_batch(p);
		was_grace_over = was_grace_over && p->is_grace_over;
		if (err == OK)
			wait_until_cached(p);
	}
	if (err == OK && p->walk.is_over && was_grace_over)
		finish_account(deletion, p);
}

/* id: in, an account id; out, the next account that is being deleted, by its request no more. */
static enum err find_next_on(void *id, struct pg_conn *conn)
{
	int64_t after = *(const int64_t *)id;
	bool is_grace_over;
	return user_store_lock_deleting(conn, after, ACCOUNT_DELETION_REQUEST_S,
	                                ACCOUNT_DELETION_GRACE_S, id, &is_grace_over);
}

/* Returns the next account after the given id that is being deleted; 0 = none. */
static int64_t next_account(const struct account_deletion *deletion, int64_t after)
{
	int64_t id = after;
	return pg_pool_transact(deletion->api->pg, find_next_on, &id) == OK ? id : 0;
}

static void run(void *ctx)
{
	struct account_deletion *deletion = ctx;
	struct progress *p = mem_zero(sizeof(*p));
	while (!thread_wait_ms(deletion->thread, POLL_MS)) {
		for (int64_t id = 0;
		     (id = next_account(deletion, id)) && !thread_is_stopping(deletion->thread);) {
			*p = (struct progress){ .api = deletion->api,
				                .walk = { .workspace_id = id } };
			delete_links(deletion, p);
		}
	}
	free(p);
}

struct account_deletion *account_deletion_start(const struct api *api)
{
	struct account_deletion *deletion = mem_zero(sizeof(*deletion));
	deletion->api = api;
	deletion->thread = thread_new();
	thread_start(deletion->thread, "accounts", run, deletion);
	return deletion;
}

void account_deletion_stop(struct account_deletion *deletion)
{
	if (!deletion)
		return;
	thread_free(deletion->thread);
	free(deletion);
}
