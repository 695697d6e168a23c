#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/array.h"
#include "lib/base/mem.h"
#include "lib/links/link_row.h"
#include "lib/links/outbox.h"
#include "lib/postgres/pg_pool.h"
#include "lib/postgres/sql_column.h"
#include "services/links-api/http/handlers.h"
#include "services/links-api/http/member.h"
#include "services/links-api/http/response.h"
#include "services/links-api/identity/audit_store.h"
#include "services/links-api/identity/authentication.h"
#include "services/links-api/identity/membership.h"
#include "services/links-api/links/link_audit.h"
#include "services/links-api/links/link_cache_update.h"
#include "services/links-api/links/link_history.h"
#include "services/links-api/links/link_quota.h"
#include "services/links-api/links/link_write.h"
#include "services/links-api/lists/link_list_store.h"

/* One request: its input and its results. About 22 MB with the links. */
struct move {
	struct request *request;
	/* The links: of a filter, or ids. */
	struct link_list_params params;
	int64_t *ids;
	size_t id_count;
	int64_t target_id;

	struct membership target;
	struct link *links;
	size_t count;
	struct link_quota quota;
	/* An id that is no link of the workspace; 0 = none. */
	int64_t missing_id;
	bool has_no_target, lacks_second_factor, is_over_quota;
	/* The request has been answered. */
	bool is_rate_limited;
};

/* --- reading --- */

static void read_ids(const struct json *value, struct move *m, struct http_problem_fields *wrong)
{
	size_t count = json_type(value) == JSON_ARRAY ? json_count(value) : 0;
	if (count < 1 || count > LINK_WRITE_MAX) {
		http_problem_add_field(wrong, "/ids", "array",
		                       "must be an array of 1 to %d ids of links", LINK_WRITE_MAX);
		return;
	}
	m->ids = mem_array(count, sizeof(*m->ids));
	for (size_t i = 0; i < count; i++) {
		char pointer[HTTP_PROBLEM_POINTER_SIZE];
		const struct json *id = json_at(value, i);
		snprintf(pointer, sizeof(pointer), "/ids/%zu", i);
		if (json_type(id) == JSON_INT && json_int(id) > 0)
			m->ids[m->id_count++] = json_int(id);
		else
			http_problem_add_field(wrong, pointer, "id", "must be the id of a link");
	}
}

static void read_filter(const struct json *body, struct move *m, struct http_problem_fields *wrong)
{
	char reason[NQL_REASON_SIZE];
	const char *filter = member_text_of(body, "filter", true, wrong);
	m->params.workspace_id = m->request->workspace_id;
	m->params.has_filter = true;
	if (filter && nql_parse(filter, &m->params.filter, reason) != OK)
		http_problem_add_field(wrong, "/filter", "filter", "%s", reason);
}

/* {ids | filter, workspace_id}. False: the request has been answered. */
static bool read_body(struct move *m)
{
	static const char *const names[] = { "ids", "filter", "workspace_id" };
	struct request *r = m->request;
	struct http_problem_fields wrong = { 0 };
	struct json *body = request_body_read(r);
	if (!body)
		return false;
	const struct json *ids = json_get(body, "ids"), *target = json_get(body, "workspace_id");
	member_reject_unknown(body, names, ARRAY_SIZE(names), &wrong);
	if (!ids == !json_get(body, "filter"))
		http_problem_add_field(&wrong, "/ids", ids ? "exclusive" : "required",
		                       "exactly one of ids and filter is required");
	else if (ids)
		read_ids(ids, m, &wrong);
	else
		read_filter(body, m, &wrong);
	if (target && json_type(target) == JSON_INT && json_int(target) > 0)
		m->target_id = json_int(target);
	else
		http_problem_add_field(&wrong, "/workspace_id", target ? "id" : "required",
		                       "must be the id of a workspace");
	json_free(body);
	if (wrong.count > 0)
		response_invalid_fields(r, &wrong);
	return wrong.count == 0;
}

/* --- in the transaction --- */

/* Locks the sponsors of both, which is the order of everybody who changes links: those come after. */
static enum err lock_workspaces(struct move *m, struct pg_conn *conn)
{
	int64_t from = m->request->workspace_id, to = m->target_id;
	enum err err = membership_lock_workspace(conn, from < to ? from : to);
	return err == OK ? membership_lock_workspace(conn, from < to ? to : from) : err;
}

