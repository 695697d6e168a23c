#include <stdlib.h>
#include <string.h>

#include "lib/links/link.h"
#include "lib/postgres/pg_pool.h"
#include "services/links-api/http/handlers.h"
#include "services/links-api/http/member.h"
#include "services/links-api/http/request.h"
#include "services/links-api/http/response.h"
#include "services/links-api/identity/membership.h"
#include "services/links-api/links/link_request.h"
#include "services/links-api/links/utm.h"

#define TEMPLATES_MAX 50
#define PATH_PART "/utm-templates/"
#define KEY_LIMITED "A template belongs to all links of the workspace."

struct template
{
	struct request *request;
	char name[LINK_TAG_SIZE];
	/* Owned; NULL = the template is to be deleted. */
	struct utm *utm;
	bool is_full;
};

static enum http_progress answer_list(struct request *r, const struct pg_result *rows)
{
	struct json *templates = json_new_array();
	for (size_t i = 0; i < pg_result_count(rows); i++) {
		struct json *item = json_new_object();
		json_set_text(item, "name", pg_result_text(rows, i, 0));
		for (size_t field = 0; field < UTM_COUNT; field++)
			json_set_text(item, utm_name(field),
			              pg_result_text(rows, i, (int)field + 1));
		json_append(templates, item);
	}
	struct json *body = json_new_object();
	json_set(body, "templates", templates);
	return response_json(r, 200, body);
}

enum http_progress utm_template_list(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	struct pg_conn *conn = NULL;
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	pg_params_int(&params, r->workspace_id);
	enum err err = pg_pool_acquire(r->api->pg, &conn);
	if (err != OK)
		return response_failure(r, err);
	err = pg_conn_query(
		conn,
		"SELECT name, utm_source, utm_medium, utm_campaign, utm_term, utm_content "
		"FROM utm_templates WHERE workspace_id = $1 ORDER BY name",
		&params, &rows);
	enum http_progress progress = err == OK ? answer_list(r, rows) : response_failure(r, err);
	pg_result_free(rows);
	pg_pool_release(r->api->pg, conn);
	return progress;
}

/* --- changes --- */

/* The sponsor is locked, so that no two requests add the last one. */
static enum err put(void *ctx, struct pg_conn *conn)
{
	struct template *t = ctx;
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	pg_params_int(&params, t->request->workspace_id);
	pg_params_text(&params, t->name);
	for (size_t field = 0; field < UTM_COUNT; field++)
		pg_params_text(&params, t->utm->value[field]);
	pg_params_int(&params, TEMPLATES_MAX);
	enum err err = membership_lock_workspace(conn, t->request->workspace_id);
	if (err == OK)
		err = pg_conn_query(
			conn,
			"INSERT INTO utm_templates SELECT $1, $2, $3, $4, $5, $6, $7 WHERE (SELECT count(*) "
			"FROM utm_templates WHERE workspace_id = $1 AND name <> $2) < $8 "
			"ON CONFLICT (workspace_id, name) DO UPDATE SET (utm_source, utm_medium, "
			"utm_campaign, utm_term, utm_content) = ($3, $4, $5, $6, $7)",
			&params, &rows);
	t->is_full = err == OK && pg_result_changed(rows) == 0;
	pg_result_free(rows);
	return t->is_full ? ERR_CONFLICT : err;
}

static enum err delete (void *ctx, struct pg_conn *conn) {
	struct template *t = ctx; struct pg_params params = { 0 }; struct pg_result *rows = NULL;
	pg_params_int(&params, t->request->workspace_id);
	pg_params_text(&params, t->name);
	enum err err = pg_conn_query(
		conn, "DELETE FROM utm_templates WHERE workspace_id = $1 AND name = $2", &params,
		&rows);
	if (err == OK && pg_result_changed(rows) == 0) err = ERR_NOT_FOUND;
	pg_result_free(rows);
	return err;
}

/* False: the body is invalid, and the request has been answered. */
static bool read_body(struct template *t)
{
	struct request *r = t->request;
	struct http_problem_fields wrong = { 0 };
	const char *names[UTM_COUNT];
	bool has_value = false;
	struct json *body = request_body_read(r);
	if (!body)
		return false;
	for (size_t field = 0; field < UTM_COUNT; field++) {
		char pointer[HTTP_PROBLEM_POINTER_SIZE];
		names[field] = utm_name(field);
		const struct json *value = json_get(body, names[field]);
		member_pointer(names[field], pointer);
		if (value)
			utm_read(&t->utm, field, value, pointer, &wrong);
		has_value |= t->utm && t->utm->value[field][0] != '\0';
	}
	member_reject_unknown(body, names, UTM_COUNT, &wrong);
	json_free(body);
	if (!has_value && wrong.count == 0)
		http_problem_add_field(&wrong, "/utm_source", "required",
		                       "or another of the five must have a value");
	if (wrong.count > 0)
		response_invalid_fields(r, &wrong);
	return wrong.count == 0;
}

static enum http_progress change(struct request *r, pg_pool_work work)
{
	struct template t = { .request = r };
	/* Before it are the digits of a workspace at most. */
	const char *segment =
		strstr(http_exchange_path(r->exchange), PATH_PART) + strlen(PATH_PART);
	if (r->tags)
		return response_key_limited(r, KEY_LIMITED);
	enum err err = link_request_read_tag_path(segment, t.name);
	if (err == OK && work == put && !read_body(&t)) {
		free(t.utm);
		return HTTP_COMPLETE;
	}
	if (err == OK)
		err = pg_pool_transact(r->api->pg, work, &t);
	free(t.utm);
	if (t.is_full)
		return response_conflict(
			r, "state", "",
			"The workspace already has 50 templates. Delete one first.");
	return response_deleted(r, err);
}

enum http_progress utm_template_put(void *ctx, struct http_exchange *x)
{
	(void)x;
	return change(ctx, put);
}

enum http_progress utm_template_delete(void *ctx, struct http_exchange *x)
{
	(void)x;
	return change(ctx, delete);
}
