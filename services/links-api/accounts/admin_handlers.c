#include "services/links-api/accounts/admin_handlers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/mem.h"
#include "lib/base/number.h"
#include "lib/net/pg_transaction.h"
#include "services/links-api/accounts/admin_query.h"
#include "services/links-api/accounts/user_json.h"
#include "services/links-api/accounts/user_request.h"
#include "services/links-api/answer.h"

/* --- accounts --- */

struct user_list {
	struct user users[ADMIN_QUERY_LIMIT_MAX];
	size_t count;
	int64_t total;
};

static enum err read_users(const struct request *r, const struct admin_query_users *query, struct user_list *list)
{
	const struct user_page page = { query->q, query->page, query->limit };
	struct pg_conn *conn = NULL;
	enum err err = pg_pool_take(r->api->pg, &conn);
	if (err != OK)
		return err;
	err = user_store_list(conn, &page, list->users, &list->count, &list->total);
	pg_pool_give(r->api->pg, conn);
	return err;
}

static struct json *tell_users(const struct admin_query_users *query, const struct user_list *list)
{
	struct json *users = json_new_array();
	for (size_t i = 0; i < list->count; i++)
		json_append(users, user_json_for_admin(&list->users[i]));

	struct json *pagination = json_new_object();
	json_set_int(pagination, "page", query->page);
	json_set_int(pagination, "limit", query->limit);
	json_set_int(pagination, "total", list->total);
	json_set_int(pagination, "total_pages", (list->total + query->limit - 1) / query->limit);

	struct json *answer = json_new_object();
	json_set(answer, "users", users);
	json_set(answer, "pagination", pagination);
	return answer;
}

enum http_progress admin_handlers_users(void *ctx, struct http_exchange *x)
{
	struct request *r = ctx;
	struct admin_query_users query;
	struct http_problem_fields wrong = { 0 };
	if (admin_query_read_users(http_exchange_query(x), &query, &wrong) != OK)
		return answer_wrong_fields(r, &wrong);
	struct user_list *list = mem_zero(sizeof(*list));
	enum err err = read_users(r, &query, list);
	enum http_progress progress =
		err == OK ? answer_json(r, 200, tell_users(&query, list)) : answer_failure(r, err);
	free(list);
	return progress;
}

/* --- one account --- */

static enum err audit_change(const struct request *r, struct pg_conn *conn, int64_t id,
                             const struct user_change *change)
{
	struct json *details = json_new_object();
	if (change->has_blocked)
		json_set_bool(details, "blocked", change->blocked);
	if (change->has_role)
		json_set_text(details, "role", user_role_name(change->role));
	if (change->has_links_per_day && change->links_per_day >= 0)
		json_set_int(details, "links_per_day", change->links_per_day);
	else if (change->has_links_per_day)
		json_set_null(details, "links_per_day");
	enum err err = request_audit(r, conn, "user.update", AUDIT_STORE_USER, id, details);
	json_free(details);
	return err;
}

struct errand {
	const struct request *request;
	int64_t id;
	struct user_change change;
	struct user user; /* as it is then */
	bool is_too_late; /* the caller is no admin any more */
};

static enum err change_on(void *ctx, struct pg_conn *conn)
{
	struct errand *e = ctx;
	enum err err = user_store_lock_admin(conn, e->request->user_id, e->id);
	e->is_too_late = err == ERR_NOT_FOUND;
	if (err == OK)
		err = user_store_change(conn, e->id, &e->change, &e->user);
	return err == OK ? audit_change(e->request, conn, e->id, &e->change) : err;
}

/* Nobody takes his own rights away: there would soon be nobody who could give them back. */
static bool shuts_himself_out(const struct errand *e)
{
	const struct user_change *change = &e->change;
	bool loses_role = change->has_role && change->role != USER_ROLE_ADMIN;
	return e->id == e->request->user_id && (loses_role || (change->has_blocked && change->blocked));
}

static enum http_progress answer_changed(struct request *r, const struct user *user)
{
	struct json *answer = json_new_object();
	json_set(answer, "user", user_json_for_admin(user));
	return answer_json(r, 200, answer);
}

enum http_progress admin_handlers_change_user(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	struct http_problem_fields wrong = { 0 };
	struct errand errand = { .request = r, .id = request_id_of_path(r) };
	struct json *body = request_read_body(r);
	if (!body)
		return HTTP_ANSWERED;
	enum err err = user_request_read(body, &errand.change, &wrong);
	json_free(body);
	if (err != OK)
		return answer_wrong_fields(r, &wrong);
	if (shuts_himself_out(&errand))
		return answer_conflict(r, "own-account", "", "nobody blocks himself or gives up his own role");
	err = pg_transaction_run(r->api->pg, change_on, &errand);
	if (errand.is_too_late)
		return answer_problem(r, 403, "forbidden", "Another administrator has just taken your rights away.");
	if (err == ERR_NOT_FOUND)
		return answer_not_found(r);
	return err == OK ? answer_changed(r, &errand.user) : answer_failure(r, err);
}

/* --- who changed what --- */

enum http_progress admin_handlers_audit(void *ctx, struct http_exchange *x)
{
	struct request *r = ctx;
	struct audit_query query;
	struct http_problem_fields wrong = { 0 };
	struct pg_conn *conn = NULL;
	struct json *entries = NULL;
	int64_t last_id = 0;
	if (admin_query_read_audit(http_exchange_query(x), &query, &wrong) != OK)
		return answer_wrong_fields(r, &wrong);
	enum err err = pg_pool_take(r->api->pg, &conn);
	if (err == OK)
		err = audit_store_list(conn, &query, &entries, &last_id);
	pg_pool_give(r->api->pg, conn);
	if (err != OK)
		return answer_failure(r, err);
	char cursor[NUMBER_TEXT_SIZE];
	snprintf(cursor, sizeof(cursor), "%" PRId64, last_id);
	struct json *answer = json_new_object();
	json_set(answer, "entries", entries);
	json_set_text(answer, "next_cursor", last_id ? cursor : NULL);
	return answer_json(r, 200, answer);
}
