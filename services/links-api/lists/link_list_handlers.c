#include "services/links-api/lists/link_list_handlers.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "services/links-api/http/pagination.h"
#include "services/links-api/http/response.h"
#include "services/links-api/links/link_json.h"
#include "services/links-api/links/link_notes_store.h"
#include "services/links-api/lists/link_list_params.h"
#include "services/links-api/lists/link_list_store.h"

/* One request: its parameters and the page found. */
struct page {
	struct link_list_params params;
	struct link_list list;
	struct link *links;
	struct statistics *statistics;
	struct link_check *checks;
	char **notes;
};

static void page_make_room(struct page *page)
{
	size_t room = (size_t)page->params.limit;
	page->links = mem_array(room, sizeof(*page->links));
	page->statistics = mem_array(room, sizeof(*page->statistics));
	page->checks = mem_array(room, sizeof(*page->checks));
	page->notes = mem_array(room, sizeof(*page->notes));
}

static void page_free(struct page *page)
{
	free(page->links);
	free(page->statistics);
	free(page->checks);
	for (size_t i = 0; page->notes && i < page->list.count; i++)
		free(page->notes[i]);
	free(page->notes);
	free(page);
}

/* --- reading --- */

static enum err read_details(const struct request *r, struct pg_conn *conn, struct page *page)
{
	int64_t ids[LINK_LIST_PARAMS_LIMIT_MAX];
	for (size_t i = 0; i < page->list.count; i++)
		ids[i] = page->links[i].entry.id;
	enum err err = statistics_store_get_bulk(conn, ids, page->list.count, page->statistics);
	if (err == OK)
		err = link_check_store_get_bulk(conn, ids, page->list.count, page->checks);
	return err == OK ? link_notes_store_get_bulk(conn, r->user_id, ids, page->list.count,
	                                             page->notes)
	                 : err;
}

static enum err read_page(const struct request *r, struct page *page)
{
	struct pg_conn *conn = NULL;
	enum err err = pg_pool_acquire(request_pg(r), &conn);
	if (err != OK)
		return ERR_UNAVAILABLE; /* and not ERR_LIMIT, which blames the query */
	err = link_list_store_read(conn, &page->params, page->links, &page->list);
	if (err == OK)
		err = read_details(r, conn, page);
	pg_pool_release(request_pg(r), conn);
	return err;
}

/* --- answering --- */

static struct json *page_json(const struct page *page)
{
	const struct link_list_params *params = &page->params;
	char cursor[LINK_CURSOR_SIZE];
	if (page->list.has_more)
		link_cursor_format(&page->list.last, params->query_key, cursor);
	const struct pagination pagination = {
		.page = params->page,
		.limit = params->limit,
		.total = page->list.total,
		.total_is_capped = page->list.total_is_capped,
		.next_cursor = page->list.has_more ? cursor : NULL,
	};
	return pagination_json(&pagination);
}

static enum http_progress answer_page(struct request *r, const struct page *page)
{
	struct json *links = json_new_array();
	for (size_t i = 0; i < page->list.count; i++)
		json_append(links,
		            link_json_new(&page->links[i], &page->statistics[i], &page->checks[i],
		                          page->notes[i], r->api->base, request_now_us(r)));
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
static void search_slug_of_short_link(const struct public_base *base, char *q)
{
	const char *slug = public_base_skip(base, q);
	size_t len = slug ? strcspn(slug, "/?#") : 0;
	if (len == 0)
		return;
	memmove(q, slug, len);
	q[len] = '\0';
}

static enum http_progress answer_query(struct request *r, struct page *page)
{
	struct http_problem_fields wrong = { 0 };
	if (link_list_params_read(http_exchange_query(r->exchange), LINK_LIST_PARAMS_LIST,
	                          r->user_id, &page->params, &wrong) != OK)
		return response_invalid_fields(r, &wrong);
	if (!request_may_access_links_of(r, page->params.owner_id))
		return response_other_owner(r);
	search_slug_of_short_link(r->api->base, page->params.q);
	page_make_room(page);
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
