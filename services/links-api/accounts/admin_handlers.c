#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/mem.h"
#include "lib/base/number.h"
#include "lib/postgres/pg_pool.h"
#include "services/links-api/accounts/account_deletion.h"
#include "services/links-api/http/handlers.h"
#include "services/links-api/http/member.h"
#include "services/links-api/http/query_params.h"
#include "services/links-api/http/response.h"
#include "services/links-api/identity/audit_store.h"
#include "services/links-api/identity/user_store.h"

#define LIMIT_DEFAULT 20
#define LIMIT_MAX 100
#define PAGE_MAX INT64_C(1000000)

struct users_query {
	/* "" = all. */
	char q[QUERY_PARAMS_TEXT_SIZE];
	/* 0 = after is given instead. */
	int64_t page;
	/* The id of the last account of the previous page; 0 = page is given. */
	int64_t after;
	int64_t limit;
};

static enum err read_users_query(const char *query, struct users_query *out,
                                 struct http_problem_fields *wrong)
{
	*out = (struct users_query){ .limit = LIMIT_DEFAULT };
	struct query_param parameters[] = {
		{ .name = "q", .text = out->q, .text_size = sizeof(out->q) },
		{ .name = "page", .number = &out->page, .min = 1, .max = PAGE_MAX },
		{ .name = "cursor", .number = &out->after, .min = 1, .max = INT64_MAX },
		{ .name = "limit", .number = &out->limit, .min = 1, .max = LIMIT_MAX },
	};
	enum err err = query_params_read(query, parameters, ARRAY_SIZE(parameters), wrong);
	if (out->page > 0 && out->after > 0) {
		http_problem_add_field(wrong, "/cursor", "exclusive",
		                       "use page or cursor, not both");
		err = ERR_INVALID;
	}
	if (out->after == 0 && out->page == 0)
		out->page = 1;
	return err;
}

static enum err read_audit_query(const char *query, struct audit_query *out,
                                 struct http_problem_fields *wrong)
{
	*out = (struct audit_query){ .limit = LIMIT_DEFAULT };
	struct query_param parameters[] = {
		{ .name = "cursor", .number = &out->before, .min = 1, .max = INT64_MAX },
		{ .name = "limit", .number = &out->limit, .min = 1, .max = LIMIT_MAX },
		{ .name = "actor_id", .number = &out->actor_id, .min = 1, .max = INT64_MAX },
		{ .name = "action", .text = out->action, .text_size = sizeof(out->action) },
		{ .name = "subject_type",
		  .text = out->subject_type,
		  .text_size = sizeof(out->subject_type) },
		{ .name = "subject_id", .number = &out->subject_id, .min = 1, .max = INT64_MAX },
	};
	return query_params_read(query, parameters, ARRAY_SIZE(parameters), wrong);
}

struct user_list {
	struct user users[LIMIT_MAX];
	size_t count;
	int64_t total;
};

static enum err read_users(const struct request *r, const struct users_query *query,
                           struct user_list *list)
{
	const struct user_page page = { query->q, query->page, query->after, query->limit };
	struct pg_conn *conn = NULL;
	enum err err = pg_pool_acquire(r->api->pg, &conn);
	if (err == OK)
		err = user_store_list(conn, &page, list->users, &list->count, &list->total);
	pg_pool_release(r->api->pg, conn);
	return err;
}

/* last_id: the cursor of the next page; 0 = there is none. */
static struct json *page_json(int64_t page, int64_t limit, int64_t total, int64_t last_id)
{
	char cursor[NUMBER_TEXT_SIZE];
	snprintf(cursor, sizeof(cursor), "%" PRId64, last_id);
	const struct pagination pagination = {
		.page = page,
		.limit = limit,
		.total = total,
		.next_cursor = last_id ? cursor : NULL,
	};
	return response_pagination_json(&pagination);
}

static struct json *users_json(const struct users_query *query, const struct user_list *list)
{
	struct json *users = json_new_array();
	for (size_t i = 0; i < list->count; i++)
		json_append(users, user_store_json_for_admin(&list->users[i]));

