/*
 * The reports of abuse, for administrators. A report outlives its link, so that they can see what was
 * reported.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/number.h"
#include "lib/postgres/pg_pool.h"
#include "services/links-api/destinations/public_base.h"
#include "services/links-api/http/handlers.h"
#include "services/links-api/http/member.h"
#include "services/links-api/http/query_params.h"
#include "services/links-api/http/response.h"
#include "services/links-api/identity/audit_store.h"

#define LIMIT_DEFAULT 20
#define LIMIT_MAX 100
/* What is shown of the link is what it is now. */
#define SELECT_REPORTS                                                                              \
	"SELECT a.id, a.link_id, a.slug, a.reason, a.details, a.email, a.created_at, a.closed_at, " \
	"(SELECT u.email FROM users u WHERE u.id = a.closed_by), "                                  \
	"l.slug, l.original_url, lower(l.state), l.blocked_reason, l.workspace_id, "                \
	"(SELECT w.name FROM workspaces w WHERE w.id = l.workspace_id), u.id, u.email "             \
	"FROM abuse_reports a LEFT JOIN links l ON l.id = a.link_id "                               \
	"LEFT JOIN users u ON u.id = l.created_by AND u.deleted_at IS NULL WHERE "

static void set_text(struct json *object, const char *name, const struct pg_result *rows,
                     size_t row, int column)
{
	bool is_null = pg_result_is_null(rows, row, column);
	json_set_text(object, name, is_null ? NULL : pg_result_text(rows, row, column));
}

static void set_id(struct json *object, const char *name, const struct pg_result *rows, size_t row,
                   int column)
{
	if (pg_result_is_null(rows, row, column))
		json_set_null(object, name);
	else
		json_set_int(object, name, pg_result_int(rows, row, column));
}

static struct json *link_json(const struct request *r, const struct pg_result *rows, size_t row)
{
	char short_url[PUBLIC_BASE_SHORT_URL_SIZE];
	struct json *link = json_new_object();
	public_base_short_url(r->api->base, pg_result_text(rows, row, 9), short_url);
	json_set_int(link, "id", pg_result_int(rows, row, 1));
	json_set_text(link, "short_url", short_url);
	set_text(link, "original_url", rows, row, 10);
	set_text(link, "state", rows, row, 11);
	set_text(link, "blocked_reason", rows, row, 12);
	set_id(link, "workspace_id", rows, row, 13);
	set_text(link, "workspace_name", rows, row, 14);
	set_id(link, "created_by", rows, row, 15);
	set_text(link, "created_by_email", rows, row, 16);
	return link;
}

static struct json *report_json(const struct request *r, const struct pg_result *rows, size_t row)
{
	struct json *report = json_new_object();
	json_set_int(report, "id", pg_result_int(rows, row, 0));
	json_set_text(report, "slug", pg_result_text(rows, row, 2));
	json_set_text(report, "reason", pg_result_text(rows, row, 3));
	json_set_text(report, "details", pg_result_text(rows, row, 4));
	set_text(report, "email", rows, row, 5);
	json_set_text(report, "state", pg_result_is_null(rows, row, 7) ? "open" : "closed");
	json_set_time(report, "created_at", pg_result_time(rows, row, 6));
	json_set_time(report, "closed_at", pg_result_time(rows, row, 7));
	set_text(report, "closed_by_email", rows, row, 8);
	if (pg_result_is_null(rows, row, 9))
		json_set_null(report, "link");
	else
		json_set(report, "link", link_json(r, rows, row));
	return report;
}

struct reports_query {
	int64_t before, limit;
	char state[16];
};

static enum err read_query(const char *query, struct reports_query *out,
                           struct http_problem_fields *wrong)
{
	*out = (struct reports_query){ .limit = LIMIT_DEFAULT, .state = "open" };
	struct query_param parameters[] = {
		{ .name = "state", .text = out->state, .text_size = sizeof(out->state) },
		{ .name = "cursor", .number = &out->before, .min = 1, .max = INT64_MAX },
		{ .name = "limit", .number = &out->limit, .min = 1, .max = LIMIT_MAX },
	};
	enum err err = query_params_read(query, parameters, ARRAY_SIZE(parameters), wrong);
	if (err == OK && strcmp(out->state, "open") != 0 && strcmp(out->state, "closed") != 0) {
		http_problem_add_field(wrong, "/state", "choice", "must be open or closed");
		err = ERR_INVALID;
	}
	return err;
}

