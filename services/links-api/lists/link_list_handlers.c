#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/clock.h"
#include "lib/base/mem.h"
#include "lib/links/visit_limit.h"
#include "lib/postgres/pg_pool.h"
#include "services/links-api/http/handlers.h"
#include "services/links-api/http/member.h"
#include "services/links-api/http/request.h"
#include "services/links-api/http/response.h"
#include "services/links-api/identity/authentication.h"
#include "services/links-api/links/link_audit.h"
#include "services/links-api/links/link_cache_update.h"
#include "services/links-api/links/link_change.h"
#include "services/links-api/links/link_details.h"
#include "services/links-api/links/link_find.h"
#include "services/links-api/links/link_history.h"
#include "services/links-api/links/link_json.h"
#include "services/links-api/links/link_notes_store.h"
#include "services/links-api/links/link_write.h"
#include "services/links-api/lists/link_days.h"
#include "services/links-api/lists/link_list_params.h"
#include "services/links-api/lists/link_list_store.h"

/* --- a page --- */

/* One GET: its parameters and the page found. */
struct page {
	struct link_list_params params;
	struct link_list list;
	struct link *links;
	struct link_details details;
	/* Of link_days_read. */
	int64_t *daily_humans;
};

static void page_free(struct page *page)
{
	free(page->links);
	free(page->daily_humans);
	link_details_clear(&page->details);
	free(page);
}

static enum err read_details(const struct request *r, struct pg_conn *conn, struct page *page)
{
	int64_t ids[LINK_LIST_PARAMS_LIMIT_MAX];
	for (size_t i = 0; i < page->list.count; i++) {
		ids[i] = page->links[i].entry.id;
		link_aliases_want(&page->details.aliases, &page->links[i]);
	}
	enum err err = link_details_read(&page->details, r, conn, ids, page->list.count);
	if (err != OK || page->params.days == 0)
		return err;
	size_t days = (size_t)page->params.days;
	page->daily_humans = mem_array(page->list.count * days + 1, sizeof(*page->daily_humans));
	return link_days_read(conn, ids, page->list.count, clock_utc_day(request_now_us(r)), days,
	                      page->daily_humans);
}

static enum err read_page(const struct request *r, struct page *page)
{
	struct pg_conn *conn = NULL;
	enum err err = pg_pool_acquire(request_pg(r), &conn);
	if (err != OK)
		return ERR_UNAVAILABLE; /* and not ERR_LIMIT, which blames the query */
	err = link_find_alias(conn, page->params.q, &page->params.alias_link_id);
	if (err == OK)
		err = link_list_store_read(conn, &page->params, page->links, &page->list);
	if (err == OK)
		err = read_details(r, conn, page);
	pg_pool_release(request_pg(r), conn);
	return err;
}

static struct json *page_json(const struct page *page)
{
	const struct link_list_params *params = &page->params;
	char cursor[LINK_LIST_PARAMS_CURSOR_SIZE];
	if (page->list.has_more)
		link_list_params_format_cursor(&page->list.last, params->query_key, cursor);
	const struct pagination pagination = {
		.page = params->page,
		.limit = params->limit,
		.total = page->list.total,
		.total_is_capped = page->list.total_is_capped,
		.next_cursor = page->list.has_more ? cursor : NULL,
	};
	return response_pagination_json(&pagination);
}

static struct json *days_json(const struct page *page, size_t place)
{
	size_t days = (size_t)page->params.days;
	struct json *json = json_new_array();
	for (size_t day = 0; day < days; day++)
		json_append_int(json, page->daily_humans[place * days + day]);
	return json;
}

static enum http_progress answer_page(struct request *r, const struct page *page)
{
	struct json *links = json_new_array();
	for (size_t i = 0; i < page->list.count; i++) {
		struct json *link = link_json_new(&page->links[i], &page->details, i, r->api->base,
		                                  request_now_us(r));
		if (page->daily_humans)
			json_set(link, "daily_humans", days_json(page, i));
		json_append(links, link);
	}
	struct json *answer = json_new_object();
	json_set(answer, "links", links);
	json_set(answer, "pagination", page_json(page));
	return response_json(r, 200, answer);
}

