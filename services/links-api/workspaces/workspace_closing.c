#include "services/links-api/workspaces/workspace_closing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/mem.h"
#include "lib/base/thread.h"
#include "lib/links/link_cache_validity.h"
#include "lib/links/link_row.h"
#include "lib/links/outbox.h"
#include "lib/postgres/pg_pool.h"
#include "lib/postgres/sql_column.h"
#include "services/links-api/identity/audit_store.h"
#include "services/links-api/links/link_audit.h"
#include "services/links-api/links/link_cache_update.h"

#define POLL_MS 5000
#define CACHE_POLL_US (20 * CLOCK_US_PER_MS)
#define CACHE_TIMEOUT_US (LINK_CACHE_VALIDITY_HEARTBEAT_AGE_MS * CLOCK_US_PER_MS)

/* --- the row of the workspace --- */

/* Whether the deletion of a workspace can be undone: w is its row. */
#define IS_UNDOABLE                                                                                \
	"(w.deleted_at > statement_timestamp() - interval '7 days' AND "                           \
	"EXISTS (SELECT FROM members m WHERE m.workspace_id = w.id AND m.role = 'owner'))"

static enum err change_row(struct pg_conn *conn, const char *sql, int64_t id)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, id);
	return pg_conn_query_int(conn, sql, &params, &id);
}

enum err workspace_closing_begin(struct pg_conn *conn, int64_t id)
{
	return change_row(
		conn,
		"UPDATE workspaces SET deleted_at = clock_timestamp(), closing = 'deleting', "
		"restoring = NULL WHERE id = $1 AND deleted_at IS NULL RETURNING id",
		id);
}

enum err workspace_closing_undo(struct pg_conn *conn, int64_t id)
{
	return change_row(
		conn,
		"UPDATE workspaces w SET restoring = tstzrange(deleted_at, clock_timestamp()), "
		"deleted_at = NULL, closing = 'restoring' "
		"WHERE id = $1 AND " IS_UNDOABLE " RETURNING id",
		id);
}

/* --- batches of links --- */

/* Reads the next links and collects the IDs of those that are to be changed. */
static enum err read_next(struct pg_conn *conn, struct workspace_closing_cursor *cursor,
                          struct sql_column *ids)
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	pg_params_int(&params, cursor->workspace_id);
	pg_params_time(&params, cursor->created_at_us);
	pg_params_int(&params, cursor->id);
	pg_params_int(&params, WORKSPACE_CLOSING_BATCH_MAX);
	pg_params_time_or_null(&params, cursor->restores_since_us);
	pg_params_time_or_null(&params, cursor->restores_until_us);
	enum err err = pg_conn_query(
		conn,
		"SELECT id, created_at, CASE WHEN $5::timestamptz IS NULL THEN state <> 'DELETED' "
		"ELSE state = 'DELETED' AND state_since >= $5 AND state_since < $6 END FROM links "
		"WHERE workspace_id = $1 AND (created_at, id) > ($2, $3) "
		"ORDER BY created_at, id LIMIT $4",
		&params, &rows);
	if (err != OK)
		return err;
	size_t count = pg_result_count(rows);
	for (size_t i = 0; i < count; i++)
		if (pg_result_bool(rows, i, 2))
			sql_column_add_int(ids, pg_result_int(rows, i, 0));
	cursor->is_over = count < WORKSPACE_CLOSING_BATCH_MAX;
	if (count > 0) {
		cursor->id = pg_result_int(rows, count - 1, 0);
		cursor->created_at_us = pg_result_time(rows, count - 1, 1);
	}
	pg_result_free(rows);
	return OK;
}

static enum link_change change_of(const struct workspace_closing_cursor *cursor)
{
	return cursor->restores_since_us ? LINK_CHANGE_RESTORED : LINK_CHANGE_DELETED;
}

static enum err add_events(const struct pg_result *rows, enum link_change change,
                           struct outbox_bulk *events, struct workspace_closing_batch *batch)
{
	struct link_event event;
	for (size_t i = 0; i < pg_result_count(rows); i++) {
		enum err err = link_row_read(rows, i, &event.link);
		if (err != OK)
			return err;
		link_row_to_event(&event.link, change, &event);
		outbox_bulk_add(events, &event);
		batch->ids[batch->count++] = event.link.entry.id;
	}
	return OK;
}

