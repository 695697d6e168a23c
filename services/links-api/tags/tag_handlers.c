#include "services/links-api/tags/tag_handlers.h"

#include <stdlib.h>

#include "lib/base/mem.h"
#include "lib/clicks/statistics_store.h"
#include "services/links-api/http/request.h"
#include "services/links-api/http/response.h"
#include "services/links-api/statistics/stats_json.h"
#include "services/links-api/tags/tag_store.h"

#define TAGS_MAX 1000

struct tag_list {
	size_t count;
	struct stats_json_freshness freshness;
	struct tag_count tags[TAGS_MAX];
};

/* Reads as_of before the counts: they may include more than as_of promises, but never less. */
static enum err load(const struct request *r, struct tag_list *list)
{
	struct pg_conn *conn = NULL;
	enum err err = pg_pool_acquire(request_pg(r), &conn);
	if (err == OK)
		err = statistics_store_as_of(conn, &list->freshness.as_of_us);
	if (err == OK)
		err = tag_store_list(conn, r->user_id, TAGS_MAX, list->tags, &list->count);
	pg_pool_release(request_pg(r), conn);
	return err;
}

static struct json *render(const struct tag_list *list)
{
	struct json *tags = json_new_array();
	for (size_t i = 0; i < list->count; i++) {
		const struct tag_count *tag = &list->tags[i];
		struct json *item = json_new_object();
		json_set_text(item, "name", tag->name);
		if (*tag->color)
			json_set_text(item, "color", tag->color);
		else
			json_set_null(item, "color");
		json_set_int(item, "links", tag->links);
		json_set_int(item, "humans", tag->humans);
		json_set_int(item, "bots", tag->bots);
		json_set_int(item, "total", tag->humans + tag->bots);
		json_append(tags, item);
	}
	struct json *answer = json_new_object();
	json_set(answer, "tags", tags);
	stats_json_add_freshness(answer, &list->freshness);
	return answer;
}

enum http_progress tag_handlers_list(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	struct tag_list *list = mem_zero(sizeof(*list));
	list->freshness.now_us = request_now_us(r);
	enum err err = load(r, list);
	enum http_progress progress =
		err == OK ? response_json(r, 200, render(list)) : response_failure(r, err);
	free(list);
	return progress;
}