/* A list without a search is short work: if that takes too long, it is the server's fault. */
static enum http_progress answer_error(struct request *r, const struct link_list_params *params,
                                       enum err err)
{
	if (err == ERR_LIMIT && (params->q[0] != '\0' || params->has_filter))
		return response_problem(
			r, 422, "too-slow",
			"This search took too long. Use a more specific search or filter.");
	return response_failure(r, err);
}

/* Who searches for a short link as a whole means its slug. */
static void search_slug_of_short_link(const struct public_base *base,
                                      struct link_list_params *params)
{
	const char *slug = public_base_skip(base, params->q);
	size_t len = slug ? strcspn(slug, "/?#") : 0;
	if (len > 0)
		link_list_params_set_q(params, slug, len);
}

static enum http_progress answer_query(struct request *r, struct page *page)
{
	struct http_problem_fields wrong = { 0 };
	if (link_list_params_read(http_exchange_query(r->exchange), LINK_LIST_PARAMS_LIST,
	                          r->workspace_id, &page->params, &wrong) != OK)
		return response_invalid_fields(r, &wrong);
	if (!request_may_access_links_of(r, page->params.workspace_id))
		return response_other_workspace(r);
	page->params.key_tags = r->tags;
	search_slug_of_short_link(r->api->base, &page->params);
	page->links = mem_array((size_t)page->params.limit, sizeof(*page->links));
	enum err err = read_page(r, page);
	return err == OK ? answer_page(r, page) : answer_error(r, &page->params, err);
}

enum http_progress link_list_handlers_get(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	struct page *page = mem_zero(sizeof(*page));
	enum http_progress progress = answer_query(r, page);
	page_free(page);
	return progress;
}

/* --- one change to all links that a filter matches --- */

/* One PATCH or DELETE: its input and its results. */
struct bulk_update {
	struct request *request;
	struct link_list_params params;
	/* What is done to each link. */
	link_change_rule rule;
	/* Of link_change_edit. */
	struct link_request edit;
	/* That the filter matches; then only those that change, and how. */
	struct link *links;
	enum link_change *changes;
	/* The extras of those before. */
	struct link_history_extras *before;
	size_t matched, changed;
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
	for (size_t i = 0; update->before && i < LINK_WRITE_MAX; i++)
		link_history_clear_extras(&update->before[i]);
	free(update->before);
	free(update->links);
	free(update->changes);
	free(update);
}

static void reject_members(const struct json *body, struct http_problem_fields *wrong)
{
	static const char *const single[] = { "slug",      "external_id", "redirect_status",
		                              "starts_at", "expired_url", "title",
		                              "notes" };
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
	link_request_reject_in_bulk(body, wrong);
	json_free(body);
	if (err == OK && update->edit.members == 0)
		http_problem_add_field(
			wrong, "", "required",
			"must have original_url, state, expires_at, tags, add_tags, remove_tags, "
			"utm_…, forward_query, forward_path or max_visits");
	return true;
}

/* A link whose state or times forbid the change stays as it is. */
static void edit_links(const struct request *r, struct bulk_update *update)
{
	struct link_change_conflict conflict;
	int64_t now_us = request_now_us(r);
	for (size_t i = 0; i < update->matched; i++) {
		struct link *link = &update->links[i];
		enum link_change change = LINK_CHANGE_NOTHING;
		link_history_keep_extras(&update->before[update->changed], &link->entry);
		enum err err = update->rule(&update->edit, now_us, link, &change, &conflict);
		if (err != OK || change == LINK_CHANGE_NOTHING ||
		    !request_sees_tags(r, &link->tags))
			continue;
		if (update->changed != i)
			update->links[update->changed] = *link;
		update->changes[update->changed++] = change;
	}
}