/* Locks rows in the order of IDs, like every statement that locks several links. */
static enum err change_rows(struct pg_conn *conn, struct sql_column *ids, bool restores,
                            struct pg_result **rows)
{
	struct pg_params params = { 0 };
	enum err err = sql_column_param(ids, &params);
	if (err != OK)
		return err;
	pg_params_bool(&params, restores);
	return pg_conn_query(
		conn,
		"WITH chosen AS (SELECT id FROM links WHERE id = ANY ($1::bigint[]) "
		"AND (state = 'DELETED') = $2 ORDER BY id FOR UPDATE) "
		"UPDATE links SET state = CASE WHEN $2 THEN coalesce(state_before_deletion, 'ACTIVE') "
		"ELSE 'DELETED' END, state_before_deletion = CASE WHEN NOT $2 THEN state END, "
		"version = version + 1, state_since = clock_timestamp(), updated_at = clock_timestamp() "
		"WHERE id = ANY (ARRAY(SELECT id FROM chosen)) RETURNING " LINK_ROW_COLUMNS,
		&params, rows);
}

enum err workspace_closing_next(struct pg_conn *conn, struct workspace_closing_cursor *cursor,
                                struct workspace_closing_batch *batch)
{
	struct sql_column ids;
	struct outbox_bulk events;
	struct pg_result *rows = NULL;
	enum link_change change = change_of(cursor);
	batch->count = 0;
	sql_column_init_for(&ids, SQL_COLUMN_INT8, WORKSPACE_CLOSING_BATCH_MAX, sizeof(int64_t));
	outbox_bulk_init(&events, OUTBOX_URGENT, WORKSPACE_CLOSING_BATCH_MAX);
	enum err err = read_next(conn, cursor, &ids);
	if (err == OK && ids.count > 0)
		err = change_rows(conn, &ids, change == LINK_CHANGE_RESTORED, &rows);
	if (err == OK)
		err = add_events(rows, change, &events, batch);
	if (err == OK)
		err = outbox_bulk_insert(&events, conn);
	memcpy(batch->last_slug, events.last_slug, sizeof(batch->last_slug));
	outbox_bulk_clear(&events);
	sql_column_clear(&ids);
	pg_result_free(rows);
	return err;
}

/* --- workspaces --- */

/* The values of the column closing. */
enum phase {
	/* Links become DELETED. */
	DELETING,
	/* All are; the rest goes when that cannot be undone any more. */
	DELETED,
	/* Links come back. */
	RESTORING
};

/* Progress within one workspace. A batch takes 4 KB. */
struct progress {
	const struct api *api;
	/* NULL in the background thread. */
	const struct request *request;
	int64_t id;
	enum phase phase;
	struct workspace_closing_cursor walk;
	struct workspace_closing_batch step;
	/* In every step of the walk. */
	bool was_grace_over;
	/* Rows of its figures that the last step deleted. */
	int64_t figures;
};

static void read_phase(const struct pg_result *rows, struct progress *p)
{
	const char *name = pg_result_text(rows, 0, 1);
	p->id = pg_result_int(rows, 0, 0);
	p->phase = strcmp(name, "deleting") == 0  ? DELETING
	           : strcmp(name, "deleted") == 0 ? DELETED
	                                          : RESTORING;
	p->walk.workspace_id = p->id;
	p->walk.restores_since_us = pg_result_time(rows, 0, 3);
	p->walk.restores_until_us = pg_result_time(rows, 0, 4);
	p->was_grace_over = p->was_grace_over && pg_result_bool(rows, 0, 2);
}

/*
 * Locks the next workspace after the given one that is due, skipping those that others have locked.
 * since_s: it is deleted, or restored, for that long. ERR_NOT_FOUND: none.
 */
