#include "services/links-api/lists/bulk_update.h"

#include <stdlib.h>

#include "lib/base/array.h"
#include "lib/base/mem.h"
#include "lib/postgres/pg_transaction.h"
#include "services/links-api/http/member.h"
#include "services/links-api/http/request_body.h"
#include "services/links-api/http/response.h"
#include "services/links-api/identity/account_rate.h"
#include "services/links-api/links/bulk_update_store.h"
#include "services/links-api/links/link_audit.h"
#include "services/links-api/links/link_cache_update.h"
#include "services/links-api/links/link_change.h"
#include "services/links-api/links/link_history.h"
#include "services/links-api/lists/link_list_store.h"

/* One request: its input and its results. */
struct bulk_update {
	struct request *request;
	struct link_list_params params;
	/* What is done to each link. */
	link_change_rule rule;
	/* Of link_change_edit. */
	struct link_request edit;
	/* That the filter matches. */
	struct link *links;
	size_t matched;
	struct bulk_update_store_change *changes;
	size_t changed;
	/* The request has been answered. */
	bool is_rate_limited;
};

static struct bulk_update *bulk_update_new(struct request *r, link_change_rule rule)
{
	struct bulk_update *update = mem_zero(sizeof(*update));
	update->request = r;
	update->rule = rule;
	return update;
}

static void bulk_update_free(struct bulk_update *update)
{
	link_request_clear(&update->edit);
	free(update->links);
	free(update->changes);
	free(update);
}

/* --- reading the request --- */

static void reject_members(const struct json *body, struct http_problem_fields *wrong)
{
	static const char *const single[] = { "redirect_status", "starts_at", "expired_url",
		                              "title", "notes" };
	char pointer[HTTP_PROBLEM_POINTER_SIZE];
	for (size_t i = 0; i < ARRAY_SIZE(single); i++) {
		if (!json_get(body, single[i]))
			continue;
		member_pointer(single[i], pointer);
		http_problem_add_field(wrong, pointer, "not-allowed", "cannot be changed in bulk");
	}
}

/* False: the body is no JSON object, and the request has been answered. */
static bool read_edit(struct bulk_update *update, struct http_problem_fields *wrong)
{
	struct request *r = update->request;
	struct json *body = request_body_read(r);
	if (!body)
		return false;
	enum err err = link_request_read(body, LINK_REQUEST_CHANGE, r->api->base, request_now_us(r),
	                                 &update->edit, wrong);
	reject_members(body, wrong);
	json_free(body);
	if (err == OK && update->edit.members == 0)
		http_problem_add_field(
			wrong, "", "required",
			"must have original_url, state, expires_at, tags, add_tags or "
			"remove_tags");
	return true;
}

/* --- in the transaction --- */

/* A link whose state or times forbid the change stays as it is. */
static void edit_links(const struct request *r, struct bulk_update *update)
{
	struct link_change_conflict conflict;
	int64_t now_us = request_now_us(r);
	update->changes = mem_array(update->matched, sizeof(*update->changes));
	for (size_t i = 0; i < update->matched; i++) {
		struct bulk_update_store_change *next = &update->changes[update->changed];
		next->link = update->links[i];
		enum err err =
			update->rule(&update->edit, now_us, &next->link, &next->change, &conflict);
		if (err == OK && next->change != LINK_CHANGE_NOTHING)
			update->changed++;
	}
}

static enum err audit_change(const struct request *r, struct pg_conn *conn,
                             const struct bulk_update *update, enum link_change change)
{
	struct link_audit_bulk links = { 0 };
	for (size_t i = 0; i < update->changed; i++) {
		if (update->changes[i].change == change)
			link_audit_bulk_include(&links, update->changes[i].link.entry.id);
	}
	return link_audit_add_bulk(r, conn, change, update->params.owner_id, &links);
}