	bool has_more = (int64_t)list->count == query->limit;
	struct json *response = json_new_object();
	json_set(response, "users", users);
	json_set(response, "pagination",
	         page_json(query->page, query->limit, list->total,
	                   has_more ? list->users[list->count - 1].id : 0));
	return response;
}

enum http_progress admin_handlers_users(void *ctx, struct http_exchange *x)
{
	struct request *r = ctx;
	struct users_query query;
	struct http_problem_fields wrong = { 0 };
	if (read_users_query(http_exchange_query(x), &query, &wrong) != OK)
		return response_invalid_fields(r, &wrong);
	struct user_list *list = mem_zero(sizeof(*list));
	enum err err = read_users(r, &query, list);
	enum http_progress progress = err == OK ? response_json(r, 200, users_json(&query, list))
	                                        : response_failure(r, err);
	free(list);
	return progress;
}

static void read_blocked(const struct json *object, struct user_change *out,
                         struct http_problem_fields *wrong)
{
	const struct json *value = json_get(object, "blocked");
	if (!value)
		return;
	out->has_blocked = true;
	if (json_type(value) == JSON_BOOL)
		out->blocked = json_bool(value);
	else
		http_problem_add_field(wrong, "/blocked", "type", "must be true or false");
}

static void read_role(const struct json *object, struct user_change *out,
                      struct http_problem_fields *wrong)
{
	const struct json *value = json_get(object, "role");
	if (!value)
		return;
	out->has_role = true;
	if (json_type(value) != JSON_TEXT ||
	    user_store_parse_role(json_text(value, NULL), &out->role) != OK)
		http_problem_add_field(wrong, "/role", "choice", "must be user or admin");
}

static void read_links_per_day(const struct json *object, struct user_change *out,
                               struct http_problem_fields *wrong)
{
	const struct json *value = json_get(object, "links_per_day");
	if (!value)
		return;
	out->has_links_per_day = true;
	out->links_per_day = USER_STORE_NO_QUOTA;
	if (json_type(value) == JSON_NULL)
		return;
	if (json_type(value) == JSON_INT)
		out->links_per_day = json_int(value);
	if (json_type(value) == JSON_TEXT &&
	    strcmp(json_text(value, NULL), ENV_UNLIMITED_WORD) == 0)
		out->links_per_day = ENV_UNLIMITED;
	else if (out->links_per_day < 0 || out->links_per_day > USER_STORE_LINKS_PER_DAY_MAX)
		http_problem_add_field(wrong, "/links_per_day", "number",
		                       "must be a number from 0 to %" PRId64
		                       ", \"" ENV_UNLIMITED_WORD "\", or null for the default",
		                       USER_STORE_LINKS_PER_DAY_MAX);
}

enum err admin_handlers_read_user_change(const struct json *object, struct user_change *out,
                                         struct http_problem_fields *wrong)
{
	static const char *const names[] = { "blocked", "role", "links_per_day" };
	struct user_change read = { 0 };
	member_reject_unknown(object, names, 3, wrong);
	read_blocked(object, &read, wrong);
	read_role(object, &read, wrong);
	read_links_per_day(object, &read, wrong);
	if (wrong->count > 0)
		return ERR_INVALID;
	*out = read;
	return OK;
}

static enum err audit_change(const struct request *r, struct pg_conn *conn, int64_t id,
                             const struct user_change *change)
{
	struct json *details = json_new_object();
	if (change->has_blocked)
		json_set_bool(details, "blocked", change->blocked);
	if (change->has_role)
		json_set_text(details, "role", user_store_role_name(change->role));
	if (change->has_links_per_day)
		user_store_set_links_per_day(details, change->links_per_day);
	enum err err = audit_store_record(r, conn, "user.update", AUDIT_STORE_USER, id, details);
	json_free(details);
	return err;
}