static enum err lock_next(struct pg_conn *conn, int64_t after, int64_t since_s, struct progress *p)
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	pg_params_int(&params, after);
	pg_params_int(&params, since_s);
	pg_params_int(&params, WORKSPACE_CLOSING_GRACE_S);
	enum err err = pg_conn_query(
		conn,
		"SELECT id, closing, begun < statement_timestamp() - $3::bigint * interval '1 second', "
		"lower(restoring), upper(restoring) "
		"FROM workspaces w, LATERAL (SELECT coalesce(upper(restoring), deleted_at) AS begun) AS b "
		"WHERE closing IS NOT NULL AND id > $1 "
		"AND begun <= statement_timestamp() - $2::bigint * interval '1 second' "
		"AND NOT (closing = 'deleted' AND " IS_UNDOABLE ") "
		"ORDER BY id LIMIT 1 FOR NO KEY UPDATE OF w SKIP LOCKED",
		&params, &rows);
	if (err == OK && pg_result_count(rows) != 1)
		err = ERR_NOT_FOUND;
	if (err == OK)
		read_phase(rows, p);
	pg_result_free(rows);
	return err;
}

/* ERR_NOT_FOUND: another instance holds it, or it is in another phase now. */
static enum err lock_again(struct progress *p, struct pg_conn *conn)
{
	int64_t id = p->id;
	enum phase phase = p->phase;
	enum err err = lock_next(conn, id - 1, 0, p);
	bool is_same = err == OK && p->id == id && p->phase == phase;
	p->id = id;
	p->phase = phase;
	return err == OK && !is_same ? ERR_NOT_FOUND : err;
}

/* One entry for all links of the step. */
static enum err audit_step(const struct progress *p, struct pg_conn *conn)
{
	if (p->step.count == 0)
		return OK;
	struct json *details = json_new_object();
	json_set_text(details, "because",
	              p->phase == DELETING ? "workspace.delete" : "workspace.restore");
	json_set_int(details, "links", (int64_t)p->step.count);
	const struct audit_entry entry = {
		.workspace_id = p->id,
		.actor_id = p->request ? p->request->user_id : 0,
		.action = link_audit_action(change_of(&p->walk)),
		.subject_type = AUDIT_STORE_WORKSPACE,
		.subject_id = p->id,
		.request_id = p->request ? http_exchange_request_id(p->request->exchange) : NULL,
		.details = details,
	};
	enum err err = audit_store_add(conn, &entry);
	json_free(details);
	return err;
}

/* After the last link. After the grace period, no more links can appear. */
static enum err end_walk(const struct progress *p, struct pg_conn *conn)
{
	if (p->phase == RESTORING)
		return change_row(conn,
		                  "UPDATE workspaces SET closing = NULL, restoring = NULL "
		                  "WHERE id = $1 RETURNING id",
		                  p->id);
	return p->was_grace_over ? change_row(conn,
	                                      "UPDATE workspaces SET closing = 'deleted' "
	                                      "WHERE id = $1 RETURNING id",
	                                      p->id)
	                         : OK;
}

static enum err change_batch_on(void *ctx, struct pg_conn *conn)
{
	struct progress *p = ctx;
	enum err err = lock_again(p, conn);
	if (err == OK)
		err = workspace_closing_next(conn, &p->walk, &p->step);
	if (err == OK)
		err = audit_step(p, conn);
	return err == OK && p->walk.is_over ? end_walk(p, conn) : err;
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

static enum err change_batch(struct progress *p)
{
	enum err err = pg_pool_transact(p->api->pg, change_batch_on, p);
	if (err == OK)
		wait_until_cached(p);
	return err;
}

/* Reads the phase that the commit before has begun. */
static enum err find_on(void *ctx, struct pg_conn *conn)
{
	struct progress *p = ctx;
	int64_t id = p->id;
	enum err err = lock_next(conn, id - 1, 0, p);
	return err == OK && (p->id != id || p->phase == DELETED) ? ERR_NOT_FOUND : err;
}

size_t workspace_closing_run(const struct request *r, int64_t id, size_t done)
{
	struct progress *p = mem_zero(sizeof(*p));
	*p = (struct progress){ .api = r->api, .request = r, .id = id };
	enum err err = pg_pool_transact(r->api->pg, find_on, p);
	while (err == OK && done < WORKSPACE_CLOSING_SYNC_LINKS && !p->walk.is_over) {
		err = change_batch(p); /* after an error the background thread continues */
		done += WORKSPACE_CLOSING_BATCH_MAX;
	}
	free(p);
	return done;
}

struct workspace_closing {
	const struct api *api;
	struct thread *thread;
};

#define DELETE_SOME(table)                                                                         \
	"DELETE FROM " table " WHERE ctid = ANY (ARRAY(SELECT ctid FROM " table                    \
	" WHERE workspace_id = $1 LIMIT 500)) RETURNING 1"

/* A bounded number of rows. *deleted: how many; 0 = there are none. */
static enum err delete_some_figures(struct pg_conn *conn, int64_t id, int64_t *deleted)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, id);
	return pg_conn_query_int(
		conn,
		"WITH hours AS (" DELETE_SOME("rollup_workspace_hour") "), days AS (" DELETE_SOME(
			"rollup_workspace_day") ") SELECT (SELECT count(*) FROM hours) + (SELECT count(*) FROM days)",
		&params, deleted);
}