static enum err audit_change(const struct request *r, struct pg_conn *conn,
                             const struct bulk_update *update, enum link_change change)
{
	struct link_audit_bulk links = { 0 };
	for (size_t i = 0; i < update->changed; i++) {
		if (update->changes[i] == change)
			link_audit_bulk_include(&links, update->links[i].entry.id);
	}
	return link_audit_add_bulk(r, conn, change, update->params.workspace_id, &links);
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

static enum err write_links(struct request *r, struct pg_conn *conn,
                            const struct bulk_update *update)
{
	const struct link_extras_request *extras = &update->edit.extras;
	enum err err = link_history_begin(r, conn);
	if (err == OK)
		err = link_write_update(conn, update->links, update->changes, update->changed);
	for (size_t i = 0;
	     err == OK && extras->members & LINK_EXTRAS_MAX_VISITS && i < update->changed; i++)
		err = visit_limit_set(conn, update->links[i].entry.id, extras->extras->max_visits);
	if (err == OK)
		err = link_history_add_extras(conn, update->before, update->links, update->changed);
	return err == OK ? audit(r, conn, update) : err;
}

static enum err update_in_transaction(void *ctx, struct pg_conn *conn)
{
	struct bulk_update *update = ctx;
	struct request *r = update->request;
	enum err err = link_list_store_lock(conn, &update->params, update->links, LINK_WRITE_MAX,
	                                    &update->matched);
	if (err != OK)
		return err;
	edit_links(r, update);
	update->is_rate_limited =
		update->changed > 0 && !authentication_take_bulk(r, (int64_t)update->changed);
	if (update->is_rate_limited)
		return ERR_LIMIT;
	return write_links(r, conn, update);
}

static void update_links_in_cache(const struct request *r, const struct bulk_update *update)
{
	const char *slugs[LINK_WRITE_MAX];
	struct link_aliases aliases = { 0 };
	for (size_t i = 0; i < update->changed; i++) {
		slugs[i] = update->links[i].entry.slug;
		link_aliases_want(&aliases, &update->links[i]);
	}
	link_cache_update_bulk(r->api, slugs, update->changed);
	link_cache_update_aliases(r->api, &aliases);
	link_aliases_clear(&aliases);
}

static enum http_progress answer_update_error(struct request *r, const struct bulk_update *update,
                                              enum err err)
{
	if (err == ERR_LIMIT && update->matched > LINK_WRITE_MAX)
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
	update->links = mem_array(LINK_WRITE_MAX, sizeof(*update->links));
	update->changes = mem_array(LINK_WRITE_MAX, sizeof(*update->changes));
	update->before = mem_array(LINK_WRITE_MAX, sizeof(*update->before));
	enum err err = pg_pool_transact(request_pg(r), update_in_transaction, update);
	if (update->is_rate_limited)
		return HTTP_COMPLETE;
	if (err != OK)
		return answer_update_error(r, update, err);
	update_links_in_cache(r, update);
	struct json *answer = json_new_object();
	json_set_int(answer, "matched", (int64_t)update->matched);
	json_set_int(answer, "changed", (int64_t)update->changed);
	return response_json(r, 200, answer);
}

/* wrong: what is wrong with the body. */
static enum http_progress run_update(struct bulk_update *update, struct http_problem_fields *wrong)
{
	struct request *r = update->request;
	if (link_list_params_read(http_exchange_query(r->exchange), LINK_LIST_PARAMS_CHANGE,
	                          r->workspace_id, &update->params, wrong) != OK)
		return response_invalid_fields(r, wrong);
	update->params.key_tags = r->tags;
	return request_may_access_links_of(r, update->params.workspace_id)
	               ? change(r, update)
	               : response_other_workspace(r);
}

enum http_progress link_list_handlers_patch(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct http_problem_fields wrong = { 0 };
	struct bulk_update *update = bulk_update_new(ctx, link_change_edit);
	enum http_progress progress = HTTP_COMPLETE;
	if (read_edit(update, &wrong))
		progress = run_update(update, &wrong);
	bulk_update_free(update);
	return progress;
}

/* Checks Accept first, because the response to this DELETE has a body. */
enum http_progress link_list_handlers_delete(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct http_problem_fields wrong = { 0 };
	if (!response_accepts_json(ctx))
		return HTTP_COMPLETE;
	struct bulk_update *update = bulk_update_new(ctx, link_change_delete);
	enum http_progress progress = run_update(update, &wrong);
	bulk_update_free(update);
	return progress;
}