/* Whoever may not write there learns nothing about it. */
static enum err check_target(struct move *m, struct pg_conn *conn)
{
	const struct request *r = m->request;
	struct membership_person person = { 0 };
	enum err err = membership_find(conn, r->user_id, m->target_id, &person);
	m->target = person.membership;
	if (err == OK && request_is_admin(r) && m->target.role < WORKSPACE_EDITOR)
		err = membership_find_as_admin(conn, m->target_id, &m->target);
	m->has_no_target =
		err == ERR_NOT_FOUND ||
		(err == OK && (m->target.is_deleted || m->target.role < WORKSPACE_EDITOR));
	m->lacks_second_factor = err == OK && !m->has_no_target && r->lacks_second_factor &&
	                         m->target.requires_second_factor;
	return m->has_no_target || m->lacks_second_factor ? ERR_NOT_FOUND : err;
}

/* Each id must be one of the locked links, and in this workspace. */
static void find_missing(struct move *m)
{
	for (size_t i = 0; i < m->id_count && !m->missing_id; i++) {
		bool is_found = false;
		for (size_t j = 0; j < m->count && !is_found; j++)
			is_found = m->links[j].entry.id == m->ids[i] &&
			           m->links[j].workspace_id == m->request->workspace_id &&
			           m->links[j].entry.state != LINK_STATE_DELETED;
		m->missing_id = is_found ? 0 : m->ids[i];
	}
}

static enum err lock_links(struct move *m, struct pg_conn *conn)
{
	enum err err = m->ids ? link_write_lock(conn, m->ids, m->id_count, m->links, &m->count)
	                      : link_list_store_lock(conn, &m->params, m->links, LINK_WRITE_MAX,
	                                             &m->count);
	if (err == OK && m->ids)
		find_missing(m);
	return err == OK && m->missing_id ? ERR_NOT_FOUND : err;
}

/*
 * Between workspaces of one sponsor nothing is used up. Otherwise the links count as new ones: a
 * quota would be as large as the sponsors that one knows are many.
 */
static enum err use_quota(struct move *m, struct pg_conn *conn)
{
	struct request there = *m->request;
	there.sponsor_id = m->target.sponsor_id;
	if (there.sponsor_id == m->request->sponsor_id)
		return OK;
	enum err err = link_quota_read(&there, conn, true, &m->quota);
	m->is_over_quota = err == OK && m->quota.state.left < (int64_t)m->count;
	if (m->is_over_quota)
		return ERR_CONFLICT;
	return err == OK ? link_quota_use(&there, conn, &m->quota, (int64_t)m->count) : err;
}

static enum err add_events(const struct pg_result *rows, struct outbox_bulk *events)
{
	struct link_event event;
	enum err err = OK;
	for (size_t i = 0; err == OK && i < pg_result_count(rows); i++) {
		err = link_row_read(rows, i, &event.link);
		link_row_to_event(&event.link, LINK_CHANGE_UPDATED, &event);
		if (err == OK)
			outbox_bulk_add(events, &event);
	}
	return err;
}

/* The links are locked. Their shares end: whoever made them may have no access any more. */
static enum err write_links(struct move *m, struct pg_conn *conn)
{
	struct sql_column ids;
	struct outbox_bulk events;
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	sql_column_init_for(&ids, SQL_COLUMN_INT8, m->count, sizeof(int64_t));
	outbox_bulk_init(&events, OUTBOX_URGENT, m->count);
	for (size_t i = 0; i < m->count; i++)
		sql_column_add_int(&ids, m->links[i].entry.id);
	enum err err = sql_column_param(&ids, &params);
	pg_params_int(&params, m->target_id);
	if (err == OK)
		err = pg_conn_query(
			conn,
			"WITH ended AS (DELETE FROM shares WHERE link_id = ANY ($1::bigint[])) "
			"UPDATE links SET workspace_id = $2, version = version + 1, "
			"updated_at = clock_timestamp() WHERE id = ANY ($1::bigint[]) "
			"RETURNING " LINK_ROW_COLUMNS,
			&params, &rows);
	if (err == OK)
		err = add_events(rows, &events);
	if (err == OK)
		err = outbox_bulk_insert(&events, conn);
	outbox_bulk_clear(&events);
	sql_column_clear(&ids);
	pg_result_free(rows);
	return err;
}