struct update {
	const struct request *request;
	int64_t id;
	struct user_change change;
	/* After the change. */
	struct user user;
	/* The caller lost the administrator role meanwhile. */
	bool caller_was_demoted;
};

static bool is_same(const struct user *a, const struct user *b)
{
	return a->role == b->role && a->blocked == b->blocked &&
	       a->links_per_day == b->links_per_day;
}

static enum err change_on(void *ctx, struct pg_conn *conn)
{
	struct update *u = ctx;
	struct user before = { 0 };
	enum err err = user_store_lock_admin(conn, u->request->user_id, u->id);
	u->caller_was_demoted = err == ERR_NOT_FOUND;
	if (err == OK)
		err = user_store_get(conn, u->id, &before);
	if (err == OK)
		err = user_store_change(conn, u->id, &u->change, &u->user);
	if (err != OK || is_same(&before, &u->user))
		return err;
	return audit_change(u->request, conn, u->id, &u->change);
}

/* Administrators cannot block or demote themselves: the last one could lock everybody out. */
static bool locks_out_caller(const struct update *u)
{
	const struct user_change *change = &u->change;
	bool loses_role = change->has_role && change->role != USER_ROLE_ADMIN;
	return u->id == u->request->user_id &&
	       (loses_role || (change->has_blocked && change->blocked));
}

static enum http_progress send_user(struct request *r, const struct user *user)
{
	struct json *response = json_new_object();
	json_set(response, "user", user_store_json_for_admin(user));
	return response_json(r, 200, response);
}

static enum http_progress send_demoted(struct request *r)
{
	return response_problem(r, 403, "forbidden",
	                        "Another administrator has removed your administrator role.");
}

enum http_progress admin_handlers_change_user(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	struct http_problem_fields wrong = { 0 };
	struct update update = { .request = r, .id = request_path_id(r) };
	struct json *body = request_body_read(r);
	if (!body)
		return HTTP_COMPLETE;
	enum err err = admin_handlers_read_user_change(body, &update.change, &wrong);
	json_free(body);
	if (err != OK)
		return response_invalid_fields(r, &wrong);
	if (locks_out_caller(&update))
		return response_conflict(r, "own-account", "",
		                         "You cannot block or demote yourself.");
	err = pg_pool_transact(r->api->pg, change_on, &update);
	if (update.caller_was_demoted)
		return send_demoted(r);
	if (err == ERR_NOT_FOUND)
		return response_not_found(r);
	return err == OK ? send_user(r, &update.user) : response_failure(r, err);
}

enum http_progress admin_handlers_delete_user(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	char workspaces[ACCOUNT_DELETION_NAMES_SIZE];
	int64_t id = request_path_id(r);
	if (id == r->user_id)
		return response_conflict(r, "own-account", "",
		                         "Delete your own account with your password: "
		                         "DELETE /api/auth/me.");
	enum err err = account_deletion_run(r, id, NULL, workspaces);
	if (err == ERR_INVALID)
		return send_demoted(r);
	if (err == ERR_CONFLICT)
		return account_deletion_send_last_owner(r, workspaces);
	return response_deleted(r, err);
}

enum http_progress admin_handlers_audit(void *ctx, struct http_exchange *x)
{
	struct request *r = ctx;
	struct audit_query query;
	struct http_problem_fields wrong = { 0 };
	struct pg_conn *conn = NULL;
	struct json *entries = NULL;
	int64_t last_id = 0;
	if (read_audit_query(http_exchange_query(x), &query, &wrong) != OK)
		return response_invalid_fields(r, &wrong);
	query.workspace_id = r->workspace_id;
	enum err err = pg_pool_acquire(r->api->pg, &conn);
	if (err == OK)
		err = audit_store_list(conn, &query, &entries, &last_id);
	pg_pool_release(r->api->pg, conn);
	if (err != OK)
		return response_failure(r, err);
	struct json *response = json_new_object();
	json_set(response, "entries", entries);
	json_set(response, "pagination", page_json(0, query.limit, PAGINATION_UNCOUNTED, last_id));
	return response_json(r, 200, response);
}