static enum err audit(const struct request *r, struct pg_conn *conn,
                      const struct bulk_update *update)
{
	static const enum link_change kinds[] = { LINK_CHANGE_UPDATED, LINK_CHANGE_DISABLED,
		                                  LINK_CHANGE_ENABLED, LINK_CHANGE_DELETED };
	enum err err = OK;
	for (size_t i = 0; err == OK && i < ARRAY_SIZE(kinds); i++)
		err = audit_change(r, conn, update, kinds[i]);
	return err;
}

static enum err update_in_transaction(void *ctx, struct pg_conn *conn)
{
	struct bulk_update *update = ctx;
	struct request *r = update->request;
	enum err err = link_list_store_lock(conn, &update->params, update->links,
	                                    BULK_UPDATE_STORE_MAX, &update->matched);
	if (err != OK)
		return err;
	edit_links(r, update);
	update->is_rate_limited =
		update->changed > 0 && !account_rate_take_bulk(r, (int64_t)update->changed);
	if (update->is_rate_limited)
		return ERR_LIMIT;
	err = link_history_begin(r, conn);
	if (err == OK)
		err = bulk_update_store_write(conn, update->changes, update->changed);
	return err == OK ? audit(r, conn, update) : err;
}

/* --- after the commit --- */

static void update_cache(const struct request *r, const struct bulk_update *update)
{
	const char *slugs[BULK_UPDATE_STORE_MAX];
	for (size_t i = 0; i < update->changed; i++)
		slugs[i] = update->changes[i].link.entry.slug;
	link_cache_update_bulk(r->api, slugs, update->changed);
}

static enum http_progress answer_error(struct request *r, const struct bulk_update *update,
                                       enum err err)
{
	if (err == ERR_LIMIT && update->matched > BULK_UPDATE_STORE_MAX)
		return response_problem(
			r, 422, "too-many-links",
			"The filter matches more than 1,000 links. Nothing was changed; narrow the filter.");
	if (err == ERR_LIMIT && update->matched > 0) /* not the filter, but the change took long */
		return response_failure(r, ERR_UNAVAILABLE);
	if (err == ERR_LIMIT)
		return response_problem(
			r, 422, "too-slow",
			"This search took too long. Use a more specific search or filter.");
	if (err == ERR_CONFLICT)
		return response_conflict(r, "state", "",
		                         "some links were modified concurrently; retry");
	return response_failure(r, err);
}

static enum http_progress change(struct request *r, struct bulk_update *update)
{
	update->links = mem_array(BULK_UPDATE_STORE_MAX, sizeof(*update->links));
	enum err err = pg_transaction_run(request_pg(r), update_in_transaction, update);
	if (update->is_rate_limited)
		return HTTP_COMPLETE;
	if (err != OK)
		return answer_error(r, update, err);
	update_cache(r, update);
	struct json *answer = json_new_object();
	json_set_int(answer, "matched", (int64_t)update->matched);
	json_set_int(answer, "changed", (int64_t)update->changed);
	return response_json(r, 200, answer);
}

/* wrong: what is wrong with the body. */
static enum http_progress run(struct bulk_update *update, struct http_problem_fields *wrong)
{
	struct request *r = update->request;
	if (link_list_params_read(http_exchange_query(r->exchange), LINK_LIST_PARAMS_CHANGE,
	                          r->user_id, &update->params, wrong) != OK)
		return response_invalid_fields(r, wrong);
	return request_may_access_links_of(r, update->params.owner_id) ? change(r, update)
	                                                               : response_other_owner(r);
}

enum http_progress bulk_update_patch(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct http_problem_fields wrong = { 0 };
	struct bulk_update *update = bulk_update_new(ctx, link_change_edit);
	enum http_progress progress = HTTP_COMPLETE;
	if (read_edit(update, &wrong))
		progress = run(update, &wrong);
	bulk_update_free(update);
	return progress;
}

/* Checks Accept first, because the response to this DELETE has a body. */
enum http_progress bulk_update_delete(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct http_problem_fields wrong = { 0 };
	if (!response_accepts_json(ctx))
		return HTTP_COMPLETE;
	struct bulk_update *update = bulk_update_new(ctx, link_change_delete);
	enum http_progress progress = run(update, &wrong);
	bulk_update_free(update);
	return progress;
}