/* Everything else that belongs to the workspace, which each has a ceiling. */
static enum err delete_rest(struct pg_conn *conn, int64_t id)
{
	return change_row(
		conn,
		"WITH m AS (DELETE FROM members WHERE workspace_id = $1), "
		"i AS (DELETE FROM invitations WHERE workspace_id = $1), "
		"k AS (DELETE FROM api_keys WHERE workspace_id = $1), "
		"s AS (DELETE FROM shares WHERE workspace_id = $1), "
		"t AS (DELETE FROM tag_colors WHERE workspace_id = $1), "
		"u AS (DELETE FROM utm_templates WHERE workspace_id = $1) "
		"UPDATE workspaces SET name = '', closing = NULL WHERE id = $1 RETURNING id",
		id);
}

/* Deletes some of its figures; ends it when there are none. */
static enum err finish_on(void *ctx, struct pg_conn *conn)
{
	struct progress *p = ctx;
	enum err err = lock_again(p, conn);
	if (err == OK)
		err = delete_some_figures(conn, p->id, &p->figures);
	return err == OK && p->figures == 0 ? delete_rest(conn, p->id) : err;
}

static void finish(struct workspace_closing *closing, struct progress *p)
{
	enum err err;
	do
		err = pg_pool_transact(p->api->pg, finish_on, p);
	while (err == OK && p->figures > 0 && !thread_is_stopping(closing->thread));
	if (err == OK && p->figures == 0)
		log_info(p->api->log, "workspace_deleted", LOG_INT("workspace_id", p->id));
}

static void change_links(struct workspace_closing *closing, struct progress *p)
{
	enum err err = OK;
	while (err == OK && !p->walk.is_over && !thread_is_stopping(closing->thread))
		err = change_batch(p);
}

/* p: in, the id of a workspace; out, the next one that is due, by its request no more. */
static enum err find_next_on(void *ctx, struct pg_conn *conn)
{
	struct progress *p = ctx;
	return lock_next(conn, p->id, WORKSPACE_CLOSING_REQUEST_S, p);
}

static void run(void *ctx)
{
	struct workspace_closing *closing = ctx;
	struct progress *p = mem_zero(sizeof(*p));
	while (!thread_wait_ms(closing->thread, POLL_MS)) {
		for (int64_t id = 0; !thread_is_stopping(closing->thread); id = p->id) {
			*p = (struct progress){ .api = closing->api,
				                .id = id,
				                .was_grace_over = true };
			if (pg_pool_transact(closing->api->pg, find_next_on, p) != OK)
				break;
			if (p->phase == DELETED)
				finish(closing, p);
			else
				change_links(closing, p);
		}
	}
	free(p);
}

struct workspace_closing *workspace_closing_start(const struct api *api)
{
	struct workspace_closing *closing = mem_zero(sizeof(*closing));
	closing->api = api;
	closing->thread = thread_new();
	thread_start(closing->thread, "workspaces", run, closing);
	return closing;
}

void workspace_closing_stop(struct workspace_closing *closing)
{
	if (!closing)
		return;
	thread_free(closing->thread);
	free(closing);
}