/* In both workspaces, which do not learn of each other. */
static enum err audit(const struct move *m, struct pg_conn *conn)
{
	const struct request *r = m->request;
	struct link_audit_bulk links = { 0 };
	for (size_t i = 0; i < m->count; i++)
		link_audit_bulk_include(&links, m->links[i].entry.id);
	struct json *details = link_audit_bulk_details(&links);
	struct audit_entry entry = {
		.workspace_id = r->workspace_id,
		.actor_id = r->user_id,
		.action = "link.move_away",
		.subject_type = AUDIT_STORE_WORKSPACE,
		.subject_id = r->workspace_id,
		.request_id = http_exchange_request_id(r->exchange),
		.details = details,
	};
	enum err err = audit_store_add(conn, &entry);
	entry.workspace_id = entry.subject_id = m->target_id;
	entry.action = "link.move_here";
	if (err == OK)
		err = audit_store_add(conn, &entry);
	json_free(details);
	return err;
}

static enum err move_on(void *ctx, struct pg_conn *conn)
{
	struct move *m = ctx;
	enum err err = check_target(m, conn);
	if (err == OK)
		err = lock_workspaces(m, conn);
	if (err == OK)
		err = lock_links(m, conn);
	if (err != OK || m->count == 0)
		return err;
	m->is_rate_limited = !authentication_take_bulk(m->request, (int64_t)m->count);
	if (m->is_rate_limited)
		return ERR_LIMIT;
	err = use_quota(m, conn);
	if (err == OK)
		err = link_history_begin(m->request, conn);
	if (err == OK)
		err = write_links(m, conn);
	return err == OK ? audit(m, conn) : err;
}

/* --- the answer --- */

static void update_cache(const struct move *m)
{
	const char *slugs[LINK_WRITE_MAX];
	struct link_aliases aliases = { 0 };
	for (size_t i = 0; i < m->count; i++) {
		slugs[i] = m->links[i].entry.slug;
		link_aliases_want(&aliases, &m->links[i]);
	}
	link_cache_update_bulk(m->request->api, slugs, m->count);
	link_cache_update_aliases(m->request->api, &aliases);
	link_aliases_clear(&aliases);
}

static enum http_progress answer_error(const struct move *m, enum err err)
{
	struct request *r = m->request;
	char detail[128];
	if (m->is_rate_limited)
		return HTTP_COMPLETE;
	if (m->is_over_quota)
		return response_rate_limited(r, &m->quota.rule, m->quota.state.reset_s);
	if (m->lacks_second_factor)
		return response_problem(
			r, 403, "second-factor-required",
			"The other workspace needs a second factor for your login. Set one up: "
			"POST /api/auth/second-factor.");
	if (m->has_no_target)
		return response_problem(
			r, 404, "workspace-not-found",
			"workspace_id names no workspace of which you are an editor.");
	if (m->missing_id) {
		snprintf(detail, sizeof(detail),
		         "Link %" PRId64 " is not in this workspace. Nothing was moved.",
		         m->missing_id);
		return response_problem(r, 404, "link-not-found", detail);
	}
	if (err == ERR_LIMIT && m->count > LINK_WRITE_MAX)
		return response_problem(r, 422, "too-many-links",
		                        "The filter matches more than 1,000 links. Nothing was "
		                        "moved; narrow the filter.");
	if (err == ERR_LIMIT && m->count == 0)
		return response_problem(
			r, 422, "too-slow",
			"This search took too long. Use a more specific search or filter.");
	if (err == ERR_CONFLICT)
		return response_conflict(r, "state", "",
		                         "some links were modified concurrently; retry");
	if (err == ERR_NOT_FOUND) /* a workspace was deleted meanwhile */
		return response_not_found(r);
	return response_failure(r, err);
}

static enum http_progress run(struct move *m)
{
	struct request *r = m->request;
	if (m->target_id == r->workspace_id)
		return response_conflict(r, "state", "/workspace_id",
		                         "is the workspace in which the links are");
	m->links = mem_array(LINK_WRITE_MAX, sizeof(*m->links));
	enum err err = pg_pool_transact(request_pg(r), move_on, m);
	if (err != OK)
		return answer_error(m, err);
	update_cache(m);
	struct json *answer = json_new_object();
	json_set_int(answer, "moved", (int64_t)m->count);
	return response_json(r, 200, answer);
}

enum http_progress link_move(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	struct move *m = mem_zero(sizeof(*m));
	m->request = r;
	enum http_progress progress = read_body(m) ? run(m) : HTTP_COMPLETE;
	free(m->ids);
	free(m->links);
	free(m);
	return progress;
}