enum http_progress report_list_get(void *ctx, struct http_exchange *x)
{
	struct request *r = ctx;
	struct reports_query query;
	struct http_problem_fields wrong = { 0 };
	if (read_query(http_exchange_query(x), &query, &wrong) != OK)
		return response_invalid_fields(r, &wrong);
	struct pg_params params = { 0 };
	struct pg_conn *conn = NULL;
	struct pg_result *rows = NULL;
	pg_params_int(&params, query.before ? query.before : INT64_MAX);
	pg_params_int(&params, query.limit);
	const char *sql = strcmp(query.state, "open") == 0
	                          ? SELECT_REPORTS "a.closed_at IS NULL AND a.id < $1 "
	                                           "ORDER BY a.id DESC LIMIT $2::bigint"
	                          : SELECT_REPORTS "a.closed_at IS NOT NULL AND a.id < $1 "
	                                           "ORDER BY a.id DESC LIMIT $2::bigint";
	enum err err = pg_pool_acquire(r->api->pg, &conn);
	if (err == OK)
		err = pg_conn_query(conn, sql, &params, &rows);
	pg_pool_release(r->api->pg, conn);
	if (err != OK)
		return response_failure(r, err);
	size_t count = pg_result_count(rows);
	char cursor[NUMBER_TEXT_SIZE];
	struct json *response = json_new_object(), *reports = json_new_array();
	for (size_t i = 0; i < count; i++)
		json_append(reports, report_json(r, rows, i));
	struct pagination page = { .limit = query.limit, .total = PAGINATION_UNCOUNTED };
	if ((int64_t)count == query.limit) {
		snprintf(cursor, sizeof(cursor), "%" PRId64, pg_result_int(rows, count - 1, 0));
		page.next_cursor = cursor;
	}
	json_set(response, "reports", reports);
	json_set(response, "pagination", response_pagination_json(&page));
	pg_result_free(rows);
	return response_json(r, 200, response);
}

struct closing {
	const struct request *request;
	bool is_closed;
	/* Owned. */
	struct json *report;
};

/* Changes nothing if the report is in that state already. */
static enum err write_state(void *ctx, struct pg_conn *conn)
{
	struct closing *c = ctx;
	const struct request *r = c->request;
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	pg_params_int(&params, request_path_id(r));
	pg_params_int(&params, r->user_id);
	enum err err = pg_conn_query(
		conn,
		c->is_closed
			? "UPDATE abuse_reports SET closed_at = clock_timestamp(), closed_by = $2 "
			  "WHERE id = $1 AND closed_at IS NULL"
			: "UPDATE abuse_reports SET closed_at = NULL, closed_by = NULL "
			  "WHERE id = $1 AND closed_at IS NOT NULL AND $2::bigint <> 0",
		&params, &rows);
	bool is_changed = err == OK && pg_result_changed(rows) > 0;
	pg_result_free(rows);
	rows = NULL;
	if (is_changed)
		err = audit_store_record(r, conn, c->is_closed ? "report.close" : "report.reopen",
		                         AUDIT_STORE_REPORT, request_path_id(r), NULL);
	params = (struct pg_params){ 0 };
	pg_params_int(&params, request_path_id(r));
	if (err == OK)
		err = pg_conn_query(conn, SELECT_REPORTS "a.id = $1", &params, &rows);
	if (err == OK && pg_result_count(rows) != 1)
		err = ERR_NOT_FOUND;
	if (err == OK)
		c->report = report_json(r, rows, 0);
	pg_result_free(rows);
	return err;
}

enum http_progress report_list_patch(void *ctx, struct http_exchange *x)
{
	(void)x;
	static const char *const names[] = { "state" };
	struct request *r = ctx;
	struct closing closing = { .request = r };
	struct http_problem_fields wrong = { 0 };
	struct json *body = request_body_read(r);
	if (!body)
		return HTTP_COMPLETE;
	member_reject_unknown(body, names, 1, &wrong);
	const char *state = member_text_of(body, "state", true, &wrong);
	closing.is_closed = state && strcmp(state, "closed") == 0;
	if (state && !closing.is_closed && strcmp(state, "open") != 0)
		http_problem_add_field(&wrong, "/state", "choice", "must be open or closed");
	json_free(body);
	if (wrong.count > 0)
		return response_invalid_fields(r, &wrong);
	enum err err = pg_pool_transact(r->api->pg, write_state, &closing);
	if (err != OK) {
		json_free(closing.report);
		return err == ERR_NOT_FOUND ? response_not_found(r) : response_failure(r, err);
	}
	struct json *response = json_new_object();
	json_set(response, "report", closing.report);
	return response_json(r, 200, response);
}
